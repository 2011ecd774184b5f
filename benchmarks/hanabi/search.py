"""Play a bot alone, with one seat that searches, and with both seats searching, on the same decks. A bomb scores 0.

Each deck's result is on disk as soon as it is played, and a stopped command goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ludory.agents.make import make_agent
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, TwoOrMore
from ludory.benchmarks.harness.parts import check_setting, in_processes, kept_lines
from ludory.envs.make import make_game
from ludory.errors import DataError

from .search_deck import ALONE, SINGLE, DeckTask, SearchSetting, play_deck, spec
from .search_report import chart, shown, summary

RESULTS = "decks.jsonl"


@dataclass(frozen=True, slots=True)
class HanabiSearchOptions:
    """Options of `ludory bench hanabi-search`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    blueprint: str = "hanabi/smartbot"
    """Bot or checkpoint to search over."""
    observation: str = "card_knowledge"
    """Of the game; networks look by the one that they were trained with, for which "conventions" must be given if it is that."""
    decks: TwoOrMore = 500
    """How many, the same for all."""
    budget: tuple[Count, ...] = (10_000,)
    """Rollouts a decision."""
    contenders: tuple[Literal["single", "joint", "independent"], ...] = ("single",)
    """Who searches; joint takes many times as long: see range_max in docs/jobs/search.md. independent: both seats, each as if the
    other did not (unsound=True)."""
    options: str = ""
    """Further arguments of sparta, e.g. 'threshold=0.1, errors=0'."""
    seed: int = 2_000_003
    """Of the decks, unlike those that settings were chosen on (1000003)."""
    processes: Count = 1
    """Games at once, one thread each."""
    name: str = "run"
    """Of the result: hanabi-search-NAME.json and .svg."""
    out: Path = Path("runs/hanabi-search")
    """Folder of all results."""


@benchmark("hanabi-search", resumes=True)
def run(options: HanabiSearchOptions) -> Result:
    """Play what is not played yet.

    Raises:
        OptionError: an option is not allowed.
        DataError: the folder holds results of other settings.
    """
    more = f", {options.options}" if options.options else ""
    setting = SearchSetting(options.game, options.blueprint, options.seed, more, options.observation)
    game = make_game(options.game, observation=options.observation)
    for contender in options.contenders:
        make_agent(spec(setting, contender, 1), game)  # fails before anything is written
    check_setting(options.out / "setting.json", setting._asdict())
    tasks = [DeckTask(ALONE, 0, deck) for deck in range(options.decks)]
    tasks += [DeckTask(c, b, deck) for deck in range(options.decks) for b in options.budget for c in options.contenders]
    report = {
        **setting._asdict(),
        "decks": options.decks,
        "processes": options.processes,
        "convention": "a bomb scores 0; gains deck by deck over the blueprint in all seats, with 95 % bootstrap intervals",
        "contenders": summary(_played(options, setting, tasks)),
    }
    return Result(options.out / f"hanabi-search-{options.name}.json", report, shown, chart)


def _played(options: HanabiSearchOptions, setting: SearchSetting, tasks: Sequence[DeckTask]) -> list[dict[str, Any]]:
    """Results of all tasks, in order.

    Raises:
        DataError: a line of the file is not a result.
    """
    file = options.out / RESULTS
    with kept_lines(file, "benchmark") as (lines, append):
        try:
            done = {DeckTask(line["contender"], line["budget"], line["deck"]): line for line in lines}
        except (KeyError, TypeError) as error:
            raise DataError(
                f"{file} holds what is not a result ({error}); remove that line to play it again"
            ) from error
        waiting = [task for task in tasks if task not in done]
        print(f"{len(tasks) - len(waiting):,} of {len(tasks):,} games are played, {len(waiting):,} to go", flush=True)
        play = partial(play_deck, setting)
        warm_up = partial(play, DeckTask(SINGLE, 20, 0))  # compiles
        for line in in_processes(play, waiting, options.processes, warm_up):
            done[DeckTask(line["contender"], line["budget"], line["deck"])] = line
            append(line)
    return [done[task] for task in tasks]
