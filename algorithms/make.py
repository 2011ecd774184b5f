"""`make_algorithm` and `load`: an algorithm by its id, or by the checkpoint that it wrote."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ludory.agents.networks.build import PolicySpec
from ludory.checkpoints.learner_folder import saved_class
from ludory.envs.make import make_game
from ludory.errors import OptionError, PluginError
from ludory.plugins import algorithms

from .algorithm import Algorithm
from .learner import Learner


def make_algorithm(
    id: str,
    env: Any = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    verbose: int = 0,
    tensorboard_log: str | Path | None = None,
    **config: Any,
) -> Algorithm:
    """Make an algorithm that learns on `env`; a name without a version (`ppo`) means the newest version.

    Args:
        id: e.g. "ppo" or "ppo-v1".
        env: id of a game, a `Game`, or an environment: see `Algorithm`; None: the game of the recorded games in `dataset=`.
        policy: name of a network; "auto": the default for the game.
        tuned: use tuned settings for the game, as `ludory train` does, where there are some; those of the last stage
            (`ludory.train` goes through all stages). Fields in `config` win. `env` must be an id.
        verbose: 1: print a table of metrics after every iteration, as in Stable-Baselines3.
        tensorboard_log: folder for TensorBoard.
        config: fields of the algorithm's config.

    Returns:
        An `Algorithm`; "league" and "flywheel", which run other learners, return a `Learner` without a policy and an engine.

    Raises:
        UnknownIdError: naming the nearest ids.
        OptionError: a field does not exist or its value is not allowed.
        PluginError: the algorithm's package is broken or lacks a dependency.
    """
    kind: Any = _learner(algorithms.load(id), f"algorithm {id!r}")
    config = {**algorithms.get(id).fixed, **config}
    if tuned:
        policy, env, config = _with_tuned(id, policy, env, config)
    made: Algorithm = kind(policy, env, **config)
    made.verbose, made.tensorboard_log = verbose, tensorboard_log
    return made


def _with_tuned(
    id: str, policy: str | PolicySpec, env: Any, config: dict[str, Any]
) -> tuple[str | PolicySpec, Any, dict[str, Any]]:
    from .tuned.settings import tuned_for

    if not isinstance(env, str):
        raise OptionError(f"tuned=True needs env= as the id of a game, got {env!r}; leave tuned out, or name the game")
    found = tuned_for(id, make_game(env))
    if found is None:
        return policy, env, config
    last = found.parts[-1]
    game = make_game(env, **{**found.options, **last.options})
    return (found.policy if policy == "auto" else policy), game, {**found.settings, **last.settings, **config}


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
