"""Options of AlphaZero-style training."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.algorithms.config import LearnerConfig
from ludory.limits import Fraction, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt


@dataclass(frozen=True, slots=True)
class AZConfig(LearnerConfig):
    """Options of AlphaZero-style training."""

    num_envs: PositiveInt = 128
    """Games played side by side; every simulation is one forward pass of the network for all of them."""
    n_steps: PositiveInt = 32
    """Moves of every game in an iteration."""
    simulations: PositiveInt = 32
    """Simulations of the search before a move."""
    random_moves: NonNegativeInt = 0
    """Most random moves before a game of self-play; each game draws how many. They are not learnt from; games that begin alike soon are alike."""
    considered: PositiveInt = 16
    """Most actions that are tried at the root of a search."""
    value_scale: PositiveFloat = 0.5
    """Weight of values beside logits in the search, of returns scaled to 0 to 1."""
    learning_rate: PositiveFloat = 1e-3
    """Step size of Adam."""
    final_learning_rate: NonNegativeFloat | None = 1e-4
    """Step size at the end of the run, approached linearly; none: it stays."""
    batch_size: PositiveInt = 512
    """Positions of a gradient step, drawn from the replay."""
    n_epochs: PositiveInt = 4
    """How often a position is learnt from on average while it is in the replay."""
    buffer_size: PositiveInt = 200_000
    """Positions in the replay; the oldest leave it."""
    vf_coef: NonNegativeFloat = 1.0
    """Weight of the value loss."""
    searched_value: Fraction = 0.0
    """Weight of the search's value beside the result of the game in what the value learns; the result is without bias, the search's value varies less."""
    weight_decay: NonNegativeFloat = 1e-4
    """Weight of half the squared weights in the loss."""
    max_grad_norm: PositiveFloat = 1.0
    """Maximum gradient norm."""
    symmetry_augmentation: bool = True
    """Learn from every minibatch under a random symmetry of the game, if one is known."""
