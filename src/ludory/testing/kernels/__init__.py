"""Kernels as plain Python, compiled, and in the CUDA simulator."""
