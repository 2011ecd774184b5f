"""The reply grammar: a table of replies with verdicts written by hand, and properties that hold for any text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.text.reply import FORMS, PROMPT_MODES, TAGS, parse_reply
from ludory.envs.text_codec import decoder_of_names

TABLE = Path(__file__).parents[2] / "golden" / "text_games" / "replies.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text().splitlines()]
NAMES = ("Up", "Down", "Left", "Right")
decode = decoder_of_names(lambda head, value: NAMES[value], len(NAMES))


def reply_of(row) -> str:
    return row["reply"] if "reply" in row else "".join(part * times for part, times in row["parts"])


def verdict_of(row):
    return parse_reply(reply_of(row), decode, **row.get("options", {}))


def pairs(spans):
    return tuple(tuple(span) for span in spans)


def test_the_table_has_every_form_and_mode():
    assert len(ROWS) >= 200
    assert {row["form"] for row in ROWS} == set(FORMS)
    assert {row.get("options", {}).get("prompt_mode", "base") for row in ROWS} == set(PROMPT_MODES)


@pytest.mark.parametrize("row", ROWS, ids=[f"{number + 1}" for number in range(len(ROWS))])
def test_a_reply_of_the_table_has_its_verdict(row):
    verdict = verdict_of(row)
    got = {
        "form": verdict.form,
        "actions": list(verdict.actions),
        "dropped": verdict.dropped,
        "overflow": verdict.overflow,
        "think": verdict.think,
        "answer": verdict.answer,
    }
    wanted = {
        "form": row["form"],
        "actions": row["actions"],
        "dropped": row.get("dropped", 0),
        "overflow": row.get("overflow", 0),
        "think": tuple(row["think"]) if "think" in row else None,
        "answer": tuple(row["answer"]) if "answer" in row else None,
    }
    assert got == wanted
    if "reply" in row:
        assert verdict.observations == pairs(row.get("observations", ()))
        assert verdict.predictions == pairs(row.get("predictions", ()))
    assert verdict.observation == (verdict.observations or (None,))[0]
    assert verdict.prediction == (verdict.predictions or (None,))[0]


@pytest.mark.parametrize(
    "part",
    [
        "<think>",
        "</think> ",
        "</think>\n\n<",
        "<answer>",
        "<observation>",
        "<observation></observation>",
        " ",
        "||",
        "\ud800",
        "<",
    ],
)
def test_the_time_grows_with_the_length_and_not_with_its_square(part):
    size = 2_000_000  # with its square, it would take an hour
    parse_reply("<think>" + part * (size // len(part)), decode, prompt_mode="world_model")


PIECES = st.lists(st.sampled_from([*TAGS, *NAMES, "||", " ", "\n", "x", "\ud800", "箱", "<", ">", "</"]), max_size=40)


@settings(max_examples=50)
@given(PIECES.map("".join) | st.text(), st.sampled_from(PROMPT_MODES), st.booleans(), st.booleans())
def test_any_text_has_a_verdict_whose_spans_lie_between_their_tags(reply, mode, opened, strict):
    verdict = parse_reply(reply, decode, prompt_mode=mode, opened=opened, strict=strict)
    assert verdict.form in FORMS
    assert all(action in range(4) for action in verdict.actions)
    assert len(verdict.actions) + verdict.dropped <= 5
    spans = [("answer", verdict.answer)]
    spans += [("observation", span) for span in verdict.observations] + [
        ("prediction", span) for span in verdict.predictions
    ]
    for name, span in spans:
        if span is not None:
            assert reply[: span[0]].endswith(f"<{name}>")
            assert reply[span[1] :].startswith(f"</{name}>")
            assert f"</{name}>" not in reply[slice(*span)]
    if verdict.think is not None:
        assert reply[verdict.think[1] :].startswith("</think>")
        assert opened or reply[: verdict.think[0]].endswith("<think>")
        assert all(verdict.think[0] <= start <= end <= verdict.think[1] for _, (start, end) in spans[1:])
    if verdict.form == "ok":
        assert verdict.actions
        assert verdict.dropped == 0


@settings(max_examples=100)
@given(PIECES.map("".join), st.sampled_from(PROMPT_MODES))
def test_strict_replies_differ_only_in_what_is_executed(reply, mode):
    loose, strict = (parse_reply(reply, decode, prompt_mode=mode, strict=strict) for strict in (False, True))
    assert strict == (loose if loose.form == "ok" else loose._replace(actions=()))


@settings(max_examples=100)
@given(PIECES.map("".join), st.sampled_from(("base", "world_model")))
def test_an_opening_tag_in_the_prompt_counts_as_one_in_the_reply(reply, mode):
    short = parse_reply(reply, decode, prompt_mode=mode, opened=True)
    if not reply.lstrip().startswith("<think>"):
        long = parse_reply("<think>" + reply, decode, prompt_mode=mode)
        assert (short.form, short.actions) == (long.form, long.actions)
