"""Errors that a caller can act on: each says what was got, what is allowed and what to type next."""


class LudoryError(Exception):
    """Base of all errors that Ludory raises on purpose."""


class OptionError(LudoryError, ValueError):
    """A game option, a reset option or an argument has a value that is not allowed."""


class RenderModeError(OptionError, TypeError):
    """A game cannot be drawn in this render mode.

    Also a TypeError, because `make_vec_env` of Stable-Baselines3 asks for "rgb_array" first, and makes the environment without a
    render mode when a TypeError says that there is none.
    """


class IllegalActionError(LudoryError, ValueError):
    """An action is outside its range or not legal for the seat to move."""


class NotResetError(LudoryError, RuntimeError):
    """`step` or an observation was asked for before the first `reset`."""


class SnapshotError(LudoryError, ValueError):
    """A saved engine state cannot be restored: unreadable, or of another game."""


class OutputError(LudoryError, OSError):
    """A file or folder cannot be written."""


class UnknownIdError(LudoryError, KeyError):
    """No game, agent, network, algorithm, benchmark or command has this id."""

    def __str__(self) -> str:
        """The message without the quotes that KeyError adds."""
        return str(self.args[0])


class PluginError(LudoryError, ImportError):
    """A plugin is broken, lacks a dependency, or two distributions offer one id."""


class CheckpointError(LudoryError, ValueError):
    """A checkpoint is unreadable, foreign, or of another game or algorithm."""


class KernelError(LudoryError, TypeError):
    """A kernel cannot be compiled: the first line names kernel, file, line and rule; then follows what Numba says."""


class ConformanceError(LudoryError, AssertionError):
    """A game or an engine breaks its contract: the message names game, property, step and difference."""


class ReplayError(LudoryError, ValueError):
    """A recorded game is unreadable, or does not go as recorded under the rules of this version."""


class GameLeftError(LudoryError):
    """The person at the terminal left the game."""


class DataError(LudoryError, ValueError):
    """Trajectories are unreadable, damaged, of another game, or break their schema: the message names file, row and field.

    `problem` is what it was made of: a text, or a `ludory.data.trajectories.Problem`.
    """

    def __init__(self, problem: object) -> None:
        super().__init__(str(problem))
        self.problem = problem


class LogFormatError(DataError):
    """A foreign log cannot be read: up to 20 problems, each with its place, what was got and what is allowed."""


class WorkerError(LudoryError, RuntimeError):
    """An environment in another process failed, or its process crashed or hung: the message has its last actions."""


class TrainingError(LudoryError, ArithmeticError):
    """A training run cannot go on: a loss, a gradient or a weight is not finite."""
