"""Loggers of metrics: CSV and TensorBoard in the run's folder, and Weights & Biases on request."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger, WandbLogger

from ludory.errors import PluginError

_NOTED: set[str] = set()


def make_loggers(folder: str | None, use_wandb: bool, config: dict[str, Any]) -> list[Logger]:
    """Loggers that write below `folder`: csv/version_N/metrics.csv and tensorboard/version_N; every (resumed) run gets its own N.

    Raises:
        PluginError: Weights & Biases is asked for and not installed.
    """
    loggers: list[Logger] = []
    if folder is not None:
        loggers.append(CSVLogger(folder, name="csv"))
        if find_spec("tensorboard") or find_spec("tensorboardX"):
            loggers.append(TensorBoardLogger(folder, name="tensorboard"))
        elif "tensorboard" not in _NOTED:
            _NOTED.add("tensorboard")
            notice = "ludory: no TensorBoard logs, metrics go to CSV only; for both type: pip install tensorboard"
            print(notice, file=sys.stderr)
    if use_wandb:
        loggers.append(_wandb(folder, config))
    return loggers


def _wandb(folder: str | None, config: dict[str, Any]) -> Logger:
    if not find_spec("wandb"):
        raise PluginError("use_wandb=True needs Weights & Biases; type: pip install wandb")
    return WandbLogger(project="ludory", save_dir=str(Path(folder or ".")), config=config)


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silence Lightning's notices: its advice (more workers, its own progress bar) does not apply here."""
    names = ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\..*")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
