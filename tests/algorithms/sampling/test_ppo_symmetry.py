"""PPO under symmetries of the game, and close to a teacher: the compiled update, PyTorch's and a plain reference agree."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.identity import make_identity

from ludory.agents.networks.build import build_policy
from ludory.agents.networks.fast.compiled_mlp import CompiledMlp
from ludory.algorithms.losses.returns import gae
from ludory.algorithms.ppo import PPO
from ludory.algorithms.ppo.compiled import CompiledUpdate
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.envs.hanabi.symmetry import rename_colors
from ludory.envs.make import make_game
from ludory.errors import OptionError

NETWORKS = [{"hidden": (24, 17), "activation": "tanh"}, {"hidden": (16, 9, 11), "separate_value": True}]
GAMES = {
    name: {"colors": 3, "ranks": 3, "hand_size": 2, "observation": name} for name in ("card_knowledge", "tactical")
}
QUICK = {"num_envs": 70, "n_steps": 12, "batch_size": 128, "seed": 5}


@pytest.fixture(params=GAMES.values(), ids=GAMES)
def game(request):
    return make_game("Hanabi-v0", **request.param)


@pytest.fixture(params=NETWORKS, ids=str)
def updates(request, game, tmp_path):
    """The two updates, each with a policy of its own, over the same decisions and logits of a teacher."""
    model = PPO("mlp", game, **QUICK, **request.param, kl_coef=0.7, ent_coef=0.3, clip_range=0.05).learn(1680)
    model.save(tmp_path / "twin.ludory")
    twin = PPO.load(tmp_path / "twin.ludory")
    torch.manual_seed(8)
    teacher = build_policy(model.policy_spec, game.facts)
    with torch.no_grad():
        teacher.logits.weight *= 100  # sure of its moves
    rollout, _ = model.sampler.collect(model.policy, 12, model.generator, teacher=teacher)
    targets = gae(rollout.steps(), gamma=0.99, lam=0.95)
    return [
        kind(one.policy, one.optimizer, one.config, rollout, *targets)
        for kind, one in ((CompiledUpdate, model), (TorchUpdate, twin))
    ]


@pytest.mark.slow
@pytest.mark.optimised
def test_the_compiled_gradient_under_a_symmetry_is_pytorchs(updates, game):
    ours, plain = updates
    rows = torch.randperm(840, generator=torch.Generator().manual_seed(0))[:300]
    gradients = []
    for names in (None, [1, 2, 0], [2, 1, 0]):
        symmetry = None if names is None else rename_colors(game.analysis.symmetry.args[0], np.array(names))
        ours.symmetry = plain.symmetry = symmetry
        found, losses = torch.from_numpy(ours.gradient(rows)).float(), plain.gradient(rows)
        torch.testing.assert_close(found, losses, rtol=1e-4, atol=1e-5)
        layout = CompiledMlp(plain.policy, ours.mlp.code)
        expected = layout.pack([parameter.grad for parameter in layout.parameters()])[: layout.size]
        assert abs(ours.work[0].gradient - expected).max() < 1e-4 * abs(expected).max()
        gradients.append(expected)
        ours.work[0].gradient[:] = 0
    assert losses[-1] > 0.05  # the KL to the teacher, which is part of the loss
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert abs(gradients[one] - gradients[other]).max() > 0.01 * abs(gradients[one]).max()


@pytest.mark.plain
@pytest.mark.parametrize("updates", NETWORKS[:1], ids=str, indirect=True)
def test_a_minibatch_under_a_symmetry_is_renamed_row_by_row(updates, game):
    _, plain = updates
    rows = torch.arange(60)
    before = plain.select(rows)
    plain.symmetry = symmetry = rename_colors(game.analysis.symmetry.args[0], np.array([2, 0, 1]))
    after = plain.select(rows)
    entries, actions = game.facts.observation.size, game.facts.num_actions
    for k in range(60):
        seen, renamed = (np.unpackbits(part["observations"][k].numpy())[:entries] for part in (before, after))
        assert all(renamed[e] == seen[symmetry.observation[e]] for e in range(entries))
        legal, allowed = (np.unpackbits(part["masks"][k].numpy())[:actions] for part in (before, after))
        for a in range(actions):
            assert allowed[symmetry.actions[a]] == legal[a]
            assert after["teacher_logits"][k, symmetry.actions[a]] == before["teacher_logits"][k, a]
        assert after["actions"][k, 0] == symmetry.actions[before["actions"][k, 0]]
    for name in ("log_probs", "advantages", "returns", "weights"):
        assert torch.equal(after[name], before[name])


@pytest.mark.slow
@pytest.mark.optimised
def test_training_under_symmetries_is_the_same_on_both_paths_and_when_resumed(tmp_path):
    game, options = (
        make_game("HanabiSmall2P-v0", observation="tactical"),
        {"hidden": (16,), "symmetry_augmentation": True},
    )
    ran = [PPO("mlp", game, **QUICK, **options, compiled=path).learn(1680) for path in (True, False)]
    half = PPO("mlp", game, **QUICK, **options, compiled=True).learn(840)
    half.save(tmp_path / "half.ludory")
    ran.append(PPO.load(tmp_path / "half.ludory").learn(1680 - half.num_timesteps, reset_num_timesteps=False))
    without = PPO("mlp", game, **QUICK, hidden=(16,)).learn(1680)
    compiled, plain, resumed, other = (
        torch.cat([p.detach().flatten() for p in m.policy.parameters()]) for m in (*ran, without)
    )
    assert 20 * (compiled - plain).abs().max() < (compiled - other).abs().max()
    assert torch.equal(compiled, resumed)


@pytest.mark.parametrize(
    "compiled", [pytest.param(True, marks=[pytest.mark.slow, pytest.mark.optimised]), False], ids=["compiled", "torch"]
)
def test_the_weight_of_the_teacher_goes_away(tmp_path, compiled):
    game = make_game("HanabiTiny2P-v0")
    small = {"compiled": compiled, "num_envs": 16, "n_steps": 8, "hidden": (8,), "seed": 3}
    PPO("mlp", game, **small).learn(128).save(tmp_path / "teacher.ludory")
    named = {"init_from": str(tmp_path / "teacher.ludory"), "teacher": str(tmp_path / "teacher.ludory")}
    seen = []

    class Watched(PPO):
        def _update(self, *arguments):
            update = super()._update(*arguments)
            finish = update.finish
            update.finish = lambda: (seen.append((type(update), update.kl_coef)), finish())[1]
            return update

    Watched("mlp", game, **small, **named, kl_coef=0.4, final_kl_coef=0.0, n_epochs=1).learn(512)
    kinds, weights = zip(*seen, strict=True)
    assert set(kinds) == {CompiledUpdate if compiled else TorchUpdate}
    assert weights == pytest.approx([0.3, 0.2, 0.1, 0.0])


def test_games_without_a_symmetry_and_networks_with_memory_are_refused():
    with pytest.raises(OptionError, match=r"symmetry_augmentation: no symmetry of .* is known; leave it out"):
        PPO("mlp", make_identity(), symmetry_augmentation=True)
    with pytest.raises(OptionError, match=r"gru has a memory, .* take policy='mlp'"):
        PPO("gru(memory_size=8)", "HanabiTiny2P-v0", symmetry_augmentation=True)
