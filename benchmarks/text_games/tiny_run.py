"""The whole claim of self-play fine-tuning on two CPU cores, with a model made on the spot and compact texts.

A model from scratch learns the form of replies (0), plays and writes down states (1), learns from the corrected replies (2), and then
learns to win by PPO (3). Beside it: PPO without any states ("direct"), PPO with the prompt that asks for states but without the fine-tuning
("control"), and fine-tuning with other masks. Every part is kept in a file, and an interrupted run goes on to the same numbers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.language.extras import needed
from ludory.agents.language.model import LanguageModel, load_language_model
from ludory.algorithms.text_ppo.config import PRESETS
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.algorithms.world_model.config import EvalConfig, GenerateConfig, SFTConfig, TextConfig
from ludory.algorithms.world_model.evaluation import anchor_scores, estimate, play
from ludory.algorithms.world_model.files import TRAIN, VALIDATION, config_hash
from ludory.algorithms.world_model.generate import generate
from ludory.algorithms.world_model.rows import load_rows, load_validation
from ludory.algorithms.world_model.scripted import learn_form, new_model, text_env
from ludory.algorithms.world_model.sft import fine_tune
from ludory.atomic import atomic_file
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.text.prompts import codec_of
from ludory.errors import LudoryError, OptionError
from ludory.limits import PositiveFloat, PositiveInt, check_limits
from ludory.plugins import games
from ludory.reading import read_json


class TinyArm(NamedTuple):
    """From where and how a model learns by PPO."""

    start: str = "form"
    """Part whose model it starts from."""
    mode: str = "world_model"
    """Form of its replies; "base" has no states."""
    advantage: str = "rloo"
    """As `TextPPOConfig.advantage`."""


ARMS = {
    "direct": TinyArm(mode="base"),
    "control": TinyArm(),
    "spa": TinyArm("sft"),
    "uncorrected": TinyArm("sft-self"),
    "spa-grpo": TinyArm("sft", advantage="grpo"),
    "spa-gae": TinyArm("sft", advantage="gae"),
}
"""Arms of PPO."""
ABLATIONS = ("states", "states_tags", "all_but_states", "placeholder")
"""Masks that are compared with the paper's after fine-tuning."""


class GameSettings(NamedTuple):
    """What a game needs beside the sizes of a run."""

    turns: Mapping[str, Any] = {}
    """Budgets of replies and actions, as `TextConfig` and `TextPPOConfig` name them."""
    training: Mapping[str, Any] = {}
    """Options of the game in which all arms are trained, while they are evaluated without them."""
    still: float = 1.0
    """As `GenerateConfig.still`."""


SETTINGS = {
    # One placement in a reply: the two states of a longer one tell little about each. Nine of ten at random are refused: a model that
    # learns from those plans to change nothing, and a plan without a change says nothing about the placement. A player that is never
    # right learns nothing, so some puzzles are easier, and others have more places that are free.
    "Sudoku4-v0": GameSettings(
        {"turns": 10, "actions_per_turn": 1, "actions_per_episode": 10}, {"fewest_blanks": 3, "blanks": 10}, still=0.0
    )
}
"""By id of a game."""
SAVE_EVERY = 5
"""Iterations between checkpoints of PPO."""
SPARE_TOKENS = 30
"""Of a reply, beside two states: eight tags, five moves, the end, and as many again for what a model writes too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyConfig:
    """Sizes of the small experiment."""

    env: str = "Sokoban-v0"
    """Id of a game with rooms and texts of single words: Sokoban, FrozenLake, Sudoku 4x4."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game."""
    arms: tuple[str, ...] = ("direct", "control", "spa")
    """Arms of PPO."""
    ablations: tuple[str, ...] = ABLATIONS
    """Masks of fine-tuning beside the paper's."""
    form_steps: PositiveInt = 400
    """Gradient steps of stage 0."""
    batches: PositiveInt = 8
    """Batches of stage 1."""
    groups: PositiveInt = 64
    """Rooms of a batch of stage 1, and of an iteration of stage 3."""
    group_size: PositiveInt = 8
    """Episodes in each room."""
    epochs: PositiveInt = 15
    """Of stage 2."""
    ablation_epochs: PositiveInt = 3
    """Of stage 2 with other masks."""
    batch_size: PositiveInt = 64
    """Of stage 2."""
    learning_rate: PositiveFloat = 2e-3
    """Of stage 2."""
    iterations: PositiveInt = 60
    """Of stage 3."""
    eval_every: PositiveInt = 20
    """Iterations between evaluations."""
    train_rooms: PositiveInt = 4000
    """Training rooms, by seed."""
    rooms: PositiveInt = 128
    """Rooms of an evaluation."""
    samples: PositiveInt = 8
    """Episodes in each of them."""

    def __post_init__(self) -> None:
        """Check the limits of all fields.

        Raises:
            OptionError: naming the field, the value and what is allowed.
        """
        check_limits(self)
        for arm in self.arms:
            if arm not in ARMS:
                raise OptionError(f"arms: no arm is called {arm!r}; must be among {', '.join(ARMS)}")
        for mask in self.ablations:
            if mask not in ABLATIONS:
                raise OptionError(f"ablations: no mask is called {mask!r}; must be among {', '.join(ABLATIONS)}")
        if not _has_compact_rooms(make_game(self.env, **self.options)):
            raise OptionError(
                f"env={self.env!r}: needs a game with rooms and short texts (the style compact); choose one of "
                + ", ".join(_suitable_games())
            )

    @property
    def text(self) -> TextConfig:
        """The game of the evaluation and its prompts."""
        return TextConfig(env=self.env, options=self.options, preset="compact", **self.settings.turns)

    @property
    def training_text(self) -> TextConfig:
        """The game in which models are trained, and its prompts."""
        return replace(self.text, options={**self.settings.training, **self.options})

    @property
    def settings(self) -> GameSettings:
        """What the game needs."""
        return SETTINGS.get(self.env, GameSettings())

    def fast(self) -> TinyConfig:
        """All stages in less than three minutes; nothing is learnt that one could show."""
        return replace(
            self,
            ablations=("states",),
            form_steps=200,
            batches=1,
            groups=16,
            epochs=4,
            ablation_epochs=1,
            iterations=4,
            eval_every=2,
            rooms=32,
            samples=4,
        )


