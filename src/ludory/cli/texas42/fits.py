"""`ludory texas42 calibrate | quick`: let players play with hidden hands, and fit small models to what they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ludory.cli.common.files import write_text
from ludory.cli.common.options import Count, File, Folder, Maybe
from ludory.cli.common.parser import parse
from ludory.errors import OptionError

from .filling import FillOptions


@dataclass(frozen=True, kw_only=True)
class _Calibrate(FillOptions):
    """Play contracts with hidden hands, about 0.1 s each, and fit to them how likely a hand makes its bid.

    Example: ludory texas42 calibrate --contracts 6000 --model calibration.json
    """

    out: Folder = Path("data/texas42-contracts")
    """Folder of the contracts."""
    contracts: Count = 6000
    """Number of contracts."""
    worlds: Count = 10
    """Worlds of texas42/pimc, which plays them."""
    model: File = Path("calibration.json")
    """File of the fitted models."""
    limit: Maybe[Count] = None
    """Play so many new files, and fit nothing."""


def calibrate(argv: list[str]) -> int:
    """Play what is missing, then fit; returns the exit code."""
    chosen = parse(_Calibrate, argv, "texas42 calibrate")

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
    code = chosen.fill(names, check_contracts, make_contracts, "contracts")
    if code or chosen.limit is not None:
        return code
    if lacking := [name.path.name for name in names if not (chosen.out / name.path).exists()]:
        print(
            f"{len(lacking)} files are in work elsewhere, such as {lacking[0]}: give the same command again when they are there"
        )
        return 1
    found = fit_calibration(read_contracts([chosen.out / name.path for name in names]), chosen.worlds)
    write_text(chosen.model, calibration_json(found))
    print(f"The calibration is in {chosen.model}; try: texas42/bidder(calibration={str(chosen.model)!r})")
    return 0


@dataclass(frozen=True, kw_only=True)
class _Quick:
    """Fit the quick policy, a small network, to what a player plays.

    Example: ludory texas42 quick --player texas42/response --hands 4000
    """

    hands: int = 4000
    """Contracts that are played, 100 or more."""
    player: str = "texas42/pimc"
    """Agent in all seats."""
    units: int = 32
    """Units of the hidden layer."""
    epochs: int = 12
    """Passes over all decisions."""
    seed: int = 0
    """Seed of the fit."""
    out: Folder = Path("runs/texas42-quick")
    """Folder of the examples, which are kept and added to, and of the weights."""


def quick(argv: list[str]) -> int:
    """Play what is missing, fit, write; returns the exit code."""
    options = parse(_Quick, argv, "texas42 quick")

    from rich.console import Console
    from rich.progress import Progress

    from ludory.agents.evaluation.evaluate import check_count
    from ludory.agents.texas42.play.fast_policy import FILE
    from ludory.algorithms.texas42.quick.examples import gather_examples
    from ludory.algorithms.texas42.quick.fit import fit, write_weights

    for name, least in (("hands", 100), ("units", 1), ("epochs", 1), ("seed", 0)):
        check_count(f"--{name}", getattr(options, name), least)
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        bar = progress.add_task("hands", total=options.hands)
        examples = gather_examples(
            options.out, options.hands, options.player, lambda n: progress.update(bar, completed=n)
        )
    found = fit(examples, options.units, options.epochs, options.seed)
    target = options.out / "quick_policy.json"
    write_weights(target, found.weights)
    print(f"{len(examples.number):,} decisions of {len(examples.hand):,} hands; of deals held out:")
    print(f"  tiles         loss {found.loss:.3f} (any tile: {found.uniform_loss:.3f}), accuracy {found.accuracy:.1%}")
    print(f"  declarations  loss {found.declaration_loss:.3f} (any: 2.197), accuracy {found.declaration_accuracy:.1%}")
    print(
        f"weights in {target}; try: texas42/response(policy={str(target)!r}); "
        f"`texas42/quick` goes on with those that come with Ludory: its source has them in {FILE.name}"
    )
    return 0
