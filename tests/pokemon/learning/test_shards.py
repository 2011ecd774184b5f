"""Trajectory files as datasets: the same numbers as the tracker's, one game for both sides, and refusals by name."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ludory
from ludory.agents.make import make_agent
from ludory.agents.networks.build import policy_of
from ludory.algorithms.bc import BC
from ludory.checkpoints.checkpoint import read_checkpoint, read_header
from ludory.cli import main
from ludory.data.dataset import TrajectoryDataset
from ludory.data.pokemon.conversion import Conversion, ConvertedBattle, converted
from ludory.data.pokemon.observations import observations_of, with_seed_observations
from ludory.data.pokemon.samples import BattleSamples
from ludory.data.pokemon.shards import cached_shards
from ludory.data.pokemon.trajectories import MISSING, BattleTrajectory, read_trajectories, write_trajectories
from ludory.envs.conventions import check_conventions
from ludory.envs.make import make_game
from ludory.envs.pokemon.formats import RULES
from ludory.envs.pokemon.observation import flat_of_entity
from ludory.envs.pokemon.vocab import VOCAB_SHA256
from ludory.errors import CheckpointError, DataError, OptionError, TrainingError

pytestmark = pytest.mark.plain  # a cache of its own would be compiled for

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


@pytest.mark.slow
def test_cloning_takes_the_files_as_they_are(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the specification: files in, checkpoints out, baselines beside the accuracy; also without a simulator."""
    monkeypatch.setattr("ludory.envs.pokemon.backends.install.installed", lambda *pinned: None)
    train, val = files
    line = f"train bc --data {train} --val-data {val} --epochs 1 --batch-size 64 --lr 1e-3 --checkpoint-dir {tmp_path / 'out'}"
    assert main([*line.split(), "--out", str(tmp_path / "clone.ludory")]) == 0
    assert {"best.ludory", "epoch_1.ludory", "final.ludory"} <= {file.name for file in (tmp_path / "out").iterdir()}
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("prior", "power", "legal actions", "free"))
    assert "score: left out" in shown
    assert "ludory pokemon install" in shown
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


def with_meta(path: Path, trajectories: list[BattleTrajectory], **meta: object) -> Path:
    """A file of `trajectories` that say something else of where they come from."""
    write_trajectories(path, [replace(one, meta={**one.meta, **meta}) for one in trajectories])
    return path


def test_data_of_another_vocabulary_are_refused_or_remapped_by_name(
    trajectories: list[BattleTrajectory], tmp_path: Path
) -> None:
    """The stream holds names, so remapping gives the same numbers as data of this version; without names it is refused."""
    other = "0" * 64
    file = with_meta(tmp_path / "other.jsonl", trajectories[:8], vocab_sha256=other)
    told = rf"vocab_sha256 {other[:12]}, this version has {VOCAB_SHA256[:12]}; type remap_vocab=True"
    for read in (TrajectoryDataset, BattleSamples, cached_shards):
        with pytest.raises(DataError, match=told):
            read(file)
        read(file, remap_vocab=True)
        with pytest.raises(DataError, match=told):  # also when the remapped numbers are in the cache
            read(file)
    with pytest.raises(DataError, match=told):
        BC("auto", None, dataset=file, split_ratio=(1, 0, 0))
    model = BC("auto", None, dataset=file, split_ratio=(1, 0, 0), remap_vocab=True)
    write_trajectories(tmp_path / "ours.jsonl", trajectories[:8])
    ours = TrajectoryDataset(tmp_path / "ours.jsonl")
    assert np.array_equal(
        next(model.training_data.batches(64)).observations,
        next(ours.batches(64)).observations,
    )
    bare = replace(trajectories[0], stream=(), steps=tuple(replace(step, at=0) for step in trajectories[0].steps))
    nameless = with_meta(tmp_path / "nameless.jsonl", [bare], vocab_sha256=other)
    with pytest.raises(DataError, match="names of that vocabulary are not in the file"):
        cached_shards(nameless, "seed41", remap_vocab=True)


