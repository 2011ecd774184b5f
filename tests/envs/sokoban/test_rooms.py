"""Rooms of Sokoban: generated, packed, read from files, split by hash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludory.agents.puzzles.sokoban_search import UNSOLVED, shortest_moves
from ludory.envs.make import make_engine, make_game
from ludory.envs.rooms import SPLITS, split_of
from ludory.envs.sokoban.bank import (
    RoomFile,
    bank_key,
    bank_rows,
    drawn_bank,
    given_rooms,
    read_bank,
    room_hashes,
    write_bank,
    write_drawn,
)
from ludory.envs.sokoban.generator import draw_rooms
from ludory.envs.sokoban.level_files import levels_text, read_levels
from ludory.envs.sokoban.levels import alike, pack_levels, unpack_levels
from ludory.envs.sokoban.options import PRESETS, SokobanOptions
from ludory.envs.sokoban.state import drawn_codes, start_codes
from ludory.errors import DataError, OptionError

pytestmark = pytest.mark.plain

BOXOBAN = Path(__file__).parents[2] / "golden" / "text_games" / "boxoban"
SHARES = (8.1, 24.1, 11.6, 15.4, 16.8, 10.3, 5.7, 4.7, 2.1, 0.6, 0.4)
"""Percent of 4,000 rooms 6x6/1 of RAGEN's own generator that 1, 2, ..., 10 and more actions solve at best."""


def options(preset: str, **changes) -> SokobanOptions:
    return SokobanOptions(**(PRESETS[preset] | changes))


@pytest.mark.slow
def test_generated_rooms_are_as_hard_as_those_of_the_original():
    lengths = shortest_moves(draw_rooms(options("simple"), np.arange(4000)))
    shares = [100 * (lengths == k).mean() for k in range(1, 11)] + [100 * (lengths > 10).mean()]
    assert (lengths != UNSOLVED).all()
    assert np.abs(np.subtract(shares, SHARES)).max() < 2


@pytest.mark.slow
@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "boxoban"])
def test_the_banks_that_come_with_the_package_are_those_that_the_generator_draws(preset):
    kept = drawn_bank(options(preset))
    assert kept is not None, "write it again with `write_drawn`"
    first = np.arange(16)
    np.testing.assert_array_equal(kept[first], bank_rows(draw_rooms(options(preset), first)))


@pytest.mark.slow
def test_banks_of_other_games_are_not_in_the_package(tmp_path):
    other = options("simple", bank=8)
    assert drawn_bank(other) is None
    write_drawn(tmp_path / "banks.npz", [other])
    with np.load(tmp_path / "banks.npz") as file:
        np.testing.assert_array_equal(file[bank_key(other)], bank_rows(draw_rooms(other, np.arange(8))))


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["two_boxes", "medium", "large"])
def test_every_generated_room_can_be_solved(preset):
    rooms = draw_rooms(options(preset), np.arange(40))
    assert (shortest_moves(rooms, 2_000_000) > 0).all()


def test_a_seed_stands_for_a_room():
    rooms = draw_rooms(options("simple"), np.arange(200))
    assert np.array_equal(rooms[50:60], draw_rooms(options("simple"), np.arange(50, 60)))
    assert len(np.unique(room_hashes(rooms))) > 150
    assert int(room_hashes(rooms[:1])[0]) == FIRST_ROOM


FIRST_ROOM = 7190317742859723366
"""Hash of the room of seed 0. It changes only with the version of the generator."""


