"""Properties of the pictures of a game."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

from ludory.envs import Game, State
from ludory.errors import OptionError
from ludory.testing.trial import Trial, require

Draw = Callable[[State, int, int | None], str]


def drawn(game: Game) -> dict[str, Draw]:
    """The functions that draw pictures of a game."""
    return {name: draw for name, draw in (("text", game.look.text), ("svg", game.look.svg)) if draw}


def pictures_are_drawn(trial: Trial) -> str | None:
    """`text` returns a text and `svg` a well-formed SVG document, for every seat and with all cards face up, at every stage.

    A game whose rules run elsewhere may need a missing package to draw; its OptionError becomes a remark.
    """
    pictures, refused = drawn(trial.game), dict[str, OptionError]()
    for step, engine in trial.positions(6):
        for name, draw in pictures.items():
            for seat in (None, *range(trial.facts.players)):
                try:
                    picture = draw(engine.state, 0, seat)
                except OptionError as error:
                    if trial.game.rules.engine is None:
                        raise
                    refused[name] = error
                    continue
                where = f"step {step}, {name} for {'everybody' if seat is None else f'seat {seat}'}"
                require(isinstance(picture, str) and picture.strip(), f"{where} is {picture!r}")
                if name == "svg":
                    _check_svg(picture, where)
    missing = [name for name in ("text", "svg") if name not in pictures]
    remarks = [f"the game has no {' and no '.join(missing)}"] if missing else []
    return "; ".join([*remarks, *(f"{name} cannot be drawn here: {error}" for name, error in refused.items())]) or None


NONSENSE = ("", "\n", "no action of any game", "<answer></answer>", "9" * 400)


def texts_can_be_read_and_answered(trial: Trial) -> None:
    """`codec.encode` returns a text for every seat; `codec.decode` parses the name of every action (with one head) and never raises."""
    codec, game = trial.game.language, trial.game
    if codec is None:
        return
    require(codec.instruction.strip(), "codec.instruction is empty")
    for step, engine in trial.positions(6):
        for seat in (None, *range(trial.facts.players)):
            text = codec.encode(engine.state, 0, seat)
            require(isinstance(text, str) and text.strip(), f"step {step}, codec.encode for seat {seat} is {text!r}")
            require(text == codec.encode(engine.state, 0, seat), f"step {step}, codec.encode for seat {seat} changes")
    for action in range(trial.facts.num_actions if len(trial.facts.heads) == 1 else 0):
        name = game.look.action_name(0, action)
        read = codec.decode(name)
        require(read.action == action, f"codec.decode({name!r}) is {read}, must be action {action}")
    for text in NONSENSE:
        read = codec.decode(text)
        require(
            read.action is not None or read.reason.strip(), f"codec.decode({text!r}) has neither an action nor a reason"
        )


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
