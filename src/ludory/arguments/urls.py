"""URLs of stores where files and folders may stand on a command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..errors import LudoryError, OptionError

STORE_OPTIONS = ("--work", "--push-every")
"""Options of every command that works at a URL: the folder of its copies, and the seconds between two copies to the store."""
WORKS_IN_PLACE = ("resume", "exploit")
"""Commands, by their last word, that write to the folder that they are given."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


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


def is_url(text: str) -> bool:
    """Whether it begins as `s3://` does."""
    return _URL.match(text) is not None


def located(use: UrlUse) -> str:
    """The path to use: what was typed, unless it is a URL and `urls_located_by` says where its copy is."""
    locate = _locate.get()
    if locate is None or not is_url(use.url):
        return use.url
    path = locate(use)
    if path != use.url:
        _typed.set({**_typed.get(), path: use.url})
    return path


def as_typed(path: str | Path) -> str:
    """The word by which a command of the user names a file, quoted for a shell: the URL if its folder was typed as one, else the path."""
    for folder, url in _typed.get().items():
        if Path(path).is_relative_to(folder):
            place, *query = url.split("?", 1)
            inner = Path(path).relative_to(folder).as_posix()
            return shlex.quote("?".join([place if inner == "." else f"{place.rstrip('/')}/{inner}", *query]))
    return shlex.quote(str(path))


Locate = Callable[[UrlUse], str]
"""Returns the path to use in place of a URL."""
_locate: ContextVar[Locate | None] = ContextVar("_locate", default=None)
_typed: ContextVar[Mapping[str, str]] = ContextVar("_typed", default=MappingProxyType({}))
"""URLs by the paths that stand for them."""


@contextmanager
def urls_located_by(locate: Locate) -> Iterator[None]:
    """Let command lines have URLs in the place of files and folders, within the block."""
    locate_before, typed_before = _locate.set(locate), _typed.set({})
    try:
        yield
    finally:
        _locate.reset(locate_before)
        _typed.reset(typed_before)
