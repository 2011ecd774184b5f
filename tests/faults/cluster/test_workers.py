"""`Workers`: the promises that both implementations keep."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faults.cluster import parts

from ludory.benchmarks.faults.two_nodes import Killer, TwoNodes
from ludory.cli import main
from ludory.cluster.connection import check_answers
from ludory.cluster.failure import LostWork
from ludory.cluster.placement import PlacedOn
from ludory.cluster.workers import Workers
from ludory.errors import LostWorkerError, OptionError


def test_results_come_in_the_order_of_the_tasks(workers: Workers) -> None:
    assert list(workers.map(parts.square, range(40))) == [number**2 for number in range(40)]
    assert list(workers.map(parts.square, [])) == []


def test_no_more_tasks_are_taken_than_are_needed_soon(workers: Workers) -> None:
    taken = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    results = workers.map(parts.slow_square, tasks())
    assert next(iter(results)) == 0
    assert len(taken) < 20


def test_an_error_of_a_task_is_raised_as_it_was(workers: Workers) -> None:
    with pytest.raises(OptionError, match="0: not today"):
        list(workers.map(parts.refuse, range(3)))


def test_results_before_an_error_are_kept(workers: Workers) -> None:
    results = workers.map(parts.refuse_from_30, range(60))
    assert [next(results) for _ in range(30)] == list(range(30))
    with pytest.raises(OptionError, match="30: not today"):
        next(results)


def test_short_tasks_are_sent_together(ray_workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, remote = [], ray_workers._run.remote

    def counted(function: Any, tasks: Any) -> Any:
        sent.append(list(tasks))
        return remote(function, tasks)

    monkeypatch.setattr(ray_workers, "_run", SimpleNamespace(remote=counted))
    assert list(ray_workers.map(parts.square, range(400))) == [number**2 for number in range(400)]
    assert [task for bundle in sent for task in bundle] == list(range(400)), "each is sent once, in order"
    assert len(sent) < 100
    sent.clear()
    assert list(ray_workers.map(parts.slow_square, range(6))) == [number**2 for number in range(6)]
    assert len(sent) == 6, "long ones go alone, for which the cores take turns"


def test_an_actor_keeps_its_state_between_calls(workers: Workers) -> None:
    actor = workers.actor(parts.Counter, 5)
    pending = [actor.call("add", number) for number in (1, 2)]
    assert workers.first(pending) in (0, 1)
    assert [one.result() for one in pending] == [6, 8]
    assert actor.call("add", workers.share(10)).result() == 18, "what is shared arrives as it was"
    with pytest.raises(OptionError, match="not today"):
        actor.call("refuse").result()
    assert actor.call("add", 0).result() == 18, "an error does not end it"
    actor.close()


def test_what_is_shared_with_a_call_lives_until_it_is_read(workers: Workers) -> None:
    actor = workers.actor(parts.Counter, workers.share(5))
    pending = actor.call("add", workers.share(10))  # nobody else holds it
    assert pending.result() == 15
    started = workers.start(parts.square, workers.share(4))
    assert started.result() == 16
    actor.close()


def test_a_lost_actor_is_told(ray_workers: Workers) -> None:
    actor = ray_workers.actor(parts.Counter, 5)
    with pytest.raises(LostWorkerError):
        actor.call("die").result()


def test_a_task_that_kills_its_workers_ends_the_job_with_advice(
    ray_workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludory.cluster.ray_workers.LostWork", lambda what: LostWork(what, most=2))
    with pytest.raises(LostWorkerError, match=r"task 0 lost 2 workers one after another.*smaller parts"):
        list(ray_workers.map(parts.die, [1]))
    with pytest.raises(LostWorkerError, match="task 50 lost 2 workers"):  # those that were sent with it are not blamed
        list(ray_workers.map(parts.die_at_50, range(100)))


def test_a_process_that_a_task_kills_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tasks = [(tmp_path / str(number), number) for number in range(6)]
    with PlacedOn(jobs=2).open() as processes:
        assert processes is not None
        assert list(processes.map(parts.die_once, tasks)) == list(range(6))
    assert sum("lost its worker" in record.message for record in caplog.records) == 6


def test_a_call_that_is_given_up_ends_its_process() -> None:
    with PlacedOn(jobs=1).open() as processes:
        assert processes is not None
        forever = processes.start(time.sleep, 1e6)
        while forever.worker is None:  # type: ignore[attr-defined]
            time.sleep(0.01)
        forever.cancel()
        assert processes.start(parts.square, 3).result() == 9


def test_tasks_of_killed_workers_are_made_again(two_nodes: TwoNodes) -> None:
    with Killer(two_nodes, seed=1, pause=0.4, most=5) as killer:
        assert list(two_nodes.workers.map(parts.slow_square, range(24))) == [number**2 for number in range(24)]
    assert killer.kills


@pytest.mark.parametrize("address", ["nowhere", "host", ":6379", "a b:1"])
def test_a_wrong_address_is_refused(address: str) -> None:
    with pytest.raises(OptionError, match="must be local, auto or HOST:PORT"):
        PlacedOn(ray=True, address=address)


def test_an_address_at_which_no_cluster_answers_is_refused_soon() -> None:
    """Ray itself says nothing for 40 s."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        head = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=r"did not answer within 0\.2 s"):
            check_answers(head, seconds=0.2)
    with pytest.raises(ConnectionError, match=r"127.0.0.1:1 cannot be reached \(Connection refused\)"):
        check_answers("127.0.0.1:1")
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        answering = threading.Thread(target=other.handle_request)
        answering.start()
        with pytest.raises(ConnectionError, match="is no Ray cluster"):
            check_answers(f"127.0.0.1:{other.server_port}")
        answering.join()


def test_the_error_says_what_was_tried_and_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: Any = SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setattr("ludory.cluster.connection.ray_module", lambda name="ray": found)
    assert main(["cluster", "status", "--address", "127.0.0.1:1"]) != 0
    said = capsys.readouterr().err
    assert "no Ray cluster at '127.0.0.1:1'" in said
    assert "Connection refused" in said
    assert "ray start --head --port=PORT" in said


def test_an_address_without_ray_is_a_mistake() -> None:
    with pytest.raises(OptionError, match="add --ray"):
        PlacedOn(address="auto")
    with pytest.raises(OptionError, match="leave out --jobs, or --ray"):
        PlacedOn(ray=True, jobs=2)
    with pytest.raises(OptionError, match="jobs=-1: must be a number of processes"):
        PlacedOn(jobs=-1)
    with PlacedOn().open() as workers:
        assert workers is None


def test_without_ray_the_package_is_light_and_says_what_to_install() -> None:
    code = """
import sys
sys.modules["ray"] = None
from ludory.cluster import PlacedOn
assert not {"torch", "numba", "pyarrow"} & set(sys.modules)
try:
    with PlacedOn(ray=True).open():
        pass
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == 'Ray is not installed; type: pip install "ludory[ray]"'


def test_the_status_names_the_machines(two_nodes: TwoNodes, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "status", "--address", two_nodes.address, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cores"] >= 2
    assert sum(one["up"] for one in found["machines"]) >= 3
