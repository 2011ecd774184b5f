"""Training runs: what is found below a folder, curves as `ludory plot` has them, live pages, evaluations of checkpoints."""

from __future__ import annotations

import asyncio
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.windows.unix import needs_unix

from ludory import make_algorithm
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.cli import main
from ludory.errors import OptionError, UnknownIdError
from ludory.web import runs
from ludory.web.app import WebSettings
from ludory.web.pages.runs import _all_that_is_listed
from ludory.web.runs import REWARD, CheckpointEvaluation, CurveView
from ludory.web.slices import CHANGED, when_changed

GAME = "HanabiTiny2P-v0"
HEADER = "time/total_timesteps,time/elapsed,rollout/ep_rew_mean\n"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two short trainings that differ in seed and learning rate, the second resumed; and one with TensorBoard's log alone."""
    folder = tmp_path_factory.mktemp("runs")
    shape = {"env": GAME, "num_envs": 8, "n_steps": 8, "hidden": (8,), "batch_size": 32}
    for seed, rate, steps in ((1, 1e-3, (128,)), (2, 5e-4, (128, 256))):
        algorithm = make_algorithm("ppo", **shape, seed=seed, learning_rate=rate)
        for total in steps:
            train_to_file(algorithm, total, folder / "hanabi" / f"ppo-seed{seed}.ludory")
    algorithm = make_algorithm("ppo", **shape, seed=3)
    train_to_file(algorithm, 128, folder / "board.ludory", logs=("tensorboard",))
    return folder


