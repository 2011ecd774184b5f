"""`pokemon/search`: battles as they may be, and moves that are tried in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ludory
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.agents.neural import NeuralAgent
from ludory.agents.pokemon.search import PokemonSearch
from ludory.envs.make import make_engine, make_game
from ludory.envs.pokemon import columns as at
from ludory.envs.pokemon.backends.install import Installation
from ludory.envs.pokemon.engine import PokemonEngine
from ludory.errors import OptionError

GAME = "PokemonGen1RandomBattle-v0"
SEAT, FOE = 0, 1


def drawn(engine: PokemonEngine, draw: np.random.Generator) -> np.ndarray:
    """Random legal actions (N, 2, 1)."""
    legal = engine.legal()
    return (draw.random(legal.shape) * legal).argmax(axis=-1)[..., None]


def played(steps: int, backend: str = "sim") -> PokemonEngine:
    engine: Any = make_engine(GAME, 1, seed=4, workers=0, backend=backend)
    engine.reset()
    draw = np.random.default_rng(1)
    for _ in range(steps):
        engine.step(drawn(engine, draw))
    assert not engine.over[0]
    return engine


def teams(engine: PokemonEngine, seat: int) -> list[dict[str, set[str]]]:
    """Species and moves of every game's team."""
    found = []
    for log in engine.logs():
        members = (member.split("|") for member in log["teams"][seat].split("]"))
        found.append({name: set(moves.split(",")) for name, _, _, _, moves, *_ in members})
    return found


def seen(engine: PokemonEngine, seat: int) -> dict[str, set[str]]:
    """Species of a seat that were on the field, and the moves that they made."""
    found: dict[str, set[str]] = {}
    for line in engine.logs()[0]["log"]:
        if line.startswith(f"|switch|p{seat + 1}a: "):
            found.setdefault(line.split("|")[3].split(",")[0], set())
        if line.startswith(f"|move|p{seat + 1}a: ") and "[from]" not in line:
            name, move = line.split("|")[2:4]
            found[name[5:]].add("".join(filter(str.isalnum, move.lower())))
    return found


@pytest.fixture
def battle(backend: str) -> Any:
    engine = played(5, backend)
    yield engine
    engine.close()


def test_what_a_seat_knows_stays_and_what_it_does_not_know_is_drawn_anew(battle: PokemonEngine) -> None:
    copies = battle.gather(np.zeros(20, np.int64))
    copies.redraw(SEAT, np.arange(20))
    np.testing.assert_array_equal(copies.entity[:, SEAT], battle.entity[[0] * 20, SEAT])
    np.testing.assert_array_equal(copies.legal()[:, SEAT], battle.legal()[[0] * 20, SEAT])
    known, true = seen(battle, FOE), teams(battle, FOE)[0]
    assert 2 <= len(known) < 6
    assert any(len(moves) < len(true[name]) for name, moves in known.items())
    benches, sets = set(), set()
    for team in teams(copies, FOE):
        assert len(team) == 6
        assert all(moves <= team[name] and len(team[name]) == len(true[name]) for name, moves in known.items())
        benches.add(frozenset(team) - frozenset(known))
        sets.add(tuple(frozenset(team[name]) for name in known))
    assert len(benches) > 15
    assert len(sets) > 3
    assert teams(copies, SEAT) == teams(battle, SEAT) * 20
    copies.close()


def test_equal_seeds_draw_equal_battles_and_chance_is_drawn_too(battle: PokemonEngine) -> None:
    copies = battle.gather(np.zeros(8, np.int64))
    copies.redraw(SEAT, [5, 5, 6, 7, 8, 9, 10, 11])
    actions = np.zeros((8, 2, 1), np.int64)
    actions[:, :, 0] = copies.legal().argmax(axis=-1)
    copies.step(actions)
    logs = ["\n".join(log["log"]) for log in copies.logs()]
    assert logs[0] == logs[1]
    assert len(set(logs)) > 3
    copies.close()


def test_the_foe_knows_its_new_team_and_battles_end(battle: PokemonEngine) -> None:
    copies = battle.gather(np.zeros(6, np.int64))
    copies.redraw(SEAT, np.arange(6))
    species = copies.entity[:, FOE, : 6 * at.IDS : at.IDS]
    assert len({tuple(row) for row in species}) == 6
    draw = np.random.default_rng(2)
    while not copies.over.all():
        copies.step(drawn(copies, draw)[~copies.over], np.flatnonzero(~copies.over))
    assert (copies.state.rewards.sum(axis=1) == 0).all()
    copies.close()


def test_other_formats_and_servers_are_refused() -> None:
    engine: Any = make_engine("PokemonGen9RandomBattle-v0", 1, seed=1, workers=0)
    with pytest.raises(OptionError, match=r"in gen1randombattle only; take PokemonGen1RandomBattle-v0"):
        engine.redraw(SEAT, [1])
    with pytest.raises(OptionError, match="take PokemonGen1RandomBattle-v0"):
        ludory.make_agent("pokemon/search(pokemon/random)", "PokemonGen9RandomBattle-v0")


