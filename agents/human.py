"""`HumanAgent`: a person at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ludory.envs import Array, Engine, Game, Memory
from ludory.envs.pictures import show, text_picture
from ludory.errors import GameLeftError, OptionError

from .agent import Agent

HELP = """\
Type the number of an action or its name. The beginnings of its words are
enough where they fit one action only, such as "p 1" for "play 1".
"?" shows this, "q" leaves the game."""


class HumanAgent(Agent):
    """Shows the game as its seat sees it, lists the legal actions and reads a choice.

    Args:
        game: the game.
        ask: shows a prompt and reads a line.
        tell: shows a text.
    """

    name = "human"

    def __init__(self, game: Game, ask: Callable[[str], str] = input, tell: Callable[[str], None] = show) -> None:
        self._game, self._ask, self._tell = game, ask, tell

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) or (m, H) of `seat` in the games `rows`, asked for one by one.

        Raises:
            GameLeftError: the person typed "q" or closed the input.
        """
        facts, masks = self._game.facts, engine.legal()
        chosen = []
        for row in rows:
            self._tell(text_picture(self._game, engine.state, int(row), seat) + "\n")
            mask = masks[row, seat] if facts.simultaneous else masks[row]
            parts = np.split(mask, np.cumsum(facts.head_sizes)[:-1])
            chosen.append([self._ask_head(head, np.flatnonzero(part)) for head, part in enumerate(parts)])
        actions = np.array(chosen, np.int64)
        return actions[:, 0] if len(facts.heads) == 1 else actions

    def _ask_head(self, head: int, allowed: Array) -> int:
        names = {int(value): self._game.look.action_name(head, int(value)) for value in allowed}
        title = f"{self._game.facts.head_names[head]}: " if len(self._game.facts.heads) > 1 else ""
        self._tell(title + listing(names))
        while True:
            answer = self._answer(f"{title}your move> ")
            if answer == "?":
                self._tell(f"{HELP}\n{listing(names)}")
                continue
            try:
                return understand(answer, names)
            except OptionError as error:
                self._tell(str(error))

    def _answer(self, prompt: str) -> str:
        try:
            answer = " ".join(self._ask(prompt).split())
        except EOFError:
            raise GameLeftError("the input ended, so the game was left") from None
        if answer.lower() in ("q", "quit"):
            raise GameLeftError("the game was left")
        return answer


def make(game: Game) -> HumanAgent:
    """A person at this terminal."""
    return HumanAgent(game)


def listing(names: Mapping[int, str], width: int = 80) -> str:
    """Numbers and names in as many columns as fit."""
    cells = [f"{number:>3} {name}" for number, name in names.items()]
    column = max(map(len, cells)) + 2
    across = max(1, width // column)
    down = -(-len(cells) // across)
    return "\n".join("".join(f"{cell:<{column}}" for cell in cells[line::down]).rstrip() for line in range(down))


def understand(answer: str, names: Mapping[int, str]) -> int:
    """The action that `answer` names: by number, by name, or by the beginnings of a name's words.

    Raises:
        OptionError: no legal action in `names` matches, or several do.
    """
    typed = answer.lower().split()
    if answer.isdecimal() and int(answer) in names:
        return int(answer)
    # a whole name wins over names that begin with it
    for number, name in names.items():
        if name.lower().split() == typed:
            return number
    fitting = [number for number, name in names.items() if typed and _begins(typed, name.lower().split())]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise OptionError(f"{answer!r} could be {', '.join(names[number] for number in fitting)}: type more of it")
    raise OptionError(f"{answer!r} is not possible now: type a number or a name, ? for help, q to leave")


def _begins(typed: list[str], words: list[str]) -> bool:
    return len(typed) <= len(words) and all(word.startswith(part) for part, word in zip(typed, words, strict=False))
