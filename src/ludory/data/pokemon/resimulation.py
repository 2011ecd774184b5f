"""Battles played again from their input logs: the requests, first-person lines and true choices of both sides."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ludory.envs.pokemon.failures import choice_of_text
from ludory.envs.pokemon.formats import FIRST_GIMMICK, MOVES, Gimmick, SlotOrder, gimmick_groups
from ludory.envs.pokemon.requests import SeatRequest, menu_order, seat_request
from ludory.errors import BackendError, DataError, OptionError
from ludory.reading import parse_json

from .labels import SHORT, check_format, meta_of
from .rejections import reject
from .replays import RecordedBattle
from .trajectories import BattleStep, BattleTrajectory, last_rewards

if TYPE_CHECKING:
    from ludory.envs.pokemon.backends.worker import Worker

MAJOR = {
    "turn",
    "move",
    "switch",
    "drag",
    "replace",
    "cant",
    "faint",
    "detailschange",
    "upkeep",
    "start",
    "poke",
    "swap",
}
"""Kinds of lines, beside those that begin with a minus, in which a log and its resimulation must agree."""
UNEQUAL = {"-message", "-hint"}
"""Lines in which they need not."""
SIDE_NAME = re.compile(r"(?<=\|)(p[12]): [^|]*")
"""A side with the name of its player."""
HIT_POINTS = re.compile(r"(?<=\|)(\d+)/(\d+)")
REQUEST = "R"
"""First letter of the lines of a stream that hold a request."""


class SeatDecision(NamedTuple):
    """A choice of a seat: `at` is the number of lines of its stream before it, its request's line included."""

    at: int
    choice: str


class Resimulation(NamedTuple):
    """A battle as both seats saw it."""

    streams: tuple[tuple[str, ...], tuple[str, ...]]
    decisions: tuple[tuple[SeatDecision, ...], tuple[SeatDecision, ...]]
    spectator: tuple[str, ...]
    teams: tuple[str, str]
    log_sha256: str
    """Of the omniscient log; empty if the input log ends before the battle."""


def resimulate(worker: Worker, battle: RecordedBattle, game: int = 0) -> Resimulation:
    """Play a battle again.

    Args:
        worker: that plays it; its battle of this number is replaced.
        battle: with its input log.
        game: number of the battle in the worker.

    Raises:
        DataError: the battle has no input log, or one that cannot be read.
        RejectedBattleError: `resim_mismatch`: the installed simulator does not accept these choices.
    """
    if not battle.input_log:
        raise DataError(
            f"{battle.place}, battle {battle.id}: no inputLog; only a battle with its input log can be played again"
        )
    start, players, choices = _parsed(battle)
    streams: tuple[list[str], list[str]] = ([], [])
    decisions: tuple[list[SeatDecision], list[SeatDecision]] = ([], [])
    lines: tuple[list[str], list[str]] = ([], [])
    try:
        reply = worker.reset([{"i": game, **start, **players}])["games"][0]
        while True:
            if "crash" in reply:
                raise reject("resim_mismatch", f"the simulator crashed: {reply['crash'].get('text', '')[:200]}")
            for seat in (0, 1):
                streams[seat].extend(reply["lines"][seat])
                lines[seat].extend(reply["lines"][seat])
            if reply["end"] is not None:
                break
            made: list[str | None] = [None, None]
            for seat in (0, 1):
                request = reply["req"][seat]
                if request is None or request.get("wait"):
                    continue
                # the log ends here: what follows was not chosen
                if not choices[seat]:
                    break
                # the request stands in the stream before its choice
                streams[seat].append(request_line(request, reply["order"][seat]))
                made[seat] = choice_of_text(choices[seat].popleft(), request, reply["order"][seat], start["format"])
                decisions[seat].append(SeatDecision(len(streams[seat]), str(made[seat])))
            # nobody could choose: the log has ended before the battle
            if made == [None, None]:
                break
            reply = worker.step([(game, made[0], made[1])])["games"][0]
            if any(reply.get("rej") or ()):
                refused = next(text for text in reply["rej"] if text)
                # the installed rules are not those of the log
                raise reject("resim_mismatch", f"the simulator refuses {made}: {refused}")
        said = worker.log([game])[0]
    except (BackendError, OptionError) as error:
        raise reject("resim_mismatch", str(error).splitlines()[0]) from error
    end = said.get("end") or {}
    return Resimulation(
        (tuple(streams[0]), tuple(streams[1])),
        (tuple(decisions[0]), tuple(decisions[1])),
        tuple(spectator_lines(*lines)),
        (said["teams"][0], said["teams"][1]),
        end.get("log_sha256", ""),
    )


