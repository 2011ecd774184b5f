"""`SimWorker`: a Node child process that holds battles of the pinned simulator, spoken to in lines of JSON over pipes."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.resources import as_file, files
from itertools import count
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from ludory.envs.pokemon.formats import RULES
from ludory.errors import BackendError, BackendTimeout, OptionError, PluginError

from .install import Installation, needed

if TYPE_CHECKING:
    from typing_extensions import Self

Reply = dict[str, Any]
"""What the simulator says about a game: `i`, `req`, `order`, `lines`, `rej`, `turn`, `end`, by seat where there are two; or `i` and `crash`."""

SECONDS_TO_START = 60.0
SECONDS_TO_CLOSE = 2.0
KEPT_LINES = 40
"""Last lines of a child's standard error that errors show."""
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")
_SEED_TEXT = "ludory-pokemon-1"


def chance_seed(seed: int, game: int, episode: int, part: str) -> tuple[str, int]:
    """Seed of a part ("battle", "p1", "p2") of a battle, in the simulator's form, and 64 more bits for draws of our own.

    The seed is the first 8 bytes of SHA-256("ludory-pokemon-1|seed|game|episode|part").
    """
    digest = hashlib.sha256(f"{_SEED_TEXT}|{seed}|{game}|{episode}|{part}".encode()).digest()
    return f"gen5,{digest[:8].hex()}", int.from_bytes(digest[8:16], "big")


