"""`TextCodec`: a game as a language model reads and plays it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ludory.errors import OptionError

from .parts import State


class Decoded(NamedTuple):
    """The action that a text asks for."""

    action: int | tuple[int, ...] | None
    """The value of the head, or one value per head. None: the text names no action."""
    reason: str = ""
    """Why there is no action, addressed to the writer of the text."""


class WorkedExample(NamedTuple):
    """One turn that shows a language model how to answer."""

    before: str
    """State before the actions."""
    thought: str
    actions: tuple[str, ...]
    """Names of the actions."""
    after: str
    """State after all of them, in the style of `before`."""


WriteRows = Callable[[State, Sequence[int], "int | None"], list[str]]
"""`write(state, rows, seat)`: the games `rows` as `seat` sees them, one text each."""


@dataclass(frozen=True, slots=True)
class TextCodec:
    """A game as a language model reads and plays it.

    `encode` shows what the seat may know, and nothing else; equal states have equal texts, on every machine.
    `decode` never raises: any text is either an action or has a reason why it is not. The engine decides whether the action is legal.
    """

    instruction: str
    """Rules of the game, meaning of its symbols, and the form of an answer. A model reads it first."""
    encode: Callable[[State, int, int | None], str]
    """`encode(state, i, seat)`: game i as `seat` sees it; seat None: everything."""
    decode: Callable[[str], Decoded]
    symbols: Mapping[str, str] = field(default_factory=dict)
    """Symbols of a state and their meanings, in the order in which they are listed."""
    action_names: tuple[str, ...] = ()
    """Names of the actions for a prompt. Empty: too many to list, `instruction` says how to write one."""
    styles: Mapping[str, WriteRows] = field(default_factory=dict)
    """Ways to write a state, by name. The first one writes what `encode` writes. Empty: `encode` is the only one."""
    parsers: Mapping[str, Callable[[str], Mapping[str, NDArray[Any]]]] = field(default_factory=dict)
    """`parsers[style](text)`: the fields that a text determines, for the styles that can be inverted. A ValueError names line and symbol."""
    example: Callable[[str], WorkedExample] | None = None
    """`example(style)`: a worked example."""

    def write(self, state: State, rows: Sequence[int], seat: int | None = None, style: str = "") -> list[str]:
        """The games `rows` as `seat` sees them, one text each; style "": that of `encode`.

        Raises:
            OptionError: there is no such style.
        """
        if not style:
            style = next(iter(self.styles), "")
        if not style:
            return [self.encode(state, row, seat) for row in rows]
        if style not in self.styles:
            raise OptionError(f"style={style!r}: the game writes {', '.join(self.styles) or 'one style only'}")
        return self.styles[style](state, rows, seat)


def decoder_of_names(action_name: Callable[[int, int], str], count: int) -> Callable[[str], Decoded]:
    """A `TextCodec.decode` for games with one head of `count` values: it reads names of actions, ignoring case and surrounding spaces."""
    numbers = {action_name(0, action).casefold(): action for action in range(count)}

    def decode(text: str) -> Decoded:
        wanted = " ".join(text.split()).casefold()
        if wanted in numbers:
            return Decoded(numbers[wanted])
        if not wanted:
            return Decoded(None, "the answer is empty; name one action")
        near = get_close_matches(wanted[:100], numbers, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"name one action, such as {action_name(0, 0)!r}"
        return Decoded(None, f"no action is called {wanted[:100]!r}; {hint}")

    return decode
