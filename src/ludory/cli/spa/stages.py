"""`ludory spa generate`, `filter`, `sft`, `ppo` and `eval`: one stage each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.algorithms.world_model.config import EvalConfig, GenerateConfig, SFTConfig, TextConfig
from ludory.cli.common import Assignments, Count, EnvId, Folder, Maybe, Placed, parse, parse_options
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.algorithms.world_model.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class PlayedText:
    """How the game is shown."""

    env: EnvId = "Sokoban-v0"
    """Id of a game with rooms and a text codec."""
    option: Assignments = ()
    """Option of the game, e.g. --option success_rate=0.8."""
    preset: str = "default"
    """Budgets, penalty and form of prompts: default, ragen, ragen2 or compact."""
    style: Maybe[str] = None
    """How states are written; the game names its styles."""

    def text(self) -> TextConfig:
        """As a configuration."""
        return TextConfig(env=self.env, options=parse_options(self.option), preset=self.preset, style=self.style)


@dataclass(frozen=True, kw_only=True)
class _Generate(Placed, PlayedText):
    """Play episodes, replace the states that the model wrote by the true ones, and write turns and rows to OUT.

    Example: ludory spa generate --env Sokoban-v0 --model models/qwen --episodes 1280 --out data
    """

    model: str
    """Folder of a language model, or "small"."""
    out: Folder
    """Folder for turns-*.parquet, wm_train.parquet, wm_val.parquet and meta.json."""
    episodes: Maybe[int] = None
    """Episodes in all: sets --batches."""
    config: GenerateConfig = field(default_factory=GenerateConfig)


def generate(argv: list[str]) -> int:
    """Play and write; returns the exit code."""
    chosen = parse(_Generate, argv, "spa generate")
    config, each = chosen.config, chosen.config.groups * chosen.config.group_size
    if chosen.episodes is not None:
        if chosen.episodes < each or chosen.episodes % each:
            raise OptionError(
                f"--episodes {chosen.episodes}: must be a multiple of --groups times --group-size, {each}"
            )
        config = replace(config, batches=chosen.episodes // each)

    from ludory.algorithms.world_model.generate import generate as play_and_write
    from ludory.algorithms.world_model.pipeline import start_model

    text = chosen.text()
    with chosen.placement.open() as workers:
        counts = play_and_write(start_model(chosen.model, text), text, config, chosen.out, workers=workers).counts
    print(visible(f"{counts['episodes']:,} episodes, {counts['turns']:,} turns, success {counts['success']:.1%}"))
    for name in ("forms", "rows", "dropped"):
        said = ", ".join(f"{key} {value:,}" for key, value in counts[name].items()) or "none"
        print(visible(f"{name}: {said}"))
    return 0


@dataclass(frozen=True, kw_only=True)
class _Filter:
    """Write the rows of FILE whose responses have a thought with one observation before one prediction, and then an answer.

    Example: ludory spa filter --data data/wm_train.parquet --out strict.parquet
    """

    data: Path
    """Parquet file with a column of responses."""
    out: Path
    """Parquet file to write."""
    response_key: str = "response"
    """Name of the column."""


def filter_rows(argv: list[str]) -> int:
    """Filter a file of rows; returns the exit code."""
    chosen = parse(_Filter, argv, "spa filter")
    from ludory.algorithms.world_model.rows import filter_file

    kept, total = filter_file(chosen.data, chosen.out, chosen.response_key)
    print(visible(f"{kept:,} of {total:,} rows kept in {chosen.out}"))
    return 0 if kept else 1


@dataclass(frozen=True, kw_only=True)
class _SFT(PlayedText):
    """Fine-tune a model on the rows of DATA, a folder of `ludory spa generate` or a Parquet file.

    Example: ludory spa sft --model models/qwen --data data --mask think_answer --out sft
    """

    model: str
    """Folder of a language model, or "small"."""
    data: Path
    """Folder with wm_train.parquet, or a Parquet file with prompts and responses."""
    out: Folder
    """Folder for the model."""
    config: SFTConfig = field(default_factory=SFTConfig)


def sft(argv: list[str]) -> int:
    """Fine-tune; returns the exit code."""
    chosen = parse(_SFT, argv, "spa sft")
    from ludory.algorithms.world_model.pipeline import sft_stage, start_model

    text = chosen.text()
    played = text if chosen.data.is_dir() else None
    history = sft_stage(
        start_model(chosen.model, text, chosen.config.device), chosen.data, chosen.config, chosen.out, played
    )
    print(visible(f"model in {chosen.out}: {', '.join(f'{name} {value:.4g}' for name, value in history[-1].items())}"))
    return 0


@dataclass(frozen=True, kw_only=True)
class _PPO(Placed, PlayedText):
    """Train a model by PPO or GRPO over its tokens; the same command goes on where an earlier one stopped.

    Example: ludory spa ppo --model sft --env Sokoban-v0 --prompt-mode base --out ppo --set lr=1e-6
    """

    model: str
    """Folder of a language model, or "small"."""
    out: Folder
    """Folder for the model and all that a resumed run needs."""
    settings: str = "default"
    """Preset of PPO: default, spa, ragen or tiny."""
    prompt_mode: Maybe[str] = None
    """Form of the replies: base, world_model or no_think."""
    devices: Maybe[Count] = None
    """Processes that learn together, each on a device of its own, with a share of the rooms and of every minibatch."""
    set: Assignments = ()
    """Option of PPO, e.g. --set iterations=100; see `ludory train text-ppo --help`."""


def ppo(argv: list[str]) -> int:
    """Train; returns the exit code."""
    chosen = parse(_PPO, argv, "spa ppo")
    from ludory.algorithms.world_model.pipeline import ppo_stage, start_model

    text = chosen.text()
    options = {"preset": chosen.settings, **parse_options(chosen.set)}
    if chosen.devices is not None:
        options["devices"] = chosen.devices
    model = start_model(chosen.model, text, str(options.get("device", "auto")))
    with chosen.placement.open() as workers:
        place = ppo_stage(model, text, options, chosen.out, chosen.prompt_mode, workers)
    print(visible(f"model in {place}"))
    return 0


@dataclass(frozen=True, kw_only=True)
class _Eval(PlayedText):
    """Play rooms with models, and print their scores beside random play and the optimum on the same rooms.

    Example: ludory spa eval --model ppo start=models/qwen --env Sokoban-v0 --rooms 128 --samples 8
    """

    model: tuple[str, ...]
    """Folders of language models, or NAME=FOLDER; the first one is compared with each other."""
    seen: tuple[Path, ...] = ()
    """Folders of generated data and of PPO runs, whose rooms count as seen. Those of the models are known."""
    config: EvalConfig = field(default_factory=EvalConfig)


def evaluate(argv: list[str]) -> int:
    """Evaluate and print a table; returns the exit code."""
    chosen = parse(_Eval, argv, "spa eval")
    from ludory.algorithms.world_model.evaluation import evaluate_models
    from ludory.algorithms.world_model.pipeline import seen_rooms, start_model

    text = chosen.text()
    named = {one.partition("=")[0]: one.partition("=")[2] or one for one in chosen.model}
    models = {name: start_model(place, text) for name, place in named.items()}
    found = evaluate_models(models, text, chosen.config, seen_rooms(*named.values(), *chosen.seen))
    show_evaluation(f"{chosen.env}, prompt mode {chosen.config.prompt_mode}", found)
    return 0


def show_evaluation(title: str, found: Evaluation) -> None:
    """Print the table of an evaluation."""
    from ludory.algorithms.world_model.evaluation import evaluation_columns, evaluation_lines
    from ludory.benchmarks.harness.terminal import show, table

    shown: list[Any] = [table(f"{title}; {found.sampling}", evaluation_columns(found), evaluation_lines(found))]
    for name, one in found.as_json()["paired"].items():
        shown.append(
            f"{found.players[0].name} - {name}: {100 * one['mean']:+.1f} ± {100 * one['stderr']:.1f} points Pass@1, room by room"
        )
    show(shown)
