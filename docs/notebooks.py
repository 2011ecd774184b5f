"""Write the tutorials as notebooks: `make notebooks`. Prose becomes Markdown cells, Python becomes code cells."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FENCE = re.compile(r"(?:<!-- (?:quick|needs): [^\n]* -->\n)?```(?P<kind>[^\n]*)\n(?P<body>.*?)```\n?", re.DOTALL)
OPTION = re.compile(r"^:(\w+): (.*)$", re.MULTILINE)


def notebook(page: Path) -> dict[str, Any]:
    """A page as a notebook, in the format of nbformat 4.5."""
    text = page.read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = []
    place = 0
    for fence in FENCE.finditer(text):
        cells += _prose(text[place : fence.start()], len(cells))
        cells += _block(page, fence["kind"], fence["body"], len(cells))
        place = fence.end()
    cells += _prose(text[place:], len(cells))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _prose(text: str, number: int) -> list[dict[str, Any]]:
    if not text.strip():
        return []
    return [{"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": text.strip()}]


def _block(page: Path, kind: str, body: str, number: int) -> list[dict[str, Any]]:
    """A cell of code; shell commands get the `!` of notebooks, included sources are read, other fences stay prose."""
    if kind.startswith("{literalinclude}"):
        options = dict(OPTION.findall(body))
        source = (page.parent / kind.split()[1]).read_text(encoding="utf-8")
        code = _object(source, options["pyobject"])
    elif kind == "python":
        code = body
    elif kind in ("bash", "sh"):
        code = "".join(f"!{line}\n" for line in body.splitlines() if line.strip())
    else:
        return _prose(f"```{kind}\n{body}```", number)
    empty: dict[str, Any] = {"execution_count": None, "outputs": [], "metadata": {}}
    return [{"cell_type": "code", "id": f"cell-{number}", "source": code.rstrip("\n"), **empty}]


def _object(source: str, name: str) -> str:
    """The source of a function or class, with its decorators."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    raise ValueError(f"no function or class {name!r}")


def main() -> None:
    """Write a notebook for every tutorial."""
    folder = DOCS / "_build" / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        if page.stem != "index":
            file = folder / f"{page.stem}.ipynb"
            file.write_text(json.dumps(notebook(page), indent=1), encoding="utf-8")
            print(file.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
