"""The look of the pages that Ludory writes."""

from __future__ import annotations

from importlib import resources


def page_style() -> str:
    """Style sheet of replays and reports: colours for light and dark screens, cards, tables."""
    return resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