def test_other_rules_are_told_once(trajectories: list[BattleTrajectory], tmp_path: Path) -> None:
    """By a warning with both versions; unknown rules say nothing."""
    file = with_meta(tmp_path / "rules.jsonl", trajectories[:4], rules="pokemon-showdown 0.11.9")
    with pytest.warns(
        UserWarning, match=r"the rules of pokemon-showdown 0\.11\.9, this version plays by pokemon-showdown 0\.11\.11"
    ):
        cached_shards(file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BattleSamples(file)
        cached_shards(with_meta(tmp_path / "unknown.jsonl", trajectories[4:8], rules="unknown"))


def test_orders_of_moves_and_gimmicks_are_not_mixed(trajectories: list[BattleTrajectory], tmp_path: Path) -> None:
    """Neither in a file, nor between training and validation files, nor between data and game."""
    for name, value, message in (
        ("slot_order", "request", "slot_order is 'request' in the data and 'alpha' in the game"),
        ("gimmick", "never", "'gimmick': 'never'"),
    ):
        file = tmp_path / f"{name}.jsonl"
        changed = [replace(one, meta={**one.meta, name: value}) for one in trajectories[2:4]]
        write_trajectories(file, [*trajectories[:2], *changed])
        for read in (cached_shards, BattleSamples):
            with pytest.raises(DataError, match=f"{name} {value}"):
                read(file)
        train, val = tmp_path / "train.jsonl", tmp_path / "val.jsonl"
        write_trajectories(train, trajectories[:2])
        write_trajectories(val, changed)
        with pytest.raises(DataError, match=message):
            BC("auto", None, train_data_path=train, val_data_path=val).validation_data  # noqa: B018
    with pytest.raises(DataError, match="slot_order is 'alpha' in the data and 'request' in the game"):
        BC("auto", "PokemonGen1RandomBattle-v0", dataset=train, split_ratio=(1, 0, 0)).training_data  # noqa: B018


def test_a_checkpoint_plays_and_starts_games_of_its_own_conventions(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Another order of moves, use of gimmicks or vocabulary is refused with both values; other rules are a warning."""
    model = BC("auto", None, dataset=files[1], split_ratio=(1, 0, 0))
    file = tmp_path / "clone.ludory"
    model.save(file)
    env = read_header(file)["env"]
    assert env["conventions"] == {"rules": RULES, "vocab_sha256": VOCAB_SHA256, "slot_order": "alpha"}
    alpha = make_game("PokemonGen1RandomBattle-v0", slot_order="alpha")
    make_agent(str(file), alpha)
    request = make_game("PokemonGen1RandomBattle-v0")
    told = r"slot_order='alpha', PokemonGen1RandomBattle-v0 has slot_order='request'.*make the game with slot_order='alpha'"
    with pytest.raises(CheckpointError, match=told):
        make_agent(str(file), request)
    with pytest.raises(CheckpointError, match=told):
        policy_of(file, *read_checkpoint(file), request)
    gen9 = [make_game("PokemonGen9RandomBattle-v0", gimmick=name) for name in ("native", "never")]
    with pytest.raises(CheckpointError, match="gimmick='native'"):
        check_conventions(gen9[0].records.conventions, gen9[1], "net.ludory")
    with pytest.raises(
        CheckpointError, match=f"vocab_sha256 {'1' * 12}, .* has {VOCAB_SHA256[:12]}: .* cannot be remapped"
    ):
        check_conventions({"vocab_sha256": "1" * 64}, alpha, "net.ludory")
    with pytest.warns(UserWarning, match=r"pokemon-showdown 0\.11\.8"):
        check_conventions({"rules": "pokemon-showdown 0.11.8"}, alpha, "net.ludory")


@pytest.fixture(scope="module")
def ou_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Battles as people play them in a format that needs teams, from logs: the format is that of the file alone."""
    found = converted([GOLDEN], Conversion(labels="log", format="gen9randombattle"))
    sides = [side for one in found if isinstance(one, ConvertedBattle) for side in one.trajectories][:16]
    sides = [replace(side, meta={**side.meta, "format": "gen9ou"}) for side in sides]
    folder = tmp_path_factory.mktemp("ou")
    train, val = folder / "F.train.jsonl", folder / "F.val.jsonl"
    write_trajectories(train, sides[:12])
    write_trajectories(val, sides[12:])
    return train, val


@pytest.mark.slow
def test_the_manuals_line_clones_battles_of_a_format_that_needs_teams(ou_files: tuple[Path, Path]) -> None:
    train, val = map(str, ou_files)
    clone = ludory.make_algorithm("bc", dataset=train, val_dataset=val, num_epochs=1).learn()
    assert (clone.game.id, dict(clone.game.options)) == ("PokemonGen9OU-v0", {"slot_order": "alpha"})
    assert clone.num_timesteps > 0


@pytest.mark.slow
def test_the_command_line_clones_them_with_and_without_the_game(ou_files: tuple[Path, Path], tmp_path: Path) -> None:
    train, val = map(str, ou_files)
    data = ["train", "bc", "--data", train, "--val-data", val, "--epochs", "1"]
    assert main([*data, "--out", str(tmp_path / "a.ludory")]) == 0
    named = ["--env", "PokemonGen9OU-v0", "--option", "slot_order=alpha", "--option", "max_turns=500"]
    assert main([*data, *named, "--out", str(tmp_path / "b.ludory")]) == 0


def test_moves_in_another_order_than_the_games_are_refused(ou_files: tuple[Path, Path]) -> None:
    with pytest.raises(DataError, match=r"leave env= out; slot_order is 'alpha' in the data and 'request' in the game"):
        BC(env="PokemonGen9OU-v0", dataset=str(ou_files[0]))


def test_a_format_that_needs_teams_asks_for_them_when_it_is_played() -> None:
    with pytest.raises(OptionError, match=r"gen9ou needs teams=: a folder of exports"):
        ludory.make_engine("PokemonGen9OU-v0")


@pytest.mark.parametrize("written", ["{}\n", "[\n{}]"])
def test_a_search_log_is_not_taken_for_battles(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record is one of SPARTA's, as its wrapper writes it; nothing in it tells the game."""
    log = tmp_path / "sparta_games.jsonl"
    record = {"game_id": 0, "t": 0, "seat": 0, "obs_vec": [0.0] * 658, "legal_action_ids": [1], "action_sparta": 1}
    log.write_text(written.format(json.dumps(record | {"reward": 0.0, "done": True})))
    assert main(["train", "distill", "--data", str(log), "--init-from", "x.pt", "--out", str(tmp_path / "y")]) == 2
    assert "--env Hanabi2P-v0" in capsys.readouterr().err
