"""Files of Python that register games, agents or algorithms: `ludory --plugin FILE`, and the processes that such a command starts."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from ludory.errors import OptionError, PluginError

FILES = "LUDORY_PLUGIN_FILES"
"""Variable of the environment with the files that are loaded, from which processes that this one starts learn of them."""


def load_file(file: str) -> None:
    """Run a file of Python that registers things, such as by `ludory.register`, here and in the processes that this one starts.

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
    if str(path.parent) not in sys.path:  # spawned processes have this path, and unpickle by it
        sys.path.append(str(path.parent))
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
    if str(path) not in _files():
        os.environ[FILES] = os.pathsep.join([*_files(), str(path)])


def load_inherited() -> None:
    """Load the files of the process that started this one; raises as `load_file`."""
    for file in _files():
        if Path(file).stem not in sys.modules:
            load_file(file)


def _files() -> list[str]:
    return list(filter(None, os.environ.get(FILES, "").split(os.pathsep)))


def program() -> str:
    """`ludory` with the plugin files of this command, as a command to type next begins."""
    return shlex.join(["ludory", *(word for file in _files() for word in ("--plugin", _as_short(file)))])


def _as_short(file: str) -> str:
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file
