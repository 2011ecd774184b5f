"""Command lines as dataclasses: the fields are the options, their docstrings the help (by tyro); every mistake is one line.

A command line is first cut into the words of each option (`scan`). Unknown options, missing ones, wrong numbers and wrong choices are
refused there, with what was got, what is allowed and the nearest name. Values of a file (`--config`) are added, and tyro makes the dataclass.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TextIO, TypeVar, get_args, get_origin, get_type_hints

from .config_file import read_config, write_config
from .errors import LudoryError, OptionError

T = TypeVar("T")

GAME_NAMES = ("--game", "--env")
"""Two names of one option, in every command."""
LEARNER_OPTIONS = "learner_options"
"""Name, in a file of --config, of what is typed behind `--`."""
ABOUT_CONFIG = """
--config FILE reads options from a file (.yaml, .toml, .json); what is typed goes before it. --print-config prints such a file."""
"""End of the help page of every command with options."""
SWITCH: Any = Literal["True", "False", "None"]
"""Type of an option that is on, off, or left to the program: --x, --no-x, or --x with one of the words."""
STORE_OPTIONS = ("--work", "--push-every")
"""Options of every command that works at a URL: the folder of its copies, and the seconds between two copies to the store."""
WORKS_IN_PLACE = ("resume", "exploit")
"""Commands, by their last word, that write to the folder that they are given."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_NUMBER = re.compile(r"-(\d|\.\d)")
_WORD = re.compile(r"[A-Za-z_][\w-]*")


