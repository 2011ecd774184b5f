"""Behaviour cloning: a policy that imitates recorded decisions, trained on Lightning."""

from .bc import BC
from .config import BCConfig

__all__ = ["BC", "BCConfig"]
