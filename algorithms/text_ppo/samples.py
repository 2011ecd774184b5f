"""Episodes of a training to look at: what the model read and wrote, what each turn was paid, and the advantage of every token.

They lie in the checkpoint as `samples.jsonl`, an episode a line, and the browser shows them while the run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory.errors import CheckpointError

from .batch import TokenBatch
from .targets import BatchTargets

Decode = Callable[[list[int]], tuple[str, list[tuple[int, int]]]]
"""The text of ids, and the characters that each of them writes, as `LanguageModel.decode_with_offsets`."""
FILE = "samples.jsonl"
MOST_ITERATIONS = 8
"""Iterations whose episodes are kept; after that every second one goes, so that the beginning stays to compare with."""
GROUPS, OF_A_GROUP = 2, 3
"""Rooms of an iteration, and episodes of each."""


class SampledToken(NamedTuple):
    """A token of an episode."""

    text: str
    span: int
    """What it is, as in `ludory.agents.language.spans`; 0: of the prompt."""
    turn: int
    """Turn of its episode; -1 before the first reply."""
    advantage: float | None
    """What it was learnt with; None: it is not learnt from."""


class SampledEpisode(NamedTuple):
    """An episode that was learnt from."""

    iteration: int
    """Of the run, from 1 on."""
    room: str
    """Hash of the room, by which episodes of one group belong together."""
    score: float
    success: bool
    rewards: tuple[float, ...]
    """Of the turns."""
    lists: tuple[tuple[SampledToken, ...], ...]
    """The sequences that the model read: one, or one a turn where the history is not kept."""


class SampleKeeper:
    """Keeps episodes of some iterations.

    Args:
        every: iterations between two that are looked at; 0: none.
        episodes: those of a run that is resumed.
    """

    def __init__(self, every: int, episodes: Sequence[SampledEpisode] = ()) -> None:
        self.every, self.episodes = every, list(episodes)

    def note(self, iteration: int, batch: TokenBatch, targets: BatchTargets, decode: Decode) -> None:
        """Keep episodes of this iteration, counted from 0, if it is one to look at: of the rooms whose episodes differ most, best and worst among them."""
        if not self.every or iteration % self.every:
            return
        groups = np.unique(batch.groups)
        spread = [-np.ptp(batch.scores[batch.groups == group]) for group in groups]
        for group in groups[np.argsort(spread, kind="stable")[:GROUPS]]:
            members = np.flatnonzero(batch.groups == group)
            ranked = members[np.argsort(-batch.scores[members], kind="stable")]
            # from best to worst at even distances
            shown = ranked[np.unique(np.linspace(0, len(ranked) - 1, OF_A_GROUP).round().astype(int))]
            self.episodes += [_episode(iteration + 1, int(one), batch, targets, decode) for one in shown]
        while len(kept := sorted({one.iteration for one in self.episodes})) > MOST_ITERATIONS:
            # first and last stay
            dropped = set(kept[1:-1:2])
            self.episodes = [one for one in self.episodes if one.iteration not in dropped]

    def write(self, folder: Path) -> None:
        """Write `samples.jsonl` into a folder that is being made."""
        lines = [json.dumps(one._asdict(), ensure_ascii=False, allow_nan=False) + "\n" for one in self.episodes]
        (folder / FILE).write_text("".join(lines), encoding="utf-8")


def _episode(iteration: int, number: int, batch: TokenBatch, targets: BatchTargets, decode: Decode) -> SampledEpisode:
    decided, advantages = targets.decided.numpy(), targets.advantages.numpy()
    lists = []
    for one in np.flatnonzero(batch.episode == number):
        place = range(int(batch.starts[one]), int(batch.starts[one + 1]))
        text, offsets = decode([int(id) for id in batch.ids[place.start : place.stop]])
        tokens, at = [], 0
        for k, (_, end) in zip(place, offsets, strict=True):
            # what stands between two tokens belongs to the second one
            end = max(end, at)
            advantage = round(float(advantages[k]), 4) if decided[k] else None
            tokens.append(SampledToken(text[at:end], int(batch.spans[k]), int(batch.turns[k]), advantage))
            at = end
        lists.append(tuple(tokens))
    turns = 1 + max((token.turn for tokens in lists for token in tokens), default=-1)
    return SampledEpisode(
        iteration,
        f"{int(batch.room_hashes[number]):016x}",
        float(batch.scores[number]),
        bool(batch.success[number]),
        tuple(float(reward) for reward in batch.turn_rewards[number][:turns]),
        tuple(lists),
    )


def read_samples(folder: Path) -> list[SampledEpisode]:
    """The episodes in a checkpoint, those of one iteration together; none where it has no such file.

    Raises:
        CheckpointError: the file is damaged.
    """
    file = folder / FILE
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{file}: cannot be read ({error}); put an intact copy back, or remove it") from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_read(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CheckpointError(
                f"{file}, line {number}: is no episode ({type(error).__name__}: {error}); put an intact copy back, or remove it"
            ) from error
    return found


def _read(fields: dict[str, Any]) -> SampledEpisode:
    lists = tuple(
        tuple(
            SampledToken(str(text), int(span), int(turn), None if advantage is None else float(advantage))
            for text, span, turn, advantage in tokens
        )
        for tokens in fields["lists"]
    )
    rewards = tuple(float(reward) for reward in fields["rewards"])
    score, success = float(fields["score"]), bool(fields["success"])
    return SampledEpisode(int(fields["iteration"]), str(fields["room"]), score, success, rewards, lists)
