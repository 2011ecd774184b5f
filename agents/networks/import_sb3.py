"""Conversion between networks of Stable-Baselines3's `MlpPolicy` (PPO, A2C, MaskablePPO) and our `MlpPolicy`.

A model's .zip contains pickles besides its weights. None of them is loaded: weights are read with `torch.load(weights_only=True)`,
and the activation's name from the plain text beside the pickle.
"""

from __future__ import annotations

import io
import pickle
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import torch
from torch import Tensor, nn

from ludory.agents.networks.layers.encoders import FloatLinear
from ludory.agents.networks.policies.mlp import ACTIVATIONS, MlpPolicy
from ludory.agents.neural import NeuralAgent
from ludory.envs import Game, make_game
from ludory.errors import CheckpointError, DataError, OptionError
from ludory.reading import check_zip, parse_json, read_member

from .build import PolicySpec, build_policy
from .policy import Policy, refuse_not_finite

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

TOWERS = ("mlp_extractor.policy_net", "mlp_extractor.value_net")
GAME = "ludory_game"
"""Attribute of a Stable-Baselines3 model, saved in its .zip: id of the game it was trained on."""
_MAGIC = b"PK\x03\x04"


class Sb3Network(NamedTuple):
    """Two towers of equal layers, one for the logits and one for the value; weights under Stable-Baselines3's names.

    Without `separate_value` the second is the first.
    """

    hidden: tuple[int, ...]
    activation: str
    separate_value: bool
    observations: int
    actions: int
    weights: Mapping[str, Tensor]
    game: str | None = None
    """Id of the game, if known."""

    @property
    def spec(self) -> PolicySpec:
        """The equivalent policy of ours."""
        arguments = {"hidden": self.hidden, "activation": self.activation, "separate_value": self.separate_value}
        return PolicySpec(MlpPolicy.id, arguments)

    @property
    def layers(self) -> str:
        """The layers as arguments of a policy's spec."""
        return ", ".join(f"{name}={value!r}" for name, value in self.spec.arguments.items())

    def __str__(self) -> str:
        place = f" of {self.game}" if self.game else ""
        return f"the network{place} from {self.observations} inputs to {self.actions} logits with {self.layers}"


