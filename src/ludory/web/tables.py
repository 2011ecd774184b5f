"""Tables: a game, its seats and its moves, kept in one file each; positions are found by playing the moves again."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDoneError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.atomic import atomic_file
from ludory.errors import DataError, LudoryError, OptionError, UnknownIdError
from ludory.json_log import append_lines, line_of, read_log, sum_of

from .players import MoveQuestion, PlayerPool

if TYPE_CHECKING:
    from ludory.data.replay import Replay

    from .position import TablePosition

FORMAT = "ludory table 1"
MOST_TABLES = 10_000
MOST_POSITIONS = 64
"""Tables whose engine is kept between two requests."""
MOST_LOOPS = 8
"""Tables at which agents may be moving at once."""
MOST_STARTS = 4
"""Tables that are made at once; the first one of a game compiles it."""
_ID = re.compile(r"[0-9a-f]{12}")


class WrongMoveError(OptionError):
    """A move that the table does not accept: not this seat's turn, not legal, or made for an older position."""


@dataclass(frozen=True, slots=True)
class TableSeat:
    """Who sits somewhere: an agent, or whoever came with the key."""

    agent: str = ""
    """Name of the agent; "" for a person."""
    key: str = ""
    """Secret of the link by which a person takes the seat."""
    persons: tuple[str, ...] = ()
    """Hashes of the secrets of those who have taken it, see `person_hash`."""

    @property
    def human(self) -> bool:
        """Whether a person sits here."""
        return not self.agent


@dataclass(slots=True)
class GameTable:
    """One table. Change it only through `Tables`, which writes each change to its file."""

    id: str
    game: str
    """Id of the game."""
    options: dict[str, Any]
    seed: int
    seats: tuple[TableSeat, ...]
    created: str
    """ISO 8601, UTC."""
    moves: list[tuple[int, Any]] = field(default_factory=list)
    """Seat (-1: all seats at once) and action."""
    chosen: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Choices of the seats that have made theirs, in games where all move at once."""
    taken_back: list[tuple[int, int]] = field(default_factory=list)
    """(seat, number of moves) of everything that was taken back."""
    problem: str = ""
    """What is wrong with an agent, "" while all is well."""
    finished: bool = False
    """As of the last change; `Tables.position` knows it exactly."""
    version: int = 0
    """Grows with every change, so that pages learn of it."""
    sum: int | None = 0
    """Checksum of all lines of the file; None: the file is of an earlier version, which wrote none."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    loop: Future[None] | None = field(default=None, repr=False)
    """The agents' moves that are being chosen."""

    @property
    def humans(self) -> tuple[int, ...]:
        """Seats of persons."""
        return tuple(number for number, seat in enumerate(self.seats) if seat.human)

    def names(self) -> list[str]:
        """Name of everybody, by seat."""
        return [seat.agent or "human" for seat in self.seats]

    def seats_of(self, person: str) -> tuple[int, ...]:
        """The seats that whoever has the secret `person` has taken."""
        hashed = person_hash(person)
        return tuple(number for number in self.humans if hashed in self.seats[number].persons)


def person_hash(person: str) -> str:
    """What a table's file keeps of the secret by which a browser is known again."""
    return hashlib.sha256(person.encode()).hexdigest() if person else ""


