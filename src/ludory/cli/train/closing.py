"""What `ludory train` says at its end: the agent's score beside a baseline, and the commands to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ludory.agents.partners import baseline_of
from ludory.arguments import as_typed
from ludory.errors import LudoryError
from ludory.plugins.files import program
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.algorithms.learner import Learner
    from ludory.algorithms.tuned.settings import TunedSettings
    from ludory.envs.game import Game

SEED = 1_000_003
"""Seed of the games that are scored, unlike those of trainings."""
FEW = 20
"""Most games that are scored where the rules run elsewhere: thousands of them could take hours."""


def print_closing(model: Learner, file: Path, done: int, games: int, tuned: TunedSettings | None) -> None:
    """Score the model, trained for `done` timesteps, in `games` games, if its agent can play here, and name the next commands."""
    game = model.game
    if game.records.header is not None or not game.id or not callable(as_agent := getattr(model, "as_agent", None)):
        return
    baseline = tuned.baseline if tuned else baseline_of(game)
    problem = ""
    if game.rules.kernels is None and games:
        games, problem = min(games, FEW), _problem_of_playing(game)
    if problem:
        print(f"score: left out, since the game cannot be played here. {problem}")
    elif games:
        from ludory.agents.evaluation.beside import score_beside_baseline

        found = score_beside_baseline(as_agent(), baseline, game, games, SEED)
        together = "each in all seats" if game.facts.reward == "shared" else "against each other"
        if game.facts.players == 1:
            together = "on the same games"
        print(
            f"score: {found.agent.mean:.2f} ± {found.agent.stderr:.2f}, {baseline} {found.baseline.mean:.2f} ± "
            f"{found.baseline.stderr:.2f} (mean return ± standard error, {games} games, {together})"
        )
    # A network sees by the observation of its training, whatever a game shows.
    own_view = game.rules.kernels is not None and not game.facts.privileged_observation
    needed = {name: value for name, value in game.options.items() if name != "observation" or not own_view}
    options, every = (
        "".join(f" --option {shlex.quote(f'{name}={value}')}" for name, value in some.items())
        for some in (needed, game.options)
    )
    name, id = visible(as_typed(file)), shlex.quote(game.id)
    opponent = "" if game.facts.players == 1 else f" {shlex.quote(baseline)}"
    print(
        "next:\n"
        f"  {program()} eval {name}{opponent} --game {id}{options} --games 2000\n"
        f"  {program()} watch {id} {name}{options} --html game.html\n"
        + "".join(f"  {program()} {job} {name}\n" for job in getattr(model, "jobs", ()))
        + f"  {program()} train {model.id.partition('-v')[0]} --env {id}{every} --out {name} --resume --timesteps {2 * done}"
    )


def _problem_of_playing(game: Game) -> str:
    """Why a game whose rules run elsewhere cannot be played on this machine; "" if it can: data of it can be learnt from all the same."""
    from ludory.envs.make import make_engine

    engine = None
    try:
        engine = make_engine(game, 1)
        engine.reset()
    except LudoryError as error:
        return str(error)
    finally:
        if engine is not None:
            engine.close()
    return ""