def whole_number(text: str) -> int:
    """5000000 for "5000000", "5_000_000" and "5e6".

    Raises:
        ValueError: the text is not a whole number.
    """
    try:
        value = int(text)
    except ValueError:
        value = _whole(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError("must be a whole number between -2^63 and 2^63")
    return value


def _whole(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value.is_integer():
        raise ValueError("must be a whole number, such as 5000 or 5e6")
    return int(value)


def number(text: str) -> float:
    """0.0003 for "3e-4".

    Raises:
        ValueError: the text is not a number.
    """
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number, such as 0.5 or 3e-4") from None


class Option(NamedTuple):
    """An option or a positional argument, as read from a field of a dataclass."""

    field: str
    names: tuple[str, ...]
    """As typed, such as --game and --env; of a positional argument, what may be typed in its place."""
    kind: Any
    """Type of a value; None where the field reads its text itself."""
    read: Callable[[list[str]], Any] | None
    """How it does."""
    positional: bool
    many: bool
    """Takes any number of words."""
    repeated: bool
    """May be given several times."""
    optional: bool
    """May be none."""
    default: Any
    """`dataclasses.MISSING` if there is none."""
    metavar: str = ""
    """What the help has in place of a value, such as FILE or DIR; "" if the type says it."""
    called: str = ""
    """How the help calls a positional argument, if not by its field."""

    @property
    def shown(self) -> str:
        """How messages call it."""
        return (self.called or self.field.upper()) if self.positional else self.names[0]

    @property
    def is_flag(self) -> bool:
        """Takes no word."""
        return self.kind is bool

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, if these are few names."""
        return tuple(map(str, get_args(self.kind))) if get_origin(self.kind) is Literal else ()


def options_of(kind: type[Any]) -> list[Option]:
    """The options of a dataclass, and of those in its fields that share its names."""
    from tyro import conf

    hints, found = get_type_hints(kind, include_extras=True), []
    for one in fields(kind):
        base, extras = _unwrapped(hints[one.name])
        named = [extra for extra in extras if hasattr(extra, "aliases")]
        name = next((extra.name for extra in named if extra.name is not None), one.name)
        if conf.Suppress in extras or not one.init:
            continue
        if is_dataclass(base):
            found += options_of(base)  # type: ignore[arg-type]
            continue
        positional = conf.Positional in extras
        aliases = [alias for extra in named for alias in extra.aliases or ()]
        long = ["--" + name.replace("_", "-"), *aliases]
        if positional:
            long = list(GAME_NAMES) if name == "game" else []
        if base in (bool, SWITCH):
            long.append("--no-" + name.replace("_", "-"))
        read = next((extra.instance_from_str for extra in extras if hasattr(extra, "instance_from_str")), None)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        many = read is None and get_origin(base) in (tuple, list, dict, Mapping)
        found.append(
            Option(
                one.name,
                tuple(long),
                None if read else base,
                read,
                positional,
                many and not (conf.UseAppendAction in extras and get_args(base)[:1] == (str,)),
                conf.UseAppendAction in extras,
                None in extras,
                default,
                next((extra.metavar for extra in extras if getattr(extra, "metavar", None)), ""),
                next((extra.metavar for extra in reversed(named) if extra.metavar), ""),
            )
        )
    return _with_game_names(found)


def _with_game_names(options: list[Option]) -> list[Option]:
    """The options, of which one that names a game answers to --game and to --env."""
    taken = {name for option in options for name in option.names}
    free = tuple(name for name in GAME_NAMES if name not in taken)
    return [
        option._replace(names=(*option.names, *free))
        if option.names[:1] in (GAME_NAMES[:1], GAME_NAMES[1:])
        else option
        for option in options
    ]


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """The type without annotations and without `| None`, and all annotations."""
    extras: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            extras += more
            continue
        rest = [part for part in get_args(hint) if part is not type(None)]
        if len(rest) == 1 and len(get_args(hint)) == 2 and type(None) in get_args(hint):
            extras.append(None)
            hint = rest[0]
            if hint is bool:
                return SWITCH, extras
            continue
        return hint, extras


class UrlUse(NamedTuple):
    """A URL that was typed where a file or folder may stand."""

    url: str
    option: str
    """How messages call the option."""
    metavar: str
    """Of the option, such as FILE or DIR."""
    writes: bool
    """Whether the command writes there; otherwise it only reads."""
    prog: str
    """The command."""
    settings: Mapping[str, str]
    """What was typed for `STORE_OPTIONS`."""


def located_out(text: str) -> Path:
    """The value of `--out` in a command that reads its line with `argparse`.

    Raises:
        LudoryError: the URL is wrong, or its store cannot be used.
    """
    try:
        return Path(located(UrlUse(text, "--out", "", True, "ludory bench", {})))
    except OptionError as error:
        raise LudoryError(str(error)) from error  # of a ValueError argparse would hide the message


def located(use: UrlUse) -> str:
    """The path to use: what was typed, unless it is a URL and `urls_located_by` says where its copy is."""
    locate = _locate.get()
    return use.url if locate is None or not _URL.match(use.url) else locate(use)


Locate = Callable[[UrlUse], str]
"""Returns the path to use in place of a URL."""
_locate: ContextVar[Locate | None] = ContextVar("_locate", default=None)


@contextmanager
def urls_located_by(locate: Locate) -> Iterator[None]:
    """Let command lines have URLs in the place of files and folders, within the block."""
    token = _locate.set(locate)
    try:
        yield
    finally:
        _locate.reset(token)


@dataclass
class Arguments(Generic[T]):
    """The words of a command line, by option."""

    kind: type[T]
    prog: str
    options: list[Option]
    words: dict[str, list[list[str]]] = field(default_factory=dict)
    """By field; a list of words for each time that the option was given."""
    rest: list[str] = field(default_factory=list)
    """Words that are of no option of `kind`."""
    wants_help: bool = False
    prints_config: bool = False
    takes_config: bool = True
    """Reads --config; a command with an option of this name, or without tyro, does not."""
    store: dict[str, str] = field(default_factory=dict)
    """What was typed for `STORE_OPTIONS`."""
    behind: list[str] = field(default_factory=list)
    """What the file of --config has for the place behind `--`: the options of a learner."""

    def build(self, default: T | None = None, markers: Sequence[Any] = ()) -> T:
        """The dataclass.

        Raises:
            OptionError: an option is unknown, is missing, or has a wrong value.
        """
        self.check(default is not None)
        if self.store and not any(
            _URL.match(word) for given in self.words.values() for words in given for word in words
        ):
            name = next(iter(self.store))
            raise OptionError(
                f"{_short(self.prog)}: {name} is for URLs, such as --out s3://bucket/run; leave {name} out"
            )
        return _by_tyro(self.kind, self._typed(no_none=_disallows_none(markers)), self.prog, default, markers)

    def check(self, has_default: bool = False) -> None:
        """Refuse wrong values, and what is missing unless an instance `has_default` values for all.

        Raises:
            OptionError: naming the option and what is allowed.
        """
        for option in self.options:
            for given in self.words.get(option.field, []):
                _check(option, given)
            if option.default is MISSING and not has_default and not any(self.words.get(option.field, [])):
                raise OptionError(f"{_short(self.prog)}: {option.shown} is missing; {self._example()}")

    def _typed(self, no_none: bool) -> list[str]:
        """The command line again, positional arguments first, with folders of this machine in the place of URLs.

        With `no_none` without options that are none, which is their default.
        """
        typed: list[str] = []
        for option in sorted(self.options, key=lambda one: not one.positional):
            for words in self.words.get(option.field, []):
                is_none = option.optional and words in (["none"], ["None"])
                if is_none and no_none:
                    continue
                given = ["None"] if is_none else [self._located(option, word) for word in words]
                typed += given if option.positional or option.is_flag else [option.names[0], *given]
        return typed

    def _located(self, option: Option, word: str) -> str:
        if self.wants_help:
            return word
        works_there = option.positional and self.prog.rpartition(" ")[2] in WORKS_IN_PLACE
        writes = option.field == "out" or works_there
        if self.prints_config and writes:
            return word
        return located(UrlUse(word, option.shown, option.metavar, writes, self.prog, self.store))

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
                _plain_words(option, given) if given else _of_default(option, _value(chosen, option.field))
            )
        return found


def _disallows_none(markers: Sequence[Any]) -> bool:
    from tyro import conf

    return conf.DisallowNone in markers


class Described(BaseException):
    """What a command would read, raised in place of reading it: see `describe`.

    Args:
        options: of the command.
        jobs: names of its jobs, if it has several.
    """

    def __init__(self, options: list[Option], jobs: tuple[str, ...] = ()) -> None:
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
    options: list[Option] | None = None,
) -> Arguments[T]:
    """Cut a command line into the words of each option, and add what the file of `--config` says.

    Args:
        kind: dataclass of the options.
        argv: the words.
        prog: the command, for messages.
        partial: words of unknown options go to `rest` instead of being refused.
        others: options that are known elsewhere, to suggest them too.
        options: those of a command that must not import tyro, which reads them from `kind` otherwise; it takes no --config.

    Raises:
        OptionError: an unknown option, an option without a value, too many arguments, or a file that cannot be read.
    """
    found = Arguments(kind, prog, options_of(kind) if options is None else options)
    if is_describing():
        raise Described(found.options)
    by_name = {name: option for option in found.options for name in option.names}
    found.takes_config, k = options is None and "--config" not in by_name, 0
    loose: list[str] = []
    files: list[str] = []
    while k < len(argv):
        word, equals, value = argv[k].partition("=")
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
            if option is not None and option.kind is SWITCH and not given:
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
            if not partial:
                raise OptionError(unknown_option(prog, name, [*found.options, *others], found.takes_config))
            found.rest.append(argv[k - 1])
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


def unknown_option(prog: str, name: str, options: Iterable[Option], config: bool = True) -> str:
    """A line about an option that does not exist, with the nearest names."""
    names = [one for option in options for one in option.names] + (["--config", "--print-config"] if config else [])
    near = difflib.get_close_matches(name, ["--help", *names], 2, 0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{_short(prog)}: no option {name}; {hint}`{prog} --help` shows all"


def _short(prog: str) -> str:
    """The verb: the command line says `ludory:` before every error."""
    return prog.removeprefix("ludory ")


def _check(option: Option, words: Sequence[str]) -> None:
    """Refuse what is not a number or one of a few names, where that is asked for."""
    if option.read is not None:
        try:
            option.read(list(words))
        except LudoryError as error:
            if error.__cause__ is None or isinstance(error.__cause__, LudoryError):
                raise
            raise OptionError(f"{option.shown} {words[0][:99]}: {error.__cause__}") from error
    for word in () if option.is_flag else words:
        if option.optional and word in ("None", "none"):
            continue
        if option.choices and word not in option.choices:
            near = difflib.get_close_matches(word, option.choices, 1)
            *first, last = option.choices
            allowed = f"{', '.join(first)} or {last}" if first else last
            raise OptionError(
                f"{option.shown} {word}: must be {allowed}" + (f"; did you mean {near[0]}?" if near else "")
            )
        inner = {part for part in get_args(option.kind) if part is not Ellipsis} if option.many else {option.kind}
        for kind, read in _READERS.items():
            if inner == {kind}:
                try:
                    read(word)
                except ValueError as error:
                    said = str(error) if "must be" in str(error) else f"must be a number ({error})"
                    raise OptionError(f"{option.shown} {word[:99]}: {said}") from error


_READERS: dict[type, Callable[[str], Any]] = {int: whole_number, float: number}


def _by_tyro(
    kind: type[T], argv: list[str], prog: str, default: T | None, markers: Sequence[Any], description: str | None = None
) -> T:
    import tyro
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

    registry = ConstructorRegistry()

    @registry.primitive_rule
    def whole_numbers(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
        if info.type is not int:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="INT",
            instance_from_str=lambda words: whole_number(words[0]),
            is_instance=lambda value: isinstance(value, int) and not isinstance(value, bool),
            str_from_instance=lambda value: [str(value)],
        )

    given: dict[str, Any] = {} if default is None else {"default": default}
    said = StringIO()
    try:
        with redirect_stderr(said):
            made: T = tyro.cli(
                kind, prog=prog, args=argv, config=tuple(markers), registry=registry, description=description, **given
            )
    except SystemExit as stop:
        error: BaseException | None = stop
        while error is not None:  # tyro makes a box of an error that the dataclass raised
            if isinstance(error, LudoryError):
                raise error from None
            error = error.__cause__ or error.__context__
        sys.stderr.write(said.getvalue())
        raise
    return made


def show_help(
    kind: type[Any], prog: str, markers: Sequence[Any] = (), default: Any = None, description: str | None = None
) -> None:
    """Print the help page."""
    page = _Page(sys.stdout)
    with suppress(SystemExit), redirect_stdout(page):
        _by_tyro(kind, ["--help"], prog, default, markers, description)
    sys.stdout.write(_tidied(page.getvalue()))


class _Page(StringIO):
    """Holds a help page, with the colours and frames that the stream `shown_on` can show."""

    def __init__(self, shown_on: TextIO) -> None:
        super().__init__()
        self._shown_on = shown_on

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return (self._shown_on.encoding or "").lower()

    def isatty(self) -> bool:
        return self._shown_on.isatty()


def _tidied(page: str) -> str:
    """A help page with --game before --env, STR|None for {None}|STR, and without defaults that are empty and double empty lines.

    Replacements are as long as what they replace, so that the frame stays straight.
    """
    page = page.replace("--env ID, --game ID", "--game ID, --env ID")
    page = re.sub(r"\(default:( *│?\n)│? *None\) *│?\n", r"         \1", page)
    lines: list[str] = []
    for line in page.splitlines():
        shown = re.sub(r"\(default: (None|''|)\)", lambda found: " " * len(found[0]), line)
        shown = re.sub(r".*\{None\}\|[A-Z]+", _with_none_last, shown)
        is_empty = not shown.strip("│ ")
        if not is_empty or (shown == line and lines and lines[-1].strip("│ ")):
            lines.append(shown)
    return "".join(f"{line}\n" for line in lines)


def _with_none_last(start: re.Match[str]) -> str:
    """The start of a line, up to its last metavar that may be None."""
    shorter = re.sub(r"\{None\}\|([A-Z]+)", r"\1|None", start[0])
    return shorter + " " * (len(start[0]) - len(shorter))


def read_arguments(
    kind: type[T],
    argv: Sequence[str],
    prog: str,
    *,
    default: T | None = None,
    markers: Sequence[Any] = (),
    description: str | None = None,
    others: Iterable[Option] = (),
) -> T:
    """A command line as the dataclass `kind`; `--help` and `--print-config` are answered.

    Raises:
        OptionError: the command line is wrong; the message says what is allowed.
        SystemExit: after the help or the configuration.
    """
    return answer(scan(kind, argv, prog, others=others), default, markers, description)


def answer(
    found: Arguments[T], default: T | None = None, markers: Sequence[Any] = (), description: str | None = None
) -> T:
    """The dataclass of a command line that was scanned, after answering `--help` and `--print-config`; raises as `read_arguments`."""
    if found.wants_help:
        show_help(found.kind, found.prog, markers, default, description)
        if found.options and found.takes_config:
            print(ABOUT_CONFIG)
        raise SystemExit(0)
    chosen = found.build(default, markers)
    if found.prints_config:
        print_config(found.prog, found.values(chosen) | _of_learner(found.behind))
        raise SystemExit(0)
    return chosen


def print_config(prog: str, values: dict[str, Any]) -> None:
    """Print a file that `--config` takes."""
    shown = {name: _plain(value) for name, value in values.items()}
    shown = {name: value for name, value in shown.items() if value not in (None, [], {})}
    sys.stdout.write(write_config(shown, f"{prog} --config FILE"))


def _add_config(found: Arguments[Any], file: str, partial: bool) -> None:
    """Add what `file` says of options that were not typed; of KEY=VALUE options, of keys that were not typed."""
    by_field = {option.field: option for option in found.options}
    by_field |= {name[2:].replace("-", "_"): option for option in found.options for name in option.names}
    typed = {word.partition("=")[0].replace("_", "-") for word in found.rest}
    for key, value in read_config(file).items():
        option = by_field.get(key.replace("-", "_"))
        name = "--" + key.replace("_", "-")
        if option is None and not (partial or key == LEARNER_OPTIONS):
            raise OptionError(f"{file}: {unknown_option(found.prog, name, found.options, config=False)}")
        if option is None:
            if key == LEARNER_OPTIONS and isinstance(value, dict):
                found.behind += [word for one in value.items() for word in _words_of_unknown("--" + one[0], one[1])]
            elif not {name, "--no-" + name[2:]} & typed:
                found.rest += _words_of_unknown(name, value)
            continue
        given = found.words.get(option.field, [])
        if isinstance(value, dict) and not option.repeated:
            found.words.setdefault(option.field, [[_text(part) for pair in value.items() for part in pair]])
        elif isinstance(value, dict):
            keys = {word.partition("=")[0].replace("-", "_") for words in given for word in words[:1]}
            more = [[f"{k}={_text(v)}"] for k, v in value.items() if k.replace("-", "_") not in keys]
            found.words[option.field] = [*given, *more]
        elif value is not None and not given:
            found.words[option.field] = _words_of(option, value)


def _words_of(option: Option, value: Any) -> list[list[str]]:
    """A value of a file as it would be typed."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise OptionError(f"{option.field}: {value!r}: must be true or false")
        plain = "--" + option.field.replace("_", "-")
        return [[plain]] if value else [["--no-" + plain[2:]]] if option.default is True else []
    values = value if isinstance(value, list) else [value]
    if option.repeated:
        return [[_text(part) for part in one] if isinstance(one, list) else [_text(one)] for one in values]
    return [[_text(one) for one in values]]


def _words_of_unknown(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [name if value else "--no-" + name[2:]]
    return [] if value is None else [name, *(_text(one) for one in (value if isinstance(value, list) else [value]))]


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


def _of_default(option: Option, value: Any) -> Any:
    """A default as it would be typed, where the field reads its text itself."""
    return ",".join(map(str, value)) if option.kind is None and isinstance(value, tuple) else value


def _value(chosen: Any, name: str) -> Any:
    """A field of a dataclass, or of one in its fields."""
    if hasattr(chosen, name):
        return getattr(chosen, name)
    return next(
        _value(inner, name)
        for one in fields(chosen)
        if is_dataclass(inner := getattr(chosen, one.name)) and name in {part.name for part in fields(inner)}
    )


def _plain(value: Any) -> Any:
    """As a file of --config holds it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _plain_words(option: Option, given: list[list[str]]) -> Any:
    """Typed words as a file of --config holds them."""
    if option.is_flag:
        return not given[0][0].startswith("--no-")
    if option.repeated:
        pairs = [word.partition("=") for words in given for word in words]
        if all(equals and _WORD.fullmatch(key) for key, equals, _ in pairs):
            return {key: _number_or_text(value) for key, _, value in pairs}
        return [[_number_or_text(word) for word in words] for words in given]
    words = [_number_or_text(word) for word in given[0]]
    return words if option.many else words[0]


def _of_learner(behind: Sequence[str]) -> dict[str, Any]:
    """The words behind `--` as a file of --config holds them."""
    found: dict[str, Any] = {}
    for word in behind:
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            key = name[2:].replace("-", "_")
            found[key] = [_number_or_text(value)] if equals else []
        elif found:
            found[key].append(_number_or_text(word))
    alone = {key: not key.startswith("no_") for key, words in found.items() if not words}
    found |= {key: words[0] for key, words in found.items() if len(words) == 1}
    found = {key: value for key, value in found.items() if key not in alone}
    return {LEARNER_OPTIONS: found | {key.removeprefix("no_"): on for key, on in alone.items()}} if behind else {}


def _number_or_text(word: str) -> Any:
    """A number that prints as it was typed; everything else is text."""
    for kind in (int, float):
        try:
            if str(value := kind(word)) == word:
                return value
        except ValueError:
            continue
    return word
