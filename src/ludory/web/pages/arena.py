"""`/arena`: two agents side by side, compared until one is surely better."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ludory.errors import OptionError
from ludory.web.slices import Refinement, event_stream

from .choices import read_agent

MOST_SEED = 10**9


def _question(request: Request) -> Any:
    """The duel of the address; None where it names no agents."""
    from ludory.web.duel import DuelQuestion

    query, runs = request.query_params, request.app.state.ludory.settings.runs
    if "first" not in query:
        return None
    seed = query.get("seed", "0") or "0"
    if not (seed.isascii() and seed.isdecimal() and int(seed[:10]) <= MOST_SEED):
        raise OptionError(f"seed={seed[:20]!r}: must be a number from 0 to {MOST_SEED}")
    first, second = (read_agent(query.get(name, "").strip()[:300], runs) for name in ("first", "second"))
    return DuelQuestion(query.get("game", "")[:200], (), first, second, int(seed))


def _refined(request: Request, question: Any) -> Refinement:
    from ludory.web.duel import NO_GAMES, check_duel, joined, next_pairs

    def new() -> Refinement:
        check_duel(question)
        return Refinement(NO_GAMES, lambda answer: next_pairs(question, answer), joined)

    asked: Refinement = request.app.state.ludory.refinements.ask(f"duel {question!r}", new)
    return asked


def duel(request: Request) -> Response:
    """The page; `?json` has the data alone."""
    around, question = request.app.state.ludory, _question(request)
    if question is None:
        page: Response = around.render(request, "arena.html", question=None, **_choices())
        return page
    from ludory.web.duel import duel_chart, duel_page

    found = _refined(request, question)
    content = duel_page(question, found.value)
    if "json" in request.query_params:
        return JSONResponse(content | {"problem": found.problem})
    shown = {key: request.query_params.get(key, "") for key in ("game", "first", "second", "seed")}
    page = around.render(
        request,
        "arena.html",
        question=question,
        page=content,
        typed=shown,
        chart=duel_chart(found.value, f"Lead of {content['agents'][0]}"),
        problem=found.problem,
        working=not found.finished,
        live=f"/arena/live?{urlencode(shown)}",
        **_choices(),
    )
    return page


def _choices() -> dict[str, Any]:
    from ludory.plugins import agents, games

    return {"games": games.ids(), "agents": [id for id in agents.ids() if id != "human"]}


async def live(request: Request) -> Response:
    """Events while games are played, which goes on while someone reads them."""
    found = await run_sync(lambda: (question := _question(request)) and _refined(request, question))
    if found is None:
        return RedirectResponse("/arena")
    return event_stream(request, found.follow(request.app.state.ludory.slices))


routes = [Route("/arena", duel), Route("/arena/live", live)]
