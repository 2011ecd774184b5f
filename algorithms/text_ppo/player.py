"""`TextPlayer` plays the episodes of an iteration with a language model; `SpreadPlayers` are such players at workers, a share each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from ludory.agents.language.generators import Generator, Sampling, cpu_backend, make_generator
from ludory.agents.language.hf import HfGenerator
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.packed import PackedModel
from ludory.algorithms import Ranks, one_thread
from ludory.cluster import Actor, InProcess, Pending, Workers
from ludory.cluster.failure import MOST_LOSSES
from ludory.envs import Game, NamedGame
from ludory.errors import LostWorkerError, OptionError

from .batch import TokenBatch, joined
from .config import TextPPOConfig
from .rollout import collect

LOG = logging.getLogger("ludory.text_ppo")
Split = Literal["train", "valid"]
Filled = Callable[[], AbstractContextManager[None]]
"""Makes a context in which a model has its weights, which may be spread over processes otherwise."""


class EpisodeOrder(NamedTuple):
    """Episodes to play."""

    split: Split
    """Of rooms; also says how many episodes, and how they are sampled."""
    seed: int
    """Of the draws."""
    room: int
    """Number of the first room of the whole batch."""


class TextPlayer:
    """Plays a share of every batch of episodes, all of them by default.

    Args:
        game: has a text codec.
        config: options of the training.
        model: tokenizer and template.
        generator: samples with the model's weights.
        share: number of the share, and of all shares.
    """

    def __init__(
        self,
        game: Game,
        config: TextPPOConfig,
        model: LanguageModel,
        generator: Generator,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._game, self._config, self._model, self.generator, self._share = game, config, model, generator, share
        self._envs: dict[str, Any] = {}

    def play(self, order: EpisodeOrder) -> TokenBatch:
        """Play this share of the episodes."""
        config, groups = self._config, groups_of(self._config, order.split, self._share)
        size, temperature = (
            (config.group_size, config.temperature)
            if order.split == "train"
            else (config.val_samples, config.val_temperature)
        )
        env = self._env(order.split, groups, size)
        self.generator.wake()
        batch = collect(
            self._model,
            self.generator,
            env,
            Sampling(temperature, config.top_p, config.max_new_tokens),
            order.seed,
            env_seed=order.room,
            first_row=groups.start * size,
        )
        self.generator.sleep()
        return batch

    def _env(self, split: Split, groups: range, size: int) -> Any:
        from ludory.envs import TextEnv

        if split not in self._envs:
            config = self._config
            rooms: dict[str, Any] = {}
            if self._game.analysis.rooms is not None:
                rooms["split"] = split
                rooms["seeds"] = "ragen" if config.seeds == "ragen" else None
            self._envs[split] = TextEnv(
                self._game,
                len(groups) * size,
                group_size=size,
                first_group=groups.start,
                preset=config.env_preset,
                seed=config.seed,
                prompt_mode=config.prompt_mode,  # type: ignore[arg-type]  # checked by the config
                style=config.style,
                history=config.history,
                turns=config.turns,
                actions_per_turn=config.actions_per_turn,
                actions_per_episode=config.actions_per_episode,
                format_penalty=config.format_penalty,
                penalty_at=config.penalty_at,
                strict=config.strict,
                seat=config.seat,  # type: ignore[arg-type]  # checked by TextEnv
                opponents=config.opponents,
                **rooms,
            )
        return self._envs[split]


def groups_of(config: TextPPOConfig, split: Split, share: tuple[int, int]) -> range:
    """The groups of a share (number, of how many); there may be none in a small validation."""
    number, count = share
    groups = config.groups if split == "train" else config.val_groups
    return range(groups * number // count, groups * (number + 1) // count)


@dataclass(frozen=True, slots=True)
class TextShare:
    """Everything that a worker needs to play a share; its model is a copy."""

    game: NamedGame
    config: TextPPOConfig
    share: tuple[int, int]


class _PlayerElsewhere:
    """Lives with a worker: a player with a model of its own."""

    def __init__(self, share: TextShare, packed: PackedModel) -> None:
        model = packed.unpack("cpu")
        generator = make_generator(model, cpu_backend(share.config.backend))
        self._player = TextPlayer(share.game.make(), share.config, model, generator, share.share)
        self._version: int | None = None

    def play(self, order: EpisodeOrder, weights: Mapping[str, Tensor], version: int) -> TokenBatch:
        """Play with these weights."""
        if version != self._version:
            self._player.generator.load_weights(weights.items(), version)
            self._version = version
        with one_thread():
            return self._player.play(order)


class SpreadPlayers:
    """Players at workers. Every batch is that of one process with the same weights; a share whose worker is lost is played again.

    Args:
        workers: where they live.
        shares: what they play.
        packed: the model that they begin with.
    """

    def __init__(self, workers: Workers, shares: Sequence[TextShare], packed: PackedModel) -> None:
        self._workers, self._shares, self._packed = workers, list(shares), workers.share(packed)
        self._actors: list[Actor | None] = [None] * len(self._shares)
        self._weights: Any = None
        self._version = 0
        self.lost = 0
        """Workers lost so far."""

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Play with these weights from now on."""
        copies = {name: tensor.detach().to("cpu", torch.float32).clone() for name, tensor in weights.items()}
        self._weights, self._version = self._workers.share(copies), self._version + 1

    def start(self, order: EpisodeOrder) -> PlayedElsewhere:
        """Let the workers play; `result` of what is returned waits for them."""
        numbers = [k for k, one in enumerate(self._shares) if groups_of(one.config, order.split, one.share)]
        return PlayedElsewhere(self, numbers, (order, self._weights, self._version))

    def call(self, number: int, arguments: tuple[Any, ...]) -> tuple[Actor, Pending]:
        """Let a share play; one without a worker gets one."""
        actor = self._actors[number]
        if actor is None:
            actor = self._actors[number] = self._workers.actor(_PlayerElsewhere, self._shares[number], self._packed)
        return actor, actor.call("play", *arguments)

    def lose(self, number: int, actor: Actor, error: LostWorkerError) -> None:
        """Say that a share's worker is gone, and forget it."""
        if self._actors[number] is actor:  # else the loss is known by another call
            self.lost += 1
            LOG.warning("share %d of the episodes lost its worker (%s) and is played again elsewhere", number, error)
            self._actors[number] = None

    def close(self) -> None:
        """Free the workers."""
        for actor in self._actors:
            if actor is not None:
                actor.close()
        self._actors = [None] * len(self._shares)


