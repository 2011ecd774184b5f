"""The columns of recorded searches, and `SearchNotes`, which fills them while agents play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ludory.data.columns import Columns, game_starts
from ludory.data.header import ExtraColumn
from ludory.envs import Array, Engine, Game, GameFacts, Memory, Player

__all__ = [
    "BLUEPRINT",
    "OVERRIDE",
    "PREVIOUS",
    "VALUE_KNOWN",
    "search_columns",
]

PREVIOUS = ExtraColumn("prev_other_action", "int32")
"""The previous move; A stands for none."""
VALUE_KNOWN = ExtraColumn("value_known", "bool")
"""False where rewards are missing, so that returns are meaningless."""
BLUEPRINT = ExtraColumn("action_blueprint", "int32")
"""Action of the blueprint; null where unknown."""
OVERRIDE = ExtraColumn("is_override", "bool")
"""Whether the action differs from the blueprint's; null where that is unknown."""
SEARCHES = ExtraColumn("searches", "bool")
"""Whether the seat's player searches, even if this decision needed no search."""
FOUND = (
    ExtraColumn("searched", "bool"),
    ExtraColumn("rollouts", "int32"),
    ExtraColumn("range_size", "int64"),
    ExtraColumn("gain", "float32"),
)
"""Results of one search. All but the first are null without a search, `range_size` also if hands were not counted."""
CONTRADICTIONS = ExtraColumn("contradictions", "int32")
"""How often so far in the game the others did what the blueprint would not do with any hand; null for players that do not search."""
GAME_FACTS = {"score_so_far": "score", "stacks": "stacks", "lives": "lives"}
"""Column -> key in `info`, if the game has it, of the state in which the decision was made."""


class RecordedSearch(Protocol):
    """Result of one search; see `ludory.agents.search.rollouts`."""

    blueprint_action: int
    values: NDArray[np.float64]
    stderrs: NDArray[np.float64]
    counts: NDArray[np.int64]
    range_size: int | None

    @property
    def rollouts(self) -> int:
        """Number of games played to their end."""

    @property
    def gain(self) -> float:
        """Value of the action minus that of the blueprint's action."""


@runtime_checkable
class Searches(Protocol):
    """A player that searches; see `ludory.agents.search.sparta.Searcher`."""

    alone: bool

    @property
    def partner(self) -> Player:
        """The player that the search assumes in the other seats."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the search as plain values."""

    def decisions(self, memory: Memory, row: int) -> Sequence[RecordedSearch]:
        """Results of all searches so far in the game `row`, in order."""

    def contradictions(self, memory: Memory, row: int) -> int:
        """How often in the game `row` the others did what the blueprint would not do."""


def estimates(facts: GameFacts) -> tuple[ExtraColumn, ...]:
    """Mean return of every action, its standard error (of the difference to the blueprint's action) and number of rollouts."""
    kinds = {"q": "float32", "q_stderr": "float32", "q_count": "int32"}
    return tuple(ExtraColumn(name, kind, facts.num_actions) for name, kind in kinds.items())  # type: ignore[arg-type]


def facts_of_state(game: Game) -> tuple[ExtraColumn, ...]:
    """Columns of `GAME_FACTS`, of Hanabi."""
    return tuple(ExtraColumn(name, "int32") for name in GAME_FACTS) if game.facts.name == "Hanabi" else ()


def search_columns(game: Game) -> tuple[ExtraColumn, ...]:
    """All columns that recording a search adds."""
    known = (PREVIOUS, VALUE_KNOWN, BLUEPRINT, OVERRIDE, SEARCHES, *FOUND, CONTRADICTIONS)
    return (*known, *estimates(game.facts), *facts_of_state(game))


class SearchNotes:
    """Fills the columns for one game that is alone in its engine.

    Args:
        game: the game.
        players: by seat; partners of searching players play the blueprint.
    """

    def __init__(self, game: Game, players: Sequence[Any]) -> None:
        self._game, self._players = game, players
        self._seen = [0] * len(players)
        self._partners = [player.partner for player in players if isinstance(player, Searches)]
        self.columns = tuple(one for one in search_columns(game) if one not in (PREVIOUS, VALUE_KNOWN))

    def __call__(self, engine: Engine, seat: int, actions: Array, memory: Memory) -> dict[str, Any]:
        """Values (1, ...) of `columns` for the decision that `seat` has just made."""
        player, action, none = self._players[seat], int(actions[0]), self._game.facts.num_actions
        found, blueprint = None, action if any(player is one for one in self._partners) else None
        searches, contradictions = isinstance(player, Searches), None
        if isinstance(player, Searches):
            contradictions = player.contradictions(memory, 0)
            decisions = player.decisions(memory, 0)
            found = decisions[-1] if len(decisions) > self._seen[seat] else None
            self._seen[seat], blueprint = len(decisions), found.blueprint_action if found else action
        nothing = np.full(none, np.nan, np.float32)
        info = self._game.look.info(engine.state, 0)
        values: dict[str, Any] = {
            "action_blueprint": blueprint,
            "is_override": None if blueprint is None else blueprint != action,
            "searches": searches,
            "searched": found is not None,
            "contradictions": contradictions,
            "rollouts": found and found.rollouts,
            "range_size": found and found.range_size,
            "gain": found and found.gain,
            "q": found.values if found else nothing,
            "q_stderr": np.where(np.isfinite(found.stderrs), found.stderrs, np.nan) if found else nothing,
            "q_count": found.counts if found else np.zeros(none, np.int64),
            **{name: info[source] for name, source in GAME_FACTS.items() if source in info},
        }
        return {one.name: _row(values[one.name], one) for one in self.columns}


def _row(value: Any, column: ExtraColumn) -> NDArray[Any]:
    if column.size:
        return np.asarray(value)[None]
    row = np.empty(1, object)
    row[0] = value
    return row


def with_course(columns: Columns, none: int) -> Columns:
    """Add `PREVIOUS` and `VALUE_KNOWN` to the columns of whole games; none: the number that stands for no action."""
    previous = np.roll(columns.actions[:, 0], 1)
    previous[game_starts(columns.games)] = none
    known = np.ones(len(previous), bool)
    return columns._replace(extras=columns.extras | {PREVIOUS.name: previous, VALUE_KNOWN.name: known})
