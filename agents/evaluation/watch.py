"""`watch`: agents play one game, and the replay shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ludory.agents.make import make_agent
from ludory.data.playthrough import Playthrough
from ludory.data.replay import Replay, as_replay
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError


def watch(
    agents: Any | Sequence[Any],
    game: str | Game,
    seed: int | None = None,
    *,
    start: Mapping[str, Any] | None = None,
    **options: Any,
) -> Replay:
    """Let agents play one game.

    A notebook shows the returned replay as a page to step through; `replay.video("game.mp4")` writes a video, and
    `replay.html()` returns the page.

    Args:
        agents: one for all seats or a sequence with one per seat: a spec, an `Agent` or a trained model, see `make_agent`.
        game: id, or a game.
        seed: of the deal (default: a fresh one).
        start: reset options, such as Hanabi's `deck`.
        options: of the game, if it is given by id.

    Raises:
        OptionError: wrong number of agents, or as `make_game` and `make_agent`.
    """
    made = make_game(game, **options)
    given = list(agents) if isinstance(agents, list | tuple) else [agents]
    if len(given) not in (1, made.facts.players):
        raise OptionError(
            f"got {len(given)} agents for {made.facts.players} seats of {made.name}: give one for all seats, or one for each"
        )
    seats = given * made.facts.players if len(given) == 1 else given
    names = [agent if isinstance(agent, str) else str(getattr(agent, "name", type(agent).__name__)) for agent in seats]
    playthrough = Playthrough(made, [make_agent(agent, made) for agent in seats], seed, start=start)
    for _ in playthrough:
        pass
    return as_replay(playthrough, names)
