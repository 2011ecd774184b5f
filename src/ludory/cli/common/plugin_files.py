"""`ludory --plugin FILE`: files of Python that register games, agents or algorithms for one command."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from ludory.errors import OptionError, PluginError

LOADED: list[str] = []
"""Files that this command was given, as they were typed."""


def load_plugin(file: str) -> None:
    """Run a file of Python that registers things, such as by `ludory.register`.

    It is a module like others: so its kernels are compiled once per machine, and its classes can be stored.

    Raises:
        OptionError: there is no such file, or another module has its name.
        PluginError: running it fails.
    """
    path = Path(file).resolve()
    name = path.stem
    if path.suffix != ".py" or not path.is_file() or not name.isidentifier():
        raise OptionError(f"--plugin {file!r}: must be a file of Python with a name such as my_game.py")
    taken = find_spec(name)
    if taken is not None and taken.origin != str(path):
        raise OptionError(f"--plugin {file!r}: Python has another module {name!r}; rename the file")
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except Exception as error:
            del sys.modules[name]
            raise PluginError(f"--plugin {file!r} is broken ({type(error).__name__}: {error}); mend it") from error
    if file not in LOADED:
        LOADED.append(file)


def program() -> str:
    """`ludory` with the plugin files of this command, as a command to type next begins."""
    return shlex.join(["ludory", *(word for file in LOADED for word in ("--plugin", file))])
