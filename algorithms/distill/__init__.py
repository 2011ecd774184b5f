"""Distilling a search into a network, trained on Lightning."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .config import DistillConfig as DistillConfig
    from .distill import Distill as Distill

__all__ = ["Distill", "DistillConfig"]
__getattr__, __dir__ = published_by(__name__, extras=("lightning",))
