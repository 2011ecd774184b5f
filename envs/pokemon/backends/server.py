"""`ServerWorker`: battles on a real Showdown server, spoken to through poke-env, behind the protocol of the other workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import as_file, files
from typing import Any, NoReturn

from ludory.errors import BackendError

from .showdown import ShowdownServer, server_installation
from .sim import SimWorker
from .worker import Reply

NOT_SEEDED = "a Showdown server cannot be seeded: smogon/pokemon-showdown issue 11452; use backend='sim'"


class ServerWorker(SimWorker):
    """A Showdown server, and a child in poke-env's environment that holds both players of all battles.

    It plays slower than `SimWorker` and shows the same battles; it is for comparisons, people and foreign bots.

    Args:
        port: of the server; 0 takes a free one.
        timeout: seconds that the child may take for one message.

    Raises:
        PluginError: the server or poke-env is missing; says what to type.
        BackendError: the server or the child does not start; shows the last lines that it wrote.
    """

    def __init__(self, port: int = 0, timeout: float = 60.0) -> None:
        folder, python = server_installation()
        self.server = ShowdownServer(port)
        try:
            scripts = as_file(files("ludory.envs.pokemon").joinpath("backends"))
            port = self.server.port
            self._start(
                lambda path: [str(python), "-I", str(path / "poke_env_client.py"), str(port)], scripts, folder, timeout
            )
        except BaseException:
            self.close()
            raise

    def reset(self, games: Sequence[Mapping[str, Any]], compact: Mapping[str, str] | None = None) -> Reply:
        """Start battles: each `{"i": number, "format": id, "p1": {} or {"team": packed}, "p2": ..}`; seeds have no effect.

        Raises:
            OptionError: a team is refused.
            BackendError: the child died.
            BackendTimeout: no answer in time; the child has been ended.
        """
        if compact:
            self._refuse("answering with masks alone")
        return super().reset(games)

    def advise(self, player: str, games: Iterable[tuple[int, int]]) -> list[str]:
        """Choices of a player of poke-env for [game, seat] pairs, as the simulator writes them: "move 2".

        Args:
            player: a class of `poke_env.player`, or module:Class.
            games: of this worker, and the seat that decides.
        """
        return list(self._ask("advise", player=player, games=[list(pair) for pair in games])["choices"])

    def clone(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Refused: a server cannot copy battles."""
        self._refuse("copying battles")

    def redraw(self, games: Iterable[tuple[int, int, str]]) -> Reply:
        """Refused: a server does not let its battles be changed."""
        self._refuse("drawing anew what is hidden")

    def act(self, games: Sequence[int], actions: Sequence[int]) -> Reply:
        """Refused: a server answers with requests and lines."""
        self._refuse("answering with masks alone")

    def log(self, games: Sequence[int]) -> list[Reply]:
        """Refused: a server keeps input logs to itself."""
        self._refuse("showing input logs")

    def state(self, games: Sequence[int]) -> list[Reply]:
        """Refused: a server does not show hidden values."""
        self._refuse("showing hidden values")

    def validate(self, format: str, team: str) -> list[str]:
        """Problems that the simulator's validator names, [] for a legal team."""
        with SimWorker() as worker:
            return worker.validate(format, team)

    def pack(self, team: str) -> str:
        """A team in the packed form, from an export or a packed team."""
        with SimWorker() as worker:
            return worker.pack(team)

    def _refuse(self, what: str) -> NoReturn:
        raise BackendError(f"{what} is beyond a Showdown server; use backend='sim'")

    def close(self) -> None:
        """End the child and the server; may be called twice."""
        if hasattr(self, "_finalizer"):
            super().close()
        self.server.close()

    def _last_words(self) -> str:
        if not self.server.alive():
            return f"; the Showdown server is dead{self.server.last_words()}"
        return super()._last_words()
