"""`language(http://...)`: a model behind an address, which a server of this test stands in for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ludory.agents.evaluation.cross_play import cross_play
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.language import endpoint
from ludory.agents.language.endpoint import ChatEndpoint, EndpointError
from ludory.agents.language.generators import Sampling
from ludory.agents.make import make_agent
from ludory.cli import main
from ludory.errors import DataError, OptionError

Json = dict[str, Any]
GAME = "FrozenLakeFirm-v0"
ASK = [{"role": "user", "content": "which way?"}]


class StandIn:
    """A server of chat completions whose replies are a function of the request."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.keys: list[str | None] = []
        self.most_at_once = self._at_once = 0
        self.failures: list[tuple[int, dict[str, str], bytes]] = []
        """Answers that come before any other."""
        self.reply: Callable[[Json], str] = lambda request: f"<think>go</think><answer>{self._way(request)}"
        self.finish, self.delay = "stop", 0.0
        self._lock = threading.Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stand_in._answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @staticmethod
    def _way(request: Json) -> str:
        return ("Left", "Down", "Right", "Up")[(request["seed"] + len(request["messages"][-1]["content"])) % 4]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.asked.append(request)
            self.keys.append(handler.headers.get("Authorization"))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            failure = self.failures.pop(0) if self.failures else None
        time.sleep(self.delay)
        with self._lock:  # the client may ask again as soon as it has the answer
            self._at_once -= 1
        choice = {"message": {"role": "assistant", "content": self.reply(request)}, "finish_reason": self.finish}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        content = json.dumps({"choices": [choice], "usage": usage}).encode()
        status, headers, body = failure or (200, {}, content)
        handler.send_response(status if handler.path == "/v1/chat/completions" else 404)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    for name in endpoint.KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(endpoint, "LONGEST_WAIT", 0.01)
    stand_in = StandIn()
    yield stand_in
    stand_in.close()


def asked_once(server: StandIn, **options: Any) -> str:
    return ChatEndpoint(server.url, "m", Sampling(), **options).answer([ASK], [5])[0]


def test_games_are_played_and_what_they_cost_is_counted(server: StandIn) -> None:
    spec = f"language({server.url}, model=tiny, temperature=0.5, prices=(2.0, 8.0), seed=3)"
    first = evaluate(spec, GAME, 5, seed=1, max_steps=10)
    request = server.asked[0]
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("tiny", 0.5, 400)
    assert request["stop"] == ["</answer>"]
    assert "Turn 1" in request["messages"][-1]["content"]
    counts = first.counts[spec]
    assert counts["replies"] == counts["requests"] == len(server.asked) > 5
    assert counts["without a legal action"] == 0
    assert counts["tokens read"] == 100 * len(server.asked)
    assert counts["dollars"] == pytest.approx(len(server.asked) * (200 + 80) / 1e6)
    # a function of the request, whatever is asked at once
    server.asked.clear()
    again = evaluate(spec.replace("seed=3", "seed=3, at_once=1"), GAME, 5, seed=1, batch=2, max_steps=10)
    assert again.outcomes["steps"].tolist() == first.outcomes["steps"].tolist()
    assert len({one["seed"] for one in server.asked}) > 1


def test_what_was_answered_once_is_not_asked_again(server: StandIn, tmp_path: Path) -> None:
    cache = tmp_path / "replies.db"
    spec = f"language({server.url}, model=tiny, seed=3, cache={cache})"
    first = evaluate(spec, GAME, 4, seed=1, max_steps=10)
    server.reply = lambda _: "<answer>Nowhere"
    spoken = len(server.asked)
    second = evaluate(spec, GAME, 4, seed=1, max_steps=10)
    assert len(server.asked) == spoken
    assert second.counts[spec]["cached"] == second.counts[spec]["replies"] == first.counts[spec]["replies"]
    assert second.returns.tolist() == first.returns.tolist()
    # another model, another question
    evaluate(spec.replace("tiny", "other"), GAME, 4, seed=1, max_steps=10)
    assert len(server.asked) > spoken


def test_failures_that_pass_are_tried_again(server: StandIn) -> None:
    server.failures = [(503, {}, b"busy"), (429, {"Retry-After": "0"}, b"slow"), (500, {"Retry-After": "Fri"}, b"")]
    found = ChatEndpoint(server.url, "m", Sampling())
    assert found.answer([ASK], [5]) == ["<think>go</think><answer>Up</answer>"]
    assert (found.counts()["requests"], found.counts()["tried again"]) == (1, 3)


def test_a_server_that_stays_away_is_named(server: StandIn) -> None:
    server.failures = [(503, {}, b"busy")] * 3
    with pytest.raises(EndpointError, match=r"no answer in 2 tries \(HTTP 503: busy\).*cache=FILE keeps them"):
        asked_once(server, tries=2)
    server.close()
    with pytest.raises(EndpointError, match=r"refused.*is the server running"):
        asked_once(server, tries=2)


