"""`make_algorithm` and `load`: an algorithm by its id, or by the checkpoint that it wrote."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from typing_extensions import Unpack

from ludory.agents.networks.build import PolicySpec
from ludory.checkpoints.hub import local_path
from ludory.checkpoints.learner_folder import saved_class
from ludory.envs.make import EnvLike, make_game
from ludory.errors import OptionError, PluginError
from ludory.plugins import algorithms

from .algorithm import Algorithm
from .keywords import AZKeywords, BCKeywords, DistillKeywords, PPOKeywords, SB3PPOKeywords, VTraceKeywords
from .learner import Learner

if TYPE_CHECKING:  # loaded by id
    from .az import AZ
    from .bc import BC
    from .distill import Distill
    from .ppo import PPO
    from .sb3_ppo import SB3PPO
    from .vtrace import VTrace

    class NoSuchOptionOrType(Protocol):
        """What `make_algorithm` gets an option for that the algorithm's config lacks, or one of another type."""


@overload
def make_algorithm(
    id: Literal["az", "az-v1"],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Unpack[AZKeywords],
) -> AZ: ...
@overload
def make_algorithm(
    id: Literal["bc", "bc-v1"],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Unpack[BCKeywords],
) -> BC: ...
@overload
def make_algorithm(
    id: Literal["distill", "distill-v1"],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Unpack[DistillKeywords],
) -> Distill: ...
@overload
def make_algorithm(
    id: Literal["ppo", "ppo-v1"],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Unpack[PPOKeywords],
) -> PPO: ...
@overload
def make_algorithm(
    id: Literal["sb3_ppo", "sb3_ppo-v1"],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Unpack[SB3PPOKeywords],
) -> SB3PPO: ...
@overload
def make_algorithm(
    id: Literal["vtrace", "vtrace-v1"],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Unpack[VTraceKeywords],
) -> VTrace: ...
@overload  # else what fits none of these would pass for the id of a package
def make_algorithm(
    id: Literal[
        "az",
        "az-v1",
        "bc",
        "bc-v1",
        "distill",
        "distill-v1",
        "ppo",
        "ppo-v1",
        "sb3_ppo",
        "sb3_ppo-v1",
        "vtrace",
        "vtrace-v1",
    ],
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    **config: Any,
) -> NoSuchOptionOrType: ...
@overload
def make_algorithm(
    id: str,
    env: EnvLike | None = None,
    policy: str | PolicySpec = "auto",
    *,
    tuned: bool = False,
    verbose: int = 0,
    tensorboard_log: str | Path | None = None,
    **config: Any,
) -> Algorithm: ...
def make_algorithm(
    id: str,
    env: EnvLike | None = None,
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
    id: str, policy: str | PolicySpec, env: EnvLike | None, config: dict[str, Any]
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


def load(file: str | Path, env: EnvLike | None = None) -> Algorithm:
    """Load what `Learner.save` wrote, a file, a folder or an agent on the Hugging Face hub (`hf://owner/name`, `hf://owner/name@revision`).

    Returns as `make_algorithm`.

    Raises:
        CheckpointError: the file is unreadable or not a checkpoint, or its algorithm is not installed.
        HubError: the hub cannot be reached or refuses, or what it has is damaged.
        OptionError: `file` is not a path.
    """
    if not isinstance(file, str | PathLike):
        raise OptionError(f"load({file!r}): must be the path of a checkpoint, such as 'runs/model.ludory'")
    file = local_path(file)
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
