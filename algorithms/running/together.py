"""`together`: several processes learn as one, each on a device of its own; the others do what the first one says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch

from ludory.algorithms.sampling.ranked import END, RankedSampler
from ludory.algorithms.sampling.shares import Share, shares_of
from ludory.child_processes import begin_child, start_child
from ludory.envs.make import NamedGame
from ludory.errors import LostWorkerError, LudoryError, OptionError

from .ranks import Ranks, file_store, named_loss
from .torchrun import Torchrun

if TYPE_CHECKING:
    from ludory.algorithms.algorithm import Algorithm
    from ludory.algorithms.learner import Learner

CORES = "LUDORY_NUM_THREADS"
Following = Callable[[Ranks], None]


def check_devices(device: torch.device, size: int) -> None:
    """Check that `size` processes can learn together, of which the first one is on `device`.

    Raises:
        OptionError: naming what stands in the way.
    """
    torchrun, here = Torchrun.now, size
    if torchrun is not None:
        torchrun.check(size)
        here = torchrun.beside
    there = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or here > there):
        raise OptionError(f"devices={here} on {str(device)!r}: must be device='cuda' and 1 to {there} devices")


@contextmanager
def companions(size: int, device: torch.device, begin: Callable[..., Following], *what: object) -> Iterator[Ranks]:
    """Within it there are `size` processes: this one, and others that `begin`, started here or by `torchrun`.

    Args:
        size: how many.
        device: of this one.
        begin: called in each of the others with the name of its device and `what`; returns what it does then.
        what: anything that cloudpickle can send.

    Raises:
        OptionError: as `check_devices`.
        LostWorkerError: another process is gone.
    """
    import cloudpickle

    check_devices(device, size)
    packed = cloudpickle.dumps((device.type, begin, what))
    torchrun, before, own_threads = Torchrun.now, os.environ.get(CORES), torch.get_num_threads()
    threads = threads_each(size if torchrun is None else torchrun.beside)
    with _children(size, packed, threads) if torchrun is None else nullcontext(partial(torchrun.call, packed)) as meet:
        use_threads(threads)
        try:
            ranks = meet()
            try:
                with named_loss():
                    yield ranks
            finally:
                ranks.close()
        finally:
            torch.set_num_threads(own_threads)
            if before is None:
                os.environ.pop(CORES, None)
            else:
                os.environ[CORES] = before


def threads_each(processes: int) -> int:
    """The part of this machine's cores that each of so many processes has."""
    return max(1, int(os.environ.get(CORES) or os.cpu_count() or 1) // processes)


def use_threads(count: int) -> None:
    """Compute with this process's part of the cores."""
    os.environ[CORES] = str(count)
    torch.set_num_threads(count)


@contextmanager
def _children(size: int, packed: bytes, threads: int) -> Iterator[Callable[[], Ranks]]:
    """Within it the other processes run on this machine; what it gives meets them."""
    with TemporaryDirectory(prefix="ludory-ranks-") as folder:
        meeting = str(Path(folder) / "meeting")
        started = [_start(rank, size, meeting, packed, threads) for rank in range(1, size)]
        try:
            for process, pipe in started:
                _wait_for(process, pipe)
            yield lambda: Ranks(0, size, file_store(meeting, size))
            for process, _ in started:
                process.join()
        finally:
            for process, _ in started:
                process.kill()


def _start(rank: int, size: int, meeting: str, packed: bytes, threads: int) -> tuple[BaseProcess, Connection]:
    here, there = Pipe(duplex=False)
    process = start_child(_begin, rank, size, meeting, packed, threads, there, name=f"ludory-rank-{rank}")
    there.close()
    return process, here


def _wait_for(process: BaseProcess, pipe: Connection) -> None:
    """Wait until another process is ready."""
    wait([pipe, process.sentinel])
    try:
        failed = pipe.recv()
    except EOFError:
        failed = f"it ended with exit code {process.exitcode}"
    if failed:
        raise LostWorkerError(f"{process.name} could not begin: {failed}")


def begun(packed: bytes, place: int) -> Following | str:
    """What another process than the first one does, on device `place` of its machine; or why it could not begin."""
    import cloudpickle

    try:
        device, begin, what = cloudpickle.loads(packed)
        if device == "cuda":
            torch.cuda.set_device(place)
            device = f"cuda:{place}"
        follow: Following = begin(device, *what)
    except (LudoryError, ImportError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return follow


def _begin(rank: int, size: int, meeting: str, packed: bytes, threads: int, pipe: Connection) -> None:
    """Another process than the first one: do what it says."""
    begin_child()
    use_threads(threads)
    follow = begun(packed, rank)
    pipe.send(follow if isinstance(follow, str) else "")
    pipe.close()
    if isinstance(follow, str):
        return
    follow_with(lambda: Ranks(rank, size, file_store(meeting, size)), follow)


def follow_with(meet: Callable[[], Ranks], follow: Following) -> None:
    """Another process than the first one: `follow` once it has met the others, until it is done or one is lost."""
    # the first process tells its user when one is lost; the others only end
    with suppress(LostWorkerError), named_loss():
        ranks = meet()
        try:
            follow(ranks)
        finally:
            ranks.close()


@contextmanager
def learning_companions(
    learner: Learner, size: int, device: torch.device, follow: Callable[[Any, Ranks], None]
) -> Iterator[Ranks]:
    """As `companions`, which have the state of `learner`; each calls `follow(learner, ranks)`, a function of a module."""
    with TemporaryDirectory(prefix="ludory-learner-") as folder:
        learner.save(Path(folder) / "learner")
        what = type(learner), folder, NamedGame.of(learner.game), vars(learner).get("loss"), follow
        with companions(size, device, _copy, *what) as ranks:
            yield ranks


def _copy(
    device: str, kind: type[Learner], folder: str, game: NamedGame, loss: object, follow: Callable[[Any, Ranks], None]
) -> Following:
    """The learner on another device."""
    if not Path(folder).is_dir():
        raise OptionError(f"{folder} of the first machine is not there; set TMPDIR to a folder that all machines see")
    learner = kind.load(Path(folder) / "learner", game.make(), device=device)
    if loss is not None:
        learner.loss = loss  # type: ignore[attr-defined]
    return partial(follow, learner)


@contextmanager
def together(learner: Algorithm, size: int) -> Iterator[None]:
    """Within it `size` processes learn: this one, and others that have its state.

    Each plays its share of the games and computes its part of every gradient. Apart from the order of sums the numbers are those of one
    process; so are checkpoints, which can be resumed with another number.

    Raises:
        LostWorkerError: another process is gone.
    """
    learner.game.need(f"devices={size}", "saves")
    with (
        learning_companions(learner, size, learner.device, _follow) as ranks,
        _sharing(learner, ranks) as sampler,
    ):
        sampler.order = lambda: _order(learner)
        yield
        sampler.settle()
        ranks.said(END)


@contextmanager
def _sharing(learner: Algorithm, ranks: Ranks) -> Iterator[RankedSampler]:
    """Within it, `learner` plays its share of the games and learns from its part of every minibatch."""
    inner, config = learner.sampler, learner.config
    first, last = list(shares_of(config.num_envs, ranks.size))[ranks.rank]
    share = Share(NamedGame.of(learner.game), learner.policy_spec, config, first, last, None)
    learner.ranks, learner.sampler = ranks, RankedSampler(inner, ranks, share, str(learner.device))
    try:
        yield learner.sampler
    finally:
        learner.ranks, learner.sampler = None, inner


def _order(learner: Algorithm) -> tuple[Any, ...]:
    """What another process needs to know to begin an iteration as this one does."""
    return learner.num_timesteps, learner._total_timesteps, learner.time_share, learner.generator.get_state()


def _follow(learner: Algorithm, ranks: Ranks) -> None:
    """Another process than the first one: do what that says."""

    def on_step() -> bool:
        learner.num_timesteps += learner.step_timesteps
        return True

    with _sharing(learner, ranks) as sampler, learner.alone():
        while (order := sampler.hear()) != END:
            learner.num_timesteps, learner._total_timesteps, learner.time_share, state = order
            learner.generator.set_state(state)
            learner.iterate(on_step)
