"""Scripted opponents of Pokémon battles, on rows written by hand: which action each of them plays, and why."""

import cProfile
from types import SimpleNamespace

import numpy as np
import pytest

from ludory.agents.make import make_agent
from ludory.agents.pokemon.bots import GreedyDamageBot, MaxBasePowerBot, RandomBot, SimpleHeuristicsBot
from ludory.envs.pokemon.dex import dex
from ludory.envs.pokemon.vocab import vocabulary
from ludory.errors import OptionError

pytestmark = pytest.mark.plain

GAME = SimpleNamespace(facts=SimpleNamespace(name="pokemon"), id=None)


class Rows:
    """One entity row that grows: an engine of one battle, as far as the bots look."""

    def __init__(self, gen=9, actions=14):
        self.entity = np.zeros((1, 2, 932), np.float32)
        self.row, self.gen = self.entity[0, 0], gen
        self.mask = np.zeros((1, 2, actions), bool)
        self.row[860 + 49] = gen / 9
        self.positions = np.tile(np.arange(6, dtype=np.int8), (1, 2, 1))

    def legal(self):
        return self.mask

    def pokemon(self, place, species, active=False, hp=1.0, tera=None, **stages):
        """Put a Pokémon into row `place` (0-5 own, 6-11 the foe's); own ones on the bench may switch in."""
        number, start = vocabulary("species")[species], 152 + 40 * place
        table = dex(self.gen)
        self.row[start], self.row[start + 2], self.row[start + 3] = 1, active, hp == 0
        self.row[start + 4] = hp
        self.row[start + 7 : start + 13] = table.species_stats[number] / 255
        self.row[start + 13 : start + 19] = table.species_stats[number] / 250
        for name, value in stages.items():
            self.row[start + 19 + ("atk", "def_", "spa", "spd", "spe").index(name)] = value / 6
        self.row[12 * place] = number
        self.row[12 * place + 3 : 12 * place + 5] = table.species_types[number]
        self.row[12 * place + 5] = vocabulary("types")[tera] if tera else 0
        if place < 6:
            self.mask[0, 0, 4 + place] = not active and hp > 0
        return self

    def menu(self, *names, gimmicks=False):
        """The menu of own moves, all legal."""
        for place, name in enumerate(names):
            self.row[144 + place] = vocabulary("moves")[name]
            self.mask[0, 0, place] = True
            self.mask[0, 0, 10 + place :][:1] = gimmicks
        return self

    def action(self, bot):
        return int(bot.choose(self, 0, np.array([0]), bot.initial_memory(1))[0])


def duel(own, foe, *moves, gen=9, **own_state):
    return Rows(gen).pokemon(0, own, active=True, **own_state).pokemon(6, foe, active=True).menu(*moves)


@pytest.mark.plain
def test_the_best_attack_counts_power_type_stats_accuracy_and_effectiveness():
    assert duel("garchomp", "heatran", "dragonclaw", "earthquake", "firefang").action(SimpleHeuristicsBot(GAME)) == 1
    assert duel("charizard", "venusaur", "slash", "airslash", "fireblast").action(SimpleHeuristicsBot(GAME)) == 2
    assert duel("charizard", "blissey", "fireblast", "flareblitz").action(SimpleHeuristicsBot(GAME)) == 1


@pytest.mark.plain
def test_the_first_of_equal_attacks_is_played():
    assert duel("garchomp", "heatran", "earthquake", "earthquake").action(SimpleHeuristicsBot(GAME)) == 0


@pytest.mark.plain
def test_it_leaves_a_bad_match_up_for_a_good_one_and_stays_without_one():
    bad = duel("charizard", "omastar", "airslash")
    assert bad.action(SimpleHeuristicsBot(GAME)) == 0
    assert bad.pokemon(3, "ferrothorn").action(SimpleHeuristicsBot(GAME)) == 7


def test_lowered_stages_make_it_leave():
    lowered = duel("garchomp", "heatran", "earthquake", def_=-3).pokemon(2, "swampert")
    assert lowered.action(SimpleHeuristicsBot(GAME)) == 6
    attack = duel("garchomp", "heatran", "earthquake", spa=-3).pokemon(2, "swampert")
    assert attack.action(SimpleHeuristicsBot(GAME)) == 0, "it attacks with the other stat"


def test_a_forced_switch_takes_the_best_match_up_and_the_first_position_among_equals():
    rows = Rows().pokemon(0, "charizard", active=True, hp=0).pokemon(6, "omastar", active=True)
    rows.pokemon(1, "magcargo").pokemon(2, "ferrothorn").pokemon(4, "ferrothorn")
    assert rows.action(SimpleHeuristicsBot(GAME)) == 6
    rows.positions[:] = [0, 1, 4, 3, 2, 5]
    assert rows.action(SimpleHeuristicsBot(GAME)) == 8


def test_hazards_are_set_once_and_while_three_foes_are_left():
    rows = duel("skarmory", "blissey", "bravebird", "spikes")
    assert rows.action(SimpleHeuristicsBot(GAME)) == 1
    rows.row[860 + 35] = 1 / 3
    assert rows.action(SimpleHeuristicsBot(GAME)) == 0
    rows.row[860 + 35] = 0
    for place in range(7, 11):
        rows.pokemon(place, "blissey", hp=0)
    assert rows.action(SimpleHeuristicsBot(GAME)) == 0


