"""How a game that was played or watched ended, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludory.data.replay import Replay
    from ludory.envs.game import GameFacts


def outcome(facts: GameFacts, replay: Replay) -> str:
    """Number of moves and return, such as "Finished after 62 moves, return 19."; each seat's return where they may differ."""
    state = "Finished" if replay.finished else "Left"
    if facts.reward == "shared":
        returns = f"return {replay.returns[0]:g}"
    else:
        returns = "returns " + ", ".join(f"seat {seat}: {value:g}" for seat, value in enumerate(replay.returns))
    moves = len(replay.moves)
    return f"{state} after {moves} move{'' if moves == 1 else 's'}, {returns}."
