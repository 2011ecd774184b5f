"""`make_agent`: an agent by its name."""

from __future__ import annotations

import logging
from typing import Any

from ludory.envs import Game, make_game
from ludory.envs.conventions import check_conventions
from ludory.errors import CheckpointError, OptionError, PluginError
from ludory.plugins import agents, parse_spec
from ludory.plugins.registry import call

from .agent import Agent

_log = logging.getLogger(__name__)


def make_agent(spec: object, game: str | Game) -> Agent:
    """The agent that `spec` names, for `game` (an id or a `Game`). An `Agent` is returned as it is, a trained model as its agent.

    A spec is an id (`hanabi/iggi`), an id with arguments (`random(seed=3)`), the path of a checkpoint (`run/hanabi.ludory`) or of
    a model's .zip that Stable-Baselines3 wrote, or the name of an agent on the Hugging Face hub (`hf://owner/name`, `hf://owner/name@revision`).

    Raises:
        UnknownIdError: no such agent; names the nearest ids.
        OptionError: the spec cannot be parsed, or the agent does not take these arguments or this game.
        CheckpointError: the file cannot be read, or was trained on a game with different observations or actions.
        HubError: the hub cannot be reached or refuses, or what it has is damaged.
        PluginError: the agent's package is broken or lacks a dependency.
    """
    if isinstance(spec, Agent):
        return spec
    made = make_game(game)
    if not isinstance(spec, str):
        return _from_model(spec, made, type(spec).__name__)
    parsed = parse_spec(spec)
    if parsed.checkpoint:
        from ludory.agents.networks.import_sb3 import is_sb3_file, sb3_agent  # imports torch, as does the next
        from ludory.checkpoints.hub import local_path
        from ludory.checkpoints.learner_folder import saved_class

        file = local_path(parsed.name)
        if is_sb3_file(file):
            return _checked(call(parsed.name, sb3_agent, file, made, *parsed.args, **parsed.kwargs), parsed.name)
        model = saved_class(file).load(file)
        return _from_model(model, made, parsed.name, *parsed.args, **parsed.kwargs)
    entry = agents.get(parsed.name)
    for name in parsed.kwargs:
        if name in entry.fixed:
            raise OptionError(f"agent {spec!r}: {entry.id} fixes {name}={entry.fixed[name]!r}; leave it out")
    seed = parsed.kwargs.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise OptionError(f"agent {spec!r}: seed={seed!r} must be an integer of at least 0")
    agent = call(entry.id, agents.load(parsed.name), made, *parsed.args, **{**entry.fixed, **parsed.kwargs})
    return _checked(agent, entry.id)


def _from_model(model: Any, game: Game, name: str, *args: Any, **kwargs: Any) -> Agent:
    if not callable(getattr(model, "as_agent", None)):
        raise OptionError(
            f"agent {model!r}: must be the name of an agent, a checkpoint's path, an Agent or a trained model"
        )
    if callable(getattr(model, "agent_for", None)):  # it does not play by observations
        return _checked(call(name, model.agent_for, game, *args, **kwargs), name)
    check_conventions(model.game.records.conventions, game, name)
    agent = _checked(call(name, model.as_agent, *args, **kwargs), name)
    learnt, asked = model.game.facts, game.facts
    if (learnt.observation, learnt.heads, learnt.box) != (asked.observation, asked.heads, asked.box):
        _look_as_trained(agent, model.game, game, name)
    return agent


def _look_as_trained(agent: Agent, learnt: Game, game: Game, name: str) -> None:
    """Let a network see `game` by the observation that it was trained with.

    Raises:
        CheckpointError: it cannot.
    """
    from .neural import NeuralAgent, seen_game  # imports torch

    seen = seen_game(game, learnt)
    if seen is None or not isinstance(agent, NeuralAgent):
        raise CheckpointError(
            f"{name}: trained on {learnt.id} (a seat {_shapes(learnt)}), so it cannot play {game.id} "
            f"(a seat {_shapes(game)}); name its own game, --game {learnt.id}"
        )
    agent.sees = seen
    _log.info("%s sees observation=%s, as it was trained", name, seen.options["observation"])


def _shapes(game: Game) -> str:
    facts = game.facts
    numbers = " x ".join(map(str, facts.observation.shape))
    actions = " x ".join(map(str, facts.head_sizes))
    return f"sees {facts.observation.name!r} of {numbers} numbers and has {actions} actions"


def _checked(agent: object, name: str) -> Agent:
    if not isinstance(agent, Agent):
        raise PluginError(f"agent {name!r} is a {type(agent).__name__}, must be a ludory.agents.agent.Agent")
    return agent
