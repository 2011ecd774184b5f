"""Logs of a search in Hanabi with one JSON record per decision, read as trajectories with the columns that distillation needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data import UNKNOWN_SEED, Columns, ExtraColumn, Problems, Record, TrajectoryHeader, header_of, json_records
from ludory.data.formats.json_fields import is_count
from ludory.data.formats.json_records import TORN
from ludory.data.recording.search_columns import BLUEPRINT, OVERRIDE, PREVIOUS, VALUE_KNOWN, search_columns
from ludory.envs import Game, make_game
from ludory.errors import LogFormatError, OptionError
from ludory.reading import shown

from .fields import MOST_ID, OPTIONAL, REQUIRED, LoggedDecision, read_step
from .orders import fitting_orders, hanabi_sizes, ludory_ids

DEFAULTS = {"action_order": "ludory", "bomb": "keep"}
BOMBS = ("zero", "keep")
Games = dict[tuple[int, int], list[LoggedDecision]]


class SpartaLog(NamedTuple):
    """A log as trajectories.

    Games are numbered in the order of the files and of their ids. Extra columns: `prev_other_action` (A: none), `value_known` (false
    where rewards are missing, so that `returns` are meaningless), `log_file` and `log_game`; if the log has them,
    `action_blueprint`, `is_override`, `q` and `q_stderr` (NaN: not evaluated). Actions have Ludory's ids.
    """

    header: TrajectoryHeader
    columns: Columns
    skipped_games: int
    problems: tuple[str, ...]
    """Reasons why games were left out."""
    unknown_fields: Counter[str]
    """Names of ignored fields, with the number of records that have them."""


def read_sparta_log(
    files: str | Path | Sequence[str | Path],
    game: str | Game = "Hanabi2P-v0",
    *,
    action_order: str | None = None,
    bomb: str | None = None,
    on_error: Literal["raise", "skip-game"] = "raise",
    allow_truncated: bool = False,
    **options: Any,
) -> SpartaLog:
    """Read JSON lines, or one JSON array, of search decisions.

    A record has `game_id`, `t`, `seat`, `obs_vec`, `legal_mask` or `legal_action_ids`, `action_sparta`, `reward` (of the move,
    for all seats), `done`; it may have `prev_other_action`, `action_blueprint`, `Q_values`, `Q_stderr`, `return` and
    whatever else `write_sparta_log` writes. Records may be in any order; game ids are per file.

    Args:
        files: one or more.
        game: the variant of Hanabi, with the observation of the log.
        action_order: order of the action ids: ludory, play_first or play_first_bw; None: as the records say, else ludory.
        bomb: how rewards count a bomb, zero or keep; None: as the records say, else keep.
        on_error: "skip-game" leaves out games with a problem instead of refusing the log.
        allow_truncated: accept games whose last record has no `done` as cut off; their values are unknown.
        options: of the game, if it is given by id.

    Raises:
        LogFormatError: lists up to 20 problems with file, line, game and field. Problems that belong to no game are always errors.
        OptionError: an argument has an invalid value, or the game is not Hanabi.
    """
    made = make_game(game, **options)
    sizes = hanabi_sizes(made.facts)
    for name, value, allowed in (("bomb", bomb, BOMBS), ("on_error", on_error, ("raise", "skip-game"))):
        if value is not None and value not in allowed:
            raise OptionError(f"{name}={value!r}: must be one of {', '.join(allowed)}")
    if action_order is not None:
        ludory_ids(action_order, sizes)
    problems = Problems()
    given = {"action_order": action_order, "bomb": bomb}
    games, said, unknown = _games([files] if isinstance(files, str | Path) else files, made, given, problems)
    order, bomb = said["action_order"], said["bomb"]
    for key, steps in games.items():
        _check_game(steps, key, made, allow_truncated, problems)
    # only now: the order of ids is known when all records were read
    _check_masks(games, made, order, problems)
    if on_error == "raise" or problems.of_no_game:
        problems.raise_if_any()
    kept = {key: steps for key, steps in sorted(games.items()) if key not in problems.bad_games}
    if not kept:
        problems.raise_if_any()
        raise LogFormatError("the log holds no record")
    extras = _extra_columns(kept, made)
    header = header_of(made, options=dict(made.options) | {"bomb": bomb}, extra_columns=extras)
    # "zero" or "keep": rewards of a bomb differ, so it is an option of the game
    columns = _columns(list(kept.values()), header, ludory_ids(order, sizes))
    return SpartaLog(header, columns, len(problems.bad_games - {TORN}), tuple(problems.texts), unknown)


def _games(
    files: Iterable[str | Path], game: Game, given: dict[str, str | None], problems: Problems
) -> tuple[Games, dict[str, str], Counter[str]]:
    """Steps by game, sorted by t; action order and bomb convention; ignored fields."""
    games: Games = {}
    unknown: Counter[str] = Counter()
    said: dict[str, str] = {name: value for name, value in given.items() if value is not None}
    for number, file in enumerate(files):
        for record in json_records(file, problems):
            unknown.update(name for name in record.content if name not in REQUIRED + OPTIONAL)
            _hear(record, given, said, game, problems)
            _take(record, number, game, games, problems)
    for steps in games.values():
        steps.sort(key=lambda step: step.t)
    return games, DEFAULTS | said, unknown


def _hear(record: Record, given: dict[str, str | None], said: dict[str, str], game: Game, problems: Problems) -> None:
    """Note action order and bomb convention of a record; arguments take precedence, and records may not differ."""
    for name, value in given.items():
        if value is None and name in record.content:
            found = record.content[name]
            allowed = BOMBS if name == "bomb" else ("ludory", "play_first", "play_first_bw")
            if found not in allowed:
                problems.add(record.place, name, shown(found), f"one of {', '.join(allowed)}")
            elif said.setdefault(name, found) != found:
                problems.add(
                    record.place, name, shown(found), f"{said[name]!r} as in the records before; or give {name}="
                )


def _take(record: Record, file: int, game: Game, games: Games, problems: Problems) -> None:
    id, t = record.content.get("game_id"), record.content.get("t")
    key = (file, id) if is_count(id, MOST_ID) else None
    # without an id the problem belongs to no game
    place = f"{record.place}, game_id {shown(id)}, t {shown(t)}"

    def complain(field: str, got: object, allowed: str) -> None:
        problems.add(place, field, got, allowed, key)

    step = read_step(record, file, game, complain)
    if step is not None:
        games.setdefault(step.game, []).append(step._replace(place=place))


def _check_game(
    steps: list[LoggedDecision], key: tuple[int, int], game: Game, allow_truncated: bool, problems: Problems
) -> None:
    """Check the records of a game against each other."""
    none, players = game.facts.num_actions, game.facts.players
    before: LoggedDecision | None = None
    for step in steps:
        # a log of one seat has gaps; then every record must say what the other one did
        gap = step.t > 0 if before is None else step.t > before.t + 1
        if before is not None and step.t == before.t:
            problems.add(step.place, "t", f"{step.t} as in {before.place}", "once in a game", key)
        elif before is not None and step.seat != (before.seat + step.t - before.t) % players:
            expected = (before.seat + step.t - before.t) % players
            problems.add(
                step.place, "seat", step.seat, f"{expected}, who follows seat {before.seat} at t {before.t}", key
            )
        elif gap and step.previous is None and key not in problems.bad_games:
            # known already: one problem for a game is enough here
            missing = f"no record of t {0 if before is None else before.t + 1}..{step.t - 1}"
            problems.add(step.place, "t", missing, "no gap, or a record with prev_other_action after it", key)
        elif not gap and step.previous not in (None, expected := none if before is None else before.action):
            problems.add(step.place, "prev_other_action", step.previous, f"{expected} by the log", key)
        if before is not None and before.done:
            problems.add(before.place, "done", "true before the last record", "true on the last record of a game", key)
        before = step
    if before is not None and not before.done and not allow_truncated and key not in problems.bad_games:
        problems.add(before.place, "done", "false on the last record", "true, or give allow_truncated=True", key)


def _check_masks(games: Games, game: Game, order: str, problems: Problems) -> None:
    """Check masks against observations: with a wrong action order, training would run without an error and learn nonsense."""
    steps = [step for one in games.values() for step in one]
    if not steps:
        return
    masks, seen = np.stack([step.mask for step in steps]), np.stack([step.observation for step in steps])
    fits = fitting_orders(masks, seen, game.facts)
    if fits[order].all():
        return
    # the order that fits all masks, to be named in the message
    other = next((name for name, fit in fits.items() if fit.all()), None)
    if other is not None:
        first = steps[int(fits[order].argmin())]
        got = f"masks that do not fit the observations in action order {order}"
        problems.add(first.place, "legal_mask", got, f"in the file's order: masks fit --action-order {other}")
        return
    for number in np.flatnonzero(~fits[order]):
        step = steps[number]
        got = f"{np.flatnonzero(step.mask).tolist()} in action order {order}"
        problems.add(step.place, "legal_mask", got, "what obs_vec says of tokens, slots and cards", step.game)


def _extra_columns(games: Games, game: Game) -> tuple[ExtraColumn, ...]:
    steps = [step for one in games.values() for step in one]
    extras = [PREVIOUS, VALUE_KNOWN, ExtraColumn("log_file", "int32"), ExtraColumn("log_game", "int64")]
    if any(step.blueprint is not None for step in steps):
        extras += [BLUEPRINT, OVERRIDE]
    known = {name for step in steps for name in step.found}
    known |= {name for name in ("q", "q_stderr") if any(getattr(step, name) is not None for step in steps)}
    return (*extras, *(one for one in search_columns(game) if one not in extras and one.name in known))


def _columns(games: list[list[LoggedDecision]], header: TrajectoryHeader, ids: NDArray[np.int64]) -> Columns:
    """All games with Ludory's action ids; `ids`: Ludory's id of every id in the file."""
    steps = [step for one in games for step in one]
    # the id behind the last one stands for "none"
    ids_or_none = np.append(ids, len(ids))
    place_of = np.argsort(ids)  # Ludory's id -> id in the file
    masks = np.stack([step.mask for step in steps])[:, place_of]
    seen = np.stack([step.observation for step in steps])
    ends = [_ends(one, header.players) for one in games]
    last, done = np.concatenate(ends), np.repeat([one[-1].done for one in games], list(map(len, games)))
    return Columns(
        games=np.repeat(np.arange(len(games)), list(map(len, games))),
        seeds=np.full(len(steps), UNKNOWN_SEED),
        steps=np.array([step.t for step in steps]),
        seats=np.array([step.seat for step in steps]),
        observations=np.packbits(seen, axis=1) if header.observation.bits else seen,
        masks=np.packbits(masks, axis=1),
        actions=ids[[step.action for step in steps]][:, None],
        log_probs=np.full((len(steps), 1), np.nan, np.float32),
        rewards=np.concatenate([_rewards(one, header.players) for one in games]),
        terminated=last & done,
        truncated=last & ~done,
        extras=_extras(games, header, ids_or_none, place_of),
    )


def _ends(steps: list[LoggedDecision], players: int) -> NDArray[np.bool_]:
    """Whether each step is the last one of its seat."""
    seats = np.array([step.seat for step in steps])
    last = np.zeros(len(steps), bool)
    for seat in range(players):
        last[np.flatnonzero(seats == seat)[-1:]] = True
    return last


def _has_gap(steps: list[LoggedDecision]) -> bool:
    return [step.t for step in steps] != list(range(len(steps)))


def _value_known(steps: list[LoggedDecision]) -> bool:
    return steps[-1].done and (not _has_gap(steps) or all(step.value is not None for step in steps))


def _rewards(steps: list[LoggedDecision], players: int) -> NDArray[np.float32]:
    """Rewards from each step to the same seat's next one; the reward of every move goes to all seats."""
    # with gaps rewards are missing; the returns that the records give stand in for them
    if _has_gap(steps) and _value_known(steps):
        to_come = np.array([step.value for step in steps] + [0.0])
    else:
        to_come = np.append(np.cumsum([step.reward for step in reversed(steps)])[::-1], 0.0)
    # from the end: the next decision of each seat
    following, after = [len(steps)] * players, np.empty(len(steps))
    for number in reversed(range(len(steps))):
        after[number] = to_come[following[steps[number].seat]]
        following[steps[number].seat] = number
    # what is to come now, less what is to come at the seat's next decision
    return (to_come[:-1] - after).astype(np.float32)


