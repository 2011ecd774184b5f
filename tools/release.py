"""Builds the sdist, the wheel and that of the weights into `dist/`, looks at what they hold, and tries them in clean environments: `make release`.

A trial is one Python with the newest or with the lowest version that pyproject.toml allows of each hard dependency. It installs the wheel
and does what a new user does: `TRIED` below. The sdist is tried once. A table at the end says how each went; the exit code is 1 if one
failed, or, with `--all`, if a supported Python is not on this machine. `--tag` also asks for what a tag needs: a date in CHANGELOG.md
and in CITATION.cff, and the same version everywhere.

uv finds the lowest versions and keeps what it downloads, so the environments share their files. Its variables are those of its manual:
`UV_TORCH_BACKEND=cpu` takes PyTorch's CPU builds, which are much smaller. A folder of wheels that pip is told of serves it, too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
GAME = "TicTacToe-v0"
SCRIPT = f"""
import gymnasium, ludory
env = gymnasium.make("{GAME}")
_, info = env.reset(seed=7)
ended = False
while not ended:
    _, reward, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
    ended = terminated or truncated
print("played to the end")
"""
TRIED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("ludory", "--version"), "ludory {version}"),
    (("ludory", "list"), GAME),
    (("ludory", "doctor"), "nothing is broken"),
    (("python", "-c", SCRIPT), "played to the end"),
    (("ludory", "train", "ppo", "--env", GAME, "--timesteps", "200", "--out", "model.ludory"), "trained: "),
    (("ludory", "eval", "model.ludory", "random", "--game", GAME, "--games", "20"), "mean"),
    (("ludory", "watch", GAME, "model.ludory", "--html", "game.html"), "game.html"),
    (("ludory", "eval", "tic_tac_toe/ppo", "random", "--game", GAME, "--games", "20"), "mean"),
)
"""Commands of a trial, and what each has to print."""
SHOWN = ("numpy", "numba", "torch", "gymnasium")
"""Dependencies whose versions the table has."""
BENCHMARKS_OF_COMMANDS = {"harness", "sweep"}
"""All that a wheel has of the benchmarks."""
TOP = ("ludory", "ludory_text.py")
"""What a wheel installs: the package, and a module by whose name verifiers finds its taskset."""
MOST_BYTES = 2_500_000
"""Of the wheel."""
WEIGHTS = "weights"
"""Folder of the package with the weights of agents."""
STEP_SECONDS = 900
RESOLVED = (
    ("all", "x86_64-unknown-linux-gnu", ""),
    ("all", "aarch64-apple-darwin", ""),
    ("all", "x86_64-pc-windows-msvc", ""),
    ("dev", "x86_64-unknown-linux-gnu", "constraints.txt"),
    ("dev", "aarch64-apple-darwin", "constraints.txt"),
)
"""Extra, platform and constraints for which the index must have a version of everything; nothing of these is installed."""


class TrialError(Exception):
    """A command that failed or did not print what it should; the message has the end of its output."""


class Row(NamedTuple):
    """A line of the table."""

    what: str
    python: str
    versions: Mapping[str, str]
    result: str
    seconds: float = 0.0
    failed: bool = False


def run(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What a command printed.

    Raises:
        TrialError: its exit code is not 0, or it takes longer than `STEP_SECONDS`.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=STEP_SECONDS)
    except subprocess.TimeoutExpired:
        raise TrialError(f"{' '.join(words)} did not end within {STEP_SECONDS} s") from None
    printed = done.stdout + done.stderr
    if done.returncode:
        raise TrialError(f"{' '.join(words)} ended with exit code {done.returncode}:\n{printed[-2000:]}")
    return printed


def build(tree: Path, out: Path) -> tuple[Path, Path, Path, set[str]]:
    """Build from a copy of what git has of a tree, so that nothing else gets in.

    Returns:
        The sdist, the wheel made of it and that of the weights, in `out`, and the names of the files of a wheel that is made of the tree
        directly.
    """
    shutil.rmtree(out, ignore_errors=True)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "ludory"
        for name in run(["git", "ls-files", "-z"], tree).split("\0"):
            if name and (tree / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, copy / name)
        run([sys.executable, "-m", "build", "--outdir", out], copy)
        run([sys.executable, "-m", "build", "--wheel", "--outdir", out], copy / WEIGHTS)
        run([sys.executable, "-m", "build", "--wheel", "--outdir", Path(folder) / "direct"], copy)
        with zipfile.ZipFile(next(Path(folder).glob("direct/*.whl"))) as archive:
            direct = set(archive.namelist())
    return next(out.glob("*.tar.gz")), next(out.glob("ludory-*.whl")), next(out.glob("ludory_agents-*.whl")), direct


def metadata(wheel: Path) -> Message:
    """The fields of a wheel's METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def hard_dependencies(fields: Message) -> list[Requirement]:
    """What is always installed."""
    needs = [Requirement(text) for text in fields.get_all("Requires-Dist", [])]
    return [one for one in needs if "extra" not in str(one.marker)]


