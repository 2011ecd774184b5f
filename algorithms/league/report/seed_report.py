"""The report of a league of the program that Ludory began with, from its `league_state.json` and `matches.jsonl`, with its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludory.algorithms.league.metagame.ratings import sequential_elo
from ludory.atomic import atomic_file
from ludory.errors import DataError
from ludory.reading import parse_json, read_json


class SeedMatch(NamedTuple):
    """A line of `matches.jsonl`."""

    line: int
    home: str
    away: str
    outcome: float
    """1: home won, 0: draw, -1: away won."""
    round: int | None
    played: bool
    """False: the outcome was drawn from a guessed probability."""


def write_seed_report(league_state: str | Path, matches: str | Path, output: str | Path) -> dict[str, Any]:
    """Write the report of two files to `output`; returns what was written.

    Raises:
        DataError: a file is missing or damaged; for matches with the number of the line.
        OutputError: the output cannot be written.
    """
    found = seed_report(_players(Path(league_state)), read_matches(matches))
    with atomic_file(output, "w") as handle:
        json.dump(found, handle, indent=2, allow_nan=False)
        handle.write("\n")
    return found


def seed_report(players: Mapping[str, Mapping[str, Any]], matches: list[SeedMatch]) -> dict[str, Any]:
    """A report with the old keys: unplayed rates are None, Elo takes every match once, and warnings name what is wrong.

    Args:
        players: of `league_state.json`; `trainable` and `agent_type` are read.
        matches: in the order of the file.
    """
    scores: dict[tuple[str, str], list[float]] = {}
    for match in matches:
        # -1, 0 and 1 are 0, one half and 1 point
        points = (match.outcome + 1) / 2
        scores.setdefault((match.home, match.away), []).append(points)
        # games of a player against itself stand there once
        if match.home != match.away:
            scores.setdefault((match.away, match.home), []).append(1 - points)
    ids = sorted({id for pair in scores for id in pair})
    rows = [(ids.index(match.home), ids.index(match.away), (match.outcome + 1) / 2) for match in matches]
    elo = dict(zip(ids, sequential_elo(len(ids), rows).tolist(), strict=True))
    frozen = [id for id, player in players.items() if not player.get("trainable")]
    mains = [id for id, player in players.items() if player.get("trainable") and player.get("agent_type") == "main"]
    past = {main: [float(np.mean(scores[main, id])) for id in frozen if (main, id) in scores] for main in mains}
    return {
        "num_players": len(players),
        "num_matches": len(matches),
        "win_rates": {f"{a} vs {b}": float(np.mean(points)) for (a, b), points in sorted(scores.items())},
        "games": {f"{a} vs {b}": len(points) for (a, b), points in sorted(scores.items())},
        "elo": dict(sorted(elo.items(), key=lambda item: -item[1])),
        "exploitability_proxy_min_winrate_vs_past": {main: min(rates, default=None) for main, rates in past.items()},
        "played": all(match.played for match in matches),
        "warnings": list(_warnings(players, matches)),
    }


def read_matches(file: str | Path) -> list[SeedMatch]:
    """The matches of a file.

    Raises:
        DataError: the file is missing, or a line is not a match (with its number).
    """
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read ({error}); name the league's matches.jsonl") from error
    return [_match(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _match(file: str | Path, number: int, line: str) -> SeedMatch:
    try:
        row = parse_json(line, finite=True)
        outcome = float(row["outcome"])
        if outcome not in (1.0, 0.0, -1.0):
            raise ValueError(f"outcome {outcome:g}")
        # outcomes with this entry were drawn, not played
        guessed = row.get("win_prob_proxy") is not None
        return SeedMatch(number, str(row["agent_a"]), str(row["agent_b"]), outcome, row.get("round"), not guessed)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{file}, line {number}: not a match ({error!r}): {line[:80]!r}; it must be an object with agent_a, agent_b and outcome 1, 0 or -1"
        ) from error


def _players(file: Path) -> dict[str, dict[str, Any]]:
    try:
        players = read_json(file)["players"]
        return {str(id): dict(player) for id, player in players.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{file}: not the state of a league ({error!r}); it must be a JSON object with players, such as league_state.json"
        ) from error


def _warnings(players: Mapping[str, Any], matches: list[SeedMatch]) -> Iterator[str]:
    guessed = sum(not match.played for match in matches)
    if guessed:
        yield (
            f"{guessed} of {len(matches)} matches carry win_prob_proxy: their outcomes were drawn from parameter norms, "
            "no game was played; nothing here says how good these players are"
        )
    rounds = [(match.line, match.round) for match in matches if match.round is not None]
    for (_, before), (line, after) in pairwise(rounds):
        if after < before:
            yield f"line {line}: round {after} after round {before}; the file holds the matches of more than one run"
    strangers = sorted({id for match in matches for id in (match.home, match.away)} - set(players))
    if strangers:
        yield f"not among the players of the league: {', '.join(strangers)}"