def reference_best(codes, places, depth, only_pulls, count_changes):
    """The backward search, written out plainly: the best state's score, player and boxes."""
    import sys

    _rows, columns = codes.shape
    targets = places[1:]
    seen, best = set(), [0, None]
    sys.setrecursionlimit(10_000)

    def visit(player, boxes, touched, swaps, last, left):
        if left - 1 <= 0 or (player, boxes_key(boxes, touched)) in seen:
            return
        seen.add((player, boxes_key(boxes, touched)))
        spread = sum(
            abs(a // columns - b // columns) + abs(a % columns - b % columns)
            for a, b in zip(boxes, targets, strict=True)
        )
        score = 0 if set(boxes) & set(targets) or player in targets else swaps * spread
        if score > best[0]:
            best[:] = score, (player, *boxes)
        for pull in (True, False)[: 1 if only_pulls else 2]:
            for step in (-columns, columns, -1, 1):
                ahead, behind = player + step, player - step
                if codes.flat[ahead] == 0 or ahead in boxes:
                    continue
                if pull and behind in boxes:
                    k = boxes.index(behind)
                    moved = (*boxes[:k], player, *boxes[k + 1 :])
                    one_more = 1 if not count_changes or k != last else 0
                    visit(ahead, moved, touched | {k}, swaps + one_more, k, left - 1)
                else:
                    visit(ahead, boxes, touched, swaps, last, left - 1)

    visit(places[0], tuple(targets), frozenset(), 0, -1, depth)
    return best


def boxes_key(boxes, touched):
    return frozenset((box, k in touched) for k, box in enumerate(boxes))


@pytest.mark.parametrize(("only_pulls", "count_changes"), [(True, True), (False, False)])
@pytest.mark.parametrize("boxes", [1, 2])
def test_the_backward_search_finds_what_the_plain_one_finds(only_pulls, count_changes, boxes):
    from ludory.envs.sokoban import generator

    random = np.array([5, 0], np.int64)
    search = generator._new_search(6, 6, boxes, 60)
    found = 0
    for _ in range(15):
        codes, places, best = np.zeros((6, 6), np.uint8), np.zeros(1 + boxes, np.int64), np.zeros(1 + boxes, np.int64)
        generator._draw_topology(random, codes)
        if generator._draw_places(random, codes, places):
            score = generator._play_backward(codes, places, 60, only_pulls, count_changes, search, best)
            expected = reference_best(codes, places.tolist(), 60, only_pulls, count_changes)
            assert (score, tuple(best.tolist()) if score else None) == (expected[0], expected[1])
            found += score > 0
    assert found > 5


@pytest.mark.parametrize("split", SPLITS)
def test_splits_are_disjoint(split):
    game = make_game("Sokoban-v0")
    hashes = game.analysis.rooms.hashes(game.analysis.rooms.draw(np.arange(30), split))
    assert (split_of(hashes) == SPLITS.index(split)).all()


def test_engines_of_a_split_start_in_its_rooms():
    game = make_game("Sokoban-v0", split="valid", bank=64)
    engine = make_engine(game, 50, seed=2)
    engine.reset()
    assert (split_of(room_hashes(start_codes(engine.state, range(50)))) == SPLITS.index("valid")).all()


@pytest.mark.parametrize("name", ["unfiltered_train", "unfiltered_test", "medium_valid", "hard"])
def test_boxoban_files_are_read_to_the_last_level(name):
    codes, found = alike(read_levels(BOXOBAN / f"boxoban_{name}.txt"))
    with np.load(BOXOBAN / "boxoban_sample.npz") as sample:
        assert np.array_equal(codes, sample[name])
    assert [level.title for level in found.levels] == [str(k) for k in range(len(codes))]
    packed = pack_levels(codes)
    assert packed.shape == (len(codes), 22)
    assert np.array_equal(unpack_levels(packed, (10, 10)), codes)


def test_a_level_is_written_as_it_was_read(tmp_path):
    text = (BOXOBAN / "boxoban_hard.txt").read_text()
    assert levels_text(read_levels(BOXOBAN / "boxoban_hard.txt").levels, "boxoban") == text.removesuffix("\n")


def test_engines_play_the_levels_of_a_file():
    game = make_game("Boxoban-v0", rooms=str(BOXOBAN / "boxoban_hard.txt"))
    levels = given_rooms(BOXOBAN / "boxoban_hard.txt")
    engine = make_engine(game, 300, seed=1)
    engine.reset()
    rooms, numbers = drawn_codes(engine.state, range(300)), engine.state.level
    assert np.array_equal(rooms, levels[numbers])
    assert len(np.unique(numbers)) > 80


def test_large_rooms_have_two_bytes_a_place():
    codes = np.zeros((1, 20, 30), np.uint8)
    codes[0, 1:-1, 1:-1] = 1
    codes[0, 18, 27:30], codes[0, 2, 2], codes[0, 18, 28] = (4, 5, 0), 2, 6
    codes[0, 18, 26] = 4
    packed = pack_levels(codes)
    assert np.array_equal(unpack_levels(packed, (20, 30)), codes)
    game = make_game("Sokoban-v0", rooms=codes)
    engine = make_engine(game)
    engine.reset()
    assert np.array_equal(drawn_codes(engine.state, [0]), codes)


def test_banks_are_written_and_read(tmp_path):
    rooms = draw_rooms(options("simple"), np.arange(20))
    bank = RoomFile(rooms, room_hashes(rooms), np.arange(20, dtype=np.int64))
    write_bank(tmp_path / "rooms.npz", bank)
    for got, expected in zip(read_bank(tmp_path / "rooms.npz"), bank, strict=True):
        assert np.array_equal(got, expected)
    data = (tmp_path / "rooms.npz").read_bytes()
    for damaged in (data[:-30], data[:200] + b"xx" + data[202:], b"", data.replace(b"codes", b"modes")):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"damaged\.npz: not a bank of rooms"):
            read_bank(tmp_path / "damaged.npz")
    game = make_game("Sokoban-v0", rooms=str(tmp_path / "rooms.npz"))
    assert np.array_equal(game.analysis.rooms.draw(np.array([3, 23]))["room"], rooms[[3, 3]])


def test_files_and_options_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "bank.npz").write_bytes(b"none")
    with pytest.raises(DataError, match="ludory sokoban bank"):
        make_game("Sokoban-v0", rooms=str(tmp_path / "bank.npz"))
    with pytest.raises(OptionError, match="no such file"):
        make_game("Sokoban-v0", rooms="missing.npz")
    with pytest.raises(OptionError, match="git clone"):
        make_game("Boxoban-v0", levels="boxoban/medium/valid")
    with pytest.raises(OptionError, match="given rooms have 10 rows"):
        make_game("Boxoban-v0", rooms=str(BOXOBAN / "boxoban_hard.txt"), size=9)
    with pytest.raises(OptionError, match="boxoban/sample"):
        make_game("Boxoban-v0", levels="boxoban/easy")


@pytest.mark.slow
def test_the_levels_of_the_package_are_the_first_ones_of_the_training_set():
    levels = given_rooms(BOXOBAN / "boxoban_unfiltered_train.txt")
    assert np.array_equal(make_game("Boxoban-v0").analysis.rooms.draw(np.arange(1000))["room"], levels)
