"""`/starting/<key>`: what is shown while a game is compiled, which happens once on a machine; then the table opens."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDoneError
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from ludory.web.app import Surroundings
    from ludory.web.tables import GameTable

PATIENCE = 1.0
"""Seconds that a form waits for its table before a page says what takes so long."""
MOST_STARTING = 64


class StartingTable(NamedTuple):
    """A table that is being made."""

    game: str
    table: Future[GameTable]
    address: Callable[[GameTable], str]
    """The page that shows the table."""


def open_when_ready(
    request: Request, game: str, start: Callable[[], GameTable], address: Callable[[GameTable], str]
) -> Response:
    """Make a table in the background, and lead to its page, or to one that waits for it.

    Raises:
        LudoryError: as `start` raises.
    """
    around: Surroundings = request.app.state.ludory
    made = around.tables.in_background(start)
    with suppress(NotDoneError):
        return RedirectResponse(address(made.result(PATIENCE)), 303)
    key = secrets.token_hex(8)
    around.starting[key] = StartingTable(game, made, address)
    while len(around.starting) > MOST_STARTING:
        around.starting.pop(next(iter(around.starting)))
    return RedirectResponse(f"/starting/{key}", 303)


def show(request: Request) -> Response:
    """The page while one waits; then it leads to the table. A page that asks again and again is told when to load it anew."""
    around: Surroundings = request.app.state.ludory
    found = around.starting.get(request.path_params["key"])
    if found is None:
        raise HTTPException(404, "There is no such table. The first page lists all tables, and starts new ones.")
    asked_by_page = request.headers.get("hx-request") == "true"
    if not found.table.done():
        return Response(status_code=204) if asked_by_page else around.render(request, "starting.html", game=found.game)
    if asked_by_page:
        return Response(headers={"hx-redirect": request.url.path})
    return RedirectResponse(found.address(found.table.result()), 303)


routes = [Route("/starting/{key}", show)]
