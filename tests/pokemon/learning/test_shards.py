"""Trajectory files as datasets: the same numbers as the tracker's, one game for both sides, and refusals by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludory.algorithms.bc import BC
from ludory.cli import main
from ludory.data.dataset import TrajectoryDataset
from ludory.data.pokemon.conversion import Conversion, ConvertedBattle, converted
from ludory.data.pokemon.observations import observations_of, with_seed_observations
from ludory.data.pokemon.shards import cached_shards
from ludory.data.pokemon.trajectories import MISSING, BattleTrajectory, read_trajectories, write_trajectories
from ludory.envs.pokemon.observation import flat_of_entity
from ludory.envs.pokemon.vocab import VOCAB_SHA256
from ludory.errors import DataError, TrainingError

GOLDEN = Path(__file__).parents[2] / "golden" / "pokemon" / "sim_dev.jsonl.gz"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A cache that no other test fills."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUDORY_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def trajectories() -> list[BattleTrajectory]:
    """Both sides of the golden battles of generation 1, as a spectator sees them."""
    found = converted([GOLDEN], Conversion(labels="log", format="gen1randombattle"))
    return [side for one in found if isinstance(one, ConvertedBattle) for side in one.trajectories]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, trajectories: list[BattleTrajectory]) -> tuple[Path, Path]:
    """Training and validation battles; the sides of a battle do not stand together."""
    folder = tmp_path_factory.mktemp("files")
    train, val = folder / "battles.train.jsonl.gz", folder / "battles.val.jsonl.gz"
    write_trajectories(train, [*trajectories[:40:2], *trajectories[1:40:2]])
    write_trajectories(val, trajectories[40:])
    return train, val


def test_a_dataset_holds_what_the_tracker_sees(files: tuple[Path, Path], trajectories: list[BattleTrajectory]) -> None:
    """Rows, masks, actions, weights and rewards of each side, battle by battle; missing labels weigh nothing."""
    data = TrajectoryDataset(files[0])
    assert data.num_games == 20
    rows = {
        (game, seat): np.flatnonzero(mask)
        for batch in data.batches(100_000)
        for game, seat, mask in [
            (one, side, (batch.games == one).numpy() & (batch.seats == side).numpy())
            for one in batch.games.unique().tolist()
            for side in (0, 1)
        ]
    }
    (batch,) = data.batches(100_000)
    names = {data.names_of([game])[0]: game for game, _ in rows}
    for one in trajectories[:40]:
        here, expected = rows[names[one.replay_id], one.seat], observations_of(one)
        assert np.array_equal(batch.observations[here], expected.observations)
        assert np.array_equal(np.unpackbits(batch.masks[here].numpy(), axis=1)[:, :10], expected.masks)
        labelled = expected.actions != MISSING
        assert np.array_equal(batch.actions[here, 0].numpy()[labelled], expected.actions[labelled])
        assert not batch.weights[here].numpy()[~labelled].any()
        assert float(batch.returns[here][0]) == one.total_reward


def test_all_observations_come_from_one_file(files: tuple[Path, Path]) -> None:
    """`flat` is a function of `entity`; `seed41` has its own numbers; each is converted once."""
    rows = {
        name: next(TrajectoryDataset(files[1], observation=name).batches(64)) for name in ("entity", "flat", "seed41")
    }
    assert np.array_equal(rows["flat"].observations, flat_of_entity(rows["entity"].observations.numpy()))
    assert rows["seed41"].observations.shape[1] == 41
    assert (rows["seed41"].observations[:, 1] > 1).float().mean() > 0.9  # the active species is known
    folder = cached_shards(files[1])
    before = (folder / "dataset.json").stat().st_mtime_ns
    assert cached_shards(files[1]) == folder
    assert (folder / "dataset.json").stat().st_mtime_ns == before
    assert VOCAB_SHA256[:8] in folder.name


def test_cloning_takes_the_files_as_they_are(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command of the specification: files in, checkpoints out, baselines beside the accuracy."""
    train, val = files
    line = f"train bc --data {train} --val-data {val} --epochs 1 --batch-size 64 --lr 1e-3 --checkpoint-dir {tmp_path / 'out'}"
    assert main([*line.split(), "--out", str(tmp_path / "clone.ludory")]) == 0
    assert {"best.ludory", "epoch_1.ludory", "final.ludory"} <= {file.name for file in (tmp_path / "out").iterdir()}
    shown = capsys.readouterr().out
    assert all(title in shown for title in ("class prior", "max power", "legal actions on average", "free"))
    model = BC.load(tmp_path / "clone.ludory")
    assert model.policy_spec.id == "pokemon/entity"
    assert model.game.id == "PokemonGen1RandomBattle-v0"
    assert model.game.options == {"slot_order": "alpha"}


