"""Hanabi's rules where the golden games do not reach: all sizes and options, beliefs, lengths of games."""

from __future__ import annotations

from dataclasses import asdict
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.hanabi import PlainHanabi

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.storage import new_records, views
from ludory.envs.game import Game
from ludory.envs.hanabi import HanabiOptions, make_game
from ludory.envs.make import make_game as make_registered
from ludory.plugins import games
from ludory.testing.kernels.interpreted import interpreted
from ludory.testing.recording import Recording, record

SMALL = {"colors": 2, "ranks": 5, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}
TINY = {"colors": 2, "ranks": 2, "hand_size": 2}


class OneGame:
    """One game run by the kernels as plain Python: variants are tried without compiling each."""

    def __init__(self, game: Game, **start: object) -> None:
        self.facts = game.facts
        self.kernels = {name: interpreted(kernel) for name, kernel in game.rules.kernels._asdict().items() if kernel}
        self.state = views(game.rules.fields, new_records(game.rules.fields, 1))
        for name, values in (game.rules.start(start, 1) if start else {}).items():
            getattr(self.state, name)[:] = values
        self.state.random[:, 0] = 12345
        self.call("reset")

    def call(self, name, *args):
        with np.errstate(over="ignore"):
            return self.kernels[name](self.state, 0, *args)

    def legal(self):
        mask = np.zeros(self.facts.num_actions, bool)
        self.call("legal", int(self.state.to_move[0]), mask)
        return set(np.flatnonzero(mask).tolist())

    def observation(self, seat):
        out = np.zeros(self.facts.observation.size, self.facts.observation.dtype)
        self.call("observe", seat, out)
        return out

    def step(self, action):
        self.call("step", action)
        return self.state.rewards[0].tolist()


