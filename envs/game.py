"""What a game is: the frozen `Game` that every view is made from. Its old spellings go on working for a version, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ludory.errors import OptionError, PluginError

from . import facts, parts
from .facts import GameFacts
from .parts import Analysis, Kernels, Look, Records, Rules, unknown_keyword
from .text_codec import TextCodec

if TYPE_CHECKING:
    from ludory.plugins import Registry

    from .recorded_game import RecordedHeader


T = TypeVar("T")
_PARTS: dict[str, Any] = {"rules": Rules, "look": Look, "analysis": Analysis, "records": Records}
OLD_NAMES = {name.name: (part, name.name) for part, kind in _PARTS.items() for name in fields(kind)} | {
    "codec": ("language", ""),
    "recorded": ("records", "header"),
}
"""Part and name of what was a keyword and an attribute of `Game` itself; name "": the part itself."""
del OLD_NAMES["header"]
POSITIONS = (
    *("facts", "fields", "kernels", "action_name", "info", "fact_names", "seat_info", "ignores_waiting", "start"),
    *("text", "svg", "codec", "rooms", "last_move", "told_move", "consistent", "progress", "symmetry", "pace"),
    *("chance", "decision_kinds", "shared", "id", "options", "family", "engine", "engine_options", "conventions"),
    *("engine_conventions", "playing_options", "recorded"),
)
"""Positional arguments of `Game`, which pickles of games have too."""


def takes_old_names(game: type[T]) -> type[T]:
    """Let the dataclass `Game` take old keywords and positions, also by `dataclasses.replace`, and have old attributes."""
    cls: Any = game
    own, init = [one.name for one in fields(cls)], cls.__init__
    spellings = {name: _keyword(name) for name in OLD_NAMES} | {name: f"{name}=" for name in own}

    @wraps(init)
    def __init__(self: T, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        names = POSITIONS if len(args) > 1 and isinstance(args[1], Mapping) else own
        given = dict(zip(names, args, strict=False)) | kwargs
        unknown = [name for name in kwargs if name not in spellings]
        if unknown:
            raise unknown_keyword("Game", unknown[0], spellings)
        old = [name for name in given if name in OLD_NAMES]
        if not old:
            init(self, *args, **kwargs)
            return
        _warn(f"Game({', '.join(f'{name}=' for name in old)}) is the old spelling; type {_keywords(old)}")
        for name in old:
            (part, new), value = OLD_NAMES[name], given.pop(name)
            kind = _PARTS.get(part)
            if kind is None:
                given[part] = value
            elif isinstance(whole := given.get(part, kind()), kind):  # `Game` refuses anything else
                given[part] = replace(whole, **{new: value})
        init(self, **given)

    def __getattr__(self: T, name: str) -> Any:  # noqa: N807
        if name not in OLD_NAMES:
            raise AttributeError(f"{game.__name__!r} object has no attribute {name!r}", name=name, obj=self)
        part, new = OLD_NAMES[name]
        _warn(f"game.{name} is the old spelling; type game.{part}{new and f'.{new}'}")
        return getattr(getattr(self, part), new) if new else getattr(self, part)

    cls.__init__, cls.__getattr__ = __init__, __getattr__
    return game


def moved_name(name: str) -> Any:
    """What `ludory.envs.game` had before `facts.py` and `parts.py`: its `__getattr__`."""
    home = next((home for home in (facts, parts) if name in vars(home)), None)
    if home is None or name.startswith("_"):
        raise AttributeError(f"module 'ludory.envs.game' has no attribute {name!r}")
    _warn(f"ludory.envs.game.{name} has moved; type ludory.envs.{name}")
    return getattr(home, name)


def _keyword(name: str) -> str:
    return _keywords([name])


def _keywords(old: list[str]) -> str:
    """What to type for old keywords, such as "rules=Rules(kernels=), look=Look(text=, svg=)"."""
    parts: dict[str, list[str]] = {}
    for part, new in (OLD_NAMES[name] for name in old):
        parts.setdefault(part, []).append(new and f"{new}=")
    return ", ".join(
        f"{part}={_PARTS[part].__name__}({', '.join(names)})" if part in _PARTS else f"{part}="
        for part, names in parts.items()
    )


def _warn(message: str) -> None:
    """Warn at the line that used the old spelling, which may have called `dataclasses.replace`."""
    level = 2
    while sys._getframe(level).f_globals.get("__name__") in ("dataclasses", "copy"):
        level += 1
    warnings.warn(message, DeprecationWarning, stacklevel=level + 1)


if not TYPE_CHECKING:  # type checkers are to know what is here
    __getattr__ = moved_name

_KINDS = {
    "facts": GameFacts,
    "rules": Rules,
    "look": Look,
    "language": TextCodec,
    "analysis": Analysis,
    "records": Records,
}


@takes_old_names
@dataclass(frozen=True, slots=True)
class Game:
    """A game: facts, rules, and how it is shown, told and analysed. Everything else in Ludory is a view of it."""

    facts: GameFacts
    rules: Rules = field(default_factory=Rules)
    """How it is played: kernels or an engine. Every game has one of them."""
    look: Look = field(default_factory=Look)
    """How people see it: names of actions, public facts, pictures."""
    language: TextCodec | None = None
    """How language models read and play it."""
    analysis: Analysis = field(default_factory=Analysis)
    """What is known beyond the rules: rooms, symmetries, the distribution of chance."""
    id: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Id and keyword options that `make_game` was called with: enough to make the same game again."""
    family: str = ""
    """Name of the rules that several ids share, such as "hanabi". What packages offer for a game (`hook`) is registered under its family,
    else under its id."""
    records: Records = field(default_factory=Records)
    """What checkpoints and recordings keep."""

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            part = getattr(self, name)
            if not isinstance(part, kind) and not (name == "language" and part is None):
                got, right = type(part).__name__, kind.__name__
                raise PluginError(f"Game({name}=) is of type {got}, must be {right}; type {name}={right}(...)")
        rules, records = self.rules, self.records
        if (rules.kernels is None) == (rules.engine is None):
            got = "neither" if rules.kernels is None else "both"
            raise PluginError(f"game {self.facts.name!r}: got {got}; give Rules(...) either `kernels` or `engine`")
        told = dict(records.conventions)
        for name, conventions in records.engine_conventions.items():
            told |= conventions(rules.engine_options[name])
        if told != records.conventions:
            object.__setattr__(self, "records", replace(records, conventions=told))

    def __deepcopy__(self, memo: dict[int, object]) -> Game:
        return self  # nothing of it changes

    def __reduce__(self) -> tuple[Any, ...]:
        from .make import pickled

        return pickled(self)

    def __repr__(self) -> str:
        return f"<Game {self.name}: {', '.join(f'{key} {value}' for key, value in self._described().items())}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in self._described().items())
        return f"<table><tr><th>game</th><td>{escape(self.name)}</td></tr>{rows}</table>"

    def _described(self) -> dict[str, str]:
        """What a person wants to know of the game first."""
        facts, seen = self.facts, self.facts.observation
        actions = f"{facts.action_size} numbers" if facts.box is not None else " x ".join(map(str, facts.head_sizes))
        described = {
            "seats": f"{facts.players}",
            "turns": facts.turns,
            "reward": facts.reward.replace("_", "-"),
            "actions": actions,
            "observation": f"{seen.name} {'x'.join(map(str, seen.shape))}",
        }
        return described | (
            {"options": ", ".join(f"{k}={v!r}" for k, v in self.options.items())} if self.options else {}
        )

    @property
    def name(self) -> str:
        """The id, or the name in `facts` if there is none."""
        return self.id or self.facts.name

    @property
    def kept_engine_options(self) -> dict[str, Any]:
        """Options of the engine on which conventions depend; checkpoints keep them."""
        return {name: self.rules.engine_options[name] for name in self.records.engine_conventions}

    @property
    def clones(self) -> bool:
        """True if `Engine.clone` and `Engine.gather` exist."""
        return self.rules.kernels is not None if self.facts.clones is None else self.facts.clones

    @property
    def saves(self) -> bool:
        """True if `Engine.fields`, `load_fields`, `save` and `restore` exist."""
        return self.rules.kernels is not None if self.facts.saves is None else self.facts.saves

    @property
    def shared_names(self) -> tuple[str, ...]:
        """Names of the fields that all games share."""
        return tuple(name for name, spec in self.rules.fields.items() if spec.shared)

    @property
    def redeals(self) -> bool:
        """True if `Engine.redeal` exists."""
        if self.facts.redeals is not None:
            return self.facts.redeals
        return self.rules.kernels is not None and self.rules.kernels.redeal is not None

    @property
    def tells_used(self) -> bool:
        """True if some heads of an action may have no effect; `Engine.used` returns which have one."""
        return self.rules.kernels is not None and self.rules.kernels.used is not None

    @property
    def seats_leave(self) -> bool:
        """True if a seat may be out before the game ends. `Engine.alive` and `Engine.seat_terminated` then differ between seats."""
        return "alive" in self.rules.fields if self.facts.seats_leave is None else self.facts.seats_leave

    @property
    def seats_wait(self) -> bool:
        """True if a living seat that would move may have nothing to decide; in simultaneous games `Engine.deciding` then differs from `alive`."""
        return "deciding" in self.rules.fields if self.facts.seats_wait is None else self.facts.seats_wait

    @staticmethod
    def of_header(header: RecordedHeader) -> Game:
        """The game of recordings whose rules are not installed, from a header such as `TrajectoryDataset(path).header`.

        Offline learners accept it. Playing it raises a PluginError that says what to install.
        """
        from .recorded_game import game_of_header

        return game_of_header(header)

    def has_kernel(self, name: str, function: Callable[..., Any]) -> bool:
        """True if the kernel `name` is `function`; agents for one game recognise it this way."""
        return self.rules.kernels is not None and getattr(self.rules.kernels, name) is function

    def hook(self, registry: Registry[Callable[..., object]], kind: type[T]) -> T | None:
        """What a package offers for this game: `make(game)`, where `make` is registered under the family, else under the id.

        None if nothing is registered, or if `make` returns None: the family's hook does not fit these rules.

        Raises:
            PluginError: the hook cannot be imported, or returns something else than a `kind`.
        """
        name = next((name for name in (self.family, self.id) if name in registry), None)
        made = None if name is None else registry.load(name)(self)
        if made is not None and not isinstance(made, kind):
            got = type(made).__name__
            raise PluginError(
                f"{registry.kind} {name!r} returned a {got} for {self.name}, must return a {kind.__name__} or None"
            )
        return made

    def needed_kernels(self, who: str) -> Kernels:
        """The kernels, which `who` needs.

        Raises:
            OptionError: the game has no kernels, since its rules run elsewhere.
        """
        if self.rules.kernels is None:
            raise OptionError(
                f"{who} needs compiled rules; {self.name} has none (its rules run elsewhere): choose a game with kernels"
            )
        return self.rules.kernels

    def need(self, who: str, *abilities: Literal["clones", "redeals", "saves", "heads"]) -> None:
        """Check that the game's engine has the `abilities` that `who` needs.

        Raises:
            OptionError: it lacks one of them.
        """
        has = {
            "clones": self.clones,
            "redeals": self.redeals,
            "saves": self.saves,
            "heads": self.facts.box is None,
        }
        for ability in abilities:
            if not has[ability]:
                needs, reason, cure = _ABILITIES[ability]
                why = f" ({reason})" if self.rules.kernels is None else ""
                raise OptionError(f"{who} needs games {needs}; {self.name} cannot{why}: {cure}")


_ELSEWHERE = "its rules run elsewhere"
_ABILITIES = {
    "clones": ("that can be copied", _ELSEWHERE, "choose a game with kernels, or an agent that does not search"),
    "redeals": ("that can be redealt", _ELSEWHERE, "choose a game with a `redeal` kernel"),
    "saves": ("that can be saved while they run", _ELSEWHERE, "choose a game with kernels"),
    "heads": ("with categorical actions", "its actions are continuous", "choose a game with heads"),
}
