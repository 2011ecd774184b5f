"""`/arena` and `/arena/<id>`: two agents side by side, compared until one is surely better."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ludory.plugins import agents, games
from ludory.web.kept import KeptTexts
from ludory.web.safety import with_form
from ludory.web.slices import Refinement, event_stream

from .choices import read_agent, read_seed
from .starting import answer_when_ready, when_ready

FIELDS = ("game", "first", "second", "seed")
EXAMPLES = (
    {"game": "Hanabi2P-v0", "first": "hanabi/smartbot", "second": "hanabi/piers", "seed": "0"},
    {"game": "TicTacToe-v0", "first": "tic_tac_toe/ppo", "second": "random", "seed": "0"},
)
"""What the form asks before something is typed: the first whose game is installed."""


def _kept(request: Request) -> KeptTexts:
    missing = "There is no such duel. Choose two agents and compare them once more."
    return KeptTexts(request.app.state.ludory.settings.tables / "duels", "d", missing)


def _question(request: Request, typed: Mapping[str, str]) -> Any:
    """The duel that was typed into the form.

    Raises:
        OptionError: a field has a value that is not allowed.
        UnknownIdError: there is no such agent.
    """
    from ludory.web.duel import DuelQuestion

    runs = request.app.state.ludory.settings.runs
    first, second = (read_agent(typed[name], runs) for name in ("first", "second"))
    return DuelQuestion(typed["game"], first, second, read_seed(typed["seed"] or "0"))


def _duel(request: Request) -> tuple[Any, dict[str, str]]:
    """The duel of the address, and what was typed for it."""
    typed = json.loads(_kept(request).file(request.path_params["id"]).read_text(encoding="utf-8"))
    return _question(request, typed), typed


def _refined(request: Request, question: Any) -> Refinement:
    from ludory.web.duel import NO_GAMES, check_duel, joined, next_pairs

    def new() -> Refinement:
        check_duel(question)
        return Refinement(NO_GAMES, lambda answer: next_pairs(question, answer), joined)

    asked: Refinement = request.app.state.ludory.refinements.ask(f"duel {question!r}", new)
    return asked


def start(request: Request) -> Response:
    """The page to choose two agents; the address may name them."""
    example = next(one for one in EXAMPLES if one["game"] in games)
    typed = example | {name: request.query_params[name] for name in FIELDS if name in request.query_params}
    page: Response = request.app.state.ludory.render(request, "duels.html", question=None, typed=typed, **_choices())
    return page


def begin(request: Request, form: dict[str, str]) -> Response:
    """Keep the duel, and lead to its page."""
    from ludory.web.duel import check_duel

    typed = {name: form.get(name, "").strip()[:300] for name in FIELDS}

    def kept() -> Response:
        check_duel(_question(request, typed))
        return RedirectResponse(f"/arena/{_kept(request).add(json.dumps(typed))}", 303)

    return answer_when_ready(request, typed["game"], kept)


def duel(request: Request) -> Response:
    """The page of a duel; `?json` has the data alone."""
    from ludory.web.duel import duel_chart, duel_page

    around, (question, typed) = request.app.state.ludory, _duel(request)
    found = _refined(request, question)
    content = duel_page(question, found.value)
    if "json" in request.query_params:
        return JSONResponse(content | {"problem": found.problem})
    page: Response = around.render(
        request,
        "duels.html",
        question=question,
        page=content,
        typed=typed,
        chart=duel_chart(found.value, f"Lead of {content['agents'][0]}"),
        problem=found.problem,
        working=not found.finished,
        live=f"/arena/{request.path_params['id']}/live",
        **_choices(),
    )
    return page


def _choices() -> dict[str, Any]:
    return {"games": games.ids(), "agents": [id for id in agents.ids() if id != "human"]}


async def live(request: Request) -> Response:
    """Events while games are played, which goes on while someone reads them."""
    found = await run_sync(lambda: _refined(request, _duel(request)[0]))
    return event_stream(request, found.follow(request.app.state.ludory.slices))


routes = [
    Route("/arena", start),
    Route("/arena", with_form(begin), methods=["POST"]),
    Route("/arena/{id}", when_ready(duel)),
    Route("/arena/{id}/live", live),
]
