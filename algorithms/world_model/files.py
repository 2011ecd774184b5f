"""Files of world-model data: turns as they were played, rows for fine-tuning, and `meta.json` beside them.

All are written whole or not at all. Turns lie in one shard per batch of generation, so that an interrupted run goes on with the
first batch that is missing. Rows keep tokens with their spans, and the same as text, for other tokenizers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.errors import DataError
from ludory.reading import read_json, shown

META, SUM = "meta.json", "sha256"
TRAIN, VALIDATION = "wm_train.parquet", "wm_val.parquet"
SHARD_BYTES = 128 << 20
"""Most bytes of text and tokens in one file before compression."""
LARGEST_SPAN = 5

_STRINGS = pa.list_(pa.string())
TURNS = pa.schema(
    [
        ("episode", pa.int64()),
        ("turn", pa.int8()),
        ("group", pa.int32()),
        ("room_hash", pa.uint64()),
        ("prompt", pa.string()),
        ("reply", pa.string()),
        ("reply_true", pa.string()),
        ("state_before", pa.string()),
        ("state_after", pa.string()),
        ("states_between", _STRINGS),
        ("actions", pa.list_(pa.int16())),
        ("form", pa.string()),
        ("reward", pa.float32()),
        ("penalty", pa.float32()),
        ("done", pa.bool_()),
        ("success", pa.bool_()),
        ("model", pa.string()),
        ("policy", pa.string()),
        ("version", pa.int32()),
        ("input_ids", pa.list_(pa.int32())),
        ("spans", pa.list_(pa.int8())),
        ("problem", pa.string()),
    ]
)
"""Turns. `reply_true`, `input_ids` and `spans` are after replacement; `problem`: why states could not be replaced, "" if they could.

`prompt` is everything that the model had read.
"""
ROWS = pa.schema(
    [
        ("input_ids", pa.list_(pa.int32())),
        ("spans", pa.list_(pa.int8())),
        ("prompt", pa.string()),
        ("response", pa.string()),
        ("episode", pa.int64()),
        ("turn", pa.int8()),
        ("room_hash", pa.uint64()),
    ]
)
"""Rows for fine-tuning: prompt and corrected reply."""


class RowData(NamedTuple):
    """Rows of one file; lists of n."""

    file: Path
    prompts: list[str]
    responses: list[str]
    input_ids: list[NDArray[np.int64]] | None
    """None: the file holds text only."""
    spans: list[NDArray[np.int8]] | None
    tokenizer: str | None
    """Hash of the tokenizer that made the ids; None: unknown."""


def turns_file(folder: str | Path, batch: int) -> Path:
    """The shard of one batch of generation."""
    return Path(folder) / f"turns-{batch:05d}.parquet"


def write_table(file: str | Path, columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> None:
    """Write columns as a zstd-compressed Parquet file, whole or not at all.

    Raises:
        DataError: the content is larger than a shard may be, or a value does not fit its column.
        OutputError: the file cannot be written.
    """
    try:
        table = pa.table(
            {name: pa.array(columns[name], schema.field(name).type) for name in schema.names}, schema=schema
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise DataError(f"{file}: a value does not fit its column: {error}") from error
    if table.nbytes > SHARD_BYTES:
        raise DataError(
            f"{file}: {table.nbytes >> 20} MB, a file holds {SHARD_BYTES >> 20} MB at most; generate smaller batches (--groups)"
        )
    write_arrow(file, table)


def write_arrow(file: str | Path, table: pa.Table) -> None:
    """Write a table as zstd-compressed Parquet, whole or not at all."""
    with atomic_file(file) as handle:
        # so that damaged pages are noticed when they are read
        pq.write_table(table, handle, compression="zstd", write_page_checksum=True)


def write_meta(folder: str | Path, content: Mapping[str, Any]) -> None:
    """Write `meta.json`."""
    write_record(Path(folder) / META, content)


def read_meta(folder: str | Path) -> dict[str, Any] | None:
    """Content of `meta.json`; None if there is none.

    Raises:
        DataError: it is damaged.
    """
    return read_record(Path(folder) / META, "generate the data again")


def write_record(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with its own SHA-256."""
    # through JSON once: the hash is of what a reader gets back, tuples being lists there
    plain = json.loads(json.dumps(dict(content)))
    with atomic_file(file, "w") as handle:
        handle.write(json.dumps({**plain, SUM: config_hash(plain)}, indent=1, sort_keys=True) + "\n")


def read_record(file: Path, cure: str) -> dict[str, Any] | None:
    """What `write_record` wrote; None if there is no such file.

    Raises:
        DataError: it is damaged; the message ends with `cure`. Files of earlier versions have no SHA-256.
    """
    if not file.exists():
        return None
    try:
        found = read_json(file)
        if not isinstance(found, dict):
            raise ValueError(f"got {shown(found)}, must be an object")
        if found.pop(SUM, None) not in (None, config_hash(found)):
            raise ValueError("it does not have the SHA-256 that was written with it")
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: damaged ({error}); put a copy of the file back, or {cure}") from error
    return found


