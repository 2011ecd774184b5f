"""A battle as one self-contained SVG document: two sides, the active Pokémon large, the teams beside them."""

from __future__ import annotations

from html import escape

from ludory.envs import State
from ludory.envs.pictures import at, clickable, svg_document, words

from ..formats import FIRST_GIMMICK, MOVES
from .board import Board, ShownMove, ShownPokemon, ShownSide, board_of_battle

PAGE_WIDTH, PAGE_HEIGHT = 1000, 596
MOST_ACTIONS = 26
"""Moves, switches, and moves with each of four gimmicks."""
BACK, PANEL, CARD, LINE, TEXT, FAINT, GOLD = "#141a26", "#1d2637", "#27334a", "#3a4a68", "#eef2fa", "#93a1bb", "#f2c14e"
SIDE_HEIGHT, SIDE_WIDTH = 214, 964
FAR_TOP, NEAR_TOP, LOG_TOP = 52, 274, 496
TYPE_COLOURS = {
    "normal": "#8f9099", "fire": "#e8703a", "water": "#4a8fdd", "electric": "#e3b722", "grass": "#57a845", "ice": "#5fb8c4",
    "fighting": "#c24454", "poison": "#9a55b5", "ground": "#c08a4a", "flying": "#7f9be0", "psychic": "#e8628a", "bug": "#8ea82e",
    "rock": "#a8965a", "ghost": "#6a5a9e", "dragon": "#4d63d1", "dark": "#5c5566", "steel": "#5f8ea3", "fairy": "#d983c4",
    "stellar": "#44a89a",
}  # fmt: skip
_EFFECTS = {"": "", "strong": "▲", "weak": "▼", "no effect": "✕"}
STATUS_COLOURS = {
    "BRN": "#d9573b", "FRZ": "#5fb8d8", "PAR": "#d1a51f", "PSN": "#9a55b5", "SLP": "#7c8496", "TOX": "#7a3fa0",
}  # fmt: skip


def draw_svg(state: State, i: int, seat: int | None) -> str:
    """Battle `i` as `seat` sees it; None: each side as its own player knows it."""
    return board_svg(board_of_battle(state, i, seat))


UNKNOWN = {1: "", 2: "item unknown", 3: "ability and item unknown"}
"""What nobody has seen yet, by generation: items came with the second, abilities with the third."""


def board_svg(board: Board) -> str:
    """A board as an SVG document."""
    field = " · ".join(board.field) or "clear field"
    lines = [
        words(18, 36, f"Turn {board.turn}", 22, TEXT, 700),
        words(130, 36, field, 15, GOLD if board.field else FAINT),
        words(
            PAGE_WIDTH - 18, 36, board.note or f"generation {board.gen}", 15, GOLD if board.note else FAINT, 400, "end"
        ),
        at(18, FAR_TOP, *_side(board.far, board.gen)),
        at(18, NEAR_TOP, *_side(board.near, board.gen, own=True)),
        *_log(board),
    ]
    title = f"Pokémon battle, turn {board.turn}, {escape(board.near.title)} against {escape(board.far.title)}"
    return svg_document(PAGE_WIDTH, PAGE_HEIGHT, title, "", BACK, lines)


