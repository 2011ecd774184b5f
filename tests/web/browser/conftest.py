"""A real browser at a real server. Skipped where there is none; `make test-web` installs both and forbids skips."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ...plugins.test_example_package import environment
from ...plugins.test_example_package import site as site  # the example, installed by pip

REQUIRED = os.environ.get("LUDORY_REQUIRE_BROWSER") == "1"
KNOWN = ("status of 40", "net::ERR", "[object Event]", "htmx:afterRequest", "htmx:sendAbort", "htmx:sendError")
"""Complaints of a console about what tests do on purpose: requests that are refused, superseded or left behind with their
page, streams of a killed server."""
SYSTEM_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def skip(reason: str) -> None:
    if REQUIRED:
        pytest.fail(f"LUDORY_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"{reason}; `make test-web` installs it")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser of the system, or Playwright's own."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        skip("Playwright is not installed")
    found = next((path for name in SYSTEM_BROWSERS if (path := which(name))), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except Error as error:
            skip(f"Chromium does not start ({str(error).splitlines()[0]})")
        yield browser
        browser.close()


class Server:
    """`ludory serve` in a process of its own."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        self.folder, self.environment = folder, environment
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "ludory", "serve", "--port", "0"]
        for name in ("runs", "data", "tables"):
            (self.folder / name).mkdir(exist_ok=True)
            command += [f"--{name}", str(self.folder / name)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1].rstrip("/")

    def kill(self) -> None:
        """As `kill -9`."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Iterator[Server]:
    """One for all tests, with the example plug-in installed: a server and its workers take longer to start than a short test."""
    running = Server(tmp_path_factory.mktemp("server"), environment(site))
    yield running
    running.kill()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[[], Any]]:
    """`open_page()`: a page of a new person, wide as a laptop's. What its console says against the page is an error."""
    contexts, complaints = [], []

    def complain(said: Any) -> None:
        if said.type == "error" and not any(known in said.text for known in KNOWN):
            complaints.append(said.text)

    def opened(**options: Any) -> Any:
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(300_000)  # kernels may have to be compiled first
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", complain)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints
