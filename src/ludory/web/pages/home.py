"""`/`: choose a game and who sits where, and start; recent tables."""

from __future__ import annotations

import secrets
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ludory.errors import LudoryError
from ludory.web.page import links_for
from ludory.web.safety import with_form
from ludory.web.tables import GameTable

from .choices import (
    agent_options,
    agents_for,
    checkpoints,
    families,
    game_options,
    known_game,
    read_agent,
    read_game_options,
    read_seed,
)
from .starting import open_when_ready

if TYPE_CHECKING:
    from ludory.web.app import Surroundings


PERSON_COOKIE = "ludory_person"
"""Secret by which a browser is known again at its tables."""
HUMAN = "human"


def home(request: Request) -> Response:
    """The page: all games, or the setup of the one in `?game=`."""
    around: Surroundings = request.app.state.ludory
    game = request.query_params.get("game")
    given = {name: request.query_params.get(name, "")[:300] for name in ("seed", "agent")}
    setup = setup_of(around, known_game(game), **given) if game else None
    return around.render(
        request, "home.html", families=families(), setup=setup, recent=around.tables.recent(), runs=_recent_runs(around)
    )


def setup(request: Request) -> Response:
    """The form for one game, as a part of the page."""
    around: Surroundings = request.app.state.ludory
    chosen = setup_of(around, known_game(request.query_params.get("game", "")))
    return around.render(request, "_setup.html", setup=chosen)


def setup_of(around: Surroundings, id: str, seed: str = "", agent: str = "") -> dict[str, Any]:
    """What the form for the game `id` shows: facts, seats, options, agents to suggest; `agent`: who sits in the other seats."""
    from ludory.agents.partners import default_partner
    from ludory.envs.make import make_game

    facts, problem = None, ""
    options = game_options(id)
    required = [field.name for field in options if not field.default]
    try:
        facts = None if required else make_game(id).facts
    except LudoryError as error:
        problem = str(error)
    usual = default_partner(facts.name if facts else id)
    if facts and not problem:
        around.tables.prepare(id, {}, ["", *[usual] * (facts.players - 1)])  # while a person looks at the form
    return {
        "game": id,
        "facts": facts,
        "problem": problem,
        "players": facts.players if facts else 1,
        "partner": agent or usual,
        "options": options,
        "agents": agents_for(id),
        "checkpoints": list(checkpoints(around.settings.runs)),
        "seed": seed,
        "pages": links_for(id),
    }


def options_of_agent(request: Request) -> Response:
    """Fields for the options of the agent that was typed for a seat."""
    seat = request.query_params.get("number", "0")
    name = request.query_params.get(f"seat{seat}", "")
    fields = agent_options(name) if seat.isdecimal() else []
    around: Surroundings = request.app.state.ludory
    return around.render(request, "_agent_options.html", seat=int(seat or 0) if fields else 0, fields=fields)


def start(request: Request, form: dict[str, str]) -> Response:
    """Start a table from the form, and lead to it."""
    around: Surroundings = request.app.state.ludory
    person = request.cookies.get(PERSON_COOKIE) or secrets.token_urlsafe(18)
    asked = question_of_form(around, form)

    def table() -> GameTable:
        made = around.tables.start(*asked, person)
        around.tables.settle(made, 0.5)
        return made

    return known_person(open_when_ready(request, asked.game, table, lambda made: f"/table/{made.id}"), person)


def known_person(response: Response, person: str) -> Response:
    """`response`, with the cookie by which the browser is known again."""
    response.set_cookie(PERSON_COOKIE, person, max_age=365 * 24 * 3600, httponly=True, samesite="strict")
    return response


class TableQuestion(NamedTuple):
    """What the form of the first page asks for; arguments of `Tables.start`."""

    game: str
    options: dict[str, Any]
    seed: int
    agents: list[str]


def question_of_form(around: Surroundings, texts: dict[str, str]) -> TableQuestion:
    """Read the form of the first page.

    Raises:
        OptionError: a field has a value that is not allowed.
    """
    from ludory.envs.make import make_game

    game = known_game(texts.get("game", ""))
    prefix = "option."
    options = read_game_options({key[len(prefix) :]: text for key, text in texts.items() if key.startswith(prefix)})
    players = make_game(game, **options).facts.players
    seats = [_agent(texts, number, around) for number in range(players)]
    return TableQuestion(game, options, read_seed(texts.get("seed", "")), seats)


def _agent(texts: dict[str, str], seat: int, around: Surroundings) -> str:
    """The agent of a seat from the form, with its options; "" for a person. Seats that the form lacks are as the one before."""
    number = max((other for other in range(seat + 1) if f"seat{other}" in texts), default=None)
    text = HUMAN if number is None else texts[f"seat{number}"].strip()
    if text == HUMAN:
        return ""
    prefix = f"agent{number}."
    typed = {key[len(prefix) :]: value for key, value in texts.items() if key.startswith(prefix) and value.strip()}
    if typed and "(" not in text:
        text += f"({', '.join(f'{key}={value.strip()}' for key, value in typed.items() if key.isidentifier())})"
    return read_agent(text, around.settings.runs)


def picture(request: Request) -> Response:
    """Picture of a game after a few moves, for the list of games."""
    headers = {"cache-control": "max-age=86400"}
    return Response(_picture(known_game(request.path_params["game"])), media_type="image/svg+xml", headers=headers)


@lru_cache(64)
def _picture(id: str) -> str:
    kept = resources.files("ludory.web").joinpath("static", "covers", f"{id}.svg")
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    from .covers import cover

    return cover(id)


def _recent_runs(around: Surroundings) -> list[str]:
    runs = around.settings.runs
    if runs is None or not runs.is_dir():
        return []
    folders = [child for child in runs.iterdir() if child.is_dir() and not child.name.startswith(".")]
    return [folder.name for folder in sorted(folders, key=lambda child: child.stat().st_mtime, reverse=True)[:8]]


routes = [
    Route("/", home),
    Route("/setup", setup),
    Route("/agent-options", options_of_agent),
    Route("/picture/{game}", picture),
    Route("/tables", with_form(start), methods=["POST"]),
]
