"""`ludory flywheel`: search, distil, evaluate, promote, and begin again with the better player.

The flywheel of Texas 42 has the same verbs and shares all but its options: `run_turns`, `resume_turns`, `show_turns`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ludory.cli.common import (
    Assignments,
    EnvId,
    Flag,
    Folder,
    FolderArgument,
    GameOptions,
    Maybe,
    Placed,
    common_fields,
    games_bar,
    parse,
    parse_options,
    run_job,
)
from ludory.cluster import PlacedOn
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.algorithms.flywheel.turns import Turns, TurnsState

HERE = PlacedOn()
"""This process."""
JOBS = {
    "run": ("train.flywheel:begin", "begin: search from a blueprint, learn from it, compare, promote what is better"),
    "resume": ("train.flywheel:resume", "go on with a flywheel that was stopped or killed"),
    "status": ("train.flywheel:status", "how far a flywheel is, and what its turns brought"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("flywheel", "Search, learn from it, promote what is better, again and again.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class FlywheelSteps:
    """Options of running a flywheel."""

    once: Flag = False
    """Do the next step only."""
    dry_run: Flag = False
    """Say what the next step is, and do nothing."""


@dataclass(frozen=True, kw_only=True)
class _Run(Placed, FlywheelSteps, GameOptions):
    """Begin a flywheel: search from a blueprint, learn from it, compare, and begin again with the better player.

    Example: ludory flywheel run --env Hanabi2P-v0 --blueprint hanabi/smartbot --games 500 --out runs/flywheel
    """

    env: EnvId
    """Id of a game."""
    blueprint: str
    """Agent to begin with: a rule bot or a checkpoint."""
    search: str = "sparta({blueprint}, rollouts=1000)"
    """Agent that searches, with {blueprint} in the place of the player that it searches from."""
    learner: str = "distill"
    """Algorithm that learns from the searched games."""
    learner_option: Assignments = ()
    """Option of the learner, e.g. num_epochs=5."""
    policy: str = "auto"
    """Network of the learner; auto: what suits it."""
    games: int = 1000
    """Searched games a turn."""
    eval_games: int = 2000
    """Decks on which the two players are compared, each turn."""
    confidence: float = 0.975
    """Promote a player that is better with this confidence, one-sided."""
    turns: int = 10
    """Turns in all."""
    seed: int = 0
    """Seed of everything."""
    out: Folder
    """Folder of the flywheel."""


def begin(argv: list[str]) -> int:
    """Begin a flywheel; returns the exit code."""
    chosen = parse(_Run, argv, "flywheel run")
    from ludory.algorithms.flywheel.config import FlywheelConfig
    from ludory.algorithms.flywheel.machine import start_flywheel
    from ludory.algorithms.flywheel.state import FlywheelState

    config = FlywheelConfig(
        **common_fields(chosen, FlywheelConfig),
        options=parse_options(chosen.option),
        learner_options=parse_options(chosen.learner_option),
    )
    if chosen.dry_run:
        print(FlywheelState(config, config.blueprint).plan(chosen.out))
        return 0
    return run_turns(start_flywheel(config, chosen.out), chosen.once, chosen.placement)


def resume(argv: list[str]) -> int:
    """Go on with a flywheel; returns the exit code."""
    return resume_turns("flywheel resume", argv, _classes)


def status(argv: list[str]) -> int:
    """Show a flywheel; returns the exit code."""
    return show_turns("flywheel status", argv, _classes)


def _classes() -> tuple[type[TurnsState], type[Turns[Any]]]:
    from ludory.algorithms.flywheel.machine import Flywheel
    from ludory.algorithms.flywheel.state import FlywheelState

    return FlywheelState, Flywheel


@dataclass(frozen=True, kw_only=True)
class _Resume(Placed, FlywheelSteps):
    """Go on with a flywheel that was stopped or killed.

    Example: ludory flywheel resume runs/flywheel
    """

    folder: FolderArgument
    """Folder of the flywheel."""
    turns: Maybe[int] = None
    """Turns in all, instead of those asked for when it began."""


@dataclass(frozen=True, kw_only=True)
class _Status:
    """Show how far a flywheel is, and what its turns brought.

    Example: ludory flywheel status runs/flywheel
    """

    folder: FolderArgument
    """Folder of the flywheel."""
    json: Flag = False
    """Print the state as JSON, for programs."""


Classes = Callable[[], "tuple[type[TurnsState], type[Turns[Any]]]"]
"""Imports the state and the machine of a kind of flywheel, after the arguments were read."""


def resume_turns(command: str, argv: list[str], classes: Classes) -> int:
    """Go on with the flywheel in a folder; returns the exit code."""
    chosen = parse(_Resume, argv, command)
    state, kind = classes()
    if chosen.dry_run:
        print(state.read(chosen.folder).plan(chosen.folder))
        return 0
    return run_turns(kind.resume(chosen.folder, chosen.turns), chosen.once, chosen.placement)


def show_turns(command: str, argv: list[str], classes: Classes) -> int:
    """Show the flywheel in a folder; returns the exit code."""
    chosen = parse(_Status, argv, command)
    found = classes()[0].read(chosen.folder)
    if chosen.json:
        print((chosen.folder / found.file).read_text(encoding="utf-8"), end="")
        return 0
    for turn in found.history:
        print(turn.summary())
    print(found.plan(chosen.folder))
    return 0


def run_turns(flywheel: Turns[Any], once: bool, placement: PlacedOn = HERE) -> int:
    """Run a flywheel, showing what is done; returns the exit code.

    Raises:
        OptionError: the flywheel cannot search on a cluster.
    """
    from ludory.algorithms import exit_code, stop_on_interrupt

    if (placement.ray or placement.jobs) and not flywheel.searches_elsewhere:
        flywheel.release()
        raise OptionError(
            f"{'--jobs' if placement.jobs else '--ray'}: `{flywheel.state.command}` runs in one process; leave it out"
        )

    def on_step(flywheel: Turns[Any]) -> None:
        state = flywheel.state
        if state.step == state.steps[0] and state.history:
            print(state.history[-1].summary(), flush=True)
        if not state.finished and not once:
            print(flywheel.state.plan(flywheel.folder), file=sys.stderr, flush=True)

    def bar(step: str, games: int) -> AbstractContextManager[Callable[[int], None]]:
        return games_bar(games, title=step)

    if not flywheel.state.finished:
        print(flywheel.state.plan(flywheel.folder), file=sys.stderr, flush=True)
    with flywheel, placement.open() as flywheel.workers, stop_on_interrupt(flywheel.stop) as received:
        whole = flywheel.run(once, on_step, bar if sys.stderr.isatty() else None)
    state = flywheel.state
    again = "" if state.finished else f"; `{state.command} resume {flywheel.folder}` goes on"
    best = visible(state.blueprint)
    print(f"{'finished' if state.finished else 'stopped'}: best player {best}, in {flywheel.folder}{again}")
    return 0 if whole or not received else exit_code(received[0])
