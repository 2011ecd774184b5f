"""URLs where files and folders may stand: the same results as in a folder, here or on the next machine, whatever ends the job."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ludory.arguments import UrlUse, as_typed, located_out, urls_located_by
from ludory.arguments.urls import located
from ludory.benchmarks.faults import outcomes
from ludory.cli import main
from ludory.cli.common.guard import INPUT
from ludory.data.storage import LIST, fetch, store
from ludory.errors import OutputError

GAME = "HanabiTiny2P-v0"
RECORD = f"record random hanabi/piers --game {GAME} --shard-games 10 --seed 3"
PPO = (
    f"train ppo --env {GAME} --policy mlp(hidden=(16,)) --num-envs 16 --n-steps 8 --batch-size 64 --seed 3 --save-every 0.1 "
    "--eval-games 0 --untuned --resume"
)
LEAGUE = (
    "--env KuhnPoker-v0 --timesteps 12000 --eval-games 0 --resume --unit 480 --slice-steps 240 --games-per-match 8 --evaluation-games 8 --anchors random "
    "--seed 5"
)
LEARNER = "-- --num-envs 16 --n-steps 8 --batch-columns 16"


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/store/run" if request.param == "file" else f"memory://{tmp_path.name}/store/run"


def typed(command: str, *more: str) -> int:
    return main([*command.split(), *more])


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_recording_is_stored_as_a_folder_would_have_it(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(f"{RECORD} --games 30 --out {tmp_path}/local") == 0
    assert typed(f"{RECORD} --games 30 --out {url} --work {tmp_path}/a") == 0
    said = capsys.readouterr().out.splitlines()
    assert f" in {url} (4 files, " in said[-1]
    assert said[-3:-1] == [f"  ludory watch {url} --row 0", f"  ludory train bc --data {url}"]
    fetch(url, tmp_path / "copy")
    assert files(tmp_path / "copy") == files(tmp_path / "local")


def test_what_is_read_may_be_a_url(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a recording, of a model, and of a folder of --config; --json stays JSON."""
    assert typed(f"{RECORD} --games 30 --out {url}/games --work {tmp_path}/a") == 0
    learn = f"--data {url}/games --policy mlp(hidden=(8,)) --num-epochs 1 --split-ratio 0.8 0.2 0 --eval-games 0"
    config = tmp_path / "bc.yaml"
    config.write_text(f"out: {url}/clone.ludory\n")
    assert typed(f"train bc {learn} --config {config} --work {tmp_path}/a") == 0
    capsys.readouterr()
    assert typed(f"eval {url}/clone.ludory --game {GAME} --games 20 --json --work {tmp_path}/b") == 0
    said = capsys.readouterr()
    assert said.out.startswith("{")
    assert f"{url}/clone.ludory is read from its copy in {tmp_path}/b/" in said.err
    assert typed(f"watch {url}/games --json --work {tmp_path}/b") == 0


