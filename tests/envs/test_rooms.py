"""Hashes of rooms and the splits that follow from them."""

import numpy as np
import pytest

from ludory.envs.rooms import SPLITS, check_split, room_hash, split_of
from ludory.errors import OptionError


def some(seed: int, shape=(6, 6)) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.integers(0, 3, shape, np.uint8), generator.integers(0, 6, shape, np.uint8)]


def test_the_hash_is_the_same_on_every_machine():
    assert room_hash([np.arange(6, dtype=np.uint8).reshape(2, 3)]) == 0x4723002D107112A0


def test_shape_grids_and_order_matter():
    fixed, codes = some(1)
    hashes = {
        room_hash([fixed, codes]),
        room_hash([codes, fixed]),
        room_hash([fixed]),
        room_hash([fixed.reshape(4, 9), codes.reshape(4, 9)]),
    }
    assert len(hashes) == 4


def test_an_orbit_is_one_room():
    fixed, codes = some(2)
    expected = room_hash([fixed, codes], orbit=True)
    for turns in range(4):
        for mirror in (False, True):
            view = [np.rot90(grid, turns) for grid in (fixed, codes)]
            view = [np.fliplr(grid) if mirror else grid for grid in view]
            assert room_hash(view, orbit=True) == expected
    assert room_hash([np.rot90(fixed), np.rot90(codes)]) != room_hash([fixed, codes])


def test_splits_have_their_shares():
    hashes = np.array([room_hash(some(seed)) for seed in range(4000)], np.uint64)
    shares = np.bincount(split_of(hashes), minlength=3) / len(hashes)
    assert len(SPLITS) == 3
    assert np.abs(shares - [0.8, 0.1, 0.1]).max() < 0.03
    assert (split_of(np.array([79, 80, 89, 90, 99, 100], np.uint64)) == [0, 1, 1, 2, 2, 0]).all()


def test_an_unknown_split_is_refused():
    with pytest.raises(OptionError, match="train, valid, test"):
        check_split("validation")
