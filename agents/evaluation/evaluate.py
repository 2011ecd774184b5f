"""`evaluate`: agents play games that are the same for every agent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.cluster.workers import Workers
from ludory.envs import Engine, Game, make_game
from ludory.envs.engine.checks import checked_seed
from ludory.envs.seats.table import Listener
from ludory.errors import OptionError

from .blocks import MOST_ELSEWHERE, Block, Roster, cut, play_blocks
from .evaluation_result import EvaluationResult, bootstrap_interval, paired_difference

__all__ = ["EvaluationResult", "bootstrap_interval", "evaluate", "paired_difference"]

MOST = 2**63 - 1
"""Largest integer that engines and arrays take."""
IDS_OF_MOVES = ("last_action",)
"""Entries of `Look.info` whose mean has no meaning."""


def evaluate(
    agents: str | Agent | Sequence[str | Agent],
    game: str | Game,
    games: int = 1000,
    seed: int = 0,
    *,
    first_game: int = 0,
    device: str = "cpu",
    batch: int = 4096,
    rotate: bool = False,
    progress: Callable[[int], None] | None = None,
    watch: Callable[[Engine], Listener] | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> EvaluationResult:
    """Let agents play `games` games to their end.

    Game k draws from the stream (seed, first_game + k), so two calls with the same seed are paired game by game. Agents that
    sample their moves use (seed, game, seat), whatever else is played: `evaluate(games=10)` returns the rows of `games=5` and of
    `games=5, first_game=5`, with any `batch`. (A plugin's agent with one generator for all games is only reproducible per call;
    see `Agent.start_games`.)

    Args:
        agents: one per seat, or one for all seats; specs (see `make_agent`) or agents.
        game: id, or a game.
        games: number of games.
        seed: of the deals, and of agents that sample.
        first_game: index of the first game.
        device: where the games run.
        batch: maximum number of games at once.
        rotate: play every deal once with each agent in each seat (P games a deal), which cancels the advantage of a seat; a
            row of `returns` is then the mean over a deal's games, and a column is an agent.
        progress: called after each batch with its number of games.
        watch: called with the engine of each batch before its games start; returns a listener to every move in it.
        workers: play the batches there, with the same numbers; None: in this process.
        options: of the game, if it is given by id.

    Raises:
        OptionError: wrong number of agents, a number out of range, or as `make_game` and `make_agent`.
        UnknownIdError: no such game or agent; names the nearest ids.
    """
    made = make_game(game, **options)
    roster, seats, names = _seat(agents, made)
    check_count("games", games)
    check_count("batch", batch)
    check_count("first_game", first_game, least=0)
    if rotate:
        rest = {
            "first_game": first_game,
            "device": device,
            "batch": batch,
            "progress": progress,
            "watch": watch,
            "workers": workers,
        }
        turned = roster.named if workers else roster.agents  # agents that are made are not made again here
        return _rotated([turned[one] for one in seats], names, made, games, seed, rest)
    checked_seed(seed)
    batch = min(batch, MOST_ELSEWHERE) if made.rules.engine else batch
    blocks = cut(Block(seats, first_game, games), batch)
    parts = []
    for returns, infos in play_blocks(roster, blocks, seed, device, watch, workers):
        parts.append((returns, infos))
        if progress:
            progress(len(returns))
    return EvaluationResult(
        names,
        made.id or made.facts.name,
        made.options,
        seed,
        first_game,
        made.facts.reward == "shared",
        np.concatenate([returns for returns, _ in parts]),
        _columns([info for _, infos in parts for info in infos]),
        counts=roster.counts() if workers is None else {},
    )


def _rotated(
    agents: Sequence[Any], names: tuple[str, ...], game: Game, games: int, seed: int, rest: Mapping[str, Any]
) -> EvaluationResult:
    """Means, deal by deal, over the P rotations of the agents around the seats."""
    players = range(game.facts.players)
    turns = [
        evaluate([agents[(seat + turn) % len(players)] for seat in players], game, games, seed, **rest)
        for turn in players
    ]
    returns = [
        # returns by seat become returns by agent
        result.returns[:, [(agent - turn) % len(players) for agent in players]]
        for turn, result in enumerate(turns)
    ]
    numbers = [name for name, values in turns[0].outcomes.items() if isinstance(values, np.ndarray)]
    outcomes = {name: np.mean([result.outcomes[name] for result in turns], axis=0) for name in numbers}
    return dataclasses.replace(
        turns[0], agents=names, returns=np.mean(returns, axis=0), outcomes=outcomes, rotated=True
    )


def check_count(name: str, number: object, least: int = 1) -> None:
    """Check that a number is an integer of at least `least`, below 2^63.

    Raises:
        OptionError: naming it.
    """
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
        raise OptionError(f"{name}={number!r}: must be an integer of at least {least}")
    if number > MOST:
        raise OptionError(f"{name}={number:.3g}: must be below 2^63")


def _seat(agents: str | Agent | Sequence[str | Agent], game: Game) -> tuple[Roster, tuple[int, ...], tuple[str, ...]]:
    """The agents, the number of each seat's, and its name; a spec that occurs twice is made once."""
    players = game.facts.players
    named = list(agents) if isinstance(agents, Sequence) and not isinstance(agents, str) else [agents]
    if len(named) not in (1, players):
        raise OptionError(
            f"{game.id or game.facts.name} has {players} seats, got {len(named)} agents; give {players}, or one for all seats"
        )
    different = list(dict.fromkeys(named))
    roster = Roster(different, game)
    seats = tuple(different.index(one) for one in named) * (players // len(named))
    return roster, seats, tuple(roster.name(one) for one in seats)


def _columns(infos: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any] | list[Any]]:
    """The entries that every game has: as arrays where they are numbers of one shape, else as lists."""
    names = [name for name in infos[0] if name not in IDS_OF_MOVES and all(name in info for info in infos)]
    return {name: _numbers_or_list([info[name] for info in infos]) for name in names}


def _numbers_or_list(values: list[Any]) -> NDArray[Any] | list[Any]:
    try:
        array = np.array(values)
    except ValueError:  # lists of different lengths
        return values
    return array if array.dtype.kind in "biuf" else values
