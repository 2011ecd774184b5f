"""`ludory texas42 calibrate | quick`: let players play with hidden hands, and fit small models to what they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ludory.cli.common import Count, File, Folder, Maybe, parse, write_text
from ludory.errors import OptionError

if TYPE_CHECKING:  # numpy is imported only by commands that need it
    from ludory.agents.texas42.play.fast_policy import QuickPolicyWeights

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
    from ludory.envs import check_range

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


ITERATIONS, HANDS, EPOCHS = 250, 4000, 12
"""Of `ludory texas42 quick`, where nothing else is typed."""


@dataclass(frozen=True, kw_only=True)
class _Quick:
    """Fit the quick policy, a small network, to what a player plays; or let it learn by playing itself.

    Example: ludory texas42 quick --self-play
    """

    self_play: bool = False
    """Learn from its own play, each tile played out; a stopped training goes on."""
    iterations: Maybe[int] = None
    """Of self-play, 10,000 hands each; none: 250."""
    hands: Maybe[int] = None
    """Contracts that --player plays, 100 or more; none: 4000."""
    player: str | None = None
    """Agent in all seats that the network imitates; none: texas42/pimc."""
    units: int = 32
    """Units of the hidden layer."""
    epochs: Maybe[int] = None
    """Passes over all decisions of --player; none: 12."""
    seed: int = 0
    """Seed of the fit or of the self-play."""
    out: Folder = Path("runs/texas42-quick")
    """Folder of the weights, and of examples or of the training, which are kept and continued."""


def quick(argv: list[str]) -> int:
    """Play what is missing, fit, write; returns the exit code."""
    options = parse(_Quick, argv, "texas42 quick")

    from ludory.agents import check_count
    from ludory.algorithms.texas42.quick.fit import write_weights

    for name, least in (("hands", 100), ("units", 1), ("epochs", 1), ("iterations", 1), ("seed", 0)):
        if (value := getattr(options, name)) is not None:
            check_count(f"--{name}", value, least)
    for name in ("player", "hands", "epochs") if options.self_play else ("iterations",):
        if getattr(options, name) is not None:
            wrong = (
                "is for imitation; leave out either it or --self-play"
                if options.self_play
                else "is for --self-play; add --self-play"
            )
            raise OptionError(f"--{name} {getattr(options, name)} {wrong}")
    target = options.out / "quick_policy.json"
    write_weights(target, _learnt(options) if options.self_play else _imitating(options))
    print(f"weights in {target}; try: texas42/response(policy={str(target)!r})")
    return 0


def _imitating(options: _Quick) -> QuickPolicyWeights:
    from rich.console import Console
    from rich.progress import Progress

    from ludory.algorithms.texas42.quick.fit import PLAYER, fit, gather_examples

    hands, player, epochs = options.hands or HANDS, options.player or PLAYER, options.epochs or EPOCHS
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        bar = progress.add_task("hands", total=hands)
        examples = gather_examples(options.out, hands, player, lambda n: progress.update(bar, completed=n))
    found = fit(examples, options.units, epochs, options.seed)
    print(f"{len(examples.number):,} decisions of {len(examples.hand):,} hands; of deals held out:")
    print(f"  tiles         loss {found.loss:.3f} (any tile: {found.uniform_loss:.3f}), accuracy {found.accuracy:.1%}")
    print(f"  declarations  loss {found.declaration_loss:.3f} (any: 2.197), accuracy {found.declaration_accuracy:.1%}")
    return found.weights


def _learnt(options: _Quick) -> QuickPolicyWeights:
    from ludory.algorithms.texas42.quick.self_play import Iteration, SelfPlay, learn

    settings = SelfPlay(units=options.units, iterations=options.iterations or ITERATIONS, seed=options.seed)

    def told(done: Iteration) -> None:
        if done.number % 10 == 0 or done.number == settings.iterations:
            figures = (
                f"contracts made {done.made:.1%}, entropy {done.entropy:.2f}, the tile matters in {done.matters:.0%}"
            )
            print(f"iteration {done.number} of {settings.iterations}: {figures}", flush=True)

    options.out.mkdir(parents=True, exist_ok=True)
    return learn(settings, options.out / "self_play.pt", told)
