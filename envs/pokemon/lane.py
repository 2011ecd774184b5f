"""`BattleLane`: a block of battles, one worker that plays them, and what both seats of each battle have seen."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import EnvironmentFault
from ludory.envs.engine.pool_worker import IDLE, RESET, STEP
from ludory.errors import BackendError, LudoryError

from .backends.server import ServerWorker
from .backends.sim import SimWorker
from .backends.v8 import V8Worker
from .backends.worker import Reply, Worker
from .failures import FailedBattle, action_text, save_failure
from .formats import Gimmick, SlotOrder, action_names, num_actions
from .requests import KINDS, SeatRequest, seat_request

SEATS = (0, 1)
BACKENDS: Mapping[str, Callable[..., Worker]] = {"sim": SimWorker, "v8": V8Worker, "server": ServerWorker}
"""Workers by the name of their backend."""
MOST_REFUSALS = 10
"""Choices of one decision that the simulator may refuse in a row."""
_WAIT = KINDS.index("wait")
_UNAVAILABLE = "[Unavailable choice]"


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """How the battles of a lane are played and seen."""

    format: str
    gen: int
    gimmick: Gimmick = "native"
    slot_order: SlotOrder = "request"
    observation: str = "entity"
    max_turns: int = 1000
    preview: str = "choose"
    timeout: float = 60.0
    backend: str = "sim"

    @property
    def tracked(self) -> bool:
        """Whether battles are followed by trackers; otherwise the worker answers with masks alone."""
        return self.observation != "none"


class SharedWorker:
    """A worker that several lanes of one process may use, so that copies of battles need no second one. The last one closes it."""

    def __init__(self, timeout: float, backend: str = "sim") -> None:
        self._timeout, self._backend, self._users = timeout, backend, 0
        self._worker: Worker | None = None
        self._numbers = count()

    def join(self, battles: int) -> range:
        """Numbers for the battles of a lane that uses the worker from now on."""
        self._users += 1
        first = next(self._numbers)
        for _ in range(battles - 1):
            next(self._numbers)
        return range(first, first + battles)

    def worker(self) -> Worker:
        """The worker, started when it is needed, and again after it was lost."""
        if self._worker is None:
            self._worker = BACKENDS[self._backend](timeout=self._timeout)
        return self._worker

    @property
    def started(self) -> bool:
        """Whether there is a worker now."""
        return self._worker is not None

    def lose(self) -> None:
        """Close the worker; the next call of `worker` starts another one, without battles."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def leave(self, battles: Sequence[int]) -> None:
        """One lane less; its battles are forgotten."""
        self._users -= 1
        if not self._users:
            self.lose()
        elif self._worker is not None:
            with suppress(LudoryError):
                self._worker.drop(list(battles))


class _Seat(NamedTuple):
    """What a seat of a battle has seen and may choose."""

    tracker: Any
    asked: SeatRequest


@dataclass(slots=True)
class _Battle:
    start: dict[str, Any]
    """The entry of the worker's `reset`, without the number."""
    seats: tuple[_Seat, _Seat] | None = None
    refused: tuple[int, int] = (0, 0)
    """Refusals of each seat's current decision."""
    choices: list[tuple[int, str]] = field(default_factory=list)
    """(seat, choice) since the start, without those that were refused; see `FailedBattle`."""
    lines: Sequence[Sequence[str]] = ((), ())
    """What each seat read after the last choices."""


def _copied(battle: _Battle) -> _Battle:
    seats = battle.seats
    # trackers change in place with every line
    copies = seats and (_Seat(seats[0].tracker.copy(), seats[0].asked), _Seat(seats[1].tracker.copy(), seats[1].asked))
    return _Battle(dict(battle.start), copies, battle.refused, list(battle.choices), battle.lines)


