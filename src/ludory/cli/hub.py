"""`ludory hub`: agents and recorded games on the Hugging Face hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ludory.arguments import Arg
from ludory.cli.common.options import Count, Flag, Maybe
from ludory.cli.common.parser import parse, run_job
from ludory.cli.common.showing import log_on_stderr
from ludory.visible import visible

JOBS = {
    "push": ("hub:push", "send an agent or recorded games, with a card"),
    "pull": ("hub:pull", "fetch an agent or recorded games"),
    "card": ("hub:card", "print the card that push would write"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("hub", "Agents and recorded games on the Hugging Face hub; `hf auth login` logs in.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """What a card is about, and what it states beside what the file says of itself."""

    path: Annotated[str, Arg(positional=True, metavar="PATH")]
    """Checkpoint, or folder of `ludory record`."""
    license: Annotated[Maybe[str], Arg(metavar="NAME")] = None
    """License that the card states, as the hub writes it, such as mit; none: the card states none."""
    score_games: Count = 0
    """Play N games beside the baseline of the game, as `ludory train` does at its end, and state the score."""


@dataclass(frozen=True, kw_only=True)
class _Card(_Stated):
    """Print the card that `ludory hub push` would write.

    Example: ludory hub card hanabi.ludory owner/name --score-games 1000
    """

    name: Annotated[str, Arg(positional=True, metavar="OWNER/NAME")] = "owner/name"
    """The repository, for the commands on the card."""


@dataclass(frozen=True, kw_only=True)
class _Push(_Stated):
    """Send an agent or recorded games to the hub, with a card and the SHA-256 of every file, in one commit.

    The repository is made if there is none. Everybody can read it unless you type --private.

    Example: ludory hub push hanabi.ludory owner/name --license mit --score-games 1000
    """

    name: Annotated[str, Arg(positional=True, metavar="OWNER/NAME")]
    """The repository."""
    private: Flag = False
    """Only you, and those whom you let, can read it."""
    message: Maybe[str] = None
    """Message of the commit."""
    revision: Maybe[str] = None
    """Branch; it is made if there is none."""


@dataclass(frozen=True, kw_only=True)
class _Pull:
    """Fetch an agent, or recorded games by datasets/owner/name. Every file is compared with its SHA-256; none is run.

    Commands also take hf://owner/name in the place of a checkpoint, without a pull.

    Example: ludory hub pull owner/name --to hanabi.ludory
    """

    name: Annotated[str, Arg(positional=True, metavar="OWNER/NAME")]
    """The repository, or OWNER/NAME@REVISION."""
    revision: Maybe[str] = None
    """Branch, tag or commit."""
    to: Annotated[Maybe[str], Arg(metavar="PATH")] = None
    """File, or folder of recorded games (default: the name of the repository)."""
    force: Flag = False
    """Replace another file, or other recorded games."""


def card(argv: list[str]) -> int:
    """Print a card."""
    chosen = parse(_Card, argv, "hub card")
    from ludory import hub

    print(hub.card(chosen.path, chosen.name, license=chosen.license, score_games=chosen.score_games))
    return 0


def push(argv: list[str]) -> int:
    """Push, and say where it is."""
    chosen = parse(_Push, argv, "hub push")
    from ludory import hub

    with log_on_stderr():
        done = hub.push(
            chosen.path,
            chosen.name,
            private=chosen.private,
            message=chosen.message,
            revision=chosen.revision,
            license=chosen.license,
            score_games=chosen.score_games,
        )
    size = sum(one.size for one in done.files.values())
    print(
        f"{done.address}: {len(done.files):,} file{'' if len(done.files) == 1 else 's'} and the card, {size / 1e6:,.1f} MB\n{visible(done.url)}"
    )
    return 0


def pull(argv: list[str]) -> int:
    """Pull, and say where it is."""
    chosen = parse(_Pull, argv, "hub pull")
    from ludory import hub

    place = hub.pull(chosen.name, chosen.to, revision=chosen.revision, force=chosen.force)
    print(f"{chosen.name} is in {visible(place)}")
    return 0
