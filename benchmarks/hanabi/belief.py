"""Check beliefs: does a card that is believed to be in a slot with probability p lie there in a share p of all cases?

A bot plays in all seats. Before each decision of seat 1, beliefs about its hand are compared with the hand: those of the exact range,
which knows what bot the others are, and those of the hints alone. A calibrated belief has all its points on the diagonal; a sharp one
has a small log loss.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.hanabi.beliefs.hand_range import HandBelief
from ludory.agents.hanabi.beliefs.hand_sets import unpack
from ludory.agents.make import make_agent
from ludory.agents.search.blueprint import make_blueprint, records_of
from ludory.agents.seat import Seat, SeatMove
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import TwoOrMore
from ludory.charts.axes import linear_axis
from ludory.charts.curves import Plot, Point, Series, interval_plot
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import DataError

SEAT, BINS = 1, 20
EXACT, HINTS = "exact range", "hints alone"
DRAWN, DRAWN_BY_HINTS = 4000, 1000
"""Number of hands drawn from a range that is not listed, and from all hands that fit the hints."""


class BeliefTally:
    """Counts predictions of one belief, and how often they were right, by game and bin of probability."""

    def __init__(self, games: int) -> None:
        self.count, self.sum, self.hits = (np.zeros((games, BINS)) for _ in range(3))
        self.impossible, self.loss, self.cards = 0, 0.0, 0
        """Cards held although believed impossible; sum of -ln p over the cards held, and their number."""

    def add(self, game: int, predicted: NDArray[np.float64], cards: NDArray[np.int64]) -> None:
        """Add the predictions (slots, kinds) of one decision and the cards that were held (slots)."""
        there = np.zeros(predicted.shape, bool)
        there[np.arange(len(cards)), cards] = True
        said, came = predicted[predicted > 0], there[predicted > 0]
        bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
        self.count[game] += np.bincount(bins, minlength=BINS)
        self.sum[game] += np.bincount(bins, said, minlength=BINS)
        self.hits[game] += np.bincount(bins, came, minlength=BINS)
        self.impossible += int((there & (predicted == 0)).sum())
        held = predicted[there]
        self.loss -= float(np.log(held[held > 0]).sum())
        self.cards += len(cards)

    def as_json(self) -> dict[str, Any]:
        """The bins that are not empty; for standard errors, a game is one observation."""
        bins = []
        for k in np.flatnonzero(self.count.sum(axis=0)):
            count, share = self.count[:, k].sum(), self.hits[:, k].sum() / self.count[:, k].sum()
            error = float(np.sqrt(((self.hits[:, k] - share * self.count[:, k]) ** 2).sum()) / count)
            bins.append(
                {
                    "predicted": float(self.sum[:, k].sum() / count),
                    "frequency": float(share),
                    "stderr": error,
                    "count": int(count),
                }
            )
        return {
            "bins": bins,
            "held_but_impossible": self.impossible,
            "cards": self.cards,
            "log_loss": self.loss / self.cards,
        }


@dataclass(frozen=True, slots=True)
class HanabiBeliefOptions:
    """Options of `ludory bench hanabi-belief`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    blueprint: str = "hanabi/smartbot"
    """Bot in all seats."""
    games: TwoOrMore = 300
    """Games to play."""
    seed: int = 1_000_003
    """Of the decks."""
    out: Path = Path("runs/hanabi-belief")
    """Folder of the result."""


@benchmark("hanabi-belief")
def run(options: HanabiBeliefOptions) -> Result:
    """Play and compare.

    Raises:
        OptionError: the agent is no blueprint.
        DataError: the folder holds a result of other settings.
    """
    game, blueprint, games, seed = options.game, options.blueprint, options.games, options.seed
    target = options.out / f"hanabi-belief-{game}.json"
    settings = {"game": game, "blueprint": blueprint, "games": games, "decks_seed": seed}
    if target.exists():
        before = json.loads(target.read_text(encoding="utf-8"))
        changed = [f"{name} {before.get(name)!r}" for name, value in settings.items() if before.get(name) != value]
        if changed:
            raise DataError(f"{target} is of {', '.join(changed)}; name another folder with --out")
    started = time.process_time()
    found = measure(make_game(game), blueprint, games, seed)
    seconds = round(time.process_time() - started, 1)
    return Result(target, {**settings, **found, "cpu_seconds": seconds}, _shown, _chart)


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for name, one in report["beliefs"].items():
        impossible = f"{one['held_but_impossible']} of {one['cards']:,} cards held although believed impossible"
        yield f"{name}: log loss {one['log_loss']:.3f} a card, {impossible}"


