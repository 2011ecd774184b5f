"""Nim for Ludory: an example of a package by somebody else."""
