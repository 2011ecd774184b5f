"""Counts that may only fall: how much the core knows of systems, and what a reader or an author misses.

`python tools/counts.py` prints each count and fails if one is above its limit in `counts.json`, or if a module of the core imports
from a system and is not listed there. `--list NAME` shows the places of a count, `--lower` takes lower counts as limits.

A system is a folder or a module with a name in `SYSTEMS`, in any room. The core is the rest, without `benchmarks`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = ("agents", "algorithms", "envs", "plugins")
GAMES = ("arena", "frozen_lake", "hanabi", "pokemon", "puzzles", "sokoban", "sudoku", "texas42")
SYSTEMS = (
    *GAMES,
    *("flywheel", "language", "last_man_standing", "league", "spa", "sparta", "text_games", "text_ppo", "world_model"),
)
PUBLISHED = (
    *(
        "",
        ".agents",
        ".agents.analysis",
        ".algorithms",
        ".arguments",
        ".charts",
        ".checkpoints",
        ".cli.common",
        ".cluster",
    ),
    *(".data", ".hub"),
    *(".data.formats.json_fields", ".data.recording.search_columns", ".envs", ".envs.pictures", ".errors", ".limits"),
    *(".envs.engine.binding.kernel_placeholders", ".plugins", ".testing", ".web", ".web.duel"),
    *(".atomic", ".cache_folder", ".claims", ".paths", ".reading", ".visible", ".written"),
)
"""Packages and modules of `ludory` whose `__all__` is what the core publishes; the reference of the manual has a page of each."""
ARROWS = "imports from the core into systems"
RATIO = "lines of code per comment"
TRICKY_RATIO = "lines of code per comment where there is an algorithm, a format or a trick"
TRICKY = 12
"""Statements of a function with branches inside of loops or of branches from which on its module has to say why it is so."""
DIRECTIONS = ("noqa", "type:", "fmt:", "pragma", "pyright", "mypy:", "ruff:")
"""What comments to tools start with; they tell a reader nothing."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    """A module of the package."""

    name: str
    package: str
    """What its relative imports start from."""
    text: str
    tree: ast.Module


def sources(root: Path) -> list[Source]:
    """All modules but those of `benchmarks`."""
    files = {
        file: (room, *file.relative_to(root / room).parts) for room in ROOMS for file in (root / room).rglob("*.py")
    }
    kept = root / "src" / "ludory"
    for file in kept.rglob("*.py"):
        parts = file.relative_to(kept).parts
        if parts[0] not in (*ROOMS, "benchmarks"):  # an editable installation has links to the rooms here
            files[file] = parts
    return [_source(file, parts) for file, parts in sorted(files.items())]


def _source(file: Path, parts: tuple[str, ...]) -> Source:
    package, text = ".".join(("ludory", *parts[:-1])), file.read_text(encoding="utf-8")
    return Source(package if file.stem == "__init__" else f"{package}.{file.stem}", package, text, ast.parse(text))


def system(path: str) -> str | None:
    """The system that a dotted path is in, None for the core."""
    return next((part for part in path.split(".") if part in SYSTEMS), None)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements inside, nested ones too; several times faster than `ast.walk`, which visits expressions."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            yield child
            yield from statements(child)


def imported(source: Source, node: ast.AST) -> list[str]:
    """Dotted paths of the names of Ludory that a statement imports."""
    if isinstance(node, ast.Import):
        paths = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        above = source.package.split(".")[: source.package.count(".") + 2 - node.level] if node.level else []
        paths = [".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names]
    else:
        return []
    return [path for path in paths if path.split(".")[0] == "ludory"]


def published(modules: list[Source]) -> set[str]:
    """Dotted paths of the published names: in the package that publishes them, and where they are defined."""
    paths = set()
    for source in modules:
        if source.name.removeprefix("ludory") in PUBLISHED:
            names = {name for node in source.tree.body for name in _listed(node)}
            homes = [path for node in statements(source.tree) for path in imported(source, node)]
            paths |= {source.name, *(f"{source.name}.{name}" for name in names)}
            paths |= {path for path in homes if path.rsplit(".", 1)[1] in names}
    return paths


def _listed(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return list(ast.literal_eval(node.value))
    return []


def count(modules: list[Source]) -> dict[str, list[str]]:
    """Where each thing that is counted stands, by the name of the count."""
    public = published(modules)
    arrows, bare, bare_public, recognised, fields = [], [], [], [], []
    private: dict[str, set[str]] = {name: set() for name in SYSTEMS}
    for source in modules:
        own = system(source.name)
        for node in statements(source.tree):
            paths = imported(source, node)
            into = [path for path in paths if system(path)]
            if own is not None:
                private[own] |= {path for path in paths if path not in into and path not in public}
            elif into:
                arrows.append(f"{source.name} -> {into[0].rsplit('.', 1)[0]}")
            if isinstance(node, Function):
                bare += _bare(source, node)
        bare_public += [place for node in _public_functions(source.tree) for place in _bare(source, node)]
        if own not in GAMES:
            lines = enumerate(source.text.splitlines(), 1)
            recognised += [
                f"{source.name}:{number}" for number, line in lines for _ in range(line.count(".has_kernel("))
            ]
        if source.name == "ludory.envs.game":
            game = next(node for node in source.tree.body if isinstance(node, ast.ClassDef) and node.name == "Game")
            fields += [ast.unparse(node.target) for node in game.body if isinstance(node, ast.AnnAssign)]
    return {
        ARROWS: sorted(arrows),
        "private names that systems import": sorted(set().union(*private.values())),
        **{f"private names that {name} imports": sorted(paths) for name, paths in private.items()},
        "parameters of type Any": bare,
        "parameters of type Any at public functions": bare_public,
        "calls of has_kernel outside a game's folders": recognised,
        "fields of Game": fields,
    }


def _bare(source: Source, node: Function) -> list[str]:
    """Parameters of a function that are annotated with `Any` alone, or with `Any | None`."""
    named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    bare = [one.arg for one in named if one.annotation and ast.unparse(one.annotation) in ("Any", "Any | None")]
    return [f"{source.name}:{node.lineno} {node.name}({name})" for name in bare]


def _public_functions(tree: ast.Module | ast.ClassDef) -> Iterator[Function]:
    """Functions and methods without an underscore before them, and special methods; no functions inside of functions."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_functions(node)
        elif isinstance(node, Function) and (not node.name.startswith("_") or node.name.endswith("__")):
            yield node


