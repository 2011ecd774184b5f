"""What each side decided, read from the log that a spectator sees: decision points, labels, and the team as the log shows it.

The rules of labels are those of the manual page: a label is what the side showed, or it is missing. It is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ludory.envs.pokemon.vocab import to_id
from ludory.errors import RejectedBattleError

from .rejections import reject
from .sides import MENU, TEAM, Decision, Kind, Member, SideRecord, SpectatorView, looks_like, set_condition

PIVOTS = {"uturn", "voltswitch", "flipturn", "partingshot", "batonpass", "teleport", "shedtail", "chillyreception"}
EJECTS = {"ejectbutton", "ejectpack", "emergencyexit", "wimpout"}
GEN1_TRAPS = {"wrap", "bind", "clamp", "firespin"}
SEMI_LOCKS = GEN1_TRAPS | {"bide"}
"""Generations 1 and 2: the menu has one entry, but the side may switch."""
ILLUSIONISTS = ("Zoroark", "Zorua")
GIMMICKS = {"-terastallize": "tera", "-mega": "mega", "-burst": "ultra", "-zpower": "z"}
NO_MOVES = {"struggle", "recharge"}


def watch(lines: Sequence[str], keep_illusion: bool = False) -> SpectatorView:
    """Read a log to its end.

    Args:
        lines: of the spectator's log.
        keep_illusion: read battles with Zoroark too; choices that its illusion hides may then be wrong.

    Raises:
        RejectedBattleError: the log is not that of a whole battle of singles, or contradicts itself.
    """
    watcher = _Watcher(keep_illusion)
    for number, line in enumerate(lines):
        try:
            watcher.feed(number, line)
        except RejectedBattleError:
            raise
        except (IndexError, ValueError, ZeroDivisionError) as error:
            raise reject("bad_line", f"line {number + 1} of the log: {line[:100]!r}") from error
    return watcher.finished()


class _Watcher:
    def __init__(self, keep_illusion: bool) -> None:
        self.keep_illusion = keep_illusion
        self.sides = (SideRecord(0), SideRecord(1))
        self.names: list[str] = ["", ""]
        self.decisions: list[Decision] = []
        self.gen = self.turn = 0
        # the last empty line, and the last line that makes somebody choose anew
        self.boundary = self.trigger = -1
        self.number = 0
        self.preview = self.started = self.ended = False
        self.winner: int | None = None

    def feed(self, number: int, line: str) -> None:
        """Take in one line."""
        self.number = number
        parts = line.split("|")
        if not line.startswith("|") or len(parts) < 2 or self.ended:
            return
        # an empty line ends what was sent at once
        if not parts[1]:
            self.boundary = number
            return
        read = _READERS.get(parts[1])
        if read is not None:
            read(self, parts[2:])

    def finished(self) -> SpectatorView:
        """The view; all checks of a whole battle."""
        if not self.ended:
            raise reject("no_result" if self.turn else "unfinished")
        if self.turn < 3:
            raise reject("too_short", f"{self.turn} turns")
        if not 1 <= self.gen <= 9:
            raise reject("unknown_format", f"generation {self.gen}")
        for side in self.sides:
            for member in side.team:
                if len(member.moves) > MENU:
                    raise reject("too_many_moves", f"{member.species}: {', '.join(sorted(member.moves))}")
        return SpectatorView(
            self.gen,
            tuple(sorted(self.decisions, key=lambda one: (one.at, one.seat))),
            (tuple(self.sides[0].team), tuple(self.sides[1].team)),
            self.winner,
            self.turn,
            (self.names[0], self.names[1]),
            self.preview,
        )

    # Before the battle

    def player(self, said: list[str]) -> None:
        """|player|p1|NAME|..."""
        if len(said) > 1 and said[1]:
            self.names[_seat(said[0])] = said[1]

    def gametype(self, said: list[str]) -> None:
        """|gametype|singles."""
        if said[0] != "singles":
            raise reject("not_singles", said[0])

    def read_gen(self, said: list[str]) -> None:
        """|gen|9."""
        self.gen = int(said[0])

    def teamsize(self, said: list[str]) -> None:
        """|teamsize|p1|6."""
        size = int(said[1])
        if not 1 <= size <= TEAM:
            raise ValueError(f"{size} Pokémon")
        self.sides[_seat(said[0])].size = size

    def poke(self, said: list[str]) -> None:
        """|poke|p1|DETAILS|ITEM."""
        side, species = self.sides[_seat(said[0])], said[1].split(",")[0]
        self._check_illusion(species)
        side.team.append(Member(len(side.team), species, said[1]))

    def teampreview(self, said: list[str]) -> None:
        """|teampreview."""
        self.preview = True
        for side in self.sides:
            self._decide(side, self.number + 1, "preview")
            side.size = len(side.team)

    def words(self, said: list[str]) -> None:
        """|raw|HTML."""
        if "custom rules" in "|".join(said).lower():
            raise reject("custom_rules")

    # Turns

    def next_turn(self, said: list[str]) -> None:
        """|turn|N. A number that is said again before anybody acted is the same turn."""
        turn = int(said[0])
        if turn == self.turn and not any(side.acted for side in self.sides):
            return
        if turn <= self.turn:
            raise ValueError(f"turn {turn} after turn {self.turn}")
        self.turn = turn
        for side in self.sides:
            if side.fainted:
                raise reject("unmatched_forced_switch", f"nobody replaced the one that fainted before turn {self.turn}")
            if side.active is None:
                raise reject("bad_line", f"turn {self.turn} began before a Pokémon of p{side.seat + 1} entered")
            foe = self.sides[1 - side.seat]
            # generation 1: who is asleep, frozen or trapped has one entry, Fight
            side.fight = self.gen == 1 and (side.active.status in ("slp", "frz") or side.trapped or foe.trap)
            side.acted = side.ejected = side.pivoted = side.encored = side.instructed = side.reviving = side.pursued = (
                False
            )
            side.trapped, side.gimmick = False, ""
            side.turn_decision = self._decide(side, self.number + 1, "free")
        # only now: the other side's trap counts for this turn
        for side in self.sides:
            side.trap = False

    def switch(self, said: list[str]) -> None:
        """|switch|p1a: NICK|DETAILS|HP."""
        side = self._side(said[0])
        came_from = any(part.startswith("[from]") for part in said[3:])
        decision: Decision | None
        # the first switch is that of the preview
        if not self.turn and side.active is None:
            decision = next((one for one in self.decisions if one.seat == side.seat), None)
        elif side.fainted and not (side.pursued and not side.acted):
            # who faints to Pursuit on its way out had chosen to leave: that switch is its choice
            decision = self._decide(side, self._request_place(), "forced_switch")
        elif side.acted or side.ejected or came_from or not self.turn:
            if not (side.pivoted or side.ejected or came_from):
                # a cause must have been seen: a pivot move, an eject, an effect
                raise reject("unmatched_forced_switch", f"turn {self.turn}: {said[0]} entered without a cause")
            decision = self._decide(side, self._request_place(), "pivot")
        else:
            decision = side.turn_decision
        member = self._enter(side, said)
        if decision is not None:
            decision.verb, decision.target, decision.source = "switch", member, "seen"
        side.entered, side.acted = decision, True
        side.fainted = side.ejected = side.pivoted = side.pursued = False

    def drag(self, said: list[str]) -> None:
        """|drag|p1a: NICK|DETAILS|HP."""
        side = self._side(said[0])
        self._enter(side, said)
        side.acted, side.entered, side.pivoted, side.ejected = True, None, False, False

    def replace(self, said: list[str]) -> None:
        """|replace|p1a: NICK|DETAILS|HP: an illusion ended."""
        if not self.keep_illusion:
            raise reject("illusion", said[1])
        side = self._side(said[0])
        shown = side.active
        real = self._member(side, said)
        side.active = real
        if shown is not None and shown is not real:
            # what was known of the one shown is true of the real one
            real.hp, real.status = shown.hp, shown.status
        if side.entered is not None:
            side.entered.target = real

    def move(self, said: list[str]) -> None:
        """|move|p1a: NICK|MOVE|TARGET|[from]..."""
        side, shown = self._side(said[0]), to_id(said[1])
        actor = side.active
        if actor is None:
            # "[from]" names what called the move, with or without "move:"
            raise ValueError("nobody is active")
        by = next((to_id(part[6:]) for part in said[2:] if part.startswith("[from]")), "")
        by = by.removeprefix("move") if by.startswith("move") else by
        if shown in PIVOTS:
            side.pivoted, self.trigger = True, self.number
        if shown == "revivalblessing":
            side.reviving, self.trigger = True, self.number
        # generations 2 to 4: it catches a leaving Pokémon before its own turn
        if by == shown == "pursuit" and 2 <= self.gen <= 4:
            self.sides[1 - side.seat].pursued = True
        with_z = side.gimmick == "z" and not side.acted
        # in generations 1 and 2 a move names itself as the cause when it goes on
        locked = by == "lockedmove" or (self.gen <= 2 and by == shown)
        side.trap = self.gen == 1 and shown in GEN1_TRAPS
        if side.instructed:
            side.instructed = False
            return
        # a called move is no choice
        if by and not (locked or with_z or (by == shown == "pursuit")):
            return
        decision, choice = side.turn_decision, shown
        hidden = with_z
        # a status move with Z-power keeps its own name
        if with_z and said[1].startswith("Z-"):
            choice, hidden = to_id(said[1][2:]), False
        if not locked and not hidden:
            self._learn(actor, choice)
        if decision is None or side.acted:
            return
        side.acted = True
        # what it was forced to do says nothing of what was chosen
        if side.encored or (side.fight and not locked):
            return
        decision.verb, decision.move, decision.source = "move", choice, "seen"
        decision.gimmick = side.gimmick
        decision.hidden = hidden or (actor.dynamaxed and is_max_move(choice))
        if locked or choice in NO_MOVES:
            decision.one_entry = True
            # the menu has one entry; in generations 1 and 2 some of these still leave a switch
            if choice not in SEMI_LOCKS and choice not in NO_MOVES:
                decision.kind = "single"

    def cant(self, said: list[str]) -> None:
        """|cant|p1a: NICK|REASON|MOVE."""
        side, reason = self._side(said[0]), to_id(said[1])
        if reason.startswith("ability") and reason != "abilitytruant":
            return  # names the Pokémon whose ability stops the other one's move
        if reason == "partiallytrapped":
            side.trapped = True
        decision = side.turn_decision
        if decision is None or side.acted:
            return
        side.acted = True
        named = to_id(said[2]) if len(said) > 2 and not said[2].startswith("[") else ""
        if reason == "recharge":
            decision.verb, decision.move, decision.source = "move", "recharge", "seen"
            decision.kind, decision.one_entry = "single", True
        elif named and not side.encored and not side.fight:
            # the line names what was chosen, though it did not happen
            self._learn(side.active, named, paid=False)
            decision.hidden = side.gimmick == "z" or (side.active is not None and side.active.dynamaxed)
            decision.verb, decision.move, decision.source = "move", named, "inferred"
            decision.gimmick = side.gimmick

    # What happens to the active Pokémon

    def faint(self, said: list[str]) -> None:
        """|faint|p1a: NICK."""
        side = self._side(said[0])
        if side.active is not None:
            side.active.fainted, side.active.hp = True, 0.0
        side.fainted, self.trigger = True, self.number

    def condition(self, said: list[str]) -> None:
        """|-damage|p1a: NICK|HP and |-heal|..., |-sethp|..."""
        side = self.sides[_seat(said[0])]
        if _is_active(said[0]):
            if side.active is not None:
                set_condition(side.active, said[1])
            return
        member = next((one for one in side.team if one.nick == _nick(said[0])), None)
        if member is None:
            return
        if side.reviving and member.fainted:
            self._revive(side, member)
        set_condition(member, said[1])

    def _revive(self, side: SideRecord, member: Member) -> None:
        decision = self._decide(side, self._request_place(), "forced_switch")
        fallen = tuple(one.slot for one in side.team if one.fainted)
        decision.open_slots, side.reviving = fallen, False
        decision.verb, decision.target, decision.source = "switch", member, "seen"
        member.fainted = False

    def status(self, said: list[str]) -> None:
        """|-status|p1a: NICK|slp."""
        member = self._named(said[0])
        if member is not None:
            member.status = said[1]

    def cure(self, said: list[str]) -> None:
        """|-curestatus|p1a: NICK|slp."""
        member = self._named(said[0])
        if member is not None:
            member.status = ""

    def cure_team(self, said: list[str]) -> None:
        """|-cureteam|p1a: NICK."""
        for member in self.sides[_seat(said[0])].team:
            member.status = ""

    def start(self, said: list[str]) -> None:
        """|-start|p1a: NICK|EFFECT|..."""
        side, effect = self.sides[_seat(said[0])], to_id(said[1])
        effect = effect.removeprefix("move")
        if effect == "encore" and not side.acted:
            side.encored = True
        elif effect == "dynamax":
            self._use_gimmick(side, "dynamax")
            if side.active is not None:
                side.active.dynamaxed = True
        elif effect == "mimic" and len(said) > 2 and side.active is not None:
            side.active.copied[to_id(said[2])] = "mimic"

    def end(self, said: list[str]) -> None:
        """|-end|p1a: NICK|EFFECT."""
        side = self.sides[_seat(said[0])]
        if to_id(said[1]) == "dynamax" and side.active is not None:
            side.active.dynamaxed = False

    def activate(self, said: list[str]) -> None:
        """|-activate|p1a: NICK|EFFECT|..."""
        if len(said) < 2 or not said[0].startswith("p"):
            return
        side, effect = self.sides[_seat(said[0])], to_id(said[1]).removeprefix("move").removeprefix("ability")
        if effect in EJECTS:
            side.ejected, self.trigger = True, self.number
        elif effect in ("mimic", "sketch") and len(said) > 2 and side.active is not None:
            side.active.copied[to_id(said[2])] = effect

    def end_item(self, said: list[str]) -> None:
        """|-enditem|p1a: NICK|ITEM."""
        side, item = self.sides[_seat(said[0])], to_id(said[1])
        if item in EJECTS:
            side.ejected, self.trigger = True, self.number
        elif item in ("leppaberry", "mysteryberry") and side.active is not None:
            # the berry gives pp back, so uses are counted anew
            side.active.uses.clear()

    def single_move(self, said: list[str]) -> None:
        """|-singlemove|p1a: NICK|Instruct: its next line is no choice."""
        if to_id(said[1]).removeprefix("move") == "instruct":
            self.sides[_seat(said[0])].instructed = True

    def transform(self, said: list[str]) -> None:
        """|-transform|p1a: NICK|p2a: NICK."""
        side, other = self._side(said[0]), self._side(said[1])
        if side.active is not None and other.active is not None:
            # its menu is the other's from here on
            side.active.menu_of = other.active.menu

    def gimmick(self, said: list[str], name: str) -> None:
        """|-terastallize|p1a: NICK|TYPE and its like."""
        self._use_gimmick(self.sides[_seat(said[0])], name)

    def forme(self, said: list[str]) -> None:
        """|detailschange|p1a: NICK|DETAILS and |-formechange|..."""
        side = self.sides[_seat(said[0])]
        self._check_illusion(said[1].split(",")[0])
        if side.active is not None and _is_active(said[0]):
            side.active.species = said[1].split(",")[0]

    def win(self, said: list[str]) -> None:
        """|win|NAME."""
        if not all(self.names):
            raise reject("no_players")
        if said[0] not in self.names:
            raise reject("winner_not_a_player", said[0])
        if self.names[0] == self.names[1]:
            raise reject("no_players", f"both are called {said[0]}")
        self.winner, self.ended = self.names.index(said[0]), True

    def tie(self, said: list[str]) -> None:
        """|tie."""
        if not all(self.names):
            raise reject("no_players")
        self.ended = True

    # Parts of these

    def _side(self, who: str) -> SideRecord:
        if not _is_active(who):
            raise reject("not_singles", who) if who[2:3] in "bc" else ValueError(who)
        return self.sides[_seat(who)]

    def _named(self, who: str) -> Member | None:
        side = self.sides[_seat(who)]
        if _is_active(who):
            return side.active
        return next((one for one in side.team if one.nick == _nick(who)), None)

    def _request_place(self) -> int:
        """Lines before the request that the line in hand answers: it was sent before the last empty line."""
        # a trigger behind the last empty line means that the request came with it
        return self.boundary if self.boundary > self.trigger else self.number

    def _decide(self, side: SideRecord, at: int, kind: Kind) -> Decision:
        seen = {member.slot: member for member in side.team}
        # slots that were never seen are open, too
        free = tuple(
            slot
            for slot in range(side.size)
            if slot not in seen or (not seen[slot].fainted and (kind == "preview" or seen[slot] is not side.active))
        )
        actor = None if kind == "preview" else side.active
        decision = Decision(at, side.seat, self.turn, kind, actor, free, frozenset(side.spent))
        if actor is not None:
            decision.menu, decision.copied = actor.menu, dict(actor.copied)
        self.decisions.append(decision)
        return decision

    def _enter(self, side: SideRecord, said: list[str]) -> Member:
        left = side.active
        # what was copied is lost on leaving, except by Sketch
        if left is not None:
            left.menu_of, left.dynamaxed = None, False
            left.copied = {move: by for move, by in left.copied.items() if by == "sketch"}
        member = self._member(side, said)
        if member is left and not member.fainted:
            raise reject("illusion", f"{said[0]} enters while it is active")
        # who has fainted cannot come in: it is somebody who looks like it
        if member.fainted:
            raise reject("illusion", f"{said[0]} enters after it fainted")
        side.active = member
        side.trap = side.trapped = False
        self.sides[1 - side.seat].trap = False
        side.instructed = False
        before = member.hp
        set_condition(member, said[2])
        # from generation 5 on Regenerator gives a third; any other change while away, beyond rounding, is an illusion
        if before is not None and member.hp is not None and self.gen >= 5 and not self.keep_illusion:
            change = member.hp - before
            if not -0.011 <= change <= 0.36:
                raise reject("illusion", f"{said[0]} left with {before:.0%} and enters with {member.hp:.0%}")
        return member

    def _member(self, side: SideRecord, said: list[str]) -> Member:
        """Who has this nickname and these details; a new member if nobody has."""
        nick, details = _nick(said[0]), said[1]
        species = details.split(",")[0]
        self._check_illusion(species)
        known = [one for one in side.team if one.nick == nick and looks_like(one, details)]
        if known:
            # the same details first: two may share a nickname
            return min(known, key=lambda one: (one.details != details, one.slot))
        shown = [one for one in side.team if one.nick is None and looks_like(one, details)]
        if shown:
            member = min(shown, key=lambda one: (one.species != species, one.slot))
            member.nick, member.species, member.details = nick, species, details
            return member
        if len(side.team) >= side.size:
            raise reject("too_many_pokemon", f"{said[0]}, {details}")
        side.team.append(Member(len(side.team), species, details, nick))
        return side.team[-1]

    def _check_illusion(self, species: str) -> None:
        if species.startswith(ILLUSIONISTS) and not self.keep_illusion:
            raise reject("illusion", species)

    def _use_gimmick(self, side: SideRecord, name: str) -> None:
        side.gimmick = name
        side.spent.add(name)

    def _learn(self, actor: Member | None, move: str, paid: bool = True) -> None:
        """Note a move of its own; a Max Move or Z-move is no move that a Pokémon has."""
        if actor is None or move in NO_MOVES or (actor.dynamaxed and is_max_move(move)):
            return
        owner = actor.menu
        # a copied move uses the place of the move that copied it
        if move in actor.copied and move not in owner.moves:
            move, paid = actor.copied[move], False
        owner.moves.add(move)
        if paid and owner is actor:
            actor.uses[move] = actor.uses.get(move, 0) + 1


def is_max_move(move: str) -> bool:
    """Whether the id is that of a Max Move or G-Max Move."""
    return move.startswith(("max", "gmax"))


def _seat(who: str) -> int:
    if who[:2] not in ("p1", "p2"):
        raise reject("not_singles", who) if who[:2] in ("p3", "p4") else ValueError(who)
    return int(who[1]) - 1


def _is_active(who: str) -> bool:
    return who[2:4] == "a:"


def _nick(who: str) -> str:
    return who.split(": ", 1)[1]


_READERS: Mapping[str, Callable[[_Watcher, list[str]], None]] = {
    "player": _Watcher.player,
    "gametype": _Watcher.gametype,
    "gen": _Watcher.read_gen,
    "teamsize": _Watcher.teamsize,
    "poke": _Watcher.poke,
    "teampreview": _Watcher.teampreview,
    "raw": _Watcher.words,
    "turn": _Watcher.next_turn,
    "switch": _Watcher.switch,
    "drag": _Watcher.drag,
    "replace": _Watcher.replace,
    "move": _Watcher.move,
    "cant": _Watcher.cant,
    "faint": _Watcher.faint,
    "-damage": _Watcher.condition,
    "-heal": _Watcher.condition,
    "-sethp": _Watcher.condition,
    "-status": _Watcher.status,
    "-curestatus": _Watcher.cure,
    "-cureteam": _Watcher.cure_team,
    "-start": _Watcher.start,
    "-end": _Watcher.end,
    "-activate": _Watcher.activate,
    "-enditem": _Watcher.end_item,
    "-singlemove": _Watcher.single_move,
    "-transform": _Watcher.transform,
    "detailschange": _Watcher.forme,
    "-formechange": _Watcher.forme,
    "win": _Watcher.win,
    "tie": _Watcher.tie,
} | {line: partial(_Watcher.gimmick, name=name) for line, name in GIMMICKS.items()}
