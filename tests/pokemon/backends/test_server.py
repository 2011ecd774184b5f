"""Battles on a real Showdown server: the same game as on the simulator, poke-env's own choices, and nothing left behind.

They need `ludory pokemon install --server`, which is an extra: without it they skip with that line.
"""

import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import ludory
from ludory.agents.make import make_agent
from ludory.envs.pokemon.backends.server import ServerWorker
from ludory.envs.pokemon.backends.showdown import ShowdownServer, server_installation
from ludory.envs.pokemon.requests import seat_request
from ludory.errors import BackendError, OptionError, PluginError

FORMATS = ("gen1randombattle", "gen4randombattle", "gen9randombattle", "gen9battlefactory")
BATTLES = int(os.environ.get("LUDORY_POKEMON_PARITY", "4"))
"""Battles per format in which every decision is compared; the committed figures are of 200."""


@pytest.fixture(scope="module", autouse=True)
def server():
    if os.environ.get("LUDORY_REQUIRE_POKEMON") == "0":
        pytest.skip("battles are played by: make test-pokemon")
    try:
        server_installation()
    except PluginError:
        pytest.skip("the server is not installed; type: ludory pokemon install --server")


def group(pid):
    """Running processes of a process group."""
    found = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in found if line.split()[0] == str(pid) and not line.split()[1].startswith("Z")]


@pytest.mark.parametrize("format", FORMATS)
def test_simple_heuristics_chooses_what_poke_env_chooses(format):
    engine = ludory.make_engine("Pokemon-v0", BATTLES, format=format, backend="server")
    ours, theirs = (
        make_agent(f"pokemon/{name}", engine.game) for name in ("simple-heuristics", "poke-env(SimpleHeuristicsPlayer)")
    )
    memory, same, all_ = ours.initial_memory(BATTLES), 0, 0
    try:
        engine.reset()
        while not engine.over.all():
            actions = np.zeros((BATTLES, 2, 1), np.int64)
            for seat in (0, 1):
                rows = np.flatnonzero(engine.deciding[:, seat])
                if not len(rows):
                    continue
                mine, other = ours.choose(engine, seat, rows, memory), theirs.choose(engine, seat, rows, None)
                free = engine.entity[rows, seat, 860 + 50] == 0  # both draw their lead at a preview
                same += int((mine == other)[free].sum())
                all_ += int(free.sum())
                actions[rows, seat, 0] = other
            engine.step(actions)
    finally:
        engine.close()
    assert all_ > 20 * BATTLES
    expected = 0.005 * all_
    assert all_ - same <= expected + 3 * expected**0.5, f"{same} of {all_}"  # a server's battles differ in every run


def test_orders_of_a_server_are_those_of_the_simulator(worker):
    """A battle of the server, played again in the simulator with the same choices up to the first chance that differs: the first orders."""
    with ServerWorker() as server:
        (told,) = server.reset([{"i": 0, "format": "gen9battlefactory", "p1": {}, "p2": {}}])["games"]
        assert told["order"] == [[0, 1, 2, 3, 4, 5]] * 2
        (told,) = server.step([(0, "team 3", "team 6")])["games"]
        assert told["order"] == [[2, 0, 1, 3, 4, 5], [5, 0, 1, 2, 3, 4]]
    seeds = {"seed": "gen5,0123456789abcdef"}
    worker.reset([{"i": 0, "format": "gen9battlefactory", **seeds, "p1": seeds, "p2": seeds}])
    (same,) = worker.step([(0, "team 3", "team 6")])["games"]
    assert same["order"] == told["order"]


def test_switches_follow_the_request_of_the_server():
    with ServerWorker() as server:
        (told,) = server.reset([{"i": 3, "format": "gen1randombattle", "p1": {}, "p2": {}}])["games"]
        for _ in range(6):
            asked = seat_request(told["req"][0], told["order"][0], 1)
            switches = [choice for choice in asked.choices if choice and choice.startswith("switch")]
            other = [choice for choice in seat_request(told["req"][1], told["order"][1], 1).choices if choice]
            if not switches:
                break
            before = told["order"][0]
            (told,) = server.step([(3, switches[-1], other[0] if other else None)])["games"]
            if told["end"] or not told["req"][0] or told["req"][0].get("forceSwitch"):
                break
            place = int(switches[-1].split()[1]) - 1
            assert told["order"][0][0] == before[place]
            assert sorted(told["order"][0]) == list(range(6))


def test_what_a_server_cannot_do_is_refused_with_the_backend_that_can():
    with pytest.raises(OptionError, match="issue 11452; use backend='sim'"):
        ludory.make_engine("PokemonGen1RandomBattle-v0", 1, seed=3, backend="server")
    with ServerWorker() as server:
        with pytest.raises(BackendError, match="use backend='sim'"):
            server.clone([(0, 1)])
        server.reset([{"i": 0, "format": "gen1randombattle", "p1": {}, "p2": {}}])
        with pytest.raises(BackendError, match=r"no player 'NobodyPlayer'; it has .*SimpleHeuristicsPlayer"):
            server.advise("NobodyPlayer", [(0, 0)])


def test_a_taken_port_is_named_and_nothing_stays():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BackendError, match=f"port {port} is taken; type port=0"):
            ShowdownServer(port)


def test_close_ends_all_processes_and_may_be_called_twice():
    server = ShowdownServer()
    assert len(group(server.pid)) > 2
    server.close()
    server.close()
    assert not group(server.pid)


def test_the_server_dies_with_a_killed_parent():
    script = "from ludory.envs.pokemon.backends.server import ServerWorker as W; import time; w = W(); print(w.server.pid, w.pid, flush=True); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 120
    while any(group(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not any(group(pid) for pid in pids)