def is_tricky(source: Source) -> bool:
    """Whether a module has a compiled kernel or a long function whose branches are inside of loops or of other branches."""
    functions = [node for node in statements(source.tree) if isinstance(node, Function)]
    return any(_compiled(node) or (_length(node) >= TRICKY and _branches_inside(node)) for node in functions)


def _compiled(node: Function) -> bool:
    return any("kernel" in text or "jit" in text for text in map(ast.unparse, node.decorator_list))


def _length(node: Function) -> int:
    """Number of statements, without docstrings."""
    return sum(
        isinstance(inside, ast.stmt) and not (isinstance(inside, ast.Expr) and isinstance(inside.value, ast.Constant))
        for inside in statements(node)
    )


def _branches_inside(node: Function) -> bool:
    """An `elif` does not count as inside of its `if`."""
    loops = (ast.For, ast.AsyncFor, ast.While)
    bodies = [outer.body for outer in statements(node) if isinstance(outer, (*loops, ast.If))]
    inside = (inner for body in bodies for child in body for inner in (child, *statements(child)))
    return any(isinstance(inner, (ast.If, ast.Match)) for inner in inside)


def lines_per_comment(modules: list[Source]) -> int:
    """Lines of code for each comment."""
    lines = [line.strip() for source in modules for line in source.text.splitlines()]
    comments = sum(_says_something(line) for line in lines)
    return round(sum(bool(line) and not line.startswith("#") for line in lines) / max(comments, 1))


def _says_something(line: str) -> bool:
    """Whether a line has a comment to people."""
    comments = f"  {line}".split("  # ")[1:]
    return any(not comment.startswith(DIRECTIONS) for comment in comments)


def main(arguments: list[str] | None = None) -> int:
    """Print the counts; 1 if one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the tree to count in")
    parser.add_argument("--list", metavar="NAME", help="show the places of the counts whose name has this in it")
    parser.add_argument("--lower", action="store_true", help="take lower counts as limits")
    options = parser.parse_args(arguments)
    gc.disable()  # the trees have a million nodes and no garbage
    modules = sources(options.root)
    places = count(modules)
    if options.list:
        print("\n".join(f"{name}: {place}" for name in places if options.list in name for place in places[name]))
        return 0
    counts = {name: len(found) for name, found in places.items()} | {
        RATIO: lines_per_comment(modules),
        TRICKY_RATIO: lines_per_comment([source for source in modules if is_tricky(source)]),
    }
    file = options.root / "tools" / "counts.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    limits, allowed = {name: kept["limits"].get(name, 0) for name in counts}, kept[ARROWS]
    for name, number in counts.items():
        print(f"{number:5} of {limits[name]:3}  {name}")
    risen = [f"{name}: {number}, at most {limits[name]}" for name, number in counts.items() if number > limits[name]]
    new = sorted({*places[ARROWS]} - {*allowed})
    if options.lower:
        limits = {name: min(number, limits[name]) for name, number in counts.items()}
        kept = {"limits": limits, ARROWS: sorted({*places[ARROWS]} & {*allowed})}
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for line in risen:
        print(f"risen: {line}", file=sys.stderr)
    for line in new:
        print(f"the core imports a system: {line}; use what the system registers instead", file=sys.stderr)
    if risen or new:
        print("python tools/counts.py --list NAME shows the places of a count", file=sys.stderr)
    return 1 if risen or new else 0


if __name__ == "__main__":
    sys.exit(main())
