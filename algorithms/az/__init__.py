"""AlphaZero-style training: self-play by tree search, from which a network learns."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .az import AZ as AZ
    from .config import AZConfig as AZConfig

__all__ = ["AZ", "AZConfig"]
__getattr__, __dir__ = published_by(__name__)
