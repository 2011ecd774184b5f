"""What counts as a lost worker, and how often its work is started again."""

from __future__ import annotations

import logging

from ludory.errors import LostWorkerError

LOG = logging.getLogger("ludory.cluster")
MOST_LOSSES = 20
"""Workers that one task may lose before the job ends: a task that kills its workers, such as one that needs more memory than there is."""


def lost_with(error: BaseException) -> bool:
    """Whether Ray's `error` says that a worker, its machine or its result is gone, and not that the work itself failed."""
    from ray import exceptions

    gone = (
        exceptions.WorkerCrashedError,
        exceptions.RayActorError,
        exceptions.NodeDiedError,
        exceptions.LocalRayletDiedError,
        exceptions.ObjectLostError,
        exceptions.ObjectFetchTimedOutError,
        exceptions.OutOfMemoryError,
        exceptions.RaySystemError,
        exceptions.TaskCancelledError,
    )
    return isinstance(error, gone) and not isinstance(error, exceptions.ActorUnschedulableError)


def own_error(error: BaseException) -> BaseException:
    """What the work itself raised, of the error in which Ray wraps it."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error


class LostWork:
    """Counts the workers that a job lost.

    Args:
        what: is lost, for messages, such as "task".
        most: losses of one part after which the job ends.
    """

    def __init__(self, what: str, most: int = MOST_LOSSES) -> None:
        self._what, self._most = what, most
        self._by_part: dict[int, int] = {}
        self.total = 0

    def add(self, part: int, error: BaseException) -> None:
        """Count a loss of the part of this number.

        Raises:
            LostWorkerError: it was one too many.
        """
        self.total += 1
        self._by_part[part] = self._by_part.get(part, 0) + 1
        said = str(error).strip().splitlines()
        first = said[0].partition(".")[0] if said else type(error).__name__
        LOG.warning("%s %d lost its worker (%s) and is started again", self._what, part, first)
        if self._by_part[part] >= self._most:
            raise LostWorkerError(
                f"{self._what} {part} lost {self._most} workers one after another, the last one with: {first}; it may need more memory than "
                "a machine has: give smaller parts"
            ) from error
