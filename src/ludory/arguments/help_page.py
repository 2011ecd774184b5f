"""The help page of a command line: usage, the docstring of its dataclass, and a row for each option."""

from __future__ import annotations

import ast
import inspect
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import MISSING, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from .options import Option, kind_of, options_of

MOST_WIDTH = 120
MOST_NAMES = 28
"""Columns for the names of options; longer names have a line of their own."""


def help_page(kind: type[Any], prog: str, description: str | None = None, more: str = "") -> str:
    """The page of `prog`, whose options are the dataclass `kind`.

    Args:
        kind: the dataclass.
        prog: the command.
        description: in the place of the docstring of `kind`.
        more: last paragraph.
    """
    options = options_of(kind)
    docs = {owner: field_docs(owner) for owner in {one.owner for one in options}}
    places = [one for one in options if one.positional]
    usage = [prog, "[OPTIONS]", *(f"[{one.shown}]" if one.default is not MISSING else one.shown for one in places)]
    about = inspect.cleandoc(kind.__doc__ or "" if description is None else description)
    width = min(shutil.get_terminal_size().columns, MOST_WIDTH)
    parts = ["usage: " + " ".join(usage), *(_filled(one, width) for one in _told(about))]
    rows = [(_names(one), _told_of(one, docs[one.owner].get(one.field, ""))) for one in options if not one.positional]
    for title, table in (
        ("arguments", [(one.shown, _told_of(one, docs[one.owner].get(one.field, ""))) for one in places]),
        ("options", [*rows, ("-h, --help", "Show this page.")]),
    ):
        if table:
            parts.append("\n".join([f"{title}:", *_lines(table, width)]))
    return "\n\n".join([*parts, _filled(more, width)]).rstrip()


def _told(about: str) -> list[str]:
    """Paragraphs for people; what is raised is for programmers."""
    return about.partition("\nRaises:")[0].partition("\nArgs:")[0].strip().split("\n\n")


def _filled(text: str, width: int) -> str:
    return textwrap.fill(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False)


def _names(option: Option) -> str:
    if option.is_flag or option.is_switch:
        return ", ".join(option.names if option.default is not False else option.names[:-1])
    return ", ".join(sorted(option.names, key=lambda one: one == "--env")) + f" {_metavar(option)}"


def _metavar(option: Option) -> str:
    kind = option.kind
    if kind.arg.metavar:
        return kind.arg.metavar
    if option.choices:
        return f"{{{','.join(option.choices)}}}"
    inner = get_args(kind.type)
    parts = [kind_of(one) for one in (inner or (kind.type,)) if one is not Ellipsis]
    shown = (" " if option.many else "|").join(
        part.arg.metavar or getattr(part.type, "__name__", "str").upper() for part in parts
    )
    return f"[{shown} ...]" if option.many and (Ellipsis in inner or not isinstance(option.default, tuple)) else shown


def _told_of(option: Option, doc: str) -> str:
    said = [" ".join(doc.split())]
    if option.positional and option.choices:
        said.append(f"({', '.join(option.choices)})")
    if option.repeated:
        said.append("(repeatable)")
    elif option.default is MISSING:
        said.append("(required)")
    elif option.default not in (None, (), "", {}) and option.default is not False:
        said.append(f"(default: {_shown(option)})")
    return " ".join(said)


def _shown(option: Option) -> str:
    value, reads = option.default, option.kind.arg.read is not None
    if isinstance(value, tuple):
        return ("," if reads else " ").join(map(str, value))
    return f"{value:,}" if reads and isinstance(value, int) else str(value)


def _lines(table: Sequence[tuple[str, str]], width: int) -> list[str]:
    column = max([len(names) for names, _ in table if len(names) <= MOST_NAMES], default=MOST_NAMES) + 4
    lines = []
    for names, told in table:
        filled = _filled(told, max(20, width - column)).splitlines() or [""]
        if len(names) > column - 4:
            lines.append(f"  {names}")
        else:
            lines.append(f"  {names:{column - 2}}{filled.pop(0)}".rstrip())
        lines += [" " * column + line for line in filled]
    return lines


def field_docs(kind: type[Any]) -> dict[str, str]:
    """The docstrings below the fields of a dataclass by name, "" where there is none: its own in the order of the source, then its bases'."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if is_dataclass(base):
            found |= {name: doc for name, doc in _docs_below(base).items() if not found.get(name)}
    return found


def _docs_below(kind: type[Any]) -> dict[str, str]:
    found, last = dict[str, str](), ""
    for statement in _class(kind.__module__, kind.__name__):
        if last and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            found[last] = inspect.cleandoc(str(statement.value.value))
        last = ""
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[last := statement.target.id] = ""
    return found


def _class(module: str, name: str) -> list[ast.stmt]:
    """The statements of a class, if there is a source."""
    tree = _source(getattr(sys.modules.get(module), "__file__", None) or "")
    classes = (node for nodes in (tree.body, ast.walk(tree)) for node in nodes if isinstance(node, ast.ClassDef))
    return next((node.body for node in classes if node.name == name), [])


@cache
def _source(file: str) -> ast.Module:
    return ast.parse(Path(file).read_bytes() if file.endswith(".py") else "")
