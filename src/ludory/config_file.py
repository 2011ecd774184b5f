"""Options in a file: YAML, TOML or JSON, by its ending."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import OptionError

MOST_BYTES = 2**20


def read_config(file: str | Path) -> dict[str, Any]:
    """The options that a file holds, by name.

    Raises:
        OptionError: the ending is unknown, or the content is not a table of options.
    """
    path = Path(file)
    if path.suffix.lower() not in READERS:
        raise OptionError(f"--config {file}: the name must end in {', '.join(READERS)}")
    try:
        with path.open("rb") as handle:
            data = handle.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise OptionError(f"--config {file}: no such file; `--print-config > {path.name}` writes one") from None
    if len(data) > MOST_BYTES:
        raise OptionError(f"--config {file}: larger than 1 MiB; name a file of options")
    try:
        found = READERS[path.suffix.lower()](data.decode())
    except OptionError:
        raise
    except Exception as error:  # each of the three libraries has classes of its own
        said = " ".join(str(error).split())[:300]
        raise OptionError(f"--config {file}: cannot be read as {path.suffix[1:].upper()}: {said}") from error
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise OptionError(f"--config {file}: must be a table of options, such as `games: 1000`")
    return found


def write_config(values: dict[str, Any], title: str) -> str:
    """Options as YAML, one a line, with a line of comment."""
    return f"# {title}\n" + "".join(_line(name, value) for name, value in values.items())


def _line(name: str, value: Any) -> str:
    import yaml

    if isinstance(value, list | dict):
        text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=True, width=10**6)
        return f"{name}: {text}"
    line: str = yaml.safe_dump({name: value}, allow_unicode=True, default_flow_style=False)
    return line


def _yaml(text: str) -> Any:
    import yaml

    return yaml.safe_load(text)


def _toml(text: str) -> Any:
    try:
        import tomllib
    except ModuleNotFoundError:
        raise OptionError("TOML needs Python 3.11 or newer; write the options as YAML or JSON") from None
    return tomllib.loads(text)


READERS: dict[str, Callable[[str], Any]] = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".json": json.loads}
