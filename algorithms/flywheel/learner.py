"""Who learns in a turn of a flywheel."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ludory.agents.make import make_agent
from ludory.agents.networks.build import PolicySpec
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.checkpoint import read_header
from ludory.algorithms.make import make_algorithm
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.plugins import algorithms
from ludory.plugins.spec import parse_spec

from .config import BLUEPRINT
from .plan import POLICY, blueprint_of, searcher_of
from .state import FlywheelState


def game_of(state: FlywheelState) -> Game:
    """What is played."""
    return make_game(state.config.env, **state.config.options)


def make_learner(folder: Path, state: FlywheelState, dataset: Path | None) -> Algorithm:
    """A learner at its beginning: from the blueprint's network, if it is one.

    Raises:
        OptionError: its options, or its network, are not allowed.
        CheckpointError: the blueprint's file is none.
    """
    config, blueprint = state.config, blueprint_of(folder, state)
    options = dict(config.learner_options)
    if "eval_games" in algorithms.load(config.learner).config_class.__dataclass_fields__:
        options.setdefault("eval_games", 0)  # the next step compares on decks of its own
    own = parse_spec(blueprint).checkpoint
    if own:
        options["init_from"] = blueprint
    return make_algorithm(
        config.learner,
        game_of(state),
        PolicySpec(**read_header(blueprint)["policy"]) if own else config.policy,
        dataset=str(dataset) if dataset else None,
        seed=config.seed,
        **options,
    )


def check_players(folder: Path, state: FlywheelState) -> None:
    """Make searcher and learner once, and a searcher from what is learnt, so that what is wrong shows before hours of search.

    Raises:
        LudoryError: as `make_agent` and `make_learner`.
    """
    game = game_of(state)
    make_agent(searcher_of(folder, state), game)
    learner = make_learner(folder, state, None)
    if state.config.turns > 1:
        with TemporaryDirectory() as place:
            file = Path(place) / POLICY
            learner.save(file)
            make_agent(state.config.search.replace(BLUEPRINT, str(file)), game)
