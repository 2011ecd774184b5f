"""The backend `static`: a decoder of its own for small GPT-2 and Llama models on the CPU.

Where a model has few weights, the time of a step is the overhead of its operations. Here a step is about ten of them per block: weights of
queries, keys and values are fused, prompts are read once without their last block's upper half, the cache is filled in place, and one
compiled function attends to prompt and reply of all rows without padding.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ludory.envs import cached_kernel
from ludory.errors import OptionError

from .generators import Generation, Sampling, in_parts, sample
from .model import LanguageModel

MOST_WEIGHTS = 10_000_000
"""Larger models gain nothing: their time is in the matrix products."""
_TOKENS_AT_ONCE = 4096
"""Of prompts; their activations stay in the processor's cache."""
_ROWS_OF_A_THREAD = 64
_SHARED_FROM = 16
"""Tokens of a common start of all prompts from which it is read once."""
_GPT2, _LLAMA = ("gpt2",), ("llama", "qwen2")


def fits(model: LanguageModel) -> str | None:
    """Why the backend cannot run a model; None if it can."""
    config = model.model.config
    if config.model_type not in _GPT2 + _LLAMA:
        return f"model_type {config.model_type!r} is none of {', '.join(_GPT2 + _LLAMA)}"
    if model.device.type != "cpu" or model.model.dtype != torch.float32:
        return f"the model is {model.model.dtype} on {model.device}, it must be float32 on the CPU"
    weights = sum(weight.numel() for weight in model.model.parameters())
    if weights > MOST_WEIGHTS:
        return f"the model has {weights:,} weights, at most {MOST_WEIGHTS:,} are allowed"
    if config.model_type in _GPT2:
        plain = config.scale_attn_weights and not config.scale_attn_by_inverse_layer_idx
        return (
            None if plain and config.activation_function in _GELUS else "its attention or activation is not GPT-2's own"
        )
    rope = getattr(config, "rope_parameters", None) or {}
    usual = config.hidden_act == "silu" and rope.get("rope_type", "default") == "default"
    return (
        None
        if usual and not getattr(config, "use_sliding_window", False)
        else "its rotary positions or activation are not usual ones"
    )


