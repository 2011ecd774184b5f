"""Policies by id and arguments, so that a checkpoint can build one again."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from ludory.envs.game import GameFacts
from ludory.errors import OptionError
from ludory.plugins.spec import parse_spec

from .policy import Policy

POLICIES = {
    "mlp": "mlp:MlpPolicy",
    "gru": "gru:GruPolicy",
    "residual": "residual:ResidualPolicy",
    "transformer": "transformer:TransformerPolicy",
    "hanabi_gru": "hanabi_gru:HanabiGruPolicy",
    "domino": "domino:DominoTransformer",
}
"""Id -> module of this folder and class."""
ALIASES = {"auto": "mlp", "MlpPolicy": "mlp"}


class PolicySpec(NamedTuple):
    """A policy by name."""

    id: str
    arguments: Mapping[str, Any]


def parse_policy(text: str | PolicySpec) -> PolicySpec:
    """`PolicySpec("gru", {"memory_size": 64})` for "gru(memory_size=64)".

    Raises:
        OptionError: there is no such policy, or it has no such argument.
    """
    if isinstance(text, PolicySpec):
        spec = text
    else:
        parsed = parse_spec(text)
        if parsed.args:
            raise OptionError(f"policy {text!r}: arguments are given by name, such as {parsed.name}(hidden=(256,))")
        spec = PolicySpec(ALIASES.get(parsed.name, parsed.name), parsed.kwargs)
    accepted = list(_defaults(spec.id))
    for key in spec.arguments:
        if key not in accepted:
            raise OptionError(f"policy {spec.id!r} has no argument {key!r}; it has {', '.join(accepted)}")
    return spec


def complete(spec: PolicySpec, wishes: Mapping[str, Any]) -> PolicySpec:
    """`spec` with every argument named: its own, else that of `wishes` (where one is given), else the policy's default.

    Raises:
        OptionError: a wish that the policy can not fulfil.
    """
    defaults = _defaults(spec.id)
    wanted = {key: value for key, value in wishes.items() if value}
    for key, value in wanted.items():
        if key not in defaults:
            raise OptionError(f"{key}={value!r}: policy {spec.id!r} has no such argument; it has {', '.join(defaults)}")
    return PolicySpec(spec.id, {**defaults, **wanted, **spec.arguments})


def build_policy(spec: PolicySpec, facts: GameFacts) -> Policy:
    """The network, with fresh weights from torch's generator.

    Raises:
        OptionError: values that the policy does not take.
    """
    arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in spec.arguments.items()}
    try:
        return policy_class(spec.id)(facts, **arguments)
    except TypeError as error:
        raise OptionError(f"policy {spec.id!r} with {arguments}: {error}") from error


def policy_class(id: str) -> type[Policy]:
    """The class of a policy.

    Raises:
        OptionError: there is no such policy.
    """
    if id not in POLICIES:
        raise OptionError(f"policy {id!r}: must be one of {', '.join(map(repr, POLICIES))}")
    module, _, attribute = POLICIES[id].partition(":")
    kind: type[Policy] = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    return kind


def _defaults(id: str) -> dict[str, Any]:
    parameters = list(inspect.signature(policy_class(id)).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}
