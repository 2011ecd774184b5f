"""V-trace and UPGO: off-policy actor-critic on replayed sequences (arXiv 1802.01561, doi:10.1038/s41586-019-1724-z)."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .config import VTraceConfig as VTraceConfig
    from .vtrace import VTrace as VTrace

__all__ = ["VTrace", "VTraceConfig"]
__getattr__, __dir__ = published_by(__name__)
