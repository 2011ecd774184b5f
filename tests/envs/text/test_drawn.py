"""Games without texts of their own are played by their text pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from games.corridor import corridor
from games.external import tic_tac_toe
from games.high_card import HIGH_CARD
from games.nim import nim

from ludory.envs import TextEnv, codec_of, make_engine, make_game
from ludory.envs.text.drawn import drawn_codec
from ludory.errors import OptionError


def test_a_prompt_shows_the_picture_and_what_is_legal():
    env = TextEnv(nim(), seed=1)
    env.reset()
    assert env.observation.startswith(
        "You are playing Nim, a game for 2 seats. What you win, the others lose.\nActions: take 1 from heap 1, "
    )
    heaps, legal = env.observation.split("State:\n")[1].split("\n")[:2]
    assert set(heaps) <= set("|- ")
    named = legal.removeprefix("You are seat 0. You may: ").rstrip(".").split(", ")
    found = [codec_of(env.game).decode(name).action for name in named]
    assert found == np.flatnonzero(env.engine.legal()[0]).tolist()


def test_a_game_with_an_engine_of_its_own_is_played_to_its_end():
    env = TextEnv(tic_tac_toe(), seed=1)
    env.reset()
    names = iter([env.game.look.action_name(0, cell) for cell in range(9)] * 2)
    done = False
    while not done:
        _, _, terminated, truncated, _ = env.step(f"<think>.</think><answer>{next(names)}</answer>")
        done = terminated or truncated
    assert env.engine.terminated[0]


def test_hidden_cards_stay_hidden():
    codec, engine = codec_of(HIGH_CARD), make_engine(HIGH_CARD, 16, seed=2)
    engine.reset()
    other = engine.clone()
    other.redeal(0, seed=7)
    texts = [[codec.encode(one.state, row, 0) for row in range(16)] for one in (engine, other)]
    assert texts[0] == texts[1]
    assert [codec.encode(engine.state, row, None) for row in range(16)] != [
        codec.encode(other.state, row, None) for row in range(16)
    ]


def test_an_action_of_several_heads_names_a_value_of_each():
    codec = drawn_codec(make_game("Arena2P-v0"))
    assert codec is not None
    names = "move_x 0, move_y +1, aim_x 0, aim_y -0.75, fire, no ability, leave crates"
    assert codec.decode(names).action == (2, 4, 4, 1, 1, 0, 0)
    assert "7 parts with commas between them, this one has 1" in codec.decode("fire").reason
    assert codec.decode(names.replace("fire", "dance")).action is None
    assert "fire: hold fire, fire; ability: no ability, dash" in codec.instruction


def test_a_game_without_texts_and_pictures_is_refused():
    bare = replace(corridor(), language=None)
    with pytest.raises(OptionError, match="Corridor has no texts for language models"):
        TextEnv(bare)
