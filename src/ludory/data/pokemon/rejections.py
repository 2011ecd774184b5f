"""Why a battle is left out: every reason has a name, which the summary counts and the list of rejected battles shows."""

from __future__ import annotations

from typing import NamedTuple

from ludory.errors import RejectedBattleError

REASONS = {
    "bad_json": "the file or line is not a battle: no JSON object, no log, or cut off",
    "bad_line": "a protocol line that cannot be read",
    "no_result": "the battle began, but its log has no win and no tie",
    "unfinished": "the log ends before the first turn",
    "too_short": "fewer than 3 turns",
    "not_singles": "doubles, triples or a free-for-all",
    "unknown_format": "no format, or none of generations 1 to 9",
    "format_mismatch": "the format is not the one of the log, or not the one asked for",
    "low_rating": "rated below the minimum asked for, or not rated",
    "custom_rules": "played by custom rules",
    "no_players": "the log does not name two players",
    "winner_not_a_player": "the winner is neither player",
    "illusion": "Zoroark may look like another Pokémon; --keep-illusion keeps these",
    "transform_order": "the menu of a transformed Pokémon cannot be told",
    "too_many_moves": "a Pokémon shows a fifth move",
    "too_many_pokemon": "a side shows more Pokémon than its team has",
    "unmatched_forced_switch": "a Pokémon enters without a cause, or nobody replaces one that fainted",
    "label_outside_mask": "a choice that the mask does not allow",
    "negative_pp": "a move is used more often than its power points allow",
    "duplicate_id": "a battle of this id, or with this very log, came before",
    "resim_mismatch": "the input log does not lead to the stored log in the installed simulator",
}
"""Names of rejections, and what they mean."""


class Rejection(NamedTuple):
    """A battle that was left out."""

    name: str
    """One of `REASONS`."""
    detail: str
    battle: str
    """Id of the battle; empty if the line does not tell it."""
    place: str
    """File and line."""

    def __str__(self) -> str:
        """Place, battle, name and detail in one line."""
        battle = f", battle {self.battle}" if self.battle else ""
        return f"{self.place}{battle}: {self.name} ({self.detail or REASONS[self.name]})"


def reject(name: str, detail: str = "") -> RejectedBattleError:
    """The error that leaves out the battle in hand.

    Args:
        name: one of `REASONS`.
        detail: what was found.
    """
    return RejectedBattleError(name, detail or REASONS[name])
