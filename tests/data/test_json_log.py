"""Logs of JSON objects: every line that is not as it was written is noticed, and what a kill cut off is no line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ludory.errors import DataError
from ludory.json_log import append_lines, line_of, read_log, sum_of

ENTRIES: list[dict[str, Any]] = [{"n": k, "text": f"é {k}", "x": [k / 3]} for k in range(5)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    total: int | None = 0
    for entry in ENTRIES:
        append_lines(tmp_path / "log.jsonl", line_of(total, entry))
        total = sum_of(total, entry)
    assert read_log(tmp_path / "log.jsonl") == (ENTRIES, total)
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [*lines[:3], *lines[2:]],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [*lines[:2], lines[2].replace(b'"n":2', b'"n":7'), *lines[3:]],
        lambda lines: [*lines[:2], b"x" + lines[2], *lines[3:]],
        lambda lines: [*lines[:4], b"x" + lines[4]],
        lambda lines: [b"[3]\n", *lines],
        lambda lines: lines[1:],
    ],
    ids=["lost", "doubled", "swapped", "changed", "broken", "last broken", "no object", "first lost"],
)
def test_a_line_that_is_not_as_it_was_written_is_noticed(change: Any, log: Path) -> None:
    log.write_bytes(b"".join(change(log.read_bytes().splitlines(keepends=True))))
    with pytest.raises(DataError, match=r"log.jsonl, line \d"):
        read_log(log)


def test_what_a_kill_cut_off_is_left_out_and_the_log_goes_on(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-9])
    entries, total = read_log(log)
    assert entries == ENTRIES[:4]
    append_lines(log, line_of(total, {"n": 9}))
    assert read_log(log).entries == [*ENTRIES[:4], {"n": 9}]


def test_logs_of_earlier_versions_have_no_checksums(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"n":1}\n{"n":2}\n')
    append_lines(file, line_of(read_log(file).sum, {"n": 3}))
    assert read_log(file) == ([{"n": 1}, {"n": 2}, {"n": 3}], None)
