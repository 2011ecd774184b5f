"""`/analyse`: the analysis board, for games being played, recorded or pasted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from anyio.to_thread import run_sync
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ludory.errors import DataError, OptionError
from ludory.web.opened import OpenedGame, open_game, pasted_games
from ludory.web.safety import with_form
from ludory.web.slices import Refinement, event_stream

from .choices import read_agent
from .starting import answer_when_ready, when_ready
from .table import own_seats

if TYPE_CHECKING:
    from ludory.web.analysis.pieces import PositionQuestion, ReviewQuestion

GRAPH_MISTAKES = 5
MOST_ASKED = 4
"""Further agents that are asked for advice."""


class Study:
    """What an address of the board asks for.

    Raises:
        OptionError: a part of the address is wrong.
    """

    def __init__(self, opened: OpenedGame, query: QueryParams, runs: Path | None) -> None:
        from ludory.envs.make import make_game
        from ludory.web.analysis.board import may_vary, read_variation, with_branch

        self.opened, agent = opened, query.get("agent", "").strip()
        self.agent = read_agent(agent, runs) if agent else ""
        names = [name.strip() for name in query.get("ask", "").split(";") if name.strip()]
        self.asked = tuple(read_agent(name, runs) for name in names[:MOST_ASKED])
        self.typed = {"agent": agent, "ask": "; ".join(names[:MOST_ASKED])}
        facts = make_game(opened.replay.game, **opened.replay.options).facts
        self.view = opened.view(_number(query.get("view", ""), "view", facts.players - 1))
        self.seat = _number(query.get("seat", ""), "seat", facts.players - 1)
        if self.seat is not None and opened.limited_to is not None:
            self.seat = opened.limited_to
        may = may_vary(opened.limited_to, facts.hidden_information)
        self.branch = read_variation(opened.replay, query.get("line", "")) if may else None
        self.replay = with_branch(opened.replay, self.branch)
        asked = _number(query.get("move", ""), "move", len(self.replay.moves))
        self.number = len(self.replay.moves) if asked is None else asked

    def address(self, page: str = "", **changes: Any) -> str:
        """The address of a page of this study, with some parts changed (None: left out)."""
        parts: dict[str, Any] = {
            "move": self.number,
            "line": self.branch.text() if self.branch else None,
            "view": self.view if self.opened.limited_to is None else None,
            "seat": self.seat,
            "agent": self.typed["agent"] or None,
            "ask": self.typed["ask"] or None,
        } | changes
        return f"/analyse/{self.opened.id}{page}?{urlencode({k: v for k, v in parts.items() if v is not None})}"

    def position_question(self) -> PositionQuestion:
        """What is asked about the position."""
        from ludory.web.analysis.pieces import PositionQuestion

        found = PositionQuestion(self.replay, self.number, self.view, self.seat, self.agent or None)
        return found._replace(also=self.asked)

    def review_question(self) -> ReviewQuestion:
        """What is asked about the whole game."""
        from ludory.web.analysis.pieces import ReviewQuestion

        return ReviewQuestion(self.replay, self.view, self.agent or None)


def _number(text: str, name: str, most: int) -> int | None:
    if text in ("", "all"):
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= most):
        raise OptionError(f"{name}={text[:20]!r}: must be a number from 0 to {most}")
    return int(text)


def opened_game(request: Request) -> OpenedGame:
    """The game of the address."""
    around = request.app.state.ludory
    return open_game(around, request.path_params["id"], lambda table: own_seats(request, table))


def _study(request: Request) -> Study:
    return Study(opened_game(request), request.query_params, request.app.state.ludory.settings.runs)


def _values_of(request: Request, study: Study) -> Refinement:
    """The values of the position, refined while somebody follows them."""
    from ludory.web.analysis.pieces import PositionAnswer, question_key, refine_position

    question = study.position_question()

    def next_piece(answer: PositionAnswer) -> Any:
        return None if answer.done else (refine_position, question, answer.rounds)

    asked: Refinement = request.app.state.ludory.refinements.ask(
        question_key(question), lambda: Refinement(PositionAnswer(0, None, False), next_piece, lambda old, new: new)
    )
    return asked


def _review_of(request: Request, study: Study) -> Refinement:
    """The whole game, judged while somebody follows it."""
    from ludory.web.analysis.pieces import ReviewAnswer, judge_more, question_key

    question = study.review_question()

    def next_piece(answer: ReviewAnswer) -> Any:
        first = answer.judged[-1].number + 1 if answer.judged else 0
        return None if answer.done else (judge_more, question, first)

    def join(old: ReviewAnswer, new: ReviewAnswer) -> ReviewAnswer:
        return ReviewAnswer((*old.judged, *new.judged), new.done)

    asked: Refinement = request.app.state.ludory.refinements.ask(
        question_key(question), lambda: Refinement(ReviewAnswer((), False), next_piece, join)
    )
    return asked


def board(request: Request) -> Response:
    """The page; `?json` has the analysis so far alone, `?try=ACTION` plays another move."""
    from ludory.web.analysis.board import study_board, tried
    from ludory.web.position import LegalAction, clickable

    study = _study(request)
    if "try" in request.query_params:
        return _try(study, request.query_params["try"], tried)
    values, game = _values_of(request, study), _review_of(request, study)
    if "json" in request.query_params:
        return JSONResponse({"position": values.value.report, "problem": values.problem})
    shown = study_board(study.replay, study.number, study.view)
    legal = [LegalAction(0, action, name) for action, name in shown.legal]
    last = len(study.replay.moves)
    links = {
        "first": study.address(move=0),
        "back": study.address(move=max(study.number - 1, 0)),
        "here": study.address(),
        "on": study.address(move=min(study.number + 1, last)),
        "last": study.address(move=last),
        "recorded": study.address(line=None, move=study.branch.at) if study.branch else "",
    }
    page: Response = request.app.state.ludory.render(
        request,
        "analyse.html",
        study=study,
        board=shown,
        picture=clickable(shown.picture, legal),
        links=links,
        legal_moves=legal,
        moves=[(k + 1, words, study.address(move=k + 1)) for k, words in enumerate(shown.words)],
        agents=_known_agents(),
        views=[(None, "everything"), *((k, f"seat {k} ({name})") for k, name in enumerate(shown.agents))],
        **_values_context(study, values, shown),
        **_graph_context(study, game),
    )
    return page


def _known_agents() -> list[str]:
    from ludory.plugins import agents

    return [id for id in agents.ids() if id != "human"]


def _try(study: Study, text: str, tried: Any) -> Response:
    if study.opened.limited_to is not None:
        raise DataError("Moves can be tried once the game is over: what follows them is hidden now.")
    action = _number(text.removeprefix("0:"), "try", 10**8)
    if action is None:
        raise OptionError("try: name an action")
    branch, number = tried(study.opened.replay, study.branch, study.number, action)
    return RedirectResponse(study.address(line=branch.text() if branch else None, move=number), 303)


def _values_context(study: Study, values: Refinement, board: Any) -> dict[str, Any]:
    names = {agent for one in _reported(values) for agent in one["networks"]} if _reported(values) else set()
    return {
        "report": values.value.report,
        "working": not values.finished,
        "values_problem": values.problem,
        "networks": sorted(names),
        "legal": {action for action, _ in board.legal},
    }


def _reported(values: Refinement) -> list[dict[str, Any]]:
    """The moves of the report; empty where there is none."""
    report = values.value.report
    found = report["values"]["moves"] if report and report["values"] else []
    return [one for one in found if "networks" in one]


def _graph_context(study: Study, game: Refinement) -> dict[str, Any]:
    from ludory.web.analysis.review import mistakes

    judged = list(game.value.judged)
    worst = mistakes(judged, GRAPH_MISTAKES)
    return {
        "graph": _graph(study, judged, {one.number for one in worst}),
        "mistakes": [(study.address(move=one.number), one) for one in worst],
        "judged": len(judged),
        "judging": not game.finished,
        "graph_problem": game.problem,
    }


def _graph(study: Study, judged: list[Any], worst: set[int]) -> str:
    from collections import Counter

    from ludory.charts.game_graph import GraphPoint, game_graph

    if not judged:
        return ""
    unit = Counter(one.unit for one in judged).most_common(1)[0][0]
    points = [
        GraphPoint(
            one.number,
            one.level,
            one.stderr if one.stderr < 1e9 else 0.0,
            study.address(move=one.number),
            f"after {one.number} moves: {one.level:.2f}. {one.told()}"
            if one.mistake
            else f"after {one.number} moves: {one.level:.2f}. {one.words}",
            f"{-one.loss:.1f}" if one.number in worst and one.loss < 1e9 else "",
        )
        for one in judged
        if one.unit == unit and abs(one.level) < 1e9
    ]
    if not points:
        return ""
    return game_graph("Value over the game", unit, points, len(study.replay.moves), study.number)


def values(request: Request) -> Response:
    """The part of the page with the values."""
    from ludory.web.analysis.board import study_board

    study = _study(request)
    found = _values_of(request, study)
    context = _values_context(study, found, study_board(study.replay, study.number, study.view))
    page: Response = request.app.state.ludory.render(request, "_values.html", study=study, **context)
    return page


def graph(request: Request) -> Response:
    """The part of the page with the graph; `?json` has the judged game so far alone."""
    from ludory.web.analysis.review import game_report

    study = _study(request)
    found = _review_of(request, study)
    if "json" in request.query_params:
        report = game_report(study.replay.game, study.review_question().rollouts, found.value.judged)
        return JSONResponse(report | {"problem": found.problem})
    page: Response = request.app.state.ludory.render(
        request, "_graph.html", study=study, **_graph_context(study, found)
    )
    return page


async def live_values(request: Request) -> Response:
    """Events while the values are refined."""
    return await _live(request, _values_of)


async def live_graph(request: Request) -> Response:
    """Events while the game is judged."""
    return await _live(request, _review_of)


async def _live(request: Request, find: Any) -> Response:
    asked = await run_sync(lambda: find(request, _study(request)))
    return event_stream(request, asked.follow(request.app.state.ludory.analysis))


def start(request: Request) -> Response:
    """The page to paste a game."""
    from ludory.plugins import games

    around = request.app.state.ludory
    page: Response = around.render(request, "analyse_start.html", games=games.ids(), tables=around.tables.recent(12))
    return page


def paste(request: Request, form: dict[str, str]) -> Response:
    """Keep the pasted game and open it."""
    from ludory.data.replay import replay_json

    def opened() -> Response:
        replay = _pasted_replay(form) if form.get("replay", "").strip() else _pasted_moves(form)
        id = pasted_games(request.app.state.ludory).add(replay_json(replay))
        return RedirectResponse(f"/analyse/{id}", 303)

    return answer_when_ready(request, "The pasted game", opened)


def _pasted_replay(form: dict[str, str]) -> Any:
    import json

    from ludory.agents.analysis.positions import positions
    from ludory.data.replay import replay_of_json

    try:
        replay = replay_of_json(json.loads(form["replay"]), "the pasted text")
    except (ValueError, RecursionError) as error:
        raise OptionError(f"the pasted text is no replay ({error}); paste the content of a replay file") from error
    for _ in positions(replay):  # a game that does not go as recorded is refused here
        pass
    return replay


def _pasted_moves(form: dict[str, str]) -> Any:
    from ludory.agents.analysis.positions import parse_moves, replay_of_moves
    from ludory.envs.make import make_game
    from ludory.plugins.spec import parse_value

    pairs = [word.partition("=") for word in form.get("options", "").split()]
    if not all(key.isidentifier() and equals for key, equals, _ in pairs):
        raise OptionError("options: must be KEY=VALUE, separated by spaces, e.g. players=3")
    game = make_game(form.get("game", "")[:200], **{key: parse_value(value) for key, _, value in pairs})
    seed = _number(form.get("seed", "0").strip() or "0", "seed", 10**9)
    return replay_of_moves(game, seed or 0, parse_moves(game, form.get("moves", "")))


routes = [
    Route("/analyse", start),
    Route("/analyse", with_form(paste), methods=["POST"]),
    Route("/analyse/{id}", when_ready(board)),
    Route("/analyse/{id}/values", values),
    Route("/analyse/{id}/values/live", live_values),
    Route("/analyse/{id}/graph", graph),
    Route("/analyse/{id}/graph/live", live_graph),
]
