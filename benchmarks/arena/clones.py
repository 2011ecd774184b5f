"""`ludory bench arena-clones`: record each scripted style of the arena against itself, clone it, and let the clone play the style.

A perfect clone scores 0.5. Recordings, checkpoints and results lie in one folder; the command continues an earlier one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.record import record
from ludory.algorithms.bc import BC
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.arguments import located_out
from ludory.atomic import atomic_file
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.charts.bars import Bar, Panel, bar_chart
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .league_run import score_with_interval

GAME = "Arena2P-v0"
STYLES = ("rusher", "sniper", "turtle", "looter", "miner", "zone")
POLICY = "mlp(hidden=(256,256))"
SETTINGS: dict[str, Any] = {
    "num_epochs": 8,
    "batch_size": 512,
    "learning_rate": 2e-3,
    "final_learning_rate": 2e-5,
    "label_smoothing": 0.0,
}


def run(argv: list[str]) -> int:
    """Record, train, evaluate, write; returns the exit code.

    Raises:
        OptionError: there is no style to clone.
    """
    arguments = _parser().parse_args(argv)
    if not arguments.styles:
        raise OptionError(f"--styles is empty; allowed: {' '.join(STYLES)}")
    started_from = origin()
    results = {style: _result(arguments, style) for style in arguments.styles}
    report = {
        "benchmark": "arena-clones",
        "game": GAME,
        "observation": arguments.observation,
        "policy": POLICY,
        "settings": SETTINGS,
        "games": arguments.games,
        "seed": arguments.seed,
        "convention": "share of points of the clone, draws half; half of the duels from each seat; most probable moves",
        "clones": results,
        **started_from,
    }
    target = arguments.out / "arena-clones.json"
    write_result(target, report)
    bars = [Bar(style, 100 * found["score"], True) for style, found in results.items()]
    caption = f"{arguments.duels:,} duels each; {report['machine']['name']}, {report['date']}"
    with atomic_file(target.with_suffix(".svg"), "w") as handle:
        handle.write(
            bar_chart([Panel("points of a clone against the style that it was made from, in percent", bars)], caption)
        )
    print(f"result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench arena-clones", description=__doc__)
    parser.add_argument("--styles", nargs="+", choices=STYLES, default=list(STYLES), help="(default all)")
    parser.add_argument("--observation", default="tactical", help="what the clones see (default tactical)")
    parser.add_argument("--games", type=int, default=4000, help="to record of each style against itself (default 4000)")
    parser.add_argument("--duels", type=int, default=2000, help="of each clone against its style (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the recordings and of the training (default 1)")
    parser.add_argument("--out", type=located_out, default=Path("runs/arena-clones"), help="folder of everything")
    return parser


def _result(arguments: argparse.Namespace, style: str) -> dict[str, Any]:
    """Score of the clone of a style, measured now or by an earlier command."""
    folder = arguments.out / style
    file = folder / "result.json"
    if not file.exists():
        result = _score(_clone(arguments, style, folder), arguments, style)
        write_result(file, result)
    result = json.loads(file.read_text(encoding="utf-8"))
    print(
        f"{style}: {result['score']:.3f} [{result['low']:.3f}, {result['high']:.3f}] over {result['duels']:,} duels",
        flush=True,
    )
    return dict(result)


def _clone(arguments: argparse.Namespace, style: str, folder: Path) -> BC:
    """The clone; continues an interrupted training."""
    options, file = {"observation": arguments.observation}, folder / "clone.ludory"
    games = folder / "games"
    game = make_game(GAME, **options)
    record(f"arena/{style}", game, arguments.games, games, seed=arguments.seed)
    if file.exists():
        model = BC.load(file, dataset=str(games))
    else:
        model = BC(POLICY, game, dataset=str(games), seed=arguments.seed, **SETTINGS)
    if not model.finished and (received := train_to_file(model, model.planned_timesteps, file, progress_bar=True)):
        raise_interrupt(received)
    return model


def _score(model: BC, arguments: argparse.Namespace, style: str) -> dict[str, Any]:
    """Score over paired duels."""
    clone, half = model.as_agent(), arguments.duels // 2
    options = {"observation": arguments.observation}
    points = 0.0
    for seat in range(2):
        pair: list[str | Agent] = [clone, f"arena/{style}"] if seat == 0 else [f"arena/{style}", clone]
        played = evaluate(pair, game=GAME, games=half, seed=1_000_003, **options)
        points += float((played.returns[:, seat] + 1).sum()) / 2
    return score_with_interval(points, 2 * half)
