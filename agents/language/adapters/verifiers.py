"""Text games as a taskset of verifiers: a task is a room or a deal, and the game answers the model as its user."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any, Literal

from ludory.agents.language.extras import needed
from ludory.envs import TextEnv
from ludory.errors import OptionError

needed("verifiers.v1", "verifiers")
import httpx  # noqa: E402
import verifiers.v1 as vf  # noqa: E402
from pydantic import Field  # noqa: E402
from verifiers.v1.dialects.chat import message_to_wire  # noqa: E402

__all__ = ["LudoryEnv", "LudoryHarness", "LudoryTaskset"]  # what verifiers finds, one of each kind


class LudoryConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which game is played, and how; `--env.taskset.NAME` on the command line of verifiers."""

    game: str = "Sokoban-v0"
    """Id of a game."""
    seed: int = 0
    """Of the first task; task k has seed + k."""
    seat: int | Literal["all"] = 0
    """Seat of the model; "all": every seat, where they share their rewards."""
    opponents: str | list[str] = "random"
    """Players of the other seats."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of `TextEnv` and of the game, such as {"turns": 10}."""

    def make(self) -> TextEnv:
        """An environment with these options.

        Raises:
            OptionError: an option is not allowed, or hides earlier turns, which verifiers keeps.
        """
        env = TextEnv(self.game, seat=self.seat, opponents=self.opponents, **self.options)
        if env.preset.history != "full":
            raise OptionError(
                f"history={env.preset.history!r}: verifiers keeps whole conversations; set options to {{'history': 'full'}}"
            )
        return env


class LudoryData(vf.TaskData):  # type: ignore[misc]
    """A task."""

    seed: int
    """`TextEnv.reset(seed)` starts its episode."""


class LudoryTask(vf.Task[LudoryData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One episode; `LudoryEnv` scores it."""


class LudoryTaskset(vf.Taskset[LudoryTask, LudoryConfig]):  # type: ignore[misc]
    """Endless episodes of a game."""

    INFINITE = True

    def load(self) -> Iterator[LudoryTask]:
        """Tasks, each with the first turn as its prompt."""
        env = self.config.make()
        for seed in count(self.config.seed):
            (turn,) = env.reset(seed)
            data = LudoryData(
                name=f"{self.config.game}#{seed}",
                prompt=turn.text,
                system_prompt=env.preset.system or None,
                seed=seed,
            )
            yield LudoryTask(data, self.config.task)


class LudoryEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: `--env.player.NAME`."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class LudoryEnv(vf.Env[LudoryEnvConfig]):  # type: ignore[misc]
    """Plays an episode. The reward `score` is that of `TextEnv`; metrics: `success`, `turns`, and `form`, the share of replies in order."""

    async def run(self, task: LudoryTask, agents: vf.Agents) -> None:
        """Play until the game, its budgets or the model's own limits end it."""
        env = self.taskset.config.make()
        env.reset(task.data.seed)
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                # other seats may think for long
                text, _, terminated, truncated, _ = await asyncio.to_thread(env.step, segment.last_reply)
                if terminated or truncated:
                    break
                segment = await interaction.turn(text)
        trace, records = interaction.trace, env.records[0]
        trace.record_reward("score", float(env.scores[0]), 1.0)
        trace.record_metric("success", float(env.success[0]))
        trace.record_metric("turns", float(len(records)))
        trace.record_metric("form", sum(record.verdict.form == "ok" for record in records) / max(len(records), 1))
        env.close()


class LudoryHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """Asks the model for one reply a turn, in this process: no program is installed or started for it."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """One request; verifiers records it, and sets the sampling."""
        system, prompt = self.resolve_prompt(data)
        said = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(map(message_to_wire, prompt))
        messages = [{"role": "system", "content": system}] * bool(system) + said
        # the limits of verifiers apply: a model may take its time
        async with httpx.AsyncClient(timeout=None) as client:
            answer = await client.post(
                f"{endpoint}/chat/completions",
                headers={"Authorization": f"Bearer {secret}"},
                json={"model": ctx.model, "messages": messages},
            )
        return vf.ProgramResult(
            exit_code=int(answer.is_error), stdout="", stderr=answer.text if answer.is_error else ""
        )
