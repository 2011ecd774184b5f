"""Texts become tokens, tokens become texts with offsets, and offsets become spans."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import character_tokenizer, make_small_model, word_tokenizer
from ludory.agents.language.spans import ANSWER, OBSERVATION, OTHER, PREDICTION, SPAN_NAMES, THINK, token_spans
from ludory.envs.text.reply import parse_reply
from ludory.envs.text.text_env import TextEnv
from ludory.envs.text_codec import Decoded
from ludory.errors import OptionError

from .models import CORPUS, small

REPLY = (
    "<think> <observation> P 1 2 X 2 2 O 4 4 </observation> <prediction> P 2 2 X 3 2 O 4 4 </prediction> </think> "
    "<answer> Down Down </answer>"
)
PARTS = {
    OBSERVATION: " P 1 2 X 2 2 O 4 4 ",
    PREDICTION: " P 2 2 X 3 2 O 4 4 ",
    ANSWER: " Down Down ",
}


def spans_of(model: LanguageModel, ids: list[int], mode: str = "world_model") -> np.ndarray:
    text, offsets = model.decode_with_offsets(ids)
    verdict = parse_reply(text, lambda item: Decoded(0), prompt_mode=mode, separator=" ")
    return token_spans(offsets, verdict, len(text))


def pieces(model: LanguageModel, ids: list[int], spans: np.ndarray, kind: int) -> list[str]:
    text, offsets = model.decode_with_offsets(ids)
    return [text[a:b] for (a, b), span in zip(offsets, spans, strict=True) if span == kind]


def test_words_of_compact_texts_are_36_and_survive_a_round_trip() -> None:
    model = small("words")
    assert len(word_tokenizer()) == 36
    env = TextEnv("Sokoban-v0", 4, preset="compact", prompt_mode="world_model", seed=3)
    for turn in env.reset():
        ids, offsets = model.encode_with_offsets(turn.text)
        assert len(ids) == len(turn.text.split())
        assert model.decode_with_offsets(ids) == (turn.text, offsets)


def test_words_of_another_game() -> None:
    model = make_small_model("words", game="FrozenLakeFirm-v0", layers=1, hidden=8, heads=2)
    turn = TextEnv("FrozenLakeFirm-v0", 1, preset="compact", seed=3).reset()[0]
    assert model.decode(model.encode(turn.text)) == turn.text


def test_characters_are_121_and_survive_a_round_trip_exactly() -> None:
    model = small("characters")
    assert len(character_tokenizer()) == 121
    texts = [
        turn.text for turn in TextEnv("Sokoban-v0", 2, prompt_mode="world_model", style="grid_coord", seed=1).reset()
    ]
    for text in [*texts, "  two  spaces\n\n\ttab and  end \n", "<think></think>< think ></answer", REPLY]:
        ids, offsets = model.encode_with_offsets(text)
        assert model.decode_with_offsets(ids) == (text, offsets)
    assert len(model.encode("<observation>")) == 1


@pytest.mark.parametrize("vocabulary", ["words", "characters"])
def test_a_text_beyond_the_vocabulary_is_refused_by_name(vocabulary: str) -> None:
    with pytest.raises(OptionError, match=r"no token for '日本?'"):
        small(vocabulary).encode("P 日本")


@pytest.mark.parametrize("vocabulary", ["bytes", "metaspace"])
@pytest.mark.parametrize("text", CORPUS)
def test_offsets_of_whole_texts_are_those_of_the_tokenizer(vocabulary: str, text: str) -> None:
    model = small(vocabulary)
    ids = model.encode(text)
    found, offsets = model.decode_with_offsets(ids)
    assert found == text
    assert (offsets[0][0], offsets[-1][1]) == (0, len(text))
    assert all(a[0] <= b[0] <= a[1] for a, b in pairwise(offsets))


def test_tokens_of_one_character_share_its_span() -> None:
    model = small("bytes")
    ids = model.encode("a🙂b")
    _, offsets = model.decode_with_offsets(ids)
    assert len(ids) > 4
    assert offsets == [(0, 1), *[(1, 2)] * (len(ids) - 2), (2, 3)]


@given(st.lists(st.integers(0, 332), max_size=40))
@settings(max_examples=200)
def test_any_bytes_have_the_text_of_the_tokenizer(ids: list[int]) -> None:
    """Sampled bytes need not be text; broken characters are written as U+FFFD."""
    model = small("bytes")
    text, offsets = model.decode_with_offsets(ids)
    silent = model.ends | {model.tokenizer.pad_token_id}
    assert text == model.tokenizer.decode([id for id in ids if id not in silent], clean_up_tokenization_spaces=False)
    assert len(offsets) == len(ids)
    assert all(0 <= start <= end <= len(text) for start, end in offsets)


def test_an_output_without_a_token_writes_nothing() -> None:
    """Models often have more outputs than their tokenizer has tokens."""
    for vocabulary in ("words", "bytes"):
        assert small(vocabulary).decode([5000]) == ""


@pytest.mark.parametrize("vocabulary", ["words", "characters", "bytes", "metaspace"])
def test_spans_are_exactly_the_text_between_the_tags(vocabulary: str) -> None:
    model = small(vocabulary)
    ids = [*model.encode(REPLY), model.tokenizer.eos_token_id]
    spans = spans_of(model, ids)
    assert len(spans) == len(ids)
    assert spans.dtype == np.int8
    assert spans[-1] == OTHER
    for kind, text in PARTS.items():
        got = (" " if vocabulary == "words" else "").join(pieces(model, ids, spans, kind))
        if vocabulary == "words":
            assert got == text.strip()
        else:  # merged tokens begin in the part, and may reach over its end
            assert got.startswith(text.rstrip()), SPAN_NAMES[kind]
            assert len(got) <= len(text) + 3
    if vocabulary == "characters":
        for kind, text in PARTS.items():
            assert "".join(pieces(model, ids, spans, kind)) == text
        assert "".join(pieces(model, ids, spans, THINK)) == "   "
        tags = "".join(pieces(model, ids, spans, OTHER)).replace("\n", "")
        assert tags.split() == [
            "<think><observation></observation><prediction></prediction></think>",
            "<answer></answer>",
        ]


def test_a_token_over_a_border_belongs_to_the_earlier_part() -> None:
    """Offsets as of a tokenizer that merges the end of the thought with the tag, and the tag with the answer's start."""
    text = "<think>go</think><answer>Up</answer>"
    verdict = parse_reply(text, lambda item: Decoded(0))
    offsets = [(0, 7), (7, 8), (8, 12), (12, 17), (17, 26), (26, 27), (27, 31), (31, 36)]
    assert [text[a:b] for a, b in offsets][2] == "o</t"
    assert token_spans(offsets, verdict, len(text)).tolist() == [
        OTHER, THINK, THINK, OTHER, OTHER, ANSWER, OTHER, OTHER
    ]  # fmt: skip


def test_a_thought_keeps_its_words_around_states() -> None:
    model = small("characters")
    text = "<think>a<observation>b</observation>c<prediction>d</prediction>e</think><answer>f</answer>"
    ids = model.encode(text)
    spans = spans_of(model, ids)
    assert pieces(model, ids, spans, THINK) == ["a", "c", "e"]
    assert pieces(model, ids, spans, OBSERVATION) == ["b"]
    assert pieces(model, ids, spans, PREDICTION) == ["d"]


@pytest.mark.parametrize("text", ["", "no tags at all", "<answer>Up", "</think><answer></answer>"])
def test_broken_replies_have_spans(text: str) -> None:
    model = small("characters")
    ids = model.encode(text)
    assert set(spans_of(model, ids).tolist()) <= {OTHER, THINK}


def test_a_word_with_white_space_cannot_be_a_token() -> None:
    with pytest.raises(OptionError, match="'Turn Left' cannot be a token"):
        word_tokenizer(actions=("Turn Left",))
