"""`ludory league`: run a league of players, see how far it is, go on with it, report on it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.cli.common.options import add_options, behind_dashes, count, learner_options, parse_options
from ludory.errors import OptionError, UnknownIdError

if TYPE_CHECKING:
    from ludory.algorithms.league.config import LeagueConfig
    from ludory.algorithms.league.run import League

VERBS = ("run", "status", "resume", "report", "exploit")
USAGE = "usage: ludory league {" + ",".join(VERBS) + "} ...; each with --help"


def run(argv: list[str]) -> int:
    """Dispatch to a verb; returns the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(f"{USAGE}\n\n" + "\n".join(f"  {verb:8} {_summary(verb)}" for verb in VERBS))
        return 0 if argv else 2
    verb, rest = argv[0], argv[1:]
    if verb not in VERBS:
        raise UnknownIdError(f"ludory league {verb}: must be one of {', '.join(VERBS)}")
    if verb == "report":
        from .report import report

        return report(rest)
    return {"run": _run, "resume": _resume, "status": _status, "exploit": _exploit}[verb](rest)


def _summary(verb: str) -> str:
    return {
        "run": "train several players from one supervised policy, each against the others",
        "status": "how far a league is, from its event log",
        "resume": "go on with a league that was stopped or killed",
        "report": "pairwise results, ratings, equilibria and curves as JSON, Parquet and HTML",
        "exploit": "train fresh exploiters against the final main: how exploitable is it?",
    }[verb]


