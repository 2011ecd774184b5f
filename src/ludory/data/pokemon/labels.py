"""From a spectator's log to a trajectory of each side: the labels as actions, with masks that contain the truth."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ludory.envs.pokemon.dex import Dex, dex
from ludory.envs.pokemon.formats import (
    FIRST_GIMMICK,
    MOVES,
    RULES,
    SLOTS,
    Gimmick,
    SlotOrder,
    gimmick_groups,
)
from ludory.envs.pokemon.vocab import VOCAB_SHA256, vocabulary

from .rejections import reject
from .replays import RecordedBattle
from .sides import Decision, Member, SpectatorView
from .spectator import watch
from .trajectories import MISSING, SCHEMA, BattleStep, BattleTrajectory, last_rewards

SHORT = {"terastallize": "tera", "zmove": "z"}
"""Names of gimmicks in files, where they differ from the words of choices."""
CHANGES_TYPE = {
    "hiddenpower", "weatherball", "naturepower", "judgment", "multiattack", "revelationdance", "technoblast", "naturalgift",
    "terrainpulse", "ivycudgel", "ragingbull", "aurawheel", "terablast",
}  # fmt: skip
"""Moves whose type is not the one of the dex, so that a Z-move or Max Move may come from them."""


def spectator_trajectories(
    battle: RecordedBattle, gimmick: Gimmick = "native", keep_illusion: bool = False
) -> tuple[BattleTrajectory, BattleTrajectory]:
    """What both sides decided, as far as the log shows it.

    Moves are in alphabetical order of their ids, over the moves that the Pokémon is known to have at the end of the log; slots are in
    the order of the preview, or of appearance.

    Args:
        battle: with its log.
        gimmick: "never": ten actions; a move with a gimmick becomes the plain move.
        keep_illusion: see `watch`.

    Raises:
        RejectedBattleError: the battle cannot be read, or contradicts itself.
    """
    view = watch(battle.lines, keep_illusion)
    check_format(battle, view.gen)
    table = dex(view.gen)
    _check_power_points(view, table)
    meta = meta_of(battle, view.gen, gimmick, "alpha") | {"mask_source": "spectator"}
    both = []
    for seat in (0, 1):
        steps = [
            _step(one, view.gen, gimmick, table, len(view.teams[seat])) for one in view.decisions if one.seat == seat
        ]
        reward = 0.0 if view.winner is None else 1.0 if view.winner == seat else -1.0
        done = last_rewards(steps, reward)
        both.append(BattleTrajectory(battle.id, f"p{seat + 1}", reward, done, battle.lines, meta))
    return both[0], both[1]


def meta_of(battle: RecordedBattle, gen: int, gimmick: Gimmick, slot_order: SlotOrder) -> dict[str, Any]:
    """What a trajectory says of its battle."""
    simulated = bool(battle.agents)
    return {
        "schema": SCHEMA,
        "format": battle.format,
        "gen": gen,
        "rules": RULES if simulated or slot_order == "request" else "unknown",
        "slot_order": slot_order,
        "gimmick": gimmick,
        "vocab_sha256": VOCAB_SHA256,
        "rating": battle.rating,
        "day": battle.day,
        "source": battle.place.rsplit("/", 1)[-1],
        "agents": list(battle.agents) if battle.agents else None,
        "licence": None,
    }


def check_format(battle: RecordedBattle, gen: int) -> None:
    """Refuse a format that is unknown, by custom rules, or of another generation than the log.

    Raises:
        RejectedBattleError: which of these.
    """
    if "@@@" in battle.format:
        raise reject("custom_rules", battle.format)
    if not battle.format.startswith("gen") or battle.format[3:4] not in "123456789":
        raise reject("unknown_format", battle.format or "no format and no tier")
    if battle.format[3:4] != str(gen):
        raise reject("format_mismatch", f"{battle.format}, but the log is of generation {gen}")


def _check_power_points(view: SpectatorView, table: Dex) -> None:
    known = vocabulary("moves")
    for member in (*view.teams[0], *view.teams[1]):
        for move, uses in member.uses.items():
            # 64: the most pp that any move can have
            most = int(table.move_pp[known[move]]) if move in known else 64
            if uses > max(most, 1):
                raise reject("negative_pp", f"{member.species} uses {move} {uses} times, of {most}")


def _step(decision: Decision, gen: int, gimmick: Gimmick, table: Dex, seen: int) -> BattleStep:
    mask = _mask(decision, gen, gimmick)
    action, choice, move = MISSING, "", ""
    if decision.verb == "switch" and decision.target is not None:
        action, choice = MOVES + decision.target.slot, f"switch {decision.target.species}"
    elif decision.verb == "move":
        move = _move_behind(decision, table)
        action = _action_of_move(decision, move, gen, gimmick)
        choice = f"move {move}" + (f" {decision.gimmick}" if decision.gimmick else "")
    if action == MISSING:
        # weight 0: nothing can be learnt from it, but it stands in the course of the battle
        return BattleStep(MISSING, at=decision.at, mask=mask, kind=decision.kind, label_source="missing", weight=0.0)
    if action not in mask:
        raise reject("label_outside_mask", f"turn {decision.turn}, p{decision.seat + 1}: {choice}")
    return BattleStep(
        action,
        at=decision.at,
        mask=mask,
        kind=decision.kind,
        label_source=decision.source,
        # a choice among one is no choice
        weight=0.0 if decision.kind == "single" else 1.0,
        gimmick=decision.gimmick,
        choice=choice,
    )


def _mask(decision: Decision, gen: int, gimmick: Gimmick) -> tuple[int, ...]:
    """Everything that may be legal as far as a spectator knows."""
    switches = [MOVES + slot for slot in decision.open_slots if slot < SLOTS]
    # one entry of the menu, always the first
    if decision.kind == "single":
        return (0,)
    if decision.kind != "free":
        return tuple(switches)
    # recharge, locked moves and the like have one entry, but switches may be open
    if decision.one_entry:
        return (0, *switches)
    groups = gimmick_groups(gen) if gimmick == "native" else ()
    extra = [
        FIRST_GIMMICK + MOVES * number + k
        for number, words in enumerate(groups)
        # a gimmick that was used is no longer offered
        if not all(SHORT.get(word, word) in decision.spent for word in words)
        for k in range(MOVES)
    ]
    return (*range(MOVES), *switches, *extra)


def _action_of_move(decision: Decision, move: str, gen: int, gimmick: Gimmick) -> int:
    """The action of a move by the place of its id among the known ones; `MISSING` if the move is not told."""
    if decision.one_entry:
        return 0
    if not move or decision.menu is None:
        return MISSING
    known = sorted(decision.menu.moves)
    if move not in known:
        # a copied move stands at the place of the move that copied it
        move = decision.copied.get(move, move)
    if move not in known:
        raise reject("transform_order", f"turn {decision.turn}: {move} is not among {', '.join(known)}")
    # the alphabetical place, as the masks have it
    place = known.index(move)
    if not decision.gimmick or gimmick == "never":
        return place
    for number, words in enumerate(gimmick_groups(gen)):
        if decision.gimmick in [SHORT.get(word, word) for word in words]:
            return FIRST_GIMMICK + MOVES * number + place
    raise reject("bad_line", f"{decision.gimmick} in generation {gen}")


def _move_behind(decision: Decision, table: Dex) -> str:
    """The move chosen; of a Z-move or Max Move, the only one of four known moves from which it can come, "" if there are several."""
    if not decision.hidden:
        return decision.move
    known, numbers = _known_moves(decision.menu), vocabulary("moves")
    shown = numbers.get(decision.move)
    # with fewer than four known moves it may have been one that nobody has seen
    if shown is None or len(known) < MOVES:
        return ""
    possible = {move for move in known if _may_become(move, decision.move, table, numbers)}
    return possible.pop() if len(possible) == 1 else ""


def _known_moves(member: Member | None) -> Collection[str]:
    return member.moves if member is not None else ()


def _may_become(move: str, shown: str, table: Dex, numbers: Mapping[str, int]) -> bool:
    """Whether a Z-move or Max Move may come from a move, whatever the ability."""
    number, into = numbers.get(move), numbers[shown]
    if number is None:
        return True
    # Max Guard and status moves come from each other only
    if shown == "maxguard" or table.move_category[number] == 2:
        return shown == "maxguard" and bool(table.move_category[number] == 2)
    same = bool(table.move_type[number] == table.move_type[into])
    normal = bool(table.move_type[number] == vocabulary("types")["normal"])
    # a Normal move may change its type by an ability; Liquid Voice makes sounds Water
    return same or normal or move in CHANGES_TYPE or bool(table.move_sound[number])
