"""What every kind of line of the battle protocol (sim/SIM-PROTOCOL.md of smogon/pokemon-showdown) does to a tracker.

A handler gets the tracker and the line split at "|": `parts[1]` is the kind. It raises IndexError, KeyError or ValueError if the line is
malformed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..vocab import numbers, to_id
from .layout import (
    ABILITY,
    ACTIVE,
    ACTIVE_ROW,
    BASE_ABILITY,
    BASE_SPECIES,
    CHARGING,
    DISABLED_MOVE,
    EXISTS,
    FAINTED,
    FIELD_TURNS,
    FUTURE_MOVE,
    GIMMICK,
    HEALING_WISH,
    HP,
    HP_EXACT,
    HP_MAX,
    ITEM,
    ITEM_LOST,
    LAST_MOVE,
    LAYERS,
    LOCKED,
    MOVES,
    MUST_RECHARGE,
    NUM_MOVES,
    NUM_TEMPORARY,
    OFFERED,
    OTHER_SIDE,
    OTHER_VOLATILE,
    PERISH,
    PP,
    PP_MAX,
    PREVIEW,
    PROTECT,
    ROOM,
    ROOMS,
    ROW,
    SEEN,
    SIDE,
    SIDE_CONDITIONS,
    SIDE_SIZE,
    SPECIES,
    SPENT,
    STAGES,
    STATUS,
    STATUS_TURNS,
    SUBSTITUTE,
    TEAM_SIZE,
    TEMPORARY,
    TERA,
    TERASTALLIZED,
    TERRAIN,
    TERRAIN_TURNS,
    TERRAINS,
    TRANSFORMED,
    TRAPPED_PARTIALLY,
    TURN,
    TYPE_1,
    TYPE_2,
    TYPE_CHANGE,
    VOLATILE,
    VOLATILE_SIZE,
    VOLATILES,
    WEATHER,
    WEATHER_TURNS,
    WEATHERS,
    WISH,
)  # fmt: skip

if TYPE_CHECKING:
    from .tracker import Tracker

Handler = Callable[["Tracker", list[str]], None]
HANDLERS: dict[str, Handler] = {}

_MOVES, _SPECIES, _TYPES, _STATUSES = numbers("moves"), numbers("species"), numbers("types"), numbers("statuses")
_ZOROARKS = frozenset(_SPECIES[name] for name in ("zorua", "zoroark", "zoruahisui", "zoroarkhisui"))
_ASLEEP, _TOXIC = _STATUSES["slp"], _STATUSES["tox"]
_PRESSURE = numbers("abilities")["pressure"]
_BATON_PASS, _SHED_TAIL, _MIMIC = _MOVES["batonpass"], _MOVES["shedtail"], _MOVES["mimic"]
_CURSE, _GHOST = _MOVES["curse"], _TYPES["ghost"]
_WISH_MOVE, _PURSUIT = _MOVES["wish"], _MOVES["pursuit"]
_HEALING_WISHES = frozenset((_MOVES["healingwish"], _MOVES["lunardance"]))
_NOT_LEARNT = frozenset((_MOVES["struggle"], _MOVES["recharge"]))
LOCKING = {_MOVES[name]: 3 for name in ("outrage", "petaldance", "thrash", "ragingfury", "uproar")}
LOCKING |= {_MOVES[name]: 5 for name in ("rollout", "iceball")}
"""Moves that go on by themselves, and for how many turns at most."""
_Z_SOURCE = {
    _MOVES[special]: _MOVES[source]
    for special, source in (
        ("stokedsparksurfer", "thunderbolt"), ("sinisterarrowraid", "spiritshackle"), ("extremeevoboost", "lastresort"),
        ("maliciousmoonsault", "darkestlariat"), ("clangoroussoulblaze", "clangingscales"),
        ("menacingmoonrazemaelstrom", "moongeistbeam"), ("splinteredstormshards", "stoneedge"),
        ("soulstealing7starstrike", "spectralthief"), ("genesissupernova", "psychic"), ("letssnuggleforever", "playrough"),
        ("catastropika", "volttackle"), ("10000000voltthunderbolt", "thunderbolt"), ("oceanicoperetta", "sparklingaria"),
        ("pulverizingpancake", "gigaimpact"), ("searingsunrazesmash", "sunsteelstrike"),
        ("guardianofalola", "naturesmadness"), ("lightthatburnsthesky", "photongeyser"),
    )
}  # fmt: skip
"""Z-moves that only one move becomes, which pays for it."""
_ROLLING = (_MOVES["rollout"], _MOVES["iceball"])
_STALLING = frozenset(
    _MOVES[name]
    for name in (
        "protect", "detect", "endure", "banefulbunker", "burningbulwark", "kingsshield", "maxguard", "obstruct", "silktrap", "spikyshield",
    )
)  # fmt: skip
_STAGE = {name: STAGES + k for k, name in enumerate(("atk", "def", "spa", "spd", "spe", "accuracy", "evasion"))}
_VOLATILE = {name: k for k, name in enumerate(VOLATILES)} | {"ability:flashfire": VOLATILES.index("flashfire")}
_SIDE_CONDITION = {name: k for k, name in enumerate(SIDE_CONDITIONS)}
_TRAPS = frozenset(
    (
        "bind",
        "wrap",
        "firespin",
        "clamp",
        "whirlpool",
        "sandtomb",
        "magmastorm",
        "infestation",
        "snaptrap",
        "thundercage",
    )
)
_FUTURE_MOVES = frozenset(("futuresight", "doomdesire"))
_WEATHER = {name: k for k, name in enumerate(WEATHERS)} | {"snow": WEATHERS.index("snowscape")}
_TERRAIN = {name: k for k, name in enumerate(TERRAINS)}
_PASSED = frozenset(
    VOLATILES.index(name)
    for name in (
        "confusion", "leechseed", "substitute", "perish", "curse", "ingrain", "aquaring", "focusenergy", "magnetrise", "healblock",
    )
)  # fmt: skip
"""Volatile conditions that Baton Pass hands on."""
_SWAPPED = (*range(10), OTHER_SIDE)
"""Side conditions that Court Change swaps."""

_PP_CHANGES = {"spite": -2, "eeriespell": -3, "gmaxdepletion": -2, "grudge": -99, "leppaberry": 10, "mysteryberry": 5}

_NO_STAGES = array("i", [0] * 7)
_effects: dict[str, str] = {}


def effect(name: str) -> str:
    """Id of an effect without its kind: "move: Stealth Rock" is `stealthrock`."""
    found = _effects.get(name)
    if found is None:
        kind, colon, rest = name.partition(":")
        found = to_id(rest if colon and kind in ("move", "ability", "item") else name)
        if len(_effects) < 10_000:
            _effects[name] = found
    return found


def line(*kinds: str) -> Callable[[Handler], Handler]:
    """Register a handler of some kinds of lines."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            HANDLERS[kind] = handler
        return handler

    return register


