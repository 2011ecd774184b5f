"""The files that `ludory new` writes, as templates: $name and such are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Scaffold(NamedTuple):
    """A package to be."""

    version: str
    """Added to the name to make the id."""
    files: Mapping[str, str]
    """Template of each file's text by template of its name."""


def _pyproject(group: str, attribute: str, what: str) -> str:
    return f'''[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$distribution"
version = "0.1.0"
description = "{what}"
requires-python = ">=3.10"
dependencies = ["ludory"]

[project.entry-points."ludory.{group}"]
"$id" = "$module:{attribute}"

[tool.setuptools]
py-modules = ["$module"]

[tool.pytest.ini_options]
pythonpath = ["."]
'''


_GAME = '''"""$name: two seats in turn add 1, 2 or 3 to a count; who says 21 wins.

Functions marked with `@kernel` are compiled: numbers and arrays only, and no index is checked.
`ludory check $id` plays a few games in plain Python first and names kernel, line and index of a fault.
"""

from __future__ import annotations

from typing import Any

from ludory.envs.chance import begin_episode
from ludory.envs.game import Field, Game, GameFacts, Head, Kernels, ObservationSpec, flat_segments, header
from ludory.envs.kernel import kernel

GOAL, LARGEST = 21, 3


@kernel
def reset(state: Any, i: int) -> None:
    """Start the next game of row i."""
    begin_episode(state, i)  # from here on, chance.draw(state, i, n) gives random numbers
    state.count[i] = 0
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state: Any, i: int, seat: int, mask: Any) -> None:
    """Nobody may go beyond the goal."""
    for action in range(LARGEST):
        mask[action] = int(state.count[i]) + action + 1 <= GOAL


@kernel
def step(state: Any, i: int, action: int) -> None:
    """Add to the count; rewards arrive as 0."""
    seat = int(state.to_move[i])
    state.count[i] += action + 1
    if int(state.count[i]) == GOAL:
        state.rewards[i, seat] = 1
        state.rewards[i, 1 - seat] = -1
        state.terminated[i] = True
    state.to_move[i] = 1 - seat


@kernel
def observe(state: Any, i: int, seat: int, out: Any) -> None:
    """The count, one-hot."""
    out[int(state.count[i])] = 1


def make_game() -> Game:
    """The game; keyword arguments of this function would be its options."""
    facts = GameFacts(
        name="$name",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=False,
        heads=(Head("add", LARGEST),),
        observation=ObservationSpec("count", (GOAL + 1,), "uint8", flat_segments({"count": GOAL + 1})),
        longest_game=GOAL,
        min_return=-1,
        max_return=1,
    )
    return Game(
        facts=facts,
        fields=header(players=2) | {"count": Field("int32", low=0, high=GOAL)},
        kernels=Kernels(reset, step, legal, observe),
        action_name=lambda head, action: f"add {action + 1}",
        info=lambda state, i: {"count": int(state.count[i])},
        text=lambda state, i, seat: f"count {int(state.count[i])} of {GOAL}",
    )
'''

_GAME_TEST = '''"""The rules of $name, and the contract of all games."""

from ludory.envs.make import make_engine
from ludory.testing import check_game

from $module import GOAL, make_game


def test_who_says_the_goal_wins() -> None:
    engine = make_engine(make_game())
    engine.reset()
    for _ in range(GOAL):
        engine.step([0])
    assert engine.terminated.all()
    assert engine.rewards.tolist() == [[1, -1]]


def test_the_game_keeps_the_contract() -> None:
    check_game(make_game())
'''

_AGENT = '''"""$name: an agent that takes the first legal action of each head."""

from __future__ import annotations

from typing import Any

import numpy as np
from ludory.agents.agent import Agent
from ludory.envs.game import Game


class ${class_name}Agent(Agent):
    """Plays any game, badly. `act` gets m observations at once and gives m actions."""

    name = "$id"

    def __init__(self, head_sizes: tuple[int, ...]) -> None:
        self.edges = np.cumsum(head_sizes)[:-1]

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        """Actions (m,) for one head, (m, H) for several; mask is (m, A) bool."""
        heads = np.split(mask, self.edges, axis=1)
        actions = np.stack([head.argmax(axis=1) for head in heads], axis=1)
        return (actions[:, 0] if len(heads) == 1 else actions), memory


def make(game: Game) -> Agent:
    """The agent for `game`; further keyword arguments would be its options."""
    return ${class_name}Agent(game.facts.head_sizes)
'''

