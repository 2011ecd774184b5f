"""Pages that follow something, in a real browser: a run that is being written, hands of Texas 42, recorded games."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ludory.agents.make import make_agent
from ludory.algorithms.text_ppo.samples import SampledEpisode, SampledToken, SampleKeeper
from ludory.data.replay import record_replay, write_replay
from ludory.envs.make import make_game
from ludory.web.league.view import league_page

pytestmark = pytest.mark.slow

HEADER = "time/total_timesteps,time/elapsed,rollout/ep_rew_mean\n"
LEAGUE = Path(__file__).parents[2] / "golden" / "old_files" / "league"
SERIOUS = ("serious", "critical")


def write_table(file: Path, rows: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEADER + "".join(f"{100 * k},{k},{k / 10}\n" for k in range(1, rows + 1)))


def test_a_run_is_followed_without_loading_its_page_again(server: Any, open_page: Callable[[], Any]) -> None:
    table = server.folder / "runs" / "followed.csv"
    write_table(table, 5)
    page = open_page()
    page.goto(f"{server.address}/runs/followed")
    page.evaluate("window.sameDocument = true")
    assert "500" in page.inner_text("#facts")
    with table.open("a") as handle:
        handle.write("600,6,9.25\n")
    page.wait_for_selector("#facts :text('9.250')")
    page.wait_for_selector("#facts :text('600')")
    for _ in range(200):
        if "at 600" in page.inner_html("#curves"):
            break
        page.wait_for_timeout(50)
    assert "at 600" in page.inner_html("#curves")
    assert page.evaluate("window.sameDocument")


def test_a_league_is_followed_while_it_is_written(server: Any, open_page: Callable[[], Any]) -> None:
    folder = shutil.copytree(LEAGUE, server.folder / "runs" / "followed-league")
    events, head = folder / "events.jsonl", folder / "head.json"
    lines, whole_head = events.read_text().splitlines(keepends=True), head.read_text()
    events.write_text("".join(lines[: len(lines) // 2]))
    head.unlink()
    page = open_page()
    page.goto(f"{server.address}/league/followed-league")
    page.evaluate("window.sameDocument = true")
    begun = league_page(server.folder / "runs", "followed-league")["done"]
    page.wait_for_selector(f"dd:text('{begun:,} of ')")
    with events.open("a") as handle:
        handle.writelines(lines[len(lines) // 2 :])
    head.write_text(whole_head)
    ended = league_page(server.folder / "runs", "followed-league")["done"]
    assert ended > begun
    page.wait_for_selector(f"dd:text('{ended:,} of ')")
    assert page.evaluate("window.sameDocument")


LEARNING = """
import sys, time
from pathlib import Path
import ludory
folder, go, slices = Path(sys.argv[1]), Path(sys.argv[2]), []
def wait(*_):
    slices.append(1)
    while len(slices) == 4 and not go.exists():
        time.sleep(0.05)
    return True
