"""V-trace and UPGO: off-policy actor-critic on replayed sequences (arXiv 1802.01561, doi:10.1038/s41586-019-1724-z)."""

from .config import VTraceConfig
from .vtrace import VTrace

__all__ = ["VTrace", "VTraceConfig"]
