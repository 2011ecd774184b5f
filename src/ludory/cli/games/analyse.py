"""`ludory analyse`: values of moves, beliefs and mistakes of a recorded game, as the analysis board shows them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ludory.arguments import Arg, Positional
from ludory.cli.common.options import Count, Flag, GameOptions, Maybe, parse_options
from ludory.cli.common.parser import parse
from ludory.cli.common.showing import show_table
from ludory.errors import OptionError
from ludory.plugins.files import program
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.replay import Replay
    from ludory.web.analysis.review import JudgedMove

SHOWN = 12
"""Moves listed of a position."""


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Say what the moves of a recorded game were worth: all of them, or those at one position.

    Without --move every decision is judged and the worst ones are listed. The browser's analysis board shows the same numbers for the
    same seed and number of rollouts.

    Example: ludory analyse game.json --move 20
    """

    game: Positional[str]
    """A replay file (.json), or the id of a game with --seed and --moves."""
    seed: int = 0
    """Seed of a game given by its id."""
    moves: str = ""
    """Moves of a game given by its id, as numbers of actions: "3 17 4"."""
    move: Maybe[int] = None
    """Analyse the position after this many moves (default: judge the whole game)."""
    view: Maybe[int] = None
    """Use only what this seat may know (default: everything)."""
    seat: Maybe[int] = None
    """Where all seats move at once: whose plans to compare."""
    agent: Maybe[str] = None
    """Agent that plays on in rollouts, such as hanabi/piers (default: by the game)."""
    ask: Annotated[tuple[str, ...], Arg(repeated=True, metavar="AGENT")] = ()
    """With --move: another agent or checkpoint to ask for its move and its probabilities."""
    rollouts: Maybe[Count] = None
    """Rollouts of a position (default: 10000), or of each half of a decision's (default: 1000)."""
    search_seed: int = 0
    """Seed of the rollouts."""
    json: Flag = False
    """Print one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Analyse one position, or judge the whole game."""
    chosen = parse(_Options, argv, "analyse")
    for name, value in (("rollouts", chosen.rollouts), ("search-seed", chosen.search_seed)):
        if value is not None and value < 0:
            raise OptionError(f"--{name} {value}: must be at least 0")
    replay = _replay(chosen)
    if chosen.move is None:
        _show_game(chosen, replay)
    else:
        _show_position(chosen, replay)
    return 0


def _replay(chosen: _Options) -> Replay:
    from ludory.agents.analysis.positions import parse_moves, replay_of_moves
    from ludory.data.replay import read_replay
    from ludory.envs.make import make_game

    if Path(chosen.game).is_file() or chosen.game.endswith(".json"):
        if chosen.moves or chosen.option:
            raise OptionError(f"{chosen.game} is a replay: it already has its moves and options; leave these out")
        return read_replay(chosen.game)
    options = parse_options(chosen.option)
    game = make_game(chosen.game, **options)
    return replay_of_moves(game, chosen.seed, parse_moves(game, chosen.moves))


def _show_position(chosen: _Options, replay: Replay) -> None:
    from rich.table import Table

    from ludory.web.analysis.report import PositionAnalysis

    assert chosen.move is not None
    analysis = PositionAnalysis(
        replay, chosen.move, chosen.view, chosen.seat, chosen.agent, chosen.search_seed, also=chosen.ask
    )
    found = analysis.run(10_000 if chosen.rollouts is None else chosen.rollouts)
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    for note in found["notes"]:
        print(visible(note))
    values = found["values"]
    if values:
        print(f"Seat {found['seat']} after {found['move']} moves; {values['rollouts']:,} rollouts: {values['method']}.")
        networks = sorted({name for move in values["moves"] for name in move.get("networks", {})})
        table = Table("move", values["unit"], "error", *networks, "agents", box=None)
        for move in values["moves"][:SHOWN]:
            marks = [*move["agents"], *(["played"] if move["played"] else [])]
            shares = [f"{100 * (move['networks'][name] or 0):.0f} %" for name in networks]
            numbers = _number(move["value"]), _number(move["stderr"])
            table.add_row(move["name"], *numbers, *shares, ", ".join(marks))
        show_table(table)
        if values["line"]:
            print("Expected: " + ", ".join(f"{step['name']} ({100 * step['share']:.0f} %)" for step in values["line"]))
    if found["belief"]:
        _show_belief(found["belief"])


def _show_belief(belief: dict[str, Any]) -> None:
    print(f"\n{belief['title']}: {belief['note']}")
    for row, shares in zip(belief["rows"], belief["probabilities"], strict=True):
        order = sorted(range(len(shares)), key=lambda k: -shares[k])
        likely = [f"{belief['columns'][k]} {100 * shares[k]:.0f} %" for k in order[:6] if shares[k] > 0]
        print(f"  {row}: {', '.join(likely)}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _show_game(chosen: _Options, replay: Replay) -> None:
    from ludory.cli.common.showing import games_bar
    from ludory.web.analysis.review import ROLLOUTS, game_report, mistakes, review

    rollouts = ROLLOUTS if chosen.rollouts is None else chosen.rollouts
    judged: list[JudgedMove] = []
    with games_bar(len(replay.moves), shown=not chosen.json, title="decisions", unit="decisions") as advance:
        for one in review(replay, rollouts, chosen.search_seed, chosen.agent, chosen.view):
            judged.append(one)
            advance(1)
    worst = mistakes(judged)
    if chosen.json:
        print(json.dumps(game_report(replay.game, rollouts, judged), indent=2))
        return
    print(visible(f"{replay.game}, seed {replay.seed}: {', '.join(replay.agents)}"))
    print(
        f"{len(judged)} decisions judged. {'The moves that cost most:' if worst else 'No move was surely a mistake.'}"
    )
    for one in worst:
        print(visible(f"  after {one.number:3} moves  {one.told()}; best was {one.best}"))
    if worst:
        moves = f" --seed {replay.seed} --moves {shlex.quote(chosen.moves)}" if chosen.moves else ""
        game = "".join(f" --option {shlex.quote(one)}" for one in chosen.option)
        print(
            f"More on one of them: {program()} analyse {shlex.quote(chosen.game)}{game}{moves} --move {worst[0].number}"
        )
