"""`az(NETWORK, simulations=200)`: tree search with a policy network in games in which nothing is hidden, as AlphaZero plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.agents.networks.policy import Policy
from ludory.agents.neural import NeuralAgent
from ludory.envs import Array, Engine, Game, KernelEngine, Memory, on_host
from ludory.errors import OptionError

TEMPLATE = Path(__file__).parent / "gumbel.py"
NODES_AT_ONCE = 200_000
"""Nodes of all trees that are in memory at once, at least those of one tree."""


class SearchedPositions(NamedTuple):
    """What the search found for the seat to move in m games, (m, A) and (m,)."""

    actions: NDArray[np.int64]
    policies: NDArray[np.float64]
    """The improved policy, 0 for illegal actions."""
    values: NDArray[np.float64]
    """Mean return of the improved policy; the result where it is certain."""
    counts: NDArray[np.int32]
    """Simulations that began with an action, (m, A)."""


class NetworkSearch:
    """Gumbel AlphaZero's search, in lockstep: every simulation of all games is one forward pass of the network.

    Sequential halving at the root, completed values and a deterministic choice below it, so that few simulations suffice
    (Danihelka et al. 2022, "Policy improvement by planning with Gumbel").

    Args:
        game: of two seats with opposed interests, with kernels, one head of actions, nothing hidden and no chance.
        policy: network whose values are returns of the seat that sees; without a memory.
        simulations: per move.
        considered: most actions that are tried at the root.
        value_scale: weight of values beside logits (c_scale of the paper), of returns scaled to 0 to 1.

    Raises:
        OptionError: another kind of game or network, or a value that is not allowed.
    """

    def __init__(
        self, game: Game, policy: Policy, simulations: int, considered: int = 16, value_scale: float = 0.5
    ) -> None:
        for name, number, least in (("simulations", simulations, 1), ("considered", considered, 2)):
            if not isinstance(number, int) or number < least:
                raise OptionError(f"{name}={number!r}: must be an integer of at least {least}")
        if not value_scale > 0:
            raise OptionError(f"value_scale={value_scale!r}: must be greater than 0, such as 0.5")
        check_game(game, "az")
        if policy.recurrent or policy.uses_previous:
            raise OptionError(
                f"az searches with networks without a memory, and {policy.id} has one; take policy='mlp' or 'conv'"
            )
        facts = game.facts
        if (policy.observation, policy.head_sizes) != (facts.observation, facts.head_sizes):
            raise OptionError(
                f"az searches by what the network was trained to see, {policy.observation.name} of {policy.observation.shape}; "
                f"{game.name} shows {facts.observation.name} of {facts.observation.shape}: name the game of its training"
            )
        self.game, self.policy, self.simulations = game, policy, simulations
        # the paper scales values to 0 to 1; a difference of returns by their range is the same
        self._scale = value_scale / (facts.max_return - facts.min_return)
        self._schedule = np.array(
            [visit_schedule(min(k, considered), simulations) for k in range(facts.num_actions + 1)]
        )
        self._kernels = {name: getattr(game.needed_kernels("az"), name) for name in ("legal", "step")}
        self._device = next(policy.parameters()).device

    def search(
        self, engine: Engine, rows: NDArray[np.int64], noise: NDArray[np.float64] | None = None
    ) -> SearchedPositions:
        """Search the games `rows`, which are not over.

        noise: Gumbel numbers (m, A) of the roots, with which actions are drawn from the improved policy; None: the best is wanted.

        Raises:
            OptionError: the engine does not run compiled kernels on the CPU.
        """
        if not isinstance(engine, KernelEngine):
            raise OptionError(f"az plays on engines of compiled games on the CPU, got {type(engine).__name__}")
        noise = np.zeros((len(rows), engine.facts.num_actions)) if noise is None else noise
        # games are searched in parts, each apart from the others, so that the result does not depend on the parts
        most = max(1, NODES_AT_ONCE // (self.simulations + 1))
        parts = [self._search(engine, rows[at : at + most], noise[at : at + most]) for at in range(0, len(rows), most)]
        return SearchedPositions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _search(self, engine: KernelEngine, rows: NDArray[np.int64], noise: NDArray[np.float64]) -> SearchedPositions:
        facts, count, nodes = engine.facts, len(rows), self.simulations + 1
        shape = (count * nodes, facts.num_actions)
        # the games of all nodes are one batch, whose kernels step and observe new leaves
        tree = engine.gather(np.repeat(rows, nodes))
        kernels: Any = tree.bound(str(TEMPLATE.with_suffix("")), self._kernels, plain_start=False)
        children, visits = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
        logits, totals = np.empty(shape, np.float32), np.zeros(shape)
        seats, gains, raw = np.empty(len(children), np.int8), np.zeros(len(children)), np.empty(len(children))
        proven = np.zeros(len(children), np.bool_)
        path, played = np.empty((count, nodes), np.int64), np.empty((count, nodes), np.int64)
        used, lengths, leaves = np.ones(count, np.int64), np.zeros(count, np.int64), np.arange(count) * nodes
        seats[leaves], masks = tree.to_move[leaves], tree.legal()[leaves]
        scores, records = np.empty((count, facts.num_actions)), tree.kernel_state[0]
        for number in range(self.simulations + 1):
            found, values = self._ask(tree, leaves)
            limits = facts.min_return, facts.max_return
            nets = leaves, masks, found, values, *map(float, limits)
            walks = path, played, lengths
            known = children, seats, gains, raw, proven, logits, visits, totals
            tree.run(kernels.absorb_rows, count, *tree.kernel_state, *nets, *known, *walks)
            # the last evaluation is only absorbed: a leaf found after it would have no value
            if number < self.simulations:
                asked = self._schedule, number, noise, self._scale
                tree.run(
                    kernels.descend_rows,
                    count,
                    *tree.kernel_state,
                    records,
                    *asked,
                    *known,
                    used,
                    scores,
                    *walks,
                    leaves,
                    masks,
                )
        actions, worth = np.empty(count, np.int64), np.empty(count)
        roots = nodes, noise, self._scale, *known
        tree.run(kernels.finish_rows, count, *tree.kernel_state, *roots, actions, scores, worth)
        # the first node of every tree is its root
        return SearchedPositions(actions, scores, worth, visits[::nodes])

    @torch.inference_mode()
    def _ask(self, tree: KernelEngine, leaves: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The network's logits (n, A) and values (n,) for the seats to move in these games."""
        spec = self.policy.observation
        seen = torch.from_numpy(tree.observe(rows=leaves, packed=spec.bits).reshape(len(leaves), -1)).to(self._device)
        movers = (
            torch.from_numpy(np.maximum(tree.to_move[leaves], 0)).to(self._device) if self.policy.uses_seat else None
        )
        output = self.policy(seen if spec.bits else seen.float(), None, movers)
        return on_host(output.logits.float()), on_host(output.values.float())


