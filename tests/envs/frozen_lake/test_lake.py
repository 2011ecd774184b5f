"""FrozenLake: recorded games, exact transitions and optimum, maps, reset options, texts that invert."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.frozen_lake import make_game, optimal_values, optimum, random_walk, read_map, transitions
from ludory.envs.frozen_lake.rooms import LakeRooms
from ludory.envs.frozen_lake.rules import GOAL, HOLE, ICE, START
from ludory.envs.frozen_lake.text import STYLES, parse_text, render_text, vocabulary
from ludory.envs.make import make_engine
from ludory.envs.rooms import SPLITS, split_of
from ludory.errors import OptionError

GOLDEN = Path(__file__).parents[2] / "golden" / "text_games" / "golden_ragen_dev.jsonl.gz"
QS = (1 / 3, 0.8, 1.0)
RIDGE = ["SFFF", "HHHF", "FFFF", "GHHH"]


def recorded() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN, "rt") as lines:
        episodes = [json.loads(line) for line in lines]
    return [episode for episode in episodes if episode["env"] == "ragen-frozenlake"]


EPISODES = recorded()


def lake(q: float = 1.0, room: Any = RIDGE, games: int = 1, seed: int = 0, **options: Any) -> Any:
    engine = make_engine(make_game(size=len(room), success_rate=q, **options), games, seed=seed)
    engine.reset(options={"map": room})
    return engine


# --- Recorded games ------------------------------------------------------------------------------------------------------


def test_every_recorded_step_is_an_outcome_with_its_text_reward_end_and_flag():
    steps = 0
    for episode in EPISODES:
        q, style = episode["success_rate"], episode["fmt"]
        engine, model = lake(q, episode["map"]), transitions(read_map(episode["map"]), q)
        assert render_text(engine.state, 0, style) == episode["obs0"]
        for action, text, reward, done, success, moved in episode["steps"]:
            cell = int(engine.state.player[0])
            found = []
            for outcome in model[cell][action - 1]:
                engine.state.player[0] = outcome.cell
                if render_text(engine.state, 0, style) == text:
                    found.append(outcome)
                    break
            assert len(found) == 1, text
            assert (found[0].reward, found[0].end, found[0].reward > 0) == (reward, done, success)
            assert moved == (found[0].cell != cell)
            steps += 1
    assert (len(EPISODES), steps) == (150, 1332)


@pytest.mark.slow
def test_recorded_games_on_firm_ice_are_replayed_by_their_actions():
    firm = [episode for episode in EPISODES if episode["success_rate"] == 1]
    assert len(firm) == 30
    for episode in firm:
        engine = lake(1.0, episode["map"])
        for action, text, reward, done, success, moved in episode["steps"]:
            engine.step(np.array([action - 1]))
            info = engine.game.look.info(engine.state, 0)
            assert render_text(engine.state, 0, episode["fmt"]) == text
            assert (engine.rewards[0, 0], bool(engine.terminated[0])) == (reward, done)
            assert (info["success"], info["effective"]) == (success, moved)


# --- Transitions and optimum ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("q", QS)
def test_probabilities_sum_to_one_and_observed_slips_match_them(q):
    room, games = read_map(["FFFF", "FFSF", "FFGF", "HFFF"]), 6000
    model = transitions(room, q)
    engine = make_engine(make_game(success_rate=q), games, seed=3)
    for cell in (0, 6, 13):
        for action in range(4):
            outcomes = model[cell][action]
            assert sum(outcome.probability for outcome in outcomes) == pytest.approx(1, abs=1e-12)
            assert len({outcome.cell for outcome in outcomes}) == len(outcomes) <= 3
            engine.reset(options={"room": room, "player": cell})
            engine.step(np.full(games, action))
            for outcome in outcomes:
                there = engine.state.player == outcome.cell
                error = (outcome.probability * (1 - outcome.probability) / games) ** 0.5
                assert abs(there.mean() - outcome.probability) <= 4 * error
                assert (engine.rewards[there, 0] == outcome.reward).all()
                assert (engine.terminated[there] == outcome.end).all()
            assert np.isin(engine.state.player, [outcome.cell for outcome in outcomes]).all()


def by_recursion(model: Any, cell: int, left: int, best: Any) -> float:
    """The optimum (best=max) or the random walk (best=mean) by the definition."""
    if not left or not model[cell][0]:
        return 0.0
    values = [
        sum(o.probability * (o.reward if o.end else by_recursion(model, o.cell, left - 1, best)) for o in outcomes)
        for outcomes in model[cell]
    ]
    return best(values)


@pytest.mark.parametrize("q", QS)
def test_the_optimum_is_that_of_the_definition(q):
    for room in LakeRooms(3, 0.7).draw(np.arange(4))["room"]:
        start, model = int(np.flatnonzero(room == START)[0]), transitions(room, q)
        assert optimum(room, q, 4) == pytest.approx(by_recursion(model, start, 4, max), abs=1e-12)
        assert random_walk(room, 4) == pytest.approx(by_recursion(model, start, 4, np.mean), abs=1e-12)


def originals_maps() -> np.ndarray:
    """RAGEN's 128 validation maps: its way to draw a map, from NumPy's generator of seeds 123 to 250."""
    maps = []
    for seed in range(123, 251):
        generator, room = np.random.default_rng(seed), None
        while room is None or random_walk(room, 16) == 0:
            room = np.where(generator.choice(["F", "H"], (4, 4), p=[0.8, 0.2]) == "F", ICE, HOLE)
            start = goal = (0, 0)
            while start == goal:
                places = [int(generator.integers(0, 4)) for _ in range(4)]
                start, goal = (places[0], places[1]), (places[2], places[3])
            room[start], room[goal] = START, GOAL
        maps.append(room)
    return np.array(maps)


def optima(rooms: np.ndarray, q: float) -> np.ndarray:
    starts = (rooms.reshape(len(rooms), -1) == START).argmax(axis=1)
    return optimal_values(rooms, q, 10)[np.arange(len(rooms)), 10, starts]


@pytest.mark.parametrize(("q", "percent"), [(1 / 3, 46.6), (0.8, 87.6), (1.0, 100.0)])
def test_anchors_of_ten_actions(q, percent):
    assert 100 * optima(originals_maps(), q).mean() == pytest.approx(percent, abs=0.5)


def test_anchors_of_a_random_walk():
    walks = np.array([random_walk(room, 10) for room in originals_maps()])
    assert 100 * walks.mean() == pytest.approx(20.2, abs=0.5)
    assert 100 * (1 - (1 - walks) ** 8).mean() == pytest.approx(61.3, abs=0.5)


@pytest.mark.slow
def test_our_maps_are_distributed_as_those_of_the_originals():
    """Many more maps than the 128 of the anchors, which are hard ones: 50.2 and 90.8 percent, 2.69 holes, on 10,000 of theirs."""
    rooms = LakeRooms(4, 0.8).draw(np.arange(4000))["room"]
    assert 100 * optima(rooms, 1 / 3).mean() == pytest.approx(50.2, abs=1.5)
    assert 100 * optima(rooms, 0.8).mean() == pytest.approx(90.8, abs=0.7)
    assert (rooms == HOLE).sum(axis=(1, 2)).mean() == pytest.approx(2.69, abs=0.1)


# --- Maps and reset options ----------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_every_drawn_map_has_one_start_one_goal_and_a_way():
    engine = make_engine(make_game(size=5, p=0.4), 500, seed=1)
    engine.reset()
    for room in engine.state.cells:
        assert ((room == START).sum(), (room == GOAL).sum()) == (1, 1)
        assert optimum(room, 1.0, 25) == 1
    assert len({room.tobytes() for room in engine.state.cells}) > 450


def test_rooms_follow_from_seed_and_split_alone():
    rooms = LakeRooms(4, 0.8)
    alone = [rooms.draw(np.array([seed]), "valid")["room"][0] for seed in range(30)]
    together = rooms.draw(np.arange(30), "valid")
    np.testing.assert_array_equal(together["room"], alone)
    assert (split_of(rooms.hashes(together)) == SPLITS.index("valid")).all()
    assert rooms.hashes({"room": [read_map(["SF", "HG"])]})[0] == 0x299618FB197D0AFC


@pytest.mark.plain
def test_a_game_of_a_split_draws_only_its_maps():
    game = make_game(split="test", rooms=50)
    engine = make_engine(game, 300, seed=2)
    engine.reset()
    hashes = game.analysis.rooms.hashes({"room": engine.state.cells})
    assert (split_of(hashes) == SPLITS.index("test")).all()
    assert 40 <= len(set(hashes.tolist())) <= 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"map": ["SF", "FF"]}, "0 cells with code 3"),
        ({"map": ["SG", "FX"]}, "row 1: letter 'X'"),
        ({"map": ["SG", "FFF"]}, "row 1: 3 cells"),
        ({"room": [[0, 1], [3, 9]]}, "got 9"),
        ({"room": [[0, 1, 3]]}, r"shape \(1, 1, 3\)"),
        ({"map": ["SG", "FF"], "player": 1}, "would be over"),
        ({"map": ["SG", "FF"], "player": 4}, "must be a cell 0..3"),
        ({"rom": 1}, "did you mean 'room'"),
        ({"player": 1}, "either room .* or map"),
    ],
)
def test_wrong_reset_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        make_engine(make_game(size=2)).reset(options=options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"success_rate": 1.5}, "success_rate=1.5"),
        ({"p": 0}, "p=0"),
        ({"size": 1}, "size=1"),
        ({"split": "tset"}, "train, valid, test"),
        ({"symbols": {"lava": "L"}}, "'lava'"),
        ({"symbols": {"ice": "G"}}, "a symbol twice"),
        ({"symbols": {"ice": " "}}, "visible"),
        ({"action_order": ("Up", "Down")}, "an order of"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        make_game(**options)


def test_a_long_walk_is_truncated_and_the_edge_holds():
    engine = lake(max_steps=3)
    for step in range(3):
        assert not engine.truncated[0]
        engine.step(np.array([0]))
        assert engine.game.look.info(engine.state, 0) == {"success": False, "effective": False, "steps": step + 1}
    assert engine.truncated[0]
    assert not engine.terminated[0]


# --- Text ----------------------------------------------------------------------------------------------------------------

WORDS = [{}, {"spaced": True, "symbols": {"ice": ".", "player": "A", "hole": "~"}}]


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 8), st.sampled_from(WORDS), st.sampled_from(sorted(STYLES)))
def test_texts_invert(seed, cell, options, style):
    words = vocabulary(**options)
    room = LakeRooms(3, 0.6).draw(np.array([seed]))["room"][0]
    engine = lake(1.0, ["".join("FSHG"[code] for code in row) for row in room])
    engine.state.player[0] = cell
    found = parse_text(render_text(engine.state, 0, style, words), style, words)
    if style == "places":
        assert found["player"].tolist() == [list(divmod(cell, 3))]
        assert found["holes"].tolist() == np.argwhere(room == HOLE).tolist()
        assert found["goal"].tolist() == np.argwhere(room == GOAL).tolist()
        return
    assert found["player"] == cell
    shown = room if "coord" in style else np.where(room == START, ICE, room)
    assert found["cells"].tolist() == shown.tolist()


def test_each_style_is_written_as_specified():
    engine = lake(room=["SFH", "FFF", "HFG"])
    assert {style: render_text(engine.state, 0, style) for style in STYLES} == {
        "grid": "P_O\n___\nO_G",
        "coord": "Board size: 3 rows x 3 cols (zero-indexed).\nStart: (0, 0)\nGoal: (2, 2)\nPlayer: (0, 0)\nHoles: (0, 2), (2, 0)",
        "grid_coord": "Coordinates: \nBoard size: 3 rows x 3 cols (zero-indexed).\nStart: (0, 0)\nGoal: (2, 2)\n"
        "Player: (0, 0)\nHoles: (0, 2), (2, 0)\nGrid Map: \nP_O\n___\nO_G",
        "sentence": "P_O\n___\nO_G\nPlayer (P) is at (0,0); holes (O) are at (0,2), (2,0); goal (G) is at (2,2).",
        "compact": "P _ O _ _ _ O _ G P 0 0 O 0 2 O 2 0 G 2 2",
        "places": "P 0 0 O 0 2 O 2 0 G 2 2",
    }


def test_rows_are_written_in_any_order():
    engine = make_engine(make_game(), 5, seed=1)
    engine.reset()
    for style in STYLES:
        texts = engine.game.language.write(engine.state, [3, 1], 0, style)
        assert texts == [render_text(engine.state, row, style) for row in (3, 1)]


@pytest.mark.parametrize(
    ("style", "text", "message"),
    [
        ("grid", "P_\n_", "line 2: 1 cells"),
        ("grid", "P_\n?G", "line 2: symbol '\\?'"),
        ("grid", "__\n_G", "0 players"),
        ("coord", "Board size: 2 rows x 3 cols (zero-indexed).", "line 1"),
        ("coord", "Board size: 2 rows x 2 cols (zero-indexed).\nGoal: (0, 2)", "line 2: .* on a board"),
        ("coord", "Board size: 2 rows x 2 cols (zero-indexed).\nGaol: (0, 1)", "begins with none"),
        ("grid_coord", "P_\n_G", "must be 'Coordinates: '"),
        ("sentence", "P_\n_G\nPlayer (P) is at (0,1); goal (G) is at (1,1).", "must be .*0,0"),
        ("places", "P 0 0 G 1", "word 4"),
        ("compact", "P _ _ G P 0 1 G 1 1", "the cells show"),
    ],
)
def test_texts_of_no_state_are_refused_with_the_reason(style, text, message):
    with pytest.raises(ValueError, match=message):
        parse_text(text, style)


def test_the_slip_is_always_written_out():
    assert "probability 0.333" in make_game(success_rate=1 / 3).language.instruction
    assert (
        "each of the two perpendicular directions with probability 0.1"
        in make_game(success_rate=0.8).language.instruction
    )
    assert "firm" in make_game(success_rate=1.0).language.instruction


@pytest.mark.parametrize("style", sorted(STYLES))
def test_the_worked_example_is_played_as_it_says(style):
    codec = make_game().language
    example, engine = codec.example(style), lake(room=["SFH", "HFF", "FHG"])
    assert codec.write(engine.state, [0], None, style) == [example.before]
    for name in example.actions:
        engine.step(np.array([codec.decode(name).action]))
    assert codec.write(engine.state, [0], None, style) == [example.after]


def test_directions_are_read_whatever_their_order():
    codec = make_game(action_order=("Up", "Down", "Left", "Right")).language
    assert codec.action_names == ("Up", "Down", "Left", "Right")
    assert [codec.decode(text).action for text in ("left", " DOWN\n", "Right", "up", "north")] == [0, 1, 2, 3, None]
