"""`ActivePlayer`: a learning player of a league, an algorithm whose sampler plays the assigned opponents.

The learner of a league can be any algorithm that is a subclass of `Algorithm`, has a config that extends `AlgorithmConfig`
(`num_envs`, `seats`, `shaping`, `init_from`), and plays all its games with `self.sampler` as `Algorithm` makes it. The league
replaces the lanes of that sampler. `Algorithm.teacher_weight` names the config field with the weight of the KL to a teacher; an
algorithm without one learns without a teacher.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ludory.agents import Policy, saved_policy
from ludory.algorithms import Algorithm, AlgorithmConfig, make_algorithm
from ludory.algorithms.config import LEAGUE_GAMES
from ludory.algorithms.running.metric_logs import Logger
from ludory.checkpoints import read_header
from ludory.envs import Game
from ludory.errors import OptionError, TrainingError
from ludory.plugins import algorithms

from .config import LeagueConfig
from .lanes import OpenMatches, make_league_lanes
from .messages import Assignment, MatchResult, SliceResult
from .opponent_runners import Opponent


def check_learner(id: str) -> type[Algorithm]:
    """The class of an algorithm that can learn in a league.

    Raises:
        UnknownIdError: there is no such algorithm.
        OptionError: it does not play games of its own with the common sampler.
    """
    kind: Any = algorithms.load(id)
    own_games = issubclass(kind, Algorithm) and kind._open_source is Algorithm._open_source
    if not own_games or not issubclass(kind.config_class, AlgorithmConfig):
        raise OptionError(
            f"learner={id!r}: a league needs an algorithm that plays games by `Algorithm.sampler` and whose config extends "
            "AlgorithmConfig, such as vtrace or ppo"
        )
    found: type[Algorithm] = kind
    return found


class ActivePlayer:
    """Weights, optimiser and games of one player.

    Args:
        player: its id.
        number: its index among the learners; its seed depends on it.
        config: of the league.
        game: what is played.
        next_assignment: asks for the next opponent.
        deliver: reports a finished match.
        find: returns the network or agent of a player id.
        start: returns the checkpoint of its initial weights after so many resets; None: random weights.
        teacher: checkpoint of the policy that it stays close to; None: there is none.
        kl: weight of the KL to the teacher; None: as in the options of the league's learner.
        resets: returns to the initial weights so far.
        planned: decisions over which schedules of the learner's options run, again after every reset; 0: those of each slice.
    """

    def __init__(
        self,
        player: str,
        number: int,
        config: LeagueConfig,
        game: Game,
        next_assignment: Callable[[], Assignment],
        deliver: Callable[[MatchResult], None],
        find: Callable[[str], Opponent],
        *,
        start: Callable[[int], str | None],
        teacher: str | None,
        kl: float | None = None,
        resets: int = 0,
        planned: int = 0,
    ) -> None:
        self.player, self.number, self.config, self.game = player, number, config, game
        self._start, self._teacher, self._kl = start, teacher, kl
        self._messages = next_assignment, deliver
        self._find = find
        self.env_steps, self.updates = 0, 0
        self.resets, self.planned = resets, planned
        self.algorithm = self._fresh()

    def _fresh(self) -> Algorithm:
        """The initial weights with a new optimiser."""
        first = self.config.first_weights
        spec = saved_policy(first, read_header(first))
        kind = check_learner(self.config.learner)
        # primes, so that the seeds of players and of their resets do not meet
        seed = self.config.seed * 1_000_003 + self.number * 1_009 + self.resets
        options: dict[str, Any] = {"num_envs": LEAGUE_GAMES, **self.config.learner_options}
        if kind.teacher_weight is not None:
            options["teacher"] = self._teacher
            if self._kl is not None:
                options[kind.teacher_weight] = self._kl
        algorithm = make_algorithm(
            self.config.learner,
            self.game,
            policy=spec,
            seats="all",
            seed=seed,
            init_from=self._start(self.resets),
            **options,
        )
        algorithm.schedule_timesteps = self.planned
        matches = OpenMatches(*self._messages)
        algorithm.sample_from(make_league_lanes(self.game, algorithm.engine, self.player, matches, self._find))
        return algorithm

    @property
    def policy(self) -> Policy:
        """The current network."""
        return self.algorithm.policy

    def run_slice(self, steps: int) -> SliceResult:
        """Learn from about `steps` decisions (whole iterations).

        Raises:
            TrainingError: losses, gradients or weights are not finite; the last checkpoint is kept.
        """
        algorithm, numbers = self.algorithm, _Means()
        algorithm.set_logger(Logger([numbers]))
        before = algorithm.num_timesteps
        try:
            algorithm.learn(steps, reset_num_timesteps=False)
        except TrainingError as error:
            raise TrainingError(f"player {self.player}: {error}") from error
        self.env_steps += algorithm.num_timesteps - before
        # a line of the log is an iteration
        self.updates += numbers.lines
        return SliceResult(self.player, self.env_steps, self.updates, numbers.means())

    def reset(self) -> None:
        """Return to the initial weights; running games are dropped."""
        self.resets += 1
        self.algorithm = self._fresh()

    def save(self, file: Path) -> None:
        """Write a checkpoint for `restore`."""
        self.algorithm.save(file)

    def save_policy(self, file: Path) -> None:
        """Write the network alone, for a frozen copy."""
        self.algorithm.save_policy(file)

    def restore(self, file: Path, env_steps: int, updates: int, resets: int) -> None:
        """Restore a checkpoint."""
        if resets != self.resets:
            self.resets = resets
            self.algorithm = self._fresh()
        self.algorithm.restore(file)
        self.env_steps, self.updates = env_steps, updates


class _Means:
    """Means of the numbers that an algorithm logs."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}
        self.lines = 0
        """Number of lines logged."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """One line of the log."""
        self.lines += 1
        for name, value in key_values.items():
            if not name.startswith("time/"):
                total = self._sums.setdefault(name, [0.0, 0.0])
                total[0], total[1] = total[0] + float(value), total[1] + 1

    def means(self) -> dict[str, float]:
        """Mean of every number."""
        return {name: total / count for name, (total, count) in self._sums.items()}

    def close(self) -> None:
        """Nothing is open."""
