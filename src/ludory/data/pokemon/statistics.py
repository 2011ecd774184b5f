"""What trajectory files contain, and what is suspicious about their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludory.envs.pokemon.columns import MOVE_DAMAGE, MOVE_NUMBERS, MOVES_AT
from ludory.envs.pokemon.formats import action_names
from ludory.errors import DataError

from .observations import observations_of
from .trajectories import MISSING, BattleStep, BattleTrajectory, read_trajectories

FEWEST_ACTIONS = 6
"""Distinct actions below which labels are suspicious."""
LARGEST_SHARE = 0.5
"""Share of one action above which labels are suspicious."""


@dataclass
class Statistics:
    """Counts of a set of trajectories; `add` takes in one at a time."""

    trajectories: int = 0
    steps: int = 0
    battles: set[str] = field(default_factory=set)
    formats: Counter[str] = field(default_factory=Counter)
    slot_orders: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    label_sources: Counter[str] = field(default_factory=Counter)
    actions: Counter[int] = field(default_factory=Counter)
    """Of the labels."""
    gimmicks: Counter[str] = field(default_factory=Counter)
    rewards: Counter[str] = field(default_factory=Counter)
    """Trajectories that were won, lost, tied."""
    legal: int = 0
    """Sum of the numbers of legal actions, of labelled decisions."""
    uniform: float = 0.0
    forced: int = 0
    """Labelled decisions at which no move can be chosen, or a single action is legal."""
    masks: Counter[tuple[tuple[int, ...], int]] = field(default_factory=Counter)
    """(legal actions, label): how often."""
    constant: dict[str, Any] = field(default_factory=dict)
    """Observation fields of the seed's files that have had one value so far."""
    varying: set[str] = field(default_factory=set)
    gen: int = 0
    moves: int = 0
    """Labelled moves of trajectories with a stream."""
    strongest: int = 0
    """Of these, the ones of the largest power."""

    def add(self, one: BattleTrajectory) -> None:
        """Take in a trajectory."""
        self.trajectories += 1
        self.steps += len(one.steps)
        self.battles.add(one.replay_id)
        self.formats[str(one.meta.get("format", "unknown"))] += 1
        self.slot_orders[str(one.meta.get("slot_order", "unknown"))] += 1
        self.gen = max(self.gen, int(one.meta.get("gen", 0)))
        total = one.total_reward
        self.rewards["won" if total > 0 else "lost" if total < 0 else "tied"] += 1
        for step in one.steps:
            self._add_step(step)
        if one.stream:
            self._add_power(one)

    def _add_power(self, one: BattleTrajectory) -> None:
        """Compare labelled moves with the legal move of the largest power x accuracy x same type x effectiveness."""
        seen = observations_of(one).observations
        power = seen[:, MOVES_AT : MOVES_AT + 4 * MOVE_NUMBERS].reshape(-1, 4, MOVE_NUMBERS)[:, :, MOVE_DAMAGE]
        for step, worth in zip(one.steps, power, strict=True):
            if step.action == MISSING or 4 <= step.action <= 9:
                continue
            legal = [k for k in range(4) if k in step.mask]
            best = max(legal, key=lambda k: (worth[k], -k), default=-1)
            self.moves += 1
            # actions from 10 on are moves with gimmicks, four to a group
            self.strongest += best == (step.action if step.action < 4 else (step.action - 10) % 4)

    def _add_step(self, step: BattleStep) -> None:
        self.kinds[step.kind] += 1
        self.label_sources[step.label_source] += 1
        for name, value in step.observation.items():
            if name in self.varying:
                continue
            if self.constant.setdefault(name, value) != value:
                self.varying.add(name)
                del self.constant[name]
        # previews choose among six, and would make the other numbers worse
        if step.action == MISSING or step.kind == "preview":
            return
        self.actions[step.action] += 1
        if step.gimmick:
            self.gimmicks[step.gimmick] += 1
        self.legal += len(step.mask)
        self.uniform += 1 / len(step.mask)
        self.forced += step.kind == "forced_switch"
        self.masks[step.mask, step.action] += 1

    @property
    def labels(self) -> int:
        """Labelled decisions without previews."""
        return sum(self.actions.values())

    def class_prior(self) -> float:
        """Accuracy of always taking the most frequent action among the legal ones."""
        order = [action for action, _ in self.actions.most_common()]
        rank = {action: place for place, action in enumerate(order)}
        right = sum(
            count
            for (mask, label), count in self.masks.items()
            # an action that never occurs comes last
            if min(mask, key=lambda action: rank.get(action, len(rank))) == label
        )
        return right / self.labels

    def problems(self) -> list[str]:
        """What makes the labels useless; `ludory check data` fails on these."""
        if not self.labels:
            return ["every label is missing: nothing can be learned from these"]
        found = []
        if len(self.actions) < FEWEST_ACTIONS:
            ids = ", ".join(map(str, sorted(self.actions)))
            found.append(
                f"only {len(self.actions)} distinct actions occur ({ids}): the targets are probably not recorded"
            )
        if len(self.battles) > 1 and sum(1 for name in ("won", "lost") if self.rewards[name]) == 1:
            name = "won" if self.rewards["won"] else "lost"
            found.append(f"all rewards have one sign ({self.rewards[name]:,} {name}): the winner is probably misread")
        elif len(self.battles) > 1 and not self.rewards["won"]:
            found.append("no reward but 0: the winner is probably not recorded")
        return found

    def warnings(self) -> list[str]:
        """All problems, and what else is suspicious."""
        found = self.problems()
        if not self.labels:
            return found
        action, count = self.actions.most_common(1)[0]
        if count > LARGEST_SHARE * self.labels:
            found.append(f"action {action} is {count / self.labels:.1%} of all labels")
        if self.steps > 1:
            found += [
                f"observation field {name!r} is always {value!r}" for name, value in sorted(self.constant.items())
            ]
        if len(self.slot_orders) > 1:
            kinds = ", ".join(f"{name} {count:,}" for name, count in self.slot_orders.items())
            found.append(f"slots are ordered in several ways ({kinds}); learners refuse to mix them")
        return found

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        labels = self.labels
        return {
            "trajectories": self.trajectories,
            "battles": len(self.battles),
            "steps": self.steps,
            "formats": dict(self.formats),
            "slot_orders": dict(self.slot_orders),
            "kinds": dict(self.kinds),
            "label_sources": dict(self.label_sources),
            "missing": self.label_sources["missing"] / self.steps if self.steps else 0.0,
            "labels": labels,
            "actions": {str(action): self.actions[action] for action in sorted(self.actions)},
            "gimmicks": dict(self.gimmicks),
            "rewards": dict(self.rewards),
            "baselines": {
                "class_prior": self.class_prior(),
                "uniform_legal": self.uniform / labels,
                "max_power_on_moves": self.strongest / self.moves if self.moves else None,
                "mean_legal": self.legal / labels,
                "majority_action": self.actions.most_common(1)[0][0],
                "majority_share": self.actions.most_common(1)[0][1] / labels,
                "share_of_moves": sum(n for action, n in self.actions.items() if not 4 <= action <= 9) / labels,
                "forced": self.forced / labels,
            }
            if labels
            else {},
            "warnings": self.warnings(),
        }

    def action_lines(self) -> list[str]:
        """The histogram of labels in words."""
        names = action_names(self.gen) if self.gen else action_names(1)
        return [
            f"  {action:2} {names[action]:28} {self.actions[action]:8,}  {self.actions[action] / self.labels:6.1%}"
            for action in sorted(self.actions)
        ]


