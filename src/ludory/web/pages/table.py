"""`/table/<id>`: play. One page for every game: picture, legal moves, log, and what can be done with the table."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ludory.errors import OptionError
from ludory.web.pages.choices import MOST_SEED, read_agent
from ludory.web.safety import same_secret, with_form
from ludory.web.tables import GameTable

from .home import PERSON_COOKIE, known_person
from .starting import when_ready

if TYPE_CHECKING:
    from ludory.web.app import Surroundings


SETTLE_SECONDS = 0.25
"""How long a move's answer waits for the agents; slower ones appear by themselves."""
MOST_STREAMS = 200
POLL_SECONDS, PING_SECONDS = 0.05, 15.0
Form = dict[str, str]


def _table(request: Request) -> GameTable:
    table: GameTable = request.app.state.ludory.tables.get(request.path_params["id"])
    return table


def own_seats(request: Request, table: GameTable) -> tuple[int, ...]:
    """The seats that this browser plays."""
    return table.seats_of(request.cookies.get(PERSON_COOKIE, ""))


def chosen_seat(request: Request, table: GameTable, asked: str | None) -> int | None:
    """The seat whose page is shown: the one asked for, else the one that has to choose, else the first; None for onlookers.

    Raises:
        HTTPException: somebody else's seat is asked for.
    """
    own = own_seats(request, table)
    if asked not in (None, ""):
        if not (asked.isascii() and asked.isdecimal() and int(asked[:9]) in own):
            raise HTTPException(
                403, f"Seat {asked[:9]} of this table is not yours. Open the link of your seat, or start a table."
            )
        return int(asked)
    if len(own) > 1:
        deciding = [seat for seat in request.app.state.ludory.tables.position(table).deciding() if seat in own]
        return deciding[0] if deciding else own[0]
    return own[0] if own else None


def board_context(request: Request, table: GameTable, seat: int | None) -> dict[str, Any]:
    """What the templates of a table need."""
    from ludory.web.position import board_of

    around: Surroundings = request.app.state.ludory
    with table.lock:
        board = board_of(around.tables.position(table), table, seat)
    # the first person hands out the links of the other seats
    first = table.humans[:1] == (seat,)
    links = {
        number: f"/table/{table.id}/sit?key={table.seats[number].key}"
        for number in table.humans
        if first and number != seat
    }
    return {"table": table, "board": board, "seat": seat, "own": own_seats(request, table), "links": links}


def show(request: Request) -> Response:
    """The whole page."""
    table = _table(request)
    seat = chosen_seat(request, table, request.query_params.get("seat"))
    around: Surroundings = request.app.state.ludory
    return around.render(request, "table.html", **board_context(request, table, seat))


def board(request: Request) -> Response:
    """The part that changes; nothing if the browser has this version."""
    table = _table(request)
    if request.query_params.get("version") == str(table.version):
        return Response(status_code=204)
    return _board(request, table, chosen_seat(request, table, request.query_params.get("seat")))


def _board(request: Request, table: GameTable, seat: int | None) -> Response:
    around: Surroundings = request.app.state.ludory
    return around.render(request, "_board.html", **board_context(request, table, seat))


def _own_seat(request: Request, table: GameTable, form: Form) -> int:
    seat = chosen_seat(request, table, form.get("seat", ""))
    if seat is None:
        raise HTTPException(
            403, "You have no seat at this table. Open the link of your seat, or start a table of your own."
        )
    return seat


def _changed(request: Request, table: GameTable, seat: int) -> Response:
    """The board after a change: a part of the page for htmx, else a redirect to the page."""
    if request.headers.get("hx-request") == "true":
        own = own_seats(request, table)
        return _board(request, table, chosen_seat(request, table, None) if len(own) > 1 else seat)
    return RedirectResponse(f"/table/{table.id}", 303)


def move(request: Request, form: Form) -> Response:
    """Play the move in the form: `action` "HEAD:VALUE", or a field `headK` for each head."""
    table, around = _table(request), request.app.state.ludory
    seat = _own_seat(request, table, form)
    around.tables.play(table, seat, read_action(form), _number(form.get("version", ""), "version"))
    around.tables.settle(table, SETTLE_SECONDS)
    return _changed(request, table, seat)


def read_action(form: Form) -> tuple[int, ...]:
    """One value per head.

    Raises:
        OptionError: a field is missing or no number.
    """
    if "action" in form:
        head, colon, value = form["action"].partition(":")
        if head != "0" or not colon:
            raise OptionError("That is no action of this game. Choose one of the buttons.")
        return (_number(value, "action"),)
    heads = sorted((key for key in form if key.startswith("head")), key=lambda key: (len(key), key))
    if heads != [f"head{number}" for number in range(len(heads))] or not heads:
        raise OptionError("The move is incomplete. Choose one value in every group.")
    return tuple(_number(form[key], key) for key in heads)


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise OptionError(f"{name}={text[:20]!r} is not a number. Use the buttons of the page.")
    return int(text)


def take_back(request: Request, form: Form) -> Response:
    """Undo one's last move."""
    table, around = _table(request), request.app.state.ludory
    seat = _own_seat(request, table, form)
    around.tables.take_back(table, seat)
    around.tables.settle(table, SETTLE_SECONDS)
    return _changed(request, table, seat)


