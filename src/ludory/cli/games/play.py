"""`ludory play`: a person plays at this terminal, agents take the other seats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ludory.agents.partners import default_partner
from ludory.arguments import Arg, Positional, as_typed
from ludory.cli.common.options import File, GameOptions, Maybe, seat_names
from ludory.cli.common.parser import parse
from ludory.cli.common.showing import log_on_stderr, outcome
from ludory.errors import GameLeftError
from ludory.plugins import games

if TYPE_CHECKING:
    from ludory.data.playthrough import Playthrough


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Play a game at this terminal.

    Example: ludory play Hanabi2P-v0 --with hanabi/piers
    """

    game: Positional[str] = games.ids()[0]
    """Id of a game, or --game ID; `ludory list games` shows all, and the first is the default."""
    partners: Annotated[tuple[tuple[str, ...], ...], Arg(repeated=True, name="with", metavar="AGENT...")] = ()
    """Who takes the other seats: one agent for all of them, or one for each in the order of seats.
    Default: a bot of the game, such as hanabi/iggi; random where there is none."""
    seat: int = 0
    """Your seat, from 0."""
    seed: Maybe[int] = None
    """Play this deal again (default: a fresh one, whose seed is shown)."""
    replay: Maybe[File] = None
    """Write the game to FILE (JSON)."""


def run(argv: list[str]) -> int:
    """Play one game; its replay is kept even when the person leaves it."""
    chosen = parse(_Options, argv, "play")
    # Imported after the arguments were read: these compile kernels, and --help must not wait for that.
    from ludory.agents.make import make_agent
    from ludory.data.playthrough import Playthrough
    from ludory.data.replay import as_replay, write_replay

    game = chosen.make(chosen.game)
    partners = [name for names in chosen.partners for name in names]
    names = seat_names(game.facts.players, partners or [default_partner(game.facts.name)], human=chosen.seat)
    with log_on_stderr():
        playthrough = Playthrough(game, [make_agent(name, game) for name in names], chosen.seed)
    try:
        _play(playthrough, names, chosen.seat)
    finally:
        replay = as_replay(playthrough, names)
        print(outcome(game.facts, replay))
        if chosen.replay:
            write_replay(chosen.replay, replay)
            print(f"The replay is in {chosen.replay}; watch it with `ludory watch {as_typed(chosen.replay)}`")
    return 0


def _play(playthrough: Playthrough, names: Sequence[str], seat: int) -> None:
    from ludory.data.playthrough import Narrator
    from ludory.envs.pictures import show, text_picture

    game = playthrough.game
    seats = ", ".join(f"{other} {'you' if other == seat else name}" for other, name in enumerate(names))
    show(f'{game.id}, seed {playthrough.seed}\nSeats: {seats}\nType "?" for help, "q" to leave.\n')
    told = Narrator(game, seat)
    told(playthrough.engine, None)
    try:
        for move in playthrough:
            show(f"-- {told(playthrough.engine, move)}\n")
    except GameLeftError as left:
        show(f"\n{left}")
    show("All cards face up:\n\n" + text_picture(game, playthrough.engine.state, 0, None) + "\n")
