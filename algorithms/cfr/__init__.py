"""CFR: counterfactual regret minimisation, for games of two seats with opposed interests whose tree is small."""

from .cfr import CFR, CFRConfig

__all__ = ["CFR", "CFRConfig"]
