"""The examples run, and do what they say; with fewer steps than `python examples/NAME.py` takes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def _example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # dataclasses look their module up
    del sys.modules[name]  # as in a script, whose classes are sent to worker processes by value
    return module


@pytest.mark.slow
def test_an_own_environment_is_learnt():
    assert _example("own_gymnasium_env").main() > 0.7


@pytest.mark.slow
def test_tic_tac_toe_keeps_the_contract_and_is_learnt():
    assert _example("tic_tac_toe").main(40_000) > 0.4


def test_the_exploitability_of_kuhn_poker_is_right():
    kuhn = _example("kuhn_poker")
    third = 1 / 3
    # Kuhn's solution with alpha = 1/3: chances to bet by card, first and second decision of each seat.
    first = np.array([[third, 0], [0, 2 * third], [1, 1]])
    second = np.array([[third, 0], [0, third], [1, 1]])
    assert kuhn.value(first, second) == pytest.approx(-1 / 18)
    assert kuhn.exploitability(first, second) == pytest.approx(0)


@pytest.mark.slow
def test_answers_to_hints_are_told_apart():
    example = _example("hint_habits")
    answers = [example.answer(action, [1, 3, 4]) for action in (4, 9, 6, 8, 5, 15)]
    assert answers == ["no card", "newest", "oldest", "another of them", "an untouched card", "no card"]
    found = example.habits("hanabi/smartbot", 30)
    assert found.keys() <= set(example.ANSWERS)
    assert found["newest"] > found["oldest"] > 0, "its hints call the newest card that they touch"


@pytest.mark.slow
def test_kuhn_poker_keeps_the_contract_and_self_play_becomes_harder_to_exploit():
    assert _example("kuhn_poker").main(200_000) < 0.35


@pytest.mark.slow
def test_reinforce_learns():
    random, learnt = _example("reinforce").main(40_000)
    assert learnt > random + 0.3


def test_the_algorithm_is_short():
    source = (EXAMPLES / "reinforce.py").read_text()
    lines = source.split("class Reinforce")[1].split("def main")[0].splitlines()
    assert len([line for line in lines if line.strip()]) < 30


@pytest.mark.slow
def test_ppo_in_one_file_learns():
    ppo = _example("ppo_one_file")
    random, learnt = ppo.main(60_000)
    assert learnt > random + 0.5


def test_torchrl_learns():
    pytest.importorskip("torchrl", reason="TorchRL is not installed; type: pip install 'ludory[torchrl]'")
    first, last = _example("torchrl_masked_policy").main()
    assert last > first + 0.05


def test_tianshou_learns():
    pytest.importorskip("tianshou", reason="Tianshou is not installed; type: pip install tianshou")
    before, after = _example("tianshou_masked_dqn").main(5_000, games=50)
    assert after > before + 1
