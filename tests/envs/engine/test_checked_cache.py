"""Compiled code on disk whose files cannot be used counts as missing."""

from __future__ import annotations

import hashlib
import pickle

import pytest

from ludory.envs.engine.binding.checked_cache import _read


def written(path, content: bytes) -> str:
    path.write_bytes(hashlib.sha256(content).digest() + content)
    return str(path)


def test_a_whole_file_is_read(tmp_path):
    assert _read(written(tmp_path / "index", pickle.dumps(("1", 2)))) == ("1", 2)


@pytest.mark.parametrize("home", ["fractions", "no_such_module"])
def test_a_class_that_is_not_there_any_more_is_another_version(tmp_path, home):
    content = f"c{home}\nGone\n.".encode()  # a pickle of the class `Gone` of this module
    with pytest.raises(OSError, match="of another version"):
        _read(written(tmp_path / "index", content))


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "index"
    written(path, pickle.dumps(("1", 2)))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(OSError, match="damaged"):
        _read(str(path))
