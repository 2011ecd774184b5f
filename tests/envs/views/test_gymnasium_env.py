"""The Gymnasium view of one game."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from games import nim as games
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.views.gymnasium_env import GameEnv, make_env
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.errors import IllegalActionError, NotResetError, OptionError, UnknownIdError

pytestmark = pytest.mark.plain

TINY = "HanabiTiny2P-v0"


@pytest.fixture(scope="module")
def tiny() -> Game:
    return make_game(TINY)


@pytest.fixture
def env(tiny: Game) -> GameEnv:
    return GameEnv(tiny)


class FirstLegal:
    """A player that takes the first legal value of each head."""

    def initial_memory(self, rows: int) -> None:
        return None

    def choose(self, engine: Any, seat: int, rows: Any, memory: Any) -> Any:
        masks = engine.legal()[rows]
        masks = masks[:, seat] if masks.ndim == 3 else masks
        parts = np.split(masks, np.cumsum(engine.facts.head_sizes)[:-1], 1)
        actions = np.stack([part.argmax(1) for part in parts], 1)
        return actions[:, 0] if len(parts) == 1 else actions

    def notice(self, engine: Any, seat: int, rows: Any, actions: Any, memory: Any) -> None:
        pass


class PlaysOldest(FirstLegal):
    """A Hanabi player that always plays its oldest card, and keeps count of the moves it was told of."""

    def __init__(self) -> None:
        self.noticed = 0

    def choose(self, engine: Any, seat: int, rows: Any, memory: Any) -> Any:
        return np.full(len(rows), engine.state.hands.shape[2])

    def notice(self, engine: Any, seat: int, rows: Any, actions: Any, memory: Any) -> None:
        self.noticed += len(rows)


def action_of(env: GameEnv, info: dict[str, Any], turn: int) -> Any:
    chosen = games.scripted(info["action_mask"], turn, env.facts.head_sizes)
    return chosen if len(env.facts.heads) > 1 else int(chosen[0])


def episode(env: GameEnv, **reset: Any) -> Iterator[tuple[Any, Any, float, bool, bool, dict[str, Any]]]:
    """(action, observation, reward, terminated, truncated, info) of every step of one scripted game."""
    observation, info = env.reset(**reset)
    yield None, observation, 0.0, False, False, info
    terminated = truncated = False
    turn = 0
    while not (terminated or truncated):
        action = action_of(env, info, turn)
        observation, reward, terminated, truncated, info = env.step(action)
        yield action, observation, reward, terminated, truncated, info
        turn += 1


def test_a_seed_gives_the_games_of_the_engine_one_after_another(env: GameEnv, tiny: Game) -> None:
    engine = KernelEngine(tiny, num_games=1, seed=11)
    for number in range(3):
        engine.reset()
        for action, observation, reward, terminated, truncated, info in episode(
            env, **({"seed": 11} if number == 0 else {})
        ):
            if action is not None:
                engine.step([action])
                assert reward == engine.rewards[0, 0]
            assert (observation == engine.observe()[0]).all()
            assert (info["action_mask"] == engine.legal()[0]).all()
            assert info["player"] == engine.to_move[0]
            assert (terminated, truncated) == (engine.terminated[0], engine.truncated[0])


def test_without_a_seed_the_first_game_comes_from_the_environments_own_generator(tiny: Game) -> None:
    first, second = GameEnv(tiny), GameEnv(tiny)
    first.np_random, second.np_random = np.random.default_rng(5), np.random.default_rng(5)
    assert [step[1].tolist() for step in episode(first)] == [step[1].tolist() for step in episode(second)]


def test_info_holds_what_the_specification_names(env: GameEnv) -> None:
    *_, last = episode(env, seed=2)
    named = {
        "action_mask",
        "player",
        "last_action",
        "score",
        "stacks",
        "fireworks",
        "lives",
        "information_tokens",
        "deck_size",
        "turn",
        "end",
        "returns",
        "illegal_action",
    }
    assert set(env.reset()[1]) == named
    assert set(last[5]) == named


def test_the_return_is_the_score_for_every_seat(env: GameEnv) -> None:
    steps = list(episode(env, seed=3))
    assert sum(step[2] for step in steps) == steps[-1][5]["score"]
    assert steps[-1][5]["returns"].tolist() == [steps[-1][5]["score"]] * 2


def test_masks_are_fresh_and_all_true_at_the_end(env: GameEnv) -> None:
    for _, _, _, terminated, _, info in episode(env, seed=4):
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.shape == (8,)
        assert env.action_masks().dtype == bool
        assert (env.action_masks() == mask).all()
        assert not terminated or mask.all()
    mask[:] = 0
    assert env.action_masks().all()


def test_returned_arrays_do_not_change_later(env: GameEnv) -> None:
    kept = [
        (step[1], step[1].copy(), step[5]["action_mask"], step[5]["action_mask"].copy())
        for step in episode(env, seed=5)
    ]
    list(episode(env))
    for observation, copy, mask, mask_copy in kept:
        assert (observation == copy).all()
        assert (mask == mask_copy).all()


def test_an_illegal_action_loses_the_game(env: GameEnv) -> None:
    env.reset(seed=1, options={"deck_prefix": [0, 2, 1, 2], "start_player": 0})
    _, reward, *_, info = env.step(2)  # play the lowest red card
    assert reward == 1
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    _, reward, terminated, truncated, info = env.step(illegal)
    assert (reward, terminated, truncated) == (-1, True, False)
    assert info["returns"].tolist() == [0, 0]
    assert info["illegal_action"]
    assert "seat 1" in env.illegal_words
    assert "legal:" in env.illegal_words
    assert info["player"] == -1
    assert info["action_mask"].all()


@pytest.mark.parametrize("action", [-1, 8, 10**12])
def test_an_action_out_of_range_is_illegal_too(env: GameEnv, action: int) -> None:
    env.reset(seed=1)
    assert env.step(action)[2]


def test_illegal_raise_plays_nothing(tiny: Game) -> None:
    env = GameEnv(tiny, illegal="raise")
    before, info = env.reset(seed=1)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    with pytest.raises(IllegalActionError, match="is not legal; legal: "):
        env.step(illegal)
    after, *_ = env.step(action_of(env, info, 0))
    assert (before != after).any()


@pytest.mark.parametrize("action", [1.5, None, "play 1", [1, 2], np.array([1.0])])
def test_what_is_no_integer_is_refused_whatever_the_policy_on_illegal_actions(env: GameEnv, action: Any) -> None:
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match=r"must be one integer 0\.\.7"):
        env.step(action)


@pytest.mark.parametrize("action", [2, np.int64(2), np.array(2), np.uint8(2), np.array([2]), torch.tensor([2])])
def test_integers_of_any_kind_are_actions(env: GameEnv, action: Any) -> None:
    env.reset(seed=1)
    assert env.step(action)[4]["last_action"] == 2


@pytest.mark.parametrize("action", [np.array([1, 2]), torch.tensor([1, 2]), np.array([[2]]), [2]])
def test_several_integers_are_no_action(env: GameEnv, action: Any) -> None:
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match=r"must be one integer 0\.\.7"):
        env.step(action)


def test_stepping_without_a_running_game_is_an_error(env: GameEnv) -> None:
    with pytest.raises(NotResetError, match=r"env\.reset\(\)"):
        env.step(0)
    list(episode(env, seed=1))
    with pytest.raises(NotResetError, match=r"env\.reset\(\)"):
        env.step(0)


def test_reset_options_go_to_the_game(env: GameEnv) -> None:
    _, info = env.reset(options={"deck_prefix": [0, 3, 1, 2], "start_player": 1})
    assert info["player"] == 1
    assert env.engine.state.hands[0].tolist() == [[0, 3], [1, 2]]
    with pytest.raises(OptionError, match="did you mean 'deck'"):
        env.reset(options={"decks": [0]})


def test_one_policy_plays_every_seat_only_under_a_shared_reward() -> None:
    with pytest.raises(OptionError, match="PettingZoo"):
        GameEnv(games.nim(), seats="all")
    with pytest.raises(OptionError, match="moves at once"):
        GameEnv(games.matching(shared=True), seats="all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seats": 2}, r"seats=2: must be 'all' or a seat 0\.\.1"),
        ({"seats": 0, "others": ["random", "random"]}, "others: 2 players, must be one or 1"),
        ({"seats": 0, "others": [3]}, "must be the name of an agent or an agent"),
        ({"illegal": "ignore"}, "illegal='ignore': must be 'lose'"),
        ({"render_mode": "pixels"}, "render_mode='pixels': Hanabi has None, 'ansi'"),
        ({"hand_sise": 3}, "hand_sise"),
        ({"colors": 3}, "fixes"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_env(TINY, **arguments)


def test_who_names_others_plays_one_seat() -> None:
    assert [make_env(TINY, others=others)._policy_seats.own for others in (None, "random")] == [None, 0]
    with pytest.raises(OptionError, match="seats='all' leaves no seat for others='random'"):
        make_env(TINY, seats="all", others="random")


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownIdError, match="HanabiTiny2P"):
        make_env("HanabiTinny2P-v0")
    with pytest.raises(UnknownIdError, match="hanabi/iggi"):
        make_env(TINY, seats=0, others="hanabi/igg")


@pytest.mark.parametrize("id", ["HanabiTiny2P-v0", "TicTacToe-v0", "FrozenLakeFirm-v0", "Texas42-v0"])
def test_an_unknown_option_is_the_type_error_by_which_torchrl_leaves_frameskip_out(id: str) -> None:
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'") as caught:
            make(id, frameskip=1)
        assert isinstance(caught.value, OptionError)


def test_a_seat_against_players_sees_only_its_own_turns() -> None:
    env = GameEnv(games.nim(players=3), seats=1, others=FirstLegal())
    for *_, terminated, truncated, info in episode(env, seed=6):
        assert info["player"] == (-1 if terminated or truncated else 1)
    assert info["returns"].sum() == 0


def test_rewards_before_the_first_own_move_count_for_the_return(tiny: Game) -> None:
    env = GameEnv(tiny, seats=1, others=PlaysOldest())
    rewards = [step[2] for step in episode(env, seed=1, options={"deck_prefix": [0, 2, 1, 2]})]
    *_, last = episode(env, seed=1, options={"deck_prefix": [0, 2, 1, 2]})
    assert sum(rewards) == last[5]["returns"][1] == last[5]["score"]


def test_players_are_not_told_of_an_illegal_move(tiny: Game) -> None:
    player = PlaysOldest()
    env = GameEnv(tiny, seats=0, others=player, illegal="raise")
    _, info = env.reset(seed=1)
    with pytest.raises(IllegalActionError):
        env.step(int(np.flatnonzero(info["action_mask"] == 0)[0]))
    assert player.noticed == 0


def test_random_opponents_repeat_with_the_seed() -> None:
    env = GameEnv(games.nim(players=3), seats=2)
    games_of = [[step[1].tolist() for step in episode(env, seed=seed)] for seed in (1, 2, 1)]
    assert games_of[0] == games_of[2] != games_of[1]


def test_games_that_end_before_the_own_first_move_are_played_anew() -> None:
    env = GameEnv(games.nim(largest=1), seats=1, others=[FirstLegal()])
    for seed in range(20):  # the first move ends one game in four
        _, info = env.reset(seed=seed)
        assert info["player"] == 1
    with pytest.raises(OptionError, match="over before seat 1 moves"):
        env.reset(options={"heaps": [1, 0, 0]})


def test_a_seat_that_never_moves_is_an_error_and_no_hang() -> None:
    env = GameEnv(games.nim(limit=1), seats=1, others=FirstLegal())
    with pytest.raises(OptionError, match="did not come to move"):
        env.reset(seed=1)


def test_truncation_is_told_apart_from_the_end() -> None:
    env = GameEnv(games.nim(limit=2, largest=4), seats=0, others=FirstLegal())
    env.reset(options={"heaps": [4, 4, 4]})
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0, False, True)
    assert info["returns"].tolist() == [0, 0]


def test_a_simultaneous_game_with_two_heads() -> None:
    env = GameEnv(games.matching(), seats=1, others=FirstLegal())
    assert env.action_space.nvec.tolist() == [3, 2]
    steps = list(episode(env, seed=7))
    assert len(steps) == 1 + 4
    assert sum(step[2] for step in steps) == steps[-1][5]["returns"][1] == -steps[-1][5]["returns"][0]
    for legal in (step[5]["action_mask"] for step in steps[:-1]):
        assert env.action_space.contains(env.action_space.sample(legal))
    env.reset(seed=7)
    env.step([0, 1])
    _, _, terminated, _, info = env.step([0, 1])  # no colour twice in a row
    assert terminated
    assert info["illegal_action"]
    assert "seat 1, head color: action 0 (red) is not legal; legal: 1 (green), 2 (blue)" in env.illegal_words
    env.reset(seed=7)
    with pytest.raises(IllegalActionError, match="2 integers, one per head"):
        env.step([0])


@settings(max_examples=25)
@given(seed=st.integers(0, 2**62), actions=st.lists(st.integers(-2, 8), min_size=1, max_size=60))
def test_whatever_is_played_the_rewards_sum_to_the_returns(seed: int, actions: list[int]) -> None:
    env = GameEnv(games.nim(players=3), seats=1, others=FirstLegal())
    env.reset(seed=seed)
    total = 0.0
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            assert total == info["returns"][1]
            assert not info["illegal_action"] or total == env.facts.min_return
            return


def test_pictures(tiny: Game, capsys: pytest.CaptureFixture[str]) -> None:
    env = GameEnv(tiny, render_mode="ansi")
    with pytest.raises(NotResetError, match=r"env\.reset\(\)"):
        env.render()
    env.reset(seed=1)
    text = env.render()
    assert text == tiny.look.text(env.engine.state, 0, 0)
    env = GameEnv(tiny, render_mode="human")
    env.reset(seed=1)
    assert capsys.readouterr().out == text + "\n"
    env = GameEnv(tiny, render_mode="svg")
    env.reset(seed=1)
    assert "<svg" in env.render()
    assert GameEnv(games.matching()).metadata["render_modes"] == ["rgb_array"]


def test_gymnasium_makes_it_by_id() -> None:
    env = gymnasium.make(TINY, random_start_player=True)
    assert {env.reset(seed=seed)[1]["player"] for seed in range(20)} == {0, 1}
    assert env.action_masks().any()


@pytest.mark.parametrize("others", ["random", "random(seed=3)", "mixture(random, random)"])
def test_a_seed_decides_the_draws_of_other_players_too(others: str) -> None:
    """Alone and in a vector, whatever was played before; another seed gives others."""

    def states(seed: int, played_before: int = 0) -> list[list[float]]:
        env = GameEnv(games.nim(), seats=0, others=others)
        for _ in range(played_before):
            env.reset()
            env.step(int(env.action_masks().argmax()))
        seen = [env.reset(seed=seed)[0]]
        for _ in range(40):
            observation, _, terminated, truncated, _ = env.step(int(env.action_masks().argmax()))
            seen.append(env.reset()[0] if terminated or truncated else observation)
        return np.array(seen).tolist()

    assert states(5) == states(5, played_before=3)
    assert states(5) != states(6)
    vector = GameVectorEnv(games.nim(), 3, seats=0, others=others)
    seen = [vector.reset(seed=5)[0][0]]
    for _ in range(40):
        seen.append(vector.step(vector.action_masks().argmax(1))[0][0])
    assert np.array(seen).tolist() == states(5)
