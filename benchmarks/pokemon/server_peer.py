"""What `ludory bench pokemon` compares itself with: random players of poke-env on a local Showdown server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from ludory.benchmarks.harness.worker_process import PEERS, MissingContestant, Sample
from ludory.envs.pokemon.backends.showdown import ShowdownServer, server_installation
from ludory.errors import PluginError

WARM_UP = 16
"""Battles before the clock starts."""


def server_sample(format: str, battles: int = 100) -> Sample:
    """Turns (`steps`) of battles of generated teams, with the processor time of the client, the server and the server's processes.

    Raises:
        MissingContestant: the server or poke-env is not installed, or the client ended.
    """
    try:
        _, python = server_installation()
        server = ShowdownServer()
    except PluginError as error:
        raise MissingContestant(str(error)) from error
    command = [str(python), "-I", str(PEERS / "poke_env_random.py"), str(server.port), format]
    with server, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        try:
            _play(client, WARM_UP)
            before = _group_seconds(server.pid)
            found = _play(client, battles)
            cpu = found["cpu_seconds"] + _group_seconds(server.pid) - before
        finally:
            client.kill()
    return Sample(int(found["turns"]), found["seconds"], cpu)


def _play(client: subprocess.Popen[str], battles: int) -> dict[str, float]:
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(f"{battles}\n")
    client.stdin.flush()
    line = client.stdout.readline()
    if not line:
        raise MissingContestant(f"poke-env's client ended with exit code {client.wait()}")
    answer: dict[str, float] = json.loads(line)
    return answer


def _group_seconds(group: int) -> float:
    """Processor time, in seconds, of all processes of a group and of their children that have ended."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if (
            int(fields[2]) == group
        ):  # after the name: state, parent, group, ...; user, system and both of its children from 11 on
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
