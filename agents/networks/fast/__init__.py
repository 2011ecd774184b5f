"""Compiled passes for the CPU, each a twin of a definition in PyTorch."""
