"""`LeagueLearner`: a league with the interface of every learner: `make_algorithm("league", env=...).learn(...)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import Self

from ludory.agents import NeuralAgent, PolicySpec
from ludory.algorithms import FolderLearner, make_algorithm, make_options, needed_game, one_thread
from ludory.algorithms.league.log.events import FILE
from ludory.checkpoints import read_header
from ludory.cluster import Workers
from ludory.envs import EnvLike
from ludory.errors import CheckpointError, OptionError
from ludory.plugins import install_command

from .config import START, LeagueConfig, LeagueRules, rules_from_json
from .crew import HERE, LeaguePlace
from .learner import check_learner
from .player_files import OpenedLeague, open_league
from .run import League, check_game, resume_league, start_league

NO_LIMIT = 2**62
"""Timesteps of a league whose budget is in minutes."""


def tell_what_is_missing() -> None:
    """Say, before hours of training, which sections of the report need a package that is not installed."""
    if find_spec("scipy") is None:
        command = install_command("ludory", "scipy")
        print(
            "note: scipy is not installed; the report of this league will lack Nash mixtures and what follows from them. "
            f"Type: {command}",
            flush=True,
        )


class LeagueLearner(FolderLearner):
    """Several players that learn at once, each against the others; `LeagueRules` are its options.

    A timestep is a decision of a learning player. `learn` plays whole slices, each one player's turn, committed to the folder,
    which `ludory league status`, `report`, `exploit` and `resume` read as well. Callbacks are called after every slice.

    Args:
        policy: network of all players, unless `teacher` or `init_from` brings one.
        env: id of a zero-sum game, or a registered `Game`.
        folder: of the league; None: the folder that it is first saved to, before that a temporary one.
        **config: fields of `LeagueRules`, such as learner="ppo" and learner_options={"n_steps": 32}.

    Raises:
        OptionError: the game is not zero-sum, or the learner cannot learn in a league.
    """

    id = "league-v1"
    config_class: ClassVar[type[LeagueRules]] = LeagueRules
    mark: ClassVar[str] = FILE
    samples_in: ClassVar[str] = "turns"
    jobs: ClassVar[tuple[str, ...]] = ("league report",)
    """Further commands that take its folder."""
    config: LeagueRules
    minutes: float | None = None
    """Time of training, which is the budget if `learn` is asked for `planned_timesteps`."""
    in_order: bool = False
    """Learners at workers take turns, so that the log is that of one process; otherwise all learn at once."""

    def __init__(
        self,
        policy: str | PolicySpec = "auto",
        env: EnvLike | None = None,
        folder: str | Path | None = None,
        **config: Any,
    ) -> None:
        game, rules = needed_game(env, self.id), make_options(LeagueRules, config)
        super().__init__(game, rules, policy, folder)
        check_game(self.game)
        check_learner(rules.learner)
        if policy != "auto" and (rules.teacher or rules.init_from):
            raise OptionError(f"policy={policy!r}: the players' network is that of teacher and init_from; leave it out")
        self._league: League | None = None
        self._slice_steps = 0
        self._place = HERE

    def _shown_rows(self) -> list[tuple[str, ...]]:
        """As `Learner._shown_rows`, with the players."""
        players = self.opened_league().state.players if self.begun else []
        said = [(one.id, f"{one.role}, {'frozen, ' * one.frozen}{one.env_steps:,} timesteps") for one in players]
        return [*super()._shown_rows(), *said]

    @property
    def begun(self) -> bool:
        """As `FolderLearner.begun`; a log without a line is of a process that was killed at once."""
        return super().begun and (self.folder / FILE).stat().st_size > 0

    def save(self, file: str | Path) -> None:
        """As `FolderLearner.save`; nothing is written for a new league whose teacher or initial weights cannot be read."""
        if self._folder is None:
            tell_what_is_missing()
            for start in filter(None, (self.config.teacher, self.config.init_from)):
                read_header(start)
        super().save(file)

    def sample_at(self, workers: Workers, samplers: int) -> Self:
        """Let the workers of a cluster play the turns and evaluations from now on; as many as it has, whatever `samplers` says.

        Raises:
            OptionError: running games cannot be saved, and a turn would start new ones.
        """
        if not self.game.saves:
            raise OptionError(
                f"{self.game.name}: its running games cannot be saved, so each turn at a worker would begin new ones; "
                "leave --jobs and --ray out"
            )
        self._place = LeaguePlace(workers, self.in_order)
        return self

    def release_samplers(self) -> None:
        """Free the workers of `sample_at`; the league goes on in this process."""
        self._place = HERE

    @property
    def planned_timesteps(self) -> int:
        """Agent steps of the budget; no limit where it is in minutes."""
        budget = self.opened_league().config if self.begun else None
        if self.minutes or (budget and budget.minutes):
            return NO_LIMIT
        return budget.budget_steps if budget else super().planned_timesteps

    @contextmanager
    def opened_run(self, total: int) -> Iterator[None]:
        """Open the league with a budget of `total` agent steps, or of `minutes`."""
        budget: dict[str, Any] = {"budget_steps": total}
        if total >= NO_LIMIT:
            budget = {"minutes": self.minutes} if self.minutes else {}
        with (
            resume_league(self.folder, self._place, **budget) if self.begun else self._begin(budget) as league,
            one_thread(),
        ):
            self._league = league
            if league.finished:
                self.stop()
            try:
                yield
                league.finish()
            finally:
                self._league = None

    def _begin(self, budget: Mapping[str, Any]) -> League:
        rules: dict[str, Any] = {part.name: getattr(self.config, part.name) for part in fields(LeagueRules)}
        if not (self.config.teacher or self.config.init_from):
            rules["init_from"] = str(self._first_weights())
        game: dict[str, Any] = {"env": self.game.id, "options": dict(self.game.options)}
        return start_league(LeagueConfig(**rules, **game, **budget), self.folder, self._place)

    def _first_weights(self) -> Path:
        """Random initial weights of all players, also those of exploiters after a reset."""
        file, config = self.folder / START, self.config
        options = {**config.learner_options, "num_envs": 1, "seed": config.seed, "seats": "all"}
        model = make_algorithm(config.learner, self.game, self.policy, **options)
        model.save_policy(file)
        return file

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """Run a slice: one player's turn, measured and committed."""
        assert self._league is not None
        result = self._league.slice()
        state = self._league.state
        self._slice_steps = self.counted(state.env_steps)
        if self._league.finished:
            self.stop()
        if not on_step():
            return None
        frozen = sum(player.frozen for player in state.players)
        numbers = {f"{result.player}/{name}": value for name, value in result.metrics.items()}
        return numbers | {"league/frozen_players": float(frozen), "league/matches": float(state.next_match)}

    @property
    def step_timesteps(self) -> int:
        """Decisions of the last slice."""
        return self._slice_steps

    @property
    def idle(self) -> bool:
        """As `FolderLearner.idle`."""
        return self._league is None

    def found(self) -> int:
        """As `FolderLearner.found`."""
        return self.opened_league().state.env_steps

    def opened_league(self) -> OpenedLeague:
        """Players, results and networks of the league so far, for reading.

        Raises:
            DataError: the league has not begun.
        """
        return open_league(self.folder)

    def as_agent(self, deterministic: bool = True) -> NeuralAgent:
        """The newest frozen copy of a main as an agent.

        Raises:
            CheckpointError: the league has not begun.
        """
        if not self.begun:
            raise CheckpointError(f"{self.folder}: no player yet; call learn() first")
        league = self.opened_league()
        policy: Any = league.pool.opponent(league.final_main)
        return NeuralAgent(policy, league.final_main, deterministic, self.config.seed)

    @classmethod
    def begun_elsewhere(cls, folder: Path) -> LeagueConfig:
        """As `FolderLearner.begun_elsewhere`, from the log."""
        return open_league(folder).config

    @classmethod
    def read_config(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """As `FolderLearner.read_config`."""
        return rules_from_json(saved)
