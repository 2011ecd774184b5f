"""The quick policy of Texas 42 that learns by playing itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ludory.agents.texas42.play.fast_policy import OF_PIMC, SCALE
from ludory.agents.texas42.play.tile_features import FEATURE_NAMES
from ludory.algorithms.texas42.quick.fit import MOST
from ludory.algorithms.texas42.quick.self_play import SelfPlay, learn, play
from ludory.envs.chance import hash_rows
from ludory.errors import CheckpointError

pytestmark = pytest.mark.slow

SHORT = SelfPlay(units=8, iterations=3, hands=200, batch=256)


@pytest.fixture(scope="module")
def played():
    return play(OF_PIMC, 300, 5)


def test_probabilities_are_those_of_the_weights(played):
    """The kernel's log-probabilities are the softmax of the network's logits, computed here in floating point."""
    decisions, _ = played
    hidden, bias, output = (part / SCALE for part in OF_PIMC[:3])
    logits = np.maximum(decisions.features @ hidden.T + bias, 0) @ output
    logits[np.arange(MOST) >= decisions.number[:, None]] = -np.inf
    expected = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
    places = np.arange(len(logits)), decisions.chosen.astype(int)
    assert np.allclose(decisions.log_probs, expected[places], atol=1e-5)
    shares = np.exp(expected)  # each place is drawn as often as its probability says
    drawn, wanted = np.bincount(decisions.chosen, minlength=MOST), shares.sum(axis=0)
    assert (np.abs(drawn - wanted) < 5 * np.sqrt((shares * (1 - shares)).sum(axis=0)) + 1).all()


def test_the_sides_of_a_contract_get_opposite_results(played):
    decisions, made = played
    assert set(np.unique(decisions.results)) == {-1, 1}
    assert (decisions.number > 1).all()
    assert (decisions.chosen < decisions.number).all()
    first = decisions.features[:, 0]
    made_it = decisions.results == np.where(first[:, FEATURE_NAMES.index("side has the contract")], 1, -1)
    opens = (first[:, FEATURE_NAMES.index("tricks left")] == 7) & (first[:, FEATURE_NAMES.index("leads")] == 1)
    assert opens.sum() == 300  # every hand begins with seven tiles to choose from
    assert made_it[opens].mean() == pytest.approx(made)
    assert (made_it == made_it[opens][np.cumsum(opens) - 1]).all()


def test_it_learns_who_wins_and_grows_surer():
    told = []
    learn(SelfPlay(units=16, iterations=12, hands=1000, batch=512, learning_rate=5e-3), None, told.append)
    assert told[-1].explained > 0.15
    assert told[-1].entropy < 0.95 * told[0].entropy


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
