"""`ludory sweep`: search for settings of an algorithm that learn a game well."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.agents.partners import baseline_of
from ludory.arguments import Positional, options_of, print_config, read_arguments
from ludory.cli.common.files import check_ending, write_text
from ludory.cli.common.options import Assignments, Count, EnvId, File, Folder, GameOptions, Maybe, parse_options
from ludory.cli.common.parser import parse_known
from ludory.cli.common.showing import log_on_stderr
from ludory.errors import OptionError

from .train import algorithm_help

if TYPE_CHECKING:
    from ludory.benchmarks.sweep.study import Sweep, SweepSetting


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Search for settings of an algorithm that learn a game well: many short trainings, of which bad ones end early.

    The same command goes on where it was stopped; Ctrl+C waits for the trials that run. Options of the algorithm hold in all trials.
    Needs the extra sweep (Optuna).

    Example: ludory sweep ppo --env LeducPoker-v0 --trials 30 --timesteps 300_000 --processes 2
    """

    algorithm: Positional[str]
    """Id of an algorithm, see `ludory list algorithms`."""
    env: EnvId
    """Id of a game, see `ludory list games`."""
    policy: str = "auto"
    """Network, as for `ludory train`."""
    tune: Assignments = ()
    """An option and the values to try: NAME=LOW..HIGH or NAME=A,B,C (default: what the algorithm states)."""
    trials: Count = 30
    """Trials in all, also those of earlier calls."""
    timesteps: Count = 500_000
    """Decisions of a trial."""
    reports: Count = 4
    """Scores that are taken in a trial; after each but the last, a trial below the median ends."""
    games: Count = 500
    """Games of a score."""
    baseline: Maybe[str] = None
    """Agent to play against where rewards differ (default: a bot of the game, else random)."""
    processes: Count = 1
    """Trials at the same time."""
    out: Maybe[Folder] = None
    """Folder of the sweep (default: runs/sweep-ALGORITHM-GAME)."""
    write: Maybe[File] = None
    """File of tuned settings (.json) to write the best ones to, such as algorithms/tuned/ppo.json; other games stay in it."""


def run(argv: list[str]) -> int:
    """Run trials until there are --trials, and write the report; returns the exit code."""
    wanted = [word for word in argv if word not in ("-h", "--help")]
    if len(wanted) < len(argv):
        return algorithm_help(_Options, "sweep", next((word for word in wanted if not word.startswith("-")), None))
    chosen, found = parse_known(_Options, argv, "sweep")
    check_ending("--write", chosen.write, ".json")
    for name in ("trials", "timesteps", "reports", "games", "processes"):
        if getattr(chosen, name) < 1:
            raise OptionError(f"--{name} {getattr(chosen, name)}: must be at least 1")
    setting = _setting(chosen, found.rest)
    if found.prints_config:
        print_config("ludory sweep", found.values(chosen) | dict(setting.fixed))
        return 0
    from ludory.benchmarks.sweep.page import command, sweep_page
    from ludory.benchmarks.sweep.study import REPORT, Sweep

    folder = chosen.out or Path("runs") / f"sweep-{chosen.algorithm}-{chosen.env}".replace(":", "-").replace("/", "-")
    sweep = Sweep(folder, setting)
    told = ", ".join(f"{one.name} {setting.space.get(one.name) or _stated(setting, one.name)}" for one in sweep.space)
    print(f"{chosen.algorithm} on {chosen.env}: {told}", flush=True)
    with log_on_stderr():
        for result in sweep.run(chosen.trials, chosen.processes):
            print(result, flush=True)
    write_text(folder / REPORT, sweep_page(sweep))
    best = sweep.best()
    if best is None:
        print(f"no trial reached its end; report in {folder / REPORT}")
        return 0
    print(f"best: {best}\nreport in {folder / REPORT}\nnext: {command(sweep, best)}")
    if chosen.write is not None:
        _write(chosen.write, sweep)
    return 0


def _setting(chosen: _Options, rest: list[str]) -> SweepSetting:
    from ludory.algorithms.algorithm import Algorithm
    from ludory.benchmarks.sweep.study import SweepSetting
    from ludory.plugins import algorithms

    kind: Any = algorithms.load(chosen.algorithm)
    if not issubclass(kind, Algorithm):
        raise OptionError(f"sweep {chosen.algorithm}: has no policy of its own; name ppo, vtrace or another algorithm")
    prog = f"ludory sweep {chosen.algorithm}"
    config = read_arguments(kind.config_class, rest, prog, others=options_of(_Options))
    plain = kind.config_class()
    names = [one.name for one in dataclasses.fields(config) if getattr(config, one.name) != getattr(plain, one.name)]
    game = chosen.make(chosen.env)
    return SweepSetting(
        algorithm=chosen.algorithm,
        env=chosen.env,
        options=parse_options(chosen.option),
        policy=chosen.policy,
        fixed={name: getattr(config, name) for name in names if name != "seed"},
        space=_texts(chosen.tune),
        timesteps=chosen.timesteps,
        reports=chosen.reports,
        games=chosen.games,
        baseline=chosen.baseline or baseline_of(game),
        seed=config.seed,
    )


def _texts(tune: tuple[str, ...]) -> dict[str, str]:
    """The texts of --tune by name."""
    found: dict[str, str] = {}
    for one in tune:
        name, equals, text = one.partition("=")
        if not equals:
            raise OptionError(f"--tune {one}: must be NAME=VALUES, e.g. --tune learning_rate=1e-4..3e-3")
        found[name.strip().replace("-", "_")] = text.strip()
    return found


def _stated(setting: SweepSetting, name: str) -> str:
    from ludory.plugins import algorithms

    kind: Any = algorithms.load(setting.algorithm)
    return str(kind.search_space[name])


def _write(file: Path, sweep: Sweep) -> None:
    from ludory.algorithms.tuned.settings import read_tuned, tuned_json

    best = sweep.best()
    assert best is not None
    there = read_tuned(file.read_bytes(), str(file)) if file.exists() else {}
    write_text(file, tuned_json({**there, sweep.setting.env: sweep.tuned(best)}))
    print(
        f"settings in {file}; `ludory bench tuned --games {sweep.setting.env} --write` measures them, if it is that of the package"
    )
