"""Plays battles on a Showdown server for a parent that speaks the worker protocol: one JSON object per line in and out.

It runs in the virtual environment that has poke-env, so it imports nothing of Ludory:

    python poke_env_client.py PORT
"""

# mypy: ignore-errors

import asyncio
import importlib
import json
import logging
import os
import secrets
import sys
import threading
import time
from collections import deque

import poke_env.player as players
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.concurrency import POKE_LOOP
from poke_env.player import Player

RULES = "pokemon-showdown 0.11.11"
NAMES = ("player_0", "player_1")
SKIPPED = frozenset(
    ("init", "title", "j", "J", "l", "L", "n", "N", "c", "c:", "t:", ":", "inactive", "inactiveoff", "deinit", "expire",
     "html", "uhtml", "uhtmlchange", "raw", "name", "chat", "bigerror")
)  # fmt: skip
"""Lines of the room that are no part of the battle."""
PATIENCE = 40.0
"""Seconds for the server to log a player in, or to start a battle."""
GRACE = 0.25
"""Seconds that a second rejection may follow the first: the server does not confirm a choice that it accepts."""


class RefusedError(Exception):
    """A message that cannot be carried out."""

    def __init__(self, kind, text, game=None):
        super().__init__(text)
        self.kind, self.game = kind, game


class Side:
    """What one seat of a battle has been told."""

    def __init__(self):
        self.lines, self.request, self.fresh, self.error = [], None, False, None
        self.order, self.idents, self.winner, self.turns = [], [], None, 0

    def hear(self, parts):
        """Take in one line, split at its bars."""
        kind = parts[1]
        if kind == "request":
            if parts[2]:
                self.ask(json.loads("|".join(parts[2:])))
        elif kind == "error":
            self.error = "|".join(parts[2:])
        elif kind not in SKIPPED:
            self.lines.append("|".join(parts))
            if kind == "turn":
                self.turns = int(parts[2])
            elif kind in ("win", "tie"):
                self.winner = parts[2] if kind == "win" else "tie"

    def ask(self, request):
        """Take in a request."""
        idents = [pokemon["ident"] for pokemon in request["side"]["pokemon"]]
        self.order = reordered(self.order, self.idents, idents)
        self.idents = idents
        self.request, self.fresh = (None if request.get("wait") else request), True

    def may_be_refused(self):
        """Whether the server may still say that a choice is unavailable."""
        active = (self.request or {}).get("active") or [{}]
        return any(active[0].get(flag) for flag in ("maybeTrapped", "maybeDisabled", "maybeLocked"))


def reordered(order, before, now):
    """Fixed slot of each position, from that of the request before. Those who stay come first, then swaps with position 0."""
    if not before:
        return list(range(len(now)))
    if sorted(before) != sorted(now):
        raise RefusedError("protocol", f"a request names the team {now}, the one before {before}")
    # names may occur twice, so that only places whose name changed are matched up
    left = [place for place in range(len(now)) if before[place] != now[place]]
    found = []
    for place, ident in enumerate(now):
        if before[place] == ident:
            found.append(order[place])
        else:
            origin = next(other for other in left if before[other] == ident)
            left.remove(origin)
            found.append(order[origin])
    return found


def player_class(name):
    """The class of a player: a name of poke_env.player, or module:Class."""
    module, _, last = name.rpartition(":")
    try:
        kind = getattr(importlib.import_module(module) if module else players, last, None)
    except ImportError as error:
        raise RefusedError("protocol", f"{name}: {error}") from None
    if not (isinstance(kind, type) and issubclass(kind, Player)):
        known = [key for key in dir(players) if key.endswith("Player") and key != "Player"]
        raise RefusedError(
            "protocol", f"poke-env has no player {name!r}; it has {', '.join(known)}, or type module:Class"
        )
    return kind


