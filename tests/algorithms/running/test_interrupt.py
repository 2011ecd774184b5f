"""The first signal asks for a clean stop, the second insists; one file is trained by one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ludory.algorithms.running.folder_lock import FileLock
from ludory.algorithms.running.interrupt import Terminated, exit_code, stop_on_interrupt
from ludory.cli import main
from ludory.errors import OutputError

SIGNALS = [(signal.SIGINT, KeyboardInterrupt, 130), (signal.SIGTERM, Terminated, 143)]


@pytest.mark.parametrize(("number", "raised", "code"), SIGNALS)
def test_the_first_signal_asks_and_the_second_insists(number: int, raised: type[KeyboardInterrupt], code: int) -> None:
    before = [signal.getsignal(one) for one, _, _ in SIGNALS]
    asked: list[str] = []
    with stop_on_interrupt(lambda: asked.append("outer")) as outer:
        with stop_on_interrupt(lambda: asked.append("inner")) as inner:
            os.kill(os.getpid(), number)
            assert asked == ["inner", "outer"]  # who stops a step stops the job around it
            assert outer == inner == [number]
            with pytest.raises(raised):
                os.kill(os.getpid(), number)
        with pytest.raises(raised) as stop:
            os.kill(os.getpid(), number)
    assert exit_code(inner[0]) == exit_code(stop.value) == code
    assert [signal.getsignal(one) for one, _, _ in SIGNALS] == before


def test_a_thread_has_no_signals_and_goes_on_without() -> None:
    received: list[list[int]] = []

    def work() -> None:
        with stop_on_interrupt(lambda: None) as found:
            received.append(found)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert received == [[]]


def test_a_second_training_to_the_same_file_is_refused_with_the_first_s_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / "m.ludory"
    with FileLock(file), FileLock(tmp_path / "new" / "other.ludory"):  # two runs in one folder are fine
        code = f"from ludory.algorithms.running.folder_lock import FileLock; FileLock({str(file)!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert f"process {os.getpid()} on " in other.stderr
        for command in (["train", "ppo", "--env", "HanabiTiny2P-v0"], ["texas42", "train"]):
            assert main([*command, "--out", str(file)]) == 2
            assert f"{file}: process {os.getpid()} on " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []  # neither the locks nor a folder made for them stay
    with pytest.raises(OutputError, match="cannot write"):
        FileLock("/proc/nowhere/m.ludory")


def test_a_lock_whose_holder_died_holds_nobody_back(tmp_path: Path) -> None:
    file = tmp_path / "m.ludory"
    (tmp_path / ".m.ludory.lock").write_text('{"pid": 1, "host": "gone"}')
    FileLock(file).release()
    assert not (tmp_path / ".m.ludory.lock").exists()
