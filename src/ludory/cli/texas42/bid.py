"""`ludory texas42 bid`: P(make) of a hand, as a table, JSON or a poster; and the hands that it loses, trick by trick."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.atomic import atomic_file
from ludory.errors import OptionError

from .words import declaration, hand

if TYPE_CHECKING:
    from ludory.agents.texas42.bidding.make_probability import Chances

MODES = ("calibrated", "mapped", "rollout", "double_dummy")
DRAWN = (".svg", ".png", ".pdf")


def run(argv: list[str]) -> int:
    """Print what the hand can bid; returns the exit code."""
    chosen = _parser().parse_args(argv)
    if chosen.poster and chosen.poster.suffix.lower() not in DRAWN:
        raise OptionError(f"--poster {chosen.poster}: the name must end in {', '.join(DRAWN)}")
    if chosen.samples < 1 or chosen.worlds < 1:
        raise OptionError("--samples and --worlds: must be at least 1")

    from ludory.agents.evaluation.evaluate import check_count
    from ludory.envs.texas42.tiles import STRAIGHT, mask_of

    held, decls = mask_of(chosen.hand), STRAIGHT if chosen.decl is None else (chosen.decl,)
    if any(decl not in STRAIGHT for decl in decls):
        raise OptionError("--decl: doubles as a suit without trump power cannot be declared; name another")
    if chosen.investigate:
        for option, given in (("--poster", chosen.poster), ("--json", chosen.json), ("--beside", chosen.beside)):
            if given:
                raise OptionError(
                    f"{option} does not go with --investigate, which shows played hands; type two commands"
                )
        check_count("--show", chosen.show, 0)
        return _investigate(chosen, held)
    modes = [chosen.mode, *(mode for mode in chosen.beside if mode != chosen.mode)]
    found = [_chances(mode, held, decls, chosen) for mode in modes]
    print(json.dumps([_as_json(one) for one in found], indent=2) if chosen.json else "\n\n".join(map(_table, found)))
    if chosen.poster:
        _write_poster(chosen.poster, found)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 bid", description="How likely a hand makes each bid, and which it loses."
    )
    parser.add_argument("--hand", type=hand, required=True, help='of the bidder, "6-4,5-5,4-2,3-1,2-0,1-1,0-0"')
    parser.add_argument(
        "--decl", "--trump", type=declaration, help="one declaration only, 0..9 or a name (default: all)"
    )
    parser.add_argument("--mode", choices=MODES, default="rollout", help="how (default rollout: hidden hands, played)")
    parser.add_argument(
        "--beside", choices=MODES, action="append", default=[], help="another way beside it; may be repeated"
    )
    parser.add_argument(
        "--samples", type=int, default=50, help="hands for each declaration (default 50: interval +-0.13)"
    )
    parser.add_argument("--worlds", type=int, default=10, help="worlds of each decision of a rollout (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    parser.add_argument("--json", action="store_true", help="one JSON list, for programs")
    parser.add_argument(
        "--poster", type=Path, metavar="FILE", help="write one page too: .svg, or .png and .pdf with Pillow"
    )
    parser.add_argument(
        "--investigate", action="store_true", help="show hands that ended below --below, trick by trick"
    )
    parser.add_argument("--below", type=int, default=30, metavar="B", help="points that were needed (default 30)")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="so many of them (default 3)")
    return parser


def _chances(mode: str, held: int, decls: tuple[int, ...], chosen: argparse.Namespace) -> Chances:
    from ludory.agents.texas42.bidding.make_probability import double_dummy, rollout

    if mode == "calibrated":
        from ludory.agents.texas42.bidding.fitted_make_probability import calibrated

        return calibrated(held, decls)
    if mode == "mapped":
        from ludory.agents.texas42.bidding.fitted_make_probability import mapped

        return mapped(held, chosen.seed, decls)
    if mode == "double_dummy":
        return double_dummy(held, chosen.samples, chosen.seed, decls)
    return rollout(held, chosen.samples, chosen.seed, decls, chosen.worlds)


def _table(one: Chances) -> str:
    """Rows are declarations, columns bids; below, the best of each bid and its swing."""
    from ludory.agents.texas42.bidding.make_probability import BIDS
    from ludory.envs.texas42.tiles import DECLARATIONS, TILE_NAMES, tiles_of

    names = " ".join(TILE_NAMES[tile] for tile in tiles_of(one.hand))
    behind = f", {one.samples} hands each, half width {100 * _half(one):.0f}" if one.samples else ""
    lines = [f"{names}: P(make) in %, {one.mode.replace('_', ' ')} ({one.player}){behind}"]
    lines.append(f"{'':10}" + "".join(f"{bid:5d}" for bid in BIDS))
    for row, decl in enumerate(one.decls):
        cells = "".join(
            f"{100 * p:4.0f}{'*' if one.best(bid) == decl else ' '}" for bid, p in zip(BIDS, one.p[row], strict=True)
        )
        lines.append(f"{DECLARATIONS[decl]:10}" + cells)
    lines.append(
        f"{'swing':10}" + "".join(f"{one.swing(one.best(bid), bid):+.2f}".replace("0.", ".").rjust(5) for bid in BIDS)
    )
    return "\n".join([*lines, "* best declaration of the bid; swing: marks won on average by it"])


def _half(one: Chances) -> float:
    """Widest half width of an interval."""
    return float((one.high - one.low).max() / 2)


def _as_json(one: Chances) -> dict[str, Any]:
    from ludory.agents.texas42.bidding.make_probability import BIDS
    from ludory.envs.texas42.tiles import DECLARATIONS, TILE_NAMES, tiles_of

    return {
        "hand": [TILE_NAMES[tile] for tile in tiles_of(one.hand)],
        "mode": one.mode,
        "player": one.player,
        "samples": one.samples,
        "declarations": {
            DECLARATIONS[decl]: {
                str(bid): {
                    "p": float(one.p[row, k]),
                    "low": float(one.low[row, k]),
                    "high": float(one.high[row, k]),
                    "swing": one.swing(decl, bid),
                }
                for k, bid in enumerate(BIDS)
            }
            for row, decl in enumerate(one.decls)
        },
        "best": {str(bid): DECLARATIONS[one.best(bid)] for bid in BIDS},
    }


def _write_poster(file: Path, found: list[Chances]) -> None:
    from ludory.charts.drawing import as_image, as_svg
    from ludory.web.texas42_poster import poster

    drawing = poster(found[0], found[1:])
    if file.suffix.lower() == ".svg":
        with atomic_file(file, "w") as handle:
            handle.write(as_svg(drawing))
    else:
        image = as_image(drawing, 2)
        with atomic_file(file) as handle:
            image.save(handle, "PDF" if file.suffix.lower() == ".pdf" else "PNG", resolution=192)
    print(f"The poster is in {file}")


def _investigate(chosen: argparse.Namespace, held: int) -> int:
    """Play the contract and show the hands that failed."""
    if chosen.decl is None or not 1 <= chosen.below <= 42:
        raise OptionError("--investigate needs --decl, and --below from 1 to 42 (e.g. --decl sixes --below 42)")

    from ludory.agents.texas42.play.choice import Averager
    from ludory.agents.texas42.play.rollout import deals_around, play_out
    from ludory.agents.texas42.play.tricks import hand_lines
    from ludory.agents.texas42.solver.solver import Solver
    from ludory.envs.texas42.tiles import DECLARATIONS

    averager = Averager(Solver(), chosen.worlds, "mean")
    played = play_out(averager, deals_around(held, chosen.samples, chosen.seed), chosen.decl, key=chosen.seed)
    lost = [k for k, points in enumerate(played.points) if points < chosen.below]
    print(
        f"{DECLARATIONS[chosen.decl]}: {len(lost)} of {chosen.samples} hands ended below {chosen.below}"
        + (f"; the first {min(len(lost), chosen.show)}:" if lost and chosen.show else "")
    )
    for k in lost[: chosen.show]:
        lines = hand_lines(played.dealt[k], chosen.decl, played.tiles[k].tolist(), played.seats[k].tolist())
        print("\n".join(["", f"hand {k}: {played.points[k]} points", *lines]))
    return 0
