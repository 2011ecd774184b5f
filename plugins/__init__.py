"""The registries: they find, list and load games, agents, algorithms, commands, formats and more by id.

Other packages add to them through entry points:

ludory.games: functions `make(**options) -> Game`
ludory.agents: functions `make(game, **options) -> Agent`
ludory.networks: subclasses of `Policy`, called as `Network(facts, **options)`
ludory.algorithms: subclasses of `Algorithm`
ludory.benchmarks: functions `run(argv) -> int`
ludory.commands: modules with a function `run(argv) -> int`
ludory.pages: objects `ludory.web.page.Page`, pages of the server of `ludory serve`
ludory.viewers: objects `ludory.data.viewing.viewer.Viewer`, which show recorded games of a format
ludory.formats: subclasses of `GameFormat`
ludory.beliefs: functions `make(game) -> GameBeliefs | None`, by family or id of a game
ludory.analysts: functions `make(game) -> GameAnalysis | None`, likewise
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's plugins room; type `import ludory.plugins`")

from . import builtin
from .discovery import Discovered
from .entry import Entry
from .registry import Description, Registry
from .requirements import install_command, missing_dependency, needs_unix
from .spec import Spec, parse_spec

__all__ = [
    "LISTED",
    "Command",
    "Description",
    "Entry",
    "Registry",
    "Spec",
    "agents",
    "algorithms",
    "analysts",
    "beliefs",
    "benchmarks",
    "commands",
    "formats",
    "games",
    "install_command",
    "jobs",
    "makers",
    "missing_dependency",
    "needs_unix",
    "networks",
    "pages",
    "parse_spec",
    "viewers",
]


class Command(Protocol):
    """Module of a command of the command line."""

    def run(self, argv: list[str]) -> int:
        """Run the command; returns the exit code."""


def _is_class(loaded: object) -> bool:
    return isinstance(loaded, type)


def _is_format(loaded: object) -> bool:
    return isinstance(loaded, type) and any(base.__name__ == "GameFormat" for base in loaded.__mro__)


def _has_run(loaded: object) -> bool:
    return callable(getattr(loaded, "run", None))


games: Registry[Callable[..., object]] = Registry(
    "game", builtin.GAMES, callable, "a function make(**options) that returns a Game"
)
agents: Registry[Callable[..., object]] = Registry(
    "agent", builtin.AGENTS, callable, "a function make(game, **options) that returns an Agent"
)
networks: Registry[type[Any]] = Registry(
    "network", builtin.NETWORKS, _is_class, "a subclass of ludory.agents.networks.policy.Policy"
)
algorithms: Registry[type[Any]] = Registry(
    "algorithm", builtin.ALGORITHMS, _is_class, "a subclass of ludory.algorithms.algorithm.Algorithm"
)
benchmarks: Registry[Callable[[list[str]], int]] = Registry(
    "benchmark", builtin.BENCHMARKS, callable, "a function run(argv) that returns an exit code"
)
makers: Registry[Callable[..., Any]] = Registry(
    "maker", builtin.MAKERS, callable, "a function", lambda: Discovered({"ludory.makers": []}, [])
)
commands: Registry[Command] = Registry(
    "command", builtin.COMMANDS, _has_run, "a module with a function run(argv) that returns an exit code"
)
pages: Registry[Any] = Registry("page", builtin.PAGES, lambda loaded: hasattr(loaded, "owns"), "a ludory.web.page.Page")
viewers: Registry[Any] = Registry(
    "viewer", builtin.VIEWERS, lambda loaded: hasattr(loaded, "shows"), "a ludory.data.viewing.viewer.Viewer"
)
jobs: Registry[Command] = Registry(
    "job", builtin.JOBS, _has_run, "a module with a function run(argv)", lambda: Discovered({"ludory.jobs": []}, [])
)
formats: Registry[type[Any]] = Registry("format", builtin.FORMATS, _is_format, "a subclass of ludory.data.GameFormat")
beliefs: Registry[Callable[..., object]] = Registry(
    "belief", builtin.BELIEFS, callable, "a function make(game) that returns a GameBeliefs or None"
)
analysts: Registry[Callable[..., object]] = Registry(
    "analyst", builtin.ANALYSTS, callable, "a function make(game) that returns a GameAnalysis or None"
)

LISTED: dict[str, Registry[Any]] = {
    registry.group.removeprefix("ludory."): registry
    for registry in (
        games,
        agents,
        networks,
        algorithms,
        benchmarks,
        commands,
        formats,
        viewers,
        pages,
        beliefs,
        analysts,
    )
}
"""The registries that `ludory list` shows, by what it calls them."""
