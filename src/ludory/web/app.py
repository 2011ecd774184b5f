"""`make_app`: the server's pages as one ASGI application. Each module of `pages/` brings its routes, each system its `Page`."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from anyio.to_thread import run_sync
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from ludory.errors import LudoryError, UnknownIdError
from ludory.visible import visible

from .page import CORE, TEMPLATES, answer, header_links, only_own, static_address, static_file, system_pages
from .pages.starting import StartingPage
from .players import PlayerPool
from .safety import HEADERS, TOKEN_COOKIE, Safety, TooLargeError, read_form, same_secret
from .slices import Refinements, SlicePool
from .tables import Tables

PAGES = ("home", "table", "starting")
"""Modules of `ludory.web.pages`, each with `routes`, that the server starts with."""
LATE_PAGES = ("runs", "games", "analyse", "watch", "duels")
"""Modules that are imported when the first of their pages is asked for, or while nobody asks for anything."""
NAVIGATION = (
    ("/", "Play"),
    ("/games", "Games"),
    ("/analyse", "Analysis"),
    ("/watch", "Watch"),
    ("/arena", "Duels"),
    ("/runs", "Runs"),
)
"""Address and name of the pages in the header; those of systems follow."""
MOST_WAITING = 24
"""Pages that are made at once."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where the server listens, and the folders that it may read."""

    host: str = "127.0.0.1"
    port: int = 8042
    token: str | None = None
    """Asked from everybody; None: nobody is asked, for servers that only this machine can reach."""
    runs: Path | None = None
    """Folder with training runs, checkpoints and leagues."""
    data: Path | None = None
    """Folder with recorded games."""
    tables: Path = Path("ludory-tables")
    """Folder with a file for every table."""
    workers: int = 2
    """Processes in which agents choose moves."""
    move_seconds: float = 30.0
    """Time of an agent for one move."""


