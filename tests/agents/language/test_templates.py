"""Chat templates: conversations grow at their end, or the template is refused with the place that differs."""

from __future__ import annotations

from typing import Any

import pytest

from ludory.agents.language.model import LanguageModel
from ludory.errors import OptionError

from .models import CHAT, byte_level, small

SYSTEM = {"role": "system", "content": "Rules."}
USER = {"role": "user", "content": "State √.\n#_#"}
NEXT = {"role": "user", "content": "Reward: -0.1\nState."}
REPLY = {"role": "assistant", "content": "<think>a</think><answer>Up</answer>"}

DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nYou are kind.<|im_end|>\n{% endif %}" + CHAT
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
STRIPS_THOUGHTS = CHAT.replace(
    "m['content']", "(m['content'].split('</think>')[-1] if m['role'] == 'assistant' else m['content'])"
)
LAST_ONLY = (
    "{% set m = messages[-1] %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n<|im_start|>assistant\n"
)
SYSTEM_LATE = (
    "{% for m in messages %}{% if m['role'] != 'system' %}"
    "{% if loop.last and messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}\n{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endif %}{% endfor %}<|im_start|>assistant\n"
)
COUNTS = "{{ messages | length }}\n" + CHAT
STABLE = {"chat": CHAT, "default system": DEFAULT_SYSTEM, "no system": NO_SYSTEM}


def of(template: str | None, kind: str = "auto") -> LanguageModel:
    return LanguageModel(small("bytes").model, byte_level(template), kind)


@pytest.mark.parametrize("name", [*STABLE, "plain", "words", "characters"])
def test_ids_of_a_turn_are_a_prefix_of_the_next(name: str) -> None:
    if name in ("words", "characters"):
        model, user = small(name), {"role": "user", "content": "P 1 2"}
    else:
        model, user = of(STABLE.get(name), "plain" if name == "plain" else "auto"), USER
    starts: list[list[Any]] = [[user]] if name in ("no system", "words") else [[user], [SYSTEM, user]]
    for messages in starts:
        first = model.template.begin(messages)
        if name != "words":
            assert model.tokenizer.decode(first) == model.template.text(messages)
        reply = model.encode("<think> </think>")
        second = [*first, *reply, *model.template.following([user])]
        assert second[: len(first)] == first
        if name in STABLE:
            whole = [*messages, {"role": "assistant", "content": "<think> </think>"}, user]
            wanted = model.tokenizer.apply_chat_template(whole, tokenize=False, add_generation_prompt=True)
            assert model.tokenizer.decode(second) == wanted == model.template.text(whole)


def test_an_end_token_that_was_sampled_is_not_repeated() -> None:
    model = of(CHAT)
    end = model.tokenizer.eos_token_id
    with_end = model.template.following([NEXT])
    assert with_end[0] == end
    assert model.template.following([NEXT], end) == with_end[1:]
    assert model.template.following([NEXT], 5) == with_end


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (STRIPS_THOUGHTS, r"not prefix-stable: with 3 messages its text differs at character \d+: it writes .*first answer.* where earlier turns need .*first thought"),
        (LAST_ONLY, "leaves out or moves the (user|system) message"),
        (SYSTEM_LATE, "leaves out or moves the (user|system) message"),
        (COUNTS, r"not prefix-stable: with \d messages its text differs at character 0"),
        ("{{ raise_exception('never') }}", "refuses the roles user: never"),
        ("{% for m in %}", "refuses the roles user"),
    ],
)  # fmt: skip
def test_unstable_templates_are_refused_with_the_place_that_differs(template: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as found:
        of(template)
    assert 'template="plain"' in str(found.value)
    assert of(template, "plain").template.begin([USER])


def test_a_template_without_system_messages_says_so() -> None:
    model = of(NO_SYSTEM)
    model.template.begin([USER])
    with pytest.raises(OptionError, match=r'no place for system first; .* or load the model with template="plain"'):
        model.template.begin([SYSTEM, USER])


def test_without_a_template_roles_are_lines() -> None:
    model = of(None)
    assert model.template.kind == "plain"
    assert model.template.text([SYSTEM, USER, REPLY, NEXT]) == (
        "System:\nRules.<|im_end|>\nUser:\nState √.\n#_#<|im_end|>\nAssistant:\n<think>a</think><answer>Up</answer><|im_end|>\n"
        "User:\nReward: -0.1\nState.<|im_end|>\nAssistant:\n"
    )
    with pytest.raises(OptionError, match='template="chat": this tokenizer has no chat template'):
        of(None, "chat")
    with pytest.raises(OptionError, match="template='alpaca': must be auto, chat or plain"):
        of(CHAT, "alpaca")
