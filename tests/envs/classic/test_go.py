"""Go against a slow implementation of the same rules, and positions drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from games.own_games import check_variant
from reference.go import Go

from ludory.envs.classic import make_go
from ludory.envs.engine.protocol import Engine
from ludory.envs.make import make_engine, make_game
from ludory.errors import LudoryError, OptionError


def number(engine: Engine, name: str) -> int:
    action = engine.game.language.decode(name).action
    assert isinstance(action, int), name
    return action


def play(engine: Engine, moves: str) -> None:
    """Play names of actions between spaces, each of which must be legal."""
    for name in moves.split():
        assert not engine.terminated[0], f"the game is over before {name}"
        action = number(engine, name)
        assert engine.legal()[0, action], f"{name} is illegal"
        engine.step(np.array([action]))


def empty(size: int = 9, komi: float = 7) -> Engine:
    engine = make_engine(make_go(size, komi), 1, seed=1)
    engine.reset()
    return engine


def pass_to_the_end(engine: Engine) -> None:
    while not engine.terminated[0]:
        play(engine, "pass")


def position(drawing: str, komi: float = 7) -> Engine:
    """The position of a drawing, black to move: its stones are played in turn; the colour that has fewer passes at first."""
    rows = [line.split() for line in drawing.split("\n") if line.strip()]
    engine, size = empty(len(rows), komi), len(rows)
    black, white = (
        [row * size + column for row in range(size) for column in range(size) if rows[row][column] == mark]
        for mark in "XO"
    )
    rounds = max(len(black), len(white))
    for k in range(rounds):
        for stones in (black, white):
            passes = rounds - len(stones)
            engine.step(np.array([stones[k - passes] if k >= passes else size * size]))
    assert drawn(engine) == drawing_of(drawing), "a stone was captured on the way; draw the stones in another order"
    assert engine.to_move[0] == 0
    return engine


def drawing_of(drawing: str) -> list[str]:
    return [" ".join(line.split()) for line in drawing.split("\n") if line.strip()]


def drawn(engine: Engine) -> list[str]:
    size = engine.game.facts.observation.shape[1]
    own, other = engine.observe(0)[0][:2]
    return [" ".join(".XO"[own[row, c] + 2 * other[row, c]] for c in range(size)) for row in range(size)]


def is_legal(engine: Engine, name: str) -> bool:
    return bool(engine.legal()[0, number(engine, name)])


@pytest.mark.parametrize(
    ("size", "komi", "games", "pass_rate"),
    [
        pytest.param(9, 7, 40, 0.01, marks=pytest.mark.slow),
        pytest.param(7, 6.5, 60, 0.02, marks=pytest.mark.slow),
        pytest.param(5, 0, 150, 0.03, marks=pytest.mark.slow),
        pytest.param(3, 2, 150, 0.05, marks=pytest.mark.slow),
        (2, 1, 100, 0.1),
    ],
)
def test_random_games_agree_with_the_reference(size, komi, games, pass_rate):
    """All masks, positions, rewards and areas, to the end. Small boards are full of captures, kos and repetitions."""
    engine, generator = make_engine(make_go(size, komi), games, seed=1), np.random.default_rng(size)
    engine.reset()
    references = [Go(size, komi) for _ in range(games)]
    outcomes, repetitions = set(), 0
    while not engine.terminated.all():
        mask, running = engine.legal(), ~engine.terminated
        for i in np.flatnonzero(running):
            expected = references[i].legal()
            assert mask[i].tolist() == expected, f"game {i}, move {references[i].moves}"
            repetitions += sum(
                not is_open and point not in references[i].stones and references[i].after(point) is not None
                for point, is_open in zip(np.ndindex(size, size), expected, strict=False)
            )
        weights = generator.random(mask.shape)
        weights[:, -1] = np.where(
            generator.random(games) < pass_rate, 2, -0.5
        )  # a pass also where nothing else is legal
        actions = np.where(mask, weights, -1).argmax(axis=1)
        engine.step(actions)
        seen = engine.observe(0)
        for i in np.flatnonzero(running):
            one = references[i]
            one.play(int(actions[i]))
            assert bool(engine.terminated[i]) == one.over
            for seat in (0, 1):
                points = {divmod(int(k), size) for k in np.flatnonzero(seen[i, seat])}
                assert points == {point for point, whose in one.stones.items() if whose == seat}
            assert engine.rewards[i].tolist() == (one.rewards() if one.over else [0, 0])
            if one.over:
                black, white = one.areas()
                assert engine.game.look.info(engine.state, i)["margin"] == black - white - komi
                outcomes.add((one.moves == one.longest, one.rewards()[0]))
    assert repetitions > games / 10
    assert {result for _, result in outcomes} >= {1, -1}
    assert size > 5 or 0 in {result for _, result in outcomes}


@pytest.mark.parametrize(("size", "positions"), [(2, 57), pytest.param(3, 12_675, marks=pytest.mark.slow)])
def test_every_legal_position_can_be_reached_and_no_other(size, positions):
    """Tromp and Farnebäck counted the legal positions of small boards; here any seat may play next, from all positions found."""
    engine = make_engine(make_go(size), 1, seed=1)
    engine.reset()
    start = np.zeros((1, 2, 2), np.int64)
    known, border = {start[0].tobytes()}, start
    while len(border):
        batch = make_engine(make_go(size), 2 * len(border), seed=1)
        batch.reset()
        state = {name: np.copy(values) for name, values in batch.fields().items()}
        # A pass finds the open points of the seat after it. Nothing was captured yet, so that no repetition is looked for.
        state["stones"][:, 0] = np.concatenate([border, border])
        state["open"][:] = 0
        state["to_move"][:] = np.repeat([0, 1], len(border))
        batch.load_fields(state)
        batch.step(np.full(2 * len(border), size * size))
        rows, actions = np.nonzero(batch.legal()[:, :-1])
        parents = {name: values[rows] for name, values in batch.fields().items()}
        children = make_engine(make_go(size), len(rows), seed=1)
        children.reset()
        children.load_fields(parents)
        children.step(actions)
        found = {stones.tobytes(): stones for stones in children.state.stones[:, 0].copy()}
        fresh = [stones for key, stones in found.items() if key not in known]
        known |= found.keys()
        border = np.array(fresh).reshape(-1, 2, 2)
    assert len(known) == positions


def test_a_chain_without_liberties_is_captured():
    engine = position("""
        . X X . .
        X O O X .
        . X . . .
        . . . . .
        . . . . O
    """)
    play(engine, "C3")
    assert drawn(engine) == [". X X . .", "X . . X .", ". X X . .", ". . . . .", ". . . . O"]


THREE_CHAINS = """
    X O . O X
    . X O X .
    . . X . .
    . . . . .
    . . . . .
