"""The worker answers every line, and a bad one changes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ludory.envs.pokemon.backends import install
from ludory.envs.pokemon.backends.install import Installation
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.worker import Worker, chance_seed, played_out
from ludory.errors import BackendError, BackendTimeout, OptionError

SEED = '"gen5,0123456789abcdef"'
GAME = f'{{"i":0,"format":"gen1randombattle","seed":{SEED},"p1":{{"seed":{SEED}}},"p2":{{"seed":{SEED}}}}}'


def with_game(**changed: object) -> str:
    return json.dumps({"n": 1, "op": "reset", "games": [json.loads(GAME) | changed]})


MALFORMED = [
    "x", "{", "[]", "[1]", "1", "null", "true", '"hello"', "{}", '{"op":null}', '{"op":1}', '{"op":[]}', '{"op":"nothing"}',
    '{"op":"__proto__"}', '{"op":"constructor"}', '{"op":"toString"}', '{"op":"hello"} trailing', "{'op':'hello'}", '{"op":"hello",}',
    "\ufffd\ufffd", "\x00", '{"n":1', "[" * 5000, '{"op":"reset"}', '{"op":"reset","games":{}}', '{"op":"reset","games":[null]}',
    '{"op":"reset","games":[1]}', '{"op":"reset","games":["x"]}', '{"op":"reset","games":[{}]}', '{"op":"reset","games":[[]]}',
    with_game(i=-1), with_game(i="0"), with_game(i=0.5), with_game(i=None), with_game(i=1e300), with_game(format="gen9nothing"),
    with_game(format="gen9doublesou"), with_game(format=None), with_game(format=7), with_game(format="gen9ou"), with_game(seed=None),
    with_game(seed="gen5,xyz"), with_game(seed=5), with_game(seed="gen5,0123"), with_game(p1=None), with_game(p1=[]), with_game(p1="x"),
    with_game(p1={}), with_game(p1={"seed": "x"}), with_game(p1={"team": 5}), with_game(p1={"team": ""}), with_game(p2={"seed": {}}),
    '{"op":"step"}', '{"op":"step","choices":[[999,"move 1",null]]}', '{"op":"step","choices":[[0]]}', '{"op":"step","choices":[0]}',
    '{"op":"step","choices":[[0,1,2]]}', '{"op":"step","choices":[["0","move 1","move 1"]]}', '{"op":"act","games":[0],"actions":[1]}',
    '{"op":"act","games":[0],"actions":[0,0]}', '{"op":"clone","pairs":[[0]]}', '{"op":"clone","pairs":[[999,1]]}',
    '{"op":"log","games":[999]}', '{"op":"log"}', '{"op":"pack"}', '{"op":"validate","format":"x"}', '{"op":"import","games":[{"i":0}]}',
]  # fmt: skip


def start(worker: Worker, number: int = 0, seed: int = 0) -> dict[str, object]:
    seeds = {part: chance_seed(seed, number, 0, part)[0] for part in ("battle", "p1", "p2")}
    sides = {seat: {"seed": seeds[seat]} for seat in ("p1", "p2")}
    (reply,) = worker.reset([{"i": number, "format": "gen1randombattle", "seed": seeds["battle"], **sides}])["games"]
    return dict(reply)


def test_malformed_lines_are_answered_and_change_nothing(each_worker: Worker) -> None:
    assert len(MALFORMED) >= 60
    start(each_worker)
    before = each_worker.log([0])
    for line in MALFORMED:
        answer = each_worker.ask_line(line.encode())
        assert answer["error"]["kind"] in ("protocol", "format", "team"), (line, answer)
        assert answer["error"]["text"], line
    assert each_worker.log([0]) == before


def test_refusals_are_errors_with_what_is_allowed(each_worker: Worker) -> None:
    with pytest.raises(OptionError, match="singles"):
        each_worker.reset([json.loads(GAME) | {"format": "gen9doublesou"}])
    with pytest.raises(BackendError, match="there is no game 12345"):
        each_worker.log([12345])
    assert each_worker.validate("gen9ou", "Pikachu\n- Fly\n- Splash Dance")
    assert each_worker.validate("gen1ou", "nothing|at|all")


def test_the_battle_of_the_lock_goes_as_recorded(each_worker: Worker, backend: str) -> None:
    wanted = json.loads({"sim": install.SIM, "v8": install.V8}[backend].source("battle.json"))
    assert played_out(each_worker, wanted["format"], wanted["key"], 77)["log_sha256"] == wanted["log_sha256"]


def test_copies_go_on_alike(each_worker: Worker) -> None:
    """A clone, and an export that is imported again, take the same choices to the same log."""
    reply = start(each_worker, 0)
    for _ in range(6):
        (reply,) = each_worker.step([(0, *("move 1" if request else None for request in reply["req"]))])["games"]
        reply = {"req": [request if request and "active" in request else None for request in reply["req"]]}
        if None in reply["req"]:
            break
    each_worker.clone([(0, 1)])
    each_worker.import_games({2: each_worker.export([0])[0]})
    logs = each_worker.log([0, 1, 2])
    assert logs[0]["log"] == logs[1]["log"] == logs[2]["log"]
    reports = each_worker.report([0, 1, 2])
    assert reports[0]["req"] == reports[1]["req"] == reports[2]["req"]
    assert reports[0]["order"] == reports[1]["order"] == reports[2]["order"]


def test_a_crash_in_one_battle_leaves_the_others_alone(each_worker: Worker) -> None:
    """A battle whose state was damaged crashes at its next step, is told with its input log, and refuses more; it can begin anew."""
    for number in (0, 1, 2):
        start(each_worker, number)
    content = json.loads(each_worker.export([1])[0])
    for side in content["state"]["sides"]:
        side["pokemon"][0]["modifiedStats"] = None
    each_worker.import_games({1: json.dumps(content)})
    first, crashed, last = each_worker.step([(number, "move 1", "move 1") for number in (0, 1, 2)])["games"]
    assert "modifiedStats" in crashed["crash"]["text"] or "TypeError" in crashed["crash"]["text"]
    assert crashed["crash"]["input_log"][0].startswith(">start")
    assert first["turn"] == last["turn"] == 2
    with pytest.raises(BackendError, match="game 1 crashed before; reset it"):
        each_worker.step([(1, "move 1", "move 1")])
    each_worker.step([(0, "move 1", "move 1"), (2, "move 1", "move 1")])
    assert start(each_worker, 1)["turn"] == 1


def test_closing_twice_and_asking_afterwards(simulator: Installation) -> None:
    worker = SimWorker(simulator)
    pid = worker.pid
    worker.close()
    worker.close()
    with pytest.raises(BackendError, match="closed"):
        worker.log([])
    assert not Path(f"/proc/{pid}").exists()


def test_a_dead_child_is_told_with_its_exit_code(simulator: Installation) -> None:
    worker = SimWorker(simulator)
    os.kill(worker.pid, 9)
    with pytest.raises(BackendError, match="died with exit code -9"):
        worker.log([])


def test_a_silent_child_is_ended_in_time(simulator: Installation) -> None:
    worker = SimWorker(simulator, timeout=1.0)
    os.kill(worker.pid, 19)
    with pytest.raises(BackendTimeout, match="did not answer"):
        worker.log([])
    assert not Path(f"/proc/{worker.pid}").exists()


def test_a_child_that_dies_at_its_start_is_told_with_its_last_lines(
    simulator: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much it wrote: a full pipe holds up nobody, and only the last 20 lines are kept."""
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\nseq 1 50000 >&2\necho the last word >&2\nexit 3\n")
    node.chmod(0o755)
    with pytest.raises(BackendError, match="died with exit code 3 at 'hello'") as told:
        SimWorker(Installation(simulator.folder, node))
    lines = str(told.value).splitlines()[1:]
    assert len(lines) <= 20
    assert lines[-1] == "the last word"


def test_a_child_gets_a_short_environment(
    simulator: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDORY_TEST_SECRET", "told to nobody")
    with SimWorker(simulator) as worker:
        names = {entry.split("=")[0] for entry in Path(f"/proc/{worker.pid}/environ").read_text().split("\0") if entry}
    assert names <= {"PATH", "LANG", "LC_ALL", "TMPDIR", "TZ"}


def test_a_child_has_no_socket_and_ctrl_c_does_not_reach_it(simulator: Installation) -> None:
    with SimWorker(simulator) as worker:
        opened = [os.readlink(entry) for entry in Path(f"/proc/{worker.pid}/fd").iterdir()]
        assert opened
        assert not any(place.startswith("socket:") for place in opened), opened
        assert os.getpgid(worker.pid) != os.getpgid(0)
        os.kill(worker.pid, signal.SIGINT)
        assert worker.log([]) == []


ORPHAN = """
import os, sys
from ludory.envs.pokemon.backends.sim import SimWorker
worker = SimWorker()
print(worker.pid, flush=True)
if sys.argv[1] == "fork" and os.fork() == 0:
    import time
    time.sleep(20)
    os._exit(0)
if sys.argv[1] == "error":
    raise ValueError("on purpose")
if sys.argv[1] != "exit":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["kill", "fork", "error", "exit"])
def test_no_child_outlives_its_parent(simulator: Installation, how: str) -> None:
    """Killed, killed while a fork holds the pipes open, ended by an error, ended without closing."""
    started = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    started.wait()
    end = time.monotonic() + 120
    while time.monotonic() < end and _alive(pid):
        time.sleep(0.1)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
