"""Networks as ONNX files, for browsers and other programs; compared with PyTorch before they appear.

Inputs `tokens` int64 [B, 32, 12] and `mask` bool [B, 32], with tokens of version 1 also `player` int64 [B]; outputs `q` [B, 7] in points, or logits,
and `value` [B] in parts of 42, both from the mover's side.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludory.agents.texas42.networks.open_hands import OpenHandNetwork
from ludory.agents.texas42.play.tokens import Tokens, tokenise
from ludory.algorithms.texas42.data.labels import play_and_label
from ludory.atomic import atomic_file
from ludory.data.formats.texas42.labels import LabelSettings
from ludory.errors import CheckpointError, PluginError

from .oracle import Texas42Oracle

OPSET = 17
MOST = 1e-3
"""Greatest difference of an output that is allowed."""
APART = 0.01
"""Where the two best tiles are further apart, both must choose the same."""
BATCHES = (1, 257)
"""Sizes of batches that are tried, beside the whole."""
STATES = 1000


class Compared(NamedTuple):
    """How an ONNX file differs from its network."""

    states: int
    greatest: float
    """Greatest difference of an output, in its units."""
    other_choices: int
    """States in which the best tile differs though the best two are apart."""

    @property
    def same(self) -> bool:
        """Whether it is the same network."""
        return self.greatest <= MOST and not self.other_choices


class _Plain(nn.Module):
    """The network with a tuple as its answer."""

    def __init__(self, network: OpenHandNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, mask: Tensor, player: Tensor | None = None) -> tuple[Tensor, Tensor]:
        said = self.network(tokens, mask, player)
        return said.q, said.value


def export_onnx(model: Texas42Oracle, file: str | Path) -> Compared:
    """Write the network of `model`; the file appears only if onnxruntime answers as PyTorch does.

    Raises:
        PluginError: onnx or onnxruntime is not installed.
        CheckpointError: the answers differ.
        OutputError: the file cannot be written.
    """
    onnx = _needed("onnx")
    _needed("onnxruntime")
    network = model.policy.to("cpu").eval()
    states = sample_states(STATES, network.tokens_version)
    inputs = _inputs(network, states)
    names = list(inputs)
    target = Path(file)
    with atomic_file(target) as handle:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _Plain(network).eval(),  # else the exporter leaves it in training mode
                tuple(torch.from_numpy(inputs[name][:2]) for name in names),
                handle.name,
                input_names=names,
                output_names=["q", "value"],
                dynamic_axes={name: {0: "batch"} for name in (*names, "q", "value")},
                opset_version=OPSET,
                dynamo=False,
            )
        proto = onnx.load(handle.name)
        for key, value in _metadata(model).items():
            entry = proto.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.checker.check_model(proto)
        handle.seek(0)
        handle.truncate()
        handle.write(proto.SerializeToString())
        handle.flush()
        found = compare(handle.name, network, states)
        if not found.same:
            raise CheckpointError(
                f"{file} was not written: of {found.states} states the greatest difference to PyTorch is {found.greatest:.2g} (allowed {MOST}), "
                f"and {found.other_choices} have another best tile"
            )
    return found


def compare(file: str | Path, network: OpenHandNetwork, states: Tokens) -> Compared:
    """Ask onnxruntime and PyTorch for the same states: one by one, in a batch of 257, and all at once.

    Raises:
        PluginError: onnxruntime is not installed.
        CheckpointError: the file cannot be read, or is not of this kind of network.
    """
    runtime = _needed("onnxruntime")
    inputs = _inputs(network, states)
    try:
        session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no common base
        raise CheckpointError(f"{file}: no ONNX file that can be run ({str(error).splitlines()[0]})") from error
    if {part.name for part in session.get_inputs()} != set(inputs):
        raise CheckpointError(
            f"{file}: asks for {[part.name for part in session.get_inputs()]}, must be {list(inputs)}"
        )
    with torch.no_grad():
        said = network(*(torch.from_numpy(part) for part in inputs.values()))
    q, value, number = said.q.numpy(), said.value.numpy(), len(states.mask)
    greatest, others = 0.0, 0
    for size in (*BATCHES, number):
        rows = slice(0, min(size, number))
        got_q, got_value = session.run(["q", "value"], {name: part[rows] for name, part in inputs.items()})
        greatest = max(greatest, float(abs(got_q - q[rows]).max()), float(abs(got_value - value[rows]).max()))
        others = max(others, _other_choices(got_q, q[rows]))
    return Compared(number, greatest, others)


def _other_choices(one: NDArray[Any], other: NDArray[Any]) -> int:
    ranked = np.sort(other, axis=1)
    apart = ranked[:, -1] - ranked[:, -2] > APART
    return int((apart & (one.argmax(1) != other.argmax(1))).sum())


def sample_states(number: int, tokens_version: int) -> Tokens:
    """At most so many states of random hands, of all declarations."""
    settings = LabelSettings(paths=1, sampler_seed=1)
    labels = play_and_label(range(max(18, number // 15)), settings)
    rows = np.random.default_rng(0).permutation(len(labels.state))[:number]
    decl = np.resize(np.arange(10), len(rows))
    return tokenise(labels.deal[rows], decl, labels.state[rows], tokens_version)


def _inputs(network: OpenHandNetwork, states: Tokens) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {"tokens": states.tokens.astype(np.int64), "mask": states.mask}
    return found | ({"player": states.player} if network.tokens_version == 1 else {})


def _metadata(model: Texas42Oracle) -> dict[str, str]:
    units = "points of the mover's side" if model.config.loss_mode == "qvalue" else "logits"
    told = {
        "tokens": model.policy.tokens_version,
        "q": units,
        "value": "points of the mover's side / 42",
        "opset": OPSET,
    }
    return {
        "algorithm": model.id,
        "loss_mode": model.config.loss_mode,
        **{key: str(value) for key, value in told.items()},
    }


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise PluginError(f'ONNX files need {package}; type: pip install "ludory[onnx]"') from error
