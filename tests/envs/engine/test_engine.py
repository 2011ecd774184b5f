"""`KernelEngine`: what it refuses, and that a game is the same in whatever way it is run, copied, saved and restored."""

from __future__ import annotations

import re

import numpy as np
import pytest
from games import nim as games

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.parallel import PART_SECONDS, RETRY, Pace
from ludory.envs.engine.protocol import Engine
from ludory.envs.hanabi import make_game
from ludory.errors import IllegalActionError, NotResetError, OptionError
from ludory.testing.recording import look, record, replay

TINY = make_game(colors=2, ranks=2, hand_size=2)
MATCHING = games.matching()


@pytest.fixture
def engine():
    engine = KernelEngine(TINY, 4, seed=1)
    engine.reset(options={"deck": [0, 2, 3, 2, 0, 1, 2, 0]})
    return engine


def refused(error, message):
    return pytest.raises(error, match=re.escape(message))


def test_it_is_an_engine(engine):
    assert isinstance(engine, Engine)
    assert engine.device == "cpu"


# --- Actions --------------------------------------------------------------------------------------------------------------


def test_an_illegal_action_is_told_with_game_seat_words_and_what_is_legal(engine):
    engine.step([6, 6, 6, 6])
    with refused(
        IllegalActionError,
        "Hanabi, game 2, seat 1: action 7 (tell +1 rank 2) is not legal; legal: 0 (discard 1), 1 (discard 2), "
        "2 (play 1), 3 (play 2), 4 (tell +1 red), 5 (tell +1 yellow), 6 (tell +1 rank 1)",
    ):
        engine.step([0, 0, 7, 0])


def test_an_action_out_of_range_is_told_with_the_range(engine):
    with refused(IllegalActionError, "game 1, seat 0: action 8, outside 0..7, is not legal; legal: 2 (play 1)"):
        engine.step([2, 8, 2, 2])
    with refused(IllegalActionError, "action -1, outside 0..7,"):
        engine.step([2, 2, 2, -1])


def test_an_illegal_action_of_several_heads_is_told_with_the_head():
    engine = KernelEngine(MATCHING, 2, seed=1)
    engine.reset()
    red = np.zeros((2, 2, 2), int)
    engine.step(red)
    with refused(
        IllegalActionError,
        "Matching, game 0, seat 0, head color: action 0 (red) is not legal; legal: 1 (green), 2 (blue)",
    ):
        engine.step(red)
    with refused(IllegalActionError, "Matching, game 1, seat 1, head size: action 2, outside 0..1, is not legal"):
        engine.step(np.array([[[1, 0], [1, 0]], [[1, 0], [1, 2]]]))


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([2, 2, 2], "actions have shape (3,), must be (4,)"),
        ([[2], [2], [2], [2]], "actions have shape (4, 1), must be (4,)"),
        (2, "actions have shape (), must be (4,)"),
        ([2.0, 2, 2, 2], "actions have dtype float64, must be integers"),
        ([True, False, True, True], "actions have dtype bool, must be integers"),
        ([None, 2, 2, 2], "actions have dtype object, must be integers"),
    ],
)
def test_actions_of_a_wrong_form_are_refused(engine, actions, message):
    with refused(IllegalActionError, f"Hanabi: {message}"):
        engine.step(actions)


def test_actions_of_simultaneous_games_have_a_row_per_seat_and_a_column_per_head():
    engine = KernelEngine(MATCHING, 3, seed=1)
    engine.reset()
    with refused(IllegalActionError, "actions have shape (3, 2), must be (3, 2, 2)"):
        engine.step(np.zeros((3, 2), int))


def test_a_refused_action_plays_nothing_in_any_game(engine):
    engine.step([2, 6, 6, 6])
    before, state = look(engine), engine.records.tobytes()
    for actions, rows in (([2, 2, 2, 9], None), ([2, 9], [0, 1]), ([9], [3])):
        with pytest.raises(IllegalActionError):
            engine.step(actions, rows)
    assert engine.records.tobytes() == state
    assert engine.rewards.tolist() == before.rewards.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]


def test_finished_games_take_any_action():
    engine = KernelEngine(make_game(colors=2, ranks=2, hand_size=2, max_life_tokens=1), 1, seed=1)
    engine.reset(options={"deck": [1, 0, 0, 0, 2, 2, 2, 3]})
    engine.step([2])
    assert engine.terminated.all()
    assert engine.legal().all()
    engine.step([-5])
    assert engine.rewards.tolist() == [[0, 0]]
    assert engine.to_move.tolist() == [-1]


# --- Order of calls, rows, seats, seeds -----------------------------------------------------------------------------------


