"""`ludory league run` and `resume`: train a league of players."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from ludory.arguments import as_typed
from ludory.cli.common import (
    Count,
    EnvId,
    Flag,
    Folder,
    FolderArgument,
    GameOptions,
    Maybe,
    Placed,
    common_fields,
    learner_options,
    parse,
    parse_options,
    parse_with_learner,
    typed,
)
from ludory.cli.common.options import count
from ludory.errors import OptionError

from .report import tell_what_is_missing

if TYPE_CHECKING:
    from ludory.algorithms.league.crew import LeaguePlace
    from ludory.algorithms.league.run import League


def _three(option: str, kind: type[int] | type[float]) -> Any:
    """Annotation of three numbers with commas."""

    def read(text: str) -> tuple[float, ...]:
        try:
            numbers = tuple(kind(part) for part in text.split(","))
        except ValueError:
            numbers = ()
        if len(numbers) != 3:
            raise OptionError(f"{option} {text}: must be three numbers with commas, such as 1,1,2")
        return numbers

    return typed(read, "A,B,C")


@dataclass(frozen=True, kw_only=True)
class _LeaguePlaced(Placed):
    """Options of leagues whose turns can run on other machines."""

    deterministic: Flag = False
    """With --ray: one turn at a time, as without it, so that the log is the same. Otherwise all learners learn at once."""

    @contextmanager
    def league_place(self) -> Iterator[LeaguePlace]:
        """Where learners and evaluations run.

        Raises:
            OptionError: --deterministic without --ray.
        """
        from ludory.algorithms.league.crew import LeaguePlace

        if self.deterministic and not self.ray:
            raise OptionError("--deterministic: without --ray every league is; add --ray, or leave it out")
        with self.placement.open() as workers:
            yield LeaguePlace(workers, workers is None or self.deterministic)


@dataclass(frozen=True, kw_only=True)
class _Run(_LeaguePlaced, GameOptions):
    """Train several players from one supervised policy, each against the others.

    Options behind -- belong to the learner of all players: ludory league run ... -- --n-steps 32 --learning-rate 1e-4

    Example: ludory league run --env Arena2P-v0 --teacher pi_sup.ludory --budget 20m --out runs/league
    """

    env: EnvId
    """Id of a zero-sum game."""
    teacher: str
    """Checkpoint of the supervised policy."""
    init_from: Maybe[str] = None
    """Checkpoint that learners begin with (default: the teacher)."""
    budget: Annotated[str, arg(metavar="BUDGET")]
    """Agent steps of all learners (5e6), or minutes (20m)."""
    out: Folder
    """Folder of the league."""
    roles: Annotated[tuple[int, int, int], _three("--roles", int)] = (1, 1, 2)
    """Numbers of mains, main exploiters and league exploiters."""
    rules: Literal["paper", "pseudocode"] = "paper"
    """Rules of matchmaking and of copies: those of the paper's text, or of its pseudo-code."""
    shares: Annotated[tuple[float, float, float], _three("--shares", float)] = (0.5, 0.35, 0.15)
    """Shares of a main's matches: PFSP, self-play, verification."""
    weighting: Literal["priority", "uniform"] = "priority"
    """How frozen opponents are drawn."""
    strength: Literal["rate", "wilson"] = "rate"
    """What must exceed 0.7 for a copy: the win rate, or the lower end of its Wilson interval."""
    source: Literal["both", "training", "evaluator"] = "both"
    """Games that count."""
    unit: Count = 0
    """Agent steps that stand for the paper's 2e9 (0: budget/64)."""
    slice_steps: Count = 0
    """Agent steps of a turn (0: unit/8)."""
    main_turns: int = 1
    """Turns of a main for one of an exploiter."""
    exploiter_kl: float = 0.0
    """Weight of exploiters' KL to the teacher."""
    exploiters_from: Literal["teacher", "main"] = "teacher"
    """What exploiters start anew from: the teacher, or the newest copy of a main."""
    games_per_match: int = 64
    """Games against one opponent."""
    anchors: str = ""
    """Agents to measure against, comma-separated."""
    anchors_in_pfsp: Flag = False
    """Let learners train against the anchors as well."""
    evaluation_games: int = 100
    """Games of a pair."""
    evaluation_every: int = 1
    """Copies between two rounds of evaluation."""
    learner: str = "vtrace"
    """Algorithm of all learners, such as ppo."""
    seed: int = 0
    """Seed of everything."""


def run(argv: list[str]) -> int:
    """Begin a league; returns the exit code."""
    chosen, behind = parse_with_learner(_Run, argv, "league run")
    from ludory.algorithms.league.config import LeagueConfig
    from ludory.algorithms.league.matchmaking.opponent_choice import Matchmaking
    from ludory.algorithms.league.matchmaking.snapshots import SnapshotRules
    from ludory.algorithms.league.run import start_league
    from ludory.algorithms.tuned.plan import said_iteration

    tell_what_is_missing()
    pfsp, self_play, verification = chosen.shares
    named = common_fields(chosen, LeagueConfig) | parse_budget(chosen.budget)
    named["anchors"] = tuple(name for name in chosen.anchors.split(",") if name)
    config = LeagueConfig(
        **named,
        options=parse_options(chosen.option),
        matchmaking=Matchmaking(
            pfsp_share=pfsp,
            self_play_share=self_play,
            verification_share=verification,
            prioritised=chosen.weighting == "priority",
            anchors_in_pfsp=chosen.anchors_in_pfsp,
        ),
        snapshots=SnapshotRules(rules=chosen.rules, strength=chosen.strength),
        learner_options=learner_options("ludory league run", chosen.learner, behind),
    )
    with chosen.league_place() as place:
        league = start_league(config, chosen.out, place)
        if line := said_iteration(league.config.to_json(), config.budget_steps):
            print(line, flush=True)
        return _train(league)


@dataclass(frozen=True, kw_only=True)
class _Resume(_LeaguePlaced):
    """Go on with a league that was stopped or killed, or that has a larger budget now.

    Example: ludory league resume runs/league --budget 1e7
    """

    folder: FolderArgument
    """Folder of the league."""
    budget: Annotated[Maybe[str], arg(metavar="BUDGET")] = None
    """Another budget: agent steps, or minutes with an m."""


def resume(argv: list[str]) -> int:
    """Go on with a league; returns the exit code."""
    chosen = parse(_Resume, argv, "league resume")
    from ludory.algorithms.league.run import resume_league

    budget = parse_budget(chosen.budget) if chosen.budget else {}
    with chosen.league_place() as place:
        return _train(resume_league(chosen.folder, place, **budget))


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


def _train(league: League) -> int:
    from ludory.algorithms import exit_code, stop_on_interrupt

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
        + (
            f"`ludory league report {as_typed(league.folder)}`"
            if finished
            else f"`ludory league resume {as_typed(league.folder)}` goes on"
        )
    )
    return exit_code(received[0]) if received and not finished else 0
