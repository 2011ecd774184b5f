"""`Page`: what a system shows in the browser. The server knows systems by the registry `ludory.pages` alone."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from anyio.to_thread import run_sync
from jinja2 import BaseLoader, PackageLoader
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router

from ludory.errors import LudoryError, PluginError
from ludory.plugins import pages
from ludory.visible import visible

from .safety import Receive, Scope, Send, TooLargeError

__all__ = ["ListedRow", "Listing", "Page"]  # for other packages

CORE = "ludory.web"
RESERVED = ("live", "static")
"""Ids that no system can have: files in `/static/` are given to everybody, and `/live/<id>` has the streams of all systems."""
KINDS = {
    "css": "text/css",
    "js": "text/javascript",
    "txt": "text/plain",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
"""Media types of static files by their ending; others are not served."""
_LOG = logging.getLogger("ludory")


class ListedRow(NamedTuple):
    """A row of a `Listing`."""

    name: str
    address: str
    changed: float
    """Time of the last change, in seconds since 1970."""
    cells: tuple[str | int, ...] = ()
    """Values of the columns; empty where there is a problem."""
    running: bool = False
    problem: str = ""


class Listing(NamedTuple):
    """What a system found in the folder of runs, as a table of the page of runs."""

    title: str
    one: str
    """What a row is."""
    columns: Mapping[str, type]
    """Names of the columns between name and time; numbers (int) stand at the right."""
    rows: Sequence[ListedRow]


@dataclass(frozen=True, slots=True)
class Page:
    """Pages of a system at `/<id>/...`, where `id` is that of their entry in `ludory.pages`.

    They come after the checks of all pages: host, origin, token, size, headers. The module that makes it should import little, since it is
    imported while the first page waits.
    """

    routes: Sequence[BaseRoute]
    """Routes of Starlette, with paths below `/<id>`. Plain functions run in a thread; only `async` ones can hold up the server."""
    package: str = ""
    """Package with the folders `templates` and `static`; templates are named `<id>/<file>`, static files lie at `/<id>/static/<file>`."""
    link: tuple[str, str] | None = None
    """Path below `/<id>`, and name, of the page that the header of all pages links to."""
    games: tuple[str, ...] = ()
    """Beginnings of ids of games; where such a game is set up, there is a link to the same page."""
    live: Sequence[BaseRoute] = ()
    """Routes below `/live/<id>`, as a rule streams of events."""
    owns: frozenset[str] = frozenset()
    """Names of files: a folder of runs that holds one of them belongs to the system, and its checkpoints are not listed as runs."""
    listing: Callable[[Path | None], Listing] | None = None
    """Finds what the system has in the folder of runs."""

    def __post_init__(self) -> None:
        if self.link and not (len(self.link) == 2 and self.link[0].startswith("/")):
            raise PluginError(f"link={self.link!r}: must be a path below the page and its name, such as ('/', 'Nim')")
        if not all(isinstance(route, BaseRoute) for route in [*self.routes, *self.live]):
            raise PluginError("routes and live: must be routes of Starlette, such as Route('/', function)")


TEMPLATES: dict[str, BaseLoader] = {}
"""Templates of the pages that are loaded, by their ids."""


@cache
def load_page(id: str) -> Page | PluginError:
    """The pages of an id, or why they cannot be loaded, which the log says once."""
    try:
        page: Page = pages.load(id)
        if page.package and resources.files(page.package).joinpath("templates").is_dir():
            TEMPLATES[id] = PackageLoader(page.package)
    except PluginError as error:
        _LOG.error("%s", visible(error))
        return error
    except Exception as error:  # the folder of a package that is not there
        return PluginError(_failure(id, error))
    return page


def system_pages(loaded: bool = True) -> dict[str, Page]:
    """The pages of all systems by id; broken ones are left out.

    Args:
        loaded: whether engines and their compiler are imported. Pages of other packages might import them, so before they are left out.
    """
    ids = [id for id in pages.ids() if id not in RESERVED and (loaded or only_own(id))]
    return {id: page for id in ids if not isinstance(page := load_page(id), PluginError)}


def only_own(*ids: str) -> bool:
    """Whether Ludory itself brings these pages, all pages if no id is given."""
    return all(pages.describe(id).distribution == "ludory" for id in ids or pages.ids())


def header_links(loaded: bool) -> list[tuple[str, str]]:
    """Address and name of the pages of systems in the header; argument as of `system_pages`."""
    return [(f"/{id}{page.link[0]}", page.link[1]) for id, page in system_pages(loaded).items() if page.link]


def links_for(game: str) -> list[tuple[str, str]]:
    """Address and name of the pages that systems offer for a game."""
    found = system_pages().items()
    return [(f"/{id}{page.link[0]}", page.link[1]) for id, page in found if page.link and game.startswith(page.games)]


def owned_files() -> frozenset[str]:
    """Names of the files by which a folder of runs belongs to a system."""
    return frozenset[str]().union(*(page.owns for page in system_pages().values()))


def listings(top: Path | None) -> list[Listing]:
    """What all systems have in the folder of runs; one that fails has a row that says so."""
    found = []
    for id, page in system_pages().items():
        try:
            if page.listing and (one := page.listing(top)).rows:
                found.append(Listing(*one))
        except (Exception, SystemExit) as error:  # of another package, anything
            problem = ListedRow(id, f"/{id}/", 0.0, problem=_failure(id, error))
            found.append(Listing(id, "Name", {}, [problem]))
    return found


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the system whose id begins the address. What fails there is logged and told on a page, and the server goes on."""
    parts = scope["path"].split("/")
    id = parts[2] if parts[1:2] == ["live"] and len(parts) > 2 else "".join(parts[1:2])
    if scope["type"] != "http" or id in RESERVED or id not in pages.ids():
        raise HTTPException(404)
    try:
        await (await run_sync(_router, id))(scope, receive, send)
    except (HTTPException, LudoryError, TooLargeError):
        raise
    except (Exception, SystemExit) as error:  # of another package, anything
        raise HTTPException(500, _failure(id, error)) from error


