"""Properties of the facts of a game, and of the arrays that its engines return: shapes, dtypes, ranges, and ownership by the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludory.envs.engine.checks import critic_spec
from ludory.envs.engine.protocol import Engine
from ludory.envs.parts import elimination, header, waiting
from ludory.errors import OptionError
from ludory.testing.recording import look, segment_place, to_numpy
from ludory.testing.trial import Trial, require

UNKNOWN_OPTION = "an option that no game has"


def facts_hold_together(trial: Trial) -> None:
    """Counts are positive, bounds are in order, and the state has the required fields."""
    facts, spec = trial.facts, trial.facts.observation
    require(facts.players >= 1, f"players={facts.players}, must be at least 1")
    require(facts.longest_game >= 1, f"longest_game={facts.longest_game}, must be at least 1")
    require(
        facts.min_return <= facts.max_return, f"min_return={facts.min_return} is above max_return={facts.max_return}"
    )
    require(
        bool(facts.heads) != (facts.box is not None), "give at least one Head(name, size), or else a Box(low, high)"
    )
    require(min(facts.head_sizes, default=1) >= 1, f"head sizes {facts.head_sizes}, must be at least 1")
    require(len(set(facts.head_names)) == len(facts.heads), f"two heads share a name: {facts.head_names}")
    require(
        len(facts.teams) in (0, facts.players),
        f"teams={facts.teams}: give the team of each of the {facts.players} seats, or ()",
    )
    require(spec.low <= spec.high, f"observation low={spec.low} is above high={spec.high}")
    if trial.game.rules.kernels is not None:
        _check_fields(trial)
    critic_spec(trial.game)


def _check_fields(trial: Trial) -> None:
    """The state has the required fields; those of `elimination` and `waiting` are complete, and only in simultaneous games."""
    facts = trial.facts
    for name, field in header(facts.players).items():
        given = trial.game.rules.fields.get(name)
        require(
            given is not None and given[:2] == field[:2],
            f"state field {name!r} is {given}, must be {field}; add ludory.envs.header(players)",
        )
    seats = elimination(facts.players)
    given_fields = {name: field for name, field in trial.game.rules.fields.items() if name in seats}
    require(
        not given_fields or given_fields == seats,
        f"state fields {given_fields}, must be {seats} or none of them; add ludory.envs.elimination(players)",
    )
    require(
        not given_fields or facts.simultaneous,
        "the fields of `elimination` are for simultaneous games; where seats take turns, pass over those that are out",
    )
    deciding, right = trial.game.rules.fields.get("deciding"), waiting(facts.players)["deciding"]
    require(
        deciding is None or (deciding == right and facts.simultaneous),
        f"state field 'deciding' is {deciding}; it is for simultaneous games, and must be {right}: add ludory.envs.waiting(players)",
    )


def what_the_engine_lacks_is_refused(trial: Trial) -> str | None:
    """Copies, redeals and snapshots raise OptionError if the facts say that they are not supported."""
    game, engine = trial.game, trial.engine(1)
    calls: dict[str, tuple[bool, Callable[[], object]]] = {
        "clone()": (game.clones, engine.clone),
        "gather([0])": (game.clones, lambda: engine.gather(np.array([0]))),
        "redeal(0, 1)": (game.redeals, lambda: engine.redeal(0, 1)),
        "fields()": (game.saves, engine.fields),
    }
    for call, (able, run) in calls.items():
        if able:
            continue
        try:
            run()
        except OptionError:
            continue
        require(
            False, f"{call} was accepted, but the facts say that the engine cannot do it; it must raise OptionError"
        )
    engine.close()
    lacking = [call for call, (able, _) in calls.items() if not able]
    return f"the engine has no {', '.join(lacking)}" if lacking else None


def segments_tile_the_observation(trial: Trial) -> None:
    """Segments cover the observation without gap or overlap; their names are distinct."""
    facts, end = trial.facts, 0
    for segment in facts.segments:
        require(segment.length >= 0, f"segment {segment.name!r} has length {segment.length}")
        require(
            segment.start == end, f"segment {segment.name!r} starts at {segment.start}, the one before ends at {end}"
        )
        end += segment.length
    require(
        end == facts.observation.size, f"segments end at {end}, the observation has {facts.observation.size} entries"
    )
    names = [segment.name for segment in facts.segments]
    require(len(set(names)) == len(names), f"two segments share a name: {names}")


def actions_have_names(trial: Trial) -> None:
    """`action_name` returns a distinct text for every action of a head."""
    for head, (head_name, size) in enumerate(trial.facts.heads):
        seen: dict[str, int] = {}
        for action in range(size):
            name = trial.game.look.action_name(head, action)
            require(isinstance(name, str) and name.strip(), f"head {head_name!r}, action {action}: name is {name!r}")
            require(
                name not in seen, f"head {head_name!r}: actions {seen.get(name)} and {action} are both called {name!r}"
            )
            seen[name] = action


def unknown_reset_options_are_refused(trial: Trial) -> None:
    """`reset(options=...)` with an unknown key raises OptionError and changes nothing."""
    engine = trial.engine(2)
    before = np.asarray(engine.to_move)
    try:
        engine.reset(options={UNKNOWN_OPTION: np.zeros(2, np.int64)})
    except OptionError:
        require((np.asarray(engine.to_move) == before).all(), "a refused reset changed the games")
        return
    require(False, f"reset(options={{{UNKNOWN_OPTION!r}: ...}}) was accepted, must raise OptionError")


def observations_fit_their_spec(trial: Trial) -> None:
    """Shape, dtype and range match `facts.observation`; packed observations are `numpy.packbits` of whole ones."""
    facts, spec, n = trial.facts, trial.facts.observation, trial.games
    for step, moment in enumerate(trial.recording.moments):
        seen = moment.observations
        require(
            seen.shape == (n, facts.players, *spec.shape),
            f"step {step}: observations have shape {seen.shape[2:]}, must be {spec.shape}",
        )
        require(seen.dtype == spec.dtype, f"step {step}: observations are {seen.dtype}, must be {spec.dtype}")
        outside = np.argwhere(~((seen >= spec.low) & (seen <= spec.high)).reshape(n, facts.players, -1))
        if len(outside):
            game, seat, entry = (int(k) for k in outside[0])
            value = seen[game, seat].reshape(-1)[entry]
            where = f"step {step}, game {game}, seat {seat}: {segment_place(facts, entry)}"
            require(False, f"{where} is {value}, must lie in {spec.low}..{spec.high}")
    for step, engine in trial.positions():
        _check_forms(trial, engine, f"step {step}")


def _check_forms(trial: Trial, engine: Engine, where: str) -> None:
    """`seat=None`, a seat per game, `rows` and `packed` give the same observations."""
    facts, whole = trial.facts, look(engine).observations
    n, rows = engine.num_games, np.arange(engine.num_games)[::3]
    seats = np.arange(n) % facts.players
    each = to_numpy(engine.observe(seat=seats))
    require(
        (each == whole[np.arange(n), seats]).all(), f"{where}: observe(seat=array) differs from observe(seat=number)"
    )
    some = to_numpy(engine.observe(seat=0, rows=rows))
    require((some == whole[rows, 0]).all(), f"{where}: observe(rows=...) differs from observe()")
    mover, running = to_numpy(engine.observe()), np.flatnonzero(to_numpy(engine.to_move) >= 0)
    if facts.simultaneous:
        require((mover == whole).all(), f"{where}: observe() differs from observe(seat) of each seat")
    else:
        same = mover[running] == whole[running, to_numpy(engine.to_move)[running]]
        require(same.all(), f"{where}: observe() differs from observe(seat to move)")
    if facts.observation.bits:
        packed = to_numpy(engine.observe(seat=0, packed=True))
        expected = np.packbits(whole[:, 0].reshape(n, -1), axis=1)
        require((packed == expected).all(), f"{where}: packed observations differ from numpy.packbits of whole ones")


def arrays_are_fresh(trial: Trial) -> None:
    """Later moves do not change returned arrays, and writing to them changes no game."""
    engine = trial.engine()
    for step, actions in enumerate(trial.recording.actions):
        returned = [(name, array, to_numpy(array)) for name, read in READERS.items() for array in [read(engine)]]
        engine.step(actions)
        look(engine)
        for name, array, before in returned:
            require((to_numpy(array) == before).all(), f"step {step}: a later call changed what {name} had returned")
    after = look(engine)
    for name, read in READERS.items():
        # written to on purpose: the engine must not notice
        read(engine)[:] = 1
        same = all((mine == theirs).all() for mine, theirs in zip(look(engine), after, strict=True))
        require(same, f"writing to what {name} returned changed the games")


READERS: dict[str, Callable[[Engine], Any]] = {
    "observe()": lambda engine: engine.observe(),
    "observe(seat=0)": lambda engine: engine.observe(seat=0),
    "legal()": lambda engine: engine.legal(),
    "rewards": lambda engine: engine.rewards,
    "terminated": lambda engine: engine.terminated,
    "truncated": lambda engine: engine.truncated,
    "to_move": lambda engine: engine.to_move,
}
