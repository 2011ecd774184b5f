"""Which `pip install` provides a missing module, according to the metadata of the packages."""

from __future__ import annotations

import re
import sys
from collections import Counter
from importlib import metadata
from typing import Any

from ludory.errors import PluginError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_OTHER_NAMES = {
    "PIL": "pillow",
    "pygame": "pygame-ce",
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Package of each module that is named differently from its package."""


def imported(*names: str) -> tuple[type[Any], ...]:
    """The classes "module:name" whose modules have been imported, for `isinstance`: an object of any other class was never made."""
    pairs = [(sys.modules.get(module), name) for module, _, name in (one.partition(":") for one in names)]
    return tuple(getattr(module, name) for module, name in pairs if module is not None and hasattr(module, name))


def needs_unix(what: str) -> PluginError:
    """An error for what cannot work on Windows: `what` is e.g. "benchmark 'faults'"."""
    return PluginError(f"{what} needs Linux or macOS; on Windows, type the same in WSL")


def missing_dependency(
    what: str, module: str, distribution: str = "ludory", extras: tuple[str, ...] = ()
) -> PluginError:
    """An error that says how to install `module`, which `what` needs.

    Args:
        what: e.g. "agent 'texas42/net'".
        module: name of the missing module; only its top level counts.
        distribution: the package that needs it; its metadata say which extra provides it.
        extras: extras that its entry point names.
    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return needs_unix(what)
    command = install_command(distribution, top, extras)
    cure = f"type: {command}" if command else f"{distribution} does not say which package brings it; ask its authors"
    return PluginError(f"{what} needs the module {top!r}, which is not installed; {cure}", name=module)


def install_command(distribution: str, module: str, extras: tuple[str, ...] = ()) -> str | None:
    """`pip install "distribution[extra]"` with one of `extras`, or else the smallest extra, that provides `module`; None if none does."""
    wanted = package_of(module)
    declared = _declared(distribution)
    brings = [extra for name, extra in declared if name == wanted]
    if "" in brings:
        return f'pip install "{distribution}"'
    brings = [extra for extra in brings if extra in extras] or brings
    if brings:
        size = Counter(extra for _, extra in declared)
        return f'pip install "{distribution}[{min(brings, key=lambda extra: size[extra])}]"'
    return f'pip install "{distribution}[{",".join(extras)}]"' if extras else None


def _declared(distribution: str) -> list[tuple[str, str]]:
    """(package, extra) of every requirement; extra is "" if it is always required."""
    try:
        requirements = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return []
    pairs = []
    for requirement in requirements:
        name, extra = _NAME.match(requirement), _EXTRA.search(requirement)
        if name:
            pairs.append((_canonical(name[0]), extra[1] if extra else ""))
    return pairs


def package_of(module: str) -> str:
    """Name of the package that brings a module, in lower case with hyphens."""
    top = module.partition(".")[0]
    return _canonical(_OTHER_NAMES.get(top, top))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
