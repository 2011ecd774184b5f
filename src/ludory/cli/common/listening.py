"""Serving at an address of this machine until Ctrl+C."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ludory.errors import OptionError

MOST_PORT = 65535


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        OptionError: it cannot listen there.
    """
    if not 0 <= port <= MOST_PORT:
        raise OptionError(f"--port {port}: must be 0 to {MOST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only where the socket names its protocol: a click takes 40 ms less
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # who reads the address may connect at once
    except (OSError, UnicodeError) as error:
        listening.close()
        raise OptionError(
            f"cannot listen on {host} port {port}: {error}; choose another --port (0 takes a free one) or --host"
        ) from error
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """`http://HOST:PORT/` of a socket that listens on `host`."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"


def serve_until_stopped(app: Callable[..., Any], listening: socket.socket) -> None:
    """Serve an ASGI application until Ctrl+C."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False
    )
    with suppress(KeyboardInterrupt):  # the way to end it
        uvicorn.Server(config).run(sockets=[listening])
