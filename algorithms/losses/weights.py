"""`LossWeights`: the coefficients of `actor_critic_loss`, which configs inherit."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.limits import Fraction, NonNegativeFloat


@dataclass(frozen=True)
class LossWeights:
    """Coefficients and discounts; defaults suit games with one final reward. A config may inherit them."""

    gamma: Fraction = 1.0
    """Discount."""
    lam: Fraction = 0.8
    """Lambda of the value target, TD(lambda)."""
    vtrace_lam: Fraction = 1.0
    """Lambda of V-trace's trace."""
    rho_bar: NonNegativeFloat = 1.0
    """Clips the ratio in V-trace's temporal differences."""
    c_bar: NonNegativeFloat = 1.0
    """Clips the ratio along V-trace's trace."""
    pg_rho_bar: NonNegativeFloat = 1.0
    """Clips the ratio of V-trace's policy gradient."""
    c_pg: NonNegativeFloat = 1.0
    """Weight of the V-trace policy gradient."""
    c_upgo: NonNegativeFloat = 1.0
    """Weight of the UPGO policy gradient."""
    c_value: NonNegativeFloat = 10.0
    """Weight of half the squared error of the value."""
    c_kl: NonNegativeFloat = 0.02
    """Weight of KL(teacher to policy), where there is a teacher."""
    c_entropy: NonNegativeFloat = 1e-4
    """Weight of the entropy bonus, normalised by the number of legal values."""
