"""Train the agents that ship with Ludory, score each as it ships, and write its weights and its card.

The same command makes the same agent again. Weights are rounded to 16 bits before they are scored, so a card describes the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.evaluation_result import EvaluationResult, paired_difference
from ludory.agents.make import make_agent
from ludory.agents.pretrained.cards import FOLDER, card_file, weights_file
from ludory.algorithms.learner import Learner
from ludory.algorithms.make import load, make_algorithm
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.checkpoints.checkpoint import read_checkpoint, read_header, write_checkpoint
from ludory.envs.make import make_game
from ludory.errors import OptionError


@dataclass(frozen=True, slots=True)
class RecipeStage:
    """A part of a training, which starts from the network of the part before it."""

    name: str
    timesteps: int
    config: Mapping[str, Any]
    """Options of the algorithm that differ from the recipe's."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game that differ from the recipe's."""


@dataclass(frozen=True, slots=True)
class PretrainedRecipe:
    """How an agent that ships is trained and scored."""

    game: str
    options: Mapping[str, Any]
    """Options of the game, such as the observation."""
    algorithm: str
    policy: str
    config: Mapping[str, Any]
    stages: tuple[RecipeStage, ...]
    rival: str
    """Agent scored beside it, on the same deals."""
    others: str | None = None
    """Agent in the other seats while either of them is scored; None: copies of the scored agent."""


# A bomb costs all points, and a beginner's games nearly all end with one. Playing cards is learnt first where a bomb keeps them.
_HANABI = PretrainedRecipe(
    game="Hanabi2P-v0",
    options={"observation": "tactical"},
    algorithm="ppo",
    policy="mlp",
    config={"num_envs": 1024, "n_steps": 32, "batch_size": 4096, "n_epochs": 2, "gamma": 0.999, "hidden": (192, 128)},
    stages=(
        RecipeStage(
            "keep",
            13_000_000,
            {"learning_rate": 1e-3, "final_learning_rate": 5e-4, "ent_coef": 0.02, "final_ent_coef": 0.01},
            {"bomb": "keep"},
        ),
        RecipeStage(
            "zero",
            14_000_000,
            {"learning_rate": 8e-4, "final_learning_rate": 5e-5, "ent_coef": 0.01, "final_ent_coef": 0.001},
        ),
    ),
    rival="hanabi/iggi",
)

RECIPES: dict[str, PretrainedRecipe] = {"hanabi/ppo": _HANABI}


@dataclass(frozen=True, slots=True)
class PretrainedOptions:
    """Options of `ludory bench pretrained`."""

    agent: str = "hanabi/ppo"
    """Id of the agent to make."""
    checkpoint: Path | None = None
    """Pack this trained model instead of training one; the card then names the command of --made-by."""
    made_by: str | None = None
    """Command that trained the checkpoint."""
    seed: Natural = 1
    """Of the training."""
    games: Count = 10_000
    """Games of the score."""
    deals: Natural = 1_000_003
    """Seed of the score's deals, unlike the training's."""
    work: Path = Path("runs/pretrained")
    """Folder for the models of the stages."""
    out: Path = FOLDER
    """Folder for weights and card; by default that of the package, from which agents are loaded."""


@benchmark("pretrained", resumes=True)
def run(options: PretrainedOptions) -> Result:
    """Train, round, score, write."""
    if options.agent not in RECIPES:
        raise OptionError(f"--agent {options.agent}: must be {' or '.join(RECIPES)}")
    if (options.checkpoint is None) != (options.made_by is None):
        raise OptionError("--checkpoint and --made-by go together: the file, and the command that trained it")
    recipe = RECIPES[options.agent]
    if options.checkpoint is None:
        model = _train(recipe, options)
        command = f"ludory bench pretrained --agent {options.agent} --seed {options.seed}"
    else:
        model, command = options.checkpoint, str(options.made_by)
    file = weights_file(options.agent, options.out)
    pack(model, file)
    card = {
        "agent": options.agent,
        "command": command,
        **_described(file),
        "score": _scores(recipe, file, options),
        "size": file.stat().st_size,
    }
    return Result(card_file(options.agent, options.out), card, _shown)


def _train(recipe: PretrainedRecipe, options: PretrainedOptions) -> Path:
    """The file of the last stage's model; finished stages are not trained again."""
    before: Path | None = None
    for stage in recipe.stages:
        file = options.work / f"{options.agent.replace('/', '-')}-seed{options.seed}-{stage.name}.ludory"
        model = _stage_model(recipe, stage, options.seed, before, file)
        if received := train_to_file(model, stage.timesteps, file, progress_bar=True):
            raise_interrupt(received)
        before = file
    assert before is not None
    return before


