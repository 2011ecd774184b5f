"""Distilling a search into a network, trained on Lightning."""

from .config import DistillConfig
from .distill import Distill

__all__ = ["Distill", "DistillConfig"]