"""


def test_one_stone_captures_several_chains_and_lives_by_it():
    engine = position(THREE_CHAINS)
    play(engine, "C5")
    assert drawn(engine) == ["X . X . X", ". X . X .", ". . X . .", ". . . . .", ". . . . ."]


def test_suicide_is_refused_of_one_stone_and_of_a_chain():
    engine = position(THREE_CHAINS)
    play(engine, "pass")
    assert not is_legal(engine, "C5")  # white would join three chains to one without a liberty
    play(engine, "E1 C5 pass C2 pass D3 pass B3")
    assert not is_legal(engine, "C4")  # a single stone between black ones
    play(engine, "pass")
    assert is_legal(engine, "C4")


def test_a_stone_without_a_liberty_may_capture_one():
    engine = position("""
        . O X . .
        O X . . .
        X . . . .
        . . . . .
        . . . . .
    """)
    assert is_legal(engine, "A5")
    play(engine, "pass")
    assert not is_legal(engine, "A5")


def test_snapback():
    engine = position("""
        . O X . .
        . O X . .
        X X . . .
        . . . . .
        . . . . O
    """)
    play(engine, "A5 A4")
    assert drawn(engine)[:2] == [". O X . .", "O O X . ."]
    play(engine, "A5")  # at once, since the board did not look like this before
    assert drawn(engine)[:2] == ["X . X . .", ". . X . ."]


KO = """
    . X O . .
    X O . O .
    . X O . .
    . . . . .
    . . . . .
