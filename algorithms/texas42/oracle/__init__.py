"""Networks that learn exact values of Texas 42 with open hands."""

from .config import Texas42OracleConfig
from .oracle import Texas42Oracle

__all__ = ["Texas42Oracle", "Texas42OracleConfig"]