class Tables:
    """All tables of a folder. Every method may be called by several threads.

    Args:
        folder: with a file for each table; it is created with the first one.
        players: who choose the moves of agents.
    """

    def __init__(self, folder: Path, players: PlayerPool) -> None:
        self._folder, self._players = folder, players
        self._tables: dict[str, GameTable] = {}
        self._damaged: dict[str, str] = {}
        """Why the file of an id cannot be read."""
        self._positions: OrderedDict[str, TablePosition] = OrderedDict()
        self._lock = threading.RLock()
        self._loops = ThreadPoolExecutor(MOST_LOOPS, "agents")
        self._starts = ThreadPoolExecutor(MOST_STARTS, "tables")
        self._prepared = set[tuple[str, str]]()
        """Games, with their options, whose first move was played in the background, or is being."""
        self._read_folder()

    def _read_folder(self) -> None:
        for file in sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []:
            if _ID.fullmatch(file.stem):
                try:
                    self._tables[file.stem] = _read_table(file)
                except DataError as error:
                    self._damaged[file.stem] = str(error)

    def get(self, id: str) -> GameTable:
        """The table of this id.

        Raises:
            UnknownIdError: there is none.
            DataError: its file is damaged.
        """
        table = self._tables.get(id)
        if id in self._damaged:
            raise DataError(self._damaged[id])
        if table is None:
            raise UnknownIdError("There is no such table. The first page lists all tables, and starts new ones.")
        return table

    def recent(self, count: int = 20) -> list[GameTable]:
        """The newest tables, newest first."""
        return sorted(self._tables.values(), key=lambda table: table.created, reverse=True)[:count]

    def start(
        self, game: str, options: Mapping[str, Any], seed: int, agents: Sequence[str], person: str = ""
    ) -> GameTable:
        """A new table; `agents` has a name for every seat, "" for a person; `person` takes the first free one.

        Raises:
            OptionError: there are too many tables, or the number of agents is not that of the seats.
        """
        if len(self._tables) >= MOST_TABLES:
            raise OptionError(f"there are {MOST_TABLES} tables already: delete files in the tables folder")
        seats = tuple(TableSeat(agent, "" if agent else secrets.token_urlsafe(18)) for agent in agents)
        created = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        table = GameTable(secrets.token_hex(6), game, dict(options), seed, seats, created)
        position = self._fresh_position(table)
        if len(seats) != position.game.facts.players:
            raise OptionError(f"{game} has {position.game.facts.players} seats, got {len(seats)}")
        header = {
            "format": FORMAT,
            "game": game,
            "options": table.options,
            "seed": seed,
            "seats": [{"agent": seat.agent, "key": seat.key} for seat in seats],
            "created": created,
        }
        # private: the file has the keys of the seats
        with atomic_file(self._file(table), "w", private=True) as handle:
            handle.write(line_of(0, header))
        table.sum = sum_of(0, header)
        with self._lock:
            self._tables[table.id] = table
            self._keep_position(table, position)
        if table.humans and person:
            self.sit(table, table.humans[0], person)
        self.let_agents_move(table)
        if position.ran_plain:
            self._players.rehearsals.start(game, table.options, agents)
        else:
            self.prepare(game, table.options, agents)
        self._players.rehearsals.study(game, table.options, agents)
        return table

    def prepare(self, game: str, options: Mapping[str, Any], agents: Sequence[str]) -> None:
        """Load what a table of this game needs, in the background; if it is not compiled yet, start to compile it."""
        if (known := (game, repr(sorted(options.items())))) not in self._prepared:
            self._prepared.add(known)
            self._starts.submit(self._prepare, game, dict(options), tuple(agents))

    def _prepare(self, game: str, options: dict[str, Any], agents: tuple[str, ...]) -> None:
        from .position import started_position

        position = started_position(game, options, 0, plain_start=True)
        if position.game.rules.engine is None and not position.over:
            position.play_chosen({})
        if position.ran_plain:
            self._players.rehearsals.start(game, options, agents)

    def sit(self, table: GameTable, seat: int, person: str) -> None:
        """Let whoever has the secret `person` play in `seat`."""
        with table.lock:
            hashed = person_hash(person)
            table.seats = _changed(table.seats, seat, persons=(*table.seats[seat].persons, hashed))
            self._append(table, {"sit": [seat, hashed]})

    def position(self, table: GameTable) -> TablePosition:
        """The current position; hold `table.lock` while using it."""
        with self._lock:
            held = self._positions.get(table.id)
            if held is not None:
                self._positions.move_to_end(table.id)
                return held
        position = self._fresh_position(table)
        position.follow(table.moves)
        with self._lock:
            self._keep_position(table, position)
        return position

    @staticmethod
    def _fresh_position(table: GameTable) -> TablePosition:
        from .position import started_position  # imports the compiler, which the server does not need to start

        return started_position(table.game, table.options, table.seed, plain_start=True)

    def _keep_position(self, table: GameTable, position: TablePosition) -> None:
        self._positions[table.id] = position
        while len(self._positions) > MOST_POSITIONS:
            self._positions.popitem(last=False)

    def play(self, table: GameTable, seat: int, action: tuple[int, ...], version: int | None = None) -> None:
        """Play a person's move: one value per head.

        version: of the table that the person saw; a move made for another position is refused.

        Raises:
            WrongMoveError: it is not this seat's turn, the move is not legal, or the table has changed.
        """
        with table.lock:
            position = self.position(table)
            if version is not None and version != table.version:
                raise WrongMoveError(
                    "The table has changed since this page was shown. Look at it again and choose anew."
                )
            if position.over:
                raise WrongMoveError("This game is over. Start another one.")
            if not table.seats[seat].human or seat not in position.deciding() or seat in table.chosen:
                raise WrongMoveError(f"It is not the turn of seat {seat}. Wait until it is.")
            problem = position.illegal(seat, action)
            if problem:
                raise WrongMoveError(problem)
            if position.game.facts.simultaneous:
                self._choose(table, seat, action)
            else:
                self._move(table, seat, action if len(action) > 1 else action[0])
        self.let_agents_move(table)

    def _choose(self, table: GameTable, seat: int, action: tuple[int, ...]) -> None:
        table.chosen[seat] = action
        self._append(table, {"chosen": [seat, action]})
        position = self.position(table)
        if all(other in table.chosen for other in position.deciding()):
            self._move(table, -1, position.joint_action(table.chosen))

    def _move(self, table: GameTable, seat: int, action: Any) -> None:
        position = self.position(table)
        position.play(seat, action)
        table.moves.append((seat, action))
        table.chosen.clear()
        table.finished = position.over
        self._append(table, {"move": [seat, action]} | ({"finished": True} if position.over else {}))

    def take_back(self, table: GameTable, seat: int) -> int:
        """Undo the moves since the last choice of `seat`, which then chooses again; returns their number.

        Raises:
            WrongMoveError: the seat has not moved yet.
        """
        with table.lock:
            if seat in table.chosen:
                del table.chosen[seat]
                self._append(table, {"back": [seat, 0]})
                return 0
            # -1: a move of all seats at once
            own = [number for number, (mover, _) in enumerate(table.moves) if mover in (seat, -1)]
            if not own:
                raise WrongMoveError(f"Seat {seat} has not moved yet, so there is nothing to take back.")
            count = len(table.moves) - own[-1]
            _undo(table, seat, count)
            # engines cannot go back: the position is played again when it is needed
            with self._lock:
                self._positions.pop(table.id, None)
            self._append(table, {"back": [seat, count]})
        self.let_agents_move(table)
        return count

    def replace_agent(self, table: GameTable, seat: int, agent: str) -> None:
        """Let another agent play on in `seat`, which an agent has.

        Raises:
            WrongMoveError: a person sits there.
        """
        with table.lock:
            if table.seats[seat].human:
                raise WrongMoveError(f"A person sits in seat {seat}; only agents can be replaced.")
            table.seats = _changed(table.seats, seat, agent=agent)
            table.problem = ""
            self._append(table, {"seat": [seat, agent]})
        self.let_agents_move(table)

    def ask_again(self, table: GameTable) -> None:
        """Ask an agent that failed once more."""
        with table.lock:
            table.problem = ""
            self._notify(table)
        self.let_agents_move(table)

    def let_agents_move(self, table: GameTable) -> None:
        """Let agents choose, in the background, until a person has to."""
        with table.lock:
            if (table.loop is None or table.loop.done()) and not table.problem and self._next_agents(table):
                table.loop = self._loops.submit(self._agents_move, table)

    def settle(self, table: GameTable, seconds: float) -> None:
        """Wait until no agent is choosing, at most `seconds`."""
        loop = table.loop
        if loop is not None:
            with suppress(NotDoneError):
                loop.result(seconds)

    def _next_agents(self, table: GameTable) -> list[int]:
        """Seats of agents that have to choose now; empty while a person has to."""
        try:
            position = self.position(table)
        except LudoryError:  # the game is not installed, or its rules have changed: the page says so
            return []
        waiting = [seat for seat in position.deciding() if seat not in table.chosen]
        if position.over or any(table.seats[seat].human for seat in waiting):
            return []
        return waiting or ([-1] if position.game.facts.simultaneous else [])

    def _agents_move(self, table: GameTable) -> None:
        try:
            while self._agents_moved(table):
                pass
        except Exception as error:  # nobody reads the errors of this thread: the page says them
            with table.lock:
                table.problem = str(error) if isinstance(error, (LudoryError, OSError)) else repr(error)
                table.loop = None
                self._notify(table)

    def _agents_moved(self, table: GameTable) -> bool:
        """Let the agents choose that have to now; False, and their loop ends, if none has to."""
        with table.lock:
            seats = self._next_agents(table)
            if not seats:
                table.loop = None
                return False
            moves, names = tuple(table.moves), tuple(seat.agent for seat in table.seats)
        chosen = {seat: self._asked(table, names, moves, seat) for seat in seats if seat >= 0}
        with table.lock:
            # not if moves were taken back, or an agent replaced, while they were thinking
            same = tuple(table.moves) == moves and names == tuple(seat.agent for seat in table.seats)
            if same and self._next_agents(table) == seats:
                self._play_of_agents(table, chosen)
            return True

    def _asked(self, table: GameTable, names: tuple[str, ...], moves: tuple[Any, ...], seat: int) -> Any:
        return self._players.choose(MoveQuestion(table.id, table.game, table.options, table.seed, names, moves, seat))

    def _play_of_agents(self, table: GameTable, chosen: Mapping[int, Any]) -> None:
        position = self.position(table)
        if not position.game.facts.simultaneous:
            [(seat, action)] = chosen.items()
            self._move(table, seat, action)
            return
        both = {**table.chosen, **{seat: _as_heads(action) for seat, action in chosen.items()}}
        self._move(table, -1, position.joint_action(both))

    def replay(self, table: GameTable) -> Replay:
        """The game so far, as `ludory watch` reads it."""
        from ludory.data.playthrough import PlayedMove
        from ludory.data.replay import Replay

        with table.lock:
            position = self.position(table)
            return Replay(
                game=table.game,
                options=dict(table.options),
                seed=table.seed,
                game_index=0,
                start={},
                agents=tuple(table.names()),
                moves=tuple(PlayedMove(seat, action) for seat, action in table.moves),
                returns=tuple(float(value) for value in position.returns),
                finished=position.over,
            )

    def _file(self, table: GameTable) -> Path:
        return self._folder / f"{table.id}.jsonl"

    def _append(self, table: GameTable, entry: Mapping[str, Any]) -> None:
        """Write an entry at the end of the table's file, and tell all pages that show the table."""
        append_lines(self._file(table), line_of(table.sum, entry))
        table.sum = sum_of(table.sum, entry)
        self._notify(table)

    def _notify(self, table: GameTable) -> None:
        with table.lock:
            table.version += 1

    def close(self) -> None:
        """Start no more tables and no more moves of agents."""
        for threads in (self._loops, self._starts):
            threads.shutdown(wait=False, cancel_futures=True)


