"""`evaluate`: the same games for everybody, honest errors, exact repeats."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from games.nim import matching, nim
from hypothesis import given
from hypothesis import strategies as st

import ludory
from ludory.agents.agent import Agent
from ludory.agents.evaluation.cross_play import cross_play
from ludory.agents.evaluation.evaluate import bootstrap_interval, evaluate, paired_difference
from ludory.envs.parts import Look
from ludory.errors import OptionError, UnknownIdError

pytestmark = pytest.mark.plain

SMALL = "HanabiSmall2P-v0"


class TakesTheFirst(Agent):
    """Lowest legal action of each head."""

    name = "first"

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        return mask.argmax(axis=1), memory


class TakesTheLast(TakesTheFirst):
    """Highest legal action."""

    name = "last"

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1), memory


def test_shared_reward_gives_one_mean() -> None:
    result = evaluate("hanabi/iggi", SMALL, games=30)
    assert result.returns.shape == (30, 2)
    assert result.mean.shape == result.stderr.shape == ()
    assert result.mean == result.outcomes["score"].mean()


def test_other_rewards_give_a_mean_for_each_seat() -> None:
    result = evaluate(TakesTheFirst(), nim(players=3), games=30)
    assert result.returns.shape == (30, 3)
    assert result.mean.shape == result.stderr.shape == (3,)
    assert set(np.unique(result.returns)) == {-1, 2}


def test_simultaneous_games_are_played_too() -> None:
    result = evaluate("random", matching(rounds=5), games=40, seed=2)
    assert (result.outcomes["round"] == 5).all()
    assert (result.returns.sum(axis=1) == 0).all()
    assert len(np.unique(result.returns)) > 1


def test_standard_error_is_that_of_a_mean() -> None:
    result = evaluate("random", nim(), games=50)
    assert result.stderr == pytest.approx(result.returns.std(axis=0, ddof=1) / np.sqrt(50))


def test_a_single_game_has_no_standard_error() -> None:
    assert np.isnan(evaluate("hanabi/iggi", SMALL, games=1).stderr)


@pytest.mark.parametrize("batch", [1, 7, pytest.param(4096, marks=pytest.mark.slow)])
def test_games_do_not_depend_on_how_many_run_at_once(batch: int) -> None:
    results = [evaluate("hanabi/iggi", SMALL, games=20, seed=5, batch=size) for size in (batch, 20)]
    assert (results[0].returns == results[1].returns).all()


def test_game_k_is_the_same_in_every_call() -> None:
    many = evaluate("hanabi/iggi", SMALL, games=40, seed=5)
    assert (evaluate("hanabi/iggi", SMALL, games=10, seed=5).returns == many.returns[:10]).all()
    assert (evaluate("hanabi/iggi", SMALL, games=10, seed=5, first_game=30).returns == many.returns[30:]).all()
    assert (evaluate("hanabi/iggi", SMALL, games=40, seed=6).returns != many.returns).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agents", "game"),
    [
        ("random", nim(players=3)),
        ("random", matching()),
        ("mixture(random, hanabi/iggi)", SMALL),
        (["sparta(hanabi/iggi, rollouts=16, threshold=0, errors=0.01)", "hanabi/iggi"], "HanabiTiny2P-v0"),
        ("sparta(hanabi/iggi, rollouts=8, threshold=0, errors=0.01, joint=True, range_max=2)", "HanabiTiny2P-v0"),
        ("texas42/pimc(worlds=1)", "Texas42Play-v0"),
        ("network", "HanabiTiny2P-v0"),
    ],
    ids=lambda one: str(one)[:24],
)
def test_draws_depend_on_the_game_and_not_on_the_batch(agents: Any, game: Any) -> None:
    if agents == "network":
        model = ludory.make_algorithm("ppo", env=game, policy="gru(memory_size=4)", hidden=(8,), num_envs=1)
        agents = model.as_agent(deterministic=False)

    def played(**options: Any) -> tuple[Any, ...]:
        result = evaluate(agents, game, seed=3, **options)
        return result.returns, *(part for part in result.outcomes.values() if isinstance(part, np.ndarray))

    whole = played(games=6)
    halves = zip(played(games=3, batch=2), played(games=3, first_game=3, batch=1), strict=True)
    for one, parts in zip(whole, halves, strict=True):
        np.testing.assert_array_equal(one, np.concatenate(parts))


def test_agents_that_draw_repeat_with_the_seed() -> None:
    once, again, other = (evaluate("random", SMALL, games=40, seed=seed) for seed in (1, 1, 2))
    assert all((np.array(once.outcomes[name]) == again.outcomes[name]).all() for name in once.outcomes)
    assert (once.outcomes["turn"] != other.outcomes["turn"]).any()


def test_a_used_agent_repeats_as_well() -> None:
    agent = ludory.make_agent("random", SMALL)
    once, again = (evaluate(agent, SMALL, games=40, seed=1) for _ in range(2))
    assert (once.outcomes["turn"] == again.outcomes["turn"]).all()


def test_one_agent_sits_everywhere_or_each_in_its_seat() -> None:
    assert evaluate("random", nim(players=3), games=2).agents == ("random",) * 3
    result = evaluate([TakesTheFirst(), "random", TakesTheLast()], nim(players=3), games=2)
    assert result.agents == ("first", "random", "last")


def test_seats_matter_where_agents_differ() -> None:
    game = nim(heaps=1, largest=2)  # one heap of one or two sticks: who takes all there are wins at once
    one_by_one = evaluate([TakesTheFirst(), TakesTheLast()], game, games=30)
    all_at_once = evaluate([TakesTheLast(), TakesTheFirst()], game, games=30)
    assert (all_at_once.returns[:, 0] == 1).all()
    assert set(one_by_one.returns[:, 0]) == {-1, 1}


@pytest.mark.slow
def test_cuda_gives_the_same_games() -> None:
    """In Numba's simulator, which must be chosen before Numba is imported."""
    code = f"from ludory import evaluate; print(evaluate('random', {SMALL!r}, games=3, device='cuda').outcomes['turn'].tolist())"
    simulator = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run([sys.executable, "-c", code], env=simulator, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(evaluate("random", SMALL, games=3).outcomes["turn"].tolist())


def test_options_of_the_game_are_passed_on() -> None:
    result = evaluate(
        "hanabi/iggi", "Hanabi-v0", games=5, colors=2, hand_size=2, max_information_tokens=3, max_life_tokens=1
    )
    assert result.options == {"colors": 2, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}
    assert result.outcomes["fireworks"].shape == (5, 2)


def test_front_door_has_evaluate() -> None:
    assert ludory.evaluate is evaluate


def test_progress_counts_every_game() -> None:
    done: list[int] = []
    evaluate("random", nim(), games=25, batch=10, progress=done.append)
    assert done == [10, 10, 5]


@pytest.mark.parametrize("agents", [[], ["random"] * 3])
def test_wrong_number_of_agents(agents: list[str]) -> None:
    with pytest.raises(
        OptionError, match=rf"{SMALL} has 2 seats, got {len(agents)} agents; give 2, or one for all seats"
    ):
        evaluate(agents, SMALL, games=5)


@pytest.mark.parametrize(
    "numbers", [{"games": 0}, {"games": 2.5}, {"games": True}, {"batch": 0}, {"seed": -1}, {"first_game": -1}]
)
def test_bad_numbers(numbers: dict[str, Any]) -> None:
    name, value = next(iter(numbers.items()))
    with pytest.raises(OptionError, match=f"{name}={value}: must be an integer"):
        evaluate("random", SMALL, **{"games": 5} | numbers)


def test_unknown_agent() -> None:
    with pytest.raises(UnknownIdError, match="hanabi/iggi"):
        evaluate("hanabi/igi", SMALL, games=5)


# --- Outcomes and summaries ----------------------------------------------------------------------------------------------


def outcomes_of(info: Any) -> Any:
    return evaluate("random", replace(nim(), look=Look(info=info)), games=8).outcomes


def test_outcomes_are_arrays_of_numbers_and_lists_of_the_rest() -> None:
    outcomes = outcomes_of(
        lambda state, i: {
            "turn": int(state.turn[i]),
            "won": i % 2 == 0,
            "pair": [i, i],
            "ragged": [0] * i,
            "end": "xy"[i % 2],
        }
    )
    assert outcomes["turn"].shape == outcomes["won"].shape == (8,)
    assert outcomes["pair"].shape == (8, 2)
    assert outcomes["ragged"] == [[0] * i for i in range(8)]
    assert outcomes["end"] == list("xyxyxyxy")


def test_what_only_some_games_tell_is_left_out() -> None:
    assert list(outcomes_of(lambda state, i: {"turn": 3} | ({"extra": 1} if i == 2 else {}))) == ["turn"]


def test_estimates_are_means_of_numbers_and_shares_of_words() -> None:
    result = evaluate(
        "random", replace(nim(), look=Look(info=lambda state, i: {"size": i, "end": "aab"[i % 3]})), games=6
    )
    estimates = result.estimates()
    assert list(estimates) == ["return of seat 0", "return of seat 1", "size", "end = a", "end = b"]
    assert estimates["size"].mean == 2.5
    assert estimates["end = a"].mean == pytest.approx(2 / 3)
    assert estimates["return of seat 1"].mean == pytest.approx(result.mean[1])


def test_summary_says_whose_return_a_row_is() -> None:
    seated = evaluate(["random", "kuhn/cfr"], "KuhnPoker-v0", games=20)
    assert "return of seat 1, kuhn/cfr  " in seated.summary()
    turned = evaluate(["random", "kuhn/cfr"], "KuhnPoker-v0", games=20, rotate=True)
    assert "return of agent 1, kuhn/cfr  " in turned.summary()
    assert "return of agent 1, kuhn/cfr" in turned._repr_html_()


def test_summary_shows_score_stacks_and_ends() -> None:
    text = evaluate("random", SMALL, games=50, seed=3).summary()
    assert text.splitlines()[0] == f"random, random: {SMALL}, 50 games, seed 3"
    assert text.splitlines()[1].split() == ["mean", "+-", "standard", "error", "[95", "%", "interval]"]
    assert [line.split()[0] for line in text.splitlines()[2:5]] == ["return", "score", "stacks"]
    assert "end = bomb" in text


# --- Statistics ----------------------------------------------------------------------------------------------------------


def test_paired_difference_is_taken_game_by_game() -> None:
    piers, iggi = (evaluate(bot, SMALL, games=200, seed=4) for bot in ("hanabi/piers", "hanabi/iggi"))
    difference = (piers.returns - iggi.returns)[:, 0]
    assert paired_difference(piers, iggi) == pytest.approx((difference.mean(), difference.std(ddof=1) / np.sqrt(200)))
    assert paired_difference(iggi, iggi) == (0, 0)


def test_paired_difference_of_seats() -> None:
    a, b = (evaluate(agent, nim(), games=30) for agent in (TakesTheFirst(), "random"))
    assert paired_difference(a, b).mean == pytest.approx(a.mean - b.mean)


@pytest.mark.parametrize("other", [{"seed": 1}, {"games": 9}, {"first_game": 3}, {"game": nim()}, {"bomb": "keep"}])
def test_results_of_other_games_are_not_paired(other: dict[str, Any]) -> None:
    here = {"agents": "random", "game": SMALL, "games": 8}
    name = "options" if "bomb" in other else next(iter(other))
    with pytest.raises(OptionError, match=f"{name} is"):
        paired_difference(evaluate(**here), evaluate(**here | other))


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30), st.integers(0, 5))
def test_bootstrap_interval_holds_the_mean_of_its_resamples(values: list[int], seed: int) -> None:
    low, high = bootstrap_interval(values, resamples=50, seed=seed)
    assert min(values) <= low <= high <= max(values)
    assert (low, high) == bootstrap_interval(values, resamples=50, seed=seed)


