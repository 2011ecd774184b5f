"""Part `parity`: random games of every id on the GPU and on the CPU, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.protocol import Engine, on_host
from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.errors import ConformanceError, OptionError
from ludory.plugins import games
from ludory.testing.kernels.simulator import GAMES as SIMULATED
from ludory.testing.kernels.simulator import MOST_MOVES, cuda_simulator_agrees
from ludory.testing.trial import Trial

from .part import CampaignPart, NamedWork, Row

GAMES = {False: 10_000, True: 64}
"""Random games of an id."""
MOVES = {False: 400, True: 40}
"""Longest games are followed for so long."""
SMALL = ("HanabiTiny2P-v0", "KuhnPoker-v0", "TicTacToe-v0", "FrozenLakeRagen1-v0")
"""Ids of the small form."""
LOOK_EVERY = 8
"""Moves between looks at every seat's observation and at the whole state; masks, rewards and ends are compared at every move."""


def parity(part: CampaignPart) -> Iterator[NamedWork]:
    """A row for every id: games, moves, and what differs."""
    for id in kernel_ids(part.small):
        yield NamedWork(id, partial(_one, part, id))


def _one(part: CampaignPart, id: str) -> Row:
    if part.device == "cpu":
        return _simulated(id)
    count, game = GAMES[part.small], make_game(id)
    on_cpu, on_gpu = (make_engine(game, count, device=device, seed=17) for device in ("cpu", part.device))
    moves, different = same_games(on_cpu, on_gpu, MOVES[part.small])
    return {"games": count, "moves": moves, "differences": different}


def _simulated(id: str) -> Row:
    """Without a GPU: a few games in Numba's simulator, as `check_game` plays them."""
    trial = Trial(make_game(id), make_engine, SIMULATED, 17, cuda="auto")
    try:
        reason = cuda_simulator_agrees(trial)
    except ConformanceError as error:
        return {"games": SIMULATED, "differences": [str(error)]}
    return {"missing": reason} if reason else {"games": SIMULATED, "moves": MOST_MOVES, "differences": []}


def kernel_ids(small: bool) -> list[str]:
    """Registered games with kernels, one for each way to make it; in small a few."""
    found = [id for id in games.ids() if not games.package_of(id)]
    return [id for id in found if (not small or id in SMALL) and _has_kernels(id)]


def _has_kernels(id: str) -> bool:
    try:
        game: Game = make_game(id)
    except OptionError:  # it needs an option, such as teams of Pokémon; games with kernels need none
        return False
    return game.rules.kernels is not None and game.rules.engine is None


def same_games(ours: Engine, theirs: Engine, longest: int) -> tuple[int, list[str]]:
    """Plays both batches with the same random legal moves, each game once; returns the moves and what was first seen to differ.

    Args:
        ours: engine of a game.
        theirs: another one with the same number of games and the same seed.
        longest: moves after which games that still run are left.
    """
    generator = np.random.default_rng(3)
    for engine in (ours, theirs):
        engine.reset()
    for move in range(longest):
        different = _differences(ours, theirs, everything=move % LOOK_EVERY == 0)
        if different:
            return move, [f"move {move}: {name}" for name in different]
        masks = on_host(ours.legal())
        if not (on_host(ours.to_move) >= 0).any():
            return move, []
        actions = random_legal(masks, ours.facts, generator)
        for engine in (ours, theirs):
            engine.step(actions)
    return longest, [f"move {longest}: {name}" for name in _differences(ours, theirs, everything=True)]


def random_legal(masks: NDArray[np.bool_], facts: GameFacts, generator: np.random.Generator) -> NDArray[np.int64]:
    """A legal value of every head, in the form that `Engine.step` takes."""
    scores = np.where(masks, generator.random(masks.shape, dtype=np.float32), -1)
    heads = np.split(scores, np.cumsum(facts.head_sizes)[:-1], axis=-1)
    chosen = np.stack([head.argmax(-1) for head in heads], axis=-1)
    return chosen if len(heads) > 1 else chosen[..., 0]


def _differences(ours: Engine, theirs: Engine, everything: bool) -> list[str]:
    """Names of what differs between two batches."""
    return [
        name
        for (name, one), (_, other) in zip(_seen(ours, everything), _seen(theirs, everything), strict=True)
        if not np.array_equal(on_host(one), on_host(other))
    ]


def _seen(engine: Engine, everything: bool) -> Iterator[tuple[str, Any]]:
    for name in ("to_move", "rewards", "terminated", "truncated", "alive", "deciding"):
        yield name, getattr(engine, name)
    yield "legal", engine.legal()
    yield "observation", engine.observe(packed=engine.facts.observation.bits)
    if everything:
        for seat in range(engine.facts.players):
            yield f"observation of seat {seat}", engine.observe(seat)
        for name, values in engine.fields().items():
            yield f"field {name}", values