"""


def test_a_ko_is_taken_back_only_after_a_move_elsewhere():
    engine = position(KO)
    play(engine, "C4")
    assert drawn(engine)[:3] == [". X O . .", "X . X O .", ". X O . ."]
    assert not is_legal(engine, "B4")
    play(engine, "E1 E2")
    assert is_legal(engine, "B4")
    play(engine, "B4")
    assert drawn(engine)[:3] == [". X O . .", "X O . O .", ". X O . ."]
    assert not is_legal(engine, "C4")


def test_a_position_of_four_moves_ago_may_not_come_back():
    """Send two, return one: white adds a stone, black captures both with one stone, and white may not capture that one."""
    engine = position("""
        . O . O .
        X X O . .
        . . . . .
        . . . . .
        . . . . .
    """)
    play(engine, "pass A5 C5")
    assert drawn(engine)[:2] == [". . X O .", "X X O . ."]
    assert not is_legal(engine, "B5")
    play(engine, "E1 E2")
    assert is_legal(engine, "B5")


def test_a_position_may_not_come_back_by_a_stone_that_captures_nothing():
    """The two white stones of the corner stood there before, whichever was played first."""
    engine = position("""
        O . . O .
        X X O . .
        . . . . .
        . . . . .
        . . . . .
    """)
    play(engine, "pass B5 C5 B5 pass")
    assert drawn(engine)[:2] == [". O . O .", "X X O . ."]
    assert not is_legal(engine, "A5")
    play(engine, "E1 E2")
    assert is_legal(engine, "A5")


SEKI = """
    . X O . X O .
    X X O . X O O
    . X X X O O .
    X X X O O O O
    . X X O O . O
    X X X O O O O
    . X X O O O O
