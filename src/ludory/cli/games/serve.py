"""`ludory serve`: games, analysis, runs and leagues in a browser, from this machine."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ludory.cli.common.listening import address_of, listen, serve_until_stopped
from ludory.cli.common.options import Flag, Folder, Maybe
from ludory.cli.common.parser import parse
from ludory.errors import OptionError

if TYPE_CHECKING:
    from ludory.web.app import WebSettings


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


def _serve(settings: WebSettings, show: bool) -> None:
    from ludory.web.app import make_app

    listening = listen(settings.host, settings.port)
    app = make_app(settings)
    address = address_of(listening, settings.host)
    secret = f"?token={quote(settings.token)}" if settings.token else ""
    print(f"Ludory is at {address}{secret}\nCtrl+C ends it; games are kept in {settings.tables}", flush=True)
    threading.Thread(target=_after_start, args=(app.state.ludory, address + secret, show), daemon=True).start()
    serve_until_stopped(app, listening)


def _after_start(around: Any, address: str, show: bool) -> None:
    """Open the browser, and import what the first game needs while a person looks at the first page."""
    import webbrowser

    time.sleep(0.2)
    if show:
        webbrowser.open(address)
    around.warm_up()
