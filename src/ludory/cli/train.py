"""`ludory train`: train an algorithm on a game, with the model in one file."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.cli.common.options import (
    add_options,
    behind_dashes,
    count,
    file_with_suffix,
    learner_options,
    parse_options,
)
from ludory.errors import OptionError, UnknownIdError

if TYPE_CHECKING:
    from ludory.algorithms.running.folder_lock import FileLock


def run(argv: list[str]) -> int:
    """Train, or go on with a run; returns the exit code."""
    if argv[:1] == ["pipeline"]:
        from .pipeline import pipeline

        return pipeline(argv[1:])
    own, behind = behind_dashes(argv)
    arguments, rest = _parser().parse_known_args(own)
    arguments.behind = behind
    if arguments.help or arguments.algorithm is None:
        return _help(arguments.algorithm)
    if arguments.data is not None:
        rest = [*_dataset(arguments), *rest]
    from ludory.algorithms.running.train_to_file import training_lock

    with training_lock(_file(arguments)) as lock:  # before the file is read: it is as whoever held the lock left it
        return _train(arguments, rest, lock)


def _train(arguments: argparse.Namespace, rest: list[str], lock: FileLock | None) -> int:
    from ludory.algorithms.running.interrupt import exit_code
    from ludory.algorithms.running.train_to_file import train_to_file

    model = _model(arguments, rest)
    file, timesteps = _file(arguments), arguments.timesteps or model.planned_timesteps
    if model.num_timesteps >= timesteps:
        longer = "--timesteps" if arguments.timesteps or not hasattr(model.config, "num_epochs") else "--num-epochs"
        print(f"{file} has {model.num_timesteps:,} timesteps already; ask for more with {longer}")
        return 0
    with _log_on_stderr():
        interrupted = train_to_file(
            model,
            timesteps,
            file,
            save_every=arguments.save_every,
            minutes=arguments.minutes,
            progress_bar=sys.stderr.isatty() or arguments.progress,
            lock=lock,
        )
    again = (
        f"; go on with `ludory train {arguments.algorithm} --env {model.game.id} --out {file} --resume`"
        if interrupted
        else ""
    )
    folder = getattr(model.config, "checkpoint_dir", None)
    kept = f", checkpoints and logs in {folder}" if folder else ""
    print(
        f"{'interrupted' if interrupted else 'trained'}: {model.num_timesteps:,} timesteps, model in {file}{kept}{again}"
    )
    return exit_code(interrupted) if interrupted else 0


class _StderrLines(logging.Handler):
    """One line on stderr per message, above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        print(f"ludory: {record.getMessage()}", file=sys.stderr)


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show what algorithms log about a run, such as which of two implementations it takes."""
    log, handler = logging.getLogger("ludory"), _StderrLines()
    before = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ludory train", description="Train an algorithm on a game.", add_help=False, allow_abbrev=False
    )
    parser.add_argument("algorithm", nargs="?", help="id of an algorithm, see `ludory list algorithms`; or pipeline")
    parser.add_argument("--env", help="id of a game, see `ludory list games`; with --data that of the recorded games")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="recorded games to learn from, as --dataset; the game is theirs, and need not be installed",
    )
    add_options(parser)
    parser.add_argument(
        "--policy",
        default="auto",
        help='network, see `ludory list networks`, e.g. "gru(memory_size=128)" (default mlp)',
    )
    parser.add_argument(
        "--timesteps",
        type=count,
        help="decisions in all, made or read (default 2,000,000; with a dataset those of all epochs)",
    )
    parser.add_argument("--minutes", type=float, help="stop after so many minutes, even if timesteps are left")
    parser.add_argument("--out", type=Path, help="file of the model (default runs/ALGORITHM-GAME.ludory)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out, if there is one")
    parser.add_argument(
        "--save-every", type=float, default=60.0, metavar="SECONDS", help="between checkpoints (default 60)"
    )
    parser.add_argument("--progress", action="store_true", help="show progress even when stderr is not a terminal")
    parser.set_defaults(recorded=None)
    parser.add_argument("-h", "--help", action="store_true", help="this, and the options of ALGORITHM if one is named")
    return parser


def _help(algorithm: str | None) -> int:
    _parser().print_help()
    if algorithm is None:
        print("\nName an algorithm to see its own options: ludory train ppo --help")
        return 0
    import tyro

    from ludory.plugins import algorithms

    print()
    tyro.cli(algorithms.load(algorithm).config_class, prog=f"ludory train {algorithm}", args=["--help"])
    return 0


def _dataset(arguments: argparse.Namespace) -> list[str]:
    """`--data` as an option of the algorithm; without `--env`, the game is that of the data."""
    from ludory.plugins import algorithms

    if "dataset" not in algorithms.load(arguments.algorithm).config_class.__dataclass_fields__:
        raise OptionError(
            f"--data {arguments.data}: {arguments.algorithm} plays games of its own; `ludory train bc` learns from recorded ones"
        )
    if arguments.env is None and not (arguments.out and arguments.resume):
        from ludory.data.dataset import header_at

        header = header_at(arguments.data)
        if arguments.option:
            raise OptionError(
                f"--option {arguments.option[0]}: the options are those of the recorded games; leave it out"
            )
        arguments.env, arguments.recorded = header.game, header
    return ["--dataset", str(arguments.data)]


def _file(arguments: argparse.Namespace) -> Path:
    if arguments.out is None:
        return Path("runs") / f"{arguments.algorithm}-{arguments.env}.ludory".replace(":", "-").replace("/", "-")
    return file_with_suffix("--out", arguments.out, ".ludory")


def _model(arguments: argparse.Namespace, rest: list[str]) -> Any:
    """The model of --out, or a new one."""
    from ludory.algorithms.running.folder_lock import is_first_process
    from ludory.plugins import algorithms

    kind = algorithms.load(arguments.algorithm)
    file = _file(arguments)
    if file.exists() and (arguments.resume or is_first_process()):
        if not arguments.resume:
            raise OptionError(f"{file} exists; add --resume to go on with it, or name another file with --out")
        model = kind.load(file)
        changes = _allowed_changes(arguments, model, _config(kind, arguments, rest, model.config))
        return kind.load(file, **changes) if changes else model
    if arguments.env is None:
        raise UnknownIdError(
            "--env is missing: name a game, see `ludory list games`; or recorded games to learn from, with --data"
        )
    game = _game(arguments)
    suited = kind.suited_to(game)
    config = _config(kind, arguments, rest, kind.config_class(**suited))
    if suited:
        told = ", ".join(f"{name}={config[name]}" for name in suited)
        print(f"{arguments.algorithm} for {game.name}: {told}", flush=True)
    if "checkpoint_dir" in config:
        config["checkpoint_dir"] = config["checkpoint_dir"] or str(_file(arguments).with_suffix(""))
    return kind(arguments.policy, game, **config)


def _game(arguments: argparse.Namespace) -> Any:
    """The game of --env, or of the data."""
    from ludory.envs.make import make_game

    header = arguments.recorded
    if header is None:
        return make_game(arguments.env, **parse_options(arguments.option))
    from ludory.algorithms.offline.algorithm import game_of_data

    return game_of_data(header)


def _config(kind: Any, arguments: argparse.Namespace, rest: list[str], default: Any) -> dict[str, Any]:
    """Fields of the algorithm's config; options behind `--` are those of the learner that it lets learn."""
    import tyro

    name, behind = arguments.algorithm, arguments.behind
    config = tyro.cli(kind.config_class, prog=f"ludory train {name}", args=rest, default=default)
    if behind and not hasattr(config, "learner_options"):
        raise OptionError(
            f"{' '.join(behind)}: options behind -- are for algorithms with a learner, such as league; leave the -- out"
        )
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    if behind:
        fields["learner_options"] = learner_options(f"ludory train {name}", fields["learner"], behind)
    return fields


def _allowed_changes(arguments: argparse.Namespace, model: Any, config: dict[str, Any]) -> dict[str, Any]:
    """A resumed run goes on as it began: another game or option is a mistake, not a wish, except where the algorithm allows it."""
    changes = {name: value for name, value in config.items() if getattr(model.config, name) != value}
    for name, value in changes.items():
        if name not in model.changeable:
            raise OptionError(
                f"{_file(arguments)} was trained with {name}={getattr(model.config, name)!r}, not {value!r}; "
                "leave the options out, or name another file with --out"
            )
    if arguments.env is None or (model.game.recorded is not None and arguments.env == model.game.id):
        return changes
    game = _game(arguments)
    if (game.id, dict(game.options)) != (model.game.id, dict(model.game.options)):
        raise OptionError(
            f"{_file(arguments)} was trained on {model.game.id} with options {dict(model.game.options)}, "
            f"not {game.id} with {dict(game.options)}; name another file with --out"
        )
    return changes
