"""Who chooses the moves.

The names below are loaded when they are first used, so that `import ludory.agents` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's agents room; type `import ludory.agents`")

if TYPE_CHECKING:
    from .agent import Agent, BotKernels, DrawingAgent, KernelAgent
    from .draws import ONE_MORE, Keys, uniforms
    from .evaluation.cross_play import cross_play
    from .evaluation.evaluate import check_count, evaluate
    from .evaluation.intervals import wilson
    from .evaluation.record import record
    from .make import make_agent
    from .networks.build import ImportedPolicy, PolicySpec, build_policy, complete, policy_of, saved_policy
    from .networks.import_sb3 import from_sb3, sb3_agent
    from .networks.layers.distribution import MaskedHeads
    from .networks.layers.encoders import dense_encoder, flat_encoder
    from .networks.layers.recurrent import GruStep, RecurrentPolicy
    from .networks.policies.gru import GruPolicy
    from .networks.policies.residual import ResidualBlock
    from .networks.policies.transformer import AttentionLayer, check_encoder
    from .networks.policy import Policy, PolicyOutput, numpy_to_bits, output_layers, refuse_not_finite
    from .neural import NeuralAgent
    from .pretrained.cards import pretrained_agents, weights_file
    from .random import RandomAgent
    from .search.belief import Belief, Draw, GameBeliefs
    from .search.blueprint import Blueprint, Memories, make_blueprint, records_of
    from .search.kernel_blueprint import KernelBlueprint
    from .search.particles import ParticleBelief, belief_maker
    from .search.rollouts import RolloutSearch, SearchDecision, SearchResult
    from .search.searcher import Searcher
    from .seat import Seat, SeatAgent, SeatMove

__all__ = [
    "ONE_MORE",
    "Agent",
    "AttentionLayer",
    "Belief",
    "Blueprint",
    "BotKernels",
    "Draw",
    "DrawingAgent",
    "GameBeliefs",
    "GruPolicy",
    "GruStep",
    "ImportedPolicy",
    "KernelAgent",
    "KernelBlueprint",
    "Keys",
    "MaskedHeads",
    "Memories",
    "NeuralAgent",
    "ParticleBelief",
    "Policy",
    "PolicyOutput",
    "PolicySpec",
    "RandomAgent",
    "RecurrentPolicy",
    "ResidualBlock",
    "RolloutSearch",
    "SearchDecision",
    "SearchResult",
    "Searcher",
    "Seat",
    "SeatAgent",
    "SeatMove",
    "belief_maker",
    "build_policy",
    "check_count",
    "check_encoder",
    "complete",
    "cross_play",
    "dense_encoder",
    "evaluate",
    "flat_encoder",
    "from_sb3",
    "make_agent",
    "make_blueprint",
    "numpy_to_bits",
    "output_layers",
    "policy_of",
    "pretrained_agents",
    "record",
    "records_of",
    "refuse_not_finite",
    "saved_policy",
    "sb3_agent",
    "uniforms",
    "weights_file",
    "wilson",
]

__getattr__, __dir__ = published_by(__name__)
