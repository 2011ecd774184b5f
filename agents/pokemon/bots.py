"""`pokemon/random`, `pokemon/max-base-power`, `pokemon/simple-heuristics`, `pokemon/greedy-damage`: scripted opponents.

They read the seat's `entity` row and legal mask only, so they see what a network sees, with any number of lanes.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents import ONE_MORE, Agent, DrawingAgent, uniforms
from ludory.envs import Array, Engine, Game, Memory
from ludory.envs.pokemon.columns import GENERATION_AT
from ludory.envs.pokemon.dex import STATUS, TARGETS, dex
from ludory.envs.pokemon.vocab import vocabulary
from ludory.errors import OptionError

from . import heuristics

HAZARDS = {"stealthrock": 1, "spikes": 2, "toxicspikes": 3, "stickyweb": 4, "rapidspin": -1, "defog": -1}
"""What `MoveTables.hazard` says about a move; all others are 0."""


class PokemonBot(DrawingAgent):
    """Chooses from `engine.entity`; where its rules name no action, it draws a legal one. Subclasses write `decide`.

    Memory: int64 (rows, 2), a game's key and the number of draws in it.
    """

    name = "pokemon/bot"

    def __init__(self, game: Game, seed: int | None = None) -> None:
        _check(self.name, game)
        super().__init__(seed)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`.

        Raises:
            OptionError: the engine keeps no `entity` rows.
        """
        entity: NDArray[np.float32] | None = getattr(engine, "entity", None)
        if entity is None:
            raise OptionError(
                f"{self.name} reads the entity rows of an engine of Pokémon battles, which {type(engine).__name__} does "
                "not keep; with observation='none' nothing is tracked: type observation='entity'"
            )
        rows = np.asarray(rows)
        seen, masks = entity[rows, seat], engine.legal()[rows, seat]
        actions = self.decide(seen, masks, _positions(engine, rows, seat))
        drawn = np.flatnonzero(actions == heuristics.NOBODY)
        if len(drawn):
            actions[drawn] = self.draw(masks[drawn], memory, rows[drawn])
        return actions

    @abstractmethod
    def decide(
        self, seen: NDArray[np.float32], masks: NDArray[np.bool_], orders: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Actions (m,), `NOBODY` where one is to be drawn.

        Args:
            seen: (m, 932) entity rows of the seat to move.
            masks: (m, A) legal actions; every row has one.
            orders: (m, 6) fixed team slot of each current position, which decides between equal switches.
        """

    def draw(self, masks: NDArray[np.bool_], memory: Memory, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Uniform draws (m,) over the legal actions."""
        numbers = uniforms(memory[rows, 0], memory[rows, 1], 1)[:, 0]
        memory[rows] += ONE_MORE
        return _legal_at(masks, (numbers * masks.sum(axis=1)).astype(np.int64))


class RandomBot(PokemonBot):
    """Uniform over legal actions; `gimmick_rate` caps the share of gimmicks where plain actions are legal too."""

    name = "pokemon/random"

    def __init__(self, game: Game, gimmick_rate: float | None = None, seed: int | None = None) -> None:
        super().__init__(game, seed)
        if gimmick_rate is not None and not 0 <= gimmick_rate <= 1:
            raise OptionError(f"gimmick_rate={gimmick_rate!r}: must lie in 0..1, or be None for a uniform draw")
        self._rate = gimmick_rate

    def decide(
        self, seen: NDArray[np.float32], masks: NDArray[np.bool_], orders: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """`NOBODY` everywhere."""
        return np.full(len(masks), heuristics.NOBODY)

    def draw(self, masks: NDArray[np.bool_], memory: Memory, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Draws (m,): first whether a gimmick is used, then uniform over the actions of that kind."""
        if self._rate is None:
            return super().draw(masks, memory, rows)
        gimmicks = masks[:, heuristics.FIRST_GIMMICK :].sum(axis=1)
        share = np.minimum(gimmicks / masks.sum(axis=1), self._rate)
        used = uniforms(memory[rows, 0], memory[rows, 1], 2)[:, 1] < share
        allowed = masks.copy()
        allowed[~used, heuristics.FIRST_GIMMICK :] = False
        allowed[used, : heuristics.FIRST_GIMMICK] = False
        return super().draw(allowed, memory, rows)


class MaxBasePowerBot(PokemonBot):
    """The legal move of largest base power, the first of equals; without a menu uniform over legal switches."""

    name = "pokemon/max-base-power"

    def decide(
        self, seen: NDArray[np.float32], masks: NDArray[np.bool_], orders: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Actions (m,), `NOBODY` where there is no menu."""
        actions = np.empty(len(seen), np.int64)
        heuristics.strongest_choices(seen, masks, move_tables(_generation(seen)), actions)
        return actions


class SimpleHeuristicsBot(PokemonBot):
    """Plays as `SimpleHeuristicsPlayer` of poke-env 0.16.1: match-ups, hazards, estimated damage.

    Args:
        game: a game of Pokémon battles.
        sets_up: raise stages at full hit points in a good match-up. The original means to, but compares the move's target with
            a text that it never equals.
        terastallizes: use Terastallization where its formula says so. The original means to, but does not know the Tera type of
            its own Pokémon.
        seed: of the draws where it knows no active Pokémon, as at team preview.
    """

    name = "pokemon/simple-heuristics"

    def __init__(self, game: Game, sets_up: bool = False, terastallizes: bool = False, seed: int | None = None) -> None:
        super().__init__(game, seed)
        self._sets_up, self._terastallizes = bool(sets_up), bool(terastallizes)

    def decide(
        self, seen: NDArray[np.float32], masks: NDArray[np.bool_], orders: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Actions (m,), `NOBODY` where an active Pokémon is missing."""
        actions, generation = np.empty(len(seen), np.int64), _generation(seen)
        heuristics.heuristic_choices(
            seen, masks, orders, move_tables(generation), generation, self._sets_up, self._terastallizes, actions
        )
        return actions


class GreedyDamageBot(PokemonBot):
    """The move of largest `MOVE_DAMAGE`; leaves only if no legal move does damage."""

    name = "pokemon/greedy-damage"

    def decide(
        self, seen: NDArray[np.float32], masks: NDArray[np.bool_], orders: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Actions (m,), `NOBODY` at team preview."""
        actions = np.empty(len(seen), np.int64)
        heuristics.greedy_choices(seen, masks, orders, move_tables(_generation(seen)), actions)
        return actions


class PokeEnvAgent(Agent):
    """Any player of poke-env, on engines with backend="server", where poke-env follows the battles.

    Args:
        game: a game of Pokémon battles.
        player: a class of `poke_env.player`, such as "SimpleHeuristicsPlayer", or module:Class.
    """

    def __init__(self, game: Game, player: str) -> None:
        self.name = f"pokemon/poke-env({player})"
        _check(self.name, game)
        self._player = player

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`.

        Raises:
            OptionError: the engine is not on a Showdown server.
            BackendError: poke-env has no such player, or it answers something that is not legal.
        """
        advise = getattr(engine, "advise", None)
        if advise is None:
            raise OptionError(f"{self.name} plays on engines of Pokémon battles, got {type(engine).__name__}")
        actions: NDArray[np.int64] = advise(self._player, np.asarray(rows), seat)
        return actions


def _check(name: str, game: Game) -> None:
    if not game.facts.name.startswith("pokemon"):
        raise OptionError(
            f"{name} plays Pokémon battles only, got {game.id or game.facts.name}; try PokemonGen1RandomBattle-v0"
        )


@cache
def move_tables(gen: int) -> heuristics.MoveTables:
    """Numbers of a generation's moves as the original has them."""
    numbers, moves = dex(gen), vocabulary("moves")
    hits = np.where(numbers.move_min_hits == numbers.move_max_hits, numbers.move_min_hits, 19 / 6)  # 2, 3, 4 or 5
    for name in ("triplekick", "tripleaxel"):
        hits[moves[name]] = 1 + 2 * 0.9 + 3 * 0.81  # each hit is stronger, and may miss
    hazard = np.zeros(len(hits))
    for name, kind in HAZARDS.items():
        hazard[moves[name]] = kind
    setup = (numbers.move_category == STATUS) & (numbers.move_target == TARGETS.index("self"))
    return heuristics.columns(
        chart=numbers.chart,
        type=numbers.move_type,
        category=numbers.move_category,
        power=numbers.move_power,
        accuracy=np.round(numbers.move_accuracy.astype(np.float64), 6),
        hits=hits,
        raises=numbers.move_self_boosts * setup[:, None],
        hazard=hazard,
    )


def _generation(seen: NDArray[np.float32]) -> int:
    return round(float(seen[0, GENERATION_AT]) * 9)


def _positions(engine: Engine, rows: NDArray[Any], seat: int) -> NDArray[np.int64]:
    """(m, 6) fixed team slot of each current position."""
    live: NDArray[np.int8] = engine.positions  # type: ignore[attr-defined]
    return np.ascontiguousarray(live[rows, seat], np.int64)


def _legal_at(masks: NDArray[np.bool_], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """(m,) the legal action with `places` (m,) legal actions before it; masks (m, A)."""
    found: NDArray[np.int64] = (masks.cumsum(axis=1) > places[:, None]).argmax(axis=1)
    return found