def _stage_model(recipe: PretrainedRecipe, stage: RecipeStage, seed: int, before: Path | None, file: Path) -> Learner:
    """A new model, or that of `file`.

    Raises:
        OptionError: `file` was trained with other settings.
    """
    game = make_game(recipe.game, **{**recipe.options, **stage.options})
    config = {**recipe.config, **stage.config, "seed": seed}
    new = make_algorithm(recipe.algorithm, game, recipe.policy, **config, init_from=before and str(before))
    if not file.exists():
        return new
    kept = load(file)
    if replace(kept.config, init_from=None) != replace(new.config, init_from=None):
        raise OptionError(f"{file}: trained with other settings; remove it, or give another folder with --work")
    return kept


def pack(model: Path, file: Path) -> None:
    """Write the network of a trained model, with its weights rounded to 16-bit floats.

    Raises:
        CheckpointError: `model` is unreadable.
        OutputError: the place cannot be written to.
    """
    with TemporaryDirectory() as folder:
        alone = Path(folder) / file.name
        load(model).save_policy(alone)
        header, tensors = read_checkpoint(alone)
    halves = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    header["config"] |= {"init_from": None}  # a path that only the machine of the training had
    write_checkpoint(file, header, halves)


def _described(file: Path) -> dict[str, Any]:
    header = read_header(file)
    return {
        "game": header["env"]["id"],
        "options": header["env"]["options"],
        "algorithm": header["algorithm"],
        "policy": header["policy"],
        "config": header["config"],
        "timesteps_of_last_stage": header["num_timesteps"],
        "seed": header["config"]["seed"],
    }


def _scores(recipe: PretrainedRecipe, file: Path, options: PretrainedOptions) -> dict[str, Any]:
    """Mean returns of the agent and of its rival, each in all seats or with the same others."""
    game = make_game(recipe.game, **recipe.options)
    agent = load(file).as_agent()

    def returns(one: Any) -> EvaluationResult:
        seats = [one] if recipe.others is None else [one, *[recipe.others] * (game.facts.players - 1)]
        return evaluate(seats, game, games=options.games, seed=options.deals, rotate=recipe.others is not None)

    ours, its = returns(agent), returns(make_agent(recipe.rival, game))
    ahead = paired_difference(ours, its)
    figures = {
        "mean": ours.mean,
        "stderr": ours.stderr,
        "rival_mean": its.mean,
        "rival_stderr": its.stderr,
        "ahead_mean": ahead.mean,
        "ahead_stderr": ahead.stderr,
    }
    described = {"games": options.games, "deals_seed": options.deals, "others": recipe.others, "rival": recipe.rival}
    return described | {name: float(np.ravel(value)[0]) for name, value in figures.items()}  # of the first seat


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    score = report["score"]
    yield f"{report['agent']:16} {score['mean']:8.3f} +- {score['stderr']:.3f}  ({score['games']:,} games)"
    yield f"{score['rival']:16} {score['rival_mean']:8.3f} +- {score['rival_stderr']:.3f}"
    yield f"{'ahead':16} {score['ahead_mean']:+8.3f} +- {score['ahead_stderr']:.3f}  on the same deals"
