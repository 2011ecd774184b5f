"""Tokens in, tokens out: what was sampled stays as it was sampled."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from games.corridor import corridor

from ludory.agents.language.episode import TokenEpisode
from ludory.agents.language.generators import Generation, Sampling, make_generator
from ludory.agents.language.spans import ANSWER, OBSERVATION, PREDICTION, PROMPT
from ludory.envs.text.reply import parse_reply
from ludory.envs.text.text_env import TextEnv
from ludory.envs.text_codec import Decoded
from ludory.errors import ConformanceError, OptionError

from .models import small

NOTHING = SimpleNamespace(think=None, answer=None, observations=(), predictions=())


def generation(ids: list[int]) -> Generation:
    return Generation(ids, [-1.0] * len(ids), "stop")


def play(
    vocabulary: str, env: TextEnv, drawn: random.Random, history: Any
) -> list[list[tuple[TokenEpisode, list[int]]]]:
    """Play random tokens in all rows; returns each row's prompts as they were before each reply."""
    model = small(vocabulary)
    episodes = [TokenEpisode(model, history) for _ in range(env.num_episodes)]
    asked: list[list[tuple[TokenEpisode, list[int]]]] = [[] for _ in episodes]
    turns = env.reset()
    for turn in turns:
        episodes[turn.row].begin(turn.messages)
    size = len(model.tokenizer)
    while turns:
        replies = []
        for turn in turns:
            asked[turn.row].append((episodes[turn.row], list(episodes[turn.row].ids)))
            ids = drawn.choices(range(3, size), k=drawn.randrange(1, 12))
            if drawn.random() < 0.3:
                ids += model.encode("<think> </think> <answer> Left </answer>")
            if drawn.random() < 0.3:
                ids.append(model.tokenizer.eos_token_id)
            replies.append(ids)
        rows = [turn.row for turn in turns]
        turns = env.step([model.decode(ids) for ids in replies])
        for row, ids in zip(rows, replies, strict=True):
            episodes[row].add_reply(generation(ids), env.records[row][-1].verdict)
            assert episodes[row].ids[-len(ids) :] == ids
        for turn in turns:
            new = turn.messages[-1:] if history == "full" else turn.messages
            episodes[turn.row].add_environment(new)
    return asked


@pytest.mark.parametrize("vocabulary", ["bytes", "characters"])
def test_ids_of_a_turn_are_a_prefix_of_the_next_over_random_episodes(vocabulary: str) -> None:
    """100 episodes each, with any tokens as replies, broken characters included."""
    env = TextEnv(corridor(), 100, seed=5, turns=5)
    for row in play(vocabulary, env, random.Random(7), "full"):
        episode, _ = row[-1]
        assert len(episode.pieces) == 1
        for _, ids in row:
            assert episode.ids[: len(ids)] == ids
        assert len(episode.ids) == len(episode.spans) == len(episode.turns) == len(episode.logprobs)
        assert sorted(set(episode.turns)) == list(range(-1, len(row)))
        assert all(
            (span == PROMPT) == (logprob == 0) for span, logprob in zip(episode.spans, episode.logprobs, strict=True)
        )


def test_without_history_each_turn_is_a_list_of_its_own() -> None:
    env = TextEnv("Sokoban-v0", 8, preset="compact", prompt_mode="world_model", seed=5)
    for row in play("words", env, random.Random(3), "none"):
        episode, _ = row[-1]
        assert len(episode.pieces) == len(row)
        for k, (piece, (_, ids)) in enumerate(zip(episode.pieces, row, strict=True)):
            assert piece.ids[: len(ids)] == ids
            assert set(piece.spans[: len(ids)]) == {PROMPT}
            assert PROMPT not in piece.spans[len(ids) :]
            assert set(piece.turns[len(ids) :]) == {k}


def test_the_text_of_a_conversation_is_that_of_the_chat_template() -> None:
    model = small("bytes")
    system, user = {"role": "system", "content": "Rules."}, {"role": "user", "content": "State √."}
    episode = TokenEpisode(model)
    episode.begin([system, user])
    reply = model.encode("<think>a</think><answer>Up</answer>")
    episode.add_reply(generation([*reply, model.tokenizer.eos_token_id]), NOTHING)
    episode.add_environment([user])
    said = {"role": "assistant", "content": "<think>a</think><answer>Up</answer>"}
    wanted = model.tokenizer.apply_chat_template([system, user, said, user], tokenize=False, add_generation_prompt=True)
    assert model.tokenizer.decode(episode.ids) == wanted


def test_spans_of_a_world_model_reply() -> None:
    model = small("words")
    episode = TokenEpisode(model, "none")
    episode.begin([{"role": "user", "content": "WM 10 <state> # P"}])
    text = "<think> <observation> P 1 2 </observation> <prediction> P 1 3 </prediction> </think> <answer> Up Left </answer>"
    verdict = parse_reply(text, lambda item: Decoded(0), prompt_mode="world_model", separator=" ")
    assert verdict.form == "ok"
    episode.add_reply(generation(model.encode(text)), verdict)
    kinds = {
        kind: [model.decode([id]) for id, span in zip(episode.ids, episode.spans, strict=True) if span == kind]
        for kind in range(6)
    }
    assert kinds[PROMPT] == ["WM", "10", "<state>", "#", "P"]
    assert kinds[OBSERVATION] == ["P", "1", "2"]
    assert kinds[PREDICTION] == ["P", "1", "3"]
    assert kinds[ANSWER] == ["Up", "Left"]


def test_sampled_tokens_go_in_as_they_are() -> None:
    """A byte-level reply that a tokenizer would cut in other places, with half a character in it."""
    model = small("bytes")
    ids = [*model.encode("<"), *model.encode("think"), *model.encode("🙂")[:2], *model.encode(">")]
    episode = TokenEpisode(model)
    episode.begin([{"role": "user", "content": "Go."}])
    start = len(episode.ids)
    episode.add_reply(generation(ids), NOTHING)
    assert episode.ids[start:] == ids
    assert model.encode(model.decode(ids)) != ids


def test_tokens_that_were_changed_are_noticed() -> None:
    model = small("words")
    episode = TokenEpisode(model)
    episode.begin([{"role": "user", "content": "P 1 2"}])
    episode.ids[0] += 1
    with pytest.raises(ConformanceError, match="tokens of an episode were changed before turn 0"):
        episode.add_reply(generation([5]), NOTHING)


def test_turns_and_replies_alternate() -> None:
    model = small("words")
    episode = TokenEpisode(model)
    with pytest.raises(OptionError, match="call begin"):
        episode.add_environment([{"role": "user", "content": "P"}])
    with pytest.raises(OptionError, match="a reply without a turn before it"):
        episode.add_reply(generation([5]), NOTHING)
    episode.begin([{"role": "user", "content": "P"}])
    with pytest.raises(OptionError, match="before the reply to the last one"):
        episode.add_environment([{"role": "user", "content": "P"}])
    with pytest.raises(OptionError, match="history=3: must be full or none"):
        TokenEpisode(model, 3)  # type: ignore[arg-type]


def test_generations_of_a_backend_are_added_as_sampled() -> None:
    model = small("characters")
    episode = TokenEpisode(model)
    episode.begin([{"role": "user", "content": "Go."}])
    prompt = list(episode.ids)
    found = make_generator(model).generate([prompt], Sampling(max_new_tokens=15), [1])[0]
    episode.add_reply(found, NOTHING)
    assert episode.ids == prompt + found.ids
    assert episode.logprobs[len(prompt) :] == found.logprobs
