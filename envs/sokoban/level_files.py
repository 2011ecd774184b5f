"""Level files of Sokoban, read and written: XSB, the SOK format of sokobano.de with its run-length rows, and Boxoban's.

A level is a block of rows. Lines of text between the blocks are titles, authors and comments, of which only titles are kept. Rules of the
SOK format: http://sokobano.de/wiki/index.php?title=Sok_format.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.envs import check_choice
from ludory.errors import DataError

from .state import BOX, BOX_ON_TARGET, FLOOR, PLAYER, TARGET, WALL

LevelForm = Literal["xsb", "rle", "boxoban"]
LEVEL_SYMBOLS = "# .*$@+"
"""Characters of a level file by code 0..6."""
ENDINGS = (".txt", ".xsb", ".sok")
"""Files that are read of a folder."""
LONGEST = 1000
"""Most rows of a level, and most cells of a row: a run length can ask for any number."""

_OTHERS = str.maketrans("-_pPbBo", "  @+$*.")
"""Other characters that files have for the same."""
_KNOWN = frozenset(LEVEL_SYMBOLS)
_BOARD = re.escape(LEVEL_SYMBOLS + "-_pPbBo")
_PLAIN_ROW = re.compile(rf"[{_BOARD}]*#[{_BOARD}]*")
_ROW_WITHOUT_WALL = re.compile(r"[-_ .*$@+]+")
_RUN_LENGTH_ROWS = re.compile(rf"(?:[0-9]{{0,6}}[{_BOARD}]|\|)+")
_RUN = re.compile(r"[0-9]{0,6}\D|[0-9]")
_COMMENT = re.compile(
    r"^[ \t]*comments?[ \t]*:(?:(?!^[ \t]*comments?[ \t]*:)[\s\S])*?^[ \t]*comment[-_ ]?end[ \t]*:?", re.I | re.M
)
_TITLE = re.compile(r"\s*title\s*:\s*(.*)", re.I)
_REMARK = re.compile(
    r"\s*(?:;|::|(?:solution|snapshot|saved game)\b"
    r"|(?:author|collection|comments?|copyright|date|e-?mail|homepage|website|game|set|id)\b[^:]*:)",
    re.I,
)
_SHOWN = "a level has rows of # wall, @ player, $ box, . target, such as #@$.#"
_ALLOWED = f"allowed are {' '.join(LEVEL_SYMBOLS)} - _ p P b B o"
_ROOM_CODES = np.zeros(128, np.uint8)
for _code, _symbol in enumerate(LEVEL_SYMBOLS):
    _ROOM_CODES[ord(_symbol)] = _code


class Level(NamedTuple):
    """A level of a file."""

    codes: NDArray[np.uint8]
    """(R, C): codes 0..6. What lies outside the outer wall is wall."""
    title: str = ""
    file: str = ""
    number: int = 1
    """Place in the file, from 1."""
    line: int = 1
    """Line of the first row, from 1."""

    @property
    def boxes(self) -> int:
        """Number of boxes."""
        return int(((self.codes == BOX) | (self.codes == BOX_ON_TARGET)).sum())

    @property
    def place(self) -> str:
        """Where the level is, for messages."""
        return _place(self.file, self.line, self.number, self.title)


class LevelFile(NamedTuple):
    """Levels that were read, and those that were left out."""

    levels: list[Level]
    wrong: list[str]
    """What is wrong with each level that was left out, and where it is."""

    def without_wrong(self, skip_bad: bool, advice: str) -> LevelFile:
        """This, if no level is wrong, or `skip_bad` and not all are.

        advice: what to type to leave out the wrong ones.

        Raises:
            DataError: names the first wrong level.
        """
        if not self.wrong or (skip_bad and self.levels):
            return self
        more = f"; levels that are wrong: {len(self.wrong)}" if len(self.wrong) > 1 else ""
        raise DataError(f"{self.wrong[0]}{more}; {advice if self.levels else 'no level is right'}")


class _LevelError(Exception):
    """What is wrong with a level, and in which row, from 1; 0: no row of its own."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row = row


