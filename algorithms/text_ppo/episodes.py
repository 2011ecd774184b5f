"""`EpisodeSource`: the episodes of every iteration, played in this process or at workers, ahead of the learner where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from torch import Tensor

from ludory.agents.language.generators import make_generator
from ludory.agents.language.hf import HfGenerator
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.packed import PackedModel
from ludory.cluster import InProcess, Pending, Workers
from ludory.envs import Game, NamedGame
from ludory.errors import OptionError

from .batch import TokenBatch
from .config import TextPPOConfig
from .player import EpisodeOrder, PlayedElsewhere, SpreadPlayers, TextPlayer, TextShare


class _Ahead(NamedTuple):
    """Episodes that are being played."""

    pending: Pending | PlayedElsewhere
    version: int
    """Iteration whose weights play."""


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

    def _played(self, order: EpisodeOrder, iteration: int) -> Pending | PlayedElsewhere:
        if not self._handed_over:
            self.hand_over(iteration)
        return InProcess().start(self._player.play, order) if self._elsewhere is None else self._elsewhere.start(order)

    def hand_over(self, iteration: int) -> None:
        """Give the players the current weights, those of `iteration`."""
        own = self._player.generator
        if self._elsewhere is not None:
            self._elsewhere.load_weights(dict(self._weights()))
        elif not isinstance(own, HfGenerator):  # it samples from the module that learns
            own.load_weights(self._weights(), iteration)
        self._handed_over = True