def test_nothing_can_be_played_or_seen_before_reset():
    engine = KernelEngine(TINY, 3)
    engine.reset([0, 2])
    engine.step([2, 2], [0, 2])
    engine.observe(0, rows=[0])
    for call in (lambda: engine.step([2, 2, 2]), engine.observe, lambda: engine.redeal(0, 1)):
        with refused(NotResetError, "Hanabi: game 1 was never started; call engine.reset() first"):
            call()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([4], "rows: must lie in 0..3, got 4..4"),
        ([-1, 0], "rows: must lie in 0..3, got -1..0"),
        ([0.5], "rows: must be a list of game numbers or a bool array (4,), got dtype float64, shape (1,)"),
        ([True, False], "got dtype bool, shape (2,)"),
        (2, "got dtype int64, shape ()"),
        ([[0, 1]], "shape (1, 2)"),
    ],
)
def test_rows_that_are_not_there_are_refused(engine, rows, message):
    for call in (
        engine.reset,
        engine.gather,
        lambda rows: engine.observe(0, rows),
        lambda rows: engine.step([2], rows),
    ):
        with refused(OptionError, message):
            call(rows)


def test_a_game_can_not_be_stepped_or_reset_twice_at_once(engine):
    for call in (lambda: engine.step([2, 2], [1, 1]), lambda: engine.reset([1, 1])):
        with refused(OptionError, "rows: game 1 is named more than once"):
            call()


def test_no_rows_is_nothing_to_do(engine):
    engine.step(np.empty(0, int), [])
    assert (engine.to_move == 0).all()
    assert len(engine.observe(0, rows=[])) == 0


@pytest.mark.parametrize("seat", [2, -1, 0.5, [0, 1], [0, 1, 0, 2], None])
def test_seats_that_are_not_there_are_refused(engine, seat):
    if seat is not None:
        with refused(OptionError, "seat"):
            engine.observe(seat)
    with refused(OptionError, "seat"):
        engine.redeal(seat, 1)


@pytest.mark.parametrize("seed", [-1, 2**63, 0.5, "1", True])
def test_seeds_are_non_negative_integers(engine, seed):
    message = f"seed={seed!r}: must be an integer from 0 to 2**63 - 1"
    for call in (
        lambda: KernelEngine(TINY, 1, seed=seed),
        lambda: engine.reset(seed=seed),
        lambda: engine.redeal(0, seed),
    ):
        with refused(OptionError, message):
            call()


@pytest.mark.parametrize("num_games", [0, -1, 1.5, "2"])
def test_there_is_at_least_one_game(num_games):
    with refused(OptionError, f"num_games={num_games!r}: must be an integer of at least 1"):
        KernelEngine(TINY, num_games)


def test_there_is_at_least_one_thread():
    with refused(OptionError, "threads=0: must be at least 1"):
        KernelEngine(TINY, 1, threads=0).reset()


def test_only_bits_can_be_packed():
    engine = KernelEngine(games.nim(), 1, seed=1)
    engine.reset()
    with refused(OptionError, "Nim: observation 'heaps' is float32, only 0/1 observations can be packed"):
        engine.observe(packed=True)


def test_padding_of_packed_observations_is_not_shown_to_the_game():
    """Tactical observations count their places from the end; 211 entries leave five bits of padding."""
    engine = KernelEngine(make_game(colors=3, ranks=3, hand_size=2, observation="tactical"), 20, seed=1)
    engine.reset()
    for _ in range(8):
        for seat in range(2):
            seen = engine.observe(seat)
            assert (engine.observe(seat, packed=True) == np.packbits(seen, axis=1)).all()
        engine.step(engine.legal().argmax(1))


def test_a_game_without_redeal_says_so():
    engine = KernelEngine(games.nim(), 1, seed=1)
    engine.reset()
    with refused(OptionError, "Nim with options {} cannot be redealt"):
        engine.redeal(0, 1)


def test_a_game_without_reset_options_says_so():
    with refused(OptionError, "Matching takes no reset options, got 'bonus'"):
        KernelEngine(MATCHING, 1).reset(options={"bonus": 1})


# --- The same games in every way ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording():
    """600 games of seed 8 in one batch, one thread."""
    engine = KernelEngine(TINY, 600, seed=8, threads=1)
    engine.reset()
    return record(engine, np.random.default_rng(8))


@pytest.mark.slow
def test_two_threads_play_the_same(recording):
    engine = KernelEngine(TINY, 600, seed=8, threads=2)
    engine.reset()
    replay(engine, recording)


def test_a_game_alone_and_a_part_of_the_batch_are_the_same(recording):
    for first, count in ((0, 1), (599, 1), (100, 300)):
        engine = KernelEngine(TINY, count, seed=8, first_game=first)
        engine.reset()
        replay(engine, recording.rows(np.arange(first, first + count)))


def test_games_that_run_ahead_of_others_are_the_same(recording):
    """Every game is played to its end before the next one begins."""
    engine = KernelEngine(TINY, 5, seed=8)
    engine.reset()
    part = recording.rows(np.arange(5))
    for game in (3, 0, 4, 1, 2):
        for actions, moment in zip(part.actions, part.moments[1:], strict=True):
            engine.step(actions[[game]], [game])
            assert (engine.rewards[game] == moment.rewards[game]).all()
            for seat in (0, 1):
                assert (engine.observe(seat, [game])[0] == moment.observations[game, seat]).all()


