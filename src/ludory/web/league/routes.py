"""`/league/<name>`: a league, also while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ludory.web import Listing, Page, age, event_stream, seen, when_changed

SECTIONS = (("results", "Results"), ("strength", "Strength"), ("family", "Family"), ("curves", "Training curves"))


def league(request: Request) -> Response:
    """The page; `?json` has the data alone."""
    from . import view  # imports SciPy: a server starts without it

    around, top, key = request.app.state.ludory, request.app.state.ludory.settings.runs, request.path_params["key"]
    since = seen(view.find_league(top, key).version)
    page = view.league_page(top, key)
    if "json" in request.query_params:
        return JSONResponse(page)
    report = view.read(view.find_league(top, key)).report
    learners = [one | {"doing": view.doing(one)} for one in page["summary"]["learners"]]
    answer: Response = around.render(
        request,
        "league/league.html",
        page=page,
        learners=[one | {"age": age(one["last_slice"]) if one["last_slice"] else "-"} for one in learners],
        players=[one | {"play": _play(page["env"], one)} for one in page["players"]],
        sections=[(title, found) for name, title in SECTIONS if (found := view.figures(report).get(name))],
        age=age(page["changed"]),
        live=f"/live/league/{quote(key)}?since={since}",
    )
    return answer


def _play(game: str, player: dict[str, Any]) -> str:
    """The address at which a person plays against a player; "" where its file is gone."""
    return "/?" + urlencode({"game": game, "agent": player["agent"]}) if player["agent"] else ""


async def live_league(request: Request) -> Response:
    """Events while the league plays; its tables are computed again at most every five seconds."""
    from . import view

    found = view.find_league(request.app.state.ludory.settings.runs, request.path_params["key"])
    return event_stream(request, when_changed(lambda: found.version, 5.0, request.query_params.get("since")))


def _leagues(top: Path | None) -> Listing:
    from . import view

    return view.listing(top)


PAGE = Page(
    [Route("/{key:path}", league)],
    package=__package__,
    live=[Route("/{key:path}", live_league)],
    owns=frozenset({"events.jsonl"}),
    listing=_leagues,
)
