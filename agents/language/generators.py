"""Text from language models: what a backend is, how tokens are drawn, and when a reply ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents import uniforms
from ludory.errors import OptionError

from .extras import Backend
from .model import LanguageModel


class Sampling(NamedTuple):
    """How replies are drawn."""

    temperature: float = 1.0
    """0: always the likeliest token."""
    top_p: float = 1.0
    """Only the likeliest tokens, up to this share of the probability."""
    max_new_tokens: int = 400
    stop: tuple[str, ...] = ("</answer>",)
    """A reply ends with the token that completes one of these; the token is kept."""

    def check(self) -> None:
        """Raise an OptionError if a value is out of range."""
        if not self.temperature >= 0 or not 0 < self.top_p <= 1 or self.max_new_tokens < 1 or not all(self.stop):
            raise OptionError(
                f"{self}: temperature must be at least 0, top_p in (0, 1], max_new_tokens at least 1, stop without empty texts"
            )


class Generation(NamedTuple):
    """One sampled reply."""

    ids: list[int]
    logprobs: list[float]
    """Log-probability of each id under the softmax of logits / temperature (temperature 1 if it is 0), before `top_p` cuts."""
    finish: Literal["stop", "length", "end"]
    """A stop text, the limit on tokens, or an end token, which is the last of `ids`."""


class Generator(Protocol):
    """Samples replies. Text depends on weights, prompt, sampling and seed of a row, and not on the other rows of the batch.

    Sums of floating-point numbers may differ in the last bit between batches, so a draw within about 1e-7 of a border can fall otherwise.
    """

    def generate(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        """One reply per prompt, a list of ids; `seeds`: one per prompt."""

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Sample from these weights from now on; names are those of the transformers model."""

    def sleep(self) -> None:
        """Give device memory back until `wake`."""

    def wake(self) -> None:
        """Make ready again after `sleep`."""


class Decoder(Protocol):
    """The forward pass of a backend over a batch of growing sequences."""

    compact_at: float
    """Finished rows are dropped when at most this share of rows is left."""

    def prefill(self, prompts: list[list[int]], of: Tensor) -> Tensor:
        """Start B sequences; sequence b has the prompt `prompts[of[b]]`. Returns logits (B, V) of their next token."""

    def step(self, ids: Tensor) -> Tensor:
        """Append ids (B,) and return logits (B, V) of the next token."""

    def keep(self, rows: Tensor) -> None:
        """Drop all sequences but `rows`, which are renumbered in this order."""


def make_generator(language_model: LanguageModel, backend: Backend = "auto", **options: Any) -> Generator:
    """The generator of a backend.

    Args:
        language_model: to sample from. `hf` shares its weights; the others keep a copy, which `load_weights` renews.
        backend: "hf": any model of transformers, on any device. "static": small GPT-2 and Llama models on the CPU, several times
            as fast. "vllm": needs CUDA and `ludory[vllm]`. "auto": static where it can be, else hf.
        options: of the backend, such as `rows_at_once` or `memory_share`.

    Raises:
        OptionError: the backend is unknown or cannot run this model.
        PluginError: vLLM is not installed.
    """
    from .hf import HfGenerator
    from .static import StaticGenerator, fits

    if backend == "auto":
        backend = "static" if fits(language_model) is None else "hf"
    if backend == "hf":
        return HfGenerator(language_model, **options)
    if backend == "static":
        return StaticGenerator(language_model, **options)
    if backend == "vllm":
        from .vllm import VllmGenerator

        return VllmGenerator(language_model, **options)
    raise OptionError(f"backend={backend!r}: must be auto, hf, static or vllm")


def cpu_backend(backend: str) -> Backend:
    """The backend of a worker, which samples with a copy of the model on its CPU."""
    return "auto" if backend == "vllm" else backend  # type: ignore[return-value]  # checked by the config


def sample(
    decoder: Decoder,
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
) -> list[Generation]:
    """Sample one reply per prompt. Equal prompts are read once; rows that are done leave the batch.

    Raises:
        OptionError: a prompt is empty or longer than the model's sequences, or the numbers of prompts and seeds differ.
    """
    count, budget = len(prompts), check_prompts(model, prompts, sampling, seeds)
    unique: dict[tuple[int, ...], int] = {}
    of = torch.tensor([unique.setdefault(tuple(prompt), len(unique)) for prompt in prompts], device=device)
    draws = torch.from_numpy(uniforms_of(seeds, sampling.max_new_tokens)).to(device)
    limits = np.array(budget)
    found: list[list[int]] = [[] for _ in range(count)]
    logprobs: list[list[float]] = [[] for _ in range(count)]
    finish: list[Literal["stop", "length", "end"]] = ["length"] * count
    ended = ReplyEnd(model, sampling.stop)
    rows, alive = np.arange(count), np.ones(count, bool)
    logits = decoder.prefill([list(prompt) for prompt in unique], of)
    for step in range(int(limits.max())):
        chosen, scores = choose(logits, draws[torch.from_numpy(rows).to(device), step], sampling)
        for k, (id, score) in enumerate(zip(chosen.tolist(), scores.tolist(), strict=True)):
            if not alive[k]:
                continue
            row = rows[k]
            found[row].append(id)
            logprobs[row].append(score)
            why = ended(found[row])
            if why is not None:
                finish[row] = why
            alive[k] = why is None and step + 1 < limits[row]
        left = int(alive.sum())
        if not left:
            break
        # dropping rows copies what the model keeps of them, so only when it pays
        if left < len(rows) and left <= decoder.compact_at * len(rows):
            kept = np.flatnonzero(alive)
            rows, alive, at = rows[kept], alive[kept], torch.from_numpy(kept).to(device)
            chosen = chosen[at]
            decoder.keep(at)
        logits = decoder.step(chosen)
    return [Generation(*parts) for parts in zip(found, logprobs, finish, strict=True)]


