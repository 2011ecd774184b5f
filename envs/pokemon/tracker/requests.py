"""`RequestRows`: reads a seat's requests, which are the truth about its own team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import OptionError
from . import layout as at
from . import rows
from .moves import LOCKING

_BATTLE_BOND = rows.ABILITY_NUMBERS["battlebond"]
_REQUEST_STATS = ("atk", "def", "spa", "spd", "spe")


class RequestRows(rows.TeamRows):
    """Rows that requests correct.

    Args:
        gen: generation, 1 to 9.
        perspective: 0 for p1, 1 for p2, None for a spectator.
        slot_order: "alpha" sorts known moves and menus by move id instead of request and appearance.
    """

    def __init__(self, gen: int, perspective: int | None, slot_order: str = "request") -> None:
        super().__init__(gen, perspective)
        self.perspective = perspective
        self.slot_order = slot_order

    def request(self, request: Mapping[str, Any] | None, order: Sequence[int]) -> None:
        """Read the seat's request, which is the truth about its own team.

        Args:
            request: as the simulator made it, or None.
            order: fixed team slot of each current position.
        """
        if self.perspective is None:
            raise OptionError("a spectator gets no requests: choose perspective 0 or 1")
        if not request or "side" not in request:
            return
        team = request["side"]["pokemon"]
        if not self.bound:
            self._bind(team, order)
        if team and team[0]["active"] and self.values[at.ACTIVE_ROW] not in (order[0], -1):
            self._correct_active(order[0])
        for position, pokemon in enumerate(team):
            # most members are as in the last request
            if self._requested[order[position]] != pokemon:
                self._read_member(order[position], pokemon)
        self._read_menu(request)

    def forget_own_moves(self) -> None:
        """Let the next request say what the own team is, as the first one does."""
        for row in range(6):
            self.values[row * at.ROW + at.NUM_MOVES] = self.values[row * at.ROW + at.NUM_TEMPORARY] = 0
            self._requested[row] = None

    def _bind(self, team: Sequence[Mapping[str, Any]], order: Sequence[int]) -> None:
        """First request: rows in order of appearance become fixed slots."""
        values = self.values
        # copies: `clear_row` empties the rows below
        seen = [
            (self.nicknames[row], values[row * at.ROW : row * at.ROW + at.ROW])
            for row in range(6)
            if self.nicknames[row] is not None
        ]
        active = values[at.ACTIVE_ROW]
        active_name = self.nicknames[active] if active >= 0 else None
        for row in range(6):
            values[row * at.ROW + at.EXISTS] = 0
            self.clear_row(row)
        self.bound = True
        # what could be taken back refers to rows that no longer hold
        self.before[0] = None
        self.counts[0] = len(team)
        for position, pokemon in enumerate(team):
            slot, nickname = order[position], pokemon["ident"][4:]
            # the same nickname twice: each row is used once
            for name, block in seen:
                if name == nickname:
                    values[slot * at.ROW : slot * at.ROW + at.ROW] = block
                    seen.remove((name, block))
                    break
            self.nicknames[slot] = nickname
            if nickname == active_name and (pokemon["active"] or active == values[at.ACTIVE_ROW]):
                values[at.ACTIVE_ROW] = slot
        values[at.TEAM_SIZE] = len(team)

    def _correct_active(self, row: int) -> None:
        """The request says that another Pokémon is active than the lines did (an own Illusion): move what is true of the field."""
        values = self.values
        shown = values[at.ACTIVE_ROW]
        for offset in (at.ACTIVE, at.FIELD_TURNS, at.LAST_MOVE, *range(at.STAGES, at.STAGES + 7)):
            values[row * at.ROW + offset], values[shown * at.ROW + offset] = values[shown * at.ROW + offset], 0
        values[shown * at.ROW + at.LAST_MOVE] = 1
        values[at.ACTIVE_ROW] = row
        # read again, whatever the last texts were
        self._conditions[row] = self._conditions[shown] = None
        self._requested[row] = self._requested[shown] = None

    def _read_member(self, slot: int, pokemon: Mapping[str, Any]) -> None:
        values, start = self.values, slot * at.ROW
        last = self._requested[slot]
        self._requested[slot] = pokemon
        self.set_details(slot, pokemon["details"])
        self.set_condition(slot, pokemon["condition"])
        if last is None or last["stats"] != pokemon["stats"]:
            stats = pokemon["stats"]
            for k, name in enumerate(_REQUEST_STATS, at.STATS + 1):
                values[start + k] = stats[name]
            # requests give five numbers; the sixth stat is the largest hp
            values[start + at.STATS] = values[start + at.HP_MAX]
        item = pokemon["item"]
        if item:
            values[start + at.ITEM] = rows.ITEM_NUMBERS[item]
        else:
            values[start + at.ITEM] = 1
            # once it had an item and now has none
            values[start + at.ITEM_LOST] |= last is not None and last["item"] != ""
        if self.gen > 2:
            base = rows.ABILITY_NUMBERS[pokemon["baseAbility"]]
            if (
                base == _BATTLE_BOND and values[start + at.BASE_SPECIES] == rows.GRENINJA
            ):  # lines and details call it plain Greninja
                values[start + at.BASE_SPECIES] = rows.GRENINJA_BOND
                self.set_species(slot, rows.GRENINJA_BOND)
            if base != values[start + at.BASE_ABILITY]:
                # an ability that was changed for the moment stays
                if values[start + at.ABILITY] == values[start + at.BASE_ABILITY]:
                    values[start + at.ABILITY] = base
                values[start + at.BASE_ABILITY] = base
            if "ability" in pokemon:
                values[start + at.ABILITY] = rows.ABILITY_NUMBERS[pokemon["ability"]]
        if "teraType" in pokemon:
            values[start + at.TERA] = rows.TYPE_NUMBERS[pokemon["teraType"]]
            if values[start + at.TERASTALLIZED] != bool(pokemon["terastallized"]):  # an Illusion was terastallized
                values[start + at.TERASTALLIZED] = bool(pokemon["terastallized"])
                self.set_species(slot, values[start + at.SPECIES])
        if last is None or last["moves"] != pokemon["moves"] or last["active"] != pokemon["active"]:
            self._read_moves(slot, pokemon)

    def _read_moves(self, slot: int, pokemon: Mapping[str, Any]) -> None:
        """Moves of an own Pokémon. Those of an active one that differ from what it had are temporary."""
        values, start = self.values, slot * at.ROW
        moves = [rows.MOVE_NUMBERS[name] for name in pokemon["moves"][:4]]
        if self.slot_order == "alpha":
            moves.sort()  # numbers go by id
        # equal to its own moves: whatever was temporary has ended
        known = values[start + at.MOVES : start + at.MOVES + values[start + at.NUM_MOVES]].tolist()
        if moves == known:
            values[start + at.NUM_TEMPORARY] = 0
            return
        temporary = bool(known) and pokemon["active"]
        block = start + (at.TEMPORARY if temporary else at.MOVES)
        old = dict(zip(known, values[start + at.MOVES + at.PP : start + at.MOVES + at.PP + 4], strict=False))
        for k, move in enumerate(moves):
            values[block + k] = move
            # moves of Transform have 5 pp
            most = 5 if temporary and move not in old else self.dex.move_pp[move]
            left = old.get(move, most)
            if (
                temporary and k < len(known) and (known[k] == move or self.gen == 1)
            ):  # Mimic may copy a move that it knows
                left = values[start + at.MOVES + at.PP + k]
            values[block + at.PP + k] = left
            values[block + at.PP_MAX + k] = most
        values[start + (at.NUM_TEMPORARY if temporary else at.NUM_MOVES)] = len(moves)

    def _read_menu(self, request: Mapping[str, Any]) -> None:
        values = self.values
        values[at.PREVIEW] = bool(request.get("teamPreview"))
        values[at.FORCED] = bool(request.get("forceSwitch"))
        values[at.WAITING] = bool(request.get("wait"))
        # a request without a menu leaves nothing of the last one
        values[at.MENU : at.MENU + at.MENU_SIZE] = rows.NO_MENU
        actives = request.get("active")
        if not actives:
            values[at.TRAPPED] = values[at.MAYBE_TRAPPED] = 0
            return
        active = actives[0]
        values[at.TRAPPED] = bool(active.get("trapped"))
        values[at.MAYBE_TRAPPED] = bool(active.get("maybeTrapped"))
        moves = active["moves"][:4]
        maximum = active.get("maxMoves")
        # while dynamaxed, what is chosen are Max Moves; their pp are those of the moves below
        shown = maximum["maxMoves"] if maximum and not active.get("canDynamax") else ()
        if self.slot_order == "alpha":
            places = sorted(range(len(moves)), key=lambda k: str(moves[k]["id"]))
            moves = [moves[k] for k in places]
            shown = [shown[k] for k in places if k < len(shown)]
        start = values[at.ACTIVE_ROW] * at.ROW
        block = start + (at.TEMPORARY if values[start + at.NUM_TEMPORARY] else at.MOVES)
        for k, move in enumerate(moves):
            number = rows.MOVE_NUMBERS[move["id"]]
            if number in rows.HIDDEN_POWERS:  # its type stands in the name alone: "Hidden Power Ice 70"
                number = rows.MOVE_NUMBERS[move["move"]] or number
            values[at.MENU + k] = number or 0
            values[at.MENU + at.MENU_DISABLED + k] = bool(move.get("disabled"))
            pp = move.get("pp")
            if pp is None:  # a locked move: what is known of it
                for place in range(block, block + 4):
                    if values[place] == number and number:
                        values[at.MENU + at.MENU_PP + k] = values[place + at.PP]
                        values[at.MENU + at.MENU_PP_MAX + k] = values[place + at.PP_MAX]
                continue
            values[at.MENU + at.MENU_PP + k] = pp
            values[at.MENU + at.MENU_PP_MAX + k] = move["maxpp"]
            # the place of the same number first, then wherever the move stands
            for place in (block + k, *range(block, block + 4)):
                if values[place] == number or (number in rows.HIDDEN_POWERS and values[place] in rows.HIDDEN_POWERS):
                    values[place + at.PP] = pp
                    values[place + at.PP_MAX] = move["maxpp"]
                    break
        # locked: one move, and no pp told
        values[at.VOLATILE + at.LOCKED] = len(moves) == 1 and "pp" not in moves[0] and values[at.MENU] in LOCKING
        for k, move in enumerate(shown[:4]):  # dynamaxed: the menu are Max Moves
            values[at.MENU + k] = rows.MOVE_NUMBERS[move["move"]]
        mega = active.get("canMegaEvo") or active.get("canUltraBurst")
        offers = (mega, active.get("canZMove"), active.get("canDynamax"), active.get("canTerastallize"))
        for k, offer in enumerate(offers):
            # what has been spent in this battle is not offered, whatever a menu says
            if offer and not values[at.SPENT + k]:
                values[at.OFFERED + k] = 1
