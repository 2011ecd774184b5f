"""`LeagueLearner`: a league with the interface of every learner: `make_algorithm("league", env=...).learn(...)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from ludory.agents import NeuralAgent, PolicySpec
from ludory.algorithms import FolderLearner, make_algorithm, make_options, needed_game, one_thread
from ludory.algorithms.league.log.events import FILE
from ludory.envs import EnvLike
from ludory.errors import CheckpointError, OptionError

from .config import START, LeagueConfig, LeagueRules, rules_from_json
from .learner import check_learner
from .player_files import OpenedLeague, open_league
from .run import League, check_game, resume_league, start_league


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
    config: LeagueRules

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

    @contextmanager
    def opened_run(self, total: int) -> Iterator[None]:
        """Open the league with a budget of `total` agent steps."""
        with (
            resume_league(self.folder, budget_steps=total) if self.begun else self._begin(total) as league,
            one_thread(),
        ):
            self._league = league
            try:
                yield
                league.finish()
            finally:
                self._league = None

    def _begin(self, total: int) -> League:
        rules: dict[str, Any] = {part.name: getattr(self.config, part.name) for part in fields(LeagueRules)}
        if not (self.config.teacher or self.config.init_from):
            rules["init_from"] = str(self._first_weights())
        game: dict[str, Any] = {"env": self.game.id, "options": dict(self.game.options)}
        return start_league(LeagueConfig(**rules, **game, budget_steps=total), self.folder)

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
