"""`ludory eval`: scores of agents with themselves and with each other, with intervals."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ludory.cli.common.options import Placed, PlayedGames
from ludory.visible import visible

from .common.options import Flag
from .common.parser import parse
from .common.showing import games_bar, log_on_stderr, show_table

if TYPE_CHECKING:
    from rich.table import Table

    from ludory.agents.evaluation.cross_play import CrossPlay
    from ludory.agents.evaluation.evaluation_result import Estimate, EvaluationResult


@dataclass(frozen=True, kw_only=True)
class _Options(Placed, PlayedGames):
    """Scores of agents with themselves and with each other, on the same games for all.

    A single agent plays all seats; of several, every pair plays --games games.

    Example: ludory eval hanabi/iggi hanabi/piers --game Hanabi2P-v0 --games 2000
    """

    crossplay: Flag = False
    """Play every ordered pair of agents (the default for several agents)."""
    no_crossplay: Flag = False
    """The agents are a team, one per seat."""
    rotate: Flag = False
    """Of a team: play every deal once with each agent in each seat, and show means per agent."""
    block: int = 250
    """Games that are played together, and by one worker with --ray. Agents draw their moves by game, so numbers do not depend on it, except for the last bit of a network's arithmetic."""
    json: Flag = False
    """Print one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Evaluate one agent in all seats, a team, or every pair of several agents on the same games."""
    chosen = parse(_Options, argv, "eval")

    from ludory.agents.evaluation.cross_play import cross_play
    from ludory.agents.evaluation.evaluate import evaluate

    game = chosen.make(chosen.game)
    pairs = not chosen.no_crossplay and (chosen.crossplay or len(chosen.agents) > 1)
    total = chosen.games * (len(chosen.agents) ** 2 if pairs else game.facts.players if chosen.rotate else 1)
    with (
        chosen.placement.open() as workers,
        log_on_stderr(),
        games_bar(total, shown=not chosen.json) as progress,
    ):
        arguments: dict[str, Any] = {
            "games": chosen.games,
            "seed": chosen.seed,
            "batch": chosen.block,
            "progress": progress,
            "workers": workers,
        }
        if pairs:
            found: Any = cross_play(chosen.agents, game, **arguments)
        else:
            found = evaluate(chosen.agents, game, rotate=chosen.rotate, **arguments)
    if chosen.json:
        print(json.dumps({"options": dict(game.options)} | _as_json(found), indent=2))
        return 0
    show_table(_table(found))
    for line in [*_means(found), *_leads(found), *_counts(found)]:
        show_table(line)
    return 0


def _as_json(found: EvaluationResult | CrossPlay) -> dict[str, Any]:
    from ludory.agents.evaluation.cross_play import CrossPlay

    head = {"game": found.game, "agents": list(found.agents), "games": found.games, "seed": found.seed}
    head |= {"counts": found.counts} if found.counts else {}
    if isinstance(found, CrossPlay):
        leads = [{"agent": one.agent, "other": one.other, "by": _numbers(one.by)} for one in found.leads()]
        means = found.pair_means()
        over = {} if means is None else {name: _numbers(one) for name, one in means._asdict().items()}
        cells = [[_numbers(one) for one in row] for row in found.estimates()]
        return head | {"crossplay": cells, "means": over, "leads": leads}
    return head | {"estimates": {name: _numbers(one) for name, one in found.estimates().items()}}


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    """JSON has no NaN: the standard error of a single game becomes null."""
    return {name: None if math.isnan(value) else value for name, value in estimate._asdict().items()}


def _means(found: EvaluationResult | CrossPlay) -> list[str]:
    from ludory.agents.evaluation.cross_play import CrossPlay

    means = found.pair_means() if isinstance(found, CrossPlay) else None
    if not isinstance(found, CrossPlay) or means is None:
        return []
    agents = len(found.agents)
    parts = (
        (means.alone, "each with itself", agents, "agents"),
        (means.together, "with each other", agents * (agents - 1) // 2, "pairs"),
    )
    return [
        f"{how}: {one.mean:.3f}" + (f" ± {one.stderr:.3f} (standard error over {count} {what})" if count > 1 else "")
        for one, how, count, what in parts
    ]


def _leads(found: EvaluationResult | CrossPlay) -> list[str]:
    from ludory.agents.evaluation.cross_play import CrossPlay

    if not isinstance(found, CrossPlay):
        return []
    return [
        f"self-play of {visible(one.agent)} minus that of {visible(one.other)}, game by game: {one.by.mean:+.3f} ± {one.by.stderr:.3f} "
        f"(standard error; 95 % interval {one.by.low:+.3f} .. {one.by.high:+.3f})"
        for one in found.leads()
    ]


def _counts(found: EvaluationResult | CrossPlay) -> list[str]:
    return [
        f"{visible(agent)}: "
        + ", ".join(f"{count:,} {name}" if count % 1 == 0 else f"{count:,.4f} {name}" for name, count in counts.items())
        for agent, counts in found.counts.items()
    ]


def _player(found: EvaluationResult, name: str) -> str:
    """The agent that a row of the table is about; all of them where it is about the game."""
    match = re.fullmatch(r"return of (?:seat|agent) (\d+)", name)
    agents = [found.agents[int(match[1])]] if match else list(dict.fromkeys(found.agents))
    return visible(" + ".join(agents))


def _table(found: EvaluationResult | CrossPlay) -> Table:
    from rich.table import Table

    from ludory.agents.evaluation.cross_play import CrossPlay

    games = f"{found.games} games, seed {found.seed}"
    if isinstance(found, CrossPlay):
        table = Table(
            title=f"{found.game}: mean return of the row's agent; {games}, the same for each pair",
            caption="mean ± standard error, and below it the 95 % interval of the mean; the row's agent sits in seat 0, "
            "with more than two seats in each of them for a part of the games",
        )
        for name in ("agent", *(f"with {name}" for name in found.agents)):
            table.add_column(visible(name), overflow="fold")
        for name, row in zip(found.agents, found.estimates(), strict=True):
            table.add_row(
                visible(name), *(f"{one.mean:.2f} ± {one.stderr:.2f}\n{one.low:.2f}..{one.high:.2f}" for one in row)
            )
        return table
    table = Table("agent", "of a game", "mean", "standard error", "95 % interval", title=f"{found.game}; {games}")
    for name, one in found.estimates().items():
        table.add_row(
            _player(found, name),
            visible(name),
            f"{one.mean:.3f}",
            f"{one.stderr:.3f}",
            f"{one.low:.3f} .. {one.high:.3f}",
        )
    return table
