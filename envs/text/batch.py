"""`TextGames`: the batch of games under a `TextEnv`. It starts groups in shared rooms, plays lists of actions and writes states."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.checks import checked_seed
from ludory.envs.engine.protocol import on_host
from ludory.envs.game import Game
from ludory.envs.make import make_engine
from ludory.envs.rooms import check_split
from ludory.envs.seats.opponents import Others
from ludory.envs.seats.policy_seats import PolicySeats
from ludory.errors import IllegalActionError, OptionError

from .prompts import codec_of
from .reply import Action

RAGEN_SEEDS = {"train": 10000, "valid": 123}
"""Seeds of the first rooms of RAGEN; validation always has the same ones."""


class Executed(NamedTuple):
    """What one list of actions did in one game."""

    actions: list[Action]
    """Those that were executed, in order."""
    rewards: list[float]
    """One per action, with what the other seats' moves brought until the next decision."""
    states: list[str]
    """After each action, in the style of beliefs."""
    illegal: list[Action]
    """The action that was not legal, at which the list stopped; empty: there was none."""


class TextGames:
    """N games in groups of `group_size` that start in the same room.

    A game with rooms (`Analysis.rooms`) draws one per group, and its chance differs between the members. Any other game is started once per
    group, and all members get a copy, chance included.

    Args:
        game: has a codec.
        count: N.
        group_size: divides N.
        seed: of the first group's room; group k of the r-th reset has room seed + r * groups + k. It also seeds the engine.
        split: only rooms of this split.
        seeds: "ragen": the seeds of RAGEN.
        seat: the model's seat; "all": every seat, where they share their rewards.
        opponents: players of the other seats.
        first_group: number of the first group in a larger batch, of which these are the rooms and the chance; give every reset a seed.

    Raises:
        OptionError: a value is not allowed, or the game lacks what it asks for.
    """

    def __init__(
        self,
        game: Game,
        count: int,
        group_size: int = 1,
        seed: int | None = None,
        split: str | None = None,
        seeds: Literal["ragen"] | None = None,
        seat: int | Literal["all"] = 0,
        opponents: Others = "random",
        first_group: int = 0,
    ) -> None:
        _check_counts(count, group_size)
        _check_rooms(game, split, seeds)
        self.game, self.codec, self.seat = game, codec_of(game), seat
        self._split = None if seeds else split
        self._fixed = seeds == "ragen" and split == "valid"
        if seeds == "ragen" and seed is None:
            seed = RAGEN_SEEDS[split or "train"]
        self.seed = secrets.randbits(62) if seed is None else checked_seed(seed)
        """Of the room of the first group after the first reset."""
        self.rounds = 0
        """Number of resets since `seed` was set."""
        self.group: NDArray[np.int64] = np.arange(count) // group_size
        self._first_group = first_group
        self.engine = make_engine(game, count, "cpu", self.seed, first_game=first_group * group_size)
        self._alone = game.facts.players == 1
        self._seats = PolicySeats(game, self.engine, seat, None if seat == "all" else opponents)
        self._rewards: NDArray[np.float64] = np.zeros(count)
        self.rooms: Mapping[str, NDArray[Any]] = {}
        """Reset options that start the games of the present episodes, one value per game; empty: the game has no rooms."""
        self.room_hashes: NDArray[np.uint64] = np.zeros(count, np.uint64)
        """(N,); 0 for games without rooms."""
        if group_size > 1 and game.analysis.rooms is None:
            game.need("TextEnv with group_size > 1", "saves")

    def start(self, seed: int | None = None) -> None:
        """Start new games in all rows; `seed` starts the sequence of rooms and the engine's chance again."""
        if seed is not None:
            self.seed, self.rounds = checked_seed(seed), 0
        groups = int(self.group[-1]) + 1
        if self.game.analysis.rooms is not None:
            first = self.seed + self._first_group + (0 if self._fixed else self.rounds * groups)
            drawn = self.game.analysis.rooms.draw(np.arange(first, first + groups), self._split)
            self.room_hashes = np.asarray(self.game.analysis.rooms.hashes(drawn), np.uint64)[self.group]
            self.rooms = {name: np.asarray(values)[self.group] for name, values in drawn.items()}
        self._seats.start(options=dict(self.rooms) or None, seed=seed)
        if self.game.analysis.rooms is None and groups < len(self.group):
            self._copy_first_of_groups()
        self.rounds += 1

    def _copy_first_of_groups(self) -> None:
        # the first row of each row's group
        first = np.searchsorted(self.group, self.group)
        self.engine.load_fields({name: on_host(values)[first] for name, values in self.engine.fields().items()}, False)
        memories = {name: np.asarray(on_host(values)) for name, values in self._seats.state().items()}
        if not self._seats.restore(
            # the players' seed has no rows
            {name: values[first] if values.ndim else values for name, values in memories.items()}
        ):
            raise OptionError(
                "group_size: a player of the other seats has a memory that cannot be copied; choose another one"
            )

    def play(self, rows: NDArray[np.int64], plans: Sequence[Sequence[Action]], style: str) -> list[Executed]:
        """Play `plans[k]` in game rows[k], until its list or its game ends or an action is not legal; all games move together."""
        done = [Executed([], [], [], []) for _ in plans]
        active, position = [k for k, plan in enumerate(plans) if plan], 0
        while active:
            actions = [plans[k][position] for k in active]
            fine = self._step(rows[active], np.array(actions, np.int64))
            if not fine.all():
                for place in np.flatnonzero(~fine).tolist():
                    done[active[place]].illegal.append(actions[place])
                kept = np.flatnonzero(fine).tolist()
                active, actions = [active[place] for place in kept], [actions[place] for place in kept]
            chosen = rows[active]
            rewards, over = self._rewards[chosen].tolist(), self.over[chosen].tolist()
            states = self.write(chosen, style)
            for k, action, reward, state in zip(active, actions, rewards, states, strict=True):
                executed, paid, seen, _ = done[k]
                executed.append(action)
                paid.append(reward)
                seen.append(state)
            position += 1
            active = [k for k, ended in zip(active, over, strict=True) if not ended and len(plans[k]) > position]
        return done

    def _step(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Play the legal ones of `actions` (n,) or (n, H); returns which ones were (n,)."""
        fine = np.ones(len(rows), bool)
        try:
            self._move(rows, actions)
        except IllegalActionError:  # nothing has been played
            fine = on_host(self._seats.legal_rows(actions, rows))
            if fine.any():
                self._move(rows[fine], actions[fine])
        return fine

    def _move(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        if self._alone:
            self.engine.step(actions, rows)
            rewards = self.engine.rewards
        else:
            rewards = self._seats.play(actions, rows)
        self._rewards = on_host(rewards)[:, self._seats.reward_seat].astype(np.float64)

    @property
    def over(self) -> NDArray[np.bool_]:
        """(N,): the game has ended for the model."""
        terminated, truncated = self._seats.ends()
        return on_host(terminated | truncated)

    def terminated(self, row: int) -> bool:
        """Whether a game ended by its rules."""
        return bool(self._seats.ends()[0][row])

    def write(self, rows: NDArray[np.int64], style: str) -> list[str]:
        """The games `rows` as the model sees them, one text each."""
        if not len(rows):
            return []
        state = self.engine.state
        if self.seat != "all":
            return self.codec.write(state, rows.tolist(), self.seat, style)
        seats, texts = on_host(self.engine.to_move)[rows], [""] * len(rows)
        for seat in np.unique(seats).tolist():
            places = np.flatnonzero(seats == seat)
            part = self.codec.write(state, rows[places].tolist(), seat if seat >= 0 else None, style)
            for place, text in zip(places.tolist(), part, strict=True):
                texts[place] = text
        return texts

    def success(self, row: int, score: float) -> bool:
        """Whether the model succeeded in a game: what the game's info says, else whether it ended by its rules with a score above 0."""
        said = self.game.look.info(self.engine.state, row).get("success")
        return self.terminated(row) and score > 0 if said is None else bool(said)

    def state(self) -> dict[str, Any]:
        """Everything that continues the games: NumPy arrays and plain values.

        Raises:
            OptionError: the game's engine cannot be saved.
        """
        self.game.need("TextEnv.state_dict", "saves")
        return {
            "engine": _copies(self.engine.fields()),
            "seats": _copies(self._seats.state()),
            "rooms": _copies(self.rooms),
            "room_hashes": self.room_hashes.copy(),
            "seed": self.seed,
            "rounds": self.rounds,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned.

        Raises:
            SnapshotError: the arrays are not a state of this game.
            OptionError: a player of the other seats has a memory that is not saved.
        """
        self.engine.load_fields(state["engine"])
        if not self._seats.restore(state["seats"]):
            raise OptionError("a player of the other seats has a memory that is not saved; call reset() instead")
        self.rooms = {name: np.array(values) for name, values in state["rooms"].items()}
        self.room_hashes = np.array(state["room_hashes"], np.uint64)
        self.seed, self.rounds = int(state["seed"]), int(state["rounds"])

    def close(self) -> None:
        """Release the engine."""
        self.engine.close()


def _copies(arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: np.array(on_host(values)) for name, values in arrays.items()}


def _check_counts(count: int, group_size: int) -> None:
    for name, value in (("num_episodes", count), ("group_size", group_size)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise OptionError(f"{name}={value!r}: must be a whole number, at least 1")
    if count % group_size:
        raise OptionError(f"group_size={group_size}: must divide num_episodes={count}")


def _check_rooms(game: Game, split: str | None, seeds: str | None) -> None:
    check_split(split)
    if seeds not in (None, "ragen"):
        raise OptionError(f"seeds={seeds!r}: must be None or 'ragen'")
    if seeds == "ragen" and split == "test":
        raise OptionError("split='test': seeds='ragen' has 'train' and 'valid' only")
    if game.analysis.rooms is None and (split or seeds):
        raise OptionError(f"{game.name} has no rooms: leave out split and seeds")
