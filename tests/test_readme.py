"""The README's code runs, the tables of results are those of the committed files, and what these pages name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ludory.algorithms.tuned.settings import tuned_for
from ludory.benchmarks.results_table import results_table, ten_results, with_results
from ludory.plugins import agents, algorithms, games

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_gym_takes_eight_lines_and_learning_four():
    gym, learn = PYTHON[0].split("\n\n", 1)[1], PYTHON[1]
    assert len(gym.strip().splitlines()) <= 8
    assert len([line for line in learn.splitlines() if line.strip()]) == 4


def test_toml_is_valid():
    tomllib = pytest.importorskip("tomllib")
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert tomllib.loads(block)["project"]["entry-points"]["ludory.algorithms"]


def test_results_are_the_committed_ones():
    assert with_results(RESULTS, results_table(ROOT / "benchmarks" / "results")) == RESULTS
    assert with_results(README, ten_results(ROOT / "benchmarks" / "results")) == README


def test_the_first_training_reaches_what_the_readme_says():
    algorithm, game, timesteps = re.search(r'ludory\.train\("(\w+)", "([\w-]+)", ([\d_]+)', PYTHON[1]).groups()
    entry = tuned_for(algorithm, game)
    assert entry.timesteps == int(timesteps)
    assert entry.reached.mean > entry.reached.baseline + 2
    assert f"{entry.reached.says(entry.baseline)}" in README
    assert f"GAME := {game}" in (ROOT / "Makefile").read_text(encoding="utf-8"), "make demo trains the same"


def test_the_demo_prints_the_range_that_the_readme_says():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (lead,) = re.findall(r"^DEMO_LEAD := (.+)$", makefile, re.MULTILINE)
    assert f"Expect {lead} points over hanabi/iggi" in README
    assert "@echo 'Expect $(DEMO_LEAD) points over hanabi/iggi" in makefile.split("demo:")[1]


def test_the_readme_is_one_screen():
    assert len(README.splitlines()) <= 110


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/results.md", "docs/support.md"])
def test_every_file_and_id_that_a_page_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for file in re.findall(r"\]\(([\w/.-]+)\)", text):
        assert ((ROOT / page).parent / file).exists(), file
    for name in re.findall(r"`((?:Hanabi|Arena|Texas42)\w*-v0|(?:hanabi|arena)/\w+)`", text):
        assert (games if name.endswith("-v0") else agents).get(name)
    for name in re.findall(r"ludory train (\w+)", text):
        assert name in ("my", "pipeline") or algorithms.get(name)
