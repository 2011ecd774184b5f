"""`ludory new`: writes the package of a new game, agent or algorithm, with a test that passes at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Literal

from ludory.arguments import Positional
from ludory.cli.common.files import write_text
from ludory.cli.common.options import Folder
from ludory.cli.common.parser import parse
from ludory.errors import OptionError, OutputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_VERSIONED = re.compile(r".*-v\d+")


Kind = Literal["game", "agent", "algorithm"]
SCAFFOLDS: dict[Kind, tuple[str, str]] = {
    "game": ("-v0", "make_game"),
    "agent": ("", "make"),
    "algorithm": ("-v1", "${class_name}"),
}
"""What is added to the name to make the id, and what the entry point names; the files are in `templates/`."""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Write an installable package with one source file and one test.

    Example: ludory new game Race
    """

    kind: Positional[Kind]
    """What the package offers: game, agent or algorithm."""
    name: Positional[str]
    """Its name: letters, digits, single dashes."""
    into: Folder = Path()
    """Folder to write the package in."""


def run(argv: list[str]) -> int:
    """Write the package and say what to type next."""
    chosen = parse(_Options, argv, "new")
    folder, id = write_package(chosen.kind, chosen.name, chosen.into)
    print(f"{folder}: a package with the {chosen.kind} {id!r}. Type next:\n")
    print(f"  cd {folder}\n  pip install pytest                       # what the test needs")
    print("  python -m pytest                         # run the test; it passes as it stands")
    print(f"  pip install --no-deps --editable .       # from now on `ludory list {chosen.kind}s` shows it")
    if chosen.kind == "game":
        print(f"  {f'ludory check {id}':39}# prove that it keeps the contract, again after each change")
    return 0


def write_package(kind: Kind, name: str, into: Path) -> tuple[Path, str]:
    """Write the package of a `kind` for `name` to a new folder in `into`; returns that folder and the id.

    Raises:
        OptionError: the name cannot be part of an id and of a module's name.
        OutputError: the folder exists or cannot be written.
    """
    if not _NAME.fullmatch(name) or _VERSIONED.fullmatch(name):
        raise OptionError(f"name {name!r}: must be letters, digits and single dashes, without a version, e.g. Race")
    dashed = name.lower().replace("_", "-")
    version, attribute = SCAFFOLDS[kind]
    words = {
        "name": name,
        "kind": kind,
        "id": f"{name}{version}",
        "distribution": f"ludory-{dashed}",
        "module": f"ludory_{dashed.replace('-', '_')}",
        "class_name": "".join(part[0].upper() + part[1:] for part in re.split("[-_]", name)),
    }
    words["attribute"] = Template(attribute).substitute(words)
    folder = into / words["distribution"]
    if folder.exists():
        raise OutputError(
            f"{folder} is there already; nothing was written. Choose another name, or another folder with --into"
        )
    for file, template in (
        ("pyproject.toml", "pyproject.toml"),
        (f"{words['module']}.py", f"{kind}.py"),
        (f"test_{words['module']}.py", f"test_{kind}.py"),
    ):
        text = (files(__package__) / "templates" / f"{template}.txt").read_text(encoding="utf-8")
        write_text(folder / file, Template(text).substitute(words))
    return folder, words["id"]
