"""`Registry`: finds, lists and loads built-in things and those of plugins by id."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from importlib import metadata
from inspect import formatannotation
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from ludory.errors import LudoryError, NotInstalledError, OptionError, PluginError, UnknownIdError, UnknownOptionError

from .discovery import Broken, Discovered, discover, plugins_off
from .entry import ID, TARGET, Entry, split_version
from .files import load_inherited
from .requirements import missing_dependency
from .source import find_module

T = TypeVar("T")
THIS_PROCESS = "this process"
"""In the place of the package of what was registered by `Registry.add`."""


class Description(NamedTuple):
    """What is known of an id without importing it."""

    id: str
    summary: str
    distribution: str
    target: str
    fixed: Mapping[str, Any]
    problem: str
    """What is wrong with it, "" if nothing is known."""


class Registry(Generic[T]):
    """One kind of thing, by id. Nothing is imported before `load`.

    Args:
        kind: singular, e.g. "game"; the entry-point group is "ludory.games".
        builtins: entries of Ludory itself.
        accepts: returns whether a loaded object is of this kind.
        wanted: description of a valid object, for errors.
        discovered: returns the entries of other packages.
    """

    def __init__(
        self,
        kind: str,
        builtins: Sequence[Entry],
        accepts: Callable[[object], bool],
        wanted: str,
        discovered: Callable[[], Discovered] = discover,
    ) -> None:
        self.kind, self.group = kind, f"ludory.{kind}s"
        self._builtins, self._accepts, self._wanted, self._discovered = builtins, accepts, wanted, discovered
        self._added: dict[str, T] = {}

    @cached_property
    def _offers(self) -> dict[str, list[Entry]]:
        load_inherited()
        if (begun := vars(self).get("_offers")) is not None:  # by what such a file registers
            found: dict[str, list[Entry]] = begun
            return found
        offers: dict[str, list[Entry]] = {}
        missing = self.missing
        for entry in [*self._builtins, *self._discovered().entries[self.group]]:
            if entry.distribution != "ludory" or entry.id not in missing:
                offers.setdefault(entry.id, []).append(entry)
        return offers

    @cached_property
    def missing(self) -> dict[str, str]:
        """Built-in ids whose system is not part of this installation, and the name of that system."""
        lacks = {module: _missing_module(module) for entry in self._builtins for module in _modules(entry)}
        first = {one.id: next(filter(None, (lacks[module] for module in _modules(one))), "") for one in self._builtins}
        return {id: module.rpartition(".")[2] for id, module in first.items() if module}

    def add(self, id: str, thing: T, summary: str = "") -> None:
        """Register `thing` in this process only, as a package does for all by an entry point. Adding it again replaces it.

        Raises:
            PluginError: the id is not a name or a package has it, or `thing` is not of this kind.
        """
        if not ID.fullmatch(id):
            raise PluginError(f"{self.kind} {id!r}: an id is a name such as Mine-v0 or family/name")
        if self.installed(id):
            raise PluginError(f"{self.kind} {id!r} is of the package {self.get(id).distribution}; choose another id")
        if not self._accepts(thing):
            raise PluginError(f"{self.kind} {id!r} is a {type(thing).__name__}, must be {self._wanted}")
        self._added[id], self._offers[id] = thing, [Entry(id, "__main__", summary, distribution=THIS_PROCESS)]

    def __contains__(self, id: str) -> bool:
        return id in self._offers

    def installed(self, id: str) -> bool:
        """Whether Ludory or a package has the id, so that other processes know it as well."""
        return id in self._offers and id not in self._added

    def ids(self) -> list[str]:
        """All ids: built-in ones in the order of their table, then plugins by package and name."""
        return [id for id in self._offers if not id.endswith(":")]

    def schemes(self) -> list[str]:
        """Prefixes of ids that name things of another library, such as "gymnasium:"."""
        return [id for id in self._offers if id.endswith(":")]

    def broken(self) -> list[Broken]:
        """Unusable entry points of this kind, and packages whose metadata cannot be read."""
        return [offer for offer in self._discovered().broken if offer.group in ("", self.group)]

    def get(self, id: str) -> Entry:
        """Entry of an id; a name without version means its newest version. What follows a scheme is its option `environment`.

        Raises:
            UnknownIdError: the id is unknown; the message suggests the nearest ones.
            NotInstalledError: its system is not part of this installation.
            PluginError: two packages provide it.
        """
        scheme, colon, rest = str(id).partition(":")
        offers = self._offers.get(scheme + ":", []) if colon else self._offers.get(id) or self._newest(id)
        if not offers:
            systems = [system for one, system in self.missing.items() if id == one or _version_of(id, one) is not None]
            raise _not_installed(f"{self.kind} {id!r}", systems[0]) if systems else UnknownIdError(self._unknown(id))
        if len(offers) > 1:
            raise PluginError(f"{self.kind} {id!r} is {_two_offers(offers)}")
        return replace(offers[0], id=id, fixed={**offers[0].fixed, "environment": rest}) if rest else offers[0]

    def _newest(self, name: str) -> list[Entry]:
        versions = {id: number for id in self._offers if (number := _version_of(name, id)) is not None}
        offers = [entry for id in versions for entry in self._offers[id]]
        if len({entry.distribution for entry in offers}) > 1:  # a plugin must not silently take over a bare name
            return offers
        return self._offers[max(versions, key=versions.__getitem__)] if versions else []

    def _unknown(self, id: str) -> str:
        if ":" in str(id):
            known = ", ".join(f"{scheme}NAME" for scheme in self.schemes()) or "none have a colon"
            return (
                f"no {self.kind} has the id {id!r}; ids with a colon are {known}. All others: ludory list {self.kind}s"
            )
        stems = {split_version(known)[0].lower(): known for known in self._offers}
        stems = {stem.rpartition("/")[2]: known for stem, known in stems.items()} | stems
        near = difflib.get_close_matches(split_version(str(id))[0].lower(), stems, 3, 0.6)
        nearest = " or ".join(dict.fromkeys(repr(stems[stem]) for stem in near))
        hint = f"did you mean {nearest}? All of them: " if nearest else "all of them: "
        off = " (LUDORY_PLUGINS=off: plugins are not looked for)" if plugins_off() else ""
        other = f"; of another library: {' or '.join(s + 'NAME' for s in self.schemes())}" if self.schemes() else ""
        return f"no {self.kind} has the id {id!r}; {hint}ludory list {self.kind}s{other}{off}"

    def describe(self, id: str) -> Description:
        """What is known of an id, or of one of `schemes`, without importing it.

        Raises:
            UnknownIdError: the id is unknown; the message suggests the nearest ones.
        """
        scheme = str(id).partition(":")[0] + ":"
        try:
            entry, problem = (self._offers[id][0] if id in self.schemes() else self.get(id)), ""
        except NotInstalledError:
            raise
        except PluginError as error:
            entry, problem = (self._offers.get(id) or self._offers.get(scheme) or self._newest(id))[0], str(error)
        problem = problem or ("" if entry.id in self._added else _module_problem(entry))
        return Description(entry.id, entry.summary, entry.distribution, entry.target, entry.fixed, problem)

    def package_of(self, id: str) -> str:
        """Package to install for an id, such as "ludory-nim==0.1.0"; "" for Ludory's own ids."""
        distribution = self.get(id).distribution
        return "" if distribution in ("ludory", THIS_PROCESS) else f"{distribution}=={metadata.version(distribution)}"

    def load(self, id: str) -> T:
        """Import the object of an id.

        Raises:
            UnknownIdError: the id is unknown; the message suggests the nearest ones.
            PluginError: two packages provide it, it lacks a dependency (the message has the `pip install` to type), or it is broken.
        """
        entry = self.get(id)
        if entry.id in self._added:
            return self._added[entry.id]
        loaded = self._import(entry)
        if not self._accepts(loaded):
            raise PluginError(
                self._broken(entry, f"{entry.target} is a {type(loaded).__name__}, must be {self._wanted}")
            )
        return cast(T, loaded)

    def options(self, id: str) -> type[Any]:
        """The `config_class` of an algorithm, without importing the algorithm itself where its entry says how; raises as `load`."""
        entry = self.get(id)
        loaded: Any = self._import(replace(entry, target=entry.options)) if entry.options else self.load(id)
        options: type[Any] = loaded if entry.options else loaded.config_class
        return options

    def _import(self, entry: Entry) -> object:
        match = TARGET.fullmatch(entry.target)
        assert match is not None, entry
        try:
            loaded: object = importlib.import_module(match["module"])
            for name in filter(None, (match["attribute"] or "").split(".")):
                loaded = getattr(loaded, name)
        except LudoryError as error:
            # a name of one of our rooms that needs a library: the entry knows the extra that has all of its libraries
            missing = error.__cause__
            if isinstance(error, PluginError) and isinstance(missing, ModuleNotFoundError) and missing.name:
                what = f"{self.kind} {entry.id!r}"
                raise missing_dependency(what, missing.name, entry.distribution, entry.extras) from error
            raise
        except ModuleNotFoundError as error:
            own = match["module"].partition(".")[0]
            if error.name and error.name.partition(".")[0] != own:
                what = f"{self.kind} {entry.id!r}"
                raise missing_dependency(what, error.name, entry.distribution, entry.extras) from error
            if entry.distribution == "ludory":
                raise _not_installed(f"{self.kind} {entry.id!r}", str(error.name).rpartition(".")[2]) from error
            raise PluginError(self._broken(entry, str(error))) from error
        except (Exception, SystemExit) as error:  # a plugin may raise anything when it is imported
            raise PluginError(self._broken(entry, f"{type(error).__name__}: {error}")) from error
        return loaded

    def _broken(self, entry: Entry, reason: str) -> str:
        cure = (
            "reinstall it"
            if entry.distribution == "ludory"
            else f"tell the authors of {entry.distribution}, or uninstall it"
        )
        return f"{self.kind} {entry.id!r} of the package {entry.distribution} is broken ({reason}); {cure}"


