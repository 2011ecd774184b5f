"""A server of OpenEnv: clients at once, each with games of its own, which are those of `TextEnv`."""

from __future__ import annotations

import runpy
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openenv", reason='type: pip install "ludory[openenv]", or make test-language')

import uvicorn
from openenv.core import GenericEnvClient

from ludory.agents.language.adapters.openenv import TextGame, TextReply, make_app
from ludory.cli.common import address_of, listen
from ludory.errors import NotResetError, OptionError

from .conftest import COMPACT

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[4] / "examples" / "openenv_client.py"


@pytest.fixture
def served() -> Iterator[Any]:
    """`served(game, **options)`: the address of a server."""
    servers = []

    def start(game: str, **options: Any) -> str:
        server = uvicorn.Server(uvicorn.Config(make_app(game, **options), log_level="warning"))
        listening = listen("127.0.0.1", 0)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        servers.append((server, thread))
        return address_of(listening, "127.0.0.1").rstrip("/")

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join()


def test_three_clients_at_once_have_the_games_of_text_env(served, play, reply):
    address = served("Sokoban-v0", **COMPACT)
    clients = [GenericEnvClient(base_url=address).sync() for _ in range(3)]
    wanted = [play(seed) for seed in (3, 4, 5)]
    assert len({one.texts[0] for one in wanted}) == 3
    try:
        found = [client.reset(seed=seed) for client, seed in zip(clients, (3, 4, 5), strict=True)]
        texts, rewards = [[one.observation["text"]] for one in found], [[], [], []]
        while not all(one.done for one in found):
            for k, client in enumerate(clients):
                if not found[k].done:
                    found[k] = client.step({"reply": reply(found[k].observation["messages"])})
                    texts[k].append(found[k].observation["text"])
                    rewards[k].append(found[k].reward)
        states = [client.state() for client in clients]
    finally:
        for client in clients:
            client.close()
    assert texts == [one.texts for one in wanted]
    assert rewards == [one.rewards for one in wanted]
    assert [state["score"] for state in states] == [one.score for one in wanted]
    assert [state["step_count"] for state in states] == [len(one.replies) for one in wanted]


def test_a_client_more_than_there_are_sessions_is_refused(served):
    address = served("KuhnPoker-v0", sessions=1)
    with GenericEnvClient(base_url=address).sync() as first:
        first.reset(seed=1)
        with pytest.raises(Exception, match="apacity"), GenericEnvClient(base_url=address).sync() as second:
            second.reset(seed=1)
        assert not first.step({"reply": "what?"}).done


def test_an_observation_says_what_was_wrong():
    game = TextGame("LeducPoker-v0", opponents="random")
    first = game.reset(seed=2)
    assert (first.reward, first.done, first.turn, first.form) == (None, False, 1, "")
    assert first.messages[-1]["content"] == first.text
    wrong = game.step(TextReply(reply="raise"))
    assert (wrong.form, wrong.turn) == ("no_think", 2)
    assert game.state.step_count == 1
    game.close()


def test_what_cannot_be_served_is_said_before_a_client_comes():
    with pytest.raises(OptionError, match="turns=0: must be a whole number"):
        make_app("Sokoban-v0", turns=0)
    with pytest.raises(NotResetError, match="no episode has started"):
        TextGame("KuhnPoker-v0").step(TextReply(reply=""))


def test_the_example_plays_a_game(served):
    play = runpy.run_path(str(EXAMPLE))["main"]
    assert 0 <= play(served("Hanabi2P-v0", opponents="hanabi/iggi")) <= 25
