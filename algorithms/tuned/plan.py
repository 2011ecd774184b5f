"""`plan_training`: the stages of a training, each with its game, config and timesteps; `train`: all of them, in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ludory.agents.networks.build import PolicySpec
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.config import LEAGUE_GAMES, smaller_batches
from ludory.envs import Game, make_game
from ludory.errors import OptionError
from ludory.plugins import algorithms

from .settings import TunedSettings, tuned_for


class PlannedStage(NamedTuple):
    """One stage of a training.

    Args:
        name: in file names.
        game: to learn; None where a saved model brings it.
        config: fields of the algorithm's config.
        timesteps: of this stage.
        share: of the whole training.
        reduced: fields of the config that are smaller than usual because the training is short.
    """

    name: str
    game: Any
    config: dict[str, Any]
    timesteps: int
    share: float
    reduced: tuple[str, ...] = ()


def plan_training(
    kind: type[Algorithm],
    tuned: TunedSettings | None,
    make: Callable[[Mapping[str, Any]], Game],
    read: Callable[[Any], dict[str, Any]],
    timesteps: int | None,
    defaults: Mapping[str, Any] | None = None,
) -> list[PlannedStage]:
    """The stages of a training; one where there are no tuned settings.

    Args:
        kind: class of the algorithm.
        tuned: settings to begin from; None: those of the class.
        make: the game with these options, unless the user chose others.
        read: the fields of a config, given one with the defaults; what the user chose wins.
        timesteps: in all; None: as tuned, else the learner's own default, which the stage says with 0.
        defaults: other defaults of fields, such as those of a preset; only where there are no tuned settings.
    """
    total = timesteps or (tuned.timesteps if tuned else 0)
    if tuned is None:
        game = make({})
        default, reduced = _default(kind, game, defaults or {}, timesteps)
        return [PlannedStage("whole", game, read(default), total, 1.0, reduced)]
    plan = []
    for stage in tuned.parts:
        game = make({**tuned.options, **stage.options})
        length = max(1, round(total * stage.share))
        default, reduced = _default(kind, game, {**tuned.settings, **stage.settings}, timesteps and length)
        plan.append(PlannedStage(stage.name, game, read(default), length, stage.share, reduced))
    return plan


def _default(kind: Any, game: Game, settings: Mapping[str, Any], timesteps: int | None) -> tuple[Any, tuple[str, ...]]:
    """The config that a stage begins with, and the names of fields that `smaller_batches` changed."""
    config = kind.config_class(**{**kind.suited_to(game), **settings})
    smaller = smaller_batches(config, timesteps) if timesteps else {}
    return dataclasses.replace(config, **smaller), tuple(smaller)


def _league_learner(fields: Mapping[str, Any]) -> Any:
    """The config of the players of a league, given the fields of its own."""
    learner: Any = algorithms.load(fields["learner"])
    return learner.config_class(**{"num_envs": LEAGUE_GAMES, **fields["learner_options"]})


def iteration_timesteps(fields: Mapping[str, Any]) -> int:
    """Least timesteps that a learner with these fields of its config trains at once; 0 where they do not say.

    A league trains an iteration of one of its players at once.
    """
    if "learner_options" in fields:
        fields = dataclasses.asdict(_league_learner(fields))
    return int(fields.get("num_envs", 0) * fields.get("n_steps", 0))


def said_iteration(fields: Mapping[str, Any], timesteps: int) -> str:
    """A line that says how much is trained where that is more than `timesteps`; empty elsewhere."""
    least = iteration_timesteps(fields)
    if not timesteps or least <= timesteps:
        return ""
    return f"trains at least {least:,} timesteps, which are one iteration, not {timesteps:,}; --num-envs and --n-steps make it smaller"


def train(
    algorithm: str,
    env: str,
    timesteps: int | None = None,
    *,
    policy: str | PolicySpec = "auto",
    tuned: bool = True,
    progress_bar: bool = False,
    options: Mapping[str, Any] | None = None,
    **config: Any,
) -> Algorithm:
    """Train an algorithm on a game, as `ludory train` does: with tuned settings and in their stages, where there are some.

    Args:
        algorithm: id, e.g. "ppo".
        env: id of a game.
        timesteps: decisions in all; None: as tuned, else the algorithm's default.
        policy: name of a network; "auto": as tuned, else the algorithm's default.
        tuned: use tuned settings.
        progress_bar: show rate and time left.
        options: of the game; they win over tuned ones.
        **config: fields of the algorithm's config; they win over tuned ones.

    Returns:
        The trained algorithm, on the game of the last stage.

    Raises:
        UnknownIdError, OptionError, PluginError: as `make_algorithm`.
    """
    kind: Any = algorithms.load(algorithm)
    if not isinstance(env, str):
        raise OptionError(
            f"env={env!r}: must be the id of a game; train on other games with make_algorithm(...).learn(...)"
        )
    fixed = {**algorithms.get(algorithm).fixed, **config}
    found = tuned_for(algorithm, make_game(env)) if tuned and policy == "auto" else None

    def read(default: Any) -> dict[str, Any]:
        return {**{field.name: getattr(default, field.name) for field in dataclasses.fields(default)}, **fixed}

    plan = plan_training(
        kind, found, lambda tuned_options: make_game(env, **{**tuned_options, **(options or {})}), read, timesteps
    )
    model: Any = None
    for stage in plan:
        before = model
        model = kind(found.policy if found else policy, stage.game, **stage.config)
        if before is not None:
            # a later stage goes on with the weights alone
            model.policy.load_state_dict(before.policy.state_dict())
        model.learn(stage.timesteps or model.planned_timesteps, progress_bar=progress_bar)
    trained: Algorithm = model
    return trained