def _has_compact_rooms(game: Game) -> bool:
    return game.analysis.rooms is not None and game.language is not None and "compact" in game.language.styles


def _suitable_games() -> list[str]:
    """Ids of the games that can be used; those that cannot be made without options are left out."""
    found = []
    for id in games.ids():
        with suppress(LudoryError):
            if _has_compact_rooms(make_game(id)):
                found.append(id)
    return found


class TinyRun:
    """The parts of one seed, in a folder.

    Args:
        config: sizes.
        seed: of the weights, the play and the order of rows.
        folder: where models, data and `*.json` with the figures of each part lie.
        note: called with a line whenever a part is done.
    """

    def __init__(self, config: TinyConfig, seed: int, folder: str | Path, note: Callable[[str], None] = print) -> None:
        self.config, self.seed, self.folder, self.note = config, seed, Path(folder), note
        # which arms run does not change the figures of the others
        sizes = {name: value for name, value in asdict(config).items() if name not in ("arms", "ablations")}
        if config.env in SETTINGS:
            sizes |= config.settings._asdict()
        self.stamp = config_hash(sizes, seed)
        # a changed preset of PPO makes only its parts anew
        self.ppo_stamp = config_hash({**sizes, "preset": PRESETS["tiny"]}, seed)
        self.training = training_rooms(config)

    def run(self) -> dict[str, Any]:
        """All parts; returns their figures by name."""
        needed("transformers").utils.logging.disable_progress_bar()
        found: dict[str, Any] = {"seed": self.seed, "form": self._part("form", self._form)}
        found["data"] = self._part("data", self._data)
        starts = {ARMS[arm].start for arm in self.config.arms}
        if "sft" in starts:
            found["sft"] = self._part("sft", lambda: self._sft("think_answer", self.config.epochs))
        if "sft-self" in starts:
            found["data-self"] = self._part("data-self", lambda: self._data("self"))
            found["sft-self"] = self._part("sft-self", lambda: self._sft("think_answer", self.config.epochs, "self"))
        for mask in self.config.ablations:
            found[f"sft-{mask}"] = self._part(f"sft-{mask}", partial(self._sft, mask, self.config.ablation_epochs))
        for arm in self.config.arms:
            found[arm] = self._part(f"ppo-{arm}", partial(self._ppo, arm), self.ppo_stamp)
        return found

    def _part(self, name: str, make: Callable[[], dict[str, Any]], stamp: str | None = None) -> dict[str, Any]:
        """The figures of a part: those of its file, if it is of this configuration, else made now."""
        file, stamp = self.folder / f"{name}.json", stamp or self.stamp
        kept = _kept(file, stamp)
        if kept is not None and kept.get("complete"):
            return {key: value for key, value in kept.items() if key not in ("complete", "stamp")}
        # CPU time, since other work may run on the machine
        began = process_time()
        found = make()
        # a PPO that was interrupted tells all that it spent
        found = {"cpu_s": found.get("spent_cpu_s", round(process_time() - began, 1))} | found
        _write(file, found | {"complete": True, "stamp": stamp})
        self.note(f"seed {self.seed}, {name}: {summary_line(found)}")
        return found

    def _form(self) -> dict[str, Any]:
        config = self.config
        model = new_model(config.text, self.seed)
        loss = learn_form(model, config.training_text, steps=config.form_steps, seed=self.seed)
        model.save(self.folder / "form")
        return {"loss": loss} | {mode: self._evaluated(model, mode) for mode in ("base", "world_model")}

    def _data(self, belief: str = "true") -> dict[str, Any]:
        config = self.config
        how = GenerateConfig(
            batches=config.batches,
            groups=config.groups,
            group_size=config.group_size,
            max_new_tokens=self.training.reply_tokens,
            seeds="ragen",
            seed=self.seed,
            validation_share=0.1,
            belief=belief,
            still=config.settings.still,
        )
        counts = generate(self._model("form"), config.training_text, how, self._data_folder(belief)).counts
        return {name: counts[name] for name in ("episodes", "turns", "success", "forms", "rows", "dropped")}

    def _data_folder(self, belief: str) -> Path:
        return self.folder / ("data" if belief == "true" else f"data-{belief}")

    def _sft(self, mask: str, epochs: int, belief: str = "true") -> dict[str, Any]:
        config, model = self.config, self._model("form")
        how = SFTConfig(
            mask=mask,
            epochs=epochs,
            batch_size=config.batch_size,
            learning_rate=config.learning_rate,
            seed=self.seed,
            check_rooms=0,
        )
        data = self._data_folder(belief)
        training = load_rows(data / TRAIN, model, how)
        validation = load_validation(data / VALIDATION, model, how)
        name = "sft" if mask == "think_answer" else f"sft-{mask}"
        name = name if belief == "true" else f"{name}-{belief}"
        history = fine_tune(model, training, validation[:512], how, self.folder / name, None, self.stamp)
        return {
            "mask": mask,
            "epochs": epochs,
            "loss": {key: value for key, value in history[-1].items() if key.endswith(("loss", "perplexity"))},
            "world_model": self._evaluated(model, "world_model"),
        }

    def _ppo(self, arm: str) -> dict[str, Any]:
        """PPO from the fine-tuned model or from the form, evaluated now and then; goes on from its last checkpoint."""
        config, mode = self.config, ARMS[arm].mode
        file, place = self.folder / f"ppo-{arm}.json", self.folder / f"ppo-{arm}"
        kept = _kept(file, self.ppo_stamp)
        if kept is not None and place.is_dir():
            # figures and checkpoint are written one after the other, so both must be there to go on
            curve, before = kept["curve"], kept["spent_cpu_s"]
            learner = TextPPO.load(place, env=text_env(config.training_text, 1).game)
        else:
            shutil.rmtree(place, ignore_errors=True)  # of another configuration
            curve, before = {}, 0.0
            learner = self._new_learner(ARMS[arm])
        began = process_time()

        def spent() -> dict[str, float]:
            return {"spent_cpu_s": round(before + process_time() - began, 1)}

        while True:
            # the state at iteration 0 is evaluated too; a resumed run has that point already
            point, until_eval = str(learner.iteration), config.eval_every - learner.iteration % config.eval_every
            if until_eval == config.eval_every and point not in curve:
                curve[point] = self._evaluated(learner.model, mode) | spent()
                self.note(f"seed {self.seed}, {arm}, iteration {point}: {summary_line(curve[point])}")
            if learner.iteration >= config.iterations:
                return {"curve": curve} | spent()
            _write(file, {"curve": curve, "complete": False, "stamp": self.ppo_stamp} | spent())
            # to the next checkpoint, evaluation or end, whichever is first
            ahead = min(SAVE_EVERY, config.iterations - learner.iteration, until_eval)
            learner.learn(ahead * learner.config.episodes, reset_num_timesteps=False)
            learner.save(place)

    def _new_learner(self, arm: TinyArm) -> TextPPO:
        config = self.config
        return TextPPO(
            self._model(arm.start),
            text_env(config.training_text, 1).game,
            preset="tiny",
            prompt_mode=arm.mode,
            advantage=arm.advantage,
            groups=config.groups,
            group_size=config.group_size,
            iterations=config.iterations,
            train_rooms=config.train_rooms,
            max_new_tokens=self.training.reply_tokens,
            val_every=0,
            collapse_every=0,
            device="cpu",
            seed=self.seed,
            **config.settings.turns,
        )

    def _model(self, name: str) -> LanguageModel:
        return load_language_model(self.folder / name, device="cpu")

    def _evaluated(self, model: LanguageModel, mode: str) -> dict[str, Any]:
        """Pass@1 and Pass@k on all, seen and unseen rooms, and figures of the replies."""
        how = eval_config(self.config, mode, self.training.reply_tokens)
        player, env = play(model, self.config.text, how)
        # one episode of each group names its room
        seen = np.isin(env.room_hashes[:: env.group_size], self.training.hashes)
        env.close()
        return {**_scores(player.rates, self.config.samples, seen), **player.figures}