def measure(game: Game, blueprint: str, games: int, seed: int) -> dict[str, Any]:
    """Tallies of both beliefs over whole games."""
    bot = make_agent(blueprint, game)
    model = make_blueprint(bot, game, "ludory bench hanabi-belief")
    tallies, listed, decisions = {EXACT: BeliefTally(games), HINTS: BeliefTally(games)}, 0, 0
    for deck in range(games):
        engine = KernelEngine(game, 1, seed=seed, first_game=deck)
        engine.reset()
        memories = [bot.initial_memory(1) for _ in range(game.facts.players)]
        belief, row, history = HandBelief(model, SEAT), np.zeros(1, np.int64), list[SeatMove]()
        while (mover := int(engine.to_move[0])) >= 0:
            view = Seat(engine, SEAT, 0, history)
            if mover == SEAT:
                cards = engine.state.hands[0, SEAT, : int(engine.state.held[0, SEAT])].astype(np.int64)
                predicted, exact = _by_range(belief, view, deck)
                tallies[EXACT].add(deck, predicted, cards)
                hands = records_of(view.worlds(DRAWN_BY_HINTS, seed=deck), "a belief")["hands"][:, SEAT, : len(cards)]
                tallies[HINTS].add(deck, _shares(hands, np.ones(len(hands)), predicted.shape[1]), cards)
                listed, decisions = listed + exact, decisions + 1
            actions = bot.choose(engine, mover, row, memories[mover])
            move = SeatMove(mover, int(actions[0]))
            belief.watch(view, move)
            for seat, memory in enumerate(memories):
                bot.notice(engine, seat, row, actions, memory)
            history.append(move)
            engine.step(actions)
    return {
        "decisions": decisions,
        "decisions_with_all_hands_listed": listed,
        "drawn_where_not_listed": DRAWN,
        "drawn_by_hints": DRAWN_BY_HINTS,
        "beliefs": {name: tally.as_json() for name, tally in tallies.items()},
    }


def _by_range(belief: HandBelief, view: Seat, key: int) -> tuple[NDArray[np.float64], bool]:
    """Probabilities (slots, kinds), and whether they are exact."""
    now = belief.catch_up(view)
    held, kinds = int(now["held"][0, SEAT]), now["discards"].shape[1]
    if belief.size is not None:
        hands, weights = belief.range.posterior(now)
        return _shares(unpack(hands, held), weights.astype(float), kinds), True
    drawn = belief.draw(view, DRAWN, key).worlds["hands"][:, SEAT, :held]
    return _shares(drawn, np.ones(DRAWN), kinds), False


def _shares(hands: NDArray[Any], weights: NDArray[np.float64], kinds: int) -> NDArray[np.float64]:
    """(slots, kinds) from hands (n, slots) and their weights."""
    slots = [np.bincount(hands[:, slot].astype(np.int64), weights, minlength=kinds) for slot in range(hands.shape[1])]
    shares: NDArray[np.float64] = np.array(slots) / weights.sum()
    return shares


def _chart(report: Mapping[str, Any]) -> str:
    series = [Series(name, [_point(one) for one in belief["bins"]]) for name, belief in report["beliefs"].items()]
    losses = ", ".join(f"{name} {one['log_loss']:.2f}" for name, one in report["beliefs"].items())
    caption = [
        f"{report['games']} games, {report['decisions']:,} decisions; bars are 95 % intervals over games",
        f"log loss a card: {losses}",
    ]
    plot = Plot(
        linear_axis("probability believed", 0, 1),
        linear_axis("how often it was so", 0, 1),
        series,
        ((0.0, 0.0), (1.0, 1.0)),
    )
    return interval_plot(f"{report['game']}: beliefs about cards, {report['blueprint']}", [plot], caption)


def _point(one: dict[str, float]) -> Point:
    spread = 1.96 * one["stderr"]
    return Point(
        one["predicted"], one["frequency"], max(one["frequency"] - spread, 0.0), min(one["frequency"] + spread, 1.0)
    )
