"""A folder of networks worth keeping: `catalogue.json` says what each is, how it was scored, and the hash of its file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ludory.atomic import atomic_file
from ludory.errors import CheckpointError, OutputError
from ludory.paths import path_inside
from ludory.reading import read_json

if TYPE_CHECKING:
    from .oracle import Texas42Oracle

FORMAT = "ludory texas42 catalogue 1"
FILE = "catalogue.json"


class Card(NamedTuple):
    """A network of the catalogue."""

    file: str
    sha256: str
    loss_mode: str
    policy: dict[str, Any]
    parameters: int
    trained_on: int
    """States, those of all epochs."""
    scores: dict[str, Any]
    """On validation states, see `tally.as_json`."""
    data: str
    """What these states were."""


def promote(model: Texas42Oracle, folder: str | Path, scores: dict[str, Any], data: str) -> Card:
    """Keep the network in the catalogue under a name made of its size and scores.

    Raises:
        CheckpointError: the catalogue is damaged, or the network has learnt nothing.
        OutputError: it has this name already, or the folder cannot be written to.
    """
    if not model.num_timesteps:
        raise CheckpointError("the network has learnt from no state yet; train it first")
    cards, place = list_cards(folder), Path(folder)
    name = name_of(model, scores["network"]["overall"])
    if any(card.file == name for card in cards) or (place / name).exists():
        raise OutputError(
            f"{place / name} exists; the network has been promoted before, or one of the same scores: remove that first"
        )
    model.save_policy(place / name)
    spec = {"id": model.policy_spec.id, **dict(model.policy_spec.arguments)}
    facts = model.config.loss_mode, spec, model.policy.num_parameters, model.num_timesteps
    card = Card(name, _hash(place / name), *facts, scores, data)
    with atomic_file(place / FILE, "w") as handle:
        content = {"format": FORMAT, "networks": [one._asdict() for one in (*cards, card)]}
        handle.write(json.dumps(content, indent=2) + "\n")
    return card


def name_of(model: Texas42Oracle, overall: dict[str, float]) -> str:
    """`domino-qvalue-817k-gap0.071-mae0.94.ludory`."""
    number = model.policy.num_parameters
    size = f"{number / 1e6:.1f}M" if number >= 1_000_000 else f"{number / 1e3:.0f}k"
    error = (
        f"-mae{overall['q_mae']:.2f}" if model.config.loss_mode == "qvalue" else f"-acc{100 * overall['accuracy']:.1f}"
    )
    return f"domino-{model.config.loss_mode}-{size}-gap{overall['q_gap']:.3f}{error}.ludory"


def list_cards(folder: str | Path) -> list[Card]:
    """The networks of a catalogue, in the order of their promotion; none if there is no catalogue yet.

    Raises:
        CheckpointError: `catalogue.json` is damaged or foreign, or names a file outside the folder.
    """
    file = Path(folder) / FILE
    if not file.exists():
        return []
    try:
        content = read_json(file)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        cards = [Card(**card) for card in content["networks"]]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise CheckpointError(
            f"{file}: not a catalogue of Texas 42 networks, or damaged ({error}); name another folder"
        ) from error
    for card in cards:
        path_inside(folder, card.file, file, CheckpointError)
    return cards


def problem_of(card: Card, folder: str | Path) -> str | None:
    """What is wrong with the file of a card: missing or changed; None if nothing is."""
    file = Path(folder) / card.file
    if not file.exists():
        return "missing"
    return None if _hash(file) == card.sha256 else "changed since it was promoted"


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
