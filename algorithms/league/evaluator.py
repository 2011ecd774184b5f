"""`Evaluator`: games between players that do not change meanwhile; every pair on the same starts, from both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludory.algorithms.sampling.lanes import played
from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.envs.make import start_games

from .cast import Actor, Entrant, Seats, make_actor, neutral
from .lanes import teams_of
from .messages import EvaluationOrder, EvaluationResult

BATCH = 8192
"""Most games that run at once."""


class Played(NamedTuple):
    """An order's result, and its outcomes for `i` in order: game k and its mirror k + games/2 have one start."""

    result: EvaluationResult
    outcomes: str


class Evaluator:
    """Plays evaluation orders, many pairs in one batch.

    Half of the games of a pair are the other half with the seats exchanged (P seats: `i` sits alone in seat 0, then in
    seat 1, against `j` in all others; with teams, in all seats of the first team, then of the second). Moves are drawn with temperature 1, as in training. A list of orders repeats to the last bit.

    Args:
        game: zero-sum.
        entrant: the network or agent behind an id.
        seed: of the starts and the draws.
    """

    def __init__(self, game: Game, entrant: Callable[[str], Entrant], seed: int) -> None:
        self.game, self._entrant, self.seed = game, entrant, seed

    def play(self, orders: Sequence[EvaluationOrder]) -> list[Played]:
        """Results in the order of the orders."""
        played: list[Played] = []
        start = 0
        while start < len(orders):
            stop, games = start, 0
            while stop < len(orders) and (stop == start or games + orders[stop].games <= BATCH):
                games += orders[stop].games
                stop += 1
            played += self._play(orders[start:stop])
            start = stop
        return played

    @torch.no_grad()
    def _play(self, orders: Sequence[EvaluationOrder]) -> list[Played]:
        engine, which, home = self._start(orders)
        names = sorted({name for order in orders for name in (order.i, order.j)})
        codes = {name: code for code, name in enumerate(names)}
        first, second = (torch.tensor([codes[getattr(orders[k], side)] for k in which]) for side in ("i", "j"))
        teams, facts = teams_of(engine.facts), engine.facts
        owner = torch.where(teams == teams[torch.from_numpy(home)][:, None], first[:, None], second[:, None])  # (N, P)
        actors = [make_actor(self._entrant(name), engine) for name in names]
        generator = torch.Generator().manual_seed(self.seed)
        totals, lengths = np.zeros((engine.num_games, engine.facts.players)), np.zeros(engine.num_games, np.int64)
        for actor in actors:
            actor.prepare(Seats(engine, np.arange(1)).typical)
        while len(running := np.flatnonzero(~(engine.terminated | engine.truncated))):
            rows = torch.from_numpy(running)
            seats = Seats(engine, running)
            actions = neutral(seats.masks, facts.head_sizes)
            deciding, holder = torch.as_tensor(engine.deciding)[rows], owner[rows]
            for code, actor in enumerate(actors):
                at, chair = ((holder == code) & deciding).nonzero(as_tuple=True)
                if len(at):
                    where = (at, chair) if facts.simultaneous else (at,)
                    actions[where] = actor.choose(seats, at, rows[at], chair, generator)
            if not facts.simultaneous:
                _tell(actors, owner, rows, torch.as_tensor(engine.to_move).long()[rows], actions)
            engine.step(actions.numpy() if facts.simultaneous else played(actions), running)
            totals += engine.rewards
            lengths[running] += 1
        scores = totals[np.arange(len(home)), home]
        return [_summed(order, scores[which == k], lengths[which == k]) for k, order in enumerate(orders)]

    def _start(self, orders: Sequence[EvaluationOrder]) -> tuple[Engine, np.ndarray, np.ndarray]:
        """Fresh games of all orders; of each its order and the seat of `i`."""
        teams = teams_of(self.game.facts).tolist()
        first_seats = [0, next(seat for seat, team in enumerate(teams) if team != teams[0])]
        rows, which, home = [], [], []
        for k, order in enumerate(orders):
            half = order.games // 2
            starts = order.block * half + np.arange(half)
            rows += [starts, starts]
            which.append(np.full(order.games, k))
            home.append(np.repeat(first_seats, half))
        return start_games(self.game, np.concatenate(rows), seed=self.seed), np.concatenate(which), np.concatenate(home)


def _tell(actors: Sequence[Actor], owner: Tensor, rows: Tensor, chairs: Tensor, actions: Tensor) -> None:
    """Tell everybody the moves about to be made in the games `rows` where they sit."""
    for code, actor in enumerate(actors):
        its = (owner[rows] == code).any(1)
        if its.any():
            actor.notice(rows[its], chairs[its], actions[its])


def _summed(order: EvaluationOrder, scores: np.ndarray, lengths: np.ndarray) -> Played:
    outcomes = "".join("w" if score > 0 else "l" if score < 0 else "d" for score in scores)
    wins, draws, losses = (outcomes.count(letter) for letter in "wdl")
    length = int(lengths.sum())
    return Played(EvaluationResult(order.i, order.j, order.block, wins, draws, losses, length), outcomes)
