"""`among_torchrun`: of the processes that `torchrun` started, also on several machines, the first one runs the command.

The others wait until it calls them to learn with it. They meet at the store of `torchrun`, under keys that are numbered by call: a command may call several times, as `ludory spa run` does.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ludory.errors import LostWorkerError, OptionError

if TYPE_CHECKING:
    from .ranks import Ranks

STARTED = "TORCHELASTIC_RUN_ID"
"""Variable that `torchrun` sets in the environment of what it starts."""


class Torchrun:
    """This process among those of `torchrun`; there is one such object in each."""

    now: Torchrun | None = None
    """That of this process, within `among_torchrun`."""

    def __init__(self) -> None:
        import torch.distributed as dist

        from .ranks import PATIENCE

        store: Any
        store, self.rank, self.size = next(iter(dist.rendezvous("env://", timeout=PATIENCE)))  # type: ignore[attr-defined]  # published
        self._store = store
        self._local, self.beside = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
        self.calls, self.asked = 0, False
        """How often the others were called; whether the command takes several processes."""

    def check(self, size: int) -> None:
        """Check that all processes can learn, and no others.

        Raises:
            OptionError: naming what stands in the way.
        """
        self.asked = True
        if size != self.size:
            raise OptionError(f"devices={size}: torchrun started {self.size} processes; take devices={self.size}")

    def call(self, packed: bytes) -> Ranks:
        """The first process: let the others learn with this one, as `packed` says.

        Raises:
            LostWorkerError: another process could not begin.
        """
        self._store.set(f"{self.calls}/what", packed)
        failed = {rank: self._store.get(f"{self.calls}/ready/{rank}").decode() for rank in range(1, self.size)}
        named = [f"process {rank} of torchrun could not begin: {words}" for rank, words in failed.items() if words]
        # who could begin waits to hear whether all could
        self._store.set(f"{self.calls}/go", "" if named else "go")
        self.calls += 1
        if named:
            raise LostWorkerError(named[0])
        return self._meet()

    def follow(self) -> None:
        """Another process: learn whenever the first one calls, until it is done."""
        from .together import begun, follow_with, threads_each, use_threads

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # the first one saves and stops; torchrun kills those that stay
        use_threads(threads_each(self.beside))
        while packed := self._store.get(f"{self.calls}/what"):
            following = begun(packed, self._local)
            failed = following if isinstance(following, str) else ""
            self._store.set(f"{self.calls}/ready/{self.rank}", failed)
            goes = self._store.get(f"{self.calls}/go")
            self.calls += 1
            if goes and not isinstance(following, str):
                follow_with(self._meet, following)

    def dismiss(self) -> None:
        """The first process: the others may end."""
        self._store.set(f"{self.calls}/what", b"")

    def _meet(self) -> Ranks:
        import torch.distributed as dist

        from .ranks import Ranks

        store = dist.PrefixStore(f"ranks {self.calls}", self._store)  # type: ignore[attr-defined]  # published
        return Ranks(self.rank, self.size, store)


@contextmanager
def among_torchrun() -> Iterator[bool]:
    """Whether this process runs the command: True without `torchrun`, and in its first process. The others have learnt with it by then."""
    if STARTED not in os.environ:
        yield True
        return
    Torchrun.now = here = Torchrun()
    try:
        if here.rank:
            here.follow()
            yield False
            return
        try:
            yield True
        finally:
            here.dismiss()
    finally:
        Torchrun.now = None


def hint_of_idle() -> str:
    """What to tell after a command that let the other processes of `torchrun` wait for nothing, else nothing."""
    here = Torchrun.now
    if here is None or here.rank or here.size == 1 or here.asked:
        return ""
    return f"torchrun started {here.size} processes, and the first one did all; add --devices {here.size} to a command that has it"
