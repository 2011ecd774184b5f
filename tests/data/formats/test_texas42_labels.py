"""Labels: states of played hands, every decision alike, exact, and the same for a deal whatever else is asked for."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from ludory.agents.texas42.solver.states import OpenState, movers, open_positions, pack, unpack
from ludory.agents.texas42.solver.tabulator import Tabulation
from ludory.algorithms.texas42.data.labels import pack_states, play_and_label, verify_labels
from ludory.cli import main
from ludory.data.formats.texas42.labels import (
    CheckLabels,
    LabelSettings,
    LabelsName,
    first_seeds,
    read_labels,
    write_labels,
)
from ludory.envs.make import make_engine
from ludory.envs.texas42.start import seed_deal
from ludory.errors import DataError, OptionError

pytestmark = pytest.mark.slow

QUICK = LabelSettings(paths=2, worlds=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    name = LabelsName(100)
    target = tmp_path_factory.mktemp("labels") / name.path
    write_labels(target, name, QUICK, play_and_label(range(100, 106), QUICK))
    return target


@pytest.mark.slow
def test_every_decision_with_a_choice_is_labelled_and_no_other(file):
    labels = read_labels(file)
    assert ((labels.q != -128).sum(axis=1) > 1).all()
    assert set(labels.decision[labels.decision < 4]) == {0, 1, 2, 3}
    assert labels.decision.max() < 24  # the last trick is forced
    assert (np.bincount(labels.decision)[:1] == 12).all()  # 6 deals, two hands each
    assert (28 - np.bitwise_count(labels.state & ((1 << 28) - 1)) == labels.decision).all()
    assert set(labels.behaviour) == {0, 1}
    assert 8 not in labels.decl  # nobody can call it


@pytest.mark.slow
def test_values_are_those_of_the_tabulator(file):
    labels = read_labels(file)
    rows = np.flatnonzero((labels.seed == 103) & (labels.behaviour == 1))
    assert len(rows) > 10
    one = rows[0]
    assert labels.deal[one].tolist() == [tile for hand in seed_deal(103) for tile in hand]
    values, q = Tabulation(labels.deal[one], int(labels.decl[one]), int(labels.leader[one])).look_up(labels.state[rows])
    assert values.tolist() == labels.value[rows].tolist()
    assert q.tolist() == labels.q[rows].tolist()


def test_a_deal_has_the_same_labels_whatever_else_is_asked_for(file):
    alone, together = play_and_label(range(103, 104), QUICK), read_labels(file)
    of_deal = together.seed == 103
    assert all(np.array_equal(a, b[of_deal]) for a, b in zip(alone, together, strict=True))


def test_states_of_the_engine_are_packed_as_in_shards():
    deal = np.array([[tile for hand in seed_deal(seed) for tile in hand] for seed in range(20)])
    engine = make_engine("Texas42Play-v0", 20, seed=5)
    engine.reset(options={"deal": deal})
    draws = np.random.default_rng(0)
    for _ in range(28):
        packed = pack_states(engine.state, deal)
        for i in range(0, 20, 7):
            state, hands = unpack(int(packed[i])), deal[i].reshape(4, 7)
            held = [
                sum(1 << int(t) for k, t in enumerate(hand) if state.held[s] >> k & 1) for s, hand in enumerate(hands)
            ]
            assert held == engine.state.held[i].tolist()
            assert (state.to_move, state.leader) == (engine.to_move[i], engine.state.leader[i])
            assert pack(OpenState(*state)) == packed[i]
            trick = [int(hands[(state.leader + k) % 4][local]) for k, local in enumerate(state.trick)]
            assert trick == engine.state.trick[i, : len(trick)].tolist()
            given, tiles = open_positions(deal[i : i + 1], np.zeros(1), packed[i : i + 1])
            assert given.held[0].tolist() == held
            assert [t for t in given.trick[0] if t >= 0] == trick
            assert tiles[0].tolist() == hands[movers(packed[i : i + 1])[0]].tolist()
        engine.step(np.array([draws.choice(np.flatnonzero(row)) for row in engine.legal()]))


def test_files_hold_fifty_seeds_of_one_split():
    assert list(first_seeds(range(40, 101))) == [0, 50, 100]
    assert LabelsName(900).path.as_posix() == "val/labels_00000900.parquet"
    assert LabelsName(950).path.parts[0] == "test"


def test_damaged_foreign_and_other_labels_are_named_and_refused(file, tmp_path):
    CheckLabels(QUICK)(file, LabelsName(100))
    with pytest.raises(DataError, match=r"'epsilon': got 0\.1, must be 0\.2"):
        CheckLabels(LabelSettings(paths=2, worlds=1, epsilon=0.2))(file, LabelsName(100))
    with pytest.raises(DataError, match="'first_seed': got 100, must be 150"):
        CheckLabels(QUICK)(file, LabelsName(150))
    cut = tmp_path / file.name
    cut.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DataError, match=str(cut)):
        read_labels(cut)
    pq.write_table(pq.read_table(file).replace_schema_metadata({}), cut)
    with pytest.raises(DataError, match="'format': got None"):
        read_labels(cut)
    labels = read_labels(file)
    values, q = labels.value.copy(), labels.q.copy()
    values[0] -= 2
    write_labels(cut, LabelsName(100), QUICK, labels._replace(value=values))
    with pytest.raises(DataError, match=r"row 0, field 'V': .*the best of its q"):
        read_labels(cut)
    q[0] -= 2 * (q[0] != -128).astype(np.int8)
    write_labels(cut, LabelsName(100), QUICK, labels._replace(value=values, q=q))
    with pytest.raises(DataError, match=r"row 0: V .* are not the values of its state"):
        verify_labels(cut)


def test_the_command_fills_a_folder(tmp_path, monkeypatch, capsys):
    def quick(file, name, settings):
        labels = play_and_label(range(name.first_seed, name.first_seed + 1), settings)
        write_labels(file, name, settings, labels)
        return len(labels.state)

    monkeypatch.setattr("ludory.algorithms.texas42.data.labels.make_labels", quick)
    command = ["texas42", "labels", "--out", str(tmp_path), "--seeds", "899-949", "--paths", "1"]
    assert main([*command, "--dry-run"]) == 0
    assert "train        0 there        1 missing  labels_00000850.parquet" in capsys.readouterr().out
    assert main(command) == 0
    assert main(["texas42", "check", str(tmp_path)]) == 0
    assert "2 of 2 files are right" in capsys.readouterr().out


def test_settings_are_checked():
    with pytest.raises(OptionError, match=r"epsilon=2: must lie in \[0, 1\]"):
        LabelSettings(epsilon=2)