def plain(name):
    """Letters and digits of a name, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def by_position(text, request):
    """A choice as the simulator writes it, from one that names a move or a Pokémon: "move 2 terastallize", "switch 3", "team 1"."""
    verb, _, rest = text.removeprefix("/choose ").removeprefix("/").partition(" ")
    if verb == "team":
        return f"team {rest[0]}"
    if verb == "switch":
        for place, pokemon in enumerate(request["side"]["pokemon"], 1):
            known = plain(pokemon["ident"].partition(":")[2]), plain(pokemon["details"].partition(",")[0])
            if plain(rest) in known and not pokemon["active"]:
                return f"switch {place}"
    if verb == "move":
        name, *gimmick = rest.split()
        for place, move in enumerate(request["active"][0]["moves"], 1):
            if not move.get("disabled") and (name in (move["id"], str(place)) or plain(move["move"]).startswith(name)):
                return " ".join(["move", str(place), *gimmick])
    raise RefusedError("protocol", f"the player answers {text!r}, which is not legal now")


class Listener(Player):
    """A connection that tells what it hears, and chooses nothing itself."""

    def __init__(self, port, changed):
        self.sides, self.changed, self.challenged = {}, changed, asyncio.Event()
        super().__init__(
            AccountConfiguration(f"ludory{secrets.token_hex(5)}", None),
            server_configuration=ServerConfiguration(f"ws://127.0.0.1:{port}/showdown/websocket", ""),
            max_concurrent_battles=0,
            ping_interval=None,
        )

    async def _handle_battle_message(self, split_messages):
        # the room's name begins with ">"
        side = self.sides.setdefault(split_messages[0][0][1:], Side())
        for parts in split_messages[1:]:
            if len(parts) > 1:
                side.hear(parts)
        try:
            await super()._handle_battle_message(split_messages)  # poke-env's own view, which advice is asked of
        finally:
            self.changed.set()

    async def _handle_battle_request(self, battle, maybe_default_order=False):
        # poke-env would answer requests itself
        return

    async def _handle_challenge_request(self, split_message):
        if split_message[2].strip() != self.username:
            self.challenged.set()

    def choose_move(self, battle):
        """Never called: choices come from the parent."""
        raise NotImplementedError

    def forget(self, tag):
        """Drop what is kept of a battle."""
        self.sides.pop(tag, None)
        self._battles.pop(tag, None)


class Client:
    """Both seats of all battles, and the answers to messages."""

    def __init__(self, port):
        self.games, self.tags = {}, {}
        self.changed, self.words, self.advisers = asyncio.Event(), deque(maxlen=20), {}
        self.seats = [Listener(port, self.changed) for _ in NAMES]
        handler = logging.Handler()
        # what poke-env logs is shown only if a battle does not start
        handler.emit = lambda record: self.words.append(record.getMessage())
        for seat in self.seats:
            seat.logger.handlers = [handler]

    async def answer(self, message):
        """The answer to a message, without its number."""
        operation = getattr(self, f"op_{message.get('op')}", None)
        if operation is None:
            raise RefusedError("protocol", f"there is no operation {message.get('op')!r} on a server")
        return await operation(message)

    async def op_hello(self, message):
        """Wait until both players are logged in."""
        for seat in self.seats:
            await asyncio.wait_for(seat.ps_client.logged_in.wait(), PATIENCE)
        return {"protocol": 1, "rules": RULES, "node": "", "formats": []}

    async def op_reset(self, message):
        """Start battles, one after the other: both players are asked for one challenge at a time."""
        for game in message["games"]:
            await self.start(game["i"], game["format"], [game[name].get("team") for name in ("p1", "p2")])
        return await self.told([game["i"] for game in message["games"]])

    async def start(self, i, format, teams):
        """Start battle `i`."""
        await self.drop(i)
        known = [set(seat.sides) for seat in self.seats]
        challenger, challenged = self.seats
        for seat in self.seats:
            seat._format = format
        challenged.challenged.clear()
        self.words.clear()
        try:
            await challenger.ps_client.challenge(challenged.username, format, teams[0])
            await asyncio.wait_for(challenged.challenged.wait(), PATIENCE)
            await challenged.ps_client.accept_challenge(challenger.username, teams[1])
            deadline = time.monotonic() + PATIENCE
            while not all(set(seat.sides) - before for seat, before in zip(self.seats, known, strict=True)):
                await self.change(deadline - time.monotonic())
        except (asyncio.TimeoutError, TimeoutError):
            said = "; ".join(self.words) or "nothing was said"
            raise RefusedError("team", f"the server does not start a battle of {format}: {said}", i) from None
        (tag,) = set(challenger.sides) - known[0]
        self.games[i] = tag

    async def op_step(self, message):
        """Send choices and wait for what the server says."""
        for i, *choices in message["choices"]:
            for seat, choice in enumerate(choices):
                side = self.side(i, seat)
                side.fresh, side.error = False, None
                if choice is not None:
                    # the number of the request keeps the server from taking a choice for a later one
                    text = f"/choose {choice}|{side.request.get('rqid', '')}"
                    await self.seats[seat].ps_client.send_message(text, self.games[i])
        return await self.told([i for i, *_ in message["choices"]])

    async def op_report(self, message):
        """What is known now, without playing."""
        return {"games": [self.report(i) for i in message["games"]]}

    async def op_drop(self, message):
        """Forfeit battles that run, and forget them."""
        for i in message["games"]:
            await self.drop(i)
        return {}

    async def op_advise(self, message):
        """Choices of a player of poke-env, by the name of its class, for [game, seat]."""
        name = message["player"]
        if name not in self.advisers:
            kind = player_class(name)
            # not connected: it only looks at battles that others play
            self.advisers[name] = kind(AccountConfiguration(name[:18], None), start_listening=False)
        adviser, choices = self.advisers[name], []
        for i, seat in message["games"]:
            battle = self.seats[seat]._battles[self.games[i]]
            order = adviser.teampreview(battle) if battle.teampreview else adviser.choose_move(battle)
            order = await order if asyncio.iscoroutine(order) else order
            text = order if isinstance(order, str) else order.message
            choices.append(by_position(text, self.side(i, seat).request))
        return {"choices": choices}

    def side(self, i, seat):
        """What a seat of game `i` has been told."""
        if i not in self.games:
            raise RefusedError("protocol", f"there is no game {i}", i)
        return self.seats[seat].sides[self.games[i]]

    async def drop(self, i):
        """Forfeit game `i` if it runs, and forget it."""
        tag = self.games.pop(i, None)
        if tag is None:
            return
        if self.seats[0].sides[tag].winner is None:
            await self.seats[0].ps_client.send_message("/forfeit", tag)
        for seat in self.seats:
            await seat.ps_client.send_message(f"/leave {tag}")
            seat.forget(tag)

    async def told(self, numbers):
        """Wait until the server has answered in all these games, and say what it said."""
        waiting, doubtful = set(numbers), {}
        while waiting:
            for i in list(waiting):
                state = self.state(i)
                # a second refusal may still come, so wait a little before this one counts
                if state == "settled" or (
                    state == "doubtful" and time.monotonic() - doubtful.setdefault(i, time.monotonic()) > GRACE
                ):
                    waiting.discard(i)
            if waiting:
                await self.change(GRACE)
        return {"games": [self.report(i) for i in numbers]}

    def state(self, i):
        """Whether the game is "waiting", "settled", or "doubtful": one choice was refused, and the other one may be."""
        sides = [self.side(i, seat) for seat in (0, 1)]
        if all(side.winner is not None for side in sides) or all(side.fresh for side in sides):
            return "settled"
        told = [side.error is not None and (side.fresh or "[Unavailable" not in side.error) for side in sides]
        if not any(told):
            return "waiting"
        open_ends = [side.may_be_refused() for side, done in zip(sides, told, strict=True) if not done]
        return "doubtful" if any(open_ends) else "settled"

    def report(self, i):
        """The entry of game `i` in an answer."""
        sides = [self.side(i, seat) for seat in (0, 1)]
        refused = any(side.error is not None for side in sides)
        end = None
        if all(side.winner is not None for side in sides):
            names = [seat.username for seat in self.seats]
            winner = f"p{names.index(sides[0].winner) + 1}" if sides[0].winner in names else "tie"
            end = {"winner": winner, "turns": sides[0].turns, "input_log": [], "log_sha256": ""}
        answer = {
            "i": i,
            # of a refused decision only the seat that was refused is asked again
            "req": [None if end or (refused and side.error is None) else side.request for side in sides],
            "order": [side.order for side in sides],
            "lines": [[self.renamed(line) for line in side.lines] for side in sides],
            "turn": sides[0].turns,
            "rej": [side.error for side in sides],
            "end": end,
        }
        for side in sides:
            side.lines = []
        return answer

    def renamed(self, line):
        """A line with the names that the other workers give to players."""
        if line.startswith(("|player|", "|win|")):
            for seat, name in zip(self.seats, NAMES, strict=True):
                line = line.replace(seat.username, name)
        return line

    async def change(self, seconds):
        """Wait for the next message of the server.

        Raises:
            TimeoutError: none came.
        """
        if seconds <= 0:
            raise TimeoutError
        self.changed.clear()
        try:
            await asyncio.wait_for(self.changed.wait(), seconds)
        except asyncio.TimeoutError:
            # short waits end quietly: they are pauses between looks at the clock
            if seconds > GRACE:
                raise TimeoutError from None


def watch_parent(parent):
    """End with the parent, also if a copy of it still holds our pipe."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


async def made(port):
    """A client, made in the loop of poke-env."""
    return Client(port)


def main():
    """Answer messages until the input ends."""
    threading.Thread(target=watch_parent, args=(os.getppid(),), daemon=True).start()
    client = asyncio.run_coroutine_threadsafe(made(int(sys.argv[1])), POKE_LOOP).result()
    for line in sys.stdin:
        n = None
        try:
            message = json.loads(line)
            n = message.get("n")
            answer = asyncio.run_coroutine_threadsafe(client.answer(message), POKE_LOOP).result()
        except RefusedError as error:
            answer = {"error": {"game": error.game, "kind": error.kind, "text": str(error)}}
        except Exception as error:  # the parent must hear of everything
            answer = {"error": {"game": None, "kind": "protocol", "text": f"{type(error).__name__}: {error}"}}
        sys.stdout.write(json.dumps({"n": n, **answer}) + "\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
