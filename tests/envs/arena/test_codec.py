"""Continuous actions and the seven heads of the arena: nothing is lost on the way, nothing wrong gets in."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludory.envs.arena.codec import FIELDS, HEADS, PRESETS, Action, centres, decode, encode, head_sizes
from ludory.envs.make import make_game
from ludory.errors import OptionError

STILL = Action(0.0, 0.0, 0.0, 0.0, False)


def all_joint_actions(preset: str) -> np.ndarray:
    """(A, 7), every move, aim, fire, ability and interact with every other."""
    return np.stack(np.meshgrid(*map(np.arange, PRESETS[preset]), indexing="ij"), -1).reshape(-1, 7)


@pytest.mark.parametrize("preset", PRESETS)
def test_decode_then_encode_is_the_identity_for_every_joint_action(preset: str) -> None:
    heads = all_joint_actions(preset)
    assert len(heads) == {"default": 40_500, "seed": 292_820}[preset]
    assert np.array_equal(encode(decode(heads, preset), preset), heads)


@pytest.mark.parametrize("preset", PRESETS)
def test_one_action_is_decoded_like_many(preset: str) -> None:
    heads = all_joint_actions(preset)[::997]
    many = decode(heads, preset)
    for row, one in enumerate(heads):
        alone = decode(one, preset)
        assert [type(getattr(alone, field)) for field in FIELDS[:5]] == [float] * 4 + [bool]
        assert np.array_equal(encode(alone, preset), one)
        for field in FIELDS:
            assert (getattr(alone, field) or 0) == getattr(many, field)[row]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_heads_are_those_of_the_game(preset: str) -> None:
    facts = make_game("Arena2P-v0", heads=preset).facts
    assert (facts.head_names, facts.head_sizes) == (HEADS, PRESETS[preset])


def test_bins_are_nearest_and_halves_go_to_the_even_one() -> None:
    xs = np.array([-1, -0.76, -0.74, -0.25, 0, 0.25, 0.75, 0.76, 1])
    heads = encode(replace(STILL, move_x=xs), "default")
    assert heads[:, 0].tolist() == [0, 0, 1, 2, 2, 2, 4, 4, 4]
    assert (heads[:, 1:] == [2, 4, 4, 0, 0, 0]).all()
    assert encode(replace(STILL, aim_y=-0.0999), "seed").tolist() == [5, 5, 5, 5, 0, 0, 0]


@given(st.floats(-1, 1), st.sampled_from([2, 5, 9, 11, 14]))
def test_no_centre_is_nearer_than_that_of_the_bin(x: float, size: int) -> None:
    bin = encode(replace(STILL, aim_x=x), (5, size))[2]
    away = np.abs(centres(size) - x)
    assert away[bin] <= away.min() + 1e-12


AXIS = st.floats(-1 - 1e-7, 1 + 1e-7) | st.integers(-10, 10).map(lambda tenth: tenth / 10)


@given(
    st.tuples(*[AXIS] * 4, st.booleans(), st.integers(0, 4), st.booleans()),
    st.sampled_from(list(PRESETS)),
    st.booleans(),
)
def test_one_action_is_encoded_like_many(values: tuple[Any, ...], preset: str, legacy: bool) -> None:
    alone = encode(Action(*values), preset, legacy_aim=legacy)
    many = encode(Action(*(np.array([value]) for value in values)), preset, legacy_aim=legacy)
    assert np.array_equal(many, alone[None])


def test_abilities_keep_their_numbers_and_none_is_0() -> None:
    """The seed had two bins: 1..4 fell into one, and an ability of 0 became 1."""
    assert [encode(replace(STILL, ability_id=one))[5] for one in (None, 0, 1, 2, 3, 4)] == [0, 0, 1, 2, 3, 4]
    assert decode([2, 2, 4, 4, 0, 0, 0]).ability_id is None
    assert decode([2, 2, 4, 4, 0, 3, 1]) == Action(0.0, 0.0, 0.0, 0.0, False, 3, True)


@pytest.mark.parametrize("value", [-1.00001, 1.00001, math.nan, math.inf, -math.inf, "0.5", None, True])
@pytest.mark.parametrize("field", FIELDS[:4])
def test_strict_refuses_what_is_not_in_range(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{field}=.*must be -1\.\.1"):
        encode(replace(STILL, **{field: value}))


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [("ability_id", value, r"None or a whole number 0\.\.4") for value in (-1, 5, 1.5, math.nan, "1", True)]
    + [(field, value, "true or false") for field in ("fire", "interact") for value in (2, -1, 0.5, math.nan, "yes")],
)
def test_strict_refuses_unknown_abilities_and_answers(field: str, value: Any, allowed: str) -> None:
    with pytest.raises(ValueError, match=rf"{field}=.*must be {allowed}"):
        encode(replace(STILL, **{field: value}))


def test_of_many_the_first_wrong_value_is_named() -> None:
    with pytest.raises(OptionError, match=r"move_y=3\.0: must be -1\.\.1"):
        encode(replace(STILL, move_y=np.array([0.0, 1.0, 3.0, 4.0])))


def test_rounding_beyond_the_edge_is_no_error() -> None:
    assert encode(replace(STILL, move_x=1 + 5e-7, move_y=-1 - 5e-7))[:2].tolist() == [4, 0]


def test_old_data_are_clamped_on_request() -> None:
    wild = Action(7, -math.inf, -1.5, math.inf, 3, 9, -2)
    assert encode(wild, strict=False).tolist() == [4, 0, 0, 8, 1, 4, 0]
    with pytest.raises(OptionError, match="move_x=nan"):
        encode(replace(wild, move_x=math.nan), strict=False)


@pytest.mark.parametrize(
    ("fire", "ability", "aim", "legacy"),
    [(True, None, (0, 0), 1), (False, 2, (0, 0), 1), (False, None, (0, 0), 0), (True, None, (0, -1), 0)],
)
def test_no_aim_keeps_the_facing_or_is_to_the_right_as_it_was(
    fire: bool, ability: int | None, aim: tuple[int, int], legacy: int
) -> None:
    action = Action(0, 0, *aim, fire, ability)
    assert decode(encode(action)).aim_x == 0
    assert decode(encode(action, legacy_aim=True)).aim_x == legacy


def test_sizes_by_name_by_number_and_in_full() -> None:
    assert head_sizes("seed") == head_sizes(11) == head_sizes((11, 11)) == head_sizes([11, 11, 11, 11, 2, 5, 2])
    assert head_sizes((5, 9)) == head_sizes("default") == (5, 5, 9, 9, 2, 5, 2)


@pytest.mark.parametrize("bins", ["eleven", 1, (5,) * 3, (5, 9.0), (5, 5, 9, 9, 2, 2, 2), ()])
def test_other_sizes_are_refused(bins: Any) -> None:
    with pytest.raises(OptionError, match=r"'default', 'seed'.*pair \(move, aim\)"):
        head_sizes(bins)


@pytest.mark.parametrize("heads", list(itertools.chain(([0] * 6, [0.0] * 7))))
def test_only_seven_integers_are_decoded(heads: Any) -> None:
    with pytest.raises(OptionError, match="7 integers"):
        decode(heads)


def test_a_value_outside_its_head_is_not_decoded() -> None:
    with pytest.raises(OptionError, match=r"aim_x=9: must be 0\.\.8"):
        decode([0, 0, 9, 0, 0, 0, 0])
