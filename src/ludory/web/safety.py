"""What keeps the server safe: token, Host and Origin checks, bounds on requests, headers. One ASGI middleware in front of every page."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Refuse = Callable[[Scope, int, str], Any]
"""`refuse(scope, status, words)`: an ASGI application that answers with a page."""

TOKEN_COOKIE = "ludory_token"
MOST_BODY = 64 * 1024
"""Bytes of a request's body; forms are far smaller."""
MOST_URL = 8 * 1024
MOST_FIELDS = 200
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SAFE_METHODS = ("GET", "HEAD")
OPEN_FOLDER, OPEN_PAGE = "/static/", "/token"
"""Needed to show the page that asks for the token, and to send it."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """True if only this machine can reach `host`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Safety:
    """Refuses requests that are too large, of a foreign host or origin, or without the token, and adds headers to every answer.

    Args:
        app: the application behind it.
        host: address that the server listens on.
        token: required in a cookie, or once as `?token=`; None: nobody is asked.
        refuse: makes the page of a refusal.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], host: str, token: str | None, refuse: Refuse) -> None:
        self._app, self._token, self._refuse = app, token, refuse
        # a server that is open to a network is also called by the machine's name
        self._hosts = {*LOOPBACK, host.lower(), *([] if is_loopback(host) else [socket.gethostname().lower()])}
        self._any_address = not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(scope, headers)
        bounded = _Bounded(receive)
        app = self._refuse(scope, *problem) if problem else self._app

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if b"cache-control" not in present:
                    extra.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        await app(scope, bounded, send_with_headers)

    def _problem(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and words of a refusal; None if the request may pass."""
        host, method = headers.get("host", ""), scope["method"]
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MOST_URL:
            return 414, "The address is too long. Go back and use the links and forms of the page."
        if not self._known_host(host):
            return 400, (
                "The address that your browser used is not one of this server. Open it by the address that `ludory serve` printed."
            )
        if method not in (*SAFE_METHODS, "POST"):
            return 405, f"{method[:20]} is not understood here. Use the links and forms of the page."
        if method == "POST" and not _same_origin(headers, host):
            return 403, "This change was asked for by another page. Open this server's own page and try again there."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            return 400, "The length of the request is not a number."
        # cut: so many digits are too large in any case
        if int(length[:20]) > MOST_BODY:
            return 413, f"The request is larger than {MOST_BODY // 1024} kB, more than any form here needs."
        free = scope["path"].startswith(OPEN_FOLDER) or scope["path"] == OPEN_PAGE
        if self._token and not free and not self.has_token(headers, scope):
            return 401, "This server asks for its token. Enter the one that `ludory serve` printed."
        return None

    def _known_host(self, host: str) -> bool:
        """Whether `host` names this server: names that others control would allow DNS rebinding."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._any_address  # no name was resolved, so nothing was rebound

    def has_token(self, headers: dict[str, str], scope: Scope) -> bool:
        """Whether the cookie, or `token` in the address, is the token."""
        cookies = _cookies(headers.get("cookie", ""))
        asked = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=100) if scope["query_string"] else {}
        return any(self.is_token(given) for given in [cookies.get(TOKEN_COOKIE, ""), *asked.get("token", [])])

    def is_token(self, given: str) -> bool:
        """Compare in constant time."""
        return same_secret(given, self._token or "")


def same_secret(given: str, secret: str) -> bool:
    """Compare in constant time; an empty secret equals nothing."""
    return bool(secret) and hmac.compare_digest(given.encode(), secret.encode())


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except Exception:  # a cookie that another server of this host set, and that cannot be read
        return {}


def _same_origin(headers: dict[str, str], host: str) -> bool:
    """Whether a page of this server sent the request: browsers send `Origin` with every POST."""
    origin = urlsplit(headers.get("origin", ""))
    return origin.scheme in ("http", "https") and origin.netloc == host


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; of fields with the same name the last one.

    Raises:
        HTTPException: it is not a form, or has too many fields.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Only forms are understood here. Use the forms of the page.")
    try:
        return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError as error:
        raise HTTPException(400, "The form cannot be read. Use the forms of the page.") from error


def with_form(function: Callable[[Request, dict[str, str]], Response]) -> Callable[[Request], Awaitable[Response]]:
    """A route that reads the form, then calls `function` in a thread."""

    async def route(request: Request) -> Response:
        form = await read_form(request)
        return await run_sync(lambda: function(request, form))

    return route


class TooLargeError(Exception):
    """A body without a length was longer than `MOST_BODY`."""


class _Bounded:
    """`receive` of a request, which fails once more than `MOST_BODY` bytes came."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._left = receive, MOST_BODY

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLargeError
        return message
