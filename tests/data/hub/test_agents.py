"""An agent goes to a hub and comes back, on another machine, as it was; whatever is wrong is one line, and nothing half-written stays."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ludory
from ludory.agents.pretrained.cards import weights_file
from ludory.checkpoints.file_list import LIST, StoredFile, as_json
from ludory.checkpoints.hub import HubAddress, local_path, parse_address
from ludory.cli import main
from ludory.errors import CheckpointError, HubError, OptionError, OutputError, PluginError
from ludory.hub import pull, push
from ludory.plugins.spec import parse_spec
from ludory.web.pages.choices import read_agent

from .conftest import Machine
from .server import READER, HubServer

AGENT, GAME = weights_file("kuhn/cfr"), "KuhnPoker-v0"
WHOLE = AGENT.read_bytes()
SHA256 = hashlib.sha256(WHOLE).hexdigest()
OTHER = weights_file("leduc/cfr").read_bytes()


def returns(agent: object, games: int = 20) -> np.ndarray:
    return ludory.evaluate(agent, GAME, games=games, seed=3).returns


@pytest.fixture
def pushed(hub: HubServer, machine: Machine) -> HubServer:
    """A hub with the agent alice/kuhn; the machine is one that has not seen it."""
    push(AGENT, "alice/kuhn")
    machine("second")
    return hub


def test_what_is_pulled_is_what_was_pushed_and_plays_the_same(pushed: HubServer) -> None:
    assert pull("alice/kuhn") == Path("kuhn.ludory")
    assert Path("kuhn.ludory").read_bytes() == WHOLE
    np.testing.assert_array_equal(returns("hf://alice/kuhn"), returns(str(AGENT)))


@pytest.mark.plain
def test_a_learner_is_loaded_from_the_hub_and_learns_on(machine: Machine) -> None:
    model = ludory.make_algorithm(
        "ppo", env=GAME, num_envs=4, n_steps=8, batch_size=16, n_epochs=1, hidden=(8,), seed=2
    )
    model.learn(32)
    model.save("model.ludory")
    push("model.ludory", "alice/model")
    machine("second")
    found = ludory.load("hf://alice/model")
    assert found.num_timesteps == 32
    for one in (model, found):
        one.learn(64, reset_num_timesteps=False)
    for ours, theirs in zip(model.policy.parameters(), found.policy.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_a_network_starts_from_one_on_the_hub(machine: Machine) -> None:
    first = ludory.make_algorithm("ppo", env=GAME, num_envs=4, hidden=(8,), seed=2)
    first.save("first.ludory")
    push("first.ludory", "alice/first")
    second = ludory.make_algorithm("ppo", env=GAME, num_envs=4, hidden=(8,), seed=3, init_from="hf://alice/first")
    for ours, theirs in zip(first.policy.parameters(), second.policy.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_a_revision_is_a_branch_a_commit_or_an_error(pushed: HubServer) -> None:
    done = push(weights_file("leduc/cfr"), "alice/kuhn", revision="wider")
    push(weights_file("leduc/cfr"), "alice/kuhn")
    assert Path(local_path("hf://alice/kuhn@wider")).read_bytes() == OTHER
    assert Path(local_path("hf://alice/kuhn")).read_bytes() == OTHER
    first = pushed.repositories["models", "alice/kuhn"]
    before = next(name for name, files in first.commits.items() if files.get("agent.ludory") == WHOLE)
    assert pull("alice/kuhn", revision=before).read_bytes() == WHOLE
    assert str(done.address).startswith("hf://alice/kuhn@")
    with pytest.raises(HubError, match=r"hf://alice/kuhn@never: has no branch, tag or commit 'never'"):
        ludory.make_agent("hf://alice/kuhn@never", GAME)


def test_a_damaged_file_is_named_with_what_was_expected_and_got(pushed: HubServer) -> None:
    pushed.damage("models", "alice/kuhn", "agent.ludory", OTHER)
    got = hashlib.sha256(OTHER).hexdigest()
    with pytest.raises(HubError, match=rf"agent\.ludory is damaged or missing: expected SHA-256 {SHA256}, got {got}"):
        pull("alice/kuhn")
    assert not Path("kuhn.ludory").exists()


def test_a_missing_file_is_named(pushed: HubServer) -> None:
    pushed.damage("models", "alice/kuhn", "agent.ludory", None)
    with pytest.raises(HubError, match=rf"expected SHA-256 {SHA256}, got no such file"):
        ludory.load("hf://alice/kuhn")


def test_a_file_that_was_damaged_in_the_cache_is_fetched_again(pushed: HubServer) -> None:
    Path(local_path("hf://alice/kuhn")).resolve().write_bytes(WHOLE[:-1] + b"x")
    assert Path(local_path("hf://alice/kuhn")).read_bytes() == WHOLE


def test_what_is_in_the_cache_is_not_fetched_again(pushed: HubServer) -> None:
    local_path("hf://alice/kuhn")
    pushed.asked.clear()
    local_path("hf://alice/kuhn")
    assert len(pushed.asked) == 1  # the commit of main
    assert pushed.asked[0].startswith("GET /api/models/alice/kuhn")


def test_a_download_that_breaks_off_leaves_nothing(pushed: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    pushed.cut = "agent.ludory"
    with pytest.raises(HubError, match="broke off"):
        pull("alice/kuhn")
    assert not list(Path().glob("*kuhn*"))
    pushed.cut = None
    assert pull("alice/kuhn").read_bytes() == WHOLE


def test_another_file_is_not_overwritten_without_force(pushed: HubServer) -> None:
    Path("mine.ludory").write_bytes(OTHER)
    with pytest.raises(OutputError, match=r"mine\.ludory: exists, and differs .*--force"):
        pull("alice/kuhn", "mine.ludory")
    assert Path("mine.ludory").read_bytes() == OTHER
    pull("alice/kuhn", "mine.ludory", force=True)
    assert Path("mine.ludory").read_bytes() == WHOLE
    Path("folder").mkdir()
    assert pull("alice/kuhn", "folder") == pull("alice/kuhn", "folder") == Path("folder/kuhn.ludory")


def test_without_network_the_cache_is_used(pushed: HubServer, machine: Machine) -> None:
    local_path("hf://alice/kuhn")
    machine("second", endpoint="http://127.0.0.1:9")
    assert Path(local_path("hf://alice/kuhn")).read_bytes() == WHOLE
    with pytest.raises(HubError, match=r"hf://alice/new: the hub at http://127\.0\.0\.1:9 cannot be reached"):
        local_path("hf://alice/new")
    with pytest.raises(HubError, match="cannot be reached"):
        push(AGENT, "alice/new")


def test_offline_the_cache_is_used(pushed: HubServer, machine: Machine) -> None:
    local_path("hf://alice/kuhn")
    pushed.asked.clear()
    machine("second", offline=True)
    assert Path(local_path("hf://alice/kuhn")).read_bytes() == WHOLE
    with pytest.raises(HubError, match="hf://alice/new: is not in the cache, and HF_HUB_OFFLINE is set"):
        local_path("hf://alice/new")
    assert not pushed.asked


@pytest.mark.parametrize(
    ("token", "cure"), [("", "`hf auth login`$"), (READER, "`hf auth login` with a token that may$")]
)
def test_a_private_agent_needs_a_login(hub: HubServer, machine: Machine, token: str, cure: str) -> None:
    push(AGENT, "alice/secret", private=True)
    machine("second", token=token)
    with pytest.raises(HubError, match=f"hf://alice/secret: there is none, or you may not read it .*{cure}"):
        pull("alice/secret")
    with pytest.raises(HubError, match=f"you may not write there .*{cure}"):
        push(AGENT, "alice/mine")
    machine("third")
    assert pull("alice/secret").read_bytes() == WHOLE


def test_nothing_is_sent_in_private_to_what_is_public(pushed: HubServer) -> None:
    pushed.asked.clear()
    with pytest.raises(HubError, match="is public already, so nothing was sent"):
        push(AGENT, "alice/kuhn", private=True)
    assert not any("preupload" in one or "commit" in one for one in pushed.asked)


def test_nothing_that_comes_from_a_hub_is_run(pushed: HubServer) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return Path.touch, (Path("exploded"),)

    torch.save(Bomb(), "bomb.zip")
    for content in (pickle.dumps(Bomb()), Path("bomb.zip").read_bytes()):
        Path("bomb").write_bytes(content)
        files = {"files": as_json({"agent.ludory": StoredFile.of(Path("bomb"))})}
        pushed.damage("models", "alice/kuhn", LIST, json.dumps(files).encode())
        pushed.damage("models", "alice/kuhn", "agent.ludory", content)
        for load in (ludory.load, lambda name: ludory.make_agent(name, GAME)):
            with pytest.raises(CheckpointError):
                load("hf://alice/kuhn")
    assert not Path("exploded").exists()


@pytest.mark.parametrize("name", ["../agent.ludory", "/agent.ludory", "a/b", "C:x", ".hidden"])
def test_a_list_names_no_file_outside(pushed: HubServer, name: str) -> None:
    listed = as_json({"agent.ludory": StoredFile(1, SHA256), name: StoredFile(1, SHA256)})
    pushed.damage("models", "alice/kuhn", LIST, json.dumps({"files": listed}).encode())
    with pytest.raises(HubError, match=r"names '.*'; must be agent\.ludory and names of files without folders"):
        local_path("hf://alice/kuhn")


def test_a_repository_that_was_not_pushed_by_ludory_is_told_apart(pushed: HubServer) -> None:
    pushed.damage("models", "alice/kuhn", LIST, None)
    with pytest.raises(HubError, match=r"has no ludory-files\.json, so `ludory hub push` did not write it"):
        local_path("hf://alice/kuhn")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"files": {"agent.ludory": {"size": 1, "sha256": "x"}}}'])
def test_a_damaged_list_is_an_error(pushed: HubServer, content: bytes) -> None:
    pushed.damage("models", "alice/kuhn", LIST, content)
    with pytest.raises(HubError, match=r"ludory-files\.json is damaged"):
        local_path("hf://alice/kuhn")


def test_only_checkpoints_and_recorded_games_are_pushed(machine: Machine) -> None:
    Path("words.ludory").write_text("no checkpoint")
    shutil.copy(AGENT, "whole.ludory")
    Path("folder").mkdir()
    for path, error, said in [
        ("words.ludory", CheckpointError, "not a checkpoint"),
        ("nothing.ludory", CheckpointError, "no such file"),
        ("folder", OptionError, "a folder without dataset.json"),
    ]:
        with pytest.raises(error, match=said):
            push(path, "alice/x")
    for arguments, said in [
        ({"license": "MIT license"}, "must be the hub's word"),
        ({"score_games": -1}, "must be at least 0"),
        ({"revision": "b", "name": "alice/x@a"}, "leave one out"),
        ({"name": "datasets/alice/x"}, "is for recorded games"),
        ({"name": "x"}, "must be owner/name"),
    ]:
        with pytest.raises(OptionError, match=said):
            push("whole.ludory", **{"name": "alice/x", **arguments})


def test_folders_of_the_machine_in_a_file_are_told(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copy(AGENT, "agent.ludory")
    model = ludory.make_algorithm("ppo", env=GAME, num_envs=4, hidden=(8,))
    model.save("first.ludory")
    place = str(Path("first.ludory").resolve())
    ludory.make_algorithm("ppo", env=GAME, num_envs=4, hidden=(8,), init_from=place).save("second.ludory")
    push("first.ludory", "alice/first")
    assert not caplog.messages
    push("second.ludory", "alice/second")
    assert place in caplog.messages[0]


def test_without_the_extra_the_install_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub.utils.tqdm", None)
    with pytest.raises(PluginError, match=r'type: pip install "ludory\[hub\]"'):
        ludory.make_agent("hf://alice/kuhn", GAME)


def test_addresses() -> None:
    assert parse_address("hf://a/b") == parse_address("a/b") == HubAddress("model", "a/b")
    assert parse_address("datasets/a/b.c@refs/pr/1") == HubAddress("dataset", "a/b.c", "refs/pr/1")
    assert str(parse_address("datasets/a/b@v1")) == "hf://datasets/a/b@v1"
    for wrong in ("a", "a/b/c", "hf://", "a/b@", "s3://a/b", "a b/c", "hf://spaces/a/b"):
        with pytest.raises(OptionError, match="must be owner/name"):
            parse_address(wrong)
    assert parse_spec("hf://a/b@v1").checkpoint
    spec = parse_spec("hf://a/b(deterministic=false)")
    assert (spec.name, spec.kwargs, spec.checkpoint) == ("hf://a/b", {"deterministic": False}, True)
    assert local_path("runs/model.ludory") == "runs/model.ludory"


def test_commands_take_an_agent_of_the_hub(pushed: HubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "hf://alice/kuhn", "--game", GAME, "--games", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agents"] == ["hf://alice/kuhn", "hf://alice/kuhn"]
    assert main(["watch", GAME, "random", "hf://alice/kuhn(deterministic=true)", "--html", "game.html"]) == 0
    assert main(["record", "hf://alice/kuhn", "--game", GAME, "--games", "3", "--out", "games"]) == 0
    assert json.loads(Path("games/dataset.json").read_text())["header"]["checkpoints"] == {"hf://alice/kuhn": SHA256}
    assert read_agent("hf://alice/kuhn", None) == "hf://alice/kuhn"
    capsys.readouterr()
    assert main(["record", "random", "--game", GAME, "--games", "3", "--out", "hf://alice/games"]) == 2
    assert "`ludory hub push` sends it to the hub" in capsys.readouterr().err


def test_the_command_pushes_pulls_and_refuses(
    hub: HubServer, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hub", "push", str(AGENT), "alice/kuhn", "--license", "mit", "--message", "first"]) == 0
    assert capsys.readouterr().out.startswith("hf://alice/kuhn@")
    assert main(["hub", "pull", "hf://alice/kuhn", "--to", "a.ludory"]) == 0
    assert capsys.readouterr().out == "hf://alice/kuhn is in a.ludory\n"
    assert main(["hub", "pull", "alice/none"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
