"""Stage 1: a model plays while it writes down states; the states are replaced by the true ones, and the turns become rows to learn from.

A batch of episodes is a shard of turns, made from a seed of its own: a run that was killed goes on with the first missing shard, to
the same files. Rows are made from all shards at the end. Training and validation rows have no room in common, and no episode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ludory.agents.language.generators import Generator, Sampling, cpu_backend, make_generator
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.packed import PackedModel
from ludory.agents.language.spans import OBSERVATION, PREDICTION
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.text_ppo.batch import TokenBatch
from ludory.algorithms.text_ppo.rollout import collect
from ludory.cluster.workers import Lent, Workers
from ludory.errors import DataError

from . import files
from .config import GenerateConfig, TextConfig, as_fields, parse_policy, refuse_changes
from .replace import replace_states, state_runs
from .rows import is_strict, row_of
from .scripted import ScriptedGenerator, replies_of, text_env

STAMP = b"ludory_stamp"
RAGEN_TRAIN = 10_000
"""The first of RAGEN's training rooms."""


class Generated(NamedTuple):
    """What generation made."""

    folder: Path
    counts: dict[str, Any]
    """Episodes, turns, success, forms; rows of both files; rows dropped by reason."""


def generate(
    model: LanguageModel,
    text: TextConfig,
    config: GenerateConfig,
    out: str | Path,
    workers: Workers | None = None,
) -> Generated:
    """Play, replace and write; goes on where an interrupted call with the same arguments was, and does nothing if that was complete.

    Args:
        model: plays, or only gives its tokenizer where the policy is a script.
        text: the game and its prompts.
        config: options.
        out: folder for shards of turns, `wm_train.parquet`, `wm_val.parquet` and `meta.json`.
        workers: who play, each with a copy of the model; None: this process.

    Raises:
        OutputError: the folder holds data of another configuration or model, or cannot be written to.
        DataError: no row is left after the filters.
    """
    folder = Path(out)
    policy, chance = parse_policy(config.policy)
    plays = model.hash if policy == "model" else ""
    made_from: dict[str, Any] = {"text": as_fields(text), "generate": as_fields(config)}
    made_from |= {"model": plays, "tokenizer": files.tokenizer_hash(model.tokenizer)}
    del made_from["generate"]["backend"]  # who samples may change on the way
    if config.still == 1:  # data of versions without this option are the same
        del made_from["generate"]["still"]
    stamp = files.config_hash(*made_from.values())
    meta = files.read_meta(folder)
    if meta is not None:
        refuse_changes(folder, "data", {name: meta.get(name) for name in made_from}, made_from)
    if meta is not None and meta["complete"]:
        return Generated(folder, meta["counts"])
    head: dict[str, Any] = {
        "stamp": stamp,
        **made_from,
        "code": files.code_hash(),
        "versions": files.library_versions(),
    }
    if meta is None:
        files.write_meta(folder, head | {"complete": False})
    # a shard of another configuration counts as missing
    missing = [number for number in range(config.batches) if not _stands(files.turns_file(folder, number), stamp)]
    if workers is None:
        generator = make_generator(model, config.backend) if plays and missing else None  # type: ignore[arg-type]
        played: Iterator[dict[str, list[Any]]] = (
            _played(model, generator, text, config, chance, plays, number) for number in missing
        )
    else:
        generator = None
        copy = _Copy(stamp, cpu_backend(config.backend), workers.lend(PackedModel.of(model)))
        tasks = [(copy, number) for number in missing]
        played = workers.map(partial(_played_elsewhere, text, config, chance, plays), tasks)
    for number, columns in zip(missing, played, strict=True):
        files.write_table(files.turns_file(folder, number), columns, files.TURNS.with_metadata({STAMP: stamp}))
        print(f"generate: batch {number + 1} of {config.batches}: {len(columns['turn']):,} turns", flush=True)
    if generator is not None:
        generator.sleep()  # its memory is for the stages that follow
    counts = write_rows(folder, model, config, [files.turns_file(folder, number) for number in range(config.batches)])
    files.write_meta(folder, head | {"complete": True, "counts": counts})
    return Generated(folder, counts)


def _stands(file: Path, stamp: str) -> bool:
    """Whether a shard is there, whole, and of this configuration."""
    try:
        return (files.read_table(file, files.TURNS).schema.metadata or {}).get(STAMP) == stamp.encode()
    except DataError:
        return False