def visit_schedule(considered: int, simulations: int) -> list[int]:
    """Visits of the action that each simulation tries: sequential halving (Karnin et al. 2013) over `considered` actions.

    All are visited equally often; then the better half goes on, and so on. Which half is better need not be known here: of the
    actions with as many visits the search takes the best first.
    """
    if considered < 2:
        return list(range(simulations))
    rounds, visits, tried = int(np.ceil(np.log2(considered))), [0] * considered, considered
    schedule: list[int] = []
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (rounds * tried))):
            schedule += visits[:tried]
            visits[:tried] = [one + 1 for one in visits[:tried]]
        tried = max(2, tried // 2)
    return schedule[:simulations]


def check_game(game: Game, name: str) -> None:
    """Check that a tree of a network can be grown in a game.

    Raises:
        OptionError: it is of another kind; says what is needed, and what to use instead.
    """
    facts = game.facts
    faults = {
        "no kernels": game.rules.kernels is None,
        f"{facts.players} seats": facts.players != 2,
        "simultaneous moves": facts.simultaneous,
        f"{facts.reward} rewards": facts.reward != "zero_sum",
        f"{len(facts.heads)} heads of actions": len(facts.heads) != 1,
        "hidden information": facts.hidden_information,
        "chance": facts.chance,
    }
    if found := [fault for fault, has in faults.items() if has]:
        raise OptionError(
            f"{name} learns and plays games with kernels and one head of actions, in which two seats with opposed (zero-sum) interests "
            f"take turns, with nothing hidden and no chance; {game.name} has {', '.join(found)}: take ppo or vtrace"
        )


class NetworkSearchAgent(NeuralAgent):
    """Plays the action that a search with a network prefers; equal games get equal moves.

    Args:
        search: of the game and the network.
        name: shown in tables and replays.
    """

    def __init__(self, search: NetworkSearch, name: str) -> None:
        super().__init__(search.policy, name)
        self.search = search

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`."""
        return self.search.search(self._view(engine), on_host(rows)).actions


def make(
    game: Game, network: object, simulations: int = 200, considered: int = 16, value_scale: float = 0.5
) -> NetworkSearchAgent:
    """`az(runs/az.ludory)`, `az(connect_four/ppo, simulations=800)`: a search with the network of an agent or of a file.

    Raises:
        OptionError: the agent is no network, or as `NetworkSearch`.
    """
    from ludory.agents.make import make_agent

    agent = make_agent(network, game)
    if not isinstance(agent, NeuralAgent):
        raise OptionError(f"az searches with a network, and {agent.name} is none; name a trained agent or a file")
    search = NetworkSearch(game, agent.policy, simulations, considered, value_scale)
    return NetworkSearchAgent(search, f"az({agent.name}, {simulations})")
