"""A kernel that writes beside its arrays or is no kernel at all ends in one sentence that names it and its line, and Python lives."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from games import nim as games
from games.high_card import HIGH_CARD, legal, step

from ludory.envs.engine.binding.kernel_faults import RULES
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.kernels import kernel
from ludory.errors import KernelError
from ludory.testing.properties.outcomes import seats_take_turns
from ludory.testing.trial import Trial

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def verdicts():
    """By the name of the fault, from another process: compiled, most of these games end Python."""
    done = subprocess.run([sys.executable, str(HERE / "faulty_games.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FAULTS = {
    "reset": ("reset", "state.cards[i, 2] = 0", "writes state.cards[1, 2], outside its shape (3, 2)"),
    "step": ("step", "state.cards[i, int(state.turn[i])] += 0", "reads state.cards[1, 2], outside its shape (3, 2)"),
    "legal": ("legal", "mask[3] = False", "writes mask[3], outside its shape (3,)"),
    "observe": ("observe", "out[CARDS + TURNS + 2 + SIDES] = 1", "writes out[15], outside its shape (15,)"),
    "negative": ("observe", "out[int(state.raises[i]) - 1] = 1", "writes out[-1], outside its shape (15,)"),
    "redeal": ("redeal", "state.cards[i, seat + 1]", "reads state.cards[1, 2], outside its shape (3, 2)"),
    "used": ("used", "out[1] = True", "writes out[1], outside its shape (1,)"),
    "critic": ("critic", "out[int(state.cards[i, 1 - seat]) + 2] = 1", "outside its shape (6,)"),
    "half": ("step", "int(state.raises[i]) + 0.5", "writes 0.5 to state.raises, which is int8 and would keep 0"),
    "name": ("observe", "out[CADRS] = 1", "there is no 'CADRS'"),
    "text": ("observe", 'name = f"card', "makes a text"),
    "list": ("legal", "allowed = [0,", "makes a list"),
    "comprehension": ("legal", "for action in [a for a", "makes a list"),
    "plain function": ("observe", "out[twice(seat)] = 1", "calls `twice`, which is not marked with `@kernel`"),
    "decorator": ("step", "def forgets_the_decorator", "the kernel `step`, is not marked with `@kernel`"),
    "field": ("observe", "state.card[i, seat]", "has no attribute 'card'"),
    "odds": ("redeal", "def never_redeals_the_highest", "draws otherwise than the game deals"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_kernel_line_and_reason(fault, verdicts):
    name, line, reason = FAULTS[fault]
    said = verdicts[fault]
    place = re.search(r"kernel `(\w+)`(?: \(in \w+\))?, faulty_games\.py line (\d+): `([^\n]*?)`: ", said)
    assert place is not None, said
    assert place[1] == name
    source = (HERE / "faulty_games.py").read_text().splitlines()
    assert source[int(place[2]) - 1].strip() == place[3]
    assert line in place[3]
    assert reason in said
    assert "\n" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dtype", "state field 'die' has dtype 'float16', must be bool, an integer such as 'int32'"),
        ("bounds", "state field 'die' has high=300, which int8 does not hold: it holds -128..127"),
    ],
)
def test_a_field_that_kernels_cannot_use_is_named(fault, said, verdicts):
    assert said in verdicts[fault]


@kernel
def changes_its_type(state, i, seat, mask):
    legal(state, i, seat, mask)
    chosen = 0
    if seat > 5:
        chosen = (1, 2)
    mask[0] = chosen == 0


def test_what_only_the_compiler_sees_begins_with_our_line():
    game = replace(
        HIGH_CARD, rules=replace(HIGH_CARD.rules, kernels=HIGH_CARD.rules.kernels._replace(legal=changes_its_type))
    )
    with pytest.raises(
        KernelError, match=r"^kernel `legal` \(in changes_its_type\), test_kernel_faults.py line \d+: `"
    ) as error:
        KernelEngine(game, 2, seed=1, compiled=True).reset()
    first, _, rest = str(error.value).partition("\n")
    assert RULES["types"] in first
    assert "What Numba says:" in rest


def test_the_guide_has_the_rules():
    guide = (HERE.parents[1] / "CONTRIBUTING.md").read_text()
    assert [rule for rule in RULES.values() if rule not in guide] == []


@kernel
def stays_with_seat_0(state, i, action):
    step(state, i, action)
    state.to_move[i] = 0


def test_a_game_in_which_only_one_seat_moves_gets_a_remark():
    lonely = replace(
        HIGH_CARD, rules=replace(HIGH_CARD.rules, kernels=HIGH_CARD.rules.kernels._replace(step=stays_with_seat_0))
    )
    assert seats_take_turns(Trial(lonely, KernelEngine, 8, 0)) == (
        "in 8 random games only seat 0 moved: does `step` write state.to_move[i]?"
    )
    assert seats_take_turns(Trial(HIGH_CARD, KernelEngine, 8, 0)) is None
    assert seats_take_turns(Trial(games.matching(), KernelEngine, 8, 0)) is None
