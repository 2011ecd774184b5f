"""What holds in every position of the arena, whoever plays; what `redeal` and the reset option `start` leave alone."""

from __future__ import annotations

import numpy as np
import pytest

from ludory.envs.arena.constants import COOLDOWN, FIRE, FULL_AMMUNITION, FULL_ENERGY, FULL_HP, SHOT_LIFE
from ludory.envs.arena.state import WALL
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.errors import IllegalActionError, OptionError
from ludory.testing.random_moves import RandomMoves

GAMES = 96


@pytest.fixture(scope="module")
def made():
    return make_game("Arena2P-v0")


@pytest.fixture
def engine(made):
    engine = KernelEngine(made, GAMES, seed=3, threads=1)
    engine.reset()
    return engine


@pytest.fixture
def choose(made):
    return RandomMoves(made.facts, GAMES, np.random.default_rng(4))


@pytest.mark.slow
def test_every_position_of_random_games(engine, choose):
    returns, radius = np.zeros((GAMES, 2)), engine.state.zone_radius.copy()
    shooters = 0
    while (engine.to_move >= 0).any():
        state, before = engine.state, engine.state.shot_life.copy()
        running = ~engine.over
        engine.step(choose(engine.legal()))
        assert_possible(engine)
        assert (state.zone_radius <= radius).all(), "the zone never grows"
        radius = state.zone_radius.copy()
        fired = running[:, None] & (state.cooldown[..., FIRE] >= COOLDOWN[FIRE] - 2)
        shooters += fired.sum()
        assert ((before == 0).any(axis=2) | ~fired).all(), "a shot finds a free slot"
        returns += engine.rewards
    assert shooters > 1000
    assert (returns.sum(axis=1) == 0).all()
    assert set(np.unique(returns)) <= {-1, 0, 1}
    assert (engine.state.place > 0).all()


def assert_possible(engine):
    state = engine.state
    assert ((state.hp >= 0) & (state.hp <= FULL_HP) & ((state.hp > 0) == (state.alive == 1))).all()
    assert ((state.energy >= 0) & (state.energy <= FULL_ENERGY)).all()
    assert ((state.ammunition >= 0) & (state.ammunition <= FULL_AMMUNITION)).all()
    x, y = state.x.astype(np.int64), state.y.astype(np.int64)
    assert (x**2 + y**2 <= state.setup[:, WALL, None].astype(np.int64) ** 2).all()
    assert (state.t <= 1350).all()
    assert ((state.cooldown >= 0) & (state.cooldown <= COOLDOWN)).all()
    assert ((state.shot_life >= 0) & (state.shot_life < SHOT_LIFE)).all()
    assert neutral_is_legal(engine)
    seen = engine.observe()
    assert (np.abs(seen) <= 1).all()
    assert (seen[state.alive == 0] == 0).all()


