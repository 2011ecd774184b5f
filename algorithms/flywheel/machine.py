"""`Flywheel`: search, distil, evaluate, promote, turn after turn. Every step can be stopped or killed at any time and resumed later."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ludory.agents import evaluate, make_agent, record, saved_policy
from ludory.algorithms import Algorithm, make_algorithm
from ludory.atomic import atomic_file
from ludory.checkpoints import read_header
from ludory.data import MANIFEST, SPLITS, in_split_by_number
from ludory.envs import Game, hash_rows, make_game
from ludory.errors import OptionError, OutputError
from ludory.plugins import algorithms, parse_spec

from .config import BLUEPRINT, FlywheelConfig
from .state import FIRST, POLICY, SCORES, SEARCHED, FlywheelState, Turn, read_scores
from .turns import Turns, check_free


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


EVAL_AT_ONCE = 250
"""Decks after which the scores are on disk."""
FOR_SEARCH, FOR_DECKS = 0, 1
"""What a turn's seeds are for."""


class Flywheel(Turns[FlywheelState]):
    """A running flywheel; made by `start_flywheel` or `Flywheel.resume`."""

    state_class: ClassVar[type[FlywheelState]] = FlywheelState
    searches_elsewhere: ClassVar[bool] = True

    @property
    def _game(self) -> Game:
        return game_of(self.state)

    def _seed(self, purpose: int) -> int:
        """A seed for every turn and purpose."""
        turn = 2 * self.state.turn + purpose
        # seeds are not negative
        return int(hash_rows(hash_rows(self.state.config.seed, 0), turn)) & 0x7FFFFFFF

    def _search(self) -> FlywheelState | None:
        """A recording keeps every finished game and continues after the last one."""
        config = self.state.config
        with self._shown(config.games) as advance:

            def after_game(games: int) -> bool:
                advance(games)
                return self._stopped

            searcher = self.state.searcher_in(self.folder)
            found = record(
                searcher,
                self._game,
                config.games,
                self._file(SEARCHED),
                self._seed(FOR_SEARCH),
                progress=after_game,
                workers=self.workers,
            )
        return self.state.after_step() if found.games == found.of else None

    def _distil(self) -> FlywheelState | None:
        """A saved model continues where it stopped."""
        file = self._file(POLICY)
        if file.exists():
            model: Any = algorithms.load(self.state.config.learner).load(file)
        else:
            model = make_learner(self.folder, self.state, self._file(SEARCHED))
        return self._trained(model, file)

    def _evaluate(self) -> FlywheelState | None:
        """Scores of both players on the same decks; decks already played are kept."""
        file, game, config = self._file(SCORES), self._game, self.state.config
        scores: dict[str, list[float]] = {"policy": [], "blueprint": []}
        if file.exists():
            scores = read_scores(file)
        with self._shown(config.eval_games) as advance:
            advance(len(scores["policy"]))
            while (done := len(scores["policy"])) < config.eval_games:
                if self._stopped:
                    return None
                part = {"games": min(EVAL_AT_ONCE, config.eval_games - done), "first_game": done}
                policy, blueprint = self._compared(game, {"seed": self._seed(FOR_DECKS), **part})
                scores["policy"] += policy.tolist()
                scores["blueprint"] += blueprint.tolist()
                with atomic_file(file, "w") as handle:
                    json.dump(scores, handle)
                advance(len(policy))
        return self.state.after_step()

    def _compared(self, game: Game, decks: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scores of policy and blueprint, deck by deck.

        Where seats share a return, each plays all seats. Otherwise the policy plays each team in turn and the blueprint the other seats; in games
        without teams each seat is a team.
        """
        policy, blueprint = str(self._file(POLICY)), self.state.blueprint_in(self.folder)
        if game.facts.reward == "shared":
            ours, its = (evaluate(one, game, **decks).returns[:, 0] for one in (policy, blueprint))
            return ours, its
        teams = np.array(game.facts.teams or range(game.facts.players))
        parts = []
        for team in np.unique(teams):
            mine = teams == team
            returns = evaluate([policy if one else blueprint for one in mine], game, **decks).returns
            parts.append((returns[:, mine].mean(axis=1), returns[:, ~mine].mean(axis=1)))
        ours, its = np.mean(parts, axis=0)
        return ours, its

    def _promote(self) -> FlywheelState:
        scores = read_scores(self._file(SCORES))
        policy, blueprint = (np.asarray(scores[name], float) for name in ("policy", "blueprint"))
        ahead, stderr = lead(policy - blueprint)
        lower = self._lower(ahead, stderr)
        return self.state.after_turn(
            Turn(
                number=self.state.turn,
                blueprint=self.state.blueprint,
                policy=str(self._file(POLICY).relative_to(self.folder)),
                games=len(policy),
                policy_score=float(policy.mean()),
                blueprint_score=float(blueprint.mean()),
                ahead=ahead,
                stderr=stderr,
                lower=lower,
                promoted=lower > 0,
            )
        )


def lead(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard error."""
    return float(differences.mean()), float(differences.std(ddof=1) / math.sqrt(len(differences)))


def start_flywheel(config: FlywheelConfig, folder: str | Path) -> Flywheel:
    """A new flywheel.

    Raises:
        OutputError: the folder holds one already.
        LudoryError: the searcher or the learner cannot be made.
    """
    target, state = Path(folder).resolve(), FlywheelState(with_whole_paths(config), config.blueprint)
    check_free(target, state)
    if (target / MANIFEST).exists():
        raise OutputError(f"{target}: holds a recording ({MANIFEST}); name another --out")
    check_players(target, state)
    return Flywheel.begin(target, with_own_blueprint(target, state))
