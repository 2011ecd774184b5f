"""All stages one after another, each resumable, and skipped where its output is of the same configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ludory.agents.language.model import LanguageModel, load_language_model
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.atomic import atomic_file
from ludory.checkpoints.folder import HEADER, read_folder
from ludory.cluster.workers import Workers
from ludory.envs.game import Game
from ludory.errors import OptionError

from .config import EvalConfig, SFTConfig, SpaConfig, TextConfig, as_fields
from .evaluation import Evaluation, evaluate_models, play
from .files import TRAIN, VALIDATION, config_hash, read_meta, read_record, write_record
from .generate import generate
from .rows import load_rows, load_validation
from .scripted import text_env
from .sft import fine_tune

DONE = "sft.json"
"""What fine-tuning leaves in its folder when it is complete."""
SAVE_EVERY = 10
"""Iterations between checkpoints of PPO."""


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
    from .tiny import TinyConfig, new_model

    if text.preset == "compact":
        return new_model(TinyConfig(env=text.env, options=text.options), seed)
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
        DataError: the data are missing or damaged, or rows are too long.
    """
    folder, target = Path(data), Path(out)
    train = folder / TRAIN if folder.is_dir() else folder
    stamp = config_hash(as_fields(config), (read_meta(train.parent) or {}).get("stamp", str(train)), model.hash)
    done = _done(target)
    if done is not None and done.get("stamp") == stamp:
        found: list[dict[str, float]] = done["history"]
        return found
    training = load_rows(train, model, config)
    validation = load_validation(train.parent / VALIDATION, model, config)
    check = None
    if text is not None and config.check_rooms:
        rooms = EvalConfig(
            rooms=config.check_rooms,
            samples=1,
            k=(1,),
            prompt_mode="world_model",
            split="valid",
            max_new_tokens=max_new_tokens,
        )

        def check(current: LanguageModel) -> Mapping[str, float]:
            player, env = play(current, text, rooms, backend="hf")
            env.close()
            return {f"check/{name}": value for name, value in player.figures.items()}

        print("sft: success may fall here, that is expected: fine-tuning teaches states, PPO learns to win", flush=True)
    history = fine_tune(model, training, validation, config, target, check, stamp)
    write_record(target / DONE, {"stamp": stamp, "history": history, "config": as_fields(config)})
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

    workers: play its episodes, each with a copy of the model; None: this process.

    Raises:
        OptionError: an option of PPO is not allowed.
    """
    target = Path(out)
    chosen = {**ppo_options(text), **options}
    if prompt_mode is not None:
        chosen["prompt_mode"] = prompt_mode
    if (target / HEADER).exists():
        learner = TextPPO.load(target, env=text_game(text))
    else:
        learner = TextPPO(model, text_game(text), **chosen)
    if workers is not None:
        learner.sample_at(workers, min(workers.count, learner.config.groups))
    left = learner.config.iterations - learner.iteration
    while left > 0:
        learner.learn(min(left, SAVE_EVERY) * learner.config.episodes, reset_num_timesteps=False)
        learner.save(target)
        print(f"ppo: iteration {learner.iteration} of {learner.config.iterations}", flush=True)
        left = learner.config.iterations - learner.iteration
    learner.release_samplers()
    return target


def ppo_options(text: TextConfig) -> dict[str, Any]:
    """How PPO shows the game: the fields of `TextPPOConfig` that a `TextConfig` sets."""
    named = {
        name: getattr(text, name)
        for name in ("style", "history", "turns", "actions_per_turn", "actions_per_episode", "format_penalty")
    }
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
        if (folder / HEADER).exists():
            head, _ = read_folder(folder, with_tensors=False)
            found |= {int(value, 16) for value in head.get("rooms_seen", ())}
    return found


def run(config: SpaConfig, out: str | Path, device: str = "auto", workers: Workers | None = None) -> Evaluation:
    """Generate, fine-tune, PPO, evaluate; `workers` play the episodes of the first and the third.

    Raises:
        OutputError: a folder holds a stage of another configuration.
    """
    folder = Path(out)
    model = start_model(config.model, config.text, device)
    generate(model, config.text, config.generate, folder / "data", workers=workers)
    sft_stage(model, folder / "data", config.sft, folder / "sft", config.text, config.generate.max_new_tokens)
    ppo_stage(folder / "sft", config.text, config.ppo, folder / "ppo", workers=workers)
    return _evaluated(config, folder, device, {"start": config.model}, {"sft": folder / "sft", "spa": folder / "ppo"})


def baseline(config: SpaConfig, out: str | Path, device: str = "auto", workers: Workers | None = None) -> Evaluation:
    """PPO alone, from the untrained model, and the evaluation; `workers` play the episodes of PPO."""
    folder = Path(out)
    model = start_model(config.model, config.text, device)
    ppo_stage(model, config.text, config.ppo, folder / "ppo", workers=workers)
    return _evaluated(config, folder, device, {"start": config.model}, {"baseline": folder / "ppo"})


def _evaluated(
    config: SpaConfig, folder: Path, device: str, start: Mapping[str, str], trained: Mapping[str, Path]
) -> Evaluation:
    """The last stage first, then the others: the first one is compared with each."""
    models = {name: load_language_model(place, device=device) for name, place in reversed(list(trained.items()))}
    models |= {name: start_model(source, config.text, device) for name, source in start.items()}
    mode = str(config.ppo.get("prompt_mode", "")) or TextPPO.config_class().prompt_mode
    if config.ppo.get("preset") == "tiny" and "prompt_mode" not in config.ppo:
        mode = "world_model"
    found = evaluate_models(
        models, config.text, replace(config.eval, prompt_mode=mode), seen_rooms(folder / "data", folder / "ppo")
    )
    with atomic_file(folder / "eval.json", "w") as handle:
        json.dump({"config": as_fields(config), **found.as_json()}, handle, indent=1)
    return found


def _done(target: Path) -> dict[str, Any] | None:
    """What `sft_stage` left in a folder that it completed."""
    return read_record(target / DONE, "remove the folder to fine-tune again")
