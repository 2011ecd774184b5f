"""Sweeps over settings of an algorithm: the space, the study with its trials, and the page that reports it."""
