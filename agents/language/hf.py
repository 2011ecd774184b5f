"""The backend `hf`: any causal model of transformers, on any device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ludory.errors import OptionError

from .generators import Generation, Sampling, in_parts, sample
from .model import LanguageModel


class HfGenerator:
    """Samples from the weights of a `LanguageModel` itself, so that an update of the model needs no copy.

    Args:
        language_model: to sample from.
        rows_at_once: most sequences in memory.
    """

    def __init__(self, language_model: LanguageModel, rows_at_once: int = 512) -> None:
        if rows_at_once < 1:
            raise OptionError(f"rows_at_once={rows_at_once}: must be at least 1")
        self._model, self._rows = language_model, rows_at_once
        self.version = 0
        """Number of the weights that were loaded last."""

    def generate(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        """One reply per prompt. The model's mode (training or evaluation) is as before afterwards."""
        with _evaluating(self._model.model):
            return in_parts(prompts, seeds, self._rows, lambda some, drawn: self._part(some, sampling, drawn))

    def _part(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        return sample(_HfDecoder(self._model), self._model, prompts, sampling, seeds, self._model.device)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Copy weights into the model. Tensors that are the model's own are left alone."""
        own = self._model.model.state_dict(keep_vars=True)
        with torch.no_grad():
            for name, tensor in weights:
                if name not in own:
                    raise OptionError(f"the model has no weight {name!r}; it has {', '.join(list(own)[:3])}, ...")
                if own[name].data_ptr() != tensor.data_ptr():
                    own[name].copy_(tensor)
        self.version = version

    def sleep(self) -> None:
        """Give cached device memory back; the weights stay, since the learner has them too."""
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()

    def wake(self) -> None:
        """There is nothing to do."""


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


class _HfDecoder:
    """Left padding and the cache of transformers. Prompts are read once each, and their cache is then copied to their sequences."""

    compact_at = 0.75

    def __init__(self, model: LanguageModel) -> None:
        self._model, self._device = model.model, model.device
        self._pad = model.tokenizer.pad_token_id or 0

    def prefill(self, prompts: list[list[int]], of: Tensor) -> Tensor:
        longest = max(map(len, prompts))
        ids = torch.tensor([[self._pad] * (longest - len(p)) + p for p in prompts], device=self._device)
        lengths = torch.tensor([len(p) for p in prompts], device=self._device)
        mask = (torch.arange(longest, device=self._device) >= longest - lengths[:, None]).long()
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        found = self._model(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1)
        self._cache: Any = found.past_key_values
        self._cache.batch_select_indices(of)
        self._mask, self._next = mask[of], lengths[of]
        logits: Tensor = found.logits[:, -1]
        return logits[of]

    def step(self, ids: Tensor) -> Tensor:
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(ids), 1)], 1)
        found = self._model(
            input_ids=ids[:, None],
            attention_mask=self._mask,
            position_ids=self._next[:, None],
            past_key_values=self._cache,
            use_cache=True,
        )
        self._cache, self._next = found.past_key_values, self._next + 1
        logits: Tensor = found.logits[:, -1]
        return logits

    def keep(self, rows: Tensor) -> None:
        self._cache.batch_select_indices(rows)
        self._mask, self._next = self._mask[rows], self._next[rows]