@pytest.fixture(scope="module")
def network() -> NeuralAgent:
    game = make_game(GAME)
    return NeuralAgent(build_policy(PolicySpec("pokemon/entity", {"width": 16, "trunk_width": 16}), game.facts), "new")


def test_wrong_arguments_are_refused(network: NeuralAgent) -> None:
    game = make_game(GAME)
    with pytest.raises(OptionError, match="worlds=0: must be an integer of at least 1"):
        PokemonSearch(game, network, worlds=0)
    with pytest.raises(OptionError, match=r"depth=1.5: must be an integer of at least 1"):
        PokemonSearch(game, network, depth=1.5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"trust=-1: must be a number of at least 0"):
        PokemonSearch(game, network, trust=-1)
    with pytest.raises(OptionError, match="with a network without a memory; pokemon/random is none"):
        PokemonSearch(game, "pokemon/random")


def test_battles_in_other_processes_are_refused_with_what_to_type(
    simulator: Installation, network: NeuralAgent
) -> None:
    searcher = PokemonSearch(make_game(GAME), network)
    engine = make_engine(GAME, 2, seed=1, workers=1)
    engine.reset()
    with pytest.raises(OptionError, match=r"give the game workers=0 \(--option workers=0\)"):
        searcher.choose(engine, SEAT, np.arange(2), searcher.start_games(SEAT, np.arange(2)))
    engine.close()


class ByHitPoints(PokemonSearch):
    """Searches without a network: any action, and the difference of hit points as value."""

    def _ask(self, engine: Any, seat: int, rows: Any) -> Any:
        legal = engine.legal()[rows, seat].astype(float)
        seen = engine.entity[rows, seat][:, at.POKEMON_AT : at.POKEMON_AT + 12 * at.POKEMON_NUMBERS]
        points = seen.reshape(len(rows), 2, 6, at.POKEMON_NUMBERS)[..., at.POKEMON_HP].sum(axis=-1)
        return legal / legal.sum(axis=1, keepdims=True), (points[:, 0] - points[:, 1]) / 6


class Noting(ByHitPoints):
    """Notes the values of each row of the battles that the seat is asked about."""

    noted: dict[int, list[float]]

    def _ask(self, engine: Any, seat: int, rows: Any) -> Any:
        policy, values = super()._ask(engine, seat, rows)
        if seat == SEAT:
            for row, value in zip(rows, values, strict=True):
                self.noted.setdefault(int(row), []).append(value)
        return policy, values


def test_the_values_at_the_next_decisions_are_averaged(network: NeuralAgent, simulator: Installation) -> None:
    battle, found = played(5), {}
    for depth in (1, 3):
        search = Noting(make_game(GAME), network, depth=depth)
        search.noted = {}
        copies = battle.gather(np.zeros(6, np.int64))
        copies.redraw(SEAT, np.arange(6))
        action = copies.legal()[0, SEAT].argmax()
        found[depth] = search._played(copies, SEAT, np.full(6, action), np.arange(6))
        assert not copies.over.any()
        assert all(len(search.noted[row]) == depth for row in range(6))
        np.testing.assert_allclose(found[depth], [np.mean(search.noted[row]) for row in range(6)])
        copies.close()
    assert (found[1] != found[3]).any()
    battle.close()


class Worthless(ByHitPoints):
    """Sees the same value everywhere: 0."""

    def _ask(self, engine: Any, seat: int, rows: Any) -> Any:
        policy, values = super()._ask(engine, seat, rows)
        return policy, 0 * values


def test_a_battle_that_ends_counts_its_result_from_there_on(network: NeuralAgent, simulator: Installation) -> None:
    search, battle = Worthless(make_game(GAME), network, depth=400), played(5)
    copies = battle.gather(np.zeros(1, np.int64))
    copies.redraw(SEAT, np.arange(1))
    (mean,) = search._played(copies, SEAT, copies.legal()[:, SEAT].argmax(axis=1), np.arange(1))
    assert copies.over.all()
    result = copies.state.rewards[0, SEAT]
    assert result != 0
    assert 0.5 < mean * result < 1
    copies.close()
    battle.close()


@pytest.mark.slow
def test_a_search_for_hit_points_beats_random_moves_and_plays_the_same_again(
    simulator: Installation, network: NeuralAgent
) -> None:
    game = make_game(GAME, workers=0)
    first, again = (
        evaluate([ByHitPoints(game, network, worlds=2, trust=0.0), "pokemon/random(seed=3)"], game, games=8, seed=5)
        for _ in range(2)
    )
    assert first.mean[0] >= 0.5
    np.testing.assert_array_equal(first.returns, again.returns)
