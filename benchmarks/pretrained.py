"""Train the agents that ship with Ludory, score each as it ships, and write its weights and its card.

The same command makes the same agent again. Weights are rounded to 16 bits before they are scored, so a card describes the file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.evaluation_result import estimate
from ludory.agents.evaluation.exploitability import exploitability
from ludory.agents.pretrained.agent import load_pretrained
from ludory.agents.pretrained.cards import FOLDER, card_file, weights_file
from ludory.agents.texas42.networks.network_values import open_hand_network
from ludory.agents.texas42.play.network import NetworkAgent
from ludory.algorithms.cfr import CFR
from ludory.algorithms.learner import Learner
from ludory.algorithms.make import load, make_algorithm
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.algorithms.tuned.settings import TrainingStage, TunedSettings, tuned_games
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.checkpoints.checkpoint import read_checkpoint, read_header, write_checkpoint
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.errors import OptionError
from ludory.plugins import algorithms


@dataclass(frozen=True, slots=True)
class PretrainedRecipe:
    """How an agent that ships is trained and scored."""

    settings: TunedSettings
    """Game, network, settings and stages of the training; its baseline is the rival of the card's score."""
    algorithm: str = "ppo"
    start: str | None = None
    """Id of an agent that ships, from whose weights the training starts; None: from new ones."""
    also: tuple[str, ...] = ()
    """More rivals to score it with."""
    scored_in: Mapping[str, Any] = field(default_factory=dict)
    """Options of the games of the score that differ from the training's."""
    draws: bool = False
    """The network draws its actions unless told otherwise: the most probable ones can run in circles."""
    simulations: int = 0
    """Of a search with the network before every move, unless told otherwise."""
    exact: bool = False
    """Also compute the exploitability, where a game's tree is small."""
    seated: Callable[[Game, str, Path], Agent] | None = None
    """`seated(game, agent, file)` sits the weights of a file at a table, where the network does not play by observations."""
    made_by: str = ""
    """Command that trains it, where that is a benchmark of its own; its model is then packed with --checkpoint."""

    @property
    def rivals(self) -> tuple[str, ...]:
        """The agents that it is scored with; the card's score first."""
        return (self.settings.baseline, *self.also)


# A bomb costs all points, and a beginner's games nearly all end with one. Playing cards is learnt first where a bomb keeps them.
_HANABI = TunedSettings(
    game="Hanabi2P-v0",
    options={"observation": "tactical"},
    baseline="hanabi/smartbot",
    timesteps=134_000_000,
    cpu_minutes=65,
    policy="mlp",
    settings={
        "num_envs": 1024,
        "n_steps": 32,
        "batch_size": 4096,
        "n_epochs": 2,
        "gamma": 0.999,
        "hidden": (256, 256),
        "learning_rate": 1e-3,
        "final_learning_rate": 2e-4,
        "ent_coef": 0.02,
        "final_ent_coef": 0.002,
    },
    stages=(
        TrainingStage("keep", 0.5, {"bomb": "keep"}, {}),
        TrainingStage("zero", 0.3, {}, {}),
        TrainingStage("fine", 0.2, {}, {"learning_rate": 3e-4}),
    ),
)

_HANABI_3 = replace(_HANABI, game="Hanabi3P-v0", timesteps=80_000_000, cpu_minutes=60)
_HANABI_4 = replace(_HANABI_3, game="Hanabi4P-v0")
_HANABI_5 = replace(_HANABI_3, game="Hanabi5P-v0")

# Goes on from the agent of an hour, three times: rates start high again and fall to nearly nothing. After the first time every decision
# is learnt from once, which leaves time for more of them. The third time was on a GPU, with its many games side by side.
_ONCE = {"learning_rate": 5e-4, "n_epochs": 1, "ent_coef": 0.005}
_MANY = _ONCE | {"num_envs": 8192, "n_steps": 64, "batch_size": 16384, "gae_lambda": 0.9}
_HANABI_LONG = replace(
    _HANABI,
    timesteps=559_000_000,
    cpu_minutes=310,
    settings={**_HANABI.settings, "learning_rate": 5e-4, "ent_coef": 0.01},
    stages=(
        TrainingStage("zero", 0.101, {}, {}),
        TrainingStage("fine", 0.067, {}, {"learning_rate": 3e-4, "final_learning_rate": 2e-5}),
        TrainingStage("zero_again", 0.182, {}, _ONCE),
        TrainingStage("fine_again", 0.129, {}, _ONCE | {"learning_rate": 3e-4, "final_learning_rate": 1e-5}),
        TrainingStage("zero_many", 0.316, {}, _MANY),
        TrainingStage("fine_many", 0.205, {}, _MANY | {"learning_rate": 3e-4, "final_learning_rate": 1e-5}),
    ),
)