@st.composite
def variants(draw) -> HanabiOptions:
    """All options, small sizes preferred: R = 1, C = 1, C != R and an empty deck after the deal are among them."""
    players, colors, ranks = draw(st.integers(2, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    deck_size = colors * (3 if ranks == 1 else 2 * ranks)
    if players > deck_size:
        colors, deck_size = 4, 4 * deck_size // colors
    return HanabiOptions(
        players,
        colors,
        ranks,
        draw(st.integers(1, min(4, deck_size // players))),
        draw(st.integers(0, 8)),
        draw(st.integers(1, 4)),
        observation=draw(st.sampled_from(["card_knowledge", "minimal", "seer", "tactical", "v0_belief"])),
        bomb=draw(st.sampled_from(["zero", "keep"])),
        terminal_deal=draw(st.booleans()),
    )


@pytest.mark.slow
@settings(max_examples=120)
@given(variants(), st.integers(0, 2**32 - 1), st.sampled_from(["random", "cautious", "clever"]))
def test_any_variant_is_played_as_the_plain_rules_say(options, seed, style):
    game, random = make_game(**asdict(options)), Random(seed)
    deck = [card for card in range(options.colors * options.ranks) for _ in range(options.copies[card % options.ranks])]
    random.shuffle(deck)
    start = random.randrange(options.players)
    mine, plain = OneGame(game, deck=deck, start_player=start), PlainHanabi(options, deck, start)
    while not plain.end:
        assert_same_position(mine, plain)
        action = random.choice(sorted(preferred(plain, style)))
        assert mine.step(action) == [plain.play(action)] * options.players
        assert mine.state.terminated[0] == bool(plain.end)
    assert_same_position(mine, plain)
    assert game.look.info(mine.state, 0)["end"] == plain.end
    assert plain.turns <= game.facts.longest_game


def preferred(plain: PlainHanabi, style: str) -> set[int]:
    """Random play hardly ever reaches the final round; who plays no card does, and who sees the own hand finishes stacks."""
    legal, hand = plain.legal(), plain.options.hand_size
    good = {
        hand + slot for slot, card in enumerate(plain.hands[plain.to_move]) if card.rank == plain.stacks[card.color]
    }
    harmless = {action for action in legal if not hand <= action < 2 * hand}
    return (style == "clever" and good) or (style != "random" and harmless) or legal


def assert_same_position(mine: OneGame, plain: PlainHanabi) -> None:
    state = mine.state
    assert state.to_move[0] == plain.to_move
    assert (state.tokens[0], state.lives[0]) == (plain.tokens, plain.lives)
    assert state.fireworks[0].tolist() == plain.stacks
    assert state.discards[0].tolist() == plain.discards
    assert mine.legal() == (set() if plain.end else plain.legal())
    for seat in range(plain.options.players):
        np.testing.assert_allclose(mine.observation(seat), plain.observation(seat), rtol=0, atol=1e-6)


def test_beliefs_of_the_compiled_engine():
    options = HanabiOptions(**SMALL, observation="v0_belief")
    engine = KernelEngine(make_game(**SMALL, observation="v0_belief"), 50, seed=4)
    engine.reset()
    plain = [PlainHanabi(options, deck) for deck in engine.state.deck.tolist()]
    generator = np.random.default_rng(1)
    while not engine.terminated.all():
        for row in np.flatnonzero(~engine.terminated):
            for seat in range(2):
                seen = engine.observe(seat, [row])[0]
                np.testing.assert_allclose(seen, plain[row].observation(seat), rtol=0, atol=1e-6)
        actions = np.array([generator.choice(np.flatnonzero(mask)) for mask in engine.legal()])
        for row in np.flatnonzero(~engine.terminated):
            plain[row].play(int(actions[row]))
        engine.step(actions)


# --- Who starts -----------------------------------------------------------------------------------------------------------


def test_seat_0_starts_unless_drawn_or_given():
    engine = KernelEngine(make_game(**TINY), 200, seed=1)
    engine.reset()
    assert (engine.to_move == 0).all()


def test_the_start_player_is_drawn_uniformly_from_the_key():
    engine = KernelEngine(make_game(**TINY, random_start_player=True), 4000, seed=1)
    engine.reset()
    first = engine.to_move
    assert abs(first.mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    engine.reset(seed=1)
    assert (engine.to_move == first).all()
    engine.reset()
    assert (engine.to_move != first).any()


def test_a_drawn_start_player_leaves_the_deck_as_it_is():
    plain, drawn = (KernelEngine(make_game(**TINY, random_start_player=random), 50, seed=1) for random in (False, True))
    plain.reset()
    drawn.reset()
    assert (plain.state.deck == drawn.state.deck).all()


# --- The last move --------------------------------------------------------------------------------------------------------


def played_out(seed: int = 6, **options: object) -> Recording:
    """Tiny games played to their ends with the same random moves."""
    engine = KernelEngine(make_game(**TINY, **options), 200, seed=seed)
    engine.reset()
    return record(engine, np.random.default_rng(seed))


def test_bomb_keep_changes_rewards_only():
    zero, keep = played_out(bomb="zero"), played_out(bomb="keep")
    bombs = 0
    for before, mine, theirs in zip(zero.moments, zero.moments[1:], keep.moments[1:], strict=False):
        assert (mine.observations == theirs.observations).all()
        assert (mine.masks == theirs.masks).all()
        assert (mine.terminated == theirs.terminated).all()
        other = (mine.rewards != theirs.rewards).any(axis=1)
        assert (mine.over & ~before.over)[other].all()
        assert (theirs.rewards[other] == 0).all()
        bombs += other.sum()
    assert bombs > 20
    returns = sum(moment.rewards for moment in zero.moments), sum(moment.rewards for moment in keep.moments)
    differs = (returns[0] != returns[1]).any(axis=1)
    assert (returns[0][differs] == 0).all()
    assert differs.sum() == bombs


def test_terminal_deal_changes_terminal_observations_only():
    dealt, short = played_out(terminal_deal=True), played_out(terminal_deal=False)
    short_hand = next(s for s in make_game(**TINY).facts.segments if s.name == "short_hand")
    changed = 0
    for mine, theirs in zip(dealt.moments, short.moments, strict=True):
        assert (mine.masks == theirs.masks).all()
        assert (mine.rewards == theirs.rewards).all()
        other = (mine.observations != theirs.observations).any(axis=(1, 2))
        assert mine.over[other].all()
        bits = theirs.observations[other][:, 0, short_hand.start : short_hand.start + 2]
        assert (bits.sum(axis=1) == 1).all()
        changed += other.sum()
    assert changed > 20


# --- Lengths of games -----------------------------------------------------------------------------------------------------

IDS = [id for id in games.ids() if id.startswith("Hanabi")]


@pytest.mark.parametrize("id", IDS)
def test_the_longest_game_is_reached_by_hinting_else_discarding(id):
    game = make_registered(id)
    one, hand, made = OneGame(game), game.rules.fields["hands"].shape[1], 0
    while not one.state.terminated[0]:
        one.step(max(one.legal(), key=lambda action: (action >= 2 * hand, action < hand)))
        made += 1
    assert made == game.facts.longest_game
    assert game.look.info(one.state, 0)["end"] == "deck"


def test_the_longest_full_games_have_the_known_lengths():
    assert [make_game(players=players).facts.longest_game for players in (2, 3, 4, 5)] == [89, 80, 79, 72]


@pytest.mark.parametrize("seed", range(5))
def test_very_small_with_five_players_has_exactly_five_moves_unless_bombed(seed):
    one, random = OneGame(make_registered("HanabiVerySmall5P-v0")), np.random.default_rng(seed)
    one.state.lives[:] = 9
    made = 0
    while not one.state.terminated[0]:
        one.step(int(random.choice(sorted(one.legal()))))
        made += 1
    assert made == 5