"""


@pytest.mark.parametrize(
    ("drawing", "areas"),
    [
        (SEKI, (22, 25)),
        (". X . O .\nX X . O O\n. X . O .\nX X . O O\n. X . O .", (10, 10)),  # a column of dame
        (". . . . .\n. . X . .\n. . . . .\n. . . . .\n. . . . .", (25, 0)),
        (". X . . .\nX . . . .\n. . . . .\n. . . O .\n. . . . .", (3, 1)),  # a corner, and empty points of nobody
        (". O . X .\nX X X X .\n. . . . .\n. . . . .\n. . . O .", (5, 2)),  # dead stones on the board count
        (". . .\n. . .\n. . .", (0, 0)),
    ],
)
def test_areas(drawing, areas):
    for komi in (-0.5, 0, 0.5, 3, 12, -12, -3):
        engine = position(drawing, komi)
        pass_to_the_end(engine)
        margin = areas[0] - areas[1] - komi
        assert engine.game.look.info(engine.state, 0)["margin"] == margin
        assert engine.rewards[0].tolist() == [np.sign(margin), -np.sign(margin)]


def test_whoever_starts_in_a_seki_loses_its_stones():
    engine = position(SEKI)
    play(engine, "D7 D6")
    assert drawn(engine)[:2] == [". X O . . O .", "X X O O . O O"]


def test_passes_end_a_game_only_in_a_row():
    engine = empty(5)
    play(engine, "pass C3 pass D3")
    assert not engine.terminated[0]
    play(engine, "pass pass")
    assert engine.terminated[0]
    assert engine.rewards[0].tolist() == [-1, 1]


def test_a_long_game_is_scored_as_it_stands():
    engine = empty(3)
    assert engine.facts.longest_game == 18
    play(engine, "B2")
    state = {name: np.copy(values) for name, values in engine.fields().items()}
    state["moves"][0] = 17
    engine.load_fields(state)
    play(engine, "A1")
    assert engine.terminated[0]
    assert engine.game.look.info(engine.state, 0) == {"moves": 18, "margin": 1 - 1 - 7}


def test_planes_show_the_position_the_two_before_it_and_what_is_forbidden():
    engine = position(KO)
    before = engine.observe(1)[0, :2]
    play(engine, "C4")
    now = engine.observe()[0]
    assert now[2:4].tolist() == before.tolist()
    empty_points = 1 - now[0] - now[1]
    assert now[6].ravel().tolist() == (empty_points.ravel() & ~engine.legal()[0, :-1]).tolist()
    assert now[6].sum() == 2  # the ko at B4, and the eye at A5
    assert engine.observe(0)[0, 6].sum() == 0  # not to move
    assert (now[7] == 1).all()
    assert (engine.observe(0)[0, 7] == 0).all()
    play(engine, "pass")
    assert (engine.observe()[0, 8] == 1).all()
    assert (engine.observe(0)[0, 2:4] == engine.observe(0)[0, :2]).all()


@pytest.mark.slow
def test_a_turned_board_is_the_same_game():
    """On a small board, where stones are captured and positions come back."""
    generator, seen = np.random.default_rng(3), set()
    for _ in range(40):
        one, other = empty(4), empty(4)
        symmetry = one.game.analysis.symmetry(generator)
        seen.add(symmetry.actions.tobytes())
        while not one.terminated[0]:
            mask = one.legal()[0]
            assert other.legal()[0, symmetry.actions].tolist() == mask.tolist()
            for seat in (0, 1):
                flat = one.observe(seat).ravel()
                assert other.observe(seat).ravel().tolist() == flat[symmetry.observation].tolist()
            action = int(generator.choice(np.flatnonzero(mask)))
            one.step(np.array([action]))
            other.step(np.array([symmetry.actions[action]]))
        assert one.rewards.tolist() == other.rewards.tolist()
    assert len(seen) == 8


def test_points_are_named_as_go_players_name_them():
    game = make_game("Go9-v0")
    names = [game.look.action_name(0, action) for action in range(82)]
    assert names[0] == "A9"
    assert names[8] == "J9"
    assert names[40] == "E5"
    assert names[72] == "A1"
    assert names[81] == "pass"
    assert not any(name.startswith("I") for name in names)


def test_what_a_language_model_reads():
    engine = position(KO)
    play(engine, "C4")
    assert engine.game.language.encode(engine.state, 0, 1) == (
        "5 . X O . .\n4 X . X O .\n3 . X O . .\n2 . . . . .\n1 . . . . .\n  A B C D E\n"
        "Last move: seat 0: C4.\n"
        "You are seat 1 (white, O).\n"
        "It is your turn. You may: D5, E5, E4, A3, D3, E3, A2, B2, C2, D2, E2, A1, B1, C1, D1, E1, pass."
    )
    play(engine, "pass pass")
    assert "The game is over: seat 1 (white) wins by 4." in engine.game.language.encode(engine.state, 0, 0)


def test_pictures_say_who_won_and_by_how_much():
    engine = empty(5, 0.5)
    play(engine, "C3 pass pass")
    for picture in (engine.game.look.text, engine.game.look.svg, engine.game.language.encode):
        assert "seat 0 (black) wins by 24.5" in picture(engine.state, 0, None)
    engine = empty(5, 0)
    play(engine, "pass pass")
    assert "draw" in engine.game.look.text(engine.state, 0, None)


@pytest.mark.parametrize("komi", ["7", 7.25, 82, -82, True, float("nan"), float("inf"), None])
def test_a_wrong_komi_is_refused(komi):
    with pytest.raises(OptionError, match=r"komi=.*: must be a multiple of 0\.5 from -81 to 81, such as 7 or 6\.5"):
        make_game("Go9-v0", komi=komi)


@pytest.mark.parametrize("size", [1, 10, 9.0, "9"])
def test_a_wrong_size_is_refused(size):
    with pytest.raises(OptionError, match=r"size=.*: must be an integer from 2 to 9"):
        make_go(size)


@pytest.mark.parametrize(
    "damage",
    [
        {"stones": ([0, 0, slice(None), 0], 1)},  # two stones on a point
        {"open": ([0, 0], 1)},  # an open point with a stone
        {"moves": ([0], 162)},  # a running game without moves left
        {"positions": ([0], 100)},  # more positions than moves
    ],
)
def test_a_damaged_state_is_refused(damage):
    engine = empty()
    play(engine, "A9 B9")
    state = {name: np.copy(values) for name, values in engine.fields().items()}
    engine.load_fields(state)
    for name, (place, value) in damage.items():
        state[name][tuple(place)] = value
    with pytest.raises(LudoryError):
        engine.load_fields(state)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 7])
def test_small_boards_keep_the_contract(size):
    check_variant(make_go(size, 0), games=8)
