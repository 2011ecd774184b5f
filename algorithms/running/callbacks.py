"""Callbacks of a training, Ludory's own and those of Stable-Baselines3, which whoever has some has imported; and what a run shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ludory.plugins.requirements import imported

if TYPE_CHECKING:
    from rich.table import Table

    from ludory.algorithms.learner import Learner


class Callback(Protocol):
    """What `Learner.learn` calls: as `BaseCallback` of Stable-Baselines3. Subclasses may leave methods out; they then do nothing."""

    # Callbacks of Stable-Baselines3 say that they take one of its algorithms, and get a learner of Ludory here.
    def init_callback(self, model: Any) -> None:
        """Called first, with the learner."""
        return

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Called before the first iteration, with the variables of `learn`."""
        return

    def on_rollout_start(self) -> None:
        """Called before every iteration."""
        return

    def update_locals(self, locals_: dict[str, Any]) -> None:
        """Called before `on_step`, with the variables of the step."""
        return

    def on_step(self) -> bool:
        """Called after every step; False ends the training."""
        return True

    def on_rollout_end(self) -> None:
        """Called after every iteration."""
        return

    def on_training_end(self) -> None:
        """Called after the last iteration."""
        return


Function: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], bool]
"""(variables of the step, globals of `learn`) -> whether to go on."""
MaybeCallback: TypeAlias = Callback | Function | Sequence[Callback | Function] | None


class BetweenIterations(Callback):
    """Base of callbacks that act between two iterations and read nothing of the steps, which are then not prepared for them."""

    def init_callback(self, model: Learner) -> None:
        """Keep the learner."""
        self.model = model


class _Called(Callback):
    """A function, called after every step."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        self._locals, self._globals = locals_, globals_

    def update_locals(self, locals_: dict[str, Any]) -> None:
        self._locals.update(locals_)

    def on_step(self) -> bool:
        return self._function(self._locals, self._globals)


class Callbacks(Callback):
    """Several callbacks as one; all are called, also after one has ended the training."""

    def __init__(self, callback: MaybeCallback) -> None:
        given = callback if isinstance(callback, Sequence) else [callback] if callback else []
        self._all: list[Any] = [one if hasattr(one, "on_step") else _Called(one) for one in given]

    @property
    def read_steps(self) -> bool:
        """Whether one of them may read `locals` of a step."""
        return any(map(_reads_steps, self._all))

    def init_callback(self, model: Learner) -> None:
        """Hand the learner to all."""
        for one in self._all:
            one.init_callback(model)

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """The training begins."""
        for one in self._all:
            one.on_training_start(locals_, globals_)

    def on_rollout_start(self) -> None:
        """An iteration begins."""
        for one in self._all:
            one.on_rollout_start()

    def update_locals(self, locals_: dict[str, Any]) -> None:
        """A step has been made."""
        for one in self._all:
            one.update_locals(locals_)

    def on_step(self) -> bool:
        """Whether all go on."""
        return all([one.on_step() for one in self._all])  # noqa: C419  # all are called

    def on_rollout_end(self) -> None:
        """An iteration has ended."""
        for one in self._all:
            one.on_rollout_end()

    def on_training_end(self) -> None:
        """The training has ended."""
        for one in self._all:
            one.on_training_end()


def _reads_steps(callback: Callback) -> bool:
    if isinstance(callback, imported("stable_baselines3.common.callbacks:CallbackList")):
        return any(map(_reads_steps, callback.callbacks))
    return callback.read_steps if isinstance(callback, Callbacks) else not isinstance(callback, BetweenIterations)


def figures_table(
    title: str, columns: Iterable[str], rows: Mapping[str, Sequence[float | None]], first_column: str = ""
) -> Table:
    """Figures with four decimals, a row for each name; a missing figure is an empty cell, and a row without figures is left out."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first_column)
    for column in columns:
        table.add_column(column, justify="right")
    for name, figures in rows.items():
        if any(figure is not None for figure in figures):
            table.add_row(name, *("" if figure is None else f"{figure:.4f}" for figure in figures))
    return table
