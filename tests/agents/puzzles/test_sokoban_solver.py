"""Exact searches of Sokoban rooms, and the agent that plays their plans."""

from __future__ import annotations

import numpy as np
import pytest
from support.text_games.sokoban import text_episodes, traces

from ludory.agents.make import make_agent
from ludory.agents.puzzles.sokoban_search import UNSOLVED, PushSearch, plan_lengths, shortest_moves
from ludory.agents.puzzles.solvers import after
from ludory.envs.make import make_engine, make_game
from ludory.envs.sokoban.levels import combined
from ludory.errors import OptionError


def plain_search(room: np.ndarray) -> int:
    """Fewest actions, by breadth-first search over whole rooms with the rules written out."""
    frontier, seen, length = [room], {room.tobytes()}, 0
    while frontier:
        length, following = length + 1, []
        for here in frontier:
            row, column = np.argwhere(here >= 5)[0]
            for direction, (down, across) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
                ahead = here[row + down, column + across]
                if ahead == 0:
                    continue
                if ahead in (3, 4) and here[row + 2 * down, column + 2 * across] not in (1, 2):
                    continue
                moved = after(here, direction)
                if not (moved == 4).any():
                    return length
                if moved.tobytes() not in seen:
                    seen.add(moved.tobytes())
                    following.append(moved)
        frontier = following
    return UNSOLVED


@pytest.mark.slow
def test_the_fewest_actions_are_those_of_a_plain_search():
    for preset in ("Sokoban-v0", "Sokoban2Boxes-v0"):
        rooms = make_game(preset).analysis.rooms.draw(np.arange(12))["room"]
        assert shortest_moves(rooms).tolist() == [plain_search(room) for room in rooms]


@pytest.mark.slow
def test_plans_solve_their_rooms_and_push_no_more_than_needed():
    rooms = make_game("Sokoban-v0").analysis.rooms.draw(np.arange(200))["room"]
    search, shortest = PushSearch(rooms), shortest_moves(rooms)
    for room, fewest in zip(rooms, shortest, strict=True):
        plan = search.plan(room)
        here, pushes = room, 0
        for direction in plan.tolist():
            boxes = np.isin(here, (3, 4))
            here = after(here, direction)
            pushes += bool((np.isin(here, (3, 4)) != boxes).any())
        assert not (here == 4).any()
        assert len(plan) >= fewest
        assert pushes == fewest_pushes(room)


def fewest_pushes(room: np.ndarray) -> int:
    """By breadth-first search over (player, box) in which only pushes count; one box."""
    from collections import deque

    start = (tuple(np.argwhere(room >= 5)[0]), tuple(np.argwhere(np.isin(room, (3, 4)))[0]))
    targets, best, queue = {tuple(cell) for cell in np.argwhere(np.isin(room, (2, 3, 6)))}, {start: 0}, deque([start])
    while queue:
        player, box = queue.popleft()
        if box in targets:
            return best[player, box]
        for down, across in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            ahead = player[0] + down, player[1] + across
            beyond = ahead[0] + down, ahead[1] + across
            pushes = ahead == box
            if room[ahead] == 0 or (pushes and room[beyond] == 0):
                continue
            state, cost = (ahead, beyond if pushes else box), best[player, box] + pushes
            if cost < best.get(state, 1 << 30):
                best[state] = cost
                (queue.append if pushes else queue.appendleft)(state)
    return UNSOLVED


@pytest.mark.slow
def test_recorded_plans_are_never_shorter():
    """The recorded plans have the fewest pushes too, and do not always walk the shortest way."""
    episodes = [episode for episode in text_episodes() if episode["dim"] == 6]
    rooms = np.stack([combined(np.array(one["room_fixed"]), np.array(one["room_state"])) for one in episodes])
    recorded = np.array([one["shortest_pushes_plan_len"] for one in episodes])
    lengths = plan_lengths(rooms)
    assert (lengths <= recorded).all()
    assert (lengths == recorded).mean() > 0.9
    trace = traces()
    for config, row in enumerate(trace["cfg_table"]):
        games = np.flatnonzero(trace["cfg"] == config)
        at = trace["step_offsets"][games] + games
        rooms = combined(trace["room_fixed"][games], trace["states"][at])[:, : row[0], : row[1]]
        known = trace["solution_len"][games] > 0
        lengths = plan_lengths(rooms)
        assert (lengths > 0).all()
        assert (lengths <= trace["solution_len"][games])[known].all()


@pytest.mark.slow
def test_small_rooms_are_solved_within_a_few_hundred_states():
    rooms = make_game("Sokoban-v0").analysis.rooms.draw(np.arange(300))["room"]
    assert (plan_lengths(rooms, max_states=500) > 0).all()


@pytest.mark.slow
def test_a_stuck_room_has_no_plan():
    room = np.zeros((6, 6), np.uint8)
    room[1:5, 1:5] = 1
    room[1, 1], room[3, 3], room[2, 2] = 4, 2, 5
    assert PushSearch(room).plan(room) is None
    assert shortest_moves(room).tolist() == [UNSOLVED]


@pytest.mark.slow
@pytest.mark.parametrize("actions", ["push4", "move9"])
def test_the_agent_solves_every_room(actions):
    game = make_game("Sokoban-v0", actions=actions)
    agent, engine = make_agent("sokoban/solver", game), make_engine(game, 40)
    rooms = game.analysis.rooms.draw(np.arange(40))
    engine.reset(options=rooms)
    while not engine.over.all():
        rows = np.flatnonzero(~engine.over)
        engine.step(agent.choose(engine, 0, rows, None), rows=rows)
    assert engine.terminated.all()
    assert engine.state.steps.tolist() == plan_lengths(rooms["room"]).tolist()


def test_the_agent_plays_sokoban_only():
    with pytest.raises(OptionError, match="Sokoban-v0"):
        make_agent("sokoban/solver", "HanabiTiny2P-v0")


@pytest.mark.plain
def test_a_level_that_is_given_solved_ends_with_the_first_action():
    room = np.zeros((1, 10, 10), np.uint8)
    room[0, 1, 1:5] = 5, 1, 3, 1
    assert shortest_moves(room).tolist() == [0]
    engine = make_engine(make_game("Sokoban-v0", rooms=room))
    engine.reset()
    engine.step(make_agent("sokoban/solver", engine.game).choose(engine, 0, np.arange(1), None))
    assert engine.terminated.tolist() == [True]
