"""Policies by id and arguments, so that a checkpoint can rebuild them; `ludory list networks` lists the ids."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from ludory.checkpoints.checkpoint import install_hint
from ludory.envs import Game, GameFacts
from ludory.envs.conventions import check_conventions
from ludory.errors import CheckpointError, OptionError, PluginError, UnknownIdError
from ludory.plugins import networks, parse_spec

from .policy import Policy, refuse_not_finite

ALIASES = {"auto": "mlp", "MlpPolicy": "mlp"}


class PolicySpec(NamedTuple):
    """A policy by name."""

    id: str
    arguments: Mapping[str, Any]


class ImportedPolicy(NamedTuple):
    """A network of another program, its spec, and the game that it plays."""

    policy: Policy
    spec: PolicySpec
    game: Game


def parse_policy(text: str | PolicySpec) -> PolicySpec:
    """`PolicySpec("gru", {"memory_size": 64})` for "gru(memory_size=64)".

    A name without a version means the newest one; the spec names the version.

    Raises:
        UnknownIdError: no such network; names the nearest ids.
        OptionError: it has no such argument.
        PluginError: its package is broken or lacks a dependency.
    """
    if isinstance(text, PolicySpec):
        spec = PolicySpec(networks.get(text.id).id, text.arguments)
    else:
        if not isinstance(text, str):
            raise OptionError(f"policy={text!r}: must be the name of a network, such as 'mlp'; `ludory list networks`")
        parsed = parse_spec(text)
        if parsed.args:
            raise OptionError(f"policy {text!r}: arguments must be given by name, such as {parsed.name}(hidden=(256,))")
        spec = PolicySpec(networks.get(ALIASES.get(parsed.name, parsed.name)).id, parsed.kwargs)
    accepted = list(_defaults(spec.id))
    for key in spec.arguments:
        if key not in accepted:
            raise OptionError(f"policy {spec.id!r} has no argument {key!r}; it has {', '.join(accepted)}")
    return spec


def suited_policy(policy: str | PolicySpec, facts: GameFacts) -> str | PolicySpec:
    """`policy`, or the network that the game names where it is "auto"."""
    return facts.network if policy == "auto" and facts.network is not None else policy


def complete(spec: PolicySpec, wishes: Mapping[str, Any]) -> PolicySpec:
    """`spec` with every argument: its own, else that of `wishes` if given, else the policy's default.

    Raises:
        OptionError: the policy has no such argument, or lacks a required one.
    """
    defaults = _defaults(spec.id)
    wanted = {key: value for key, value in wishes.items() if value}
    for key, value in wanted.items():
        if key not in defaults:
            raise OptionError(f"{key}={value!r}: policy {spec.id!r} has no such argument; it has {', '.join(defaults)}")
    every = {**defaults, **wanted, **spec.arguments}
    for key, value in every.items():
        if value is inspect.Parameter.empty:
            raise OptionError(f"policy {spec.id!r} needs {key}=, as in {spec.id}({key}=...)")
    return PolicySpec(spec.id, every)


def build_policy(spec: PolicySpec, facts: GameFacts) -> Policy:
    """The network, with new weights from torch's generator.

    Raises:
        OptionError: invalid arguments.
    """
    arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in spec.arguments.items()}
    try:
        return policy_class(spec.id)(facts, **arguments)
    except TypeError as error:
        raise OptionError(f"policy {spec.id!r} with {arguments}: {error}") from error


def policy_class(id: str) -> type[Policy]:
    """The class of a network.

    Raises:
        UnknownIdError: no such network; names the nearest ids.
        PluginError: its package is broken, lacks a dependency, or provides something else.
    """
    loaded = networks.load(id)
    if not issubclass(loaded, Policy):
        raise PluginError(
            f"network {id!r}: {loaded.__name__} must be a subclass of ludory.agents.networks.policy.Policy"
        )
    return loaded


def saved_policy(file: str | Path, header: Mapping[str, Any]) -> PolicySpec:
    """The network that a checkpoint names.

    Raises:
        CheckpointError: its package is not installed, or of a version that has no such argument.
    """
    spec = PolicySpec(**header["policy"])
    try:
        return parse_policy(spec)
    except (UnknownIdError, OptionError, PluginError) as error:
        raise CheckpointError(
            f"{file}: its network is {spec.id!r}, which cannot be made here: {error}{install_hint(header, 'network')}"
        ) from error


def policy_of(file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor], game: Game) -> Policy:
    """The network that a checkpoint describes, with its weights, for `game`.

    Raises:
        CheckpointError: it does not fit the game.
    """
    policy = build_policy(saved_policy(file, header), game.facts)
    take_weights(policy, file, header, tensors, game)
    return policy


def take_weights(
    policy: Policy, file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor], game: Game
) -> None:
    """Load a checkpoint's weights.

    Raises:
        CheckpointError: they do not fit the game, or are not finite.
    """
    check_conventions(header["env"].get("conventions", {}), game, str(file))
    weights = {name.partition("/")[2]: tensor for name, tensor in tensors.items() if name.startswith("policy/")}
    refuse_not_finite(file, weights)
    try:
        policy.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"{file}: the network of a {header.get('algorithm')} on {header['env']['id']} does not fit {game.id} ({error})"
        ) from error


def _defaults(id: str) -> dict[str, Any]:
    parameters = list(inspect.signature(policy_class(id)).parameters.values())[1:]
    return {one.name: one.default for one in parameters if one.kind is not one.VAR_KEYWORD}
