"""Kernels as plain Python, and the fields that notice when one leaves its row."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import re

import numpy as np
import pytest

from ludory.envs import chance
from ludory.envs.kernels import kernel
from ludory.errors import ConformanceError
from ludory.testing.kernels.interpreted import GuardedField, interpreted


@kernel
def double(value):
    return 2 * value


@kernel
def double_through_a_name(value):
    return double(value)


@kernel
def mix_through_a_module(value):
    return chance.mix(value, value)


def enclosing(function):
    @kernel
    def double_through_a_closure(value):
        return function(value)

    return double_through_a_closure


@pytest.mark.parametrize("function", [double, double_through_a_name, enclosing(double)])
def test_called_kernels_are_plain_too(function):
    assert interpreted(function)("ab") == "abab"  # compiled code takes no text


def test_kernels_reached_through_a_module_are_plain_too():
    with np.errstate(over="ignore"):
        assert interpreted(mix_through_a_module)(np.int64(3)) == mix_through_a_module(3)


@pytest.fixture
def field():
    return GuardedField("state.cards", np.arange(12, dtype=np.int8).reshape(3, 2, 2), 1)


def test_the_own_row_can_be_read_and_written(field):
    field[1, 0, 1] = 9
    assert field[1, 0, 1] == 9
    assert field.shape == (3, 2, 2)
    assert list(field[1, 1]) == [6, 7]
    assert field[1].sum() == 4 + 9 + 6 + 7
    field[1, 1][0] = 5
    assert field[1, 1, 0] == 5


def test_narrow_integers_are_read_as_wide_ones(field):
    assert field[1, 1, 1] * 100 == 700


@pytest.mark.parametrize(
    ("touch", "message"),
    [
        (lambda field: field[0, 0, 0], "reads state.cards[0, 0, 0] in the kernel call for game 1: another game's row"),
        (lambda field: field[:, 0, 0], "a kernel for game 1 may use that row only"),
        (lambda field: field.sum(), "uses state.cards.sum: a kernel for game 1 may use that row only"),
        (lambda field: field[1, 0, 2], "reads state.cards[1, 0, 2], outside its shape (3, 2, 2)"),
        (lambda field: field[1, -1, 0], "reads state.cards[1, -1, 0], outside its shape (3, 2, 2)"),
        (lambda field: field[1, 1][2], "reads state.cards[(1, 1)][2], outside its shape (2,)"),
        (lambda field: field.__setitem__((2, 0, 0), 1), "writes state.cards[2, 0, 0]"),
        (
            lambda field: field.__setitem__((1, 0, 0), 128),
            "writes 128 to state.cards, which is int8 and holds -128..127",
        ),
    ],
)
def test_what_leaves_the_row_or_the_bounds_is_noticed(field, touch, message):
    with pytest.raises(ConformanceError, match=re.escape(message)):
        touch(field)