def neutral_is_legal(engine):
    sizes = np.array(engine.facts.head_sizes)
    neutral = np.where(np.arange(7) < 4, sizes // 2, 0)
    return engine.legal()[..., np.concatenate([[0], np.cumsum(sizes)[:-1]]) + neutral].all()


@pytest.mark.slow
def test_redealt_games_are_possible_and_look_the_same_to_who_asked(engine, choose):
    changed = 0
    for turn in range(60):
        for seat in range(2):
            other = engine.clone()
            other.redeal(seat, seed=turn)
            np.testing.assert_array_equal(other.observe(seat), engine.observe(seat))
            np.testing.assert_array_equal(other.legal()[:, seat], engine.legal()[:, seat])
            assert_possible(other)
            changed += (other.observe(1 - seat) != engine.observe(1 - seat)).any(axis=1).sum()
            before = other.state.shot_life.copy()
            other.step(choose(other.legal()))
            fired = ~engine.over[:, None] & (other.state.cooldown[..., FIRE] >= COOLDOWN[FIRE] - 2)
            new = fired & (other.state.shot_life == SHOT_LIFE - 2).any(axis=2)
            assert ((before == 0).any(axis=2) | ~new).all(), "a shot finds a free slot"
        engine.step(choose(engine.legal()))
    assert changed > 5000


@pytest.mark.plain
def test_unseen_rivals_are_put_everywhere_out_of_sight(engine):
    far = {"position": [[-14000, 0], [14000, 0]]}
    engine.reset(options={"start": far})
    engine.redeal(0, seed=1)
    x, y = engine.state.x[:, 1], engine.state.y[:, 1]
    assert (np.hypot(x + 14000, y) > 14400).all()
    assert (x < 5000).any()
    assert (y > 9000).any()
    assert len(np.unique(engine.state.hp[:, 1])) > 40
    assert (engine.state.x[:, 0] == -14000).all()
    assert (engine.state.hp[:, 0] == FULL_HP).all()


def test_what_a_start_does_not_name_is_as_without_it(engine):
    engine.reset(seed=9)
    usual = {name: values.copy() for name, values in engine.fields().items()}
    engine.reset(seed=9, options={"start": {"hp": [1, 2], "final_centre": [[k, 0] for k in range(GAMES)]}})
    given = {"hp", "final_x", "final_y"}
    for name, values in engine.fields().items():
        if name not in given:
            np.testing.assert_array_equal(values, usual[name], err_msg=name)
    assert (engine.state.hp == [1, 2]).all()
    assert (engine.state.final_x == np.arange(GAMES)).all()
    engine.reset()
    assert (engine.state.hp == FULL_HP).all(), "a start holds for one game"


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ({"hps": [1, 1]}, "did you mean 'hp'"),
        ({"hp": [0, 1]}, r"\[0\] of game 0 is 0: must be from 1 to 10000"),
        ({"hp": [1, 1, 1]}, r"shape \(3,\), must be \(2,\)"),
        ({"position": [[0, 0], [17565, 300]]}, r"start\['position'\]\[1\].*at most 17565 sub from the centre"),
        ({"position": [[0.5, 0], [0, 0]]}, "must be integers"),
        ({"facing": [[1, 0], [0, 0]]}, "must be a direction"),
        ({"crates": [[0, 0]] * 5}, r"shape \(5, 2\)"),
        ({"energy": [1501, 0]}, "from 0 to 1500"),
        ({"final_centre": [2**40, 0]}, "where the wall is"),
        (7, "must be a dictionary"),
    ],
)
def test_a_start_that_can_not_be_is_refused(engine, start, words):
    with pytest.raises(OptionError, match=words):
        engine.reset(options={"start": start})


def test_starts_are_fair_and_jitter_can_be_left_out():
    game = make_game("Arena2P-v0", spawn_jitter=False)
    engine = KernelEngine(game, 64, seed=1, threads=1)
    engine.reset()
    assert np.abs(engine.state.x.sum(axis=1)).max() <= 2, "opposite each other"
    assert np.abs(np.hypot(engine.state.x, engine.state.y) - 15274 * 75 // 100).max() <= 1
    toward = engine.state.fx * engine.state.x + engine.state.fy * engine.state.y
    assert (toward < -16300 * 11400).all(), "facing the centre"


def test_illegal_actions_name_seat_head_and_what_is_legal(engine):
    actions = np.tile([2, 2, 4, 4, 0, 0, 0], (GAMES, 2, 1))
    actions[5, 1, 6] = 1
    with pytest.raises(
        IllegalActionError, match=r"game 5, seat 1, head interact: action 1 \(open crate\).*leave crates"
    ):
        engine.step(actions)


@pytest.mark.parametrize(
    "options",
    [
        {"players": 9},
        {"players": True},
        {"heads": "large"},
        {"observation": "ego"},
        {"aim_noise_degrees": 50},
        {"jitter": 1},
    ],
)
def test_options_that_are_not_allowed(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        make_game("Arena-v0", **options)


def test_heads_of_both_presets():
    assert make_game("Arena4P-v0").facts.head_sizes == (5, 5, 9, 9, 2, 5, 2)
    assert make_game("Arena4P-v0", heads="seed").facts.head_sizes == (11, 11, 11, 11, 2, 5, 2)
    assert make_game("Arena4P-v0").facts.longest_game == 675