# A small network and many games teach more in an hour than a large one and few. Without random openings the games soon are alike.
_CONNECT_FOUR_AZ = TunedSettings(
    game="ConnectFour-v0",
    baseline="mcts(simulations=1000)",
    timesteps=4_500_000,
    cpu_minutes=60,
    policy="mlp",
    settings={
        "hidden": (512, 512),
        "num_envs": 256,
        "n_steps": 16,
        "random_moves": 8,
        "buffer_size": 400_000,
        "searched_value": 0.5,
    },
)


_STYLES = ("sniper", "looter", "miner", "rusher", "turtle", "zone", "raider")


def _arena(contender: str) -> PretrainedRecipe:
    """The final main of a run of `arena-league`, with seed 1; its settings stand there."""
    settings = TunedSettings("Arena2P-v0", "arena/duelist", 100_000_000, 60, {}, options={"observation": "evasive"})
    rivals = tuple(f"arena/{style}" for style in _STYLES)
    command = f"ludory bench arena-league --contenders {contender} --seeds 1 --teacher runs/pi_sup.ludory"
    return PretrainedRecipe(settings, also=rivals, draws=True, made_by=command)


def _pokemon(game: str, timesteps: int, minutes: float, made_by: str) -> PretrainedRecipe:
    """A clone of SimpleHeuristics after self-play."""
    settings = TunedSettings(game, "pokemon/simple-heuristics", timesteps, minutes, {})
    return PretrainedRecipe(settings, also=("pokemon/max-base-power",), made_by=f"ludory bench pokemon-ppo {made_by}")


def _oracle(game: Game, agent: str, file: Path) -> Agent:
    return NetworkAgent(game, open_hand_network(file), agent)


def _cfr(game: str, iterations: int) -> PretrainedRecipe:
    """An equilibrium as a table, which is better than any network where the whole tree fits into memory."""
    return PretrainedRecipe(TunedSettings(game, "random", iterations, 1, {}), "cfr", exact=True)


