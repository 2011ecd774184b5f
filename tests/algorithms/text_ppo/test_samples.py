"""Episodes that are kept to look at: which ones, what they hold, and that they stay with their run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ludory.agents.language.model import LanguageModel
from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.loss import TokenOutputs
from ludory.algorithms.text_ppo.samples import MOST_ITERATIONS, SampledEpisode, SampleKeeper, read_samples
from ludory.algorithms.text_ppo.targets import BatchTargets
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.errors import CheckpointError


@pytest.fixture
def targets(batch: TokenBatch) -> BatchTargets:
    """Token k has the advantage k / 100."""
    number = torch.arange(len(batch.ids)) / 100
    return BatchTargets(torch.from_numpy(batch.sampled), number, number, TokenOutputs(number, number, None), None, None)


def noted(
    batch: TokenBatch, targets: BatchTargets, model: LanguageModel, iterations: int, every: int = 1
) -> SampleKeeper:
    keeper = SampleKeeper(every)
    for iteration in range(iterations):
        keeper.note(iteration, batch, targets, model.decode_with_offsets)
    return keeper


def test_an_episode_is_what_was_read_and_written(
    batch: TokenBatch, targets: BatchTargets, model: LanguageModel
) -> None:
    for one in noted(batch, targets, model, 1).episodes:
        (number,) = (
            k
            for k in range(batch.num_episodes)
            if f"{batch.room_hashes[k]:016x}" == one.room and _is(batch, k, model, one)
        )
        lists = np.flatnonzero(batch.episode == number)
        for tokens, place in zip(one.lists, lists, strict=True):
            part = slice(int(batch.starts[place]), int(batch.starts[place + 1]))
            assert "".join(token.text for token in tokens) == model.decode(batch.ids[part].tolist())
            assert [token.span for token in tokens] == batch.spans[part].tolist()
            learnt = [token.advantage for token in tokens]
            assert learnt == [round(k / 100, 4) if batch.sampled[k] else None for k in range(part.start, part.stop)]
        assert one.score == batch.scores[number]
        assert sum(one.rewards) == pytest.approx(batch.turn_rewards[number].sum())


def _is(batch: TokenBatch, number: int, model: LanguageModel, one: SampledEpisode) -> bool:
    """Whether an episode begins where a kept one does: advantages number the tokens."""
    first = next(token.advantage for tokens in one.lists for token in tokens if token.advantage is not None)
    return int(batch.token_episode[round(first * 100)]) == number


def test_the_rooms_that_differ_most_are_shown(batch: TokenBatch, targets: BatchTargets, model: LanguageModel) -> None:
    spread = {f"{batch.room_hashes[k]:016x}": 0.0 for k in range(batch.num_episodes)}
    for group in np.unique(batch.groups):
        members = batch.groups == group
        spread[f"{batch.room_hashes[members][0]:016x}"] = float(np.ptp(batch.scores[members]))
    shown = noted(batch, targets, model, 1).episodes
    best = sorted(spread.values(), reverse=True)[: len({one.room for one in shown})]
    assert sorted((spread[room] for room in {one.room for one in shown}), reverse=True) == best
    for room in {one.room for one in shown}:
        scores = [one.score for one in shown if one.room == room]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] - scores[-1] == spread[room]


def test_the_beginning_and_the_end_of_a_long_run_stay(
    batch: TokenBatch, targets: BatchTargets, model: LanguageModel
) -> None:
    kept = sorted({one.iteration for one in noted(batch, targets, model, 120, every=3).episodes})
    assert (kept[0], kept[-1]) == (1, 118)
    assert 3 < len(kept) <= MOST_ITERATIONS
    assert all(one % 3 == 1 for one in kept)
    assert not noted(batch, targets, model, 5, every=0).episodes


def test_they_are_written_and_read(
    batch: TokenBatch, targets: BatchTargets, model: LanguageModel, tmp_path: Path
) -> None:
    keeper = noted(batch, targets, model, 2)
    keeper.write(tmp_path)
    assert read_samples(tmp_path) == keeper.episodes
    assert read_samples(tmp_path / "nowhere") == []


@pytest.mark.parametrize("damage", ["{", "[1]", "{}", '{"lists": [[["a"]]]}', "\\ud800", "[" * 5000])
def test_a_damaged_line_is_named(
    batch: TokenBatch, targets: BatchTargets, model: LanguageModel, tmp_path: Path, damage: str
) -> None:
    noted(batch, targets, model, 1).write(tmp_path)
    file = tmp_path / "samples.jsonl"
    whole = file.read_text().splitlines()
    file.write_text("\n".join([whole[0], damage]))
    with pytest.raises(CheckpointError, match=r"samples\.jsonl, line 2: is no episode"):
        read_samples(tmp_path)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_samples(tmp_path)


@pytest.mark.slow
def test_they_stay_with_the_checkpoint(written: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "env_preset": "compact",
        "groups": 2,
        "group_size": 4,
        "max_new_tokens": 12,
        "filter": "none",
    }
    options |= {"val_every": 0, "val_first": False, "samples_every": 2, "iterations": 6}
    model = TextPPO(written, "Sokoban-v0", **options)
    model.learn(3 * 8)
    model.save(tmp_path / "run")
    assert {one.iteration for one in read_samples(tmp_path / "run")} == {1, 3}
    resumed = TextPPO.load(tmp_path / "run")
    resumed.learn(2 * 8, reset_num_timesteps=False)
    resumed.save(tmp_path / "run")
    assert {one.iteration for one in read_samples(tmp_path / "run")} == {1, 3, 5}
    file = tmp_path / "run" / "samples.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"score": 99.0})]))
    with pytest.raises(CheckpointError, match=r"samples\.jsonl"):
        TextPPO.load(tmp_path / "run")