class PlayedElsewhere:
    """Episodes that workers play, or have played."""

    def __init__(self, players: SpreadPlayers, numbers: Sequence[int], arguments: tuple[Any, ...]) -> None:
        self._players, self._arguments = players, arguments
        self._pending = {number: players.call(number, arguments) for number in numbers}

    def result(self) -> TokenBatch:
        """Wait for them.

        Raises:
            LostWorkerError: a share lost its workers again and again.
        """
        return joined([self._share(number) for number in self._pending])

    def _share(self, number: int) -> TokenBatch:
        for _ in range(MOST_LOSSES):
            actor, pending = self._pending[number]
            try:
                found: TokenBatch = pending.result()
                return found
            except LostWorkerError as error:
                self._players.lose(number, actor, error)
                self._pending[number] = self._players.call(number, self._arguments)
        raise LostWorkerError(
            f"share {number} of the episodes lost {MOST_LOSSES} workers one after another; give more samplers, so that each needs less "
            "memory, or see the logs of Ray"
        )


class _Ahead(NamedTuple):
    """Episodes that are being played."""

    pending: Pending | PlayedElsewhere | _PlayedTogether
    version: int
    """Iteration whose weights play."""


class _PlayedTogether:
    """Episodes of which each process has played its share.

    Args:
        mine: this one's; None: it has none.
        ranks: the processes.
    """

    def __init__(self, mine: TokenBatch | None, ranks: Ranks) -> None:
        self._mine, self._ranks = mine, ranks

    def result(self) -> TokenBatch:
        """All episodes, in all processes."""
        return joined([part for part in self._ranks.objects(self._mine) if part is not None])


