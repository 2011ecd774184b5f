"""Numbers for names: the vocabularies of observations, from the pinned simulator.

In every vocabulary 0 means unknown and 1 known absent (no item, healthy, an empty slot); names have numbers from 2, sorted by id.
An id is a name in lower case without anything but letters and digits: "Tapu Koko" is `tapukoko`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from ...errors import OptionError

Kind = Literal["species", "moves", "items", "abilities", "types", "statuses"]
KINDS: tuple[Kind, ...] = get_args(Kind)
UNKNOWN = 0

_FILE = Path(__file__).with_name("dex") / "names.json"


def to_id(name: str) -> str:
    """Id of a name: its ASCII letters and digits, in lower case."""
    lower = name.lower()
    if lower.isalnum() and lower.isascii():
        return lower
    return "".join([c for c in lower if c.isascii() and c.isalnum()])


_WRITTEN: dict[str, list[str]] = json.loads(_FILE.read_text(encoding="utf-8"))
_COSMETIC: dict[str, str] = _WRITTEN.pop("cosmetic")  # type: ignore[assignment]
_IDS = {kind: [to_id(name) for name in names] for kind, names in _WRITTEN.items()}
VOCAB_SHA256 = hashlib.sha256((json.dumps(_IDS | {"cosmetic": _COSMETIC}, indent=0) + "\n").encode()).hexdigest()
"""Written into checkpoints and data: numbers of another vocabulary mean other names."""


@cache
def vocabulary(kind: Kind) -> Mapping[str, int]:
    """Number of every id of a kind, from 2.

    Raises:
        OptionError: no such kind.
    """
    if kind not in KINDS:
        raise OptionError(f"there is no vocabulary '{kind}': choose one of {', '.join(KINDS)}")
    return MappingProxyType({name: number for number, name in enumerate(_IDS[kind], 2)})


@cache
def names_of(kind: Kind) -> tuple[str, ...]:
    """The inverse of `vocabulary`: the id of every number; "" for unknown and for absent."""
    return ("", "", *vocabulary(kind))


@cache
def written_names(kind: Kind) -> tuple[str, ...]:
    """Names as people write them, by number: "Tapu Koko"; "" for unknown and for absent."""
    if kind == "statuses":
        return ("", "", "burnt", "frozen", "paralysed", "poisoned", "asleep", "badly poisoned")
    return ("", "", *_WRITTEN[kind])


class _Numbers(dict[str, int]):
    """Name, as lines and requests write it, to number; a name is looked up by its id once. Unknown names are 0."""

    def __init__(self, known: Mapping[str, int], aliases: Mapping[str, str]) -> None:
        super().__init__(known)
        self._known = known
        self._aliases = aliases

    def __missing__(self, name: str) -> int:
        key = to_id(name)
        number = self._known.get(self._aliases.get(key, key), UNKNOWN)
        if not number:  # hiddenpowerice60, return102: a request writes the power behind the id
            number = self._known.get(key.rstrip("0123456789"), UNKNOWN)
        if len(self) < 20_000:  # strange names of untrusted logs do not pile up
            self[name] = number
        return number


@cache
def numbers(kind: Kind) -> Mapping[str, int]:
    """Like `vocabulary`, for names as they are written ("Tapu Koko", "Gastrodon-East"); `[name]` is 0 if there is none."""
    return _Numbers(vocabulary(kind), _COSMETIC if kind == "species" else {})
