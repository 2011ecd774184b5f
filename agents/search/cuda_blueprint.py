"""`CudaBlueprint`: a rule bot as a blueprint, with rollouts on a GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.envs.engine.cuda_device import find_device
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.engine.protocol import on_host
from ludory.envs.game import Game

from .belief import Draw
from .blueprint import fields_of
from .kernel_blueprint import KernelBlueprint


class CudaBlueprint(KernelBlueprint):
    """As `KernelBlueprint`, with all worlds and actions of a check in one batch on `device`, one launch per move.

    Beliefs stay on the CPU. Checks are rarer, so that a launch has enough work: a search distributes its rollouts differently than on
    the CPU and may return a different action. Each rollout returns the same, bit for bit.

    Raises:
        OptionError: there is no such GPU, as in `find_device`.
    """

    rounds_between_checks = 1000

    def __init__(self, agent: Agent, game: Game, searcher: str, device: str) -> None:
        super().__init__(agent, game, searcher)
        find_device(device)
        self.device = device

    def play(self, drawn: Draw, actions: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
        """Returns of all worlds and actions, played in one batch."""
        count, each, seats = len(drawn.worlds), len(actions), range(self.game.facts.players)
        engine = CudaEngine(self.game, count * each, seed=0, device=self.device)
        engine.load_fields(fields_of(self.game, drawn.worlds.repeat(each)), check=False)
        memories = [engine.tensor(drawn.memories[:, p].repeat(each, axis=0)) for p in seats]
        moves = engine.tensor(np.tile(actions, count))
        returns = engine.rewards[:, seat].double() * 0
        movers = on_host(engine.to_move)
        while (running := np.flatnonzero(movers >= 0)).size:
            for p in seats:
                self.agent.notice(engine, p, running, moves[running], memories[p])
            engine.step(moves)
            returns += engine.rewards[:, seat]
            movers = on_host(engine.to_move)
            for mover in np.unique(movers[movers >= 0]):
                rows = np.flatnonzero(movers == mover)
                moves[rows] = self.agent.choose(engine, int(mover), rows, memories[mover])
        found: NDArray[np.float64] = on_host(returns).reshape(count, each)
        return found