def _run(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ludory league run",
        description="Train a league of players.",
        epilog="Options behind -- belong to the learner: ludory league run ... -- --n-steps 32 --learning-rate 1e-4",
        allow_abbrev=False,
    )
    parser.add_argument("--env", required=True, help="id of a zero-sum game")
    add_options(parser)
    parser.add_argument("--teacher", required=True, help="checkpoint of the supervised policy")
    parser.add_argument("--init-from", help="checkpoint that learners begin with, if not the teacher")
    parser.add_argument("--budget", required=True, help="agent steps of all learners (5e6), or minutes (20m)")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder of the league")
    parser.add_argument("--roles", default="1,1,2", help="mains, main exploiters, league exploiters (default 1,1,2)")
    parser.add_argument("--rules", default="paper", choices=("paper", "pseudocode"))
    parser.add_argument("--shares", default="0.5,0.35,0.15", help="of a main's matches: PFSP, self-play, verification")
    parser.add_argument("--weighting", default="priority", choices=("priority", "uniform"), help="of frozen opponents")
    parser.add_argument("--strength", default="rate", choices=("rate", "wilson"), help="what must exceed 0.7")
    parser.add_argument("--source", default="both", choices=("both", "training", "evaluator"), help="games that count")
    parser.add_argument("--unit", type=count, default=0, help="agent steps for the paper's 2e9 (default budget/64)")
    parser.add_argument("--slice-steps", type=count, default=0, help="agent steps of a turn (default unit/8)")
    parser.add_argument("--main-turns", type=int, default=1, help="turns of a main for one of an exploiter (default 1)")
    parser.add_argument(
        "--exploiter-kl", type=float, default=0.0, help="weight of exploiters' KL to the teacher (default 0)"
    )
    parser.add_argument(
        "--exploiters-from",
        default="teacher",
        choices=("teacher", "main"),
        help="what exploiters start anew from: the teacher, or the newest copy of a main (default teacher)",
    )
    parser.add_argument("--games-per-match", type=int, default=64, help="games against one opponent (default 64)")
    parser.add_argument("--anchors", default="", help="agents to measure against, comma-separated")
    parser.add_argument("--anchors-in-pfsp", action="store_true", help="let learners train against the anchors as well")
    parser.add_argument("--evaluation-games", type=int, default=100, help="games of a pair (default 100)")
    parser.add_argument(
        "--evaluation-every", type=int, default=1, help="copies between two rounds of evaluation (default 1)"
    )
    parser.add_argument("--learner", default="vtrace", help="algorithm of all learners, such as ppo (default vtrace)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="local", choices=("local",), help="all in this process")
    own, behind = behind_dashes(argv)
    arguments = parser.parse_args(own)
    from ludory.algorithms.league.run import start_league

    from .report import tell_what_is_missing

    tell_what_is_missing()
    return _train(start_league(_config(arguments, behind), arguments.out))


def _config(arguments: argparse.Namespace, behind: list[str]) -> LeagueConfig:
    from ludory.algorithms.league.config import LeagueConfig
    from ludory.algorithms.league.matchmaking.opponent_choice import Matchmaking
    from ludory.algorithms.league.matchmaking.snapshots import SnapshotRules

    pfsp, self_play, verification = _numbers("--shares", arguments.shares, float)
    mains, main_exploiters, league_exploiters = _numbers("--roles", arguments.roles, int)
    return LeagueConfig(
        env=arguments.env,
        teacher=arguments.teacher,
        init_from=arguments.init_from,
        options=parse_options(arguments.option),
        **parse_budget(arguments.budget),
        roles=(mains, main_exploiters, league_exploiters),
        matchmaking=Matchmaking(
            pfsp_share=pfsp,
            self_play_share=self_play,
            verification_share=verification,
            prioritised=arguments.weighting == "priority",
            anchors_in_pfsp=arguments.anchors_in_pfsp,
        ),
        snapshots=SnapshotRules(rules=arguments.rules, strength=arguments.strength),
        source=arguments.source,
        unit=arguments.unit,
        slice_steps=arguments.slice_steps,
        learner=arguments.learner,
        learner_options=learner_options("ludory league run", arguments.learner, behind),
        exploiter_kl=arguments.exploiter_kl,
        exploiters_from=arguments.exploiters_from,
        main_turns=arguments.main_turns,
        games_per_match=arguments.games_per_match,
        anchors=tuple(name for name in arguments.anchors.split(",") if name),
        evaluation_games=arguments.evaluation_games,
        evaluation_every=arguments.evaluation_every,
        seed=arguments.seed,
    )


def parse_budget(text: str) -> dict[str, Any]:
    """`{"minutes": 20.0}` of "20m", `{"budget_steps": 5000000}` of "5e6".

    Raises:
        OptionError: it is neither.
    """
    try:
        if text.endswith("m"):
            return {"minutes": float(text[:-1])}
        return {"budget_steps": count(text)}
    except ValueError as error:
        raise OptionError(f"--budget {text}: must be agent steps such as 5e6, or minutes such as 20m") from error


def _numbers(name: str, text: str, kind: Any) -> list[Any]:
    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        raise OptionError(f"{name} {text}: must be three numbers with commas, such as 1,1,2")
    return numbers


def _resume(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ludory league resume", description="Go on with a league.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--budget", help="another budget: agent steps, or minutes with an m")
    arguments = parser.parse_args(argv)
    from ludory.algorithms.league.run import resume_league

    return _train(resume_league(arguments.folder, **(parse_budget(arguments.budget) if arguments.budget else {})))


def _train(league: League) -> int:
    from ludory.algorithms.running.interrupt import exit_code, stop_on_interrupt

    from .status import status_line

    shown = sys.stderr.isatty()

    def on_slice(league: League) -> None:
        if shown:
            print(f"\r\x1b[K{status_line(league.state, league.config)}", end="", file=sys.stderr, flush=True)

    with league, stop_on_interrupt(league.stop) as received:
        finished = league.run(on_slice)
    if shown:
        print(file=sys.stderr)
    print(
        f"{'finished' if finished else 'stopped'}: {league.state.env_steps:,} agent steps, "
        f"{len(league.state.fixed)} fixed players, in {league.folder}; "
        + (f"`ludory league report {league.folder}`" if finished else f"`ludory league resume {league.folder}` goes on")
    )
    return exit_code(received[0]) if received and not finished else 0


def _status(argv: list[str]) -> int:
    from .status import status

    return status(argv)


def _exploit(argv: list[str]) -> int:
    from .exploit import exploit

    return exploit(argv)
