"""`ludory texas42 view`: step through a recorded hand, here, as a page, as an animated GIF or as one picture."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ludory.atomic import atomic_file
from ludory.cli.common import Count, File, FileArgument, Flag, Maybe, check_ending, parse, write_drawing, write_text
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.formats.texas42.eq_records import EqGame
    from ludory.data.formats.texas42.eq_view import DecisionView
    from ludory.envs import State

WORLDS = 8
KEYS = (
    "Enter or n next, p previous, g N go to, j X next q-gap above X, w worlds, s K solve world K, a all hands, q quit"
)


@dataclass(frozen=True, kw_only=True)
class _Options:
    """See a recorded hand, decision by decision.

    At a terminal, keys lead through it: Enter or n next, p previous, g N go to, j X next q-gap above X, w worlds, s K solve world K, a all
    hands, q quit.

    Example: ludory texas42 view data/texas42-eq/train/seed_00000042.safetensors --html hand.html
    """

    file: FileArgument
    """A record of `ludory texas42 eq`."""
    seat: Maybe[Literal[0, 1, 2, 3]] = None
    """Show only this seat's seven decisions."""
    decision: Maybe[Count] = None
    """Decision to begin with, 0..27; also the one that --picture shows."""
    all_hands: Flag = False
    """Also show what the seat to move does not see."""
    html: Maybe[File] = None
    """Write one page to step through, and show nothing here."""
    gif: Maybe[File] = None
    """Write an animated GIF (needs Pillow)."""
    fps: float = 1.0
    """Pictures a second of the GIF."""
    picture: Maybe[File] = None
    """Write one decision: .svg, or .png with Pillow."""


def run(argv: list[str]) -> int:
    """Show or write a record; returns the exit code."""
    chosen = parse(_Options, argv, "texas42 view")

    from ludory.data.formats.texas42.eq_records import read_eq

    check_ending("--html", chosen.html, ".html", ".htm")
    check_ending("--gif", chosen.gif, ".gif")
    check_ending("--picture", chosen.picture, ".svg", ".png")
    game = read_eq(chosen.file)
    written = [_write_page(game, chosen.html, chosen.seat)] if chosen.html else []
    written += [_write_gif(game, chosen.gif, chosen)] if chosen.gif else []
    written += [_write_picture(game, chosen.picture, chosen)] if chosen.picture else []
    for line in written:
        print(visible(line))
    if not written:
        _show(game, chosen)
    return 0


def _wanted(game: EqGame, chosen: _Options) -> list[int]:
    """Numbers of the decisions of the seat asked for."""
    return [k for k, seat in enumerate(game.columns["seat"]) if chosen.seat in (None, int(seat))]


def _start(chosen: _Options, wanted: list[int]) -> int:
    """Place in `wanted` to begin at."""
    if chosen.decision is None:
        return 0
    if chosen.decision not in wanted:
        raise OptionError(f"--decision {chosen.decision}: must be one of {', '.join(map(str, wanted))}")
    return wanted.index(chosen.decision)


def _write_page(game: EqGame, file: Path, seat: int | None) -> str:
    from ludory.data import filled_page
    from ludory.web.texas42.page import eq_content

    write_text(file, filled_page(eq_content(game, seat)))
    return f"The page is in {file}; open it in a browser"


def _write_gif(game: EqGame, file: Path, chosen: _Options) -> str:
    from ludory.charts import as_image
    from ludory.data.formats.texas42.eq_view import decisions
    from ludory.web.texas42.frames import frame

    if not chosen.fps > 0:
        raise OptionError(f"--fps {chosen.fps}: must be above 0")
    wanted, decl = _wanted(game, chosen), int(game.header["decl_id"])
    images = [as_image(frame(view, decl, chosen.all_hands)) for view, _ in decisions(game) if view.number in wanted]
    with atomic_file(file) as handle:
        pause = round(1000 / chosen.fps)
        images[0].save(handle, "GIF", save_all=True, append_images=images[1:], duration=pause, loop=0)
    return f"The animation, {len(images)} pictures, is in {file}"


