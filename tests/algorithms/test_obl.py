"""Off-belief learning: what is learnt rests on the base policy's past, not on that of the policy that learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.identity import make_identity
from games.signals import SHOW, make_signals

import ludory
from ludory.algorithms.ppo import PPO
from ludory.algorithms.ppo.obl import OBL, PastMove, carried_back
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError

QUICK = {"num_envs": 64, "n_steps": 16, "batch_size": 256, "hidden": (16,), "learning_rate": 5e-3, "seed": 1}
LEARNT = 20_000


@pytest.fixture(scope="module")
def speakers(tmp_path_factory):
    """Players that agree on words, since nothing else pays where showing costs everything."""
    file = tmp_path_factory.mktemp("obl") / "speakers.ludory"
    PPO("mlp", make_signals(price=1.0), **QUICK).learn(LEARNT).save(file)
    return file


def score(*models):
    agents = [model.as_agent() for model in models]
    return float(ludory.evaluate(agents, make_signals(), games=400, seed=5).mean)


@pytest.mark.slow
def test_words_are_not_believed_at_level_1_and_understood_at_level_2(speakers):
    game = make_signals()
    agreed = PPO.load(speakers, make_signals(price=1.0))
    assert score(agreed) == 1.0
    together = PPO("mlp", game, init_from=str(speakers), **QUICK).learn(LEARNT)
    assert score(together) == 1.0
    # The entropy leaves undecided who is asked for a card of which no word tells: a chance habit of naming one would pay half the time.
    first = OBL("mlp", game, ent_coef=0.5, **QUICK).learn(LEARNT)
    assert score(first) == pytest.approx(0.7, abs=1e-5)  # the card is shown
    second = OBL("mlp", game, base=str(speakers), **QUICK).learn(LEARNT)
    assert score(second) == 1.0
    assert score(agreed, second) == score(second, agreed) == 1.0


@pytest.mark.slow
def test_worlds_are_drawn_by_the_probability_of_what_was_said(speakers):
    model = OBL("mlp", make_signals(), base=str(speakers), worlds=8, doubt=0.5, **{**QUICK, "num_envs": 3000})
    sampler, generator = model.sampler, torch.Generator().manual_seed(3)
    sampler.base = model._learn_from_teacher()
    sampler.begin(model.policy)
    sampler.teacher.prepare(sampler.base, sampler.lanes.observe())
    engine = model.engine
    before, said = engine.clone(), np.arange(3000) % 3
    engine.step(said)
    sampler._past.append(PastMove(before, np.zeros(3000, np.int64), said))
    drawn = sampler._drawn(np.ones(3000, np.int64), generator)
    cards, shown = drawn.state.card, said == SHOW
    assert (cards[shown] == engine.state.card[shown]).all()
    # what the base says of each card, as its network has it
    likelihood = []
    for card in (0, 1):
        seen = torch.tensor(np.packbits([card == 0, card == 1, 0, 0, 0, 1, 0]))[None]
        likelihood.append(sampler.base(seen).logits.softmax(-1)[0] * 0.5 + 0.5 / 3)
    for word in (0, 1):
        expected = float(likelihood[1][word] / (likelihood[0][word] + likelihood[1][word]))
        # resampling 8 worlds draws the likelier card a little less often than the exact belief does
        assert cards[said == word].mean() == pytest.approx(expected, abs=0.06)
        assert abs(expected - 0.5) > 0.2


@pytest.mark.slow
def test_a_hint_in_a_world_taken_back_leads_to_that_world():
    game = make_game("Hanabi2P-v0", observation="tactical")
    engine, generator = make_engine(game, 200, seed=1), np.random.default_rng(2)
    engine.reset()
    hints = np.arange(10, 20)
    for turn in range(6):
        before, seats, masks = engine.clone(), np.array(engine.to_move), engine.legal()
        # hints while there are tokens, then discards: no game ends
        allowed = masks.copy()
        allowed[:, 5:10] = False
        if turn == 5:
            allowed[:, :10] = False
        actions = np.array([generator.choice(np.flatnonzero(row)) for row in allowed])
        engine.step(actions)
        told = np.isin(actions, hints)
        drawn = engine.clone()
        drawn.redeal(1 - seats, seed=turn)
        then = carried_back(before, engine, drawn)
        assert (then.state.hands[np.arange(200), 1 - seats] == drawn.state.hands[np.arange(200), 1 - seats]).all()
        assert then.legal()[np.arange(200), actions].all()
        then.step(actions)
        for seat in (0, 1):
            assert (then.observe(seat)[told] == drawn.observe(seat)[told]).all()
    assert (drawn.state.hands != engine.state.hands).any()


@pytest.mark.slow
def test_a_resumed_run_has_the_numbers_of_one_that_was_not_stopped(speakers, tmp_path):
    for options in ({}, {"base": str(speakers), "worlds": 4}):
        whole = OBL("mlp", make_signals(), **QUICK, **options).learn(4096)
        OBL("mlp", make_signals(), **QUICK, **options).learn(2048).save(tmp_path / "half.ludory")
        resumed = OBL.load(tmp_path / "half.ludory", make_signals()).learn(2048, reset_num_timesteps=False)
        one, two = (torch.cat([p.flatten() for p in m.policy.parameters()]) for m in (whole, resumed))
        assert torch.equal(one, two)
    assert resumed._header()["teacher"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("mlp", make_identity()), {}, "obl needs games that can be redealt"),
        (("mlp", "KuhnPoker-v0"), {}, "obl needs a game with hidden information .* share their reward"),
        (("mlp", "HanabiTiny2P-v0"), {"seats": "0"}, "all seats learn; leave both out"),
        (("gru(memory_size=8)", "HanabiTiny2P-v0"), {}, "obl: gru remembers moves, .* take policy='mlp'"),
        (("mlp", "HanabiTiny2P-v0"), {"gae_lambda": 0.9}, "gae_lambda=0.9: obl has gae_lambda=0 only"),
        (("mlp", "HanabiTiny2P-v0"), {"other_play": True}, "other_play=True: obl has other_play=False only"),
    ],
)
def test_what_has_no_drawn_worlds_is_refused(arguments, options, message):
    with pytest.raises(OptionError, match=message):
        OBL(*arguments, **options)