def check_prompts(
    model: LanguageModel, prompts: Sequence[Sequence[int]], sampling: Sampling, seeds: Sequence[int]
) -> list[int]:
    """Most new tokens of each prompt: `max_new_tokens`, or what the model's longest sequence leaves.

    Raises:
        OptionError: a prompt is empty or too long, or the numbers of prompts and seeds differ.
    """
    sampling.check()
    if len(prompts) != len(seeds):
        raise OptionError(f"got {len(prompts)} prompts and {len(seeds)} seeds; give one seed per prompt")
    longest, budget = model.longest, []
    for row, prompt in enumerate(prompts):
        room = sampling.max_new_tokens if longest is None else min(sampling.max_new_tokens, longest - len(prompt))
        if not len(prompt) or room < 1:
            raise OptionError(
                f"prompt {row} has {len(prompt)} tokens; the model reads 1 to {(longest or 0) - 1 if longest else 'any number of'} "
                "before a reply: shorten the history, or take a model with longer sequences"
            )
        budget.append(room)
    return budget


def uniforms_of(seeds: Sequence[int], count: int) -> NDArray[np.float64]:
    """(n, count): the uniform numbers in [0, 1) of each row, one per token, a function of its seed."""
    # 64 bits without a sign become signed ones
    keys = np.array([(int(seed) + 2**63) % 2**64 - 2**63 for seed in seeds], np.int64)
    return uniforms(keys, np.zeros(len(keys), np.int64), count)


def choose(logits: Tensor, draws: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Draw one token per row by inverting the cumulative distribution.

    Args:
        logits: (B, V).
        draws: (B,) float64 in [0, 1).
        sampling: temperature and top_p.

    Returns:
        Ids (B,) and their log-probabilities (B,), as in `Generation.logprobs`.
    """
    scaled = logits.float() / (sampling.temperature or 1.0)
    logprobs = torch.log_softmax(scaled, -1)
    if sampling.temperature == 0:
        ids = logprobs.argmax(-1)
    else:
        # in float64: sums over a large vocabulary
        shares = logprobs.double().exp_()
        if sampling.top_p < 1:
            ordered, order = shares.sort(dim=-1, descending=True, stable=True)
            # the probability before each token, so that the one which crosses top_p is kept
            before = ordered.cumsum(-1) - ordered
            shares = torch.zeros_like(shares).scatter_(-1, order, ordered.masked_fill(before >= sampling.top_p, 0.0))
        sums = shares.cumsum_(-1)
        # `right`: tokens of probability 0 are never drawn
        ids = torch.searchsorted(sums, (draws * sums[:, -1])[:, None], right=True)[:, 0].clamp_(
            max=logits.shape[-1] - 1
        )
    return ids, logprobs.gather(-1, ids[:, None])[:, 0]


class ReplyEnd:
    """Called with the ids of a reply so far: "end" after an end token, "stop" once a stop text is complete, else None.

    Only tokens that may end a stop text cause text to be looked at: those that contain it or begin with an end of it.
    """

    def __init__(self, model: LanguageModel, stop: Sequence[str]) -> None:
        self._ends, self._decode, self._stop = model.ends, model.decode, tuple(stop)
        self._tails = tuple({text[start:] for text in stop for start in range(len(text))})
        self._longest = max(map(len, stop), default=0)
        self._suspects: dict[int, bool] = {}

    def __call__(self, ids: list[int]) -> Literal["stop", "end"] | None:
        """Why the reply ends here, None if it goes on."""
        id = ids[-1]
        if id in self._ends:
            return "end"
        suspect = self._suspects.get(id)
        if suspect is None:
            suspect = self._suspects[id] = self._suspected(self._decode([id]))
        if not suspect:
            return None
        # a stop text lies within as many tokens as it has characters
        tail = self._decode(ids[-self._longest :])
        return "stop" if any(text in tail for text in self._stop) else None

    def _suspected(self, text: str) -> bool:
        # some tokenizers write a space between tokens, or one that a token alone does not show, or parts of characters
        seen = (text, f" {text}")
        return "\ufffd" in text or any(
            one.startswith(self._tails) or any(stop in one for stop in self._stop) for one in seen
        )


def in_parts(
    prompts: list[list[int]],
    seeds: list[int],
    rows_at_once: int,
    generate: Callable[[list[list[int]], list[int]], list[Generation]],
) -> list[Generation]:
    """`generate` for at most `rows_at_once` rows at a time, the rows in order."""
    starts = range(0, len(prompts), rows_at_once)
    parts = [generate(prompts[at : at + rows_at_once], seeds[at : at + rows_at_once]) for at in starts]
    return [generation for part in parts for generation in part]
