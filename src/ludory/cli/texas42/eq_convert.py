"""`ludory texas42 eq-convert`: records of E[Q] to dictionaries of torch.save (.pt), and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludory.errors import OptionError

ENDINGS = (".safetensors", ".pt")


def run(argv: list[str]) -> int:
    """Convert one file; returns the exit code."""
    parser = argparse.ArgumentParser(
        "ludory texas42 eq-convert", description="Convert a record of E[Q]; nothing in the file is executed."
    )
    parser.add_argument("file", type=Path, help="a .safetensors record, or a .pt dictionary")
    parser.add_argument("out", type=Path, help="file to write, with the other ending")
    chosen = parser.parse_args(argv)
    if (chosen.file.suffix, chosen.out.suffix) not in (ENDINGS, ENDINGS[::-1]):
        raise OptionError(f"{chosen.file} to {chosen.out}: one must end in .safetensors, the other in .pt")
    if chosen.out.exists():
        raise OptionError(f"{chosen.out} exists; name another file")

    from ludory.data.formats.texas42.eq_records import read_eq, write_eq
    from ludory.data.formats.texas42.eq_torch import read_pt, write_pt

    if chosen.file.suffix == ".pt":
        write_eq(chosen.out, read_pt(chosen.file))
    else:
        write_pt(chosen.out, read_eq(chosen.file))
    print(f"The record is in {chosen.out}")
    return 0
