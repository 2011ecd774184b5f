"""`Captured`: work on fixed tensors that is captured once as a CUDA graph and then replayed; without a GPU the same calls, one after another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import torch

LOG = logging.getLogger("ludory.graphs")
WARM_UP = 2
"""Calls that run as they are before the capture: they compile and load kernels, and let libraries take their memory."""


class Captured:
    """Calls of `function`, which are replays of a CUDA graph from the third call on.

    The function reads and writes the same tensors in every call, allocates what it likes, and never waits for the GPU nor asks it for
    a number. Its calls before the capture are work like any other; the capture itself changes nothing. Where capturing fails, a line of the log says
    why, and the function is called instead.

    Args:
        function: the work, on torch's current stream; the GPU engine's kernels follow it.
        device: where its tensors are.
        generators: of random numbers that it draws, besides PyTorch's own.
        name: for the log.
    """

    def __init__(
        self,
        function: Callable[[], None],
        device: torch.device,
        generators: Iterable[torch.Generator] = (),
        name: str = "work",
    ) -> None:
        self.function, self.name = function, name
        self.captures = device.type == "cuda"
        """Whether it is captured, or is to be."""
        self._device, self._generators, self._calls = device, tuple(generators), 0
        self._graph: Any = None

    def __call__(self) -> None:
        """Do the work once."""
        if self.captures and self._graph is None and self._calls >= WARM_UP:
            self._capture()
        self._calls += 1
        if self._graph is None:
            self.function()
        else:
            self._graph.replay()

    def _capture(self) -> None:
        try:
            graph = torch.cuda.CUDAGraph()
            for generator in self._generators:
                # its numbers go on from replay to replay as from call to call
                graph.register_generator_state(generator)
            torch.cuda.synchronize(self._device)
            with torch.cuda.device(self._device), torch.cuda.graph(graph):
                self.function()
            self._graph = graph
        except Exception as error:  # drivers, libraries and losses of users fail in their own ways
            self.captures = False
            LOG.warning("%s: not captured as a CUDA graph, runs step by step: %s", self.name, str(error).split("\n")[0])
