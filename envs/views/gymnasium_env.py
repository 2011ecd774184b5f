"""Gymnasium view: one game as a `gymnasium.Env`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.engine.protocol import Array
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.pictures import html_legal, html_pictures
from ludory.envs.seats.opponents import Others, Seats
from ludory.envs.seats.policy_seats import PolicySeats, checked_illegal
from ludory.errors import IllegalActionError, NotResetError
from ludory.frames.raster import Camera

from . import common

_INT8 = np.dtype(np.int8)


def make_env(
    game: str | Game,
    *,
    seats: Seats = None,
    others: Others | None = None,
    illegal: str = "lose",
    render_mode: str | None = None,
    **options: Any,
) -> GameEnv:
    """Make a Gymnasium environment of a game, given as an id with options or as a `Game`; the other arguments are those of `GameEnv`."""
    return GameEnv(make_game(game, **options), seats, others, illegal, render_mode)


make_env.metadata = {"render_modes": ["ansi", "human", "svg", "rgb_array"]}  # type: ignore[attr-defined]
"""Read by `gym.make`, which makes `render_mode="rgb_array_list"` from "rgb_array"."""


class GameEnv(common.CopiedWhole, gym.Env[NDArray[Any], Any]):
    """One game that one policy plays.

    `info` of every step has `action_mask` int8 (A,), all 1 when the game is over; `player`, the seat to move (-1 when the game is over,
    0 in simultaneous games); the public facts of the game as numbers and arrays (`Look.info`); `returns` float32 (P,), zero until the
    end; and `illegal_action`, whether an illegal action ended the game: `illegal_words` says which one. Keys, shapes and dtypes are the
    same from `reset` to the end.

    `reset(seed=s)` starts game 0 of seed s, the same as with `make_engine(..., num_games=1, seed=s)`; `reset()` starts the next game of
    that seed. `reset(options=...)` passes options to the game.

    If the policy's seat is out, the episode is over even if the others could play on; `returns` are the rewards until then.

    Args:
        game: the game to play.
        seats: "all": the policy plays every seat in turn (shared rewards only); or the seat that it plays.
            None: "all" if that is possible and no `others` are named, else 0.
        others: players of the other seats: an agent or its name, or P - 1 of them in seat order; None: "random".
        illegal: "lose": an illegal action ends the game with the worst possible return, and the first one is a
            warning; "raise": it raises an IllegalActionError.
        render_mode: None; "ansi": `render` returns text, as the policy's seat (or the seat to move) sees the game; "human": the text is
            printed after every step; "svg": `render` returns an SVG document; "rgb_array": it returns pixels, uint8 (height, width, 3),
            for which the extra `pictures` must be installed.

    Raises:
        OptionError: an argument is not allowed.
    """

    def __init__(
        self,
        game: Game,
        seats: Seats = None,
        others: Others | None = None,
        illegal: str = "lose",
        render_mode: str | None = None,
    ) -> None:
        self.game, self.facts = game, game.facts
        self.engine = make_engine(game)
        self.metadata = {"render_modes": common.render_modes(game), "render_fps": game.look.pace}
        self.render_mode = common.checked_render_mode(game, render_mode, common.render_modes(game))
        self.observation_space = common.observation_space(game.facts.observation)
        self.action_space = common.action_space(game.facts)
        self._illegal, self._camera = checked_illegal(illegal), Camera()
        self.seats, self.others = seats, others
        self._policy_seats, self._public_facts = PolicySeats(game, self.engine, seats, others), common.PublicFacts(game)
        self._returns, self._no_returns = np.zeros((2, 1, game.facts.players), np.float32)
        self._seeded, self._over, self.illegal_words = False, True, ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start a game; returns observation and info.

        Raises:
            OptionError: the seed or the options are not allowed.
        """
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**62))
        self._policy_seats.start(options=options, seed=seed)
        self._seeded, self._over, self.illegal_words = True, False, ""
        self._returns.fill(0)
        if self.render_mode == "human":
            self.render()
        return self._policy_seats.observe()[0], self._info(self._mask())

    def step(self, action: ArrayLike) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Play one action; returns observation, the reward of the policy's seat, terminated, truncated and info.

        Raises:
            IllegalActionError: the action is not an integer (one head) or not H integers; or it is illegal and `illegal` is "raise".
            NotResetError: the game is over, or none was started.
        """
        if self._over:
            raise NotResetError(f"{self.facts.name}: no game is running; call env.reset() first")
        chosen, seats = common.action_row(self.facts, action), self._policy_seats
        try:
            rewards, (masks, seen) = seats.turn(chosen)
        except IllegalActionError as error:
            if self._illegal == "raise":
                raise
            rewards, self.illegal_words = seats.forfeit(self._returns), str(error)
            common.warn_of_illegal(self.game, self.illegal_words)
            masks, seen = seats.legal(), seats.observe()
        self._returns += rewards
        terminated, truncated = seats.ended()
        terminated = terminated or bool(self.illegal_words)
        self._over = terminated or truncated
        if self.render_mode == "human":
            self.render()
        return seen[0], rewards.item(0, seats.reward_seat), terminated, truncated, self._info(masks[0])

    def _info(self, mask: Array) -> dict[str, Any]:
        return {
            "action_mask": np.ones(len(mask), np.int8) if self._over else mask.view(_INT8),
            "player": -1 if self._over else 0 if self.facts.simultaneous else self.engine.state.to_move.item(0),
            **self._public_facts(self.engine.state, 0, self._policy_seats.own),
            "returns": (self._returns if self._over else self._no_returns)[0].copy(),
            "illegal_action": bool(self.illegal_words),
        }

    def _mask(self) -> Array:
        return np.ones(self.facts.num_actions, bool) if self._over else self._policy_seats.legal()[0]

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal mask bool (A,) of the next action, all True when the game is over. sb3-contrib looks for this method."""
        mask: NDArray[np.bool_] = self._mask()
        return mask

    def __repr__(self) -> str:
        seats = "all seats" if self._policy_seats.own is None else f"seat {self._policy_seats.own}"
        return f"<GameEnv of {self.game.name}: the policy plays {seats}>"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        if not self._seeded:
            return html_pictures(repr(self), self.game, None, [])
        legal = "" if self._over else html_legal(self.game, self._mask())
        return html_pictures(repr(self), self.game, self.engine.state, [self._viewer()]) + legal

    def close(self) -> None:
        """Close the engine, which may own processes."""
        self.engine.close()

    def render(self) -> common.Picture | None:
        """The picture of `render_mode`.

        Raises:
            NotResetError: no game was started.
        """
        if self.render_mode is None:
            gym.logger.warn(
                f"render() without a render mode; make the environment with one of {common.render_modes(self.game)}"
            )
            return None
        if not self._seeded:
            raise NotResetError(f"{self.facts.name}: nothing to draw before env.reset()")
        picture = common.draw(self.game, self.engine, 0, self._viewer(), self.render_mode, self._camera)
        if self.render_mode != "human":
            return picture
        print(picture)
        return None

    def _viewer(self) -> int:
        """The seat whose view is drawn."""
        own = self._policy_seats.own
        return int(self.engine.state.to_move[0]) if own is None else own
