"""`/texas42/hand`: what seven dominoes can bid."""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ludory.web import Page, Refinement, event_stream, when_ready

# Bidding compiles kernels, so functions import it: a server starts without it.

SHOWN = [[high * (high + 1) // 2 + low for low in range(high + 1)] for high in range(6, -1, -1)]
"""The tiles in rows by their higher pip, the sixes first."""


def texas42_hand(request: Request) -> Response:
    """The page; `?json` has the data alone."""
    from ludory.agents.texas42.bidding.make_probability import BIDS
    from ludory.envs.texas42.tiles import TILE_NAMES

    from . import hand

    around, query = request.app.state.ludory, request.query_params
    tiles = read_tiles(query)
    known = around.refinements.get(_key(tiles)) if len(tiles) == hand.HAND else None
    page = hand.hand_page(tiles, known.value if known else hand.NOTHING_PLAYED)
    if "json" in query:
        return JSONResponse(page)
    address = urlencode([("tile", name) for name in page["tiles"]])
    answer: Response = around.render(
        request,
        "texas42/hand.html",
        page=page,
        rows=SHOWN,
        names=TILE_NAMES,
        pictures=_pictures(),
        bids=BIDS,
        shade=hand.shade_of,
        advice=hand.advice(page["chances"]) if page["chances"] else "",
        working=not (known and known.finished),
        problem=known.problem if known else "",
        address=address,
        live=f"/live/texas42/?{address}",
        other=f"/texas42/hand?{urlencode([('tile', TILE_NAMES[tile]) for tile in hand.random_hand(secrets.randbits(31))])}",
    )
    return answer


def read_tiles(query: QueryParams) -> tuple[int, ...]:
    """The tiles of an address: `tile=6-4` for each, or `tiles=6-4,5-5` together.

    Raises:
        OptionError: one is no tile, or there are more than seven.
    """
    from ludory.web.texas42.hand import parse_tiles

    return parse_tiles([*query.getlist("tile")[:40], *query.get("tiles", "")[:200].replace(",", " ").split()])


def _key(tiles: tuple[int, ...]) -> str:
    return "texas42 " + " ".join(map(str, tiles))


@cache
def _pictures() -> list[str]:
    """A picture of each domino."""
    from ludory.charts import Drawing, as_svg
    from ludory.envs.texas42.tiles import TILE_NAMES
    from ludory.web.texas42.tiles import GROUND, domino

    return [as_svg(Drawing(32, 64, GROUND, name, domino(tile, 1, 1, 30))) for tile, name in enumerate(TILE_NAMES)]


async def live(request: Request) -> Response:
    """Events while contracts of the hand are played, which goes on while someone reads them."""
    from ludory.envs.texas42.tiles import mask_of

    from . import hand

    around = request.app.state.ludory
    tiles = read_tiles(request.query_params)
    if len(tiles) < hand.HAND:
        return RedirectResponse("/texas42/hand")
    mask = mask_of(tiles)

    def next_piece(played: hand.HandsPlayed) -> Any:
        piece = hand.next_contract(mask, played)
        return piece and (hand.play_contract, mask, *piece)

    asked = around.refinements.ask(
        _key(tiles), lambda: Refinement(hand.NOTHING_PLAYED, next_piece, lambda played, new: played.plus(*new))
    )
    return event_stream(request, asked.follow(around.slices))


def poster(request: Request) -> Response:
    """The poster of the hand, as an SVG file."""
    from ludory.charts import as_svg
    from ludory.envs.texas42.tiles import TILE_NAMES, mask_of
    from ludory.web.texas42.poster import poster as poster_of

    from . import hand

    around, tiles = request.app.state.ludory, read_tiles(request.query_params)
    if len(tiles) < hand.HAND:
        return RedirectResponse("/texas42/hand")
    known = around.refinements.get(_key(tiles))
    chances = hand.chances_of(mask_of(tiles), known.value if known else hand.NOTHING_PLAYED)
    name = "texas42-" + "_".join(TILE_NAMES[tile] for tile in tiles) + ".svg"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(as_svg(poster_of(chances)), media_type="image/svg+xml", headers=headers)


PAGE = Page(
    [Route("/hand", when_ready(texas42_hand)), Route("/poster.svg", poster)],
    package=__package__,
    link=("/hand", "Texas 42 bids"),
    games=("Texas42",),
    live=[Route("/", live)],
)
