"""`ludory flywheel`: search, distil, evaluate, promote, and begin again with the better player."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.cli.common.games_bar import games_bar
from ludory.cli.common.options import add_options, parse_options
from ludory.errors import UnknownIdError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.algorithms.flywheel.turns import Turns

VERBS = {
    "run": "begin: search from a blueprint, learn from it, compare, and begin again with the better player",
    "resume": "go on with a flywheel that was stopped or killed",
    "status": "how far a flywheel is, and what came of its turns",
}


def run(argv: list[str]) -> int:
    """Dispatch to a verb; returns the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        usage = f"usage: ludory flywheel {{{','.join(VERBS)}}} ...; each with --help\n\n"
        print(usage + "\n".join(f"  {verb:8} {summary}" for verb, summary in VERBS.items()))
        return 0 if argv else 2
    verb, rest = argv[0], argv[1:]
    if verb not in VERBS:
        raise UnknownIdError(f"ludory flywheel {verb}: must be one of {', '.join(VERBS)}")
    return {"run": _run, "resume": _resume, "status": _status}[verb](rest)


def _run(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ludory flywheel run", description=VERBS["run"])
    parser.add_argument("--env", required=True, help="id of a game, e.g. Hanabi2P-v0")
    add_options(parser)
    parser.add_argument("--blueprint", required=True, help="agent to begin with: a rule bot or a checkpoint")
    parser.add_argument(
        "--search",
        default="sparta({blueprint}, rollouts=1000)",
        help="agent that searches (default 'sparta({blueprint}, rollouts=1000)')",
    )
    parser.add_argument("--learner", default="distill", help="algorithm that learns from its games (default distill)")
    parser.add_argument(
        "--learner-option", action="append", default=[], metavar="NAME=VALUE", help="of the learner, e.g. num_epochs=5"
    )
    parser.add_argument("--policy", default="auto", help="network of the learner (default: what suits it)")
    parser.add_argument("--games", type=int, default=1000, help="searched games a turn (default 1000)")
    parser.add_argument("--eval-games", type=int, default=2000, help="decks to compare on, each turn (default 2000)")
    parser.add_argument("--confidence", type=float, default=0.975, help="of being better, one-sided (default 0.975)")
    parser.add_argument("--turns", type=int, default=10, help="in all (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder of the flywheel")
    add_ways(parser)
    chosen = parser.parse_args(argv)
    from ludory.algorithms.flywheel.config import FlywheelConfig
    from ludory.algorithms.flywheel.machine import start_flywheel
    from ludory.algorithms.flywheel.state import FlywheelState

    names = ("env", "blueprint", "search", "learner", "policy", "games", "eval_games", "confidence", "turns", "seed")
    config = FlywheelConfig(
        **{name: getattr(chosen, name) for name in names},
        options=parse_options(chosen.option),
        learner_options=parse_options(chosen.learner_option),
    )
    if chosen.dry_run:
        print(FlywheelState(config, config.blueprint).plan(chosen.out))
        return 0
    return turn(start_flywheel(config, chosen.out), chosen.once)


def _resume(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ludory flywheel resume", description=VERBS["resume"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--turns", type=int, help="in all, instead of those asked for when it began")
    add_ways(parser)
    chosen = parser.parse_args(argv)
    from ludory.algorithms.flywheel.machine import Flywheel
    from ludory.algorithms.flywheel.state import FlywheelState

    if chosen.dry_run:
        print(FlywheelState.read(chosen.folder).plan(chosen.folder))
        return 0
    return turn(Flywheel.resume(chosen.folder, chosen.turns), chosen.once)


def add_ways(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the options of running a flywheel."""
    parser.add_argument("--once", action="store_true", help="do the next step only")
    parser.add_argument("--dry-run", action="store_true", help="say what the next step is, and do nothing")


def turn(flywheel: Turns[Any], once: bool) -> int:
    """Run it, showing what is done; returns the exit code."""
    from ludory.algorithms.running.interrupt import exit_code, stop_on_interrupt

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
    with flywheel, stop_on_interrupt(flywheel.stop) as received:
        whole = flywheel.run(once, on_step, bar if sys.stderr.isatty() else None)
    state = flywheel.state
    again = "" if state.finished else f"; `{state.command} resume {flywheel.folder}` goes on"
    best = visible(state.blueprint)
    print(f"{'finished' if state.finished else 'stopped'}: best player {best}, in {flywheel.folder}{again}")
    return 0 if whole or not received else exit_code(received[0])


def _status(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ludory flywheel status", description=VERBS["status"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="the state, for programs")
    chosen = parser.parse_args(argv)
    from ludory.algorithms.flywheel.state import STATE, FlywheelState
    from ludory.reading import read_json

    state = FlywheelState.read(chosen.folder)
    if chosen.json:
        print(json.dumps(read_json(chosen.folder / STATE), indent=1))
        return 0
    for turn in state.history:
        print(turn.summary())
    print(state.plan(chosen.folder))
    return 0
