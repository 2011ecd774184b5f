"""PettingZoo view in which agents act in turn: one game as an `AECEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import parallel_to_aec_wrapper
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import IllegalActionError

from .agents_game import AgentsGame
from .common import CopiedWhole, Picture, action_row
from .pettingzoo_parallel import GameParallelEnv


def make_aec(
    game: str | Game, *, illegal: str = "lose", render_mode: str | None = None, **options: Any
) -> AECEnv[str, Any, Any]:
    """Make a PettingZoo AEC environment of a game, given as an id with options or as a `Game`; the other arguments are those of `AgentsGame`.

    Simultaneous games are converted as by PettingZoo's own `parallel_to_aec`.
    """
    made = make_game(game, **options)
    if made.facts.simultaneous:
        return ConvertedEnv(parallel_to_aec_wrapper(GameParallelEnv(made, illegal, render_mode)))
    return GameAECEnv(made, illegal, render_mode)


class ConvertedEnv(CopiedWhole, OrderEnforcingWrapper[str, Any, Any]):  # type: ignore[misc]
    """One simultaneous game whose agents are asked in turn."""


class GameAECEnv(AgentsGame, AECEnv[str, Any, Any]):  # type: ignore[misc]
    """One game with moves in turn; see `AgentsGame`. The mask of an agent that is not to move is all 0."""

    def __init__(self, game: Game, illegal: str = "lose", render_mode: str | None = None) -> None:
        super().__init__(game, illegal, render_mode, idle=np.zeros(game.facts.num_actions, np.int8))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game: game 0 of `seed`, or the next one; `options` are passed to the game.

        Raises:
            OptionError: the seed or the options are not allowed.
        """
        self._start(seed, options)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._skip_agent_selection = None  # of PettingZoo's _was_dead_step
        self._publish()

    def _publish(self) -> None:
        self.terminations, self.truncations = self._flags()
        self.infos = self._infos()
        self.agent_selection = self.possible_agents[int(self.engine.state.to_move[0])]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, Any]:
        """What `agent` sees now, whether it is its turn or not.

        Raises:
            NotResetError: no game was started.
        """
        return self._seen(self.seat_of(agent))

    def step(self, action: ArrayLike) -> None:
        """Play the action of `agent_selection`; None once the game is over.

        Raises:
            IllegalActionError: not an integer (one head) or not H integers; or illegal and `illegal` is "raise".
            NotResetError: no game is running.
        """
        self._require_running()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        chosen = action_row(self.facts, action)
        try:
            self.engine.step(chosen)
            rewards = self.engine.rewards
        except IllegalActionError as error:
            if self._illegal == "raise":
                raise
            rewards = self._lose([self.seat_of(agent)], str(error))
        self.rewards = self._credit(rewards)
        self._cumulative_rewards[agent] = 0.0
        self._accumulate_rewards()
        self._publish()

    def render(self) -> Picture | None:
        """The picture of `render_mode`, as the agent to move sees the game.

        Raises:
            OptionError: there is no render mode.
        """
        return self._picture(int(self.engine.state.to_move[0]))
