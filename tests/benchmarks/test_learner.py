"""`ludory bench learner` measures what its rows say, names what is missing, and judges its claims."""

from __future__ import annotations

import json
import sys
from functools import partial

import pytest
import torch

from ludory.algorithms.losses.returns import vtrace
from ludory.benchmarks.harness.timing import Rates
from ludory.benchmarks.harness.worker_process import MissingContestant
from ludory.benchmarks.learning import learner_speed as learner
from ludory.benchmarks.learning import learner_work, ppo_paths
from ludory.benchmarks.learning.learner_speed import Candidate, CandidateRates
from ludory.benchmarks.learning.learner_work import batch, ludory_targets, rllib_vtrace, torchrl_vtrace
from ludory.cli import main
from ludory.errors import OptionError

pytestmark = pytest.mark.slow

TINY = ["--seconds", "0.01", "--repeats", "2", "--networks", "mlp 64-64", "gru 128", "--batches", "64"]


@pytest.fixture
def small(monkeypatch):
    """Small batches, and no library but ours."""
    for name, size in {"UNROLL": 4, "SEQUENCES": 6}.items():
        monkeypatch.setattr(learner_work, name, size)
    monkeypatch.setattr(learner_work, "batch", partial(batch, 8, 70))
    for module in ("ray", "torchrl"):
        monkeypatch.setitem(sys.modules, module, None)


def test_a_run_writes_numbers_reasons_and_the_machine(small, tmp_path, capsys):
    threads = torch.get_num_threads()
    assert main(["bench", "learner", *TINY, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == f"result in {tmp_path / 'learner.json'}"
    assert "pip install 'ray[rllib]'" in printed
    result = json.loads((tmp_path / "learner.json").read_text())
    rows = {row["key"]: row for row in result["rows"]}
    assert [key for key, row in rows.items() if row["missing"]] == ["rllib", "torchrl"]
    assert all(len(row["rounds"]) == 2 and row["median"] > 0 for row in rows.values() if not row["missing"])
    plain, recurrent = result["choices"]
    assert "twin" in plain["rates"]
    assert recurrent["chosen"].startswith("PyTorch")
    assert all(0 < row["share"] <= 1 and row["chosen"] in row["rates"] for row in result["choices"])
    assert {"date", "commit", "machine", "versions", "disturbed"} <= result.keys()
    assert torch.get_num_threads() == threads


def expected() -> torch.Tensor:
    data = batch()
    return vtrace(data.steps, data.log_pi - data.log_mu, gamma=learner_work.GAMMA).vs


@pytest.mark.parametrize(
    "start",
    [
        lambda data: ludory_targets(data, "kernel"),
        lambda data: ludory_targets(data, "scan"),
        rllib_vtrace,
        torchrl_vtrace,
    ],
    ids=["kernel", "scan", "rllib", "torchrl"],
)
def test_all_work_on_the_same_numbers_to_the_same_end(start):
    try:
        work = start(batch())
    except MissingContestant as error:
        pytest.skip(str(error))
    torch.testing.assert_close(work(), expected(), rtol=1e-4, atol=1e-4)


def test_a_learner_step_counts_its_frames_and_moves_the_policy(small):
    step = learner_work.learner_step(8)
    moved = []
    adam = torch.optim.Adam.step

    def watched(self, *arguments, **options):
        before = [p.detach().clone() for group in self.param_groups for p in group["params"]]
        adam(self, *arguments, **options)
        after = [p for group in self.param_groups for p in group["params"]]
        moved.append(all((a != b).any() for a, b in zip(before, after, strict=True)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", watched)
        assert step() == 24
    assert moved == [True]


@pytest.mark.parametrize(
    ("rate", "processor", "met"), [(120.0, 0.5, True), (80.0, 1.0, False), (80.0, 0.5, None)], ids=str
)
def test_a_busy_machine_does_not_refute_a_claim(rate, processor, met):
    one = Candidate("targets", "it", "it", "", lambda: lambda: 1, at_least=100.0)
    assert CandidateRates(one, Rates((rate,), processor), None).met is met


def test_a_row_without_numbers_or_without_a_claim_is_not_judged():
    claims, plain = (Candidate("learner", "it", "it", "", lambda: lambda: 1, bound) for bound in (1.0, None))
    assert CandidateRates(claims, None, "not installed").met is None
    assert CandidateRates(plain, Rates((5.0,), 1.0), None).met is None


def test_a_network_that_is_not_compared_is_refused():
    with pytest.raises(OptionError, match="no 'mlp 9'; there are 'mlp 64-64, two towers, tanh', "):
        ppo_paths.measured(["mlp 9"], [64], 0.01, 1)


@pytest.mark.parametrize("options", [["--seconds", "0"], ["--repeats", "0"]])
def test_bad_numbers_are_refused(options):
    with pytest.raises(OptionError, match="0: must be"):
        learner.run(options)
