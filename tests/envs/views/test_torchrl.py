"""TorchRL's own checks of an environment hold for games with one head, with several, and with a seat among players."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("torchrl", reason="TorchRL is not installed; type: pip install 'ludory[torchrl]'")

from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import check_env_specs

from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.envs.views.torchrl import make_torchrl


@pytest.mark.parametrize("game", ["HanabiTiny2P-v0", "Texas42-v0"])
def test_torchrls_checks_hold_and_random_actions_are_legal(game):
    env = make_torchrl(game, 5, illegal="raise")
    check_env_specs(env, seed=3, break_when_any_done="both")
    steps = env.rollout(60, break_when_any_done=False)
    assert steps["action_mask"].gather(-1, steps["action"].unsqueeze(-1)).all()
    assert steps["next", "done"].any()


def test_a_seed_gives_the_same_games():
    def played():
        env = make_torchrl("HanabiTiny2P-v0", 4)
        env.set_seed(7)
        torch.manual_seed(0)
        return env.rollout(20, break_when_any_done=False)

    first, again = played(), played()
    assert (first["observation"] == again["observation"]).all()
    assert (first["next", "reward"] == again["next", "reward"]).all()


def test_finished_games_are_reset_alone():
    env = make_torchrl("HanabiTiny2P-v0", 8)
    env.set_seed(1)
    state = env.reset()
    for _ in range(30):
        step, after = env.step_and_maybe_reset(env.rand_action(state))
        ended = step["next", "done"].squeeze(-1)
        assert (step["next", "observation"][~ended] == after["observation"][~ended]).all()
        assert not after["done"].any()
        state = after


@pytest.mark.parametrize(("make", "game"), [(make_aec, "TicTacToe-v0"), (make_parallel, "KuhnPoker-v0")])
def test_torchrls_own_wrapper_of_agents_plays_whole_games(make, game):
    steps = PettingZooWrapper(make(game), use_mask=make is make_aec, return_state=True).rollout(1000)
    assert steps["next", "done"][-1].any()
    group = "player_0" if make is make_aec else "player"
    assert steps[group, "action_mask"].any(-1).all()
