"""`Flywheel`: search, distil, evaluate, promote, turn after turn. Every step can be stopped or killed at any time and is then gone on with."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.record import record
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.atomic import atomic_file
from ludory.data.shards import MANIFEST
from ludory.envs.chance import hash_rows
from ludory.envs.game import Game
from ludory.errors import OutputError
from ludory.plugins import algorithms

from .config import FlywheelConfig
from .learner import check_players, game_of, make_learner, with_own_blueprint, with_whole_paths
from .plan import POLICY, SCORES, SEARCHED, blueprint_of, line, plan, searcher_of
from .state import FlywheelState, Turn, read_scores, read_state
from .turns import Turns, check_free

EVAL_AT_ONCE = 250
"""Decks after which the scores are on disk."""
FOR_SEARCH, FOR_DECKS = 0, 1
"""What a turn's seeds are for."""


class Flywheel(Turns[FlywheelState]):
    """A flywheel that runs; made by `start_flywheel` or `resume_flywheel`."""

    def plan(self) -> str:
        """What the next step does."""
        return plan(self.folder, self.state)

    def line(self, turn: Turn) -> str:
        """A turn that is over, for people."""
        return line(turn)

    @property
    def _game(self) -> Game:
        return game_of(self.state)

    @property
    def _blueprint(self) -> str:
        return blueprint_of(self.folder, self.state)

    def _seed(self, purpose: int) -> int:
        """Other deals for every turn and purpose."""
        turn = 2 * self.state.turn + purpose
        return int(hash_rows(hash_rows(self.state.config.seed, 0), turn)) & 0x7FFFFFFF

    def _search(self) -> FlywheelState | None:
        """Recordings keep every finished game and go on behind the last one."""
        config = self.state.config
        with self._shown(config.games) as advance:

            def after_game(games: int) -> bool:
                advance(games)
                return self._stopped

            searcher = searcher_of(self.folder, self.state)
            found = record(
                searcher, self._game, config.games, self._file(SEARCHED), self._seed(FOR_SEARCH), progress=after_game
            )
        return self.state.after_step() if found.games == found.of else None

    def _distil(self) -> FlywheelState | None:
        """Checkpoints by the clock; a model that was saved goes on from there."""
        file = self._file(POLICY)
        if file.exists():
            model: Any = algorithms.load(self.state.config.learner).load(file)
        else:
            model = make_learner(self.folder, self.state, self._file(SEARCHED))
        if not model.finished and train_to_file(
            model, model.planned_timesteps, file, progress_bar=self._bar is not None
        ):
            self.stop()
        return self.state.after_step() if model.finished else None

    def _evaluate(self) -> FlywheelState | None:
        """Scores of both on the same decks; those played are kept."""
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
        """Deck by deck: each in all seats if they share a return, else new players as each team in turn among blueprints.

        Where there are no teams, one seat is a team.
        """
        policy, blueprint = str(self._file(POLICY)), self._blueprint
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
        lower = ahead - NormalDist().inv_cdf(self.state.config.confidence) * stderr
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
        LudoryError: searcher or learner cannot be made as asked for.
    """
    target, state = Path(folder).resolve(), FlywheelState(with_whole_paths(config), config.blueprint)
    check_free(target, state)
    if (target / MANIFEST).exists():
        raise OutputError(f"{target}: holds a recording ({MANIFEST}); name another --out")
    check_players(target, state)
    return Flywheel.begin(target, with_own_blueprint(target, state))


def resume_flywheel(folder: str | Path, turns: int | None = None) -> Flywheel:
    """The flywheel of a folder, where it was; with another number of `turns` in all, where that is given.

    Raises:
        DataError: there is none, or its state is damaged.
        OptionError: fewer turns than are over.
    """
    target = Path(folder).resolve()
    return Flywheel.go_on(target, read_state(target), turns)
