"""`ludory train pipeline`: imitation, fine-tuning, league and report one after the other, each step a command of its own."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

from ludory.cli.common.options import add_options
from ludory.cli.league.report import tell_what_is_missing
from ludory.errors import OptionError

DEMONSTRATORS = "arena/rusher,arena/sniper,arena/turtle,arena/looter,arena/miner,arena/zone"


def pipeline(argv: list[str]) -> int:
    """Run the steps that are not done yet; returns the exit code of the first that fails, 0 if all are done."""
    arguments = _parser().parse_args(argv)
    tell_what_is_missing()
    for number, (title, command) in enumerate(_steps(arguments), 1):
        print(f"[{number}] {title}: ludory {shlex.join(command)}", flush=True)
        code = _verb(command[0])(command[1:])
        if code:
            print(f"[{number}] ended with exit code {code}; the same command goes on from here")
            return code
    print(f"pipeline done: report in {arguments.out / 'league' / 'report' / 'report.html'}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ludory train pipeline",
        description="Record demonstrators, clone them, fine-tune the clone, train a league from it, report. "
        "A pipeline that was stopped goes on with the same command.",
        allow_abbrev=False,
    )
    parser.add_argument("--env", required=True, help="id of a zero-sum game in which all seats move at once")
    add_options(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder of everything")
    parser.add_argument("--demonstrators", default=DEMONSTRATORS, help="agents to imitate, comma-separated")
    parser.add_argument("--games", type=int, default=12_000, help="games that they play (default 12,000)")
    parser.add_argument("--policy", default="mlp(hidden=(128,128))", help="network (default %(default)s)")
    parser.add_argument("--epochs", type=int, default=15, help="of imitation (default 15)")
    parser.add_argument("--finetune", default="4000000", help="decisions of fine-tuning by self-play (default 4e6)")
    parser.add_argument("--league", default="20m", metavar="BUDGET", help="of the league (default 20m)")
    parser.add_argument(
        "--anchors-in-pfsp",
        action="store_true",
        help="let the league's players train against the demonstrators as well",
    )
    parser.add_argument("--shaping", type=float, default=0.3, help="reward of training for progress (default 0.3)")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def _steps(arguments: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """Titles and commands."""
    out: Path = arguments.out
    members = [name.strip() for name in arguments.demonstrators.split(",") if name.strip()]
    if not members:
        raise OptionError("--demonstrators is empty; name agents, see `ludory list agents`")
    game = [part for option in arguments.option for part in ("--option", option)]
    seed, shaping = ["--seed", str(arguments.seed)], ["--shaping", str(arguments.shaping)]
    data, clone, tuned, league = (str(out / name) for name in ("data", "pi_sup.ludory", "tuned.ludory", "league"))
    record = ["record", f"mixture({','.join(members)})", "--game", arguments.env, *game]
    imitate = ["train", "bc", "--env", arguments.env, *game, "--policy", arguments.policy, "--data", data]
    tune = ["train", "vtrace", "--env", arguments.env, *game, "--policy", arguments.policy, "--seats", "all"]
    compete = [
        "league",
        "run",
        "--env",
        arguments.env,
        *game,
        "--teacher",
        clone,
        "--init-from",
        tuned,
        "--budget",
        arguments.league,
    ]
    log = out / "league" / "events.jsonl"
    if log.exists() and log.stat().st_size:  # empty: killed before anything was written
        compete = ["league", "resume", league]
    else:
        compete += ["--anchors", ",".join(members), *seed, "--out", league]
        compete += ["--anchors-in-pfsp"] if arguments.anchors_in_pfsp else []
        compete += ["--", *LEARNING, *shaping]
    return [
        ("demonstrations", [*record, "--games", str(arguments.games), *seed, "--out", data]),
        ("imitation", [*imitate, "--num-epochs", str(arguments.epochs), *IMITATION, *seed, "--out", clone, "--resume"]),
        (
            "fine-tuning",
            [
                *tune,
                *_sources(clone, tuned),
                "--timesteps",
                arguments.finetune,
                *seed,
                "--out",
                tuned,
                "--resume",
                *LEARNING,
                *shaping,
            ],
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


def _sources(clone: str, tuned: str) -> list[str]:
    """Where fine-tuning starts; a run that goes on knows it already."""
    return [] if Path(tuned).exists() else ["--init-from", clone, "--teacher", clone]


def _verb(name: str) -> Callable[[list[str]], int]:
    from ludory.plugins import commands

    run: Callable[[list[str]], int] = commands.load(name).run
    return run
