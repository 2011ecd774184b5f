"""`show`: a game in a notebook, to play or to step through, as a widget (extra `notebook`) or as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents import Agent, make_agent
from ludory.agents.partners import default_partner
from ludory.data.playthrough import Playthrough
from ludory.data.replay import Replay, as_replay, read_replay
from ludory.data.viewing.replay_page import filled_page, framed_page, replay_content
from ludory.envs import Array, Engine, Game, Memory, first_legal, make_game, on_host
from ludory.envs.adapters.objects import handed_in
from ludory.envs.pictures import html_legal, svg_picture
from ludory.errors import LudoryError, OptionError
from ludory.plugins.requirements import install_command, missing_dependency

from .position import LegalAction, TablePosition, clickable, scores


class _Person(Agent):
    """Plays what `ShownGame.play` was given."""

    name = "human"
    action: tuple[int, ...] | None = None

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """The action (1,) or (1, H); where the seat waits, the first legal value of each head."""
        action, self.action = self.action, None
        if action is None:
            action = tuple(first_legal(on_host(engine.legal())[0], engine.facts)[seat])
        return np.array([action] if len(action) > 1 else action, np.int64)


class ShownGame:
    """A game that is played in a notebook; at the end of a cell it shows itself.

    With the extra `notebook` it is a widget: click the picture or the buttons to play, use the slider to look back. Without, it is a
    page of the game so far, and `play` in the next cell makes a move.

    Args:
        game: what is played.
        others: who has the other seats, one agent for all or one for each, as `make_agent` takes them; None: an opponent of the game.
        seat: the seat that is played here; None: agents have all seats.
        seed: of the game; None: a fresh one.

    Raises:
        OptionError: there is no such seat, a wrong number of agents, or the game has continuous actions.
    """

    def __init__(self, game: Game, others: object = None, seat: int | None = 0, seed: int | None = None) -> None:
        facts = game.facts
        game.need("a game in a notebook", "heads")
        if seat is not None and not 0 <= seat < facts.players:
            raise OptionError(f"seat={seat!r}: must be None or 0 to {facts.players - 1}")
        free = facts.players - (seat is not None)
        named = default_partner(facts.name) if others is None else others
        given = list(named) if isinstance(named, list | tuple) else [named] * free
        if len(given) != free:
            raise OptionError(
                f"others: got {len(given)} agents for {free} seats of {game.name}: give one for all, or one for each"
            )
        self.game, self.seat = game, seat
        self._person = _Person()
        agents = [make_agent(agent, game) for agent in given]
        self._players = agents if seat is None else [*agents[:seat], self._person, *agents[seat:]]
        self._widget: Any = None
        self._begin(seed)

    def _begin(self, seed: int | None) -> None:
        self._playthrough = Playthrough(self.game, self._players, seed)
        self._moves, self._position = iter(self._playthrough), TablePosition(self._playthrough.engine)
        self._pictures: list[str] = []
        self._problem = ""
        self._keep_picture()
        self._let_others_move()

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return self._playthrough.over

    @property
    def replay(self) -> Replay:
        """The game so far."""
        return as_replay(self._playthrough)

    @property
    def legal(self) -> list[dict[int, str]]:
        """The legal values of each head and what they are called; empty if there is nothing to choose."""
        return [{one.value: one.name for one in head} for head in self._legal()]

    def play(self, *action: int | str) -> ShownGame:
        """Play a move, and let the agents move up to the next decision of the seat; returns the game.

        Args:
            action: a value for each head, as number or name, of those in `legal`.

        Raises:
            OptionError: there is nothing to choose, or the move is not legal.
        """
        legal = self._legal()
        if not legal:
            raise OptionError(
                "the game is over" if self.over else "no seat is yours; next() plays the agents' next move"
            )
        if len(action) != len(legal):
            raise OptionError(
                f"got {len(action)} values, must be {len(legal)}, one of each: {', '.join(self.game.facts.head_names)}"
            )
        self._person.action = tuple(_value(given, head) for given, head in zip(action, legal, strict=True))
        self._let_others_move()
        return self

    def next(self) -> ShownGame:
        """Let the agents make one move; returns the game.

        Raises:
            OptionError: it is the turn of the seat that is played here, or the game is over.
        """
        if self.over or self._legal():
            raise OptionError("the game is over" if self.over else "it is your turn; type play(...)")
        self._step()
        return self

    def html(self) -> str:
        """A page to step through the game so far, as the seat saw it."""
        content = replay_content(self.replay, self._view, self.game, every_view=False)
        title = content["title"] if self.over else f"{self.game.name}. {self._turn()}"
        return filled_page({**content, "title": title, "start": len(self._playthrough.moves)})

    @property
    def widget(self) -> Any:
        """The `anywidget.AnyWidget` that shows the game; its messages play it.

        Raises:
            PluginError: anywidget is not installed.
        """
        if self._widget is None:
            self._widget = _widget_class()(board=self.board())
            self._widget.on_msg(lambda widget, message, buffers: self.obey(message))
        return self._widget

    def obey(self, message: Mapping[str, Any]) -> None:
        """Carry out a message of the widget: {"do": "play", "action": [3]}, "next", "new", or "go" with a position "to"."""
        self._problem = ""
        try:
            if message.get("do") == "play":
                self.play(*message["action"])
            elif message.get("do") == "next":
                self.next()
            elif message.get("do") == "new":
                self._begin(None)
            else:
                self._at = min(max(0, int(message["to"])), len(self._pictures) - 1)
        except LudoryError as error:
            self._problem = str(error)
        self._send()

    def board(self) -> dict[str, Any]:
        """What the widget draws, as JSON values."""
        last = len(self._pictures) - 1
        legal = self._legal() if self._at == last else []
        words = self._position.words(self._view)
        return {
            "title": f"{self.game.name}, seed {self._playthrough.seed}",
            "picture": clickable(self._pictures[self._at], [one for head in legal for one in head], len(legal)),
            "at": self._at,
            "last": last,
            "move": words[self._at - 1] if self._at else "start",
            "scores": ", ".join(f"{name} {value}" for name, value in scores(self._position, self.seat)),
            "turn": self._turn(),
            "heads": [
                {"name": name.replace("_", " "), "choices": [[one.value, one.name] for one in head]}
                for name, head in zip(self.game.facts.head_names, legal, strict=False)
            ],
            "over": self.over,
            "waits": not self.over and not self._legal(),
            "problem": self._problem,
        }

    @property
    def _view(self) -> int | None:
        hides = self.game.facts.hidden_information and not self.over
        return self.seat if hides else None

    def _legal(self) -> list[list[LegalAction]]:
        if self.seat is None or self.seat not in self._position.deciding():
            return []
        return self._position.legal(self.seat)

    def _turn(self) -> str:
        if self.over:
            return "The game is over."
        deciding = self._position.deciding()
        if self.seat in deciding:
            return "Your turn."
        return f"{' and '.join(f'seat {seat} ({self._players[seat].name})' for seat in deciding)} to move."

    def _let_others_move(self) -> None:
        """Play up to the next decision of the seat."""
        while self.seat is not None and not self.over and not (self._legal() and self._person.action is None):
            self._step()

    def _step(self) -> None:
        move = next(self._moves)
        self._position.tell(move.seat, move.action)
        self._keep_picture()
        self._send()

    def _keep_picture(self) -> None:
        self._pictures.append(svg_picture(self.game, self._playthrough.engine.state, 0, self._view))
        self._at = len(self._pictures) - 1

    def _send(self) -> None:
        if self._widget is not None:
            self._widget.board = self.board()

    def __repr__(self) -> str:
        return f"<ShownGame of {self.game.name}, seed {self._playthrough.seed}: {len(self._playthrough.moves)} moves. {self._turn()}>"

    def _repr_mimebundle_(self, **asked: Any) -> Any:
        if find_spec("anywidget") is not None:
            return self.widget._repr_mimebundle_(**asked)
        legal = html_legal(self.game, self._position.mask(self.seat)) if self._legal() and self.seat is not None else ""
        command = escape(str(install_command("ludory", "anywidget", ("notebook",))))
        hint = f"<p>{escape(self._turn())} Play with <code>.play(...)</code>, or type <code>{command}</code> to play in the picture.</p>"
        return {"text/plain": repr(self), "text/html": framed_page(self.html()) + hint + legal}


def _value(given: int | str, head: Sequence[LegalAction]) -> int:
    """The legal value of a head that is given as number or name."""
    for one in head:
        if given in (one.value, one.name):
            return one.value
    raise OptionError(f"{given!r} is not legal now; legal: {', '.join(f'{one.value} ({one.name})' for one in head)}")


def show(
    what: object, others: object = None, seat: int | None = 0, seed: int | None = None, **options: Any
) -> Replay | ShownGame:
    """Show a game at the end of a cell of a notebook: a recorded one to step through, or a new one to play.

    Args:
        what: a `Replay` or its file (.json); or a game, as id, `Game`, engine or environment, of which a new one is played.
        others: who has the other seats, as of `ShownGame`.
        seat: the seat that is played here; None: agents have all seats.
        seed: of the game; None: a fresh one.
        options: of the game, if it is given by id.

    Raises:
        ReplayError: the file is missing or not a replay.
        OptionError: as `ShownGame` and `make_game`.
    """
    if isinstance(what, Replay):
        return what
    if isinstance(what, Path) or (isinstance(what, str) and what.endswith(".json")):
        return read_replay(what)
    game = make_game(what, **options) if isinstance(what, str | Game) else handed_in(what).game
    return ShownGame(game, others, seat, seed)


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        raise missing_dependency("the widget of a game", error.name or "", extras=("notebook",)) from error

    def static(name: str) -> str:
        return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")

    class GameWidget(anywidget.AnyWidget):
        _esm, _css = static("notebook.js"), static("notebook.css")
        board = traitlets.Dict().tag(sync=True)

    return GameWidget
