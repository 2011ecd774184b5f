"""Replacement writes the true states and leaves all else unchanged, token by token."""

from __future__ import annotations

import pytest
from support.language.replies_in_tokens import CodesOf, byte_pairs, tokens_of

from ludory.agents.language.spans import OBSERVATION, PREDICTION
from ludory.algorithms.world_model.replace import replace_states, state_runs

pytest.importorskip("tokenizers")
pytest.importorskip("transformers")

COMPACT = "<think> <observation> P 1 1 X 2 2 O 3 3 </observation> <prediction> P 1 2 X 2 2 O 3 3 </prediction> </think> <answer> Up Left </answer>"
BEFORE, AFTER = "P 4 4 X 1 2 O 3 1", "P 3 3 X 1 2 O 3 1"
PROSE = (
    "<think>I look.\n<observation>\n##P√\n__X_\n</observation> so I go up: <prediction>##_√\n__P_</prediction>. Done</think>"
    "<answer>Up || Up</answer>"
)


@pytest.fixture(scope="module")
def words():
    from ludory.agents.language.small_model import word_tokenizer

    return word_tokenizer()


@pytest.fixture(scope="module")
def characters():
    from ludory.agents.language.small_model import character_tokenizer

    return character_tokenizer()


@pytest.fixture(scope="module", params=[300, 500, 900])
def bytes_(request):
    return byte_pairs([PROSE, COMPACT] * 20, request.param)


def outside(ids, spans):
    return [one for one, span in zip(ids, spans, strict=True) if span not in (OBSERVATION, PREDICTION)]


def test_states_of_a_compact_reply_become_the_true_ones(words):
    ids, spans = tokens_of(COMPACT, words, " ")
    made = replace_states(ids, spans, BEFORE, AFTER, CodesOf(words))
    assert made.reason == ""
    assert made.text == COMPACT.replace("P 1 1 X 2 2 O 3 3", BEFORE).replace("P 1 2 X 2 2 O 3 3", AFTER)
    assert words.decode(made.ids) == made.text
    assert outside(made.ids, made.spans) == outside(ids, spans)
    assert made.spans.count(OBSERVATION) == made.spans.count(PREDICTION) == 9


def test_white_space_around_a_state_stays_as_sampled(characters):
    ids, spans = tokens_of(PROSE, characters)
    made = replace_states(ids, spans, "#_\nP√", "P_\n#√", CodesOf(characters))
    assert made.text == PROSE.replace("##P√\n__X_", "#_\nP√").replace("##_√\n__P_", "P_\n#√")
    assert outside(made.ids, made.spans) == outside(ids, spans)
    assert characters.decode(made.ids) == made.text


def test_tokens_over_the_border_of_a_tag_keep_the_tag(bytes_):
    ids, spans = tokens_of(PROSE, bytes_)
    made = replace_states(ids, spans, "#_\nP√", "P_\n#√", CodesOf(bytes_))
    assert made.reason == ""
    assert made.text == PROSE.replace("##P√\n__X_", "#_\nP√").replace("##_√\n__P_", "P_\n#√")
    assert CodesOf(bytes_).decode(made.ids) == made.text
    states = [
        CodesOf(bytes_).decode([one for one, span in zip(made.ids, made.spans, strict=True) if span == kind])
        for kind in (4, 5)
    ]
    assert states == ["\n#_\nP√\n", "P_\n#√"]


def test_the_same_states_leave_a_reply_as_it_is(characters):
    ids, spans = tokens_of(PROSE, characters)
    made = replace_states(ids, spans, "##P√\n__X_", "##_√\n__P_", CodesOf(characters))
    assert (made.ids, made.spans, made.text) == (ids, spans, PROSE)


def test_two_observations_before_the_prediction_describe_one_moment(words):
    text = "<think> <observation> P 1 1 </observation> <observation> P 2 2 </observation> <prediction> P 3 3 </prediction> </think> <answer> Up </answer>"
    ids, spans = tokens_of(text, words, " ")
    made = replace_states(ids, spans, "P 4 4", "P 5 5", CodesOf(words))
    assert made.text == text.replace("1 1", "4 4").replace("2 2", "4 4").replace("3 3", "5 5")


@pytest.mark.parametrize(
    "inner",
    [
        "<observation> P 1 1 </observation> <prediction> P 2 2 </prediction> <observation> P 2 2 </observation>",
        "<observation> P 1 1 </observation> <prediction> P 2 2 </prediction> <prediction> P 3 3 </prediction>",
    ],
)
def test_states_of_other_moments_leave_the_reply_alone(words, inner):
    text = f"<think> {inner} </think> <answer> Up </answer>"
    ids, spans = tokens_of(text, words, " ")
    made = replace_states(ids, spans, "P 4 4", "P 5 5", CodesOf(words))
    assert (made.reason, made.ids, made.text) == ("other_moment", ids, text)


def test_one_prediction_for_each_action(words):
    text = "<think> <observation> P 1 1 </observation> <prediction> P 2 2 </prediction> Up <prediction> P 3 3 </prediction> </think> <answer> Up Up </answer>"
    ids, spans = tokens_of(text, words, " ")
    made = replace_states(ids, spans, "P 4 4", ["P 5 5", "P 6 6"], CodesOf(words), prediction="action")
    assert made.text == text.replace("1 1", "4 4").replace("2 2", "5 5").replace("3 3", "6 6")
    missing = replace_states(ids, spans, "P 4 4", ["P 5 5"], CodesOf(words), prediction="action")
    assert (missing.reason, missing.ids) == ("other_count", ids)


def test_a_state_that_the_tokenizer_cannot_write_is_refused(words):
    ids, spans = tokens_of(COMPACT, words, " ")
    made = replace_states(ids, spans, "P four four", AFTER, CodesOf(words))
    assert (made.reason, made.ids) == ("round_trip", ids)


def test_runs_are_told_apart_by_what_lies_between():
    assert [tuple(run) for run in state_runs([1, 4, 4, 1, 5, 4, 4, 2])] == [(4, 1, 3), (5, 4, 5), (4, 5, 7)]
