"""Record battles of a scripted player against itself, clone it, and let the clone play against it.

A perfect clone wins half of its battles. Each seed records battles of its own and trains a network of its own. Battles, networks and
result lie in one folder; the command goes on where an earlier one stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.record import record
from ludory.algorithms.bc import BC
from ludory.algorithms.offline.batches import ask, read_batches
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.result_file import write_result
from ludory.data import TrajectoryDataset
from ludory.envs.engine.protocol import on_host
from ludory.errors import DataError

SETTINGS: dict[str, Any] = {
    "batch_size": 512,
    "learning_rate": 1e-3,
    "final_learning_rate": 1e-5,
    "label_smoothing": 0.0,
    "value_coef": 0.25,
    "checkpoint_dir": None,
}
"""Of behaviour cloning; the value is learnt too, so that self-play may start from it."""
BATCH = 4096


@dataclass(frozen=True, slots=True)
class PokemonBCOptions:
    """Options of `ludory bench pokemon-bc`."""

    game: str = "PokemonGen1RandomBattle-v0"
    """Id of the battles."""
    bot: str = "pokemon/simple-heuristics"
    """Player to clone."""
    policy: str = "pokemon/entity"
    """Network, see `ludory list networks`."""
    games: Count = 5000
    """Battles to record for each seed; both sides are learnt from."""
    epochs: Count = 10
    """Passes over them."""
    seeds: tuple[Natural, ...] = (1, 2, 3)
    """Of the battles and the training; a clone each."""
    battles: Count = 1000
    """Of each clone against the player, half of them from each side."""
    teams: Natural = 1_000_003
    """Seed of these battles, unlike the recordings'."""
    out: Path = Path("runs/pokemon-bc")
    """Folder for battles, clones and result."""


@benchmark("pokemon-bc", resumes=True)
def run(options: PokemonBCOptions) -> Result:
    """Record, clone, play; seed by seed."""
    clones = [_clone(options, seed) for seed in options.seeds]
    wins = np.array([clone["play"]["wins"] for clone in clones])
    report = {
        **{name: value for name, value in asdict(options).items() if name != "out"},
        "settings": SETTINGS,
        "convention": "most probable actions; half of the battles from each side; a tie counts half",
        "clones": clones,
        "wins": {"mean": float(wins.mean()), "stderr_over_seeds": _stderr(wins)},
        "accuracy": {"mean": float(np.mean([clone["held_out"]["accuracy"] for clone in clones]))},
    }
    return Result(options.out / f"pokemon-bc-{options.game}.json", report, _shown)


def _clone(options: PokemonBCOptions, seed: int) -> dict[str, Any]:
    """Figures of the clone of one seed, measured now or by an earlier command."""
    folder = options.out / f"{options.game}-seed{seed}"
    result = folder / "result.json"
    asked = {"bot": options.bot, "policy": options.policy, "games": options.games, "epochs": options.epochs}
    asked |= {"battles": options.battles, "teams": options.teams, "settings": SETTINGS}
    if result.exists():
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        if found["asked"] != asked:
            raise DataError(
                f"{result} was made with {found['asked']}, asked for {asked}; name another folder with --out"
            )
        return found
    model = trained_clone(options.game, options.bot, options.policy, options.games, options.epochs, seed, folder)
    play = wins_against(model.as_agent(), options.bot, options.game, options.battles, options.teams)
    found = {"seed": seed, "asked": asked, "held_out": _held_out(model, folder / "battles"), "play": play}
    write_result(result, found)
    return found


def trained_clone(game: str, bot: str, policy: str, games: int, epochs: int, seed: int, folder: Path) -> BC:
    """A clone of `bot` in `folder`, recorded and trained as far as that is still to be done."""
    record(bot, game, games, folder / "battles", seed=seed, shard_games=250)
    file = folder / "clone.ludory"
    data = str(folder / "battles")
    if file.exists():
        model = BC.load(file, dataset=data)
    else:
        model = BC(policy, game, dataset=data, seed=seed, num_epochs=epochs, **SETTINGS)
    if not model.finished and (received := train_to_file(model, model.planned_timesteps, file, progress_bar=True)):
        raise_interrupt(received)
    return model


def wins_against(agent: Agent, bot: str, game: str, battles: int, teams: int) -> dict[str, Any]:
    """Share of battles won by `agent` with its standard error; every pair of teams is played from both sides, ties count half."""
    played = evaluate([agent, bot], game, games=-(-battles // 2), seed=teams, rotate=True)
    return {
        "battles": 2 * played.games,
        "wins": float(np.asarray(played.mean)[0] + 1) / 2,
        "stderr": float(np.asarray(played.stderr)[0]) / 2,
        "against": bot,
    }


@torch.no_grad()
def _held_out(model: BC, battles: Path) -> dict[str, Any]:
    """Decisions of test battles: how many the clone makes too, in all and by kind, beside the strongest move.

    `accuracy_of_choices` leaves out decisions with a single legal action, which anybody gets right.
    """
    breakdown = model.game.analysis.decision_kinds
    assert breakdown is not None
    right, strongest, decisions = (np.zeros(1 + len(breakdown.groups)) for _ in range(3))
    for batch in read_batches(TrajectoryDataset(battles, "test"), BATCH, whole_games=model.policy.recurrent):
        said = ask(model.policy.eval(), batch)
        actions = said.actions[:, 0]
        seen = on_host(said.observations), on_host(said.masks)
        members = torch.from_numpy(breakdown.members(*seen, on_host(actions)))
        members = torch.cat([torch.ones_like(members[:, :1]), members], -1).double()
        chosen = model.policy.distribution(said.logits, said.masks).mode()[:, 0]
        power = torch.from_numpy(breakdown.choices(*seen))
        right += ((chosen == actions).double() @ members).numpy()
        strongest += ((power == actions).double() @ members).numpy()
        decisions += members.sum(0).numpy()
    shares, lines = right / np.maximum(decisions, 1), strongest / np.maximum(decisions, 1)
    kinds = {
        name: {"decisions": int(decisions[k]), "accuracy": float(shares[k]), "max_power": float(lines[k])}
        for k, name in enumerate(breakdown.groups, 1)
        if decisions[k]
    }
    single = breakdown.groups.index("single") + 1
    choices = decisions[0] - decisions[single]
    return {
        "decisions": int(decisions[0]),
        "accuracy": float(shares[0]),
        "accuracy_of_choices": float((right[0] - right[single]) / choices),
        "max_power": float(lines[0]),
        "by_kind": kinds,
    }


def _stderr(values: np.ndarray[Any, Any]) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for clone in report["clones"]:
        held_out, play = clone["held_out"], clone["play"]
        moves = held_out["by_kind"]["moves"]
        yield (
            f"seed {clone['seed']}: accuracy {held_out['accuracy']:.4f} over {held_out['decisions']:,} held-out decisions, "
            f"{held_out['accuracy_of_choices']:.4f} where there is a choice; moves "
            f"{moves['accuracy']:.4f}, max power {moves['max_power']:.4f}; wins {play['wins']:.3f} +- {play['stderr']:.3f} of "
            f"{play['battles']:,} battles against {play['against']}"
        )
