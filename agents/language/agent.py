"""`LanguageAgent`: a language model that reads the game as text and answers with one action at a time."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ludory import envs
from ludory.agents import ONE_MORE, DrawingAgent, RandomAgent
from ludory.envs.text.reply import Action
from ludory.errors import OptionError

from .endpoint import ChatEndpoint
from .generators import Sampling
from .model import LanguageModel, load_language_model
from .replies import Messages, ModelReplies, Replies

LOG = logging.getLogger("ludory.language")
_WARN_AFTER, _WARN_ABOVE = 20, 0.2
"""Replies, and the share of them without a legal action, above which a score is said to be partly that of random moves."""


class LanguageAgent(DrawingAgent):
    """Every decision is a prompt of its own: the task, the state as the seat sees it, and the form of a reply. The first action is played.

    Where a reply names no action that is legal, a legal one is drawn uniformly. `asked` and `unusable` count all replies and these, and a
    warning is logged once if they are many: the score is then partly that of random legal moves.

    Memory: int64 (rows, 2), a game's key and the number of its decisions; the text of a decision is a function of both and the weights.

    Args:
        game: with a text codec, and heads.
        model: what to ask; a `ChatEndpoint` has its own sampling.
        preset: of prompts, see `TextEnv`; "compact" for models that are made for it.
        prompt_mode: "base", "world_model" or "no_think".
        style: of states; None: the preset's.
        sampling: how replies are drawn; temperature 0: always the same reply.
        backend: see `make_generator`.
        seed: of the draws; None: different in every run.

    Raises:
        OptionError: the game has no codec or continuous actions, or an argument is invalid.
    """

    name = "language"

    def __init__(
        self,
        game: envs.Game,
        model: LanguageModel | ChatEndpoint,
        *,
        preset: str = "default",
        prompt_mode: envs.PromptMode = "base",
        style: str | None = None,
        sampling: Sampling | None = None,
        backend: Literal["auto", "hf", "static", "vllm"] = "auto",
        seed: int | None = None,
    ) -> None:
        codec = envs.codec_of(game)
        game.need("a language model", "heads")
        chosen = envs.preset_of(preset)
        if not chosen.compact:
            chosen = chosen.move_by_move(game.facts.longest_game)
        self._style = envs.checked_style(game, style or ("compact" if chosen.compact else None))
        beliefs = envs.checked_style(game, "places" if chosen.compact else self._style)
        self._prompts = envs.TextPrompts(game, chosen, prompt_mode, self._style, beliefs)
        self._codec, self._preset, self._mode = codec, chosen, prompt_mode
        self.replies: Replies = (
            model if isinstance(model, ChatEndpoint) else ModelReplies(model, sampling or Sampling(), backend)
        )
        """Who is asked."""
        self._edges = np.cumsum(game.facts.head_sizes)[:-1]
        super().__init__(seed)
        self._random, self._warned = RandomAgent(game.facts), False
        self.asked = 0
        """Number of replies so far."""
        self.unusable = 0
        """Number of replies without a legal action."""

    def choose(self, engine: envs.Engine, seat: int, rows: envs.Array, memory: envs.Memory) -> envs.Array:
        """Actions (m,) or (m, H) of `seat` in the games `rows`.

        Raises:
            OptionError: the engine is not on the CPU.
        """
        if engine.device != "cpu":
            raise OptionError(
                f'{self.name} reads games on the CPU, this engine is on {engine.device}; type device="cpu"'
            )
        numbers = envs.on_host(rows).astype(np.int64)
        notes = self.initial_memory(len(numbers)) if memory is None else memory[numbers]
        masks = engine.legal()[numbers]
        masks = masks[:, seat] if masks.ndim == 3 else masks
        states = self._codec.write(engine.state, numbers.tolist(), seat, self._style)
        # a legal move for every game first, so that draws do not depend on replies
        actions = envs.on_host(self._random.act(masks, masks, notes)[0])
        for k, action in enumerate(self._answers(states, notes)):
            if action is not None and self._is_legal(masks[k], action):
                actions[k] = action
            else:
                self.unusable += 1
        self.asked += len(numbers)
        self._warn()
        if memory is not None:
            memory[numbers] = notes + ONE_MORE
        return actions

    def counts(self) -> Mapping[str, float]:
        """Replies, those without a legal action, and what they cost."""
        return {"replies": self.asked, "without a legal action": self.unusable} | dict(self.replies.counts())

    def _warn(self) -> None:
        if not self._warned and self.asked >= _WARN_AFTER and self.unusable > _WARN_ABOVE * self.asked:
            self._warned = True
            LOG.warning(
                "%s: %d of %d replies named no legal action; random legal moves were played instead, and the score is partly theirs",
                self.name,
                self.unusable,
                self.asked,
            )

    def _answers(self, states: list[str], notes: NDArray[np.int64]) -> list[Action | None]:
        """The first action of each reply, None if it names none."""
        turns = notes[:, 1].tolist()
        prompts = [self._messages(state, turn) for state, turn in zip(states, turns, strict=True)]
        # the thought of every reply is opened or of none, so that the first prompt tells
        opened = any(self.replies.opened(messages) for messages in prompts[:1])
        seeds = envs.hash_rows(notes[:, 0], notes[:, 1]).tolist()
        found: list[Action | None] = []
        for reply in self.replies.answer(prompts, seeds):
            verdict = envs.parse_reply(
                reply,
                self._codec.decode,
                prompt_mode=self._mode,
                max_actions=1,
                separator=self._preset.separator,
                opened=opened,
            )
            found.append(verdict.actions[0] if verdict.actions else None)
        return found

    def _messages(self, state: str, decided: int) -> Messages:
        prompts, preset = self._prompts, self._preset
        left = max(preset.actions_per_episode - decided, 1)
        turn = min(decided + 1, preset.turns)
        return [*prompts.system, {"role": "user", "content": prompts.intro + prompts.turn(turn, state, left)}]

    def _is_legal(self, mask: NDArray[np.bool_], action: Action) -> bool:
        values = action if isinstance(action, tuple) else (action,)
        heads = np.split(mask, self._edges)
        return len(values) == len(heads) and all(
            0 <= value < len(head) and bool(head[value]) for value, head in zip(values, heads, strict=True)
        )


def make(
    game: envs.Game,
    path: str | Path | LanguageModel | None = None,
    *,
    preset: str | None = None,
    prompt_mode: envs.PromptMode = "base",
    style: str | None = None,
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_new_tokens: int = 400,
    backend: Literal["auto", "hf", "static", "vllm"] = "auto",
    device: str = "auto",
    template: str = "auto",
    seed: int | None = None,
    model: str | None = None,
    cache: str | None = None,
    at_once: int = 8,
    tries: int = 6,
    timeout: float = 120.0,
    prices: tuple[float, float] | None = None,
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
) -> LanguageAgent:
    """`language(PATH)`: the model of a folder; also `language(PATH, prompt_mode=world_model, temperature=0)`.

    `language(http://127.0.0.1:8000/v1, model=NAME)`: a model behind an address.

    preset: None: "compact" if the model has the words of that preset as tokens, else "default".
    model, cache, at_once, tries, timeout, prices, limit_name: of a model behind an address, see `ChatEndpoint`.

    Raises:
        OptionError: no path, the game has no codec, or an argument is invalid.
        CheckpointError: the folder cannot be loaded.
        EndpointError: while it plays: the server does not answer.
        PluginError: the extra `llm` is not installed.
    """
    if not isinstance(path, (str, Path, LanguageModel)):
        raise OptionError(f"language({path!r}): name the folder of a model, as in language(runs/sft)")
    envs.codec_of(game)  # before a large model is loaded
    sampling = Sampling(temperature, top_p, max_new_tokens)
    if isinstance(path, str) and path.startswith(("http://", "https://")):
        server = ChatEndpoint(
            path,
            model or "",
            sampling,
            cache=cache,
            at_once=at_once,
            tries=tries,
            timeout=timeout,
            prices=prices,
            limit_name=limit_name,
        )
        return LanguageAgent(game, server, preset=preset or "default", prompt_mode=prompt_mode, style=style, seed=seed)
    if model is not None or cache is not None:
        raise OptionError(f"language({path}): model and cache are of models behind an address (http://.../v1) only")
    loaded = load_language_model(path, device, template=template)
    if preset is None:
        preset = "compact" if "<state>" in loaded.tokenizer.get_vocab() else "default"
    return LanguageAgent(
        game, loaded, preset=preset, prompt_mode=prompt_mode, style=style, sampling=sampling, backend=backend, seed=seed
    )