def test_bootstrap_interval_of_many_games_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(0).normal(7, 2, 2000)
    low, high = bootstrap_interval(values)
    error = values.std() / np.sqrt(2000)
    assert (low, high) == pytest.approx((values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.15 * error)
    assert bootstrap_interval(values, level=0.5).low > low


# --- Cross-play ----------------------------------------------------------------------------------------------------------


def test_cross_play_of_two_seats_puts_the_row_first() -> None:
    names = ["hanabi/iggi", "hanabi/piers"]
    found = cross_play(names, SMALL, games=30, seed=7)
    assert found.agents == tuple(names)
    for row, column in np.ndindex(2, 2):
        pair = evaluate([names[row], names[column]], SMALL, games=30, seed=7)
        assert (found.returns[row, column] == pair.returns[:, 0]).all()
        assert found.estimates()[row][column].mean == pair.mean


def test_cross_play_of_three_seats_moves_the_row_through_the_seats() -> None:
    game, row, column = nim(players=3), TakesTheFirst(), TakesTheLast()
    found = cross_play([row, column], game, games=30, seed=7)
    for seat in range(3):
        team: list[str | Agent] = [row if s == seat else column for s in range(3)]
        part = evaluate(team, game, games=10, seed=7, first_game=10 * seat)
        assert (found.returns[0, 1, 10 * seat : 10 * seat + 10] == part.returns[:, seat]).all()


def test_cross_play_of_fewer_games_than_seats() -> None:
    assert cross_play(["random"], nim(players=3), games=2).returns.shape == (1, 1, 2)


def test_cross_play_of_no_games() -> None:
    with pytest.raises(OptionError, match="games=0"):
        cross_play(["random"], SMALL, games=0)


def test_leads_are_the_paired_differences_of_self_play():
    game = ludory.make_game("HanabiTiny2P-v0")
    found = cross_play(["hanabi/iggi", "random"], game, games=50, seed=3)
    alone = [evaluate([name], game, games=50, seed=3) for name in ("hanabi/iggi", "random")]
    (lead,) = found.leads()
    assert (lead.agent, lead.other) == ("hanabi/iggi", "random")
    expected = paired_difference(*alone)
    assert lead.by.mean == pytest.approx(float(expected.mean))
    assert lead.by.stderr == pytest.approx(float(expected.stderr))


def test_means_of_cross_play_are_over_agents_and_over_pairs():
    found = cross_play(["hanabi/iggi", "hanabi/piers", "random"], "HanabiTiny2P-v0", games=40, seed=3)
    cells = np.array([[one.mean for one in row] for row in found.estimates()])
    alone, pairs = np.diag(cells), [(cells[a, b] + cells[b, a]) / 2 for a, b in ((0, 1), (0, 2), (1, 2))]
    for one, values in zip(found.pair_means(), (alone, pairs), strict=True):
        assert one.mean == pytest.approx(np.mean(values), abs=1e-6)
        assert one.stderr == pytest.approx(np.std(values, ddof=1) / 3**0.5, abs=1e-6)
    assert cross_play(["random"], "HanabiTiny2P-v0", games=4).pair_means() is None
    assert cross_play(["random", "random"], nim(players=2), games=4).pair_means() is None


def test_rotated_seats_give_each_agent_its_mean_over_all_seats():
    game, agents = nim(players=3), [TakesTheFirst(), TakesTheLast(), TakesTheLast()]
    found = evaluate(agents, game, games=40, seed=2, rotate=True)
    by_seat = [evaluate([agents[(seat + turn) % 3] for seat in range(3)], game, games=40, seed=2) for turn in range(3)]
    first = np.mean([result.returns[:, -turn % 3] for turn, result in enumerate(by_seat)], axis=0)
    assert found.returns.shape == (40, 3)
    np.testing.assert_allclose(found.returns[:, 0], first)
    alike = evaluate([TakesTheFirst()] * 3, game, games=40, seed=2, rotate=True)
    np.testing.assert_allclose(
        alike.returns, 0, atol=1e-6
    )  # nobody is ahead of itself, whatever the first seat is worth
