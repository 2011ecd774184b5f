"""Nim as an AEC environment of PettingZoo: a game in turns with an `action_mask`, which knows nothing of Ludory."""

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv


class Nim(AECEnv):
    """Take one or two of five sticks in turn; who takes the last one wins."""

    metadata = {"render_modes": [], "name": "nim_v0", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.possible_agents, self.render_mode = ["first", "second"], None

    def observation_space(self, agent):
        return spaces.Dict({"observation": spaces.MultiBinary(6), "action_mask": spaces.Box(0, 1, (2,), np.int8)})

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents, self.sticks, self.agent_selection = self.possible_agents[:], 5, "first"
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0), dict.fromkeys(self.agents, 0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        mask = np.array([self.sticks >= 1, self.sticks >= 2], np.int8)
        return {"observation": np.eye(6, dtype=np.int8)[self.sticks], "action_mask": mask}

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._clear_rewards()
        self.sticks -= action + 1
        other = self.possible_agents[1 - self.possible_agents.index(agent)]
        if self.sticks == 0:
            self.rewards = {agent: 1, other: -1}
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = other


env = Nim
