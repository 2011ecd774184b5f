"""The machine that a benchmark ran on, without anything that identifies its owner."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and its load."""

    name: str
    """E.g. "2-core x86_64 VM, AMD EPYC (znver3)", with a GPU after it if there is one."""
    cores: int
    system: str
    python: str
    load: float | None
    """Load average of the last minute before the benchmark started; None: unknown."""


def this_machine(cpuinfo: Path = CPUINFO) -> Machine:
    """The machine that this process runs on."""
    import torch  # here, since every benchmark's --help imports this module
    from llvmlite import binding

    cores, facts = os.cpu_count() or 1, _cpu_facts(cpuinfo)
    kind = "VM" if "hypervisor" in facts.get("flags", "").split() else "machine"
    model = " ".join(facts.get("model name", "").split()) or platform.processor()
    if model:  # processors of one name differ by a factor of two
        model += f" ({binding.get_host_cpu_name()})"
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    name = ", ".join(part for part in (f"{cores}-core {platform.machine()} {kind}", model, card) if part)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return Machine(name, cores, platform.system(), platform.python_version(), load)


def usable_cores() -> list[int]:
    """Numbers of the cores that this process may use; empty where processes cannot be tied to cores."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _cpu_facts(cpuinfo: Path) -> dict[str, str]:
    """Facts of the first core."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # no Linux
        return {}
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def origin() -> dict[str, Any]:
    """The origin of a result: date, commit of the checkout (None outside of one), machine."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": commit_of(Path(__file__).parent),
        "machine": asdict(this_machine()),
    }


def commit_of(folder: Path) -> str | None:
    """The commit of the checkout that `folder` lies in; None outside of one."""
    command = ["git", "-C", str(folder.resolve()), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
