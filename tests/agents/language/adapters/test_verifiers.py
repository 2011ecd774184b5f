"""Rollouts of verifiers, with a small model behind an endpoint of this process, are the conversations of `TextEnv`."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("verifiers", reason='type: pip install "ludory[verifiers]", or make test-language')

import verifiers.v1 as vf

from ludory.errors import OptionError

from .conftest import COMPACT

pytestmark = pytest.mark.slow


@pytest.fixture
def endpoint(reply) -> Iterator[str]:
    """Address of an endpoint that speaks as OpenAI's does, and answers as the small model."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            message = {"role": "assistant", "content": reply(asked["messages"])}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            body = {"id": "1", "object": "chat.completion", "created": 0, "model": "small"}
            sent = json.dumps(body | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def environment(**options: Any) -> vf.Env:
    """As the command line of verifiers makes it."""
    return vf.load_environment(vf.resolve_env_config({"taskset": {"id": "ludory-text"} | options}))


def test_a_rollout_has_the_texts_and_rewards_of_text_env(play, endpoint):
    env = environment(game="Sokoban-v0", seed=3, options=COMPACT)
    client = vf.EvalClientConfig(base_url=endpoint, api_key_var="LUDORY_NO_KEY")

    async def episodes() -> list[vf.Episode]:
        async with env.serving():
            context = vf.ModelContext(model="small", client=client, sampling=vf.SamplingConfig())
            slots = [env.slots(task)[0] for task in env.taskset.take(3)]
            return list(await asyncio.gather(*(env.run_slot(slot, context) for slot in slots)))

    found, wanted = asyncio.run(episodes()), [play(seed) for seed in (3, 4, 5)]
    assert [episode.errors for episode in found] == [[]] * 3
    for episode, one in zip(found, wanted, strict=True):
        (trace,) = episode.traces
        said = [(node.message.role, node.message.content or "") for node in trace.nodes]
        assert [text for role, text in said if role == "user"] == one.texts[: len(one.replies)]
        assert [text for role, text in said if role == "assistant"] == one.replies
        assert trace.reward == one.score
        assert (trace.metrics["success"], trace.metrics["turns"]) == (one.success, len(one.replies))


def test_a_task_is_a_room_or_a_deal():
    env = environment(game="Hanabi2P-v0", opponents="hanabi/iggi", seed=7)
    first, second = env.taskset.take(2)
    assert (first.data.name, first.data.seed, second.data.seed) == ("Hanabi2P-v0#7", 7, 8)
    assert first.data.prompt != second.data.prompt
    assert first.data.prompt.startswith("You are playing Hanabi with 1 partner.")
    assert first.data.system_prompt.startswith("You play a game.")


def test_conversations_are_kept_whole():
    with pytest.raises(OptionError, match="history='none': verifiers keeps whole conversations"):
        list(environment(options={"history": "none"}).taskset.take(1))
