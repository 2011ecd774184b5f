"""How much memory text PPO needs, before it starts, and what to change when there is not enough."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from ludory.errors import TrainingError

from .config import TextPPOConfig

GIB = float(1 << 30)
ACTIVATIONS = 34
"""Numbers kept per token and layer for the backward pass, in widths of the model (arXiv:2205.05198, section 4, without attention)."""


class ModelShape(NamedTuple):
    """Sizes of a language model."""

    parameters: int
    hidden: int
    layers: int
    vocabulary: int
    key_values: int
    """Numbers that one token adds to the cache, per layer: 2 x heads x size of a head."""
    weight_bytes: int = 4
    """Bytes of a weight."""


class MemoryEstimate(NamedTuple):
    """Bytes on one device."""

    weights: float
    gradients: float
    optimiser: float
    critic: float
    """Weights, gradients and optimiser of a separate critic."""
    reference: float
    activations: float
    """Of one forward pass."""
    cache: float
    """Keys and values while sampling."""
    sampler: float = 0.0
    """All weights while sampling, a separate critic's too, where each device has only a part of them."""

    @property
    def total(self) -> float:
        """Sum of all."""
        return float(sum(self))

    def text(self, available: float | None = None) -> str:
        """One line, in GiB."""
        parts = ", ".join(f"{name} {size / GIB:.2f}" for name, size in zip(self._fields, self, strict=True) if size)
        there = "" if available is None else f" of {available / GIB:.1f} there are"
        return f"memory: about {self.total / GIB:.2f} GiB{there} ({parts})"


# A model of transformers, as in `LanguageModel`.
def shape_of(model: Any) -> ModelShape:
    """Sizes of a model of transformers; its weights may be on the device "meta"."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    of_keys = getattr(config, "num_key_value_heads", None) or heads
    parameters = {id(parameter): parameter for parameter in model.parameters()}.values()
    return ModelShape(
        sum(parameter.numel() for parameter in parameters),
        config.hidden_size,
        config.num_hidden_layers,
        config.vocab_size,
        2 * of_keys * size,
        next(iter(parameters)).element_size(),
    )


def estimate_memory(config: TextPPOConfig, shape: ModelShape, tokens_of_episode: int | None = None) -> MemoryEstimate:
    """What an iteration needs at most, on each of `config.devices`.

    Args:
        config: of the run.
        shape: of the model.
        tokens_of_episode: longest list of tokens; None: a prompt and a reply of `max_new_tokens` in each turn.
    """
    spreads = config.spreads(shape.parameters)
    devices = config.devices if spreads else 1
    longest = tokens_of_episode or (config.turns or 5) * 2 * config.max_new_tokens
    weights = shape.parameters * shape.weight_bytes / devices
    learnt = weights
    if config.lora_rank:  # two matrices of this rank on about seven layers of each block
        learnt = min(weights, shape.layers * 7 * 2 * shape.hidden * config.lora_rank * 4 / devices)
    separate = config.has_critic and config.value != "shared" and shape.parameters >= SMALL
    critic = weights + 3 * learnt if separate else 0.0
    reference = weights if config.kl and not config.lora_rank else 0.0
    number = 2 if config.precision == "bf16" or shape.weight_bytes == 2 else 4
    per_token = shape.layers * shape.hidden * ACTIVATIONS / 2 * number
    activations = max(config.tokens_at_once, longest) * per_token * (2 if separate else 1)
    logits = min(max(config.tokens_at_once, longest) * shape.vocabulary, 1 << 26) * 3 * 4
    cache = min(config.episodes / config.devices, 512) * longest * shape.layers * shape.key_values * number
    sampler = float(shape.parameters * shape.weight_bytes * (2 if separate else 1)) if spreads else 0.0
    return MemoryEstimate(weights, learnt, 2 * learnt, critic, reference, activations + logits, cache, sampler)


SMALL = 10_000_000
"""Parameters below which `value="auto"` is shared."""


def available_memory(device: torch.device) -> float | None:
    """Bytes of free memory; None where that is not known."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    try:
        import psutil
    except ImportError:
        return None
    return float(psutil.virtual_memory().available)


def peak_memory() -> float | None:
    """Most bytes that this process had in use; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


@contextmanager
def explained_shortage(config: TextPPOConfig) -> Iterator[None]:
    """Name the settings that help when memory runs out.

    Raises:
        TrainingError: instead of an error for lack of memory.
    """
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        short = isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
        if not short:
            raise
        raise TrainingError(
            f"out of memory ({str(error).splitlines()[0] if str(error) else 'no details'}); three settings help: "
            f"tokens_at_once={max(512, config.tokens_at_once // 4)} (now {config.tokens_at_once}), "
            f"lora_rank=32 (now {config.lora_rank}), and {_smaller_value(config)}"
        ) from error


def _smaller_value(config: TextPPOConfig) -> str:
    if config.has_critic and config.value != "shared":
        return f'value="shared" (now {config.value!r})'
    return f"max_new_tokens={max(16, config.max_new_tokens // 2)} (now {config.max_new_tokens})"
