"""Tests of what Windows does not have; they are left out there, and in its imitation."""

from __future__ import annotations

import pytest

from ludory.locks import OPEN_FILES_MOVE


def needs_unix(why: str) -> pytest.MarkDecorator:
    """Leave a test out where open files cannot be moved, as on Windows."""
    return pytest.mark.skipif(not OPEN_FILES_MOVE, reason=why)