class EpisodeSource:
    """Plays with the weights of the last `hand_over`.

    Args:
        game: has a text codec.
        config: options of the training.
        model: tokenizer and template.
        weights: returns the policy's current weights by name.
    """

    def __init__(
        self,
        game: Game,
        config: TextPPOConfig,
        model: LanguageModel,
        weights: Callable[[], Iterable[tuple[str, Tensor]]],
    ) -> None:
        self._game, self._config, self._model, self._weights = game, config, model, weights
        generator = make_generator(model, config.backend)  # type: ignore[arg-type]  # checked by the config
        self._player = TextPlayer(game, config, model, generator)
        self._elsewhere: SpreadPlayers | None = None
        self._ahead: _Ahead | None = None
        self._handed_over = False
        self._ranks: Ranks | None = None
        self._filled: Filled = nullcontext

    @contextmanager
    def together(self, ranks: Ranks, filled: Filled) -> Iterator[None]:
        """Within it each of several processes plays its share, and all get all episodes.

        Args:
            ranks: the processes.
            filled: a context in which the model has its weights.
        """
        alone, share = self._player, (ranks.rank, ranks.size)
        self._player = TextPlayer(self._game, self._config, self._model, alone.generator, share)
        self._ranks, self._filled, self._handed_over = ranks, filled, False
        try:
            yield
        finally:
            self._player, self._ranks, self._filled = alone, None, nullcontext
            self._ahead, self._handed_over = None, False

    def use(self, workers: Workers, samplers: int) -> None:
        """Play at workers from now on, in `samplers` shares.

        Raises:
            OptionError: the game has no id, or there are more samplers than groups.
        """
        if not 1 <= samplers <= self._config.groups:
            raise OptionError(
                f"{samplers} samplers for {self._config.groups} groups: must be 1 to {self._config.groups}; "
                "take more rooms with --groups"
            )
        self.release()
        named = NamedGame.of(self._game)
        shares = [TextShare(named, self._config, (number, samplers)) for number in range(samplers)]
        packed = PackedModel.of(self._model, dict(self._weights()))
        self._elsewhere = SpreadPlayers(workers, shares, packed)

    def release(self) -> None:
        """Free the workers; this process plays again."""
        if self._elsewhere is not None:
            self._elsewhere.close()
        self._elsewhere, self._ahead, self._handed_over = None, None, False

    def sample(self, iteration: int) -> tuple[TokenBatch, int]:
        """The episodes of an iteration, and how many iterations older their weights are; with `overlap`, the next ones are begun."""
        played = self._begun(iteration, iteration) if self._ahead is None else self._ahead
        self._ahead = None
        batch = played.pending.result()
        if self._config.overlap and iteration + 1 < self._config.iterations:
            self._ahead = self._begun(iteration + 1, iteration)
        return batch, iteration - played.version

    def _begun(self, iteration: int, version: int) -> _Ahead:
        """The episodes of an iteration, which are played with the present weights."""
        config, first = self._config, iteration * self._config.groups
        if config.train_rooms is not None:
            first %= config.train_rooms
        order = EpisodeOrder("train", config.seed * 1_000_003 + 2 * iteration, config.train_seed + first)
        return _Ahead(self._played(order, iteration), version)

    def validation(self, iteration: int) -> TokenBatch:
        """Episodes in the rooms of validation."""
        config = self._config
        order = EpisodeOrder("valid", config.seed * 1_000_003 + 2 * iteration + 1, config.val_seed)
        batch: TokenBatch = self._played(order, iteration).result()
        return batch

    def _played(self, order: EpisodeOrder, iteration: int) -> Pending | PlayedElsewhere | _PlayedTogether:
        if not self._handed_over:
            self.hand_over(iteration)
        if self._ranks is not None:
            has_some = groups_of(self._config, order.split, (self._ranks.rank, self._ranks.size))
            with self._filled():
                return _PlayedTogether(self._player.play(order) if has_some else None, self._ranks)
        return InProcess().start(self._player.play, order) if self._elsewhere is None else self._elsewhere.start(order)

    def hand_over(self, iteration: int) -> None:
        """Give the players the current weights, those of `iteration`."""
        own = self._player.generator
        if self._elsewhere is not None:
            self._elsewhere.load_weights(dict(self._weights()))
        elif not isinstance(own, HfGenerator):  # it samples from the module that learns
            with self._filled():
                own.load_weights(self._weights(), iteration)
        self._handed_over = True
