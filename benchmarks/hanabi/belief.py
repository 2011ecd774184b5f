"""`ludory bench hanabi-belief`: does a card that is believed to be in a slot with probability p lie there in a share p of all cases?

A bot plays in all seats; before each decision of seat 1, what it may hold is set beside what it holds: by the exact range, which knows
what bot the others are, and by the hints alone. A calibrated belief has all its points on the diagonal; a sharp one a small log loss.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.hanabi.beliefs.hand_range import HandBelief
from ludory.agents.hanabi.beliefs.hand_sets import unpack
from ludory.agents.make import make_agent
from ludory.agents.search.blueprint import make_blueprint, records_of
from ludory.agents.seat import Seat, SeatMove
from ludory.atomic import atomic_file
from ludory.benchmarks.harness.interval_plot import Axis, Plot, Point, Series, interval_plot
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError

SEAT, BINS = 1, 20
EXACT, HINTS = "exact range", "hints alone"
DRAWN, DRAWN_BY_HINTS = 4000, 1000
"""Hands that stand for a range which is not listed, and for what fits the hints."""


class Tally:
    """Predictions of one belief by bins of their probability, game by game."""

    def __init__(self, games: int) -> None:
        self.count, self.sum, self.hits = (np.zeros((games, BINS)) for _ in range(3))
        self.impossible, self.loss, self.cards = 0, 0.0, 0
        """Cards held although believed impossible; sum of -ln p over the cards held, and their number."""

    def add(self, game: int, predicted: NDArray[np.float64], cards: NDArray[np.int64]) -> None:
        """Predictions (slots, kinds) of one decision, and the cards that were there (slots)."""
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
        """Bins that are not empty; standard errors take a game for one observation."""
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


def run(argv: list[str]) -> int:
    """Play, compare, write; returns the exit code.

    Raises:
        OptionError: a number is out of range, or the agent is no blueprint.
        DataError: the folder holds a result of other settings.
    """
    chosen = _parser().parse_args(argv)
    if chosen.games < 2:
        raise OptionError(f"--games {chosen.games}: must be at least 2")
    target, settings = chosen.out / f"hanabi-belief-{chosen.game}.json", _settings(chosen)
    if target.exists():
        before = json.loads(target.read_text(encoding="utf-8"))
        changed = [f"{name} {before.get(name)!r}" for name, value in settings.items() if before.get(name) != value]
        if changed:
            raise DataError(f"{target} is of {', '.join(changed)}; name another folder with --out")
    started_from, started = origin(), time.process_time()
    found = measure(make_game(chosen.game), chosen.blueprint, chosen.games, chosen.seed)
    report = {
        "benchmark": "hanabi-belief",
        **settings,
        **found,
        "cpu_seconds": round(time.process_time() - started, 1),
        **started_from,
    }
    write_result(target, report)
    with atomic_file(target.with_suffix(".svg"), "w") as handle:
        handle.write(_chart(report))
    for name, one in report["beliefs"].items():
        print(
            f"{name}: log loss {one['log_loss']:.3f} a card, {one['held_but_impossible']} of {one['cards']:,} cards held though impossible"
        )
    print(f"result in {target}")
    return 0


def _settings(chosen: argparse.Namespace) -> dict[str, Any]:
    return {
        "game": chosen.game,
        "blueprint": chosen.blueprint,
        "games": chosen.games,
        "decks_seed": chosen.seed,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench hanabi-belief", description=__doc__)
    parser.add_argument("--game", default="Hanabi2P-v0", help="id of a Hanabi (default Hanabi2P-v0)")
    parser.add_argument("--blueprint", default="hanabi/smartbot", help="bot in all seats (default hanabi/smartbot)")
    parser.add_argument("--games", type=int, default=300, help="(default 300)")
    parser.add_argument("--seed", type=int, default=1_000_003, help="of the decks")
    parser.add_argument("--out", type=Path, default=Path("runs/hanabi-belief"), help="folder of the result")
    return parser


def measure(game: Game, blueprint: str, games: int, seed: int) -> dict[str, Any]:
    """Tallies of both beliefs over whole games."""
    bot = make_agent(blueprint, game)
    model = make_blueprint(bot, game, "ludory bench hanabi-belief")
    tallies, listed, decisions = {EXACT: Tally(games), HINTS: Tally(games)}, 0, 0
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


def _chart(report: dict[str, Any]) -> str:
    def share(name: str) -> Axis:
        return Axis(name, 0.0, 1.0, [k / 5 for k in range(6)])

    series = [Series(name, [_point(one) for one in belief["bins"]]) for name, belief in report["beliefs"].items()]
    losses = ", ".join(f"{name} {one['log_loss']:.2f}" for name, one in report["beliefs"].items())
    caption = [
        f"{report['games']} games, {report['decisions']:,} decisions; bars are 95 % intervals over games",
        f"log loss a card: {losses}",
    ]
    plot = Plot(share("probability believed"), share("how often it was so"), series, ((0.0, 0.0), (1.0, 1.0)))
    return interval_plot(f"{report['game']}: beliefs about cards, {report['blueprint']}", [plot], caption)


def _point(one: dict[str, float]) -> Point:
    spread = 1.96 * one["stderr"]
    return Point(
        one["predicted"], one["frequency"], max(one["frequency"] - spread, 0.0), min(one["frequency"] + spread, 1.0)
    )
