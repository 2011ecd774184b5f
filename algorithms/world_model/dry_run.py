"""A dry run of reinforcement learning on a large model: its memory by sizes, and one step on random weights of its shape.

Weights have random values, and replies are of tokens without meaning, so nothing is learnt; what is shown is that the configuration runs
and what it needs.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter, process_time
from typing import Any, NamedTuple

import torch

from ludory.agents.language.extras import needed
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import character_tokenizer
from ludory.algorithms.text_ppo.config import TextPPOConfig, make_text_ppo_config
from ludory.algorithms.text_ppo.memory import (
    GIB,
    MemoryEstimate,
    available_memory,
    estimate_memory,
    peak_memory,
    shape_of,
)
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.errors import OptionError

from .config import SpaConfig
from .pipeline import ppo_options, text_game


class Shape(NamedTuple):
    """Sizes of a model of the Qwen2 family, as its `config.json` has them."""

    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    intermediate: int
    vocabulary: int
    tied: bool
    """Whether the last layer is the table of embeddings."""


SHAPES = {
    "0.5b": Shape(896, 24, 14, 2, 4864, 151_936, True),
    "1.5b": Shape(1536, 28, 12, 2, 8960, 151_936, True),
    "3b": Shape(2048, 36, 16, 2, 11008, 151_936, True),
    "7b": Shape(3584, 28, 28, 4, 18944, 152_064, False),
}
"""Qwen2.5 by number of weights."""
FITS = 0.8
"""Share of the free memory that the step may take."""
STEP = {
    "groups": 1,
    "group_size": 2,
    "turns": 1,
    "max_new_tokens": 8,
    "minibatch": 2,
    "epochs": 1,
    "tokens_at_once": 1024,
}
"""Sizes of the one step; the weights and their moments are what counts."""


class DryRun(NamedTuple):
    """What was found."""

    shape: str
    parameters: int
    whole: MemoryEstimate
    """Of the configuration as it is, on one device."""
    devices: int
    """Of the configuration."""
    shared: dict[str, MemoryEstimate]
    """On each of several devices, by `sharding`."""
    layers: int
    """Of the step; fewer than the shape has where memory is short."""
    step: MemoryEstimate
    available: float | None
    """Free bytes before the step."""
    peak: float | None
    """Most bytes that the process or the card had in use; None where the system does not tell."""
    seconds: float
    cpu_seconds: float

    def lines(self) -> list[str]:
        """For the terminal."""
        part = "" if self.layers == SHAPES[self.shape].layers else f", {self.layers} of its layers"
        used = "" if self.peak is None else f", at most {self.peak / GIB:.2f} GiB in use"
        return [
            f"{self.shape}: {self.parameters:,} weights",
            f"whole configuration, {self.whole.text()}",
            *(f"on each of {self.devices} devices, {name}, {one.text()}" for name, one in self.shared.items()),
            f"one step{part}, {self.step.text(self.available)}",
            f"done in {self.seconds:.1f} s ({self.cpu_seconds:.1f} CPU s){used}",
        ]


def dry_run(
    config: SpaConfig, shape: str = "0.5b", device: str = "cpu", memory: float | None = None, seed: int = 0
) -> DryRun:
    """Estimate, then one step of reinforcement learning as `config` has it, with the fewest episodes.

    Args:
        config: of `read_config`.
        shape: of `SHAPES`.
        device: "cpu" or "cuda".
        memory: bytes that the step may take; None: four fifths of what is free.
        seed: of the weights and the play.

    Raises:
        OptionError: an unknown shape, or not even one layer fits.
    """
    if shape not in SHAPES:
        raise OptionError(f"shape={shape!r}: must be one of {', '.join(SHAPES)}")
    given = {**ppo_options(config.text), **config.ppo}
    settings = make_text_ppo_config(**given)
    several = ("ddp", "fsdp") if settings.devices > 1 else ()
    few = {**given, **STEP, "devices": 1, "filter": "none", "device": device, "seed": seed, "val_every": 0}
    available = available_memory(torch.device(device))
    allowed = memory or (FITS * available if available else None)
    layers, step = _fitting(make_text_ppo_config(**few), shape, allowed)
    whole = shape_of(_model(SHAPES[shape], "meta"))
    model = LanguageModel(_model(SHAPES[shape]._replace(layers=layers), device, seed), character_tokenizer())
    learner = TextPPO(model, text_game(config.text), **few)
    began, cpu = perf_counter(), process_time()
    learner.learn(learner.config.episodes)
    return DryRun(
        shape,
        whole.parameters,
        estimate_memory(replace(settings, devices=1), whole),
        settings.devices,
        {name: estimate_memory(replace(settings, sharding=name), whole) for name in several},
        layers,
        step,
        available,
        _peak(device),
        perf_counter() - began,
        process_time() - cpu,
    )


def _fitting(config: TextPPOConfig, name: str, allowed: float | None) -> tuple[int, MemoryEstimate]:
    """Most layers whose step fits into `allowed` bytes, and what it needs."""
    shape = SHAPES[name]
    for layers in range(shape.layers, 0, -1):
        found = estimate_memory(config, shape_of(_model(shape._replace(layers=layers), "meta")))
        if allowed is None or found.total <= allowed:
            return layers, found
    raise OptionError(
        f"shape={name!r}: one layer needs {found.total / GIB:.1f} GiB, allowed are {(allowed or 0) / GIB:.1f}; choose a smaller shape"
    )


def _model(shape: Shape, device: str, seed: int = 0) -> Any:
    """A model of transformers with random weights; on "meta" it has none."""
    transformers = needed("transformers")
    config = transformers.Qwen2Config(
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        intermediate_size=shape.intermediate,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
        max_position_embeddings=32_768,
    )
    with torch.random.fork_rng(devices=[]), torch.device(device):
        torch.manual_seed(seed)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


def _peak(device: str) -> float | None:
    return peak_memory() if device == "cpu" else float(torch.cuda.max_memory_allocated())
