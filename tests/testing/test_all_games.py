"""Every registered game keeps the contract."""

from __future__ import annotations

import pytest
from own_games import OWN

from ludory.envs.make import make_game
from ludory.testing import check_game

LONG = ("Arena4P-v0", "Arena8P-v0")


@pytest.mark.parametrize("id", OWN)
def test_the_game_keeps_the_contract(id):
    check_game(make_game(id), games=8 if id in LONG else 24, cuda="skip")


def test_it_keeps_it_in_the_cuda_simulator_too():
    remarks = {}
    check_game(
        make_game("HanabiTiny2P-v0"), games=4, report=lambda name, ok, message: remarks.update({name: (ok, message)})
    )
    assert remarks["CUDA simulator"] == (True, "")
