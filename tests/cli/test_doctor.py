"""`ludory doctor` tells what is broken, what to do about it, and never breaks itself."""

from __future__ import annotations

import json
import platform
import sys
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from ludory.cli import doctor, main
from ludory.plugins import benchmarks

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def report(capsys: Capture) -> tuple[int, dict[str, dict[str, Any]]]:
    code = main(["doctor", "--json"])
    return code, {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}


def test_this_machine_is_well(capsys: Capture) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "nothing is broken"
    assert any("cpu engine" in line and "moves played" in line for line in lines)


def test_json_has_a_finding_for_everything_looked_at(capsys: Capture) -> None:
    code, findings = report(capsys)
    assert code == 0
    assert findings.keys() >= {"python", "ludory", "numpy", "torch", "cache", "threads", "cpu engine", "gpu"}
    assert all(finding["status"] in ("ok", "warning", "problem") for finding in findings.values())


def test_a_missing_package_is_a_problem_with_the_command_that_cures_it(capsys: Capture, monkeypatch: Patch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "safetensors":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    code, findings = report(capsys)
    assert code == 1
    assert findings["safetensors"]["status"] == "problem"
    assert 'pip install "safetensors' in findings["safetensors"]["cure"]


def test_the_extras_that_are_installed_are_named(capsys: Capture, monkeypatch: Patch) -> None:
    needs = [
        *('numpy>=2; extra == "has"', 'absent-lib; extra == "lacks"', "numpy"),
        *('ludory[has]; extra == "as-has"', 'ludory[as-has,lacks]; extra == "all"'),
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: needs)
    (finding,) = doctor._extras()
    assert (finding.status, finding.found) == ("ok", "as-has, has; not installed: all, lacks")


def test_a_package_that_is_too_old_is_a_problem(monkeypatch: Patch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["numba>=0.62", "numpy>=2.0", "rich>=13"])
    versions = {"ludory": "0.1.0", "numba": "0.7.0", "numpy": "2.10.1", "rich": "13.0.0"}
    monkeypatch.setattr(metadata, "version", versions.__getitem__)
    findings = {finding.name: finding for finding in doctor._packages()}
    assert findings["numba"][1:] == ("problem", "0.7.0 is too old", 'type: pip install "numba>=0.62"')
    assert [findings[name].status for name in ("numpy", "rich")] == ["ok", "ok"]


def test_a_python_that_is_not_tested_is_a_warning(monkeypatch: Patch) -> None:
    classified = Message()
    for version in ("3.10", "3.13"):
        classified["Classifier"] = f"Programming Language :: Python :: {version}"
    monkeypatch.setattr(metadata, "metadata", lambda name: classified)
    for version, status in {"3.10.1": "ok", "3.1.0": "warning", "3.14.0": "warning"}.items():
        monkeypatch.setattr(platform, "python_version_tuple", lambda of=version: of.split("."))
        assert next(doctor._python()).status == status, version


def test_benchmarks_that_a_wheel_lacks_are_no_missing_systems(monkeypatch: Patch) -> None:
    monkeypatch.setattr(benchmarks, "missing", {"faults": "faults"})
    assert "systems" not in [finding.name for finding in doctor._plugins()]


def test_a_missing_package_is_told_once(capsys: Capture, monkeypatch: Patch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setitem(sys.modules, "torch", None)
    _, findings = report(capsys)
    assert findings["gpu"]["cure"] == 'type: pip install "ludory"', "nothing else names it"
    monkeypatch.setattr(metadata, "version", version)
    code, findings = report(capsys)
    assert code == 1
    assert [name for name, finding in findings.items() if finding["status"] == "problem"] == ["torch"]


def test_a_cache_folder_that_can_not_be_used_is_a_warning(capsys: Capture, monkeypatch: Patch, tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(occupied))
    _, findings = report(capsys)
    assert findings["cache"]["status"] == "warning"
    assert "LUDORY_CACHE_DIR" in findings["cache"]["cure"]


def test_a_wrong_number_of_threads_is_a_problem(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LUDORY_NUM_THREADS", "many")
    code, findings = report(capsys)
    assert code == 1
    assert "LUDORY_NUM_THREADS='many'" in findings["threads"]["found"]


def test_an_unused_gpu_is_a_warning(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(doctor, "which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr(torch.version, "cuda", None)
    _, findings = report(capsys)
    assert findings["gpu"]["status"] == "warning"
    assert "CUDA build of torch" in findings["gpu"]["cure"]


def test_a_check_that_dies_is_a_problem_and_the_others_go_on(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(doctor, "_plugins", lambda: 1 / 0)
    code, findings = report(capsys)
    assert code == 1
    assert "division by zero" in findings["plugins"]["found"]
    assert findings["cpu engine"]["status"] == "ok"
