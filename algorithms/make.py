"""`make_algorithm` and `load`: an algorithm by its id, or by the checkpoint that it wrote."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ludory.agents.networks.build import PolicySpec
from ludory.checkpoints.learner_folder import saved_class
from ludory.errors import OptionError, PluginError
from ludory.plugins import algorithms

from .algorithm import Algorithm
from .learner import Learner


def make_algorithm(id: str, env: Any, policy: str | PolicySpec = "auto", **config: Any) -> Algorithm:
    """Make an algorithm that learns on `env`; a name without a version (`ppo`) means the newest version.

    Args:
        id: e.g. "ppo" or "ppo-v1".
        env: id of a game, a `Game`, or an environment: see `Algorithm`.
        policy: name of a network; "auto": the default for the game.
        config: fields of the algorithm's config.

    Returns:
        An `Algorithm`; "league" and "flywheel", which run other learners, return a `Learner` without a policy and an engine.

    Raises:
        UnknownIdError: naming the nearest ids.
        OptionError: a field does not exist or its value is not allowed.
        PluginError: the algorithm's package is broken or lacks a dependency.
    """
    kind: Any = _learner(algorithms.load(id), f"algorithm {id!r}")
    made: Algorithm = kind(policy, env, **algorithms.get(id).fixed, **config)
    return made


def load(file: str | Path, env: Any = None) -> Algorithm:
    """Load what `Learner.save` wrote, a file or a folder; returns as `make_algorithm`.

    Raises:
        CheckpointError: the file is unreadable or not a checkpoint, or its algorithm is not installed.
        OptionError: `file` is not a path.
    """
    if not isinstance(file, str | PathLike):
        raise OptionError(f"load({file!r}): must be the path of a checkpoint, such as 'runs/model.ludory'")
    kind: Any = _learner(saved_class(file), str(file))
    loaded: Algorithm = kind.load(file, env)
    return loaded


def _learner(kind: type[Any], source: str) -> type[Learner]:
    if not issubclass(kind, Learner):
        raise PluginError(
            f"{source}: {kind.__name__} must be a subclass of ludory.algorithms.algorithm.Algorithm, "
            "or of ludory.algorithms.learner.Learner if it has no policy of its own"
        )
    return kind