def test_an_engine_without_a_seed_takes_a_fresh_one():
    decks = []
    for _ in range(2):
        engine = KernelEngine(TINY, 50)
        engine.reset()
        decks.append(engine.state.deck.copy())
    assert (decks[0] != decks[1]).any()


def test_games_of_a_batch_and_episodes_differ():
    engine = KernelEngine(TINY, 50, seed=1)
    engine.reset()
    first = engine.state.deck.copy()
    assert len(np.unique(first, axis=0)) > 40
    engine.reset()
    assert (engine.state.deck != first).any(axis=1).sum() > 40


def test_resetting_a_row_leaves_the_streams_of_others_alone():
    both, one = (KernelEngine(TINY, 2, seed=1) for _ in range(2))
    both.reset()
    both.reset()
    one.reset()
    one.reset([1])
    one.reset([0])
    assert (one.state.deck == both.state.deck).all()


# --- Copies ---------------------------------------------------------------------------------------------------------------


def test_gather_copies_with_repeats_and_leaves_the_original(engine):
    engine.step([2, 6, 3, 5])
    before = engine.records.copy()
    part = engine.gather([3, 0, 3])
    assert (part.records == before[[3, 0, 3]]).all()
    part.step([0, 2, 1])
    part.reset()
    assert (engine.records == before).all()
    assert part.num_games == 3


def test_a_clone_goes_its_own_way_and_deals_the_same_next_games(engine):
    other = engine.clone()
    other.step([2, 2, 2, 2])
    assert (engine.to_move == 0).all()
    other.reset()
    engine.reset()
    assert (other.state.deck == engine.state.deck).all()


def test_bool_rows_name_games_too(engine):
    assert (engine.gather(np.array([True, False, False, True])).records == engine.records[[0, 3]]).all()


def test_the_state_is_live_also_after_restore(engine, tmp_path):
    engine.save(tmp_path / "games")
    other = KernelEngine(TINY, 1, seed=9)
    state = other.state
    other.restore(tmp_path / "games")
    assert other.num_games == 4
    assert len(other.state.deck) == 4
    assert len(state.deck) == 1
    other.state.tokens[:] = 0
    assert not other.observe(0)[:, [s.start for s in TINY.facts.segments if s.name == "info"]].any()


# --- Given arrays and threads ---------------------------------------------------------------------------------------------


def test_an_array_of_another_form_is_refused_as_out(engine):
    with refused(OptionError, "out: must be a contiguous array of shape (4,"):
        engine.observe(out=np.zeros((4, 3), np.uint8))
    with refused(OptionError, "dtype bool, got shape (4, 8), dtype uint8"):
        engine.legal(out=np.zeros((4, TINY.facts.num_actions), np.uint8))


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_threads_play_the_same_games(packed, monkeypatch):
    one, two = (KernelEngine(TINY, 3000, seed=1, threads=threads) for threads in (1, 2))
    monkeypatch.setattr(Pace, "next_is_split", lambda pace, count: True)
    one.reset()
    two.reset()
    turn = None
    for _ in range(5):
        actions = one.legal().argmax(axis=1)
        one.step(actions)
        turn = two.play(actions, packed=packed, out=turn)
        assert (turn.masks == one.legal()).all()
        assert (turn.observations == one.observe(packed=packed)).all()
        assert (two.rewards == one.rewards).all()


@pytest.mark.parametrize(
    ("alone", "split", "better"), [(1e-6, 6e-7, True), (1e-6, 1.1e-6, False)], ids=["two win", "one wins"]
)
def test_the_faster_of_one_thread_and_several_is_taken_and_the_other_tried_now_and_then(alone, split, better):
    pace, chosen = Pace(), []
    for _ in range(8 * RETRY):
        chosen.append(pace.next_is_split(4096))
        pace.note(chosen[-1], split if chosen[-1] else alone)
    assert chosen[:4] == [False, False, True, True], "the first call compiles, the first one in threads starts them"
    tried = [number for number, one in enumerate(chosen[4:], 5) if one != better]
    assert tried[0] <= RETRY + 5
    assert np.diff(tried).tolist() == [2 * RETRY, 4 * RETRY], "each time it is left alone for longer"


def test_little_work_is_never_split():
    pace = Pace()
    for _ in range(5):
        assert not pace.next_is_split(1000)
        pace.note(False, PART_SECONDS / 1000)


def test_an_illegal_action_to_play_changes_nothing(engine):
    before = look(engine)
    actions = engine.legal().argmax(axis=1)
    actions[2] = np.flatnonzero(~engine.legal()[2])[0]
    with pytest.raises(IllegalActionError):
        engine.play(actions)
    assert all((mine == theirs).all() for mine, theirs in zip(look(engine), before, strict=True))
