"""`TextEnv` over small games: turns, budgets, penalties, histories, groups, seats, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from games.corridor import LENGTH, corridor
from games.external import tic_tac_toe
from games.nim import nim
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs import TextEnv
from ludory.envs.text.presets import PRESETS, TAGS
from ludory.envs.text_codec import TextCodec, decoder_of_names
from ludory.errors import NotResetError, OptionError, SnapshotError

GAME = corridor()


def answer(*actions: str, think: str = "I go.") -> str:
    return f"<think>{think}</think><answer>{' || '.join(actions)}</answer>"


def at(place: int, **options) -> TextEnv:
    """One episode that starts at `place`, reset."""
    env = TextEnv(GAME, seed=place - 1, **options)
    env.reset()
    return env


def only(env: TextEnv):
    return env.records[0]


def test_a_turn_shows_task_state_and_budget():
    (turn,) = TextEnv(GAME, seed=2).reset()
    assert [message["role"] for message in turn.messages] == ["system", "user"]
    assert turn.messages[-1]["content"] == turn.text
    assert turn.text == (
        "Walk to the goal and avoid the hole.\n"
        "Symbols: P you, G goal, O hole, . floor.\n"
        "Actions: Left, Right, Jump.\n"
        "You have 5 turns and 10 actions in all, at most 5 a turn.\n\n"
        "Turn 1:\nState:\nO..P....G\n"
        "Actions left: 10. Reply in this form, with at most 5 actions and 400 tokens:\n"
        "<think>your thoughts</think><answer>action || action</answer>"
    )


def test_the_next_turn_shows_reward_state_and_what_is_left():
    env = at(3)
    (turn,) = env.step([answer("Right", "Left", "Left")])
    assert turn.text == (
        "Reward: -0.375\n\nTurn 2:\nState:\nO.P.....G\n"
        "Actions left: 7. Reply in this form, with at most 5 actions and 400 tokens:\n"
        "<think>your thoughts</think><answer>action || action</answer>"
    )
    assert (turn.turn, turn.actions_left) == (2, 7)


def test_a_record_has_the_true_states_around_every_action():
    env = at(3)
    env.step([answer("Right", "Right", "Left")])
    (record,) = only(env)
    assert record.state_before == "O..P....G"
    assert record.states_between == ("O...P...G", "O....P..G", "O...P...G")
    assert record.state_after == "O...P...G"
    assert (record.actions, record.rewards) == ((1, 1, 0), (-0.125,) * 3)
    assert (record.reward, record.penalty, record.done, record.success) == (-0.375, 0.0, False, False)


def test_the_goal_ends_the_episode_and_the_rest_of_the_list():
    env = at(6)
    assert env.step([answer("Right", "Right", "Left")]) == []
    (record,) = only(env)
    assert record.actions == (1, 1)
    assert record.state_after == "O.......P"
    assert (record.done, record.success) == (True, True)
    assert env.success.tolist() == [True]
    assert env.scores.tolist() == [0.875]


def test_the_hole_ends_the_episode_without_success():
    env = at(1)
    assert env.step([answer("Left")]) == []
    assert env.success.tolist() == [False]


def test_the_episode_ends_when_its_actions_are_spent():
    env = at(3)
    env.step([answer("Right", "Left", "Right", "Left", "Right")])
    assert env.step([answer("Left", "Right", "Left", "Right", "Left", "Right")]) == []
    assert [len(record.actions) for record in only(env)] == [5, 5]
    assert only(env)[-1].verdict.overflow == 1
    assert not env.success[0]


def test_a_list_longer_than_the_actions_left_is_cut():
    env = at(3, actions_per_episode=3)
    env.step([answer("Right", "Left")])
    env.step([answer("Right", "Right", "Right")])
    assert only(env)[-1].actions == (1,)
    assert only(env)[-1].done


def test_a_reply_that_executes_nothing_costs_a_turn_and_no_action():
    env = at(3)
    for turn in range(1, 5):
        (asked,) = env.step(["I do not know."])
        assert (asked.turn, asked.actions_left) == (turn + 1, 10)
    assert env.step(["I do not know."]) == []
    assert [record.actions for record in only(env)] == [()] * 5
    assert only(env)[-1].state_after == "O..P....G"


def test_penalties_of_the_default_preset_count_in_turns_and_are_shown():
    env = at(3)
    (turn,) = env.step([answer("Right", "Fly")])
    (record,) = only(env)
    assert (record.rewards, record.penalty, record.reward) == ((-0.125,), -0.5, -0.625)
    assert turn.text.startswith("Reward: -0.625\n")
    assert env.scores.tolist() == [-0.625]


@pytest.mark.parametrize("preset", ["ragen", "ragen2"])
def test_penalties_of_ragen_count_in_the_score_alone(preset):
    env = at(3, preset=preset)
    (turn,) = env.step([answer("Right", "Fly")])
    (record,) = only(env)
    assert (record.rewards, record.penalty, record.reward) == ((-0.125,), -0.1, -0.125)
    assert turn.text.startswith("Reward: -0.125\n")
    assert env.scores == pytest.approx([-0.225])


@pytest.mark.parametrize(
    ("preset", "turns", "per_turn", "per_episode", "penalty", "where", "history"),
    [
        ("default", 5, 5, 10, 0.5, "turn", "full"),
        ("ragen", 5, 5, 10, 0.1, "episode", "full"),
        ("ragen2", 5, 2, 10, 0.1, "episode", 5),
        ("compact", 5, 5, 10, 0.5, "turn", "none"),
    ],
)
def test_presets_are_those_of_the_table(preset, turns, per_turn, per_episode, penalty, where, history):
    chosen = PRESETS[preset]
    assert (chosen.turns, chosen.actions_per_turn, chosen.actions_per_episode) == (turns, per_turn, per_episode)
    assert (chosen.penalty, chosen.penalty_at, chosen.history) == (penalty, where, history)


def test_the_default_penalty_is_never_less_than_a_turn_of_useless_moves():
    assert TextEnv(GAME, actions_per_turn=8).preset.penalty == pytest.approx(0.8)
    assert TextEnv(GAME, format_penalty=0.0).preset.penalty == 0


def test_strict_executes_only_replies_that_are_in_order():
    env = at(3, strict=True)
    env.step([answer("Right", "Fly")])
    assert only(env)[0].actions == ()
    assert only(env)[0].verdict.form == "unknown_action"


def test_a_thought_may_be_opened_by_the_prompt():
    env = at(3, opened=True)
    env.step(["I go.</think><answer>Right</answer>"])
    assert only(env)[0].verdict.form == "ok"


def test_an_action_that_is_not_legal_ends_the_turn():
    env = at(3)
    (turn,) = env.step([answer("Right", "Jump", "Right")])
    (record,) = only(env)
    assert (record.actions, record.illegal, record.penalty) == ((1,), "Jump", -0.5)
    assert turn.text.startswith("Reward: -0.625\nNot legal here: Jump.")


def test_an_illegal_action_of_one_row_leaves_the_others_alone():
    env = TextEnv(GAME, 3, seed=3)  # rows start at 4, 5, 6
    env.reset()
    env.step([answer("Jump"), answer("Right"), answer("Right", "Right")])
    assert [records[0].illegal for records in env.records] == ["Jump", "", ""]
    assert [records[0].actions for records in env.records] == [(), (1,), (1, 1)]
    assert env.success.tolist() == [False, False, True]


def test_rows_that_end_drop_out_and_the_order_stays():
    env = TextEnv(GAME, 3, seed=4)  # 5, 6, 7
    env.reset()
    turns = env.step([answer("Left"), answer("Left"), answer("Right")])
    assert [turn.row for turn in turns] == [0, 1]
    turns = env.step([answer("Right", "Right", "Right", "Right"), answer("Left")])
    assert [turn.row for turn in turns] == [1]
    assert env.running.tolist() == [1]
    assert env.records[1][-1].state_before == "O....P..G"


LISTS = st.lists(st.sampled_from(["Left", "Right", "Jump", "Fly"]), max_size=6)


@settings(max_examples=40)
@given(st.integers(0, 6), st.lists(LISTS, min_size=5, max_size=5), st.sampled_from(["default", "ragen"]))
def test_with_full_history_a_conversation_is_a_beginning_of_the_next(seed, lists, preset):
    env = TextEnv(GAME, 1, seed=seed, preset=preset)
    (turn,) = env.reset()
    for actions in lists:
        reply = answer(*actions)
        following = env.step([reply])
        if not following:
            break
        assert following[0].messages == [
            *turn.messages,
            {"role": "assistant", "content": reply},
            following[0].messages[-1],
        ]
        assert "".join(m["content"] for m in following[0].messages).startswith(
            "".join(m["content"] for m in turn.messages)
        )
        assert following[0].messages == [*env._conversation(only(env), 99), following[0].messages[-1]]
        (turn,) = following


def test_without_history_every_turn_stands_alone():
    env = at(3, history="none")
    (turn,) = env.step([answer("Right")])
    assert [message["role"] for message in turn.messages] == ["system", "user"]
    assert turn.text.startswith("Walk to the goal")
    assert "Turn 2:\nState:\nO...P" in turn.text
    assert "Reward" not in turn.text


def test_a_window_shows_the_last_turns_and_the_task():
    env = at(3, history=2)
    for _ in range(3):
        (turn,) = env.step([answer("Right", "Left")])
    assert [message["role"] for message in turn.messages] == ["system", "user", "assistant", "user"]
    first, last = turn.messages[1]["content"], turn.messages[3]["content"]
    assert first.startswith("Walk to the goal")
    assert "\n\nTurn 3:\n" in first
    assert "Reward" not in first
    assert last.startswith("Reward: -0.25\n\nTurn 4:\n")


def test_a_window_of_all_turns_is_the_full_history():
    full, window = at(3), at(3, history=5)
    for _ in range(4):
        replies = [answer("Right", "Left")]
        assert full.step(replies) == window.step(replies)


def test_world_model_prompts_have_an_example_in_the_style_of_beliefs():
    env = TextEnv(GAME, seed=0, prompt_mode="world_model", belief_style="place")
    (turn,) = env.reset()
    assert (
        "<think><observation>P 6</observation>The goal is two steps to the right.<prediction>P 8</prediction></think>"
        "<answer>Right || Right</answer>"
    ) in turn.text
    env.step([answer("Right")])
    assert only(env)[0].state_after == "P 2"
    assert only(env)[0].verdict.form == "bad_structure"


def test_compact_prompts_are_single_words():
    env = at(3, preset="compact")
    assert env.observation == "BASE 10 <state> O . . P . . . . G P 3"
    (turn,) = env.step(["<think> </think> <answer> Right Right </answer>"])
    assert turn.text == "BASE 8 <state> O . . . . P . . G P 5"
    assert turn.messages == [{"role": "user", "content": turn.text}]
    assert only(env)[0].state_after == "P 5"
    assert at(3, preset="compact", prompt_mode="world_model").observation.startswith("WM 10 <state> ")


def test_members_of_a_group_share_their_room_and_not_their_chance():
    env = TextEnv(GAME, 12, group_size=6, seed=1)
    turns = env.reset()
    assert env.group.tolist() == [0] * 6 + [1] * 6
    assert len({turn.text for turn in turns[:6]}) == len({turn.text for turn in turns[6:]}) == 1
    assert env.room_hashes.tolist() == [1095] * 6 + [1003] * 6
    assert env.rooms["room"].tolist() == [2] * 6 + [3] * 6
    env.step([answer("Jump")] * 12)
    assert len({records[0].state_after for records in env.records[:6]}) > 1


def test_groups_of_games_without_rooms_are_copies():
    env = TextEnv(_nim(), 6, group_size=3, seed=5, seat=1)
    turns = env.reset()
    assert [len({turn.text for turn in turns[k : k + 3]}) for k in (0, 3)] == [1, 1]
    assert turns[0].text != turns[3].text
    assert env.room_hashes.tolist() == [0] * 6


def test_rooms_advance_with_every_reset_and_repeat_with_the_seed():
    env = TextEnv(GAME, 2, seed=0)
    places = [[turn.text for turn in env.reset()] for _ in range(2)]
    assert places[0] != places[1]
    assert [turn.text for turn in env.reset(seed=0)] == places[0]
    assert [turn.text for turn in env.reset()] == places[1]
    assert [turn.text for turn in TextEnv(GAME, 2, seed=2).reset()] == places[1]


def test_chance_repeats_with_the_seed():
    def states(env, seed):
        env.reset(seed)
        env.step([answer("Jump", "Left")] * 8)
        return [records[0].states_between for records in env.records]

    env = TextEnv(GAME, 8, seed=3)
    first = states(env, 7)
    assert states(env, 7) == first
    assert states(TextEnv(GAME, 8, seed=7), None) == first


@pytest.mark.parametrize(
    ("game", "actions"),
    [
        ("FrozenLakeRagen2-v0", ("Left", "Down", "Right", "Up")),
        ("TicTacToe-v0", tuple(f"{column}{row}" for column in "abc" for row in "123")),
    ],
)
def test_parts_of_a_batch_are_the_batch(game, actions):
    """Rooms, chance and the moves of a random opponent, also after a second reset."""

    def played(episodes: int, first_group: int) -> list[list[str]]:
        env = TextEnv(game, episodes, group_size=2, seed=9, first_group=first_group)
        found: list[list[str]] = [[] for _ in range(episodes)]
        for seed in (4, 11):
            turns = env.reset(seed)
            while turns:
                for turn in turns:
                    found[turn.row].append(turn.text)
                rows = [(seed, 2 * first_group + turn.row, turn.turn) for turn in turns]
                turns = env.step([answer(actions[np.random.default_rng(row).integers(len(actions))]) for row in rows])
        env.close()
        return found

    whole = played(10, 0)
    assert played(4, 0) + played(6, 2) == whole
    assert played(6, 0) != whole[4:]


def test_a_split_has_its_own_rooms():
    rooms = {split: {r for s in range(9) for r in _rooms(split, s)} for split in ("train", "valid", "test")}
    assert rooms == {"train": {3, 4, 5, 6, 7}, "valid": {1}, "test": {2}}


def _rooms(split: str, seed: int):
    env = TextEnv(GAME, 4, seed=seed, split=split)
    env.reset()
    return env.rooms["room"].tolist()


def test_seeds_of_ragen():
    train, valid = TextEnv(GAME, 2, seeds="ragen"), TextEnv(GAME, 2, seeds="ragen", split="valid")
    for first in (10000, 10002):
        train.reset()
        assert train.rooms["room"].tolist() == [1 + seed % (LENGTH - 2) for seed in (first, first + 1)]
    for _ in range(2):
        valid.reset()
        assert valid.rooms["room"].tolist() == [1 + seed % (LENGTH - 2) for seed in (123, 124)]


def _nim():
    def write(state, rows, seat):
        return [f"{' '.join(str(int(heap)) for heap in state.heaps[row])} (seat {seat})" for row in rows]

    game = nim()
    codec = TextCodec(
        "Take the last stick.", lambda s, i, seat: write(s, [i], seat)[0], decoder_of_names(game.look.action_name, 6)
    )
    return replace(game, language=codec)


def test_the_model_sits_at_its_seat_and_opponents_move_in_between():
    env = TextEnv(_nim(), 20, seed=1, seat=1)
    turns = env.reset()
    assert all("(seat 1)" in turn.text for turn in turns)
    while turns:
        turns = env.step([answer(*(f"take 1 from heap {heap}" for heap in (1, 2, 3)))] * len(turns))
    assert 0 < env.success.sum() < 20
    assert (env.success == (np.array([sum(sum(r.rewards) for r in row) for row in env.records]) > 0)).all()


def test_a_model_may_play_every_seat_of_a_cooperative_game():
    env = TextEnv("HanabiTiny2P-v0", 6, group_size=3, seed=1, seat="all")
    turns = env.reset()
    assert len({turn.text for turn in turns}) == 2
    seats = []
    while turns:
        seats.append(["you are seat 0" in turn.text for turn in turns if turn.row == 0])
        turns = env.step([answer("play 1" if turn.turn % 2 else "discard 1") for turn in turns])
    assert [seat for turn in seats for seat in turn][:2] == [True, False]
    assert all(records[-1].done for records in env.records)
    assert (env.preset.turns, env.preset.actions_per_turn) == (env.game.facts.longest_game, 1)


def test_games_whose_rules_run_elsewhere_are_played_too():
    env = TextEnv(tic_tac_toe(), 4, seed=2)
    turns = env.reset()
    while turns:
        turns = env.step([answer("square 4", "square 0", "square 8", "square 2", "square 6")] * len(turns))
    assert env.success.dtype == bool
    assert all(records[-1].done for records in env.records)


def test_one_episode_is_stepped_like_an_environment_of_gymnasium():
    env = at(6)
    assert env.observation.endswith("</answer>")
    text, reward, terminated, truncated, info = env.step(answer("Right"))
    assert text == env.observation
    assert (reward, terminated, truncated, info["success"]) == (-0.125, False, False, False)
    text, reward, terminated, truncated, info = env.step(answer("Right"))
    assert text == "Reward: 1\n\nState:\nO.......P"
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert env.observation == ""


def test_the_end_of_a_budget_truncates():
    env = at(3, turns=1)
    _, _, terminated, truncated, info = env.step(answer("Right"))
    assert (terminated, truncated, info["success"]) == (False, True, False)


@pytest.mark.parametrize("history", ["full", "none", 2])
def test_a_saved_env_continues_as_if_it_had_not_stopped(history):
    def made():
        return TextEnv(GAME, 6, group_size=2, seed=4, history=history)

    def played(env, turns):
        while turns:
            turns = env.step([answer("Jump", "Left", "Fly" if turn.row % 2 else "Right") for turn in turns])
        return env.records, env.scores.tolist(), env.success.tolist(), env.reset()[0].text

    env = made()
    env.reset()
    turns = env.step([answer("Jump", "Left")] * 6)
    saved = env.state_dict()
    saved["records"] = json.loads(json.dumps(saved["records"]))
    again = made()
    restored = again.load_state_dict(saved)
    assert restored == turns
    assert played(again, restored) == played(env, turns)


def test_a_state_of_other_arguments_is_refused():
    env = at(3)
    with pytest.raises(SnapshotError, match="prompt_mode='base', this one has 'no_think'"):
        at(3, prompt_mode="no_think").load_state_dict(env.state_dict())
    with pytest.raises(SnapshotError, match="format 7"):
        env.load_state_dict({"format": 7})


def test_replies_that_do_not_fit_are_named_with_row_and_turn():
    env = TextEnv(GAME, 3, seed=4)
    with pytest.raises(NotResetError, match=r"call reset\(\) first"):
        env.step(["x"] * 3)
    env.reset()
    env.step([answer("Left"), answer("Left"), answer("Right")])
    with pytest.raises(OptionError, match=r"3 replies for 2 running rows; .* row 0 \(turn 2\), row 1 \(turn 2\)"):
        env.step(["x"] * 3)
    with pytest.raises(OptionError, match="the reply of row 1, turn 2 is a list"):
        env.step(["x", ["Up"]])
    with pytest.raises(OptionError, match="one string for 3 episodes"):
        env.step("x")
    for _ in range(4):
        env.step(["x"] * 2)
    with pytest.raises(NotResetError, match=r"all 3 episodes have ended \(row 0 in turn 5\)"):
        env.step(["x"] * 2)
    assert env.reset()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"preset": "spa"}, "must be one of default, ragen, ragen2, compact"),
        ({"style": "grid"}, "Corridor writes line, place, compact, places"),
        ({"belief_style": "grid"}, "belief_style='grid'"),
        ({"prompt_mode": "wm"}, "must be one of base, world_model, no_think"),
        ({"preset": "compact", "prompt_mode": "no_think"}, "'compact' has base and world_model"),
        ({"num_episodes": 5, "group_size": 2}, "group_size=2: must divide num_episodes=5"),
        ({"num_episodes": 0}, "num_episodes=0"),
        ({"seed": -1}, "seed"),
        ({"history": 0}, "must be 'full', 'none' or a number of turns"),
        ({"turns": 0}, "turns=0: must be a whole number, at least 1"),
        ({"format_penalty": -0.1}, "give its size"),
        ({"penalty_at": "end"}, "must be 'turn' or 'episode'"),
        ({"split": "dev"}, "train, valid, test"),
        ({"seeds": "spa"}, "must be None or 'ragen'"),
        ({"seeds": "ragen", "split": "test"}, "'train' and 'valid' only"),
    ],
)
def test_arguments_that_are_not_allowed_are_named(options, said):
    with pytest.raises(OptionError, match=said):
        TextEnv(GAME, **options)


def test_what_a_game_lacks_is_named():
    with pytest.raises(OptionError, match="Nim has no rooms: leave out split and seeds"):
        TextEnv(_nim(), split="train")
    with pytest.raises(OptionError, match="be saved while they run"):
        TextEnv(tic_tac_toe(), 4, group_size=2)
    env = TextEnv(tic_tac_toe(), 1)
    env.reset()
    with pytest.raises(OptionError, match=r"TextEnv\.state_dict needs games that can be saved"):
        env.state_dict()


def test_an_unknown_tag_is_named_with_all_that_there_are():
    with pytest.raises(OptionError, match=f"tag 'Sokoban': must be one of {', '.join(TAGS)}"):
        TextEnv.from_tag("Sokoban")
