"""Networks that learn E[Q] of Texas 42 from what one seat has seen."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .config import Texas42StudentConfig as Texas42StudentConfig
    from .student import Texas42Student as Texas42Student

__all__ = ["Texas42Student", "Texas42StudentConfig"]
__getattr__, __dir__ = published_by(__name__, extras=("lightning",))
