"""Legal actions follow from the request, in Python and in the worker alike."""

import random
from typing import Any

import pytest

from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.v8 import V8Worker
from ludory.envs.pokemon.backends.worker import Reply, Worker, chance_seed
from ludory.envs.pokemon.formats import (
    action_names,
    battle_format,
    formats,
    gimmick_groups,
    missing_in_v8,
    num_actions,
)
from ludory.envs.pokemon.requests import KINDS, seat_request
from ludory.errors import OptionError


def team(*conditions: str, active: int = 0) -> dict[str, Any]:
    return {"pokemon": [{"condition": text, "active": k == active} for k, text in enumerate(conditions)]}


def moves(*ids: str, disabled: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    return [{"id": id, "disabled": k in disabled} for k, id in enumerate(ids)]


def test_each_generation_has_the_actions_of_its_gimmicks() -> None:
    assert [num_actions(gen) for gen in range(1, 10)] == [10, 10, 10, 10, 10, 14, 18, 14, 14]
    assert {num_actions(gen, "never") for gen in range(1, 10)} == {10}
    for gen in range(1, 10):
        assert len(set(action_names(gen))) == num_actions(gen)
    assert action_names(9)[13] == "move 4 with terastallize"
    assert gimmick_groups(7) == (("mega", "ultra"), ("zmove",))


def test_a_seat_without_a_request_waits() -> None:
    for request in (None, {"wait": True, "side": team("100/100")}):
        asked = seat_request(request, [0], 9)
        assert asked.kind == "wait"
        assert asked.mask == (True, *[False] * 13)
        assert set(asked.choices) == {None}


def test_switches_name_fixed_slots_and_leave_out_the_fainted_and_the_active() -> None:
    request = {"active": [{"moves": moves("tackle", "growl")}], "side": team("90/100", "0 fnt", "50/100 psn")}
    asked = seat_request(request, [2, 0, 5], 1)
    assert asked.kind == "move"
    assert [k for k, legal in enumerate(asked.mask) if legal] == [0, 1, 9]
    assert asked.choices[9] == "switch 3"


def test_trapped_stays_and_maybe_trapped_may_try() -> None:
    active: dict[str, Any] = {"moves": moves("tackle"), "trapped": True}
    request = {"active": [active], "side": team("1/1", "1/1")}
    assert sum(seat_request(request, [0, 1], 4).mask) == 1
    active["trapped"], active["maybeTrapped"] = False, True
    assert sum(seat_request(request, [0, 1], 4).mask) == 2


def test_preview_forced_switch_and_revival() -> None:
    side = team("1/1", "1/1", "0 fnt", active=0)
    preview = seat_request({"teamPreview": True, "side": side}, [0, 1, 2], 9)
    assert (preview.kind, preview.choices[6]) == ("preview", "team 3")
    forced = seat_request({"forceSwitch": [True], "side": side}, [1, 0, 2], 9)
    assert (forced.kind, [k for k, legal in enumerate(forced.mask) if legal]) == ("switch", [4])
    side["pokemon"][0]["reviving"] = True
    revived = seat_request({"forceSwitch": [True], "side": side}, [1, 0, 2], 9)
    assert (revived.kind, [k for k, legal in enumerate(revived.mask) if legal]) == ("revive", [6])


def test_gimmicks_need_their_flag_and_mostly_a_legal_move() -> None:
    active: dict[str, Any] = {"moves": moves("a", "b", "c", "d", disabled=(1,))}
    request = {"active": [active], "side": team("1/1")}

    def legal(gen: int, **flags: Any) -> list[int]:
        active.update(flags)
        found = [k for k, is_legal in enumerate(seat_request(request, [0], gen).mask) if is_legal]
        for name in flags:
            del active[name]
        return found

    assert legal(9, canTerastallize="Fire") == [0, 2, 3, 10, 12, 13]
    assert legal(6, canMegaEvo=True) == [0, 2, 3, 10, 12, 13]
    assert legal(7, canMegaEvoX=True, canMegaEvoY=True) == [0, 2, 3, 10, 12, 13, 14, 16, 17]
    assert legal(7, canZMove=[None, {"move": "Z"}, None, {"move": "Z"}]) == [0, 2, 3, 15, 17]
    maximum = {"maxMoves": [{"move": "x"}, {"move": "y"}, {"move": "z", "disabled": True}, {"move": "w"}]}
    assert legal(8, canDynamax=True, maxMoves=maximum) == [0, 2, 3, 10, 11, 13]
    assert legal(8, maxMoves=maximum) == [0, 1, 3]
    assert seat_request(request | {"active": [active | {"canTerastallize": "Fire"}]}, [0], 9, "never").mask[10:] == ()


def test_alphabetical_slots_permute_the_menu() -> None:
    request = {"active": [{"moves": moves("tackle", "growl", "absorb", disabled=(0,))}], "side": team("1/1")}
    asked = seat_request(request, [0], 1, slot_order="alpha")
    assert asked.choices[:4] == ("move 3", "move 2", None, None)


def test_formats_are_found_and_others_refused() -> None:
    assert battle_format("[Gen 9] OU").needs_teams
    assert battle_format("gen9battlefactory").preview
    assert not battle_format("gen1randombattle").preview
    with pytest.raises(OptionError, match="gen9randombattle"):
        battle_format("gen9randombatle")
    with pytest.raises(OptionError, match="one against one"):
        battle_format("gen9doublesou")


def test_the_committed_formats_are_those_of_the_simulator(worker: SimWorker) -> None:
    listed = worker.formats()
    assert worker.hello["formats"]["singles"] == [entry[0] for entry in listed]
    assert [tuple(entry) for entry in listed] == [
        (found.id, found.gen, int(found.preview), int(found.needs_teams)) for found in formats().values()
    ]


def test_the_formats_that_v8_lacks_are_those_that_its_simulator_does_not_play(v8_worker: V8Worker) -> None:
    """Formats that it does not have, and those that it has no teams for."""
    listed = {entry[0]: tuple(entry) for entry in v8_worker.formats()}
    lacking = set(formats()) - set(listed)
    for id, entry in listed.items():
        found = formats()[id]
        assert entry == (found.id, found.gen, int(found.preview), int(found.needs_teams))
        if not found.needs_teams and "crash" in started(v8_worker, id, 0, 1)["games"][0]:
            lacking.add(id)
    assert lacking == missing_in_v8()


def started(worker: Worker, format: str, number: int, seed: int, compact: dict[str, str] | None = None) -> Reply:
    seeds = {part: chance_seed(seed, 0, 0, part)[0] for part in ("battle", "p1", "p2")}
    sides = {seat: {"seed": seeds[seat]} for seat in ("p1", "p2")}
    return worker.reset([{"i": number, "format": format, "seed": seeds["battle"], **sides}], compact)


@pytest.mark.parametrize("slot_order", ["request", "alpha"])
@pytest.mark.parametrize(
    "format",
    [f"gen{gen}randombattle" for gen in (1, 4, 6, 7, "7letsgo", 8, 9)]
    + [f"gen9{kind}" for kind in ("battlefactory", "challengecup1v1")],
)
def test_the_worker_draws_the_same_masks_and_the_simulator_takes_every_legal_choice(
    each_worker: Worker, backend: str, format: str, slot_order: Any
) -> None:
    """The same battles, once in requests and once in masks of the worker."""
    worker = each_worker
    if backend == "v8" and format in missing_in_v8():
        return  # the test of the formats that it lacks has them all
    gen, draw = battle_format(format).gen, random.Random(slot_order)
    for seed in range(4):
        reply = started(worker, format, 0, seed)["games"][0]
        compact = started(worker, format, 1, seed, {"gimmick": "native", "slot_order": slot_order})["compact"]
        while reply["end"] is None:
            actions = []
            choices: list[str | None] = []
            for seat in (0, 1):
                asked = seat_request(reply["req"][seat], reply["order"][seat], gen, "native", slot_order)
                assert compact["mask"][seat] == sum(1 << k for k, legal in enumerate(asked.mask) if legal)
                assert KINDS[compact["kind"][seat]] == asked.kind
                action = draw.choice([k for k, legal in enumerate(asked.mask) if legal])
                actions.append(action)
                choices.append(asked.choices[action])
            before = reply
            (reply,) = worker.step([(0, choices[0], choices[1])])["games"]
            compact = worker.act([1], actions)["compact"]
            for seat, text in enumerate(reply["rej"]):
                if text is not None:
                    active = before["req"][seat]["active"][0]
                    assert text.startswith("[Unavailable choice]")
                    assert any(active.get(flag) for flag in ("maybeTrapped", "maybeDisabled", "maybeLocked"))
        assert compact["end"][0][1]["log_sha256"] == reply["end"]["log_sha256"]
