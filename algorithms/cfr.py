"""`CFR`: the learner around the tables of `regret.py`. A timestep is an iteration over the whole game tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from typing_extensions import Self, Unpack

from ludory.agents.evaluation.exploitability import (
    Table,
    check_told_apart,
    expected_returns,
    exploitability_of_table,
    tabular_agent,
)
from ludory.agents.networks.build import PolicySpec
from ludory.agents.tabular import TabularAgent
from ludory.algorithms.config import make_options
from ludory.algorithms.keywords import CFRKeywords
from ludory.algorithms.learner import Learner, game_to_load, needed_game
from ludory.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from ludory.envs.game import Game
from ludory.envs.game_tree import game_tree
from ludory.envs.make import EnvLike
from ludory.errors import CheckpointError, OptionError

from .cfr_config import CFRConfig
from .regret import RegretTables


class CFR(Learner):
    """Counterfactual regret minimisation over the whole tree of a game, without sampling.

    In games of two seats with opposed interests the average strategy converges to a Nash equilibrium. There is no network:
    `as_agent` returns a `TabularAgent`. Sources: see `ludory.algorithms.regret`.

    Args:
        policy: "auto"; there is no network.
        env: id of a game, a `Game`, or an environment of it.
        config: fields of `CFRConfig`.

    Raises:
        OptionError: the game is not of two seats with zero-sum rewards, its tree is too large or cannot be enumerated, or its
            observations do not tell the situations of a seat apart.
    """

    id = "cfr-v1"
    config_class = CFRConfig
    changeable = ("report_every",)
    config: CFRConfig

    def __init__(self, policy: str | PolicySpec, env: EnvLike | None = None, **config: Unpack[CFRKeywords]) -> None:
        if policy != "auto":
            raise OptionError(f"policy={policy!r}: {self.id} learns a table, without a network; leave policy out")
        game = needed_game(env, self.id)
        if game.facts.players != 2 or game.facts.reward != "zero_sum":
            raise OptionError(
                f"{self.id} learns games of two seats with zero-sum rewards; {game.name} has {game.facts.players} with "
                f"{game.facts.reward} rewards: choose ppo or vtrace"
            )
        super().__init__(game, make_options(CFRConfig, config))
        tree = game_tree(game, max_nodes=self.config.max_nodes)
        check_told_apart(tree)
        self.tables = RegretTables(tree, self.config.variant == "cfr+")
        """Regrets and averages."""

    @property
    def planned_timesteps(self) -> int:
        """Default number of iterations."""
        return 1000

    @property
    def average(self) -> Table:
        """(I, A) the average strategy, in the order of the information sets of `tables.tree`."""
        return self.tables.averages.table

    @property
    def exploitability(self) -> float:
        """Exact exploitability of the average strategy, see `ludory.exploitability`."""
        return exploitability_of_table(self.tables.tree, self.average)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """`report_every` iterations, then the exploitability and the value for seat 0."""
        for _ in range(self.config.report_every):
            self.tables.iterate()
            if not on_step():
                return None
        value = float(expected_returns(self.tables.tree, self.average)[0])
        return {"cfr/exploitability": self.exploitability, "cfr/value_seat_0": value}

    def as_agent(self, deterministic: bool = False, seed: int = 0) -> TabularAgent:
        """The average strategy as an agent; it draws its actions, as an equilibrium must."""
        return tabular_agent(self.tables.tree, self.average, self.id, deterministic, seed)

    def save(self, file: str | Path) -> None:
        """Write the tables, atomically."""
        tree = self.tables.tree
        tensors = {
            "regrets": self.tables.regrets,
            "sums": self.tables.averages.sums,
            "seats": tree.seats,
            "observations": tree.observations,
        }
        header = {
            "algorithm": self.id,
            "config": dataclasses.asdict(self.config),
            "env": {"id": self.game.id, "options": dict(self.game.options)},
            "num_timesteps": self.num_timesteps,
            "iterations": self.tables.iterations,
        }
        write_checkpoint(file, header, {name: torch.from_numpy(np.array(values)) for name, values in tensors.items()})

    @classmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """As `Learner.load`.

        Raises:
            CheckpointError: also where the game has other information sets now.
        """
        header, tensors = read_checkpoint(file)
        game: Game = game_to_load(cls, file, header, env)
        model = cls("auto", game, **{**header["config"], **changes})
        tables, tree = model.tables, model.tables.tree
        kept = {name: tensor.numpy() for name, tensor in tensors.items()}
        same = np.array_equal(kept["seats"], tree.seats) and np.array_equal(kept["observations"], tree.observations)
        if not same or kept["sums"].shape != tables.averages.sums.shape:
            raise CheckpointError(f"{file}: the rules or observations of {game.name} have changed since; train anew")
        tables.regrets[:], tables.averages.sums[:] = kept["regrets"], kept["sums"]
        tables.iterations, model.num_timesteps = int(header["iterations"]), int(header["num_timesteps"])
        return model
