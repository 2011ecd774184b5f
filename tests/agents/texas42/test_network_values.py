"""Values of open hands by the network that ships: the solver's tiles, nearly its points, and records that name the network."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludory.agents import weights_file
from ludory.agents.texas42.expected_value.decision_value import WorldSampling, value_of
from ludory.agents.texas42.expected_value.posterior import Posterior
from ludory.agents.texas42.networks.network_values import NetworkValues, open_hand_network, tile_scores
from ludory.agents.texas42.play.choice import question_of
from ludory.agents.texas42.solver.solver import ILLEGAL, Solver, points_left, positions_of
from ludory.agents.texas42.solver.states import hands_of, movers, pack_masks
from ludory.checkpoints import read_checkpoint, write_checkpoint
from ludory.cli import main
from ludory.data.formats.texas42.eq_records import read_eq
from ludory.envs import State
from ludory.envs.make import make_engine
from ludory.errors import CheckpointError


@pytest.fixture(scope="module")
def network() -> NetworkValues:
    return NetworkValues(open_hand_network("texas42/oracle"))


def played(games: int, decisions: int) -> State:
    """Games after so many random tiles."""
    engine, rng = make_engine("Texas42Play-v0", games, seed=3), np.random.default_rng(1)
    engine.reset()
    for _ in range(decisions):
        engine.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in engine.legal()]))
    return engine.state


@pytest.mark.parametrize(("decisions", "error"), [(0, 20), (6, 14), (15, 3), (22, 0.5), (27, 0.5)])
def test_the_tiles_are_the_solvers_and_the_points_nearly(network, decisions, error):
    given = positions_of(played(30, decisions))
    (value, q), (about, scored) = Solver().q_values(given), network.q_values(given)
    legal = q != ILLEGAL
    assert ((scored != ILLEGAL) == legal).all()
    assert np.abs(scored.astype(int) - q)[legal].mean() <= error
    assert np.abs(about.astype(int) - value).mean() <= error
    left = points_left(given)[:, None]
    assert ((scored - left) % 2 == 0)[legal].all()
    assert (np.abs(scored) <= left)[legal].all()


@pytest.mark.parametrize("decisions", [5, 13])
def test_who_played_the_tiles_of_earlier_tricks_does_not_matter(decisions):
    network, state = open_hand_network("texas42/oracle").eval(), played(20, decisions)
    given, rows = positions_of(state), np.arange(20)
    hands = hands_of(state.dealt)  # as they were, not as `NetworkValues` completes them
    states = pack_masks(hands, given.held, given.leader, given.trick)
    known = torch.cat(list(tile_scores(network, hands, given.decl, states))).numpy()
    mover = movers(states)
    q = NetworkValues(network).q_values(given)[1][rows[:, None], hands[rows, mover]].astype(int)
    points = q * np.where(mover % 2 == 0, 1, -1)[:, None]
    assert (np.abs(points - known)[q != ILLEGAL] <= 1 + 1e-3).all()  # to the nearest whole points of the right parity


def test_worlds_are_weighed_by_plays_whose_values_a_network_tells(network):
    engine = make_engine("Texas42Play-v0", 1, seed=5)
    engine.reset()
    for _ in range(9):
        engine.step([int(engine.legal()[0].argmax())])
    question = question_of(engine.state, 0, engine.legal()[0], key=7)
    found = value_of(network, engine.state, 0, question, WorldSampling(40, 0, posterior=Posterior(window=4)))
    assert found.samples == 40
    assert found.weights.weights.sum() == pytest.approx(1)
    assert found.weights.ess < 40


def test_a_record_names_the_network_and_no_other_fills_its_folder(network, tmp_path, capsys):
    command = ["texas42", "eq", "--seeds", "0", "--n-samples", "3", "--enumerate-below", "3", "--out", str(tmp_path)]
    assert main([*command, "--network", "texas42/oracle"]) == 0
    file = next(tmp_path.rglob("*.safetensors"))
    assert read_eq(file).header["evaluator"] == network.name
    assert main(command) == 2
    assert f"evaluator is {network.name}, asked for exact" in capsys.readouterr().err


def test_a_network_of_another_kind_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="does not see all hands; give one of texas42_oracle"):
        open_hand_network("hanabi/ppo")
    header, tensors = read_checkpoint(weights_file("texas42/oracle"))
    header["config"]["loss_mode"] = "policy"
    write_checkpoint(tmp_path / "policy.ludory", header, tensors)
    with pytest.raises(CheckpointError, match="not what tiles are worth; train one with --loss-mode qvalue"):
        open_hand_network(tmp_path / "policy.ludory")
