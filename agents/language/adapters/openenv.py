"""Text games as an environment of OpenEnv: a server that plays a game for each client, over HTTP and WebSocket."""

from __future__ import annotations

from typing import Any

from ludory.agents.language.extras import needed
from ludory.envs import Game, TextEnv, codec_of

needed("openenv.core.env_server", "openenv")
from openenv.core.env_server import Environment, create_fastapi_app  # noqa: E402
from openenv.core.env_server.types import (  # noqa: E402
    Action,
    ConcurrencyConfig,
    EnvironmentMetadata,
    Observation,
    State,
)
from pydantic import Field  # noqa: E402


class TextReply(Action):  # type: ignore[misc]
    """What the model wrote."""

    reply: str
    """Text with an answer in the form that the prompt asks for."""


class ShownTurn(Observation):  # type: ignore[misc]
    """What the model is asked next; after the end, how the game ended. `reward` and `done` are those of OpenEnv."""

    text: str
    """The new user message."""
    messages: list[dict[str, str]] = Field(default_factory=list)
    """The whole conversation, as a chat model reads it; empty after the end."""
    turn: int = 0
    """From 1; 0 after the end."""
    actions_left: int = 0
    form: str = ""
    """Verdict on the last reply: "ok", or what its form lacks."""
    illegal: str = ""
    """The action of the last reply that was not legal."""


class TextScore(State):  # type: ignore[misc]
    """Where the episode stands; `step_count` is the number of replies."""

    game: str = ""
    score: float = 0.0
    """Rewards and penalties so far."""
    success: bool = False
    truncated: bool = False
    """The episode ended by its budgets or by a limit of the game."""


class TextGame(Environment):  # type: ignore[misc]
    """One game at a time, by the calls of OpenEnv; see `TextEnv` for the options."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, game: str | Game, **options: Any) -> None:
        super().__init__()
        self._env, self._truncated = TextEnv(game, **options), False
        self._episode: str | None = None

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> ShownTurn:
        """The first turn of a new episode; without a seed, in the next room."""
        self._env.reset(seed)
        self._episode, self._truncated = episode_id, False
        return self._turn(self._env.observation)

    def step(self, action: TextReply, timeout_s: float | None = None, **_: Any) -> ShownTurn:
        """The turn after a reply.

        Raises:
            NotResetError: the episode has ended, or none has started.
        """
        text, reward, terminated, self._truncated, info = self._env.step(action.reply)
        record = info["record"]
        done = terminated or self._truncated
        return self._turn(text, reward=reward, done=done, form=record.verdict.form, illegal=record.illegal)

    def _turn(self, text: str, **told: Any) -> ShownTurn:
        turns = self._env.turns
        if turns:
            told |= {"messages": turns[0].messages, "turn": turns[0].turn, "actions_left": turns[0].actions_left}
        return ShownTurn(text=text, **told)

    @property
    def state(self) -> TextScore:
        """Score, success and number of replies."""
        env = self._env
        return TextScore(
            episode_id=self._episode,
            step_count=len(env.records[0]) if env.records else 0,
            game=env.game.name,
            score=float(env.scores[0]),
            success=bool(env.success[0]),
            truncated=self._truncated,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Name and rules of the game."""
        return EnvironmentMetadata(name=self._env.game.name, description=codec_of(self._env.game).instruction)

    def close(self) -> None:
        """Release the engine."""
        self._env.close()


def make_app(game: str | Game, *, sessions: int = 64, idle_seconds: float | None = None, **options: Any) -> Any:
    """A FastAPI application that serves `game` to any client of OpenEnv; each has an engine of its own.

    Args:
        game: id of a text game, or a `Game`.
        sessions: most clients at once; one more is told that the server is full.
        idle_seconds: after so long without a message a client's game is dropped; None: never.
        options: of `TextEnv`, for all clients.

    Raises:
        OptionError: an option is not allowed, or the game has no texts.
    """
    first = TextGame(game, **options)  # what is wrong is said before the first client comes
    name = first.state.game
    first.close()

    def factory() -> TextGame:
        return TextGame(game, **options)

    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle_seconds)
    return create_fastapi_app(
        factory, TextReply, ShownTurn, concurrency_config=limits, env_name=name, state_cls=TextScore
    )
