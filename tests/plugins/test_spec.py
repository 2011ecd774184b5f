"""What people type is taken apart; what cannot be is answered with what to type."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ludory.errors import OptionError
from ludory.plugins.spec import Spec, parse_spec, parse_value


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("random", Spec("random")),
        (" hanabi/iggi ", Spec("hanabi/iggi")),
        ("net-v1()", Spec("net-v1")),
        ("pimc(worlds=10)", Spec("pimc", (), {"worlds": 10})),
        ("sparta(hanabi/smartbot, joint=True)", Spec("sparta", ("hanabi/smartbot",), {"joint": True})),
        (
            "sparta(pimc(worlds=10, base=random), joint=true)",
            Spec("sparta", ("pimc(worlds=10, base=random)",), {"joint": True}),
        ),
        ("mix([1, 2], weights=(0.5, 0.5))", Spec("mix", ([1, 2],), {"weights": (0.5, 0.5)})),
        ("say('a, b) c', x=none)", Spec("say", ("a, b) c",), {"x": None})),
        ("pimc(base=run/x.ludory)", Spec("pimc", (), {"base": "run/x.ludory"})),
        ("run/hanabi.ludory", Spec("run/hanabi.ludory", checkpoint=True)),
        ("my runs/a (1), b.ludory", Spec("my runs/a (1), b.ludory", checkpoint=True)),
        (
            "run/hanabi.ludory(deterministic=False)",
            Spec("run/hanabi.ludory", (), {"deterministic": False}, checkpoint=True),
        ),
    ],
)
def test_specs_are_read(text: str, spec: Spec) -> None:
    assert parse_spec(text) == spec


def test_an_existing_file_of_any_name_is_a_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "model (best)"
    file.touch()
    assert parse_spec(str(file)) == Spec(str(file), checkpoint=True)
    assert not parse_spec("random").checkpoint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a name"),
        ("(3)", "is not a name"),
        ("two words", "is not a name"),
        ("pimc(10", "is not a name"),
        ("pimc)", "is not a name"),
        ("pimc(a(1)", "lacks a closing"),
        ("pimc('a)", "lacks a closing"),
        ("pimc(a])", "too many"),
        ("pimc(a=1, 2)", "values first"),
        ("pimc(1,,2)", "values first"),
        ("pimc(a=1, a=2)", "gives a twice"),
    ],
)
def test_what_can_not_be_read_is_refused(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        parse_spec(text)


literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no fault of the values drawn
@given(
    st.lists(literals, max_size=3), st.dictionaries(st.from_regex("[a-z_]{1,8}", fullmatch=True), literals, max_size=3)
)
def test_python_literals_survive(args: list[object], kwargs: dict[str, object]) -> None:
    text = ", ".join([*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])
    assert parse_spec(f"agent({text})") == Spec("agent", tuple(args), kwargs)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(OptionError):
        assert parse_spec(text).name


def test_values_are_literals_or_text() -> None:
    assert [parse_value(text) for text in ("3", "0.5", "False", "false", "None", "keep", "'3'", "1-2")] == [
        3, 0.5, False, False, None, "keep", "3", "1-2",
    ]  # fmt: skip
