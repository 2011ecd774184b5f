"""How a run ended: the words that older bots write, and what each is worth."""

from __future__ import annotations

import re
from collections.abc import Sequence

WIN = ("win",)
LOSS = ("loss", "defeat", "death_event")
DRAW = ("draw",)
TERMINATED = ("death", "match_end_event", *WIN, *LOSS, *DRAW)
"""The game ended."""
TRUNCATED = ("max_runtime_reached", "loop_exit")
"""The run was cut off before the game ended."""
WORDS = (*TERMINATED, *TRUNCATED)
OUTCOME_WORDS = (*WIN, *LOSS, *DRAW)
REASON = re.compile(r"\breason=([\w-]*)")
WHOLE_WORD = re.compile(rf"\b(?:{'|'.join(OUTCOME_WORDS)})\b", re.IGNORECASE)


def value_of(word: str) -> float:
    """+1, -1, or 0 for a word that says nothing of the outcome."""
    return 1.0 if word in WIN else -1.0 if word in LOSS else 0.0


def words_of(lines: Sequence[str]) -> list[str]:
    """The words that say how a run ended: the `reason=` of the first line that has one, else the outcome words in the first line with any.

    More than one word: the line says several things. Only whole words count: an attacker called "Winston" is no win.
    """
    for line in lines:
        found = REASON.search(line)
        if found:
            return [found[1].lower()]
    for line in lines:
        words = {word.lower() for word in WHOLE_WORD.findall(line)}
        if words:
            return sorted(words)
    return []
