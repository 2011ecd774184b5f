"""PettingZoo view in which all agents act at once: one game as a `ParallelEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.seats.table import first_legal
from ludory.errors import IllegalActionError

from .agents_game import AgentsGame
from .common import Picture, action_row

Seen = dict[str, Any]
Step = tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]


def make_parallel(
    game: str | Game, *, illegal: str = "lose", render_mode: str | None = None, **options: Any
) -> GameParallelEnv:
    """Make a PettingZoo parallel environment of a game, given as an id with options or as a `Game`; the other arguments are those of `AgentsGame`."""
    return GameParallelEnv(make_game(game, **options), illegal, render_mode)


class GameParallelEnv(AgentsGame, ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """One game in which every agent acts in every step; see `AgentsGame`.

    In sequential games with one head there is one more action, A, "wait": the only legal action of a seat that is not to move.
    With several heads there is no such action; the actions of seats that are not to move are ignored.
    """

    def __init__(self, game: Game, illegal: str = "lose", render_mode: str | None = None) -> None:
        self._wait = not game.facts.simultaneous and len(game.facts.heads) == 1
        # who only waits has the action "wait" alone, or, with several heads, anything: it is ignored
        idle = np.ones(game.facts.num_actions, np.int8)
        super().__init__(game, illegal, render_mode, idle=np.append(idle * 0, np.int8(1)) if self._wait else idle)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Start a game: game 0 of `seed`, or the next one; `options` are passed to the game. Returns observations and infos by agent.

        Raises:
            OptionError: the seed or the options are not allowed.
        """
        self._start(seed, options)
        if self.render_mode == "human":
            self.render()
        return self._by_agent()

    def _by_agent(self) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        seen = {agent: self._seen(self.seat_of(agent)) for agent in self.agents}
        return seen, self._infos()

    def step(self, actions: dict[str, Any]) -> Step:
        """Play one action of every agent in `agents`; returns their observations, rewards, terminations, truncations and infos.

        Raises:
            IllegalActionError: an agent has no action, or one that is not an integer (one head) or not H integers; or one that is
                illegal and `illegal` is "raise". Nothing has been played.
            NotResetError: no game is running.
        """
        self._require_running()
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise IllegalActionError(
                f"{self.facts.name}: no action for {', '.join(missing)}; every agent acts in every step"
            )
        # all are checked before any is played
        rows = {self.seat_of(agent): action_row(self.facts, actions[agent]) for agent in self.agents}
        faults = {seat: words for seat, row in rows.items() if (words := self._fault(seat, row))}
        if faults and self._illegal == "raise":
            raise IllegalActionError("; ".join(faults.values()))
        rewards = self._lose(list(faults), "; ".join(faults.values())) if faults else self._play(rows)
        credited = self._credit(rewards)
        terminated, truncated = self._flags()
        seen, infos = self._by_agent()
        # a seat that is out leaves before the game is over
        self.agents = [] if self._over else [agent for agent in self.agents if not terminated[agent]]
        if self.render_mode == "human":
            self.render()
        return seen, credited, terminated, truncated, infos

    def _play(self, rows: dict[int, NDArray[np.int64]]) -> NDArray[np.float32]:
        if self.facts.simultaneous:
            played = first_legal(self.engine.legal(), self.facts)  # seats that are out have no other action
            for seat, row in rows.items():
                played[0, seat] = row.reshape(-1)
            self.engine.step(played)
        else:
            self.engine.step(rows[int(self.engine.to_move[0])])
        rewards: NDArray[np.float32] = self.engine.rewards
        return rewards

    def _fault(self, seat: int, row: NDArray[np.int64]) -> str:
        """Why the action of `seat` is illegal, "" if it is legal."""
        mask, values, offset = self._mask(seat, self._mover), row.reshape(-1), 0
        ignored = not self._wait and not self.facts.simultaneous and seat != int(self.engine.to_move[0])
        if ignored:
            return ""
        if self.facts.box is not None:
            low, high = self.facts.box
            inside = ((values >= low) & (values <= high)).all()
            limits = f"must lie in {list(low)}..{list(high)}"
            return "" if inside else f"{self.facts.name}: action {values} of {self.possible_agents[seat]} {limits}"
        if self.game.rules.ignores_waiting and not self.engine.deciding[0, seat]:
            mask = np.ones_like(mask)
        sizes = (len(mask),) if self._wait else self.facts.head_sizes
        for head, (value, size) in enumerate(zip(values, sizes, strict=True)):
            allowed = np.flatnonzero(mask[offset : offset + size])
            if value not in allowed:
                listed = ", ".join(f"{a} ({self._action_name(head, int(a))})" for a in allowed)
                where = f" of head {self.facts.heads[head].name}" if len(sizes) > 1 else ""
                return f"{self.facts.name}: action {value}{where} of {self.possible_agents[seat]} is not legal; legal: {listed}"
            offset += size
        return ""

    def _action_name(self, head: int, value: int) -> str:
        return "wait" if self._wait and value == self.facts.num_actions else self.game.look.action_name(head, value)

    def render(self) -> Picture | None:
        """The picture of `render_mode`, as the seat to move sees the game; in simultaneous games with everything visible.

        Raises:
            OptionError: there is no render mode.
        """
        return self._picture(None if self.facts.simultaneous else int(self.engine.state.to_move[0]))
