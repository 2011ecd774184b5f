"""Minari: what is written there and read back is the same; foreign datasets are read by their spaces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games.nim import matching, nim

from ludory.agents.evaluation.record import record
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.decisions import Decisions
from ludory.data.formats.minari_sets import MinariTrajectories, write_minari
from ludory.data.shards import write_dataset
from ludory.envs.make import make_game
from ludory.errors import DataError, PluginError

GAMES = {"Hanabi": make_game("HanabiTiny2P-v0"), "Nim": nim(), "Matching": matching()}


def everything(folder: Path) -> Decisions:
    return next(TrajectoryDataset(folder).batches(10**6))


def test_without_minari_the_error_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(PluginError, match=r'pip install "ludory\[minari\]"'):
        MinariTrajectories(tmp_path)


@pytest.mark.parametrize("name", GAMES)
def test_a_set_written_for_minari_is_read_back_as_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    record("random", GAMES[name], 12, tmp_path / "set", seed=1, shard_games=5)
    assert main(["convert", str(tmp_path / "set"), "--from", "ludory", "--out", "minari"]) == 0
    assert main(["convert", str(tmp_path / "minari"), "--from", "minari", "--out", str(tmp_path / "back")]) == 0
    for one, other in zip(everything(tmp_path / "set"), everything(tmp_path / "back"), strict=True):
        assert np.array_equal(one, other, equal_nan=one.is_floating_point())
    before, after = (TrajectoryDataset(tmp_path / part).header for part in ("set", "back"))
    assert (after.observation, after.heads, after.players, after.agents) == (
        before.observation,
        before.heads,
        before.players,
        before.agents,
    )
    with pytest.raises(DataError, match=r"convert them first: `ludory convert .* --from minari"):
        TrajectoryDataset(tmp_path / "minari")
    assert main(["check", "data", str(tmp_path / "minari")]) == 0
    episodes = minari.MinariDataset(str(tmp_path / "minari" / "data"))
    data = everything(tmp_path / "set")
    assert episodes.total_steps == len(data.games)
    assert sum(episode.rewards.sum() for episode in episodes) == pytest.approx(float(data.rewards.sum()))


def test_minari_gives_the_environment_back(tmp_path: Path) -> None:
    minari = pytest.importorskip("minari")
    record("random", make_game("Hanabi-v0", players=3), 2, tmp_path / "set", seed=1)
    write_minari(TrajectoryDataset(tmp_path / "set"), tmp_path / "minari")
    dataset = minari.MinariDataset(str(tmp_path / "minari" / "data"))
    env = dataset.recover_environment()
    assert env.unwrapped.game.facts.players == 3
    observation, info = env.reset(seed=1)
    first = dataset[0]
    assert observation.shape == first.observations["observation"][0].shape
    assert info["action_mask"].shape == first.observations["action_mask"][0].shape


def test_a_game_without_an_id_has_no_environment_to_give_back(tmp_path: Path) -> None:
    minari = pytest.importorskip("minari")
    record("random", nim(), 2, tmp_path / "set", seed=1)
    write_minari(TrajectoryDataset(tmp_path / "set"), tmp_path / "minari")
    assert minari.MinariDataset(str(tmp_path / "minari" / "data")).env_spec is None


def foreign(folder: Path, space: Any, actions: Any, episodes: list[dict[str, Any]]) -> Path:
    """A dataset as other programs write it."""
    minari = pytest.importorskip("minari")
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    (folder / "data").mkdir(parents=True)
    storage = MinariStorage.new(folder / "data", observation_space=space, action_space=actions, data_format="hdf5")
    storage.update_metadata({"dataset_id": "cart/other-v0", "minari_version": minari.__version__})
    storage.update_episodes([EpisodeBuffer(**one) for one in episodes])
    return folder


def episode(observations: Any, actions: Any, ended: str = "terminations", **more: Any) -> dict[str, Any]:
    count = len(actions)
    last = [False] * (count - 1)
    ends = {"terminations": [*last, False], "truncations": [*last, False], ended: [*last, True]}
    return {"observations": observations, "actions": np.array(actions), "rewards": [1.0] * count, **ends, **more}


def read(folder: Path, source: Path) -> Decisions:
    found = MinariTrajectories(source)
    write_dataset(folder / "set", found.header, found.parts())
    return everything(folder / "set")


def test_boxes_and_discrete_actions_are_read(tmp_path: Path) -> None:
    spaces = pytest.importorskip("gymnasium.spaces")
    seen = np.arange(8, dtype=np.float32).reshape(4, 2)
    episodes = [episode(seen, [3, 4, 3]), episode(seen[:2] + 1, [4], "truncations")]
    source = foreign(tmp_path / "m", spaces.Box(-9, 9, (2,)), spaces.Discrete(2, start=3), episodes)
    data = read(tmp_path, source)
    assert data.observations.tolist() == [[0, 1], [2, 3], [4, 5], [1, 2]]
    assert data.actions[:, 0].tolist() == [0, 1, 0, 1]
    assert data.games.tolist() == [0, 0, 0, 1]
    assert data.returns.tolist() == [3, 2, 1, 1]
    assert data.terminated.tolist() == [False, False, True, False]
    assert data.truncated.tolist() == [False, False, False, True]
    assert (data.masks == 0b11000000).all()


def test_dicts_of_bits_and_several_heads_are_read_with_masks_of_the_infos(tmp_path: Path) -> None:
    spaces = pytest.importorskip("gymnasium.spaces")
    space = spaces.Dict({"a": spaces.MultiBinary(3), "b": spaces.Discrete(2)})
    seen = {"a": np.array([[1, 0, 1], [0, 1, 0]], np.int8), "b": np.array([1, 0])}
    legal = np.array([[1, 0, 1, 1, 1]] * 2, np.int8)
    source = foreign(
        tmp_path / "m", space, spaces.MultiDiscrete([2, 3]), [episode(seen, [[0, 2]], infos={"action_mask": legal})]
    )
    data, header = read(tmp_path, source), MinariTrajectories(source).header
    assert header.observation.bits
    assert header.head_sizes == (2, 3)
    assert np.unpackbits(data.observations[0].numpy(), count=5).tolist() == [1, 0, 1, 0, 1]
    assert np.unpackbits(data.masks[0].numpy(), count=5).tolist() == legal[0].tolist()
    assert data.actions.tolist() == [[0, 2]]


def test_continuous_actions_are_refused(tmp_path: Path) -> None:
    spaces = pytest.importorskip("gymnasium.spaces")
    box = spaces.Box(-1, 1, (1,))
    source = foreign(tmp_path / "m", box, box, [episode(np.zeros((2, 1), np.float32), np.zeros((1, 1), np.float32))])
    with pytest.raises(DataError, match=r"field 'actions': got Box.*must be Discrete"):
        MinariTrajectories(source)


def test_what_is_no_dataset_is_named(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    with pytest.raises(DataError, match="cannot be read as a Minari dataset"):
        MinariTrajectories(tmp_path)