def _log(board: Board) -> list[str]:
    """What happened last, in two columns; without lines the last moves of the two active Pokémon."""
    shown = list(board.lines[-8:])
    if not shown:
        shown = [
            f"{side.title}: {side.active.name} last used {side.active.last_move}"
            for side in (board.far, board.near)
            if side.active is not None and side.active.last_move
        ]
    rows = (len(shown) + 1) // 2 if len(shown) > 4 else 4
    return [
        words(26 + 486 * (k // rows), LOG_TOP + 20 + 22 * (k % rows), escape(line), 14, TEXT)
        for k, line in enumerate(shown)
    ]


def _chip(x: float, y: float, text: str, fill: str, size: float = 12) -> tuple[str, float]:
    """A coloured label at (x, y) and the x behind it."""
    width = 12 + 0.6 * size * len(text)
    mark = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{size + 8:g}" rx="6" fill="{fill}"/>'
    return mark + words(x + width / 2, y + size + 1.5, escape(text), size, "#ffffff", 600, "middle"), x + width + 5


def _chips(x: float, y: float, chips: list[tuple[str, str]], right: float) -> list[str]:
    """Labels side by side as far as there is room."""
    marks = []
    for text, fill in chips:
        if x + 12 + 7.2 * len(text) > right:
            break
        mark, x = _chip(x, y, text, fill)
        marks.append(mark)
    return marks


def _bar(x: float, y: float, width: float, height: float, hp: float) -> str:
    colour = "#52c46b" if hp > 0.5 else "#e3b722" if hp > 0.2 else "#e2543f"
    back = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{height / 2:g}" fill="#0d121b"/>'
    if hp <= 0:
        return back
    full = max(height, width * hp)
    return (
        back + f'<rect x="{x:g}" y="{y:g}" width="{full:g}" height="{height:g}" rx="{height / 2:g}" fill="{colour}"/>'
    )


def _side(side: ShownSide, gen: int, own: bool = False) -> list[str]:
    """A side; own: its moves and team stand for actions."""
    marks = [
        f'<rect width="{SIDE_WIDTH}" height="{SIDE_HEIGHT}" rx="14" fill="{PANEL}" stroke="{LINE}"/>',
        words(16, 26, escape(side.title), 15, GOLD, 700),
        *_chips(90 + 8 * len(side.title), 11, [(name, "#5a4a2a") for name in side.conditions], SIDE_WIDTH - 16),
    ]
    active = side.active
    if active is not None:
        marks.append(at(14, 40, *_active(active, side.moves, gen, own)))
    for k, pokemon in enumerate(side.pokemon):
        member = "".join(_member(pokemon))
        marks.append(at(556 + 134 * (k % 3), 40 + 84 * (k // 3), clickable([MOVES + k], member) if own else member))
    return marks


def _active(pokemon: ShownPokemon, moves: tuple[ShownMove, ...], gen: int, own: bool) -> list[str]:
    """The large card of the Pokémon on the field."""
    kinds = [pokemon.tera] if pokemon.tera else list(pokemon.types)
    colour = TYPE_COLOURS.get(kinds[0], LINE) if kinds else LINE
    marks = [
        clickable([0] if own and not moves else [], f'<rect width="528" height="162" rx="12" fill="{CARD}"/>'),
        f'<rect width="8" height="162" rx="4" fill="{colour}"/>',
        words(22, 30, escape(pokemon.name), 22, FAINT if pokemon.fainted else TEXT, 700),
    ]
    marks.append(words(512, 29, f"L{pokemon.level} {pokemon.gender}".strip(), 14, FAINT, 400, "end"))
    chips = [(f"tera {kind}" if pokemon.tera else kind, TYPE_COLOURS.get(kind, LINE)) for kind in kinds]
    if pokemon.status:
        chips.append((pokemon.status, STATUS_COLOURS[pokemon.status]))
    marks += _chips(40 + 14.5 * len(pokemon.name), 14, chips, 450)
    percent = "fainted" if pokemon.fainted else f"{100 * pokemon.hp:.0f} %"
    marks += [_bar(22, 44, 420, 14, pokemon.hp), words(512, 56, percent, 15, TEXT, 700, "end")]
    held = " · ".join(escape(fact) for fact in (pokemon.ability, pokemon.item) if fact)
    marks.append(words(22, 79, held or UNKNOWN[min(gen, 3)], 13, FAINT))
    changes = [(stage, "#3d6b4a" if "+" in stage else "#7a3b3b") for stage in pokemon.stages]
    marks += _chips(22, 87, changes + [(note, "#4a5878") for note in pokemon.notes], 520)
    for k, move in enumerate(moves):
        card = "".join(_move(move))
        with_gimmick = range(FIRST_GIMMICK + k, MOST_ACTIONS, MOVES)
        marks.append(at(22 + 124 * k, 114, clickable([k, *with_gimmick], card) if own else card))
    return marks


def _move(move: ShownMove) -> list[str]:
    colour = TYPE_COLOURS.get(move.type, LINE)
    faded = "" if move.legal else ' opacity="0.55"'
    details = [f"{move.power}" if move.power else "", _EFFECTS[move.effect]]
    name = move.name if len(move.name) < 16 else move.name[:14] + "…"
    return [
        f'<rect width="118" height="40" rx="8" fill="{colour}"{faded}/>',
        words(8, 17, escape(name), 12.5, "#ffffff", 700),
        words(8, 33, " · ".join(part for part in details if part), 11, "#ffffff"),
        words(110, 33, f"{100 * move.pp:.0f} %", 11, "#ffffff", 400, "end"),
    ]


def _member(pokemon: ShownPokemon) -> list[str]:
    """The small card of a member of the team."""
    if not pokemon.name:
        return ['<rect width="126" height="76" rx="10" fill="none" stroke="#2a3448" stroke-dasharray="4 4"/>']
    if pokemon.name == "?":
        return [f'<rect width="126" height="76" rx="10" fill="{CARD}"/>', words(63, 47, "?", 26, FAINT, 700, "middle")]
    rim = f'stroke="{GOLD}" stroke-width="2"' if pokemon.active else f'stroke="{LINE}"'
    fade = ' opacity="0.45"' if pokemon.fainted else ""
    name = pokemon.name if len(pokemon.name) < 15 else pokemon.name[:13] + "…"
    marks = [
        f'<g{fade}><rect width="126" height="76" rx="10" fill="{CARD}" {rim}/>',
        words(9, 20, escape(name), 13, TEXT, 600),
        _bar(9, 28, 108, 7, pokemon.hp),
    ]
    chips = [(kind, TYPE_COLOURS.get(kind, LINE)) for kind in pokemon.types]
    x = 9.0
    for text, fill in chips:
        mark, x = _chip(x, 41, text, fill, 8.5)
        marks.append(mark)
    if pokemon.fainted:
        marks.append(words(117, 71, "fainted", 10, FAINT, 400, "end"))
    else:
        marks.append(words(9, 71, escape(pokemon.item[: 13 if pokemon.status else 20]), 10, FAINT))
        if pokemon.status:
            marks.append(_chip(117 - 12 - 5.4 * 3, 58, pokemon.status, STATUS_COLOURS[pokemon.status], 9)[0])
    return [*marks, "</g>"]
