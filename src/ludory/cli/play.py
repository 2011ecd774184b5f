"""`ludory play`: a person plays at this terminal, agents take the other seats."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ludory.cli.common.options import add_options, parse_options
from ludory.cli.common.outcome import outcome
from ludory.errors import GameLeftError, OptionError

if TYPE_CHECKING:
    from ludory.data.playthrough import Playthrough

DEFAULT_GAME = "Hanabi2P-v0"
DEFAULT_PARTNERS = {"Hanabi": "hanabi/iggi"}
"""Who plays beside a person, by the name of the game; `random` in all others."""


def run(argv: list[str]) -> int:
    """Play one game; its replay is kept even when the person leaves it."""
    chosen = _parser().parse_args(argv)
    # Imported after the arguments were read: these compile kernels, and --help must not wait for that.
    from ludory.agents.make import make_agent
    from ludory.data.playthrough import Playthrough
    from ludory.data.replay import as_replay, write_replay
    from ludory.envs.make import make_game

    game = make_game(chosen.game, **parse_options(chosen.option))
    partners = chosen.partners or [DEFAULT_PARTNERS.get(game.facts.name, "random")]
    names = seat_names(game.facts.players, chosen.seat, partners)
    playthrough = Playthrough(game, [make_agent(name, game) for name in names], chosen.seed)
    try:
        _play(playthrough, names, chosen.seat)
    finally:
        replay = as_replay(playthrough, names)
        print(outcome(game.facts, replay))
        if chosen.replay:
            write_replay(chosen.replay, replay)
            print(f"The replay is in {chosen.replay}; watch it with `ludory watch {chosen.replay}`")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ludory play", description="Play a game at this terminal.")
    parser.add_argument(
        "game", nargs="?", default=DEFAULT_GAME, help=f"default {DEFAULT_GAME}; `ludory list games` shows all"
    )
    parser.add_argument(
        "--with",
        nargs="+",
        action="extend",
        dest="partners",
        metavar="AGENT",
        help="who takes the other seats: one agent for all of them, or one for each in the order of seats "
        f"(default {DEFAULT_PARTNERS['Hanabi']} in Hanabi, else random)",
    )
    parser.add_argument("--seat", type=int, default=0, help="your seat, from 0 (default)")
    parser.add_argument("--seed", type=int, help="play this deal again; a fresh one is drawn and shown without it")
    add_options(parser)
    parser.add_argument("--replay", metavar="FILE", help="write the game to FILE (JSON)")
    return parser


def seat_names(players: int, seat: int, partners: Sequence[str]) -> list[str]:
    """The agent of every seat, `human` in `seat`.

    Raises:
        OptionError: there is no such seat, or neither one partner nor one for each other seat.
    """
    if not 0 <= seat < players:
        raise OptionError(f"--seat {seat}: this game has the seats 0 to {players - 1}")
    if len(partners) not in (1, players - 1):
        raise OptionError(
            f"--with names {len(partners)} agents, but {players - 1} seats are free: name one for all of them, or one for each"
        )
    others = list(partners) * (players - 1) if len(partners) == 1 else list(partners)
    return [*others[:seat], "human", *others[seat:]]


def _play(playthrough: Playthrough, names: Sequence[str], seat: int) -> None:
    from ludory.data.playthrough import move_words
    from ludory.envs.pictures import show, text_picture

    game = playthrough.game
    seats = ", ".join(f"{other} {'you' if other == seat else name}" for other, name in enumerate(names))
    show(f'{game.id}, seed {playthrough.seed}\nSeats: {seats}\nType "?" for help, "q" to leave.\n')
    try:
        for move in playthrough:
            show(f"-- {move_words(game, playthrough.engine, move)}\n")
    except GameLeftError as left:
        show(f"\n{left}")
    show("All cards face up:\n\n" + text_picture(game, playthrough.engine.state, 0, None) + "\n")