def write_table(folder: Path, name: str, rows: int, lift: float = 0.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.csv"
    file.write_text(HEADER + "".join(f"{100 * k},{k},{k + lift}\n" for k in range(1, rows + 1)))
    return file


def test_runs_have_their_tables_and_checkpoints(trained: Path) -> None:
    found = runs.find_runs(trained)
    assert set(found) == {"hanabi/ppo-seed1", "hanabi/ppo-seed2", "board"}
    assert len(found["hanabi/ppo-seed2"].tables) == 2
    assert found["hanabi/ppo-seed1"].agent == "hanabi/ppo-seed1.ludory"
    row = runs.summary(found["hanabi/ppo-seed2"])
    assert (row["game"], row["algorithm"], row["timesteps"], row["parts"]) == (GAME, "ppo-v1", 256, 2)


def test_a_run_with_tensorboard_alone_has_its_curves(trained: Path) -> None:
    run = runs.find_run(trained, "board")
    assert not run.tables
    assert [x for x, _ in runs.points_of(run, "train/loss")] == [64, 128]


def test_settings_that_differ_are_told_and_no_others(trained: Path) -> None:
    found = runs.find_runs(trained)
    pair = [found["hanabi/ppo-seed1"], found["hanabi/ppo-seed2"]]
    assert runs.differences(pair) == {"config.seed": [1, 2], "config.learning_rate": [1e-3, 5e-4]}
    assert runs.differences(pair[:1]) == {}


def test_the_page_shows_what_plot_prints(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric = "train/loss"
    page = runs.compare_page(trained, [], CurveView(metric, smooth=2, seeds=True))
    shown = [one for one in page["curves"] if one["name"] == "hanabi/ppo"]
    assert main(["plot", str(trained / "hanabi"), "--metric", metric, "--smooth", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["curves"]
    assert [one["points"] for one in shown] == json.loads(json.dumps([one["points"] for one in told]))
    assert told[0]["runs"] == 2


def test_seconds_go_on_counting_in_a_resumed_part(tmp_path: Path) -> None:
    write_table(tmp_path, "ppo", 3)
    (tmp_path / "ppo-2.csv").write_text(HEADER + "400,1,9\n")
    run = runs.find_run(tmp_path, "ppo")
    assert runs.points_of(run, REWARD, runs.ELAPSED) == [(1, 1), (2, 2), (3, 3), (4, 9)]


def test_logarithmic_axes_leave_out_what_they_cannot_show(tmp_path: Path) -> None:
    write_table(tmp_path, "low", 5, lift=-3)
    run = runs.find_run(tmp_path, "low")
    assert "no numbers above 0" not in runs.chart([run], CurveView(log_x=True, log_y=True))
    write_table(tmp_path, "lower", 5, lift=-9)
    assert "no numbers above 0" in runs.chart([runs.find_run(tmp_path, "lower")], CurveView(log_y=True))


def test_an_evaluation_in_slices_is_the_evaluation_at_once(trained: Path) -> None:
    from ludory import evaluate

    found = runs.begin_evaluation(trained, "hanabi/ppo-seed1", "", 25)
    while (piece := found.next_slice()) is not None:
        function, *arguments = piece
        found = found.joined(function(*arguments))
    whole = evaluate(str(trained / "hanabi" / "ppo-seed1.ludory"), GAME, 25, 0)
    assert found.estimate == pytest.approx((float(whole.mean), float(whole.stderr)))


def test_what_cannot_be_evaluated_says_why(tmp_path: Path) -> None:
    write_table(tmp_path, "ppo", 3)
    with pytest.raises(OptionError, match="no checkpoint"):
        runs.begin_evaluation(tmp_path, "ppo", "", 100)
    with pytest.raises(UnknownIdError, match="no run"):
        runs.begin_evaluation(tmp_path, "../ppo", "", 100)


def test_a_page_hears_of_new_numbers_while_a_run_writes(tmp_path: Path) -> None:
    file = write_table(tmp_path, "ppo", 3)
    run = runs.find_run(tmp_path, "ppo")

    async def follow() -> str:
        events = when_changed(lambda: run.version, 0.01)
        await anext(events)
        with file.open("a") as handle:
            handle.write("400,4,7\n")
        return await asyncio.wait_for(anext(events), 10)

    with ThreadPoolExecutor(1) as thread:  # Playwright, in tests of the same process, keeps an event loop in this one
        assert thread.submit(asyncio.run, follow()).result() == CHANGED
    assert runs.points_of(run, REWARD)[-1] == (400, 7)


@pytest.mark.parametrize("page", ["/runs/ppo", "/runs"])
def test_a_page_hears_of_what_was_written_before_its_stream_began(
    client: TestClient, settings: WebSettings, page: str
) -> None:
    assert settings.runs is not None
    file = write_table(settings.runs, "ppo", 3)
    found = re.search(r'sse-connect="/live/[^"]*since=(\w+)"', client.get(page).text)
    assert found
    run = runs.find_run(settings.runs, "ppo")

    def look() -> Any:
        return run.version if page == "/runs/ppo" else _all_that_is_listed(settings.runs)

    async def first_news() -> str:
        events = when_changed(look, 0.01, since=found[1])
        await anext(events)
        return await asyncio.wait_for(anext(events), 0.2)

    with ThreadPoolExecutor(1) as thread:
        with pytest.raises(asyncio.TimeoutError):
            thread.submit(asyncio.run, first_news()).result()
        with file.open("a") as handle:
            handle.write("400,4,7\n")
        assert thread.submit(asyncio.run, first_news()).result() == CHANGED


def test_no_more_curves_are_drawn_than_can_be_told_apart(
    tmp_path: Path, client: TestClient, settings: WebSettings
) -> None:
    assert settings.runs is not None
    names = [f"{letter}-seed{seed}" for letter in "abcdefgh" for seed in (1, 2)]
    for name in names:
        write_table(settings.runs, name, 3)
    assert len(runs.compare_page(settings.runs, names, CurveView())["curves"]) == 6
    found = runs.compare_page(settings.runs, names, CurveView(seeds=True))["curves"]
    assert [one["runs"] for one in found] == [2] * 6
    for query in ("", "?seeds=on", "?" + "&".join(f"run={name}" for name in names)):
        assert client.get(f"/runs{query}").text.count("<li><svg") == 6


# HTTP


def test_a_server_without_runs_says_how_to_get_some(client: TestClient, settings: WebSettings) -> None:
    assert "ludory train ppo" in client.get("/runs").text
    settings_without = client.app.state.ludory  # type: ignore[attr-defined]
    settings_without.settings = WebSettings(tables=settings.tables)
    assert "ludory serve --runs" in client.get("/runs").text


def test_pages_of_runs(trained: Path, client: TestClient, settings: WebSettings) -> None:
    os.rmdir(settings.runs)  # type: ignore[arg-type]
    os.symlink(trained, settings.runs)  # type: ignore[arg-type]
    page = client.get("/runs", params={"run": ["hanabi/ppo-seed1", "hanabi/ppo-seed2"], "metric": "train/loss"})
    assert page.status_code == 200
    assert "config.learning_rate" in page.text
    assert page.text.count('class="legend"') == 1
    one = client.get("/runs/hanabi/ppo-seed2").text
    assert "resumed 1 time" in one
    assert f"/?game={GAME}&agent=hanabi%2Fppo-seed2.ludory" in unescape(one)
    assert (
        'value="hanabi/ppo-seed2.ludory"'
        in client.get("/", params={"game": GAME, "agent": "hanabi/ppo-seed2.ludory"}).text
    )
    data = client.get("/runs/hanabi/ppo-seed2", params={"json": ""}).json()
    assert data["curves"]["train/loss"] == [
        list(point) for point in runs.points_of(runs.find_run(trained, "hanabi/ppo-seed2"), "train/loss")
    ]


def test_an_evaluation_is_begun_by_its_form_and_goes_on_while_someone_reads(
    trained: Path, client: TestClient, settings: WebSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.rmdir(settings.runs)  # type: ignore[arg-type]
    os.symlink(trained, settings.runs)  # type: ignore[arg-type]

    async def here(function, *arguments):
        return function(*arguments)

    around = client.app.state.ludory  # type: ignore[attr-defined]
    monkeypatch.setattr(around.slices, "run", here)
    begun = client.post("/evaluate/hanabi/ppo-seed1", data={"games": "12", "against": "random"})
    assert begun.status_code == 200
    assert "The first deals are being played" in begun.text
    id = str(begun.url).partition("evaluation=")[2].partition("#")[0]
    assert client.get(f"/live/evaluation/{id}").text.endswith("event: done\ndata:\n\n")
    value = around.refinements.get(id).value
    assert isinstance(value, CheckpointEvaluation)
    assert len(value.returns) == 12
    assert "of 12 of 12 deals" in client.get(f"/runs/hanabi/ppo-seed1?evaluation={id}").text
    for wrong in ({"games": "1"}, {"games": "1e9"}, {"games": "10", "against": "/etc/passwd"}):
        assert client.post("/evaluate/hanabi/ppo-seed1", data=wrong).status_code == 400


@pytest.mark.parametrize("query", ["smooth=0", "smooth=x", "across=seconds", "smooth=999"])
def test_a_view_that_is_not_allowed_is_refused_in_words(client: TestClient, query: str) -> None:
    answer = client.get(f"/runs?{query}")
    assert answer.status_code == 400
    assert "must be" in answer.text


@needs_unix("Windows has no such names of files")
def test_names_from_files_are_escaped(client: TestClient, settings: WebSettings) -> None:
    assert settings.runs is not None
    write_table(settings.runs, HOSTILE, 3)
    key = next(iter(runs.find_runs(settings.runs)))
    for address in ("/runs", f"/runs/{key}"):
        page = client.get(address)
        assert page.status_code == 200
        assert "<img src=x" not in page.text
        assert "&lt;img src=x" in page.text


@pytest.mark.parametrize(
    "key", ["..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", "secret", "..", "linked/secret", "a" * 3000]
)
def test_only_what_was_found_below_the_folder_is_opened(
    client: TestClient, settings: WebSettings, tmp_path: Path, key: str
) -> None:
    assert settings.runs is not None
    write_table(tmp_path / "outside", "secret", 3)
    os.symlink(tmp_path / "outside", settings.runs / "linked")
    os.symlink(tmp_path / "outside" / "secret.csv", settings.runs / "secret.csv")
    assert runs.find_runs(settings.runs) == {}
    answer = client.get(f"/runs/{key}")
    assert answer.status_code in (404, 414) or not answer.url.path.startswith(
        "/runs/"
    )  # a client may resolve dots itself
    assert "secret" not in answer.text.replace("linked/secret", "").replace("&#39;secret&#39;", "")
