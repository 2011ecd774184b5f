"""`ludory pokemon resimulate`: play recorded battles again from their input logs."""

from __future__ import annotations

from dataclasses import dataclass

from ludory.cli.common.options import Flag, Paths
from ludory.cli.common.parser import parse
from ludory.visible import visible

from .convert import files_of


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Play recorded battles again from their input logs, and compare logs and teams with what was recorded.

    Example: ludory pokemon resimulate battles.jsonl.gz
    """

    paths: Paths
    """Files of battles with `inputLog`."""
    hashes: Flag = False
    """Print the hash of every battle's log."""


def run(argv: list[str]) -> int:
    """Play and compare; exit code 1 if a battle differs or has no input log."""
    chosen = parse(_Options, argv, "pokemon resimulate")
    from ludory.data.pokemon.rejections import Rejection
    from ludory.data.pokemon.replays import read_battles
    from ludory.data.pokemon.resimulation import check_same, resimulate
    from ludory.envs.pokemon.backends.sim import SimWorker
    from ludory.errors import DataError, RejectedBattleError

    same = wrong = 0
    with SimWorker() as worker:
        for path in files_of(chosen.paths):
            for battle in read_battles(path):
                if isinstance(battle, Rejection):
                    print(visible(str(battle)))
                    wrong += 1
                    continue
                try:
                    played = resimulate(worker, battle)
                    check_same(battle, played)
                except (RejectedBattleError, DataError) as error:
                    print(visible(f"{battle.place}, battle {battle.id}: {error}"))
                    wrong += 1
                    continue
                same += 1
                if chosen.hashes:
                    print(visible(f"{battle.id} {played.log_sha256}"))
    print(f"{same:,} battles play again as recorded, {wrong:,} do not")
    return 1 if wrong else 0
