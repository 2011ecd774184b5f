"""Files of older bots for a game like the arena: recorded ticks, feedback of a live client, manifests of runs."""

from .flaw import Flaw
from .load import SequenceSet, load_sequences
from .recorded_step import Reading
from .replay import ReplayBatch, SequenceReplay
from .sequence import TrajectorySequence

__all__ = ["Flaw", "Reading", "ReplayBatch", "SequenceReplay", "SequenceSet", "TrajectorySequence", "load_sequences"]
