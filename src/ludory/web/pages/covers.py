"""Pictures of games for the first page; `python -m ludory.web.pages.covers` draws those that are kept in `static/covers/` again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ludory.web
from ludory.atomic import atomic_file
from ludory.errors import LudoryError
from ludory.frames.terminal import text_svg
from ludory.web.position import started_position

from .choices import families

MOVES_IN_PICTURE = 5


def cover(id: str) -> str:
    """Picture of a game after a few random moves, as seat 0 sees it. Those in `static/covers/` save compiling all games for the first page."""
    try:
        position = started_position(id, {}, seed=7)
    except LudoryError as error:
        return text_svg("\n".join(str(error)[:200].split(": ")))
    random = np.random.default_rng(1)
    for _ in range(MOVES_IN_PICTURE):
        chosen = {
            seat: tuple(int(random.choice([one.value for one in head])) for head in position.legal(seat))
            for seat in position.deciding()
        }
        if chosen and position.game.facts.simultaneous:
            position.play(-1, position.joint_action(chosen))
        for seat, action in chosen.items() if not position.game.facts.simultaneous else ():
            position.play(seat, action if len(action) > 1 else action[0])
    return position.picture(0)


def write_covers(folder: Path) -> None:
    """Draw the first game of every family to `folder`."""
    for family in families():
        id = family.games[0][0]
        with atomic_file(folder / f"{id}.svg", "w") as file:
            file.write(cover(id) + "\n")


if __name__ == "__main__":
    write_covers(Path(ludory.web.__file__).parent / "static" / "covers")
