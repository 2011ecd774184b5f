"""Masks train exactly the text that their names say, with tokens of words, characters and bytes."""

from __future__ import annotations

import numpy as np
import pytest
from support.language.replies_in_tokens import CodesOf, byte_pairs, tokens_of

from ludory.algorithms.world_model.masks import IGNORED, TRAINED, hide_states, span_weights, targets
from ludory.errors import OptionError

pytest.importorskip("tokenizers")
pytest.importorskip("transformers")

REPLY = "<think>a <observation>#P</observation> b <prediction>P#</prediction></think><answer>Up || Left</answer>"
PROMPT = "State: #P\n"
EXPECTED = {
    "think_answer": REPLY,
    "states": "#PP#",
    "states_tags": "<think><observation>#P</observation><prediction>P#</prediction></think><answer></answer>",
    "all_but_states": "<think>a <observation></observation> b <prediction></prediction></think><answer>Up || Left</answer>",
    "placeholder": "<think>a <observation></observation> b <prediction></prediction></think><answer>Up || Left</answer>",
}


@pytest.fixture(scope="module")
def row():
    from ludory.agents.language.small_model import character_tokenizer

    tokenizer = character_tokenizer()
    prompt = CodesOf(tokenizer).encode(PROMPT)
    ids, spans = tokens_of(REPLY, tokenizer)
    return tokenizer, prompt + ids, [0] * len(prompt) + spans


@pytest.mark.parametrize("mask", TRAINED)
def test_a_mask_trains_exactly_its_text(row, mask):
    tokenizer, ids, spans = row
    found = targets(ids, spans, span_weights(mask))
    trained = [one for one, label in zip(ids, found.labels, strict=True) if label != IGNORED]
    assert CodesOf(tokenizer).decode(trained) == EXPECTED[mask]
    assert np.array_equal(found.weights > 0, found.labels != IGNORED)
    assert all(label in (IGNORED, one) for one, label in zip(ids, found.labels, strict=True))


def test_weights_by_span(row):
    _, ids, spans = row
    found = targets(ids, spans, span_weights(weights={"prediction": 2.0, "answer": 0.5}))
    assert sorted(set(found.weights[np.array(spans) == 5])) == [2.0]
    assert sorted(set(found.weights[np.array(spans) == 3])) == [0.5]
    assert not found.weights[np.isin(spans, (0, 1, 2, 4))].any()


def test_one_token_hides_a_state_with_its_tags(row):
    tokenizer, ids, spans = row
    hidden, kinds = hide_states(ids, spans, CodesOf(tokenizer), 0)
    place = hidden.index(0)
    assert CodesOf(tokenizer).decode(hidden) == PROMPT + "<think>a <pad> b <pad></think><answer>Up || Left</answer>"
    assert kinds[place] == 0
    assert 4 not in kinds
    assert 5 not in kinds
    shown = [
        one
        for one, label in zip(hidden, targets(hidden, kinds, span_weights("placeholder")).labels, strict=True)
        if label != IGNORED
    ]
    assert CodesOf(tokenizer).decode(shown) == "<think>a  b </think><answer>Up || Left</answer>"


def test_one_token_hides_a_state_of_bytes_too():
    tokenizer = byte_pairs([REPLY] * 20, 300)
    ids, spans = tokens_of(REPLY, tokenizer)
    mark = tokenizer.add_tokens(["<masked_state>"]) and tokenizer.convert_tokens_to_ids("<masked_state>")
    text = CodesOf(tokenizer).decode(hide_states(ids, spans, CodesOf(tokenizer), mark)[0])
    assert text.count("<masked_state>") == 2
    assert not any(part in text for part in ("#P", "P#", "observation", "prediction"))


def test_states_warns_and_names_the_mask_that_keeps_the_form(capsys):
    span_weights("states")
    assert "states_tags" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mask": "thoughts"}, "must be one of think_answer, states"),
        ({"weights": {"observations": 1.0}}, "no span is called 'observations'"),
        ({"weights": {"think": -1.0}}, "think=-1.0 must be a finite number"),
        ({"weights": {"think": 0.0}}, "train nothing"),
    ],
)
def test_wrong_names_and_weights_are_named(arguments, said):
    with pytest.raises(OptionError, match=said):
        span_weights(**arguments)
