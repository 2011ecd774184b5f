"""The conventions under which language models play: budgets, penalties and histories by name, and the task names of RAGEN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from ludory.errors import OptionError

History = Literal["full", "none"] | int
"""How much of an episode a turn shows: all of it, nothing but itself, or itself and those before it, so many turns in all."""
PenaltyAt = Literal["turn", "episode"]
STEP_COST = 0.1
"""What a move without effect costs in Sokoban, and a refused placement in Sudoku."""
LEAST_PENALTY = 0.5
MOST_TURNS = 10_000
"""Turn numbers that prompts count to."""


@dataclass(frozen=True, slots=True)
class TextPreset:
    """Conventions of a `TextEnv`. Every field can be given to `TextEnv` by its name."""

    turns: int = 5
    """Turns of an episode."""
    actions_per_turn: int = 5
    """Items of a reply that count."""
    actions_per_episode: int = 10
    """Actions executed in an episode."""
    format_penalty: float | None = None
    """Cost of a turn whose reply is not in order. None: `max(0.5, actions_per_turn * STEP_COST)`, so that breaking the form never pays."""
    penalty_at: PenaltyAt = "turn"
    """turn: the penalty is part of the turn's reward, and shown; episode: it counts in the episode's score only, and is not shown."""
    history: History = "full"
    system: str = "You play a game. Read the state of the game, think, and write which actions to take."
    """The system message; "": there is none."""
    separator: str = "||"
    """Stands between the actions of an answer; " ": white space."""
    reply_tokens: int = 400
    """The length of a reply that prompts ask for. Nothing is cut."""
    compact: bool = False
    """Prompts of single words for models trained from scratch, instead of sentences."""
    by_game: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of `TextEnv` and of the game, by the beginning of the game's id, unless they are given."""

    @property
    def penalty(self) -> float:
        """`format_penalty`, with its default filled in."""
        if self.format_penalty is None:
            return max(LEAST_PENALTY, self.actions_per_turn * STEP_COST)
        return self.format_penalty

    def of_game(self, id: str) -> dict[str, Any]:
        """The options that the game `id` has under this preset, unless they are given."""
        found: dict[str, Any] = {}
        for beginning, options in self.by_game.items():
            found |= options if id.startswith(beginning) else {}
        return found

    def move_by_move(self, longest_game: int) -> TextPreset:
        """This preset with one action a turn until the game ends: the model sees what others did before it moves again."""
        most = min(max(longest_game, 1), MOST_TURNS)
        return replace(self, turns=most, actions_per_turn=1, actions_per_episode=most)

    def changed(self, given: Mapping[str, Any]) -> TextPreset:
        """This preset with the values of `given` that are not None.

        Raises:
            OptionError: a value is not allowed.
        """
        changed = replace(self, **{name: value for name, value in given.items() if value is not None})
        for name in ("turns", "actions_per_turn", "actions_per_episode", "reply_tokens"):
            value = getattr(changed, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise OptionError(f"{name}={value!r}: must be a whole number, at least 1")
        if not changed.penalty >= 0:
            raise OptionError(f"format_penalty={changed.format_penalty!r}: give its size, 0 or more, such as 0.1")
        if changed.penalty_at not in get_args(PenaltyAt):
            raise OptionError(f"penalty_at={changed.penalty_at!r}: must be 'turn' or 'episode'")
        window = changed.history
        if window not in ("full", "none") and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
            raise OptionError(f"history={window!r}: must be 'full', 'none' or a number of turns, at least 1")
        return changed


def _sudoku(rewards: str, actions_per_episode: int) -> dict[str, dict[str, Any]]:
    """Sudoku needs more actions than the other puzzles, and a model is not told which placements are accepted."""
    return {"Sudoku": {"mask": "all", "rewards": rewards, "actions_per_episode": actions_per_episode}}


PRESETS: Mapping[str, TextPreset] = {
    "default": TextPreset(by_game=_sudoku("default", 25)),
    "ragen": TextPreset(format_penalty=0.1, penalty_at="episode", by_game=_sudoku("spa", 50)),
    "ragen2": TextPreset(
        actions_per_turn=2, format_penalty=0.1, penalty_at="episode", history=5, by_game=_sudoku("ragen2", 10)
    ),
    "compact": TextPreset(history="none", system="", separator=" ", compact=True, by_game=_sudoku("default", 25)),
}
"""default: ours. ragen: RAGEN's first version and SPA. ragen2: RAGEN 2. compact: for models that are trained from scratch."""
CHANGEABLE = tuple(entry.name for entry in fields(TextPreset) if entry.name not in ("compact", "by_game"))


def preset_of(name: str) -> TextPreset:
    """The preset `name`.

    Raises:
        OptionError: there is none.
    """
    if name not in PRESETS:
        raise OptionError(f"preset={name!r}: must be one of {', '.join(PRESETS)}")
    return PRESETS[name]


_OTHER_SYMBOLS = {
    "wall": "W",
    "floor": ".",
    "target": "G",
    "box_on_target": "C",
    "box": "B",
    "player": "A",
    "player_on_target": "@",
}
_LAKES = {"ragen2": "FrozenLakeRagen2-v0"}
TAGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SimpleSokoban": ("Sokoban-v0", {}),
    "Sokoban2Boxes": ("Sokoban2Boxes-v0", {}),
    "LargerSokoban": ("SokobanMedium-v0", {}),
    "HarderSokoban": ("SokobanLarge-v0", {}),
    "CoordSokoban": ("Sokoban-v0", {"style": "grid_coord"}),
    "SokobanDifferentGridVocab": ("Sokoban-v0", {"symbols": _OTHER_SYMBOLS}),
    "SokobanDifferentActionVocab": ("Sokoban-v0", {"action_order": ("Left", "Right", "Up", "Down")}),
    "FrozenLake": ("FrozenLakeRagen1-v0", {}),
    "Sudoku": ("Sudoku4-v0", {}),
}
"""RAGEN's names of its tasks: our ids and options."""


def task_of_tag(tag: str, preset: str) -> tuple[str, dict[str, Any]]:
    """Id and options of one of RAGEN's tasks. RAGEN 2 has another lake than its first version.

    Raises:
        OptionError: no task has this name.
    """
    if tag not in TAGS:
        raise OptionError(f"tag {tag!r}: must be one of {', '.join(TAGS)}")
    id, options = TAGS[tag]
    if tag == "FrozenLake":
        id = _LAKES.get(preset, id)
    return id, dict(options)
