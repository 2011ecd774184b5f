"""`ludory serve openenv`: a text game for clients of OpenEnv."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ludory.arguments import Arg, Positional
from ludory.cli.common import Assignments, Maybe, address_of, listen, parse, parse_options, serve_until_stopped


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Serve a game that language models play to clients of OpenEnv; each client has games of its own.

    Example: ludory serve openenv Hanabi2P-v0 --opponents hanabi/iggi --port 8000
    """

    game: Positional[str]
    """Id of a game; `ludory list games` shows all."""
    opponents: str = "random"
    """Agent in the other seats."""
    seat: int = 0
    """Seat of the model."""
    option: Assignments = ()
    """Option of `TextEnv` or of the game, e.g. --option turns=20 --option preset=ragen."""
    host: str = "127.0.0.1"
    """Address to listen on. The protocol has no passwords: whoever reaches it can play."""
    port: int = 8000
    """Port; 0 takes a free one."""
    sessions: int = 64
    """Most clients at once."""
    idle: Annotated[Maybe[float], Arg(metavar="SECONDS")] = None
    """Drop the game of a client that has been silent for so long."""


def run(argv: list[str]) -> int:
    """Serve until Ctrl+C."""
    chosen = parse(_Options, argv, "serve openenv")
    from ludory.agents.language.adapters.openenv import make_app

    options = {"seat": chosen.seat, "opponents": chosen.opponents} | parse_options(chosen.option)
    app = make_app(chosen.game, sessions=chosen.sessions, idle_seconds=chosen.idle, **options)
    listening = listen(chosen.host, chosen.port)
    print(f"{chosen.game} for OpenEnv is at {address_of(listening, chosen.host)}\nCtrl+C ends it", flush=True)
    serve_until_stopped(app, listening)
    return 0
