"""`ludory train pipeline`: imitation, fine-tuning, league and report one after the other, each step a command of its own."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ludory.arguments import Arg
from ludory.cli.common import EnvId, Flag, Folder, GameOptions, parse
from ludory.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Record demonstrators, clone them, fine-tune the clone, train a league from it, write a report.

    A pipeline that was stopped goes on with the same command.

    Example: ludory train pipeline --env Arena2P-v0 --option observation=tactical --out runs/arena
    """

    env: EnvId
    """Id of a zero-sum game in which all seats move at once."""
    out: Folder
    """Folder of everything."""
    demonstrators: str = "arena/rusher,arena/sniper,arena/turtle,arena/looter,arena/miner,arena/zone"
    """Agents to imitate, comma-separated."""
    games: int = 12_000
    """Games that they play."""
    policy: str = "mlp(hidden=(128,128))"
    """Network."""
    epochs: int = 15
    """Epochs of imitation."""
    finetune: Annotated[str, Arg(metavar="N")] = "4000000"
    """Decisions of fine-tuning by self-play."""
    league: Annotated[str, Arg(metavar="BUDGET")] = "20m"
    """Budget of the league: agent steps (5e6), or minutes (20m)."""
    anchors_in_pfsp: Flag = False
    """Let the league's players train against the demonstrators as well."""
    shaping: float = 0.3
    """Reward of training for progress."""
    seed: int = 0
    """Seed of all steps."""


def run(argv: list[str]) -> int:
    """Run the steps that are not done yet; returns the exit code of the first that fails, 0 if all are done."""
    chosen = parse(_Options, argv, "train pipeline")
    from ludory.algorithms.league.algorithm import tell_what_is_missing

    tell_what_is_missing()
    for number, (title, command) in enumerate(_steps(chosen), 1):
        print(f"[{number}] {title}: ludory {shlex.join(command)}", flush=True)
        code = _verb(command[0])(command[1:])
        if code:
            print(f"[{number}] ended with exit code {code}; the same command goes on from here")
            return code
    print(f"pipeline done: report in {chosen.out / 'league' / 'report' / 'report.html'}")
    return 0


def _steps(chosen: _Options) -> list[tuple[str, list[str]]]:
    """Titles and commands."""
    out: Path = chosen.out
    members = [name.strip() for name in chosen.demonstrators.split(",") if name.strip()]
    if not members:
        raise OptionError("--demonstrators is empty; name agents, see `ludory list agents`")
    game = [part for option in chosen.option for part in ("--option", option)]
    seed, shaping = ["--seed", str(chosen.seed)], ["--shaping", str(chosen.shaping)]
    data, clone, tuned, league = (str(out / name) for name in ("data", "pi_sup.ludory", "tuned.ludory", "league"))
    record = ["record", f"mixture({','.join(members)})", "--game", chosen.env, *game]
    imitate = ["train", "bc", "--env", chosen.env, *game, "--policy", chosen.policy, "--data", data]
    tune = ["train", "vtrace", "--env", chosen.env, *game, "--policy", chosen.policy, "--seats", "all"]
    if not Path(tuned).exists():  # a run that goes on knows where it started
        tune += ["--init-from", clone, "--teacher", clone]
    compete = ["train", "league", "--env", chosen.env, *game, "--eval-games", "0", "--out", league]
    log = out / "league" / "events.jsonl"
    if log.exists() and log.stat().st_size:  # empty: killed before anything was written
        compete += ["--resume"]
    else:
        budget = ["--minutes", chosen.league[:-1]] if chosen.league.endswith("m") else ["--timesteps", chosen.league]
        compete += ["--teacher", clone, "--init-from", tuned, *budget, "--anchors", *members, *seed, "--resume"]
        compete += ["--anchors-in-pfsp"] if chosen.anchors_in_pfsp else []
        compete += ["--", *LEARNING, *shaping]
    return [
        ("demonstrations", [*record, "--games", str(chosen.games), *seed, "--out", data]),
        ("imitation", [*imitate, "--num-epochs", str(chosen.epochs), *IMITATION, *seed, "--out", clone, "--resume"]),
        (
            "fine-tuning",
            [*tune, "--timesteps", chosen.finetune, *seed, "--out", tuned, "--resume", *LEARNING, *shaping],
        ),
        ("league", compete),
        ("report", ["league", "report", league]),
    ]


IMITATION = shlex.split(
    "--batch-size 1024 --learning-rate 2e-3 --final-learning-rate 2e-5 --label-smoothing 0 --value-coef 0.5 --min-return 0.5"
)
"""Options of imitation: winners are imitated, and the value, which is needed afterwards, is learnt from all."""
LEARNING = shlex.split(
    "--batch-columns 32 --learning-rate 3e-4 --c-kl 0.01 --c-value 2 --c-entropy 1e-3 --vtrace-lam 0.95 --gamma 0.998 "
    "--num-envs 512 --privileged-value"
)
"""Options of V-trace in fine-tuning and in the league."""


def _verb(name: str) -> Callable[[list[str]], int]:
    from ludory.plugins import commands

    run: Callable[[list[str]], int] = commands.load(name).run
    return run
