"""`/games`: recorded games, with filters, to open in the analysis or to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ludory.errors import OptionError

from .runs import age

if TYPE_CHECKING:
    from ludory.data.viewing.game_rows import GameFilter, Sort

SORTS = (("row", "as recorded"), ("score", "score"), ("length", "length"))


def games(request: Request) -> Response:
    """The folders of recorded games, or the games of the one in `?folder=`; `?json` has the data alone."""
    from ludory.data.viewing.viewer import viewers
    from ludory.web import recorded  # imports PyArrow: a server starts without it

    around, query = request.app.state.ludory, request.query_params
    top, key = around.settings.data, query.get("folder", "")
    if not key:
        rows = recorded.folders_page(top, query.get("words", "")[:200])
        if "json" in query:
            return JSONResponse(rows)
        rows = [row | {"age": age(row["changed"])} for row in rows]
        shown: Response = around.render(
            request,
            "games.html",
            top=top,
            folders=rows,
            words=query.get("words", "")[:200],
            page=None,
            viewers=viewers(),
        )
        return shown
    chosen = read_filter(query)
    page = recorded.games_page(top, key, chosen, _number(query, "page") or 1)
    if "json" in query:
        return JSONResponse(page)
    players = max((len(row["returns"]) for row in page["rows"]), default=chosen.seat + 1)
    answer: Response = around.render(
        request,
        "games.html",
        top=top,
        page=page,
        viewers=viewers(),
        chosen=chosen,
        sorts=SORTS,
        players=players,
        shared=all(len(set(row["returns"])) == 1 for row in page["rows"]),
        turn=lambda number: (
            "/games?" + urlencode([(k, v) for k, v in query.multi_items() if k != "page"] + [("page", str(number))])
        ),
    )
    return answer


def read_filter(query: QueryParams) -> GameFilter:
    """The filter in an address; empty fields filter nothing.

    Raises:
        OptionError: a field is no number, or the order is unknown.
    """
    from ludory.data.viewing.game_rows import GameFilter

    sort = query.get("sort", "row")
    if sort not in dict(SORTS):
        raise OptionError(f"sort={sort[:20]!r}: must be one of {', '.join(dict(SORTS))}")
    return GameFilter(
        query.get("agent", "").strip()[:100],
        _number(query, "seat") or 0,
        _score(query, "low"),
        _score(query, "high"),
        _number(query, "shortest"),
        _number(query, "longest"),
        cast("Sort", sort),
        "down" in query,
    )


def _score(query: QueryParams, name: str) -> float | None:
    text = query.get(name, "").strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise OptionError(f"{name}={text[:20]!r}: must be a number") from None


def _number(query: QueryParams, name: str) -> int | None:
    text = query.get(name, "").strip()
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise OptionError(f"{name}={text[:20]!r}: must be a whole number of at least 0")
    return int(text) if text else None


routes = [Route("/games", games)]