def ask_again(request: Request, form: Form) -> Response:
    """Ask an agent that failed again, or another one in its place."""
    table, around = _table(request), request.app.state.ludory
    seat = _own_seat(request, table, form)
    agent = form.get("agent", "").strip()
    if agent:
        number = _number(form.get("number", ""), "number")
        if number >= len(table.seats):
            raise OptionError(f"this table has the seats 0 to {len(table.seats) - 1}")
        around.tables.replace_agent(table, number, read_agent(agent, around.settings.runs))
    else:
        around.tables.ask_again(table)
    around.tables.settle(table, SETTLE_SECONDS)
    return _changed(request, table, seat)


def new_game(request: Request, form: Form) -> Response:
    """Another game with the same seats: of the same seed, or of the next one."""
    table, around = _table(request), request.app.state.ludory
    _own_seat(request, table, form)
    seed = table.seed if form.get("which") == "same" else (table.seed + 1) % (MOST_SEED + 1)
    agents = [seat.agent for seat in table.seats]
    new = around.tables.start(table.game, table.options, seed, agents, request.cookies.get(PERSON_COOKIE, ""))
    around.tables.settle(new, 0.5)
    response = RedirectResponse(f"/table/{new.id}", 303)
    if request.headers.get("hx-request") == "true":
        return Response(headers={"hx-redirect": f"/table/{new.id}"})
    return response


def invitation(request: Request) -> Response:
    """What the link of a seat opens: a page to take it, so that only a click does."""
    table = _table(request)
    key = request.query_params.get("key", "")
    seat = _seat_of_key(table, key)
    around: Surroundings = request.app.state.ludory
    return around.render(request, "sit.html", table=table, seat=seat, key=key)


def sit(request: Request, form: Form) -> Response:
    """Take the seat of a link."""
    import secrets

    table = _table(request)
    seat = _seat_of_key(table, form.get("key", ""))
    person = request.cookies.get(PERSON_COOKIE) or secrets.token_urlsafe(18)
    request.app.state.ludory.tables.sit(table, seat, person)
    return known_person(RedirectResponse(f"/table/{table.id}?seat={seat}", 303), person)


def _seat_of_key(table: GameTable, key: str) -> int:
    seat = next((number for number in table.humans if same_secret(key, table.seats[number].key)), None)
    if seat is None:
        raise HTTPException(403, "This link opens no seat of the table. Ask whoever started the game for a new one.")
    return seat


async def events(request: Request) -> Response:
    """A stream that says `changed` whenever the table has."""
    table, state = _table(request), request.app.state
    if getattr(state, "streams", 0) >= MOST_STREAMS:
        raise HTTPException(429, "Too many pages follow tables at once. Close some and load this one again.")

    async def stream() -> AsyncIterator[str]:
        state.streams = getattr(state, "streams", 0) + 1
        try:
            told, silent = table.version, 0.0
            # the first event brings a page up to date that was loaded before the stream began
            yield "retry: 1000\n\n" + f"event: changed\ndata: {told}\n\n"
            while not state.ludory.closing:
                await anyio.sleep(POLL_SECONDS)
                silent += POLL_SECONDS
                if table.version != told:
                    told, silent = table.version, 0.0
                    yield f"event: changed\ndata: {told}\n\n"
                elif silent >= PING_SECONDS:
                    silent = 0.0
                    # a line that begins with a colon says nothing to the page and keeps the connection open
                    yield ": here\n\n"
        finally:
            state.streams -= 1

    return StreamingResponse(stream(), media_type="text/event-stream")


def _download(content: str, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _need_open_game(request: Request, table: GameTable) -> None:
    position = request.app.state.ludory.tables.position(table)
    if position.game.facts.hidden_information and not position.over:
        raise HTTPException(403, "This file shows all cards, so it can be downloaded once the game is over.")


def replay_file(request: Request) -> Response:
    """The game as `ludory watch` reads it."""
    from ludory.data.replay import replay_json

    table = _table(request)
    _need_open_game(request, table)
    return _download(replay_json(request.app.state.ludory.tables.replay(table)), "application/json", f"{table.id}.json")


def replay_page(request: Request) -> Response:
    """The game as a page that needs no server."""
    from ludory.data.viewing.replay_page import replay_html

    table = _table(request)
    _need_open_game(request, table)
    page = replay_html(request.app.state.ludory.tables.replay(table))
    return _download(page, "text/html", f"{table.id}.html")


def picture(request: Request) -> Response:
    """The position as SVG, as the seat sees it."""
    from ludory.web.position import view_of

    table = _table(request)
    seat = chosen_seat(request, table, request.query_params.get("seat"))
    with table.lock:
        position = request.app.state.ludory.tables.position(table)
        drawn = position.picture(view_of(position, seat))
    return _download(drawn, "image/svg+xml", f"{table.id}-{len(table.moves)}.svg")


routes = [
    Route("/table/{id}", when_ready(show)),
    Route("/table/{id}/board", board),
    Route("/table/{id}/move", with_form(move), methods=["POST"]),
    Route("/table/{id}/back", with_form(take_back), methods=["POST"]),
    Route("/table/{id}/again", with_form(ask_again), methods=["POST"]),
    Route("/table/{id}/new", with_form(new_game), methods=["POST"]),
    Route("/table/{id}/sit", invitation),
    Route("/table/{id}/sit", with_form(sit), methods=["POST"]),
    Route("/table/{id}/events", events),
    Route("/table/{id}/replay.json", replay_file),
    Route("/table/{id}/game.html", replay_page),
    Route("/table/{id}/position.svg", picture),
]
