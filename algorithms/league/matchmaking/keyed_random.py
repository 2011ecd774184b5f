"""The few random decisions of a league: each is a function of the league's seed, its purpose and a number, so that a resumed league repeats it."""

from __future__ import annotations

from typing import Literal

Purpose = Literal["opponent", "seats", "reset"]
_PURPOSES: dict[Purpose, int] = {"opponent": 1, "seats": 2, "reset": 3}


def keyed_hash(seed: int, purpose: Purpose, number: int) -> int:
    """A signed 64-bit integer, the same for the same arguments on every machine; arguments as of `keyed_uniform`."""
    # brings a compiler that those who only read this package's tables do not need
    from ludory.envs.chance import hash_rows

    return int(hash_rows(int(hash_rows(seed, _PURPOSES[purpose])), number))


def keyed_uniform(seed: int, purpose: Purpose, number: int) -> float:
    """A number in [0, 1) with 53 random bits, the same for the same arguments on every machine.

    Args:
        seed: of the league.
        purpose: keeps decisions of one number apart.
        number: of the match or of the snapshot.
    """
    return float((keyed_hash(seed, purpose, number) % 2**64 >> 11) * 2.0**-53)
