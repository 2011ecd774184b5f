"""`Worker`: battles of a simulator behind messages of JSON, whatever carries the messages."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from ludory.errors import BackendError, OptionError

if TYPE_CHECKING:
    from typing_extensions import Self

Reply = dict[str, Any]
"""What the simulator says about a game: `i`, `req`, `order`, `lines`, `rej`, `turn`, `end`, by seat where there are two; or `i` and `crash`."""

SECONDS_TO_START = 60.0
_SEED_TEXT = "ludory-pokemon-1"


def chance_seed(seed: int, game: int, episode: int, part: str) -> tuple[str, int]:
    """Seed of a part ("battle", "p1", "p2") of a battle, in the simulator's form, and 64 more bits for draws of our own.

    The seed is the first 8 bytes of SHA-256("ludory-pokemon-1|seed|game|episode|part").
    """
    digest = hashlib.sha256(f"{_SEED_TEXT}|{seed}|{game}|{episode}|{part}".encode()).digest()
    return f"gen5,{digest[:8].hex()}", int.from_bytes(digest[8:16], "big")


class Worker(ABC):
    """Battles in a simulator. Messages are answered in order; a worker is not shared between threads.

    A game is known by its number, which the caller chooses; `reset` of a number replaces its battle.
    """

    hello: Reply
    """What the simulator said first: `rules`, `node`, the ids of its `formats`."""
    timeout: float
    """Seconds that a message may take."""
    _numbers: count[int]

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """Id of the process that holds the battles, None if that is this one."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether `close` was called, or the simulator was lost."""

    @abstractmethod
    def close(self) -> None:
        """Forget the battles and end what holds them; may be called twice."""

    @abstractmethod
    def ask_line(self, line: bytes) -> Reply:
        """Send one line as it is and return the answer, also if it is an error; for tests of the protocol."""

    @abstractmethod
    def _exchange(self, message: str, n: int, op: str, seconds: float) -> Reply:
        """Send a message, a line of JSON with number `n`, and return its answer.

        Raises:
            BackendError: the simulator is gone.
            BackendTimeout: no answer in time; the simulator has been ended.
        """

    def reset(self, games: Sequence[Mapping[str, Any]], compact: Mapping[str, str] | None = None) -> Reply:
        """Start battles.

        Args:
            games: each `{"i": number, "format": id, "seed": "gen5,..", "p1": {"seed": ..} or {"team": packed}, "p2": ..}`.
            compact: {"gimmick": .., "slot_order": ..}: answer with kinds and masks instead of requests and lines; see `act`.

        Returns:
            {"games": [...]} with a `Reply` of each game in the order given, or {"compact": {...}} with the flat lists `i`, `kind`,
            `mask`, `turn`, `end` and `rej` of `js/legality.js`. A game whose rules crashed has `crash` in `games` either way.

        Raises:
            BackendError: the message is refused, and no battle was started; or the child died.
            BackendTimeout: no answer in time; the child has been ended.
        """
        return self._ask("reset", games=list(games), compact=dict(compact) if compact else None)

    def step(self, choices: Sequence[tuple[int, str | None, str | None]]) -> Reply:
        """Play [game, choice of p1, choice of p2]; None for a seat that has nothing to choose. As `reset` otherwise.

        A choice that the simulator refuses stands in `rej` of the game, and the seat has to choose again.
        """
        return self._ask("step", choices=list(choices))

    def act(self, games: Sequence[int], actions: Sequence[int]) -> Reply:
        """Play action numbers, two per game (p1, p2), in games that were started with `compact`."""
        return self._ask("act", games=list(games), actions=list(actions))

    def clone(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy battles: pairs (from, to) of numbers."""
        self._ask("clone", pairs=[list(pair) for pair in pairs])

    def redraw(self, games: Iterable[tuple[int, int, str]]) -> Reply:
        """Draw anew what a seat does not know: [game, seat, seed of the draws]; answers as `step` does."""
        return self._ask("redraw", games=[list(entry) for entry in games])

    def export(self, games: Sequence[int]) -> list[str]:
        """Battles as texts, for `import_games` of another worker."""
        return [game["text"] for game in self._ask("export", games=list(games))["games"]]

    def import_games(self, games: Mapping[int, str]) -> Reply:
        """Continue battles of `export` under new numbers; answers as `step` does, without lines that were handed out before."""
        return self._ask("import", games=[{"i": i, "text": text} for i, text in games.items()])

    def report(self, games: Sequence[int]) -> list[Reply]:
        """As `step` answers, without playing: the current requests, and lines that were not handed out yet."""
        return list(self._ask("report", games=list(games))["games"])

    def log(self, games: Sequence[int]) -> list[Reply]:
        """For each game `log` (omniscient, without time stamps), `input_log`, `played` (all choices, refused ones included), `teams` (packed) and `end`."""
        return list(self._ask("log", games=list(games))["games"])

    def state(self, games: Sequence[int]) -> list[Reply]:
        """The simulator's own state of each game, hidden values included, as `state`."""
        return list(self._ask("state", games=list(games))["games"])

    def drop(self, games: Sequence[int]) -> None:
        """Forget battles."""
        self._ask("drop", games=list(games))

    def formats(self) -> list[list[Any]]:
        """[id, generation, 1 with team preview, 1 if players bring teams] of every singles format; loads the data of all generations."""
        return list(self._ask("formats")["formats"])

    def validate(self, format: str, team: str) -> list[str]:
        """Problems that the simulator's validator names, [] for a legal team; `team` is an export or a packed team."""
        return self.validated(format, team)[0]

    def validated(self, format: str, team: str) -> tuple[list[str], str]:
        """Problems as `validate` names them, and the team, packed, with what the validator filled in."""
        answer = self._ask("validate", format=format, team=team)
        return list(answer["problems"]), str(answer["team"])

    def pack(self, team: str) -> str:
        """A team in the packed form, from an export or a packed team."""
        return str(self._ask("pack", team=team)["team"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, op: str, seconds: float | None = None, **content: Any) -> Reply:
        if self.closed:
            raise BackendError("the simulator is closed; make a new one")
        n = next(self._numbers)
        message = json.dumps({"n": n, "op": op, **content}, separators=(",", ":"))
        answer = self._exchange(message, n, op, seconds or self.timeout)
        if "error" in answer:
            fault = answer["error"]
            # kinds that the caller can do something about; all others are faults of the simulator
            kind = {"format": OptionError, "team": OptionError}.get(fault["kind"])
            if kind is not None:
                raise kind(f"game {fault['game']}: {fault['text']}" if fault["game"] is not None else fault["text"])
            raise BackendError(f"the simulator refused {op!r}: {fault['text']}", fault["game"])
        return answer


def played_out(worker: Worker, format: str, key: str, game: int = 0, teams: tuple[str, str] | None = None) -> Reply:
    """Play a battle whose chance and choices depend on `key` alone, with packed or generated teams; returns its `end`."""
    from ludory.envs.pokemon.formats import battle_format
    from ludory.envs.pokemon.requests import seat_request

    gen = battle_format(format).gen
    seeds = {
        part: f"gen5,{hashlib.sha256(f'{key}|{part}'.encode()).hexdigest()[:16]}" for part in ("battle", "p1", "p2")
    }
    sides = {seat: {"seed": seeds[seat]} for seat in ("p1", "p2")}
    if teams is not None:
        sides = {seat: {"team": team} for seat, team in zip(("p1", "p2"), teams, strict=True)}
    (reply,) = worker.reset([{"i": game, "format": format, "seed": seeds["battle"], **sides}])["games"]
    turn = 0
    while reply.get("end") is None:
        if "crash" in reply:
            raise BackendError(f"battle {key!r} crashed: {reply['crash']['text']}", game)
        choices = []
        for seat in (0, 1):
            asked = seat_request(reply["req"][seat], reply["order"][seat], gen)
            legal = [choice for choice in asked.choices if choice is not None]
            # a hash, not a generator: each choice depends on key, turn and seat alone
            drawn = int(hashlib.sha256(f"{key}|{turn}|{seat}".encode()).hexdigest()[:8], 16)
            choices.append(legal[drawn % len(legal)] if legal else None)
        (reply,) = worker.step([(game, choices[0], choices[1])])["games"]
        turn += 1
    worker.drop([game])
    end: Reply = reply["end"]
    return end