def _write_picture(game: EqGame, file: Path, chosen: _Options) -> str:
    from ludory.data.formats.texas42.eq_view import decisions
    from ludory.web.texas42.frames import frame

    wanted = _wanted(game, chosen)
    number = wanted[_start(chosen, wanted)]
    view = next(view for view, _ in decisions(game) if view.number == number)
    write_drawing(file, frame(view, int(game.header["decl_id"]), chosen.all_hands))
    return f"The picture is in {file}"


def _show(game: EqGame, chosen: _Options) -> None:
    """All decisions, or one after another if somebody is there to ask for them."""
    from ludory.data.formats.texas42.eq_view import decision_text, decisions, outcome
    from ludory.envs.pictures import show

    wanted = _wanted(game, chosen)
    views = [
        # a copy: `decisions` plays on in the same state
        (view, type(state)(*(part.copy() for part in state)))
        for view, state in decisions(game)
        if view.number in wanted
    ]
    if not sys.stdin.isatty():
        for view, state in views[_start(chosen, wanted) :]:
            show(f"-- {view.words}\n{decision_text(view, state, chosen.all_hands)}\n")
        print(f"the hand ended {outcome(game)}")
        return
    at, all_hands, said = _start(chosen, wanted), chosen.all_hands, ""
    while True:
        text = decision_text(*views[at], all_hands)
        show(f"\x1b[2J\x1b[H-- {views[at][0].words}\n{text}\n{said}\n{KEYS}\n")
        try:
            key, _, rest = input("> ").strip().partition(" ")
        except EOFError:
            return
        said = ""
        if key == "q":
            return
        if key == "a":
            all_hands = not all_hands
        elif key in ("w", "s"):
            said = worlds_text(*views[at], rest if key == "s" else "")
        else:
            before = at
            at, said = _moved(at, key, rest, [view for view, _ in views])
            if at == before == len(views) - 1:
                said = f"{said}; the hand ended {outcome(game)}"


def _moved(at: int, key: str, rest: str, views: list[DecisionView]) -> tuple[int, str]:
    """Where a key leads, and why it does not."""
    last = len(views) - 1
    if key in ("", "n"):
        return min(at + 1, last), "" if at < last else "this is the last decision"
    if key == "p":
        return max(at - 1, 0), "" if at else "this is the first decision"
    if key == "g":
        found = [k for k, view in enumerate(views) if str(view.number) == rest]
        return (found[0], "") if found else (at, f"g {rest}: decisions here are {views[0].number}..{views[-1].number}")
    if key == "j":
        least = _number(rest, 1.0)
        later = [k for k in range(at + 1, last + 1) if views[k].q_gap > least]
        return (later[0], "") if later else (at, f"no later decision has a q-gap above {least:g}")
    return at, f"{key!r} is no key"


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def worlds_text(view: DecisionView, state: State, which: str) -> str:
    """Some worlds that the mover cannot tell apart; or what each tile is worth in one of them, `which`."""
    import numpy as np

    from ludory.agents.texas42.play.choice import question_of
    from ludory.agents.texas42.play.tricks import tile_names
    from ludory.agents.texas42.solver.solver import Solver
    from ludory.envs.texas42.tiles import TILE_NAMES
    from ludory.envs.texas42.worlds import Worlds

    legal = np.zeros(28, bool)
    legal[[slot.tile for slot in view.slots if slot.legal]] = True
    question = question_of(state, 0, legal, view.number)
    others = Worlds(question.known).choose(WORLDS, question.key, WORLDS)
    if not which:
        seats = [(view.seat + k) % 4 for k in (1, 2, 3)]
        lines = [
            "   ".join(f"{seat}: {tile_names(int(mask))}" for seat, mask in zip(seats, world, strict=True))
            for world in others
        ]
        head = f"{len(others)} of {view.worlds_total:,} worlds:"
        return "\n".join([head, *(f"  {k}  {line}" for k, line in enumerate(lines))])
    if not which.isdecimal() or int(which) >= len(others):
        return f"s {which}: worlds are 0..{len(others) - 1}"
    held = question.worlds(others[int(which)][None])
    q = question.side * Solver(threads=1).q_values(held)[1][0].astype(int)
    return f"world {which}, exact: " + ", ".join(f"{TILE_NAMES[tile]} {q[tile]:+d}" for tile in np.flatnonzero(legal))
