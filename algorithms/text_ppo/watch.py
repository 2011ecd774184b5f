"""What is watched while language models learn: replies, lengths, groups, template collapse, and advice when a run goes wrong."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from .advantages import group_moments
from .batch import TokenBatch
from .network import TokenNetwork, batch_parts

FORMS = ("ok", "no_think", "no_answer", "empty_answer", "unknown_action", "bad_structure")
"""Verdicts on the form of a reply."""
SPAN_NAMES = ("prompt", "other", "think", "answer", "observation", "prediction")
REASONING = (2, 4, 5)
"""Spans of a reply before its answer: think, observation, prediction."""
WINDOW = 10
"""Iterations that are compared with as many before them."""
LOW_FORM, LOW_ENTROPY = 0.5, 0.05


def episode_metrics(batch: TokenBatch, prefix: str = "rollout") -> dict[str, float]:
    """Success, return, forms of replies, lengths, and how much the episodes of a group differ."""
    sampled = batch.sampled
    tokens = np.bincount(batch.token_episode[sampled], minlength=batch.num_episodes)
    scores, groups = torch.from_numpy(batch.scores), torch.from_numpy(batch.groups)
    numbers = {
        "success": batch.success.mean(),
        "any_success": _any_of_group(batch.success, batch.groups),
        "return": batch.scores.mean(),
        "group_std": float(group_moments(scores, groups)[2].mean()),
        "tokens": tokens.mean(),
    }
    numbers |= {
        f"tokens_{name}": np.mean(batch.spans == kind) * len(batch.ids) / batch.num_episodes
        for kind, name in enumerate(SPAN_NAMES)
    }
    records = [record for turns in batch.records for record in turns]
    if records:
        forms = Counter(record.verdict.form for record in records)
        numbers |= {f"form_{form}": forms[form] / len(records) for form in FORMS}
        numbers["turns"] = len(records) / batch.num_episodes
        numbers["actions"] = sum(len(record.actions) for record in records) / batch.num_episodes
        numbers["dropped_actions"] = sum(map(_lost, records)) / batch.num_episodes
    return {f"{prefix}/{name}": float(value) for name, value in numbers.items()}


def collapse_metrics(
    network: TokenNetwork, batch: TokenBatch, pad: int, tokens_at_once: int, prompts: int = 16
) -> dict[str, float]:
    """How much replies depend on their prompts: 0 under template collapse, which entropy does not show.

    The first reply of one episode of each of some groups is scored under the first prompts of all of them. `mutual_information` is the mean
    of log p(reply | own prompt) - log mean p(reply | any prompt), in nats, at most the log of the number of prompts;
    `retrieval` is how often the own prompt makes the reply likeliest (arXiv:2604.06268). Only thoughts count where there are any.

    Returns:
        Empty if there are fewer than two groups.
    """
    first = [np.flatnonzero(batch.groups == group)[0] for group in np.unique(batch.groups)[:prompts]]
    pairs = [_first_reply(batch, int(episode)) for episode in first]
    pairs = [pair for pair in pairs if len(pair[1])]
    count = len(pairs)
    if count < 2:
        return {}
    crossed = _crossed([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    reasons = [np.isin(pair[2], REASONING) for pair in pairs]
    counted = [mask if mask.any() else np.ones_like(mask) for mask in reasons]
    wanted = np.concatenate(  # list (i, j): prompt i, reply j
        [np.concatenate([np.zeros(len(pairs[i][0]), bool), counted[j]]) for i in range(count) for j in range(count)]
    )
    scores = np.zeros(count * count)
    with torch.no_grad():
        for ids, rows, places, tokens in batch_parts(crossed, np.arange(count * count), wanted, tokens_at_once, pad):
            found = network(
                *(part.to(network.device) for part in (ids, rows, places)), with_values=False, with_entropies=False
            )
            np.add.at(scores, crossed.token_list[tokens.numpy()], found.log_probs.double().cpu().numpy())
    table = scores.reshape(count, count)  # [prompt, reply]
    own = np.diag(table)
    mean = np.logaddexp.reduce(table, axis=0) - math.log(count)
    return {
        "collapse/mutual_information": float((own - mean).mean()),
        "collapse/retrieval": float((own >= table.max(0) - 1e-9).mean()),
        "collapse/prompts": float(count),
    }


class Adviser:
    """Compares an iteration with those before it, and says what to try; each piece of advice once per `WINDOW` iterations.

    Args:
        history: (tokens, return) of the last iterations, as `history` has them.
    """

    def __init__(self, history: Sequence[Sequence[float]] = ()) -> None:
        self._past = deque((tuple(pair) for pair in history), maxlen=2 * WINDOW)
        self._silent: dict[str, int] = {}

    @property
    def history(self) -> list[list[float]]:
        """(tokens, return) of the last iterations."""
        return [list(pair) for pair in self._past]

    def advise(self, metrics: Mapping[str, float]) -> list[str]:
        """Lines of advice after an iteration with these metrics."""
        self._past.append((metrics["rollout/tokens"], metrics["rollout/return"]))
        self._silent = {line: left - 1 for line, left in self._silent.items() if left > 1}
        lines = [line for line in self._found(metrics) if line not in self._silent]
        self._silent |= dict.fromkeys(lines, WINDOW)
        return lines

    def _found(self, metrics: Mapping[str, float]) -> Iterator[str]:
        if metrics.get("rollout/form_ok", 1.0) < LOW_FORM:
            yield (
                "fewer than half of the replies have the right form: raise format_penalty, fine-tune on replies of the form first, "
                "or lower lr"
            )
        if metrics.get("train/entropy", 1.0) < LOW_ENTROPY:
            yield "the entropy is below 0.05: raise entropy= or kl=, lower lr, or raise temperature"
        if len(self._past) == 2 * WINDOW:
            numbers = np.array(self._past)
            before, now = numbers[:WINDOW].mean(0), numbers[WINDOW:].mean(0)
            if now[0] > 1.1 * before[0] and now[1] < before[1] - 0.05 * max(1.0, abs(before[1])):
                yield "replies grow longer while returns fall: lower max_new_tokens or lr, raise kl=, or filter more groups"


def _any_of_group(success: NDArray[np.bool_], groups: NDArray[np.int64]) -> float:
    index = np.unique(groups, return_inverse=True)[1]
    return float((np.bincount(index, weights=success) > 0).mean()) if len(index) else 0.0


def _lost(record: object) -> int:
    """Items of a reply that were not executed: unknown ones, and those beyond the limit."""
    verdict = record.verdict  # type: ignore[attr-defined]
    return _count(verdict.dropped) + _count(verdict.overflow)


def _count(items: int | Sequence[object]) -> int:
    return items if isinstance(items, int) else len(items)


def _first_reply(batch: TokenBatch, episode: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Prompt, ids and spans of an episode's first reply."""
    first = int(np.flatnonzero(batch.episode == episode)[0])
    part = slice(int(batch.starts[first]), int(batch.starts[first + 1]))
    ids, spans = batch.ids[part], batch.spans[part]
    sampled = np.flatnonzero(batch.sampled[part])
    if not len(sampled):
        return ids, ids[:0], spans[:0]
    start = int(sampled[0])
    rest = np.flatnonzero(~batch.sampled[part][start:])
    end = start + int(rest[0]) if len(rest) else len(ids)
    return ids[:start], ids[start:end], spans[start:end]


def _crossed(prompts: Sequence[NDArray[np.int64]], replies: Sequence[NDArray[np.int64]]) -> TokenBatch:
    """Every prompt with every reply, as a batch of lists."""
    lists = [np.concatenate([prompt, reply]) for prompt in prompts for reply in replies]
    number, ids = len(lists), np.concatenate(lists)
    empty = np.zeros(number)
    return TokenBatch(
        ids=ids,
        spans=np.zeros(len(ids), np.int8),
        turns=np.zeros(len(ids), np.int64),
        sampler_log_probs=np.zeros(len(ids), np.float32),
        starts=np.concatenate([[0], np.cumsum([len(part) for part in lists])]).astype(np.int64),
        episode=np.arange(number),
        groups=np.arange(number),
        scores=empty,
        turn_rewards=empty[:, None],
        success=empty.astype(bool),
        room_hashes=empty.astype(np.uint64),
    )