def _as_heads(action: Any) -> tuple[int, ...]:
    return action if isinstance(action, tuple) else (action,)


def _changed(seats: tuple[TableSeat, ...], seat: int, **changes: Any) -> tuple[TableSeat, ...]:
    return tuple(replace(held, **changes) if number == seat else held for number, held in enumerate(seats))


def _undo(table: GameTable, seat: int, count: int) -> None:
    del table.moves[len(table.moves) - count :]
    table.chosen.clear()
    table.taken_back.append((seat, count))
    table.finished, table.problem = False, ""


def _read_table(file: Path) -> GameTable:
    """The table of a file.

    Raises:
        DataError: the file is damaged, or not that of a table.
    """
    try:
        (header, *entries), total = read_log(file)
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r}")
        seats = tuple(TableSeat(str(seat["agent"]), str(seat["key"])) for seat in header["seats"])
        about = str(header["game"]), dict(header["options"]), int(header["seed"])
        table = GameTable(file.stem, *about, seats, str(header["created"]), sum=total)
        for entry in entries:
            _read_entry(table, entry)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DataError(f"{file}: not a table, or damaged ({error}); put a copy of it back, or remove it") from error
    return table


def _read_entry(table: GameTable, entry: Mapping[str, Any]) -> None:
    """Bring the table to where it was when `entry` was written."""
    for kind, (seat, value) in ((kind, value) for kind, value in entry.items() if kind != "finished"):
        if kind == "move":
            table.moves.append((int(seat), _nested(value)))
            table.chosen.clear()
            table.finished = bool(entry.get("finished"))
        elif kind == "chosen":
            table.chosen[int(seat)] = _nested(value)
        elif kind == "back" and value:
            _undo(table, int(seat), int(value))
        elif kind == "back":
            table.chosen.pop(int(seat), None)
        elif kind == "seat":
            table.seats = _changed(table.seats, int(seat), agent=str(value))
        elif kind == "sit":
            table.seats = _changed(table.seats, int(seat), persons=(*table.seats[int(seat)].persons, str(value)))


def _nested(value: Any) -> Any:
    """Lists as tuples, and integers."""
    return tuple(map(_nested, value)) if isinstance(value, list) else int(value)
