"""The dataclass and the help page that tyro makes of a command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Any, TextIO, TypeVar

from ..errors import LudoryError
from .options import whole_number

T = TypeVar("T")


def by_tyro(
    kind: type[T], argv: list[str], prog: str, default: T | None, markers: Sequence[Any], description: str | None = None
) -> T:
    """The dataclass of a command line whose words were checked.

    Raises:
        LudoryError: the dataclass refuses its values.
        SystemExit: tyro refuses the line, or printed the help.
    """
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
    kind: type[Any], prog: str, markers: Sequence[Any] = (), default: object = None, description: str | None = None
) -> None:
    """Print the help page."""
    page = _Page(sys.stdout)
    with suppress(SystemExit), redirect_stdout(page):
        by_tyro(kind, ["--help"], prog, default, markers, description)
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
