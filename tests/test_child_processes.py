"""Processes that belong to this one."""

from __future__ import annotations

import os
import signal
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from support.windows.unix import needs_unix

from ludory.child_processes import begin_child, process_pool, start_child


def say(pipe: Connection) -> None:
    """Say that it has begun."""
    begin_child()
    pipe.send("here")


@needs_unix("Windows cannot block signals")
def test_interrupts_are_the_parents_also_while_a_child_starts() -> None:
    """Ctrl+C at a terminal goes to all processes, and Python takes long to start."""
    here, there = Pipe(duplex=False)
    process = start_child(say, there)
    there.close()  # if the child dies, that ends the wait
    os.kill(process.pid or 0, signal.SIGINT)
    assert here.recv() == "here"
    process.join()
    assert process.exitcode == 0
    pool = process_pool(1)
    found = pool.submit(abs, -3)
    for one in pool._processes or ():
        os.kill(one, signal.SIGINT)
    assert found.result() == 3
    pool.shutdown()
