"""The arena as text and as SVG: what is drawn, and what a seat is not shown."""

from __future__ import annotations

from xml.etree import ElementTree

from reference.arena_by_hand import Hand, U, facing_each_other

from ludory.envs.pictures import plain

SVG = "{http://www.w3.org/2000/svg}"


def duel(distance, **more):
    return Hand(start=facing_each_other(distance, **more))


def text(hand, seat=None):
    return plain(hand.game.look.text(hand.state, 0, seat))


def svg(hand, seat=None):
    return ElementTree.fromstring(hand.game.look.svg(hand.state, 0, seat))


def marks(root):
    """Digits of the bodies on the map."""
    arena = next(part for part in root.iter(f"{SVG}g") if "scale(21" in part.get("transform", ""))
    return {word.text for word in arena.iter(f"{SVG}text")}


def test_one_character_is_one_unit():
    row = next(line for line in text(duel(6)).splitlines() if "0     1" in line)
    assert row.index("1") - row.index("0") == 6


def test_crates_mines_shields_and_wind_ups_have_signs():
    hand = duel(6, crates=[[0, 3 * U], [0, 5 * U], *[[0, 13 * U]] * 4])
    hand.play({"ability": "mine", "move": (0, -1)}, {"ability": "shield"})
    picture = text(hand)
    assert "(1)" in picture
    assert all(sign in picture.split("seat 0")[0] for sign in "x+=")
    hand.play({"ability": "nova"}, {})
    assert "*0*" in text(hand)


def test_the_status_lines_tell_more_of_the_own_seat():
    lines = text(duel(6), 0).splitlines()
    assert "seat 0 you  hp 100  energy 100  shots 20" in lines
    assert "seat 1      hp 100" in lines


def test_rivals_out_of_sight_and_their_mines_are_not_shown():
    hands = [duel(14), duel(14)]
    for hand in hands:
        hand.play({}, {"ability": "mine", "move": (0, 1)})
    hands[1].state.x[0, 1] -= U
    hands[1].state.mine_x[0, 1] -= U
    for draw in (hands[0].game.look.text, hands[0].game.look.svg):
        seen, moved = (draw(hand.state, 0, 0) for hand in hands)
        assert seen == moved
        assert "out of sight" in seen
        assert draw(hands[0].state, 0, None) != draw(hands[1].state, 0, None)


def test_every_seat_is_drawn_with_a_shape_of_its_own():
    hand = Hand(8)
    root = svg(hand)
    shapes = {path.get("d") for path in root.find(f"{SVG}defs") if path.tag == f"{SVG}path"}
    assert len(shapes) == 8
    assert {word.text for word in root.iter(f"{SVG}text")} >= set("01234567")


def test_the_picture_of_a_seat_shows_who_is_in_sight():
    assert marks(svg(duel(14))) == {"0", "1"}
    assert marks(svg(duel(14), 0)) == {"0"}
    assert marks(svg(duel(6), 0)) == {"0", "1"}


def test_the_dead_see_nobody():
    hand = Hand(3, start={"position": [[-3 * U, 0], [0, 0], [9 * U, 0]], "facing": [[1, 0]] * 3, "hp": [900, 800, 900]})
    hand.play({"fire": True})
    assert "place 3" in text(hand, 1)
    assert "hp" not in text(hand, 1)
    assert hand.game.look.last_move(hand.state, 0) == "0.1 s, seat 1 takes place 3"


def test_the_end_names_the_winner():
    hand = duel(3, hp=[800, 800])
    hand.play({"fire": True})
    assert "seat 0 is the last one standing" in hand.game.look.svg(hand.state, 0, None)
    assert "over" in text(hand).splitlines()[0]


def told(hand, seat, *wishes, times=1):
    """Play and return the words of the last decision."""
    for _ in range(times):
        before = type(hand.state)(*(values.copy() for values in hand.state))
        hand.play(*wishes)
    return hand.game.look.told_move(before, hand.state, 0, seat)


def test_moves_tell_hits_as_far_as_a_seat_knows_them():
    fire = {"fire": True}
    assert told(duel(3), None, {}) == "0.1 s"
    assert told(duel(3), None, fire) == "0.1 s: seat 0 hits seat 1 for 8 hp; seat 0 fires"
    assert told(duel(3), 0, fire) == "0.1 s: seat 0 hits for 8 hp; seat 0 fires"
    assert told(duel(3), 1, fire) == "0.1 s: seat 1 loses 8 hp"
    assert told(duel(3), None, fire, fire) == (
        "0.1 s: seat 0 hits for 8 hp; seat 1 hits for 8 hp; seat 0 loses 8 hp; seat 1 loses 8 hp; seats 0 and 1 fire"
    )


def test_moves_tell_who_is_out():
    assert told(duel(3, hp=[800, 800]), 0, {"fire": True}) == (
        "0.1 s: seat 0 takes place 1; seat 1 takes place 2; seat 0 hits for 8 hp; seat 0 fires"
    )


def test_moves_tell_crates():
    wish = {"interact": True}
    for position, name in ((0, "health"), (1, "supply")):
        crates = [[0, 13 * U]] * 6
        crates[position] = [-3 * U, 0]
        hand = duel(6, crates=crates, hp=[2_500, 10_000])
        assert told(hand, None, wish, times=8) == f"1.1 s: seat 0 opens a {name} crate"
