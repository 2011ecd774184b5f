"""`PokemonEngine`: a batch of Pokémon battles, played by simulators of this process or of worker processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory import envs
from ludory.errors import BackendError, BackendTimeout, OptionError, SnapshotError, WorkerError

from .backends.install import needed, needed_bundle
from .backends.server import NOT_SEEDED
from .backends.worker import chance_seed
from .formats import RULES, SLOTS, V8_RULES, missing_in_v8, rules_of
from .lane import BACKENDS, SEATS, BattleLane, LaneOptions, SharedWorker
from .teams import TeamBank

if TYPE_CHECKING:
    from typing_extensions import Self

ENGINE_OPTIONS: Mapping[str, Any] = {"backend": "sim", "workers": None, "worker_timeout": 60.0, "on_crash": "raise"}
"""Options of the engine: how battles run, not what they are."""
ALONE = 16
"""With fewer games than this, workers=None means no worker process."""
REDRAWN = "gen1randombattle"
"""Format of which `redraw` knows what is hidden."""
_PARTS = ("battle_seed", "p1_seed", "p2_seed", "p1_team", "p2_team")
_COPIED = ("to_move", "rewards", "terminated", "truncated", "alive", "seat_terminated", "deciding", "legal")
_RULES_BYTES = 32
_SLACK = 10.0
"""Seconds that a lane gets beyond its simulator, so that it can tell what happened to it."""


class PokemonEngine(envs.PooledEngine):
    """A batch of battles between two seats that choose at once.

    A seat that has nothing to choose is not `deciding`; its mask has action 0 alone, which has no effect. A choice that the simulator
    refuses as unavailable costs nothing: that seat decides again under a corrected mask, and the other seat, whose choice stands, waits.

    Args:
        lane: how battles are played and seen.
        teams: the teams that seats draw from, in formats that need them.
        backend: "sim", a Node child; "v8", a simulator within the process, without Node, whose random teams are others in most generations;
            or "server": a Showdown server, spoken to through poke-env, which cannot be seeded, copied or saved.
        workers: processes that each own a simulator; 0: this process owns one; None: 0 for fewer than 16 games, else half the cores.
            Results do not depend on it.
        worker_timeout: seconds that a step may take.
        on_crash: "raise" a BackendError when a battle or its process fails; "restart": such battles end truncated, and the next ones go on.
        (others): as for `ExternalEngine`.

    Raises:
        OptionError: an option is not allowed, or teams are missing.
        PluginError: the simulator is not installed; says what to type. Raised at the first `reset`.
    """

    def __init__(
        self,
        game: envs.Game,
        num_games: int = 1,
        seed: int | None = None,
        first_game: int = 0,
        threads: int | None = None,
        device: str = "cpu",
        *,
        lane: LaneOptions,
        teams: TeamBank,
        backend: str = "sim",
        workers: int | None = None,
        worker_timeout: float = 60.0,
        on_crash: envs.OnCrash = "raise",
        shared: SharedWorker | None = None,
    ) -> None:
        envs.check_choice("backend", backend, tuple(BACKENDS))
        teams.check()
        if backend == "server" and seed is not None:
            raise OptionError(f"seed={seed}: {NOT_SEEDED}")
        if backend == "v8" and lane.format in missing_in_v8():
            raise OptionError(f"format={lane.format!r}: {V8_RULES} does not play it; type backend='sim', got 'v8'")
        if workers is None:
            workers = 0 if num_games < ALONE or backend == "server" else max(1, (os.cpu_count() or 2) // 2)
        self._lane, self.teams = replace(lane, timeout=worker_timeout, backend=backend), teams
        self._shared = shared
        self._pool_options = (workers, worker_timeout + _SLACK if workers else worker_timeout, on_crash)
        self._news: dict[int, dict[str, Any]] = {}
        envs.ExternalEngine.__init__(self, game, num_games, seed, first_game, threads, device)

    def check_installed(self) -> None:
        """Check that the simulator of the backend is installed.

        Raises:
            PluginError: it is not; says what to type.
        """
        needed_bundle() if self._lane.backend == "v8" else needed()

    def _made_pool(self, layout: dict[str, envs.ArraySpec], action: envs.ArraySpec) -> envs.ProcessPool:
        extra = {
            "news": envs.ArraySpec((), "bool"),
            "turns": envs.ArraySpec((), "int32"),
            "positions": envs.ArraySpec((len(SEATS), SLOTS), "int8"),
        }
        if self._lane.tracked and self._lane.observation != "entity":
            from .columns import ENTITY_SIZE

            extra["entity"] = envs.ArraySpec((len(SEATS), ENTITY_SIZE), "float32")
        return envs.ProcessPool(
            envs.GameBlocks(self.num_games, partial(_lane, self._lane, self._shared)),
            layout | extra,
            action,
            *self._pool_options,
        )

    @property
    def entity(self) -> NDArray[np.float32]:
        """(N, 2, 932) live: what each seat sees as `entity` rows, whatever observation the game has.

        Raises:
            OptionError: the game was made with observation="none".
        """
        if not self._lane.tracked:
            raise OptionError(
                f"{self.game.name} was made with observation='none', which follows no battle; leave it out"
            )
        name = "observations" if self._lane.observation == "entity" else "entity"
        found: NDArray[np.float32] = self.pool.arrays[name]
        return found

    @property
    def positions(self) -> NDArray[np.int8]:
        """(N, 2, 6) live: the fixed team slot of each current position, where battles are tracked."""
        found: NDArray[np.int8] = self.pool.arrays["positions"]
        return found

    @property
    def turns(self) -> NDArray[np.int32]:
        """(N,) live: the turn that each battle is in, 0 before the first."""
        found: NDArray[np.int32] = self.pool.arrays["turns"]
        return found

    def info(self, row: int) -> dict[str, Any]:
        """At the end of a battle `winner`, `turns` (0 until then), `input_log` and `log_sha256`."""
        return {"turns": 0} | {key: value for key, value in self._news.get(row, {}).items() if key != "rejected"}

    def seat_info(self, row: int, seat: int) -> dict[str, Any]:
        """`wait`, whether the seat has nothing to decide; `rejected`, whether the simulator refused the seat's last choice; then `refusal`, its text.

        Nobody else may know either: a refusal tells what the foe's Pokémon can do.
        """
        waits = not self.state.deciding[row, seat] and not self.over[row]
        text = self._news.get(row, {}).get("rejected", (None, None))[seat]
        return {"wait": bool(waits), "rejected": text is not None, **({} if text is None else {"refusal": text})}

    def checked_options(self, options: Mapping[str, Any], count: int) -> Mapping[str, Any]:
        """Reset options: `battle_seed`, `p1_seed`, `p2_seed`, `p1_team`, `p2_team`, each one text for all games or one per game.

        Raises:
            OptionError: another option, or a wrong number of texts; names what is allowed.
        """
        checked = {}
        for name, value in options.items():
            if name not in _PARTS:
                raise OptionError(f"{self.facts.name} has no reset option {name!r}; it has {', '.join(_PARTS)}")
            texts = [value] * count if isinstance(value, str) else list(value)
            if len(texts) != count or not all(isinstance(text, str) for text in texts):
                raise OptionError(f"reset option {name!r}: must be one text, or one per game ({count}), got {value!r}")
            checked[name] = texts
        return checked

    def start_games(self, rows: envs.Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        """As for `ExternalEngine`. Seeds of battles come from (seed, game number, episode), see `chance_seed`."""
        given = {}
        for k, row in enumerate(rows.tolist()):
            given[row] = self._start_of(row, {name: texts[k] for name, texts in options.items()})
        with _named_errors(self):
            self._start(rows, seeds, given)
        self._take_news(rows)

    def _start_of(self, row: int, options: Mapping[str, str]) -> dict[str, Any]:
        # this episode is counted already
        key = self.seed, int(self._numbers[row]), int(self.state.random[row, envs.EPISODE]) - 1
        start: dict[str, Any] = {"seed": options.get("battle_seed", chance_seed(*key, "battle")[0])}
        for seat, side in enumerate(("p1", "p2")):
            seed, bits = chance_seed(*key, side)
            start[side] = {"seed": options.get(f"{side}_seed", seed)}
            if (team := options.get(f"{side}_team", self.teams.drawn(seat, bits))) is not None:
                start[side]["team"] = team
        return {"start": start, "preview": [chance_seed(*key, f"preview {side}")[1] for side in ("p1", "p2")]}

    def play_games(self, rows: envs.Rows, actions: NDArray[Any]) -> None:
        """As for `ExternalEngine`."""
        with _named_errors(self):
            super().play_games(rows, actions)
        self.state.deciding[rows] &= ~self.over[rows, None]
        self._take_news(rows)

    def _take_news(self, rows: envs.Rows) -> None:
        """Keep what the lanes tell beyond the arrays."""
        flags = self.pool.arrays["news"]
        for row in rows.tolist() if self._news else ():
            self._news.pop(row, None)
        flagged = np.flatnonzero(flags)
        if not len(flagged):
            return
        flags[flagged] = False
        for block in self.pool.rows_of_workers():
            if ((flagged >= block.start) & (flagged < block.stop)).any():
                told = self.pool.call(block.start, "take_news")
                self._news.update({row: news for row, news in told.items() if news})

    def lines(self, row: int, seat: int) -> list[str]:
        """Lines of the protocol that a seat read after the last choices; () where battles are not tracked."""
        if not self._lane.tracked:
            return []
        told: list[str] = self.pool.call(row, "lines", row, seat)
        return told

    def logs(self, rows: ArrayLike | None = None) -> list[dict[str, Any]]:
        """For each game: `log` (omniscient, without time stamps), `input_log`, `teams` (packed) and `end`, None while it runs."""
        found: dict[int, dict[str, Any]] = {}
        wanted = self._all if rows is None else envs.checked_rows(rows, self.num_games)
        for block in self.pool.rows_of_workers():
            mine = [row for row in wanted.tolist() if row in block]
            if mine:
                found |= dict(zip(mine, self.pool.call(block.start, "logs", mine), strict=True))
        return [found[row] for row in wanted.tolist()]

    def advise(self, player: str, rows: ArrayLike, seat: int) -> NDArray[np.int64]:
        """Actions (m,) that a player of poke-env, by the name of its class, chooses for `seat` in the games `rows`.

        Raises:
            OptionError: the battles are not on a Showdown server.
            BackendError: there is no such player, or it answers something that is not legal.
        """
        if self._lane.backend != "server":
            raise OptionError(
                f"{player} plays through a Showdown server; type backend='server', got {self._lane.backend!r}"
            )
        wanted = np.asarray(rows)
        actions = np.zeros(len(wanted), np.int64)
        for block in self.pool.rows_of_workers():
            mine = (wanted >= block.start) & (wanted < block.stop)
            if mine.any():
                actions[mine] = self.pool.call(block.start, "advise", player, wanted[mine].tolist(), seat)
        return actions

    def pids(self) -> list[int]:
        """Process ids of the Node children; none with backend="v8"."""
        return [pid for block in self.pool.rows_of_workers() for pid in self.pool.call(block.start, "pids")]

    # ---- copies

    def gather(self, rows: ArrayLike) -> Self:
        """Copy the games `rows`, repeats allowed, with what their seats have seen. Copies run in this process where this engine does."""
        rows = envs.checked_rows(rows, self.num_games)
        lane = self.pool.block
        within = isinstance(lane, BattleLane)
        engine = self._another(len(rows), lane.shared if isinstance(lane, BattleLane) else None)
        engine._numbers = self._numbers[rows]
        engine.state.random[:] = self.state.random[rows]
        engine._started[:] = self._started[rows]
        for name in (*_COPIED, "observations"):
            getattr(engine.state, name)[:] = getattr(self.state, name)[rows]
        for name in ("entity", "positions", "turns"):
            if name in self.pool.arrays:
                engine.pool.arrays[name][:] = self.pool.arrays[name][rows]
        engine._news = {k: self._news[row] for k, row in enumerate(rows.tolist()) if row in self._news}
        running = [(k, row) for k, row in enumerate(rows.tolist()) if self._started[row]]
        copies: dict[int, dict[str, Any]] = {}
        for block in self.pool.rows_of_workers():
            mine = [(k, row) for k, row in running if row in block]
            if mine:
                made = self.pool.call(block.start, "copies", [row for _, row in mine], within)
                copies |= {k: copied for (k, _), copied in zip(mine, made, strict=True)}
        engine._distribute("paste", copies)
        return engine

    @property
    def alone(self) -> bool:
        """Whether the battles are in this process, so that copies need no other ones."""
        return isinstance(self.pool.block, BattleLane)

    def redraw(self, seat: int, seeds: ArrayLike) -> None:
        """Draw anew, in every game, what `seat` does not know: of its foe's team, of how long effects last, and of chance to come.

        Pokémon and moves that were not seen are drawn by the simulator's generator of random teams until they agree with what was
        seen; what battles tell beyond that, such as which moves a foe would have made, is not weighed. In generation 1, where teams
        have nothing else to hide.

        Args:
            seat: who does not know, 0 or 1.
            seeds: (N,) int64 of the draws of each game.

        Raises:
            OptionError: another format than random battles of generation 1.
            BackendError: the simulator failed.
        """
        if self._lane.format != REDRAWN:
            raise OptionError(
                f"{self.facts.name}: what a seat does not know is drawn anew in {REDRAWN} only; take PokemonGen1RandomBattle-v0"
            )
        texts = [f"gen5,{int(seed) % 2**64:016x}" for seed in np.asarray(seeds)]
        running = {row: texts[row] for row in np.flatnonzero(self._started & ~self.over).tolist()}
        with _named_errors(self):
            faults = [
                fault
                for lane in self._distribute("redraw", {row: (seat, t) for row, t in running.items()})
                for fault in lane
            ]
        if faults:
            raise BackendError(f"{self.facts.name}: {faults[0].text}", faults[0].row)

    def _another(self, num_games: int, shared: SharedWorker | None) -> Self:
        """An engine of the same game and options with `num_games` games, none of them started."""
        workers, _, on_crash = self._pool_options
        return type(self)(
            self.game,
            num_games,
            self.seed,
            threads=self.threads,
            lane=self._lane,
            teams=self.teams,
            backend=self._lane.backend,
            workers=workers,
            worker_timeout=self._lane.timeout,
            on_crash=on_crash,
            shared=shared,
        )

    def _distribute(self, method: str, by_row: Mapping[int, Any]) -> list[Any]:
        """Call a method of every lane with its part of `by_row`; returns the answers."""
        answers = []
        for block in self.pool.rows_of_workers():
            if mine := {row: value for row, value in by_row.items() if row in block}:
                answers.append(self.pool.call(block.start, method, mine))
        return answers

    def fields(self) -> dict[str, Any]:
        """Seeds, teams and all choices of every game, from which `load_fields` plays them again; the other arrays are live."""
        entries: dict[int, Any] = {}
        for block in self.pool.rows_of_workers():
            mine = [row for row in block if self._started[row]]
            if mine:
                entries |= dict(zip(mine, self.pool.call(block.start, "starts", mine), strict=True))
        texts = [json.dumps(entries.get(row)).encode() for row in range(self.num_games)]
        battles = np.zeros((self.num_games, max(map(len, texts))), np.uint8)
        for row, text in enumerate(texts):
            battles[row, : len(text)] = np.frombuffer(text, np.uint8)
        state = self.state._asdict()
        rules = np.frombuffer(rules_of(self._lane.backend).encode().ljust(_RULES_BYTES, b"\0"), np.uint8)
        return {
            "_rules": np.tile(rules, (self.num_games, 1)),
            "_started": self._started,
            "_numbers": self._numbers,
            "_battles": battles,
            "_seed": np.full(self.num_games, self.seed, np.int64),
            "random": state["random"],
            **{name: state[name] for name in ("to_move", "rewards", "terminated", "truncated", "seat_terminated")},
        }

    def load_fields(self, fields: Mapping[str, Any], check: bool = True) -> None:
        """Play the games of `fields` again, up to where they were.

        Raises:
            SnapshotError: a field is missing, has another shape, or the battles do not go as they went.
        """
        forms = {
            "_started": ((), bool), "_numbers": ((), np.int64), "_battles": ((None,), np.uint8), "_seed": ((), np.int64),
            "random": ((4,), np.int64), "to_move": ((), np.int32), "rewards": ((2,), np.float32), "terminated": ((), bool),
            "truncated": ((), bool), "seat_terminated": ((2,), bool),
        }  # fmt: skip
        arrays = {name: _checked_field(self.game, fields, name, *form) for name, form in forms.items()}
        self._check_rules(fields)
        count = len(arrays["_started"])
        if not count or any(len(array) != count for array in arrays.values()):
            raise SnapshotError(f"{self.facts.name}: the fields of the saved state have different numbers of games")
        entries = self._saved_battles(arrays["_battles"], arrays["_started"])
        engine = self._another(count, None)
        # a new engine is filled first, so that this one stays as it was if anything fails
        for name, value in envs.NEW_GAME.items():
            getattr(engine.state, name)[:] = value
        try:
            with _named_errors(engine):
                faults = [fault for lane in engine._distribute("replay", entries) for fault in lane]
        except LookupError as error:
            engine.close()
            raise SnapshotError(f"{self.facts.name}: the saved battles cannot be played again ({error})") from error
        # chance is replayed from its seed: a battle that ends elsewhere was played by other rules
        ended = engine.state.terminated[arrays["_started"]] == arrays["terminated"][arrays["_started"]]
        if faults or not ended.all():
            engine.close()
            why = faults[0].text if faults else "a battle ends elsewhere"
            raise SnapshotError(f"{self.facts.name}: the saved battles cannot be played again ({why})")
        engine._take_news(np.arange(count))
        for name in ("random", "to_move", "rewards", "terminated", "truncated", "seat_terminated"):
            getattr(engine.state, name)[:] = arrays[name]
        engine.state.alive[:] = (arrays["_started"] & ~engine.over)[:, None]
        engine.state.deciding[:] &= engine.state.alive
        # a battle that is over has all actions legal, as everywhere
        engine.state.legal[engine.over] = True
        engine._started[:] = arrays["_started"]
        engine._numbers, engine.seed = arrays["_numbers"].copy(), int(arrays["_seed"][0])
        self.close()
        # the state is a view of its engine, which is this object from here on
        engine.state = engine.state._replace(engine=self)
        self.__dict__.update(engine.__dict__)
        # the pool belongs to this object now, and must not be closed with the other
        engine.__dict__["pool"] = None

    def _check_rules(self, fields: Mapping[str, Any]) -> None:
        """Refuse battles of another simulator, which would go elsewhere from the same seeds."""
        ours, theirs = rules_of(self._lane.backend), RULES  # states of older versions do not name their rules
        if "_rules" in fields:
            array = _checked_field(self.game, fields, "_rules", (None,), np.uint8)
            names = {bytes(row).rstrip(b"\0").decode(errors="replace") for row in array}
            theirs = " and ".join(sorted(names))
        if ours != theirs:
            raise SnapshotError(
                f"{self.facts.name}: the battles were played by the rules of {theirs}, this engine plays by {ours}; "
                "make the engine with the backend that they were saved with"
            )

    def _saved_battles(self, texts: NDArray[np.uint8], started: NDArray[np.bool_]) -> dict[int, Any]:
        entries = {}
        for row in np.flatnonzero(started).tolist():
            try:
                entry = json.loads(bytes(texts[row]).rstrip(b"\0"))
                played = [tuple(choices) for choices in entry["played"]]
                if not isinstance(entry["start"], dict) or any(len(choices) != len(SEATS) for choices in played):
                    raise ValueError("start or choices have another form")
            except (ValueError, KeyError, TypeError) as error:
                raise SnapshotError(
                    f"{self.facts.name}: the saved battle of game {row} is damaged ({error})"
                ) from error
            entries[row] = {"start": entry["start"], "played": played}
        return entries

    def save(self, file: str | Path) -> None:
        """Write all games to `file`, atomically."""
        envs.write_snapshot(file, envs.identity(self.game), self.fields())

    def restore(self, file: str | Path) -> None:
        """Continue from a file of `save`; the number of games becomes that of the file.

        Raises:
            SnapshotError: unreadable, or of another game; the engine is unchanged.
        """
        self.load_fields(envs.read_arrays(file, self.game))

    def close(self) -> None:
        """End the simulators and workers; may be called twice."""
        if self.pool is not None:
            self.pool.close()


def _lane(
    options: LaneOptions, shared: SharedWorker | None, start: int, stop: int, arrays: Mapping[str, NDArray[Any]]
) -> BattleLane:
    # without a tracked observation of another name, `observations` are the entities
    entity = {} if "entity" in arrays else {"entity": arrays["observations"]}
    return BattleLane(options, start, stop, {**arrays, **entity}, shared)


@contextmanager
def _named_errors(engine: PokemonEngine) -> Iterator[None]:
    """Turn the errors of the pool into those of a backend."""
    try:
        yield
    except BackendError:
        raise
    except WorkerError as error:
        made = BackendTimeout if "did not answer" in str(error) else BackendError
        raise made(f"{engine.facts.name}: {error}") from error


def _checked_field(
    game: envs.Game, fields: Mapping[str, Any], name: str, shape: Sequence[int | None], dtype: Any
) -> NDArray[Any]:
    if name not in fields:
        raise SnapshotError(f"{game.facts.name}: the saved state lacks the field {name!r}")
    array = np.asarray(fields[name])
    fits = array.ndim == 1 + len(shape) and all(
        want in (None, got) for want, got in zip(shape, array.shape[1:], strict=True)
    )
    if not fits or array.dtype != dtype:
        raise SnapshotError(f"{game.facts.name}: the saved field {name!r} is {array.dtype} {array.shape}")
    return array


def make_state_info(state: envs.ExternalState, row: int) -> dict[str, Any]:
    """`Look.info` of battles."""
    engine = state.engine
    assert isinstance(engine, PokemonEngine)
    return engine.info(row)


def make_seat_info(state: envs.ExternalState, row: int, seat: int) -> dict[str, Any]:
    """`Look.seat_info` of battles."""
    engine = state.engine
    assert isinstance(engine, PokemonEngine)
    return engine.seat_info(row, seat)
