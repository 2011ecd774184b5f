"""Decisions of an E[Q] record as plain values with the state of the game, for pictures and the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import State, make_engine
from ludory.envs.texas42.pictures.text import draw_text
from ludory.envs.texas42.pictures.wording import result_words
from ludory.envs.texas42.sight import Texas42Sight, look
from ludory.envs.texas42.tiles import TILE_NAMES
from ludory.errors import DataError

from .eq_records import EqGame

SPARKS = " ▁▂▃▄▅▆▇█"
BARS = 28
MODES = ("greedy", "Boltzmann", "epsilon", "blunder")


class SlotView(NamedTuple):
    """A tile of the mover's dealt hand."""

    tile: int
    held: bool
    legal: bool
    mean: float
    """Points still to be won by the mover's side; this and all that follows is 0 where the tile is not legal."""
    deviation: float
    sem: float
    """Standard error of the mean: 0 if all worlds were solved, infinite if only one of several was."""
    p_make: float
    density: NDArray[np.float32]
    """(85,) probabilities of the values -42..42."""


class DecisionView(NamedTuple):
    """One of the 28 decisions."""

    number: int
    """0..27"""
    seat: int
    sight: Texas42Sight
    """All hands face up. Of the hands, the mover may see only its own."""
    slots: tuple[SlotView, ...]
    taken: int
    """Slot that was played."""
    greedy: int
    """Slot with the best mean; the first among equals."""
    ess: float
    samples: int
    worlds_total: int
    converged: bool
    q_gap: float
    mode: str

    @property
    def move(self) -> str:
        """What was played, in words."""
        note = "" if self.mode == "greedy" else f" ({self.mode})"
        return f"seat {self.seat} plays {TILE_NAMES[self.slots[self.taken].tile]}{note}"

    @property
    def words(self) -> str:
        """Number and move."""
        return f"decision {self.number} of 0..27: {self.move}"


def decisions(game: EqGame) -> Iterator[tuple[DecisionView, State]]:
    """Yield the decisions in order, each with the state before it, which is valid only until the next one is requested.

    Raises:
        DataError: the plays are not legal in this deal.
    """
    header = game.header
    engine = make_engine("Texas42Play-v0", 1)
    contract = {
        key: header[name]
        for key, name in (("decl", "decl_id"), ("bid", "bid"), ("bidder", "bidder"), ("leader", "leader"))
    }
    engine.reset(options={"deal": header["deal"], **contract})
    for number, tile in enumerate(game.tiles):
        seat = int(game.columns["seat"][number])
        if seat != int(engine.to_move[0]) or not engine.legal()[0][tile]:
            raise DataError(
                f"decision {number}: seat {seat} cannot play {TILE_NAMES[tile]} there; the record is damaged"
            )
        yield _view(game, number, engine.state), engine.state
        engine.step(np.array([tile]))


def outcome(game: EqGame) -> str:
    """The end of the hand in words: "31-11; seat 0 made 30: 1 mark to Team 0".

    Raises:
        DataError: as `decisions`.
    """
    for _, state in decisions(game):
        last = state
    points = "-".join(str(int(team)) for team in last.points[0])
    return f"{points}; {result_words([int(value) for value in last.last[0]])}"


def _view(game: EqGame, number: int, state: State) -> DecisionView:
    row = {name: column[number] for name, column in game.columns.items()}
    seat, whole = int(row["seat"]), bool(row["n_samples"] == row["worlds_total"])
    held = int(state.held[0, seat])
    slots = []
    for slot, tile in enumerate(game.hand(number)):
        legal = bool(row["legal_mask"][slot])
        deviation = float(row["e_q_var"][slot]) ** 0.5
        degrees = float(row["ess"]) - 1
        sem = 0.0 if whole else deviation / degrees**0.5 if degrees > 1e-6 else float("inf")
        mean = float(row["e_q_mean"][slot]) if legal else 0.0
        slots.append(
            SlotView(
                tile,
                bool(held >> tile & 1),
                legal,
                mean,
                deviation,
                sem,
                float(row["p_make"][slot]),
                row["e_q_pdf"][slot],
            )
        )
    return DecisionView(
        number,
        seat,
        look(state, 0, None),
        tuple(slots),
        int(row["action_taken"]),
        int(row["e_q_mean"].argmax()),
        float(row["ess"]),
        int(row["n_samples"]),
        int(row["worlds_total"]),
        bool(row["converged"]),
        float(row["q_gap"]),
        MODES[int(row["exploration_mode"])],
    )


def decision_text(view: DecisionView, state: State, all_hands: bool = False) -> str:
    """A decision for the terminal: the table as the mover sees it, then every tile of its dealt hand."""
    of = "all" if view.samples == view.worlds_total else f"{view.samples:,} of {view.worlds_total:,}"
    lines = [
        draw_text(state, 0, None if all_hands else view.seat),
        "",
        f"worlds {of}, effective {view.ess:.1f}{'' if view.converged else ', not converged'}; q-gap {view.q_gap:.2f}",
        f"slot tile     mean    +-  P(own way)  {'-42':<{BARS // 2 - 1}}0{'+42':>{BARS // 2}}",
    ]
    for k, slot in enumerate(view.slots):
        mark = ("*" if k == view.greedy else " ") + ("<" if k == view.taken else " ")
        name = TILE_NAMES[slot.tile]
        if slot.legal:
            lines.append(f"{k:4} {name}{mark} {slot.mean:+8.2f} {slot.sem:5.2f}  {slot.p_make:9.3f}  |{_sparks(slot)}|")
        else:
            lines.append(f"{k:4} {name if slot.held else ' . '}{'   (may not be played)' if slot.held else ''}")
    return "\n".join([*lines, "* best mean, < played"])


def _sparks(slot: SlotView) -> str:
    """The distribution from -42 to 42 in bars; every value that has a share shows."""
    edges = [round(85 * k / BARS) for k in range(BARS + 1)]
    shares = [float(slot.density[a:b].sum()) for a, b in pairwise(edges)]
    top = max(shares)
    return "".join(SPARKS[0 if share <= 0 else max(1, round(share / top * (len(SPARKS) - 1)))] for share in shares)
