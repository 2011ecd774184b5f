"""`ludory train`: train an algorithm on a game, with the model in one file."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ludory.arguments import (
    Arg,
    Hidden,
    Positional,
    as_typed,
    help_page,
    options_of,
    print_config,
    read_arguments,
    scan,
)
from ludory.cli.common.files import file_with_suffix
from ludory.cli.common.options import (
    Count,
    File,
    Flag,
    Folder,
    GameOptions,
    Maybe,
    behind_dashes,
    learner_options,
    parse_options,
)
from ludory.cli.common.parser import parse
from ludory.cli.common.showing import log_on_stderr
from ludory.errors import OptionError, UnknownIdError

from .closing import print_closing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ludory.algorithms.running.folder_lock import FileLock
    from ludory.algorithms.tuned.plan import PlannedStage
    from ludory.algorithms.tuned.settings import TunedSettings
    from ludory.arguments import Arguments


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Train an algorithm on a game. Ctrl+C loses nothing; --help with an ALGORITHM shows its own options, too.

    Where an algorithm has tuned settings for the game, they are the defaults, and a line says which they are.

    Example: ludory train ppo --env Hanabi2P-v0
    """

    algorithm: Positional[Maybe[str]] = None
    """Id of an algorithm, see `ludory list algorithms`; or pipeline."""
    env: Annotated[str | None, Arg(aliases=("--game",), metavar="ID")] = None
    """Id of a game, see `ludory list games`; with --data that of the recorded games."""
    data: Maybe[Folder] = None
    """Recorded games to learn from, as --dataset; the game is theirs, and need not be installed."""
    policy: str = "auto"
    """Network, see `ludory list networks`, e.g. "gru(memory_size=128)"; auto: the algorithm's choice, mostly mlp."""
    timesteps: Maybe[Count] = None
    """Decisions in all, made or read (default: as tuned, else 2,000,000; with a dataset those of all epochs)."""
    minutes: Maybe[float] = None
    """Stop after so many minutes, even if timesteps are left; stages share them. Of a league without --timesteps they are the budget."""
    out: Maybe[File] = None
    """File of the model (default: runs/ALGORITHM-GAME.ludory); of a league or flywheel a folder."""
    resume: Flag = False
    """Go on with the run in --out, if there is one."""
    untuned: Flag = False
    """Do not use tuned settings."""
    log: Annotated[tuple[str, ...], Arg("NAMES", read=_names)] = ("csv",)
    """Logs of metrics, comma-separated: csv, tensorboard, wandb."""
    verbose: Flag = False
    """Print a table of metrics after every iteration."""
    eval_games: int = 200
    """Games that the trained agent plays at the end for its score, at most 20 where the rules run elsewhere; 0: none. If typed, those of
    the algorithm's own scores, too (distill, flywheel)."""
    save_every: Annotated[float, Arg(metavar="SECONDS")] = 60.0
    """Time between checkpoints."""
    jobs: Count = 0
    """As --ray, in N processes of this machine, without Ray."""
    ray: Annotated[Maybe[int], Arg(metavar="N")] = None
    """Let N samplers on a Ray cluster play the games, while this process learns; ppo, vtrace and text-ppo can. The learners of a league
    learn there. 0: one for each core. Needs ludory[ray]."""
    address: Annotated[str, Arg(metavar="ADDRESS")] = "local"
    """Cluster for --ray: local (started on this machine, for this run), auto (the one that this machine belongs to), or HOST:PORT of its head."""
    deterministic: Flag = False
    """With --jobs or --ray: learners of a league take turns, so that its log is that of one process. Otherwise all learn at once."""
    progress: Flag = False
    """Show progress even when stderr is not a terminal."""
    behind: Hidden[list[str] | None] = None
    is_folder: Hidden[bool] = False
    recorded: Hidden[Any] = None

    @property
    def elsewhere(self) -> bool:
        """Whether other processes play."""
        return self.ray is not None or self.jobs > 0

    @property
    def file(self) -> Path:
        """Where the model is written."""
        if self.out is not None:
            file = file_with_suffix("--out", self.out, ".ludory")
            return self.out if self.is_folder and not file.exists() else file
        return Path("runs") / f"{self.algorithm}-{self.env}.ludory".replace(":", "-").replace("/", "-")

    def game(self) -> Any:
        """The game of --env, or of the data."""
        if self.recorded is None:
            return self.make(self.env or "")
        from ludory.algorithms.offline.algorithm import game_of_data

        return game_of_data(self.recorded)


