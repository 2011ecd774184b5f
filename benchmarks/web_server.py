"""Measure `ludory serve`: its start, the time from a click to the new board, many tables at once, and memory.

The server runs in a process of its own with the usual number of workers; clients play Hanabi with a rule bot over loopback, from this
process. A click is the time from sending a move to a page on which the bot has answered. Wall time, since that is what a person waits
for: the load of the machine is in the result, and processor seconds are beside it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode, urlsplit

from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds, TwoOrMore
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.errors import OptionError

BARS = {"start": 1.5, "click": 0.1, "many": 0.25, "memory": 400.0}
"""What an idle machine with two cores should keep: seconds (95th percentile of clicks), and MB."""
_VERSION, _ACTION = re.compile(r'name="version" value="(\d+)"'), re.compile(r'name="action" value="(0:\d+)"')
_FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class WebOptions:
    """Options of `ludory bench web`."""

    game: str = "Hanabi2P-v0"
    """Game of two seats."""
    agent: str = "hanabi/iggi"
    """Who plays with the clients."""
    clicks: TwoOrMore = 100
    """Moves at a table of its own."""
    tables: Count = 50
    """Tables that are played at once."""
    turns: Count = 5
    """Moves at each of them."""
    think: Seconds = 2.0
    """Seconds between two moves of a person, drawn from 0 to twice as many."""
    open_tables: Count = 200
    """Tables that are open when memory is measured."""
    out: Path = Path("runs/web")
    """Folder of the result."""


class _Server:
    """`ludory serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        if not Path("/proc/self/smaps_rollup").exists():
            raise OptionError("benchmark 'web' reads /proc of Linux, which is not here; measure on Linux, or in WSL")
        command = [sys.executable, "-m", "ludory", "serve", "--port", "0", "--tables", str(folder)]
        started = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OptionError("`ludory serve` does not start; type it to see why")
        self.address = urlsplit(line.split()[-1]).netloc
        client = _Client(self.address)
        client.get("/")
        self.seconds_to_first_page = time.perf_counter() - started
        self.processor_to_first_page = self._of_process(self._process.pid)[0]

    def usage(self) -> tuple[float, float]:
        """Processor seconds and MB in memory (proportional shares) of the server and its workers."""
        pids = [self._process.pid, *self._children()]
        found = [self._of_process(pid) for pid in pids]
        return sum(one for one, _ in found), sum(one for _, one in found)

    def _children(self) -> list[int]:
        folder = Path(f"/proc/{self._process.pid}/task")
        return [
            int(pid) for task in folder.iterdir() for pid in (task / "children").read_text(encoding="utf-8").split()
        ]

    @staticmethod
    def _of_process(pid: int) -> tuple[float, float]:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        processor = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        shares = re.search(
            r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8"), re.MULTILINE
        )
        return processor, int(shares[1]) / 1024 if shares else 0.0

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


class _Client:
    """A browser without pictures."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(address, timeout=300)
        self._headers = {"origin": f"http://{address}"}
        self._location = ""

    def get(self, path: str) -> str:
        return self._asked("GET", path, "", {})

    def start(self, game: str, agent: str, seed: int) -> str:
        """Path of a new table."""
        form = urlencode({"game": game, "seat0": "human", "seat1": agent, "seed": str(seed)})
        self._asked("POST", "/tables", form, _FORM)
        while (waiting := self._location).startswith("/starting/"):  # the game is being compiled
            time.sleep(0.1)
            self._asked("GET", waiting, "", {})
            self._location = self._location or waiting
        return self._location

    def move(self, path: str, page: str, random: Random) -> str | None:
        """Play a legal move and wait for the answer; None if the game is over."""
        version, actions = _VERSION.search(page), _ACTION.findall(page)
        if version is None or not actions:
            return None
        form = urlencode({"seat": "0", "version": version[1], "action": random.choice(actions)})
        page = self._asked("POST", f"{path}/move", form, {**_FORM, "hx-request": "true"})
        while "thinks" in page:
            time.sleep(0.005)
            page = self.get(f"{path}/board")
        return page

    def _asked(self, method: str, path: str, body: str, headers: Mapping[str, str]) -> str:
        self._connection.request(method, path, body, {**self._headers, **headers})
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 400:
            raise OptionError(f"the server refused {method} {path}: {re.sub('<[^>]*>', ' ', text)[-300:].strip()}")
        self._location = answer.headers.get("location", "")
        for cookie in answer.headers.get_all("set-cookie", []):
            self._headers["cookie"] = cookie.partition(";")[0]
        return text


@benchmark("web")
def run(options: WebOptions) -> Result:
    """Start a server, play, and look at its memory."""
    with tempfile.TemporaryDirectory() as folder:
        server = _Server(Path(folder))
        try:
            report = _measured(server, options)
        finally:
            server.close()
    return Result(options.out / "web.json", report, _shown)


def _measured(server: _Server, options: WebOptions) -> dict[str, Any]:
    _clicks(server, options, 3, 0, lambda: None)  # kernels are compiled, workers start
    before = server.usage()[0]
    alone = _clicks(server, options, options.clicks, 1, lambda: None)
    used = (server.usage()[0] - before) / len(alone)
    with ThreadPoolExecutor(options.tables) as pool:
        randoms = [Random(number) for number in range(options.tables)]
        waits = [lambda random=random: time.sleep(2 * options.think * random.random()) for random in randoms]
        seeds = range(100, 100 + options.tables)
        found = pool.map(
            _clicks,
            *zip(*((server, options, options.turns, s, w) for s, w in zip(seeds, waits, strict=True)), strict=True),
        )
        many = [seconds for part in found for seconds in part]
    client = _Client(server.address)
    for seed in range(options.tables + 1, options.open_tables):
        client.get(client.start(options.game, options.agent, seed))
    return {
        "game": options.game,
        "agent": options.agent,
        "start_seconds": server.seconds_to_first_page,
        "start_processor_seconds": server.processor_to_first_page,
        "click_seconds": alone,
        "click_processor_seconds": used,
        "tables": options.tables,
        "seconds_between_clicks": options.think,
        "many_click_seconds": many,
        "open_tables": options.open_tables,
        "memory_mb": server.usage()[1],
    }


def _clicks(server: _Server, options: WebOptions, count: int, seed: int, wait: Callable[[], None]) -> list[float]:
    """Seconds of `count` moves, in as many games as that takes."""
    client, random, found, page, path = _Client(server.address), Random(seed), list[float](), None, ""
    while len(found) < count:
        if page is None:
            path = client.start(options.game, options.agent, seed * 1000 + len(found))
            page = client.get(path)
        wait()
        started = time.perf_counter()
        page = client.move(path, page, random)
        if page is not None:
            found.append(time.perf_counter() - started)
    return found


def _p95(seconds: list[float]) -> float:
    return quantiles(seconds, n=20)[-1]


def web_figures(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Of each measurement its name, the median, the 95 % quantile and the bar."""

    def row(name: str, typical: float, most: float, bar: float, unit: str) -> tuple[str, ...]:
        return name, f"{typical:,.0f} {unit}", f"{most:,.0f} {unit}", f"{bar:,.0f} {unit}"

    start, alone, many = report["start_seconds"], report["click_seconds"], report["many_click_seconds"]
    yield row("start to first page", 1000 * start, 1000 * start, 1000 * BARS["start"], "ms")
    yield row("click to new board", 1000 * median(alone), 1000 * _p95(alone), 1000 * BARS["click"], "ms")
    yield row(f"the same, {report['tables']} tables", 1000 * median(many), 1000 * _p95(many), 1000 * BARS["many"], "ms")
    yield row(f"memory, {report['open_tables']} tables", report["memory_mb"], report["memory_mb"], BARS["memory"], "MB")


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    yield table(
        f"ludory serve, {report['game']} with {report['agent']}", ("", "median", "95 %", "bar"), [*web_figures(report)]
    )
    yield (
        f"Processor: {report['start_processor_seconds']:.2f} s to the first page, {1000 * report['click_processor_seconds']:.1f} ms a click; "
        f"load of the machine before: {report['machine']['load']}"
    )