@line(
    "", "t:", "j", "J", "l", "L", "n", "N", "c", "c:", "chat", "raw", "html", "uhtml", "uhtmlchange", "inactive", "inactiveoff", "title",
    "rated", "rule", "gametype", "gen", "tier", "start", "clearpoke", "request", "init", "deinit", "debug", "message", "bigerror", "error",
    "seed", "custom", "showteam", "updatepoke", "swap", "teamsizes", "expire", "warning", "askreg", "hidelines", "unlink", "choice",
    "-message", "-hint", "-crit", "-supereffective", "-resisted", "-hitcount", "-ohko", "-notarget", "-nothing",
    "-combine", "-waiting", "-center", "-zbroken", "-candynamax", "-singlemove", "-mega-primal", "timer", "upkeep:", "noinit", "version",
)  # fmt: skip
def nothing(tracker: Tracker, parts: list[str]) -> None:
    """Lines that change nothing that is tracked: chat, joins, timers, rules, animations."""


# The start and the end.


@line("player")
def player(tracker: Tracker, parts: list[str]) -> None:
    """`|player|p1|NAME|AVATAR|RATING`."""
    if len(parts) > 3 and parts[3]:
        tracker.players[tracker.side(parts[2])] = parts[3]


@line("teamsize")
def team_size(tracker: Tracker, parts: list[str]) -> None:
    """`|teamsize|p1|6`: so many Pokémon exist."""
    side, size = tracker.side(parts[2]), int(parts[3])
    if not 1 <= size <= 6:
        raise ValueError(f"{size} Pokémon")
    tracker.values[TEAM_SIZE + side] = size
    for k in range(6):
        tracker.values[(6 * side + k) * ROW + EXISTS] = k < size


@line("poke")
def poke(tracker: Tracker, parts: list[str]) -> None:
    """`|poke|p1|DETAILS|ITEM`: shown in the team preview."""
    side = tracker.side(parts[2])
    if tracker.counts[side] >= 6:
        raise ValueError("a seventh Pokémon")
    row = 6 * side + tracker.counts[side]
    tracker.counts[side] += 1
    tracker.set_details(row, parts[3])
    tracker.values[row * ROW + SEEN] = 1


@line("teampreview")
def team_preview(tracker: Tracker, parts: list[str]) -> None:
    """`|teampreview`."""
    tracker.values[PREVIEW] = 1


@line("win")
def win(tracker: Tracker, parts: list[str]) -> None:
    """`|win|NAME`."""
    tracker.winner = parts[2]


@line("tie")
def tie(tracker: Tracker, parts: list[str]) -> None:
    """`|tie`."""
    tracker.winner = ""


@line("turn")
def turn(tracker: Tracker, parts: list[str]) -> None:
    """`|turn|3`."""
    tracker.values[TURN] = int(parts[2])
    tracker.values[PREVIEW] = 0
    tracker.passing[0] = tracker.passing[1] = 0
    tracker.recent.clear()


@line("upkeep")
def upkeep(tracker: Tracker, parts: list[str]) -> None:
    """`|upkeep`: the end of a turn, after damage by weather, status and the like and before fallen Pokémon are replaced."""
    values = tracker.values
    if values[WEATHER]:
        values[WEATHER_TURNS] += 1
    if values[TERRAIN]:
        values[TERRAIN_TURNS] += 1
    for side in (0, 1):
        start = values[ACTIVE_ROW + side] * ROW
        if start >= 0 and not values[start + FAINTED]:
            values[start + FIELD_TURNS] += 1
            if values[start + STATUS] > 1 and values[start + STATUS] != _ASLEEP:
                values[start + STATUS_TURNS] += 1
                if values[start + STATUS] == _TOXIC and values[start + STATUS_TURNS] > 15:
                    values[start + STATUS_TURNS] = 15
        wish = SIDE + side * SIDE_SIZE + WISH
        if values[wish]:
            values[wish] -= 1


# Coming and going.


def _enter(tracker: Tracker, parts: list[str], dragged: bool) -> None:
    side = tracker.side(parts[2])
    values = tracker.values
    move = 0 if dragged else tracker.passing[side]
    left = values[ACTIVE_ROW + side]
    if move and left >= 0 and not values[left * ROW + FAINTED]:
        stages = values[left * ROW + STAGES : left * ROW + STAGES + 7]
        conditions = values[VOLATILE + side * VOLATILE_SIZE : VOLATILE + side * VOLATILE_SIZE + VOLATILE_SIZE]
    else:
        move = 0
    tracker.passing[side] = 0
    tracker.leave(side)
    row = tracker.find(side, parts[2][5:], parts[3])
    if side == 0 and tracker.bound:
        row = _behind_illusion(tracker, row, parts[4])
    start = row * ROW
    if side or not tracker.bound:  # requests tell the truth about the own team
        tracker.before[side] = row, values[start : start + ROW], tracker.nicknames[row], tracker.details[row]
    if side or not tracker.bound:
        tracker.nicknames[row] = parts[2][5:]
        tracker.set_details(row, parts[3])
    tracker.set_condition(row, parts[4])
    values[start + SEEN] = values[start + ACTIVE] = 1
    if values[start + STATUS] == _TOXIC:
        values[start + STATUS_TURNS] = 0
    values[ACTIVE_ROW + side] = row
    if move:
        if move == _BATON_PASS:
            values[start + STAGES : start + STAGES + 7] = stages
            for k in _PASSED:
                values[VOLATILE + side * VOLATILE_SIZE + k] = conditions[k]
        else:
            values[VOLATILE + side * VOLATILE_SIZE + SUBSTITUTE] = conditions[SUBSTITUTE]
    if tracker.own_moves and side == 0:
        for name in tracker.own_moves.get(parts[2][5:], ()):
            tracker.learn(row, _MOVES[name])