def read_table(file: str | Path, schema: pa.Schema) -> pa.Table:
    """A file of turns or rows, with the columns of `schema`.

    Raises:
        DataError: missing, damaged, or a column is missing or of another type; names file and column.
    """
    table = read_parquet(Path(file))
    for name in schema.names:
        if name not in table.column_names:
            raise DataError(f"{file}: column {name!r} is missing; it has {', '.join(table.column_names)}")
        got, wanted = table.schema.field(name).type, schema.field(name).type
        # other writers choose wider integers or large strings; a cast that loses nothing is taken
        if not got.equals(wanted):
            try:
                table = table.set_column(table.column_names.index(name), name, table[name].cast(wanted))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise DataError(f"{file}: column {name!r}: got {got}, must be {wanted} ({error})") from error
        if table[name].null_count:
            row = table[name].is_null().to_pylist().index(True)
            raise DataError(f"{file}, row {row}, column {name!r}: got null, must be {wanted}")
    return table.select(schema.names)


def read_parquet(file: Path) -> pa.Table:
    """The table of any Parquet file.

    Raises:
        DataError: it is missing or damaged.
    """
    if not file.is_file():
        raise DataError(f"{file} does not exist; `ludory spa generate` writes {TRAIN} and {VALIDATION}")
    try:
        return pq.read_table(file, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file}: damaged, or no Parquet file ({error}); generate it again") from error


def read_rows(file: str | Path, prompt_key: str = "prompt", response_key: str = "response") -> RowData:
    """Rows of a file of ours, or of any Parquet file with a column of prompts and a column of responses.

    Raises:
        DataError: missing, damaged, empty, or a value is not allowed; names file, row, column, what was got and what is allowed.
    """
    path = Path(file)
    table = read_parquet(path)
    prompts, responses = (texts_of(path, table, name) for name in (prompt_key, response_key))
    if not prompts:
        raise DataError(f"{path}: has no rows; generate more episodes, or loosen the filters")
    if not {"input_ids", "spans"} <= set(table.column_names):
        return RowData(path, prompts, responses, None, None, None)
    ids, spans = (_numbers(path, table, name) for name in ("input_ids", "spans"))
    for row, (one, kinds) in enumerate(zip(ids, spans, strict=True)):
        if len(one) != len(kinds):
            raise DataError(
                f"{path}, row {row}, column 'spans': got {len(kinds)} values, must be {len(one)} as in 'input_ids'"
            )
        if len(kinds) and not (kinds.min() >= 0 and kinds.max() <= LARGEST_SPAN):
            bad = int(kinds.min() if kinds.min() < 0 else kinds.max())
            raise DataError(f"{path}, row {row}, column 'spans': got {bad}, must lie in 0..{LARGEST_SPAN}")
        if len(one) and one.min() < 0:
            raise DataError(f"{path}, row {row}, column 'input_ids': got {int(one.min())}, must be at least 0")
    meta = read_meta(path.parent) or {}
    return RowData(path, prompts, responses, ids, [kinds.astype(np.int8) for kinds in spans], meta.get("tokenizer"))


def texts_of(file: Path, table: pa.Table, name: str) -> list[str]:
    """A column of texts.

    Raises:
        DataError: it is missing, or a value is no text.
    """
    if name not in table.column_names:
        raise DataError(
            f"{file}: column {name!r} is missing; it has {', '.join(table.column_names)}: name others with "
            "--prompt-key and --response-key"
        )
    values: list[str] = table[name].to_pylist()
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise DataError(f"{file}, row {row}, column {name!r}: got {shown(value)}, must be a text")
    return values


def _numbers(file: Path, table: pa.Table, name: str) -> list[NDArray[np.int64]]:
    column = table[name]
    if not (pa.types.is_list(column.type) and pa.types.is_integer(column.type.value_type)):
        raise DataError(f"{file}: column {name!r}: got {column.type}, must be a list of integers")
    found = []
    for row, value in enumerate(column.to_pylist()):
        if value is None or None in value:
            raise DataError(f"{file}, row {row}, column {name!r}: got null, must be a list of integers")
        found.append(np.array(value, np.int64))
    return found


def config_hash(*parts: Any) -> str:
    """A SHA-256 of anything that JSON can hold: equal configurations have equal hashes."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def file_hash(file: Path) -> str:
    """A SHA-256 of the bytes of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        while part := handle.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


# A tokenizer of transformers, as in `LanguageModel`.
def tokenizer_hash(tokenizer: Any) -> str:
    """A SHA-256 of the words of a tokenizer and their numbers."""
    # the order of a dictionary says nothing
    return config_hash(sorted(tokenizer.get_vocab().items(), key=lambda item: (item[1], item[0])))


def code_hash() -> str:
    """A SHA-256 of the code that turns play into data: this package and `ludory.envs.text`."""
    import ludory.envs.text

    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(ludory.envs.text.__file__ or "").parent):
        for file in sorted(folder.glob("*.py")):
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def library_versions(
    names: Iterable[str] = ("ludory", "torch", "transformers", "tokenizers", "peft", "trl"),
) -> dict[str, str]:
    """Versions of the libraries that are installed, by name."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
