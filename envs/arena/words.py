"""The arena for language models: what a seat may know in plain words, and actions as phrases such as "move up left, fire"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ludory.envs import Decoded, State, TextCodec
from ludory.envs.arena.constants import SHOT_LIFE, SHOT_STEP, TICKS_PER_DECISION, UNIT_LENGTH
from ludory.envs.arena.observe.scene import SIGHT, Body, Scene, condition, fate, look

from .codec import AXES, FIELDS, Action, encode
from .legality import legal
from .variants import ArenaOptions

DIRECTIONS = {
    "up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0),
    "up left": (-1, -1), "up right": (1, -1), "down left": (-1, 1), "down right": (1, 1),
}  # fmt: skip
ABILITIES = ("dash", "shield", "nova", "mine")
"""Values 1 to 4 of the ability head."""
CRATES = ("health", "supply")
_AXES = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)) ([+-]?(?:\d+(?:\.\d*)?|\.\d+))", re.ASCII)
# plain Python: a text is written once a decision, and would not pay for a compilation
_legal = getattr(legal, "py_func", legal)


def codec(options: ArenaOptions) -> TextCodec:
    """The arena with `options` in words."""
    return TextCodec(
        instruction=instruction(options),
        encode=partial(write, options),
        decode=partial(read, options),
    )


def instruction(options: ArenaOptions) -> str:
    """The rules in words."""
    return (
        f"You are playing the Arena, a fight of {options.players} seats; the last one alive wins. All move at the same time. "
        "Positions are (x, y) in units: x grows to the right, y grows downwards, and (0, 0) is the centre. You see what is within "
        f"{SIGHT:g} units. Outside the safe zone, which shrinks, you lose health.\n"
        f"An action lasts {TICKS_PER_DECISION}/15 of a second. It is a list of phrases with commas between them, each at most once:\n"
        '"move right" walks: up, down, left, right, up left, up right, down left, down right; or two numbers from -1 to 1, as in '
        '"move 0.5 -1". "aim up left" turns where you fire and dash, with the same directions or numbers.\n'
        f'"fire" shoots {SHOT_STEP * SHOT_LIFE // UNIT_LENGTH} units far and costs a shot. "dash" jumps where you move or else where you aim, "shield" blocks shots for a moment, "nova" '
        'hits everybody near you after a short wind-up, "mine" lays a mine; each costs energy. "open crate" opens a crate beside you, '
        'which takes a second in which you stay there: health, or shots and energy. "wait" does nothing.\n'
        'An example: "move up left, aim right, fire".'
    )


def write(options: ArenaOptions, state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: everything."""
    scene = look(state, i, seat)
    x, y, radius = scene.zone
    lines = [
        f"{scene.seconds:.1f} s. {sum(scene.alive)} of {scene.players} alive. Safe zone: centre ({x:.1f}, {y:.1f}), radius {radius:.1f}. "
        f"Wall: radius {scene.wall:.1f}.",
        *(_seat(scene, other) for other in range(scene.players)),
        *(
            f"A shot of seat {shot.owner} at {_place(scene, shot.x, shot.y)} flies {_direction(*shot.step)}."
            for shot in scene.shots
        ),
        *(f"A mine of seat {owner} at {_place(scene, x, y)}." for owner, x, y in scene.mines),
        *(f"A {CRATES[kind]} crate at {_place(scene, x, y)}." for x, y, kind in scene.crates),
    ]
    return "\n".join([*lines, _turn(options, scene, state, i)])


def _seat(scene: Scene, seat: int) -> str:
    own = seat == scene.seat
    name = f"You (seat {seat})" if own else f"Seat {seat}"
    body = next((body for body in scene.bodies if body.seat == seat), None)
    if body is None:
        place = "" if scene.places[seat] is None else f", place {scene.places[seat]:g}"
        return f"{name}: {fate(scene, seat)}{place}."
    return f"{name}: {', '.join(_facts(scene, body))}."


