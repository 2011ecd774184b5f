"""The conformance kit on a game in which seats fall out: the honest one passes, planted faults are caught."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import replace

import pytest
from games.elimination import AIM, CUT_STANDOFF, SEATS, STANDOFF, critic, legal, step, used
from games.nim import nim

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.kernels import kernel
from ludory.envs.parts import elimination
from ludory.errors import ConformanceError, OptionError
from ludory.testing import check_game
from ludory.testing.kernels.interpreted_and_compiled import kernels_stay_in_their_row
from ludory.testing.properties.facts import facts_hold_together
from ludory.testing.properties.outcomes import seats_that_are_out_stay_out
from ludory.testing.properties.training import the_critic_sees_what_it_should, unused_heads_have_no_effect
from ludory.testing.trial import Trial

pytestmark = pytest.mark.plain

GAMES = 24


def trial(game=STANDOFF, maker=KernelEngine):
    return Trial(game, maker, GAMES, 0, "auto")


def faulty(**kernels):
    return trial(replace(STANDOFF, rules=replace(STANDOFF.rules, kernels=STANDOFF.rules.kernels._replace(**kernels))))


@pytest.mark.parametrize(
    "game", [STANDOFF, pytest.param(CUT_STANDOFF, marks=pytest.mark.slow)], ids=["to the end", "cut off"]
)
def test_the_honest_game_passes_and_seats_are_out_early(game):
    remarks = {}
    check_game(game, games=GAMES, report=lambda name, ok, message: remarks.update({name: (ok, message)}), cuda="skip")
    assert all(ok for ok, _ in remarks.values()), remarks
    assert remarks["eliminated seats"] == remarks["used heads"] == remarks["critic"] == (True, "")


@kernel
def pays_the_dead(state, i, actions):
    step(state, i, actions)
    for seat in range(SEATS):
        if int(state.alive[i, seat]) == 0 and int(state.seat_terminated[i, seat]) == 0:
            state.rewards[i, seat] = 1


@kernel
def settles_again(state, i, actions):
    step(state, i, actions)
    for seat in range(SEATS):
        if int(state.alive[i, seat]) == 0:
            state.seat_terminated[i, seat] = 1


@kernel
def forgets_the_survivors(state, i, actions):
    step(state, i, actions)
    for seat in range(SEATS):
        if int(state.alive[i, seat]) == 1:
            state.seat_terminated[i, seat] = 0


@kernel
def lets_the_dead_choose(state, i, seat, mask):
    legal(state, i, seat, mask)
    mask[AIM + 1] = True


@pytest.mark.parametrize(
    ("kernels", "says"),
    [
        ({"step": pays_the_dead}, "was out and has the reward 1.0"),
        ({"step": settles_again}, "is settled a second time"),
        ({"step": forgets_the_survivors}, "was alive and is not settled"),
        ({"legal": lets_the_dead_choose}, "is out and has 2 legal values of head 'power'"),
    ],
    ids=lambda part: "" if isinstance(part, str) else next(iter(part.values())).__name__,
)
def test_seats_that_do_not_stay_out(kernels, says):
    with pytest.raises(ConformanceError, match=says):
        seats_that_are_out_stay_out(faulty(**kernels))


def test_fields_of_elimination_are_whole_and_for_simultaneous_games():
    half = {name: field for name, field in STANDOFF.rules.fields.items() if name != "alive"}
    with pytest.raises(ConformanceError, match=r"must be .* or none of them"):
        facts_hold_together(trial(replace(STANDOFF, rules=replace(STANDOFF.rules, fields=half))))
    in_turn = nim()
    with pytest.raises(ConformanceError, match="are for simultaneous games"):
        facts_hold_together(
            trial(
                replace(
                    in_turn,
                    rules=replace(in_turn.rules, fields={**in_turn.rules.fields, **elimination(in_turn.facts.players)}),
                )
            )
        )


@kernel
def says_that_power_never_matters(state, i, seat, action, out):
    used(state, i, seat, action, out)
    out[1] = False


@kernel
def writes_behind_the_heads(state, i, seat, action, out):
    used(state, i, seat, action, out)
    if action[0] > 1:
        out[2] = True


def test_a_head_that_has_an_effect_is_left_out():
    with pytest.raises(ConformanceError, match=r"other values of heads that used\(\) leaves out"):
        unused_heads_have_no_effect(faulty(used=says_that_power_never_matters))


def test_used_writes_more_than_there_are_heads():
    with pytest.raises(ConformanceError, match=r"used\(seat \d\).* writes out\[2\], outside its shape"):
        kernels_stay_in_their_row(faulty(used=writes_behind_the_heads))


@kernel
def counts_rounds(state, i, seat, out):
    critic(state, i, seat, out)
    out[0] = int(state.round[i])


def test_a_critic_outside_its_range_or_without_a_spec():
    with pytest.raises(ConformanceError, match=r"critic\(\)\[0\] is 2, must lie in"):
        the_critic_sees_what_it_should(faulty(critic=counts_rounds))
    unsaid = replace(STANDOFF, facts=replace(STANDOFF.facts, critic=None))
    with pytest.raises(OptionError, match="give both or neither"):
        the_critic_sees_what_it_should(trial(unsaid))


class DeadHandsPlay(KernelEngine):
    def used(self, actions, seat=None, rows=None):
        flags = super().used(actions, seat, rows)
        flags[..., 0] = True
        return flags


def test_who_is_out_uses_no_head():
    with pytest.raises(ConformanceError, match="a seat that is out or waits, or of a finished game, uses a head"):
        unused_heads_have_no_effect(trial(maker=DeadHandsPlay))
