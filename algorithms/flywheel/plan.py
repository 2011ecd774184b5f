"""Who and where: players and files of a flywheel's turn, and its next step in words."""

from __future__ import annotations

from pathlib import Path

from ludory.plugins.spec import parse_spec
from ludory.visible import visible

from .config import BLUEPRINT
from .state import FlywheelState, Turn
from .turns import turn_file

SEARCHED, POLICY, SCORES = "searched", "policy.ludory", "scores.json"
"""Recording, network and comparison of a turn."""
FIRST = "blueprint.ludory"
"""Copy of the checkpoint that a flywheel began with, in its folder."""


def blueprint_of(folder: Path, state: FlywheelState) -> str:
    """The blueprint as `make_agent` takes it."""
    name = parse_spec(state.blueprint).name
    return state.blueprint.replace(name, str(folder / name), 1) if (folder / name).is_file() else state.blueprint


def searcher_of(folder: Path, state: FlywheelState) -> str:
    """The searching agent as `make_agent` takes it."""
    return state.config.search.replace(BLUEPRINT, blueprint_of(folder, state))


def plan(folder: Path, state: FlywheelState) -> str:
    """What the next step does."""
    config = state.config
    if state.finished:
        return f"all {config.turns} turns are over"
    searched, policy = turn_file(folder, state, SEARCHED), turn_file(folder, state, POLICY)
    what = {
        "search": f"{config.games:,} games of {searcher_of(folder, state)} on {config.env}, to {searched}",
        "distil": f"{config.learner} learns from {searched}, to {policy}",
        "evaluate": f"{config.eval_games:,} decks with {policy} and with {state.blueprint}",
        "promote": f"{policy} takes the place of {state.blueprint} if it is better with confidence {config.confidence:g}",
    }
    return f"turn {state.turn + 1} of {config.turns}, {state.step}: {visible(what[state.step])}"


def line(turn: Turn) -> str:
    """A turn that is over, for people."""
    verdict = "promoted" if turn.promoted else "not promoted"
    return (
        f"turn {turn.number + 1}: {visible(turn.policy)} {turn.policy_score:.2f}, {visible(turn.blueprint)} {turn.blueprint_score:.2f}; "
        f"{turn.ahead:+.3f} ± {turn.stderr:.3f} over {turn.games:,} decks, above {turn.lower:+.3f}: {verdict}"
    )
