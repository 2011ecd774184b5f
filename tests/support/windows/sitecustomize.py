"""An imitation of Windows on Linux, for the code of the package `ludory`; tests, Python and other packages see the system as it is.

Every Python process with this file's folder in `PYTHONPATH` lives in it, also those that it starts:

    PYTHONPATH=tests/support/windows PYTHONWARNDEFAULTENCODING=1 PYTHONIOENCODING=cp1252 pytest tests/envs

What it imitates: modules, functions and signals that Windows lacks; processes that are only spawned; selectors that take sockets only;
`msvcrt.locking`; open files that can be neither moved nor removed; folders that cannot be opened; names that no file may have; text whose
encoding nobody named. `sys.platform` and `os.name` stay, because Python's own modules ask them.
"""

from __future__ import annotations

import builtins
import importlib
import multiprocessing.connection
import multiprocessing.context
import os
import re
import select
import selectors
import signal
import stat
import subprocess
import sys
import time
import warnings
from functools import cache
from types import ModuleType
from typing import Any

MODULES = {"crypt", "curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty"}
LACKING: dict[ModuleType, str] = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK WEXITSTATUS WIFEXITED WIFSIGNALED WNOHANG WTERMSIG chown fchmod fchown fork "
    "forkpty getegid geteuid getgid getloadavg getpgid getpgrp getpriority getsid getuid killpg lchown mkfifo nice openpty "
    "posix_fadvise posix_spawn pread preadv pwrite register_at_fork sched_getaffinity sched_setaffinity sched_yield sendfile set_blocking "
    "setpgid setpriority setsid setuid statvfs sync sysconf ttyname uname wait wait3 wait4",
    signal: "ITIMER_PROF ITIMER_REAL SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGUSR1 "
    "SIGUSR2 alarm pause pthread_kill pthread_sigmask setitimer sigwait",
    select: "epoll poll",
    selectors: "EpollSelector PollSelector",
    time: "clock_gettime pthread_getcpuclockid tzset",
}
_BAD_NAME = re.compile(r'[<>:"|?*\x01-\x1f]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)', re.IGNORECASE)
_FREE = ("/proc", "/dev", "/sys")


@cache
def _is_own(file: str) -> bool:
    """Whether code of this file sees the imitation."""
    return f"{os.sep}ludory{os.sep}" in file


def _asked_by_own(depth: int) -> bool:
    try:
        return _is_own(sys._getframe(depth + 1).f_code.co_filename)
    except ValueError:  # the interpreter itself
        return False


def _lack(module: ModuleType, names: str) -> None:
    """Hide attributes of a module from the package."""
    hidden = {name: vars(module).pop(name) for name in names.split() if hasattr(module, name)}

    def found(name: str) -> Any:
        if name not in hidden or _asked_by_own(1):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return hidden[name]

    module.__getattr__ = found  # type: ignore[method-assign]


def _locking(real: Any) -> ModuleType:
    """`msvcrt` with its locks, made of those of `fcntl`, here `real`."""
    found = ModuleType("msvcrt")
    found.LK_NBLCK, found.LK_UNLCK = 2, 0  # type: ignore[attr-defined]

    def locking(descriptor: int, mode: int, size: int) -> None:
        try:
            real.flock(descriptor, real.LOCK_EX | real.LOCK_NB if mode else real.LOCK_UN)
        except BlockingIOError as error:
            raise PermissionError(error.errno, "Permission denied") from None

    found.locking = locking  # type: ignore[attr-defined]
    return found


def _lack_modules() -> None:
    plain, imported = builtins.__import__, importlib.import_module
    msvcrt = _locking(imported("fcntl"))

    def check(name: str) -> None:
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def import_statement(name: str, *arguments: Any, **named: Any) -> Any:
        if _asked_by_own(1):
            check(name)
        return plain(name, *arguments, **named)

    def import_module(name: str, package: str | None = None) -> ModuleType:
        if _asked_by_own(1):
            check(name)
            if name == "msvcrt":
                return msvcrt
        return imported(name, package)

    builtins.__import__, importlib.import_module = import_statement, import_module


def _spawn_only() -> None:
    context: Any = multiprocessing.context
    for name in ("fork", "forkserver"):
        context._concrete_contexts.pop(name, None)
    context._default_context._default_context = context._concrete_contexts["spawn"]


class _SocketSelector(selectors.SelectSelector):
    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        if f"{os.sep}asyncio{os.sep}" in sys._getframe(1).f_code.co_filename:
            return super().register(fileobj, events, data)  # there it has pipes of its own
        if isinstance(fileobj, multiprocessing.connection.Connection) or not stat.S_ISSOCK(os.fstat(number).st_mode):
            raise OSError(10038, "an operation was attempted on something that is not a socket")
        return super().register(fileobj, events, data)


def _open_files() -> set[str]:
    """Paths of the files that this process has open."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # that of the listing
            continue
    return found


def _check_closed(path: Any) -> None:
    """Refuse to move or remove a file that is open, or a folder with one in it."""
    place = os.path.realpath(os.path.dirname(path)) + os.sep + os.path.basename(os.fspath(path))
    if not place.startswith(_FREE) and any(file == place or file.startswith(place + os.sep) for file in _open_files()):
        raise PermissionError(
            13, "the process cannot access the file because it is being used by another process", path
        )


def _check_name(path: Any) -> None:
    text = os.fsdecode(path)
    if not text.startswith(_FREE):
        for part in text.split(os.sep):
            if part not in ("", ".", "..") and _BAD_NAME.search(part):
                raise OSError(22, "Invalid argument", path)


def _is_path(value: Any) -> bool:
    return isinstance(value, str | bytes | os.PathLike)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, mode, flags = arguments
        if _is_path(path):
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                _check_name(path)
            elif mode is None and _asked_by_own(1) and os.path.isdir(path):
                raise PermissionError(13, "Permission denied", path)
    elif event == "os.mkdir":
        _check_name(arguments[0])
    elif event == "os.rename":
        source, target = arguments[:2]
        _check_name(target)
        for path in (source, target):
            _check_closed(path)
    elif event == "os.remove" and arguments[1] in (-1, None):
        _check_closed(arguments[0])


def _change_processes() -> None:
    """Refuse `preexec_fn`; read what others print in the encoding that the system has."""
    begun = subprocess.Popen.__init__

    def begin(self: Any, *arguments: Any, **named: Any) -> None:
        if named.get("text") and not named.get("encoding"):
            named["encoding"] = os.environ.get("PYTHONIOENCODING")
        if named.get("preexec_fn") is not None and _asked_by_own(1):
            raise ValueError("preexec_fn is not supported on Windows platforms")
        begun(self, *arguments, **named)

    subprocess.Popen.__init__ = begin  # type: ignore[method-assign]


# A process that is started in another folder lives in the imitation, too.
os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))
_spawn_only()
selectors.DefaultSelector = _SocketSelector  # type: ignore[misc]
for _module, _names in LACKING.items():
    _lack(_module, _names)
_lack_modules()
_change_processes()
warnings.filterwarnings("ignore", category=EncodingWarning)
warnings.filterwarnings("error", category=EncodingWarning, module=r"ludory\.")
sys.addaudithook(_audit)
