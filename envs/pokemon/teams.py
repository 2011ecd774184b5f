"""Teams that players bring: read from files, checked by the simulator's own validator, drawn by a game's key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

from ludory.errors import OptionError

from .backends.install import V8, installed, runs
from .backends.sim import SimWorker
from .backends.v8 import V8Worker
from .backends.worker import Worker
from .formats import BattleFormat

_ENDINGS = (".txt", ".team", ".teams", ".packed", ".export")
_PACKED_BARS = 8
"""A line with at least so many bars is a packed team."""
_SHOWN = 40
"""Problems that an error lists."""


class TeamText(NamedTuple):
    """A team as it was given, an export or a packed team, and where it stands."""

    place: str
    text: str


class TeamBank(NamedTuple):
    """Packed teams of each seat; () in formats whose teams the simulator makes."""

    seats: tuple[tuple[str, ...], tuple[str, ...]]
    missing_in: str = ""
    """The format, if it needs teams and has none: its battles can be learnt from, and not be played."""

    def check(self) -> None:
        """Raise an OptionError if battles cannot be played without teams."""
        if self.missing_in:
            raise OptionError(f"{self.missing_in} needs teams=: a folder of exports, a file, or a list of teams")

    def drawn(self, seat: int, bits: int) -> str | None:
        """The team for 64 random bits, None if the simulator makes the teams."""
        teams = self.seats[seat]
        return teams[bits % len(teams)] if teams else None


def team_bank(format: BattleFormat, teams: object) -> TeamBank:
    """The teams of `teams=`: a folder, a file, or a list of exports or packed teams; or a pair of these, one for each seat.

    Raises:
        OptionError: teams are unreadable or illegal, or the format makes its own; lists every problem with file and line.
        PluginError: the simulator, which checks teams, is not installed.
    """
    if not format.needs_teams:
        if teams is not None:
            raise OptionError(f"teams={teams!r}: {format.id} makes its own teams; leave teams= out")
        return TeamBank(((), ()))
    if teams is None:
        return TeamBank(((), ()), format.id)
    seats = [tuple(_texts(part)) for part in (teams if _is_pair(teams) else (teams,))]
    for found in seats:
        if not found:
            raise OptionError(f"teams={teams!r}: no teams there; folders may hold {', '.join(_ENDINGS)} files")
    # equal teams of both seats are checked once
    checked = {texts: _checked(format.id, texts) for texts in seats}
    return TeamBank((checked[seats[0]], checked[seats[-1]]))


def _is_pair(teams: object) -> TypeGuard[Sequence[object]]:
    """Whether `teams` names the teams of each seat: two paths, or two lists."""
    if not isinstance(teams, Sequence) or isinstance(teams, str) or len(teams) != 2:
        return False
    # two packed teams are a list of teams for both, two paths are one for each
    return all(not isinstance(part, str) or not _is_team(part) for part in teams)


def _is_team(text: str) -> bool:
    return "\n" in text.strip() or text.count("|") >= _PACKED_BARS


def _texts(teams: object) -> Iterable[TeamText]:
    if isinstance(teams, str | Path):
        if _is_team(str(teams)):
            yield from _split("teams", str(teams))
            return
        place = Path(teams).expanduser()
        if place.is_dir():
            for file in sorted(place.iterdir()):
                if file.suffix in _ENDINGS and file.is_file():
                    yield from _split(str(file), _read(file))
        else:
            yield from _split(str(place), _read(place))
        return
    if not isinstance(teams, Sequence) or not all(isinstance(team, str) for team in teams):
        raise OptionError(f"teams={teams!r}: must be a folder, a file, or a list of exports or packed teams")
    for k, team in enumerate(teams):
        yield from _split(f"teams[{k}]", team)


def _read(file: Path) -> str:
    try:
        # "utf-8-sig", since editors on Windows begin files with a mark
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"teams={str(file)!r}: cannot be read ({error}); name a folder or file of exports") from error


def _split(place: str, text: str) -> Iterable[TeamText]:
    """Teams of a text: packed teams one a line, or exports, each under a line such as `=== [gen9ou] name ===`."""
    lines = text.splitlines()
    export: list[str] = []
    first = 1
    for number, line in enumerate(lines, 1):
        packed = line.count("|") >= _PACKED_BARS
        if packed or line.startswith("==="):
            if any(part.strip() for part in export):
                yield TeamText(f"{place}:{first}", "\n".join(export))
            # an export begins below its heading
            export, first = [], number + 1
            if packed:
                yield TeamText(f"{place}:{number}", line.strip())
        else:
            export.append(line)
    if any(part.strip() for part in export):
        yield TeamText(f"{place}:{first}", "\n".join(export))


@lru_cache(maxsize=16)
# the validator needs a child process: the same teams are not asked of it again
def _checked(format: str, texts: tuple[TeamText, ...]) -> tuple[str, ...]:
    packed, problems = [], []
    with _validator() as worker:
        for number, (place, text) in enumerate(texts, 1):
            found, team = worker.validated(format, text)
            packed.append(team)
            problems += [f"{place}, team {number}: {problem}" for problem in found]
    if problems:
        more = f"\n  and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        listed = "\n  ".join(problems[:_SHOWN])
        raise OptionError(f"{len(problems)} problems in teams for {format}:\n  {listed}{more}")
    return tuple(packed)


def _validator() -> Worker:
    """The simulator, or the one for V8 where only that is installed, or runs."""
    return V8Worker() if not runs() and installed(V8) is not None else SimWorker()
