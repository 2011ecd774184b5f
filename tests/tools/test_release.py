"""`tools/release.py` finds what is wrong with a package, a version or a trial, and does not keep silent about what it could not try."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

GOOD_WHEEL = ("ludory/__init__.py", "ludory/py.typed", "ludory-0.1.0.dist-info/licenses/LICENSE")
GOOD_SDIST = ("LICENSE", "CHANGELOG.md", "CITATION.cff", "README.md", "pyproject.toml", "PKG-INFO")


def packages(folder: Path, wheel: tuple[str, ...] = (), sdist: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """An sdist and a wheel with these files of no content."""
    with zipfile.ZipFile(folder / "a.whl", "w") as archive:
        for name in wheel:
            archive.writestr(name, "")
    with tarfile.open(folder / "a.tar.gz", "w:gz") as source:
        for name in sdist:
            source.addfile(tarfile.TarInfo(f"ludory-0.1.0/{name}"), BytesIO())
    return folder / "a.tar.gz", folder / "a.whl"


def test_good_files_have_no_problem(tmp_path: Path, release: ModuleType) -> None:
    made = packages(tmp_path, GOOD_WHEEL, GOOD_SDIST)
    assert list(release.problems_of_files(*made, set(GOOD_WHEEL))) == []


def test_a_wheel_that_is_too_big_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: ModuleType) -> None:
    made = packages(tmp_path, GOOD_WHEEL, GOOD_SDIST)
    monkeypatch.setattr(release, "MOST_BYTES", made[1].stat().st_size - 1)
    (problem,) = release.problems_of_files(*made, set(GOOD_WHEEL))
    assert problem.startswith("the wheel has ")


@pytest.mark.parametrize(
    ("wheel", "sdist", "problem"),
    [
        (GOOD_WHEEL[:1] + GOOD_WHEEL[2:], GOOD_SDIST, "the wheel lacks ludory/py.typed"),
        (GOOD_WHEEL[:2], GOOD_SDIST, "the wheel lacks .dist-info/licenses/LICENSE"),
        ((*GOOD_WHEEL, "tests/test_a.py"), GOOD_SDIST, "the wheel installs tests/test_a.py outside of the package"),
        ((*GOOD_WHEEL, "ludory/tests/a.py"), GOOD_SDIST, "the wheel has ludory/tests/a.py"),
        (
            (*GOOD_WHEEL, "ludory/benchmarks/gpu/a.py"),
            GOOD_SDIST,
            "the wheel has the benchmark ludory/benchmarks/gpu/a",
        ),
        (GOOD_WHEEL, GOOD_SDIST[1:], "the sdist lacks LICENSE"),
        (GOOD_WHEEL, (*GOOD_SDIST, "tests/test_a.py"), "the sdist has tests/test_a.py"),
    ],
)
def test_a_wrong_file_is_named(
    tmp_path: Path, release: ModuleType, wheel: tuple[str, ...], sdist: tuple[str, ...], problem: str
) -> None:
    found = list(release.problems_of_files(*packages(tmp_path, wheel, sdist), set(wheel)))
    assert any(one.startswith(problem) for one in found), found


def test_a_wheel_that_differs_from_that_of_the_tree_is_refused(tmp_path: Path, release: ModuleType) -> None:
    made = packages(tmp_path, GOOD_WHEEL, GOOD_SDIST)
    (problem,) = release.problems_of_files(*made, {*GOOD_WHEEL, "ludory/lost.py"})
    assert problem.endswith("differ: ludory/lost.py")


@pytest.mark.parametrize(
    ("heading", "citation", "weights", "tag", "problems"),
    [
        ("0.1.0 (unreleased)", "version: 0.1.0", "0.1.0", "", []),
        ("0.1.0 (2026-12-01)", "version: 0.1.0\ndate-released: 2026-12-01", "0.1.0", "v0.1.0", []),
        ("0.2.0 (unreleased)", "version: 0.1.0", "0.1.0", "", ["CHANGELOG.md does not begin"]),
        ("0.1.0 (unreleased)", "version: 0.1.0", "0.2.0", "", ["weights/pyproject.toml has no line"]),
        ("0.1.0 (unreleased)", "version: 0.2.0", "0.1.0", "", ["CITATION.cff has no line 'version"]),
        ("0.1.0 (unreleased)", "version: 0.1.0", "0.1.0", "v0.1.0", ["CHANGELOG.md has no date for 0.1.0"]),
        (
            "0.1.0 (2026-12-01)",
            "version: 0.1.0",
            "0.1.0",
            "v0.1.0",
            ["CITATION.cff has no line 'date-released: 2026-12-01'"],
        ),
        ("0.1.0 (2026-12-01)", "version: 0.1.0\ndate-released: 2026-12-01", "0.1.0", "v0.2.0", ["the tag is v0.2.0"]),
    ],
)
def test_a_version_that_is_written_differently_somewhere_is_named(
    tmp_path: Path, release: ModuleType, heading: str, citation: str, weights: str, tag: str, problems: list[str]
) -> None:
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n\nText.\n\n## 0.0.1 (2026-01-01)\n")
    (tmp_path / "CITATION.cff").write_text(f"title: Ludory\n{citation}\nlicense: MIT\n")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "pyproject.toml").write_text(f'[project]\nversion = "{weights}"\n')
    found = list(release.problems_of_version(tmp_path, "0.1.0", tag))
    assert len(found) == len(problems)
    assert all(map(str.startswith, found, problems)), found


def test_a_python_that_only_a_shim_of_pyenv_stands_for_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: ModuleType
) -> None:
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert release.find_python("3.99") is None
    real = tmp_path / "versions" / "3.99.1" / "bin" / "python3.99"
    real.parent.mkdir(parents=True)
    real.symlink_to(sys.executable)
    assert release.find_python("3.99")


def test_a_bound_that_was_never_tried_is_named(release: ModuleType) -> None:
    needs = [Requirement("numpy>=2.0"), Requirement("torch>=2.5")]
    cpu_build = release.Row("lowest", "3.10", {"torch": "2.5.0+cpu"}, "ok")
    assert list(release.unmet_bounds(needs, [cpu_build])) == []
    lowest = [release.Row("lowest", "3.10", {"numpy": numpy, "torch": "2.6.1"}, "ok") for numpy in ("2.0.0", "2.1.0")]
    newest = release.Row("newest", "3.10", {"numpy": "2.4", "torch": "2.5.0"}, "ok")
    assert list(release.unmet_bounds(needs, [*lowest, newest])) == [
        "torch>=2.5: the lowest that could be installed is 2.6.1; correct the bound in pyproject.toml"
    ]


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--all"], 1)])
def test_a_python_that_is_not_there_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    release: ModuleType,
    options: list[str],
    code: int,
) -> None:
    of_a_wheel = {"Version": ["0.1.0"], "Classifier": ["Programming Language :: Python :: 3.99"]}
    monkeypatch.setattr(
        release, "build", lambda tree, out: (Path("a.tar.gz"), Path("a.whl"), Path("weights.whl"), set())
    )
    monkeypatch.setattr(release, "metadata", lambda wheel: message(of_a_wheel))
    for check in ("problems_of_files", "problems_of_version", "problems_of_extras"):
        monkeypatch.setattr(release, check, lambda *args: [])
    monkeypatch.setattr(release, "run", lambda *args: "")
    monkeypatch.setattr(release, "find_python", lambda version: None)
    monkeypatch.setattr(release, "trial", lambda *args: release.Row("sdist", "3.11", {}, "ok"))
    assert release.main(options) == code
    printed = capsys.readouterr().out
    assert printed.count("NOT TRIED: no python3.99 on this machine") == 2
    assert "1 tried" in printed
    assert "2 not tried" in printed


def test_a_trial_that_prints_something_else_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], release: ModuleType
) -> None:
    monkeypatch.setattr(release, "run", lambda command, *args: "3.99.1" if "-c" in command else "ludory 0.0.9")
    row = release.trial("newest", tmp_path / "a.whl", tmp_path / "b.whl", "python3.99", [], "", "0.1.0")
    assert row.failed
    assert row.result == "FAILED"
    assert "did not print 'ludory 0.1.0'" in capsys.readouterr().out


def message(fields: dict[str, list[str]]) -> object:
    """Metadata with these fields."""
    from email.message import Message

    made = Message()
    for name, values in fields.items():
        for value in values:
            made[name] = value
    return made
