"""`ludory spa config`: the named configurations, their keys beside the originals', and the originals' files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ludory.arguments import Arg
from ludory.cli.common import FileArgument, Flag, parse, run_job
from ludory.visible import visible

JOBS = {
    "list": ("spa.config:list_names", "names of the configurations that come with Ludory"),
    "show": ("spa.config:show", "a configuration as YAML, or beside the originals' keys"),
    "read": ("spa.config:read", "convert a YAML file of RAGEN, SPA or verl, and list what was not understood"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("spa config", "Configurations of `ludory spa run`.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class _List:
    """Print the names of the configurations that come with Ludory.

    Example: ludory spa config list
    """


def list_names(argv: list[str]) -> int:
    """Print the names; returns the exit code."""
    parse(_List, argv, "spa config list")
    from ludory.algorithms.world_model.config import config_names

    print("\n".join(config_names()))
    return 0


@dataclass(frozen=True, kw_only=True)
class _Show:
    """Print a configuration.

    Example: ludory spa config show spa/_2_sokoban --original
    """

    name: Annotated[str, Arg(positional=True, metavar="NAME")]
    """Of a configuration, or a YAML file."""
    original: Flag = False
    """A table with the originals' keys."""


def show(argv: list[str]) -> int:
    """Print a configuration; returns the exit code."""
    chosen = parse(_Show, argv, "spa config show")
    from ludory.algorithms.world_model.config import as_fields, read_config

    config = read_config(chosen.name)
    if not chosen.original:
        print(visible(_yaml(as_fields(config)), keep="\n"), end="")
        return 0
    from ludory.algorithms.world_model.originals import beside_originals
    from ludory.benchmarks.harness.terminal import show as show_parts
    from ludory.benchmarks.harness.terminal import table

    show_parts([table(chosen.name, ["original key", "ours", "value"], beside_originals(config), left=3)])
    return 0


@dataclass(frozen=True, kw_only=True)
class _Read:
    """Print a YAML file of RAGEN, SPA or verl as a configuration of ours; what has no field here follows as comments, and the exit code is 1.

    Example: ludory spa config read config/base.yaml --preset spa > own.yaml
    """

    file: FileArgument
    """YAML file."""
    preset: str = "ragen"
    """Preset of PPO whose options the file changes: ragen or spa."""


def read(argv: list[str]) -> int:
    """Convert a file; returns the exit code."""
    chosen = parse(_Read, argv, "spa config read")
    from ludory.algorithms.world_model.config import as_fields
    from ludory.algorithms.world_model.originals import read_original

    found = read_original(Path(chosen.file), chosen.preset)
    print(visible(_yaml(as_fields(found.config)), keep="\n"), end="")
    if found.unknown:
        print("# not understood:")
        print("\n".join(visible(f"#   {one}") for one in found.unknown))
    return 1 if found.unknown else 0


def _yaml(fields: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(_plain(fields), sort_keys=False, allow_unicode=True))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
