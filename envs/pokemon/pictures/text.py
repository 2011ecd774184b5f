"""A battle as text with ANSI colours."""

from __future__ import annotations

from ludory.envs import State
from ludory.envs.pictures import paint

from .board import Board, ShownMove, ShownPokemon, ShownSide, board_of_battle

WIDTH = 20
_STATUS_COLOURS = {"BRN": "31", "FRZ": "36", "PAR": "33", "PSN": "35", "SLP": "90", "TOX": "35"}
_TYPE_COLOURS = {
    "fire": "31", "water": "34", "grass": "32", "electric": "33", "ice": "36", "fighting": "31", "poison": "35", "ground": "33",
    "flying": "36", "psychic": "35", "bug": "32", "rock": "33", "ghost": "35", "dragon": "34", "dark": "90", "steel": "37", "fairy": "35",
}  # fmt: skip


def draw_text(state: State, i: int, seat: int | None) -> str:
    """Battle `i` as `seat` sees it; None: each side as its own player knows it."""
    return board_text(board_of_battle(state, i, seat))


def board_text(board: Board) -> str:
    """A board as text."""
    head = [paint(f"Turn {board.turn}", "1"), *board.field] + ([paint(board.note, "1;33")] if board.note else [])
    parts = [" · ".join(head), *_side(board.far), *_side(board.near)]
    return "\n".join([*parts, *(f"  {line}" for line in board.lines)])


def _side(side: ShownSide) -> list[str]:
    conditions = f"   {', '.join(side.conditions)}" if side.conditions else ""
    lines = [paint(side.title, "1;4") + paint(conditions, "33")]
    lines += [_pokemon(pokemon) for pokemon in side.pokemon if pokemon.name]
    if side.moves:
        lines.append("    " + "   ".join(_move(move) for move in side.moves))
    return lines


def _pokemon(pokemon: ShownPokemon) -> str:
    if pokemon.name == "?":
        return paint("  ?", "90")
    mark = "▶" if pokemon.active else " "
    name = f"{pokemon.name} {pokemon.gender}".strip()
    if pokemon.fainted:
        return paint(f"{mark} {name:{WIDTH}} fainted", "90")
    full = max(1, round(10 * pokemon.hp))
    colour = "32" if pokemon.hp > 0.5 else "33" if pokemon.hp > 0.2 else "31"
    facts = ["/".join(paint(kind, _TYPE_COLOURS.get(kind, "37")) for kind in pokemon.types)]
    facts += [fact for fact in (pokemon.item, pokemon.ability, *pokemon.stages, *pokemon.notes) if fact]
    status = paint(f" {pokemon.status}", _STATUS_COLOURS[pokemon.status]) if pokemon.status else "    "
    bar = paint("█" * full, colour) + "░" * (10 - full)
    label = paint(f"{name:{WIDTH}}", "1") if pokemon.active else f"{name:{WIDTH}}"
    return f"{mark} {label} {bar} {100 * pokemon.hp:3.0f} %{status}  {', '.join(facts)}"


def _move(move: ShownMove) -> str:
    text = f"{move.name} {round(100 * move.pp)} %"
    return paint(text, _TYPE_COLOURS.get(move.type, "37") if move.legal else "90")
