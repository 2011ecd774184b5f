"""`make_algorithm` and `load`: an algorithm by its id, or by the checkpoint that it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ludory.agents.networks.build import PolicySpec
from ludory.errors import CheckpointError, PluginError, UnknownIdError
from ludory.plugins import algorithms

from .algorithm import Algorithm
from .checkpoint import read_header


def make_algorithm(id: str, env: Any, policy: str | PolicySpec = "auto", **config: Any) -> Algorithm:
    """The algorithm of an id, ready to learn on `env`; a name without version (`ppo`) means its newest one.

    Args:
        id: e.g. "ppo" or "ppo-v1".
        env: id of a game, a `Game`, or an environment: see `Algorithm`.
        policy: network by name; "auto" takes the one that suits the game.
        config: fields of the algorithm's config.

    Raises:
        UnknownIdError: naming the nearest ids.
        OptionError: a field does not exist or its value is not allowed.
        PluginError: the algorithm's package is broken or lacks a dependency.
    """
    return _class(id)(policy, env, **algorithms.get(id).fixed, **config)


def load(file: str | Path, env: Any = None) -> Algorithm:
    """What `Algorithm.save` wrote; the header of the file says which algorithm reads it.

    Raises:
        CheckpointError: the file is unreadable or foreign, or its algorithm is not installed.
    """
    id = str(read_header(file).get("algorithm"))
    try:
        algorithm = _class(id)
    except UnknownIdError as error:
        raise CheckpointError(f"{file}: written by the algorithm {id!r}, which is not installed ({error})") from error
    return algorithm.load(file, env)


def _class(id: str) -> type[Algorithm]:
    loaded = algorithms.load(id)
    if not issubclass(loaded, Algorithm):
        raise PluginError(
            f"algorithm {id!r}: {loaded.__name__} must be a subclass of ludory.algorithms.algorithm.Algorithm"
        )
    return loaded
