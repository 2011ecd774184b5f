"""Cards state what files say and what was measured, nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import ludory
from ludory.agents.evaluation.record import record
from ludory.agents.pretrained.cards import weights_file
from ludory.cli import main
from ludory.hub import card, pull, push
from ludory.hub.agent_card import SEED
from ludory.hub.page import with_folders, without_folders

from .conftest import Machine
from .server import HubServer

KUHN = weights_file("kuhn/cfr")


def parsed(text: str) -> object:
    from huggingface_hub import ModelCard

    return ModelCard(text).data


def test_an_agent_says_what_its_file_says(machine: Machine) -> None:
    model = ludory.make_algorithm("ppo", env="LeducPoker-v0", num_envs=4, hidden=(8,), seed=5, learning_rate=0.125)
    model.save("agent.ludory")
    text = card("agent.ludory", "alice/leduc", license="mit")
    for said in (
        "| game | `LeducPoker-v0` |",
        "| algorithm | `ppo-v1` |",
        "| decisions trained | 0 |",
        "| seed | `5` |",
        "| device | `cpu` |",
        "learning_rate: 0.125",
        f"| SHA-256 | `{hashlib.sha256(Path('agent.ludory').read_bytes()).hexdigest()}` |",
        f"ludory {ludory.__version__}",
        'ludory.make_agent("hf://alice/leduc", game)',
        "## Score\n\nNot measured.",
    ):
        assert said in text
    data = parsed(text)
    assert (data.library_name, data.license, data.eval_results) == ("ludory", "mit", None)
    assert {"ludory", "LeducPoker-v0", "ppo-v1"} <= set(data.tags)
    assert "license" not in card("agent.ludory").split("---")[1]


def test_options_and_conventions_of_the_game_are_stated(machine: Machine) -> None:
    game = ludory.make_game("Hanabi-v0", players=2, max_life_tokens=2)
    ludory.make_algorithm("ppo", env=game, num_envs=2, hidden=(8,)).save("agent.ludory")
    text = card("agent.ludory", "alice/hanabi")
    assert "| options of the game | " in text
    assert "`max_life_tokens=2`" in text
    assert 'ludory.make_game("Hanabi-v0", players=2, max_life_tokens=2)' in text
    for name in game.records.conventions:
        assert f"`{name}=" in text


@pytest.mark.slow
def test_a_score_is_that_of_the_command_on_the_card(capsys: pytest.CaptureFixture[str], machine: Machine) -> None:
    push(weights_file("hanabi_tiny/ppo"), "alice/tiny", score_games=40)
    machine("second")
    ludory.make_agent("hf://alice/tiny", "HanabiTiny2P-v0")
    text = card(weights_file("hanabi_tiny/ppo"), "alice/tiny", score_games=40)
    (command,) = (line for line in text.splitlines() if line.startswith("ludory eval"))
    assert main([*command.split()[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["estimates"]["return"]
    assert f"| this agent | {found['mean']:.4f} | {found['stderr']:.4f} |" in text
    (result,) = parsed(text).eval_results
    assert (result.dataset_name, result.metric_type) == ("HanabiTiny2P-v0", "mean_return")
    assert result.metric_value == pytest.approx(found["mean"])


@pytest.mark.plain
def test_a_score_against_a_baseline_says_how_they_sat(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    push(KUHN, "alice/kuhn", score_games=20)
    text = card(KUHN, "alice/kuhn", score_games=20)
    assert f"20 deals of `KuhnPoker-v0`, seed {SEED}" in text
    assert "They sat at the same table" in text
    (command,) = (line for line in text.splitlines() if line.startswith("ludory eval"))
    assert main([*command.split()[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["estimates"]["return of agent 0"]
    assert f"| this agent | {found['mean']:.4f} | {found['stderr']:.4f} |" in text


def test_the_card_that_is_printed_is_the_card_that_is_pushed(
    hub: HubServer, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    record("random", "KuhnPoker-v0", 3, "games", seed=4)
    for path, kind in ((KUHN, "models"), (Path("games"), "datasets")):
        push(path, "alice/it", license="mit")
        found = hub.repositories[kind, "alice/it"]
        assert main(["hub", "card", str(path), "alice/it", "--license", "mit"]) == 0
        assert capsys.readouterr().out == found.commits[found.branches["main"]]["README.md"].decode() + "\n"


def test_games_say_what_was_played(machine: Machine) -> None:
    record(["random(seed=3)", "random"], "KuhnPoker-v0", 3, "games", seed=4)
    text = card("games", "alice/games")
    assert "3 games of `KuhnPoker-v0`" in text
    assert "| agents, by seat | `random(seed=3)`, `random` |" in text
    assert "| seed | `4` |" in text
    assert parsed(text).to_dict()["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "part-*.parquet"}]}
    ]


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("/home/alice/runs/a.ludory", "a.ludory"),
        ("sparta(/home/alice/a.ludory, rollouts=10)", "sparta(a.ludory, rollouts=10)"),
        ("C:\\Users\\alice\\a.ludory", "a.ludory"),
        ("~/runs/a.ludory", "a.ludory"),
        ("/home/alice smith/a.ludory", "a.ludory"),
        ("hf://alice/a", "hf://alice/a"),
        ("s3://bucket/runs/a", "s3://bucket/runs/a"),
        ("hanabi/iggi", "hanabi/iggi"),
        ("runs/a.ludory", "runs/a.ludory"),
        ("a / b", "a / b"),
    ],
)
def test_only_folders_of_a_machine_are_left_out(text: str, without: str) -> None:
    assert without_folders({text: [text, 1, None]}) == {without: [without, 1, None]}
    assert with_folders({"a": [text]}) == ([text] if text != without else [])


def test_a_pulled_agent_needs_no_card(hub: HubServer, machine: Machine) -> None:
    push(KUHN, "alice/kuhn")
    hub.damage("models", "alice/kuhn", "README.md", b"# Edited in a browser\n")
    machine("second")
    assert pull("alice/kuhn").read_bytes() == KUHN.read_bytes()