def read_levels(path: str | Path, skip_bad: bool = False) -> LevelFile:
    """The levels of a file, or of all .txt, .xsb and .sok files in a folder, in order of their names; of any sizes.

    Rows: `#` wall, space `-` `_` floor, `@` `p` player, `$` `b` box, `.` `o` target, `*` `B` box on target, `+` `P` player on target; a
    number before a character repeats it, and `|` ends a row within a line. A level must be closed: neither the player nor a box can leave
    it. An empty line divides levels.

    Args:
        path: file or folder.
        skip_bad: leave out wrong levels, in place of an error.

    Raises:
        DataError: a file cannot be read, no levels, or a wrong level; the error names file, line, level and row.
    """
    place = Path(path)
    inside = sorted(place.iterdir()) if place.is_dir() else []
    found = LevelFile([], [])
    for file in [file for file in inside if file.suffix.lower() in ENDINGS] if place.is_dir() else [place]:
        _read_file(file, found)
    if not found.levels and not found.wrong:
        raise DataError(
            f"{path}: no levels in {'files that end in ' + ' '.join(ENDINGS) if inside else 'it'}; {_SHOWN}"
        )
    return found.without_wrong(skip_bad, f"`ludory sokoban levels {path} --skip-bad --out good.xsb` keeps the others")


def _read_file(file: Path, found: LevelFile) -> None:
    """Append the levels of a file."""
    blocks, texts = _parts(_text_of(file))
    titles = _titles(texts)
    for number, ((line, rows), title) in enumerate(zip(blocks, titles, strict=True), 1):
        try:
            codes = _codes_of(rows)
        except _LevelError as error:
            row = f", row {error.row}" if error.row else ""
            found.wrong.append(f"{_place(str(file), line, number, title)}{row}: {error}")
        else:
            found.levels.append(Level(codes, title, str(file), number, line))


def _place(file: str, line: int, number: int, title: str) -> str:
    return f"{file}, line {line}: level {number}" + (f" {title!r}" if title else "")


def _text_of(file: Path) -> str:
    """The text of a file in UTF-8 or UTF-16, or else, as old collections have it, in Latin-1; comments are empty lines."""
    try:
        data = file.read_bytes()
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            text = data.decode("utf-16")
        else:
            # UTF-8 first: Latin-1 would read anything
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                text = data.decode("latin-1")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read as a level file ({error})") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # as many empty lines, so that line numbers stay
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)


def _parts(text: str) -> tuple[list[tuple[int, list[str]]], list[list[str]]]:
    """The blocks of rows, with the line of their first row, and the lines before, between and after them, one list more."""
    blocks, texts = list[tuple[int, list[str]]](), list[list[str]]([[]])
    rows = list[str]()
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.rstrip()
        found = _rows_in(line, bool(rows))
        # A line that holds a whole level is one, even if the next line holds the next.
        alone = len(found) > 2 and any(player in row for row in found for player in "@+pP")
        if found and (alone or not rows):
            rows = list(found)
            blocks.append((number, rows))
            texts.append([])
            if alone:
                rows = []
        elif found:
            rows.extend(found)
        else:
            rows = []
            texts[-1].append(line)
    return blocks, texts


def _rows_in(line: str, inside: bool) -> list[str]:
    """Rows in a line without spaces at its end: [] for text, several where `|` divides them. inside: the line before is a row."""
    if _PLAIN_ROW.fullmatch(line) or (inside and _ROW_WITHOUT_WALL.fullmatch(line)):
        return [line]
    if "#" in line and (_RUN_LENGTH_ROWS.fullmatch(line) or _is_damaged_row(line, inside)):
        return [_expanded(row) for row in line.removesuffix("|").split("|")]
    return []


