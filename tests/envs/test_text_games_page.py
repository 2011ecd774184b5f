"""The manual of the text games: its Python runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ludory.plugins import agents, commands, games

PAGE = (Path(__file__).parents[2] / "docs" / "games" / "text_games.md").read_text(encoding="utf-8")


@pytest.mark.plain
def test_examples_run(capsys):
    names: dict[str, object] = {}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)):
        exec(compile(block, f"text_games.md, example {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "Transition(probability=0.33" in printed
    assert np.isfinite(names["reward"])


def test_what_the_page_names_exists():
    for id in re.findall(r"`((?:Sokoban|Boxoban|FrozenLake|Sudoku)\w*-v0)`", PAGE):
        assert games.get(id)
    assert {"sokoban/solver", "sudoku/solver", "frozen_lake/optimum"} <= set(agents.ids())
    assert set(re.findall(r"^ludory (\w+)", PAGE, re.MULTILINE)) <= set(commands.ids())
