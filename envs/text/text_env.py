"""`TextEnv`: games as conversations. Prompts go out as strings, replies come in as strings, and everything that happened is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.seats.opponents import Others
from ludory.envs.text_codec import Decoded
from ludory.errors import NotResetError, OptionError, SnapshotError

from .batch import Executed, TextGames
from .presets import CHANGEABLE, TextPreset, preset_of, task_of_tag
from .prompts import Message, TextPrompts, checked_style, codec_of
from .records import TextTurn, TurnRecord, plain_record, record_of
from .reply import Action, PromptMode, Verdict, parse_reply

LONGEST_KEPT_ITEM = 40
"""Characters of an item whose action is remembered."""
MOST_KEPT_ITEMS = 10_000
FORMAT = 1
"""Of `TextEnv.state_dict`."""


class TextEnv:
    """N episodes of one game that a language model plays, one engine row each; all rows move together.

    A turn shows the state, the model replies with a list of actions, and these are executed until the list, the episode's actions or the
    game ends. A reply that executes nothing costs a turn. An action that is not legal in the game ends the turn, and counts as bad form.

    `reset` and `step` return the turns of the running rows; `step` takes one reply for each, in that order. With a single episode,
    `observation` is the text to answer and `step` also takes one string, as environments of Gymnasium do.

    Args:
        game: id of a game with a text codec, or a `Game`.
        num_episodes: N.
        group_size: so many consecutive rows share a room; divides N.
        preset: "default", "ragen", "ragen2" or "compact"; see `ludory.envs.text.presets`. Games for several seats have one action a turn.
        seed: of the first room, see `TextGames`; None: drawn from the operating system.
        split: rooms of "train", "valid" or "test" only; None: of all.
        seeds: "ragen": RAGEN's seeds, 10000 and on, or with split="valid" always 123 and on, without regard to splits by hash.
        prompt_mode: "base", "world_model" (thoughts hold the state and the expected next state) or "no_think".
        style: how states are written; None: the game's first style.
        belief_style: how states are written in records, and in the example of "world_model"; None: as in prompts (compact: `places`, where the game has it).
        history, turns, actions_per_turn, actions_per_episode, format_penalty, penalty_at, system, separator, reply_tokens: instead of the preset's.
        strict: execute nothing of a reply that is not in order.
        opened: whoever shows the prompts appends `<think>` to them, so replies start inside the thought.
        seat: the model's seat; "all": every seat, where all share their rewards.
        opponents: players of the other seats.
        first_group: number of the first group in a larger batch, of which others play the rest; give every reset a seed.
        options: options of the game.

    Raises:
        OptionError: a value is not allowed, or the game has no codec, rooms or styles that are asked for.
        UnknownIdError, PluginError: as for `make_game`.
    """

    def __init__(
        self,
        game: str | Game,
        num_episodes: int = 1,
        *,
        group_size: int = 1,
        preset: str = "default",
        seed: int | None = None,
        split: str | None = None,
        seeds: Literal["ragen"] | None = None,
        prompt_mode: PromptMode = "base",
        style: str | None = None,
        belief_style: str | None = None,
        strict: bool = False,
        opened: bool = False,
        seat: int | Literal["all"] = 0,
        opponents: Others = "random",
        first_group: int = 0,
        **options: Any,
    ) -> None:
        chosen = preset_of(preset)
        options = (chosen.of_game(game) if isinstance(game, str) else {}) | options
        given = {name: options.pop(name, None) for name in CHANGEABLE}
        self.preset_name, self.prompt_mode, self.strict, self.opened = preset, prompt_mode, strict, opened
        self.game = make_game(game, **options)
        # a list of moves would be played without seeing what the others do in between
        if self.game.facts.players > 1 and not chosen.compact:
            chosen = chosen.move_by_move(self.game.facts.longest_game)
        self.preset: TextPreset = chosen.changed(given)
        self.style = checked_style(self.game, style or ("compact" if self.preset.compact else None))
        own = "places" if self.preset.compact and "places" in codec_of(self.game).styles else self.style
        self.belief_style = checked_style(self.game, belief_style or own, "belief_style")
        self._prompts = TextPrompts(self.game, self.preset, prompt_mode, self.style, self.belief_style)
        self._games = TextGames(self.game, num_episodes, group_size, seed, split, seeds, seat, opponents, first_group)
        self._decode = _remembering(self._games.codec.decode)
        self.num_episodes, self.group_size = num_episodes, group_size
        self.group: NDArray[np.int64] = self._games.group
        """(N,): number of each row's group."""
        self.records: list[list[TurnRecord]] = []
        """Per row, the turns of its present episode so far."""
        self.scores: NDArray[np.float64] = np.zeros(num_episodes)
        """(N,): rewards and penalties of the present episodes so far."""
        self.success: NDArray[np.bool_] = np.zeros(num_episodes, bool)
        """(N,): the game's own flag at the end of the episode; False before."""
        self._running: NDArray[np.int64] = np.zeros(0, np.int64)
        self._turns: list[TextTurn] = []
        self._states: list[str] = [""] * num_episodes

    @classmethod
    def from_tag(cls, tag: str, num_episodes: int = 1, *, preset: str = "ragen", **options: Any) -> TextEnv:
        """The task that RAGEN calls `tag`, such as "SimpleSokoban"; `options` are those of `TextEnv`.

        Raises:
            OptionError: there is no such task; the message lists all.
        """
        id, own = task_of_tag(tag, preset)
        return cls(id, num_episodes, preset=preset, **(own | options))

    @property
    def room_hashes(self) -> NDArray[np.uint64]:
        """(N,): hash of each row's room; 0 in games without rooms."""
        return self._games.room_hashes

    @property
    def rooms(self) -> Mapping[str, NDArray[Any]]:
        """The rooms of the present episodes as reset options of the game, one value per row; empty in games without rooms."""
        return self._games.rooms

    @property
    def engine(self) -> Engine:
        """The batch of games, one row per episode; read it, and clone it to look ahead."""
        return self._games.engine

    def action_text(self, action: Action) -> str:
        """How a reply asks for an action."""
        values = action if isinstance(action, tuple) else (action,)
        return ", ".join(self.game.look.action_name(head, value) for head, value in enumerate(values))

    @property
    def most_actions(self) -> int:
        """Actions that an episode can have under its budgets."""
        return min(self.preset.turns * self.preset.actions_per_turn, self.preset.actions_per_episode)

    @property
    def running(self) -> NDArray[np.int64]:
        """Rows whose episodes go on, in the order of the turns last returned."""
        return self._running.copy()

    @property
    def turns(self) -> list[TextTurn]:
        """The turns last returned."""
        return list(self._turns)

    @property
    def observation(self) -> str:
        """The text that the only row has to answer; "" when its episode has ended."""
        if self.num_episodes != 1:
            raise OptionError(
                f"observation: this TextEnv has {self.num_episodes} episodes; read the turns of reset() and step()"
            )
        return self._turns[0].text if self._turns else ""

    def reset(self, seed: int | None = None) -> list[TextTurn]:
        """Start new episodes in all rows, in the next rooms; returns their first turns.

        seed: starts the sequence of rooms again, from this one.
        """
        self._games.start(seed)
        self.records = [[] for _ in range(self.num_episodes)]
        self.scores[:], self.success[:] = 0, False
        self._running = np.arange(self.num_episodes)
        self._states = self._games.write(self._running, self.belief_style)
        self._turns = self._asked([self.preset.actions_per_episode] * self.num_episodes)
        return self.turns

    @overload
    def step(self, replies: str) -> tuple[str, float, bool, bool, dict[str, Any]]: ...  # type: ignore[overload-overlap]

    @overload
    def step(self, replies: Sequence[str]) -> list[TextTurn]: ...

    def step(self, replies: str | Sequence[str]) -> list[TextTurn] | tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute one reply per running row; returns the turns of those that go on.

        With a single episode, one string returns (text, reward, terminated, truncated, info). The info has the turn's record as
        `record`, and `success`. An episode that ends by its budgets, or by a limit of the game, is truncated.

        Raises:
            NotResetError: before the first `reset`, or when all episodes have ended.
            OptionError: another number of replies than running rows, or a reply that is not a string.
        """
        if isinstance(replies, str):
            return self._step_alone(replies)
        rows = self._running
        self._check(replies)
        verdicts = [self._parsed(reply) for reply in replies]
        # what the episode has left may be less than a turn allows
        plans = [verdict.actions[: turn.actions_left] for verdict, turn in zip(verdicts, self._turns, strict=True)]
        executed = self._games.play(rows, plans, self.belief_style)
        records = self._recorded(rows, replies, verdicts, executed)
        kept = [k for k, record in enumerate(records) if not record.done]
        earlier = [self._turns[k] for k in kept]
        lefts = [turn.actions_left - len(executed[k].actions) for k, turn in zip(kept, earlier, strict=True)]
        self._running = rows[kept]
        self._turns = self._asked(lefts, earlier)
        return self.turns

    def _step_alone(self, reply: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.num_episodes != 1:
            raise OptionError(
                f"step: got one string for {self.num_episodes} episodes; give a list with one reply per running row"
            )
        turns, record = self.step([reply]), self.records[0][-1]
        terminated = record.done and self._games.terminated(0)
        text = turns[0].text if turns else self._prompts.end(record.reward, record.illegal, self._final_state())
        info = {"success": record.success, "record": record}
        return text, record.reward, terminated, record.done and not terminated, info

    def _final_state(self) -> str:
        return self._games.write(np.zeros(1, np.int64), self.style)[0]

    def _check(self, replies: Sequence[str]) -> None:
        if not self.records:
            raise NotResetError("step: no episode has started; call reset() first")
        if not len(self._running):
            last = max(range(self.num_episodes), key=lambda row: len(self.records[row]))
            raise NotResetError(
                f"step: all {self.num_episodes} episodes have ended (row {last} in turn {len(self.records[last])}); call reset()"
            )
        if len(replies) != len(self._turns):
            waiting = ", ".join(f"row {turn.row} (turn {turn.turn})" for turn in self._turns[:5])
            more = ", ..." if len(self._turns) > 5 else ""
            raise OptionError(
                f"step: got {len(replies)} replies for {len(self._turns)} running rows; give one for each of {waiting}{more}, in this order"
            )
        for reply, turn in zip(replies, self._turns, strict=True):
            if not isinstance(reply, str):
                raise OptionError(
                    f"step: the reply of row {turn.row}, turn {turn.turn} is a {type(reply).__name__}, must be a string; decode tokens first"
                )

    def _parsed(self, reply: str) -> Verdict:
        return parse_reply(
            reply,
            self._decode,
            prompt_mode=self.prompt_mode,
            max_actions=self.preset.actions_per_turn,
            separator=self.preset.separator,
            opened=self.opened,
            strict=self.strict,
        )

    def _recorded(
        self, rows: NDArray[np.int64], replies: Sequence[str], verdicts: list[Verdict], executed: list[Executed]
    ) -> list[TurnRecord]:
        """Records of the turn, with scores, successes and states brought up to date."""
        over, at_turn = self._games.over[rows].tolist(), self.preset.penalty_at == "turn"
        records = []
        for turn, reply, verdict, one, ended in zip(self._turns, replies, verdicts, executed, over, strict=True):
            row, before, earned = turn.row, self._states[turn.row], sum(one.rewards, 0.0)
            illegal = self.action_text(one.illegal[0]) if one.illegal else ""
            # `-penalty` would be -0.0 where there is none
            penalty = 0.0 - self.preset.penalty if verdict.form != "ok" or illegal else 0.0
            done = ended or turn.turn >= self.preset.turns or turn.actions_left <= len(one.actions)
            self.scores[row] += earned + penalty
            if done:
                # penalties are no part of the game
                won = sum(sum(record.rewards) for record in self.records[row]) + earned
                self.success[row] = self._games.success(row, won)
            after = self._states[row] = one.states[-1] if one.states else before
            record = TurnRecord(
                turn=turn.turn,
                prompt=turn.text,
                reply=reply,
                verdict=verdict,
                state_before=before,
                states_between=tuple(one.states),
                state_after=after,
                actions=tuple(one.actions),
                rewards=tuple(one.rewards),
                reward=earned + penalty if at_turn else earned,
                penalty=penalty,
                done=done,
                success=bool(self.success[row]),
                illegal=illegal,
            )
            self.records[row].append(record)
            records.append(record)
        return records

    def _asked(self, lefts: list[int], earlier: list[TextTurn] | None = None) -> list[TextTurn]:
        """The next turns of the running rows, with so many actions left, after the turns `earlier` of the same rows."""
        rows, prompts, history = self._running.tolist(), self._prompts, self.preset.history
        if self.style == self.belief_style:
            states = [self._states[row] for row in rows]
        else:
            states = self._games.write(self._running, self.style)
        turns = []
        for k, (row, state, left) in enumerate(zip(rows, states, lefts, strict=True)):
            past = self.records[row]
            asked = prompts.turn(len(past) + 1, state, left)
            if not past or history in ("none", 1):
                said, text = prompts.system, prompts.intro + asked
            else:
                text = prompts.outcome(past[-1].reward, past[-1].illegal) + asked
                if history == "full" and earlier is not None:
                    said = [*earlier[k].messages, {"role": "assistant", "content": past[-1].reply}]
                else:
                    said = self._conversation(past, len(past) if history == "full" else int(history) - 1)
            turns.append(TextTurn(row, len(past) + 1, [*said, {"role": "user", "content": text}], text, left))
        return turns

    def _conversation(self, past: Sequence[TurnRecord], count: int) -> list[Message]:
        """The last `count` turns of a row, at least one, as messages; the first of them has the introduction."""
        prompts, shown = self._prompts, past[-count:]
        messages = list(prompts.system)
        for record in shown:
            text = record.prompt
            if record is shown[0] and record.turn > 1:
                # its prompt began with the outcome of a turn that is not shown
                before = past[record.turn - 2]
                text = prompts.intro + text.removeprefix(prompts.outcome(before.reward, before.illegal))
            messages += [{"role": "user", "content": text}, {"role": "assistant", "content": record.reply}]
        return messages

    def state_dict(self) -> dict[str, Any]:
        """Everything that continues the running episodes in a `TextEnv` made with the same arguments: NumPy arrays and plain values."""
        return {
            "format": FORMAT,
            "made_with": self._made_with(),
            "games": self._games.state(),
            "records": [[plain_record(record) for record in row] for row in self.records],
            "running": self._running.copy(),
            "lefts": [turn.actions_left for turn in self._turns],
            "states": list(self._states),
            "scores": self.scores.copy(),
            "success": self.success.copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> list[TextTurn]:
        """Restore what `state_dict` returned; returns the turns of the running rows.

        Raises:
            SnapshotError: it is of another version, or of a `TextEnv` that was made with other arguments.
        """
        if state.get("format") != FORMAT:
            raise SnapshotError(f"TextEnv: the state has format {state.get('format')!r}, this version reads {FORMAT}")
        own = self._made_with()
        for name, value in state["made_with"].items():
            if own.get(name) != value:
                raise SnapshotError(
                    f"TextEnv: the state was saved with {name}={value!r}, this one has {own.get(name)!r}; make it with the same arguments"
                )
        self._games.restore(state["games"])
        self.records = [[record_of(entry) for entry in row] for row in state["records"]]
        self._running, self._states = np.array(state["running"], np.int64), list(state["states"])
        self.scores[:], self.success[:] = state["scores"], state["success"]
        self._turns = self._asked(list(state["lefts"]))
        return self.turns

    def _made_with(self) -> dict[str, Any]:
        """What the arguments must have in common with those of a state."""
        return {
            "game": self.game.name,
            "num_episodes": self.num_episodes,
            "group_size": self.group_size,
            "prompt_mode": self.prompt_mode,
            "style": self.style,
            "belief_style": self.belief_style,
            "strict": self.strict,
            "opened": self.opened,
            "seat": self._games.seat,
        } | {name: getattr(self.preset, name) for name in (*CHANGEABLE, "compact")}

    def close(self) -> None:
        """Release the engine; the env cannot be used afterwards."""
        self._games.close()


def _remembering(decode: Callable[[str], Decoded]) -> Callable[[str], Decoded]:
    """`decode`, which is asked once for each short item."""
    known: dict[str, Decoded] = {}

    def remembered(item: str) -> Decoded:
        found = known.get(item)
        if found is None:
            found = decode(item)
            if len(item) <= LONGEST_KEPT_ITEM and len(known) < MOST_KEPT_ITEMS:
                known[item] = found
        return found

    return remembered