@dataclass(frozen=True, kw_only=True)
class _FolderOptions(_Options):
    out: Folder | None = None


def run(argv: list[str]) -> int:
    """Train, or go on with a run; returns the exit code."""
    own, behind = behind_dashes(argv)
    typed = [one for one in own if one not in ("-h", "--help")]
    found = scan(_Options, typed, "ludory train", partial=True)
    algorithm = found.words["algorithm"][0][0] if "algorithm" in found.words else None
    if len(typed) < len(own) or algorithm is None:
        return algorithm_help(_Options, "train", algorithm)
    from ludory.plugins import algorithms

    kind = algorithms.load(algorithm)
    if is_folder := kind.run_is_folder:
        found.options = options_of(_FolderOptions)
    rest = found.rest
    chosen = dataclasses.replace(found.build(), behind=behind or found.behind, is_folder=is_folder)
    if chosen.deterministic and not (chosen.elsewhere and hasattr(kind, "in_order")):
        raise OptionError(
            "--deterministic: is for leagues at workers, all others are; add --jobs 2 or --ray 0, or leave it out"
        )
    if chosen.data is not None:
        chosen = _with_header(chosen)
        rest = ["--dataset", str(chosen.data), *rest]
    rest = [*_shared(chosen.algorithm or "", found), *rest]
    if found.prints_config:
        print_config("ludory train", found.values(chosen) | _printed(chosen, rest))
        return 0
    from ludory.algorithms.running.train_to_file import training_lock

    with training_lock(chosen.file) as lock:  # before the file is read: it is as whoever held the lock left it
        return _train(chosen, rest, lock)


SHARED = ("eval_games",)
"""Options that mean the same to an algorithm that has them."""


def _shared(algorithm: str, found: Arguments[_Options]) -> list[str]:
    """What was typed of `SHARED` options, if the algorithm has them, too: it holds for both."""
    from ludory.plugins import algorithms

    names = algorithms.options(algorithm).__dataclass_fields__
    shared = [option for option in found.options if option.field in SHARED and option.field in names]
    return [word for one in shared for words in found.words.get(one.field, []) for word in (one.names[0], *words)]


def _printed(chosen: _Options, rest: list[str]) -> dict[str, Any]:
    """Fields of the config for --print-config; only those that were typed where stages with tuned settings have others each."""
    kind, tuned = _tuned(chosen, rest)
    stages = _stages(chosen, rest, kind, tuned)
    if len(stages) == 1:
        return stages[0].config
    print("the stages of the tuned settings have the other options; --untuned prints all", file=sys.stderr)
    typed = scan(kind.config_class, rest, f"ludory train {chosen.algorithm}").words
    return {name: stages[-1].config[name] for name in typed}


