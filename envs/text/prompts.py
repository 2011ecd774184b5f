"""What a language model reads: the task, one worked example where states are asked for, and the turns."""

from __future__ import annotations

from collections.abc import Sequence

from ludory.envs.game import Game
from ludory.envs.text_codec import TextCodec
from ludory.errors import OptionError

from .drawn import drawn_codec
from .presets import TextPreset
from .reply import PROMPT_MODES, PromptMode

Message = dict[str, str]
"""{"role": "system", "user" or "assistant", "content": the text}."""

_COMPACT_MODES = {"base": "BASE", "world_model": "WM"}
_FORMS = {
    "base": "<think>your thoughts</think><answer>{answer}</answer>",
    "world_model": (
        "<think><observation>the state</observation>your thoughts"
        "<prediction>the state after your actions</prediction></think><answer>{answer}</answer>"
    ),
    "no_think": "<answer>{answer}</answer>",
}


class TextPrompts:
    """Texts of one task. Everything that does not depend on the state is put together once.

    Args:
        game: has a codec.
        preset: budgets, separator, system message.
        mode: the prompt mode.
        style: how states are written.
        belief_style: how the states of the worked example are written.

    Raises:
        OptionError: unknown mode or style, or the game has no codec.
    """

    def __init__(self, game: Game, preset: TextPreset, mode: PromptMode, style: str, belief_style: str) -> None:
        if mode not in PROMPT_MODES:
            raise OptionError(f"prompt_mode={mode!r}: must be one of {', '.join(PROMPT_MODES)}")
        if preset.compact and mode not in _COMPACT_MODES:
            raise OptionError(f"prompt_mode={mode!r}: preset 'compact' has {' and '.join(_COMPACT_MODES)}")
        self.preset, self.style, self.belief_style = preset, style, belief_style
        self.system: list[Message] = [{"role": "system", "content": preset.system}] if preset.system else []
        lefts = range(preset.actions_per_episode + 1)
        if preset.compact:
            self.intro = ""
            self._before = [f"{_COMPACT_MODES[mode]} {left} <state> " for left in lefts]
            self._after = [""] * len(lefts)
        else:
            self.intro = _introduction(codec_of(game), preset, mode, belief_style)
            self._before = [f"Turn {turn}:\nState:\n" for turn in range(preset.turns + 1)]
            self._after = [_request(preset, mode, left) for left in lefts]

    def turn(self, turn: int, state: str, actions_left: int) -> str:
        """The text of turn number `turn`, from 1."""
        before = self._before[actions_left if self.preset.compact else turn]
        return f"{before}{state}{self._after[actions_left]}"

    def outcome(self, reward: float, illegal: str) -> str:
        """What stands before a later turn: the last reward, and the name of the action that was not legal, if there was one."""
        if self.preset.compact:
            return ""
        refused = f"Not legal here: {illegal}. It was not executed, nor what followed.\n" if illegal else ""
        return f"Reward: {reward + 0.0:g}\n{refused}\n"

    def end(self, reward: float, illegal: str, state: str) -> str:
        """The text of an episode's end."""
        return state if self.preset.compact else f"{self.outcome(reward, illegal)}State:\n{state}"


def codec_of(game: Game) -> TextCodec:
    """The game's codec; for a game without one, that of its text pictures.

    Raises:
        OptionError: it has neither.
    """
    codec = game.language or drawn_codec(game)
    if codec is None:
        raise OptionError(
            f"{game.name} has no texts for language models (Game.language, or Look.text and heads); "
            "choose a game that has, such as Sokoban-v0"
        )
    return codec


def checked_style(game: Game, style: str | None, what: str = "style") -> str:
    """`style`, or the game's first one; "": the game has one style only.

    Raises:
        OptionError: the game has no such style.
    """
    styles = codec_of(game).styles
    if not style:
        return next(iter(styles), "")
    if style not in styles:
        raise OptionError(
            f"{what}={style!r}: {game.name} writes {', '.join(styles) or 'one style only, without a name'}"
        )
    return style


def _introduction(codec: TextCodec, preset: TextPreset, mode: PromptMode, belief_style: str) -> str:
    parts = [codec.instruction]
    if codec.symbols:
        parts.append("Symbols: " + ", ".join(f"{symbol} {meaning}" for symbol, meaning in codec.symbols.items()) + ".")
    if codec.action_names:
        parts.append(f"Actions: {', '.join(codec.action_names)}.")
    parts.append(
        f"You have {preset.turns} turns and {preset.actions_per_episode} actions in all, at most {preset.actions_per_turn} a turn."
    )
    if mode == "world_model" and codec.example is not None:
        example = codec.example(belief_style)
        answer = _joined(preset, example.actions)
        parts.append(
            "Example of a reply:\n"
            f"<think><observation>{example.before}</observation>{example.thought}"
            f"<prediction>{example.after}</prediction></think><answer>{answer}</answer>"
        )
    return "\n".join(parts) + "\n\n"


def _joined(preset: TextPreset, actions: Sequence[str]) -> str:
    separator = preset.separator.strip()
    return (f" {separator} " if separator else " ").join(actions)


def _request(preset: TextPreset, mode: PromptMode, actions_left: int) -> str:
    most = min(preset.actions_per_turn, actions_left)
    answer = _joined(preset, ("action", "action")) if most > 1 else "action"
    plural = "" if most == 1 else "s"
    return (
        f"\nActions left: {actions_left}. Reply in this form, with at most {most} action{plural} and {preset.reply_tokens} tokens:\n"
        + _FORMS[mode].format(answer=answer)
    )
