"""Text games for `GRPOTrainer` of TRL, whole conversations as completions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

from ludory.agents.language.extras import needed
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.spans import PROMPT
from ludory.envs import Game, TextEnv
from ludory.errors import OptionError

from .trl_completion import Completion, step


class Trainer(Protocol):
    """What a `GRPOTrainer` has to have."""

    accelerator: Any
    model: Any
    processing_class: Any
    max_completion_length: int

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], images: None, multimodal_fields: dict[str, Any], num_generations: int
    ) -> tuple[list[list[int]], list[list[float]] | None]: ...


class TextRollouts:
    """Episodes of a text game for GRPO: `GRPOTrainer(..., rollout_func=rollouts, reward_funcs=rollouts.reward)`.

    The completion of a prompt is the rest of its episode: replies, which are trained, and the game's texts between them, which are not.
    Tokens are trained as they were sampled. The completions of a prompt start in the same room or deal. An episode ends with its score so
    far where its completion reaches `max_completion_length`, or where the model's context has no room for so many tokens more.

    Args:
        game: id of a text game, or a `Game`.
        template: see `ChatTemplate`.
        options: of `TextEnv`, except `num_episodes`, `group_size` and `seed`.

    Raises:
        OptionError: an option is not allowed, the game has no texts, or earlier turns would be hidden.
    """

    def __init__(self, game: str | Game, template: str = "auto", **options: Any) -> None:
        self._game, self._template, self._options = game, template, options
        self._envs: dict[tuple[int, int], TextEnv] = {}
        self._first = TextEnv(game, **options)
        if self._first.preset.history != "full":
            raise OptionError(
                f"history={self._first.preset.history!r}: a completion is one conversation; choose history='full'"
            )

    def dataset(self, episodes: int, seed: int = 0) -> Any:
        """A `datasets.Dataset` of the first prompts of so many rooms or deals, from `seed` on."""
        prompts = []
        for number in range(seed, seed + episodes):
            *earlier, last = self._first.reset(number)[0].messages
            # rollout functions get the prompts only, so that these carry their seeds
            prompts.append([*earlier, {**last, "seed": number}])
        return needed("datasets", "trl").Dataset.from_dict({"prompt": prompts})

    def reward(self, score: Sequence[float], **_: Any) -> list[float]:
        """The scores of `TextEnv`, as TRL asks reward functions for them."""
        return list(score)

    def __call__(self, prompts: list[Any], trainer: Trainer) -> dict[str, Any]:
        """Play an episode for each prompt of `dataset`.

        Raises:
            OptionError: a prompt is not one of `dataset`.
        """
        model = LanguageModel(trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class, self._template)
        envs = self._started(prompts)
        played = [Completion(model, trainer.max_completion_length) for _ in prompts]
        rows = [(env, played[first : first + env.num_episodes]) for env, first in envs]
        for env, own in rows:
            for turn in env.turns:
                own[turn.row].begin(turn.messages)
        sampled = False
        while waiting := [own[turn.row] for env, own in rows for turn in env.turns if own[turn.row].score is None]:
            # as TRL's own loop of tool calls samples: with vLLM too, and with the settings of the trainer
            replies, logprobs = trainer._generate_single_turn([one.episode.ids for one in waiting], None, {}, 1)
            sampled = logprobs is not None
            for one, ids, drawn in zip(
                waiting, replies, logprobs or [[0.0] * len(ids) for ids in replies], strict=True
            ):
                one.take(ids, drawn)
            for env, own in rows:
                step(env, own, model)
        return {
            "prompt_ids": [one.episode.ids[: one.start] for one in played],
            "completion_ids": [one.kept(one.episode.ids) for one in played],
            "logprobs": [one.kept(one.episode.logprobs) for one in played] if sampled else None,
            "env_mask": [[int(kind != PROMPT) for kind in one.kept(one.episode.spans)] for one in played],
            "score": [one.score for one in played],
        }

    def _started(self, prompts: list[Any]) -> list[tuple[TextEnv, int]]:
        """A started environment for each group of equal prompts in a row, and the place of its first prompt."""
        try:
            seeds = [prompt[-1]["seed"] for prompt in prompts]
        except (KeyError, TypeError):
            raise OptionError("a prompt has no seed; give TextRollouts.dataset(...) as train_dataset") from None
        envs: list[tuple[TextEnv, int]] = []
        first = 0
        # TRL repeats a prompt as often as it wants completions, one after the other
        for seed, group in groupby(seeds):
            count = len(list(group))
            key = (len(envs), count)
            # batches have the same shape again and again, so that engines are made once
            if key not in self._envs:
                self._envs[key] = TextEnv(self._game, count, group_size=count, **self._options)
            self._envs[key].reset(seed)
            envs.append((self._envs[key], first))
            first += count
        return envs
