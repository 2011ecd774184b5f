"""Text games for `GRPOTrainer` of TRL, played by tool calls."""

from __future__ import annotations

from typing import Any

from ludory.envs import Game, TextEnv


class TextTool:
    """A text game that a model with tool calls plays: `GRPOTrainer(..., environment_factory=lambda: TextTool("Hanabi2P-v0"))`.

    The prompt of a row of `train_dataset` is followed by the game's rules and its first state; a column `seed` names its room or deal.
    """

    def __init__(self, game: str | Game, **options: Any) -> None:
        self._env = TextEnv(game, prompt_mode="no_think", **options)

    def reset(self, seed: int | None = None, **_: Any) -> str:
        """The first turn, which TRL appends to the prompt."""
        self._env.reset(seed)
        return self._env.observation

    def act(self, answer: str) -> str:
        """Execute actions in the game.

        Args:
            answer: The actions, as they would stand between the tags of an answer.

        Returns:
            What came of them, and the next state.
        """
        if not len(self._env.running):
            return "The game is over."
        return self._env.step(f"<answer>{answer}</answer>")[0]

    def get_reward(self) -> float:
        """The score of the episode."""
        return float(self._env.scores[0])