def _version_of(name: str, id: str) -> int | None:
    stem, number = split_version(id)
    return number if stem == name else None


def _two_offers(offers: Sequence[Entry]) -> str:
    named = " and ".join(f"{entry.distribution} ({entry.id} = {entry.target})" for entry in offers)
    if len({entry.id for entry in offers}) > 1:
        return f"ambiguous: {named}; give the version too"
    return f"offered twice: by {named}; uninstall one of them"


def _module_problem(entry: Entry) -> str:
    """Error message if the target's module does not exist, "" otherwise; runs no code of its packages."""
    missing = _missing_module(_modules(entry)[0])
    return f"the module {missing} does not exist" if missing else ""


def _modules(entry: Entry) -> list[str]:
    """Modules that must be there for an entry to be of use."""
    return [entry.target.partition(":")[0], *filter(None, [entry.needs])]


def _missing_module(module: str) -> str:
    """The outermost package or module on the way to a module that does not exist, "" if all do."""
    try:
        find_module(module)
    except ModuleNotFoundError as error:
        return str(error.name)
    except Exception:  # a finder or a namespace that needs its packages imported first
        return ""
    return ""


def _not_installed(what: str, system: str) -> NotInstalledError:
    """An error about something of a system that a smaller installation lacks."""
    return NotInstalledError(
        f"{what} is of the system {system}, which is not part of this installation; type: pip install --force-reinstall ludory"
    )


