"""The cards of pretrained agents: JSON files beside the weights. Imports no torch, so that `ludory list` stays quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ludory.errors import DataError
from ludory.reading import read_json

FOLDER = Path(__file__).parent


class PretrainedScore(NamedTuple):
    """Mean return of an agent with its standard error; and that of a rule bot on the same deals."""

    mean: float
    stderr: float
    games: int
    rival: str
    rival_mean: float
    rival_stderr: float


class PretrainedCard(NamedTuple):
    """How a pretrained agent was made, and how it plays. The file has more: settings of the training, machine, date."""

    agent: str
    game: str
    command: str
    commit: str | None
    score: PretrainedScore
    size: int
    """Of the weights in bytes."""

    def __str__(self) -> str:
        score = self.score
        return (
            f"{score.mean:.2f} +- {score.stderr:.2f} over {score.games:,} games of {self.game} "
            f"({score.rival}: {score.rival_mean:.2f}), {self.size / 1000:.0f} kB"
        )


def weights_file(agent: str, folder: Path = FOLDER) -> Path:
    """Where the weights of an agent are, such as `hanabi-ppo.ludory` of hanabi/ppo."""
    return folder / f"{agent.replace('/', '-')}.ludory"


def card_file(agent: str, folder: Path = FOLDER) -> Path:
    """Where the card of an agent is."""
    return weights_file(agent, folder).with_suffix(".json")


def pretrained_agents(folder: Path = FOLDER) -> list[str]:
    """Ids of the agents whose cards lie in `folder`, sorted."""
    return sorted(read_card_file(file).agent for file in folder.glob("*.json"))


def read_card(agent: str, folder: Path = FOLDER) -> PretrainedCard | None:
    """The card of an agent; None if it has none.

    Raises:
        DataError: the file is damaged.
    """
    file = card_file(agent, folder)
    return read_card_file(file) if file.exists() else None


def read_card_file(file: Path) -> PretrainedCard:
    """The card in a file.

    Raises:
        DataError: it is not a card, or damaged.
    """
    try:
        found: dict[str, Any] = read_json(file)
        score = PretrainedScore(**{name: found["score"][name] for name in PretrainedScore._fields})
        own = {name: found[name] for name in PretrainedCard._fields if name != "score"}
        return PretrainedCard(score=score, **own)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: not the card of a pretrained agent, or damaged ({error!r})") from error
