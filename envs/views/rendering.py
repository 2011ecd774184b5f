"""Pictures of running games, as the render modes of views."""

from __future__ import annotations

from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.errors import RenderModeError

FRAMES_PER_SECOND = 2


def render_modes(game: Game) -> list[str]:
    """What `render_mode` may be: "ansi" (text) and "human" (text, printed) if the game draws text, "svg" if it draws SVG."""
    return [*(["ansi", "human"] if game.text else []), *(["svg"] if game.svg else [])]


def checked_render_mode(game: Game, mode: str | None, modes: list[str]) -> str | None:
    """`mode`, None or one of `modes`.

    Raises:
        RenderModeError: the game cannot be drawn so.
    """
    if mode is not None and mode not in modes:
        raise RenderModeError(
            f"render_mode={mode!r}: {game.facts.name} has {', '.join(map(repr, [None, *modes]))} here"
        )
    return mode


def draw(game: Game, engine: Engine, row: int, seat: int | None, mode: str) -> str:
    """Game `row` as `seat` sees it, None: everything face up."""
    picture = game.svg if mode == "svg" else game.text
    assert picture is not None, mode
    return picture(engine.state, row, seat)
