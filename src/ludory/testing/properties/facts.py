"""Properties of the facts of a game."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ludory.envs.engine.checks import critic_spec
from ludory.envs.parts import elimination, header, waiting
from ludory.errors import OptionError
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
