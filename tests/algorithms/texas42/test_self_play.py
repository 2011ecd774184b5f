"""The quick policy of Texas 42 that learns by playing itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ludory.agents.texas42.play.fast_policy import OF_PIMC, SCALE
from ludory.agents.texas42.play.tile_features import FEATURE_NAMES, FEATURES
from ludory.algorithms.texas42.quick.fit import MOST, TileNetwork
from ludory.algorithms.texas42.quick.self_play import SelfPlay, learn, play
from ludory.envs.chance import hash_rows
from ludory.errors import CheckpointError

pytestmark = pytest.mark.slow

SHORT = SelfPlay(units=8, iterations=3, hands=200, batch=256)


@pytest.fixture(scope="module")
def played():
    return play(OF_PIMC, 300, 5)


def test_probabilities_are_those_of_the_weights(played):
    """The kernel's probabilities are the softmax of the network's logits, computed here in floating point."""
    decisions, _ = played
    hidden, bias, output = (part / SCALE for part in OF_PIMC[:3])
    logits = np.maximum(decisions.features[..., : hidden.shape[1]] @ hidden.T + bias, 0) @ output
    logits[np.arange(MOST) >= decisions.number[:, None]] = -np.inf
    expected = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    assert np.allclose(decisions.chances, expected, atol=1e-5)


def test_results_are_those_of_hands_played_out(played):
    """At the last choices the result follows from the rules alone: it is that of the tiles that are left."""
    decisions, _ = played
    inside = np.arange(MOST) < decisions.number[:, None]
    assert (decisions.number > 1).all()
    assert (np.abs(decisions.results) == inside).all()
    first = decisions.features[:, 0]
    at = {name: first[:, FEATURE_NAMES.index(name)] for name in FEATURE_NAMES}
    # one point is missing and tricks are left to win: who wins this one, by a tile that nothing can beat, has the result
    decided = (at["points needed"] == 1) & (at["side has the contract"] == 1) & (at["plays last"] == 1)
    wins = decisions.features[:, :, FEATURE_NAMES.index("sure to win")] == 1
    assert (wins & inside)[decided].any()
    assert (decisions.results[decided][(wins & inside)[decided]] == 1).all()
    # results of both sides are opposite: each makes its contract in the same share of all hands
    declares = at["side has the contract"] == 1
    shares = [(decisions.chances * decisions.results).sum(1)[side].mean() for side in (declares, ~declares)]
    assert abs(shares[0] + shares[1]) < 0.15


def test_a_hand_is_tried_at_every_second_decision():
    """Games next to each other begin at different decisions, so that half of the openings are tried."""
    decisions, _ = play(OF_PIMC, 200, 8)
    tricks = decisions.features[:, 0, FEATURE_NAMES.index("tricks left")]
    opens = (tricks == 7) & (decisions.features[:, 0, FEATURE_NAMES.index("leads")] == 1)
    assert opens.sum() == 100


def test_it_learns_and_grows_surer():
    told = []
    settings = SelfPlay(units=16, iterations=12, hands=1000, batch=256, learning_rate=5e-3)
    weights = learn(settings, None, told.append)
    assert told[-1].entropy < 0.8 * told[0].entropy
    assert 0.1 < told[-1].matters < 0.5
    # what it thinks best wins more often than what the untrained network does
    before = TileNetwork(16, torch.ones(FEATURES)).weights(torch.from_numpy(OF_PIMC.trumps) / SCALE)
    gains = []
    for one in (before, weights):
        decisions, _ = play(one, 2000, 99)
        gains.append(
            decisions.results[np.arange(len(decisions.number)), decisions.chances.argmax(1)].mean()
            - decisions.results.sum(1).sum() / decisions.number.sum()
        )
    assert gains[1] > gains[0] + 0.01


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    whole = learn(SHORT, tmp_path / "whole.pt", every=10)

    def stop(done):
        if done.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(SHORT, tmp_path / "part.pt", stop, every=1)
    told = []
    again = learn(SHORT, tmp_path / "part.pt", told.append, every=1)
    assert [one.number for one in told] == [2, 3]
    for one, other in zip(whole, again, strict=True):
        assert (one == other).all()


def test_refused_files(tmp_path):
    file = tmp_path / "training.pt"
    learn(SHORT, file)
    with pytest.raises(CheckpointError, match="iterations 3; give the same settings"):
        learn(replace(SHORT, iterations=4), file)
    file.write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="delete it"):
        learn(SHORT, file)


def test_other_keys_deal_other_hands():
    one, other = (play(OF_PIMC, 50, int(abs(hash_rows(3, k))))[0] for k in range(2))
    assert not np.array_equal(one.features[:50], other.features[:50])
