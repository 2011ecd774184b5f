"""`together`: several processes train one language model, each with a share of the rooms and of every minibatch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ludory.algorithms import Ranks, learning_companions

from .memory import shape_of
from .text_ppo import END, GATHER, TextPPO


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
    with learning_companions(learner, size, device, _follow) as ranks, _sharing(learner, ranks):
        yield
        ranks.said(END)


@contextmanager
def _sharing(learner: TextPPO, ranks: Ranks) -> Iterator[None]:
    """Within it, `learner` plays its share of the rooms and learns from its part of every minibatch."""
    spreads = learner.config.spreads(shape_of(learner.model.model).parameters)
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


def _follow(learner: TextPPO, ranks: Ranks) -> None:
    """Another process than the first one: do what that says."""
    # the first one tells its user everything
    logging.disable(logging.WARNING)
    with _sharing(learner, ranks):
        while (order := ranks.said()) != END:
            if order == GATHER:
                with learner.gathered():
                    pass
            else:
                learner.iterate(lambda: True)
