"""`ChatEndpoint`: replies of a server that speaks OpenAI's chat completions, as vLLM, llama.cpp, Ollama and hosted models do.

The protocol: `POST <url>/chat/completions` with model, messages, temperature, top_p, max_tokens, stop and seed; the answer has
`choices[0].message.content`, `finish_reason` and `usage` (OpenAI's API reference, "Create chat completion").
"""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import random
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ludory.errors import DataError, LudoryError, OptionError

from .generators import Sampling
from .replies import Messages

LOG = logging.getLogger("ludory.language")
KEYS = ("LUDORY_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key of the server; the first that is set is sent."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LONGEST_ANSWER = 1 << 24
"""Most bytes of an answer that are read."""
LONGEST_WAIT = 60.0
"""Most seconds between two tries."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers of a server that may be different the next time."""


class EndpointError(LudoryError, OSError):
    """A server of a language model did not answer, or not as the protocol has it."""


class _NotFollowed(urllib.request.HTTPRedirectHandler):
    """Redirects are errors: followed, they would carry the key to another server."""

    def redirect_request(self, *_: object) -> None:
        return None


class ChatEndpoint:
    """Replies of a model behind an address.

    Args:
        url: of the server, up to `/v1`.
        model: its name there.
        sampling: how replies are drawn. The seed of a prompt is sent; whether it decides the reply is up to the server.
        cache: file of SQLite with the replies so far, which are not asked for again; made if there is none.
        at_once: requests at a time.
        tries: of a request. What may pass (no connection, a busy or failing server) is tried again, later each time, or when the
            server says (`Retry-After`).
        timeout: seconds of one try.
        prices: dollars for a million tokens read and written, to count what was spent.
        limit_name: what the server calls the limit on tokens; newer models of OpenAI know `max_completion_tokens` only.

    Raises:
        OptionError: an argument is out of range, or a key would be sent over the network without encryption.
    """

    def __init__(
        self,
        url: str,
        model: str,
        sampling: Sampling,
        *,
        cache: str | Path | None = None,
        at_once: int = 8,
        tries: int = 6,
        timeout: float = 120.0,
        prices: tuple[float, float] | None = None,
        limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError(f"{url!r}: must be the address of a server, such as http://127.0.0.1:8000/v1")
        if not model or not isinstance(model, str):
            raise OptionError(f"language({url}): name the model, as in language({url}, model=NAME)")
        for name, number in (("at_once", at_once), ("tries", tries)):
            if not isinstance(number, int) or not 1 <= number <= 1000:
                raise OptionError(f"{name}={number!r}: must be an integer from 1 to 1000")
        if not timeout > 0:
            raise OptionError(f"timeout={timeout!r}: must be seconds above 0")
        if limit_name not in ("max_tokens", "max_completion_tokens"):
            raise OptionError(f"limit_name={limit_name!r}: must be max_tokens or max_completion_tokens")
        sampling.check()
        self._key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        if self._key and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise OptionError(
                f"{url}: the key in {' or '.join(KEYS)} would be readable on the way; use https, or unset the variable"
            )
        self._url, self._model, self._sampling = f"{url.rstrip('/')}/chat/completions", model, sampling
        self._at_once, self._tries, self._timeout, self._limit_name = at_once, tries, timeout, limit_name
        self._prices = prices
        self._open = urllib.request.build_opener(_NotFollowed).open
        self._cache = _Cache(Path(cache)) if cache is not None else None
        # several threads count
        self._counting = threading.Lock()
        self._counts = dict.fromkeys(("requests", "cached", "tried again", "tokens read", "tokens written"), 0)

    def opened(self, messages: Messages) -> bool:
        """False: a server shows no template, and hands over the thought with the reply or leaves it out."""
        return False

    def answer(self, prompts: Sequence[Messages], seeds: Sequence[int]) -> list[str]:
        """One reply per prompt, in order.

        Raises:
            EndpointError: the server could not be reached in all tries, refused a request, or answered something else.
        """
        asked = list(zip(prompts, seeds, strict=True))
        with ThreadPoolExecutor(min(self._at_once, max(len(asked), 1))) as threads:
            return list(threads.map(self._reply, asked))

    def counts(self) -> Mapping[str, float]:
        """Requests, replies from the cache, further tries, tokens as the server counts them, and dollars if prices are given."""
        with self._counting:
            found: dict[str, float] = dict(self._counts)
        if self._prices:
            found["dollars"] = (
                found["tokens read"] * self._prices[0] + found["tokens written"] * self._prices[1]
            ) / 1e6
        return found

    def _reply(self, asked: tuple[Messages, int]) -> str:
        messages, seed = asked
        request = {
            "model": self._model,
            "messages": messages,
            "temperature": self._sampling.temperature,
            "top_p": self._sampling.top_p,
            self._limit_name: self._sampling.max_new_tokens,
            "stop": list(self._sampling.stop),
            "seed": seed & (2**31 - 1),  # servers differ in how many bits they take
        }
        body = json.dumps(request, sort_keys=True).encode()
        place = hashlib.sha256(self._url.encode() + b"\n" + body).hexdigest()
        if self._cache and (kept := self._cache.get(place)) is not None:
            self._count("cached")
            return kept
        text = self._read(self._ask(body))
        if self._cache:
            self._cache.put(place, text)
        return text

    def _read(self, answer: bytes) -> str:
        """The text of an answer, with the stop text that servers leave out."""
        try:
            content = json.loads(answer)
            choice = content["choices"][0]
            text, reason = choice["message"]["content"] or "", choice.get("finish_reason")
            usage = content.get("usage") or {}
            read, written = int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0))
            if not isinstance(text, str):
                raise TypeError
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise EndpointError(
                f"{self._url}: answered {answer[:200]!r}, which is no chat completion; give the address up to /v1"
            ) from error
        self._count("tokens read", read)
        self._count("tokens written", written)
        for stop in self._sampling.stop if reason == "stop" else ():
            start = stop.replace("</", "<")
            # it stopped inside what the stop text closes
            if start != stop and text.rfind(start) > text.rfind(stop):
                return text + stop
        return text

    def _ask(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        for attempt in range(1, self._tries + 1):
            self._count("requests" if attempt == 1 else "tried again")
            wait = None
            try:
                with self._open(urllib.request.Request(self._url, body, headers), timeout=self._timeout) as response:
                    answer: bytes = response.read(LONGEST_ANSWER + 1)
                if len(answer) > LONGEST_ANSWER:
                    raise EndpointError(f"{self._url}: the answer is longer than {LONGEST_ANSWER:,} bytes")
                return answer
            except urllib.error.HTTPError as error:
                with error:
                    problem = f"HTTP {error.code}: {error.read(300).decode(errors='replace')}"
                if error.code not in PASSING:
                    raise EndpointError(f"{self._url}: {problem}{_advice(error.code)}") from error
                wait = _seconds(error.headers.get("Retry-After"))
            # a connection that cannot be made, breaks or takes too long
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, EndpointError):
                    raise
                problem = str(getattr(error, "reason", error)) or type(error).__name__
            if attempt < self._tries:
                # doubled each time, and uneven so that requests that failed together do not come back together
                pause = wait if wait is not None else min(2.0**attempt / 4, LONGEST_WAIT) * random.uniform(0.5, 1.0)
                LOG.info("%s: %s; tried again in %.1f s", self._url, problem, pause)
                time.sleep(min(pause, LONGEST_WAIT))
        raise EndpointError(
            f"{self._url}: no answer in {self._tries} tries ({problem}); is the server running? Replies so far are "
            + ("kept in the cache: type the command again" if self._cache else "lost: cache=FILE keeps them")
        )

    def _count(self, name: str, by: int = 1) -> None:
        with self._counting:
            self._counts[name] += by


