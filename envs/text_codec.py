"""Reading actions by their names, as codecs of games with one head do."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from .game import Decoded


def decoder_of_names(action_name: Callable[[int, int], str], count: int) -> Callable[[str], Decoded]:
    """`TextCodec.decode` of a game with one head of `count` values: the name of an action, without regard to case and spaces around it."""
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
