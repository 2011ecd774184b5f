"""Blocks of games: what evaluations are cut into, and what a worker plays at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.cluster.workers import Workers
from ludory.envs import Engine, Game, NamedGame, make_engine, state_on_host
from ludory.envs.seats.table import Listener, Table
from ludory.errors import OptionError

Watch = Callable[[Engine], Listener]
MOST_ELSEWHERE = 256
"""Most games at once of engines from other libraries: each game is an object or a process, which takes more memory than a row."""


class Block(NamedTuple):
    """Games in a row with the same agents."""

    seats: tuple[int, ...]
    """Number of the agent of each seat in a roster."""
    first: int
    games: int


class PlayedBlock(NamedTuple):
    """Results of a block."""

    returns: NDArray[np.float32]  # (count, P)
    infos: list[dict[str, Any]]  # final public facts of every game


class Roster:
    """The agents of an evaluation, and what they were made from.

    Args:
        named: specs (see `make_agent`), agents or trained models.
        game: what they play.
    """

    def __init__(self, named: Sequence[Any], game: Game) -> None:
        self.named, self.game = tuple(named), game
        self.agents = tuple(make_agent(one, game) for one in named)

    def counts(self) -> dict[str, dict[str, float]]:
        """What each agent counts, by its name; of agents of one name the sums. Those that count nothing are left out."""
        found: dict[str, dict[str, float]] = {}
        for number, agent in enumerate(self.agents):
            for name, count in agent.counts().items():
                of_one = found.setdefault(self.name(number), {})
                of_one[name] = of_one.get(name, 0) + count
        return found

    def name(self, number: int) -> str:
        """The spec of an agent, or its own name where it was given as an object."""
        named = self.named[number]
        return named if isinstance(named, str) else self.agents[number].name


class _Task(NamedTuple):
    """A block with everything that a worker needs to play it."""

    game: NamedGame
    named: tuple[tuple[int, Any], ...]
    """Number in the roster, and spec or agent."""
    block: Block
    seed: int
    device: str


def cut(whole: Block, batch: int) -> list[Block]:
    """`whole` in blocks of at most `batch` games."""
    stop = whole.first + whole.games
    return [Block(whole.seats, first, min(batch, stop - first)) for first in range(whole.first, stop, batch)]


def play_blocks(
    roster: Roster,
    blocks: Sequence[Block],
    seed: int,
    device: str = "cpu",
    watch: Watch | None = None,
    workers: Workers | None = None,
) -> Iterator[PlayedBlock]:
    """Results of the blocks in their order.

    Args:
        roster: the agents; those of a seating are seeded before its first block, or with `workers` before each of its blocks.
        blocks: to play; those of one seating come one after another.
        seed: of the deals, and of agents that draw.
        device: where the games run.
        watch: called with every engine; returns a listener.
        workers: who plays; None: this process.

    Raises:
        OptionError: `watch` with `workers`, or a game that has no id and cannot be named to a worker.
    """
    if workers is not None:
        yield from workers.map(_play_task, _tasks(roster, blocks, seed, device, watch))
        return
    for number, block in enumerate(blocks):
        seated = [roster.agents[one] for one in block.seats]
        if not number or blocks[number - 1].seats != block.seats or blocks[number - 1].first >= block.first:
            seed_agents(seated, seed)
        yield _play(seated, roster.game, block, seed, device, watch)


def seed_agents(seated: Sequence[Agent], seed: int) -> None:
    """Seed every agent by the first of its seats."""
    for seat, agent in enumerate(seated):
        if agent not in seated[:seat]:
            agent.seed(int(np.random.SeedSequence([seed, seat]).generate_state(1)[0]))


def _tasks(roster: Roster, blocks: Sequence[Block], seed: int, device: str, watch: Watch | None) -> Iterator[_Task]:
    if watch is not None:
        raise OptionError("watch: a listener hears games of its own process only; leave workers out")
    name = NamedGame.of(roster.game)
    for block in blocks:
        named = tuple((one, roster.named[one]) for one in sorted(set(block.seats)))
        yield _Task(name, named, block, seed, device)


def _play_task(task: _Task) -> PlayedBlock:
    """Play a block in a worker."""
    game = _game(task.game)
    agents = {
        number: _agent(number, one, task.game) if isinstance(one, str) else make_agent(one, game)
        for number, one in task.named
    }
    seated = [agents[number] for number in task.block.seats]
    seed_agents(seated, task.seed)
    return _play(seated, game, task.block, task.seed, task.device, None)


_game = lru_cache(maxsize=4)(NamedGame.make)


@lru_cache(maxsize=16)
def _agent(number: int, spec: str, game: NamedGame) -> Agent:
    """The agent of this number in the roster, kept for the next blocks of this worker."""
    return make_agent(spec, _game(game))


def _play(
    agents: Sequence[Agent], game: Game, block: Block, seed: int, device: str, watch: Watch | None
) -> PlayedBlock:
    """Play the games `first`, `first + 1`, ..."""
    engine = make_engine(game, block.games, device=device, seed=seed, first_game=block.first)
    table = Table(engine, agents)
    table.listener = watch(engine) if watch else None
    table.start()
    table.run()
    state = state_on_host(engine.state)
    infos = [game.look.info(state, i) for i in range(block.games)]
    engine.close()
    return PlayedBlock(table.rewards, infos)
