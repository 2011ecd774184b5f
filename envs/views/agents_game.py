"""`AgentsGame`: one game with an agent in every seat, the common part of PettingZoo's two kinds of environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray

from ludory.envs.game import Game
from ludory.envs.make import make_engine
from ludory.envs.pictures import html_legal, html_pictures
from ludory.envs.seats.policy_seats import checked_illegal, forfeit_rewards
from ludory.errors import NotResetError, OptionError
from ludory.frames.raster import Camera

from . import common
from .common import action_space, observation_space


class AgentInfo(dict[str, Any]):
    """Info of an agent; `info["action_mask"]` is there, but not among the keys.

    TorchRL's `PettingZooWrapper` fails where both the observation and the keys of info have a mask.
    """

    __slots__ = ("_mask",)

    def __init__(self, mask: NDArray[np.int8], facts: Mapping[str, Any]) -> None:
        super().__init__(facts)
        self._mask = mask

    def __missing__(self, key: str) -> NDArray[np.int8]:
        if key == "action_mask":
            return self._mask
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key == "action_mask" or super().__contains__(key)

    def get(self, key: str, default: object = None) -> Any:
        """The value of a key, or `default`."""
        return self._mask if key == "action_mask" else super().get(key, default)


class AgentsGame(common.CopiedWhole):
    """One game; agents are `player_0`, `player_1`, ... by seat. `illegal_words` says which action was illegal and ended the game, else "".

    An observation is `{"observation": (*shape), "action_mask": int8 (A,)}`; masks are all 1 when the game is over.
    `info` of an agent has `action_mask`, too, for wrappers that keep the `observation` only (see `AgentInfo`); `player`, the seat to move (-1 when the game
    is over, 0 in simultaneous games); the public facts of the game as numbers and arrays (`Look.info`); `returns` float32 (P,), zero
    until the end; and `illegal_action`, whether an illegal action ended the game. Keys, shapes and dtypes are the same from `reset` to
    the end.
    An agent whose seat is out is terminated and leaves `agents`; the others play on.

    Args:
        game: the game to play.
        illegal: "lose": an illegal action ends the game; the return of the agent (of all agents if rewards are shared) becomes the
            worst possible one, the other agents have reward 0. "raise": it raises an IllegalActionError.
        render_mode: None, "ansi", "human", "svg" or "rgb_array", as for `GameEnv`.
        idle: mask int8 of a seat that is not to move, of length at least A; further entries are actions that only the view has.

    Raises:
        OptionError: an argument is not allowed.
    """

    def __init__(self, game: Game, illegal: str, render_mode: str | None, idle: NDArray[np.int8]) -> None:
        self.game, self.facts, self.engine = game, game.facts, make_engine(game)
        self.possible_agents = [f"player_{seat}" for seat in range(game.facts.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        self.render_mode = common.checked_render_mode(game, render_mode, common.render_modes(game))
        self.metadata = {
            "name": game.id or game.facts.name,
            "render_modes": common.render_modes(game),
            "render_fps": game.look.pace,
            "is_parallelizable": game.facts.simultaneous,
        }
        self._illegal, self._idle, self._camera = checked_illegal(illegal), idle, Camera()
        self._observation_spaces = {agent: self._seen_space() for agent in self.possible_agents}
        extra = len(idle) - game.facts.num_actions
        self._action_spaces = {agent: action_space(game.facts, extra) for agent in self.possible_agents}
        self.state_space = observation_space(game.facts.critic_spec)
        self._returns, self._no_returns = np.zeros((2, 1, game.facts.players), np.float32)
        self.illegal_words, self._public_facts = "", common.PublicFacts(game)

    def _seen_space(self) -> Dict:
        return Dict(
            {
                "observation": observation_space(self.facts.observation),
                "action_mask": common.mask_space(len(self._idle)),
            }
        )

    def observation_space(self, agent: str) -> Dict:
        """Space of what `agent` sees: the same object in every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete[Any] | common.HeadsSpace | Box:
        """Space of the actions of `agent`: the same object in every call."""
        return self._action_spaces[agent]

    def state(self) -> NDArray[Any]:
        """The whole game, hidden information included, as a critic of seat 0 sees it in training (`Engine.critic`): flat (C,).

        Raises:
            NotResetError: no game was started.
        """
        seen: NDArray[Any] = self.engine.critic(0)[0]
        return seen

    def _start(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        # PettingZoo's api_test passes {"options": 1} to check that environments accept options.
        given = {key: value for key, value in (options or {}).items() if key != "options"}
        self.engine.reset(options=given, seed=seed)
        self.agents = list(self.possible_agents)
        self._returns[:] = 0
        self.illegal_words = ""

    def _require_running(self) -> None:
        if not self.agents:
            raise NotResetError(f"{self.facts.name}: no game is running; call reset() first")

    @property
    def _mover(self) -> int:
        """The seat to move; -1 when the game is over, 0 in simultaneous games."""
        state = self.engine.state
        if self.illegal_words or state.terminated[0] or state.truncated[0]:
            return -1
        return 0 if self.facts.simultaneous else int(state.to_move[0])

    @property
    def _over(self) -> bool:
        return self._mover < 0

    def _mask(self, seat: int, mover: int) -> NDArray[np.int8]:
        if mover < 0:
            return np.ones(len(self._idle), np.int8)
        if seat != mover and not self.facts.simultaneous:
            return self._idle.copy()
        masks: NDArray[np.int8] = self.engine.legal()[0].view(np.int8)
        if self.facts.simultaneous:
            masks = masks[seat]
            return masks
        if len(masks) == len(self._idle):
            return masks
        padded = np.zeros(len(self._idle), np.int8)
        padded[: len(masks)] = masks
        return padded

    def _seen(self, seat: int) -> dict[str, Any]:
        mover = self._mover
        # the seat to move need not be named, which takes less time
        viewer = None if seat == mover and not self.facts.simultaneous else seat
        return {"observation": self.engine.observe(viewer)[0], "action_mask": self._mask(seat, mover)}

    def _infos(self) -> dict[str, dict[str, Any]]:
        """The info of each agent."""
        mover, infos, facts = self._mover, dict[str, dict[str, Any]](), dict[str, Any]()
        for agent in self.agents:
            seat = self.seat_of(agent)
            if not facts or not self.game.look.one_info:
                facts = {
                    "player": mover,
                    **self._public_facts(self.engine.state, 0, seat),
                    "returns": (self._returns if mover < 0 else self._no_returns)[0],
                    "illegal_action": bool(self.illegal_words),
                }
            infos[agent] = info = AgentInfo(self._mask(seat, mover), facts)
            info["returns"] = facts["returns"].copy()  # not shared with the other agents
        return infos

    def _credit(self, rewards: NDArray[np.float32]) -> dict[str, float]:
        """Add rewards (1, P) to the returns; returns them by agent."""
        self._returns += rewards
        return {agent: float(rewards[0, self.seat_of(agent)]) for agent in self.agents}

    def _lose(self, seats: list[int], words: str) -> NDArray[np.float32]:
        """End the game because `seats` acted illegally; returns the rewards (1, P)."""
        self.illegal_words = words
        rewards: NDArray[np.float32] = forfeit_rewards(self.facts, self._returns, seats)
        return rewards

    def _flags(self) -> tuple[dict[str, bool], dict[str, bool]]:
        """Terminations and truncations by agent."""
        ended, truncated = bool(self.illegal_words), bool(self.engine.state.truncated[0])
        if not self.game.seats_leave:
            terminated = dict.fromkeys(self.agents, ended or bool(self.engine.state.terminated[0]))
        else:
            settled = self.engine.seat_terminated[0]
            terminated = {agent: ended or bool(settled[self.seat_of(agent)]) for agent in self.agents}
        return terminated, dict.fromkeys(self.agents, truncated)

    def seat_of(self, agent: str) -> int:
        """The seat of an agent."""
        return self._seats[agent]

    def _picture(self, seat: int | None) -> common.Picture | None:
        if self.render_mode is None:
            modes = ", ".join(map(repr, common.render_modes(self.game)))
            raise OptionError(f"render() needs a render mode; make the environment with one of {modes}")
        picture = common.draw(self.game, self.engine, 0, seat, self.render_mode, self._camera)
        if self.render_mode != "human":
            return picture
        print(picture)
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game.name}: {', '.join(self.possible_agents)}>"

    def _repr_html_(self) -> str:
        if not self.agents:
            return html_pictures(repr(self), self.game, None, [])
        seat = max(0, int(self.engine.to_move[0]))
        masks = self.engine.legal()[0]
        legal = html_legal(self.game, masks[seat] if self.facts.simultaneous else masks)
        return html_pictures(repr(self), self.game, self.engine.state, [seat]) + legal

    def close(self) -> None:
        """Close the engine, which may own processes."""
        self.engine.close()
