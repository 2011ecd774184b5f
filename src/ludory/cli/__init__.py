"""The `ludory` command."""

from .dispatch import main

__all__ = ["main"]
