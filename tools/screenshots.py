"""Pictures of all pages: `python tools/screenshots.py`. Needs Playwright and a Chromium, which `make test-web` installs.

It trains two small runs and a league, records games, starts a server on them and visits every page. By default it writes the pictures of
the manual; with --all every page in light and dark, wide and narrow.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ludory.errors import OutputError, PluginError

SIZES = {"wide": (1200, 800), "narrow": (360, 800)}
SCHEMES = ("light", "dark")
COLOURS = 128
"""Of a picture; the pages are flat, and PNG is then a third of its size."""
SETTLE = 1500
"""Milliseconds for a page to settle."""
PATIENCE = 300_000
"""Milliseconds to wait for a page: games may have to be compiled first."""
MY_TURN = "#moves button:not([disabled])"
MOVES = "#moves button[value]:not([disabled])"
IMAGES_LOADED = (
    """[...document.images].every(image => image.complete || image.getBoundingClientRect().top > innerHeight)"""
)
DUEL = "game=TicTacToe-v0&first=mcts&second=random&seed=1"
HAND = "6-6,6-5,6-4,6-2,5-5,1-1,0-0"


class Screenshot(NamedTuple):
    """A page to visit."""

    name: str
    address: str
    manual: tuple[tuple[str, str], ...] = (("light", "wide"),)
    """Scheme and size of its pictures in the manual."""
    play: int = 0
    """Moves to make by buttons of the page, which leads from the setup of a game to a table in the middle of it."""
    press: str = ""
    """Button that leads to the page."""
    ready: str = ""
    """What the page shows when it has something to show."""


PAGES = (
    Screenshot("home", "/", (("light", "wide"), ("dark", "narrow"))),
    Screenshot("setup", "/?game=Hanabi2P-v0"),
    Screenshot("table-hanabi", "/?game=Hanabi2P-v0&seed=7", (("dark", "wide"),), 6),
    Screenshot("table-texas42", "/?game=Texas42-v0&seed=3", play=3),
    Screenshot("table-arena", "/?game=Arena2P-v0&seed=5", (("dark", "wide"),), 5),
    Screenshot("table-connect-four", "/?game=ConnectFour-v0&seed=1", (("light", "narrow"),), 3),
    Screenshot("analyse", "/analyse/{game}?move=30", (("dark", "wide"), ("light", "narrow")), ready="#values table"),
    Screenshot("watch", "/watch/{game}", (("light", "wide"),)),
    Screenshot("games", "/games"),
    Screenshot("recorded", "/games?folder={folder}", (("light", "wide"),)),
    Screenshot("runs", "/runs?seeds=on&smooth=3", (("light", "wide"), ("dark", "narrow"))),
    Screenshot("run", "/runs/hanabi/ppo-seed1", (("dark", "wide"),)),
    Screenshot("league", "/league/league", (("light", "wide"),)),
    Screenshot("texas42-hand", f"/texas42/hand?tiles={HAND}", (("light", "wide"), ("dark", "narrow"))),
    Screenshot("arena", f"/arena?{DUEL}", press="button.main", ready="#duel .chart"),
)


def make_data(folder: Path) -> None:
    """Two runs that differ in their seed and one with another learning rate, a league, recorded games and a replay; takes minutes."""
    from ludory.agents.evaluation.record import record
    from ludory.agents.make import make_agent
    from ludory.algorithms.make import make_algorithm
    from ludory.algorithms.running.train_to_file import train_to_file
    from ludory.data.replay import record_replay, write_replay
    from ludory.envs.make import make_game
    from ludory.plugins import commands

    shape: dict[str, Any] = {"env": "HanabiTiny2P-v0", "num_envs": 64, "n_steps": 16, "batch_size": 512}
    for name, seed, rate in (("ppo-seed1", 1, 5e-4), ("ppo-seed2", 2, 5e-4), ("ppo-fast", 1, 3e-3)):
        learner = make_algorithm("ppo", **shape, seed=seed, learning_rate=rate)
        train_to_file(learner, 60_000, folder / "runs" / "hanabi" / f"{name}.ludory")
    teacher = folder / "teacher.ludory"
    make_algorithm("vtrace", env="Arena2P-v0", policy="mlp(hidden=(16,))", num_envs=2, seed=3).save_policy(teacher)
    budget = ["--budget", "40000", "--unit", "4000", "--slice-steps", "2000", "--games-per-match", "8"]
    anchors = ["--anchors", "arena/rusher,arena/turtle", "--evaluation-games", "32"]
    options = ["--", "--num-envs", "16", "--n-steps", "8", "--batch-columns", "16"]
    place = ["--env", "Arena2P-v0", "--teacher", str(teacher), "--out", str(folder / "runs" / "league")]
    commands.load("league").run(["run", *place, *budget, *anchors, *options])
    record("hanabi/iggi", "Hanabi2P-v0", games=200, folder=folder / "data" / "iggi", seed=1)
    game = make_game("Hanabi2P-v0")
    write_replay(
        folder / "data" / "replays" / "smartbot.json", record_replay(game, [make_agent("hanabi/smartbot", game)] * 2, 3)
    )


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A server on the folder's data: its address, and what stands for recorded games in addresses."""
    import socket

    import uvicorn

    from ludory.web.app import WebSettings, make_app
    from ludory.web.recorded import find_recordings

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    settings = WebSettings(
        port=listening.getsockname()[1], runs=folder / "runs", data=folder / "data", tables=folder / "tables"
    )
    server = uvicorn.Server(uvicorn.Config(make_app(settings), log_level="critical", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.1)
    keys = {one.name: one.key for one in find_recordings(folder / "data").values()}
    try:
        yield f"http://127.0.0.1:{settings.port}", {"folder": keys["iggi"], "game": f"g-{keys['replays']}-0"}
    finally:
        server.should_exit = True
        thread.join(10)


def take(
    out: Path, folder: Path, everything: bool = False, only: str = "", say: Callable[[str], None] = print
) -> list[Path]:
    """Visit all pages and write their pictures; returns the files.

    Args:
        out: folder of the pictures.
        folder: data that is shown; made if there is none.
        everything: all schemes and sizes, instead of those of the manual.
        only: part of the names of the pages to visit.
        say: told about each picture.

    Raises:
        PluginError: Playwright is not installed, or no Chromium starts.
        OutputError: a page answers with an error.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise PluginError("screenshots need Playwright and a Chromium; type: make test-web") from error
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := which(name))), None)
    shots = [shot for shot in PAGES if only in shot.name]
    out.mkdir(parents=True, exist_ok=True)
    written = []
    if not (folder / "runs").is_dir():
        say("training small runs and a league, and recording games: this takes minutes")
        make_data(folder)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except Error as error:
            raise PluginError(f"Chromium does not start ({str(error).splitlines()[0]}); type: make test-web") from error
        with served(folder) as (address, names):
            for shot in shots:
                looks = [(scheme, size) for scheme in SCHEMES for size in SIZES] if everything else shot.manual
                for scheme, size in looks:
                    file = out / f"{shot.name}-{scheme}-{size}.png"
                    _take_one(browser, address + shot.address.format(**names), shot, scheme, size, file)
                    say(f"{file} ({file.stat().st_size // 1024} kB)")
                    written.append(file)
        browser.close()
    return written


def _take_one(browser: Any, address: str, shot: Screenshot, scheme: str, size: str, file: Path) -> None:
    width, height = SIZES[size]
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    answer = page.goto(address)
    if answer is not None and answer.status >= 400:
        raise OutputError(f"{address} answers {answer.status}: {page.inner_text('main').strip()[:200]}")
    if shot.press:
        page.click(shot.press)
    if shot.play:
        page.click("form.setup button.main")
        for number in range(shot.play):
            _make_move(page, number)
        page.locator(MY_TURN).first.wait_for()
    if shot.ready:
        page.wait_for_selector(shot.ready)
    while not page.evaluate(IMAGES_LOADED):  # `wait_for_function` is forbidden by the pages' security policy
        page.wait_for_timeout(100)
    page.wait_for_timeout(SETTLE)
    page.screenshot(path=str(file))
    context.close()
    _smaller(file)


def _make_move(page: Any, number: int) -> None:
    """Press one of the last buttons; where several choices are sent together, send them as they are."""
    page.locator(MY_TURN).first.wait_for()
    moves = page.locator(MOVES)
    count = moves.count()
    button = moves.nth(count - 1 - number % count) if count else page.locator(MY_TURN).last
    button.click()
    page.wait_for_timeout(SETTLE)


def _smaller(file: Path) -> None:
    """Write a picture again with few colours."""
    from PIL import Image

    with Image.open(file) as image:
        image.convert("RGB").quantize(COLOURS).save(file, optimize=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python tools/screenshots.py", description="Take pictures of all pages.")
    parser.add_argument("--out", type=Path, default=Path("docs/_static/web"), help="folder of the pictures")
    parser.add_argument("--folder", type=Path, help="keep the data that is shown here, for another time")
    parser.add_argument("--all", action="store_true", help="light and dark, wide and narrow, of every page")
    parser.add_argument("--only", default="", help="part of the names of the pages to visit")
    chosen = parser.parse_args()
    with TemporaryDirectory() as made:
        take(chosen.out, chosen.folder or Path(made), chosen.all, chosen.only, lambda words: print(words, flush=True))


if __name__ == "__main__":
    main()