_AGENT_TEST = '''"""$name plays whole games."""

from ludory import evaluate, make_game

from $module import make


def test_it_plays_whole_games_and_the_same_ones_again() -> None:
    game = make_game("HanabiTiny2P-v0")
    first, second = (evaluate([make(game), make(game)], game=game, games=20, seed=1) for _ in range(2))
    assert first.returns.shape == (20, 2)
    assert (first.returns == second.returns).all()
'''

_ALGORITHM = '''"""$name: actor-critic with one gradient step per batch (Williams 1992, with a learnt baseline)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from ludory.algorithms import Algorithm, AlgorithmConfig, load_adam, minibatches, save_adam
from torch import Tensor
from torch.nn.functional import mse_loss


@dataclass(frozen=True, slots=True)
class ${class_name}Config(AlgorithmConfig):
    """Options beside those that every algorithm has; the docstring of a field is its help text."""

    learning_rate: float = 1e-3
    """Step size of Adam."""
    n_steps: int = 32
    """Decisions per game and iteration."""
    batch_size: int = 1024
    """Decisions per gradient step."""


class ${class_name}(Algorithm):
    """The learner: the base class plays, logs, saves and loads."""

    id = "$id"
    config_class = ${class_name}Config
    config: ${class_name}Config

    def setup(self) -> None:
        """Make the optimiser."""
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=self.config.learning_rate)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """Play `n_steps` decisions in every game, then learn from each of them once."""
        rollout, _ = self.sampler.collect(self.policy, self.config.n_steps, self.generator, on_step)
        if rollout is None:
            return None
        advantages, returns = rollout.gae(gamma=1.0, lam=0.95)
        width, size = self.game.facts.num_actions, self.config.batch_size
        losses = []
        for batch in minibatches(rollout, advantages, returns, width, size, self.generator):
            output = self.policy(batch.observations)
            log_prob = self.policy.distribution(output.logits, batch.masks).log_prob(batch.actions).sum(-1)
            loss = 0.5 * mse_loss(output.values, batch.returns) - (log_prob * batch.advantages).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return {"train/loss": sum(losses) / len(losses)}

    def training_state(self) -> dict[str, Tensor]:
        """What a resumed run needs beside the weights."""
        return save_adam(self.optimizer)

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore it."""
        load_adam(self.optimizer, state)
'''

_ALGORITHM_TEST = '''"""$name learns, and its checkpoints play as it does."""

from pathlib import Path

from ludory import evaluate

from $module import ${class_name}

GAME = "HanabiTiny2P-v0"


def score(model: ${class_name}) -> float:
    return float(evaluate([model.as_agent()] * 2, game=GAME, games=200, seed=3).mean)


def test_it_learns_and_is_saved(tmp_path: Path) -> None:
    small = {"num_envs": 32, "n_steps": 16, "batch_size": 128, "hidden": (32,)}
    model = ${class_name}("auto", GAME, learning_rate=3e-3, seed=1, **small)
    before = score(model)
    model.learn(20_000)
    assert score(model) > before
    model.save(tmp_path / "model.ludory")
    assert score(${class_name}.load(tmp_path / "model.ludory")) == score(model)
'''

SCAFFOLDS: Mapping[str, Scaffold] = {
    "game": Scaffold(
        "-v0",
        {
            "pyproject.toml": _pyproject("games", "make_game", "The game $name for Ludory"),
            "$module.py": _GAME,
            "test_$module.py": _GAME_TEST,
        },
    ),
    "agent": Scaffold(
        "",
        {
            "pyproject.toml": _pyproject("agents", "make", "The agent $name for Ludory"),
            "$module.py": _AGENT,
            "test_$module.py": _AGENT_TEST,
        },
    ),
    "algorithm": Scaffold(
        "-v1",
        {
            "pyproject.toml": _pyproject("algorithms", "${class_name}", "The algorithm $name for Ludory"),
            "$module.py": _ALGORITHM,
            "test_$module.py": _ALGORITHM_TEST,
        },
    ),
}
"""By what `ludory new` can write."""