def test_the_commands_to_type_next_name_the_url(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do what they say on another machine, which has nothing but the store."""
    assert typed(f"{PPO} --timesteps 256 --eval-games 10 --out {url}/model.ludory --work {tmp_path}/a") == 0
    said = capsys.readouterr().out
    commands = [
        shlex.split(line)[1:] for line in said.partition("next:\n")[2].splitlines() if line.startswith("  ludory ")
    ]
    assert [f"{url}/model.ludory" in command for command in commands] == [True, True, True]
    assert f"{tmp_path}/a" not in said.partition("next:\n")[2].rpartition("\n  ")[2].splitlines()[0]
    monkeypatch.chdir(tmp_path)
    for command in commands[:2]:
        assert main([*command, "--work", f"{tmp_path}/b"]) == 0
    assert typed(f"{' '.join(commands[2])} --policy mlp(hidden=(16,)) --work {tmp_path}/b") == 0
    assert "512 timesteps" in capsys.readouterr().out


def test_a_file_is_named_as_it_was_typed() -> None:
    def locate(use: UrlUse) -> str:
        return {"s3://b/run?region=x&profile=y": "/copies/1", "s3://b/a.ludory": "/copies/2/a.ludory"}[use.url]

    assert as_typed("runs/x") == "runs/x"
    assert as_typed("my runs/x") == "'my runs/x'"
    with urls_located_by(locate):
        for url in ("s3://b/run?region=x&profile=y", "s3://b/a.ludory"):
            located(UrlUse(url, "--out", "", True, "ludory record", {}))
        assert as_typed("/copies/1") == "'s3://b/run?region=x&profile=y'"
        assert (
            as_typed(Path("/copies/1/players/main@3.ludory")) == "'s3://b/run/players/main@3.ludory?region=x&profile=y'"
        )
        assert as_typed("/copies/2/a.ludory") == "s3://b/a.ludory"
        assert as_typed("/copies/10/a") == "/copies/10/a"
    assert as_typed("/copies/1") == "/copies/1"


def test_a_clone_goes_on_elsewhere_and_writes_there(tmp_path: Path) -> None:
    """Its checkpoint names the folder of its logs and its data, which lie elsewhere on the next machine."""
    data, out = f"file://{tmp_path}/store/games", f"file://{tmp_path}/store/clone"
    assert typed(f"{RECORD} --games 30 --out {data} --work {tmp_path}/a") == 0
    learn = f"--data {data} --policy mlp(hidden=(8,)) --split-ratio 0.8 0.2 0 --eval-games 0 --seed 3 --resume --out"
    assert typed(f"train bc --num-epochs 2 {learn} {tmp_path}/local/clone.ludory --work {tmp_path}/c") == 0
    assert typed(f"train bc --num-epochs 1 {learn} {out} --work {tmp_path}/a") == 0
    before = files(tmp_path / "a")
    assert typed(f"train bc --num-epochs 2 {learn} {out} --work {tmp_path}/b") == 0
    assert files(tmp_path / "a") == before
    fetch(out, tmp_path / "copy")
    assert outcomes.weights(tmp_path / "copy/clone.ludory") == outcomes.weights(tmp_path / "local/clone.ludory")
    assert (tmp_path / "copy/clone/epoch_2.ludory").exists()


@pytest.mark.slow
def test_a_league_is_read_where_it_is_stored(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = f"train league {LEAGUE.replace('12000', '1000')} --teacher {teacher(tmp_path)} --out {url} --work {tmp_path}/a {LEARNER}"
    assert typed(run) == 0
    assert typed(f"league status {url} --work {tmp_path}/b") == 0
    assert "KuhnPoker-v0: " in capsys.readouterr().out
    assert typed(f"league report {url} --out {tmp_path}/report --work {tmp_path}/b") == 0
    assert (tmp_path / "report/report.json").exists()
    assert typed(f"train league --out {url} --resume --timesteps 1500 --work {tmp_path}/b") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"stored {tmp_path}/b/")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            f"{RECORD} --out nonsense://bucket/run",
            "unknown scheme 'nonsense'; must be file://, s3://, gs://, or one of",
        ),
        (f"{RECORD} --out=smb://host/run", "needs a package of fsspec that is not installed"),
        (f"{RECORD} --out file://FOLDER/plain/run", "cannot be read or written"),
        (f"{RECORD} --out memory://run --push-every soon", "--push-every soon: must be a number"),
        (f"{RECORD} --out memory://run --push-every 0", "must be a number of seconds above 0"),
        (f"{RECORD} --out memory://run --work", "--work needs a value"),
        (f"{RECORD} --out games --work there", "record: --work is for URLs, such as --out s3://bucket/run"),
        (f"{RECORD} --out memory://", "must end with a name, such as s3://bucket/run"),
        ("league status memory://missing/league", "nothing is stored there; `ludory storage push FOLDER"),
        (f"eval memory://missing/model.ludory --game {GAME}", "nothing is stored there"),
        ("bench arena --out nonsense://bucket/run", "unknown scheme 'nonsense'"),
    ],
)
def test_wrong_uses_are_one_line_and_begin_nothing(
    command: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").write_text("a file where a folder would be")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    assert typed(command.replace("FOLDER", str(tmp_path))) == INPUT
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert not [name for name in files(tmp_path) if name.endswith((".parquet", ".json"))]


def test_a_printed_configuration_has_the_url_and_asks_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed(f"{RECORD} --out s3://bucket/run --print-config") == 0
    assert "out: s3://bucket/run" in capsys.readouterr().out


def test_benchmarks_with_parsers_of_their_own_take_urls() -> None:
    with urls_located_by(lambda use: f"/copy/{use.url[5:]}" if use.writes else "read"):
        assert (located_out("s3://run"), located_out("run")) == (Path("/copy/run"), Path("run"))


def test_another_machines_work_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"file://{tmp_path}/store/run"
    for machine, games in (("a", 10), ("b", 20)):
        assert typed(f"{RECORD} --games {games} --out {url} --work {tmp_path}/{machine}") == 0
    (folder,) = (tmp_path / "a/stores").glob("*/run")
    (folder / "more").write_text("of this machine")
    assert typed(f"{RECORD} --games 30 --out {url} --work {tmp_path}/a") == INPUT
    assert "has been changed, and so has the copy of this machine" in capsys.readouterr().err
    assert not list(folder.glob("part-00002*"))


def test_a_store_that_is_gone_at_the_end_is_told_and_the_files_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ludory.cli.common import stored
    from ludory.data.storage import Sender

    def gone(self: Sender, *found: Any) -> None:
        raise OutputError("memory://gone/run: cannot be read or written")

    monkeypatch.setattr(stored, "PAUSES", (0.0,))
    monkeypatch.setattr(Sender, "deliver", gone)
    assert typed(f"{RECORD} --games 10 --out memory://gone/run --work {tmp_path}/a") == INPUT
    said = capsys.readouterr().err
    (folder,) = (tmp_path / "a/stores").glob("*/run")
    assert f"what was made is in {folder}: `ludory storage push {folder} memory://gone/run`" in said
    assert len(list(folder.glob("*.parquet"))) == 1


def test_what_a_failed_job_made_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ludory.agents.evaluation import record as recording

    def fails(agents: Any, game: Any, games: int, out: str, *more: Any, **options: Any) -> None:
        Path(out).mkdir()
        (Path(out) / "first").write_text("made")
        raise OutputError("the rest cannot be made")

    monkeypatch.setattr(recording, "record", fails)
    assert typed(f"{RECORD} --games 10 --out memory://failed/run --work {tmp_path}/a") == INPUT
    said = capsys.readouterr()
    assert said.out.startswith("stored ")
    assert said.err == "ludory: the rest cannot be made\n"
    fetch("memory://failed/run", tmp_path / "copy")
    assert files(tmp_path / "copy") == {"first": b"made"}


def started(command: str, work: Path) -> subprocess.Popen[str]:
    words = command.split()
    place = words.index("--") if "--" in words else len(words)
    words[place:place] = ["--push-every", "0.2", "--work", str(work)]
    return subprocess.Popen([sys.executable, "-m", "ludory", *words], stdout=subprocess.PIPE, text=True)


def ended_in_the_middle(command: str, work: Path, folder: Path, number: int, lists: int = 3) -> str:
    """Start a command, and send it a signal when the store has had several lists; returns what it printed."""
    seen = set()
    with started(command, work) as process:
        while len(seen) < lists:
            assert process.poll() is None, "it ended before it was stopped"
            if (folder / LIST).exists():
                seen.add((folder / LIST).read_bytes())
            time.sleep(0.02)
        process.send_signal(number)
        said = process.communicate(timeout=120)[0]
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    return said


def teacher(folder: Path) -> Path:
    import ludory

    file = folder / "teacher.ludory"
    policy = "mlp(hidden=(8,))"
    ludory.make_algorithm("vtrace", env="KuhnPoker-v0", policy=policy, num_envs=2, seed=3).save_policy(file)
    return file


JOBS: dict[str, tuple[str, str, Callable[[Path], Any]]] = {
    "record": (f"{RECORD} --games 6000 --out OUT", "", outcomes.recorded_games),
    "ppo": (f"{PPO} --timesteps 60000 --out OUT", "", lambda folder: outcomes.weights(folder / "run.ludory")),
    "league": (
        f"train league {LEAGUE} --teacher FOLDER/teacher.ludory --out OUT {LEARNER}",
        "train league --out OUT --resume --eval-games 0",
        outcomes.league,
    ),
}
"""The command, the one that goes on if it is another, and how its results are compared."""


@pytest.mark.slow
@pytest.mark.optimised  # as in the process that is killed
@pytest.mark.parametrize("job", JOBS)
def test_a_killed_job_goes_on_at_another_machine_to_the_same_results(job: str, tmp_path: Path) -> None:
    command, again, result = JOBS[job]
    teacher(tmp_path)
    command = command.replace("FOLDER", str(tmp_path))
    folder = tmp_path / "local"
    assert typed(command.replace("OUT", f"{folder}/run" if job == "ppo" else str(folder))) == 0
    url = f"file://{tmp_path}/store/run"
    ended_in_the_middle(command.replace("OUT", url), tmp_path / "a", tmp_path / "store/run", signal.SIGKILL)
    fetch(url, tmp_path / "half")
    assert result(tmp_path / "half") != result(folder)
    assert typed(f"{again or command} --work {tmp_path}/b".replace("OUT", url)) == 0
    fetch(url, tmp_path / "copy")
    assert result(tmp_path / "copy") == result(folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_stopped_job_made_is_stored(number: int, tmp_path: Path) -> None:
    """All of it, not only what the last copy in the background had."""
    url = f"file://{tmp_path}/store/run"
    said = ended_in_the_middle(
        f"{RECORD} --games 20000 --out {url}", tmp_path / "a", tmp_path / "store/run", number, lists=2
    )
    assert said.splitlines()[-1].startswith(f"stored {tmp_path}/a/stores/")
    (folder,) = (tmp_path / "a/stores").glob("*/run")
    fetch(url, tmp_path / "copy")
    assert files(tmp_path / "copy") == {name: one for name, one in files(folder).items() if not name.startswith(".")}


def test_a_folder_that_was_pushed_by_hand_can_be_worked_at(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/store/run"
    assert typed(f"{RECORD} --games 20 --out {tmp_path}/local") == 0
    store(tmp_path / "local", url)
    assert typed(f"{RECORD} --games 20 --out {url} --work {tmp_path}/a") == 0
    fetch(url, tmp_path / "copy")
    assert files(tmp_path / "copy") == files(tmp_path / "local")
