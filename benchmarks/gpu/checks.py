"""Parts `tests` and `maths`: tests that need a GPU, and returns and losses on the GPU beside the CPU."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ludory.algorithms.losses.returns import Steps, gae, monte_carlo, n_step, td_lambda, upgo, vtrace

from .part import CampaignPart, NamedWork, Row

CHECKOUT = Path(__file__).resolve().parents[2]
TESTS = (
    "tests/envs/engine/test_cuda_gpu.py",
    "tests/envs/test_golden_lake_and_sudoku.py",
    "tests/algorithms/losses/test_targets.py",
)
"""Files of which some tests run on a GPU only: recorded games, saved states, streams, errors, the kernel of the targets."""
STEPS, COLUMNS = 64, 512
TOLERANCE = 1e-5
"""Of float32 sums in another order, relative to the largest value."""


def gpu_tests(part: CampaignPart) -> Iterator[NamedWork]:
    """A row per file: tests passed, failed and skipped. The tests come with a checkout only."""
    for file in TESTS:
        yield NamedWork(file, partial(_tested, part, file))


def _tested(part: CampaignPart, file: str) -> Row:
    if not (CHECKOUT / file).is_file() or importlib.util.find_spec("pytest") is None:
        return {"missing": "the tests need a checkout and pytest"}
    more = ["--collect-only"] if part.small else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, file]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    said = done.stdout.strip().splitlines()
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", said[-1])}
    failed = [line for line in said if line.startswith(("FAILED", "ERROR"))]
    return {"exit_code": done.returncode, **counts, "differences": failed}


def maths(part: CampaignPart) -> Iterator[NamedWork]:
    """A row per return: the largest difference between the devices."""
    for name in ("gae", "td_lambda", "monte_carlo", "n_step", "vtrace", "upgo"):
        yield NamedWork(name, partial(_compared, part, name))


def _compared(part: CampaignPart, name: str) -> Row:
    one, other = (_returns(name, device) for device in ("cpu", part.device))
    largest = max(float((a - b.cpu()).abs().max() / a.abs().max()) for a, b in zip(one, other, strict=True))
    bad = [f"{name}: off by {largest:.1e}"] if not largest <= TOLERANCE else []
    return {"largest_difference": largest, "differences": bad}


def _returns(name: str, device: str) -> list[Tensor]:
    steps, log_rhos = _episodes(device)
    ways: dict[str, Any] = {
        "gae": partial(gae, gamma=0.99, lam=0.95),
        "td_lambda": partial(td_lambda, gamma=0.99, lam=0.8),
        "monte_carlo": partial(monte_carlo, gamma=0.99),
        "n_step": partial(n_step, n=5, gamma=0.99),
        "vtrace": partial(vtrace, log_rhos=log_rhos, gamma=0.99),
        "upgo": partial(upgo, log_rhos=log_rhos, gamma=0.99),
    }
    found = ways[name](steps)
    return [found] if isinstance(found, Tensor) else [part for part in found if isinstance(part, Tensor)]


def _episodes(device: str) -> tuple[Steps, Tensor]:
    """The same random episodes on any device."""
    generator = torch.Generator().manual_seed(2)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    shape = (STEPS, COLUMNS)
    ends = torch.rand(shape, generator=generator) < 0.05
    cuts = (torch.rand(shape, generator=generator) < 0.02) & ~ends
    values, last = drawn(*shape), drawn(1, COLUMNS)
    after = torch.cat([values[1:], last])
    after = torch.where(cuts, drawn(*shape), after)
    parts = (drawn(*shape), values, after, ends, cuts)
    log_rhos = 0.3 * drawn(*shape)
    return Steps(*(part.to(device) for part in parts)), log_rhos.to(device)
