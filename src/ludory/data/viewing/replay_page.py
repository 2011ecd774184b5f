"""`replay_html`: a recorded game as a self-contained HTML file, with the moments worth jumping to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from ludory.charts.drawing import page_style
from ludory.data.playthrough import Narrator
from ludory.data.replay import Replay, frames
from ludory.envs import Game, State, make_game
from ludory.envs.pictures import plain, text_picture
from ludory.errors import OptionError

CLOSER = 1e-9


def moment(
    before: Mapping[str, Any], after: Mapping[str, Any], returns: Sequence[float], grown: Sequence[float], shared: bool
) -> str:
    """What a move changed that one wants to see again; "" if nothing.

    A life is lost, a contract is set or named, a seat is out, or another seat leads.

    Args:
        before: `Look.info` before the move.
        after: the same after it.
        returns: of the seats before the move.
        grown: after it.
        shared: whether the seats share their returns.
    """
    told = []
    lives = before.get("lives"), after.get("lives")
    if isinstance(lives[0], int) and isinstance(lives[1], int) and lives[1] < lives[0]:
        told.append("a life is lost")
    if before.get("declaration") is None and after.get("declaration") is not None:
        told.append(f"seat {after.get('bidder')} plays {after['declaration']} for {after.get('bid')}")
    was_alive, is_alive = before.get("alive"), after.get("alive")
    if isinstance(was_alive, list) and isinstance(is_alive, list):
        out = [seat for seat, (was, still) in enumerate(zip(was_alive, is_alive, strict=True)) if was and not still]
        told += [f"seat {seat} is out" for seat in out]
    if not shared and len(returns) > 1:
        first, now = _leader(returns), _leader(grown)
        if now is not None and now != first:
            told.append(f"seat {now} leads")
    points = before.get("points"), after.get("points")
    if isinstance(points[0], list) and isinstance(points[1], list):
        first, now = _leader(points[0]), _leader(points[1])
        if now is not None and now != first:
            told.append(f"team {now} leads in points")
    return "; ".join(told)


def _leader(values: Sequence[float]) -> int | None:
    """Index of the largest value; None if several have it."""
    best = max(values)
    leaders = [seat for seat, value in enumerate(values) if value > best - CLOSER]
    return leaders[0] if len(leaders) == 1 else None


PLACEHOLDER = "{{data}}"


class LineTable:
    """Stores texts that share most of their lines, each line once; `lines[n]` is line n."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[str, int] = {}

    def add(self, text: str) -> list[int]:
        """Numbers of the lines of `text`."""
        return [self._number(line) for line in text.split("\n")]

    def _number(self, line: str) -> int:
        number = self._numbers.setdefault(line, len(self.lines))
        if number == len(self.lines):
            self.lines.append(line)
        return number


def replay_html(replay: Replay, seat: int | None = None, game: Game | None = None, *, every_view: bool = True) -> str:
    """A page to step through a replay from the view of any seat; it loads nothing from elsewhere.

    A game without `svg` is shown as text. The page contains all views, so its reader can see all cards. It moves at `Look.pace`.

    Args:
        replay: the game to show.
        seat: whose view is shown first; None shows everything.
        game: the game itself, if its id is not registered.
        every_view: also the views of the seats; otherwise only that of `seat`.

    Raises:
        OptionError: there is no such seat.
        ReplayError: the game does not go as recorded under the rules of this version.
    """
    return filled_page(replay_content(replay, seat, game, every_view=every_view))


def replay_content(
    replay: Replay, seat: int | None = None, game: Game | None = None, *, every_view: bool = True
) -> dict[str, Any]:
    """The data of the page, as JSON values; arguments and errors as of `replay_html`."""
    game = game or make_game(replay.game, **replay.options)
    if seat is not None and not 0 <= seat < game.facts.players:
        raise OptionError(f"seat={seat!r}: must be None or 0 to {game.facts.players - 1}")
    seats = range(game.facts.players) if game.facts.hidden_information else []
    views: list[int | None] = [None, *seats] if every_view else [seat]
    lines = LineTable()
    return {
        "title": f"{game.facts.name}, {_returns(game, replay.returns)}{'' if replay.finished else ', left before its end'}",
        "subtitle": ", ".join(f"seat {number}: {name}" for number, name in enumerate(replay.agents)),
        "about": {
            "game": replay.game,
            "options": replay.options,
            "seed": str(replay.seed),
            "game index": replay.game_index,
        }
        | {key: np.asarray(value).tolist() for key, value in replay.start.items()},
        "views": ["everything" if view is None else f"seat {view} ({replay.agents[view]})" for view in views],
        "view": views.index(seat) if seat in views else 0,
        "positions": list(_positions(replay, game, views, lines)),
        "speed": game.look.pace,
        "lines": lines.lines,
    }


def filled_page(content: dict[str, Any]) -> str:
    """The page to step through pictures; content: JSON values as in `replay_html`."""
    page = _file("replay.html").replace("{{style}}", page_style()).replace("{{body}}", player_markup())
    return page.replace("{{player}}", player_script()).replace(PLACEHOLDER, script_json(content))


def script_json(content: dict[str, Any]) -> str:
    """JSON for a script element, which no text in it can end."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def player_markup() -> str:
    """The elements that the script fills, as HTML: picture, buttons, moves."""
    return _file("player.html")


def player_script() -> str:
    """The script that steps through the positions."""
    return _file("player.js")


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def framed_page(page: str, height: int = 720) -> str:
    """A page within another one, such as a notebook; `height` is in pixels."""
    return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: {height}px; border: 0"></iframe>'


def _positions(replay: Replay, game: Game, views: Sequence[int | None], lines: LineTable) -> Iterator[dict[str, Any]]:
    returns, told, before = np.zeros(game.facts.players), Narrator(game), dict[str, Any]()
    shared = game.facts.reward == "shared"
    for number, (engine, move) in enumerate(zip(frames(replay, game), [None, *replay.moves], strict=True)):
        rewards = np.asarray(engine.rewards[0]) if number else np.zeros_like(returns)
        info, grown = game.look.info(engine.state, 0), returns + rewards
        found = moment(before, info, returns.tolist(), grown.tolist(), shared) if number else ""
        returns, before = grown, info
        yield {
            "move": told(engine, move),
            "gain": _gain(game, rewards),
            "returns": _returns(game, returns.tolist()),
            "info": info,
            "moment": found,
            **_pictures(game, engine.state, views, lines),
        }


def _pictures(game: Game, state: State, views: Sequence[int | None], lines: LineTable) -> dict[str, list[list[int]]]:
    """Line numbers of the pictures of each view: "text", and "svg" if the game has it."""
    pictures = {"text": [lines.add(plain(text_picture(game, state, 0, view))) for view in views]}
    if game.look.svg is not None:
        pictures["svg"] = [lines.add(game.look.svg(state, 0, view)) for view in views]
    return pictures


def _returns(game: Game, returns: Sequence[float]) -> str:
    if game.facts.reward == "shared":
        return f"return {returns[0]:g}"
    return f"returns {', '.join(f'{value:g}' for value in returns)}"


def _gain(game: Game, rewards: Any) -> str:
    """The rewards of a move; empty if there are none."""
    if not rewards.any():
        return ""
    return f"{rewards[0]:+g}" if game.facts.reward == "shared" else " ".join(f"{value:+g}" for value in rewards)