def request_line(request: Mapping[str, Any], order: Sequence[int]) -> str:
    """The line of a stream that holds a request and the fixed slot of each position."""
    content = {"request": request, "order": list(order)}
    return REQUEST + json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _parsed(battle: RecordedBattle) -> tuple[dict[str, Any], dict[str, Any], tuple[deque[str], deque[str]]]:
    """Options of the battle, of its players, and the choices of each seat."""
    start: dict[str, Any] = {}
    players: dict[str, Any] = {}
    choices: tuple[deque[str], deque[str]] = (deque(), deque())
    for line in battle.input_log:
        word, _, rest = line.partition(" ")
        try:
            if word == ">start":
                said = parse_json(rest)
                seed = said["seed"]
                start = {
                    "format": said["formatid"],
                    # old logs have lists of numbers, new ones texts
                    "seed": ",".join(map(str, seed)) if isinstance(seed, list) else seed,
                }
            elif word == ">player":
                player, _, options = rest.partition(" ")
                known = parse_json(options)
                seed = known.get("seed")
                seed = ",".join(map(str, seed)) if isinstance(seed, list) else seed
                players[player] = {"team": known["team"]} if known.get("team") else {"seed": seed}
            elif word in (">p1", ">p2"):
                choices[int(word[2]) - 1].append(rest)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{battle.place}, battle {battle.id}, field 'inputLog': got {line[:80]!r}, cannot be read"
            ) from error
    if not start or set(players) != {"p1", "p2"}:
        raise DataError(f"{battle.place}, battle {battle.id}, field 'inputLog': got no >start and two >player lines")
    return start, players, choices


def check_same(battle: RecordedBattle, played: Resimulation) -> None:
    """Compare a resimulation with what was recorded.

    Raises:
        RejectedBattleError: `resim_mismatch`: a line of the logs or a team differs.
    """
    # not strict: the shorter one is told by the counts, after the first event that differs
    pairs = zip(_essence(battle.lines), _essence(played.spectator), strict=False)
    for number, (recorded, again) in enumerate(pairs):
        if recorded != again:
            raise reject("resim_mismatch", f"event {number}: recorded {recorded!r}, played again {again!r}")
    counts = len(_essence(battle.lines)), len(_essence(played.spectator))
    if counts[0] != counts[1]:
        raise reject("resim_mismatch", f"recorded {counts[0]} events, played again {counts[1]}")
    if battle.teams is not None and battle.teams != played.teams:
        raise reject("resim_mismatch", "the teams differ")


def _essence(lines: Sequence[str]) -> list[str]:
    """The lines of a log that depend on the rules and choices alone."""
    kept = []
    for line in lines:
        kind = line.split("|", 2)[1] if line.startswith("|") and len(line) > 1 else ""
        # messages and hints are worded anew between versions
        if kind in MAJOR or (kind.startswith("-") and kind not in UNEQUAL):
            line = SIDE_NAME.sub(r"\1", line) if kind.startswith("-side") else line
            kept.append(HIT_POINTS.sub(_percent, line))
    return kept


def _percent(found: re.Match[str]) -> str:
    """Exact hit points as the spectator sees them."""
    now, most = int(found[1]), int(found[2])
    # 48 are pixels of a bar, 100 is percent already
    if most in (0, 48, 100):
        return found[0]
    # rounded up, but 100 % only at full hit points, as the simulator shows it
    return f"{min(-(-100 * now // most), 99 if now < most else 100)}/100"