def _played(
    model: LanguageModel,
    generator: Generator | None,
    text: TextConfig,
    config: GenerateConfig,
    chance: float,
    plays: str,
    number: int,
) -> dict[str, list[Any]]:
    """The columns of one shard."""
    # rooms of different seeds do not overlap: a factor far above the number of groups
    first = number * config.groups + (RAGEN_TRAIN if config.seeds == "ragen" else config.seed * 1_000_003)
    env = text_env(
        text,
        config.groups * config.group_size,
        group_size=config.group_size,
        prompt_mode=config.prompt_mode,
        seeds=config.seeds,
        split=config.split,
        seed=first,
    )
    seed = config.seed * 1_000 + number
    player = generator or ScriptedGenerator(env, model, chance, seed)
    sampling = Sampling(config.temperature, config.top_p, config.max_new_tokens)
    batch = collect(model, player, env, sampling, seed)
    env.close()
    return turn_columns(batch, model, config, number, plays)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A model for workers."""

    stamp: str
    backend: str
    packed: Lent = field(compare=False)


# a worker unpacks the model once, not for each shard
@lru_cache(maxsize=1)
def _unpacked(copy: _Copy) -> tuple[LanguageModel, Generator]:
    """The model in a worker."""
    model = copy.packed.get().unpack("cpu")
    return model, make_generator(model, copy.backend)  # type: ignore[arg-type]


def _played_elsewhere(
    text: TextConfig, config: GenerateConfig, chance: float, plays: str, task: tuple[_Copy, int]
) -> dict[str, list[Any]]:
    """As `_played`, in a worker; `task`: the model, and the number of the shard."""
    copy, number = task
    model, generator = _unpacked(copy)
    # one thread per worker: they share the processors
    with one_thread():
        return _played(model, generator if plays else None, text, config, chance, plays, number)


def turn_columns(
    batch: TokenBatch, model: LanguageModel, config: GenerateConfig, number: int = 0, plays: str = ""
) -> dict[str, list[Any]]:
    """Columns of `TURNS` from a batch of episodes with its records, states replaced."""
    columns: dict[str, list[Any]] = {name: [] for name in files.TURNS.names}
    episodes, groups = batch.num_episodes, len(np.unique(batch.groups))
    for reply in replies_of(batch):
        record = batch.records[reply.episode][reply.turn]
        after: str | Sequence[str] = record.state_after if config.prediction == "turn" else record.states_between
        made = replace_states(reply.ids, reply.spans, record.state_before, after, model, config.prediction)  # type: ignore[arg-type]
        states = len(record.verdict.observations) + len(record.verdict.predictions)
        # the verdict parses text, the spans are of tokens: where they disagree, it is not known what to replace
        problem = made.reason or ("unclear_states" if states != len(state_runs(reply.spans)) else "")
        if config.belief == "self":
            # the ablation keeps what the model wrote, even where it could not be corrected
            made, problem = made._replace(ids=reply.ids, spans=reply.spans, text=record.reply), ""
        row = row_of(reply.prompt, made.ids, made.spans, model)
        values = {
            # numbered by batch, whichever batches this call played
            "episode": number * episodes + reply.episode,
            "turn": reply.turn,
            "group": number * groups + int(batch.groups[reply.episode]),
            "room_hash": int(batch.room_hashes[reply.episode]),
            "prompt": model.decode(reply.prompt),
            "reply": record.reply,
            "reply_true": made.text,
            "state_before": record.state_before,
            "state_after": record.state_after,
            "states_between": list(record.states_between),
            "actions": [int(np.ravel(action)[0]) for action in record.actions],
            "form": record.verdict.form,
            "reward": record.reward,
            "penalty": record.penalty,
            "done": record.done,
            "success": record.success,
            "model": plays,
            "policy": config.policy,
            "version": 0,
            "input_ids": row.ids.tolist(),
            "spans": row.spans.tolist(),
            "problem": problem,
        }
        for name, value in values.items():
            columns[name].append(value)
    return columns


def write_rows(folder: Path, model: LanguageModel, config: GenerateConfig, shards: Sequence[Path]) -> dict[str, Any]:
    """Filter the turns of all shards and write both files of rows; returns what was counted.

    Raises:
        DataError: a shard is damaged, or no row is left for training.
    """
    turns = pa.concat_tables([files.read_table(file, files.TURNS) for file in shards])
    table = {name: turns[name].to_pylist() for name in files.TURNS.names if name != "room_hash"}
    table["room_hash"] = np.asarray(turns["room_hash"].to_numpy(), np.uint64)
    dropped: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    kept = []
    draws = np.random.default_rng(config.seed).random(turns.num_rows)
    for place in range(turns.num_rows):
        reason = why_dropped({name: table[name][place] for name in _JUDGED}, config)
        key = table["prompt"][place], table["reply_true"][place]
        if not reason and config.dedup and key in seen:
            reason = "duplicate"
        unchanged = table["state_before"][place] == table["state_after"][place]
        if not reason and unchanged and draws[place] >= config.still:
            reason = "still"
        if reason:
            dropped[reason] += 1
        else:
            seen.add(key)
            kept.append(place)
    # by room, never by row: rows of one room have the same states
    held = held_out(table["room_hash"], np.array(table["group"]), config.validation_share)
    written = {}
    for name, wanted in ((files.TRAIN, False), (files.VALIDATION, True)):
        places = [place for place in kept if held[place] == wanted]
        columns = {
            key: [table[key][place] for place in places] for key in ("input_ids", "spans", "prompt", "episode", "turn")
        }
        columns["response"] = [table["reply_true"][place] for place in places]
        columns["room_hash"] = [int(table["room_hash"][place]) for place in places]
        if name == files.TRAIN and not places:
            raise DataError(
                f"{folder}: no row is left of {turns.num_rows} turns ({dict(dropped)}); loosen the filters, or play more"
            )
        files.write_table(folder / name, columns, files.ROWS)
        written[name] = len(places)
    ends = np.array(table["done"])
    return {
        "episodes": len(set(table["episode"])),
        "turns": turns.num_rows,
        "success": float(np.mean(np.array(table["success"])[ends])) if ends.any() else 0.0,
        "forms": dict(Counter(table["form"])),
        "rows": written,
        "dropped": dict(dropped),
        "rooms": sorted({int(room) for room in table["room_hash"]}),
    }


_JUDGED = ("form", "actions", "problem", "reply", "input_ids", "reply_true")


def why_dropped(turn: dict[str, Any], config: GenerateConfig) -> str:
    """Why a turn does not become a row; "" if it does. `turn`: the values of one row of `TURNS`."""
    if turn["problem"]:
        return str(turn["problem"])
    if not turn["actions"]:
        return "no_action"
    if config.format == "strict" and not is_strict(turn["form"], turn["reply_true"]):
        return "form"
    if len(turn["reply"]) < config.min_chars:
        return "too_short"
    if config.max_chars is not None and len(turn["reply"]) > config.max_chars:
        return "too_long"
    if config.max_tokens is not None and len(turn["input_ids"]) > config.max_tokens:
        return "too_many_tokens"
    return ""


def held_out(rooms: NDArray[np.uint64], groups: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """(n,): turns for validation: a share of the rooms by their hash, of games without rooms a share of the groups.

    The digits are others than those that `split_of` reads, so both splits are independent.
    """
    # 0 stands for "no room"; groups are then hashed by the golden ratio, which spreads consecutive numbers
    named = np.where(rooms == 0, np.asarray(groups, np.uint64) * np.uint64(0x9E3779B97F4A7C15), rooms)
    return np.asarray((named >> np.uint64(32)) % np.uint64(10_000) < round(share * 10_000), np.bool_)


def state_scores(batch: TokenBatch) -> dict[str, float]:
    """Shares over all turns: form "ok", observation copied exactly, next state exact (white space aside); and tokens and actions per episode."""
    ok = copied = exact = turns = actions = 0
    for records in batch.records:
        for record in records:
            turns += 1
            ok += record.verdict.form == "ok"
            actions += len(record.actions)
            copied += _says(record.reply, record.verdict.observation, record.state_before)
            exact += _says(record.reply, record.verdict.prediction, record.state_after)
    turns = max(turns, 1)
    episodes = max(batch.num_episodes, 1)
    wrote = np.isin(batch.spans, (OBSERVATION, PREDICTION)).sum()
    return {
        "form_ok": ok / turns,
        "observation_copied": copied / turns,
        "next_state_exact": exact / turns,
        "actions_per_episode": actions / episodes,
        "tokens_per_episode": float((batch.spans > 0).sum()) / episodes,
        "state_tokens_per_episode": float(wrote) / episodes,
        "success": float(batch.success.mean()),
    }


def _says(reply: str, span: tuple[int, int] | None, state: str) -> bool:
    return span is not None and reply[span[0] : span[1]].split() == state.split()
