"""Pages for a browser: `ludory serve` (`app.py`, extra `web`), and pages that are one file, such as recorded hands of Texas 42."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .folders import signature, walk
    from .kept import KeptTexts
    from .notebook import ShownGame
    from .page import ListedRow, Listing, Page
    from .pages.choices import read_agent, read_seed
    from .pages.runs import age
    from .pages.starting import answer_when_ready, when_ready
    from .safety import with_form
    from .slices import Refinement, event_stream, seen, when_changed

__all__ = [
    "KeptTexts",
    "ListedRow",
    "Listing",
    "Page",
    "Refinement",
    "ShownGame",
    "age",
    "answer_when_ready",
    "event_stream",
    "read_agent",
    "read_seed",
    "seen",
    "signature",
    "walk",
    "when_changed",
    "when_ready",
    "with_form",
]

__getattr__, __dir__ = published_by(__name__)