@cache
def _router(id: str) -> Router:
    """The routes of a system.

    Raises:
        PluginError: it cannot be loaded.
    """
    page = load_page(id)
    if isinstance(page, PluginError):
        raise page
    static = [Route("/static/{name}", static_file(page.package))] if page.package else []
    return Router([Mount(f"/live/{id}", routes=page.live), Mount(f"/{id}", routes=[*static, *page.routes])])


def _failure(id: str, error: BaseException) -> str:
    """What a page says of a mistake of a system; the log has it with the traceback."""
    _LOG.error("page %r failed: %s", id, visible(error), exc_info=error)
    return (
        f"The page {id!r} of the package {pages.get(id).distribution} made a mistake ({type(error).__name__}); the server's "
        "terminal shows which. Tell its authors, or uninstall it. All other pages go on."
    )


@cache
def _static_files(package: str) -> Mapping[str, tuple[bytes, str]]:
    """(content, media type) of the files in the folder `static` of a package."""
    folder = resources.files(package).joinpath("static")
    files = [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
    kinds = {file.name: KINDS.get(file.name.rpartition(".")[2]) for file in files}
    return {file.name: (file.read_bytes(), kind) for file in files if (kind := kinds[file.name])}


def static_address(name: str, id: str = "") -> str:
    """Address of a static file of the server, or of the page `id`, which changes with the file's content."""
    package = system_pages()[id].package if id else CORE
    digest = hashlib.sha256(_static_files(package)[name][0]).hexdigest()[:12]
    return f"{f'/{id}' if id else ''}/static/{name}?v={digest}"


def static_file(package: str) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint for `/static/{name}` with the static files of a package."""

    async def endpoint(request: Request) -> Response:
        found = _static_files(package).get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return Response(found[0], media_type=found[1], headers={"cache-control": "max-age=31536000, immutable"})

    return endpoint
