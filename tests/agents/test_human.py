"""The person at the terminal: what is shown, and what may be typed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from games.nim import matching
from hypothesis import given
from hypothesis import strategies as st

from ludory.agents.human import HumanAgent, listing, understand
from ludory.agents.make import make_agent
from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.pictures import plain
from ludory.errors import GameLeftError, OptionError

TINY = "HanabiTiny2P-v0"
DECK = [0, 1, 2, 0, 0, 2, 2, 3]  # R1 R2 | Y1 R1 | ...


class Terminal:
    """Types prepared lines and keeps what was shown."""

    def __init__(self, *typed: str) -> None:
        self._typed: Iterator[str] = iter(typed)
        self.shown: list[str] = []

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        line = next(self._typed, None)
        if line is None:
            raise EOFError
        return line

    def tell(self, text: str) -> None:
        self.shown.append(plain(text))

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


@pytest.fixture
def engine() -> Engine:
    engine = make_engine(TINY, seed=1)
    engine.reset(options={"deck": DECK})
    return engine


def choose(engine: Engine, terminal: Terminal, game: Game | None = None, seat: int = 0) -> list[int]:
    agent = HumanAgent(game or make_game(TINY), terminal.ask, terminal.tell)
    return agent.choose(engine, seat, np.array([0]), agent.initial_memory(1)).tolist()


@pytest.mark.parametrize(
    ("typed", "action"),
    [("2", 2), ("play 1", 2), ("PLAY  2 ", 3), ("p 2", 3), ("tell +1 red", 4), ("t +1 y", 5), ("tell +1 rank 1", 6)],
)
def test_a_move_is_typed_by_number_by_name_or_by_the_beginnings_of_its_words(
    engine: Engine, typed: str, action: int
) -> None:
    assert choose(engine, Terminal(typed)) == [action]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("", "'' is not possible now"),
        ("fly", "'fly' is not possible now: type a number or a name, ? for help, q to leave"),
        ("99", "'99' is not possible now"),
        ("-1", "'-1' is not possible now"),
        ("discard 1", "'discard 1' is not possible now"),  # all hint tokens are there
        ("0", "'0' is not possible now"),
        ("p", "'p' could be play 1, play 2: type more of it"),
        ("tell +1 r", "'tell +1 r' could be tell +1 red, tell +1 rank 1: type more of it"),
        ("?", "The beginnings of its words"),
    ],
)
def test_anything_else_is_answered_and_asked_again(engine: Engine, typed: str, answer: str) -> None:
    terminal = Terminal(typed, "play 1")
    assert choose(engine, terminal) == [2]
    assert answer in terminal.text
    assert terminal.shown.count("your move> ") == 2


@pytest.mark.parametrize("typed", [["q"], ["QUIT"], [], ["nonsense"]])
def test_leaving_the_game_is_an_error_of_its_own(engine: Engine, typed: list[str]) -> None:
    with pytest.raises(GameLeftError, match="left"):
        choose(engine, Terminal(*typed))


def test_only_legal_moves_are_listed(engine: Engine) -> None:
    terminal = Terminal("2")
    choose(engine, terminal)
    assert "2 play 1" in terminal.text
    assert "discard 1" not in terminal.text
    assert "tell +1 rank 2" not in terminal.text


def test_a_person_sees_the_others_cards_and_never_the_own(engine: Engine) -> None:
    terminals = [Terminal("2"), Terminal("2")]
    choose(engine, terminals[0])
    engine.redeal(0, seed=5)
    assert engine.state.hands[0, 0].tolist() != DECK[:2]
    choose(engine, terminals[1])
    assert terminals[0].text == terminals[1].text
    assert "Y1" in terminals[0].text


def test_every_head_is_asked_for_in_games_with_several() -> None:
    game, terminal = matching(), Terminal("blue", "la")
    engine = make_engine(game, seed=1)
    engine.reset()
    assert choose(engine, terminal, game, seat=1) == [[2, 1]]
    assert "color: your move> " in terminal.shown
    assert "size: your move> " in terminal.shown
    assert "bonus: " in terminal.text  # no text picture: what everybody knows


def test_a_person_can_be_named_like_any_agent() -> None:
    assert isinstance(make_agent("human", TINY), HumanAgent)


NAMES = {number: make_game("Hanabi5P-v0").look.action_name(0, number) for number in range(48)}


@given(st.sampled_from(sorted(NAMES)), st.booleans())
def test_every_name_and_number_means_its_action(number: int, by_name: bool) -> None:
    assert understand(NAMES[number] if by_name else str(number), NAMES) == number


@given(st.text())
def test_no_input_means_an_action_that_is_not_offered(text: str) -> None:
    offered = {number: NAMES[number] for number in (0, 5, 20)}
    with suppress(OptionError):
        assert understand(text, offered) in offered


def test_an_exact_name_wins_over_longer_ones() -> None:
    assert understand("play 1", {1: "play 1", 10: "play 10"}) == 1


def test_the_list_fits_the_terminal_and_holds_everything() -> None:
    lines = listing(NAMES).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(f"{number} {name}" in listing(NAMES) for number, name in NAMES.items())