def _train(chosen: _Options, rest: list[str], lock: FileLock | None) -> int:
    from ludory.algorithms.running.interrupt import exit_code
    from ludory.algorithms.running.metric_logs import check_logs
    from ludory.algorithms.running.train_to_file import train_to_file
    from ludory.algorithms.tuned.plan import PlannedStage

    check_logs(chosen.log)
    kind, tuned = _tuned(chosen, rest)
    # a run that did not begin in stages goes on without them
    if tuned and tuned.stages and _exists(chosen.file) and not _begun_in_stages(chosen.file, tuned):
        tuned = None
    if _exists(chosen.file) and tuned is None:  # goes on as it began
        plan = [PlannedStage("whole", None, {}, chosen.timesteps or 0, 1.0)]
    else:
        plan = _stages(chosen, rest, kind, tuned)
    files = [*(_stage_file(chosen.file, stage.name) for stage in plan[:-1]), chosen.file]
    # the stages before the last file are over
    begun = max((k for k, file in enumerate(files) if _exists(file)), default=0)
    for k, (stage, file) in list(enumerate(zip(plan, files, strict=True)))[begun:]:
        last = k == len(plan) - 1
        model = _model(chosen, rest, kind, tuned, stage, file, files[k - 1] if k else None)
        model.verbose, minutes = int(chosen.verbose), chosen.minutes and chosen.minutes * stage.share
        if chosen.timesteps is None and hasattr(model, "minutes"):
            model.minutes, minutes = minutes, None
        timesteps = stage.timesteps or model.planned_timesteps
        if model.num_timesteps >= timesteps:
            if last:
                longer = (
                    "--timesteps" if chosen.timesteps or not hasattr(model.config, "num_epochs") else "--num-epochs"
                )
                print(f"{file} has {model.num_timesteps:,} timesteps already; ask for more with {longer}")
            continue
        if model.num_timesteps:
            _say_kept(chosen, rest, kind, model, stage)
        with log_on_stderr(), _sampled(model, chosen):
            interrupted = train_to_file(
                model,
                timesteps,
                file,
                save_every=chosen.save_every,
                minutes=minutes,
                progress_bar=sys.stderr.isatty() or chosen.progress,
                lock=lock if last else None,
                logs=chosen.log,
            )
        again = (
            f"; go on with `ludory train {chosen.algorithm} --env {model.game.id} --out {as_typed(chosen.file)} --resume`"
            if interrupted
            else ""
        )
        folder = getattr(model.config, "checkpoint_dir", None)
        kept = f", checkpoints and logs in {folder}" if folder else ""
        part = f" (stage {stage.name}, {k + 1} of {len(plan)})" if len(plan) > 1 else ""
        what = "interrupted" if interrupted else "trained"
        print(f"{what}{part}: {model.num_timesteps:,} timesteps, model in {file}{kept}{again}", flush=True)
        if interrupted:
            return exit_code(interrupted)
        if last:
            done = model.num_timesteps + sum(earlier.timesteps for earlier in plan[:-1])
            print_closing(model, file, done, chosen.eval_games, tuned)
    return 0


@contextmanager
def _sampled(model: Any, chosen: _Options) -> Iterator[None]:
    """Let the samplers of --jobs or --ray play the games of `model`, which are its own again at the end."""
    from ludory.cluster.placement import PlacedOn

    if chosen.elsewhere and getattr(model, "samples_in", None) is None:
        raise OptionError(
            f"{'--jobs' if chosen.jobs else '--ray'}: {chosen.algorithm} runs in one process; "
            "ppo, vtrace, text-ppo and league can sample in others"
        )
    with PlacedOn(chosen.ray is not None, chosen.address, chosen.ray or None, chosen.jobs).open() as workers:
        if workers is None:
            yield
            return
        if chosen.deterministic:
            model.in_order = True
        model.sample_at(workers, chosen.ray or workers.count)
        try:
            yield
        finally:
            model.release_samplers()


def _exists(file: Path) -> bool:
    """Whether a run was saved there; an empty folder is as good as none."""
    return any(file.iterdir()) if file.is_dir() else file.exists()


def _stage_file(file: Path, name: str) -> Path:
    return file.with_name(f"{file.stem}-{name}{file.suffix}")


def _begun_in_stages(file: Path, tuned: TunedSettings) -> bool:
    return any(_stage_file(file, stage.name).exists() for stage in tuned.stages[:-1])


def _tuned(chosen: _Options, rest: list[str]) -> tuple[Any, TunedSettings | None]:
    """The algorithm's class, and its tuned settings for the game, unless the options rule them out."""
    from ludory.algorithms.tuned.settings import tuned_for
    from ludory.plugins import algorithms, games

    kind = algorithms.load(chosen.algorithm or "")
    if chosen.untuned or chosen.env is None or chosen.data is not None:
        return kind, None
    tuned = tuned_for(kind.id, games.get(chosen.env).id)
    ruled_out = any(word.split("=")[0] in ("--init-from", "--preset") for word in rest) or chosen.policy != "auto"
    return kind, None if ruled_out else tuned