@pytest.mark.parametrize(
    ("status", "headers", "body", "message"),
    [
        (400, {}, b"unknown field max_tokens", "HTTP 400: unknown field max_tokens"),
        (401, {}, b"who?", "put the key of the server into LUDORY_API_KEY"),
        (404, {}, b"no such model", "is the model's name right"),
        (307, {"Location": "http://127.0.0.1:9/v1"}, b"", "HTTP 307"),
        (200, {}, b"<html>hello", "is no chat completion; give the address up to /v1"),
        (200, {}, b'{"choices": []}', "is no chat completion"),
        (200, {}, b'{"choices": [{"message": {"content": 3}}]}', "is no chat completion"),
        (200, {}, b'{"choices": [3]}', "is no chat completion"),
    ],
)
def test_answers_that_do_not_pass_are_told_at_once(
    server: StandIn, status: int, headers: dict[str, str], body: bytes, message: str
) -> None:
    server.failures = [(status, headers, body)]
    with pytest.raises(EndpointError) as caught:
        asked_once(server)
    assert message in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("text", "finish", "reply"),
    [
        ("<answer>Up", "stop", "<answer>Up</answer>"),
        ("<answer>Up</answer>", "stop", "<answer>Up</answer>"),
        ("<answer>Up", "length", "<answer>Up"),
        ("I pass", "stop", "I pass"),
        ("<answer>Up</answer> or <answer>Down", "stop", "<answer>Up</answer> or <answer>Down</answer>"),
    ],
)
def test_the_stop_text_that_servers_leave_out_is_put_back(server: StandIn, text: str, finish: str, reply: str) -> None:
    server.reply, server.finish = lambda _: text, finish
    assert asked_once(server) == reply


def test_as_many_requests_as_allowed_are_under_way(server: StandIn) -> None:
    server.delay = 0.05
    found = ChatEndpoint(server.url, "m", Sampling(), at_once=3)
    prompts = [[{"role": "user", "content": "x" * k}] for k in range(9)]
    assert found.answer(prompts, [0] * 9) == [server.reply({"seed": 0, "messages": p}) + "</answer>" for p in prompts]
    assert server.most_at_once == 3


def test_the_key_is_sent_to_this_machine_or_encrypted(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_once(server)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    asked_once(server, limit_name="max_completion_tokens")
    assert server.keys == [None, "Bearer secret"]
    assert "max_tokens" not in server.asked[1]
    with pytest.raises(OptionError, match="would be readable on the way; use https") as caught:
        ChatEndpoint("http://models.example/v1", "m", Sampling())
    assert "secret" not in str(caught.value)
    ChatEndpoint("https://models.example/v1", "m", Sampling())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("language(http://127.0.0.1:9/v1)", "name the model, as in"),
        ("language(http:///v1, model=m)", "must be the address of a server"),
        ("language(http://127.0.0.1:9/v1, model=m, tris=3)", "tris"),
        ("language(http://127.0.0.1:9/v1, model=m, tries=0)", "must be an integer from 1 to 1000"),
        ("language(http://127.0.0.1:9/v1, model=m, timeout=0)", "must be seconds above 0"),
        ("language(http://127.0.0.1:9/v1, model=m, limit_name=most)", "must be max_tokens or"),
        ("language(http://127.0.0.1:9/v1, model=m, cache=/nowhere/at/all.db)", "there is no folder"),
        ("language(somewhere, model=m)", "of models behind an address"),
    ],
)
def test_options_that_do_not_fit(spec: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in endpoint.KEYS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OptionError) as caught:
        make_agent(spec, GAME)
    assert message in str(caught.value)


def test_a_cache_that_is_something_else_is_kept(server: StandIn, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a table " * 100)
    with pytest.raises(DataError, match="cannot be a cache of replies"):
        asked_once(server, cache=other)
    assert other.read_text().startswith("not a table")


def test_the_command_says_what_was_spent(server: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    spec = f"language({server.url}, model=tiny)"
    assert main(["eval", spec, "--game", GAME, "--games", "2", "--option", "max_steps=5"]) == 0
    said = capsys.readouterr().out
    assert f"{len(server.asked)} replies, 0 without a legal action, {len(server.asked)} requests" in " ".join(
        said.split()
    )
    assert main(["eval", spec, "random", "--game", GAME, "--games", "2", "--option", "max_steps=5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"][spec]["requests"] > 0


def test_pairs_count_together(server: StandIn) -> None:
    found = cross_play([f"language({server.url}, model=tiny)", "random"], "TicTacToe-v0", 2)
    assert list(found.counts) == [f"language({server.url}, model=tiny)"]
    assert found.counts[f"language({server.url}, model=tiny)"]["requests"] == len(server.asked)


def test_a_failing_server_is_one_line(server: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    server.failures = [(401, {}, b"who?")] * 20
    assert main(["eval", f"language({server.url}, model=tiny)", "--game", GAME, "--games", "2"]) != 0
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "LUDORY_API_KEY" in said[0]
