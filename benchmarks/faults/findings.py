"""What a campaign counts: trials, and findings of several kinds with their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from .commands import Commands, Ended

Kind = Literal[
    "lost", "double", "different", "traceback", "hang", "crash", "left behind", "false success", "memory", "accepted"
]
"""lost, double, different: parts of a result, compared with an undisturbed run of the same seed. traceback: a Python traceback instead
of one line. hang: did not end in time. crash: the interpreter died. left behind: files that an undisturbed run does not leave. false
success: exit code 0 without the result. memory: allocated more than a file of this size can need. accepted: a damaged file was read
as intact although a bound or a checksum covers the damage."""
KINDS: tuple[Kind, ...] = get_args(Kind)
TRACEBACK = "Traceback (most recent call last)"


class FaultFinding(NamedTuple):
    """One fault."""

    kind: Kind
    what: str
    """Enough to reproduce it: the command or the damage, and its effect."""


@dataclass(slots=True)
class FaultTally:
    """Number of trials of each sort and findings of one case in one round."""

    trials: Counter[str] = field(default_factory=Counter)
    findings: list[FaultFinding] = field(default_factory=list)

    def add(self, kind: Kind, what: str) -> None:
        """Note a finding."""
        self.findings.append(FaultFinding(kind, " ".join(what.split())[:600]))

    def add_ending(self, ended: Ended, what: str) -> None:
        """Note what the ending of a process shows: a traceback, a hang, a crash."""
        if ended.hung:
            self.add("hang", f"{what}: not ended after {ended.seconds:.0f} s; {last_line(ended.err)}")
        elif ended.crashed:
            self.add("crash", f"{what}: ended by signal {ended.signal}")
        if TRACEBACK in ended.err:
            self.add("traceback", f"{what}: {last_line(ended.err)}")

    def add_difference(self, expected: Items, found: Items, what: str) -> bool:
        """Note what is lost, double or different compared with an undisturbed run; returns whether anything is."""
        counts, wanted, got = Counter(key for key, _ in found), dict(expected), dict(found)
        faults: dict[Kind, list[str]] = {
            "lost": [key for key in wanted if key not in got],
            "double": [key for key, count in counts.items() if count > 1],
            "different": [key for key in got if key not in wanted or wanted[key] != got[key]],
        }
        for kind, keys in faults.items():
            if keys:
                self.add(kind, f"{what}: {len(keys)} of {len(wanted)}, such as {', '.join(keys[:3])}")
        return any(faults.values())

    def as_json(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"trials": dict(self.trials), "findings": [list(one) for one in self.findings]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> FaultTally:
        """The inverse of `as_json`."""
        return cls(Counter(content["trials"]), [FaultFinding(*one) for one in content["findings"]])


def total(tallies: Iterable[FaultTally]) -> FaultTally:
    """Sum of several tallies."""
    result = FaultTally()
    for one in tallies:
        result.trials += one.trials
        result.findings += one.findings
    return result


Items = list[tuple[str, str]]
"""A result in comparable parts: names and digests."""
Case = Callable[["Place"], FaultTally]
"""Tries one job, format or command in one round."""


class Place(NamedTuple):
    """Where a case runs, and what it needs."""

    scratch: Path
    """An empty folder of its own."""
    inputs: Path
    """Folder of shared inputs, which are made once; see `jobs.make_input`."""
    commands: Commands
    seed: int
    amount: float = 1.0
    """Fraction of the usual number of trials; tests use less than 1."""


def last_line(text: str) -> str:
    """The last non-empty line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing on stderr"
