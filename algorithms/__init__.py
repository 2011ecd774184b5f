"""How agents learn. The names below are what an algorithm's author needs; they are loaded when they are first used.

`vtrace` is missing among them, since it is the name of a package here: `from ludory.algorithms.losses.returns import vtrace`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's algorithms room; type `import ludory.algorithms`")

if TYPE_CHECKING:
    from .algorithm import Algorithm
    from .az import AZ
    from .az_config import AZConfig
    from .bc import BC, BCConfig
    from .cfr import CFR
    from .cfr_config import CFRConfig
    from .config import AlgorithmConfig, LearnerConfig, linear, make_options
    from .distill.config import DistillConfig
    from .distill.distill import Distill
    from .learner import Learner, game_to_load, needed_game
    from .losses.returns import Advantages, ClosedIndex, Steps, affine_scan, close_holes, gae, normalise, upgo
    from .make import load, make_algorithm
    from .offline.config import SupervisedConfig
    from .offline.supervised import PRECISIONS, SupervisedAlgorithm
    from .offline.supervised_module import Course, Position, SupervisedModule
    from .ppo import PPO, PPOConfig
    from .ppo.loss import Coefficients, PPOMinibatch, ppo_loss
    from .running.callbacks import BetweenIterations, MaybeCallback, figures_table
    from .running.folder_learner import FolderLearner
    from .running.folder_lock import FileLock, FolderLock
    from .running.interrupt import exit_code, stop_on_interrupt
    from .running.metric_logs import CSVLog, Logger, table_beside
    from .running.optimiser_state import LightAdam, LightAdamW, load_adam, save_adam
    from .running.ranks import Ranks
    from .running.sharded import ShardedModule
    from .running.threads import one_thread
    from .running.together import companions, learning_companions
    from .running.train_to_file import train_to_file
    from .sampling.lanes import EngineLanes, Lanes, SelfPlayLanes, SimultaneousLanes, on_engine, played
    from .sampling.policy_runner import PolicyRunner
    from .sampling.rollout import Rollout, minibatches
    from .sampling.teacher import load_teacher
    from .sb3_ppo import export_sb3
    from .sb3_ppo.config import SB3PPOConfig
    from .sb3_ppo.sb3_ppo import SB3PPO
    from .vtrace import VTrace, VTraceConfig

__all__ = [
    "AZ",
    "BC",
    "CFR",
    "PPO",
    "PRECISIONS",
    "SB3PPO",
    "AZConfig",
    "Advantages",
    "Algorithm",
    "AlgorithmConfig",
    "BCConfig",
    "BetweenIterations",
    "CFRConfig",
    "CSVLog",
    "ClosedIndex",
    "Coefficients",
    "Course",
    "Distill",
    "DistillConfig",
    "EngineLanes",
    "FileLock",
    "FolderLearner",
    "FolderLock",
    "Lanes",
    "Learner",
    "LearnerConfig",
    "LightAdam",
    "LightAdamW",
    "Logger",
    "MaybeCallback",
    "PPOConfig",
    "PPOMinibatch",
    "PolicyRunner",
    "Position",
    "Ranks",
    "Rollout",
    "SB3PPOConfig",
    "SelfPlayLanes",
    "ShardedModule",
    "SimultaneousLanes",
    "Steps",
    "SupervisedAlgorithm",
    "SupervisedConfig",
    "SupervisedModule",
    "VTrace",
    "VTraceConfig",
    "affine_scan",
    "close_holes",
    "companions",
    "exit_code",
    "export_sb3",
    "figures_table",
    "gae",
    "game_to_load",
    "learning_companions",
    "linear",
    "load",
    "load_adam",
    "load_teacher",
    "make_algorithm",
    "make_options",
    "minibatches",
    "needed_game",
    "normalise",
    "on_engine",
    "one_thread",
    "played",
    "ppo_loss",
    "save_adam",
    "stop_on_interrupt",
    "table_beside",
    "train_to_file",
    "upgo",
]

__getattr__, __dir__ = published_by(__name__)