def _tuned(
    game: str,
    rival: str,
    *also: str,
    timesteps: int = 0,
    options: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> PretrainedRecipe:
    """PPO with the tuned settings of a game and changes to them.

    Args:
        game: id.
        rival: of the card's score.
        *also: more rivals.
        timesteps: of the training; 0: as tuned.
        options: of the game, beside tuned ones.
        **settings: fields of the config that differ.
    """
    tuned = tuned_games("ppo")[game]
    changed = replace(
        tuned,
        baseline=rival,
        timesteps=timesteps or tuned.timesteps,
        options={**tuned.options, **options},
        settings={**tuned.settings, **settings},
        reached=None,
    )
    return PretrainedRecipe(changed, also=also)


RECIPES: dict[str, PretrainedRecipe] = {
    "hanabi/ppo": PretrainedRecipe(_HANABI, also=("hanabi/iggi",)),
    "hanabi/ppo_long": PretrainedRecipe(_HANABI_LONG, start="hanabi/ppo", also=("hanabi/iggi",)),
    "hanabi3/ppo": PretrainedRecipe(_HANABI_3, also=("hanabi/iggi",)),
    "hanabi4/ppo": PretrainedRecipe(_HANABI_4, also=("hanabi/iggi",)),
    "hanabi5/ppo": PretrainedRecipe(_HANABI_5, also=("hanabi/iggi",)),
    "hanabi_tiny/ppo": _tuned("HanabiTiny2P-v0", "hanabi/smartbot", timesteps=1_000_000),
    "connect_four/ppo": _tuned(
        "ConnectFour-v0",
        "mcts(simulations=25)",
        "random",
        timesteps=3_000_000,
        hidden=(256, 128),
        learning_rate=7.8e-4,
        ent_coef=0.03,
        final_ent_coef=0.015,
        symmetry_augmentation=True,
    ),
    "arena/league": _arena("league"),
    "arena/ppo": _arena("self-play"),
    "connect_four/az": PretrainedRecipe(_CONNECT_FOUR_AZ, "az", simulations=200),
    "pokemon/gen1-ppo": _pokemon(
        "PokemonGen1RandomBattle-v0",
        7_200_000,
        88,
        "--seed 1 --workers 2, and after 5.3 M decisions again with --decisions 7200000",
    ),
    "pokemon/gen9-ppo": _pokemon(
        "PokemonGen9RandomBattle-v0",
        5_000_000,
        63,
        "--game PokemonGen9RandomBattle-v0 --seed 1 --workers 2 --decisions 5000000",
    ),
    "tic_tac_toe/ppo": _tuned("TicTacToe-v0", "mcts(simulations=100)", "random", timesteps=1_500_000),
    "kuhn/cfr": _cfr("KuhnPoker-v0", 2000),
    "leduc/cfr": _cfr("LeducPoker-v0", 2000),
    "texas42/oracle": PretrainedRecipe(
        TunedSettings("Texas42Play-v0", "texas42/pimc", 15_000_000, 82, {}),
        "texas42_oracle",
        seated=_oracle,
        made_by="ludory bench texas42-network hour",
    ),
    "sokoban/ppo": replace(
        _tuned("Sokoban-v0", "sokoban/solver", "random", options={"split": "train"}, timesteps=1_000_000),
        scored_in={"split": "test"},
        draws=True,
    ),
    "frozen_lake/ppo": _tuned("FrozenLakeFirm-v0", "frozen_lake/optimum", "random", timesteps=1_000_000),
}


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
    out: Path | None = None
    """Folder for weights and card; by default those from which agents are loaded."""


@benchmark("pretrained", resumes=True)
def run(options: PretrainedOptions) -> Result:
    """Train, round, score, write."""
    if options.agent not in RECIPES:
        raise OptionError(f"--agent {options.agent}: must be {' or '.join(RECIPES)}")
    if (options.checkpoint is None) != (options.made_by is None):
        raise OptionError("--checkpoint and --made-by go together: the file, and the command that trained it")
    recipe = RECIPES[options.agent]
    if options.checkpoint is None and recipe.made_by:
        raise OptionError(
            f"--agent {options.agent}: it is trained by `{recipe.made_by}`; then type --checkpoint with the model that it leaves "
            f"(a league: the newest main of its folder `players`), and --made-by with that command"
        )
    if options.checkpoint is None:
        model = _train(recipe, options)
        command = f"ludory bench pretrained --agent {options.agent} --seed {options.seed}"
    else:
        model, command = options.checkpoint, str(options.made_by)
    file = weights_file(options.agent, options.out)
    pack(model, file)
    game = make_game(recipe.settings.game, **{**recipe.settings.options, **recipe.scored_in})
    if recipe.seated is not None:
        agent = recipe.seated(game, options.agent, file)
    else:
        chosen = False if recipe.draws else None
        agent = load_pretrained(game, options.agent, file, chosen, simulations=recipe.simulations)
    first, *more = (score_with(agent, rival, game, options.games, options.deals) for rival in recipe.rivals)
    card = {
        "agent": options.agent,
        "command": command,
        **_described(file),
        "draws": recipe.draws,
        "simulations": recipe.simulations,
        "score": first,
        "more_scores": more,
        "exploitability": exploitability(agent, game).exploitability if recipe.exact else None,
        "size": file.stat().st_size,
    }
    return Result(card_file(options.agent, options.out or FOLDER), card, _shown)


def _train(recipe: PretrainedRecipe, options: PretrainedOptions) -> Path:
    """The file of the last stage's model; finished stages are not trained again."""
    before = None if recipe.start is None else weights_file(recipe.start)
    for stage in recipe.settings.parts:
        file = options.work / f"{options.agent.replace('/', '-')}-seed{options.seed}-{stage.name}.ludory"
        model = _stage_model(recipe, stage, options.seed, before, file)
        if received := train_to_file(model, round(recipe.settings.timesteps * stage.share), file, progress_bar=True):
            raise_interrupt(received)
        before = file
    assert before is not None
    return before


def _stage_model(recipe: PretrainedRecipe, stage: TrainingStage, seed: int, before: Path | None, file: Path) -> Learner:
    """A new model, or that of `file`.

    Raises:
        OptionError: `file` was trained with other settings.
    """
    settings = recipe.settings
    game = make_game(settings.game, **{**settings.options, **stage.options})
    config = {**settings.settings, **stage.settings}
    if "seed" in {field.name for field in dataclasses.fields(algorithms.load(recipe.algorithm).config_class)}:
        config |= {"seed": seed, "init_from": before and str(before)}
    new = make_algorithm(recipe.algorithm, game, settings.policy, **config)
    if not file.exists():
        return new
    kept = load(file)
    if _compared(kept.config) != _compared(new.config):
        raise OptionError(f"{file}: trained with other settings; remove it, or give another folder with --work")
    return kept


def _compared(config: Any) -> dict[str, Any]:
    return {**dataclasses.asdict(config), "init_from": None}


def pack(model: Path, file: Path) -> None:
    """Write the network or the table of a trained model, rounded to 16-bit floats.

    Raises:
        CheckpointError: `model` is unreadable.
        OutputError: the place cannot be written to.
    """
    if "sums" in read_checkpoint(model).tensors:
        _pack_table(model, file)
        return
    with TemporaryDirectory() as folder:
        alone = Path(folder) / file.name
        load(model).save_policy(alone)
        header, tensors = read_checkpoint(alone)
    halves = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    header["config"] |= {"init_from": None}  # a path that only the machine of the training had
    write_checkpoint(file, header, halves)


def _pack_table(model: Path, file: Path) -> None:
    """The tables of CFR, each row scaled to at most 1; a row says the same at any scale."""
    header, tensors = read_checkpoint(model)
    most = tensors["regrets"].abs().amax(dim=1, keepdim=True)
    regrets = (tensors["regrets"] / most.where(most > 0, 1)).half()
    average = torch.from_numpy(CFR.load(model).average).half()
    write_checkpoint(file, header, tensors | {"regrets": regrets, "sums": average})


def _described(file: Path) -> dict[str, Any]:
    header = read_header(file)
    return {
        "game": header["env"]["id"],
        "options": header["env"]["options"],
        "algorithm": header["algorithm"],
        "policy": header.get("policy"),
        "config": header["config"],
        "timesteps_of_last_stage": header["num_timesteps"],
    }


def score_with(agent: str | Agent, rival: str, game: Game, games: int, seed: int) -> dict[str, Any]:
    """Mean returns of an agent and of a rival, and the agent's lead, paired by deal.

    Under a shared reward and in games of one seat each plays all seats of the same deals. Otherwise they play each other: every deal once
    with the agent as either team, and `by_seat` has the agent's mean return as each of them.

    Args:
        agent: to score.
        rival: agent in the other team, or on the same deals.
        game: of one team, or of two.
        games: number of deals.
        seed: of the deals.
    """
    facts = game.facts
    teams = facts.teams or tuple(range(facts.players))
    against = facts.reward != "shared" and facts.players > 1
    if against:
        firsts = [teams.index(team) for team in dict.fromkeys(teams)]
        turns = [
            evaluate([agent if team == teams[first] else rival for team in teams], game, games, seed).returns
            for first in firsts
        ]
        own = np.stack([returns[:, first] for returns, first in zip(turns, firsts, strict=True)])
        its = np.stack([returns[:, first] for returns, first in zip(turns, reversed(firsts), strict=True)])
    else:
        own, its = (evaluate([one], game, games, seed).returns[:, 0][None] for one in (agent, rival))
    ours, theirs, ahead = (estimate(values.mean(axis=0)) for values in (own, its, own - its))
    return {
        "rival": rival,
        "against": against,
        "games": games,
        "deals_seed": seed,
        "mean": ours.mean,
        "stderr": ours.stderr,
        "rival_mean": theirs.mean,
        "rival_stderr": theirs.stderr,
        "ahead_mean": ahead.mean,
        "ahead_stderr": ahead.stderr,
        "by_seat": own.mean(axis=1).tolist(),
    }


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for score in (report["score"], *report["more_scores"]):
        seats = ", ".join(f"{mean:+.3f}" for mean in score["by_seat"])
        told = f"{score['games']:,} deals" + (f"; by seat {seats}" if len(score["by_seat"]) > 1 else "")
        yield f"{report['agent']:16} {score['mean']:8.3f} ± {score['stderr']:.3f}  ({told})"
        yield f"{score['rival']:16} {score['rival_mean']:8.3f} ± {score['rival_stderr']:.3f}"
        yield f"{'ahead':16} {score['ahead_mean']:+8.3f} ± {score['ahead_stderr']:.3f}  on the same deals"
    if report["exploitability"] is not None:
        yield f"exploitability {report['exploitability']:.2g}"
