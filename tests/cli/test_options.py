"""`--option KEY=VALUE`."""

from __future__ import annotations

from typing import Any

import pytest

from ludory.cli.common.options import GameOptions, parse_options
from ludory.cli.common.parser import parse
from ludory.errors import OptionError


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("players=3", {"players": 3}),
        ("random_start_player=true", {"random_start_player": True}),
        ("random-start-player=False", {"random_start_player": False}),
        ("observation=minimal", {"observation": "minimal"}),
        ("name=a=b", {"name": "a=b"}),
        ("rate=0.5", {"rate": 0.5}),
    ],
)
def test_values_are_read_as_what_they_look_like(text: str, options: dict[str, Any]) -> None:
    assert parse_options([text]) == options


@pytest.mark.parametrize("text", ["players", "=3", "two words=3", ""])
def test_what_is_not_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"must be KEY=VALUE, e\.g\. --option players=3"):
        parse_options([text])


def test_a_key_comes_once() -> None:
    with pytest.raises(OptionError, match="--option players is given twice"):
        parse_options(["players=3", "players=4"])


def test_the_argument_may_be_repeated() -> None:
    chosen = parse(GameOptions, ["--option", "players=3", "--option", "bomb=keep"], "play")
    assert parse_options(chosen.option) == {"players": 3, "bomb": "keep"}
    assert parse_options(parse(GameOptions, [], "play").option) == {}
