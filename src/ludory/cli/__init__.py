"""The `ludory` command."""

from .common.dispatch import main

__all__ = ["main"]
