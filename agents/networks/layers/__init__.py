"""Layers that policies are made of."""
