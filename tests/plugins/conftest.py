"""Packages that stand on the path as pip would have put them there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ludory import plugins
from ludory.plugins.discovery import discover

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """`install(name, points, modules, requires)`: points by group as `{"ludory.games": "Nim-v0 = nim:make"}`."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(
        name: str,
        points: Mapping[str, str] | str = "",
        modules: Mapping[str, str] | None = None,
        requires: tuple[str, ...] = (),
    ) -> Path:
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        needed = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: What {name} is\n{needed}"
        )
        if not isinstance(points, str):
            points = "\n".join(f"[{group}]\n{lines}\n" for group, lines in points.items())
        (info / "entry_points.txt").write_text(points)
        for module, source in (modules or {}).items():
            (tmp_path / f"{module}.py").write_text(source)
        importlib.invalidate_caches()
        return tmp_path

    return put


@pytest.fixture
def look_again(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Forgets which packages were found, and what was loaded from them: a process looks once."""

    def forget() -> None:
        discover.cache_clear()
        for registry in vars(plugins).values():
            if isinstance(registry, plugins.Registry):
                vars(registry).pop("_offers", None)
        own = {path.stem for path in tmp_path.iterdir()}
        for name in [name for name in sys.modules if name.partition(".")[0] in own]:
            del sys.modules[name]
        for module, names in {
            "data.viewing.viewer": ("viewers", "_shows", "_rows"),
            "web.page": ("load_page", "_router"),
        }.items():
            for name in names:
                getattr(sys.modules.get(f"ludory.{module}"), name, discover).cache_clear()

    yield forget
    forget()
