"""`Flywheel`: search, distil, evaluate, promote, turn after turn. Every step can be stopped or killed at any time and is then gone on with."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from ludory.agents.evaluate import evaluate
from ludory.algorithms.folder_lock import FolderLock
from ludory.algorithms.run import train_to_file
from ludory.atomic import atomic_file
from ludory.data.record import record
from ludory.data.shards import MANIFEST
from ludory.envs.chance import hash_rows
from ludory.envs.game import Game
from ludory.errors import OptionError, OutputError
from ludory.plugins import algorithms

from .config import FlywheelConfig
from .learner import check_players, game_of, make_learner, with_own_blueprint, with_whole_paths
from .plan import POLICY, SCORES, SEARCHED, blueprint_of, searcher_of, turn_file
from .state import STATE, FlywheelState, Turn, read_state, write_state

EVAL_AT_ONCE = 250
"""Decks after which the scores are on disk."""
FOR_SEARCH, FOR_DECKS = 0, 1
"""What a turn's seeds are for."""


class Flywheel:
    """A flywheel that runs; made by `start_flywheel` or `resume_flywheel`. A context manager: it holds the lock of its folder."""

    def __init__(self, folder: Path, state: FlywheelState) -> None:
        self.folder, self.state = folder, state
        self._stopped = False
        self._bar: Callable[[str, int], AbstractContextManager[Callable[[int], None]]] | None = None
        self._lock = FolderLock(folder, "flywheel")
        if (folder / STATE).exists():
            self.state = read_state(folder)  # as whoever held the lock before left it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others run the flywheel of this folder."""
        self._lock.release()

    def stop(self) -> None:
        """Let `run` end soon, with nothing lost."""
        self._stopped = True

    def run(
        self,
        once: bool = False,
        on_step: Callable[[Flywheel], None] | None = None,
        bar: Callable[[str, int], AbstractContextManager[Callable[[int], None]]] | None = None,
    ) -> bool:
        """Go on to the end; whether nothing was broken off.

        Args:
            once: for one step only.
            on_step: called after each step.
            bar: shows progress: given a step's name and how many games it has, a context in which to tell of games that came to an
                end, those of an earlier run first; None: nothing is shown.
        """
        self._bar = bar
        while not self.state.finished and not self._stopped:
            after = getattr(self, f"_{self.state.step}")()
            if after is None:
                return False
            self.state = after
            write_state(self.folder, self.state)
            if on_step:
                on_step(self)
            if once:
                return True
        return not self._stopped

    @property
    def _game(self) -> Game:
        return game_of(self.state)

    @property
    def _blueprint(self) -> str:
        return blueprint_of(self.folder, self.state)

    def _shown(self, games: int) -> AbstractContextManager[Callable[[int], None]]:
        """Progress of the present step."""
        return self._bar(self.state.step, games) if self._bar else nullcontext(lambda count: None)

    def _file(self, name: str) -> Path:
        return turn_file(self.folder, self.state, name)

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
            scores = json.loads(file.read_text(encoding="utf-8"))
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
        """Deck by deck: each in all seats if they share a return, else one new player among blueprints, in every seat once."""
        policy, blueprint = str(self._file(POLICY)), self._blueprint
        if game.facts.reward == "shared":
            ours, its = (evaluate(one, game, **decks).returns[:, 0] for one in (policy, blueprint))
            return ours, its
        seats: list[Any] = [policy, *[blueprint] * (game.facts.players - 1)]
        returns = evaluate(seats, game, rotate=True, **decks).returns
        return returns[:, 0], returns[:, 1:].mean(axis=1)

    def _promote(self) -> FlywheelState:
        scores = json.loads(self._file(SCORES).read_text(encoding="utf-8"))
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
        LudoryError: searcher or learner can not be made as asked for.
    """
    target, state = Path(folder).resolve(), FlywheelState(with_whole_paths(config), config.blueprint)
    if (target / STATE).exists():
        raise OutputError(
            f"{target}: holds a flywheel; `ludory flywheel resume {target}` goes on with it, also with more --turns, or name another --out"
        )
    if (target / MANIFEST).exists():
        raise OutputError(f"{target}: holds a recording ({MANIFEST}); name another --out")
    check_players(target, state)
    flywheel = Flywheel(target, with_own_blueprint(target, state))
    write_state(target, flywheel.state)
    return flywheel


def resume_flywheel(folder: str | Path, turns: int | None = None) -> Flywheel:
    """The flywheel of a folder, where it was; with another number of `turns` in all, where that is given.

    Raises:
        DataError: there is none, or its state is damaged.
        OptionError: fewer turns than are over.
    """
    target = Path(folder).resolve()
    flywheel = Flywheel(target, read_state(target))
    if turns is not None:
        over = flywheel.state.turn
        if turns < max(over, 1):
            flywheel.release()
            raise OptionError(f"turns={turns}: {over} are over; must be at least that")
        config = dataclasses.replace(flywheel.state.config, turns=turns)
        flywheel.state = dataclasses.replace(flywheel.state, config=config)
        write_state(target, flywheel.state)
    return flywheel
