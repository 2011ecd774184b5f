"""Pictures of Pokémon battles, drawn from `entity` observations: text, SVG, and lines of the protocol in words."""

from .board import Board, board_of_rows, board_of_tracker, last_move
from .svg import board_svg, draw_svg
from .text import board_text, draw_text
from .wording import words_of_lines

__all__ = [
    "Board",
    "board_of_rows",
    "board_of_tracker",
    "board_svg",
    "board_text",
    "draw_svg",
    "draw_text",
    "last_move",
    "words_of_lines",
]
