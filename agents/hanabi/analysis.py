"""Analysis of Hanabi: moves played out in a seat's exact belief, the cards that it may hold, and what a move lost for good."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludory.agents import records_of
from ludory.agents.analysis import (
    SAMPLES,
    Analyst,
    BotAnalyst,
    GameAnalysis,
    HiddenCards,
    StudiedPosition,
    is_blueprint,
)
from ludory.envs import Game, on_host
from ludory.envs.hanabi.sight import COLOR_NAMES, LETTERS
from ludory.envs.hanabi.state import CARD, DISCARD, KIND, PLAY, SCORED
from ludory.plugins import agents

from .bots.agents import is_hanabi

BOT = "hanabi/smartbot"


class HanabiAnalysis(GameAnalysis):
    """Rule bots play on in a seat's exact belief."""

    def analyst(self, agent: str | None, seats: Sequence[int] | None) -> Analyst:
        """Rollouts of `agent`, as `sparta` does them."""
        return BotAnalyst(self.game, agent or BOT, seats)

    def usual_agent(self, names: Sequence[str]) -> str | None:
        """A rule bot that had all seats, so that its hints are read as it meant them."""
        alone = len(set(names)) == 1 and names[0] in agents and is_blueprint(names[0], self.game)
        return names[0] if alone else None

    def hidden(
        self, position: StudiedPosition, seat: int, analyst: Analyst | None, key: int, shown: bool
    ) -> HiddenCards:
        """The probability of every card in the seat's hand."""
        view = position.seat(seat)
        if isinstance(analyst, BotAnalyst) and seat in analyst.beliefs:
            belief = analyst.beliefs[seat]
            # kinds of cards only: which copy is held does not matter
            hands = belief.draw(view, SAMPLES, key).worlds["hands"][:, seat]
            missed = belief.contradictions
            note = (
                f"{SAMPLES} hands that agree with the hints, and with the moves of others if they play as {analyst.bot}"
            )
            if missed:
                note += f"; {missed} of their moves {'does' if missed == 1 else 'do'} not, and no longer count{'s' if missed == 1 else ''}"
        else:
            hands = records_of(view.worlds(SAMPLES, abs(key) >> 2), "a belief")["hands"][:, seat]
            note = f"{SAMPLES} hands that agree with the hints"
        state = position.engine.state
        ranks = state.discards.shape[1] // state.fireworks.shape[1]
        held, cards = int(on_host(state.held)[0, seat]), int(on_host(state.discards).shape[1])
        shares = np.stack([np.bincount(hands[:, slot], minlength=cards) / len(hands) for slot in range(held)])
        names = tuple(f"{LETTERS[card // ranks]}{card % ranks + 1}" for card in range(cards))
        truth = tuple(int(card) for card in on_host(state.hands)[0, seat, :held]) if shown else None
        slots = tuple(f"slot {slot + 1}" for slot in range(held))
        return HiddenCards(f"Hand of seat {seat}", slots, names, shares, truth, note)

    def remark(self, position: StudiedPosition) -> str:
        """Words on what a move has lost for good."""
        state = position.engine.state
        last = on_host(state.last)[0]
        # a misplayed card is gone too
        lost = int(last[KIND]) == DISCARD or (int(last[KIND]) == PLAY and not last[SCORED])
        card, ranks = int(last[CARD]), state.discards.shape[1] // state.fireworks.shape[1]
        color, rank = divmod(card, ranks)
        # 1-1-1 2-2 3-3 4-4 5: copies by rank
        copies = 3 if rank == 0 else 1 if rank == 4 else 2
        if not lost or int(on_host(state.discards)[0, card]) < copies or int(on_host(state.fireworks)[0, color]) > rank:
            return ""
        return f", the last {COLOR_NAMES[color]} {rank + 1}"


def analysis(game: Game) -> HanabiAnalysis | None:
    """The analysis of Hanabi; None for other rules."""
    return HanabiAnalysis(game) if is_hanabi(game) else None
