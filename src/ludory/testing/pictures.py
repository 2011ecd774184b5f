"""Properties of the pictures of a game."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

from ludory.envs.game import Game, State

from .trial import Trial, require

Draw = Callable[[State, int, int | None], str]


def drawn(game: Game) -> dict[str, Draw]:
    """The pictures that a game has."""
    return {name: draw for name, draw in (("text", game.text), ("svg", game.svg)) if draw}


def pictures_are_drawn(trial: Trial) -> str | None:
    """`text` gives a text and `svg` a well-formed SVG document, for every seat and with all cards face up, at every stage."""
    pictures = drawn(trial.game)
    for step, engine in trial.positions(6):
        for name, draw in pictures.items():
            for seat in (None, *range(trial.facts.players)):
                picture = draw(engine.state, 0, seat)
                where = f"step {step}, {name} for {'everybody' if seat is None else f'seat {seat}'}"
                require(isinstance(picture, str) and picture.strip(), f"{where} is {picture!r}")
                if name == "svg":
                    _check_svg(picture, where)
    missing = [name for name in ("text", "svg") if name not in pictures]
    return f"the game has no {' and no '.join(missing)}" if missing else None


def _check_svg(picture: str, where: str) -> None:
    try:
        root = ElementTree.fromstring(picture)
    except ElementTree.ParseError as error:
        require(False, f"{where} is not well-formed XML: {error}")
        return
    require(
        root.tag == "{http://www.w3.org/2000/svg}svg",
        f"{where} has the root element {root.tag!r}, must be an svg with its xmlns",
    )
