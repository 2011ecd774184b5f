"""`Evaluator`: games between players that do not change meanwhile; every pair plays the same starts from both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from ludory.algorithms import played
from ludory.envs import Engine, Game, start_games

from .lanes import teams_of
from .messages import EvaluationOrder, PairResult
from .opponent_runners import Opponent, SeatObservations, first_legal_actions, make_runner

BATCH = 8192
"""Most games that run at once."""


class Evaluator:
    """Plays evaluation orders, many pairs in one batch.

    Half of a pair's games repeat the other half with the seats exchanged. With P seats, `i` sits in seat 0, then in seat 1, and `j`
    in all others; with teams, `i` has all seats of the first team, then of the second. Moves are drawn with temperature 1, as in
    training. The same list of orders gives the same results bit for bit.

    Args:
        game: zero-sum.
        find: returns the network or agent of a player id.
        seed: of the starts and the draws.
    """

    def __init__(self, game: Game, find: Callable[[str], Opponent], seed: int) -> None:
        self.game, self._find, self.seed = game, find, seed

    def play(self, orders: Sequence[EvaluationOrder]) -> list[PairResult]:
        """Results in the order of the orders."""
        return [result for batch in batches(orders) for result in self.play_batch(batch)]

    @torch.no_grad()
    def play_batch(self, orders: Sequence[EvaluationOrder]) -> list[PairResult]:
        """Results of orders whose games all run at once."""
        engine, which, home = self._start(orders)
        names = sorted({name for order in orders for name in (order.i, order.j)})
        codes = {name: code for code, name in enumerate(names)}
        first, second = (torch.tensor([codes[getattr(orders[k], side)] for k in which]) for side in ("i", "j"))
        teams, facts = teams_of(engine.facts), engine.facts
        # with teams a player has all seats of a team; without, each seat is one, so `i` has its home seat and `j` the
        # others
        owner = torch.where(teams == teams[torch.from_numpy(home)][:, None], first[:, None], second[:, None])  # (N, P)
        runners = [make_runner(self._find(name), engine) for name in names]
        generator = torch.Generator().manual_seed(self.seed)
        totals, lengths = np.zeros((engine.num_games, engine.facts.players)), np.zeros(engine.num_games, np.int64)
        for runner in runners:
            runner.prepare(SeatObservations(engine, np.arange(1)).typical)
        while len(running := np.flatnonzero(~(engine.terminated | engine.truncated))):
            rows = torch.from_numpy(running)
            seen = SeatObservations(engine, running)
            actions = first_legal_actions(seen.masks, facts.head_sizes)
            deciding, holder = torch.as_tensor(engine.deciding)[rows], owner[rows]
            for code, runner in enumerate(runners):
                at, seats = ((holder == code) & deciding).nonzero(as_tuple=True)
                if len(at):
                    where = (at, seats) if facts.simultaneous else (at,)
                    actions[where] = runner.step(seen, at, rows[at], seats, generator)
                if facts.simultaneous and self.game.seats_wait:  # memories are updated as in training
                    waiting = (holder == code) & ~deciding & torch.as_tensor(engine.alive)[rows]
                    at, seats = waiting.nonzero(as_tuple=True)
                    if len(at):
                        runner.look_on(seen, at, rows[at], seats)
            if not facts.simultaneous:
                to_move = torch.as_tensor(engine.to_move).long()[rows]
                for code, runner in enumerate(runners):
                    its = (holder == code).any(1)
                    if its.any():
                        runner.observe_action(rows[its], to_move[its], actions[its])
            engine.step(actions.numpy() if facts.simultaneous else played(actions), running)
            totals += engine.rewards
            lengths[running] += 1
        scores = totals[np.arange(len(home)), home]
        return [_result(order, scores[which == k], lengths[which == k]) for k, order in enumerate(orders)]

    def _start(self, orders: Sequence[EvaluationOrder]) -> tuple[Engine, np.ndarray, np.ndarray]:
        """New games of all orders; for each its order and the seat of `i`."""
        teams = teams_of(self.game.facts).tolist()
        first_seats = [0, next(seat for seat, team in enumerate(teams) if team != teams[0])]
        rows, which, home = [], [], []
        for k, order in enumerate(orders):
            # the same starts twice, once for each side: what luck the deal brings cancels out
            half = order.games // 2
            # blocks of one pair play different starts
            starts = order.block * half + np.arange(half)
            rows += [starts, starts]
            which.append(np.full(order.games, k))
            home.append(np.repeat(first_seats, half))
        return start_games(self.game, np.concatenate(rows), seed=self.seed), np.concatenate(which), np.concatenate(home)


def batches(orders: Sequence[EvaluationOrder]) -> Iterator[Sequence[EvaluationOrder]]:
    """`orders` in batches of at most `BATCH` games, where a single order has no more."""
    start = 0
    while start < len(orders):
        stop, games = start, 0
        while stop < len(orders) and (stop == start or games + orders[stop].games <= BATCH):
            games += orders[stop].games
            stop += 1
        yield orders[start:stop]
        start = stop


def _result(order: EvaluationOrder, scores: np.ndarray, lengths: np.ndarray) -> PairResult:
    outcomes = "".join("w" if score > 0 else "l" if score < 0 else "d" for score in scores)
    wins, draws, losses = (outcomes.count(letter) for letter in "wdl")
    return PairResult(order.i, order.j, order.block, wins, draws, losses, int(lengths.sum()), outcomes)