class StaticGenerator:
    """Samples from a copy of a small model's weights; `load_weights` renews it.

    Args:
        language_model: see `fits`.
        rows_at_once: most sequences in memory.

    Raises:
        OptionError: the model does not fit; says why.
    """

    def __init__(self, language_model: LanguageModel, rows_at_once: int = 1024) -> None:
        why_not = fits(language_model)
        if why_not is not None:
            raise OptionError(f'backend="static": {why_not}; use backend="hf"')
        if rows_at_once < 1:
            raise OptionError(f"rows_at_once={rows_at_once}: must be at least 1")
        self._model, self._rows = language_model, rows_at_once
        self.load_weights(language_model.model.state_dict().items(), 0)

    def generate(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        """One reply per prompt."""
        with torch.inference_mode():
            return in_parts(prompts, seeds, self._rows, lambda some, drawn: self._part(some, sampling, drawn))

    def _part(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        return sample(_StaticDecoder(self._network), self._model, prompts, sampling, seeds)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Copy all weights of the model, by their names in transformers."""
        config = self._model.model.config
        named = {name: tensor.detach().to("cpu", torch.float32) for name, tensor in weights}
        self._network = (_gpt2 if config.model_type in _GPT2 else _llama)(named, config)
        self.version = version

    def sleep(self) -> None:
        """There is nothing to give back: the weights are small, and the cache lives as long as one `generate`."""

    def wake(self) -> None:
        """There is nothing to do."""


class _Linear(NamedTuple):
    weight: Tensor
    """(in, out)."""
    bias: Tensor | None

    def __call__(self, x: Tensor, first: int = 0, end: int | None = None) -> Tensor:
        """The product of x (n, in) with the columns `first` to `end`."""
        weight = self.weight[:, first:end]
        return x @ weight if self.bias is None else torch.addmm(self.bias[first:end], x, weight)

    def added_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """Residual (n, out) + the product with x; overwrites `residual`."""
        return (residual if self.bias is None else residual.add_(self.bias)).addmm_(x, self.weight)


class _Norm(NamedTuple):
    weight: Tensor
    bias: Tensor | None
    """None: RMS norm, otherwise layer norm."""
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        shape = self.weight.shape
        if self.bias is None:
            return functional.rms_norm(x, shape, self.weight, self.epsilon)
        return functional.layer_norm(x, shape, self.weight, self.bias, self.epsilon)


class _Layer(NamedTuple):
    before_attention: _Norm
    qkv: _Linear
    """Queries of H heads, keys and values of G groups, D columns each."""
    out: _Linear
    before_mlp: _Norm
    up: _Linear
    """Of Llama: gates, then values."""
    down: _Linear
    activation: str

    def mlp(self, x: Tensor) -> Tensor:
        """The second half of the block, added to x (n, hidden)."""
        inner = self.up(self.before_mlp(x))
        if self.activation == "silu":
            gate, value = inner.chunk(2, -1)
            inner = functional.silu(gate).mul_(value)
        else:
            inner = functional.gelu(inner, approximate="none" if self.activation == "gelu" else "tanh")
        return self.down.added_to(x, inner)


class _Cache(NamedTuple):
    """Keys and values of one layer, (rows, G, D, positions): positions last, so that all scores of a row are computed at once."""

    keys: Tensor
    values: Tensor


class _Network(NamedTuple):
    tokens: Tensor
    """(V, hidden)."""
    places: Tensor | None
    """(positions, hidden); None: rotary."""
    angles: Tensor | None
    """(D / 2,) of rotary positions."""
    layers: list[_Layer]
    norm: _Norm
    head: Tensor
    """(hidden, V)."""
    heads: int
    groups: int
    size: int
    """D, of a head."""

    def empty_cache(self, rows: int, positions: int) -> list[_Cache]:
        """One per layer, not filled."""
        shape = rows, self.groups, self.size, positions
        return [_Cache(torch.empty(shape), torch.empty(shape)) for _ in self.layers]

    def embedded(self, ids: Tensor, places: Tensor) -> Tensor:
        """(n, hidden) of ids (n,) at places (n,)."""
        found = self.tokens[ids]
        return found if self.places is None else found.add_(self.places[places])

    def rotated(self, x: Tensor, places: Tensor) -> Tensor:
        """Rotary positions: x (n, columns of whole heads), turned by its places (n,)."""
        if self.angles is None:
            return x
        # Llama pairs column k of a head with column k + D / 2
        turn = places[:, None, None] * self.angles
        cos, sin = turn.cos(), turn.sin()
        left, right = x.view(len(x), -1, 2, self.size // 2).unbind(2)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1).view(len(x), -1)


_GELUS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu"}


def _gpt2(named: Mapping[str, Tensor], config: Any) -> _Network:
    def linear(name: str) -> _Linear:
        return _Linear(_weight(named, f"{name}.weight").clone(), _weight(named, f"{name}.bias").clone())

    def norm(name: str) -> _Norm:
        weight, bias = (_weight(named, f"transformer.{name}.{part}").clone() for part in ("weight", "bias"))
        return _Norm(weight, bias, config.layer_norm_epsilon)

    def layer(k: int) -> _Layer:
        at = f"transformer.h.{k}."
        qkv, out = linear(f"{at}attn.c_attn"), linear(f"{at}attn.c_proj")
        up, down = linear(f"{at}mlp.c_fc"), linear(f"{at}mlp.c_proj")
        norms = norm(f"h.{k}.ln_1"), norm(f"h.{k}.ln_2")
        return _Layer(norms[0], qkv, out, norms[1], up, down, _GELUS[config.activation_function])

    tokens = _weight(named, "transformer.wte.weight").clone()
    return _Network(
        tokens,
        _weight(named, "transformer.wpe.weight").clone(),
        None,
        [layer(k) for k in range(config.n_layer)],
        norm("ln_f"),
        _head(named, tokens),
        config.n_head,
        config.n_head,
        config.n_embd // config.n_head,
    )


def _llama(named: Mapping[str, Tensor], config: Any) -> _Network:
    def linear(*names: str) -> _Linear:
        biases = [named[f"{name}.bias"] for name in names if f"{name}.bias" in named]
        # transformers stores Llama as (out, in), GPT-2 as (in, out)
        weight = torch.cat([_weight(named, f"{name}.weight") for name in names]).t().contiguous()
        return _Linear(weight, torch.cat(biases) if biases else None)

    def norm(name: str) -> _Norm:
        return _Norm(_weight(named, f"{name}.weight").clone(), None, config.rms_norm_eps)

    def layer(k: int) -> _Layer:
        at = f"model.layers.{k}."
        qkv = linear(*(f"{at}self_attn.{part}_proj" for part in "qkv"))
        inner = norm(f"{at}post_attention_layernorm"), linear(f"{at}mlp.gate_proj", f"{at}mlp.up_proj")
        out, down = linear(f"{at}self_attn.o_proj"), linear(f"{at}mlp.down_proj")
        return _Layer(norm(f"{at}input_layernorm"), qkv, out, *inner, down, "silu")

    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    theta = (getattr(config, "rope_parameters", None) or {}).get("rope_theta", getattr(config, "rope_theta", 10_000.0))
    tokens = _weight(named, "model.embed_tokens.weight").clone()
    return _Network(
        tokens,
        None,
        1.0 / (theta ** (torch.arange(0, size, 2).float() / size)),
        [layer(k) for k in range(config.num_hidden_layers)],
        norm("model.norm"),
        _head(named, tokens),
        heads,
        config.num_key_value_heads or heads,
        size,
    )


def _head(named: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    return named.get("lm_head.weight", tokens).t().contiguous()


def _weight(named: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in named:
        raise OptionError(f"the weights lack {name}; give all weights of the model, by their names in transformers")
    return named[name]


class _StaticDecoder:
    compact_at = 1.0  # rows are only renumbered, nothing is copied

    def __init__(self, network: _Network) -> None:
        self._network = network
        self._capacity = 0
        self._prompts: list[_Cache] = []
        self._replies: list[_Cache] = []
        threads = torch.get_num_threads()
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def prefill(self, prompts: list[list[int]], of: Tensor) -> Tensor:
        net, lengths = self._network, torch.tensor([len(prompt) for prompt in prompts])
        longest, shared = int(lengths.max()), _shared_start(prompts)
        start = net.empty_cache(1, shared)
        if shared:  # such as the task, which all prompts begin with
            self._read(torch.tensor([prompts[0][:shared]]), torch.tensor([shared]), start, net.empty_cache(1, 0))
        self._prompts, logits = net.empty_cache(len(prompts), longest), []
        at_once = max(1, _TOKENS_AT_ONCE // (longest - shared))
        for first in range(0, len(prompts), at_once):
            rows = slice(first, first + at_once)
            ids = torch.tensor([prompt[shared:] + [0] * (longest - len(prompt)) for prompt in prompts[rows]])
            caches = [_Cache(*(part[rows] for part in cache)) for cache in self._prompts]
            logits.append(self._read(ids, lengths[rows], caches, start))
        self._lengths, self._of, self._slots = lengths.numpy(), of.numpy(), np.arange(len(of))
        self._at, self._count = 0, len(of)
        return torch.cat(logits)[of]

    def _read(self, ids: Tensor, lengths: Tensor, caches: list[_Cache], start: list[_Cache]) -> Tensor:
        """Logits (n, V) behind prompts that begin with the same S tokens and go on with ids (n, L), padded on the right.

        Padding needs no mask, since no earlier position sees it. In the last layer only the last positions are asked.

        Args:
            ids: (n, L).
            lengths: (n,) of the whole prompts.
            caches: of S + L positions, which are written.
            start: caches of the S first tokens, one row each.
        """
        net, (count, longest), past = self._network, ids.shape, start[0].keys.shape[-1]
        places = torch.arange(past, past + longest).repeat(count)
        seen_by = torch.ones(longest, past + longest, dtype=torch.bool).tril_(past) if past else None
        x = net.embedded(ids.flatten(), places)
        last = torch.arange(count) * longest + lengths - past - 1
        queries = net.heads * net.size
        for k, (layer, cache) in enumerate(zip(net.layers, caches, strict=True)):
            seen = layer.before_attention(x)
            top = k + 1 == len(net.layers)
            q = net.rotated(layer.qkv(seen[last] if top else seen, 0, queries), places[last] if top else places)
            keys, values = layer.qkv(seen, queries).split(net.groups * net.size, -1)
            for written, before, part in zip(cache, start[k], (net.rotated(keys, places), values), strict=True):
                written[..., :past] = before
                written[..., past:] = part.view(count, longest, net.groups, net.size).permute(0, 2, 3, 1)
            mask = (torch.arange(past + longest) < lengths[:, None])[:, None, None] if top else seen_by
            attended = functional.scaled_dot_product_attention(
                q.view(count, -1, net.heads, net.size).transpose(1, 2),
                cache.keys.transpose(2, 3),
                cache.values.transpose(2, 3),
                mask,
                is_causal=mask is None,
                enable_gqa=net.groups != net.heads,
            )
            x = layer.out.added_to(x[last] if top else x, attended.transpose(1, 2).reshape(-1, queries))
            x = layer.mlp(x)
        return net.norm(x) @ net.head

    def step(self, ids: Tensor) -> Tensor:
        # replies have no length that is known before: the cache grows with them
        if self._at == self._capacity:
            self._grow()
        net = self._network
        places = torch.from_numpy(self._lengths[self._of] + self._at)
        x = net.embedded(ids, places)
        turned = (net.heads + net.groups) * net.size
        for k, layer in enumerate(net.layers):
            qkv = layer.qkv(layer.before_attention(x))
            if net.angles is not None:
                qkv = torch.cat([net.rotated(qkv[:, :turned].contiguous(), places), qkv[:, turned:]], -1)
            x = layer.out.added_to(x, self._attended(qkv, k))
            x = layer.mlp(x)
        self._at += 1
        return net.norm(x) @ net.head

    def _attended(self, qkv: Tensor, k: int) -> Tensor:
        """What each row (of n) sees in layer k, (n, H D); its own keys and values are appended to the cache."""
        net, own, prompts = self._network, self._replies[k], self._prompts[k]
        scores = torch.empty(len(qkv), net.heads, int(self._lengths.max()) + self._at + 1)
        out = torch.empty(len(qkv), net.heads * net.size)
        rest = self._lengths, self._of, self._slots, self._at
        scale = np.float32(net.size**-0.5)
        self._over_rows(_score, qkv, own.keys, own.values, prompts.keys, *rest, scale, scores)
        self._over_rows(_mix, torch.softmax(scores, -1), own.values, prompts.values, *rest, out)
        return out

    def _over_rows(self, kernel: Callable[..., None], first: Tensor, *rest: Any) -> None:
        """Run a kernel over all rows, in as many threads as torch has."""
        arrays = [part.numpy() if isinstance(part, Tensor) else part for part in (first, *rest)]
        parts = 1 if self._pool is None else min(torch.get_num_threads(), -(-len(first) // _ROWS_OF_A_THREAD))
        borders = np.linspace(0, len(first), parts + 1).astype(np.int64)
        if self._pool is None or parts == 1:
            kernel(0, len(first), *arrays)
        else:
            jobs = [self._pool.submit(kernel, a, b, *arrays) for a, b in pairwise(borders)]
            for job in jobs:
                job.result()

    def _grow(self) -> None:
        """Twice as many positions for replies, 32 at first."""
        self._capacity = max(2 * self._capacity, 32)
        grown = self._network.empty_cache(self._count, self._capacity)
        for before, after in zip(self._replies, grown, strict=False):
            for old, new in zip(before, after, strict=True):
                new[..., : self._at] = old[..., : self._at]
        self._replies = grown

    def keep(self, rows: Tensor) -> None:
        self._of, self._slots = self._of[rows.numpy()], self._slots[rows.numpy()]


def _shared_start(prompts: list[list[int]]) -> int:
    """Length of the start that all prompts have in common, less than the shortest of them; 0 if it is not worth reading it once."""
    least, most = min(prompts), max(prompts)  # in the order of lists, so all others lie between them
    shared = next((k for k, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    shared = min(shared, min(map(len, prompts)) - 1)
    return shared if len(prompts) > 1 and shared >= _SHARED_FROM else 0


# In both kernels: own_keys (slots, G, D, capacity) of replies, filled up to `at`; keys (U, G, D, L) of prompts, whose lengths are `lengths`
# (U,); row b has the prompt of[b] and the reply slots[b]; scores (B, H, L + at + 1), those of the reply behind those of its prompt.


@cached_kernel(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _score(begin, end, qkv, own_keys, own_values, keys, lengths, of, slots, at, scale, scores):
    """Append keys and values of one position to the replies' cache, and write the scores of the rows `begin` to `end`; padding: -inf.

    qkv (B, (H + 2 G) D).
    """
    groups, size, heads = keys.shape[1], keys.shape[2], scores.shape[1]
    shared = heads // groups
    for b in range(begin, end):
        prompt, slot = of[b], slots[b]
        length = lengths[prompt]
        for group in range(groups):
            for d in range(size):
                own_keys[slot, group, d, at] = qkv[b, (heads + group) * size + d]
                own_values[slot, group, d, at] = qkv[b, (heads + groups + group) * size + d]
            for head in range(group * shared, (group + 1) * shared):
                found = scores[b, head]
                for j in range(length + at + 1):
                    found[j] = np.float32(0)
                for j in range(length + at + 1, scores.shape[2]):
                    found[j] = -np.inf
                for d in range(size):
                    weight = qkv[b, head * size + d] * scale
                    row = keys[prompt, group, d]
                    for j in range(length):
                        found[j] += weight * row[j]
                    row = own_keys[slot, group, d]
                    for j in range(at + 1):
                        found[length + j] += weight * row[j]


@cached_kernel(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _mix(begin, end, shares, own_values, values, lengths, of, slots, at, out):
    """Write the values weighted by `shares` (B, H, L + at + 1) into out (B, H D), for the rows `begin` to `end`."""
    groups, size, heads = values.shape[1], values.shape[2], shares.shape[1]
    shared = heads // groups
    for b in range(begin, end):
        prompt, slot = of[b], slots[b]
        length = lengths[prompt]
        for head in range(heads):
            share = shares[b, head]
            for d in range(size):
                found = np.float32(0)
                row = values[prompt, head // shared, d]
                for j in range(length):
                    found += share[j] * row[j]
                row = own_values[slot, head // shared, d]
                for j in range(at + 1):
                    found += share[length + j] * row[j]
                out[b, head * size + d] = found
