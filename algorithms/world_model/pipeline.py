"""All stages one after another, each resumable, and skipped where its output is of the same configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from ludory.agents.language.model import LanguageModel, language_device, load_language_model
from ludory.algorithms.running.callbacks import BetweenIterations
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file, training_lock
from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.atomic import atomic_file
from ludory.checkpoints.folder import read_folder
from ludory.cluster.workers import Workers
from ludory.envs.game import Game
from ludory.errors import OptionError
from ludory.plugins.spec import FOLDER_HEADER

from .config import EvalConfig, SFTConfig, SpaConfig, TextConfig, as_fields, refuse_changes
from .evaluation import Evaluation, evaluate_models, play
from .files import TRAIN, VALIDATION, config_hash, file_hash, read_meta, read_record, write_record
from .generate import generate
from .rows import load_rows, load_validation
from .scripted import new_model, text_env
from .sft import FREE, fine_tune, made_from

DONE = "sft.json"
"""What fine-tuning leaves in its folder when it is complete."""
SAVE_EVERY = 10
"""Iterations between two checkpoints of PPO, of which the last one stays."""


PLAYED = (
    "style",
    "history",
    "turns",
    "actions_per_turn",
    "actions_per_episode",
    "format_penalty",
    "penalty_at",
    "strict",
)
"""Fields of `TextConfig` that are options of PPO by the same name."""


def start_model(
    source: str | Path | LanguageModel, text: TextConfig, device: str = "auto", seed: int = 0
) -> LanguageModel:
    """The model to begin with: a folder, or "small": a small model with random weights, with the words of the game.

    Raises:
        OptionError: no model is named.
        CheckpointError: the folder holds no model. Nothing is downloaded.
    """
    if isinstance(source, LanguageModel):
        return source
    if not source:
        raise OptionError("model: none is named; name the folder of a model, or 'small'")
    if source != "small":
        return load_language_model(source, device=device)
    if text.preset == "compact":
        return new_model(text, seed)
    from ludory.agents.language.small_model import make_small_model

    return make_small_model("characters", seed=seed)


def sft_stage(
    model: LanguageModel,
    data: str | Path,
    config: SFTConfig,
    out: str | Path,
    text: TextConfig | None = None,
    max_new_tokens: int = 400,
) -> list[dict[str, float]]:
    """Fine-tune on `wm_train.parquet` of a folder (or on one Parquet file) and write the model; figures by epoch.

    With `text`, the model plays `check_rooms` rooms of validation after every epoch. Fine-tuning alone keeps or lowers success
    (arXiv:2510.15047: 16.3 to 8.3 %); it teaches states, and PPO then learns to win.

    Raises:
        OutputError: `out` holds a model of another configuration, start or data.
        DataError: the data are missing or damaged, or rows are too long.
    """
    folder, target = Path(data), Path(out)
    train = folder / TRAIN if folder.is_dir() else folder
    validation_file = train.parent / VALIDATION
    read = config_hash(*(file_hash(file) for file in (train, validation_file) if file.is_file()))
    now, done = made_from(config, model, read), _done(target)
    if done is not None:
        refuse_changes(target, "a fine-tuned model", done.get("made_from", {}), now, FREE)
        found: list[dict[str, float]] = done["history"]
        return found
    if config.device != "auto":
        model.model.to(language_device(config.device))
    training = load_rows(train, model, config)
    validation = load_validation(validation_file, model, config)
    check = None
    if text is not None and config.check_rooms:
        rooms = EvalConfig(
            rooms=config.check_rooms,
            samples=1,
            k=(1,),
            prompt_mode="world_model",
            split="valid",
            max_new_tokens=max_new_tokens,
            backend="hf",  # it shares the weights that learn
        )

        def check(current: LanguageModel) -> Mapping[str, float]:
            player, env = play(current, text, rooms)
            env.close()
            return {f"check/{name}": value for name, value in player.figures.items()}

        print("sft: success may fall here, that is expected: fine-tuning teaches states, PPO learns to win", flush=True)
    history = fine_tune(model, training, validation, config, target, check, read)
    write_record(target / DONE, {"history": history, "made_from": now})
    return history


def ppo_stage(
    model: str | Path | LanguageModel,
    text: TextConfig,
    options: Mapping[str, Any],
    out: str | Path,
    prompt_mode: str | None = None,
    workers: Workers | None = None,
) -> Path:
    """PPO from a model; goes on from the last checkpoint in `out`. Returns the folder of the trained model.

    OUT.csv has the metrics of all iterations, and OUT-checkpoints the older checkpoints that `checkpoint_every` asks for.

    workers: play its episodes, each with a copy of the model; None: this process.

    Raises:
        OptionError: an option of PPO is not allowed.
        OutputError: `out` holds a run with other options or from another model; those that may change are `TextPPO.changeable`.
        KeyboardInterrupt: at Ctrl+C or SIGTERM, after the iteration; everything is saved.
    """
    target = Path(out)
    chosen = {"checkpoint_dir": str(target.with_name(f"{target.name}-checkpoints")), **ppo_options(text), **options}
    if prompt_mode is not None:
        chosen["prompt_mode"] = prompt_mode
    with training_lock(target) as lock:
        learner = _ppo_learner(model, text, chosen, target)
        left = learner.config.iterations - learner.iteration
        if left <= 0:
            print(
                f"ppo: all {learner.config.iterations} iterations are done; ask for more with iterations=", flush=True
            )
            return target
        if workers is not None:
            learner.sample_at(workers, min(workers.count, learner.config.groups))
        planned = learner.num_timesteps + left * learner.config.episodes
        stopped = train_to_file(
            learner, planned, target, save_every=inf, callback=_Checkpoints(learner, target), lock=lock
        )
        learner.release_samplers()
    if stopped:
        print(f"ppo: interrupted after iteration {learner.iteration}; the same command goes on", flush=True)
        raise_interrupt(stopped)
    return target


def _ppo_learner(
    model: str | Path | LanguageModel, text: TextConfig, chosen: Mapping[str, Any], target: Path
) -> TextPPO:
    """The learner of a run that was begun in `target`, or a new one."""
    if not (target / FOLDER_HEADER).exists():
        return TextPPO(model, text_game(text), **chosen)
    header, _ = read_folder(target, with_tensors=False)
    now, before = (as_fields(make_text_ppo_config(**fields)) for fields in (chosen, header["config"]))
    start = load_language_model(model, device=now["device"])
    game = text_game(text)
    played = {"id": game.id, "options": dict(game.options)}
    refuse_changes(
        target,
        "a run of PPO",
        {"ppo": before, "model": header["start_sha256"], "game": header["env"]},
        {"ppo": now, "model": start.hash, "game": played},
        [f"ppo.{name}" for name in TextPPO.changeable],
    )
    if start is not model:
        start.free()
    return TextPPO.load(target, env=game, **{name: now[name] for name in TextPPO.changeable})


class _Checkpoints(BetweenIterations):
    """Saves between iterations, now and then, and says how far the run is."""

    def __init__(self, learner: TextPPO, target: Path) -> None:
        self._learner, self._target, self._saved = learner, target, learner.iteration

    def on_rollout_start(self) -> None:
        """Save."""
        learner = self._learner
        if learner.iteration - self._saved >= SAVE_EVERY:
            learner.save(self._target)
            self._saved = learner.iteration

    def on_rollout_end(self) -> None:
        """Say how far it is."""
        learner = self._learner
        if learner.iteration % SAVE_EVERY == 0 or learner.iteration == learner.config.iterations:
            print(f"ppo: iteration {learner.iteration} of {learner.config.iterations}", flush=True)


def ppo_options(text: TextConfig) -> dict[str, Any]:
    """How PPO shows the game: the fields of `TextPPOConfig` that a `TextConfig` sets."""
    named = {name: getattr(text, name) for name in PLAYED}
    return {"env_preset": text.preset, **{name: value for name, value in named.items() if value is not None}}


def text_game(text: TextConfig) -> Game:
    """The game with the options of a configuration and its preset."""
    env = text_env(text, 1)
    game = env.game
    env.close()
    return game


def seen_rooms(*folders: str | Path) -> set[int]:
    """Hashes of the rooms of generated data (`meta.json`) and of PPO runs (`ludory.json`)."""
    found: set[int] = set()
    for folder in map(Path, folders):
        meta = read_meta(folder)
        if meta is not None:
            found |= set(meta.get("counts", {}).get("rooms", ()))
        if (folder / FOLDER_HEADER).exists():
            head, _ = read_folder(folder, with_tensors=False)
            found |= {int(value, 16) for value in head.get("rooms_seen", ())}
    return found


def run(config: SpaConfig, out: str | Path, device: str = "auto", workers: Workers | None = None) -> Evaluation:
    """Generate, fine-tune, PPO, evaluate; `workers` play the episodes of the first and, if one device learns, the third.

    device: of all stages whose configuration names none.

    Raises:
        OptionError: a device or an option of PPO is not allowed; nothing is written then.
        OutputError: a folder holds a stage of another configuration; it is left as it is.
    """
    folder, ppo = Path(out), _checked_ppo(config, device)
    model = start_model(config.model, config.text, device)
    generate(model, config.text, config.generate, folder / "data", workers=workers)
    sft_stage(model, folder / "data", config.sft, folder / "sft", config.text, config.generate.max_new_tokens)
    if ppo.get("devices", 1) > 1:  # which play the episodes themselves
        workers = None
    ppo_stage(folder / "sft", config.text, ppo, folder / "ppo", workers=workers)
    return _evaluated(config, folder, device, {"start": config.model}, {"sft": folder / "sft", "spa": folder / "ppo"})


def baseline(config: SpaConfig, out: str | Path, device: str = "auto", workers: Workers | None = None) -> Evaluation:
    """PPO alone, from the untrained model, and the evaluation; `workers` play the episodes of PPO. Otherwise as `run`."""
    folder, ppo = Path(out), _checked_ppo(config, device)
    model = start_model(config.model, config.text, device)
    ppo_stage(model, config.text, ppo, folder / "ppo", workers=workers)
    return _evaluated(config, folder, device, {"start": config.model}, {"baseline": folder / "ppo"})


def _checked_ppo(config: SpaConfig, device: str) -> dict[str, Any]:
    """The options of PPO, with the device of the whole run if they name none; all are checked, so that a long run does not end in stage 3."""
    ppo = {"device": device, **config.ppo}
    make_text_ppo_config(**{**ppo_options(config.text), **ppo})
    for name in (device, config.sft.device, ppo["device"]):
        language_device(name)
    return ppo


def _evaluated(
    config: SpaConfig, folder: Path, device: str, start: Mapping[str, str], trained: Mapping[str, Path]
) -> Evaluation:
    """The last stage first, then the others: the first one is compared with each."""
    models = {name: load_language_model(place, device=device) for name, place in reversed(list(trained.items()))}
    models |= {name: start_model(source, config.text, device) for name, source in start.items()}
    mode = make_text_ppo_config(**config.ppo).prompt_mode
    found = evaluate_models(
        models, config.text, replace(config.eval, prompt_mode=mode), seen_rooms(folder / "data", folder / "ppo")
    )
    with atomic_file(folder / "eval.json", "w") as handle:
        json.dump({"config": as_fields(config), **found.as_json()}, handle, indent=1)
    return found


def _done(target: Path) -> dict[str, Any] | None:
    """What `sft_stage` left in a folder that it completed."""
    return read_record(target / DONE, "remove the folder to fine-tune again")
