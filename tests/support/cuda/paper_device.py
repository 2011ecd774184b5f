"""`PaperDevice`: a GPU of paper, which notes what is launched."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from ludory.envs.engine.cuda_device import Kernel, argument_words, signature


class PaperDevice:
    """Notes what is launched, or compiles it, and runs nothing.

    place: of its tensors. On "meta" they have no contents: whoever copies one to the host or asks it for a number gets an error.
    """

    def __init__(self, compiled: Callable[[Kernel, Any], str] | None = None, place: str = "cpu") -> None:
        self.torch_device = torch.device(place)
        self.launched: dict[tuple[str, Any], str] = {}
        self.launches: list[str] = []
        """Names of the kernels in the order of their launches."""
        self._compiled = compiled or (lambda kernel, types: "")

    def launch(self, kernel: Kernel, blocks: int, threads: tuple[int, ...], *args: Any) -> None:
        types = signature(args)
        self.launches.append(kernel.__name__)
        if (kernel.__name__, types) not in self.launched:
            self.launched[kernel.__name__, types] = ptx = self._compiled(kernel, types)
            if ptx:
                self.check_arguments(ptx, sum(map(len, map(argument_words, args))))

    @staticmethod
    def check_arguments(ptx: str, size: int) -> None:
        """The code takes as many words as it is given."""
        (taken,) = re.findall(r"\.visible \.entry [^(]*\(([^)]*)\)", ptx)
        kinds = re.findall(r"\.param \.(\w+)", taken)
        assert {kind[1:] for kind in kinds} == {"64"}
        assert 8 * len(kinds) == size

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.launched}
