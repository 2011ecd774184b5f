"""`ludory bench throughput` measures in turns, names what is missing, and writes tables, JSON and a chart."""

from __future__ import annotations

import io
import json
import platform
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from llvmlite import binding

from ludory.benchmarks.harness.machine import this_machine
from ludory.benchmarks.harness.timing import Rates, ratio, take_turns
from ludory.benchmarks.harness.worker_process import MissingContestant, Sample, WorkerProcess, peer_command
from ludory.benchmarks.throughput import contestants, hle_build, peer_packages
from ludory.benchmarks.throughput.contestants import Comparison, Contestant, built, ours, theirs
from ludory.charts.bars import Bar, Panel, bar_chart
from ludory.cli import main
from ludory.errors import OptionError, OutputError

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
TINY = ["--seconds", "0.02", "--repeats", "2"]


def speaker(code: str) -> list[str]:
    """Command of a contestant whose program is `code`, after it said hello."""
    return [sys.executable, "-uc", 'print(\'{"versions": {"it": "1"}}\')\n' + code]


STEADY = 'for line in iter(input, \'\'): print(\'{"steps": 1000, "seconds": 0.5, "cpu_seconds": 0.5}\')'


class Run(NamedTuple):
    """What one run printed and wrote."""

    printed: str
    folder: Path

    @property
    def data(self) -> dict[str, Any]:
        return json.loads((self.folder / "throughput.json").read_text())

    @property
    def chart(self) -> ElementTree.Element:
        return ElementTree.parse(self.folder / "throughput.svg").getroot()