def network_of(policy: Policy, game: str | None = None) -> Sb3Network:
    """An `MlpPolicy` in the layout of Stable-Baselines3. The weights are views: writing to them changes the policy.

    Weights of a first layer that scales its input are copies that include the scaling. Without `separate_value` both towers are views
    of the same one.

    Raises:
        OptionError: another kind of policy.
    """
    if type(policy) is not MlpPolicy:
        raise OptionError(f"policy {policy.id!r}: Stable-Baselines3 has networks like 'mlp' only")
    hidden = [policy.encoder.out_features // len(policy.torso)]
    weights: dict[str, Tensor] = {}
    weight, bias = _first_layer(policy)
    for name, tower, at in zip(TOWERS, (0, -1), (0, policy.encoder.out_features - hidden[0]), strict=True):
        own = slice(at, at + hidden[0])
        weights |= {
            f"{name}.0.weight": weight[own],
            f"{name}.0.bias": bias[own],
        }
        for place, layer in enumerate(_linears(policy.torso[tower]), 1):
            weights |= _named(f"{name}.{2 * place}", layer)
    hidden += [layer.out_features for layer in _linears(policy.torso[0])]
    weights |= _named("action_net", policy.logits) | _named("value_net", policy.value)
    sizes = policy.encoder.in_features, policy.logits.out_features
    return Sb3Network(tuple(hidden), policy.activation_name, len(policy.torso) == 2, *sizes, weights, game)


def _first_layer(policy: MlpPolicy) -> tuple[Tensor, Tensor]:
    layer = policy.encoder
    if isinstance(layer, FloatLinear) and bool(layer.shift.any() or (layer.scale != 1).any()):
        weight, bias = layer.plain()
        return weight.data, bias.data
    return layer.weight.data, layer.bias.data


def to_sb3_policy(policy: Policy) -> dict[str, Tensor]:
    """State dict (copies) for an `ActorCriticPolicy` or `MaskableActorCriticPolicy` with the same layers.

    Raises:
        OptionError: the policy is not an `MlpPolicy`.
    """
    return {name: tensor.clone() for name, tensor in network_of(policy).weights.items()}


def from_sb3(source: str | Path | BaseAlgorithm, game: str | Game) -> MlpPolicy:
    """Our policy with the weights of a Stable-Baselines3 model: its .zip, or the model itself.

    Raises:
        CheckpointError: the file is missing or damaged, its layers are not supported, or it does not fit the game.
    """
    made = make_game(game)
    name = str(source) if isinstance(source, str | Path) else type(source).__name__
    network = read_sb3(source) if isinstance(source, str | Path) else _of_model(source)
    policy = build_policy(network.spec, made.facts)
    assert isinstance(policy, MlpPolicy)
    copy_weights(name, network, policy, made.id)
    return policy


def sb3_agent(
    source: str | Path | BaseAlgorithm, game: str | Game, deterministic: bool = True, seed: int = 0
) -> NeuralAgent:
    """An agent that plays as a model of Stable-Baselines3 does: `PPO`, `A2C` or `MaskablePPO` with its `MlpPolicy`.

    It never plays an illegal action, also where the model was trained without masks.

    Args:
        source: its .zip, or the model itself.
        game: to play.
        deterministic: play the most probable legal action; else sample.
        seed: of the draws.

    Raises:
        CheckpointError: as for `from_sb3`.
    """
    name = Path(source).stem if isinstance(source, str | Path) else type(source).__name__
    return NeuralAgent(from_sb3(source, game), name, deterministic, seed)


def copy_weights(source: str | Path, network: Sb3Network, policy: Policy, game: str) -> None:
    """Copy the weights of a network into a policy with towers of the same layers.

    Args:
        source: name of the network in error messages, such as its file.
        network: to copy from.
        policy: an `MlpPolicy` with `separate_value`.
        game: id of the policy's game.

    Raises:
        OptionError: the policy is not an `MlpPolicy`.
        CheckpointError: network and policy differ in sizes, layers or activation; nothing was copied.
    """
    own = network_of(policy, game)
    if (network.observations, network.actions) != (own.observations, own.actions):
        raise CheckpointError(f"{source}: {network} does not fit {own}; it is of another game, or of other options")
    if network[:3] != own[:3]:
        raise CheckpointError(f"{source}: {network} does not fit {own}; give {network.layers}")
    for name, tensor in own.weights.items():
        tensor.copy_(network.weights[name])


def is_sb3_file(file: str | Path) -> bool:
    """Whether a file is a zip archive, as written by Stable-Baselines3, whatever its name."""
    try:
        with Path(file).open("rb") as handle:
            return handle.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_sb3(file: str | Path) -> Sb3Network:
    """The network in a model's .zip; no pickle in it is loaded.

    Raises:
        CheckpointError: missing, damaged, or not two towers of equal layers with relu or tanh.
    """
    try:
        with ZipFile(file) as archive:
            data, raw = parse_json(read_member(archive, "data")), read_member(archive, "policy.pth")
        activation = str((data.get("policy_kwargs") or {}).get("activation_fn", nn.Tanh))
        game = data.get(GAME)
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: no such file") from error
    except DataError as error:
        raise CheckpointError(str(error)) from error
    except (BadZipFile, zlib.error, KeyError, ValueError, AttributeError, EOFError, OSError) as error:
        raise _unreadable(file, error) from error
    return _network(str(file), _tensors(file, raw), activation, game)


def _tensors(file: str | Path, raw: bytes) -> Any:
    try:
        check_zip(io.BytesIO(raw), file, sums=True)
        return torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except DataError as error:
        raise CheckpointError(str(error)) from error
    except pickle.UnpicklingError as error:
        raise _unreadable(file, "policy.pth holds more than tensors") from error
    except Exception as error:  # torch raises many kinds of errors on damaged data
        raise _unreadable(file, error) from error


def _unreadable(file: str | Path, reason: object) -> CheckpointError:
    return CheckpointError(f"{file}: not a model of Stable-Baselines3, or damaged ({reason}); nothing was loaded")


def _of_model(model: Any) -> Sb3Network:
    policy = getattr(model, "policy", model)
    weights = {name: tensor.detach().cpu() for name, tensor in policy.state_dict().items()}
    return _network(type(model).__name__, weights, str(policy.activation_fn), getattr(model, GAME, None))


def _network(source: str, weights: Any, activation: str, game: Any) -> Sb3Network:
    """The network, after a check that all names and shapes are those of two towers of equal layers."""
    if not isinstance(weights, Mapping) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise _unreadable(source, "no tensors by name")
    activations = {kind.__name__: name for name, kind in ACTIVATIONS.items()}
    used = re.findall(r"\w+", activation)[-1]
    if used not in activations:
        raise CheckpointError(f"{source}: activation {used}; networks here have {' or '.join(activations)}")
    widths = [_widths(weights, tower) for tower in TOWERS]
    if widths[0] != widths[1] or not widths[0]:
        raise CheckpointError(
            f"{source}: layers {widths[0]} for the policy and {widths[1]} for the value; networks here have the same ones in both"
        )
    try:
        sizes = weights[f"{TOWERS[0]}.0.weight"].shape[1], len(weights["action_net.bias"])
        network = Sb3Network(widths[0], activations[used], True, *sizes, weights, str(game) if game else None)
        found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    except (KeyError, IndexError) as error:
        raise _unreadable(source, f"{error} is missing") from error
    if found != (expected := _shapes(network)):
        odd = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        raise CheckpointError(f"{source}: not the weights of an MlpPolicy: {', '.join(odd)} differ")
    refuse_not_finite(source, weights)
    return network


def _widths(weights: Mapping[str, Tensor], tower: str) -> tuple[int, ...]:
    """Width of each layer of a tower; layers stand at even places, activations between them."""
    found: list[int] = []
    while (bias := weights.get(f"{tower}.{2 * len(found)}.bias")) is not None:
        found.append(bias.numel())
    return tuple(found)


def _shapes(network: Sb3Network) -> dict[str, tuple[int, ...]]:
    sizes, last = (network.observations, *network.hidden), network.hidden[-1]
    layers = {f"{tower}.{2 * k}": sizes[k : k + 2] for tower in TOWERS for k in range(len(network.hidden))}
    layers |= {"action_net": (last, network.actions), "value_net": (last, 1)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (size, width) in layers.items():
        shapes |= {f"{name}.weight": (width, size), f"{name}.bias": (width,)}
    return shapes


def _linears(tower: nn.Module) -> list[nn.Linear]:
    return [layer for layer in tower.children() if isinstance(layer, nn.Linear)]


def _named(name: str, layer: nn.Linear) -> dict[str, Tensor]:
    return {f"{name}.weight": layer.weight.data, f"{name}.bias": layer.bias.data}
