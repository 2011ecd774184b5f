"""The Gymnasium vector view."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from games import nim as games
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.views.common import legal_samples
from ludory.envs.views.gymnasium_env import GameEnv
from ludory.envs.views.gymnasium_vector import GameVectorEnv, make_vector_env
from ludory.envs.views.sb3 import to_sb3
from ludory.errors import IllegalActionError, NotResetError, OptionError

MODES = list(AutoresetMode)
N = 5


@pytest.fixture(scope="module")
def tiny() -> Game:
    return make_game("HanabiTiny2P-v0")


def alone(game: Game, seed: int, number: int) -> Iterator[tuple[Any, Any, Any, float, bool]]:
    """(observation, mask, action played on it, its reward, over after it) of game `number` of `seed`, alone, for ever."""
    engine = KernelEngine(game, num_games=1, seed=seed, first_game=number)
    while True:
        engine.reset()
        turn = 0
        while engine.to_move[0] >= 0:
            observation, mask = engine.observe()[0], engine.legal()[0]
            action = games.scripted(mask, turn, game.facts.head_sizes)[0]
            engine.step([action])
            yield observation, mask, action, float(engine.rewards[0, 0]), engine.to_move[0] < 0
            turn += 1


def scripted_actions(env: GameVectorEnv, info: dict[str, Any], turns: Any) -> Any:
    heads = env.facts.head_sizes
    chosen = np.array([games.scripted(mask, int(t), heads) for mask, t in zip(info["action_mask"], turns, strict=True)])
    return chosen if len(heads) > 1 else chosen[:, 0]


@pytest.mark.parametrize("mode", MODES)
def test_each_row_is_the_game_that_the_engine_plays_alone(tiny: Game, mode: AutoresetMode) -> None:
    env = GameVectorEnv(tiny, N, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"] is mode
    references = [alone(tiny, 9, row) for row in range(N)]
    observations, info = env.reset(seed=9)
    turns, over = np.zeros(N, int), np.zeros(N, bool)
    ends = 0
    for _ in range(60):
        if mode is AutoresetMode.DISABLED and over.any():
            observations, info = env.reset(options={"reset_mask": over})
            over = np.zeros(N, bool)
        actions = scripted_actions(env, info, turns)
        before, masks = observations, info["action_mask"]
        observations, rewards, terminated, truncated, info = env.step(actions)
        for row in range(N):
            if over[row]:  # NEXT_STEP: this step only started the next game
                assert masks[row].all()
                assert (rewards[row], terminated[row]) == (0, False)
                turns[row] = 0
                continue
            observation, mask, action, reward, ended = next(references[row])
            assert (before[row] == observation).all()
            assert (masks[row] == mask).all()
            assert (actions[row], rewards[row], terminated[row], truncated[row]) == (action, reward, ended, False)
            turns[row] = 0 if ended and mode is not AutoresetMode.NEXT_STEP else turns[row] + 1
            ends += ended
        over = terminated.copy() if mode is not AutoresetMode.SAME_STEP else over
    assert ends > 2 * N


def test_same_step_keeps_the_last_observation_and_info(tiny: Game) -> None:
    same, later = (
        GameVectorEnv(tiny, N, autoreset_mode=mode) for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)
    )
    _, info = same.reset(seed=3)
    later.reset(seed=3)
    for turn in range(200):
        actions = scripted_actions(same, info, np.full(N, turn))
        observations, _, terminated, _, info = same.step(actions)
        kept, _, _, _, kept_info = later.step(actions)
        if terminated.any():
            break
    rows = np.flatnonzero(terminated)
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == terminated.tolist()
    assert [final is None for final in info["final_obs"]] == (~terminated).tolist()
    for row in rows:
        assert (info["final_obs"][row] == kept[row]).all()
        assert (observations[row] != kept[row]).any()
    final = info["final_info"]
    assert final["action_mask"][rows].all()
    assert (final["player"][rows] == -1).all()
    assert (final["returns"] == kept_info["returns"]).all()
    assert (kept_info["_returns"] == terminated).all()
    assert not final["illegal_action"].any()
    assert (info["player"] >= 0).all()
    assert not info["_returns"].any()
    assert not info["returns"].any()
    assert set(info) == {
        f"{prefix}{key}"
        for prefix in ("", "_")
        for key in ("action_mask", "player", "returns", "illegal_action", "final_obs", "final_info")
    }


def test_gymnasiums_wrappers_work_on_it(tiny: Game) -> None:
    env = DictInfoToList(RecordEpisodeStatistics(GameVectorEnv(tiny, N)))
    _, infos = env.reset(seed=1)
    ended = 0
    for turn in range(60):
        actions = np.array([games.scripted(info["action_mask"], turn, (8,))[0] for info in infos])
        *_, infos = env.step(actions)
        for info in infos:
            if "final_info" in info:
                ended += 1
                assert info["episode"]["r"] == info["final_info"]["returns"][0]
    assert ended


@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_loses_its_row_only(mode: AutoresetMode) -> None:
    env = GameVectorEnv(games.nim(), 3, autoreset_mode=mode, seats=0)
    env.reset(seed=1, options={"heaps": [[2, 2, 1], [1, 2, 1], [2, 1, 1]]})
    _, rewards, terminated, truncated, info = env.step([0, 1, 0])  # one heap of row 1 holds too little
    assert terminated.tolist() == [False, True, False]
    assert not truncated.any()
    assert rewards.tolist() == [0, -1, 0]
    ending = info["final_info"] if mode is AutoresetMode.SAME_STEP else info
    assert ending["illegal_action"].tolist() == terminated.tolist()
    assert ending["returns"].tolist() == [[0, 0], [-1, 0], [0, 0]]
    assert ending["action_mask"][1].all()
    if mode is AutoresetMode.DISABLED:
        _, info = env.reset(options={"reset_mask": terminated})
    elif mode is AutoresetMode.NEXT_STEP:
        assert env.action_masks()[1].all()
        before = env.engine.state.heaps.copy()
        *_, info = env.step(scripted_actions(env, info, [0, 0, 0]))
        assert (env.engine.state.heaps != before)[[0, 2]].any(1).all()
    assert env.engine.state.random[:, 1].tolist() == [1, 2, 1]  # only row 1 plays its second game
    assert not info["action_mask"][1].all() or (env.engine.state.heaps[1] >= 2).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_step_in_which_every_row_is_illegal(tiny: Game, mode: AutoresetMode) -> None:
    env = GameVectorEnv(tiny, 3, autoreset_mode=mode)
    env.reset(seed=1)
    _, rewards, terminated, *_ = env.step([-1, 8, 99])
    assert terminated.all()
    assert rewards.tolist() == [0, 0, 0]
    if mode is AutoresetMode.NEXT_STEP:
        _, _, terminated, _, info = env.step([-1, 8, 99])  # ignored: all games are over
        assert not terminated.any()
        assert not info["action_mask"].all(1).any()


def test_illegal_raise_plays_nothing(tiny: Game) -> None:
    env = GameVectorEnv(tiny, 3, illegal="raise")
    _, info = env.reset(seed=1)
    actions = scripted_actions(env, info, [0, 0, 0])
    with pytest.raises(IllegalActionError, match="game 2, seat 0: action 9"):
        env.step([*actions[:2], 9])
    assert env.engine.state.turn.tolist() == [0, 0, 0]


@pytest.mark.parametrize("actions", [[0, 0], [[0], [0], [0]], [0.0, 0.0, 0.0], [True, True, True], 3])
def test_actions_of_a_wrong_shape_or_dtype_are_refused(tiny: Game, actions: Any) -> None:
    env = GameVectorEnv(tiny, 3)
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match=r"actions must be integers \(3,\), got"):
        env.step(actions)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint64"])
def test_integers_of_any_width_are_actions(tiny: Game, dtype: str) -> None:
    env = GameVectorEnv(tiny, 2)
    env.reset(seed=1)
    *_, terminated, _, _ = env.step(np.array([2, 100], dtype))
    assert terminated.tolist() == [False, True]


def test_disabled_asks_for_a_reset(tiny: Game) -> None:
    env = GameVectorEnv(tiny, 3, autoreset_mode="Disabled")
    with pytest.raises(NotResetError, match=r"call reset\(\) first"):
        env.step([0, 0, 0])
    _, info = env.reset(seed=1)
    actions = scripted_actions(env, info, [0, 0, 0])
    env.step([actions[0], 8, actions[2]])
    with pytest.raises(NotResetError, match=r"1 of 3 games are over, the first in row 1: .*reset_mask"):
        env.step([0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1, 2, 3]}, "must be one integer"),
        ({"seed": 1, "options": {"reset_mask": np.array([True, False, False])}}, "either a seed or a reset_mask"),
        ({"options": {"reset_mask": np.array([True])}}, r"must be a bool array \(3,\)"),
        ({"options": {"reset_mask": np.array([1, 0, 0])}}, r"must be a bool array \(3,\), got int64"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "must be true somewhere"),
        ({"options": {"decks": [0]}}, "did you mean 'deck'"),
    ],
)
def test_wrong_resets_are_refused(tiny: Game, arguments: dict[str, Any], message: str) -> None:
    env = GameVectorEnv(tiny, 3)
    env.reset(seed=1)
    with pytest.raises(OptionError, match=message):
        env.reset(**arguments)


def test_the_first_reset_starts_all_games(tiny: Game) -> None:
    with pytest.raises(NotResetError, match="first reset starts all games"):
        GameVectorEnv(tiny, 3).reset(options={"reset_mask": np.array([True, False, False])})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"autoreset_mode": "sometimes"}, "autoreset_mode='sometimes': must be 'NextStep'"),
        ({"num_envs": 0}, "num_games=0"),
        ({"device": "tpu"}, "device='tpu'"),
        ({"illegal": "clip"}, "illegal='clip'"),
        ({"render_mode": "human"}, "render_mode='human'"),
        ({"seats": 7}, "seats=7"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_vector_env("HanabiTiny2P-v0", **arguments)


def test_options_are_given_per_row_reset(tiny: Game) -> None:
    env = GameVectorEnv(tiny, 3)
    options = {"start_player": [1, 0, 1]}
    _, info = env.reset(seed=1, options=options)
    assert info["player"].tolist() == [1, 0, 1]
    mask = np.array([True, False, True])
    options = {"start_player": [0, 1], "reset_mask": mask}
    _, info = env.reset(options=options)
    assert info["player"].tolist() == [0, 0, 1]
    assert options["reset_mask"] is mask  # the caller's dict is left alone


@pytest.mark.parametrize("mode", MODES)
def test_returned_arrays_do_not_change_later(tiny: Game, mode: AutoresetMode) -> None:
    env = GameVectorEnv(tiny, N, autoreset_mode=mode)
    kept = []

    def keep(*values: Any) -> None:
        for value in values:
            if isinstance(value, dict):
                keep(*value.values())
            elif value.dtype == object:
                keep(*(entry for entry in value if entry is not None))
            else:
                kept.append((value, value.copy()))

    observations, info = env.reset(seed=2)
    keep(observations, info)
    for turn in range(40):
        result = env.step(scripted_actions(env, info, np.full(N, turn)))
        keep(*result)
        info, over = result[4], result[2] | result[3]
        if mode is AutoresetMode.DISABLED and over.any():
            observations, info = env.reset(options={"reset_mask": over})
            keep(observations, info)
    assert all((value == copy).all() for value, copy in kept)


def test_a_simultaneous_game_with_two_heads_against_players() -> None:
    env = GameVectorEnv(games.matching(), 4, seats=1, others="random")
    observations, info = env.reset(seed=1)
    assert observations.shape == (4, 13)
    assert info["action_mask"].shape == (4, 5)
    total = np.zeros(4)
    for turn in range(4):
        _, rewards, terminated, _, info = env.step(scripted_actions(env, info, np.full(4, turn)))
        total += rewards
    assert terminated.all()
    assert (info["final_info"]["returns"][:, 1] == total).all()
    assert (info["final_info"]["returns"].sum(1) == 0).all()


def test_a_sequential_game_with_two_heads() -> None:
    env = GameVectorEnv(games.nim(two_heads=True), 2, seats=0)
    env.reset(seed=1, options={"heaps": [[0, 2, 0], [1, 0, 0]]})
    _, rewards, terminated, *_ = env.step([[1, 1], [1, 0]])  # takes all; chooses an empty heap
    assert terminated.all()
    assert rewards.tolist() == [1, -1]
    assert env.action_space.contains(np.array([[2, 1], [0, 0]]))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**62),
    mode=st.sampled_from([AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]),
    moves=st.lists(st.lists(st.integers(-1, 6), min_size=3, max_size=3), min_size=1, max_size=30),
)
def test_whatever_is_played_rewards_sum_to_returns(seed: int, mode: AutoresetMode, moves: list[list[int]]) -> None:
    env = GameVectorEnv(games.nim(), 3, autoreset_mode=mode, seats=1)
    env.reset(seed=seed)
    total = np.zeros(3)
    for actions in moves:
        _, rewards, terminated, truncated, info = env.step(actions)
        total += rewards
        over = terminated | truncated
        if over.any():
            ending = info["final_info"] if mode is AutoresetMode.SAME_STEP else info
            assert (ending["returns"][over, 1] == total[over]).all()
            lost = ending["illegal_action"]
            assert (total[lost] == env.facts.min_return).all()
            assert not (lost & ~terminated).any()
        total[over] = 0


def test_pictures(tiny: Game) -> None:
    env = GameVectorEnv(tiny, 2, render_mode="ansi")
    env.reset(seed=1)
    assert env.render() == tuple(tiny.look.text(env.engine.state, row, 0) for row in range(2))
    with pytest.raises(OptionError, match="needs a render mode"):
        GameVectorEnv(tiny, 2).render()


def test_gymnasium_makes_it_by_id() -> None:
    env = gymnasium.make_vec("HanabiTiny2P-v0", num_envs=3, random_start_player=True, autoreset_mode="NextStep")
    assert isinstance(env, GameVectorEnv)
    observations, _ = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    assert env.action_space.shape == (3,)


def played_on(device: str) -> list[Any]:
    """All that `reset` and `step` give in every mode, as NumPy arrays; an illegal action among them."""
    given = []
    for mode in MODES:
        env = make_vector_env("HanabiTiny2P-v0", 3, device=device, autoreset_mode=mode)
        _, info = result = on_host(env.reset(seed=1))
        given.append(result)
        over = np.zeros(3, bool)
        for turn in range(14):
            if mode is AutoresetMode.DISABLED and over.any():
                _, info = result = on_host(env.reset(options={"reset_mask": over}))
                given.append(result)
            actions = scripted_actions(env, info, np.full(3, turn))
            actions[1] = 99 if turn == 5 else actions[1]
            _, _, terminated, truncated, info = result = on_host(env.step(actions))
            given.append(result)
            over = terminated | truncated
    return given


def on_host(value: Any) -> Any:
    """Tensors as arrays; object arrays of observations as dense ones, with zeros in place of None."""
    if isinstance(value, dict):
        return {key: on_host(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(on_host(entry) for entry in value)
    array = value if isinstance(value, np.ndarray) else value.cpu().numpy()
    if array.dtype != object:
        return array
    blank = np.zeros_like(next(entry for entry in array if entry is not None))
    return np.stack([blank if entry is None else entry for entry in array])


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return one.dtype == other.dtype and bool((one == other).all())


@pytest.mark.slow
def test_on_cuda_it_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda has the CUDA simulator")
    simulator = os.environ | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    subprocess.run([sys.executable, __file__, str(tmp_path / "given")], env=simulator, check=True)
    assert same(played_on("cpu"), pickle.loads((tmp_path / "given").read_bytes()))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(played_on("cuda")))


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_truncates_after_so_many_actions_of_the_policy(tiny: Game, mode: AutoresetMode) -> None:
    env = GameVectorEnv(tiny, N, autoreset_mode=mode, max_episode_steps=3)
    free = GameVectorEnv(tiny, N, autoreset_mode=AutoresetMode.DISABLED)
    observations, info = env.reset(seed=3)
    free.reset(seed=3)
    for step in range(1, 4):
        actions = env.action_masks().argmax(1)
        observations, _, terminated, truncated, info = env.step(actions)
        expected, *_ = free.step(actions)
        assert not terminated.any()
        assert truncated.all() == truncated.any() == (step == 3)
    ending = info["final_info"] if mode is AutoresetMode.SAME_STEP else info
    seen = np.stack(info["final_obs"]) if mode is AutoresetMode.SAME_STEP else observations
    assert (seen == expected).all()
    assert (ending["returns"] == free.running_returns).all()
    assert ending["returns"].any()
    assert (ending["player"] == -1).all()
    assert ending["action_mask"].all()
    if mode is AutoresetMode.NEXT_STEP:
        env.step(actions)  # starts the next games
    if mode is AutoresetMode.DISABLED:
        env.reset(options={"reset_mask": truncated})
    ends = [env.step(env.action_masks().argmax(1))[3].any() for _ in range(3)]
    assert ends == [False, False, True]


def test_a_limit_by_id_and_a_wrong_one() -> None:
    env = gymnasium.make_vec("TicTacToe-v0", num_envs=2, max_episode_steps=2)
    _, info = env.reset(seed=1)
    *_, info = env.step(env.action_space.sample(info["action_mask"]))
    _, _, terminated, truncated, _ = env.step(env.action_space.sample(info["action_mask"]))
    assert (terminated | truncated).all()
    with pytest.raises(OptionError, match="max_episode_steps=0: must be an integer from 1"):
        gymnasium.make_vec("TicTacToe-v0", max_episode_steps=0)


def test_games_that_go_on_from_a_file_keep_their_count_for_the_limit(tiny: Game) -> None:
    made = [to_sb3(GameVectorEnv(tiny, N, max_episode_steps=3)) for _ in range(2)]
    for env in made:
        env.seed(1)
        env.reset()
    made[0].step(made[0].action_masks().argmax(1))
    made[1].vector_env.engine.load_fields(made[0].vector_env.engine.fields())
    made[1].resume(made[0].running())
    ends = [made[1].step(made[1].action_masks().argmax(1))[2].all() for _ in range(2)]
    assert ends == [False, True]


def every_action_is_legal(actions: np.ndarray, masks: np.ndarray, sizes: tuple[int, ...]) -> bool:
    columns = actions.reshape(len(masks), -1) + np.cumsum([0, *sizes[:-1]])
    return bool(np.take_along_axis(masks, columns, 1).all())


@pytest.mark.parametrize(
    "env",
    [
        GameVectorEnv(games.nim(), 64),
        GameVectorEnv(games.matching(), 64),
        SyncVectorEnv([lambda: GameEnv(games.matching())] * 64),
    ],
    ids=["one head", "two heads", "two heads, batched by Gymnasium"],
)
def test_a_batch_samples_legal_actions_by_the_mask_in_info(env: Any) -> None:
    heads = env.single_action_space
    sizes = (int(heads.n),) if isinstance(heads, Discrete) else tuple(heads.nvec.tolist())
    _, info = env.reset(seed=1)
    env.action_space.seed(1)
    drawn = set()
    for _ in range(6):
        actions = env.action_space.sample(info["action_mask"])
        assert actions in env.action_space
        assert every_action_is_legal(actions, info["action_mask"], sizes)
        drawn |= {tuple(np.atleast_1d(action)) for action in actions}
        *_, info = env.step(actions)
    assert len(drawn) > 3
    assert env.action_space.sample() in env.action_space
    assert env.action_space == batch_space(env.single_action_space, 64)
    twin = deepcopy(env.action_space)
    assert (twin.sample(info["action_mask"]) == env.action_space.sample(info["action_mask"])).all()


def test_the_legal_values_of_a_head_are_equally_likely() -> None:
    mask = np.tile(np.array([1, 0, 1, 0, 1, 1], np.int8), (6000, 1))
    drawn = legal_samples(np.random.default_rng(1), mask, np.array([3, 3]))
    assert np.bincount(drawn[:, 0]).tolist() == pytest.approx([3000, 0, 3000], abs=150)
    assert np.bincount(drawn[:, 1]).tolist()[1:] == pytest.approx([3000, 3000], abs=150)
    with pytest.raises(OptionError, match=r"must be an array \(n, 6\)"):
        legal_samples(np.random.default_rng(1), mask[:, :5], np.array([3, 3]))