class Surroundings:
    """What pages find in `request.app.state.ludory`."""

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        self.closing = False
        """True when streams should end, since the server stops."""
        self.players = PlayerPool(settings.workers, settings.move_seconds)
        """Agents in worker processes."""
        self.tables = Tables(settings.tables, self.players)
        """All tables."""
        self.starting: dict[str, StartingPage] = {}
        """Pages whose games are being compiled."""
        self._pages = ThreadPoolExecutor(MOST_WAITING, "pages")
        self.slices = SlicePool()
        """Processes for evaluations and other long work."""
        self.analysis = SlicePool(seconds=300.0)
        """The process of analyses, which keeps their state between pieces of work."""
        self.refinements = Refinements()
        """Answers that get better while someone looks at them."""
        self.loaded = False
        """Whether engines and their compiler are imported."""
        self.templates = Environment(
            loader=ChoiceLoader([PackageLoader("ludory.web"), PrefixLoader(TEMPLATES)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.globals |= {
            "static": static_address,
            "navigation": lambda: [*NAVIGATION, *header_links(self.loaded)],
        }
        self._loading = threading.Lock()

    def render(self, request: Request, name: str, /, status_code: int = 200, **context: Any) -> HTMLResponse:
        """The page of the template `name`; `request` and what is in `context` are its variables."""
        return HTMLResponse(self.templates.get_template(name).render(request=request, **context), status_code)

    def load(self) -> None:
        """Import engines and their compiler, once: threads that import the compiler at the same time wait for one another for ever."""
        with self._loading:
            if not self.loaded:
                import ludory.web.position  # noqa: F401

                self.loaded = True

    def warm_up(self) -> None:
        """Import what every table needs, and start a worker, so that the first game does not wait for it."""
        self.load()
        self.players.warm_up()
        _late_pages()
        system_pages()

    def in_background(self, answer: Callable[[], Response]) -> Future[Response]:
        """What `answer` will return; it runs in another thread."""
        return self._pages.submit(answer)

    def close(self) -> None:
        """Stop the workers."""
        self.closing = True
        self._pages.shutdown(wait=False, cancel_futures=True)
        self.tables.close()
        self.players.close()
        self.slices.close()
        self.analysis.close()


def make_app(settings: WebSettings) -> Starlette:
    """The application; `app.state.ludory` are its `Surroundings`."""
    around = Surroundings(settings)
    routes = [
        Route("/static/{name}", static_file(CORE)),
        Route("/token", _take_token, methods=["POST"]),
        *_routes(PAGES),
    ]

    @asynccontextmanager
    async def closing(app: Starlette) -> AsyncIterator[None]:
        yield
        around.close()

    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(cast(Any, Safety), host=settings.host, token=settings.token, refuse=_refusal(around)),
            Middleware(cast(Any, _TokenInAddress), token=settings.token),
            Middleware(cast(Any, _Loaded), around=around),
        ],
        exception_handlers={
            HTTPException: _http_error,
            LudoryError: _known_error,
            TooLargeError: _too_large,
            Exception: _fault,
        },
        lifespan=closing,
    )
    app.state.ludory = around
    app.router.default = _late_page
    return app


def _routes(pages: Sequence[str]) -> list[Route]:
    return [route for name in pages for route in import_module(f"ludory.web.pages.{name}").routes]


@cache
def _late_pages() -> Router:
    return Router(_routes(LATE_PAGES), default=answer)


async def _late_page(scope: Any, receive: Any, send: Any) -> None:
    """Answer with one of `LATE_PAGES`, or a page of a system."""
    pages = await run_sync(_late_pages)
    await pages(scope, receive, send)


class _Loaded:
    """Lets pages wait until engines are imported; the first page and what it shows need none."""

    def __init__(self, app: Any, around: Surroundings) -> None:
        self._app, self._around = app, around

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._around.loaded:
            light = scope["path"].startswith("/static/") or (
                scope["path"] == "/" and not scope["query_string"] and only_own()
            )
            if not light:
                await run_sync(self._around.load)
        await self._app(scope, receive, send)


class _TokenInAddress:
    """Keeps the token of an address `?token=...` in a cookie and leads to the same page without it."""

    def __init__(self, app: Any, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and self._token and scope["method"] == "GET":
            request = Request(scope)
            if same_secret(request.query_params.get("token", ""), self._token):
                left = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
                await _with_token(str(request.url.replace_query_params(**dict(left))), self._token)(
                    scope, receive, send
                )
                return
        await self._app(scope, receive, send)


def _with_token(address: str, token: str) -> Response:
    response = RedirectResponse(re.sub(r"^https?://[^/]*", "", address) or "/", 303)
    response.set_cookie(TOKEN_COOKIE, token, httponly=True, samesite="strict", max_age=30 * 24 * 3600)
    return response


async def _take_token(request: Request) -> Response:
    around, form = request.app.state.ludory, await read_form(request)
    if not same_secret(form.get("token", ""), around.settings.token or ""):
        return refused(
            around, request, 401, "That is not the token of this server. Enter the one that `ludory serve` printed."
        )
    return _with_token("/", around.settings.token)


def refused(around: Surroundings, request: Request, status: int, words: str) -> HTMLResponse:
    """The page of an error; `words` say what to do."""
    wants_token = status == 401
    words = visible(words, keep="\n")
    if request.headers.get("hx-request") == "true":  # htmx shows it in the page that asked
        return around.render(request, "problem.html", status, words=words)
    return around.render(request, "error.html", status, status=status, words=words, wants_token=wants_token)


def _refusal(around: Surroundings) -> Any:
    return lambda scope, status, words: refused(around, Request(scope), status, words)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: "There is no such page. Tables, runs and games are listed on the first page.",
        405: "This address is not understood in that way. Use the links and forms of the page.",
    }
    default = (
        error.detail
        if error.status_code not in words or error.detail not in ("Not Found", "Method Not Allowed")
        else ""
    )
    return refused(request.app.state.ludory, request, error.status_code, default or words[error.status_code])


async def _known_error(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, UnknownIdError) else 400
    return refused(request.app.state.ludory, request, status, str(error))


async def _too_large(request: Request, error: Exception) -> Response:
    return refused(request.app.state.ludory, request, 413, "The request is larger than any form here needs.")


async def _fault(request: Request, error: Exception) -> Response:
    words = "The server made a mistake; its terminal shows which. Go back and try again; no game is lost."
    response = refused(request.app.state.ludory, request, 500, words)
    response.headers.update(HEADERS)  # this answer does not pass `Safety`
    return response


__all__: Sequence[str] = ("NAVIGATION", "PAGES", "Surroundings", "WebSettings", "make_app", "refused", "static_address")