def _behind_illusion(tracker: Tracker, row: int, condition: str) -> int:
    """Row of the own Pokémon that comes in looking like the one of `row`: its largest hp gives an own Illusion away."""
    most = condition.partition(" ")[0].partition("/")[2]
    values = tracker.values
    if most.isdigit() and int(most) != values[row * ROW + HP_MAX]:
        for other in range(6):
            start = other * ROW
            if (
                values[start + BASE_SPECIES] in _ZOROARKS
                and values[start + HP_MAX] == int(most)
                and not values[start + FAINTED]
            ):
                return other
    return row


@line("switch")
def switch(tracker: Tracker, parts: list[str]) -> None:
    """`|switch|POKEMON|DETAILS|HP STATUS`."""
    _enter(tracker, parts, dragged=False)


@line("drag")
def drag(tracker: Tracker, parts: list[str]) -> None:
    """`|drag|POKEMON|DETAILS|HP STATUS`: nobody chose it."""
    _enter(tracker, parts, dragged=True)


@line("replace")
def replace(tracker: Tracker, parts: list[str]) -> None:
    """`|replace|POKEMON|DETAILS`: an Illusion ends. The Pokémon that was shown gets back what it had before it seemed to come in."""
    side = tracker.side(parts[2])
    values = tracker.values
    shown = values[ACTIVE_ROW + side]
    if shown < 0:
        raise ValueError("nobody is active")
    before = tracker.before[side]
    now = values[shown * ROW : shown * ROW + ROW]
    learnt = now[MOVES : MOVES + now[NUM_MOVES]]
    if before is not None and before[0] == shown:
        values[shown * ROW : shown * ROW + ROW] = before[1]
        tracker.nicknames[shown], tracker.details[shown] = before[2:]
        old = before[1][MOVES : MOVES + before[1][NUM_MOVES]]
        used = dict(zip(old, before[1][MOVES + PP :], strict=False))
        spent = {move: used.get(move, now[MOVES + PP_MAX + k]) - now[MOVES + PP + k] for k, move in enumerate(learnt)}
        if before[2] is None and before[3] is None:
            tracker.counts[side] -= 1
            tracker.clear_row(shown)
        item = now[ITEM] if now[ITEM] != before[1][ITEM] else 0
    else:
        spent, item = {}, 0
        values[shown * ROW + ACTIVE] = 0
        values[shown * ROW + STAGES : shown * ROW + STAGES + 7] = _NO_STAGES
    tracker.forget_condition(shown)
    row = tracker.find(side, parts[2][5:], parts[3])
    start = row * ROW
    tracker.nicknames[row] = parts[2][5:]
    tracker.set_details(row, parts[3])
    for offset in (
        HP,
        HP_MAX,
        HP_EXACT,
        STATUS,
        STATUS_TURNS,
        FIELD_TURNS,
        LAST_MOVE,
        FAINTED,
        *range(STAGES, STAGES + 7),
    ):
        values[start + offset] = now[offset]
    tracker.forget_condition(row)
    values[start + ACTIVE] = values[start + SEEN] = 1
    values[ACTIVE_ROW + side] = row
    if side == 1 or tracker.perspective is None:
        for move, cost in spent.items():
            if cost > 0:
                place = tracker.learn(row, move)
                if place >= 0:
                    values[place + PP] = max(0, values[place + PP] - cost)
        if item:
            values[start + ITEM] = item
    if len(parts) > 4 and parts[4] and not parts[4].startswith("["):
        tracker.set_condition(row, parts[4])


@line("detailschange")
def details_change(tracker: Tracker, parts: list[str]) -> None:
    """`|detailschange|POKEMON|DETAILS|HP STATUS`: another forme for good."""
    row = tracker.row(parts[2])
    start, values = row * ROW, tracker.values
    before = values[start + SPECIES]
    tracker.set_details(row, parts[3])
    number = values[start + SPECIES]
    ability = tracker.dex.species_ability[number]
    if number != before and ability and tracker.gen >= 3:
        values[start + ABILITY] = values[start + BASE_ABILITY] = ability
    if len(parts) > 4 and parts[4] and not parts[4].startswith("["):
        tracker.set_condition(row, parts[4])
    reveal(tracker, parts, row)


@line("-formechange")
def forme_change(tracker: Tracker, parts: list[str]) -> None:
    """`|-formechange|POKEMON|SPECIES|HP STATUS`: another forme until it leaves."""
    row = tracker.row(parts[2])
    number = _SPECIES[parts[3].partition(",")[0]]
    if not number:
        raise ValueError(f"no species is called {parts[3]!r}")
    tracker.set_species(row, number)
    reveal(tracker, parts, row)


