"""`ludory new`: writes the package of a new game, agent or algorithm, with a test that passes at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Literal

from tyro.conf import Positional

from ludory.cli.common.files import write_text
from ludory.cli.common.options import Folder
from ludory.cli.common.parser import parse
from ludory.errors import OptionError, OutputError

from .templates import SCAFFOLDS, Scaffold

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_VERSIONED = re.compile(r".*-v\d+")


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Write an installable package with one source file and one test.

    Example: ludory new game Race
    """

    kind: Positional[Literal["game", "agent", "algorithm"]]
    """What the package offers."""
    name: Positional[str]
    """Its name: letters, digits, single dashes."""
    into: Folder = Path()
    """Folder to write the package in."""


def run(argv: list[str]) -> int:
    """Write the package and say what to type next."""
    chosen = parse(_Options, argv, "new")
    folder, id = write_package(SCAFFOLDS[chosen.kind], chosen.name, chosen.into)
    print(f"{folder}: a package with the {chosen.kind} {id!r}. Type next:\n")
    print(f"  cd {folder}\n  python -m pytest\n  pip install --no-deps --editable .\n  ludory list {chosen.kind}s")
    return 0


def write_package(scaffold: Scaffold, name: str, into: Path) -> tuple[Path, str]:
    """Write the files of `scaffold` for `name` to a new folder in `into`; returns that folder and the id.

    Raises:
        OptionError: the name cannot be part of an id and of a module's name.
        OutputError: the folder is there already or cannot be written.
    """
    if not _NAME.fullmatch(name) or _VERSIONED.fullmatch(name):
        raise OptionError(f"name {name!r}: must be letters, digits and single dashes, without a version, e.g. Race")
    dashed = name.lower().replace("_", "-")
    module = f"ludory_{dashed.replace('-', '_')}"
    words = {
        "name": name,
        "id": f"{name}{scaffold.version}",
        "distribution": f"ludory-{dashed}",
        "module": module,
        "class_name": "".join(part[0].upper() + part[1:] for part in re.split("[-_]", name)),
    }
    folder = into / words["distribution"]
    if folder.exists():
        raise OutputError(
            f"{folder} is there already; nothing was written. Choose another name, or another folder with --into"
        )
    for file, text in scaffold.files.items():
        write_text(folder / Template(file).substitute(words), Template(text).substitute(words))
    return folder, words["id"]
