"""One run in several processes: which of them writes files."""

from __future__ import annotations

import os


def is_first_process() -> bool:
    """Whether this is the only process of a run or the first one, by the names that launchers (torchrun, Lightning's) give them."""
    if "RANK" in os.environ:
        return int(os.environ["RANK"]) == 0
    return all(int(os.environ.get(name, 0)) == 0 for name in ("LOCAL_RANK", "NODE_RANK"))