@line("-transform")
def transform(tracker: Tracker, parts: list[str]) -> None:
    """`|-transform|POKEMON|TARGET`: species, types, stages, ability and moves of the other until it leaves."""
    row, target = tracker.row(parts[2]), tracker.row(parts[3])
    reveal(tracker, parts, row)
    start, other, values = row * ROW, target * ROW, tracker.values
    values[start + TRANSFORMED] = 1
    values[start + SPECIES] = values[other + SPECIES]
    if values[start + TERASTALLIZED]:
        pass
    elif values[other + TERASTALLIZED]:  # the types that it had before are copied
        values[start + TYPE_1], values[start + TYPE_2] = tracker.dex.species_types[values[other + SPECIES]]
    else:
        values[start + TYPE_1], values[start + TYPE_2] = values[other + TYPE_1], values[other + TYPE_2]
    values[start + ABILITY] = values[other + ABILITY]
    values[start + STAGES : start + STAGES + 7] = values[other + STAGES : other + STAGES + 7]
    moves, count = (TEMPORARY, NUM_TEMPORARY) if values[other + NUM_TEMPORARY] else (MOVES, NUM_MOVES)
    known = values[other + count]
    for k in range(4):
        values[start + TEMPORARY + k] = values[other + moves + k] if k < known else 0
        values[start + TEMPORARY + PP + k] = values[start + TEMPORARY + PP_MAX + k] = 5 if k < known else 0
    values[start + NUM_TEMPORARY] = known


@line("faint")
def faint(tracker: Tracker, parts: list[str]) -> None:
    """`|faint|POKEMON`."""
    tracker.faint(tracker.row(parts[2]))


# Moves.


@line("move")
def move(tracker: Tracker, parts: list[str]) -> None:
    """`|move|POKEMON|MOVE|TARGET`, with `[from]` if something else than a choice called it."""
    row = tracker.row(parts[2])
    side = int(row >= 6)
    start, values = row * ROW, tracker.values
    volatile = VOLATILE + side * VOLATILE_SIZE
    name = (
        parts[3][2:] if parts[3].startswith("Z-") else parts[3]
    )  # a status move with Z-power keeps its name behind "Z-"
    number = _MOVES[name]
    if not number:
        raise ValueError(f"no move is called {name!r}")
    caller = ""
    for part in parts[5:]:
        if part.startswith("[from]"):
            caller = part[6:].strip()
    goes_on = values[start + LAST_MOVE] == number and (values[volatile + LOCKED] or values[volatile + CHARGING])
    values[start + LAST_MOVE] = number
    values[volatile + CHARGING] = values[volatile + MUST_RECHARGE] = 0
    if number in LOCKING:
        turns = values[volatile + LOCKED] + 1
        values[volatile + LOCKED] = turns if turns < LOCKING[number] else 0
    else:
        values[volatile + LOCKED] = 0
    if number not in _STALLING:
        values[volatile + PROTECT] = 0
    if number in (_BATON_PASS, _SHED_TAIL):
        tracker.passing[side] = number
    elif number == _WISH_MOVE and not values[SIDE + side * SIDE_SIZE + WISH]:
        values[SIDE + side * SIDE_SIZE + WISH] = 2
    elif number in _HEALING_WISHES:
        values[SIDE + side * SIDE_SIZE + HEALING_WISH] = 1
    if caller and number != _PURSUIT:  # a Pursuit that catches a leaving Pokémon names itself as its cause
        if caller.startswith("ability:"):
            tracker.set_ability(row, caller[8:], for_good=False)
        if tracker.gen > 1 or not (goes_on and tracker.dex.move_charge[number]):
            _press_caller(tracker, row, caller, number)
            return
        goes_on = 0
    number = _Z_SOURCE.get(number, number)
    if number in _NOT_LEARNT or tracker.dex.move_gimmick[number] or (goes_on and tracker.gen < 3):
        return
    place = tracker.learn(row, number)
    if place < 0:
        return
    values[place + PP] = max(0, values[place + PP] - 1 - (not caller and _pressed(tracker, row, number)))


def _pressed(tracker: Tracker, row: int, number: int) -> bool:
    """Whether a move aims at an ability Pressure."""
    values, start, side = tracker.values, row * ROW, int(row >= 6)
    if number == _CURSE and _GHOST not in (values[start + TYPE_1], values[start + TYPE_2]):
        return False  # it aims at the user
    foe = values[ACTIVE_ROW + 1 - side]
    return bool(
        foe >= 0
        and values[foe * ROW + ABILITY] == _PRESSURE
        and not values[foe * ROW + FAINTED]
        and tracker.dex.move_pressed[number]
    )


def _press_caller(tracker: Tracker, row: int, caller: str, number: int) -> None:
    """Under Pressure the move that called another one pays once more for what that one aims at."""
    called_by = _MOVES[effect(caller)]
    if tracker.gen < 3 or not called_by or not _pressed(tracker, row, number):
        return
    values, start = tracker.values, row * ROW
    first = start + (TEMPORARY if values[start + NUM_TEMPORARY] else MOVES)
    for place in range(first, first + 4):
        if values[place] == called_by:
            values[place + PP] = max(0, values[place + PP] - 1)


@line("cant")
def cannot(tracker: Tracker, parts: list[str]) -> None:
    """`|cant|POKEMON|REASON|MOVE`; if an ability forbids it, POKEMON is the holder and `[of]` the one that wanted to move."""
    row = tracker.row(parts[2])
    reason = parts[3]
    if reason.startswith("ability:"):
        tracker.set_ability(row, reason[8:])
        row = next((tracker.row(part[5:]) for part in parts[4:] if part.startswith("[of] ")), row)
    start, values = row * ROW, tracker.values
    volatile = VOLATILE + (row >= 6) * VOLATILE_SIZE
    values[volatile + CHARGING] = values[volatile + LOCKED] = values[volatile + PROTECT] = 0
    if reason == "slp":
        values[start + STATUS_TURNS] += 1
    elif reason == "recharge":
        values[volatile + MUST_RECHARGE] = 0
    if len(parts) > 4 and parts[4] and not parts[4].startswith("["):
        number = _MOVES[parts[4]]
        if number and number not in _NOT_LEARNT and not tracker.dex.move_gimmick[number]:
            tracker.learn(row, number)


