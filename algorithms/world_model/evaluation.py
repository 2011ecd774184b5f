"""Pass@1 and Pass@k over rooms, with errors over rooms, beside random play and the optimum on the same rooms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.model import LanguageModel
from ludory.agents.puzzles.anchors import anchors
from ludory.algorithms.text_ppo.rollout import collect
from ludory.envs.text.text_env import TextEnv
from ludory.errors import OptionError

from .config import EvalConfig, TextConfig
from .generate import state_scores
from .scripted import text_env

RANDOM_SAMPLES = 1000
"""Episodes of random play in each room."""
RAGEN_VALIDATION = 123
"""The first of RAGEN's validation rooms."""
FIGURES = {
    "form_ok": "form %",
    "observation_copied": "observation %",
    "next_state_exact": "next state %",
    "actions_per_episode": "actions",
    "tokens_per_episode": "tokens",
}
"""What is said of models beside their scores, and the titles of the columns."""


class RoomMean(NamedTuple):
    """A mean over rooms."""

    mean: float
    stderr: float
    """Standard error of the mean over rooms; NaN with one room."""
    rooms: int

    def as_json(self) -> dict[str, float | int | None]:
        """Plain values; None for what is not a number."""
        return {name: None if math.isnan(value) else value for name, value in self._asdict().items()}


def pass_at_k(successes: NDArray[np.int64], samples: int, k: int) -> NDArray[np.float64]:
    """(R,): chance that at least one of k attempts succeeds, drawn without replacement from `samples` of each room.

    1 - C(n - c, k) / C(n, k) with n samples and c successes (arXiv:2107.03374); for k = n this is "any of them".

    Args:
        successes: (R,) number c of successes in each room.
        samples: n.
        k: attempts.

    Raises:
        OptionError: k is not in 1..n, or a count is not in 0..n.
    """
    counts = np.asarray(successes)
    if not 1 <= k <= samples:
        raise OptionError(f"k={k}: must lie in [1, {samples}], the samples of each room")
    if counts.size and not (counts.min() >= 0 and counts.max() <= samples):
        raise OptionError(f"successes {counts.min()}..{counts.max()}: must lie in 0..{samples}")
    table = np.array([1 - math.comb(samples - c, k) / math.comb(samples, k) for c in range(samples + 1)])
    return np.asarray(table[counts.astype(np.int64)], np.float64)


def estimate(values: NDArray[np.float64]) -> RoomMean:
    """Mean and standard error over rooms; values: (R,)."""
    n = len(values)
    if n == 0:
        return RoomMean(math.nan, math.nan, 0)
    return RoomMean(float(values.mean()), float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan, n)


def paired(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> RoomMean:
    """The difference of two players on the same rooms, room by room."""
    return estimate(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64))


class PlayerScores(NamedTuple):
    """What one player did in R rooms."""

    name: str
    successes: NDArray[np.int64]
    """(R,) successful episodes of each room."""
    samples: int
    """Episodes of each room."""
    figures: Mapping[str, float] = {}
    """Of all turns: form, observation copied, next state exact, actions and tokens per episode; empty: no model."""
    chances: NDArray[np.float64] | None = None
    """(R,) exact probabilities instead of samples."""

    def rates(self, k: int) -> NDArray[np.float64]:
        """(R,): chance that one of k attempts succeeds; a player with fewer samples is certain of its result in every room."""
        if self.chances is not None:
            return np.asarray(1 - (1 - self.chances) ** k, np.float64)
        return pass_at_k(self.successes, self.samples, min(k, self.samples))


