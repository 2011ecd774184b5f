"""`TokenNetwork`: a language model as policy and value function: log-probabilities, entropies and values of tokens in one forward pass."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ludory.agents.language.extras import needed
from ludory.algorithms import Ranks
from ludory.errors import OptionError

from .batch import TokenBatch
from .loss import TokenOutputs

LOGITS_AT_ONCE = 1 << 26
"""Logits that are kept for the backward pass; more of them are computed in parts, and again in the backward pass."""


class TokenNetwork(nn.Module):
    """Policy, and value head or critic. Dropout is off.

    Args:
        model: causal language model of transformers.
        value: "shared": values are a linear function of the policy's last hidden states; "separate": of those of a copy of the model;
            None: there are none. The linear function starts at 0.
        temperature: that tokens are sampled with; logits are divided by it.
        lora_rank: of LoRA's matrices on all linear layers, of policy and critic; the other weights are frozen. 0: all weights learn.
        autocast: compute matrix products in bfloat16.
    """

    def __init__(
        self,
        model: Any,  # of transformers, as in `LanguageModel`
        value: str | None = "shared",
        temperature: float = 1.0,
        lora_rank: int = 0,
        autocast: bool = False,
    ) -> None:
        super().__init__()
        self.temperature, self.lora_rank, self._autocast = temperature, lora_rank, autocast
        self.policy = model
        head = model.get_output_embeddings()
        self.critic = copy.deepcopy(model) if value == "separate" else None
        self.head = None
        if value is not None:
            self.head = nn.Linear(head.weight.shape[1], 1, device=model.device)
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)
        self._plain_head = _is_plain(model)
        if lora_rank:
            for network in (self.policy, self.critic):
                if network is not None:
                    _add_lora(network, lora_rank)
        self.eval()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.policy.device
        return device

    def forward(
        self, ids: Tensor, rows: Tensor, places: Tensor, with_values: bool = True, with_entropies: bool = True
    ) -> TokenOutputs:
        """Log-probability and entropy of m tokens, and the value of the state before each.

        Args:
            ids: (b, L) int64, padded on the right.
            rows: (m,) int64.
            places: (m,) int64, from 1: the first token of a list has nothing before it.
            with_values: compute values, if there are any.
            with_entropies: compute entropies; otherwise they are 0.
        """
        with self._casting():
            hidden, logits = self._states(self.policy, ids, rows, places - 1)
            log_probs, entropies = self._of_tokens(hidden, logits, ids[rows, places], with_entropies)
            values = None
            if with_values and self.head is not None:
                seen = hidden if self.critic is None else self._states(self.critic, ids, rows, places - 1)[0]
                values = self.head(seen.to(self.head.weight.dtype)).squeeze(-1).float().clone()
        # copies: where weights are spread, PyTorch warns of views
        return TokenOutputs(log_probs.clone(), entropies, values)

    def _casting(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16) if self._autocast else nullcontext()

    def _states(self, model: Any, ids: Tensor, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor | None]:
        """Last hidden states (m, H), and the logits (m, V) where these are more than the output layer's product with them."""
        # Padding is on the right, where causal attention does not look: no mask is needed.
        if self._plain_head or model is self.critic:
            return model.base_model(input_ids=ids, use_cache=False).last_hidden_state[rows, places], None
        # scaled or squashed logits are taken as the model returns them, at the cost of all places
        found = model(input_ids=ids, use_cache=False, output_hidden_states=True)
        return found.hidden_states[-1][rows, places], found.logits[rows, places]

    def _of_tokens(
        self, hidden: Tensor, logits: Tensor | None, tokens: Tensor, with_entropies: bool
    ) -> tuple[Tensor, Tensor]:
        head = self.policy.get_output_embeddings()
        vocabulary = head.weight.shape[0]
        given = hidden if logits is None else logits

        def scored(some: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
            scores = (head(some) if logits is None else some).float() / self.temperature
            log_probs = scores.log_softmax(-1)
            entropies = -(log_probs.exp() * log_probs).sum(-1) if with_entropies else torch.zeros_like(scores[:, 0])
            return log_probs.gather(-1, chosen.unsqueeze(-1)).squeeze(-1), entropies

        size = max(1, LOGITS_AT_ONCE // vocabulary)
        if len(tokens) <= size:
            return scored(given, tokens)
        pairs = zip(given.split(size), tokens.split(size), strict=True)
        parts = [checkpoint(scored, some, chosen, use_reentrant=False) for some, chosen in pairs]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    @contextmanager
    def as_reference(self) -> Iterator[TokenNetwork]:
        """The network before LoRA: its matrices are switched off inside this context."""
        layers: list[Any] = [module for module in self.modules() if hasattr(module, "lora_A")]
        for layer in layers:
            layer.enable_adapters(False)
        try:
            yield self
        finally:
            for layer in layers:
                layer.enable_adapters(True)

    def learnt(self) -> list[tuple[str, nn.Parameter]]:
        """Parameters that learn, by name."""
        return [(name, parameter) for name, parameter in self.named_parameters() if parameter.requires_grad]

    def policy_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Weights of the policy by their names in the model as it was given; LoRA's matrices are added to theirs."""
        deltas = {
            f"{name}.base_layer.weight": layer.get_delta_weight("default")
            for name, layer in self.policy.named_modules()
            if hasattr(layer, "get_delta_weight")
        }
        for name, tensor in self.policy.state_dict().items():
            if ".lora_" not in name:
                full = tensor + deltas[name].to(tensor.dtype) if name in deltas else tensor
                yield name.replace(".base_layer", ""), full.detach()


def evaluate_tokens(
    network: TokenNetwork,
    batch: TokenBatch,
    wanted: NDArray[np.bool_],
    tokens_at_once: int,
    pad: int,
    *,
    with_values: bool = True,
    with_entropies: bool = True,
    ranks: Ranks | None = None,
) -> TokenOutputs:
    """Outputs for the tokens `wanted` (N,) of a batch, without gradients; of several processes each computes its share.

    Returns:
        (N,) each, on the CPU, 0 elsewhere.
    """
    size = len(batch.ids)
    has_values = with_values and network.head is not None
    log_probs, entropies = torch.zeros(size), torch.zeros(size)
    values = torch.zeros(size) if has_values else None
    with torch.no_grad():
        lists = np.arange(len(batch.episode))
        for part, counts in shared_parts(batch, lists, wanted, tokens_at_once, pad, ranks):
            ids, rows, places, tokens = part
            found = network(
                *(one.to(network.device) for one in (ids, rows, places)),
                with_values=has_values,
                with_entropies=with_entropies,
            )
            if not counts:
                continue
            log_probs[tokens], entropies[tokens] = found.log_probs.cpu(), found.entropies.cpu()
            if values is not None and found.values is not None:
                values[tokens] = found.values.cpu()
    if ranks is not None:  # 0 where another process computed
        log_probs, entropies = ranks.total(log_probs), ranks.total(entropies)
        values = None if values is None else ranks.total(values)
    return TokenOutputs(log_probs, entropies, values)


Part: TypeAlias = "tuple[Tensor, Tensor, Tensor, Tensor]"
"""A forward pass, see `batch_parts`."""


def shared_parts(
    batch: TokenBatch,
    lists: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    tokens_at_once: int,
    pad: int,
    ranks: Ranks | None = None,
) -> Iterator[tuple[Part, bool]]:
    """This process's share of `batch_parts`, and whether a part counts: processes in step make as many passes as the one with most."""
    if ranks is None:
        for part in batch_parts(batch, lists, wanted, tokens_at_once, pad):
            yield part, True
        return
    # lists of about equal lengths stand side by side, so that all have about as much to do
    order = lists[np.argsort(-batch.lengths[lists], kind="stable")]

    def share(rank: int) -> Iterator[Part]:
        return batch_parts(batch, order[rank :: ranks.size], wanted, tokens_at_once, pad)

    if not ranks.in_step:
        for part in share(ranks.rank):
            yield part, True
        return
    shares = [list(share(rank)) for rank in range(ranks.size)]
    own, longest = shares[ranks.rank], max(shares, key=len)
    for number in range(len(longest)):
        yield (own[number], True) if number < len(own) else (longest[number], False)


def batch_parts(
    batch: TokenBatch, lists: NDArray[np.int64], wanted: NDArray[np.bool_], tokens_at_once: int, pad: int
) -> Iterator[Part]:
    """Some lists of a batch in forward passes.

    Yields:
        ids (b, L), rows (m,) and places (m,) of the wanted tokens in them, and their numbers (m,) in the batch.
    """
    for pack in batch.packs(lists, tokens_at_once):
        ids, numbers = batch.padded(pack, pad)
        rows, places = np.nonzero((numbers >= 0) & wanted[numbers])
        if len(rows):
            tokens = numbers[rows, places]
            yield tuple(torch.from_numpy(part) for part in (ids, rows, places, tokens))  # type: ignore[misc]  # four


def _is_plain(model: Any) -> bool:
    """Whether logits are the output layer's function of the last hidden states; some models scale or squash them."""
    # without the padding token, of which transformers warns
    ids = torch.tensor([[id for id in range(4) if id != model.config.pad_token_id]], device=model.device)
    with torch.no_grad():
        # asked of the model itself: no field of its configuration says so
        whole = model(input_ids=ids, use_cache=False).logits
        states = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return bool(torch.allclose(whole, model.get_output_embeddings()(states), atol=1e-4, rtol=1e-3))


def _add_lora(model: Any, rank: int) -> None:
    """Freeze a model and put LoRA's matrices into its linear layers, where they are."""
    peft = needed("peft")
    config = peft.LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    # LoRA's own weights are drawn from the global generator; put back, it leaves the draws of the run as they were
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            peft.inject_adapter_in_model(config, model)
        except ValueError as error:
            raise OptionError(f"lora_rank={rank}: {error}; type lora_rank=0") from error