@line("-prepare")
def prepare(tracker: Tracker, parts: list[str]) -> None:
    """`|-prepare|POKEMON|MOVE`: the first turn of a move that takes two."""
    row = tracker.row(parts[2])
    charges = tracker.dex.move_charge[_MOVES[parts[3]]]
    tracker.values[VOLATILE + (row >= 6) * VOLATILE_SIZE + CHARGING] = int(charges)
    if tracker.gen == 1 and charges:  # the second turn pays
        place = tracker.learn(row, _MOVES[parts[3]])
        if place >= 0:
            tracker.values[place + PP] = min(tracker.values[place + PP_MAX], tracker.values[place + PP] + 1)


@line("-anim")
def animation(tracker: Tracker, parts: list[str]) -> None:
    """`|-anim|POKEMON|MOVE|TARGET`: a charged move that does not wait (Power Herb, sun)."""
    if len(parts[2]) > 2:
        row = tracker.row(parts[2])
        tracker.values[VOLATILE + (row >= 6) * VOLATILE_SIZE + CHARGING] = 0


@line("-miss")
def miss(tracker: Tracker, parts: list[str]) -> None:
    """`|-miss|SOURCE|TARGET`."""
    row = tracker.row(parts[2])
    if tracker.values[row * ROW + LAST_MOVE] in _ROLLING:
        tracker.values[VOLATILE + (row >= 6) * VOLATILE_SIZE + LOCKED] = 0
    else:
        _unlock(tracker, int(row >= 6))


def _unlock(tracker: Tracker, side: int) -> None:
    """A move without effect does not start to go on by itself; from generation 5 on it also ends one that does."""
    values = tracker.values
    locked = values[VOLATILE + side * VOLATILE_SIZE + LOCKED]
    if tracker.gen >= 5 or (tracker.gen >= 3 and locked == 1):
        values[VOLATILE + side * VOLATILE_SIZE + LOCKED] = 0


@line("-mustrecharge")
def must_recharge(tracker: Tracker, parts: list[str]) -> None:
    """`|-mustrecharge|POKEMON`."""
    row = tracker.row(parts[2])
    tracker.values[VOLATILE + (row >= 6) * VOLATILE_SIZE + MUST_RECHARGE] = 1


@line("-fail")
def fail(tracker: Tracker, parts: list[str]) -> None:
    """`|-fail|POKEMON|ACTION`."""
    if len(parts) > 2 and parts[2][:1] == "p":
        row = tracker.row(parts[2])
        side = int(row >= 6)
        tracker.values[VOLATILE + side * VOLATILE_SIZE + PROTECT] = 0
        tracker.passing[side] = 0
        reveal(tracker, parts, row, of_owns=True)


@line("-immune", "-block")
def immune(tracker: Tracker, parts: list[str]) -> None:
    """`|-immune|POKEMON` and `|-block|POKEMON|EFFECT`."""
    row = tracker.row(parts[2])
    _unlock(tracker, int(row < 6))
    if len(parts) > 3:
        if parts[1] == "-block":
            _reveal_effect(tracker, parts[3], row)
        reveal(tracker, parts, row)


# Hp, status, stages.


@line("-damage", "-sethp")
def damage(tracker: Tracker, parts: list[str]) -> None:
    """`|-damage|POKEMON|HP STATUS`."""
    row = tracker.row(parts[2])
    tracker.set_condition(row, parts[3])
    if len(parts) > 4:
        reveal(tracker, parts, row, of_owns=True)


@line("-heal")
def heal(tracker: Tracker, parts: list[str]) -> None:
    """`|-heal|POKEMON|HP STATUS`."""
    row = tracker.row(parts[2])
    tracker.set_condition(row, parts[3])
    if len(parts) > 4:
        reveal(tracker, parts, row)
        cause = effect(parts[4][6:].strip())
        if cause in ("healingwish", "lunardance"):
            tracker.values[SIDE + (row >= 6) * SIDE_SIZE + HEALING_WISH] = 0
        elif cause == "wish":
            tracker.values[SIDE + (row >= 6) * SIDE_SIZE + WISH] = 0


@line("-status")
def status(tracker: Tracker, parts: list[str]) -> None:
    """`|-status|POKEMON|STATUS`."""
    row = tracker.row(parts[2])
    number = _STATUSES[parts[3]]
    if not number:
        raise ValueError(f"no status is called {parts[3]!r}")
    tracker.set_status(row, 1)
    tracker.set_status(row, number)
    if tracker.gen == 1 and number == _ASLEEP:  # whoever sleeps need not recharge any more
        tracker.values[VOLATILE + (row >= 6) * VOLATILE_SIZE + MUST_RECHARGE] = 0
    if "[from] item: Toxic Orb" in parts:  # it comes after the damage of this turn
        tracker.values[row * ROW + STATUS_TURNS] = -1
    reveal(tracker, parts, row, of_owns=True)


@line("-curestatus")
def cure_status(tracker: Tracker, parts: list[str]) -> None:
    """`|-curestatus|POKEMON|STATUS`; the Pokémon need not be active."""
    row = tracker.row(parts[2])
    tracker.set_status(row, 1)
    reveal(tracker, parts, row)


@line("-cureteam")
def cure_team(tracker: Tracker, parts: list[str]) -> None:
    """`|-cureteam|POKEMON`: no member of its team has a status any more."""
    side = tracker.side(parts[2])
    for row in range(6 * side, 6 * side + 6):
        tracker.set_status(row, 1)


def _change_stage(tracker: Tracker, parts: list[str], sign: int) -> None:
    row = tracker.row(parts[2])
    place = row * ROW + _STAGE[parts[3]]
    value = tracker.values[place] + sign * int(parts[4])
    tracker.values[place] = 6 if value > 6 else -6 if value < -6 else value
    if len(parts) > 5:
        reveal(tracker, parts, row)


