"""The cards of pretrained agents: JSON files here. Their weights are a package of their own, `ludory-agents`.

Imports no torch, so that `ludory list` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ludory.errors import DataError
from ludory.plugins.requirements import missing_dependency
from ludory.reading import read_json

FOLDER = Path(__file__).parent


class PretrainedScore(NamedTuple):
    """Mean return of an agent with its standard error; and that of a rival on the same deals."""

    mean: float
    stderr: float
    games: int
    rival: str
    rival_mean: float
    rival_stderr: float
    against: bool = False
    """Whether they played each other, every deal with each of them in each seat."""


class PretrainedCard(NamedTuple):
    """How a pretrained agent was made, and how it plays. The file has more: settings of the training, machine, date."""

    agent: str
    game: str
    command: str
    commit: str | None
    score: PretrainedScore
    size: int
    """Of the weights in bytes."""
    more_scores: tuple[PretrainedScore, ...] = ()
    """With other rivals."""
    draws: bool = False
    """Whether the network draws its actions unless told otherwise."""
    exploitability: float | None = None
    """Exact; None: not computed."""
    simulations: int = 0
    """Of a search with the network before every move, unless told otherwise; 0: it plays alone."""

    def __str__(self) -> str:
        score, others = self.score, (self.score, *self.more_scores)
        return ", ".join(
            [
                f"{score.mean:.2f} ± {score.stderr:.2f} over {score.games:,} {'deals' if score.against else 'games'} of {self.game} "
                f"({'; '.join(_beside(one, score.mean) for one in others)})",
                *([f"{self.simulations} simulations a move"] if self.simulations else []),
                *([] if self.exploitability is None else [f"exploitability {self.exploitability:.1g}"]),
                f"{self.size / 1000:.0f} kB",
            ]
        )


def _beside(score: PretrainedScore, first: float) -> str:
    """A rival and, if it sat at the same table, the agent's return against it where that is not stated already."""
    if not score.against:
        return f"{score.rival}: {score.rival_mean:.2f}"
    return f"against {score.rival}" + ("" if score.mean == first else f": {score.mean:.2f}")


def weights_folder() -> Path:
    """Where the weights of all agents are.

    Raises:
        PluginError: their package is not installed.
    """
    try:
        import ludory_agents
    except ModuleNotFoundError as error:
        raise missing_dependency("an agent that ships with Ludory", "ludory_agents") from error
    return ludory_agents.FOLDER


def weights_file(agent: str, folder: Path | None = None) -> Path:
    """Where the weights of an agent are, such as `hanabi-ppo.ludory` of hanabi/ppo; None: in the package that ships them."""
    return (weights_folder() if folder is None else folder) / f"{agent.replace('/', '-')}.ludory"


def card_file(agent: str, folder: Path = FOLDER) -> Path:
    """Where the card of an agent is."""
    return folder / f"{agent.replace('/', '-')}.json"


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
        first, *more = (
            PretrainedScore(**{name: score[name] for name in PretrainedScore._fields if name in score})
            for score in (found["score"], *found.get("more_scores", ()))
        )
        own = {name: found[name] for name in PretrainedCard._fields if name in found and "score" not in name}
        return PretrainedCard(score=first, more_scores=tuple(more), **own)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: not the card of a pretrained agent, or damaged ({error!r})") from error
