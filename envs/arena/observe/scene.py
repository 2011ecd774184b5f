"""`Scene`: what a picture of the arena shows, either everything or what a seat may know. Lengths are in units."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.envs import State
from ludory.envs.arena import constants as const
from ludory.envs.arena.state import WALL
from ludory.envs.arena.tables import ONE

SIGHT = const.VISION / const.UNIT_LENGTH
"""Range of sight in units."""


@dataclass(frozen=True, slots=True)
class Body:
    """A visible body; values are fractions of 1 except ammunition. What only its own seat knows is None for others."""

    seat: int
    x: float
    y: float
    facing: tuple[float, float]
    hp: float
    shield: bool
    stun: bool
    windup: float
    dash: bool
    channel: float
    energy: float | None
    ammunition: int | None


@dataclass(frozen=True, slots=True)
class Shot:
    """A visible shot: its position, and its movement per tick."""

    owner: int
    x: float
    y: float
    step: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scene:
    """A game as `seat` sees it; None: everything. Dead seats see only the zone."""

    seat: int | None
    players: int
    seconds: float
    wall: float
    zone: tuple[float, float, float]
    bodies: tuple[Body, ...]
    crates: tuple[tuple[float, float, int], ...]
    shots: tuple[Shot, ...]
    mines: tuple[tuple[int, float, float], ...]
    alive: tuple[bool, ...]
    places: tuple[float | None, ...]
    over: bool

    @property
    def own(self) -> Body | None:
        """The body of the seat whose view this is."""
        return next((body for body in self.bodies if body.seat == self.seat), None)


def look(state: State, i: int, seat: int | None) -> Scene:
    """Game `i` as `seat` sees it."""
    players = int(state.alive.shape[1])
    alive = tuple(bool(state.alive[i, p]) for p in range(players))
    return Scene(
        seat,
        players,
        int(state.t[i]) / const.TICKS,
        int(state.setup[i, WALL]) / const.UNIT_LENGTH,
        (_units(state.zone_x[i]), _units(state.zone_y[i]), _units(state.zone_radius[i])),
        tuple(
            _body(state, i, p, seat) for p in range(players) if alive[p] and _seen(state, i, seat, *_at(state, i, p))
        ),
        tuple(_crates(state, i, seat)),
        tuple(_shots(state, i, seat, players)),
        tuple(_mines(state, i, seat, players)),
        alive,
        tuple(int(place) / 2 if int(place) else None for place in state.place[i]),
        bool(state.terminated[i]),
    )


def _units(value: object) -> float:
    return int(value) / const.UNIT_LENGTH  # type: ignore[call-overload, no-any-return]


def _at(state: State, i: int, seat: int) -> tuple[int, int]:
    return int(state.x[i, seat]), int(state.y[i, seat])


def _seen(state: State, i: int, seat: int | None, x: int, y: int) -> bool:
    """Whether a point in sub is shown."""
    if seat is None:
        return True
    mine = _at(state, i, seat)
    return bool(state.alive[i, seat]) and (x - mine[0]) ** 2 + (y - mine[1]) ** 2 <= const.VISION**2


def _body(state: State, i: int, p: int, seat: int | None) -> Body:
    known = seat is None or seat == p
    x, y = _at(state, i, p)
    windup = int(state.windup[i, p])
    return Body(
        p,
        _units(x),
        _units(y),
        (int(state.fx[i, p]) / ONE, int(state.fy[i, p]) / ONE),
        int(state.hp[i, p]) / const.FULL_HP,
        int(state.shield[i, p]) > 0,
        int(state.stun[i, p]) > 0,
        (const.WINDUP_TIME + 1 - windup) / const.WINDUP_TIME if windup else 0.0,
        int(state.dash[i, p]) > 0,
        int(state.channel[i, p]) / const.CHANNEL_TIME,
        int(state.energy[i, p]) / const.FULL_ENERGY if known else None,
        int(state.ammunition[i, p]) if known else None,
    )


def _crates(state: State, i: int, seat: int | None) -> list[tuple[float, float, int]]:
    places = [(k, int(state.crate_x[i, k]), int(state.crate_y[i, k])) for k in range(const.CRATES)]
    shown = [(k, x, y) for k, x, y in places if int(state.crate_wait[i, k]) == 0 and _seen(state, i, seat, x, y)]
    return [(_units(x), _units(y), k % 2) for k, x, y in shown]


def _shots(state: State, i: int, seat: int | None, players: int) -> list[Shot]:
    """Visible shots; a seat does not see its own shots out of sight either."""
    shots = []
    for owner in range(players):
        for slot in range(const.SHOT_SLOTS):
            x, y = int(state.shot_x[i, owner, slot]), int(state.shot_y[i, owner, slot])
            if int(state.shot_life[i, owner, slot]) > 0 and _seen(state, i, seat, x, y):
                step = _units(state.shot_vx[i, owner, slot]), _units(state.shot_vy[i, owner, slot])
                shots.append(Shot(owner, _units(x), _units(y), step))
    return shots


def _mines(state: State, i: int, seat: int | None, players: int) -> list[tuple[int, float, float]]:
    """All mines, or the seat's own while it lives."""
    owners = range(players) if seat is None else [seat] if bool(state.alive[i, seat]) else []
    return [
        (owner, _units(state.mine_x[i, owner, slot]), _units(state.mine_y[i, owner, slot]))
        for owner in owners
        for slot in range(const.MINE_SLOTS)
        if int(state.mine_life[i, owner, slot]) > 0
    ]


def condition(body: Body) -> str:
    """What a body is doing, in words."""
    if body.stun:
        return "stunned"
    if body.shield:
        return "shield"
    if body.windup:
        return "winding up"
    return "dash" if body.dash else "at a crate" if body.channel else ""


def fate(scene: Scene, seat: int) -> str:
    """What is known of a seat that is not visible."""
    return "out of sight" if scene.places[seat] is None else "out"
