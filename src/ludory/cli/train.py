"""`ludory train`: train an algorithm on a game, with the model in one file."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.errors import OptionError, UnknownIdError

from .options import add_options, count, file_with_suffix, parse_options

if TYPE_CHECKING:
    from ludory.algorithms.folder_lock import FileLock


def run(argv: list[str]) -> int:
    """Train, or go on with a run; gives the exit code."""
    if argv[:1] == ["pipeline"]:
        from .pipeline import pipeline

        return pipeline(argv[1:])
    arguments, rest = _parser().parse_known_args(argv)
    if arguments.help or arguments.algorithm is None:
        return _help(arguments.algorithm)
    from ludory.algorithms.run import training_lock

    with training_lock(_file(arguments)) as lock:  # before the file is read: it is as whoever held the lock left it
        return _train(arguments, rest, lock)


def _train(arguments: argparse.Namespace, rest: list[str], lock: FileLock | None) -> int:
    from ludory.algorithms.interrupt import exit_code
    from ludory.algorithms.run import train_to_file

    model = _model(arguments, rest)
    file, timesteps = _file(arguments), arguments.timesteps or model.planned_timesteps
    if model.num_timesteps >= timesteps:
        longer = "--timesteps" if arguments.timesteps or not hasattr(model.config, "num_epochs") else "--num-epochs"
        print(f"{file} has {model.num_timesteps:,} timesteps already; ask for more with {longer}")
        return 0
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ludory train", description="Train an algorithm on a game.", add_help=False, allow_abbrev=False
    )
    parser.add_argument("algorithm", nargs="?", help="id of an algorithm, see `ludory list algorithms`; or pipeline")
    parser.add_argument("--env", help="id of a game, see `ludory list games`")
    add_options(parser)
    parser.add_argument("--policy", default="auto", help='network, e.g. "gru(memory_size=128)" (default mlp)')
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


def _file(arguments: argparse.Namespace) -> Path:
    if arguments.out is None:
        return Path("runs") / f"{arguments.algorithm}-{arguments.env}.ludory".replace(":", "-").replace("/", "-")
    return file_with_suffix("--out", arguments.out, ".ludory")


def _model(arguments: argparse.Namespace, rest: list[str]) -> Any:
    """The model of --out, or a new one."""
    from ludory.algorithms.processes import is_first_process
    from ludory.plugins import algorithms

    kind = algorithms.load(arguments.algorithm)
    file = _file(arguments)
    if file.exists() and (arguments.resume or is_first_process()):
        if not arguments.resume:
            raise OptionError(f"{file} exists; add --resume to go on with it, or name another file with --out")
        model = kind.load(file)
        changes = _allowed_changes(arguments, model, _config(kind, arguments.algorithm, rest, model.config))
        return kind.load(file, **changes) if changes else model
    if arguments.env is None:
        raise UnknownIdError("--env is missing: name a game, see `ludory list games`")
    from ludory.algorithms.config import make_config
    from ludory.envs.make import make_game

    game = make_game(arguments.env, **parse_options(arguments.option))
    suited = kind.suited_to(game)
    config = _config(kind, arguments.algorithm, rest, make_config(kind.config_class, suited))
    if suited:
        told = ", ".join(f"{name}={config[name]}" for name in suited)
        print(f"{arguments.algorithm} for {game.name}: {told}", flush=True)
    if "checkpoint_dir" in config:
        config["checkpoint_dir"] = config["checkpoint_dir"] or str(_file(arguments).with_suffix(""))
    return kind(arguments.policy, game, **config)


def _config(kind: Any, name: str, rest: list[str], default: Any) -> dict[str, Any]:
    import tyro

    config = tyro.cli(kind.config_class, prog=f"ludory train {name}", args=rest, default=default)
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}


def _allowed_changes(arguments: argparse.Namespace, model: Any, config: dict[str, Any]) -> dict[str, Any]:
    """A resumed run goes on as it began: another game or option is a mistake, not a wish, except where the algorithm allows it."""
    from ludory.envs.make import make_game

    changes = {name: value for name, value in config.items() if getattr(model.config, name) != value}
    for name, value in changes.items():
        if name not in model.changeable:
            raise OptionError(
                f"{_file(arguments)} was trained with {name}={getattr(model.config, name)!r}, not {value!r}; "
                "leave the options out, or name another file with --out"
            )
    if arguments.env is None:
        return changes
    game = make_game(arguments.env, **parse_options(arguments.option))
    if (game.id, dict(game.options)) != (model.game.id, dict(model.game.options)):
        raise OptionError(
            f"{_file(arguments)} was trained on {model.game.id} with options {dict(model.game.options)}, "
            f"not {game.id} with {dict(game.options)}; name another file with --out"
        )
    return changes
