"""Rows for fine-tuning as tokens: read from files, tokenised again where another tokenizer made them, and put into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.language.model import LanguageModel
from ludory.agents.language.spans import OTHER, PROMPT, token_spans
from ludory.envs import Decoded, parse_reply
from ludory.errors import DataError

from .config import SFTConfig
from .files import RowData, read_parquet, read_rows, texts_of, tokenizer_hash, write_arrow
from .masks import IGNORED, PLACEHOLDER, hide_states, span_weights, targets


class TokenRow(NamedTuple):
    """Prompt and reply."""

    ids: NDArray[np.int64]
    """(n,) tokens."""
    spans: NDArray[np.int8]
    """(n,) span of each, see `ludory.agents.language.spans`."""


class RowBatch(NamedTuple):
    """B rows, padded on the right to length T."""

    ids: Tensor
    """int64 [B, T]."""
    attention: Tensor
    """int64 [B, T], 1 for tokens, 0 for padding."""
    labels: Tensor
    """int64 [B, T]: the token, or -100 where there is no loss."""
    weights: Tensor
    """float32 [B, T]: weight of each token's loss; 0 where there is none."""
    spans: Tensor
    """int64 [B, T]."""


def load_rows(file: str | Path, model: LanguageModel, config: SFTConfig) -> list[TokenRow]:
    """The rows of a file for a model and its mask.

    Rows that this model's tokenizer made are taken as they are; others are made again from their text. Under mask="placeholder"
    the tokenizer gets one more token, and the model a row of embeddings.

    Raises:
        DataError: the file is missing or damaged, or a row is longer than `max_length` and overlong="refuse"; or no row is left.
    """
    data = read_rows(file, config.prompt_key, config.response_key)
    if data.input_ids is None or data.spans is None or data.tokenizer != tokenizer_hash(model.tokenizer):
        rows = [_from_text(data, row, model) for row in range(len(data.prompts))]
    else:
        rows = [TokenRow(*pair) for pair in zip(data.input_ids, data.spans, strict=True)]
        _check_ids(data, rows, model)
    if config.mask == "placeholder" and config.weights is None:
        mark = _placeholder(model)
        rows = [_hidden(row, model, mark) for row in rows]
    longest = min(config.max_length, model.longest or config.max_length)
    return _of_length(data.file, rows, longest, config.overlong)


def load_validation(file: Path, model: LanguageModel, config: SFTConfig) -> list[TokenRow]:
    """As `load_rows`, of a file that may be missing or empty."""
    if not file.is_file() or not read_parquet(file).num_rows:
        return []
    return load_rows(file, model, config)


def _check_ids(data: RowData, rows: Sequence[TokenRow], model: LanguageModel) -> None:
    size = model.model.get_input_embeddings().weight.shape[0]
    for number, row in enumerate(rows):
        if len(row.ids) and row.ids.max() >= size:
            raise DataError(
                f"{data.file}, row {number}, column 'input_ids': got {int(row.ids.max())}, the model has {size} tokens; "
                "generate the data with this model, or leave the column out"
            )


def _from_text(data: RowData, number: int, model: LanguageModel) -> TokenRow:
    prompt, response = data.prompts[number], data.responses[number]
    verdict = parse_reply(
        response, lambda item: Decoded(0), prompt_mode="world_model", opened=prompt.rstrip().endswith("<think>")
    )
    ids, offsets = model.encode_with_offsets(response)
    spans = token_spans(offsets, verdict, len(response)).tolist()
    return row_of(model.encode(prompt), ids, spans, model)


def row_of(prompt: Sequence[int], reply: Sequence[int], spans: Sequence[int], model: LanguageModel) -> TokenRow:
    """A row of a prompt and a reply, which gets the end token if it has none; spans: of the reply's tokens."""
    end = model.tokenizer.eos_token_id
    ending = [] if end is None or (len(reply) and reply[-1] in model.ends) else [end]
    return TokenRow(
        np.array([*prompt, *reply, *ending], np.int64),
        np.array([*[PROMPT] * len(prompt), *spans, *[OTHER] * len(ending)], np.int8),
    )


