"""Clone a scripted player of Pokémon, go on with PPO by self-play or against a player, and score the network on the way.

The score is the share of battles won against the player that was cloned. Clone, network, curve and result lie in one folder; the command
goes on where an earlier one stopped, and `--minutes` counts the training of all of them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from ludory.agents.make import make_agent
from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.callbacks import BetweenIterations
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.parts import kept_lines
from ludory.charts.curves import Point, Series, curve_plot
from ludory.envs.make import make_game
from ludory.errors import DataError

from .clone import trained_clone, wins_against

SETTINGS: dict[str, Any] = {
    "num_envs": 256,
    "n_steps": 32,
    "batch_size": 1024,
    "n_epochs": 3,
    "learning_rate": 3e-4,
    "final_learning_rate": 3e-5,
    "gamma": 0.999,
    "gae_lambda": 0.9,
    "ent_coef": 0.01,
    "final_ent_coef": 0.002,
    "normalize_observations": False,
}


@dataclass(frozen=True, slots=True)
class PokemonPPOOptions:
    """Options of `ludory bench pokemon-ppo`."""

    game: str = "PokemonGen1RandomBattle-v0"
    """Id of the battles."""
    bot: str = "pokemon/simple-heuristics"
    """Player to clone and to be scored against."""
    policy: str = "pokemon/entity"
    """Network, see `ludory list networks`."""
    clone_games: Natural = 5000
    """Battles of the player to clone; 0: PPO starts from a new network."""
    clone_epochs: Count = 10
    """Passes over them."""
    others: str = "auto"
    """Player that is learnt against; auto: self-play, in which both sides learn."""
    decisions: Count = 12_000_000
    """Of PPO in all, those of both sides in self-play; step sizes follow them. A run that goes on may be told another number, which is noted."""
    minutes: float = 240.0
    """Stop after this time of PPO, evaluations left out."""
    every: Count = 1_000_000
    """Decisions between two evaluations."""
    battles: Count = 500
    """Of each evaluation, half of them from each side."""
    final_battles: Count = 1000
    """Of the last evaluation, on other teams."""
    seed: Natural = 1
    """Of clone and PPO."""
    teams: Natural = 1_000_003
    """Seed of the evaluations; the last one takes the next."""
    workers: int | None = None
    """Processes that play the battles; none: the engine's default."""
    out: Path = Path("runs/pokemon-ppo")
    """Folder of everything."""


