"""What a person may choose for a new table: games by family, agents, checkpoints, options; and the names that may be typed."""

from __future__ import annotations

import inspect
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ludory.errors import OptionError
from ludory.plugins import agents, games
from ludory.plugins.entry import split_version
from ludory.plugins.source import parameters_of
from ludory.plugins.spec import CHECKPOINT_SUFFIX, HUB, Spec, parse_spec, parse_value

MOST_NUMBER = 100_000
"""Largest number in an option: sizes beyond it would take all memory."""
MOST_TEXT = 300
MOST_CHECKPOINTS = 200
MOST_SEED = (1 << 31) - 1
NOT_HERE = ("human", "language")
"""Agents that need a terminal, or a model's files."""
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_FIRST_WORD = re.compile(r"[A-Z][a-z]+|\w+")
_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z0-9])")


class GameFamily(NamedTuple):
    """Games that differ in numbers only, such as all sizes of Hanabi."""

    title: str
    games: tuple[tuple[str, str], ...]
    """Id and summary."""


class OptionField(NamedTuple):
    """An option as a form shows it."""

    name: str
    default: str
    """As in the source; "" if it has none."""


OTHER_OPTIONS = "options"
"""Field for options that a game takes without naming them in its source: "players=3, bomb=keep"."""


def families() -> list[GameFamily]:
    """All games, grouped by where they come from and by the first word of their ids."""
    groups: dict[tuple[str, str], list[str]] = {}
    for id in games.ids():
        first = _FIRST_WORD.match(id)
        groups.setdefault((games.describe(id).target.partition(":")[0], first[0] if first else id), []).append(id)
    found = []
    for ids in groups.values():
        stem = _common_start([split_version(id)[0] for id in ids])
        title = _BREAK.sub(" ", stem).strip("- ")
        found.append(GameFamily(title or ids[0], tuple((id, games.describe(id).summary) for id in ids)))
    return found


def _common_start(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    return first[: next((place for place, letter in enumerate(first) if last[place : place + 1] != letter), len(first))]


def known_game(id: str) -> str:
    """`id`, if it is the id of a game that is installed: others, such as those of a scheme, could import anything.

    Raises:
        OptionError: it is not.
    """
    if id not in games.ids():
        raise OptionError(f"no game is called {id[:60]!r}: choose one on the first page")
    return id


def agents_for(game: str) -> list[str]:
    """Ids of agents to suggest for a game: those of its own, then those for any game."""
    own, free = [], []
    stem = split_version(game)[0].lower()
    for id in agents.ids():
        room, slash, _ = id.partition("/")
        if id in NOT_HERE:
            continue
        if not slash:
            free.append(id)
        elif stem.startswith(room.replace("_", "").lower()):
            own.append(id)
    return own + free


def checkpoints(runs: Path | None) -> dict[str, Path]:
    """Checkpoints in the folder of runs, by the path within it."""
    if runs is None or not runs.is_dir():
        return {}
    found = {}
    for file in sorted(runs.rglob(f"*{CHECKPOINT_SUFFIX}")):
        if file.resolve().is_relative_to(runs.resolve()):
            found[file.relative_to(runs).as_posix()] = file
        if len(found) >= MOST_CHECKPOINTS:
            break
    return found


def game_options(id: str) -> list[OptionField]:
    """Options of a game that its id does not fix."""
    fixed = games.get(known_game(id)).fixed
    try:
        parameters = inspect.signature(games.load(id)).parameters.values()
    except (TypeError, ValueError):  # compiled code without a signature
        return []
    named = [one for one in parameters if one.kind is not one.VAR_POSITIONAL and one.name not in fixed]
    return [
        OptionField(OTHER_OPTIONS, "players=3, ...")
        if one.kind is one.VAR_KEYWORD
        else OptionField(one.name, "" if one.default is one.empty else repr(one.default))
        for one in named
    ]


def agent_options(name: str) -> list[OptionField]:
    """Options of the agent that `name` begins with; none if there is no such agent."""
    id = name.partition("(")[0].strip()
    if id not in agents.ids() or id in NOT_HERE:
        return []
    entry = agents.get(id)
    return [OptionField(*one) for one in parameters_of(entry)[1:] if one[0] not in entry.fixed]


def read_game_options(typed: Mapping[str, str]) -> dict[str, Any]:
    """Values of options as typed in a form; empty ones are left out.

    Raises:
        OptionError: a value is too large, or names a file.
    """
    read = {}
    others = [pair.partition("=") for pair in typed.get(OTHER_OPTIONS, "").split(",") if pair.strip()]
    named = {name.strip(): value for name, _, value in others}
    for name, text in ({name: text for name, text in typed.items() if name != OTHER_OPTIONS} | named).items():
        if text.strip() and name.isidentifier():
            read[name] = checked_value(name, parse_value(text[:MOST_TEXT]))
    return read


def read_agent(text: str, runs: Path | None) -> str:
    """The agent that was typed, as `make_agent` reads it; checkpoints are looked up in the folder of runs.

    Raises:
        OptionError: there is no such agent, or an argument is too large or names a file.
    """
    text = text.strip()[:MOST_TEXT]
    if text in (saved := checkpoints(runs)):
        return str(saved[text].resolve())
    if "\0" in text or not text:
        raise OptionError("name an agent for every seat, or human")
    _check_agent(parse_spec(text), text)
    return text


def _check_agent(spec: Spec, text: str) -> None:
    if not spec.name.startswith(HUB) and (spec.checkpoint or spec.name not in agents.ids() or spec.name in NOT_HERE):
        raise OptionError(
            f"no agent is called {text[:60]!r}: choose one of the list, a checkpoint of the runs folder, or hf://owner/name of the hub"
        )
    for name, value in [*((str(number), value) for number, value in enumerate(spec.args, 1)), *spec.kwargs.items()]:
        checked_value(name, value)


def checked_value(name: str, value: object) -> Any:
    """`value`, if an option may have it here: numbers of a sane size, words, names of agents.

    Raises:
        OptionError: it may not.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float) and abs(value) <= MOST_NUMBER:
        return value
    if isinstance(value, list | tuple) and len(value) <= 100:
        return type(value)(checked_value(name, one) for one in value)
    if isinstance(value, str) and _WORD.fullmatch(value) and not parse_spec(value).checkpoint:
        return value
    if isinstance(value, str) and len(value) <= MOST_TEXT and value.isprintable() and value:
        _check_agent(parse_spec(value), value)
        return value
    raise OptionError(
        f"{name}={str(value)[:60]!r} cannot be used here: give a number up to {MOST_NUMBER}, a word, true, false or an agent's name"
    )


def read_seed(text: str) -> int:
    """The seed that was typed; a fresh one for "".

    Raises:
        OptionError: it is not a number from 0 to 2147483647.
    """
    text = text.strip()
    if not text:
        return secrets.randbits(31)
    if not (text.isascii() and text.isdecimal() and len(text) < 11 and int(text) <= MOST_SEED):
        raise OptionError(f"seed {text[:30]!r}: must be a whole number from 0 to {MOST_SEED}, or empty for a surprise")
    return int(text)