def _is_damaged_row(line: str, inside: bool) -> bool:
    """Whether a line with other characters is more of a row than of text: most of it belongs to rows, and so do its ends."""
    symbols = "#@+$*.-_" + ("|0123456789" if "|" in line else "")
    if _REMARK.match(line) or _TITLE.match(line) or 2 * sum(map(line.count, symbols)) <= len("".join(line.split())):
        return False
    within = line.strip(" \t0123456789-_|()")
    return inside or (len(within) > 2 and within[0] == within[-1] == "#")


def _expanded(row: str) -> str:
    """A row without run lengths, cut off behind what is too long."""
    if row.isdecimal() or not any(map(str.isdigit, row)):
        return row
    cells = ""
    for run in _RUN.findall(row):
        # `LONGEST` of a huge run length must not be written out
        cells += run[-1] * int(run[:-1] or 1)
        if len(cells) > LONGEST:
            break
    return cells


def _titles(texts: list[list[str]]) -> list[str]:
    """The title of each level, "" for none: `Title:` below it or above it, else the line of text above it."""
    count = len(texts) - 1
    below, above, plain = [""] * count, [""] * count, [_plain_title(lines) for lines in texts[:-1]]
    keyed = [[(at, found[1]) for at, line in enumerate(lines) if (found := _TITLE.match(line))] for lines in texts]
    # titles above all levels, and none below the last: they belong to the level that follows
    before = bool(keyed[0]) and not keyed[-1]
    for gap, lines in enumerate(texts):
        empty = [at for at, line in enumerate(lines) if not line] or [-1]
        for at, title in keyed[gap]:
            # A title belongs to the level that no empty line divides it from.
            apart, apart_below = 0 <= empty[0] < at, empty[-1] > at
            to_next = apart if apart != apart_below else before
            if gap < count and (gap == 0 or to_next):
                # it is that of several levels if the next has one right above it
                above[gap] = "" if apart_below and plain[gap] and lines[-1] else title
            elif gap > 0:
                below[gap - 1] = below[gap - 1] or title
    return [next(filter(None, names), "") for names in zip(below, above, plain, strict=True)]


def _plain_title(lines: list[str]) -> str:
    """The last line of text before a level: after `;`, or behind an empty line, or the only one; see the SOK format."""
    written = [at for at, line in enumerate(lines) if line]
    named = [at for at in written if not _TITLE.match(lines[at]) and not _REMARK.match(lines[at].lstrip("; "))]
    if not named:
        return ""
    at = named[-1]
    line = lines[at].strip()
    if line.startswith(";"):
        return _unquoted(line.lstrip("; "))
    return _unquoted(line) if len(written) == 1 or at == 0 or not lines[at - 1] or lines[at - 1].startswith(";") else ""


def _unquoted(title: str) -> str:
    quoted = len(title) > 2 and title[0] == title[-1] and title[0] in "'\""
    return title[1:-1] if quoted else title


def _codes_of(rows: list[str]) -> NDArray[np.uint8]:
    """Codes (R, C) of a level.

    Raises:
        _LevelError: the rows are no level.
    """
    rows = [row.translate(_OTHERS) for row in rows]
    text = "".join(rows)
    if not _KNOWN.issuperset(text):
        row, column, cell = next(found for found in _cells(rows) if found[2] not in LEVEL_SYMBOLS)
        raise _LevelError(row, f"column {column} is {cell!r}; {_ALLOWED}")
    width = max(map(len, rows))
    if max(width, len(rows)) > LONGEST:
        raise _LevelError(0, f"more than {LONGEST:,} rows or columns")
    if len(rows) < 3:
        raise _LevelError(0, f"only {len(rows)} row{'s'[: len(rows) - 1]}; a closed level has at least three")
    _check_counts(rows, text)
    # rows may end early: what is missing is floor, which `_closed` makes wall outside of the level
    if len(text) != width * len(rows):
        text = "".join(row.ljust(width) for row in rows)
    codes = _ROOM_CODES[np.frombuffer(text.encode(), np.uint8)].reshape(len(rows), width)
    framed = not (codes[0].any() or codes[-1].any() or codes[:, 0].any() or codes[:, -1].any())
    return codes if framed else _closed(codes)


