"""Callbacks that read the steps of a training, and those that do not."""

from __future__ import annotations

from stable_baselines3.common.callbacks import BaseCallback, CallbackList


class BetweenIterations(BaseCallback):
    """Base of callbacks that act between two iterations and read nothing of the steps, which are then not prepared for them."""

    def _on_step(self) -> bool:
        return True


def reads_steps(callback: BaseCallback) -> bool:
    """Whether a callback may read `locals` of a step."""
    if isinstance(callback, CallbackList):
        return any(map(reads_steps, callback.callbacks))
    return not isinstance(callback, BetweenIterations)
