"""`ludory texas42 quick`: fit the quick policy to what PIMC plays."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(argv: list[str]) -> int:
    """Play what is missing, fit, write; returns the exit code."""
    from rich.console import Console
    from rich.progress import Progress

    from ludory.agents.evaluation.evaluate import check_count
    from ludory.agents.texas42.play.fast_policy import FILE
    from ludory.algorithms.texas42.quick.examples import gather_examples
    from ludory.algorithms.texas42.quick.fit import fit, write_weights

    folder = Path("runs/texas42-quick")
    parser = argparse.ArgumentParser("ludory texas42 quick", description=__doc__)
    parser.add_argument(
        "--hands", type=int, default=4000, help="contracts that PIMC plays, 100 at least (default 4000)"
    )
    parser.add_argument("--units", type=int, default=32, help="of the hidden layer (default 32)")
    parser.add_argument("--epochs", type=int, default=12, help="over all decisions (default 12)")
    parser.add_argument("--seed", type=int, default=0, help="of the fit (default 0)")
    parser.add_argument(
        "--out", type=Path, default=folder, help=f"examples, kept and added to, and weights (default {folder})"
    )
    options = parser.parse_args(argv)
    for name, least in (("hands", 100), ("units", 1), ("epochs", 1), ("seed", 0)):
        check_count(f"--{name}", getattr(options, name), least)
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        bar = progress.add_task("hands", total=options.hands)
        examples = gather_examples(options.out, options.hands, lambda n: progress.update(bar, completed=n))
    found = fit(examples, options.units, options.epochs, options.seed)
    target = options.out / "quick_policy.json"
    write_weights(target, found.weights)
    print(f"{len(examples.number):,} decisions of {len(examples.hand):,} hands; of deals held out:")
    print(f"  tiles         loss {found.loss:.3f} (any tile: {found.uniform_loss:.3f}), accuracy {found.accuracy:.1%}")
    print(f"  declarations  loss {found.declaration_loss:.3f} (any: 2.197), accuracy {found.declaration_accuracy:.1%}")
    print(
        f"weights in {target}; `texas42/quick` goes on with those that come with Ludory: its source has them in {FILE.name}"
    )
    return 0
