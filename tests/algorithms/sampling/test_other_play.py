"""Other-play: each seat sees a game under a symmetry of its own, and what it learns does not depend on names."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.levers import ODD, make_levers

from ludory.algorithms.ppo import PPO
from ludory.algorithms.sampling.lanes import make_lanes
from ludory.algorithms.sampling.other_play import OtherPlayLanes, symmetry_tables
from ludory.algorithms.sampling.shares import Share, share_sampler
from ludory.algorithms.vtrace import VTrace
from ludory.envs.make import NamedGame, make_engine, make_game
from ludory.errors import OptionError

GAMES = {
    "bits": ("Hanabi-v0", {"colors": 3, "ranks": 3, "hand_size": 2, "observation": "tactical"}),
    "floats": ("Hanabi-v0", {"players": 3, "colors": 3, "ranks": 2, "hand_size": 2, "observation": "v0_belief"}),
    "squares": ("TicTacToe-v0", {}),
}
LEARN = {"num_envs": 64, "n_steps": 16, "batch_size": 256, "hidden": (16,), "learning_rate": 3e-3, "seed": 4}


def bits_of(lanes, seen):
    size = lanes.facts.observation.size
    return np.unpackbits(seen.numpy(), axis=1, count=size) if lanes.facts.observation.bits else seen.numpy()


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_every_seat_sees_and_moves_under_its_own_names(name):
    id, options = GAMES[name]
    game = make_game(id, **options)
    lanes = make_lanes(game, make_engine(game, 40, seed=3), "all", "random")
    renamed, tables = OtherPlayLanes(lanes), symmetry_tables(game)
    renamed.start()
    generator, chosen = torch.Generator().manual_seed(1), renamed._chosen.clone()
    assert (chosen[:, 0] != chosen[:, 1]).any()
    assert len(chosen.unique()) == len(tables.columns)
    ended = np.zeros(40, bool)
    for _ in range(60):
        plain, masks, seats = bits_of(lanes, lanes.observe()), lanes.legal(), lanes.seats()
        seen, allowed = bits_of(lanes, renamed.observe()), renamed.legal()
        codes = chosen[torch.arange(40), seats]
        entries = tables.observation[codes].numpy()[:, : plain.shape[1]]
        assert (seen == np.take_along_axis(plain, entries, 1)).all()
        actions = allowed.float().multinomial(1, generator=generator)
        joint = renamed.joint(actions)
        assert (masks.gather(1, joint) == 1).all()
        assert (tables.columns[codes].gather(1, actions) == joint).all()
        renamed.play(joint)
        done = np.flatnonzero(lanes.over())
        if len(done):
            ended[done] = True
            renamed.start(done)
        kept = torch.from_numpy(~ended)
        # a seat's names stay for a game
        assert torch.equal(renamed._chosen[kept], chosen[kept])
        chosen = renamed._chosen.clone()
        ended[:] = False
    again = OtherPlayLanes(lanes)
    again.restore({})
    assert torch.equal(again._chosen, chosen)


def test_the_colours_of_hanabi_have_120_symmetries():
    assert len(symmetry_tables(make_game("Hanabi2P-v0")).columns) == 120


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "more"), [(PPO, {}), (VTrace, {"batch_columns": 64})], ids=["ppo", "vtrace"])
def test_levers_that_look_alike_are_left_for_the_one_that_pays_less(kind, more):
    fields = {"num_envs": 64, "hidden": (8,), "learning_rate": 0.02, "n_steps": 16, "seed": 2, **more}
    pulled = []
    for other_play in (False, True):
        model = kind("mlp", make_levers(), other_play=other_play, **fields)
        with torch.no_grad():
            # Lever 3 with 0.2, the odd one with 0.16: beside a partner of the same habits the first pays more (0.20, 0.14), beside one
            # whose levers have other names the second (0.09, 0.14).
            model.policy.logits.weight.zero_()
            model.policy.logits.bias[:] = torch.tensor([0, 0, 0, 0.8, 0, 0, 0, 0, 0, 0.58])
        model.learn(20_000)
        pulled.append(int(model.predict(np.ones(1, np.uint8), deterministic=True)[0]))
    assert pulled == [3, ODD]


@pytest.mark.slow
def test_a_resumed_run_has_the_numbers_of_one_that_was_not_stopped(tmp_path):
    game = make_game("HanabiSmall2P-v0", observation="tactical")
    whole = PPO("mlp", game, other_play=True, **LEARN).learn(4096)
    half = PPO("mlp", game, other_play=True, **LEARN).learn(2048)
    half.save(tmp_path / "half.ludory")
    resumed = PPO.load(tmp_path / "half.ludory").learn(2048, reset_num_timesteps=False)
    plain = PPO("mlp", game, **LEARN).learn(4096)
    one, two, other = (torch.cat([p.flatten() for p in m.policy.parameters()]) for m in (whole, resumed, plain))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_a_share_of_the_games_has_the_names_that_one_process_gives_them():
    model = PPO("mlp", "HanabiTiny2P-v0", other_play=True, **LEARN)
    model.sampler.start()
    share = Share(NamedGame.of(model.game), model.policy_spec, model.config, 16, 40, None)
    sampler = share_sampler(share)
    sampler.start()
    assert torch.equal(sampler.lanes._chosen, model.sampler.lanes._chosen[16:40])


def test_games_without_symmetry_and_inputs_with_other_names_are_refused():
    with pytest.raises(OptionError, match=r"other_play: no symmetry of Levers-v0 is known; declare one with Analysis"):
        PPO("mlp", make_levers(symmetric=False), other_play=True)
    with pytest.raises(OptionError, match="other_play: privileged_value sees games under their own names"):
        PPO("mlp", "HanabiTiny2P-v0", other_play=True, privileged_value=True)
    with pytest.raises(OptionError, match=r"other_play: hanabi_gru is told the last moves .* take 'mlp' or 'gru'"):
        PPO("hanabi_gru(previous='all')", "HanabiTiny2P-v0", other_play=True)
