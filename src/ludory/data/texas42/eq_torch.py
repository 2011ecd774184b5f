"""E[Q] records as the dictionaries of `torch.save` that the first pipeline wrote, and back; nothing in a file is executed."""

from __future__ import annotations

import json
from pathlib import Path
from pickle import UnpicklingError

from ludory.atomic import atomic_file
from ludory.errors import DataError

from .eq_records import COLUMNS, EqGame, check_game


def write_pt(file: str | Path, game: EqGame) -> None:
    """Write a dictionary: the tensors by name, and `metadata`, JSON.

    Raises:
        OutputError: the file can not be written.
    """
    import torch

    content = {name: torch.from_numpy(game.columns[name].copy()) for name in COLUMNS}
    with atomic_file(file) as handle:
        torch.save(content | {"metadata": json.dumps(game.header, sort_keys=True)}, handle)


def read_pt(file: str | Path) -> EqGame:
    """The hand in such a dictionary.

    Raises:
        DataError: the file can not be read without executing it, or breaks the schema.
    """
    import torch

    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
        game = EqGame(json.loads(content.pop("metadata")), {name: tensor.numpy() for name, tensor in content.items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, EOFError, UnpicklingError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{file} can not be read ({reason}): must be a dictionary of tensors and metadata") from error
    check_game(game, file)
    return game