class _Cache:
    """Replies by the hash of their request, in a file that several processes may use at once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            if not file.parent.is_dir():
                raise OptionError(f"cache={file}: there is no folder {file.parent}; make it first")
            with closing(self._opened()) as table:
                table.execute("CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, reply TEXT NOT NULL)")
                table.execute("SELECT request, reply FROM replies LIMIT 1")
        except sqlite3.Error as error:
            raise DataError(f"{file}: cannot be a cache of replies ({error}); name another file") from error

    def get(self, request: str) -> str | None:
        """The reply to a request; None if it is new."""
        try:
            with closing(self._opened()) as table:
                found = table.execute("SELECT reply FROM replies WHERE request = ?", (request,)).fetchone()
        except sqlite3.Error as error:
            raise DataError(f"{self._file}: {error}; name another file with cache=") from error
        return None if found is None else str(found[0])

    def put(self, request: str, reply: str) -> None:
        """Keep a reply; of two to the same request the first."""
        try:
            with closing(self._opened()) as table:
                table.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (request, reply))
        except sqlite3.Error as error:
            raise DataError(f"{self._file}: {error}; name another file with cache=") from error

    def _opened(self) -> sqlite3.Connection:
        # a connection belongs to its thread; opening one takes far less time than a request
        return sqlite3.connect(self._file, timeout=60, isolation_level=None)


def _seconds(text: str | None) -> float | None:
    """The wait that a server asks for; None where it gives a date or nothing."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None


def _advice(code: int) -> str:
    if code in (401, 403):
        return f"; put the key of the server into {KEYS[0]}"
    if code == 404:
        return "; is the model's name right, and the address one up to /v1?"
    return ""
