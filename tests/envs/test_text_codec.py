"""A game as a language model reads and plays it."""

from __future__ import annotations

import numpy as np
import pytest
from games.external import tic_tac_toe

from ludory.envs.make import make_engine
from ludory.envs.text_codec import Decoded


def test_a_game_is_played_by_texts_alone():
    game = tic_tac_toe()
    engine = make_engine(game)
    engine.reset()
    for text in ("square 4", "Square 0", " square  2\n", "square 1", "square 6"):
        decoded = game.language.decode(text)
        engine.step(np.array([decoded.action]))
    assert game.language.encode(engine.state, 0, 1) == "oox\n.x.\nx..\nYou are o."
    assert engine.rewards.tolist() == [[1, -1]]


def test_every_action_is_read_by_its_name():
    game = tic_tac_toe()
    for action in range(9):
        assert game.language.decode(game.look.action_name(0, action)) == Decoded(action)


@pytest.mark.parametrize(
    ("text", "reason"), [("square 44", "did you mean 'square 4'?"), ("", "is empty"), ("42", "such as 'square 0'")]
)
def test_what_is_no_action_has_a_reason(text, reason):
    decoded = tic_tac_toe().language.decode(text)
    assert decoded.action is None
    assert reason in decoded.reason
