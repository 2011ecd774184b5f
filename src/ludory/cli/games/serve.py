"""`ludory serve`: games, analysis, runs and leagues in a browser, from this machine."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ludory.cli.common.options import Flag, Folder, Maybe
from ludory.cli.common.parser import parse
from ludory.errors import OptionError

if TYPE_CHECKING:
    from ludory.web.app import WebSettings

MOST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Play, watch and analyse games in a browser, and follow runs and leagues.

    Example: ludory serve --open --runs runs
    """

    open: Flag = False
    """Open the first page in the browser."""
    host: str = "127.0.0.1"
    """Address to listen on. Others than those of this machine need a token, which is made if none is given."""
    port: int = 8042
    """Port; 0 takes a free one."""
    runs: Maybe[Folder] = None
    """Folder with training runs, checkpoints and leagues."""
    data: Maybe[Folder] = None
    """Folder with recorded games."""
    tables: Folder = Path("ludory-tables")
    """Folder for the games that are played here, one file for each."""
    token: Maybe[str] = None
    """Ask everybody for this token."""


def run(argv: list[str]) -> int:
    """Serve until Ctrl+C."""
    chosen = parse(_Options, argv, "serve")
    if not 0 <= chosen.port <= MOST_PORT:
        raise OptionError(f"--port {chosen.port}: must be 0 to {MOST_PORT}")
    for name, folder in (("runs", chosen.runs), ("data", chosen.data)):
        if folder is not None and not folder.is_dir():
            raise OptionError(f"--{name} {folder}: there is no such folder; name one that exists")
    serve, settings = _server(chosen)
    serve(settings, chosen.open)
    return 0


def _server(chosen: _Options) -> tuple[Any, WebSettings]:
    """What serves, and the settings.

    Raises:
        PluginError: the extra `web` is not installed.
    """
    from ludory.plugins.requirements import missing_dependency

    try:
        from ludory.web.app import WebSettings
        from ludory.web.safety import is_loopback
    except ModuleNotFoundError as error:
        raise missing_dependency("ludory serve", error.name or "starlette", extras=("web",)) from error
    token = chosen.token
    if token is None and not is_loopback(chosen.host):
        token = secrets.token_urlsafe(18)
    return _serve, WebSettings(chosen.host, chosen.port, token, chosen.runs, chosen.data, chosen.tables)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        OptionError: it cannot listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only where the socket names its protocol: a click takes 40 ms less
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # who reads the address may connect at once
    except (OSError, UnicodeError) as error:
        listening.close()
        raise OptionError(
            f"cannot listen on {host} port {port}: {error}; choose another --port (0 takes a free one) or --host"
        ) from error
    return listening


def _serve(settings: WebSettings, show: bool) -> None:
    import uvicorn

    from ludory.web.app import make_app

    listening = listen(settings.host, settings.port)
    app = make_app(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{listening.getsockname()[1]}/"
    secret = f"?token={quote(settings.token)}" if settings.token else ""
    print(f"Ludory is at {address}{secret}\nCtrl+C ends it; games are kept in {settings.tables}", flush=True)
    threading.Thread(target=_after_start, args=(app.state.ludory, address + secret, show), daemon=True).start()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False
    )
    with suppress(KeyboardInterrupt):  # the way to end it
        uvicorn.Server(config).run(sockets=[listening])


def _after_start(around: Any, address: str, show: bool) -> None:
    """Open the browser, and import what the first game needs while a person looks at the first page."""
    import webbrowser

    time.sleep(0.2)
    if show:
        webbrowser.open(address)
    around.warm_up()
