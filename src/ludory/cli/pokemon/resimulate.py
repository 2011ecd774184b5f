"""`ludory pokemon resimulate`: play recorded battles again from their input logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ludory.cli.common import Flag, Paths, parse
from ludory.visible import visible

from .convert import files_of


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Play recorded battles again from their input logs, and compare logs and teams with what was recorded.

    Records of battles that failed have no log to compare; they are played up to their last choice.

    Example: ludory pokemon resimulate battles.jsonl.gz
    """

    paths: Paths
    """Files of battles with `inputLog`."""
    backend: Literal["sim", "v8"] = "sim"
    """The simulator that played them; records of failures name it."""
    hashes: Flag = False
    """Print the hash of every battle's log."""


def _how_far(lines: Sequence[str]) -> str:
    """Where a battle without a recorded log stands after its last choice."""
    turns = [line.split("|")[2] for line in lines if line.startswith("|turn|")]
    over = any(line.startswith(("|win|", "|tie")) for line in lines)
    return f"plays again without a fault to {'its end' if over else 'its last choice'}, in turn {turns[-1] if turns else 0}"


def run(argv: list[str]) -> int:
    """Play and compare; exit code 1 if a battle differs or has no input log."""
    chosen = parse(_Options, argv, "pokemon resimulate")
    from ludory.data.pokemon.rejections import Rejection
    from ludory.data.pokemon.replays import read_battles
    from ludory.data.pokemon.resimulation import check_same, resimulate
    from ludory.envs.pokemon.lane import BACKENDS
    from ludory.errors import DataError, RejectedBattleError

    same = wrong = 0
    with BACKENDS[chosen.backend]() as worker:
        for path in files_of(chosen.paths):
            for battle in read_battles(path):
                if isinstance(battle, Rejection):
                    print(visible(str(battle)))
                    wrong += 1
                    continue
                try:
                    played = resimulate(worker, battle)
                    if battle.lines:
                        check_same(battle, played)
                    else:
                        print(visible(f"{battle.id}: {_how_far(played.spectator)}"))
                except (RejectedBattleError, DataError) as error:
                    print(visible(f"{battle.place}, battle {battle.id}: {error}"))
                    wrong += 1
                    continue
                same += 1
                if chosen.hashes:
                    print(visible(f"{battle.id} {played.log_sha256}"))
    print(f"{same:,} battles play again as recorded, {wrong:,} do not")
    return 1 if wrong else 0