def eval_config(config: TinyConfig, mode: str, reply_tokens: int) -> EvalConfig:
    """How models are evaluated: RAGEN's validation seeds, temperature 1."""
    return EvalConfig(
        rooms=config.rooms,
        samples=config.samples,
        k=(1, config.samples),
        prompt_mode=mode,
        max_new_tokens=reply_tokens,
        seeds="ragen",
        split=None,
    )


class TrainingRooms(NamedTuple):
    """The rooms of stages 1 and 3."""

    hashes: NDArray[np.uint64]
    """Of all rooms, each once."""
    reply_tokens: int
    """Most tokens of a reply: two states, as long as the longest of a room, with tags and moves, and some to spare."""


def training_rooms(config: TinyConfig) -> TrainingRooms:
    """The rooms from which data are generated and in which PPO plays.

    Raises:
        OptionError: the game has no rooms, or no texts of single words.
    """
    count = max(config.train_rooms, config.batches * config.groups)
    env = text_env(config.training_text, count, seeds="ragen")
    env.reset()
    states = codec_of(env.game).write(env.engine.state, range(count), 0, env.belief_style)
    env.close()
    longest = max(len(state.split()) for state in states)
    return TrainingRooms(np.unique(env.room_hashes), 2 * longest + SPARE_TOKENS)