def _check_counts(rows: list[str], text: str) -> None:
    players, boxes, targets = (sum(map(text.count, symbols)) for symbols in ("@+", "$*", ".*+"))
    if players == 0:
        raise _LevelError(0, "no player; one cell must be @, or + on a target")
    if players > 1:
        first, second = [found for found in _cells(rows) if found[2] in "@+"][:2]
        raise _LevelError(second[0], f"a second player in column {second[1]}; the first is in row {first[0]}")
    if boxes != targets or not boxes:
        counts = f"{boxes} box{'es' * (boxes != 1)} and {targets} target{'s' * (targets != 1)}"
        raise _LevelError(0, f"{counts}; a level has as many boxes as targets, at least one of each")


def _cells(rows: list[str]) -> Iterator[tuple[int, int, str]]:
    """Row and column, from 1, and character of each cell."""
    for row, cells in enumerate(rows, 1):
        for column, cell in enumerate(cells, 1):
            yield row, column, cell


def _closed(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A level whose outside is wall, without rows and columns beyond its walls.

    Raises:
        _LevelError: the player, a box or a target is outside.
    """
    edge = np.ones(codes.shape, bool)
    edge[1:-1, 1:-1] = False
    outside = np.zeros(codes.shape, bool)
    # from the edge inwards: what is reached is outside
    for cell in reached(codes != WALL, np.argwhere(edge & (codes != WALL)).tolist()):
        outside[tuple(cell)] = True
    leaving = np.argwhere(outside & (codes > FLOOR)).tolist()
    if leaving:
        leaving.sort(key=lambda cell: codes[tuple(cell)] < PLAYER)  # the player first
        row, column = next(cell for cell in reached(codes != WALL, leaving[:1]) if edge[tuple(cell)])
        code = codes[tuple(leaving[0])]
        who = "the player" if code >= PLAYER else "a target" if code == TARGET else "a box"
        raise _LevelError(row + 1, f"the wall is open in column {column + 1}: {who} is not closed in")
    walls = np.argwhere(codes == WALL)
    (top, left), (bottom, right) = walls.min(0), walls.max(0) + 1
    return np.where(outside, WALL, codes).astype(np.uint8)[top:bottom, left:right]


def reached(free: NDArray[np.bool_], starts: list[Any]) -> Iterator[list[int]]:
    """Cells (row, column) that are reached from `starts` over free cells, nearest first, with the starts."""
    rows, columns = free.shape
    seen = ~free
    queue = [list(start) for start in starts]
    for row, column in queue:
        seen[row, column] = True
    # a list that grows while it is read: breadth first
    for row, column in queue:
        yield [row, column]
        for down, across in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if 0 <= down < rows and 0 <= across < columns and not seen[down, across]:
                seen[down, across] = True
                queue.append([down, across])


def level_text(codes: NDArray[np.uint8], title: str = "0", form: LevelForm = "boxoban") -> str:
    """One room (R, C) as a level file.

    form: `xsb`, rows and `Title:`; `rle`, one line with run lengths and `Title:`; `boxoban`, rows under `; TITLE`, which is a number there.

    Raises:
        OptionError: unknown form.
    """
    check_choice("form", form, get_args(LevelForm))
    rows = ["".join(LEVEL_SYMBOLS[code] for code in row) for row in codes.tolist()]
    if form == "boxoban":
        return "\n".join([f"; {title}", *rows, ""])
    if form == "rle":
        rows = [re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", "|".join(rows).replace(" ", "-"))]
    return "\n".join([*rows, *([f"Title: {title}"] if title else []), ""])


def levels_text(levels: Sequence[Level], form: LevelForm) -> str:
    """A level file that `read_levels` reads to the same levels; `boxoban` has the numbers from 0 for titles that are no numbers."""
    numbered = form == "boxoban"
    titles = [str(k) if numbered and not level.title.isdecimal() else level.title for k, level in enumerate(levels)]
    return "\n".join(level_text(level.codes, title, form) for level, title in zip(levels, titles, strict=True))
