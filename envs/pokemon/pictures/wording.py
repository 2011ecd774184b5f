"""Lines of the battle protocol in words, for the log beside a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

_STATUSES = {
    "brn": "is burnt", "frz": "is frozen", "par": "is paralysed", "psn": "is poisoned", "slp": "falls asleep", "tox": "is badly poisoned",
}  # fmt: skip
_STATS = {
    "atk": "Attack", "def": "Defence", "spa": "Special Attack", "spd": "Special Defence", "spe": "Speed", "accuracy": "accuracy",
    "evasion": "evasion",
}  # fmt: skip
_REASONS = {
    "slp": "is asleep", "frz": "is frozen solid", "par": "is paralysed", "flinch": "flinches", "recharge": "must recharge",
}  # fmt: skip


def _who(ident: str) -> str:
    # idents are "p1a: NICKNAME"
    return ident.partition(": ")[2] or ident


def _effect(name: str) -> str:
    # effects are named "move: X", "ability: X" or plainly
    return name.partition(": ")[2] or name


def _cause(parts: Sequence[str]) -> str:
    found = next((_effect(part[6:].strip()) for part in parts[3:] if part.startswith("[from]")), "")
    return f" ({found})" if found else ""


def _hp(parts: Sequence[str]) -> str:
    head = parts[3].partition(" ")[0]
    hp, _, most = head.partition("/")
    return f"{100 * int(hp) // int(most)} %" if most.isdigit() and int(most) else "0 %"


def _staged(parts: Sequence[str], up: bool) -> str:
    amount = int(parts[4])
    how = "does not change" if amount == 0 else ("rises" if up else "falls") + (" sharply" if amount > 1 else "")
    return f"{_who(parts[2])}'s {_STATS.get(parts[3], parts[3])} {how}{_cause(parts)}"


_WORDS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "switch": lambda p: f"{p[2][:2]} sends out {_who(p[2])}",
    "drag": lambda p: f"{_who(p[2])} is dragged out",
    "replace": lambda p: f"the Illusion ends: it is {_who(p[2])}",
    "move": lambda p: f"{p[2][:2]} {_who(p[2])} uses {p[3]}",
    "cant": lambda p: f"{_who(p[2])} {_REASONS.get(p[3], 'cannot move (' + _effect(p[3]) + ')')}",
    "faint": lambda p: f"{_who(p[2])} faints",
    "-damage": lambda p: f"{_who(p[2])} is at {_hp(p)}{_cause(p)}",
    "-heal": lambda p: f"{_who(p[2])} recovers to {_hp(p)}{_cause(p)}",
    "-status": lambda p: f"{_who(p[2])} {_STATUSES.get(p[3], p[3])}",
    "-curestatus": lambda p: f"{_who(p[2])} is cured",
    "-boost": lambda p: _staged(p, True),
    "-unboost": lambda p: _staged(p, False),
    "-crit": lambda p: "a critical hit",
    "-supereffective": lambda p: "it is super effective",
    "-resisted": lambda p: "it is not very effective",
    "-immune": lambda p: f"{_who(p[2])} is immune",
    "-miss": lambda p: f"{_who(p[2])} misses",
    "-fail": lambda p: "but it fails",
    "-start": lambda p: f"{_who(p[2])}: {_effect(p[3])} begins",
    "-end": lambda p: f"{_who(p[2])}: {_effect(p[3])} ends",
    "-item": lambda p: f"{_who(p[2])} has {p[3]}",
    "-enditem": lambda p: f"{_who(p[2])} has lost {p[3]}",
    "-ability": lambda p: f"{_who(p[2])} has {p[3]}",
    "-transform": lambda p: f"{_who(p[2])} transforms into {_who(p[3])}",
    "-mega": lambda p: f"{_who(p[2])} mega-evolves",
    "-terastallize": lambda p: f"{_who(p[2])} terastallizes: {p[3]}",
    "-zpower": lambda p: f"{_who(p[2])} uses its Z-power",
    "-weather": lambda p: "" if "[upkeep]" in p else "the weather clears" if p[2] == "none" else f"weather: {_effect(p[2])}",
    "-fieldstart": lambda p: f"{_effect(p[2])} begins",
    "-fieldend": lambda p: f"{_effect(p[2])} ends",
    "-sidestart": lambda p: f"{_effect(p[3])} on {p[2][:2]}'s side",
    "-sideend": lambda p: f"{_effect(p[3])} on {p[2][:2]}'s side ends",
    "win": lambda p: f"{p[2]} wins",
    "tie": lambda p: "a tie",
}  # fmt: skip


def words_of_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """What the lines say, one sentence each; lines that say nothing to people are left out."""
    sentences = []
    for line in lines:
        parts = line.split("|")
        word = _WORDS.get(parts[1]) if len(parts) > 1 else None
        if word is None:
            continue
        try:
            sentence = word(parts)
        except (IndexError, ValueError):
            # a log with a line that is written differently is still a log
            continue
        if sentence:
            sentences.append(sentence)
    return tuple(sentences)