@benchmark("pokemon-ppo", resumes=True)
def run(options: PokemonPPOOptions) -> Result:
    """Clone, learn by battles, evaluate."""
    if options.others not in ("auto", "self"):
        make_agent(options.others, make_game(options.game))  # a name that is not known is refused before the clone
    name = f"{options.game}-seed{options.seed}" + _against(options.others)
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    start = _start(options, folder)
    asked = {
        key: value for key, value in asdict(options).items() if key not in ("out", "minutes", "workers", "decisions")
    }
    if options.others == "auto":
        del asked["others"]  # folders of self-play do not name it
    with kept_lines(folder / "curve.jsonl", "a learning curve") as (lines, keep):
        if not lines:
            keep({"asked": asked, "settings": SETTINGS})
            lines = [{"asked": asked, "settings": SETTINGS}]
        if lines[0] != {"asked": asked, "settings": SETTINGS}:
            raise DataError(
                f"{folder / 'curve.jsonl'} was made with {lines[0]}, asked for {asked}; name another folder with --out"
            )
        model, points = _model(options, folder, start), [line for line in lines[1:] if "planned" not in line]
        plans = [line for line in lines[1:] if "planned" in line]
        if not plans or plans[-1]["planned"] != options.decisions:
            plans.append({"planned": options.decisions, "after": model.num_timesteps})
            keep(plans[-1])
        seconds = sum(point["seconds"] for point in points)
        if not any("wins" in point for point in points):
            points.append({"seconds": 0.0, **_score(model, options, options.battles, options.teams)})
            keep(points[-1])
        while model.num_timesteps < options.decisions and seconds < 60 * options.minutes:
            target = min(options.decisions, (model.num_timesteps // options.every + 1) * options.every)
            began = monotonic()
            received = train_to_file(
                model,
                options.decisions,  # step sizes follow the whole run
                folder / "ppo.ludory",
                minutes=options.minutes - seconds / 60,
                save_every=300,
                callback=_StopAt(model, target),
                progress_bar=True,
            )
            point: dict[str, Any] = {"seconds": round(monotonic() - began, 1)}
            seconds += point["seconds"]
            if not received:
                point |= _score(model, options, options.battles, options.teams)
            points.append(point)
            keep(point)
            if received:
                raise_interrupt(received)
    report = {
        **asked,
        "settings": SETTINGS,
        "convention": "most probable actions; half of the battles from each side; a tie counts half",
        "plans": plans,
        "curve": [point for point in points if "wins" in point],
        "decisions_made": model.num_timesteps,
        "training_minutes": round(seconds / 60, 1),
        "decisions_per_second": round(model.num_timesteps / max(seconds, 1e-9)),
        "final": _score(model, options, options.final_battles, options.teams + 1),
    }
    return Result(options.out / f"pokemon-ppo-{name}.json", report, _shown, _chart)


def _against(others: str) -> str:
    """The end of the names of files: nothing in self-play."""
    return "" if others == "auto" else "-against-" + re.sub(r"[^\w-]+", "-", others.removeprefix("pokemon/")).strip("-")


class _StopAt(BetweenIterations):
    """Ends the training between two iterations once it has made so many decisions."""

    def __init__(self, model: PPO, decisions: int) -> None:
        self._algorithm, self._decisions = model, decisions

    def on_rollout_start(self) -> None:
        """Stop, if it is time."""
        if self._algorithm.num_timesteps >= self._decisions:
            self._algorithm.stop()


def _start(options: PokemonPPOOptions, folder: Path) -> str | None:
    """Checkpoint to start from."""
    if not options.clone_games:
        return None
    sizes = options.clone_games, options.clone_epochs, options.seed
    trained_clone(options.game, options.bot, options.policy, *sizes, folder)
    return str(folder / "clone.ludory")


def _model(options: PokemonPPOOptions, folder: Path, start: str | None) -> PPO:
    file = folder / "ppo.ludory"
    game = options.game if options.workers is None else make_game(options.game, workers=options.workers)
    if file.exists():
        return PPO.load(file, game)
    return PPO(options.policy, game, seed=options.seed, init_from=start, others=options.others, **SETTINGS)


def _score(model: PPO, options: PokemonPPOOptions, battles: int, teams: int) -> dict[str, Any]:
    found = wins_against(model.as_agent(), options.bot, options.game, battles, teams)
    return {"decisions": model.num_timesteps, **found}


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for point in (*report["curve"], report["final"]):
        yield (
            f"{point['decisions']:>12,} decisions: wins {point['wins']:.3f} +- {point['stderr']:.3f} of {point['battles']:,} battles"
        )
    yield (f"{report['training_minutes']} minutes of PPO, {report['decisions_per_second']:,} decisions a second")
    if len(report["plans"]) > 1:
        yield "planned for " + ", then ".join(
            f"{plan['planned']:,} decisions (after {plan['after']:,})" for plan in report["plans"]
        )


def _chart(report: Mapping[str, Any]) -> str:
    points = [
        Point(one["decisions"], one["wins"], one["wins"] - 1.96 * one["stderr"], one["wins"] + 1.96 * one["stderr"])
        for one in report["curve"]
    ]
    how = f"against {report['others']}" if "others" in report else "by self-play"
    title = f"{report['game']}: PPO {how}, from a clone"
    caption = f"battles won against {report['bot']}, with 95 % intervals; seed {report['seed']}, {report['training_minutes']} minutes"
    return curve_plot(title, [Series(report["policy"], points)], "share of battles won", [caption])
