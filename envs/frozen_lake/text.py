"""FrozenLake in words: the text styles, their parsers, and the codec for language models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Decoded, State, TextCodec, WorkedExample, on_host
from ludory.errors import OptionError

from .rules import DIRECTIONS, GOAL, HOLE, ICE, START

SYMBOLS = {"player": "P", "ice": "_", "hole": "O", "goal": "G", "player_in_hole": "X", "player_on_goal": "√"}
"""The symbol of each kind of cell."""
DRAWN = ("ice", "ice", "hole", "goal", "player", "player_in_hole", "player_on_goal")
"""Kind of each drawn code: the start looks like ice."""
IN_HOLE, ON_GOAL = "Player in hole", "Player on goal"


@dataclass(frozen=True)
class Vocabulary:
    """How cells and directions are written."""

    symbols: Mapping[str, str] = field(default_factory=lambda: SYMBOLS)
    spaced: bool = False
    """Whether spaces separate the cells of a grid."""
    order: tuple[str, ...] = DIRECTIONS
    """The order in which directions are listed."""

    @property
    def drawn(self) -> list[str]:
        """The symbol of each drawn code."""
        return [self.symbols[kind] for kind in DRAWN]


def vocabulary(
    symbols: Mapping[str, str] | None = None, spaced: bool = False, action_order: Sequence[str] | None = None
) -> Vocabulary:
    """The vocabulary of three options of the game.

    Raises:
        OptionError: an unknown kind of cell, a symbol that is not one visible character or stands for two kinds, or an order that
            is not one of the four directions.
    """
    for kind in symbols or {}:
        if kind not in SYMBOLS:
            raise OptionError(f"symbols has {kind!r}; FrozenLake has {', '.join(map(repr, SYMBOLS))}")
    chosen = SYMBOLS | dict(symbols or {})
    for kind, symbol in chosen.items():
        if not isinstance(symbol, str) or len(symbol) != 1 or not symbol.isprintable() or symbol.isspace():
            raise OptionError(f"symbols: {kind!r} is {symbol!r}, must be one visible character")
    if len(set(chosen.values())) < len(chosen):
        raise OptionError(f"symbols: {chosen} has a symbol twice; give each kind its own")
    order = tuple(action_order or DIRECTIONS)
    if sorted(order) != sorted(DIRECTIONS):
        raise OptionError(f"action_order={order!r}: must be an order of {', '.join(DIRECTIONS)}")
    return Vocabulary(chosen, bool(spaced), order)


def write_grid(words: Vocabulary, state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """One symbol per cell, a line per row."""
    codes = drawn_codes(state, rows)
    size, step = codes.shape[-1], 2 if words.spaced else 1
    letters = np.full((len(codes), size, size * 2 if words.spaced else size + 1), " ", "<U1")
    letters[:, :, : size * step : step] = np.array(words.drawn)[codes]
    letters[:, :, -1] = "\n"
    flat = letters.reshape(len(codes), -1)
    # the letters of a game lie side by side: they are read as one long string; the last newline is cut off
    return [text[:-1] for text in flat.view(f"<U{flat.shape[1]}")[:, 0].tolist()]


def drawn_codes(state: State, rows: Sequence[int]) -> NDArray[np.int64]:
    """[m, N, N]: the kernel `drawn_code` for many games."""
    chosen = np.asarray(rows, np.int64)
    codes = on_host(state.cells)[chosen].astype(np.int64, order="C")  # states of a GPU come in another order
    flat, players = codes.reshape(len(chosen), -1), on_host(state.player)[chosen].astype(np.int64)
    games = np.arange(len(chosen))
    under = flat[games, players]
    flat[games, players] = np.where(under == HOLE, 5, np.where(under == GOAL, 6, 4))
    return codes


def write_coord(words: Vocabulary, state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """Size and places, a line per kind."""
    return [_coord(cells, player) for cells, player in _games(state, rows)]


def _games(state: State, rows: Sequence[int]) -> list[tuple[NDArray[Any], int]]:
    return [(on_host(state.cells[row]), int(state.player[row])) for row in rows]


def _coord(cells: NDArray[Any], player: int) -> str:
    size, under = len(cells), cells.flat[player]
    who = IN_HOLE if under == HOLE else ON_GOAL if under == GOAL else "Player"
    lines = [
        f"Board size: {size} rows x {size} cols (zero-indexed).",
        f"Start: {_pairs(cells == START)}",
        f"Goal: {_pairs(cells == GOAL)}",
        f"{who}: {divmod(player, size)}",
    ]
    holes = _pairs(cells == HOLE)
    return "\n".join(lines + ([f"Holes: {holes}"] if holes else []))


def _pairs(where: NDArray[np.bool_], form: str = "({}, {})") -> str:
    return ", ".join(form.format(row, column) for row, column in np.argwhere(where).tolist())


def write_both(words: Vocabulary, state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """Places, then the grid, each under a heading."""
    pairs = zip(write_coord(words, state, rows), write_grid(words, state, rows), strict=True)
    return [f"Coordinates: \n{coord}\nGrid Map: \n{grid}" for coord, grid in pairs]


def write_sentence(words: Vocabulary, state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """The grid, then one sentence with the places."""
    grids = write_grid(words, state, rows)
    return [f"{grid}\n{_sentence(words, *game)}" for grid, game in zip(grids, _games(state, rows), strict=True)]


def _sentence(words: Vocabulary, cells: NDArray[Any], player: int) -> str:
    row, column = divmod(player, len(cells))
    holes = np.count_nonzero(cells == HOLE)
    parts = [
        f"Player ({words.symbols['player']}) is at ({row},{column})",
        f"goal ({words.symbols['goal']}) is at {_pairs(cells == GOAL, '({},{})')}",
    ]
    if holes:
        noun, verb = ("holes", "are") if holes > 1 else ("hole", "is")
        parts.insert(1, f"{noun} ({words.symbols['hole']}) {verb} at {_pairs(cells == HOLE, '({},{})')}")
    return "; ".join(parts) + "."


def write_places(words: Vocabulary, state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """Symbol, row and column of the player, the holes and the goal, as single words."""
    return [_places(words, *game) for game in _games(state, rows)]


def _places(words: Vocabulary, cells: NDArray[Any], player: int) -> str:
    row, column = divmod(player, len(cells))
    found = [f"{words.symbols['player']} {row} {column}"]
    for code, kind in ((HOLE, "hole"), (GOAL, "goal")):
        found += [f"{words.symbols[kind]} {r} {c}" for r, c in np.argwhere(cells == code).tolist()]
    return " ".join(found)


def write_compact(words: Vocabulary, state: State, rows: Sequence[int], seat: int | None = None) -> list[str]:
    """One word per cell, then the places."""
    drawn, places = drawn_codes(state, rows), write_places(words, state, rows)
    symbols = words.drawn
    return [
        " ".join([*(symbols[code] for code in codes), place])
        for codes, place in zip(drawn.reshape(len(drawn), -1).tolist(), places, strict=True)
    ]


def parse_grid(words: Vocabulary, text: str) -> dict[str, NDArray[Any]]:
    """`cells` int8 [N, N] and `player` of a grid; the start reads as ice.

    Raises:
        ValueError: a line of another length, an unknown symbol, or not exactly one player; names line and symbol.
    """
    lines = [line.split(" ") if words.spaced else list(line) for line in text.split("\n")]
    return _from_symbols(words, lines)


def _from_symbols(words: Vocabulary, lines: Sequence[Sequence[str]]) -> dict[str, NDArray[Any]]:
    kinds = {symbol: kind for kind, symbol in words.symbols.items()}
    under = {"ice": ICE, "hole": HOLE, "goal": GOAL, "player": ICE, "player_in_hole": HOLE, "player_on_goal": GOAL}
    cells, players = np.zeros((len(lines), len(lines)), np.int8), []
    for row, line in enumerate(lines):
        if len(line) != len(lines):
            raise ValueError(f"line {row + 1}: {len(line)} cells, must be {len(lines)}, one per line")
        for column, symbol in enumerate(line):
            if symbol not in kinds:
                raise ValueError(f"line {row + 1}: symbol {symbol!r} is none of {' '.join(kinds)}")
            cells[row, column] = under[kinds[symbol]]
            players += [row * len(lines) + column] if kinds[symbol].startswith("player") else []
    if len(players) != 1:
        raise ValueError(f"{len(players)} players; must be one of {words.symbols['player']!r} and its variants")
    return {"cells": cells, "player": np.array(players[0])}


_SIZE = re.compile(r"Board size: ([1-9]\d?) rows x ([1-9]\d?) cols \(zero-indexed\)\.")
_PAIR = re.compile(r"\((\d{1,2}), (\d{1,2})\)")


def parse_coord(words: Vocabulary, text: str) -> dict[str, NDArray[Any]]:
    """`cells` and `player` of a text of places.

    Raises:
        ValueError: names the line that cannot be read.
    """
    lines = text.split("\n")
    size = _SIZE.fullmatch(lines[0])
    if size is None or size[1] != size[2]:
        raise ValueError(f"line 1: {lines[0]!r} is no size of a square board")
    cells, players = np.zeros((int(size[1]), int(size[1])), np.int8), []
    codes = {"Start": START, "Goal": GOAL, "Holes": HOLE, "Player": None, IN_HOLE: HOLE, ON_GOAL: GOAL}
    for number, line in enumerate(lines[1:], 2):
        name, colon, rest = line.partition(": ")
        if not colon or name not in codes:
            raise ValueError(f"line {number}: {line!r} begins with none of {', '.join(codes)}")
        for row, column in _read_pairs(rest, number, len(cells)):
            players += [row * len(cells) + column] if name.startswith("Player") else []
            code = codes[name]
            if code is not None:
                cells[row, column] = code
    if len(players) != 1 or (cells == GOAL).sum() != 1:
        raise ValueError(f"{len(players)} players and {(cells == GOAL).sum()} goals; must be one of each")
    return {"cells": cells, "player": np.array(players[0])}


def _read_pairs(text: str, number: int, size: int) -> list[tuple[int, int]]:
    pairs = []
    for item in text.split("), "):
        found = _PAIR.fullmatch(item if item.endswith(")") else item + ")")
        if found is None or max(int(found[1]), int(found[2])) >= size:
            raise ValueError(f"line {number}: {item!r} is no place (row, column) on a board of {size} x {size}")
        pairs.append((int(found[1]), int(found[2])))
    return pairs


def parse_both(words: Vocabulary, text: str) -> dict[str, NDArray[Any]]:
    """`cells` and `player` of places and grid, which must agree.

    Raises:
        ValueError: a heading is missing, a part cannot be read, or the parts differ.
    """
    head, heading, grid = text.partition("\nGrid Map: \n")
    if not heading or not head.startswith("Coordinates: \n"):
        raise ValueError("line 1: must be 'Coordinates: ', and 'Grid Map: ' must stand above the grid")
    found, drawn = parse_coord(words, head.removeprefix("Coordinates: \n")), parse_grid(words, grid)
    # the grid shows the start as ice
    seen = np.where(found["cells"] == START, ICE, found["cells"])
    if not np.array_equal(seen, drawn["cells"]) or found["player"] != drawn["player"]:
        raise ValueError("the grid shows another state than the coordinates")
    return found


def parse_sentence(words: Vocabulary, text: str) -> dict[str, NDArray[Any]]:
    """`cells` and `player` of a grid and its sentence, which must agree.

    Raises:
        ValueError: the grid cannot be read, or the sentence is not the one of this grid.
    """
    grid, _, sentence = text.rpartition("\n")
    found = parse_grid(words, grid)
    expected = _sentence(words, found["cells"], int(found["player"]))
    if sentence != expected:
        raise ValueError(f"the last line is {sentence[:200]!r}, must be {expected!r}")
    return found


def parse_places(words: Vocabulary, text: str) -> dict[str, NDArray[Any]]:
    """`player`, `holes` [k, 2] and `goal` [1, 2] of places; the size of the board is not said.

    Raises:
        ValueError: names the word that cannot be read.
    """
    items, found = text.split(" "), dict[str, list[list[int]]]()
    kinds = {words.symbols[kind]: kind for kind in ("player", "hole", "goal")}
    for at in range(0, len(items), 3):
        symbol, *place = items[at : at + 3]
        if symbol not in kinds or len(place) != 2 or not all(re.fullmatch(r"\d{1,2}", word) for word in place):
            raise ValueError(f"word {at + 1}: {' '.join(items[at : at + 3])!r} is no place such as 'P 0 1'")
        found.setdefault(kinds[symbol], []).append([int(word) for word in place])
    if len(found.get("player", [])) != 1 or len(found.get("goal", [])) != 1:
        raise ValueError("there must be one player and one goal")
    holes = np.array(found.get("hole", []), np.int64).reshape(-1, 2)
    return {"player": np.array(found["player"]), "holes": holes, "goal": np.array(found["goal"])}


def parse_compact(words: Vocabulary, text: str) -> dict[str, NDArray[Any]]:
    """`cells` and `player` of cells and places, which must agree.

    Raises:
        ValueError: a part cannot be read, or they differ.
    """
    items = text.split(" ")
    # the first number belongs to the first place, whose symbol stands before it
    cells = next((k for k, word in enumerate(items) if word.isdigit()), len(items)) - 1
    size = round(max(cells, 0) ** 0.5)
    if size < 2 or size * size != cells:
        raise ValueError(f"word 1: {max(cells, 0)} cells make no square board")
    found = _from_symbols(words, [items[row * size : row * size + size] for row in range(size)])
    expected = _places(words, found["cells"], int(found["player"]))
    if " ".join(items[cells:]) != expected:
        raise ValueError(f"the places are {' '.join(items[cells:])[:200]!r}, the cells show {expected!r}")
    return found


Write = Callable[[Vocabulary, State, Sequence[int], "int | None"], list[str]]
Parse = Callable[[Vocabulary, str], dict[str, NDArray[Any]]]
STYLES: dict[str, tuple[Write, Parse]] = {
    "grid": (write_grid, parse_grid),
    "coord": (write_coord, parse_coord),
    "grid_coord": (write_both, parse_both),
    "sentence": (write_sentence, parse_sentence),
    "compact": (write_compact, parse_compact),
    "places": (write_places, parse_places),
}
"""Writer and parser of each style. "coord" alone says where the start is; the others do not tell it from ice."""


def render_text(state: State, i: int, style: str = "grid", words: Vocabulary | None = None) -> str:
    """Game `i` in a style of `STYLES`."""
    return STYLES[style][0](words or Vocabulary(), state, [i], None)[0]


def parse_text(text: str, style: str = "grid", words: Vocabulary | None = None) -> dict[str, NDArray[Any]]:
    """The fields that a text of a style determines; see `STYLES`.

    Raises:
        ValueError: names the line or word that cannot be read.
    """
    return STYLES[style][1](words or Vocabulary(), text)


def codec(words: Vocabulary, success_rate: float) -> TextCodec:
    """FrozenLake for language models."""
    numbers = {name.casefold(): number for number, name in enumerate(DIRECTIONS)}
    return TextCodec(
        instruction=instruction(success_rate),
        encode=lambda state, i, seat: write_grid(words, state, [i])[0],
        decode=partial(_decode, numbers),
        symbols={symbol: kind.replace("_", " ") for kind, symbol in words.symbols.items()},
        action_names=words.order,
        styles={name: partial(write, words) for name, (write, _) in STYLES.items()},
        parsers={name: partial(parse, words) for name, (_, parse) in STYLES.items()},
        example=partial(_example, words),
    )


def instruction(success_rate: float) -> str:
    """The rules in words; the slip is always written out."""
    if success_rate == 1:
        ice = "The ice is firm: you always move in the direction that you choose."
    else:
        aside = (1 - success_rate) / 2
        ice = (
            f"The ice is slippery: you move in the direction that you choose with probability {success_rate:.3g}, "
            f"and in each of the two perpendicular directions with probability {aside:.3g}."
        )
    return (
        "You are walking on a frozen lake. Reach the goal without falling into a hole.\n"
        f"{ice} A move beyond the edge of the board leaves you where you are. "
        "The game ends when you reach the goal, which is worth 1, or fall into a hole, which is worth 0."
    )


def _decode(numbers: Mapping[str, int], text: str) -> Decoded:
    wanted = text.strip()[:100].casefold()
    if wanted in numbers:
        return Decoded(numbers[wanted])
    names = ", ".join(DIRECTIONS)
    return Decoded(None, f"{wanted!r} is no direction; name one of {names}" if wanted else f"name one of {names}")


def _example(words: Vocabulary, style: str) -> WorkedExample:
    cells = np.array([[START, ICE, HOLE], [HOLE, ICE, ICE], [ICE, HOLE, GOAL]], np.int8)
    write = STYLES[style][0]

    def shown(player: int) -> str:
        return write(words, _Still(cells[None], np.array([player])), [0], None)[0]

    thought = "The goal is two rows down and two columns right. Right, Down, Right leads around the holes."
    return WorkedExample(shown(0), thought, ("Right", "Down", "Right"), shown(5))


@dataclass(frozen=True)
class _Still:
    """The part of a state that is written."""

    cells: NDArray[np.int8]
    player: NDArray[np.int64]
