"""`/watch`: see agents play, or any game again."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ludory.errors import DataError, OptionError
from ludory.web.opened import OpenedGame
from ludory.web.safety import with_form

from .analyse import opened_game
from .choices import read_agent, read_seed
from .starting import open_when_ready, when_ready

BACK = ("/games", "Recorded games")
MOST_PICTURES = 2_000
"""Pictures of a page; of longer games it shows only the view of everything."""


def start(request: Request) -> Response:
    """The page to choose who plays."""
    from ludory.plugins import agents, games

    around = request.app.state.ludory
    recent = [table for table in around.tables.recent(30) if not table.humans or table.finished][:12]
    known = [id for id in agents.ids() if id != "human"]
    page: Response = around.render(request, "watch_start.html", games=games.ids(), agents=known, tables=recent)
    return page


def let_play(request: Request, form: dict[str, str]) -> Response:
    """Start a table of agents, and watch it."""
    from ludory.agents.make import make_agent
    from ludory.envs.make import make_game

    around = request.app.state.ludory
    game = make_game(form.get("game", "").strip()[:200])
    seed = read_seed(form.get("seed", ""))
    names = [
        read_agent(name.strip(), around.settings.runs) for name in form.get("agents", "").split(";") if name.strip()
    ]
    players = game.facts.players
    if len(names) not in (1, players):
        raise OptionError(
            f"{game.name} has {players} seats: name one agent for all, or {players} separated by semicolons"
        )
    for name in set(names):
        make_agent(name, game)
    return open_when_ready(
        request,
        game.id,
        lambda: around.tables.start(game.id, {}, seed, names * (players // len(names))),
        lambda table: f"/watch/t-{table.id}",
    )


def watch(request: Request) -> Response:
    """The page of a game, or of what a viewer shows."""
    from ludory.data.viewing.replay_page import player_markup, script_json

    if request.path_params["id"].startswith("b-"):
        from ludory.web.recorded import find_viewed

        content, links = find_viewed(request.app.state.ludory.settings, request.path_params["id"]), [BACK]
    else:
        opened = opened_game(request)
        content, links = _content(opened), [(f"/analyse/{opened.id}", "Analyse")]
        if opened.address:
            links.append((opened.address, "The table") if opened.id.startswith("t-") else BACK)
    page: Response = request.app.state.ludory.render(
        request, "watch.html", content=content, links=links, player=player_markup(), data=script_json(content)
    )
    return page


def positions(request: Request) -> Response:
    """The data of a game that has more than `?have=` positions; nothing as long as it has not."""
    opened, have = opened_game(request), request.query_params.get("have", "0")
    if not (have.isascii() and have.isdecimal()):
        raise HTTPException(400, "have: must be a number of positions")
    if opened.growing and len(opened.replay.moves) + 1 <= int(have[:9]):
        return Response(status_code=204)
    return JSONResponse(_content(opened))


def _content(opened: OpenedGame) -> dict[str, Any]:
    from ludory.data.viewing.replay_page import replay_content
    from ludory.envs.make import make_game

    if opened.limited_to is not None:
        raise DataError("This game hides cards and goes on. Watch it once it is over, or look at its table.")
    game = make_game(opened.replay.game, **opened.replay.options)
    small = len(opened.replay.moves) * game.facts.players <= MOST_PICTURES
    content = replay_content(opened.replay, game=game, every_view=small)
    return content | ({"more": f"/watch/{opened.id}/positions", "start": 10**9} if opened.growing else {})


def player(request: Request) -> Response:
    """The script of the page, the one that `ludory watch --html` writes into its pages."""
    from ludory.data.viewing.replay_page import player_script

    return Response(player_script(), media_type="text/javascript", headers={"cache-control": "no-cache"})


routes = [
    Route("/watch", start),
    Route("/watch", with_form(let_play), methods=["POST"]),
    Route("/watch/player.js", player),
    Route("/watch/{id}", when_ready(watch)),
    Route("/watch/{id}/positions", positions),
]
