"""Networks that learn E[Q] of Texas 42 from what one seat has seen."""

from .student import Texas42Student, Texas42StudentConfig

__all__ = ["Texas42Student", "Texas42StudentConfig"]