def test_shared_battles_are_refused_also_under_other_names(
    files: tuple[Path, Path], trajectories: list[BattleTrajectory], tmp_path: Path
) -> None:
    """By id, and by what happened in them."""
    renamed = tmp_path / "renamed.jsonl"
    write_trajectories(renamed, [replace(one, replay_id="copy") for one in trajectories[:2]])
    with pytest.raises(DataError, match=r"20 of 20 games are in .*, too"):
        BC("auto", None, train_data_path=files[0], val_data_path=files[0])
    with pytest.raises(DataError, match=r"1 of 1 games are in .*, too, such as copy"):
        BC("auto", None, train_data_path=files[0], val_data_path=renamed)


def test_a_loss_that_is_not_finite_names_the_battles(
    files: tuple[Path, Path], trajectories: list[BattleTrajectory]
) -> None:
    """Not numbers of games, but the ids in the file."""
    model = BC("auto", None, dataset=files[0], split_ratio=(1, 0, 0))
    for weights in model.policy.parameters():
        weights.data.fill_(float("nan"))
    with pytest.raises(TrainingError) as raised:
        model.learn()
    assert any(one.replay_id in str(raised.value) for one in trajectories)


def test_files_of_the_seeds_schema_give_its_41_numbers(trajectories: list[BattleTrajectory], tmp_path: Path) -> None:
    """All ten actions are legal there, and nothing else can be computed."""
    file = tmp_path / "seed.jsonl"
    steps = [
        {
            "observation": {"turn": 3 + k, "active_species_id": 25, "active_hp": 0.5, "team_hp": [1, 0.5]},
            "action_type": k % 2,
            "action_target": k,
            "reward": float(k == 3),
            "done": k == 3,
        }
        for k in range(4)
    ]
    lines = [{"replay_id": f"b{k}", "player": "p1", "total_reward": 1.0, "steps": steps} for k in range(4)]
    file.write_text("\n".join(map(json.dumps, lines)))
    model = BC("auto", None, dataset=file, num_epochs=1, split_ratio=(1, 0, 0))
    assert model.policy_spec.id == "pokemon/seed-mlp"
    (batch,) = model.training_data.batches(100)
    assert batch.observations[0, :6].tolist() == [3, 25, 0.5, 0, 1, 0.5]
    assert batch.actions[:4, 0].tolist() == [0, 5, 2, 7]
    model.learn()
    with pytest.raises(DataError, match='observation="seed41"'):
        cached_shards(file, "entity")
    mixed = tmp_path / "mixed.jsonl"
    write_trajectories(mixed, trajectories[:2])
    mixed.write_text(mixed.read_text() + json.dumps(lines[0]) + "\n")
    with pytest.raises(DataError, match="one order of moves"):
        cached_shards(mixed, "seed41")


def test_written_seed_observations_read_back_as_the_same_numbers(
    trajectories: list[BattleTrajectory], tmp_path: Path
) -> None:
    """A file in the seed's schema holds what was computed from the stream."""
    one = with_seed_observations(trajectories[0])
    write_trajectories(tmp_path / "seed.jsonl", [one], "seed")
    (again,) = read_trajectories(tmp_path / "seed.jsonl")
    labelled = observations_of(one, "seed41")
    kept = labelled.actions != MISSING
    assert np.allclose(observations_of(again, "seed41").observations, labelled.observations[kept], atol=1e-6)
    assert [step.action for step in again.steps] == labelled.actions[kept].tolist()
