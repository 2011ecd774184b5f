"""`OpenHandNetwork`: what networks of Texas 42 that see all hands have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ludory.agents import Policy
from ludory.agents.texas42.play.tokens import OF_MOVER
from ludory.errors import OptionError


class OpenValues(NamedTuple):
    """The network's output for n states."""

    q: Tensor
    """(n, 7) by the mover's local index: points still to be won, own minus other side's; or logits, if trained as a policy."""
    value: Tensor
    """(n,) points still to be won / 42, from the mover's side."""


class OpenOdds(NamedTuple):
    """The output of a network that tells how likely each worth is."""

    q: Tensor
    """As of `OpenValues`: the mean."""
    value: Tensor
    """As of `OpenValues`: of the best tile."""
    odds: Tensor
    """(n, 7, 85) log-probabilities that a tile is worth -42..42 points, -inf where it cannot."""


class OpenHandNetwork(Policy):
    """A network that reads tokens (`agents/texas42/play/tokens.py`) of states with all hands open."""

    trained_by: ClassVar[str | None] = "texas42_oracle-v1"
    tokens_version: int
    """Version of the tokens that it reads, 1 or 2."""

    @property
    def num_parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(part.numel() for part in self.parameters())

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor, player: Tensor | None = None) -> OpenValues | OpenOdds:  # type: ignore[override]
        """Values of n states.

        Args:
            tokens: (n, 32, 12) integers.
            mask: (n, 32) bool, which tokens count.
            player: (n,) int64, the mover; only for tokens of version 1.

        Raises:
            OptionError: the tokens are of the other version, or those of version 1 come without the mover.
        """

    def check_version(self, tokens: Tensor, player: Tensor | None) -> None:
        """Refuse tokens in which the mover's tiles are not where this network reads its answers.

        Tokens of both versions have one shape, so that the wrong ones would be answered with wrong values.
        """
        if torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export():
            return
        rows = torch.arange(len(tokens), device=tokens.device)
        first = 1 if self.tokens_version == 2 or player is None else 1 + 7 * player
        if bool((tokens[rows, first, OF_MOVER] == 1).all()):
            return
        mine, other = self.tokens_version, 3 - self.tokens_version
        raise OptionError(
            f"this network reads tokens of version {mine}, these are others, as those of version {other} are; write some with "
            f"`ludory texas42 tokenise --tokens {mine}` (tokenise(..., version={mine})), or train a network of version {other}: "
            f'`ludory train texas42_oracle --policy "domino(tokens={other})"`'
        )
