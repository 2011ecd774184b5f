"""What a mask allows the simulator takes, and what it leaves out the simulator refuses. LUDORY_POKEMON_COUNT=500 plays so many battles."""

import os
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ludory.envs.make import make_engine
from ludory.envs.pokemon.backends.worker import Reply, Worker, chance_seed
from ludory.envs.pokemon.formats import battle_format, gimmick_groups, missing_in_v8
from ludory.envs.pokemon.requests import SeatRequest, seat_request
from ludory.errors import OptionError

BATTLES = int(os.environ.get("LUDORY_POKEMON_COUNT", "1"))
LOOKED_AT = 0.15
"""Share of the decisions that are examined: each takes a copy of the battle per legal action."""
MAYBE = ("maybeTrapped", "maybeDisabled", "maybeLocked")
FORMATS = [
    f"gen{kind}" for kind in ("1randombattle", "3randombattle", "4randombattle", "6randombattle", "7randombattle")
]
FORMATS += [f"gen{kind}" for kind in ("7letsgorandombattle", "8randombattle", "9randombattle", "9battlefactory")]
GAME, COPY = 0, 1


def masked_out(asked: SeatRequest, request: Mapping[str, Any], gen: int) -> Iterator[str]:
    """Every choice string that an action could mean and the mask leaves out."""
    if asked.kind == "preview":
        return
    words = ["", *(f" {word}" for group in gimmick_groups(gen) for word in group)]
    said = [f"move {k}{word}" for k in range(1, 5) for word in words]
    said += [f"switch {position}" for position in range(1, 7)]
    active = (request.get("active") or [{}])[0]
    dynamaxed = bool(active.get("maxMoves")) and not active.get("canDynamax")
    for choice in said:
        if dynamaxed and choice.endswith(" dynamax"):
            continue  # means the Max Move of the plain action
        if choice not in asked.choices:
            yield choice


def refusal(worker: Worker, seat: int, choice: str) -> str | None:
    """What the copy says to a choice of one seat alone, None if it takes it."""
    pair = (choice, None) if seat == 0 else (None, choice)
    (reply,) = worker.step([(COPY, *pair)])["games"]
    assert "crash" not in reply, reply
    text: str | None = reply["rej"][seat]
    return text


def examine(worker: Worker, seat: int, asked: SeatRequest, reply: Reply, gen: int) -> None:
    request = reply["req"][seat]
    worker.clone([(GAME, COPY)])
    for choice in masked_out(asked, request, gen):
        text = refusal(worker, seat, choice)
        assert text is not None, f"seat {seat}: {choice!r} is taken but not in the mask: {request}"
    for choice in asked.choices:
        if choice is not None:
            worker.clone([(GAME, COPY)])
            text = refusal(worker, seat, choice)
            if text is not None:
                assert text.startswith("[Unavailable choice]"), f"seat {seat}, {choice!r}: {text}: {request}"
                assert any(request["active"][0].get(flag) for flag in MAYBE), (
                    f"seat {seat}, {choice!r}: {text}: {request}"
                )


@pytest.mark.parametrize("format", FORMATS)
def test_masks_are_what_the_simulator_takes(each_worker: Worker, backend: str, format: str) -> None:
    if backend == "v8" and format in missing_in_v8():
        with pytest.raises(OptionError, match="type backend='sim'"):
            make_engine("Pokemon-v0", format=format, backend="v8")
        return
    worker = each_worker
    gen, draw = battle_format(format).gen, random.Random(format)
    for number in range(BATTLES):
        seeds = {part: chance_seed(11, number, 0, part)[0] for part in ("battle", "p1", "p2")}
        sides = {seat: {"seed": seeds[seat]} for seat in ("p1", "p2")}
        (reply,) = worker.reset([{"i": GAME, "format": format, "seed": seeds["battle"], **sides}])["games"]
        while reply["end"] is None:
            made: list[str | None] = []
            for seat in (0, 1):
                asked = seat_request(reply["req"][seat], reply["order"][seat], gen)
                if asked.kind != "wait" and draw.random() < LOOKED_AT:
                    examine(worker, seat, asked, reply, gen)
                legal = [choice for choice in asked.choices if choice is not None]
                made.append(draw.choice(legal) if legal else None)
            (reply,) = worker.step([(GAME, made[0], made[1])])["games"]
    worker.drop([GAME, COPY])
