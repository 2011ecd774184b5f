"""Write the tutorials as notebooks: `make notebooks`. Prose becomes Markdown cells, Python becomes code cells.

The first code cell installs Ludory where it is missing, as in Colab. Shell commands stay prose: many of them run for minutes, or need a
terminal, and "Run all" should get to the end.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FENCE = re.compile(r"(?:<!-- (?:quick|needs): [^\n]* -->\n)?```(?P<kind>[^\n]*)\n(?P<body>.*?)```\n?", re.DOTALL)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)#\s]+)(?:#[^)\s]*)?\)")
INSTALL = """\
# installs Ludory where it is missing, as in Colab
import importlib.util

if importlib.util.find_spec("ludory") is None:
    %pip install --quiet "ludory[data,notebook,pettingzoo]\""""
OPTION = re.compile(r"^:(\w+): (.*)$", re.MULTILINE)


def notebook(text: str, folder: Path) -> dict[str, Any]:
    """A page in `folder` as a notebook, in the format of nbformat 4.5."""
    cells: list[dict[str, Any]] = []
    place, fences = 0, list(FENCE.finditer(text))
    shown = {dict(OPTION.findall(fence["body"])).get("pyobject", "") for fence in fences}
    files = {fence["kind"].split()[1] for fence in fences if fence["kind"].startswith("{literalinclude}")}
    for fence in fences:
        cells += _prose(_without_links(text[place : fence.start()], folder))
        cells += _block(folder, fence["kind"], fence["body"])
        place = fence.end()
    cells += _prose(_without_links(text[place:], folder))
    rest = [_code(_rest((folder / file).read_text(encoding="utf-8"), shown)) for file in sorted(files)]
    cells[1:1] = [_code(INSTALL), *rest]
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": numbered, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _without_links(text: str, folder: Path) -> str:
    """Links to other files of the manual as their texts, or as the titles of the pages: a notebook lies elsewhere."""

    def shown(match: re.Match[str]) -> str:
        file = folder / match["target"]
        if ":" in match["target"] or not file.exists():
            return match[0]
        return match["text"] or f"*{file.read_text(encoding='utf-8').partition('# ')[2].partition(chr(10))[0]}*"

    return LINK.sub(shown, text)


def _prose(text: str) -> list[dict[str, Any]]:
    return [{"cell_type": "markdown", "metadata": {}, "source": text.strip()}] if text.strip() else []


def _code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "execution_count": None, "outputs": [], "metadata": {}}


def _block(folder: Path, kind: str, body: str) -> list[dict[str, Any]]:
    """A cell of code; included sources are read, other fences stay prose."""
    if kind.startswith("{literalinclude}"):
        options = dict(OPTION.findall(body))
        source = (folder / kind.split()[1]).read_text(encoding="utf-8")
        return [_code(_object(source, options["pyobject"]).rstrip("\n"))]
    return [_code(body.rstrip("\n"))] if kind == "python" else _prose(f"```{kind}\n{body}```")


def _object(source: str, name: str) -> str:
    """The source of a function or class, with its decorators."""
    for node in ast.parse(source).body:
        if getattr(node, "name", None) == name:
            return _lines(source, node)
    raise ValueError(f"no function or class {name!r}")


def _rest(source: str, shown: set[str]) -> str:
    """What a file has beside the functions and classes `shown`, without its docstring and what it does as a script."""
    docstring, *nodes = ast.parse(source).body
    gone = [docstring, *(node for node in nodes if isinstance(node, ast.If) or getattr(node, "name", None) in shown)]
    rest = source
    for node in gone:
        rest = rest.replace(_lines(source, node), "")
    return re.sub(r"\n{4,}", "\n\n\n", rest).strip()


def _lines(source: str, node: ast.stmt) -> str:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return "\n".join(source.splitlines()[first - 1 : node.end_lineno])


def main() -> None:
    """Write a notebook for every tutorial."""
    folder = DOCS / "_build" / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        if page.stem != "index":
            file = folder / f"{page.stem}.ipynb"
            file.write_text(
                json.dumps(notebook(page.read_text(encoding="utf-8"), page.parent), indent=1), encoding="utf-8"
            )
            print(file.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
