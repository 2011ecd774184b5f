"""The campaign for a GPU, in little on the CPU; `.ci/run` runs all of its parts so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ludory.benchmarks.gpu import part as parts
from ludory.benchmarks.gpu.campaign import run, shown
from ludory.benchmarks.gpu.parity import kernel_ids, same_games
from ludory.benchmarks.gpu.part import CampaignPart, NamedWork, do_part, is_complete, rows_of
from ludory.benchmarks.gpu.peers import peer_rate
from ludory.benchmarks.gpu.training import TransferCounter
from ludory.envs.make import make_engine
from ludory.errors import OptionError
from ludory.plugins import games

without_card = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@without_card
def test_without_a_gpu_it_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"finds no NVIDIA GPU.*--small"):
        run(["--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_parts_are_known_by_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--only partiy: no part has this name; must be among parity"):
        run(["--small", "--only", "partiy", "--out", str(tmp_path)])


@pytest.mark.slow
@without_card
def test_parts_are_kept_and_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--small", "--only", "maths", "--out", str(tmp_path)]
    assert run(command) == 0
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert [row["largest_difference"] for row in report["parts"]["maths"]] == [0.0] * 6
    assert report["unfinished"] == []
    before = (tmp_path / "maths.jsonl").read_bytes()
    assert run(command) == 0
    assert (tmp_path / "maths.jsonl").read_bytes() == before
    assert "0 rows with faults" in capsys.readouterr().out


def test_work_that_fails_is_told_and_the_rest_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PARTS", {"broken": "broken:works"})
    monkeypatch.setattr(parts, "import_module", lambda _: Broken)
    part = CampaignPart("broken", tmp_path, "cpu", True, 1)
    with pytest.raises(KeyboardInterrupt):
        do_part(part)
    assert [row["key"] for row in rows_of(tmp_path, "broken")] == ["first", "second"]
    assert not is_complete(tmp_path, "broken")
    Broken.stopped = True
    do_part(part)
    rows = rows_of(tmp_path, "broken")
    assert [row.get("error") for row in rows] == ["ValueError: too hot", None, None]
    assert is_complete(tmp_path, "broken")
    told = list(shown({"parts": {"broken": rows}, "device": {"name": None}, "unfinished": []}))
    assert str(told[-1]).startswith("1 rows with faults")


class Broken:
    """A module of a part: its first work fails, its third is interrupted at first."""

    stopped = False

    @classmethod
    def works(cls, _: CampaignPart):
        yield NamedWork("first", lambda: (_ for _ in ()).throw(ValueError("too hot")))
        yield NamedWork("second", lambda: {"value": 2})
        yield NamedWork("third", cls.third)

    @classmethod
    def third(cls) -> dict[str, int]:
        if not cls.stopped:
            raise KeyboardInterrupt
        return {"value": 3}


def test_every_game_with_kernels_is_compared() -> None:
    found = kernel_ids(small=False)
    assert len(found) > 40
    assert [id for id in games.ids() if id not in found and not games.package_of(id) and "Pokemon" not in id] == []


def test_engines_that_differ_are_told_apart() -> None:
    one, same, other = (make_engine("HanabiTiny2P-v0", 16, seed=seed) for seed in (1, 1, 2))
    moves, found = same_games(one, same, longest=60)
    assert moves > 8
    assert found == []
    moves, found = same_games(one, other, longest=60)
    assert moves == 0
    assert any(line.startswith("move 0: observation") for line in found)


def test_bytes_that_go_to_the_host_are_counted() -> None:
    far = torch.empty(3, 5, device="meta")
    with TransferCounter() as counter:
        far + 1
        torch.ones(4).to(torch.float64)
        torch.zeros_like(far, device="cpu")  # stands for a copy, which device "meta" cannot make
    assert counter.to_host == 3 * 5 * 4


def test_a_library_that_is_not_there_is_named():
    row = peer_rate("no_such_library", "timesteps_per_second", 0.1, "jax_ippo", "4", "4", "16", "1", "8")
    assert row == {"missing": "not installed: pip install no_such_library"}


def test_ppo_over_jaxmarl_runs():
    pytest.importorskip("jaxmarl")
    row = peer_rate("jaxmarl", "timesteps_per_second", 0.1, "jax_ippo", "4", "4", "16", "1", "8")
    assert row["timesteps_per_second"] > 0
