"""Types of options, and the options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from ludory.arguments import Arg, Positional, read_arguments, whole_number
from ludory.errors import OptionError
from ludory.plugins.spec import parse_value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ludory.cluster.placement import PlacedOn
    from ludory.envs.game import Game


def count(text: str) -> int:
    """2000000 for "2e6", "2_000_000" or "2,000,000".

    Raises:
        ValueError: the text is not a whole number.
    """
    return whole_number(text.replace(",", ""))


def seconds(text: str) -> float:
    """0.5 for "0.5".

    Raises:
        ValueError: the text is not a number, or below 0, or not finite.
    """
    with suppress(ValueError):
        if 0 <= (number := float(text)) < math.inf:
            return number
    raise ValueError("must be a time in seconds, 0 or more")


T = TypeVar("T")
Maybe: TypeAlias = T | None
Flag: TypeAlias = bool
"""Off unless it is typed."""
Count = Annotated[int, Arg("N", read=count)]
Seconds = Annotated[float, Arg("SECONDS", read=seconds)]
File = Annotated[Path, Arg("FILE", read=Path)]
Folder = Annotated[Path, Arg("DIR", read=Path)]
FileArgument = Positional[File]
FolderArgument = Annotated[Folder, Arg(positional=True, metavar="DIR")]
Paths = Annotated[tuple[Path, ...], Arg(positional=True, metavar="PATH...")]
Agents = Annotated[tuple[str, ...], Arg(positional=True, metavar="AGENT...")]
GameId = Annotated[str, Arg(aliases=("--env",), metavar="ID")]
"""Id of a game, in a field `game`: --game, and --env as in `ludory train`."""
EnvId = Annotated[str, Arg(aliases=("--game",), metavar="ID")]
"""Id of a game, in a field `env`: --env, and --game as in `ludory eval`."""
Assignments = Annotated[tuple[str, ...], Arg(repeated=True, metavar="KEY=VALUE")]


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """{"players": 3, "observation": "minimal"} for ["players=3", "observation=minimal"].

    Values are numbers, `true`, `false`, `none` or other Python literals; anything else is a string.

    Raises:
        OptionError: a text is not KEY=VALUE, or a key comes twice.
    """
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key.isidentifier():
            raise OptionError(f"--option {text}: must be KEY=VALUE, e.g. --option players=3")
        if key in options:
            raise OptionError(f"--option {key} is given twice; leave one out")
        options[key] = parse_value(value)
    return options


@dataclass(frozen=True, kw_only=True)
class GameOptions:
    """Options of the game, for the commands that make one."""

    option: Assignments = ()
    """Option of the game, e.g. --option players=3."""

    def make(self, id: str) -> Game:
        """The game `id` with these options."""
        from ludory.envs.make import make_game

        return make_game(id, **parse_options(self.option))


@dataclass(frozen=True, kw_only=True)
class PlayedGames(GameOptions):
    """Options of the commands in which agents play many games."""

    agents: Agents
    """Id, id(option=1) or checkpoint: one for all seats, or one for each."""
    game: GameId
    """Id of a game; `ludory list games` shows all."""
    games: int = 1000
    """Number of games."""
    seed: int = 0
    """Seed of the deals, and of agents that draw their moves."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Options of the commands whose parts can run in other processes."""

    jobs: Count = 0
    """Run the parts of the job in N processes of this machine, with one thread each."""
    ray: Flag = False
    """Run the parts of the job on a Ray cluster; needs ludory[ray]."""
    address: Annotated[str, Arg(metavar="ADDRESS")] = "local"
    """Cluster for --ray: local (started on this machine, for this job), auto (the one that this machine belongs to), or HOST:PORT of its head."""

    @property
    def placement(self) -> PlacedOn:
        """Where the parts of the job run."""
        from ludory.cluster.placement import PlacedOn

        return PlacedOn(self.ray, self.address, jobs=self.jobs)


def common_fields(chosen: DataclassInstance, config: DataclassInstance | type[DataclassInstance]) -> dict[str, Any]:
    """What the options `chosen` say of the fields of the dataclass `config`, by name."""
    names = {field.name for field in fields(chosen)}
    return {field.name: getattr(chosen, field.name) for field in fields(config) if field.name in names}


def seat_names(players: int, agents: Sequence[str], human: int | None = None) -> list[str]:
    """The agent of every seat, "human" in the seat `human` if that is not None.

    Raises:
        OptionError: there is no such seat, or neither one agent nor one for each seat.
    """
    if human is None:
        free, wrong = (
            players,
            f"got {len(agents)} agents for {players} seats: name one for all seats, or one for each, e.g. random",
        )
    else:
        if not 0 <= human < players:
            raise OptionError(f"--seat {human}: this game has the seats 0 to {players - 1}")
        free = players - 1
        wrong = f"--with names {len(agents)} agents, but {free} {'seat is' if free == 1 else 'seats are'} free: name one for all of them, or one for each"
    if len(agents) not in (1, free):
        raise OptionError(wrong)
    names = list(agents) * free if len(agents) == 1 else list(agents)
    return names if human is None else [*names[:human], "human", *names[human:]]


def behind_dashes(argv: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before and after `--`."""
    place = argv.index("--") if "--" in argv else len(argv)
    return argv[:place], argv[place + 1 :]


def learner_options(command: str, learner: str, argv: list[str]) -> dict[str, Any]:
    """Fields of the config of the algorithm `learner` that differ from their defaults, from the arguments after `--`."""
    from ludory.plugins import algorithms

    kind = algorithms.options(learner)
    config = read_arguments(kind, argv, f"{command} ... -- ({learner})")
    plain = kind()
    return {
        field.name: getattr(config, field.name)
        for field in fields(kind)
        if getattr(config, field.name) != getattr(plain, field.name)
    }