def _stages(chosen: _Options, rest: list[str], kind: Any, tuned: TunedSettings | None) -> list[PlannedStage]:
    """The stages of the training; what was typed wins over tuned settings."""
    from ludory.algorithms.tuned.plan import plan_training
    from ludory.envs.make import make_game

    if chosen.env is None and chosen.data is None:
        raise UnknownIdError(
            "--env is missing: name a game, see `ludory list games`; or recorded games to learn from, with --data"
        )

    def make(options: Mapping[str, Any]) -> Any:
        return make_game(chosen.env or "", **{**options, **parse_options(chosen.option)}) if options else chosen.game()

    presets = kind.presets.get(_preset(rest), {})
    return plan_training(
        kind, tuned, make, lambda default: _config(kind, chosen, rest, default), chosen.timesteps, presets
    )


def algorithm_help(options: type[Any], verb: str, algorithm: str | None) -> int:
    """Show the help of `ludory VERB`, whose options are the dataclass `options`, and that of the algorithm; returns the exit code."""
    with suppress(SystemExit):
        parse(options, ["--help"], verb)
    if algorithm is None:
        print(f"\nName an algorithm to see its own options: ludory {verb} ppo --help")
        return 0
    from ludory.plugins import algorithms

    print()
    print(help_page(algorithms.options(algorithm), f"ludory {verb} {algorithm}"))
    return 0


def _with_header(chosen: _Options) -> _Options:
    """Without `--env`, the game is that of the data."""
    from ludory.plugins import algorithms

    if "dataset" not in algorithms.options(chosen.algorithm or "").__dataclass_fields__:
        raise OptionError(
            f"--data {chosen.data}: {chosen.algorithm} plays games of its own; `ludory train bc` learns from recorded ones"
        )
    if chosen.env is not None or (chosen.out and chosen.resume and _exists(chosen.file)):
        return chosen
    from ludory.data.dataset import header_at

    header = header_at(chosen.data or "")
    if chosen.option:
        raise OptionError(f"--option {chosen.option[0]}: the options are those of the recorded games; leave it out")
    return dataclasses.replace(chosen, env=header.game, recorded=header)


def _model(
    chosen: _Options,
    rest: list[str],
    kind: Any,
    tuned: TunedSettings | None,
    stage: PlannedStage,
    file: Path,
    before: Path | None,
) -> Any:
    """The model of a file, or a new one, which starts from the weights of the stage before it."""
    from ludory.algorithms.running.folder_lock import is_first_process

    if _exists(file) and (chosen.resume or is_first_process()):
        if not chosen.resume:
            raise OptionError(f"{file} exists; add --resume to go on with it, or name another file with --out")
        model = kind.load(file)
        changes = _allowed_changes(chosen, model, _config(kind, chosen, rest, model.config), stage)
        beside, before_it = str(file.with_suffix("")), getattr(model.config, "checkpoint_dir", None)
        if before_it is not None and Path(before_it).name == file.stem and before_it != beside:  # the run was moved
            changes.setdefault("checkpoint_dir", beside)
        return kind.load(file, **changes) if changes else model
    config = stage.config
    if before is not None:
        config["init_from"] = str(before)
    if "checkpoint_dir" in config:
        config["checkpoint_dir"] = config["checkpoint_dir"] or str(file.with_suffix(""))
    policy = tuned.policy if tuned and chosen.policy == "auto" else chosen.policy
    model = kind(policy, stage.game, **config)
    _say_settings(chosen, kind, stage, tuned, first=before is None)
    return model


