"""JSON and YAML that no writer of Ludory wrote: one named error, whoever reads it, and no infinite number is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ludory.agents.texas42.play.fast_policy import read_weights
from ludory.algorithms.league.log.events import HEAD, _read_head
from ludory.algorithms.texas42.oracle.flywheel import read_scores
from ludory.algorithms.tuned.settings import read_tuned
from ludory.benchmarks.harness.parts import check_setting
from ludory.data.mirror import Mirror
from ludory.data.pokemon.rejections import Rejection
from ludory.data.pokemon.replays import read_battles
from ludory.data.storage import LIST, Store
from ludory.errors import LudoryError
from ludory.reading import JsonError, parse_json


def _mirrored(file: Path) -> None:
    mirror = Mirror(f"file://{file.parent}/store", file.parent / "work", is_file=False)
    mirror.open()
    (note,) = (file.parent / "work").glob("*/.store.json")
    note.write_bytes(file.read_bytes())
    mirror.open()


def _listed(file: Path) -> None:
    (file.parent / LIST).write_bytes(file.read_bytes())
    Store(f"file://{file.parent}").files()


def _head(file: Path) -> None:
    file.with_name(HEAD).write_bytes(file.read_bytes())
    _read_head(file)


def _configuration(file: Path) -> None:
    from ludory.algorithms.world_model.config import read_config

    read_config(file)


READERS: dict[str, Callable[[Path], Any]] = {
    "list of a store": _listed,
    "note of a mirror": _mirrored,
    "tuned settings": lambda file: read_tuned(file.read_bytes(), file.name),
    "weights of a quick policy": read_weights,
    "head of a league": _head,
    "scores of a flywheel": read_scores,
    "setting of a benchmark": lambda file: check_setting(file, {"a": 1}),
    "configuration of spa": _configuration,
}
TEXTS = {
    "no UTF-8": b'{"a": "\xff"}',
    "deep": b"[" * 1_500 + b"]" * 1_500,
    "infinite": json.dumps(
        {"files": {"x": {"size": 1e999, "sha256": "0" * 64}}, "sending": None, "seq": 1e999, "bytes": 1, "sha256": ""}
        | {"stored": {"x": {"size": 1e999, "sha256": "0" * 64}}}
    ).encode(),
    "digits": b'{"a": ' + b"9" * 5000 + b"}",
    "no object": b"[3]",
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_json_that_is_damaged_has_a_named_error(reader: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(TEXTS[text])
    with pytest.raises(LudoryError):
        READERS[reader](file)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused_where_asked(number: str) -> None:
    with pytest.raises(JsonError, match=f"{number} is not a finite number"):
        parse_json(f'{{"a": [{number}]}}', finite=True)
    assert parse_json('{"a": [-1.5e3, 2]}', finite=True) == {"a": [-1500.0, 2]}


def test_a_list_of_replays_that_is_damaged_in_its_first_line_is_a_rejection(tmp_path: Path) -> None:
    (tmp_path / "replays.json").write_text('[{"id": \x01}]\n{"id": 3}\n')
    found = list(read_battles(tmp_path / "replays.json"))
    assert all(isinstance(one, Rejection) for one in found)
    assert len(found) == 2