def _facts(scene: Scene, body: Body) -> Iterator[str]:
    yield f"at {_place(scene, body.x, body.y)}"
    if body.seat == scene.seat:
        inside = scene.zone[2] - math.dist((body.x, body.y), scene.zone[:2])
        yield f"{inside:.1f} inside the zone" if inside >= 0 else f"{-inside:.1f} OUTSIDE the zone"
    yield f"facing {_direction(*body.facing)}"
    yield f"health {100 * body.hp:.0f} %"
    if body.energy is not None:
        yield f"energy {100 * body.energy:.0f} %"
        yield f"{body.ammunition} shots"
    if doing := condition(body):
        yield doing


def _place(scene: Scene, x: float, y: float) -> str:
    """Coordinates, and how far away and in which direction the seat has it."""
    text, own = f"({x:.1f}, {y:.1f})", scene.own
    if own is None or (own.x, own.y) == (x, y):
        return text
    return f"{text}, {math.dist((own.x, own.y), (x, y)):.1f} {_direction(x - own.x, y - own.y)} of you"


def _direction(x: float, y: float) -> str:
    """The nearest of the eight directions."""
    return max(
        DIRECTIONS, key=lambda name: (x * DIRECTIONS[name][0] + y * DIRECTIONS[name][1]) / math.hypot(*DIRECTIONS[name])
    )


def _turn(options: ArenaOptions, scene: Scene, state: State, i: int) -> str:
    if scene.over:
        return "The game is over."
    if scene.seat is None:
        return "All seats are to move."
    if not scene.alive[scene.seat]:
        return "You are out."
    # the last nine values are those of the heads that are no axes: 2, 5 and 2
    mask = np.zeros(2 * options.move_bins + 2 * options.aim_bins + 9, np.bool_)
    _legal(state, i, scene.seat, mask)
    fire = mask[-9:]
    allowed = [
        name
        for name, open_ in zip(("fire", *ABILITIES, "open crate"), [fire[1], *fire[3:7], fire[8]], strict=True)
        if open_
    ]
    return f"It is your turn. You may: {', '.join(['move', 'aim', *allowed, 'wait'])}."


def read(options: ArenaOptions, text: str) -> Decoded:
    """The action that phrases ask for. What is not named stays as it is: the seat stands still, keeps its aim and does not fire."""
    said: dict[str, Any] = {}
    for phrase in (" ".join(part.casefold().split()) for part in text.split(",")):
        found = _phrase(phrase)
        if found is None:
            hint = 'name one, such as "move up left, aim right, fire"'
            return Decoded(None, f"{phrase[:100]!r} is no action of the arena; {hint}")
        # not the last one: a model could not learn which of the two counts
        if said.keys() & found.keys():
            hint = "name movement, aim, fire, one ability and open crate once each"
            return Decoded(None, f"{phrase[:100]!r}: said twice; {hint}")
        said |= found
    action = Action(**dict.fromkeys(FIELDS[:AXES], 0.0) | {"fire": False} | said)
    return Decoded(tuple(encode(action, (options.move_bins, options.aim_bins)).tolist()))


def _phrase(phrase: str) -> dict[str, Any] | None:
    """Fields of `Action` that a phrase sets; None: it is none."""
    plain: dict[str, dict[str, Any]] = {"wait": {}, "fire": {"fire": True}, "open crate": {"interact": True}}
    if phrase in plain:
        return plain[phrase]
    if phrase in ABILITIES:
        return {"ability_id": ABILITIES.index(phrase) + 1}
    verb, _, rest = phrase.partition(" ")
    numbers = _AXES.fullmatch(rest)
    if verb not in ("move", "aim") or not (numbers or rest in DIRECTIONS):
        return None
    # a number may have so many digits that it is infinite
    x, y = (min(max(float(number), -1.0), 1.0) for number in numbers.groups()) if numbers else DIRECTIONS[rest]
    return {f"{verb}_x": x, f"{verb}_y": y}