class SimWorker:
    """One Node child and the battles in it. Messages are answered in order; a worker is not shared between threads.

    A game is known by its number, which the caller chooses; `reset` of a number replaces its battle.

    Args:
        installation: where the simulator lies; None: what `ludory pokemon install` made.
        timeout: seconds that the child may take for one message.

    Raises:
        PluginError: Node or the simulator is missing, or it is another version.
        BackendError: the child does not start.
    """

    def __init__(self, installation: Installation | None = None, timeout: float = 60.0) -> None:
        folder, node = installation or needed()
        scripts = as_file(files("ludory.envs.pokemon").joinpath("js"))
        self._start(lambda path: [str(node), str(path / "worker.js")], scripts, folder, timeout)

    def _start(
        self,
        command: Callable[[Path], list[str]],
        scripts: AbstractContextManager[Path],
        folder: Path,
        timeout: float,
    ) -> None:
        """Start the child: `command` makes its command line from the folder of its `scripts`; it works in `folder`."""
        gc.collect()  # engines lie in reference cycles; this ends the children of those that nobody can reach any more
        self.timeout = timeout
        self._numbers, self._rest = count(), b""
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._scripts = scripts
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(
            command(scripts.__enter__()),
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl+C at the terminal reaches Python alone
            preexec_fn=death_signal(),
        )
        pipe = self._process.stderr
        assert pipe is not None
        threading.Thread(target=keep_lines, args=(pipe, self._said), daemon=True).start()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        self._finalizer = weakref.finalize(self, _end_child, self._process, self._scripts, os.getpid())
        try:
            self.hello = self._ask("hello", SECONDS_TO_START)
            if self.hello["rules"] != RULES:
                raise PluginError(f"{folder}: the rules are {self.hello['rules']}, must be {RULES}")
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    def reset(self, games: Sequence[Mapping[str, Any]], compact: Mapping[str, str] | None = None) -> Reply:
        """Start battles.

        Args:
            games: each `{"i": number, "format": id, "seed": "gen5,..", "p1": {"seed": ..} or {"team": packed}, "p2": ..}`.
            compact: {"gimmick": .., "slot_order": ..}: answer with kinds and masks instead of requests and lines; see `act`.

        Returns:
            {"games": [...]} with a `Reply` of each game in the order given, or {"compact": {...}} with the flat lists `i`, `kind`,
            `mask`, `turn`, `end` and `rej` of `js/legality.js`. A game whose rules crashed has `crash` in `games` either way.

        Raises:
            BackendError: the message is refused, and no battle was started; or the child died.
            BackendTimeout: no answer in time; the child has been ended.
        """
        return self._ask("reset", games=list(games), compact=dict(compact) if compact else None)

    def step(self, choices: Sequence[tuple[int, str | None, str | None]]) -> Reply:
        """Play [game, choice of p1, choice of p2]; None for a seat that has nothing to choose. As `reset` otherwise.

        A choice that the simulator refuses stands in `rej` of the game, and the seat has to choose again.
        """
        return self._ask("step", choices=list(choices))

    def act(self, games: Sequence[int], actions: Sequence[int]) -> Reply:
        """Play action numbers, two per game (p1, p2), in games that were started with `compact`."""
        return self._ask("act", games=list(games), actions=list(actions))

    def clone(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy battles: pairs (from, to) of numbers."""
        self._ask("clone", pairs=[list(pair) for pair in pairs])

    def export(self, games: Sequence[int]) -> list[str]:
        """Battles as texts, for `import_games` of another worker."""
        return [game["text"] for game in self._ask("export", games=list(games))["games"]]

    def import_games(self, games: Mapping[int, str]) -> Reply:
        """Continue battles of `export` under new numbers; answers as `step` does, without lines that were handed out before."""
        return self._ask("import", games=[{"i": i, "text": text} for i, text in games.items()])

    def report(self, games: Sequence[int]) -> list[Reply]:
        """As `step` answers, without playing: the current requests, and lines that were not handed out yet."""
        return list(self._ask("report", games=list(games))["games"])

    def log(self, games: Sequence[int]) -> list[Reply]:
        """For each game `log` (omniscient, without time stamps), `input_log`, `played` (all choices, refused ones included), `teams` (packed) and `end`."""
        return list(self._ask("log", games=list(games))["games"])

    def state(self, games: Sequence[int]) -> list[Reply]:
        """The simulator's own state of each game, hidden values included, as `state`."""
        return list(self._ask("state", games=list(games))["games"])

    def drop(self, games: Sequence[int]) -> None:
        """Forget battles."""
        self._ask("drop", games=list(games))

    def formats(self) -> list[list[Any]]:
        """[id, generation, 1 with team preview, 1 if players bring teams] of every singles format; loads the data of all generations."""
        return list(self._ask("formats")["formats"])

    def validate(self, format: str, team: str) -> list[str]:
        """Problems that the simulator's validator names, [] for a legal team; `team` is an export or a packed team."""
        return self.validated(format, team)[0]

    def validated(self, format: str, team: str) -> tuple[list[str], str]:
        """Problems as `validate` names them, and the team, packed, with what the validator filled in."""
        answer = self._ask("validate", format=format, team=team)
        return list(answer["problems"]), str(answer["team"])

    def pack(self, team: str) -> str:
        """A team in the packed form, from an export or a packed team."""
        return str(self._ask("pack", team=team)["team"])

    def ask_line(self, line: bytes) -> Reply:
        """Send one line as it is and return the answer, also if it is an error; for tests of the protocol."""
        self._send(line.rstrip(b"\n") + b"\n", "a line", monotonic() + self.timeout)
        answer: Reply = json.loads(self._receive("a line", monotonic() + self.timeout))
        return answer

    def close(self) -> None:
        """End the child; may be called twice."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, op: str, seconds: float | None = None, **content: Any) -> Reply:
        if not self._finalizer.alive:
            raise BackendError("the simulator's process is closed; make a new one")
        n = next(self._numbers)
        end = monotonic() + (seconds or self.timeout)
        message = json.dumps({"n": n, "op": op, **content}, separators=(",", ":"))
        self._send(message.encode() + b"\n", op, end)
        answer: Reply = json.loads(self._receive(op, end))
        if answer.get("n") != n:  # an interrupt came between an earlier message and its answer
            while answer.get("n") is not None and answer["n"] < n:
                answer = json.loads(self._receive(op, end))
        if "error" in answer:
            fault = answer["error"]
            kind = {"format": OptionError, "team": OptionError}.get(fault["kind"])
            if kind is not None:
                raise kind(f"game {fault['game']}: {fault['text']}" if fault["game"] is not None else fault["text"])
            raise BackendError(f"the simulator refused {op!r}: {fault['text']}", fault["game"])
        return answer

    def _send(self, data: bytes, op: str, end: float) -> None:
        assert self._process.stdin is not None
        place, view = self._process.stdin.fileno(), memoryview(data)
        while view:
            try:
                view = view[os.write(place, view) :]
            except BlockingIOError:
                self._wait(place, selectors.EVENT_WRITE, op, end)
            except OSError:
                self._lost(op)

    def _receive(self, op: str, end: float) -> bytes:
        assert self._process.stdout is not None
        place, parts = self._process.stdout.fileno(), [self._rest]
        while True:
            head, newline, rest = parts[-1].partition(b"\n")
            if newline:
                parts[-1], self._rest = head, rest
                return b"".join(parts)
            try:
                if not (data := os.read(place, 1 << 20)):
                    self._lost(op)
                parts.append(data)
            except BlockingIOError:
                self._wait(place, selectors.EVENT_READ, op, end)

    def _wait(self, place: int, event: int, op: str, end: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(place, event)
            if not selector.select(max(0.0, end - monotonic())):
                self.close()
                raise BackendTimeout(f"the simulator did not answer {op!r} in time and was ended{self._last_words()}")

    def _lost(self, op: str) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_CLOSE)
        self.close()
        code = self._process.returncode
        raise BackendError(f"the simulator's process died with exit code {code} at {op!r}{self._last_words()}")

    def _last_words(self) -> str:
        return ":\n" + "\n".join(list(self._said)[-20:]) if self._said else ""


def played_out(worker: SimWorker, format: str, key: str, game: int = 0, teams: tuple[str, str] | None = None) -> Reply:
    """Play a battle whose chance and choices depend on `key` alone, with packed or generated teams; returns its `end`."""
    from ludory.envs.pokemon.formats import battle_format
    from ludory.envs.pokemon.requests import seat_request

    gen = battle_format(format).gen
    seeds = {
        part: f"gen5,{hashlib.sha256(f'{key}|{part}'.encode()).hexdigest()[:16]}" for part in ("battle", "p1", "p2")
    }
    sides = {seat: {"seed": seeds[seat]} for seat in ("p1", "p2")}
    if teams is not None:
        sides = {seat: {"team": team} for seat, team in zip(("p1", "p2"), teams, strict=True)}
    (reply,) = worker.reset([{"i": game, "format": format, "seed": seeds["battle"], **sides}])["games"]
    turn = 0
    while reply.get("end") is None:
        if "crash" in reply:
            raise BackendError(f"battle {key!r} crashed: {reply['crash']['text']}", game)
        choices = []
        for seat in (0, 1):
            asked = seat_request(reply["req"][seat], reply["order"][seat], gen)
            legal = [choice for choice in asked.choices if choice is not None]
            drawn = int(hashlib.sha256(f"{key}|{turn}|{seat}".encode()).hexdigest()[:8], 16)
            choices.append(legal[drawn % len(legal)] if legal else None)
        (reply,) = worker.step([(game, choices[0], choices[1])])["games"]
        turn += 1
    worker.drop([game])
    end: Reply = reply["end"]
    return end


def death_signal() -> Callable[[], None] | None:
    """What asks Linux to end the child with this process. The request would also end it with a mere thread, so only the main one asks."""
    if not sys.platform.startswith("linux") or threading.current_thread() is not threading.main_thread():
        return None
    libc = ctypes.CDLL(None)

    def ask() -> None:
        libc.prctl(1, int(signal.SIGKILL))

    return ask


def keep_lines(pipe: IO[bytes], lines: deque[str]) -> None:
    """Keep the last lines of a child's output, so that it never waits for a full pipe."""
    with suppress(ValueError, OSError):  # closed
        for line in pipe:
            lines.append(line.decode(errors="replace").rstrip())


def _end_child(process: subprocess.Popen[bytes], scripts: Any, owner: int) -> None:
    """End a child by closing its input, then by signals. Does nothing in a forked copy of the process that started it."""
    if os.getpid() != owner:
        return
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    for end in (None, process.terminate, process.kill):
        if end is not None:
            end()
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_CLOSE)
            break
    process.stdout.close()
    scripts.__exit__(None, None, None)