def tiny_anchors(config: TinyConfig) -> dict[str, Any]:
    """Random play and the optimum on the rooms of the evaluation."""
    training = training_rooms(config)
    env = text_env(config.text, config.rooms, seeds="ragen", split="valid")
    env.reset()
    seen = np.isin(env.room_hashes, training.hashes)
    env.close()
    anchors = anchor_scores(config.text, eval_config(config, "base", training.reply_tokens))
    return {
        "rooms": len(seen),
        "unseen_rooms": int((~seen).sum()),
        **{player.name: _scores(player.rates, config.samples, seen) for player in anchors},
    }


def _scores(rates: Callable[[int], NDArray[np.float64]], samples: int, seen: NDArray[np.bool_]) -> dict[str, Any]:
    found: dict[str, Any] = {"rooms": [round(float(rate), 4) for rate in rates(1)]}
    for k in (1, samples):
        for part, chosen in (("", np.ones(len(seen), bool)), ("_seen", seen), ("_unseen", ~seen)):
            one = estimate(rates(k)[chosen]).as_json()
            found[f"pass@{k}{part}"] = [one["mean"], one["stderr"]]
    return found


def summary_line(figures: Mapping[str, Any]) -> str:
    """The most telling figures of a part."""
    said = []
    for name, value in figures.items():
        if name == "curve" and value:
            last = max(value, key=int)
            said.append(f"iteration {last}: {summary_line(value[last])}")
        elif name in ("base", "world_model"):
            said.append(f"{name}: {summary_line(value)}")
        elif name.startswith("pass@") and not name.endswith("_seen") and value[0] is not None:
            said.append(f"{name} {100 * value[0]:.1f}")
        elif name in ("form_ok", "observation_copied", "next_state_exact", "success"):
            said.append(f"{name} {100 * value:.1f}")
        elif name in ("cpu_s", "turns", "episodes"):
            said.append(f"{name} {value:g}")
    return ", ".join(said)


def _kept(file: Path, stamp: str) -> dict[str, Any] | None:
    """The figures in a file, if they are of this configuration."""
    try:
        found: Any = read_json(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("stamp") == stamp else None


def _write(file: Path, content: Mapping[str, Any]) -> None:
    with atomic_file(file, "w") as handle:
        json.dump(dict(content), handle, indent=1)
        handle.write("\n")
