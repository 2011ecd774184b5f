"""`ludory texas42 bid`: P(make) of a hand, as a table, JSON or a poster; and the hands that it loses, trick by trick."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from ludory.arguments import Arg, Repeated
from ludory.cli.common import File, Flag, Maybe, check_ending, games_bar, parse, write_drawing
from ludory.errors import OptionError

from .words import Hand, declaration

if TYPE_CHECKING:
    from ludory.agents.texas42.bidding.make_probability import Chances

Mode = Literal["calibrated", "mapped", "rollout", "double_dummy"]


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Show how likely a hand makes each bid, and which hands it loses.

    Example: ludory texas42 bid --hand "6-4,5-5,4-2,3-1,2-0,1-1,0-0" --poster hand.svg
    """

    hand: Hand
    """Hand of the bidder, "6-4,5-5,4-2,3-1,2-0,1-1,0-0"."""
    decl: Annotated[int | None, Arg("DECL", read=declaration, aliases=("--trump",))] = None
    """One declaration only, 0..9 or a name (default: all)."""
    mode: Maybe[Mode] = None
    """How to find out (default: calibrated at once, then rollout).
    calibrated: a model fitted to played contracts, in a second;
    mapped: the same, with some exact values;
    rollout: plays --samples hands with hidden cards for each declaration, in minutes;
    double_dummy: --samples hands with all cards open."""
    beside: Repeated[tuple[Mode, ...]] = ()
    """Another way, shown beside it."""
    samples: int = 50
    """Hands for each declaration (50: interval +-0.13)."""
    worlds: int = 10
    """Worlds of each decision of a rollout."""
    seed: int = 0
    """Seed of the deals."""
    json: Flag = False
    """Print one JSON list, for programs."""
    poster: Maybe[File] = None
    """Write one page too: .svg, or .png and .pdf with Pillow."""
    investigate: Flag = False
    """Show hands that ended below --below, trick by trick."""
    below: Annotated[int, Arg(metavar="B")] = 30
    """Points that were needed."""
    show: Annotated[int, Arg(metavar="N")] = 3
    """Show so many of these hands."""


def run(argv: list[str]) -> int:
    """Print what the hand can bid; returns the exit code."""
    chosen = parse(_Options, argv, "texas42 bid")
    check_ending("--poster", chosen.poster, ".svg", ".png", ".pdf")
    if chosen.samples < 1 or chosen.worlds < 1:
        raise OptionError("--samples and --worlds: must be at least 1")

    from ludory.agents import check_count
    from ludory.envs.texas42.tiles import STRAIGHT, mask_of

    held, decls = mask_of(chosen.hand), STRAIGHT if chosen.decl is None else (chosen.decl,)
    # it is a contract of other rules, which none of the ways has values for
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
    mode = chosen.mode or "rollout"
    # something to look at while the games are played
    if chosen.mode is None and not chosen.json:
        print(_table(_chances("calibrated", held, decls, chosen)))
        print(f"\nRefining with {chosen.samples} played hands for each declaration; Ctrl+C stops it.\n", flush=True)
    modes = [mode, *(other for other in chosen.beside if other != mode)]
    found = [_chances(mode, held, decls, chosen) for mode in modes]
    if chosen.json:
        from ludory.web.texas42.hand import chances_json

        print(json.dumps([chances_json(one) for one in found], indent=2))
    else:
        print("\n\n".join(map(_table, found)))
    if chosen.poster:
        from ludory.web.texas42.poster import poster

        write_drawing(chosen.poster, poster(found[0], found[1:]), 2)
        print(f"The poster is in {chosen.poster}")
    return 0


def _chances(mode: str, held: int, decls: tuple[int, ...], chosen: _Options) -> Chances:
    from ludory.agents.texas42.bidding.make_probability import double_dummy, rollout

    if mode == "calibrated":
        from ludory.agents.texas42.bidding.fitted_make_probability import calibrated

        return calibrated(held, decls)
    if mode == "mapped":
        from ludory.agents.texas42.bidding.fitted_make_probability import mapped

        return mapped(held, chosen.seed, decls)
    if mode == "double_dummy":
        return double_dummy(held, chosen.samples, chosen.seed, decls)
    with games_bar(len(decls), title="declarations") as advance:
        return rollout(held, chosen.samples, chosen.seed, decls, chosen.worlds, progress=advance)


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


def _investigate(chosen: _Options, held: int) -> int:
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
