"""RLlib's own wrappers take the PettingZoo views: its multi-agent environments play whole games with legal masks."""

import numpy as np
import pytest
from games.external import relay

from ludory.envs.views import make_aec, make_parallel

wrappers = pytest.importorskip(
    "ray.rllib.env.wrappers.pettingzoo_env",
    reason="RLlib is not installed; type: pip install 'ray[rllib]'",
    exc_type=ImportError,
)


def played(env):
    """Returns of a game of random legal moves, and the agents that moved in each step."""
    rng, returns, movers = np.random.default_rng(1), dict.fromkeys(env.possible_agents, 0.0), []
    observations, _ = env.reset(seed=1)
    over = False
    while not over:
        for agent, seen in observations.items():
            assert env.get_observation_space(agent).contains(seen)
        actions = {agent: int(rng.choice(np.flatnonzero(seen["action_mask"]))) for agent, seen in observations.items()}
        movers.append(set(actions))
        observations, rewards, terminated, truncated, _ = env.step(actions)
        for agent, reward in rewards.items():
            returns[agent] += reward
        over = terminated["__all__"] or truncated["__all__"]
    return returns, movers


def test_games_in_turns_ask_one_agent_at_a_time():
    returns, movers = played(wrappers.PettingZooEnv(make_aec("LeducPoker-v0")))
    assert all(len(movers_of_step) == 1 for movers_of_step in movers)
    assert len(set.union(*movers)) == 2
    assert sum(returns.values()) == 0
    assert max(returns.values()) > 0


def test_simultaneous_games_ask_all_agents():
    env = wrappers.ParallelPettingZooEnv(make_parallel(relay()))
    returns, movers = played(env)
    assert all(len(movers_of_step) == 2 for movers_of_step in movers)
    assert len(set(returns.values())) == 1, "its rewards are shared"
