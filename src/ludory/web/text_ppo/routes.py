"""`/text-ppo/<run>`: what a language model read and wrote while it learnt, with the advantages of its tokens as colours."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ludory.errors import UnknownIdError
from ludory.web import ListedRow, Listing, Page, age, event_stream, seen, signature, walk, when_changed

if TYPE_CHECKING:
    from ludory.algorithms.text_ppo.samples import SampledEpisode, SampledToken

FILE = "samples.jsonl"
SHADES = 4
"""Strengths of the two colours."""


class ColouredTokens(NamedTuple):
    """Tokens that look alike."""

    text: str
    kind: str
    """Style class: "prompt", "unlearnt", or up or down with a strength, such as "up3"."""
    note: str
    """What the pointer is told."""


def _find(top: Path | None) -> dict[str, tuple[Path, float]]:
    """Folders with episodes, and when they were written, by their keys."""
    found = {
        folder.key or folder.path.name: (folder.path, folder.files[FILE].st_mtime)
        for folder in walk(top)
        if FILE in folder.files
    }
    return dict(sorted(found.items(), key=lambda one: (-one[1][1], one[0])))


def _folder(request: Request) -> Path:
    key = request.path_params["key"]
    found = _find(request.app.state.ludory.settings.runs).get(key)
    if found is None:
        raise UnknownIdError(
            f"no run {key!r} with episodes of a language model; the page of runs lists all that there are"
        )
    return found[0]


def samples(request: Request) -> Response:
    """The page; `?iteration=N` shows another one, `?json` has the data alone."""
    from ludory.algorithms.text_ppo.samples import read_samples  # imports PyTorch: a server starts without it

    folder, key, query = _folder(request), request.path_params["key"], request.query_params
    since = seen(signature(folder / FILE))
    episodes = read_samples(folder)
    if "json" in query:
        return JSONResponse([one._asdict() for one in episodes])
    iterations = sorted({one.iteration for one in episodes}, reverse=True)
    asked = query.get("iteration", "")[:9]
    shown = (
        int(asked) if asked.isascii() and asked.isdecimal() and int(asked) in iterations else max(iterations, default=0)
    )
    # one scale for all that stand beside each other, so that colours can be compared
    of_it = [one for one in episodes if one.iteration == shown]
    largest = max((abs(t.advantage or 0.0) for one in of_it for tokens in one.lists for t in tokens), default=0.0)
    answer: Response = request.app.state.ludory.render(
        request,
        "text-ppo/samples.html",
        key=key,
        run=f"/runs/{quote(key)}",
        here=f"/text-ppo/{quote(key)}",
        iterations=iterations,
        shown=shown,
        largest=largest,
        strengths=range(SHADES, 0, -1),
        rooms=[(room, [_shown(one, largest) for one in ones]) for room, ones in groupby(of_it, lambda one: one.room)],
        live=f"/live/text-ppo/{quote(key)}?since={since}",
        age=age((folder / FILE).stat().st_mtime),
    )
    return answer


def _shown(episode: SampledEpisode, largest: float) -> dict[str, Any]:
    return episode._asdict() | {"lists": [_pieces(tokens, largest) for tokens in episode.lists]}


def _pieces(tokens: tuple[SampledToken, ...], largest: float) -> list[ColouredTokens]:
    """The tokens of a list; those of a prompt are one piece."""
    from ludory.algorithms.text_ppo.watch import SPAN_NAMES

    found: list[ColouredTokens] = []
    for token in tokens:
        if token.span == 0 and token.advantage is None:
            kind, note = "prompt", ""
        elif token.advantage is None:
            kind, note = "unlearnt", "not learnt from"
        else:
            strength = round(SHADES * abs(token.advantage) / largest) if largest else 0
            kind = f"{'up' if token.advantage > 0 else 'down'}{strength}" if strength else "even"
            note = f"{SPAN_NAMES[token.span] if token.span < len(SPAN_NAMES) else token.span}, advantage {token.advantage:+.3f}"
        if found and found[-1].kind == kind == "prompt":
            found[-1] = found[-1]._replace(text=found[-1].text + token.text)
        else:
            found.append(ColouredTokens(token.text, kind, note))
    return found


async def live_samples(request: Request) -> Response:
    """Events when a checkpoint with new episodes is written."""
    file = _folder(request) / FILE
    return event_stream(request, when_changed(lambda: signature(file), 2.0, request.query_params.get("since")))


def _listing(top: Path | None) -> Listing:
    rows = [ListedRow(key, f"/text-ppo/{quote(key)}", changed) for key, (_, changed) in _find(top).items()]
    return Listing("Episodes of language models", "Run", {}, rows)


PAGE = Page(
    [Route("/{key:path}", samples)],
    package=__package__,
    live=[Route("/{key:path}", live_samples)],
    listing=_listing,
)