def call(what: str, function: Callable[..., object], *args: Any, **kwargs: Any) -> object:
    """Return `function(*args, **kwargs)`; `what` names the function in errors.

    Raises:
        OptionError: the function does not take these arguments; the message lists those that it takes. An unknown name is an
            UnknownOptionError. Or it failed over an argument of another type than it names.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code without a signature
        return function(*args, **kwargs)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        options = [p for number, p in enumerate(signature.parameters.values()) if number >= len(args)]
        allowed = ", ".join(str(p.replace(annotation=p.empty)) for p in options)
        names = {p.name for p in options}
        unknown = [name for name in kwargs if name not in names]
        near = [word for name in unknown for word in get_close_matches(name, names, 1)]
        hint = f" (did you mean {near[0]}?)" if near else ""
        kind = UnknownOptionError if unknown else OptionError
        raise kind(f"{what}: {error}{hint}; it takes ({allowed})") from error
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        for name, value in given.items():
            parameter = signature.parameters[name]
            allowed = formatannotation(parameter.annotation).strip("'")
            kinds = [_KINDS.get(kind.partition("[")[0]) for kind in allowed.split(" | ")]
            one = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if one and all(kinds) and not isinstance(value, tuple(filter(None, kinds))):
                raise OptionError(f"{what}: {name}={value!r} must be of type {allowed}") from error
        raise


_KINDS: dict[str, type] = {
    "int": Integral,
    "float": Real,
    "bool": bool,
    "str": str,
    "Path": Path,
    "Mapping": Mapping,
    "Sequence": Iterable,  # arrays are taken as well
    "None": type(None),
}
"""Types of arguments, as signatures name them, that a value can be told by."""
