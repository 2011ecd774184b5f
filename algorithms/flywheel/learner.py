"""The learner of a flywheel's turn."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ludory.agents import make_agent, saved_policy
from ludory.algorithms import Algorithm, make_algorithm
from ludory.atomic import atomic_file
from ludory.checkpoints import read_header
from ludory.data import SPLITS, in_split_by_number
from ludory.envs import Game, make_game
from ludory.errors import OptionError
from ludory.plugins import algorithms, parse_spec

from .config import BLUEPRINT, FlywheelConfig
from .state import FIRST, POLICY, FlywheelState


def game_of(state: FlywheelState) -> Game:
    """The game of the flywheel."""
    return make_game(state.config.env, **state.config.options)


def make_learner(folder: Path, state: FlywheelState, dataset: Path | None) -> Algorithm:
    """A fresh learner; it starts from the blueprint's network if the blueprint is one.

    Raises:
        OptionError: its options, or its network, are not allowed.
        CheckpointError: the blueprint's file is not a checkpoint.
    """
    config, blueprint = state.config, parse_spec(state.blueprint_in(folder))
    options = dict(config.learner_options)
    if "eval_games" in algorithms.options(config.learner).__dataclass_fields__:
        options.setdefault("eval_games", 0)  # the next step compares on decks of its own
    if blueprint.checkpoint:
        options["init_from"] = blueprint.name
    return make_algorithm(
        config.learner,
        game_of(state),
        saved_policy(blueprint.name, read_header(blueprint.name)) if blueprint.checkpoint else config.policy,
        dataset=str(dataset) if dataset else None,
        seed=config.seed,
        **options,
    )


def with_whole_paths(config: FlywheelConfig) -> FlywheelConfig:
    """The config with absolute paths of the files that the learner reads."""
    options = {
        name: str(Path(value).resolve()) if name in ("init_from", "teacher") and Path(str(value)).exists() else value
        for name, value in config.learner_options.items()
    }
    return dataclasses.replace(config, learner_options=options)


def with_own_blueprint(folder: Path, state: FlywheelState) -> FlywheelState:
    """The state with a copy of the blueprint's checkpoint in the folder: the original may be moved, replaced or trained further."""
    spec = parse_spec(state.blueprint)
    if not spec.checkpoint:
        return state
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(folder / FIRST) as handle:
        handle.write(Path(spec.name).read_bytes())
    return dataclasses.replace(state, blueprint=state.blueprint.replace(spec.name, FIRST, 1))


def check_players(folder: Path, state: FlywheelState) -> None:
    """Make the searcher and the learner once, and a searcher from what is learnt, so that errors show before hours of search.

    Raises:
        LudoryError: as `make_agent` and `make_learner`.
    """
    game, config = game_of(state), state.config
    make_agent(state.searcher_in(folder), game)
    try:
        learner = make_learner(folder, state, None)
    except TypeError as error:  # a value of another kind than the field's
        given = ", ".join(f"{name}={value!r}" for name, value in config.learner_options.items())
        raise OptionError(f"learner options {given}: {error}; see `ludory train {config.learner} --help`") from error
    settings: Any = learner.config
    if ratio := getattr(settings, "split_ratio", None):
        for split, share in zip(SPLITS[:2], ratio, strict=False):
            if share and not in_split_by_number(split, config.games, ratio, settings.split_seed).any():
                raise OptionError(
                    f"games={config.games}: none of them falls into the part {split!r} of split_ratio={ratio}; search more games, or give "
                    "--learner-option split_ratio=(1,0,0) to learn from all"
                )
    if config.turns > 1:
        with TemporaryDirectory() as place:
            file = Path(place) / POLICY
            learner.save(file)
            make_agent(config.search.replace(BLUEPRINT, str(file)), game)
