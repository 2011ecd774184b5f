"""Gymnasium vector view: a batch of games as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ludory.envs.engine.protocol import Array
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.options import check_range
from ludory.envs.pictures import html_pictures
from ludory.envs.seats.opponents import Others, Seats
from ludory.envs.seats.policy_seats import PolicySeats, checked_illegal
from ludory.errors import IllegalActionError, NotResetError, OptionError
from ludory.frames.raster import Camera

from . import common


def make_vector_env(
    game: str | Game,
    num_envs: int = 1,
    *,
    device: str = "cpu",
    autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
    seats: Seats = None,
    others: Others | None = None,
    illegal: str = "lose",
    render_mode: str | None = None,
    max_episode_steps: int | None = None,
    **options: Any,
) -> GameVectorEnv:
    """Make a Gymnasium vector environment of a game, given as an id with options or as a `Game`; the other arguments are those of `GameVectorEnv`."""
    made = make_game(game, **options)
    return GameVectorEnv(made, num_envs, device, autoreset_mode, seats, others, illegal, render_mode, max_episode_steps)


class GameVectorEnv(common.CopiedWhole, VectorEnv[Array, Array, Array]):
    """n games that one policy plays. Returned arrays are new NumPy arrays on the CPU and new torch tensors on CUDA.

    `reset(seed=s)` starts game k of seed s in row k, the same as with `make_engine(..., num_games=n, seed=s)`. In `options`,
    `reset_mask` bool (n,) selects the rows to reset (default all); the rest is passed to the game, with arrays for these rows.

    `info` of `reset` and `step` has `action_mask` int8 (n, A), all 1 in rows whose game is over; `player` int64 (n,), the seat to
    move (-1 when the game is over, 0 in simultaneous games); `returns` float32 (n, P) and `illegal_action` bool (n,), True where an
    illegal action ended the game, both zero in rows whose game is not over. With SAME_STEP the returned observations and infos already
    belong to the next games; steps in which games end also have the observations of these in `final_obs` (an object array as in
    Gymnasium's SyncVectorEnv, on CUDA a tensor (n, *shape)) and their infos in `final_info` (the same keys). As everywhere in
    Gymnasium, `_key` bool (n,) says in which rows `key` has a value. `action_space.sample(info["action_mask"])` is legal. Public facts of games that are not arrays are not collected: read `engine.state`, or
    call `game.look.info(engine.state, row)`, on CUDA with `ludory.envs.state_on_host(engine.state)`. As in `GameEnv`, the episode is over if the policy's seat is out.

    Args:
        game: the game to play.
        num_envs: n.
        device: "cpu" or "cuda".
        autoreset_mode: SAME_STEP, NEXT_STEP or DISABLED.
        seats, others, illegal: as for `GameEnv`; an illegal action ends the game of its row only.
        render_mode: None, "ansi", "svg" or "rgb_array", as for `GameEnv`: `render` returns one picture per game.
        max_episode_steps: a game is truncated after so many actions of the policy, as by Gymnasium's `TimeLimit`; None: no limit.

    Raises:
        OptionError: an argument is not allowed.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int = 1,
        device: str = "cpu",
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        seats: Seats = None,
        others: Others | None = None,
        illegal: str = "lose",
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        self.game, self.facts, self.num_envs = game, game.facts, num_envs
        self.engine = make_engine(game, num_envs, device)
        self.autoreset_mode = _checked_mode(autoreset_mode)
        modes = [mode for mode in common.render_modes(game) if mode != "human"]
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": modes, "render_fps": game.look.pace}
        self.render_mode = common.checked_render_mode(game, render_mode, modes)
        self.single_observation_space = common.observation_space(game.facts.observation)
        self.single_action_space = common.action_space(game.facts)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = common.batched_actions(self.single_action_space, num_envs)
        self._illegal, self._camera = checked_illegal(illegal), Camera()
        self.seats, self.others = seats, others
        self._policy_seats = PolicySeats(game, self.engine, seats, others)
        self._arrays = self._policy_seats.arrays
        self._returns = self._arrays.zeros(num_envs, game.facts.players, dtype="float32")
        self._over = self._arrays.zeros(num_envs, dtype="bool")  # ended, and not reset yet
        if max_episode_steps is not None:
            check_range("max_episode_steps", max_episode_steps, 1, 2**31 - 1)
        self._limit = max_episode_steps
        self._lengths = self._arrays.zeros(num_envs, dtype="int64")  # actions of the policy in the running games
        self._seeded = False

    @property
    def reward_seat(self) -> int:
        """Column of `returns` that belongs to the policy."""
        return self._policy_seats.reward_seat

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start games in all rows, or in those of `options["reset_mask"]`; returns observations (n, *shape) and info.

        Raises:
            OptionError: the seed or the options are not allowed.
            NotResetError: the first reset does not reset all rows.
        """
        if seed is not None and not isinstance(seed, int | np.integer):
            raise OptionError(
                f"seed={seed!r}: must be one integer; row k plays game k of that seed. "
                'A list is taken by gym.make_vec(id, vectorization_mode="sync")'
            )
        super().reset(seed=seed)
        given = dict(options or {})
        rows = self._masked_rows(given.pop("reset_mask", None))
        if rows is not None and seed is not None:
            raise OptionError("seed starts the games of all rows anew: give either a seed or a reset_mask")
        if rows is not None and not self._seeded:
            raise NotResetError("the first reset starts all games; leave reset_mask out")
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**62))
        self._begin(rows, given, seed)
        self._seeded = True
        return self._policy_seats.observe(), self._info()

    def _masked_rows(self, mask: Any) -> Array | None:
        if mask is None:
            return None
        array = self._arrays.asarray(mask)
        if tuple(array.shape) != (self.num_envs,) or "bool" not in str(array.dtype):
            got = f"{array.dtype} {tuple(array.shape)}"
            raise OptionError(f"reset_mask: must be a bool array ({self.num_envs},), got {got}")
        if not array.any():
            raise OptionError("reset_mask: must be true somewhere")
        return self._arrays.where(array)

    def _begin(self, rows: Array | None, options: Mapping[str, Any] | None = None, seed: int | None = None) -> None:
        self._policy_seats.start(rows, options, seed)
        where = slice(None) if rows is None else rows
        self._returns[where] = self._lengths[where] = 0
        self._over[where] = False

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play one action in every row.

        Args:
            actions: integers (n,) for one head, (n, H) for several. With NEXT_STEP, rows whose game is over ignore theirs.

        Returns:
            Observations (n, *shape), the policy's rewards float32 (n,), terminated and truncated bool (n,), info.

        Raises:
            IllegalActionError: wrong shape or dtype; or an action is illegal and `illegal` is "raise" (nothing has been played).
            NotResetError: no games were started; or, with DISABLED, a game is over.
        """
        chosen, ended = self._checked_actions(actions), self._ended_rows()
        rewards, lost = self._play(chosen, None if ended is None else self._arrays.where(~self._over))
        self._returns += rewards
        self._lengths += 1
        if ended is not None:
            self._begin(ended)
        terminated, truncated = self._policy_seats.ends()
        if lost is not None:
            terminated |= lost
        if self._limit is not None:
            truncated |= self._lengths >= self._limit
        self._over = terminated | truncated
        final: dict[str, Any] = {}
        rows = self._arrays.where(self._over)
        if len(rows) and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final, lost = self._final(rows, lost), None
            self._begin(rows)
        reward = self._arrays.copy(rewards[:, self._policy_seats.reward_seat])
        return self._policy_seats.observe(), reward, terminated, truncated, self._info(lost) | final

    def _checked_actions(self, actions: Any) -> Array:
        chosen, heads = self._arrays.asarray(actions), len(self.facts.heads)
        if self.facts.box is not None:
            right = (self.num_envs, self.facts.action_size)
            if tuple(chosen.shape) != right:
                raise IllegalActionError(
                    f"{self.facts.name}: actions must be floats {right}, got {tuple(chosen.shape)}"
                )
            return np.asarray(chosen, np.float32)
        shape = (self.num_envs,) if heads == 1 else (self.num_envs, heads)
        if tuple(chosen.shape) != shape or not self._arrays.integers(chosen):
            got = f"{chosen.dtype} {tuple(chosen.shape)}"
            raise IllegalActionError(f"{self.facts.name}: actions must be integers {shape}, got {got}")
        return self._arrays.int64(chosen)

    def _ended_rows(self) -> Array | None:
        """Rows to reset in this step, None if there are none."""
        if not self._seeded:
            raise NotResetError(f"{self.facts.name}: no games are running; call reset() first")
        if self.autoreset_mode is AutoresetMode.SAME_STEP or not len(rows := self._arrays.where(self._over)):
            return None
        if self.autoreset_mode is AutoresetMode.DISABLED:
            raise NotResetError(
                f"{len(rows)} of {self.num_envs} games are over, the first in row {int(rows[0])}: {HOW_TO_RESET}"
            )
        return rows

    def _play(self, chosen: Array, rows: Array | None) -> tuple[Array, Array | None]:
        """Rewards (n, P), and bool (n,) of the rows that were lost by an illegal action, None if there are none."""
        try:
            return self._policy_seats.play(chosen if rows is None else chosen[rows], rows), None
        except IllegalActionError as error:
            if self._illegal == "raise":
                raise
            common.warn_of_illegal(self.game, str(error))
        legal = self._policy_seats.legal_rows(chosen)
        rows, lost = self._arrays.where(legal & ~self._over), ~legal & ~self._over
        rewards = self._policy_seats.play(chosen[rows], rows)
        rewards[lost] = self._policy_seats.forfeit(self._returns[lost])
        return rewards, lost

    def _endings(self, lost: Array | None) -> dict[str, Any]:
        """`returns` and `illegal_action` of the rows whose game is over, zero elsewhere."""
        illegal = self._arrays.zeros(self.num_envs, dtype="bool") if lost is None else lost
        return _in_rows(self._over, returns=self._returns * self._over[:, None], illegal_action=illegal)

    def _final(self, rows: Array, lost: Array | None) -> dict[str, Any]:
        """`final_obs` and `final_info` of games that ended, before their rows are reset."""
        over = self._arrays.copy(self._over)
        masks = self._arrays.zeros(self.num_envs, self.facts.num_actions, dtype="int8")
        masks[rows] = 1
        player = self._arrays.zeros(self.num_envs, dtype="int64")
        player[rows] = -1
        ended = self._endings(lost) | _in_rows(over, action_mask=masks, player=player)
        return _in_rows(over, final_obs=self._arrays.boxed(over, self._policy_seats.observe(rows)), final_info=ended)

    def _info(self, lost: Array | None = None) -> dict[str, Any]:
        player = self.engine.to_move
        player[self._over] = -1
        everywhere = player == player
        masks = self._arrays.int8(self.action_masks())
        return _in_rows(everywhere, action_mask=masks, player=player) | self._endings(lost)

    @property
    def running_returns(self) -> Array:
        """Sum of rewards (n, P) of the running games so far."""
        return self._returns

    def players_state(self) -> dict[str, Array]:
        """Memories and seed of the players of other seats, by name; for `restore_players`."""
        return self._policy_seats.state()

    def restore_players(self, state: Mapping[str, Array]) -> bool:
        """Restore what `players_state` returned, after `engine.load_fields`. Returns False if games must be reset, see `PolicySeats.restore`."""
        return self._policy_seats.restore(state)

    def resume(self, returns: Array, lengths: Array) -> Array:
        """Continue the running games that `engine.load_fields` restored in all rows, instead of a reset; returns observations.

        Args:
            returns: (n, P) sum of their rewards so far.
            lengths: (n,) number of the policy's actions so far.
        """
        self._returns[:] = self._arrays.asarray(returns)
        self._lengths[:] = self._arrays.asarray(lengths)
        self._over[:] = False
        self._seeded = True
        return self._policy_seats.observe()

    def action_masks(self) -> Array:
        """Legal masks bool (n, A) of the next actions, all True in rows whose game is over."""
        masks = self._policy_seats.legal()
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            masks[self._over] = True
        return masks

    def close_extras(self, **kwargs: Any) -> None:
        """Close the engine, which may own processes."""
        self.engine.close()

    def render(self) -> tuple[Any, ...] | None:
        """The pictures of `render_mode`, one per game.

        Raises:
            OptionError: the environment has no render mode.
            NotResetError: no games were started.
        """
        if self.render_mode is None:
            raise OptionError(
                f"render() needs a render mode; make the environment with one of {self.metadata['render_modes']}"
            )
        if not self._seeded:
            raise NotResetError(f"{self.facts.name}: nothing to draw before reset()")
        return tuple(
            common.draw(self.game, self.engine, row, seat, self.render_mode, self._camera)
            for row, seat in enumerate(self._viewers())
        )

    def _viewers(self) -> list[int]:
        """The seat whose view is drawn, for each row."""
        own, to_move = self._policy_seats.own, self.engine.state.to_move
        return [int(to_move[row]) if own is None else own for row in range(self.num_envs)]

    def __repr__(self) -> str:
        seats = "all seats" if self._policy_seats.own is None else f"seat {self._policy_seats.own}"
        return f"<GameVectorEnv of {self.num_envs:,} x {self.game.name}: the policy plays {seats}>"

    def _repr_html_(self) -> str:
        return html_pictures(repr(self), self.game, self.engine.state, self._viewers() if self._seeded else [])


HOW_TO_RESET = 'call reset(options={"reset_mask": terminated | truncated}) first'


def _in_rows(mask: Array, **values: Any) -> dict[str, Any]:
    """`values`, each with a `_key` that says in which rows it has a value."""
    return values | {f"_{key}": mask | False for key in values}


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    names = {name: kind for kind in AutoresetMode for name in (kind, kind.name, kind.value)}
    if mode not in names:
        raise OptionError(
            f"autoreset_mode={mode!r}: must be {', '.join(repr(kind.value) for kind in AutoresetMode)} or an AutoresetMode"
        )
    return names[mode]
