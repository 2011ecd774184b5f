"""Batches of tokens: what counts, where rewards lie, and that nothing is lost when episodes are chosen or packed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from ludory.agents.language.generators import Sampling, make_generator
from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.rollout import collect, reply_seeds
from ludory.envs.text.text_env import TextEnv


def by_hand() -> TokenBatch:
    """Two episodes: one list with two turns, and two lists with a turn each; letters are prompts, digits are sampled."""
    #        a  b  0  1  c  2  | a  0 | d  1  2
    spans = [0, 0, 1, 2, 0, 3, 0, 1, 0, 2, 3]
    turns = [-1, -1, 0, 0, 0, 1, -1, 0, 0, 1, 1]
    return TokenBatch(
        ids=np.arange(11),
        spans=np.array(spans, np.int8),
        turns=np.array(turns),
        sampler_log_probs=np.zeros(11, np.float32),
        starts=np.array([0, 6, 8, 11]),
        episode=np.array([0, 1, 1]),
        groups=np.array([4, 5]),
        scores=np.array([3.0, 1.5]),
        turn_rewards=np.array([[1.0, 2.0], [1.0, 1.0]]),  # the score of the second has a penalty of 0.5
        success=np.array([True, False]),
        room_hashes=np.array([7, 8], np.uint64),
    )


def test_what_is_learnt_from():
    batch = by_hand()
    assert batch.decided().nonzero()[0].tolist() == [2, 3, 5, 7, 9, 10]
    # Without the mask, the environment's token after the first reply of the first list.
    assert batch.decided(response_mask=False).nonzero()[0].tolist() == [2, 3, 4, 5, 7, 9, 10]


def test_rewards_lie_on_last_tokens():
    batch = by_hand()
    assert batch.token_rewards("turn").tolist() == [0, 0, 0, 1, 0, 2, 0, 1, 0, 0, 0.5]
    assert batch.token_rewards("episode").tolist() == [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1.5]
    assert batch.token_rewards("turn").sum() == batch.scores.sum()


def test_columns_are_episodes():
    batch = by_hand()
    rewards = torch.from_numpy(batch.token_rewards("turn"))
    columns, place = batch.columns(rewards, torch.arange(11.0), torch.from_numpy(batch.decided()))
    assert columns.values.T.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 0]]
    assert columns.valid.T.tolist() == [[True] * 6, [True] * 5 + [False]]
    assert torch.equal(columns.values[place], torch.arange(11.0))
    assert (columns.turns[1:] >= columns.turns[:-1])[columns.valid[1:]].all()


def test_chosen_episodes_are_whole():
    batch = by_hand()
    second = batch.select(np.array([False, True]))
    assert second.ids.tolist() == [6, 7, 8, 9, 10]
    assert second.starts.tolist() == [0, 2, 5]
    assert second.episode.tolist() == [0, 0]
    assert second.groups.tolist() == [5]
    assert second.token_rewards("turn").tolist() == [0, 1, 0, 0, 0.5]


def test_packs_hold_every_list_once(batch):
    lists = np.arange(len(batch.episode))
    packs = list(batch.packs(lists, 300))
    assert sorted(np.concatenate(packs).tolist()) == lists.tolist()
    seen = np.zeros(len(batch.ids), int)
    for pack in packs:
        ids, numbers = batch.padded(pack, pad=99)
        assert ids.size <= 300 or len(pack) == 1
        assert (batch.ids[numbers[numbers >= 0]] == ids[numbers >= 0]).all()
        assert (ids[numbers < 0] == 99).all()
        np.add.at(seen, numbers[numbers >= 0], 1)
    assert (seen == 1).all()


def test_minibatches_hold_whole_episodes(batch):
    parts = list(batch.minibatches(3, np.random.default_rng(0)))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(batch.episode)))
    assert not any(set(batch.episode[a]) & set(batch.episode[b]) for a, b in pairwise(parts))


def test_what_was_played_is_what_was_sampled(model, batch):
    replies = [record.reply for turns in batch.records for record in turns]
    starts = batch.starts
    lists = [slice(starts[k], starts[k + 1]) for k in range(len(batch.episode))]
    assert len(lists) == len(replies)  # history none: one list per turn
    for part, reply in zip(lists, replies, strict=True):
        assert model.decode(batch.ids[part][batch.sampled[part]].tolist()) == reply
    assert (batch.sampler_log_probs[batch.sampled] < 0).all()
    assert not batch.sampler_log_probs[~batch.sampled].any()
    assert (batch.groups == [0, 0, 0, 0, 1, 1, 1, 1]).all()
    assert len(set(batch.room_hashes.tolist())) == 2


def test_full_histories_are_one_list(model):
    env = TextEnv("Sokoban-v0", 2, preset="compact", history="full", turns=2, seed=3)
    batch = collect(model, make_generator(model, "hf"), env, Sampling(max_new_tokens=4), seed=5)
    assert len(batch.episode) == 2
    assert batch.turns.max() == 1
    assert np.unique(batch.token_rewards("turn").nonzero()[0]).size <= 4


def test_equal_seeds_play_equal_episodes(model):
    played = []
    for _ in range(2):
        env = TextEnv("Sokoban-v0", 4, group_size=2, preset="compact", seed=0)
        played.append(collect(model, make_generator(model, "hf"), env, Sampling(max_new_tokens=6), 1, env_seed=9))
    assert (played[0].ids == played[1].ids).all()


def test_seeds_of_replies_differ():
    rows, turns = (part.ravel() for part in np.meshgrid(np.arange(100), np.arange(1, 6)))
    seeds = np.concatenate([reply_seeds(seed, rows, turns) for seed in range(4)])
    assert len(np.unique(seeds)) == len(seeds)
    assert (seeds >= 0).all()
    shares = seeds / 2**63
    assert shares.mean() == pytest.approx(0.5, abs=0.03)
