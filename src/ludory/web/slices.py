"""Long work in short pieces: a few processes that do one piece at a time, so that it ends when nobody waits for the next one."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ludory.child_processes import kill_pool, process_pool
from ludory.errors import LudoryError

SECONDS = 120.0
"""Time of one piece, which includes the start of a process and the compilation of a game."""
QUIET = 15.0
"""Seconds without news, after which a stream sends a line that says nothing, to notice who is gone."""


MOST_STREAMS = 200
"""Pages that follow something at once, tables included."""
MOST_KEPT = 64
"""Questions whose answers are kept."""


class SliceFailedError(LudoryError, RuntimeError):
    """A piece of work crashed its process or took too long."""


class SlicePool:
    """Up to `workers` processes, started when they are needed.

    Args:
        workers: number of processes.
        seconds: time of one piece of work; a process that takes longer is ended.
    """

    def __init__(self, workers: int = 1, seconds: float = SECONDS) -> None:
        self._count, self._seconds = workers, seconds
        self._pool: ProcessPoolExecutor | None = None
        self._turns = asyncio.Semaphore(workers)

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of `function(*args)`, computed in a process; `function` is importable and its arguments can be pickled.

        Raises:
            SliceFailedError: it took too long, or its process died.
            LudoryError: as the function raises.
        """
        async with self._turns:  # the time counts from the start of the work, not from its place in the queue
            if self._pool is None:
                self._pool = process_pool(self._count)
            work = asyncio.get_running_loop().run_in_executor(self._pool, function, *args)
            try:
                # a running piece cannot be cancelled: when its time is up its process is ended
                return await asyncio.wait_for(asyncio.shield(work), self._seconds)
            except asyncio.TimeoutError as error:
                self.close()
                raise SliceFailedError(f"no answer within {self._seconds:g} s; its process was ended") from error
            except BrokenProcessPool as error:
                self.close()
                raise SliceFailedError("the process that computed this died; open the page again") from error

    def close(self) -> None:
        """End all processes."""
        pool, self._pool = self._pool, None
        kill_pool(pool)


def seen(value: object) -> str:
    """A short text for what a page was drawn from, taken before it is drawn: its stream begins with what changed since."""
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


async def when_changed(look: Callable[[], Any], seconds: float = 1.0, since: str | None = None) -> AsyncIterator[str]:
    """Server-sent events `changed`, one for every new value of `look()`, which is asked every `seconds` in a thread.

    Args:
        look: what is followed; values are compared as `seen` has them.
        seconds: between two looks.
        since: `seen(look())` from before the page was drawn. Without it, what changes before the stream begins is missed.
    """
    before, quiet = since if since else seen(await asyncio.to_thread(look)), 0.0
    yield "retry: 2000\n\n"
    while True:
        now = seen(await asyncio.to_thread(look))
        if now != before:
            before, quiet = now, 0.0
            yield CHANGED
        elif quiet >= QUIET:
            quiet = 0.0
            yield ": nothing new\n\n"
        await asyncio.sleep(seconds)
        quiet += seconds


CHANGED, DONE = "event: changed\ndata:\n\n", "event: done\ndata:\n\n"
"""Events that tell a page to fetch its parts again, and that nothing more will come."""


def event_stream(request: Request, events: AsyncIterator[str]) -> Response:
    """The events as an answer that goes on until the browser leaves or the server stops.

    Raises:
        HTTPException: too many pages follow something already.
    """
    state = request.app.state
    if getattr(state, "streams", 0) >= MOST_STREAMS:
        raise HTTPException(429, "Too many pages follow something at once. Close some and load this one again.")

    async def stream() -> AsyncIterator[str]:
        state.streams = getattr(state, "streams", 0) + 1
        # asked for as a task, so that a closing server need not wait for the next event
        following = asyncio.ensure_future(anext(events, None))
        try:
            while not state.ludory.closing:
                await asyncio.wait({following}, timeout=0.5)
                if following.done():
                    event = following.result()
                    if event is None:
                        return
                    yield event
                    following = asyncio.ensure_future(anext(events, None))
        finally:
            state.streams -= 1
            following.cancel()

    return StreamingResponse(stream(), media_type="text/event-stream")


class Refinement:
    """What is known of one question so far; work on it goes on while someone follows it.

    Args:
        start: the value before any work.
        next_piece: from the value, a function and its arguments to run next; None when all is done.
        join: the new value from the old one and the result of a piece.
    """

    # Questions of all kinds are kept in one table, each with values of its own type.
    def __init__(
        self, start: Any, next_piece: Callable[[Any], Sequence[Any] | None], join: Callable[[Any, Any], Any]
    ) -> None:
        self.value, self.problem = start, ""
        self._next, self._join = next_piece, join
        self._working = asyncio.Lock()

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return bool(self.problem) or self._next(self.value) is None

    async def follow(self, pool: SlicePool) -> AsyncIterator[str]:
        """Do pieces of work until all are done or the reader goes away; an event after each. Several readers share the work."""
        yield "retry: 2000\n\n"
        while not self.finished:
            # one reader works, the others wait for its result
            async with self._working:
                piece = self._next(self.value)
                if piece is None or self.problem:
                    break
                try:
                    self.value = self._join(self.value, await pool.run(*piece))
                except LudoryError as error:
                    self.problem = str(error)
            yield CHANGED
        yield DONE


class Refinements:
    """The newest questions and what is known of them, by a key."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._kept = most, OrderedDict[str, Refinement]()
        self._lock = threading.Lock()

    def get(self, key: str) -> Refinement | None:
        """What is known of a question; None where it was never asked, or long ago."""
        return self._kept.get(key)

    def ask(self, key: str, make: Callable[[], Refinement]) -> Refinement:
        """The question of a key, made if it is new or failed."""
        with self._lock:
            found = self._kept.pop(key, None)
            # a question that failed is asked anew
            if found is None or found.problem:
                found = make()
            self._kept[key] = found
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return found
