"""`NetworkAgent`: an agent that plays by a network trained on exact values of open hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ludory.agents.texas42.networks.network_values import open_hand_network, tile_scores
from ludory.agents.texas42.networks.open_hands import OpenHandNetwork
from ludory.agents.texas42.solver.states import hands_of, movers, pack_masks
from ludory.envs import Game, State
from ludory.envs.texas42.worlds import Worlds
from ludory.errors import OptionError

from .choice import Question
from .pimc import PimcAgent


def make(game: Game, agent: str, worlds: int = 10, open_hands: bool = False, seed: int = 0) -> NetworkAgent:
    """The agent that ships under an id; the other arguments are those of `NetworkAgent`."""
    return NetworkAgent(game, open_hand_network(agent), agent, worlds, open_hands, seed=seed)


class NetworkAgent(PimcAgent):
    """Plays the tile with the highest mean network value over worlds drawn from what its seat knows; ties go to the lowest.

    Bids as `texas42/bid30`. Plays nello and sevens, which the network does not know, as `texas42/pimc`.

    Args:
        game: a game of Texas 42.
        network: the network.
        name: shown in tables and replays.
        worlds: number of worlds per decision.
        open_hands: use the true hands instead; for evaluation only.
        policy: the network was trained as a policy: average its probabilities.
        seed: of the draws.
    """

    def __init__(
        self,
        game: Game,
        network: OpenHandNetwork,
        name: str,
        worlds: int = 10,
        open_hands: bool = False,
        policy: bool = False,
        seed: int = 0,
    ) -> None:
        if not isinstance(open_hands, bool):
            raise OptionError(f"open_hands={open_hands!r}: must be True or False")
        super().__init__(game, worlds, "mean", seed=seed)
        self.name, self.privileged = name, open_hands
        self._network, self._worlds, self._policy = network.eval(), worlds, policy

    def _tiles(self, state: State, rows: Sequence[int], questions: Sequence[Question]) -> list[int]:
        """The best tile for each question, which is about one of the games `rows`."""
        known = [k for k, question in enumerate(questions) if question.for_points]
        others = [k for k, question in enumerate(questions) if not question.for_points]
        tiles = dict(
            zip(known, self._best(state, [rows[k] for k in known], [questions[k] for k in known]), strict=True)
        )
        plain = super()._tiles(state, [rows[k] for k in others], [questions[k] for k in others])
        tiles |= zip(others, plain, strict=True)
        return [tiles[k] for k in range(len(questions))]

    def _best(self, state: State, rows: Sequence[int], questions: Sequence[Question]) -> list[int]:
        if not questions:
            return []
        held = [self._held(state, row, question) for row, question in zip(rows, questions, strict=True)]
        counts = [len(part) for part in held]
        of_row, of_question = np.repeat(np.array(rows), counts), np.repeat(np.arange(len(rows)), counts)
        together = np.concatenate(held)
        hands = hands_of(state.dealt[of_row] & ~state.held[of_row] | together)
        states = pack_masks(hands, together, state.leader[of_row], state.trick[of_row, :3])
        own = hands[np.arange(len(hands)), movers(states)]
        legal = (np.array([question.legal for question in questions])[of_question, None] >> own & 1) == 1
        scores = self._scores(hands, state.decl[of_row].astype(np.int64), states, legal)
        tiles, start = [], 0
        for count in counts:
            mean = np.where(legal[start], scores[start : start + count].mean(axis=0), -np.inf)
            tiles.append(int(own[start, mean.argmax()]))
            start += count
        return tiles

    def _held(self, state: State, row: int, question: Question) -> NDArray[np.int32]:
        """(worlds, 4) masks of the tiles that the seats hold."""
        if self.privileged:
            return np.array(state.held[row : row + 1], np.int32)
        return question.worlds(Worlds(question.known).choose(self._worlds, question.key, 0)).held

    @torch.no_grad()
    def _scores(
        self, hands: NDArray[np.int64], decl: NDArray[np.int64], states: NDArray[np.int64], legal: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """(n, 7) values, or probabilities, of the mover's tiles."""
        scores = torch.cat(list(tile_scores(self._network, hands, decl, states))).cpu()
        if self._policy:
            scores = scores.masked_fill(~torch.from_numpy(legal), -torch.inf).softmax(-1)
        return scores.double().numpy()