def test_own_side_conditions_are_blown_away_while_two_are_left():
    rows = duel("starmie", "golem", "surf", "rapidspin")
    rows.row[860 + 20] = 1
    assert rows.action(SimpleHeuristicsBot(GAME)) == 0
    assert rows.pokemon(1, "blissey").action(SimpleHeuristicsBot(GAME)) == 1


def test_setting_up_and_terastallizing_are_options_because_the_original_never_does_either():
    rows = duel("garchomp", "heatran", "earthquake", "swordsdance", tera="ground").menu(
        "earthquake", "swordsdance", gimmicks=True
    )
    assert rows.action(SimpleHeuristicsBot(GAME)) == 0
    assert rows.action(SimpleHeuristicsBot(GAME, sets_up=True)) == 1
    assert rows.action(SimpleHeuristicsBot(GAME, terastallizes=True)) == 10


def test_dynamax_is_used_by_the_last_one_and_in_a_good_match_up_of_two_at_full_hit_points():
    rows = duel("dragapult", "heatran", "dracometeor", gen=8, hp=0.9).menu("dracometeor", gimmicks=True)
    assert rows.action(SimpleHeuristicsBot(GAME)) == 10
    assert rows.pokemon(1, "ferrothorn").pokemon(2, "blissey").action(SimpleHeuristicsBot(GAME)) == 0
    assert rows.pokemon(0, "dragapult", active=True).action(SimpleHeuristicsBot(GAME)) == 10


def test_greedy_damage_leaves_only_without_damage():
    rows = duel("garchomp", "skarmory", "earthquake", "dragonclaw").pokemon(1, "magnezone")
    rows.row[684 + 13], rows.row[684 + 22 + 13] = 0, 0.1
    assert rows.action(GreedyDamageBot(GAME)) == 1
    rows.row[684 + 22 + 13] = 0
    assert rows.action(GreedyDamageBot(GAME)) == 5
    rows.mask[0, 0, 4:] = False
    assert rows.action(GreedyDamageBot(GAME)) == 0


def test_max_base_power_looks_at_nothing_else():
    assert duel("charizard", "omastar", "airslash", "fireblast", "flareblitz").action(MaxBasePowerBot(GAME)) == 2
    rows = Rows().pokemon(1, "magcargo").pokemon(4, "blissey")
    assert {rows.action(MaxBasePowerBot(GAME)) for _ in range(40)} == {5, 8}


def test_random_draws_are_uniform_and_follow_the_seed():
    rows = duel("garchomp", "heatran", "earthquake", "dragonclaw").pokemon(2, "blissey")
    bot = RandomBot(GAME, seed=1)
    memory, drawn = bot.initial_memory(1), []
    for _ in range(600):
        drawn += [int(bot.choose(rows, 0, np.array([0]), memory)[0])]
    counts = np.bincount(drawn, minlength=14)
    assert set(np.flatnonzero(counts)) == {0, 1, 6}
    assert counts[[0, 1, 6]].min() > 150
    again = RandomBot(GAME, seed=1)
    assert again.choose(rows, 0, np.array([0]), again.initial_memory(1))[0] == drawn[0]


def test_gimmick_rate_caps_the_share_of_gimmicks():
    rows = duel("garchomp", "heatran", "earthquake", "dragonclaw").menu("earthquake", "dragonclaw", gimmicks=True)
    memory = RandomBot(GAME, seed=1).initial_memory(1)
    for rate, low, high in ((None, 0.4, 0.6), (1.0, 0.4, 0.6), (0.1, 0.05, 0.16), (0.0, 0, 0)):
        bot = RandomBot(GAME, rate, seed=1)
        drawn = [int(bot.choose(rows, 0, np.array([0]), memory)[0]) for _ in range(500)]
        assert low <= np.mean(np.array(drawn) >= 10) <= high


def test_bots_refuse_other_games_and_engines_without_entity_rows():
    with pytest.raises(
        OptionError, match="plays Pokémon battles only, got HanabiTiny2P-v0; try PokemonGen1RandomBattle-v0"
    ):
        make_agent("pokemon/simple-heuristics", "HanabiTiny2P-v0")
    bot = SimpleHeuristicsBot(GAME)
    with pytest.raises(OptionError, match="observation='entity'"):
        bot.choose(SimpleNamespace(), 0, np.array([0]), bot.initial_memory(1))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"gimmick_rate=2: must lie in 0\.\.1"):
        RandomBot(GAME, 2)


@pytest.mark.slow
def test_a_decision_makes_few_calls():
    rows = duel("garchomp", "heatran", "earthquake", "dragonclaw").pokemon(2, "blissey")
    bot = SimpleHeuristicsBot(GAME)
    memory = bot.initial_memory(1)
    rows.action(bot)
    bot.choose(rows, 0, np.array([0]), memory)
    with cProfile.Profile() as profile:
        bot.choose(rows, 0, np.array([0]), memory)
    assert sum(entry.callcount for entry in profile.getstats()) < 60, "it runs in compiled code"
