"""The first property: a few games are played with the kernels as plain Python, on arrays that check every index.

Compiled kernels check nothing: a write outside an array crashes the process or changes other data. So this runs before compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

import numpy as np

from ludory.envs import Field, Game
from ludory.envs.chance import STREAM, hash_rows, redeal_streams
from ludory.envs.engine.binding.kernel_faults import Places, bytecode_faults, present
from ludory.envs.engine.storage import new_records, own_fields, shared_arrays, state_class
from ludory.errors import ConformanceError
from ludory.testing.random_moves import head_parts, random_moves
from ludory.testing.recording import Array
from ludory.testing.trial import Trial, require

from .interpreted import GuardedField, interpreted

GAMES, DECISIONS, ASKED_EVERY = 2, 20, 5
"""Number of games, decisions per game, and decisions between calls of `redeal` and `critic`, which go through the seats in turn.

Plain Python is a hundred times slower than compiled code; the largest games take about a second.
"""
ROW, ROWS = 1, 3
"""The game has a neighbour on each side, so that a write to the wrong row is possible, and noticed."""


def kernels_run_as_plain_python(trial: Trial) -> None:
    """Kernels stay within the arrays and their own row, store values that fit, and keep the rules that can be checked before compilation."""
    game, given = trial.game, trial.game.needed_kernels("this check")
    for fault in bytecode_faults(given):
        raise ConformanceError(str(fault))
    for name, field in game.rules.fields.items():
        _check_field(name, field)
    kernels = {name: interpreted(kernel) for name, kernel in present(given).items()}
    places = Places(given)
    for number in range(GAMES):
        _PlainGame(trial, kernels, places, number).play(DECISIONS)


def _check_field(name: str, field: Field) -> None:
    """The dtype is supported by kernels, and holds the bounds and the initial value."""
    what = f"state field {name!r}"
    try:
        dtype = np.dtype(field.dtype)
    except TypeError:
        dtype = np.dtype(object)
    numbers = dtype.kind in "iu" or str(dtype) in ("bool", "float32", "float64")
    require(
        numbers, f"{what} has dtype {field.dtype!r}, must be bool, an integer such as 'int32', 'float32' or 'float64'"
    )
    if dtype.kind not in "iu":
        return
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for word, value in (("low", field.low), ("high", field.high), ("fill", field.fill)):
        fits = value is None or bool(np.all((np.asarray(value) >= least) & (np.asarray(value) <= most)))
        require(fits, f"{what} has {word}={value}, which {dtype} does not hold: it holds {least}..{most}")


class _PlainGame:
    """One game in the middle row of three: game `number` of the trial's seed, with its own preferences for moves."""

    def __init__(self, trial: Trial, kernels: Mapping[str, Callable[..., Any]], places: Places, number: int) -> None:
        self._game: Game = trial.game
        self._kernels, self._places, self._number = kernels, places, number
        self._seed, self._generator, self._decision = trial.seed, trial.generator(f"plain {number}"), 0
        layout = trial.game.rules.fields
        self._records = new_records(layout, ROWS)
        self._records["random"][:, STREAM] = hash_rows(trial.seed, number - ROW + np.arange(ROWS))
        self._records["terminated"] = True
        own = {name: GuardedField(f"state.{name}", self._records[name], ROW) for name in own_fields(layout)}
        shared = {name: GuardedField(f"state.{name}", array) for name, array in shared_arrays(trial.game).items()}
        fields = {name: (own | shared)[name] for name in layout}
        self._state = state_class(tuple(fields))(**fields)
        strength = 4.0 * number  # as in RandomMoves: uniform play sees little of many games
        self._taste = strength * self._generator.normal(size=trial.facts.num_actions)

    @property
    def _row(self) -> Any:
        return self._records[ROW]

    @property
    def _over(self) -> bool:
        return bool(self._row["terminated"] or self._row["truncated"])

    def play(self, decisions: int) -> None:
        """Play on, beginning new games as needed."""
        self._start()
        for self._decision in range(decisions):
            if self._over:
                self._start()
            masks = self._look()
            parts = head_parts(self._game.facts, masks)
            if self._over or not all(part.any(axis=-1).all() for part in parts):
                return  # other properties report this
            taste = self._taste
            self._step(random_moves(masks[None], self._game.facts, self._generator, taste)[0])

    def _start(self) -> None:
        self._row["rewards"] = 0
        self._call("reset")

    def _step(self, actions: Array) -> None:
        facts = self._game.facts
        if "used" in self._kernels:
            for seat, action in self._own_actions(actions):
                self._call("used", seat, GuardedField("action", action), _empty("out", len(facts.heads), bool))
        one = actions.ndim == 0
        self._row["rewards"] = 0
        self._call("step", int(actions) if one else GuardedField("action", actions))

    def _own_actions(self, actions: Array) -> Iterator[tuple[int, Array]]:
        """Every moving seat with its action [H]."""
        if not self._game.facts.simultaneous:
            yield int(self._row["to_move"]), np.atleast_1d(actions)
        else:
            yield from enumerate(actions.reshape(len(actions), -1))

    def _look(self) -> Array:
        """Call the kernels that only read the state; returns legal masks (A,) or (P, A)."""
        facts = self._game.facts
        for seat in range(facts.players) if self._decision == 0 else [self._decision % facts.players]:
            self._call("observe", seat, _empty("out", facts.observation.size, facts.observation.dtype))
        rounds, odd = divmod(self._decision, ASKED_EVERY)
        seat = (self._number * DECISIONS // ASKED_EVERY + rounds) % facts.players
        if "critic" in self._kernels and not odd:
            self._call("critic", seat, _empty("out", facts.critic_spec.size, facts.critic_spec.dtype))
        if "redeal" in self._kernels and not odd:
            self._redeal(seat)
        masks = np.zeros((facts.players if facts.simultaneous else 1, facts.num_actions), bool)
        for k, mask in enumerate(masks):
            self._call("legal", k if facts.simultaneous else int(self._row["to_move"]), GuardedField("mask", mask))
        return masks if facts.simultaneous else masks[0]

    def _redeal(self, seat: int) -> None:
        kept = self._records.copy()
        self._records["random"] = redeal_streams(self._seed, ROWS)
        self._call("redeal", seat)
        self._records[:] = kept

    def _call(self, name: str, *args: Any) -> None:
        with np.errstate(all="ignore"), self._named(name):
            self._kernels[name](self._state, ROW, *args)

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Add game, kernel and line to errors."""
        try:
            yield
        except Exception as error:  # plain Python may raise anything
            frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code in self._places.codes]
            lines = dict(walk_tb(error.__traceback__))
            place = self._places.at(frames[-1].f_code, lines[frames[-1]]) if frames else f"kernel `{name}`"
            said = str(error) if isinstance(error, ConformanceError) else f"{type(error).__name__}: {error}"
            raise ConformanceError(f"game {self._number}, decision {self._decision}: {place}: {said}") from error


def _empty(name: str, size: int, dtype: Any) -> GuardedField:
    return GuardedField(name, np.zeros(size, dtype))