class Evaluation(NamedTuple):
    """Players on the same rooms."""

    room_hashes: NDArray[np.uint64]
    """(R,)."""
    seen: NDArray[np.bool_]
    """(R,): rooms that occurred in training."""
    players: tuple[PlayerScores, ...]
    k: tuple[int, ...]
    sampling: str
    """Temperature and top-p in words."""

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values, with means and standard errors over rooms."""
        return {
            "rooms": len(self.seen),
            "unseen_rooms": int((~self.seen).sum()),
            "sampling": self.sampling,
            "players": {player.name: self._player(player) for player in self.players},
            "paired": self._paired(),
        }

    def _player(self, player: PlayerScores) -> dict[str, Any]:
        found: dict[str, Any] = {"samples": player.samples, **player.figures}
        for k in self.k:
            rates = player.rates(k)
            parts = {"all": rates, "seen": rates[self.seen], "unseen": rates[~self.seen]}
            found[f"pass@{k}"] = {part: estimate(values).as_json() for part, values in parts.items()}
        return found

    def _paired(self) -> dict[str, Any]:
        """Pass@1 of the first player minus that of each other model on the same rooms."""
        first, *others = [player for player in self.players if player.figures]
        return {other.name: paired(first.rates(1), other.rates(1)).as_json() for other in others}


def play(
    model: LanguageModel,
    text: TextConfig,
    config: EvalConfig,
    name: str = "model",
    greedy: bool = False,
) -> tuple[PlayerScores, TextEnv]:
    """Let a model play all rooms; returns its scores and the environment, which still has the rooms."""
    samples = 1 if greedy else config.samples
    env = eval_env(text, config, samples)
    sampling = Sampling(0.0 if greedy else config.temperature, config.top_p, config.max_new_tokens)
    generator = make_generator(model, config.backend)  # type: ignore[arg-type]  # checked by the config
    batch = collect(model, generator, env, sampling, config.seed)
    generator.sleep()  # the next model needs the memory
    successes = np.bincount(batch.groups, weights=batch.success, minlength=config.rooms).astype(np.int64)
    return PlayerScores(name, successes, samples, state_scores(batch)), env


def eval_env(text: TextConfig, config: EvalConfig, samples: int) -> TextEnv:
    """The environment in which a model is evaluated: `samples` episodes in each room."""
    return text_env(
        text,
        config.rooms * samples,
        group_size=samples,
        prompt_mode=config.prompt_mode,
        seeds=config.seeds,
        split="valid" if config.seeds == "ragen" else config.split,
        seed=RAGEN_VALIDATION if config.seeds == "ragen" else config.seed,
    )


def anchor_scores(text: TextConfig, config: EvalConfig) -> list[PlayerScores]:
    """Random play and the optimum in the rooms of the evaluation, under the same budget of actions."""
    env = eval_env(text, config, 1)
    env.reset()
    found = anchors(env, RANDOM_SAMPLES)
    env.close()
    return [
        PlayerScores("random", found.random, found.samples),
        PlayerScores("optimum", np.zeros(0, np.int64), 0, {}, found.optimum),
    ]


def evaluate_models(
    models: Mapping[str, LanguageModel],
    text: TextConfig,
    config: EvalConfig,
    seen: Iterable[int] = (),
) -> Evaluation:
    """Models, random play and the optimum on the same rooms.

    Args:
        models: by name; the first one is compared with each other.
        text: the game and its prompts.
        config: rooms and sampling.
        seen: hashes of the rooms of training.
    """
    players: list[PlayerScores] = []
    rooms: NDArray[np.uint64] = np.zeros(0, np.uint64)
    for name, model in models.items():
        for greedy in (False, True) if config.greedy else (False,):
            found, env = play(model, text, config, f"{name} (greedy)" if greedy else name, greedy)
            rooms = env.room_hashes[:: env.group_size].copy()
            env.close()
            players.append(found)
    players += anchor_scores(text, config)
    known = np.isin(rooms, np.array(sorted(set(seen)), np.uint64))
    said = f"temperature {config.temperature:g}, top-p {config.top_p:g}"
    return Evaluation(rooms, known, tuple(players), config.k, said)


def evaluation_lines(found: Evaluation) -> list[list[str]]:
    """Rows of a table: player, Pass@k of all, seen and unseen rooms in percent with standard errors, and figures of models."""
    rows = []
    for player in found.players:
        said = found._player(player)
        cells = [player.name]
        for part in ("all", "seen", "unseen"):
            for k in found.k:
                one = said[f"pass@{k}"][part]
                error = "" if one["stderr"] is None else f" ± {100 * one['stderr']:.1f}"
                cells.append("" if not one["rooms"] else f"{100 * one['mean']:.1f}{error}")
        for name in FIGURES:
            value = player.figures.get(name)
            cells.append("" if value is None else f"{value:.1f}" if "per" in name else f"{100 * value:.1f}")
        rows.append(cells)
    return rows


def evaluation_columns(found: Evaluation) -> list[str]:
    """Titles of the columns of `evaluation_lines`."""
    counts = {"all": len(found.seen), "seen": int(found.seen.sum()), "unseen": int((~found.seen).sum())}
    passes = [f"{part} ({counts[part]}) Pass@{k}" for part in counts for k in found.k]
    return ["player", *passes, *(FIGURES[name] for name in FIGURES)]
