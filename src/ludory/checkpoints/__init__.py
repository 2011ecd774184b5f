"""Checkpoints on disk: files and folders, their headers, and which algorithm wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .checkpoint import read_checkpoint, read_header, weights_hash, write_checkpoint
    from .folder import SUMS, check_checksums, read_folder, write_checksums, write_folder
    from .header import LIBRARIES

__all__ = [
    "LIBRARIES",
    "SUMS",
    "check_checksums",
    "read_checkpoint",
    "read_folder",
    "read_header",
    "weights_hash",
    "write_checkpoint",
    "write_checksums",
    "write_folder",
]

__getattr__, __dir__ = published_by(__name__)