@line("-boost")
def boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-boost|POKEMON|STAT|AMOUNT`."""
    _change_stage(tracker, parts, 1)


@line("-unboost")
def unboost(tracker: Tracker, parts: list[str]) -> None:
    """`|-unboost|POKEMON|STAT|AMOUNT`."""
    _change_stage(tracker, parts, -1)


@line("-setboost")
def set_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-setboost|POKEMON|STAT|AMOUNT`."""
    row = tracker.row(parts[2])
    tracker.values[row * ROW + _STAGE[parts[3]]] = max(-6, min(6, int(parts[4])))
    reveal(tracker, parts, row)


@line("-swapboost")
def swap_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-swapboost|SOURCE|TARGET|STATS`; all stages if none are named."""
    source, target = tracker.row(parts[2]) * ROW, tracker.row(parts[3]) * ROW
    named = [] if len(parts) < 5 or parts[4].startswith("[") else [name.strip() for name in parts[4].split(",") if name]
    values = tracker.values
    for place in [_STAGE[name] for name in named] or _STAGE.values():
        values[source + place], values[target + place] = values[target + place], values[source + place]


@line("-copyboost")
def copy_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-copyboost|SOURCE|TARGET`: the first has the stages of the second."""
    source, target = tracker.row(parts[2]) * ROW, tracker.row(parts[3]) * ROW
    tracker.values[source + STAGES : source + STAGES + 7] = tracker.values[target + STAGES : target + STAGES + 7]


@line("-invertboost")
def invert_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-invertboost|POKEMON`."""
    start = tracker.row(parts[2]) * ROW
    for place in _STAGE.values():
        tracker.values[start + place] = -tracker.values[start + place]


@line("-clearboost")
def clear_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearboost|POKEMON`."""
    start = tracker.row(parts[2]) * ROW
    for place in _STAGE.values():
        tracker.values[start + place] = 0