def supported_pythons(fields: Message) -> list[str]:
    """Such as 3.10, by the classifiers."""
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in fields.get_all("Classifier", [])
    )
    return [match[1] for match in found if match]


def problems_of_files(sdist: Path, wheel: Path, direct: set[str]) -> Iterator[str]:
    """What is wrong with the lists of files."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    if (size := wheel.stat().st_size) > MOST_BYTES:
        yield f"the wheel has {size:,} bytes, at most {MOST_BYTES:,} are wanted; weights and recordings belong into {WEIGHTS}/"
    if differing := names ^ direct:
        yield f"the wheel of the sdist and that of the tree differ: {', '.join(sorted(differing)[:5])}"
    for needed in ("ludory/py.typed", ".dist-info/licenses/LICENSE"):
        if not any(name.endswith(needed) for name in names):
            yield f"the wheel lacks {needed}"
    for name in sorted(names):
        parts = name.split("/")
        if parts[0] not in TOP and not parts[0].endswith(".dist-info"):
            yield f"the wheel installs {name} outside of the package"
        if "tests" in parts or "__pycache__" in parts:
            yield f"the wheel has {name}"
        if parts[:2] == ["ludory", "benchmarks"] and parts[2] not in BENCHMARKS_OF_COMMANDS:
            yield f"the wheel has the benchmark {name}"
    with tarfile.open(sdist) as source:
        kept = {name.partition("/")[2] for name in source.getnames()}
    for needed in ("LICENSE", "CHANGELOG.md", "CITATION.cff", "README.md", "pyproject.toml", "PKG-INFO"):
        if needed not in kept:
            yield f"the sdist lacks {needed}"
    yield from (f"the sdist has {name}" for name in sorted(kept) if name.startswith("tests/"))


def problems_of_version(tree: Path, version: str, tag: str = "") -> Iterator[str]:
    """Where another version is written than the one that was built, and what a tag needs besides."""
    changelog = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (\S+) \((.+)\)$", changelog, re.MULTILINE)
    citation = (tree / "CITATION.cff").read_text(encoding="utf-8")
    if heading is None or heading[1] != version:
        yield f"CHANGELOG.md does not begin with a heading '## {version} (unreleased)' or '## {version} (YYYY-MM-DD)'"
    if f'\nversion = "{version}"\n' not in (tree / WEIGHTS / "pyproject.toml").read_text(encoding="utf-8"):
        yield f"{WEIGHTS}/pyproject.toml has no line 'version = \"{version}\"'"
    if f"\nversion: {version}\n" not in citation:
        yield f"CITATION.cff has no line 'version: {version}'"
    if tag:
        date = heading[2] if heading else ""
        if tag != f"v{version}":
            yield f"the tag is {tag}, the version in pyproject.toml {version}: the tag has to be v{version}"
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
            yield f"CHANGELOG.md has no date for {version}: type it in place of '(unreleased)'"
        elif f"\ndate-released: {date}\n" not in citation:
            yield f"CITATION.cff has no line 'date-released: {date}'"


def find_python(version: str) -> str | None:
    """Path of an interpreter on PATH or of pyenv, or None. Shims of pyenv are on PATH also where they lead nowhere, so each is run."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = shutil.which(f"python{version}")
    for found in [*filter(None, [on_path]), *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")))]:
        done = subprocess.run([found, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
        if not done.returncode:
            return done.stdout.strip()
    return None


def suite_s_torch(tree: Path) -> str:
    """The requirement of PyTorch that the test suite runs with."""
    lines = (tree / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def resolve(needs: Sequence[str], python: str, folder: Path, *, lowest: bool) -> dict[str, str]:
    """Name -> version of all that has to be installed; lowest: of what is in `needs`, not of what these need."""
    (folder / "needs.txt").write_text("\n".join(needs))
    choice = ["--resolution", "lowest-direct" if lowest else "highest", "--only-binary", ":all:"]
    written = run([*uv("compile"), "--no-header", "--no-annotate", *choice, "--python", python, "needs.txt"], folder)
    return dict(line.split("==") for line in written.splitlines() if "==" in line)


def problems_of_extras(tree: Path, pythons: Sequence[str]) -> Iterator[str]:
    """Extras that cannot be installed on a platform, which this machine may not be."""
    target = os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"}  # what wheels of PyTorch ask for
    target.pop("UV_TORCH_BACKEND", None)  # what pip finds without it is to fit, too
    for extra, platform, constraints in RESOLVED:
        more = ["--constraint", constraints] if constraints else []
        for python in pythons:
            where = ["--python-platform", platform, "--python-version", python, "--only-binary", ":all:"]
            try:
                run([*uv("compile"), "--extra", extra, *more, *where, "pyproject.toml"], tree, target)
            except TrialError as failure:
                yield f"[{extra}] on {platform}, Python {python}: {failure}"


def uv(command: str) -> list[str | Path]:
    """A command of `uv pip`, of the uv beside this Python."""
    return [Path(sys.executable).parent / "uv", "pip", command, "--quiet"]


def try_out(package: Path, weights: Path, python: str, pins: Mapping[str, str], folder: Path, version: str) -> None:
    """Install the pins and then the packages with pip, which refuses what they do not satisfy, and run `TRIED`.

    Raises:
        TrialError: at the first command that fails.
    """
    run([uv("")[0], "venv", "--quiet", "--seed", "--python", python, folder / "env"], folder)
    bin = folder / "env" / "bin"
    (folder / "pins.txt").write_text("\n".join(f"{name}=={pin}" for name, pin in pins.items()))
    run([*uv("install"), "--python", bin / "python", "--requirements", "pins.txt"], folder)
    offline = ["--no-index"] if package.suffix == ".whl" else []  # an sdist has to get what builds it
    run([bin / "python", "-m", "pip", "install", "--quiet", *offline, package, weights], folder)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LUDORY"))}
    env |= {"LUDORY_CACHE_DIR": str(folder / "cache"), "NO_COLOR": "1"}
    for (program, *words), expected in TRIED:
        printed = run([bin / program, *words], folder, env)
        if (wanted := expected.format(version=version)) not in printed:
            raise TrialError(f"{program} {' '.join(words)} did not print {wanted!r}:\n{printed[-2000:]}")


def trial(
    what: str, package: Path, weights: Path, python: str, needs: Sequence[Requirement], torch: str, version: str
) -> Row:
    """A trial in a folder of its own, as a row of the table. `torch`: a requirement, "" for the newest there is."""
    start, lowest = time.monotonic(), what == "lowest"
    version_of = run([python, "-c", "import platform; print(platform.python_version())"], ROOT).strip()
    pins: dict[str, str] = {}
    result = "ok"
    with TemporaryDirectory() as folder:
        try:
            texts = [*map(str, needs), *([torch] if torch and not lowest else [])]
            pins = resolve(texts, python, Path(folder), lowest=lowest)
            try_out(package, weights, python, pins, Path(folder), version)
        except TrialError as failure:
            print(f"\n{what}, Python {python}: {failure}\n", flush=True)
            result = "FAILED"
    row = Row(what, version_of, pins, result, time.monotonic() - start, result != "ok")
    installed = ", ".join(f"{one.name} {pins.get(one.name, 'none')}" for one in needs)
    print(f"{what} {version_of}: {result}; {installed}", flush=True)
    return row


def unmet_bounds(needs: Sequence[Requirement], rows: Sequence[Row]) -> Iterator[str]:
    """Lower bounds that no environment was given, since the index has no such version for its Python."""
    for one in needs:
        bound = next((spec.version for spec in one.specifier if spec.operator == ">="), None)
        tried = {
            Version(Version(row.versions[one.name]).public)
            for row in rows
            if row.what == "lowest" and one.name in row.versions
        }
        if bound is not None and tried and Version(bound) not in tried:
            yield f"{one}: the lowest that could be installed is {min(tried)}; correct the bound in pyproject.toml"


def table(rows: Sequence[Row]) -> str:
    """The rows with a heading, in columns."""
    cells: list[tuple[str, ...]] = [("what", "Python", *SHOWN, "seconds", "result")]
    cells += [
        (row.what, row.python, *(row.versions.get(name, "-") for name in SHOWN), f"{row.seconds:.0f}", row.result)
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


def main(argv: Sequence[str]) -> int:
    """Build and try; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tag", default="", help="check that all is ready for this tag, such as v0.1.0")
    parser.add_argument("--all", action="store_true", help="fail if a supported Python is not on this machine")
    parser.add_argument("--build-only", action="store_true", help="try nothing out")
    parser.add_argument(
        "--torch",
        default="",
        help="PyTorch of the newest trials: a version, or 'newest'; default: that of constraints.txt",
    )
    asked = parser.parse_args(argv)
    if folder := os.environ.get("PIP_FIND_LINKS"):
        os.environ.setdefault("UV_FIND_LINKS", folder)
    sdist, wheel, weights, direct = build(ROOT, ROOT / "dist")
    fields = metadata(wheel)
    version, needs = fields["Version"], hard_dependencies(fields)
    problems = [*problems_of_files(sdist, wheel, direct), *problems_of_version(ROOT, version, asked.tag)]
    if asked.tag and not fields.get_all("Project-URL"):
        problems.append("pyproject.toml does not say where the repository is: add [project.urls]")
    try:
        run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, weights], ROOT)
    except TrialError as failure:
        problems.append(str(failure))
    print(f"{sdist.name}, {wheel.name}, {weights.name}: {len(problems)} problems", *problems, sep="\n", flush=True)
    torch = suite_s_torch(ROOT) if not asked.torch else "" if asked.torch == "newest" else f"torch=={asked.torch}"
    rows: list[Row] = []
    problems += (
        []
        if asked.build_only
        else problems_of_extras(ROOT, (supported_pythons(fields)[0], supported_pythons(fields)[-1]))
    )
    for python in [] if asked.build_only else supported_pythons(fields):
        if (path := find_python(python)) is None:
            missing = f"NOT TRIED: no python{python} on this machine"
            rows += [Row(what, python, {}, missing, failed=asked.all) for what in ("newest", "lowest")]
        else:
            rows += [trial(what, wheel, weights, path, needs, torch, version) for what in ("newest", "lowest")]
    if not asked.build_only:
        rows.append(trial("sdist", sdist, weights, sys.executable, needs, torch, version))
    problems += unmet_bounds(needs, rows)
    print(f"\n{table(rows)}\n" if rows else "", *problems, sep="\n")
    failed = [row for row in rows if row.failed]
    untried = sum(row.result.startswith("NOT TRIED") for row in rows)
    print(f"{len(rows) - untried} tried, {len(failed)} failed, {untried} not tried, {len(problems)} other problems")
    return 1 if problems or failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