@pytest.fixture(scope="module")
def run_without_peers(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short run of the engine section where no peer is installed, and nothing to build one with."""
    folder, printed = tmp_path_factory.mktemp("bench"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        for module in (peer_packages, hle_build):
            patch.setattr(module, "peer_folder", lambda: folder)
        patch.setattr(shutil, "which", lambda name: name if "python" in name else None)
        patch.setattr(contestants, "pythons", lambda: [f"{sys.executable}-of-nobody"])
        assert main(["bench", "throughput", "--section", "engine", *TINY, "--out", str(folder)]) == 0
    return Run(printed.getvalue(), folder)


@pytest.mark.slow
def test_a_run_measures_the_engine_and_says_where_its_results_are(run_without_peers):
    engine = run_without_peers.data["contestants"][0]
    assert engine["key"] == "engine"
    assert engine["missing"] is None
    assert engine["full"]["median"] > 1000
    assert engine["unobserved"]["median"] > 1000
    assert len(engine["full"]["rounds"]) == 2
    folder = run_without_peers.folder
    last = run_without_peers.printed.splitlines()[-1]
    assert last == f"result in {folder / 'throughput.json'} and {folder / 'throughput.svg'}"


@pytest.mark.slow
def test_every_result_names_the_machine(run_without_peers):
    name = this_machine().name
    assert name in run_without_peers.printed
    assert name == run_without_peers.data["machine"]["name"]
    assert any(name in (text.text or "") for text in run_without_peers.chart.iter(f"{SVG}text"))


def test_a_missing_peer_has_a_reason_and_no_number(run_without_peers):
    found = {row["key"]: row for row in run_without_peers.data["contestants"]}
    for key in ("openspiel", "openspiel-observer", "hle"):
        assert found[key]["full"] is None
        assert found[key]["unobserved"] is None
    assert "pip install open_spiel" in found["openspiel"]["missing"]
    assert "no C++ compiler" in found["hle"]["missing"]
    assert "not built: no C++ compiler" in run_without_peers.printed


def test_a_missing_peer_has_no_ratio_and_no_bar(run_without_peers):
    ratios = {(one["one"], one["other"]): one for one in run_without_peers.data["ratios"]}
    assert ratios["engine", "hle"] == {"one": "engine", "other": "hle", "ratio": None, "at_least": 4, "met": None}
    texts = [text.text or "" for text in run_without_peers.chart.iter(f"{SVG}text")]
    assert sum(text.startswith("missing: ") for text in texts) == 3
    bars = len(list(run_without_peers.chart.iter(f"{SVG}rect"))) - 1  # less the background
    assert bars == sum(row["full"] is not None for row in run_without_peers.data["contestants"])


def test_ratios_are_judged_by_their_claims(tmp_path, monkeypatch):
    found = [Contestant(key, key, "gym", "nothing", built(lambda: ""), own=True) for key in ("quick", "slow")]
    steps = {"quick": "3000", "slow": "1000"}
    for one in found:
        code = STEADY.replace("1000", steps[one.key])
        object.__setattr__(one, "start", lambda code=code: WorkerProcess(speaker(code)))
    monkeypatch.setattr(contestants, "environments", lambda device: found)
    claims = (Comparison("quick", "slow", 2), Comparison("slow", "quick", 2), Comparison("quick", "quick"))
    monkeypatch.setattr(contestants, "COMPARISONS", claims)
    assert main(["bench", "throughput", "--section", "gym", *TINY, "--out", str(tmp_path)]) == 0
    ratios = json.loads((tmp_path / "throughput.json").read_text())["ratios"]
    assert [(one["ratio"], one["met"]) for one in ratios] == [(3, True), (pytest.approx(1 / 3), False), (1, None)]


def test_contestants_take_turns_and_one_that_fails_stops_no_other():
    order = []

    def plays(name: str, seconds: float) -> Sample:
        order.append(name)
        if name == "b" and len(order) > 4:
            raise MissingContestant("gone")
        return Sample(len(order), seconds, seconds)

    measures = {name: lambda seconds, name=name: plays(name, seconds) for name in "abc"}
    rates, failed = take_turns(measures, 1.0, 3)
    assert order == list("abcabcacac")
    assert failed == {"b": "gone"}
    assert {name: rate.rounds for name, rate in rates.items()} == {"a": (4, 7, 9), "c": (6, 8, 10)}


def test_a_ratio_pairs_the_measurements_of_a_round():
    slowed_once = Rates((10, 1, 10), 1.0), Rates((5, 0.5, 5), 1.0)
    assert ratio(*slowed_once) == 2
    assert ratio(Rates((1, 9, 8), 1.0), Rates((1, 3, 1), 1.0)) == 3


def test_a_worker_plays_when_asked_and_ends_when_closed():
    worker = WorkerProcess(speaker(STEADY))
    assert worker.versions == {"it": "1"}
    assert worker.measure(0.1, observe=True).rate == 2000
    worker.close()
    worker.close()
    with pytest.raises(ValueError, match="closed"):
        worker.measure(0.1, observe=True)


def test_a_worker_that_dies_is_missing_with_its_last_words():
    worker = WorkerProcess(speaker("input(); raise RuntimeError('out of cards')"))
    with pytest.raises(MissingContestant, match="exit code 1: RuntimeError: out of cards"):
        worker.measure(0.1, observe=True)


def test_a_program_that_is_not_there_is_missing(tmp_path):
    with pytest.raises(MissingContestant, match="no-such-program"):
        WorkerProcess([str(tmp_path / "no-such-program")])
    with pytest.raises(MissingContestant, match="no-such-program"):
        WorkerProcess([str(tmp_path / "no-such-program")], cores=[0])


def test_a_peer_that_can_not_be_imported_tells_what_to_install():
    with pytest.raises(MissingContestant, match=r"pip install open_spiel pettingzoo shimmy.*no_such_peer"):
        theirs("no_such_peer")()


def test_what_a_peer_prints_is_no_answer(tmp_path, monkeypatch):
    (tmp_path / "loud_peer.py").write_text(
        "print('hello from a package')\n"
        "def play(observe):\n    print('playing')\n    return 5\n"
        "def start(*arguments):\n    return {'given': arguments[0]}, play\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = WorkerProcess(peer_command(sys.executable, "loud_peer", "word"))
    assert worker.versions == {"given": "word"}
    sample = worker.measure(0.01, observe=False)
    assert sample.steps % 5 == 0
    assert sample.seconds >= 0.01
    worker.close()


def test_random_moves_are_legal_and_uniform():
    from ludory.benchmarks.peers.ludory_engine import random_legal

    masks = np.zeros((30_000, 6), bool)
    masks[:, [1, 2, 5]] = True
    actions = np.zeros(len(masks), np.int64)
    random_legal(masks, 7, actions)
    counts = np.bincount(actions, minlength=6)
    assert counts[[0, 3, 4]].sum() == 0
    assert (abs(counts[[1, 2, 5]] - 10_000) < 400).all()  # five standard deviations


def test_the_machine_is_named_by_its_processor_and_not_by_its_owner(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor : 0\nmodel name : Wonder  CPU 5\nflags : fpu hypervisor\n\nprocessor : 1\nmodel name : Other\n"
    )
    machine = this_machine(cpuinfo)
    kind = f"Wonder CPU 5 ({binding.get_host_cpu_name()})"
    assert machine.name == f"{machine.cores}-core {platform.machine()} VM, {kind}"
    cpuinfo.write_text("model name : Wonder CPU 5\nflags : fpu\n")
    assert f" machine, {kind}" in this_machine(cpuinfo).name
    assert this_machine(tmp_path / "none").name.startswith(f"{machine.cores}-core")
    assert platform.node() not in this_machine().name


def test_bars_are_as_long_as_their_values():
    panel = Panel("A & B", [Bar("one", 200.0, True), Bar("two", 50.0, False), Bar("none", None, False, "not <here>")])
    drawn = ElementTree.fromstring(bar_chart([panel], "a machine"))
    _, one, two = drawn.iter(f"{SVG}rect")
    assert float(one.get("width", 0)) == pytest.approx(4 * float(two.get("width", 0)), abs=0.3)
    assert one.get("fill") != two.get("fill")
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert {"A & B", "missing: not <here>", "200", "50", "a machine"} <= set(texts)


@pytest.mark.parametrize(("option", "value"), [("--seconds", "0"), ("--seconds", "nan"), ("--repeats", "0")])
def test_bad_numbers_are_refused(option, value):
    from ludory.benchmarks.throughput.throughput import run

    with pytest.raises(OptionError, match=f"{option} {value}: must be"):
        run([option, value])


def test_a_folder_that_can_not_be_written_is_found_out_first(tmp_path, monkeypatch):
    from ludory.benchmarks.throughput.throughput import run

    monkeypatch.setattr(contestants, "environments", lambda device: pytest.fail("measured"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        run(["--out", str(tmp_path / "file")])


def test_every_claim_compares_contestants_that_exist():
    keys = {one.key for one in [*contestants.environments("cuda"), *contestants.learners()]}
    claimed = {key for one in contestants.COMPARISONS for key in (one.one, one.other)}
    assert claimed - keys <= {"engine-2"}  # which needs a second core


def test_an_unknown_benchmark_is_an_error_that_names_the_known(capsys):
    assert main(["bench", "throughputs"]) == 2
    assert "throughput" in capsys.readouterr().err


@pytest.mark.slow
def test_the_gpu_engine_is_missing_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(MissingContestant, match="no CUDA GPU"):
        ours("ludory_cuda", "8")()
