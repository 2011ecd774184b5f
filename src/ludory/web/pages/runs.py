"""`/runs` and `/runs/<name>`: training runs over each other, and one of them with its checkpoint."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ludory.charts.drawing import STYLES
from ludory.errors import OptionError
from ludory.web.folders import short_key
from ludory.web.page import listings
from ludory.web.safety import with_form
from ludory.web.slices import DONE, Refinement, event_stream, seen, when_changed

from .choices import agents_for, read_agent

if TYPE_CHECKING:
    from ludory.web.runs import CurveView

SMOOTHINGS = (1, 3, 10, 30, 100)
AXES = (("time/total_timesteps", "timesteps"), ("time/elapsed", "seconds"))
"""Columns of tables that curves are drawn over, and what they are called."""

# What reads runs imports PyTorch and SciPy, so functions import it: a server starts without them.


def compare(request: Request) -> Response:
    """All runs, what systems have beside them, and the chosen runs over each other; `?json` has the data alone."""
    from ludory.web import runs

    around, query = request.app.state.ludory, request.query_params
    top, view = around.settings.runs, read_view(query)
    since = seen(_all_that_is_listed(top))
    page = runs.compare_page(top, query.getlist("run"), view)
    if "json" in query:
        return JSONResponse(page)
    known = runs.find_runs(top)
    shown = [known[key] for key in page["shown"] if key in known]
    styles = dict(zip((one["name"] for one in page["curves"]), STYLES, strict=False))
    answer: Response = around.render(
        request,
        "runs.html",
        live=f"/live/runs?since={since}",
        top=top,
        page=page,
        rows=[row | _addresses(row) for row in page["runs"]],
        listings=listings(top),
        age=age,
        view=view,
        metrics=list(dict.fromkeys([*page["metrics"], view.metric])),
        chart=runs.chart(shown, view, styles) if page["curves"] else "",
        styles=styles,
        smoothings=SMOOTHINGS,
        axes=AXES,
    )
    return answer


def read_view(query: QueryParams) -> CurveView:
    """How curves are drawn, from the address.

    Raises:
        OptionError: a value is not allowed.
    """
    from ludory.web.runs import REWARD, SMOOTHEST, CurveView

    smooth = query.get("smooth", "1")
    if not (smooth.isascii() and smooth.isdecimal() and len(smooth) < 5):
        raise OptionError(f"smooth={smooth[:20]}: must be a number from 1 to {SMOOTHEST}")
    flags = {name: name in query for name in ("log_x", "log_y", "seeds")}
    return CurveView(query.get("metric", REWARD)[:200], int(smooth), query.get("across", AXES[0][0])[:40], **flags)


def _addresses(row: dict[str, Any]) -> dict[str, Any]:
    """What a row of the list shows beside its data."""
    return {"address": f"/runs/{quote(row['key'])}", "id": short_key(row["key"]), "age": age(row["changed"])}


def age(changed: float) -> str:
    """How long ago, in words."""
    seconds = max(0.0, time.time() - changed)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def one_run(request: Request) -> Response:
    """One run; `?json` has the data alone."""
    from ludory.web import runs

    around, query = request.app.state.ludory, request.query_params
    top, key, view = around.settings.runs, request.path_params["key"], read_view(query)
    run = runs.find_run(top, key)
    since = seen(run.version)
    page = runs.run_page(top, key, view)
    if "json" in query:
        return JSONResponse(page)
    charts = {name: runs.chart([run], view.of(name)) for name in page["metrics"]}
    groups: dict[str, list[str]] = {}
    for name in page["metrics"]:
        groups.setdefault(name.rpartition("/")[0] or "other", []).append(charts[name])
    evaluation = around.refinements.get(query.get("evaluation", ""))
    answer: Response = around.render(
        request,
        "run.html",
        page=page | _addresses(page),
        groups=groups,
        view=view,
        smoothings=SMOOTHINGS,
        axes=AXES,
        play="/?" + urlencode({"game": page["game"] or "", "agent": page["agent"] or ""}),
        agents=agents_for(page["game"]) if page["game"] else [],
        evaluation=evaluation,
        evaluation_id=query.get("evaluation", ""),
        live=f"/live/run/{quote(key)}?since={since}",
        begin=f"/evaluate/{quote(key)}",
    )
    return answer


def evaluate(request: Request, form: dict[str, str]) -> Response:
    """Begin an evaluation, and lead to the page that shows it."""
    from ludory.web import runs
    from ludory.web.runs import CheckpointEvaluation

    around, key = request.app.state.ludory, request.path_params["key"]
    top, games, against = around.settings.runs, form.get("games", ""), form.get("against", "").strip()
    if not (games.isascii() and games.isdecimal() and len(games) < 7):
        raise OptionError(f"games={games[:20]!r}: must be a number from 2 to {runs.MOST_GAMES}")
    other = read_agent(against, top) if against else ""
    begun = runs.begin_evaluation(top, key, other, int(games))
    id = secrets.token_hex(6)
    around.refinements.ask(id, lambda: Refinement(begun, CheckpointEvaluation.next_slice, CheckpointEvaluation.joined))
    return RedirectResponse(f"/runs/{quote(key)}?{urlencode({'evaluation': id})}#evaluation", 303)


async def live_evaluation(request: Request) -> Response:
    """Events while an evaluation goes on; it goes on while someone reads them."""
    around = request.app.state.ludory
    found = around.refinements.get(request.path_params["id"])
    stream = found.follow(around.slices) if found else _nothing()
    return event_stream(request, stream)


async def _nothing() -> AsyncIterator[str]:
    yield DONE


async def live_runs(request: Request) -> Response:
    """Events when any run, or what a system has beside them, has new numbers."""
    top = request.app.state.ludory.settings.runs
    return event_stream(request, when_changed(lambda: _all_that_is_listed(top), 2.0, request.query_params.get("since")))


def _all_that_is_listed(top: Path | None) -> Any:
    from ludory.web import runs

    return [(run.key, run.changed) for run in runs.find_runs(top).values()], listings(top)


async def live_run(request: Request) -> Response:
    """Events when a run has new numbers."""
    from ludory.web import runs

    top, key = request.app.state.ludory.settings.runs, request.path_params["key"]
    run = runs.find_run(top, key)
    return event_stream(request, when_changed(lambda: run.version, since=request.query_params.get("since")))


routes = [
    Route("/runs", compare),
    Route("/runs/{key:path}", one_run),
    Route("/evaluate/{key:path}", with_form(evaluate), methods=["POST"]),
    Route("/live/runs", live_runs),
    Route("/live/run/{key:path}", live_run),
    Route("/live/evaluation/{id}", live_evaluation),
]
