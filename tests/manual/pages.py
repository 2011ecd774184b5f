"""The pages of the manual and the code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(file for file in (ROOT / "docs").rglob("*.md") if "_build" not in file.parts)])
BLOCK = re.compile(r"(?:<!-- (?P<note>[^\n]*?) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)```", re.DOTALL)


class Block(NamedTuple):
    """A block of code, and the note above it: `quick: OLD=NEW, ...` or `needs: MODULE`."""

    note: str
    language: str
    code: str
    line: int
    """Number of the first line of code in the page."""

    @property
    def shortened(self) -> str:
        """The code with the numbers that its note makes smaller.

        Raises:
            ValueError: the code does not contain what the note replaces.
        """
        code = self.code
        if self.note.startswith("quick: "):
            for change in self.note.removeprefix("quick: ").split(", "):
                old, _, new = change.partition(" -> ")
                if old not in code:
                    raise ValueError(f"the note {self.note!r} replaces {old!r}, which the block does not contain")
                code = code.replace(old, new)
        return code


def name_of(page: Path) -> str:
    """Path of a page below the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    """Blocks of a page in some languages, in order."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match["language"] in languages:
            line = text.count("\n", 0, match.start("code")) + 1
            yield Block(match["note"] or "", match["language"], match["code"], line)


def script(page: Path, *, full: bool) -> str:
    """All Python of a page as one script, whose lines have the numbers that they have in the page."""
    lines: list[str] = []
    for block in blocks(page, "python"):
        lines += [""] * (block.line - 1 - len(lines))
        lines += (block.code if full else block.shortened).splitlines()
    return "\n".join(lines) + "\n"


def commands(page: Path) -> Iterator[str]:
    """The `ludory` commands of a page, comments and continued lines joined."""
    for block in blocks(page, "bash", "sh"):
        for line in block.code.replace("\\\n", " ").splitlines():
            command = line.partition(" #")[0].strip()
            if command.startswith("ludory "):
                yield command


def inline_commands(page: Path) -> Iterator[str]:
    """The `ludory` commands within the sentences of a page."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`(ludory [a-z][^`\n]*)`", prose)


def bare_fences(page: Path) -> Iterator[int]:
    """Numbers of the lines that begin a block without saying in which language it is."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if not inside and line == "```":
                yield number
            inside = not inside
