"""`together`: several processes train one language model, each with a share of the rooms and of every minibatch."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ludory.algorithms.running.ranks import Ranks
from ludory.algorithms.running.together import CORES, Follow, companions, copied, copy_on
from ludory.algorithms.sampling.ranked import END

from .memory import shape_of
from .text_ppo import GATHER, TextPPO


@contextmanager
def together(learner: TextPPO) -> Iterator[None]:
    """Within it the processes of `config.devices` learn: this one, and others that have its state.

    All get all episodes, and so choose the same groups and the same minibatches; gradients are added up. Apart from the order of sums the
    numbers are those of one process; so are checkpoints, which can be resumed with another number. Where weights are spread, the learner
    has none after an error: load what was saved last.

    Raises:
        OptionError: there are fewer devices.
        LostWorkerError: another process is gone.
    """
    size, device = learner.config.devices, learner.model.device
    with (
        copied(learner) as what,
        companions(size, device, _trainer, *what) as ranks,
        _sharing(learner, ranks),
    ):
        yield
        ranks.said(END)


@contextmanager
def _sharing(learner: TextPPO, ranks: Ranks) -> Iterator[None]:
    """Within it, `learner` plays its share of the rooms and learns from its part of every minibatch."""
    spreads, threads = learner.config.spreads(shape_of(learner.model.model).parameters), torch.get_num_threads()
    torch.set_num_threads(int(os.environ[CORES]))
    learner.ranks = ranks
    if spreads:
        learner.spread_over(ranks)
    try:
        with learner.episodes_together(ranks):
            yield
        if spreads:
            learner.unite()
    finally:
        learner.ranks = None
        torch.set_num_threads(threads)


def _trainer(device: str, *what: Any) -> Follow:
    """Another process than the first one."""
    # the first one says everything
    logging.disable(logging.WARNING)
    learner: TextPPO = copy_on(device, *what)

    def follow(ranks: Ranks) -> None:
        with _sharing(learner, ranks):
            while (order := ranks.said()) != END:
                if order == GATHER:
                    with learner.gathered():
                        pass
                else:
                    learner.iterate(lambda: True)

    return follow
