"""`ludory eval`: scores of agents with themselves and with each other, with intervals."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from ludory.cli.common.games_bar import games_bar
from ludory.cli.common.options import add_options, parse_options
from ludory.visible import visible

if TYPE_CHECKING:
    from rich.table import Table

    from ludory.agents.evaluation.cross_play import CrossPlay
    from ludory.agents.evaluation.evaluation_result import Estimate, EvaluationResult


def run(argv: list[str]) -> int:
    """Evaluate one agent in all seats, a team, or every pair of several agents on the same games."""
    chosen = _parser().parse_args(argv)

    from rich.console import Console

    from ludory.agents.evaluation.cross_play import cross_play
    from ludory.agents.evaluation.evaluate import evaluate
    from ludory.envs.make import make_game

    game = make_game(chosen.game, **parse_options(chosen.option))
    pairs = chosen.crossplay if chosen.crossplay is not None else len(chosen.agents) > 1
    total = chosen.games * (len(chosen.agents) ** 2 if pairs else game.facts.players if chosen.rotate else 1)
    with games_bar(total, shown=not chosen.json) as progress:
        arguments: dict[str, Any] = {"games": chosen.games, "seed": chosen.seed, "progress": progress}
        if pairs:
            found: Any = cross_play(chosen.agents, game, **arguments)
        else:
            found = evaluate(chosen.agents, game, rotate=chosen.rotate, **arguments)
    if chosen.json:
        print(json.dumps({"options": dict(game.options)} | _as_json(found), indent=2))
    else:
        console = Console(markup=False, highlight=False)
        console.print(_table(found))
        for line in _leads(found):
            console.print(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory eval", description="Scores of agents with themselves and with each other, on the same games for all."
    )
    parser.add_argument(
        "agents", nargs="+", metavar="AGENT", help="id, id(option=1) or checkpoint; one: it plays all seats"
    )
    parser.add_argument("--game", required=True, help="e.g. Hanabi2P-v0; `ludory list games` shows all")
    add_options(parser)
    parser.add_argument("--games", type=int, default=1000, help="games of each pair (default 1000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the deals, and of agents that draw their moves (default 0)"
    )
    parser.add_argument(
        "--crossplay",
        action=argparse.BooleanOptionalAction,
        help="every ordered pair of agents (default for several); --no-crossplay: the agents are a team, one per seat",
    )
    parser.add_argument(
        "--rotate", action="store_true", help="of a team: every deal once with each agent in each seat, means per agent"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
    return parser


def _as_json(found: EvaluationResult | CrossPlay) -> dict[str, Any]:
    from ludory.agents.evaluation.cross_play import CrossPlay

    head = {"game": found.game, "agents": list(found.agents), "games": found.games, "seed": found.seed}
    if isinstance(found, CrossPlay):
        leads = [{"agent": one.agent, "other": one.other, "by": _numbers(one.by)} for one in found.leads()]
        return head | {"crossplay": [[_numbers(one) for one in row] for row in found.estimates()], "leads": leads}
    return head | {"estimates": {name: _numbers(one) for name, one in found.estimates().items()}}


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    """JSON has no NaN: the standard error of a single game becomes null."""
    return {name: None if math.isnan(value) else value for name, value in estimate._asdict().items()}


def _leads(found: EvaluationResult | CrossPlay) -> list[str]:
    from ludory.agents.evaluation.cross_play import CrossPlay

    if not isinstance(found, CrossPlay):
        return []
    return [
        f"self-play of {visible(one.agent)} minus that of {visible(one.other)}, game by game: {one.by.mean:+.3f} ± {one.by.stderr:.3f} "
        f"({one.by.low:+.3f} .. {one.by.high:+.3f})"
        for one in found.leads()
    ]


def _table(found: EvaluationResult | CrossPlay) -> Table:
    from rich.table import Table

    from ludory.agents.evaluation.cross_play import CrossPlay

    games = f"{found.games} games, seed {found.seed}"
    if isinstance(found, CrossPlay):
        table = Table(title=f"{found.game}: mean return of the row's agent; {games}, the same for each pair")
        for name in ("", *found.agents):
            table.add_column(visible(name), overflow="fold")
        for name, row in zip(found.agents, found.estimates(), strict=True):
            table.add_row(
                visible(name), *(f"{one.mean:.2f} ± {one.stderr:.2f}\n{one.low:.2f}..{one.high:.2f}" for one in row)
            )
        return table
    table = Table(
        "", "mean", "s.e.", "95 % interval", title=f"{found.game}: {visible(', '.join(found.agents))}; {games}"
    )
    for name, one in found.estimates().items():
        table.add_row(visible(name), f"{one.mean:.3f}", f"{one.stderr:.3f}", f"{one.low:.3f} .. {one.high:.3f}")
    return table
