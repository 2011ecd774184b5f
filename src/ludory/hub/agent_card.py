"""The card of an agent: what its checkpoint says of itself, and a score if one is measured."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ludory.agents.partners import baseline_of
from ludory.algorithms.tuned.settings import tuned_for
from ludory.checkpoints.checkpoint import read_checkpoint
from ludory.checkpoints.file_list import StoredFile
from ludory.envs import make_game

from .page import CHECKED, code, codes, front_matter, pairs, table, without_folders

SEED = 1_000_003
"""Seed of the games that are scored, unlike those of trainings."""


class AgentScore(NamedTuple):
    """Mean returns in the same games, and how to measure them again."""

    mean: float
    stderr: float
    games: int
    baseline: str
    baseline_mean: float
    baseline_stderr: float
    together: bool
    """Agent and baseline sat at the same table, every deal once with each in each seat; else each took all seats."""
    command: str
    machine: str


def agent_card(file: Path, repo: str, license: str | None, score_games: int) -> str:
    """The card of a checkpoint.

    Args:
        file: of the checkpoint.
        repo: owner/name.
        license: as the hub writes it, such as mit; None: not stated.
        score_games: games to score it in; 0: the card says that it is not measured.

    Raises:
        CheckpointError: it cannot be read.
    """
    header = read_checkpoint(file).header  # with its tensors, so that their checksums are compared
    env, algorithm = header["env"], str(header["algorithm"])
    score = measured(file, repo, header, score_games) if score_games else None
    name = repo.partition("/")[2]
    top = front_matter(
        {
            "library_name": "ludory",
            "license": license,
            "pipeline_tag": "reinforcement-learning",
            "tags": ["ludory", "reinforcement-learning", str(env["id"]), algorithm],
            "model-index": score and [{"name": name, "results": [_result(str(env["id"]), score)]}],
        }
    )
    return "\n".join(
        [
            top,
            f"# {name}",
            "",
            f"An agent for {code(env['id'])}, trained by {code(algorithm)} of Ludory {header['versions']['ludory']}.",
            "",
            _loading(repo, env, header.get("packages", {})),
            "",
            _facts(file, header),
            "",
            "## Score",
            "",
            "Not measured." if score is None else _score(score, env["id"]),
            "",
            "## Settings",
            "",
            _settings(header.get("config", {})),
        ]
    )


def measured(file: Path, repo: str, header: Mapping[str, Any], games: int) -> AgentScore:
    """The score of an agent beside the baseline of its game, as `ludory train` prints it."""
    from ludory.agents.evaluation.beside import score_beside_baseline

    game = make_game(header["env"]["id"], **header["env"]["options"])
    tuned = tuned_for(str(header["algorithm"]), game)
    baseline = tuned.baseline if tuned else baseline_of(game)
    found = score_beside_baseline(str(file), baseline, game, games, SEED)
    together = game.facts.reward != "shared" and game.facts.players > 1
    # as `score_beside_baseline` seats them
    teams = game.facts.teams or tuple(range(game.facts.players))
    agents = [f"hf://{repo}" if team == teams[0] else baseline for team in teams] if together else [f"hf://{repo}"]
    words = [
        *("ludory", "eval", *agents, "--game", str(game.id)),
        *(word for name, value in game.options.items() for word in ("--option", f"{name}={value}")),
        *(("--no-crossplay", "--rotate") if together else ()),
        *("--games", str(games), "--seed", str(SEED)),
    ]
    return AgentScore(
        found.agent.mean,
        found.agent.stderr,
        games,
        baseline,
        found.baseline.mean,
        found.baseline.stderr,
        together,
        shlex.join(words),
        f"{platform.system()} {platform.machine()}, CPU",
    )


def _result(game: str, score: AgentScore) -> dict[str, Any]:
    """An entry of the hub's `model-index`."""
    task = "reinforcement-learning"
    return {
        "task": {"type": task, "name": task},
        "dataset": {"type": game, "name": game},
        "metrics": [{"type": "mean_return", "name": "mean return", "value": round(score.mean, 6), "verified": False}],
    }


def _score(score: AgentScore, game: str) -> str:
    sat = (
        "They sat at the same table, every deal once with each of them in each seat."
        if score.together
        else "Each played all seats of the same games."
    )
    unit = "deals" if score.together else "games"
    return "\n".join(
        [
            f"| mean return, {score.games:,} {unit} of {code(game)}, seed {SEED} | mean | standard error |",
            "| --- | --- | --- |",
            f"| this agent | {score.mean:.4f} | {score.stderr:.4f} |",
            f"| {code(score.baseline)} | {score.baseline_mean:.4f} | {score.baseline_stderr:.4f} |",
            "",
            f"{sat} Measured when it was pushed ({score.machine}); the same again:",
            "",
            f"```bash\n{score.command}\n```",
        ]
    )


def _loading(repo: str, env: Mapping[str, Any], packages: Mapping[str, str]) -> str:
    options = "".join(f", {name}={value!r}" for name, value in env["options"].items())
    install = " ".join(f'"{one}"' for one in ("ludory[hub]", *dict.fromkeys(packages.values())))
    return "\n".join(
        [
            f"```bash\npip install {install}\n```",
            "",
            "```python",
            "import ludory",
            "",
            f'game = ludory.make_game("{env["id"]}"{options})',
            f'agent = ludory.make_agent("hf://{repo}", game)',
            "print(ludory.evaluate(agent, game, games=1000).summary())",
            "```",
            "",
            f'`ludory.load("hf://{repo}")` returns what `ludory.train` returned. The file holds tensors and JSON; loading it runs no code from it. {CHECKED}',
        ]
    )


def _facts(file: Path, header: Mapping[str, Any]) -> str:
    env, config, policy = header["env"], header.get("config", {}), header.get("policy")
    one, trained = StoredFile.of(file), "iterations" if "iterations" in header else "decisions trained"
    network = (
        policy and f"{policy['id']}({', '.join(f'{name}={value}' for name, value in policy['arguments'].items())})"
    )
    versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items())
    return table(
        {
            "game": code(env["id"]),
            "options of the game": pairs(env["options"]),
            "conventions": pairs(env.get("conventions", {})),
            "algorithm": code(header["algorithm"]),
            "network": network and code(without_folders(network)),
            trained: f"{header['num_timesteps']:,}" if "num_timesteps" in header else None,
            "seed": code(config["seed"]) if "seed" in config else None,
            "device": code(config["device"]) if "device" in config else None,
            "contents": "the network; a training cannot go on from it as it was" if header.get("policy_only") else None,
            "packages that it needs": codes(dict.fromkeys(header.get("packages", {}).values())),
            "versions": versions,
            "file": f"{code('agent.ludory')}, {one.size:,} bytes",
            "SHA-256": code(one.sha256),
        }
    )


def _settings(config: Mapping[str, Any]) -> str:
    import yaml

    given = {name: without_folders(value) for name, value in config.items() if value is not None}
    return f"```yaml\n{yaml.safe_dump(given, sort_keys=False, default_flow_style=None)}```\n"