def _extras(
    games: list[list[LoggedDecision]],
    header: TrajectoryHeader,
    ids_or_none: NDArray[np.int64],
    place_of: NDArray[np.int64],
) -> dict[str, Any]:
    steps = [step for one in games for step in one]
    none = len(place_of)
    previous = [
        step.previous if step.previous is not None else (none if before is None else before.action)
        for one in games
        for before, step in zip([None, *one[:-1]], one, strict=True)
        # the move before, where the record does not repeat it
    ]
    blank, no_counts = np.full(none, np.nan, np.float32), np.zeros(none, np.int32)
    plain = [one.name for one in header.extra_columns if not one.size]
    blueprint = [None if step.blueprint is None else int(ids_or_none[step.blueprint]) for step in steps]
    override = [None if step.blueprint is None else step.blueprint != step.action for step in steps]
    found = {
        **{name: np.array([step.found.get(name) for step in steps], object) for name in plain},
        "prev_other_action": ids_or_none[previous],
        "value_known": np.repeat([_value_known(one) for one in games], list(map(len, games))),
        "log_file": np.array([step.game[0] for step in steps]),
        "log_game": np.array([step.game[1] for step in steps]),
        "action_blueprint": np.array(blueprint, object),
        "is_override": np.array(override, object),
        "searched": np.array([step.found.get("searched", True) for step in steps]),
        "searches": np.array([step.found.get("searches", step.found.get("searched", True)) for step in steps]),
        "q_count": np.stack([step.found.get("q_count", no_counts) for step in steps])[:, place_of],
        "q": np.stack([blank if step.q is None else step.q for step in steps])[:, place_of],
        "q_stderr": np.stack([blank if step.q_stderr is None else step.q_stderr for step in steps])[:, place_of],
    }
    return {extra.name: found[extra.name] for extra in header.extra_columns}
