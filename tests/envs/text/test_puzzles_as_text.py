"""The three puzzles as conversations: RAGEN's recorded episodes as replies, its task names, and prompts of every preset."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludory.envs import Analysis, TextEnv, make_game
from ludory.envs.text.presets import TAGS

pytestmark = pytest.mark.plain
FILE = Path(__file__).parents[2] / "golden" / "text_games" / "golden_ragen_dev.jsonl.gz"
EPISODES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
MOVES = ("Up", "Down", "Left", "Right")


class RecordedRooms:
    """The rooms of recorded episodes of Sokoban, by number."""

    def __init__(self, episodes) -> None:
        self.fixed = np.array([episode["room_fixed"] for episode in episodes], np.uint8)
        self.codes = np.array([episode["room_state"] for episode in episodes], np.uint8)

    def draw(self, seeds, split=None):
        return {"fixed": self.fixed[seeds], "codes": self.codes[seeds]}

    def hashes(self, options):
        return np.arange(len(options["fixed"]), dtype=np.uint64)


@pytest.mark.parametrize("style", ["grid", "coord", "grid_coord"])
def test_recorded_episodes_of_sokoban_replay_as_replies(style):
    episodes = [e for e in EPISODES if e["env"] == "ragen-sokoban" and e["fmt"] == style and len(e["room_fixed"]) == 6]
    assert len(episodes) >= 20
    game = replace(make_game("Sokoban-v0"), analysis=Analysis(rooms=RecordedRooms(episodes)))
    env = TextEnv(game, len(episodes), seed=0, style=style, turns=1, actions_per_turn=500, actions_per_episode=500)
    turns = env.reset()
    replies = [" || ".join(MOVES[step[0] - 1] for step in episode["steps"]) for episode in episodes]
    env.step([f"<think></think><answer>{reply}</answer>" for reply in replies])
    for episode, turn, (record,) in zip(episodes, turns, env.records, strict=True):
        assert record.state_before == episode["obs0"]
        assert episode["obs0"] in turn.text
        assert list(record.states_between) == [step[1] for step in episode["steps"]]
        assert record.rewards == pytest.approx([step[2] for step in episode["steps"]])
        assert record.success == episode["steps"][-1][4]


@pytest.mark.parametrize("tag", TAGS)
def test_every_task_of_ragen_has_a_first_turn(tag):
    env = TextEnv.from_tag(tag, 2, group_size=2, seed=1)
    texts = [turn.text for turn in env.reset()]
    assert texts[0] == texts[1]
    assert "Turn 1:\nState:\n" in texts[0]
    assert env.preset_name == "ragen"


def test_tasks_of_ragen_have_their_vocabulary():
    first = {tag: TextEnv.from_tag(tag, seed=1).reset()[0].text for tag in TAGS}
    assert (
        "Symbols: W wall, . floor, G target, C box on target, B box, A player, @ player on target."
        in (first["SokobanDifferentGridVocab"])
    )
    assert "Actions: Left, Right, Up, Down." in first["SokobanDifferentActionVocab"]
    assert "Actions: Up, Down, Left, Right." in first["SimpleSokoban"]
    assert "Board size: 6 rows x 6 cols (zero-indexed)." in first["CoordSokoban"]


def test_ragen_2_has_another_lake_than_the_first_version():
    assert [TextEnv.from_tag("FrozenLake", preset=preset).game.id for preset in ("ragen", "ragen2")] == [
        "FrozenLakeRagen1-v0",
        "FrozenLakeRagen2-v0",
    ]


@pytest.mark.parametrize(
    ("preset", "rewards", "budget"), [("default", "default", 25), ("ragen", "spa", 50), ("ragen2", "ragen2", 10)]
)
def test_sudoku_has_no_mask_and_the_rewards_and_budget_of_its_preset(preset, rewards, budget):
    env = TextEnv("Sudoku4-v0", preset=preset)
    assert env.game.options == {"mask": "all", "rewards": rewards}
    assert env.preset.actions_per_episode == budget
    assert TextEnv("Sudoku4-v0", preset=preset, mask="legal", actions_per_episode=7).game.options["mask"] == "legal"


def test_placements_of_sudoku_are_counted_from_one_in_three_forms():
    env = TextEnv("Sudoku4-v0", seed=1)
    env.reset()
    env.step(["<think></think><answer>1,1,1 || 2 2 2 || place 3 at row 1 col 2 || 5,1,1</answer>"])
    (record,) = env.records[0]
    assert (record.actions, record.verdict.form) == ((0, 21, 6), "unknown_action")


@pytest.mark.parametrize("id", ["Sokoban-v0", "SokobanLarge-v0", "FrozenLakeFirm-v0"])
@pytest.mark.parametrize("mode", ["base", "world_model"])
def test_compact_prompts_are_words_with_single_spaces(id, mode):
    env = TextEnv(id, 4, seed=1, preset="compact", prompt_mode=mode)
    for turn in env.reset():
        mark, left, state, *words = turn.text.split(" ")
        assert (mark, left, state) == ({"base": "BASE", "world_model": "WM"}[mode], "10", "<state>")
        assert all(len(word) <= 2 for word in words)
        assert turn.text.endswith(env._states[turn.row])
        assert " ".join(words).split("P ")[-1] in env._states[turn.row]


def test_states_of_records_are_read_back():
    env = TextEnv("Sokoban-v0", 16, seed=5, preset="compact")
    env.reset()
    draw = np.random.default_rng(1)
    env.step([f"<think> </think> <answer> {' '.join(draw.choice(MOVES, 5))} </answer>" for _ in range(16)])
    parse = env.game.language.parsers["places"]
    for row in env.running:
        record, state = env.records[row][-1], env._games.engine.state
        player = int(state.player[row])
        assert parse(record.state_after)["player"].tolist() == list(divmod(player, 6))
