"""Agents and recorded games on the Hugging Face hub: `push`, `pull`, and the `card` that a push writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .repository import Pushed, card, pull, push

__all__ = ["Pushed", "card", "pull", "push"]

__getattr__, __dir__ = published_by(__name__, extras=("hub",))
