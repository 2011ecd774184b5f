"""Quick policies of Texas 42: what a player does as examples, the network fitted to it, and the player that responds to it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.contracts import standard_contracts
from ludory.agents.texas42.play import fast_policy
from ludory.agents.texas42.play.fast_policy import FILE, OF_PIMC, read_weights
from ludory.algorithms.texas42.quick import fit as module
from ludory.algorithms.texas42.quick import self_play
from ludory.algorithms.texas42.quick.fit import MOST, fit, gather_examples, play_examples, write_weights
from ludory.cli.texas42.fits import quick
from ludory.envs.make import make_engine, make_game
from ludory.errors import CheckpointError, DataError, OptionError, UnknownIdError

PLAYER = "texas42/quick(sample=True, seed=3)"


@pytest.fixture(scope="module")
def played():
    return play_examples(0, 20, PLAYER)


@pytest.fixture(scope="module")
def game():
    return make_game("Texas42Play-v0", reward="make")


@pytest.mark.slow
def test_examples_are_decisions_with_a_choice(played):
    assert (played.number > 1).all()
    assert (played.chosen < played.number).all()
    assert played.features.shape[1:] == (MOST, fast_policy.FEATURES)
    assert set(np.unique(played.deal)) <= set(range(20))
    assert len(played.hand) == len(played.decl) == 20
    beyond = np.arange(MOST) >= played.number[:, None]
    assert (played.features[beyond] == 0).all()


@pytest.mark.slow
def test_examples_of_another_player_are_others(played):
    other = play_examples(0, 20, "texas42/pimc(worlds=1)")
    assert (other.hand == played.hand).all()
    assert not np.array_equal(other.chosen, played.chosen)


@pytest.mark.slow
def test_a_fit_tells_better_than_chance_what_is_played():
    """The quick policy draws its tiles, so it cannot be told for sure."""
    many = play_examples(100, 60, PLAYER)
    found = fit(many, units=16, epochs=30)
    assert found.loss < 0.9 * found.uniform_loss
    assert found.weights.hidden.shape == (16, fast_policy.FEATURES)


@pytest.mark.slow
def test_examples_that_are_no_whole_numbers_are_refused(tmp_path, played, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", len(played.hand))
    (tmp_path / "player.json").write_text(json.dumps({"player": "random"}))
    np.savez(tmp_path / "deals_00000000.npz", **played._replace(number=played.number.astype("U3"))._asdict())
    with pytest.raises(DataError, match="arrays do not fit each other"):
        gather_examples(tmp_path, 1, "random")


@pytest.mark.slow
def test_a_folder_is_of_one_player(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 10)
    first = gather_examples(tmp_path, 20, PLAYER)
    again = gather_examples(tmp_path, 10, PLAYER)
    assert (again.chosen == first.chosen[: len(again.chosen)]).all()
    with pytest.raises(DataError, match="texas42/quick"):
        gather_examples(tmp_path, 10, "texas42/pimc")
    with pytest.raises(UnknownIdError, match="texas42/nobody"):
        gather_examples(tmp_path / "new", 10, "texas42/nobody")
    assert not (tmp_path / "new").exists()
    (tmp_path / "deals_00000010.npz").write_bytes(b"torn")
    with pytest.raises(DataError, match="delete it"):
        gather_examples(tmp_path, 20, PLAYER)


@pytest.mark.slow
def test_the_player_responds_to_the_policy_that_it_is_given(game, tmp_path):
    engine = _midway(game)
    spec = "texas42/response(worlds=30, candidates=60, solved=1, share=0.0{})"
    same = tmp_path / "same.json"
    write_weights(same, OF_PIMC)
    assert (_tiles(game, engine, spec.format(f", policy={str(same)!r}")) == _tiles(game, engine, spec.format(""))).all()
    worst = tmp_path / "worst.json"
    write_weights(worst, OF_PIMC._replace(output=-8 * OF_PIMC.output, trumps=-8 * OF_PIMC.trumps))
    assert (
        _tiles(game, engine, spec.format(f", policy={str(worst)!r}")) != _tiles(game, engine, spec.format(""))
    ).any()


@pytest.mark.slow
def test_other_numbers_of_units_play(game, tmp_path):
    small = tmp_path / "small.json"
    write_weights(small, OF_PIMC._replace(hidden=OF_PIMC.hidden[:5], bias=OF_PIMC.bias[:5], output=OF_PIMC.output[:5]))
    engine = _midway(game)
    tiles = _tiles(game, engine, f"texas42/response(worlds=10, candidates=20, solved=1, policy={str(small)!r})")
    assert engine.legal()[np.arange(len(tiles)), tiles].all()


def _midway(game):
    engine = make_engine(game, num_games=8, seed=1)
    engine.reset(options=standard_contracts(60, 8, seed=9).options)
    return engine


def _tiles(game, engine, spec):
    agent, tiles = make_agent(spec, game), np.zeros(engine.num_games, np.int64)
    for seat in range(4):
        rows = np.flatnonzero(engine.to_move == seat)
        if len(rows):
            tiles[rows] = agent.choose(engine, seat, rows, None)
    return tiles


@pytest.mark.parametrize("harm", ["absent", "no json", "a part is missing", "units differ"])
def test_refused_weights(game, tmp_path, harm):
    file, parts = tmp_path / "weights.json", json.loads(FILE.read_text())
    if harm == "no json":
        file.write_text("weights")
    elif harm == "a part is missing":
        file.write_text(json.dumps({name: part for name, part in parts.items() if name != "bias"}))
    elif harm == "units differ":
        file.write_text(json.dumps(parts | {"bias": parts["bias"][:-1]}))
    with pytest.raises(CheckpointError, match="ludory texas42 quick"):
        read_weights(file)
    with pytest.raises(CheckpointError, match="ludory texas42 quick"):
        make_agent(f"texas42/response(policy={str(file)!r})", game)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["--self-play", "--hands", "1000"], "--hands 1000"),
        (["--self-play", "--epochs", "3"], "--epochs 3"),
        (["--self-play", "--player", "texas42/pimc"], "--player texas42/pimc"),
        (["--iterations", "3"], "--iterations 3"),
    ],
)
def test_options_of_imitation_and_of_self_play_are_not_mixed(typed, told, tmp_path):
    with pytest.raises(OptionError, match=rf"{told} is for .*--self-play"):
        quick([*typed, "--out", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_the_command_writes_weights_of_self_play(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(self_play.SelfPlay, "__init__", _of_few_hands(self_play.SelfPlay.__init__))
    assert quick(["--self-play", "--iterations", "1", "--units", "4", "--out", str(tmp_path)]) == 0
    assert read_weights(tmp_path / "quick_policy.json").bias.shape == (4,)
    assert "iteration 1 of 1: contracts made" in capsys.readouterr().out


def _of_few_hands(made):
    def init(settings, **given):
        made(settings, **given, hands=100)

    return init
