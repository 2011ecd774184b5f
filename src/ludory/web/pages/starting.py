"""`/starting/<key>`: what is shown while a game is compiled, which happens once on a machine; then the page opens."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDoneError
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from ludory.web.app import Surroundings
    from ludory.web.tables import GameTable

PATIENCE = 1.0
"""Seconds that a browser waits for its page before another one says what takes so long."""
MOST_STARTING = 64
MOST_AGE = 300.0
"""Seconds for which a page that was asked for is kept."""
_SALT = secrets.token_bytes(16)


class StartingPage(NamedTuple):
    """A page that is being made."""

    title: str
    answer: Future[Response]
    address: str
    """Where the page is; "" if the answer leads there itself."""
    asked: float
    """When it was asked for, in seconds of `time.monotonic`."""


def open_when_ready(
    request: Request, game: str, start: Callable[[], GameTable], address: Callable[[GameTable], str]
) -> Response:
    """Make a table in the background, and lead to its page, or to one that waits for it.

    Raises:
        LudoryError: as `start` raises.
    """
    return answer_when_ready(request, game, lambda: RedirectResponse(address(start()), 303))


def answer_when_ready(request: Request, title: str, answer: Callable[[], Response]) -> Response:
    """Answer a form: what `answer` returns, or the way to a page with this title that waits for it.

    Raises:
        LudoryError: as `answer` raises.
    """
    around: Surroundings = request.app.state.ludory
    page = StartingPage(title, around.in_background(answer), "", time.monotonic())
    return _answer(around, secrets.token_hex(8), page)


def when_ready(page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """A page that may have to compile a game: if it takes long, the browser is led to one that says so, and back.

    Parts of pages and data for programs are waited for. What was made is kept for the browser that asked for it, so that it is not
    made again when that browser comes back.
    """

    @wraps(page)
    def opened(request: Request) -> Response:
        if request.headers.get("hx-request") == "true" or "json" in request.query_params:
            return page(request)
        around: Surroundings = request.app.state.ludory
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        # with the cookie: another browser must not get this one's page
        asker = f"{address}\n{request.headers.get('cookie', '')}".encode()
        # salted, since the key stands in an address and must not tell the cookie
        key = hashlib.sha256(_SALT + asker).hexdigest()[:16]
        found = around.starting.get(key)
        if found is None or time.monotonic() - found.asked > MOST_AGE:
            made = around.in_background(lambda: page(request))
            found = StartingPage("One moment", made, address, time.monotonic())
        return _answer(around, key, found)

    return opened


def _answer(around: Surroundings, key: str, page: StartingPage) -> Response:
    """The page if it is ready soon, else the way to one that waits for it.

    Raises:
        LudoryError, HTTPException: as the page raises.
    """
    with suppress(NotDoneError):
        page.answer.exception(PATIENCE)
        around.starting.pop(key, None)
        return page.answer.result()
    around.starting[key] = page
    while len(around.starting) > MOST_STARTING:
        around.starting.pop(next(iter(around.starting)))
    return RedirectResponse(f"/starting/{key}", 303)


def show(request: Request) -> Response:
    """The page while one waits; then it leads to the one that was asked for. A page that asks again and again is told when to load it anew."""
    around: Surroundings = request.app.state.ludory
    found = around.starting.get(request.path_params["key"])
    if found is None:
        raise HTTPException(404, "There is no such page. The first page lists all tables, and starts new ones.")
    asked_by_page = request.headers.get("hx-request") == "true"
    if not found.answer.done():
        if asked_by_page:
            # 204: the page stays as it is, and asks again
            return Response(status_code=204)
        return around.render(request, "starting.html", title=found.title)
    if asked_by_page:
        return Response(headers={"hx-redirect": found.address or request.url.path})
    return RedirectResponse(found.address, 303) if found.address else found.answer.result()


routes = [Route("/starting/{key}", show)]
