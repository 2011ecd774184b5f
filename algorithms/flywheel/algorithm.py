"""`FlywheelLearner`: a flywheel behind the same calls as any other learner: `make_algorithm("flywheel", env=...).learn(3)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from ludory.agents import Agent, make_agent
from ludory.algorithms import FolderLearner, make_options, needed_game
from ludory.envs import EnvLike
from ludory.errors import OptionError

from .config import FlywheelConfig, FlywheelOptions
from .machine import Flywheel, start_flywheel
from .state import STATE, FlywheelState


class FlywheelLearner(FolderLearner):
    """Search, learn from it, promote what is better, turn after turn; see `FlywheelOptions` for its options.

    A timestep is a finished turn. `learn` runs single steps of a turn, each on disk in the folder, which
    `ludory flywheel status` and `resume` read as well.

    Args:
        policy: network of the learner, until a checkpoint is the blueprint.
        env: id of a game, or a registered `Game`.
        folder: of the flywheel; None: a temporary one until it is first saved.
        **config: fields of `FlywheelOptions`, such as blueprint="hanabi/smartbot".

    Raises:
        OptionError: there is no blueprint, or an option is not allowed.
    """

    id = "flywheel-v1"
    config_class: ClassVar[type[FlywheelOptions]] = FlywheelOptions
    mark: ClassVar[str] = STATE
    config: FlywheelOptions

    def __init__(
        self, policy: str = "auto", env: EnvLike | None = None, folder: str | Path | None = None, **config: Any
    ) -> None:
        game = needed_game(env, self.id)
        super().__init__(game, make_options(FlywheelOptions, config), policy, folder)
        if not isinstance(policy, str):
            raise OptionError(f"policy={policy!r}: must be text, such as 'mlp(hidden=(64,))'")
        if not self.config.blueprint:
            raise OptionError(f"{self.id} needs blueprint=: the agent to begin with, such as hanabi/smartbot")
        self._flywheel: Flywheel | None = None
        self._turns = 0

    @property
    def planned_timesteps(self) -> int:
        """Turns of the config."""
        return self.config.turns

    @contextmanager
    def opened_run(self, total: int) -> Iterator[None]:
        """As `FolderLearner.opened_run`: the flywheel, with `total` turns in all."""
        with Flywheel.resume(self.folder, total) if self.begun else self._begin(total) as flywheel:
            self._flywheel = flywheel
            try:
                yield
            finally:
                self._flywheel = None

    def _begin(self, total: int) -> Flywheel:
        options = {part.name: getattr(self.config, part.name) for part in fields(FlywheelOptions)} | {"turns": total}
        game: dict[str, Any] = {"env": self.game.id, "options": dict(self.game.options)}
        return start_flywheel(FlywheelConfig(**options, **game, policy=str(self.policy)), self.folder)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """One step: search, distil, evaluate or promote."""
        assert self._flywheel is not None
        whole = self._flywheel.run(once=True)
        state = self._flywheel.state
        self._turns = self.counted(state.turn)
        if not on_step() or not whole:
            return None
        if not self._turns:
            return {}
        turn = state.history[-1]
        return {
            "flywheel/policy_score": turn.policy_score,
            "flywheel/blueprint_score": turn.blueprint_score,
            "flywheel/ahead": turn.ahead,
            "flywheel/promoted": float(turn.promoted),
        }

    @property
    def step_timesteps(self) -> int:
        """Turns that the last step finished: 0 or 1."""
        return self._turns

    @property
    def idle(self) -> bool:
        """As `FolderLearner.idle`."""
        return self._flywheel is None

    def stop(self) -> None:
        """As `Learner.stop`; the current step is interrupted and resumed later."""
        super().stop()
        if self._flywheel is not None:
            self._flywheel.stop()

    def found(self) -> int:
        """As `FolderLearner.found`."""
        return FlywheelState.read(self.folder).turn

    @classmethod
    def begun_elsewhere(cls, folder: Path) -> FlywheelConfig:
        """As `FolderLearner.begun_elsewhere`: by its state."""
        return FlywheelState.read(folder).config

    def as_agent(self) -> Agent:
        """The best player so far."""
        name = FlywheelState.read(self.folder).blueprint_in(self.folder) if self.begun else self.config.blueprint
        return make_agent(name, self.game)