def spectator_lines(first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    """What a spectator sees, from the lines of both seats: of a line about one side, the version of the other."""
    i = j = 0
    while i < len(first) and j < len(second):
        one, two = first[i], second[j]
        if one == two:
            yield one
        elif one.split("|")[1:3] == two.split("|")[1:3]:
            # a private line comes to its owner with exact numbers, to the other side as spectators see it
            yield two if one.split("|")[2].startswith("p1") else one
        elif any(two.split("|")[1:3] == line.split("|")[1:3] for line in first[i + 1 : i + 3]):
            # a line that only one seat has is passed over on that side
            j -= 1  # `one` is for this seat alone
        else:
            i -= 1
        i, j = i + 1, j + 1


def request_trajectories(
    battle: RecordedBattle, played: Resimulation, gimmick: Gimmick = "native", slot_order: SlotOrder = "request"
) -> tuple[BattleTrajectory, BattleTrajectory]:
    """What both sides chose, with the requests' masks and first-person streams.

    Args:
        battle: that was played again.
        played: the resimulation.
        gimmick: "never": ten actions; a move with a gimmick becomes the plain move.
        slot_order: "alpha" sorts the menu by move id.

    Raises:
        RejectedBattleError: the battle has no winner, or a choice is outside the mask.
    """
    gen = _generation(played.spectator)
    check_format(battle, gen)
    winner = _winner(battle)
    meta = meta_of(battle, gen, gimmick, slot_order) | {"mask_source": "request"}
    both = []
    for seat in (0, 1):
        steps = [_step(decision, played.streams[seat], gen, gimmick, slot_order) for decision in played.decisions[seat]]
        reward = 0.0 if winner is None else 1.0 if winner == seat else -1.0
        if not steps:
            raise reject("too_short", "a side has no decision")
        both.append(
            BattleTrajectory(battle.id, f"p{seat + 1}", reward, last_rewards(steps, reward), played.streams[seat], meta)
        )
    return both[0], both[1]


def _generation(lines: Sequence[str]) -> int:
    found = next((line for line in lines if line.startswith("|gen|")), "|gen|0")
    return int(found.split("|")[2])


def _winner(battle: RecordedBattle) -> int | None:
    names = {}
    for line in battle.lines:
        parts = line.split("|")
        if line.startswith("|player|") and len(parts) > 3 and parts[3]:
            names[parts[3]] = int(parts[2][1]) - 1
        elif line.startswith("|win|"):
            if parts[2] not in names:
                raise reject("winner_not_a_player", parts[2])
            return names[parts[2]]
        elif line == "|tie" or line.startswith("|tie|"):
            return None
    raise reject("no_result")


def _step(
    decision: SeatDecision, stream: Sequence[str], gen: int, gimmick: Gimmick, slot_order: SlotOrder
) -> BattleStep:
    content = json.loads(stream[decision.at - 1][len(REQUEST) :])
    request, order = content["request"], content["order"]
    asked = seat_request(request, order, gen, gimmick, slot_order)
    action, used = action_of_choice(decision.choice, request, order, gen, gimmick, slot_order)
    mask = tuple(number for number, legal in enumerate(asked.mask) if legal)
    if action not in mask:
        raise reject("label_outside_mask", f"{decision.choice!r} is action {action}, legal are {mask}")
    kind = _kind(asked, request)
    return BattleStep(
        action,
        at=decision.at,
        mask=mask,
        kind=kind,
        label_source="request",
        weight=0.0 if kind == "single" else 1.0,
        gimmick=used,
        choice=_words(decision.choice, request),
    )


def _kind(asked: SeatRequest, request: Mapping[str, Any]) -> str:
    if asked.kind == "preview":
        return "preview"
    if asked.kind == "move":
        # one legal action: nothing was decided
        return "single" if sum(asked.mask) == 1 else "free"
    active = next((one for one in request["side"]["pokemon"] if one["active"]), None)
    fainted = asked.kind == "revive" or active is None or active["condition"].endswith(" fnt")
    return "forced_switch" if fainted else "pivot"


def action_of_choice(
    choice: str,
    request: Mapping[str, Any],
    order: Sequence[int],
    gen: int,
    gimmick: Gimmick = "native",
    slot_order: SlotOrder = "request",
) -> tuple[int, str]:
    """The action of a choice string and the name of its gimmick ("" if none).

    Args:
        choice: as an input log has it: "move thunderbolt terastallize", "switch 3", "team 2, 1, 3".
        request: that it answers.
        order: fixed slot of each position.
        gen: generation.
        gimmick: "never" gives the plain move.
        slot_order: order of the menu.

    Raises:
        RejectedBattleError: `label_outside_mask`: the request does not offer this.
    """
    verb, *words = choice.replace(",", " ").split()
    if verb in ("switch", "team") and words and words[0].isdecimal() and 1 <= int(words[0]) <= len(order):
        return MOVES + order[int(words[0]) - 1], ""
    places = menu_order(request, slot_order)
    if verb != "move" or not places or not words:
        raise reject("label_outside_mask", f"{choice!r} answers no request of this kind")
    moves, active = request["active"][0]["moves"], request["active"][0]
    word = words[-1] if len(words) > 1 else ""
    if word == "dynamax" and not active.get("canDynamax"):
        word = ""  # every choice of a dynamaxed Pokémon says so
    fits = [k for k, place in enumerate(places) if moves[place]["id"] == words[0]]
    if len(places) == 1:
        fits = [0]  # recharge, a locked move, Struggle, Fight
    if not fits:
        raise reject("label_outside_mask", f"{choice!r}: the menu is {', '.join(one['id'] for one in moves)}")
    # the same move may stand twice after Mimic; the one that can be chosen is meant
    usable = [k for k in fits if not moves[places[k]].get("disabled")]
    k = (usable or fits)[0]
    if not word:
        return k, ""
    name = "mega" if word.startswith("mega") else SHORT.get(word, word)
    if gimmick == "never":
        return k, name
    word = {"megax": "mega", "megay": "zmove"}.get(word, word)  # see `requests.py`
    for number, group in enumerate(gimmick_groups(gen)):
        if word in group:
            return FIRST_GIMMICK + MOVES * number + k, name
    raise reject("label_outside_mask", f"{choice!r} in generation {gen}")


def _words(choice: str, request: Mapping[str, Any]) -> str:
    """The choice with the name of the Pokémon instead of its position."""
    verb, *words = choice.replace(",", " ").split()
    if verb not in ("switch", "team"):
        return choice
    return f"switch {request['side']['pokemon'][int(words[0]) - 1]['details'].split(',')[0]}"
