"""Networks that learn exact values of Texas 42 with open hands."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .config import Texas42OracleConfig as Texas42OracleConfig
    from .oracle import Texas42Oracle as Texas42Oracle

__all__ = ["Texas42Oracle", "Texas42OracleConfig"]
__getattr__, __dir__ = published_by(__name__, extras=("lightning",))
