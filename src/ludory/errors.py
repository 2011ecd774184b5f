"""Errors that a caller can act on: each message says what was found, what is allowed and what to do."""

__all__ = [
    "BackendError",
    "BackendTimeout",
    "BattleLineError",
    "CheckpointError",
    "ConformanceError",
    "DataError",
    "GameLeftError",
    "HubError",
    "IllegalActionError",
    "KernelError",
    "LogFormatError",
    "LostWorkerError",
    "LudoryError",
    "NotResetError",
    "OptionError",
    "OutputError",
    "PluginError",
    "RejectedBattleError",
    "RenderModeError",
    "ReplayError",
    "SnapshotError",
    "TrainingError",
    "UnknownIdError",
    "UnknownOptionError",
    "WorkerError",
]


class LudoryError(Exception):
    """Base class of all errors that Ludory raises on purpose."""


class OptionError(LudoryError, ValueError):
    """A game option, reset option or argument has an invalid value."""


class UnknownOptionError(OptionError, TypeError):
    """A game, agent or learner has no option of this name. Also a TypeError with Python's words, "unexpected keyword argument 'name'".

    By these words TorchRL's `GymEnv` learns that a game does without its `frameskip`.
    """


class RenderModeError(OptionError, TypeError):
    """A game cannot be drawn in this render mode. Also a TypeError, by which `make_vec_env` of Stable-Baselines3 learns of it."""


class IllegalActionError(LudoryError, ValueError):
    """An action is out of range, or not legal for the seat to move."""


class NotResetError(LudoryError, RuntimeError):
    """`step` or an observation was requested before the first `reset`."""


class SnapshotError(LudoryError, ValueError):
    """A saved engine state cannot be restored: it is unreadable or of another game."""


class OutputError(LudoryError, OSError):
    """A file or folder cannot be written."""


class UnknownIdError(LudoryError, KeyError):
    """No game, agent, network, algorithm, benchmark or command has this id."""

    def __str__(self) -> str:
        """The message without the quotes that KeyError adds."""
        return str(self.args[0])


class PluginError(LudoryError, ImportError):
    """A plugin is broken or lacks a dependency, or two distributions provide one id."""


class NotInstalledError(PluginError, UnknownIdError):
    """What has this id is of a system that is not part of this installation."""


class CheckpointError(LudoryError, ValueError):
    """A checkpoint is unreadable or foreign, or of another game or algorithm."""


class HubError(LudoryError, OSError):
    """The Hugging Face hub cannot be reached or refuses, or what it has is missing, damaged or of another kind."""


class KernelError(LudoryError, TypeError):
    """A kernel cannot be compiled; the first line names kernel, file, line and rule, and Numba's message follows."""


class ConformanceError(LudoryError, AssertionError):
    """A game or an engine violates its contract; the message names game, property, step and difference."""


class ReplayError(LudoryError, ValueError):
    """A recorded game is unreadable, or does not go as recorded under the current rules."""


class GameLeftError(LudoryError):
    """The person at the terminal left the game."""


class DataError(LudoryError, ValueError):
    """Trajectories are unreadable, damaged, of another game, or violate their schema; the message names file, row and field.

    `problem` is the content: a text, or a value such as `ludory.data.checks.Problem`.
    """

    def __init__(self, problem: object) -> None:
        super().__init__(str(problem))
        self.problem = problem


class LogFormatError(DataError):
    """A log of another program cannot be read; lists up to 20 problems with place, content and what is allowed."""


class RejectedBattleError(DataError):
    """A recorded battle cannot become trajectories; `name` is one of `ludory.data.pokemon.rejections.REASONS`."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name, self.detail = name, detail


class BattleLineError(DataError):
    """A line of a Pokémon battle is unknown or malformed; the message has the line."""


class WorkerError(LudoryError, RuntimeError):
    """An environment in another process failed, or its process crashed or hung; the message has its last actions."""


class LostWorkerError(LudoryError, RuntimeError):
    """A worker of a cluster is gone with what it held, or there is no such cluster."""


class BackendError(WorkerError):
    """A program that holds the rules of a game failed: it died, its rules crashed, or it refused a message.

    `game` is the number of the game, None if the whole program failed.
    """

    def __init__(self, message: str, game: int | None = None) -> None:
        super().__init__(message)
        self.game = game


class BackendTimeout(BackendError, TimeoutError):  # noqa: N818, the name that its kind has elsewhere
    """A program that holds the rules of a game did not answer in time."""


class TrainingError(LudoryError, ArithmeticError):
    """Training cannot continue: a loss, gradient or weight is not finite."""