options = {"unit": 400, "slice_steps": 200, "games_per_match": 4, "evaluation_games": 4, "anchors": ("random",), "seed": 5}
learner = {"learner": "ppo", "learner_options": {"num_envs": 16, "n_steps": 8, "batch_size": 64}}
league = ludory.make_algorithm("league", env="KuhnPoker-v0", policy="mlp(hidden=(16,))", folder=folder, **options, **learner)
league.learn(2000, callback=wait)
"""
"""A small league in a process of its own, which waits in the middle until somebody has opened its page."""


def test_a_league_that_learns_is_followed_to_its_end(server: Any, open_page: Callable[[], Any]) -> None:
    """What the page shows at the end, without being loaded again, is what the log holds."""
    top, go = server.folder / "runs", server.folder / "go-on"
    league = subprocess.Popen([sys.executable, "-c", LEARNING, str(top / "learning"), str(go)])
    try:
        page = open_page()
        while "/league/learning" not in page.content():
            assert league.poll() is None
            page.goto(f"{server.address}/runs")
            page.wait_for_timeout(500)
        page.goto(f"{server.address}/league/learning")
        page.wait_for_selector("section[aria-label=Players] tbody tr")
        page.evaluate("window.sameDocument = true")
        before = page.locator("section[aria-label=Players] tbody tr").count()
        go.touch()
        assert league.wait(90) == 0
    finally:
        league.kill()
    page.wait_for_selector("dd:has-text('finished')")
    ended = league_page(top, "learning")
    page.wait_for_selector(f"dd:text('{ended['done']:,} of {ended['budget']:,}')")
    rows = page.locator("section[aria-label=Players] tbody tr").all()
    shown = {row.locator("th").inner_text(): row.locator("td").all_inner_texts()[5] for row in rows}
    assert shown == {one["id"]: f"{one['games']:,}" for one in ended["players"]}
    assert len(shown) > before
    assert page.evaluate("window.sameDocument")


def test_runs_are_chosen_and_smoothed_by_the_keyboard(server: Any, open_page: Callable[[], Any]) -> None:
    for name in ("one", "two"):
        write_table(server.folder / "runs" / f"{name}.csv", 8)
    page = open_page()
    page.goto(f"{server.address}/runs?run=one")
    assert page.inner_text(".legend").split() == ["one", "0.8"]
    page.focus("input[value=two]")
    page.keyboard.press("Space")
    page.wait_for_selector(".legend li:nth-child(2)")
    page.wait_for_url("**run=two**")
    page.select_option("select[name=smooth]", "3")
    page.wait_for_selector(".legend :text('0.7')")
    page.wait_for_url("**smooth=3**")


def test_a_hand_is_chosen_by_typing_and_by_clicking(server: Any, open_page: Callable[[], Any]) -> None:
    page = open_page()
    page.goto(f"{server.address}/texas42/hand")
    for number, pips in enumerate(("66", "56", "64", "62", "55"), 1):
        page.keyboard.type(pips)
        page.wait_for_selector(f"legend:text('Choose {7 - number} more')")
    page.click("label[title='1-1']")
    page.wait_for_selector("legend:text('Choose 1 more')")
    page.click("label[title='0-0']")
    page.wait_for_selector("#bids h2:text('Bid up to')")
    assert page.locator("#hand input:disabled").count() == 21
    # a slip is forgotten at the next key, and a pip may wait as long as one likes for its second
    page.keyboard.type("5x6")
    page.wait_for_timeout(2500)
    page.keyboard.type("6")
    page.wait_for_selector("legend:text('Choose 1 more')")
    page.wait_for_selector("#bids", state="detached")


def test_recorded_games_are_filtered_and_opened(server: Any, open_page: Callable[[], Any]) -> None:
    game = make_game("HanabiTiny2P-v0")
    moves = []
    for seed in (1, 2, 3):
        replay = record_replay(game, [make_agent("hanabi/iggi", game)] * 2, seed)
        moves.append(len(replay.moves))
        write_replay(server.folder / "data" / "three" / f"game{seed}.json", replay)
    page = open_page()
    page.goto(f"{server.address}/games")
    page.fill("#words", "nothing like this")
    page.wait_for_selector("#list :text('No folder')")
    page.fill("#words", "three iggi")
    page.click("#list a:text('three')")
    page.fill("input[name=longest]", str(min(moves)))
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#list :text('{moves.count(min(moves))} of 3 games')")
    page.click("#list a:text('analyse') >> nth=0")
    page.wait_for_url("**/analyse/g-*")


@pytest.mark.parametrize(
    "address",
    [
        "/runs",
        "/runs/looked-at",
        "/league/league",
        "/text-ppo/words",
        "/games",
        "/texas42/hand?tiles=66,65,64,62,55,11,00",
    ],
)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_serious_finding_of_axe(
    server: Any, open_page: Callable[..., Any], address: str, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="`make test-web` installs axe")
    write_table(server.folder / "runs" / "looked-at.csv", 5)
    shutil.copytree(LEAGUE, server.folder / "runs" / "league", dirs_exist_ok=True)
    (words := server.folder / "runs" / "words").mkdir(exist_ok=True)
    tokens = tuple(SampledToken(f" {value}", 2, 0, value) for value in (None, 0.0, 1.0, -1.0, 0.3, -0.3))
    SampleKeeper(
        1, [SampledEpisode(1, "room", 1.0, True, (1.0,), ((SampledToken("read", 0, -1, None), *tokens),))]
    ).write(words)
    page = open_page(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(server.address + address)
    page.wait_for_timeout(300)
    found = axe.Axe().run(page).response["violations"]
    told = [
        (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["any"][:1])
        for one in found
        if one["impact"] in SERIOUS
    ]
    assert not told
    assert page.evaluate("document.documentElement.scrollWidth") <= width
