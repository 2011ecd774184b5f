"""What `Algorithm.predict` accepts: legal masks and memories; and the warning where masks are missing."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ludory.agents.networks.policy import Policy
from ludory.envs import Engine, Game, GameFacts, make_engine, on_host
from ludory.errors import OptionError

TRIAL_DECISIONS = 100
"""Decisions of a game of random moves after which its actions count as always legal."""


def legal_masks(action_masks: ArrayLike | None, count: int, facts: GameFacts) -> NDArray[np.bool_]:
    """Masks bool (count, A) of the observations of `predict`; None: every action is legal.

    Raises:
        OptionError: the masks have another shape, or one of them has no legal action in a head.
    """
    width = facts.num_actions
    if action_masks is None:
        return np.ones((count, width), bool)
    given = np.asarray(action_masks, bool)
    if given.shape != (count, width) and not (count == 1 and given.shape == (width,)):
        wanted = f"({width},) or (1, {width})" if count == 1 else f"({count}, {width})"
        raise OptionError(
            f"predict: action_masks has shape {given.shape}, must be {wanted}: an entry per action of {facts.name}"
        )
    masks = given.reshape(count, width)
    stops = np.cumsum([0, *facts.head_sizes])
    for (name, size), start in zip(facts.heads, stops, strict=False):
        dead = np.flatnonzero(~masks[:, start : start + size].any(1))
        if len(dead):
            head = f" of head {name}" if len(facts.heads) > 1 else ""
            raise OptionError(
                f"predict: action_masks has no legal action{head} in row {dead[0]}; give the masks of games that are running"
            )
    return masks


def fresh_memory(
    policy: Policy, memory: ArrayLike | Tensor | None, starts: ArrayLike | None, device: torch.device
) -> Tensor | None:
    """`memory` (m, size), an array or tensor, as a tensor on `device`; reset in the rows where `starts` (m,) is true."""
    if memory is None:
        return None
    kept = torch.as_tensor(memory, dtype=torch.float32, device=device)
    initial = None if starts is None else policy.initial_memory(len(kept))
    if initial is None:
        return kept
    rows = torch.as_tensor(np.asarray(starts, bool), device=device).reshape(-1, 1)
    return torch.where(rows, initial, kept)


def warn_of_missing_masks(name: str, game: Game, running: Engine | None) -> None:
    """Warn that `predict` was called without masks, in a game that has illegal actions.

    Args:
        name: id of the algorithm.
        game: its game.
        running: the training games, if they have begun.
    """
    some_illegal = _has_illegal_actions(game) if game.rules.engine is None else _shows_illegal_actions(running)
    if some_illegal:
        # Without a registry, which `warnings.warn` would take, Python's filters do not leave out the warning of a second model.
        warnings.warn_explicit(
            f"{name}: predict without action_masks= may choose illegal actions of {game.name}; give the masks "
            "(info['action_mask'], env.action_masks()). EvalCallback and evaluate_policy of Stable-Baselines3 do not: take "
            "MaskableEvalCallback and evaluate_policy of sb3_contrib.common.maskable, or ludory.evaluate",
            UserWarning,
            "ludory",
            0,
        )


def _shows_illegal_actions(running: Engine | None) -> bool:
    return running is not None and not on_host(running.legal()).all()


def _has_illegal_actions(game: Game) -> bool:
    """Whether an action is illegal anywhere in one game of random moves."""
    facts = game.facts
    if facts.box is not None:
        return False
    # interpreted: compiling would take longer than the game
    engine, generator = make_engine(game, 1, seed=0, compiled=False), np.random.default_rng(0)
    engine.reset()
    for _ in range(TRIAL_DECISIONS):
        masks = engine.legal()
        if not masks.all():
            return True
        heads = np.split(masks, np.cumsum(facts.head_sizes)[:-1], axis=-1)
        moves = np.stack([(head * generator.random(head.shape)).argmax(-1) for head in heads], -1)
        engine.step(moves[:, 0] if masks.ndim == 2 and len(heads) == 1 else moves)
        if (engine.terminated | engine.truncated).all():
            break
    return False
