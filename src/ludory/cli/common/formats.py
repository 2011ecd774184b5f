"""Options of formats in the commands that read and write recorded games."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ludory.data import GameFormat
from ludory.data.formats.core import known_formats

from .options import GameId, GameOptions, Maybe, common_fields

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ludory.envs.game import Game

T = TypeVar("T")
Known = TypeVar("Known", bound=GameFormat)


@dataclass(frozen=True, kw_only=True)
class WithGame(GameOptions):
    """Options of the commands that read files which may not say what was played."""

    game: Maybe[GameId] = None
    """What was played, where the files do not say it; recorder: Arena2P-v0 or another, so that its learners take the dataset."""


def formats_that(method: str) -> dict[str, GameFormat]:
    """The formats that can "read", "write" ..., by id."""
    return {id: known for id, known in known_formats().items() if known.can(method)}


def with_formats(options: type[T], known: Iterable[GameFormat], **types: Any) -> type[T]:
    """A dataclass of options with the options of formats, and with other types of some of its own fields."""
    kinds = sorted({type(one): None for one in known}, key=lambda kind: -len(kind.__mro__))
    parts = {"__doc__": options.__doc__, "__annotations__": types} | {
        name: options.__dataclass_fields__[name].default  # type: ignore[attr-defined]
        for name in types
    }
    made: type[T] = dataclass(frozen=True, kw_only=True)(type(options.__name__, (options, *kinds), parts))
    return made


def game_of(known: GameFormat, chosen: WithGame) -> Game | None:
    """The game that was typed, or the one that the format has by default."""
    id = chosen.game or known.default_game
    return chosen.make(id) if id else None


def as_chosen(known: Known, chosen: DataclassInstance) -> Known:
    """A format with what was typed of its options."""
    return replace(known, **common_fields(chosen, known))
