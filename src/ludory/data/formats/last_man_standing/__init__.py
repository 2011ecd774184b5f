"""Files of older bots for a game like the arena: recorded ticks, feedback of a live client, manifests of runs."""

from .checked_lines import Flaw
from .load import SequenceSet, load_sequences
from .recorder import Reading
from .sequence import TrajectorySequence
from .unrolls import ReplayBatch, UnrollSampler

__all__ = ["Flaw", "Reading", "ReplayBatch", "SequenceSet", "TrajectorySequence", "UnrollSampler", "load_sequences"]
