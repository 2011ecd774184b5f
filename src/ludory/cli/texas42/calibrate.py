"""`ludory texas42 calibrate`: play contracts with hidden hands and fit to them how likely a hand makes its bid."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludory.atomic import atomic_file
from ludory.cli.common.options import count
from ludory.errors import OptionError

from .filling import fill_folder


def run(argv: list[str]) -> int:
    """Play what is missing, then fit; returns the exit code."""
    chosen = _parser().parse_args(argv)

    from ludory.agents.texas42.bidding.fitted_make_probability import calibration_json
    from ludory.algorithms.texas42.data.contracts import fit_calibration, make_contracts
    from ludory.data.formats.texas42.contracts import CONTRACTS, ContractsName, check_contracts, read_contracts
    from ludory.envs.options import check_range

    if chosen.contracts < CONTRACTS or chosen.contracts % CONTRACTS:
        raise OptionError(
            f"--contracts {chosen.contracts}: must be a multiple of {CONTRACTS}, the contracts of a file, and at least that"
        )
    check_range("--worlds", chosen.worlds, 1, 100_000)
    names = [ContractsName(first, chosen.worlds) for first in range(0, chosen.contracts, CONTRACTS)]
    code = fill_folder(chosen, names, check_contracts, make_contracts, "contracts")
    if code or chosen.limit is not None:
        return code
    if lacking := [name.path.name for name in names if not (chosen.out / name.path).exists()]:
        print(
            f"{len(lacking)} files are in work elsewhere, such as {lacking[0]}: give the same command again when they are there"
        )
        return 1
    found = fit_calibration(read_contracts([chosen.out / name.path for name in names]), chosen.worlds)
    with atomic_file(chosen.model, "w") as handle:
        handle.write(calibration_json(found))
    print(f"The calibration is in {chosen.model}; try: texas42/bidder(calibration={str(chosen.model)!r})")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory texas42 calibrate",
        description="Play contracts with hidden hands, about 0.1 s each, and fit P(make) to them.",
    )
    parser.add_argument("--out", type=Path, default=Path("data/texas42-contracts"), help="folder of the contracts")
    parser.add_argument("--contracts", type=count, default=6000, help="how many (default 6000)")
    parser.add_argument("--worlds", type=count, default=10, help="of texas42/pimc, which plays them (default 10)")
    parser.add_argument("--model", type=Path, default=Path("calibration.json"), help="file of the fitted models")
    parser.add_argument("--limit", type=count, metavar="N", help="play so many new files, and fit nothing")
    parser.add_argument(
        "--replace", action="store_true", help="write damaged and foreign files anew, instead of stopping"
    )
    return parser
