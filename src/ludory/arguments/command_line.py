"""A command line, cut into the words of each option (`scan`), and the dataclass that it makes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Generic, TypeVar

from ..config_file import read_config
from ..errors import OptionError
from .config_words import (
    LEARNER_OPTIONS,
    as_typed_default,
    field_value,
    learner_options,
    plain_words,
    print_config,
    text_of,
    words_of,
    words_of_unknown,
)
from .help_page import help_page
from .options import Option, options_of
from .urls import STORE_OPTIONS, WORKS_IN_PLACE, UrlUse, is_url, located

T = TypeVar("T")
ABOUT_CONFIG = "--config FILE reads options from a file (.yaml, .toml, .json); what is typed goes before it. --print-config prints such a file."
"""End of the help page of every command with options."""
OTHER_NAMES: Mapping[str, str] = {
    "--network": "--policy",
    "--net": "--policy",
    "--net-arch": "--policy",
    "--model": "--policy",
    "--lr": "--learning-rate",
    "--epochs": "--n-epochs",
    "--steps": "--timesteps",
    "--total-timesteps": "--timesteps",
}
"""What other programs call an option; suggested where the command has the option."""
_NUMBER = re.compile(r"-(\d|\.\d)")


@dataclass
class Arguments(Generic[T]):
    """The words of a command line, by option."""

    kind: type[T]
    prog: str
    options: Sequence[Option]
    words: dict[str, list[list[str]]] = field(default_factory=dict)
    """By field; a list of words for each time that the option was given."""
    rest: list[str] = field(default_factory=list)
    """Words that are of no option of `kind`."""
    wants_help: bool = False
    prints_config: bool = False
    takes_config: bool = True
    """Reads --config; a command with an option of this name does not."""
    store: dict[str, str] = field(default_factory=dict)
    """What was typed for `STORE_OPTIONS`."""
    behind: list[str] = field(default_factory=list)
    """What the file of --config has for the place behind `--`: the options of a learner."""

    def build(self, default: T | None = None) -> T:
        """The dataclass.

        Raises:
            OptionError: an option is unknown, is missing, or has a wrong value; or the dataclass refuses its values.
        """
        self._check(default is not None)
        if self.store and not any(is_url(word) for given in self.words.values() for words in given for word in words):
            name = next(iter(self.store))
            raise OptionError(
                f"{_short(self.prog)}: {name} is for URLs, such as --out s3://bucket/run; leave {name} out"
            )
        values = {
            option.field: option.value([[self._located(option, word) for word in words] for words in given])
            for option in self.options
            if (given := self.words.get(option.field))
        }
        made: T = _made(self.kind, values, default)
        return made

    def _check(self, has_default: bool) -> None:
        """Refuse wrong values, and what is missing unless an instance `has_default` values for all."""
        for option in self.options:
            if given := self.words.get(option.field):
                option.value(given)
            if option.default is MISSING and not has_default and not any(given or ()):
                raise OptionError(f"{_short(self.prog)}: {option.shown} is missing; {self._example()}")

    def _located(self, option: Option, word: str) -> str:
        if option.is_flag:
            return word
        works_there = option.positional and self.prog.rpartition(" ")[2] in WORKS_IN_PLACE
        writes = option.field == "out" or works_there
        # nothing is written, so that a place need not be there
        if self.prints_config and writes:
            return word
        return located(UrlUse(word, option.shown, option.kind.arg.metavar, writes, self.prog, self.store))

    def _example(self) -> str:
        """What to type, from the docstring of the dataclass."""
        example = re.search(r"Example: (.+)", self.kind.__doc__ or "")
        return f"e.g. {example[1]}" if example else f"`{self.prog} --help` shows all"

    def values(self, chosen: T) -> dict[str, Any]:
        """All options for `print_config`: what was typed, and the defaults of the others."""
        found: dict[str, Any] = {}
        for option in self.options:
            given = self.words.get(option.field)
            found[option.field] = (
                plain_words(option, given) if given else as_typed_default(option, field_value(chosen, option.field))
            )
        return found


def _made(kind: Any, values: Mapping[str, Any], default: Any) -> Any:
    """`kind` with the values of its fields and of those of dataclasses in its fields; the others are as in `default`."""
    given = {}
    for one in fields(kind):
        start = getattr(default, one.name, MISSING)
        if start is MISSING and one.default_factory is not MISSING:
            start = one.default_factory()
        # options of a dataclass in a field have the names of their own fields
        if is_dataclass(start):
            given[one.name] = _made(type(start), values, start)
        elif one.name in values or (start is not MISSING and one.init):
            given[one.name] = values.get(one.name, start)
    return kind(**given)


class Described(BaseException):
    """What a command would read, raised in place of reading it: see `describe`.

    Args:
        options: of the command.
        jobs: names of its jobs, if it has several.
    """

    def __init__(self, options: Sequence[Option], jobs: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.options, self.jobs = options, jobs


_describing: ContextVar[bool] = ContextVar("_describing", default=False)


def describe(run: Callable[[list[str]], int], argv: list[str]) -> Described:
    """The options or jobs of a command, without running it."""
    token = _describing.set(True)
    try:
        run(argv)
    except Described as found:
        return found
    finally:
        _describing.reset(token)
    return Described([])


def is_describing() -> bool:
    """True while `describe` asks a command."""
    return _describing.get()


def scan(
    kind: type[T],
    argv: Sequence[str],
    prog: str,
    *,
    partial: bool = False,
    others: Iterable[Option] = (),
) -> Arguments[T]:
    """Cut a command line into the words of each option, and add what the file of `--config` says.

    Args:
        kind: dataclass of the options; its class variable `absent`, if it has one, says of options of other programs why they do not exist.
        argv: the words.
        prog: the command, for messages.
        partial: words of unknown options go to `rest` instead of being refused.
        others: options that are known elsewhere, to suggest them too.

    Raises:
        OptionError: an unknown option, an option without a value, too many arguments, or a file that cannot be read.
    """
    found = Arguments(kind, prog, options_of(kind))
    if is_describing():
        raise Described(found.options)
    by_name = {name: option for option in found.options for name in option.names}
    found.takes_config, k = "--config" not in by_name, 0
    loose: list[str] = []
    files: list[str] = []
    while k < len(argv):
        word, equals, value = argv[k].partition("=")
        # --n_steps is --n-steps
        name = word.replace("_", "-") if word.startswith("--") else word
        k += 1
        if name in ("-h", "--help"):
            found.wants_help = True
        elif found.takes_config and name == "--print-config":
            found.prints_config = True
        elif found.takes_config and name in STORE_OPTIONS and name not in by_name:
            given, k = _following(argv, k, [value] if equals else None, None)
            if not given:
                raise OptionError(f"{_short(prog)}: {name} needs a value; docs/scale.md, Storage by URL, tells which")
            found.store[name] = given[0]
        elif (option := by_name.get(name)) is not None or (found.takes_config and name == "--config"):
            given, k = _following(argv, k, [value] if equals else None, option)
            if option is not None and option.is_switch and not given:
                given = ["False" if name.startswith("--no-") else "True"]
            if not given and not (option and (option.is_flag or (option.many and not option.repeated))):
                raise OptionError(f"{_short(prog)}: {name} needs a value; `{prog} --help` tells which")
            if option is None:
                files += given
            elif option.is_flag:
                if equals:
                    raise OptionError(f"{_short(prog)}: {name} takes no value, got {value!r}; type {name} alone")
                found.words[option.field] = [[name]]
            elif option.repeated:
                found.words.setdefault(option.field, []).append(given)
            else:
                found.words[option.field] = [given]
        elif word.startswith("-") and word != "-" and not _NUMBER.match(word):
            if reason := getattr(kind, "absent", {}).get(name):
                raise OptionError(f"{_short(prog)} {name}: {reason}")
            if not partial:
                follows = [value] if equals else _following(argv, k, None, None)[0]
                raise OptionError(unknown_option(prog, name, [*found.options, *others], found.takes_config, follows))
            found.rest.append(argv[k - 1])
        # behind an unknown option a word is its value, unless the command still waits for a word
        elif partial and found.rest and not _free(found, loose):
            found.rest.append(argv[k - 1])
        else:
            loose.append(argv[k - 1])
    _place(found, loose)
    for file in files:
        _add_config(found, file, partial)
    return found


def _following(argv: Sequence[str], k: int, given: list[str] | None, option: Option | None) -> tuple[list[str], int]:
    """The words of an option whose name was word k - 1, and the place behind them."""
    if option is not None and option.is_flag:
        return [], k
    words = list(given or [])
    most = len(argv) if option is not None and option.many and given is None else 1 - len(words)
    # a "-" alone and negative numbers are values
    while most > 0 and k < len(argv) and (argv[k] == "-" or not argv[k].startswith("-") or _NUMBER.match(argv[k])):
        words.append(argv[k])
        k, most = k + 1, most - 1
    return words, k


def _free(found: Arguments[Any], loose: list[str]) -> bool:
    """Whether a positional argument is left for another word."""
    places = [option for option in found.options if option.positional and option.field not in found.words]
    return any(option.many for option in places) or len(loose) < len(places)


def _place(found: Arguments[Any], loose: list[str]) -> None:
    """Give the words without an option to the positional arguments."""
    named = [option for option in found.options if option.positional and option.field in found.words]
    for option in found.options:
        if option.positional and option.field not in found.words and loose:
            taken = loose[:] if option.many else loose[:1]
            del loose[: len(taken)]
            found.words[option.field] = [taken]
    if loose and named:
        twice = found.words[named[0].field][0][0]
        raise OptionError(
            f"{_short(found.prog)}: {named[0].shown} is named twice, {loose[0]!r} and {named[0].names[0]} {twice}; leave one out"
        )
    if loose:
        raise OptionError(
            f"{_short(found.prog)}: unexpected {loose[0]!r}; `{found.prog} --help` shows what may be typed"
        )


def unknown_option(
    prog: str, name: str, options: Iterable[Option], config: bool = True, value: Sequence[str] = ()
) -> str:
    """A line about an option that does not exist, with what it is called here, or the nearest names; `value` was typed behind it."""
    names = [one for option in options for one in option.names] + (["--config", "--print-config"] if config else [])
    meant = OTHER_NAMES.get(name)
    near = (
        [" ".join([meant, *value])] if meant in names else difflib.get_close_matches(name, ["--help", *names], 2, 0.6)
    )
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{_short(prog)}: no option {name}; {hint}`{prog} --help` shows all"


def _short(prog: str) -> str:
    """The verb: the command line says `ludory:` before every error."""
    return prog.removeprefix("ludory ")


def read_arguments(
    kind: type[T],
    argv: Sequence[str],
    prog: str,
    *,
    default: T | None = None,
    description: str | None = None,
    others: Iterable[Option] = (),
) -> T:
    """A command line as the dataclass `kind`; `--help` and `--print-config` are answered.

    Raises:
        OptionError: the command line is wrong; the message says what is allowed.
        SystemExit: after the help or the configuration.
    """
    return answer(scan(kind, argv, prog, others=others), default, description)


def answer(found: Arguments[T], default: T | None = None, description: str | None = None) -> T:
    """The dataclass of a command line that was scanned, after answering `--help` and `--print-config`; raises as `read_arguments`."""
    if found.wants_help:
        more = ABOUT_CONFIG if found.options and found.takes_config else ""
        print(help_page(found.kind, found.prog, description, more))
        raise SystemExit(0)
    chosen = found.build(default)
    if found.prints_config:
        print_config(found.prog, found.values(chosen) | learner_options(found.behind))
        raise SystemExit(0)
    return chosen


def _add_config(found: Arguments[Any], file: str, partial: bool) -> None:
    """Add what `file` says of options that were not typed; of KEY=VALUE options, of keys that were not typed."""
    by_field = {option.field: option for option in found.options}
    # a file may use any of the names
    by_field |= {name[2:].replace("-", "_"): option for option in found.options for name in option.names}
    typed = {word.partition("=")[0].replace("_", "-") for word in found.rest}
    for key, value in read_config(file).items():
        option = by_field.get(key.replace("-", "_"))
        name = "--" + key.replace("_", "-")
        if option is None and not (partial or key == LEARNER_OPTIONS):
            raise OptionError(f"{file}: {unknown_option(found.prog, name, found.options, config=False)}")
        if option is None:
            if key == LEARNER_OPTIONS and isinstance(value, dict):
                found.behind += [word for one in value.items() for word in words_of_unknown("--" + one[0], one[1])]
            elif not {name, "--no-" + name[2:]} & typed:
                found.rest += words_of_unknown(name, value)
            continue
        given = found.words.get(option.field, [])
        if isinstance(value, dict) and not option.repeated:
            found.words.setdefault(option.field, [[text_of(part) for pair in value.items() for part in pair]])
        elif isinstance(value, dict):
            keys = {word.partition("=")[0].replace("-", "_") for words in given for word in words[:1]}
            more = [[f"{k}={text_of(v)}"] for k, v in value.items() if k.replace("-", "_") not in keys]
            found.words[option.field] = [*given, *more]
        elif value is not None and not given:
            found.words[option.field] = words_of(option, value)
