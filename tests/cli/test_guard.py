"""Whatever goes wrong, the command says one line and ends with the exit code of its class; `--debug` shows the rest."""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from ludory import plugins
from ludory.atomic import atomic_file
from ludory.charts.drawing import quoted
from ludory.cli import main
from ludory.cli.common import guard
from ludory.cli.common.guard import FAULT, INPUT, MACHINE, PLUGIN
from ludory.cli.league import status as league_status
from ludory.errors import OptionError, OutputError
from ludory.plugins import Entry
from ludory.visible import visible

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes every command raise the given error."""

    def put(error: BaseException) -> None:
        def run(argv: list[str]) -> int:
            raise error

        monkeypatch.setattr(plugins.commands, "load", lambda id: SimpleNamespace(run=run))

    return put


def of_system(number: int, *files: str) -> OSError:
    return OSError(number, os.strerror(number), *files)


def of_full_disk() -> OutputError:
    error = OutputError("cannot write a.json: No space left on device; make room")
    error.__cause__ = of_system(errno.ENOSPC)
    return error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OptionError("players=9: must be 2 to 5"), INPUT, "ludory: players=9: must be 2 to 5\n"),
        (of_full_disk(), MACHINE, "make room"),
        (of_system(errno.ENOSPC, "a.json"), MACHINE, "a.json: No space left on device; make room"),
        (of_system(errno.EROFS, "a.json"), MACHINE, "a.json: Read-only file system"),
        (of_system(errno.EIO, "a.json"), MACHINE, "a.json: Input/output error"),
        (of_system(errno.EMFILE, "a.json"), MACHINE, "ulimit -n"),
        (of_system(errno.ENOENT, "a.json"), INPUT, "a.json: No such file or directory; name a file"),
        (of_system(errno.EACCES, "a.json"), INPUT, "a.json: Permission denied; name one that you may use"),
        (of_system(errno.ELOOP, "a.json"), INPUT, "links that lead to each other"),
        (of_system(errno.ENAMETOOLONG, "a.json"), INPUT, "choose a shorter name"),
        (MemoryError(), MACHINE, "out of memory"),
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nmore"),
            MACHINE,
            "Tried to allocate 9 GiB)",
        ),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"), MACHINE, "out of memory"),
        (RecursionError("maximum recursion depth exceeded"), INPUT, "nested too deeply"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), INPUT, "not UTF-8"),
        (OverflowError("int too large to convert to float"), INPUT, "a number is too large"),
        (ValueError("Exceeds the limit (4300 digits) for integer string conversion"), INPUT, "a number is too large"),
        (ValueError("embedded null byte"), INPUT, "zero byte"),
        (zipfile.BadZipFile("File is not a zip file"), INPUT, "a file cannot be read"),
        (json.JSONDecodeError("Expecting value", "", 0), INPUT, "a file cannot be read"),
        (KeyError("x"), FAULT, "a fault of Ludory, please report it: KeyError: 'x' ("),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else None,
)
def test_each_class_of_errors_has_its_line_and_its_exit_code(
    error: Exception, code: int, said: str, failing: Callable[..., None], capsys: Capture
) -> None:
    failing(error)
    assert main(["play"]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("ludory: ")
    assert printed.out == ""
    with pytest.raises(type(error)):
        main(["play", "--debug"])


def test_a_fault_of_ours_names_the_line_of_ludory(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("ludory.cli.list._table", lambda kind: 1 // 0)
    assert main(["list"]) == FAULT
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "ludory/cli/list.py:" in said
    assert "--debug" in said


def test_a_plugin_that_raises_is_named_with_its_distribution(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    module = ModuleType("somebody_s_games")
    exec("def run(argv):\n    return {}['heap']\n", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = Entry("heaps", module.__name__, "a verb", distribution="somebody-s-games")
    monkeypatch.setitem(plugins.commands._offers, "heaps", [entry])
    monkeypatch.setattr(guard, "discover", lambda: SimpleNamespace(entries={"ludory.commands": [entry]}))
    assert main(["heaps"]) == PLUGIN
    said = capsys.readouterr().err
    assert "somebody-s-games failed: KeyError: 'heap'" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_exit_codes_as_shells_count_them(
    number: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def run(argv: list[str]) -> int:
        os.kill(os.getpid(), number)
        return 0

    monkeypatch.setattr(plugins.commands, "load", lambda id: SimpleNamespace(run=run))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        assert main(["play"]) == code
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "ludory: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_an_interrupt_leaves_half_made_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    class HalfMade:
        def __del__(self) -> None:
            raise AttributeError("no handle yet")

    def run(argv: list[str]) -> int:
        HalfMade()
        return 0

    monkeypatch.setattr(plugins.commands, "load", lambda id: SimpleNamespace(run=run))
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: print(unraisable.exc_value, file=sys.stderr))
    assert main(["play"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["--debug", "play"]) == 0
    assert capsys.readouterr().err == "no handle yet\n"


def test_an_error_in_a_thread_of_a_library_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail() -> None:
        raise FileNotFoundError(2, "No such file or directory", "events.out")

    def run(argv: list[str]) -> int:
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        return 0

    monkeypatch.setattr(plugins.commands, "load", lambda id: SimpleNamespace(run=run))
    assert main(["play"]) == 0
    assert capsys.readouterr().err.startswith("ludory: a thread in the background ended: events.out: No such file")


def test_control_characters_of_an_error_are_only_shown(failing: Callable[..., None], capsys: Capture) -> None:
    failing(OptionError("no agent '\x1b]0;owned\x07\x9b31m\u202egnp.exe'"))
    main(["play"])
    assert capsys.readouterr().err == "ludory: no agent '\\x1b]0;owned\\x07\\x9b31m\\u202egnp.exe'\n"


def test_a_full_standard_output_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ludory", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == MACHINE
    assert done.stderr == "ludory: No space left on device; make room on the disk, or name another place\n"


@pytest.mark.slow
def test_closed_streams_and_bytes_that_are_no_text_are_no_errors() -> None:
    shell = f"exec {sys.executable} -m ludory eval random --game $'Hanabi\\xff' <&- >&-"
    done = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == INPUT
    assert "ludory: no game has the id 'Hanabi\\udcff'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_finds_no_room_leaves_the_old_one_and_no_rest(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    file.write_text("old")
    limits, before = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with (
            pytest.raises(OutputError, match=r"cannot write .*scores\.json: File too large; make room"),
            atomic_file(file) as handle,
        ):
            handle.write(bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [one.name for one in tmp_path.iterdir()] == ["scores.json"]
    assert file.read_text() == "old"


def test_an_error_of_another_file_is_not_blamed_on_the_one_being_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), atomic_file(tmp_path / "a.json"):
        (tmp_path / "other").read_bytes()


GAME = "HanabiTiny2P-v0"
NUMBERS = ("0", "-1", "1e400", "9" * 5000, "1" + "0" * 30, "x", "")
COMMANDS: list[tuple[list[str], tuple[str, ...]]] = [
    (["eval", "random", "--game", GAME, "--games=1"], ("--games", "--seed")),
    (["record", "random", "--game", GAME, "--games=1", "--out=rec"], ("--games", "--seed", "--shard-games")),
    (["watch", GAME, "random"], ("--seat", "--move", "--delay")),
    (["play", GAME], ("--seed", "--seat")),
    (["league", "run", "--env=Arena2P-v0", "--teacher=no", "--budget=9", "--out=lg"], ("--budget", "--unit", "--seed", "--roles")),
    (["flywheel", "run", "--env", GAME, "--blueprint=random", "--out=fw", "--dry-run"], ("--games", "--turns", "--confidence")),
    (["texas42", "calibrate", "--contracts=500", "--limit=0", "--out=cal"], ("--contracts",)),
    (["texas42", "generate", "--out=g", "--seeds=0-0", "--dry-run"], ("--seeds", "--limit", "--max-states", "--start-seed")),
    (["texas42", "bid", "--hand=6-4,5-5,4-2,3-1,2-0,1-1,0-0", "--mode=calibrated"], ("--samples", "--worlds", "--below")),
    (["texas42", "eq", "--out=e", "--seeds=0-0", "--dry-run"], ("--n-samples", "--bid", "--temperature", "--posterior-tau")),
]  # fmt: skip
PATHS: list[list[str]] = [
    ["watch"], ["eval", "--game", GAME], ["convert", "--from=sparta", "--out=c"], ["convert", "--from=battle-jsonl", "--out=c"],
    ["convert", "--from=recorder", "--out=c"], ["convert", "--from=minari", "--out=c"], ["convert", "--from=ludory", "--out=c"],
    ["check", "data"], ["league", "status"], ["league", "resume"], ["league", "report"], ["league", "exploit"],
    ["flywheel", "status"], ["flywheel", "resume"], ["hanabi", "import-gru"], ["texas42", "check"], ["texas42", "view"],
    ["new", "game", "Race", "--into"],
]  # fmt: skip


@pytest.mark.parametrize("command", [[*line, option] for line, options in COMMANDS for option in options], ids=" ".join)
def test_numbers_out_of_range_end_every_verb_with_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    for number in NUMBERS:
        code = main([*command[:-1], f"{command[-1]}={number}"])
        assert code in (0, INPUT, MACHINE), (number, code, capsys.readouterr().err)


@pytest.mark.parametrize("command", PATHS, ids=" ".join)
def test_bad_paths_end_every_verb_with_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "digits.json").write_text('{"version": ' + "9" * 5000 + "}")
    (tmp_path / "latin.json").write_bytes(b'{"name": "caf\xe9"}\n')
    (tmp_path / "loop.json").symlink_to("loop.json")
    for name in ("", "folder", "junk", "junk/below", "missing", "loop.json", "deep.json", "digits.json", "latin.json",
                 "n" * 300, "a\0b", "/proc/self/mem", "\udcff"):  # fmt: skip
        code = main([*command, name])
        said = capsys.readouterr().err
        assert code in (0, 1, INPUT, MACHINE), (name, code, said)
        assert "Traceback" not in said


def test_visible_shows_what_would_move_the_cursor_or_turn_the_text_around() -> None:
    assert visible("café ± 手 \x1b[31m\x07\x7f\x9b\u202e\u2066\u2028\udcff\n") == (
        "café ± 手 \\x1b[31m\\x07\\x7f\\x9b\\u202e\\u2066\\u2028\\udcff\\n"
    )
    assert visible("one\ntwo", keep="\n") == "one\ntwo"


def test_names_in_a_league_s_log_do_not_reach_the_terminal_raw() -> None:
    player = {"id": "\x1b]0;x\x07", "role": "main", "frozen": True, "env_steps": 1, "copies": 0, "resets": 0}
    found = {"env": "A", "done": 0, "budget": 1, "unit": "minutes", "closed": False, "steps_per_second": None}
    text = league_status._text(
        found | {"seconds_left": None, "matches": 0, "refused": 0, "players": [player], "last_matches": []}
    )
    assert "\\x1b]0;x\\x07" in text
    assert "\x1b" not in text


def test_markup_and_control_characters_of_names_are_text_in_reports() -> None:
    assert quoted("<script>\x1b") == "&lt;script&gt;\\x1b"


def test_ctrl_c_while_the_process_ends_leaves_no_traceback():
    code = "import atexit\nfrom ludory.cli import main\ndef stop(): raise KeyboardInterrupt\natexit.register(stop)\nmain(['--version'])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
