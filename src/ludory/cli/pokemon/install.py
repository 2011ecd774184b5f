"""`ludory pokemon install`, `pack` and `doctor`: the simulator in the cache folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Annotated

import numpy as np

from ludory.arguments import Arg
from ludory.cli.common import File, FileArgument, Flag, Maybe, parse
from ludory.envs.pokemon.backends import install as installation
from ludory.envs.pokemon.backends import packing, showdown
from ludory.envs.pokemon.formats import RULES, V8_RULES, formats, missing_in_v8
from ludory.errors import LudoryError, OptionError

RATE_SECONDS = 5.0
RATE_FORMATS = ("gen1randombattle", "gen9randombattle")


@dataclass(frozen=True, kw_only=True)
class _Install:
    """Fetch a simulator that a lock file names into the cache folder, and play a battle with it.

    A second call does nothing. Afterwards no command opens a connection to the outside.

    Example: ludory pokemon install
    """

    node: str = ""
    """Node to use: system, wheel, or the path of a program (default: the first of system and wheel that is new enough)."""
    from_file: Annotated[Maybe[File], Arg(name="from")] = None
    """Install a file of `ludory pokemon pack`, without npm and without a network."""
    again: Flag = False
    """Install anew, even if the simulator is there."""
    v8: Flag = False
    """The simulator for backend='v8' instead, which needs Node only now, to make one script of it."""
    server: Flag = False
    """Also a copy that runs a Showdown server, and poke-env in an environment of its own, for backend='server'."""


def install(argv: list[str]) -> int:
    """Install the simulator; returns the exit code."""
    chosen = parse(_Install, argv, "pokemon install")
    if chosen.v8 and chosen.server:
        raise OptionError("--v8 --server: a Showdown server needs the simulator for Node; type two commands")
    if chosen.from_file is not None:
        folder = packing.install_from(chosen.from_file, chosen.node)
        print(f"{installation.read_marker(folder)['rules']} is in {folder}")
        return 0
    if chosen.v8:
        if installation.installed(installation.V8) is None:
            print(f"fetching {V8_RULES} with npm, and making one script of it (14 MB on disk) ...", flush=True)
        folder = installation.install_v8(chosen.node, chosen.again)
        print(f"{V8_RULES} is in {folder}")
        return 0
    if installation.installed() is None:
        print(f"fetching {RULES} with npm (about 150 MB on disk) ...", flush=True)
    folder = installation.install(chosen.node, chosen.again)
    print(f"{RULES} is in {folder}")
    if chosen.server:
        print(f"a Showdown server and poke-env are in {showdown.install_server(chosen.again)}")
    return 0


@dataclass(frozen=True, kw_only=True)
class _Pack:
    """Write the installed simulator to one file; `ludory pokemon install --from FILE` installs it elsewhere.

    Example: ludory pokemon pack simulator.tar.gz
    """

    file: FileArgument
    """File to write, ending in .tar.gz."""
    v8: Flag = False
    """The simulator for backend='v8' instead; where it is installed from the file, Node is not needed."""


def pack(argv: list[str]) -> int:
    """Write the file; returns the exit code."""
    chosen = parse(_Pack, argv, "pokemon pack")
    file = chosen.file
    if not str(file).endswith((".tar.gz", ".tgz")):
        raise OptionError(f"{file}: must end in .tar.gz")
    count = packing.pack(file, installation.V8 if chosen.v8 else installation.SIM)
    print(f"{file}: {count:,} files, {file.stat().st_size / 1e6:.1f} MB; ludory pokemon install --from {file}")
    return 0


@dataclass(frozen=True, kw_only=True)
class _Doctor:
    """Say what is installed for Pokémon battles, how fast it plays, and what is missing.

    Example: ludory pokemon doctor
    """


def doctor(argv: list[str]) -> int:
    """Print what is found; exit code 1 if battles cannot be played."""
    parse(_Doctor, argv, "pokemon doctor")
    print(f"rules    {RULES}\nlock     {installation.lock_hash()[:12]}")
    print(f"folder   {installation.folder_of_lock()}")
    from ludory.envs.pokemon.backends.sim import SimWorker

    found = True
    try:
        needed = installation.needed()
        with SimWorker(needed) as worker:
            said = worker.hello
            print(f"node     {said['node']} ({needed.node})\nformats  {len(said['formats']['singles'])} for singles")
        _print_rates("sim")
    except LudoryError as error:
        found = False
        print(f"problem  {error}")
    _print_v8()
    return 0 if found else 1


def _print_v8() -> None:
    from ludory.envs.pokemon.backends.v8 import V8Worker

    if installation.installed(installation.V8) is None:
        print(f'v8       not installed (optional): pip install "ludory[pokemon-v8]", then {installation.V8.install}')
        return
    try:
        with V8Worker() as worker:
            print(f"v8       {V8_RULES} in {installation.folder_of_lock(installation.V8)}, V8 {worker.version}")
        print(f"formats  {len(formats()) - len(missing_in_v8())} for singles")
        _print_rates("v8")
    except LudoryError as error:
        print(f"problem  {error}")


def _print_rates(backend: str) -> None:
    for format in RATE_FORMATS:
        print(f"rate     {format}: {_rate(format, backend):,.0f} turns a second, masks only", flush=True)


def _rate(format: str, backend: str) -> float:
    """Turns per second of wall time of random play, for half of `RATE_SECONDS` after as long a warm-up."""
    from ludory.envs import make_engine

    engine = make_engine("Pokemon-v0", 32, seed=1, format=format, observation="none", workers=0, backend=backend)
    draw = np.random.default_rng(1)
    try:
        engine.reset()
        turns, start = 0, 0.0
        began = monotonic()
        while (now := monotonic()) < began + RATE_SECONDS:
            if not start and now > began + RATE_SECONDS / 2:
                turns, start = 0, now
            mask = engine.legal()
            # any legal action: the largest of random numbers
            engine.step(np.where(mask, draw.random(mask.shape), -1).argmax(-1)[..., None])
            turns += int(engine.deciding.any(axis=1).sum())
            over = np.flatnonzero(engine.terminated)
            if len(over):
                engine.reset(over)
        return turns / (monotonic() - start)
    finally:
        engine.close()


@dataclass(frozen=True, kw_only=True)
class _Serve:
    """Run a Showdown server on this machine until Ctrl+C, for people and foreign bots. Players need no passwords.

    Example: ludory pokemon serve --port 8000
    """

    port: int = 8000
    """Port on 127.0.0.1; 0 takes a free one."""


def serve(argv: list[str]) -> int:
    """Serve until interrupted; returns the exit code."""
    with showdown.ShowdownServer(parse(_Serve, argv, "pokemon serve").port) as server:
        print(f"{RULES} listens at {server.url}; Ctrl+C ends it", flush=True)
        with suppress(KeyboardInterrupt):
            server.wait()
            print(f"the server ended{server.last_words()}")
            return 1
    return 0