def _placeholder(model: LanguageModel) -> int:
    """The placeholder's token; the first time it is added to tokenizer and model."""
    if PLACEHOLDER not in model.tokenizer.get_vocab():
        model.tokenizer.add_tokens([PLACEHOLDER], special_tokens=True)
    mark: int = model.tokenizer.convert_tokens_to_ids(PLACEHOLDER)
    if mark >= model.model.get_input_embeddings().weight.shape[0]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model.model.resize_token_embeddings(mark + 1)
    return mark


def _hidden(row: TokenRow, model: LanguageModel, mark: int) -> TokenRow:
    ids, spans = hide_states(row.ids.tolist(), row.spans.tolist(), model, mark)
    return TokenRow(np.array(ids, np.int64), np.array(spans, np.int8))


def _of_length(file: Path, rows: list[TokenRow], longest: int, overlong: str) -> list[TokenRow]:
    """The rows that are not longer than `longest`."""
    lengths = np.array([len(row.ids) for row in rows])
    long = np.flatnonzero(lengths > longest)
    if len(long) and overlong == "refuse":
        shown = ", ".join(f"row {number}: {lengths[number]}" for number in long[:5])
        raise DataError(
            f"{file}: {len(long)} rows have more than {longest} tokens ({shown}{' ...' if len(long) > 5 else ''}); "
            "give a larger max_length, or overlong='drop'"
        )
    kept = [row for row, length in zip(rows, lengths, strict=True) if length <= longest]
    if len(long):
        print(f"ludory: {len(long)} of {len(rows)} rows of {file} have more than {longest} tokens and are left out")
    if not kept:
        raise DataError(f"{file}: no row is left; give a larger max_length, or other data")
    return kept


def batch_of(rows: Sequence[TokenRow], table: NDArray[np.float32], pad: int) -> RowBatch:
    """Rows side by side; table: of `span_weights`; pad: the token of padding."""
    longest = max(len(row.ids) for row in rows)
    shape = (len(rows), longest)
    ids, attention = np.full(shape, pad, np.int64), np.zeros(shape, np.int64)
    labels, weights, spans = np.full(shape, IGNORED, np.int64), np.zeros(shape, np.float32), np.zeros(shape, np.int64)
    for place, row in enumerate(rows):
        n = len(row.ids)
        found = targets(row.ids, row.spans, table)
        ids[place, :n], attention[place, :n], spans[place, :n] = row.ids, 1, row.spans
        labels[place, :n], weights[place, :n] = found.labels, found.weights
    return RowBatch(*map(torch.from_numpy, (ids, attention, labels, weights, spans)))


def shuffled_batches(rows: Sequence[TokenRow], size: int, seed: int, epoch: int) -> Iterator[list[TokenRow]]:
    """All rows once, in an order that seed and epoch determine."""
    order = np.random.default_rng((seed, epoch)).permutation(len(rows))
    for start in range(0, len(rows), size):
        yield [rows[place] for place in order[start : start + size]]


def table_of(config: SFTConfig) -> NDArray[np.float32]:
    """(6,): weight of the loss by span, as the configuration says."""
    return span_weights(config.mask, config.weights)


def is_strict(form: str, reply: str) -> bool:
    """Whether a reply has a thought with one observation before one prediction, and then an answer (the filter of SPA for weak models)."""
    return form == "ok" and reply.count("<observation>") == 1 and reply.count("<prediction>") == 1


def filter_file(file: str | Path, out: str | Path, response_key: str = "response") -> tuple[int, int]:
    """Write the rows whose responses have the strict form (see `GenerateConfig.format`); returns how many were kept, and how many there were.

    Raises:
        DataError: the file is damaged, or has no such column.
    """
    table = read_parquet(Path(file))
    responses = texts_of(Path(file), table, response_key)
    forms = [
        parse_reply(one, lambda item: Decoded(0), prompt_mode="world_model", opened="<think>" not in one).form
        for one in responses
    ]
    kept = [is_strict(form, one) for form, one in zip(forms, responses, strict=True)]
    write_arrow(out, table.filter(pa.array(kept)))
    return sum(kept), len(kept)
