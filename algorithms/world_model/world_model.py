"""`WorldModel`: all stages as one learner of the house."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import Self

from ludory.algorithms.learner import Learner, needed_game
from ludory.algorithms.running.callbacks import MaybeCallback
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.envs import EnvLike, Game
from ludory.errors import OptionError
from ludory.paths import OwnFolder

from .config import GenerateConfig, SFTConfig, TextConfig, WorldModelConfig, from_fields
from .generate import generate
from .pipeline import ppo_options, sft_stage, start_model


class WorldModel(Learner):
    """Self-play fine-tuning on states, then PPO (arXiv:2510.15047).

    `learn(n)` first makes the stages before PPO, if they are not complete, and then trains for n episodes. What is saved is the run of
    PPO: `ludory.load` returns a `TextPPO` that goes on.

    Args:
        policy: folder of a language model or "small"; "auto": `config.model`.
        env: id of a game with a text codec and rooms, or a `Game`.
        config: fields of `WorldModelConfig`.
    """

    id: ClassVar[str] = "world-model-v1"
    config_class: ClassVar[type[WorldModelConfig]] = WorldModelConfig
    config: WorldModelConfig

    def __init__(self, policy: str | Path = "auto", env: EnvLike | None = None, **config: Any) -> None:
        if policy != "auto":
            config["model"] = str(policy)
        super().__init__(needed_game(env, self.id), from_fields(WorldModelConfig, config, self.id))
        self._temporary: OwnFolder | None = None
        self._ppo: TextPPO | None = None
        self._text = _text_of(self.game, self.config.preset)
        self._generate = from_fields(GenerateConfig, self.config.generate, "generate")
        self._sft = from_fields(SFTConfig, self.config.sft, "sft")

    @property
    def folder(self) -> Path:
        """Where the stages lie."""
        if self.config.folder is not None:
            return Path(self.config.folder)
        if self._temporary is None:
            self._temporary = OwnFolder(self)
        return self._temporary.path

    @property
    def ppo(self) -> TextPPO:
        """The learner of the last stage; the stages before it are made first."""
        if self._ppo is None:
            model = start_model(self.config.model, self._text, self.config.device)
            generate(model, self._text, self._generate, self.folder / "data")
            sft_stage(model, self.folder / "data", self._sft, self.folder / "sft")
            self._ppo = TextPPO(self.folder / "sft", self.game, **{**ppo_options(self._text), **self.config.ppo})
        return self._ppo

    @property
    def planned_timesteps(self) -> int:
        """Episodes of the planned iterations of PPO."""
        return self.ppo.planned_timesteps

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: MaybeCallback = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
        log_interval: int = 1,
        tb_log_name: str | None = None,
    ) -> Self:
        """All stages; the last one for `total_timesteps` episodes, if None all that are left. As `Learner.learn` otherwise."""
        if total_timesteps is None:
            done = 0 if reset_num_timesteps else self.ppo.num_timesteps
            total_timesteps = max(0, self.planned_timesteps - done)
        self.ppo.set_logger(self.logger)
        self.ppo.learn(total_timesteps, callback, progress_bar, reset_num_timesteps, log_interval, tb_log_name)
        self.num_timesteps = self.ppo.num_timesteps
        return self

    def stop(self) -> None:
        """End `learn` before its next iteration."""
        if self._ppo is not None:
            self._ppo.stop()

    def save(self, file: str | Path) -> None:
        """Write the run of PPO, a folder that tools for transformers models can load."""
        self.ppo.save(file)

    @classmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """Not possible: what `save` wrote is a run of PPO.

        Raises:
            OptionError: always; use `ludory.load`.
        """
        raise OptionError(f"{file}: the stages before PPO are complete; ludory.load({str(file)!r}) goes on with PPO")


def _text_of(game: Game, preset: str) -> TextConfig:
    if not game.id:
        raise OptionError(f"{game.facts.name} has no id; register the game and name it in env=")
    return TextConfig(env=game.id, options=dict(game.options), preset=preset)
