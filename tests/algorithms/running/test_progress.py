"""The bar of a training run in a notebook."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import rich.console

from ludory.algorithms.running import progress


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the cell of a notebook showed, in order."""
    seen: list[str] = []
    module: Any = ModuleType("IPython.display")

    def drawn_as(shown: dict[str, str], raw: bool, display_id: bool = True) -> SimpleNamespace:
        seen.append(shown["text/html"])
        return SimpleNamespace(update=drawn_as)

    module.display = drawn_as
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr(progress, "REDRAWN", 0.0)
    return seen


def test_a_notebook_sees_how_far_a_run_is(drawn: list[str]) -> None:
    with progress.Progress("ppo", 128, 0, shown=True) as bar:
        bar.update(64, {"time/fps": 1000.0, "rollout/ep_rew_mean": 2.5})
        bar.update(128, {"time/fps": 1000.0})
    bars = [ElementTree.fromstring(shown) for shown in drawn]
    values = [int(bar[0].get("value") or "") for bar in bars]
    assert values == [0, 64, 128, 128]
    assert {bar[0].get("max") for bar in bars} == {"128"}
    assert "64 / 128  1,000/s  return 2.50" in (bars[1][0].tail or "")
    assert " left" in (bars[1][0].tail or "")
    assert " left" not in (bars[-1][0].tail or "")


def test_without_a_bar_nothing_is_drawn(drawn: list[str]) -> None:
    with progress.Progress("ppo", 10, 0, shown=False) as bar:
        bar.update(5, {"time/fps": 1.0})
    assert drawn == []
