"""Recorded games: the same game again, from memory and from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games.nim import matching, nim
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.agents.random import RandomAgent
from ludory.data.playthrough import Playthrough
from ludory.data.replay import Replay, as_replay, frames, read_replay, record_replay, write_replay
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.errors import OutputError, ReplayError

TINY = "HanabiTiny2P-v0"


def randoms(game: Game, seed: int) -> list[RandomAgent]:
    return [RandomAgent(game.facts, seed=seed + seat) for seat in range(game.facts.players)]


def record(seed: int = 4, start: dict[str, Any] | None = None) -> Replay:
    return record_replay(TINY, randoms(make_game(TINY), seed), seed, start=start)


@given(seed=st.integers(0, 2**31), index=st.integers(0, 50))
@settings(max_examples=20)
def test_a_replay_goes_through_the_very_same_states(seed: int, index: int) -> None:
    game = make_game(TINY)
    playthrough = Playthrough(game, randoms(game, seed), seed, index)
    states = [playthrough.engine.clone()] + [playthrough.engine.clone() for _ in playthrough]
    again = [engine.clone() for engine in frames(as_replay(playthrough))]
    assert len(again) == len(states)
    for one, other in zip(states, again, strict=True):
        for field, values in one.state._asdict().items():
            assert np.array_equal(values, getattr(other.state, field)), field


def test_a_replay_is_the_game_of_that_index_in_a_batch() -> None:
    game = make_game(TINY)
    replay = record_replay(game, randoms(game, 1), seed=11, game_index=3)
    batch = make_engine(TINY, num_games=5, seed=11)
    batch.reset()
    start = next(iter(frames(replay)))
    assert np.array_equal(start.state.deck[0], batch.state.deck[3])


@given(seed=st.integers(0, 2**31))
@settings(max_examples=10)
def test_a_written_replay_reads_the_same(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    replay, file = record(seed), tmp_path_factory.mktemp("replays") / "game.json"
    write_replay(file, replay)
    assert read_replay(file) == replay


def test_a_given_deck_is_part_of_the_replay(tmp_path: Path) -> None:
    deck = [3, 2, 1, 0, 2, 0, 0, 2]
    replay = record(start={"deck": np.array(deck)})
    write_replay(tmp_path / "game.json", replay)
    start = next(iter(frames(read_replay(tmp_path / "game.json"))))
    assert start.state.deck[0].tolist() == deck


def test_simultaneous_games_with_several_heads_are_recorded_too(tmp_path: Path) -> None:
    game = matching()
    replay = record_replay(game, randoms(game, 2), seed=5)
    write_replay(tmp_path / "game.json", replay)
    again = read_replay(tmp_path / "game.json")
    assert again == replay
    assert len(list(frames(again, game))) == 5


def test_a_game_that_was_left_keeps_what_was_played() -> None:
    game = nim(largest=9)
    playthrough = Playthrough(game, randoms(game, 1), seed=1)
    next(iter(playthrough))
    replay = as_replay(playthrough, ["human", "random(seed=2)"])
    assert (len(replay.moves), replay.finished, replay.agents) == (1, False, ("human", "random(seed=2)"))
    assert len(list(frames(replay, game))) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda replay: replace(replay, seed=replay.seed + 2), "move 1 |ends finished|ends unfinished"),
        (lambda replay: replace(replay, returns=(9.0, 9.0)), r"ends finished with returns 9, 9 as recorded"),
        (lambda replay: replace(replay, moves=replay.moves[:-1]), "but unfinished with returns"),
        (
            lambda replay: replace(replay, moves=(*replay.moves[:-1], replay.moves[-1]._replace(action=99))),
            "move .* 99",
        ),
    ],
)
def test_a_replay_that_the_rules_do_not_lead_to_is_refused(change: Any, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        list(frames(change(record())))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "cannot be read as a replay"),
        ("[1, 2]", "is not a replay"),
        ('{"format": "ludory replay 9"}', "format is 'ludory replay 9', must be 'ludory replay 1'"),
        ('{"format": "ludory replay 1", "game": "Hanabi2P-v0"}', "is a damaged replay"),
    ],
)
def test_other_files_are_refused_and_the_message_says_how_to_make_one(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "game.json").write_text(text)
    with pytest.raises(ReplayError, match=f"{message}.*ludory watch GAME AGENT --replay FILE"):
        read_replay(tmp_path / "game.json")


def test_a_file_with_fewer_seats_than_actions_is_damaged(tmp_path: Path) -> None:
    write_replay(tmp_path / "game.json", record())
    content = json.loads((tmp_path / "game.json").read_text())
    content["seats"].pop()
    (tmp_path / "game.json").write_text(json.dumps(content))
    with pytest.raises(ReplayError, match="damaged"):
        read_replay(tmp_path / "game.json")


def test_a_missing_file_and_an_unwritable_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"none\.json cannot be read"):
        read_replay(tmp_path / "none.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_replay(tmp_path / "file" / "game.json", record())
