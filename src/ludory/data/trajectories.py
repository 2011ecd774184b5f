"""Trajectories on disk: one schema for the decisions of every game, written by `ludory record`, read in batches by learners."""

from .checks import Problem
from .dataset import TrajectoryDataset
from .decisions import Decisions, Sequences
from .header import SCHEMA_VERSION, ExtraColumn, TrajectoryHeader

__all__ = [
    "SCHEMA_VERSION",
    "Decisions",
    "ExtraColumn",
    "Problem",
    "Sequences",
    "TrajectoryDataset",
    "TrajectoryHeader",
]