def statistics_of(paths: Iterable[str | Path], skipped: list[str] | None = None) -> Statistics:
    """The statistics of files, read one trajectory at a time.

    Args:
        paths: of trajectories.
        skipped: takes the problems of bad lines; None: the first one is an error.

    Raises:
        DataError: a file cannot be read, or has no trajectory.
    """
    found = Statistics()
    for path in paths:
        for one in read_trajectories(path, skipped):
            found.add(one)
    if not found.trajectories:
        raise DataError("no trajectory in these files")
    return found


def statistics_lines(found: Statistics) -> list[str]:
    """The statistics in words."""
    said = found.as_json()
    lines = [
        f"{found.trajectories:,} trajectories of {len(found.battles):,} battles, {found.steps:,} decisions",
        *(
            f"{name.replace('_', ' ')}: {_counts(said[name])}"
            for name in ("formats", "slot_orders", "kinds", "label_sources", "rewards")
        ),
        f"labels (without previews): {found.labels:,}, missing {said['missing']:.1%} of all decisions",
        *found.action_lines(),
    ]
    if found.gimmicks:
        lines.append(f"gimmicks: {_counts(said['gimmicks'])}")
    if found.labels:
        base = said["baselines"]
        lines.append(
            f"baselines: class prior {base['class_prior']:.3f}, uniform legal {base['uniform_legal']:.3f}, "
            f"majority {base['majority_share']:.3f} (action {base['majority_action']})"
            + (f", max power {base['max_power_on_moves']:.3f} of moves" if found.moves else "")
        )
        lines.append(
            f"mean legal {base['mean_legal']:.2f}, share of moves {base['share_of_moves']:.3f}, forced {base['forced']:.3f}"
        )
    return lines + [f"warning: {one}" for one in said["warnings"]]


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in found.items())