@line("-clearallboost")
def clear_all_boosts(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearallboost`."""
    for side in (0, 1):
        start = tracker.values[ACTIVE_ROW + side] * ROW
        if start >= 0:
            for place in _STAGE.values():
                tracker.values[start + place] = 0


@line("-clearpositiveboost")
def clear_positive_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearpositiveboost|TARGET|POKEMON|EFFECT`."""
    start = tracker.row(parts[2]) * ROW
    for place in _STAGE.values():
        tracker.values[start + place] = min(0, tracker.values[start + place])


@line("-clearnegativeboost")
def clear_negative_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearnegativeboost|POKEMON`."""
    start = tracker.row(parts[2]) * ROW
    for place in _STAGE.values():
        tracker.values[start + place] = max(0, tracker.values[start + place])


# Items and abilities.


def reveal(tracker: Tracker, parts: list[str], row: int, of_owns: bool = False) -> None:
    """Items and abilities that the tags `[from]` and `[of]` of a line show.

    Args:
        tracker: that learns of them.
        parts: the line.
        row: the Pokémon that the line is about.
        of_owns: whether the Pokémon behind `[of]` is the holder; otherwise `row` is.
    """
    cause = ""
    for part in parts[3:]:
        if part.startswith("[from]"):
            cause = part[6:].strip()
        elif of_owns and part.startswith("[of] ") and len(part) > 7:
            row = tracker.row(part[5:])
    if cause:
        _reveal_effect(tracker, cause, row)


def _reveal_effect(tracker: Tracker, cause: str, row: int) -> None:
    if cause.startswith("item: "):
        start = row * ROW
        if not (
            tracker.values[start + ITEM] == 1 and tracker.values[start + ITEM_LOST]
        ):  # a berry heals after it was eaten
            tracker.set_item(row, cause[6:])
    elif cause.startswith("ability: "):
        start = row * ROW
        tracker.set_ability(row, cause[9:], for_good=not tracker.values[start + BASE_ABILITY])


@line("-item")
def item(tracker: Tracker, parts: list[str]) -> None:
    """`|-item|POKEMON|ITEM|[from]EFFECT`."""
    if not parts[2]:  # generation 5: Frisk does not say whom
        holder = next(part[5:] for part in parts[4:] if part.startswith("[of] "))
        row = tracker.values[ACTIVE_ROW + 1 - tracker.side(holder)]
        if row < 0:
            raise ValueError("nobody is there to be frisked")
    else:
        row = tracker.row(parts[2])
    tracker.set_item(row, parts[3])
    frisked = "[from] ability: Frisk" in parts
    for part in parts[4:]:
        if part.startswith("[from] ability: "):
            reveal(tracker, parts, row, of_owns=frisked)
        elif part.startswith("[of] ") and len(part) > 7 and not frisked:  # stolen from, or given by
            other = tracker.row(part[5:])
            if other != row:
                tracker.lose_item(other)


@line("-enditem")
def end_item(tracker: Tracker, parts: list[str]) -> None:
    """`|-enditem|POKEMON|ITEM|[from]EFFECT`."""
    tracker.lose_item(tracker.row(parts[2]))


@line("-ability")
def ability(tracker: Tracker, parts: list[str]) -> None:
    """`|-ability|POKEMON|ABILITY|[from]EFFECT`: announced, or changed by an effect."""
    row = tracker.row(parts[2])
    cause, of = "", -1
    for part in parts[4:]:
        if part.startswith("[from]"):
            cause = part[6:].strip()
        elif part.startswith("[of] ") and len(part) > 7:
            of = tracker.row(part[5:])
    tracker.set_ability(row, parts[3], for_good=not cause)
    if cause == "ability: Trace":
        if tracker.values[row * ROW + BASE_ABILITY] == 0:
            tracker.values[row * ROW + BASE_ABILITY] = numbers("abilities")["trace"]
        if of >= 0:
            tracker.set_ability(of, parts[3], for_good=not tracker.values[of * ROW + BASE_ABILITY])


@line("-endability")
def end_ability(tracker: Tracker, parts: list[str]) -> None:
    """`|-endability|POKEMON|ABILITY`: suppressed; the name, if any, is that of its own."""
    row = tracker.row(parts[2])
    if len(parts) > 3 and parts[3] and not parts[3].startswith("["):
        tracker.set_ability(row, parts[3], for_good=not tracker.values[row * ROW + BASE_ABILITY])


# Gimmicks.


def _spend(tracker: Tracker, side: int, gimmick: int) -> None:
    tracker.values[SPENT + 4 * side + gimmick] = 1
    if side == 0:
        tracker.values[OFFERED + gimmick] = 0


@line("-mega", "-burst")
def mega(tracker: Tracker, parts: list[str]) -> None:
    """`|-mega|POKEMON|SPECIES|MEGASTONE` and `|-burst|POKEMON|SPECIES|ITEM`."""
    row = tracker.row(parts[2])
    _spend(tracker, int(row >= 6), 0)
    tracker.values[row * ROW + GIMMICK] = 1
    if len(parts) > 4 and parts[4]:
        tracker.set_item(row, parts[4])


@line("-primal")
def primal(tracker: Tracker, parts: list[str]) -> None:
    """`|-primal|POKEMON|ITEM`."""
    if len(parts) > 3 and parts[3]:
        tracker.set_item(tracker.row(parts[2]), parts[3])


@line("-zpower")
def z_power(tracker: Tracker, parts: list[str]) -> None:
    """`|-zpower|POKEMON`."""
    _spend(tracker, int(tracker.row(parts[2]) >= 6), 1)


@line("-terastallize")
def terastallize(tracker: Tracker, parts: list[str]) -> None:
    """`|-terastallize|POKEMON|TYPE`."""
    row = tracker.row(parts[2])
    start, values = row * ROW, tracker.values
    number = _TYPES[parts[3]]
    if not number:
        raise ValueError(f"no type is called {parts[3]!r}")
    _spend(tracker, int(row >= 6), 3)
    values[start + TERA], values[start + TERASTALLIZED] = number, 1
    tracker.set_species(row, values[start + SPECIES])


# Conditions of the active Pokémon.


@line("-start")
def start_condition(tracker: Tracker, parts: list[str]) -> None:
    """`|-start|POKEMON|EFFECT`."""
    row = tracker.row(parts[2])
    side, values, start = int(row >= 6), tracker.values, row * ROW
    volatile = VOLATILE + side * VOLATILE_SIZE
    name = effect(parts[3])
    place = _VOLATILE.get(name)
    if name == "typechange":
        types = [_TYPES[part] for part in parts[4].split("/") if part != "???"] if len(parts) > 4 else [0]
        if all(types):  # "???/Fighting": a type is lost, as by Double Shock
            values[start + TYPE_1], values[start + TYPE_2] = (*types, 1, 1)[:2]
        values[volatile + TYPE_CHANGE] = 1
    elif name == "typeadd":
        if values[start + TYPE_2] == 1:
            values[start + TYPE_2] = _TYPES[parts[4]]
        values[volatile + TYPE_CHANGE] = 1
    elif name == "dynamax":
        values[start + GIMMICK] = 1
        _spend(tracker, side, 2)
    elif name.startswith("perish"):
        values[volatile + PERISH] = int(name[6:])
    elif name in _FUTURE_MOVES:
        values[SIDE + (1 - side) * SIDE_SIZE + FUTURE_MOVE] = 1
    elif name == "mimic" and len(parts) > 4:
        _mimic(tracker, row, parts[4])
    elif name in ("reflect", "lightscreen", "mist"):  # generation 1: they belong to the Pokémon
        values[SIDE + side * SIDE_SIZE + _SIDE_CONDITION[name]] = 1
    elif place is not None:
        values[volatile + place] = 1
        if name == "disable" and len(parts) > 4:
            values[volatile + DISABLED_MOVE] = _MOVES[parts[4]]
        elif name == "confusion":
            values[volatile + LOCKED] = 0
    else:
        tracker.others[side].add(name)
        values[volatile + OTHER_VOLATILE] = 1
    if len(parts) > 4:
        reveal(tracker, parts, row, of_owns=True)


def _mimic(tracker: Tracker, row: int, name: str) -> None:
    """It has this move instead of Mimic until it leaves."""
    start, values = row * ROW, tracker.values
    if not values[start + NUM_TEMPORARY]:
        values[start + TEMPORARY : start + TEMPORARY + 12] = values[start + MOVES : start + MOVES + 12]
        values[start + NUM_TEMPORARY] = values[start + NUM_MOVES]
    for k in range(values[start + NUM_TEMPORARY]):
        if values[start + TEMPORARY + k] == _MIMIC:
            values[start + TEMPORARY + k] = _MOVES[name]
            if tracker.gen > 1:  # in generation 1 the copy uses the pp of Mimic
                values[start + TEMPORARY + PP + k] = values[start + TEMPORARY + PP_MAX + k] = 5


@line("-end")
def end_condition(tracker: Tracker, parts: list[str]) -> None:
    """`|-end|POKEMON|EFFECT`."""
    row = tracker.row(parts[2])
    side, values, start = int(row >= 6), tracker.values, row * ROW
    volatile = VOLATILE + side * VOLATILE_SIZE
    name = effect(parts[3])
    place = _VOLATILE.get(name)
    if place is not None:
        values[volatile + place] = 0
        if name == "disable":
            values[volatile + DISABLED_MOVE] = 0
        elif name == "typechange":
            tracker.set_species(row, values[start + SPECIES])
    elif name == "dynamax":
        values[start + GIMMICK] = 0
    elif name in _TRAPS:
        values[volatile + TRAPPED_PARTIALLY] = 0
    elif name in _FUTURE_MOVES:
        values[SIDE + side * SIDE_SIZE + FUTURE_MOVE] = 0
    elif name in ("reflect", "lightscreen", "mist"):
        values[SIDE + side * SIDE_SIZE + _SIDE_CONDITION[name]] = 0
    else:
        tracker.others[side].discard(name)
        values[volatile + OTHER_VOLATILE] = bool(tracker.others[side])


@line("-singleturn")
def single_turn(tracker: Tracker, parts: list[str]) -> None:
    """`|-singleturn|POKEMON|MOVE`: of these, guards make the next guard less likely to work."""
    row = tracker.row(parts[2])
    if _MOVES[effect(parts[3])] in _STALLING:
        place = VOLATILE + (row >= 6) * VOLATILE_SIZE + PROTECT
        tracker.values[place] = min(3, tracker.values[place] + 1)


@line("-activate")
def activate(tracker: Tracker, parts: list[str]) -> None:
    """`|-activate|POKEMON|EFFECT`: anything without a kind of line of its own."""
    if len(parts) < 4 or len(parts[2]) < 3:
        return
    row = tracker.row(parts[2])
    side, values, start = int(row >= 6), tracker.values, row * ROW
    name, extra = effect(parts[3]), parts[4] if len(parts) > 4 and not parts[4].startswith("[") else ""
    if name in _TRAPS:
        values[VOLATILE + side * VOLATILE_SIZE + TRAPPED_PARTIALLY] = 1
    elif _MOVES[name] in _STALLING:
        _unlock(tracker, 1 - side)
    elif name == "trapped":
        tracker.others[side].add(name)
        values[VOLATILE + side * VOLATILE_SIZE + OTHER_VOLATILE] = 1
    elif name == "mimic" and extra:
        _mimic(tracker, row, extra)
    elif name == "poltergeist" and extra:
        tracker.set_item(row, extra)
    elif name in _PP_CHANGES and extra:
        change = -int(parts[5]) if len(parts) > 5 and parts[5].isdigit() else _PP_CHANGES[name]
        place = tracker.learn(row, _MOVES[extra])
        if place >= 0:
            values[place + PP] = max(0, min(values[place + PP_MAX], values[place + PP] + change))
    elif name in ("mummy", "lingeringaroma", "wanderingspirit"):
        tracker.set_ability(row, name, for_good=not values[start + BASE_ABILITY])
        of = next((tracker.row(part[5:]) for part in parts[4:] if part.startswith("[of] ")), -1)
        if extra[:1] == "p" and extra[3:4] == ":":  # newer lines name the attacker here
            of, extra = tracker.row(extra), ""
        if of >= 0:
            tracker.set_ability(of, extra if name == "wanderingspirit" and extra else name, for_good=False)
    elif name == "skillswap" and extra and len(parts) > 5:
        of = next((tracker.row(part[5:]) for part in parts[5:] if part.startswith("[of] ")), -1)
        tracker.set_ability(row, extra, for_good=False)
        if of >= 0:
            tracker.set_ability(of, parts[5], for_good=False)
    else:
        _reveal_effect(tracker, parts[3], row)


# The field.


@line("-weather")
def weather(tracker: Tracker, parts: list[str]) -> None:
    """`|-weather|WEATHER|[upkeep]`."""
    number = _WEATHER[effect(parts[2])]
    if tracker.values[WEATHER] != number or (len(parts) > 3 and parts[3] != "[upkeep]"):
        tracker.values[WEATHER] = number
        tracker.values[WEATHER_TURNS] = 0
    if len(parts) > 4:
        reveal(tracker, parts, -1, of_owns=True)


@line("-fieldstart")
def field_start(tracker: Tracker, parts: list[str]) -> None:
    """`|-fieldstart|CONDITION`."""
    name = effect(parts[2])
    if name in _TERRAIN:
        tracker.values[TERRAIN] = _TERRAIN[name]
        tracker.values[TERRAIN_TURNS] = 0
    elif name in ROOMS:
        tracker.values[ROOM + ROOMS.index(name)] = 1
    if len(parts) > 4 and parts[3].startswith("[from] ability"):
        reveal(tracker, parts, -1, of_owns=True)


@line("-fieldend")
def field_end(tracker: Tracker, parts: list[str]) -> None:
    """`|-fieldend|CONDITION`."""
    name = effect(parts[2])
    if name in _TERRAIN:
        tracker.values[TERRAIN] = tracker.values[TERRAIN_TURNS] = 0
    elif name in ROOMS:
        tracker.values[ROOM + ROOMS.index(name)] = 0


@line("-fieldactivate")
def field_activate(tracker: Tracker, parts: list[str]) -> None:
    """`|-fieldactivate|CONDITION`: Perish Song starts counts by lines of its own."""


@line("-sidestart")
def side_start(tracker: Tracker, parts: list[str]) -> None:
    """`|-sidestart|SIDE|CONDITION`; a second one is a second layer."""
    side, name = tracker.side(parts[2]), effect(parts[3])
    start = SIDE + side * SIDE_SIZE
    place = _SIDE_CONDITION.get(name)
    if place is None:
        tracker.others[2 + side].add(name)
        tracker.values[start + OTHER_SIDE] = 1
    else:
        tracker.values[start + place] = min(LAYERS.get(name, 1), tracker.values[start + place] + 1)


@line("-sideend")
def side_end(tracker: Tracker, parts: list[str]) -> None:
    """`|-sideend|SIDE|CONDITION`."""
    side, name = tracker.side(parts[2]), effect(parts[3])
    start = SIDE + side * SIDE_SIZE
    place = _SIDE_CONDITION.get(name)
    if place is None:
        tracker.others[2 + side].discard(name)
        tracker.values[start + OTHER_SIDE] = bool(tracker.others[2 + side])
    else:
        tracker.values[start + place] = 0


@line("-swapsideconditions")
def swap_side_conditions(tracker: Tracker, parts: list[str]) -> None:
    """`|-swapsideconditions`: Court Change."""
    values = tracker.values
    for k in _SWAPPED:
        one, two = SIDE + k, SIDE + SIDE_SIZE + k
        values[one], values[two] = values[two], values[one]
    tracker.others[2], tracker.others[3] = tracker.others[3], tracker.others[2]