def _say_settings(chosen: _Options, kind: Any, stage: PlannedStage, tuned: TunedSettings | None, first: bool) -> None:
    """Say which settings a new model takes, where they are not the algorithm's own, and who plays."""
    from ludory.algorithms.config import said_seats
    from ludory.algorithms.tuned.plan import said_iteration
    from ludory.algorithms.tuned.settings import tuned_for

    game, config, lines = stage.game, stage.config, []
    if tuned and first:
        lines.append(f"tuned settings ({tuned.says()}); --untuned leaves them out")
        if tuned.reached:
            lines.append(f"they reached {tuned.reached.says(tuned.baseline)}")
    elif first and not tuned and not chosen.untuned and chosen.data is None and tuned_for(kind.id, game):
        lines.append("no tuned settings, because --policy, --init-from or --preset is given")
    if not tuned and (suited := kind.suited_to(game)):
        lines.append(", ".join(f"{name}={config[name]}" for name in suited))
    if stage.reduced:
        changed = ", ".join(f"{name}={config[name]}" for name in stage.reduced)
        lines.append(f"smaller batches, because the training is short: {changed}")
    if line := said_iteration(config, stage.timesteps):
        lines.append(line)
    if first and "others" in config and (seats := said_seats(game.facts, config["seats"], config["others"])):
        lines.append(seats)
    for line in lines:
        print(f"{chosen.algorithm} for {game.id or game.name}: {line}", flush=True)


def _say_kept(chosen: _Options, rest: list[str], kind: Any, model: Any, stage: PlannedStage) -> None:
    """Say which settings a resumed run keeps where a new training of the length now asked for would begin with others."""
    from ludory.algorithms.config import BY_LENGTH

    if chosen.env is None:
        return
    new = stage.config or _stages(chosen, rest, kind, None)[0].config
    kept = {name: getattr(model.config, name) for name in BY_LENGTH if name in new}
    other = {name: new[name] for name, value in kept.items() if value != new[name]}
    if other:
        ours, theirs = (", ".join(f"{name}={values[name]}" for name in other) for values in (kept, other))
        length = f"{chosen.timesteps:,} timesteps" if chosen.timesteps else "the usual length"
        print(
            f"{chosen.algorithm} for {model.game.id or model.game.name}: goes on with the settings that it began with: {ours}; "
            f"a new training of {length} takes {theirs}, so its result differs: for that, name another file with --out",
            flush=True,
        )


def _preset(rest: list[str]) -> str:
    """The value of --preset, whose options are the defaults of the others; "" if there is none."""
    joined = " ".join(rest).replace("--preset=", "--preset ").split()
    return joined[joined.index("--preset") + 1] if "--preset" in joined[:-1] else ""


def _config(kind: Any, chosen: _Options, rest: list[str], default: Any) -> dict[str, Any]:
    """Fields of the algorithm's config; options behind `--` are those of the learner that it lets learn."""
    name, behind = chosen.algorithm, chosen.behind
    config = read_arguments(
        kind.config_class, rest, f"ludory train {name}", default=default, others=options_of(_Options)
    )
    if behind and not hasattr(config, "learner_options"):
        raise OptionError(
            f"{' '.join(behind)}: options behind -- are for algorithms with a learner, such as league; leave the -- out"
        )
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    if behind:
        fields["learner_options"] = learner_options(f"ludory train {name}", fields["learner"], behind)
    return fields


def _allowed_changes(chosen: _Options, model: Any, config: dict[str, Any], stage: PlannedStage) -> dict[str, Any]:
    """A resumed run goes on as it began: another game or option is a mistake, not a wish, except where the algorithm allows it."""
    changes = {name: value for name, value in config.items() if getattr(model.config, name) != value}
    for name, value in changes.items():
        if name not in model.changeable:
            raise OptionError(
                f"{chosen.file} was trained with {name}={getattr(model.config, name)!r}, not {value!r}; "
                "leave the options out, or name another file with --out"
            )
    if chosen.env is None or (model.game.records.header is not None and chosen.env == model.game.id):
        return changes
    game = chosen.game()
    began_with = [(made.id, dict(made.options)) for made in (game, stage.game or game)]  # as typed, and as tuned
    if (model.game.id, dict(model.game.options)) not in began_with:
        raise OptionError(
            f"{chosen.file} was trained on {model.game.id} with options {dict(model.game.options)}, "
            f"not {game.id} with {dict(game.options)}; name another file with --out"
        )
    return changes
