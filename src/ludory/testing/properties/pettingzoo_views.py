"""Properties of the PettingZoo views: they show the games of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.testing.properties.gymnasium_views import compare_forms, form_of
from ludory.testing.recording import Array, Moment, record, segment_place
from ludory.testing.script import move_of
from ludory.testing.trial import Trial, require

SEEDS = 3

Outcome = tuple[dict[str, float], dict[str, bool], dict[str, bool]]
"""Rewards, terminations and truncations by agent."""


def pettingzoo_aec_agrees(trial: Trial) -> None:
    """`make_aec` shows every agent the observations, masks, rewards and ends of the engine."""
    for seed in range(trial.seed, trial.seed + SEEDS):
        recording = record(trial.engine(games=1, seed=seed), trial.generator(f"aec {seed}"))
        env = make_aec(trial.game, illegal="raise")
        env.reset(seed=seed)
        forms = {agent: form_of(info) for agent, info in env.infos.items()}
        for step, moment in enumerate(recording.moments):
            seen = {agent: env.observe(agent) for agent in env.agents}
            idle = np.zeros(trial.facts.num_actions, np.int8)
            _compare_seen(trial, seen, moment, idle, f"seed {seed}, step {step}")
            _compare_outcome((env.rewards, env.terminations, env.truncations), moment, f"seed {seed}, step {step}")
            _compare_infos(env.infos, forms, f"seed {seed}, step {step}")
            if step < len(recording.actions):
                _step_aec(trial, env, moment, recording.actions[step][0], f"seed {seed}, step {step}")


def _step_aec(trial: Trial, env: Any, moment: Moment, action: Array, where: str) -> None:
    """One move, or one round of a simultaneous game, agent after agent; those that are out come first, for the last time."""
    dead = [agent for agent in env.agents if env.terminations[agent]]
    for agent in dead:
        require(env.agent_selection == agent, f"{where}: agent_selection is {env.agent_selection}, {agent} is out")
        env.step(None)
    seats = np.flatnonzero(moment.alive[0]).tolist() if trial.facts.simultaneous else [int(moment.to_move[0])]
    for seat in seats:
        agent = env.possible_agents[seat]
        require(env.agent_selection == agent, f"{where}: agent_selection is {env.agent_selection}, {agent} is to move")
        env.step(_typed(move_of(trial.facts, action, seat)))


def pettingzoo_parallel_agrees(trial: Trial) -> None:
    """`make_parallel` shows every agent the observations, masks, rewards and ends of the engine; agents not to move wait."""
    for seed in range(trial.seed, trial.seed + SEEDS):
        recording = record(trial.engine(games=1, seed=seed), trial.generator(f"parallel {seed}"))
        env = make_parallel(trial.game, illegal="raise")
        seen, infos = env.reset(seed=seed)
        forms = {agent: form_of(info) for agent, info in infos.items()}
        idle = _waiting_mask(trial)
        zero, no = dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, False)
        outcome: Outcome = (zero, no, no)
        for step, moment in enumerate(recording.moments):
            where = f"seed {seed}, step {step}"
            _compare_seen(trial, seen, moment, idle, where)
            _compare_outcome(outcome, moment, where)
            _compare_infos(infos, forms, where)
            living = [agent for agent, alive in zip(env.possible_agents, moment.alive[0], strict=True) if alive]
            require(env.agents == living, f"{where}: agents are {env.agents}, must be {living}")
            if step < len(recording.actions):
                joint = _joint_action(trial, env.possible_agents, moment, recording.actions[step][0])
                seen, rewards, terminated, truncated, infos = env.step(joint)
                outcome = (rewards, terminated, truncated)


def _waiting_mask(trial: Trial) -> Array:
    """Mask of a seat that is not to move: only "wait", an additional action; with several heads every value."""
    count, one_head = trial.facts.num_actions, len(trial.facts.heads) == 1
    return np.append(np.zeros(count, np.int8), np.int8(1)) if one_head else np.ones(count, np.int8)


def _joint_action(trial: Trial, agents: list[str], moment: Moment, action: Array) -> dict[str, Any]:
    facts = trial.facts
    if facts.simultaneous:
        return {agent: _typed(move_of(facts, action, seat)) for seat, agent in enumerate(agents)}
    wait = facts.num_actions if len(facts.heads) == 1 else np.zeros(len(facts.heads), np.int64)
    mover = agents[int(moment.to_move[0])]
    return dict.fromkeys(agents, wait) | {mover: _typed(move_of(facts, action, None))}


def _typed(action: Array) -> Any:
    return action if action.ndim else int(action)


def _compare_seen(trial: Trial, seen: dict[str, Any], moment: Moment, idle: Array, where: str) -> None:
    """Compare observation and mask of every agent with game 0 of `moment`."""
    for agent, view in seen.items():
        seat = _seat(agent)
        expected = moment.observations[0, seat]
        for entry in np.flatnonzero(view["observation"] != expected)[:1]:
            values = f"{view['observation'].flat[entry]}, the engine's {expected.flat[entry]}"
            require(False, f"{where}: {agent} sees {segment_place(trial.facts, int(entry))} = {values}")
        mask = _expected_mask(trial, moment, seat, idle)
        require(
            np.array_equal(view["action_mask"], mask),
            f"{where}: {agent} has the mask {view['action_mask'].tolist()}, must be {mask.tolist()}",
        )


def _expected_mask(trial: Trial, moment: Moment, seat: int, idle: Array) -> Array:
    if moment.over[0]:
        return np.ones(trial.facts.num_actions if trial.facts.simultaneous else len(idle), np.int8)
    if trial.facts.simultaneous:
        return np.asarray(moment.masks[0, seat], np.int8)
    if moment.to_move[0] != seat:
        return idle
    padded = np.zeros(len(idle), np.int8)
    padded[: trial.facts.num_actions] = moment.masks[0]
    return padded


def _compare_infos(infos: dict[str, dict[str, Any]], forms: dict[str, dict[str, str]], where: str) -> None:
    for agent, info in infos.items():
        compare_forms(form_of(info), forms[agent], f"{where}, {agent}")


def _seat(agent: str) -> int:
    return int(agent.removeprefix("player_"))


def _compare_outcome(got: Outcome, moment: Moment, where: str) -> None:
    for agent in got[0]:
        seat, mine = _seat(agent), tuple(part[agent] for part in got)
        expected = (float(moment.rewards[0, seat]), bool(moment.seat_terminated[0, seat]), bool(moment.truncated[0]))
        require(
            mine == expected, f"{where}: {agent} has (reward, terminated, truncated) {mine}, the engine's {expected}"
        )
