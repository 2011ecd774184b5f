"""`TrajectoryHeader`: describes a set of recorded decisions; it is stored in every shard and in `dataset.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from typing import Any, Literal, NamedTuple, get_args

from ludory.envs import Game, GameFacts, Head, ObservationSpec, Segment
from ludory.envs.recorded_game import package_of, told_facts
from ludory.errors import DataError
from ludory.reading import shown

SCHEMA_VERSION = 1
Kind = Literal["bool", "int32", "int64", "float32", "string"]
MOST_PLAYERS, MOST_SIZE = 127, 1 << 24
"""Limits: of players (int8), and of the size of an observation, a head or an extra column."""
TURNS = ("sequential", "simultaneous")


class ExtraColumn(NamedTuple):
    """A column in addition to the schema, with `size` values of a kind in every row (0: one plain value)."""

    name: str
    kind: Kind
    size: int = 0


@dataclass(frozen=True, slots=True)
class TrajectoryHeader:
    """What was played, by whom, and how it is stored."""

    game: str
    """Id of the game."""
    observation: ObservationSpec
    heads: tuple[Head, ...]
    players: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of `make_game`."""
    agents: tuple[str, ...] = ()
    """Names of the agents by seat; empty if unknown."""
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the file of every agent that is a checkpoint, by name."""
    seed: int | None = None
    """Seed of the games, if known."""
    extra_columns: tuple[ExtraColumn, ...] = ()
    search: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the search, if a seat searched: blueprint, rollouts and so on."""
    split_by: Literal["game", "seed % 1000"] = "game"
    """What decides the split of a game."""
    schema_version: int = SCHEMA_VERSION
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The remaining facts of the game, see `told_facts`; sets of earlier versions have none."""
    package: str = field(default="", compare=False)
    """Package with the rules of the game, if that is not ludory itself."""
    library_version: str = field(default_factory=lambda: version("ludory"), compare=False)

    @property
    def head_sizes(self) -> tuple[int, ...]:
        """Number of values of each head."""
        return tuple(head.size for head in self.heads)

    @property
    def head_names(self) -> tuple[str, ...]:
        """Name of each head."""
        return tuple(head.name for head in self.heads)

    @property
    def num_actions(self) -> int:
        """Length A of an unpacked mask."""
        return sum(self.head_sizes)

    @property
    def mask_bytes(self) -> int:
        """Bytes of a packed mask."""
        return -(-self.num_actions // 8)

    @property
    def observation_bytes(self) -> int:
        """Bytes of one stored observation."""
        return -(-self.observation.size // 8) if self.observation.bits else 4 * self.observation.size

    def check_fits(self, facts: GameFacts) -> None:
        """Refuse a game whose observations, heads or seats differ from those of the trajectories.

        Raises:
            DataError: they differ; the message names both.
        """
        stored = (self.observation.name, self.observation.shape, self.head_sizes, self.players)
        asked = (facts.observation.name, facts.observation.shape, facts.head_sizes, facts.players)
        if (self.observation, self.heads, self.players) != (facts.observation, facts.heads, facts.players):
            raise DataError(
                f"the trajectories are of {self.game}, where a seat sees {stored[0]} {stored[1]} and chooses among {stored[2]}, "
                f"{stored[3]} seats; {facts.name} has {asked[0]} {asked[1]}, {asked[2]}, {asked[3]} seats: "
                "name the game and options that they were recorded with"
            )


def header_of(game: Game, **changes: Any) -> TrajectoryHeader:
    """Header of trajectories of `game`; `changes` are its other fields."""
    facts = game.facts
    base = TrajectoryHeader(
        game.id or facts.name,
        facts.observation,
        facts.heads,
        facts.players,
        dict(game.options),
        facts=told_facts(facts),
        package=package_of(game),
    )
    return replace(base, **changes)


def header_to_json(header: TrajectoryHeader) -> dict[str, Any]:
    """The header as plain JSON values."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(header), default=_plain))
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written in a header")


def header_from_json(content: object, file: object) -> TrajectoryHeader:
    """The inverse of `header_to_json`.

    Raises:
        DataError: the content is not a header, or has another schema version.
    """
    told: dict[str, Any] = content if isinstance(content, dict) else {}
    found = told.get("schema_version")
    if type(found) is not int or found != SCHEMA_VERSION:
        raise DataError(
            f"{file}, field 'schema_version': got {shown(found)}, this version of ludory reads {SCHEMA_VERSION}; "
            "record the games again, or install the version that wrote them"
        )
    try:
        known = {one.name for one in fields(TrajectoryHeader)}
        spec = told["observation"]
        header = TrajectoryHeader(
            **{name: value for name, value in told.items() if name in known}
            | {
                "observation": ObservationSpec(
                    **spec
                    | {"shape": tuple(spec["shape"]), "segments": tuple(Segment(*one) for one in spec["segments"])}
                ),
                "heads": tuple(Head(*one) for one in told["heads"]),
                "agents": tuple(told["agents"]),
                "extra_columns": tuple(ExtraColumn(*one) for one in told["extra_columns"]),
            }
        )
        check_header(header)
        return header
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{file}: damaged header ({type(error).__name__}: {error}); record the games again") from error


def check_header(header: TrajectoryHeader) -> None:
    """Refuse a header that does not describe columns.

    Raises:
        ValueError, TypeError: a field is invalid; the message names it.
    """
    spec = header.observation
    wanted = {
        "game": isinstance(header.game, str),
        "players": _is_size(header.players, MOST_PLAYERS),
        "heads": len(header.heads) > 0 and all(isinstance(name, str) and _is_size(size) for name, size in header.heads),
        "observation.shape": all(map(_is_size, spec.shape)) and 0 < spec.size <= MOST_SIZE,
        "observation.dtype": spec.dtype in ("uint8", "float32"),
        "observation.low": _is_number(spec.low) and _is_number(spec.high),
        "observation.segments": all(
            isinstance(one.name, str) and _is_size(one.length) and _is_size(one.start + 1) for one in spec.segments
        ),
        "options": all(isinstance(one, Mapping) for one in (header.options, header.checkpoints, header.search)),
        "facts": isinstance(header.facts, Mapping) and header.facts.get("turns", "sequential") in TURNS,
        "package": isinstance(header.package, str),
        "agents": all(isinstance(name, str) for name in header.agents),
        "seed": header.seed is None or type(header.seed) is int,
        "extra_columns": all(
            isinstance(one.name, str) and one.kind in get_args(Kind) and (one.size == 0 or _is_size(one.size))
            for one in header.extra_columns
        ),
        "split_by": header.split_by in ("game", "seed % 1000"),
        "library_version": isinstance(header.library_version, str),
    }
    wrong = [name for name, is_right in wanted.items() if not is_right]
    if wrong:
        value = getattr(spec, wrong[0].partition(".")[2]) if "." in wrong[0] else getattr(header, wrong[0])
        raise ValueError(f"field {wrong[0]!r}: got {shown(value)}")
    names = [*header.head_names, *(one.name for one in header.extra_columns)]
    if len(set(names)) < len(names):
        raise ValueError("field 'extra_columns': two columns of one name")


def _is_size(value: object, most: int = MOST_SIZE) -> bool:
    return type(value) is int and 1 <= value <= most


def _is_number(value: object) -> bool:
    return type(value) in (int, float)