class BattleLane:
    """Battles start..stop - 1 of an engine; a `GameBlock` of its pool.

    Args:
        options: how battles are played and seen.
        start: first row.
        stop: row behind the last.
        arrays: of the pool: those of `ExternalState`, `action`, `order`, `news`, and `entity` where battles are tracked.
        shared: the worker; None makes one.
    """

    def __init__(
        self,
        options: LaneOptions,
        start: int,
        stop: int,
        arrays: Mapping[str, NDArray[Any]],
        shared: SharedWorker | None = None,
    ) -> None:
        self.options, self._start = options, start
        self._arrays = arrays
        self.shared = shared or SharedWorker(options.timeout, options.backend)
        self._numbers = self.shared.join(stop - start)
        self._first = self._numbers.start - start  # number of a battle in the worker - its row
        self._battles: dict[int, _Battle] = {}
        self._news: dict[int, dict[str, Any]] = {}
        self._refusing: set[int] = set()  # battles without trackers in which a seat decides again
        self._closed = False
        self._bits = np.arange(num_actions(options.gen, options.gimmick))
        self._texts = [action_text(action, options.slot_order) for action in self._bits.tolist()]

    def obey(self, options: Mapping[int, Mapping[str, Any]]) -> list[EnvironmentFault]:
        """Carry out the orders; see `GameBlock.obey`. Options of a reset: `start`, the worker's entry, and `preview`, 64 random bits by seat."""
        orders = self._arrays["order"][self._start : self._start + len(self._numbers)]
        rows = [np.flatnonzero(orders == order) + self._start for order in (RESET, STEP)]
        orders[:] = IDLE
        faults: list[EnvironmentFault] = []
        for play, mine in ((self._reset, rows[0]), (self._step, rows[1])):
            if not len(mine):
                continue
            try:
                faults += play(mine, options)
            except BackendError as error:
                return [*faults, *self._all_lost(error)]
        return faults

    def _all_lost(self, error: BackendError) -> list[EnvironmentFault]:
        """Faults of all battles, whose worker is gone or cannot be trusted."""
        self.shared.lose()
        rows = sorted(self._battles)
        text = self._with_record(rows, str(error))
        faults = [EnvironmentFault(row, f"{self._name(row)}: {text}") for row in rows]
        self._battles.clear()
        return faults

    def _reset(self, rows: NDArray[np.int64], options: Mapping[int, Mapping[str, Any]]) -> list[EnvironmentFault]:
        games = []
        for row in rows.tolist():
            start = dict(options[row]["start"])
            self._battles[row] = _Battle(start)
            self._news.pop(row, None)
            games.append({"i": row + self._first, "format": self.options.format, **start})
        answer = self.shared.worker().reset(games, self._compact())
        faults = self._read(answer)
        drawn = {row: options[row]["preview"] for row in rows.tolist()} if self.options.preview == "random" else {}
        return faults + self._lead_at_random(drawn)

    def _compact(self) -> Mapping[str, str] | None:
        if self.options.tracked:
            return None
        return {"gimmick": self.options.gimmick, "slot_order": self.options.slot_order}

    def _lead_at_random(self, drawn: Mapping[int, Sequence[int]]) -> list[EnvironmentFault]:
        """Answer the previews of started battles by their random bits."""
        choices = []
        for row, bits in drawn.items():
            report = self.shared.worker().report([row + self._first])[0]
            if not report["req"][0] or not report["req"][0].get("teamPreview"):
                continue
            # positions are counted from 1
            leads = [bits[seat] % len(report["order"][seat]) + 1 for seat in SEATS]
            choices.append((row + self._first, f"team {leads[0]}", f"team {leads[1]}"))
            self._battles[row].choices += [(seat, f"team {leads[seat]}") for seat in SEATS]
        return self._read(self.shared.worker().step(choices)) if choices else []

    def _step(self, rows: NDArray[np.int64], _: Mapping[int, Mapping[str, Any]]) -> list[EnvironmentFault]:
        actions = self._arrays["action"][rows, :, 0]
        if not self.options.tracked:
            asked = self._arrays["deciding"][rows].tolist()
            # seats that do not decide play action 0, which is no choice
            for row, pair, decides in zip(rows.tolist(), actions.tolist(), asked, strict=True):
                self._battles[row].choices += [(seat, self._texts[pair[seat]]) for seat in SEATS if decides[seat]]
            return self._read(self.shared.worker().act((rows + self._first).tolist(), actions.ravel().tolist()))
        choices = []
        for row, (first, second) in zip(rows.tolist(), actions.tolist(), strict=True):
            battle = self._battles[row]
            assert battle.seats is not None
            made = (battle.seats[0].asked.choices[first], battle.seats[1].asked.choices[second])
            battle.choices += [(seat, choice) for seat, choice in enumerate(made) if choice is not None]
            choices.append((row + self._first, *made))
        return self._read(self.shared.worker().step(choices))

    def _read(self, answer: Reply) -> list[EnvironmentFault]:
        """Write what the worker answered to the arrays."""
        faults: list[EnvironmentFault] = []
        for reply in answer["games"]:
            row = reply["i"] - self._first
            try:
                if "crash" in reply:
                    faults.append(self._crashed(row, reply["crash"]))
                else:
                    self._read_battle(row, reply)
            except BackendError as error:
                faults.append(EnvironmentFault(row, self._with_record([row], str(error))))
            except Exception:
                text = self._with_record([row], traceback.format_exc())
                faults.append(EnvironmentFault(row, f"{self._name(row)}: {text}"))
        if compact := answer.get("compact"):
            faults += self._read_compact(compact)
        # of all rows at once: a function of `entity`, in one pass over arrays
        if self.options.observation == "flat" and answer["games"]:
            from .observation import flat_of_entity

            rows = np.array([reply["i"] - self._first for reply in answer["games"]])
            self._arrays["observations"][rows] = flat_of_entity(self._arrays["entity"][rows])
        return faults

    def _crashed(self, row: int, crash: Mapping[str, Any]) -> EnvironmentFault:
        text = self._with_record([row], f"the simulator crashed\n{crash['text']}", crash["input_log"])
        return EnvironmentFault(row, f"{self._name(row)}: {text}")

    def _with_record(self, rows: Sequence[int], error: str, input_log: Sequence[str] = ()) -> str:
        """`error`, and where the record of the battles `rows`, which failed, can be found. A server's battles cannot be played again."""
        known = [self._battles[row] for row in rows if row in self._battles]
        if not known or self.options.backend == "server":
            return error
        failed = [FailedBattle(self.options.format, battle.start, battle.choices) for battle in known]
        file = save_failure(failed, error, input_log)
        chosen = "" if self.options.backend == "sim" else f" --backend {self.options.backend}"
        return f"{error}\nto play it again, type: ludory pokemon resimulate {file}{chosen}"

    def _name(self, row: int) -> str:
        battle = self._battles.get(row)
        seeds = "" if battle is None else f", battle seed {battle.start['seed']}"
        return f"{self.options.format}, game {row}{seeds}"

    def _read_battle(self, row: int, reply: Reply) -> None:
        battle, arrays = self._battles[row], self._arrays
        battle.refused = (self._refusals(row, 0, reply), self._refusals(row, 1, reply))
        if battle.seats is None:
            trackers = [_new_tracker(self.options.gen, seat) for seat in SEATS]
        else:
            trackers = [seat.tracker for seat in battle.seats]
        seats = []
        # both seats read their own lines: each knows what it was told and nothing else
        for seat in SEATS:
            request, order = reply["req"][seat], reply["order"][seat]
            asked = seat_request(request, order, self.options.gen, self.options.gimmick, self.options.slot_order)
            tracker = trackers[seat]
            for line in reply["lines"][seat]:
                tracker.feed(line)
            # the request comes last: it is the truth about the own team
            if request is not None:
                tracker.request(request, order)
            arrays["positions"][row, seat, : len(order)] = order
            arrays["legal"][row, seat] = asked.mask
            arrays["deciding"][row, seat] = waits = asked.kind != "wait"
            self._observe(row, seat, tracker, asked, not waits, battle.refused[seat] > 0)
            seats.append(_Seat(tracker, asked))
        battle.seats, battle.lines = (seats[0], seats[1]), reply["lines"]
        arrays["turns"][row] = reply["turn"]
        self._note(row, reply["rej"], reply["turn"], reply["end"])

    def _observe(self, row: int, seat: int, tracker: Any, asked: SeatRequest, wait: bool, redecision: bool) -> None:
        from .observation import write_entity, write_seed41

        write_entity(tracker, asked.mask, self._arrays["entity"][row, seat], wait=wait, redecision=redecision)
        if self.options.observation == "seed41":
            write_seed41(tracker, self._arrays["observations"][row, seat])

    def _read_compact(self, compact: Mapping[str, Any]) -> list[EnvironmentFault]:
        rows = np.array(compact["i"]) - self._first
        masks = np.array(compact["mask"]).reshape(-1, 2, 1)
        # masks come as one integer for each seat: bit a is action a
        self._arrays["legal"][rows] = masks >> self._bits & 1
        self._arrays["deciding"][rows] = np.array(compact["kind"]).reshape(-1, 2) != _WAIT
        self._arrays["turns"][rows] = turns = np.array(compact["turn"])
        self._arrays["truncated"][rows] = turns > self.options.max_turns
        faults: list[EnvironmentFault] = []
        refusals: dict[int, list[str | None]] = {}
        for i, seat, text in compact["rej"]:
            refusals.setdefault(i - self._first, [None, None])[seat] = text
        # most answers have no refusal, and then nothing is done for each battle
        if refusals or self._refusing:
            for row in set(refusals) | (self._refusing & set(rows.tolist())):
                texts = refusals.get(row, [None, None])
                try:
                    refused = tuple(self._refusals(row, seat, {"rej": texts}) for seat in SEATS)
                    self._battles[row].refused = (refused[0], refused[1])
                except BackendError as error:
                    faults.append(EnvironmentFault(row, self._with_record([row], str(error))))
                self._note(row, texts, 0, None)
                (self._refusing.add if row in refusals else self._refusing.discard)(row)
        for i, end in compact["end"]:
            self._note(i - self._first, [None, None], 0, end)
        return faults

    def _refusals(self, row: int, seat: int, reply: Reply) -> int:
        """Refusals of a seat's current decision.

        Raises:
            BackendError: there are too many, or the choice was invalid, which no mask allows.
        """
        text = reply["rej"][seat]
        if text is None:
            return 0
        battle = self._battles[row]
        refused = battle.refused[seat] + 1
        if text.startswith(_UNAVAILABLE) and refused <= MOST_REFUSALS:
            # a refused choice had no effect: the record must not contain it
            last = max(k for k, (chooser, _) in enumerate(battle.choices) if chooser == seat)
            del battle.choices[last]
            return refused
        action = int(self._arrays["action"][row, seat, 0])
        names = action_names(self.options.gen, self.options.gimmick)
        legal = ", ".join(names[k] for k in np.flatnonzero(self._arrays["legal"][row, seat]))
        often = f"{refused} choices in a row were refused, the last one" if refused > MOST_REFUSALS else "refused"
        raise BackendError(
            f"{self._name(row)}, seat {seat}, turn {reply.get('turn', '?')}: {often} {names[action]!r}: {text}\n"
            f"legal: {legal}\nrequest: {json.dumps(reply.get('req', [None, None])[seat])}",
            row,
        )

    def _note(self, row: int, refused: Sequence[str | None], turn: int, end: Mapping[str, Any] | None) -> None:
        """Write ends and rewards, and keep what `info` tells."""
        arrays = self._arrays
        if end is not None:
            # the rules' end wins over the limit of turns in the same step
            arrays["terminated"][row], arrays["truncated"][row] = True, False
            arrays["rewards"][row] = {"p1": (1, -1), "p2": (-1, 1), "tie": (0, 0)}[end["winner"]]
            arrays["deciding"][row] = False
        elif turn > self.options.max_turns:
            arrays["truncated"][row] = True
        news: dict[str, Any] = {}
        if any(refused):
            news["rejected"] = tuple(refused)
        if end is not None:
            news |= end
        # also where earlier news no longer hold
        if news or row in self._news:
            self._news[row] = news
            arrays["news"][row] = True

    def take_news(self) -> dict[int, dict[str, Any]]:
        """What `info` tells beyond the arrays, by row: `rejected`, and at the end of a battle its `end`."""
        news = self._news
        # a refusal is kept, so that the next decision can take it back
        self._news = {row: found for row, found in news.items() if "rejected" in found}
        return news

    def lines(self, row: int, seat: int) -> list[str]:
        """Lines of the protocol that a seat read after the last choices."""
        return list(self._battles[row].lines[seat])

    def logs(self, rows: Sequence[int]) -> list[Reply]:
        """`SimWorker.log` of battles."""
        return self.shared.worker().log([row + self._first for row in rows])

    def starts(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """What started each battle, and all choices since then: enough to play it again."""
        logs = self.logs(rows)
        return [
            {"start": self._battles[row].start, "played": log["played"]} for row, log in zip(rows, logs, strict=True)
        ]

    def copies(self, rows: Sequence[int], within: bool) -> list[dict[str, Any]]:
        """Battles with all that their seats have seen, for `paste` of this lane's worker (`within`) or of any other."""
        numbers = [row + self._first for row in rows]
        # within one simulator battles are cloned there, without going through a text
        texts = [None] * len(rows) if within else self.shared.worker().export(numbers)
        return [
            {"number": number, "text": text, "battle": _copied(self._battles[row])}
            for row, number, text in zip(rows, numbers, texts, strict=True)
        ]

    def paste(self, copies: Mapping[int, dict[str, Any]]) -> None:
        """Continue copied battles in rows of this lane."""
        within = {copied["number"]: row for row, copied in copies.items() if copied["text"] is None}
        pairs = [(copied["number"], row + self._first) for row, copied in copies.items() if copied["text"] is None]
        if within:
            self.shared.worker().clone(pairs)
        texts = {row + self._first: copied["text"] for row, copied in copies.items() if copied["text"] is not None}
        if texts:
            self.shared.worker().import_games(texts)
        for row, copied in copies.items():
            self._battles[row] = _copied(copied["battle"])  # a copy, since a pickle may share nothing within a tracker

    def redraw(self, drawn: Mapping[int, tuple[int, str]]) -> list[EnvironmentFault]:
        """Draw anew what a seat does not know: row -> (seat, seed of the draws). Its foe knows the new team as its own."""
        for row, (seat, _) in drawn.items():
            seats = self._battles[row].seats
            assert seats is not None
            seats[1 - seat].tracker.forget_own_moves()
        entries = [(row + self._first, seat, seed) for row, (seat, seed) in drawn.items()]
        return self._read(self.shared.worker().redraw(entries))

    def replay(self, saved: Mapping[int, Mapping[str, Any]]) -> list[EnvironmentFault]:
        """Play battles of `starts` again, in rows of this lane, up to where they were."""
        games = []
        for row, entry in saved.items():
            self._battles[row] = _Battle(dict(entry["start"]))
            games.append({"i": row + self._first, "format": self.options.format, **entry["start"]})
        faults = self._read(self.shared.worker().reset(games, self._compact()))
        # turn by turn for all battles: one message for each turn
        for turn in range(max((len(entry["played"]) for entry in saved.values()), default=0)):
            choices = []
            for row, entry in saved.items():
                if turn < len(entry["played"]):
                    made = entry["played"][turn]
                    self._battles[row].choices += [(seat, text) for seat, text in enumerate(made) if text is not None]
                    choices.append((row + self._first, *made))
            faults += self._read(self.shared.worker().step(choices))
        return faults

    def advise(self, player: str, rows: Sequence[int], seat: int) -> list[int]:
        """Actions of a player of poke-env, by the name of its class; on a Showdown server only.

        Raises:
            BackendError: poke-env has no such player, or it answers something that is not legal.
        """
        worker = self.shared.worker()
        assert isinstance(worker, ServerWorker)
        actions = []
        for row, choice in zip(rows, worker.advise(player, [(row + self._first, seat) for row in rows]), strict=True):
            seats = self._battles[row].seats
            assert seats is not None
            if choice not in seats[seat].asked.choices:
                raise BackendError(
                    f"{self._name(row)}, seat {seat}: {player} answers {choice!r}, which is not legal now", row
                )
            actions.append(seats[seat].asked.choices.index(choice))
        return actions

    def pids(self) -> list[int]:
        """Process id of the Node child, if there is one."""
        pid = self.shared.worker().pid if self.shared.started else None
        return [] if pid is None else [pid]

    def close(self) -> None:
        """Close the worker, unless other lanes use it; may be called twice."""
        if not self._closed:
            self._closed = True
            self.shared.leave(self._numbers)


def _new_tracker(gen: int, seat: int) -> Any:
    from .tracker import Tracker

    return Tracker(gen, seat)
