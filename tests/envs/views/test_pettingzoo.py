"""The PettingZoo views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
import pytest
from games import nim as games
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.test.state_test import state_test

from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.views.pettingzoo_aec import GameAECEnv, make_aec
from ludory.envs.views.pettingzoo_parallel import GameParallelEnv, make_parallel
from ludory.errors import IllegalActionError, NotResetError, OptionError

TINY = "HanabiTiny2P-v0"
WAIT = 8
"""Id of "wait" in the parallel view of the tiny game, which has 8 actions."""
OTHER_GAMES = {
    "three seats": games.nim(players=3),
    "truncated": games.nim(limit=3),
    "two heads": games.nim(two_heads=True),
    "simultaneous": games.matching(),
}


@pytest.fixture(scope="module")
def tiny() -> Game:
    return make_game(TINY)


def chosen(env: Any, agent: str, observation: dict[str, Any], turn: int) -> Any:
    facts = env.unwrapped.facts
    sizes = facts.head_sizes if len(facts.heads) > 1 else (len(observation["action_mask"]),)
    values = games.scripted(observation["action_mask"], turn, sizes)
    return values if len(values) > 1 else int(values[0])


def test_agents_in_turn_play_the_game_of_the_engine(tiny: Game) -> None:
    env, engine = GameAECEnv(tiny), KernelEngine(tiny, seed=5)
    for number in range(3):
        engine.reset()
        env.reset(**({"seed": 5} if number == 0 else {}))
        received = dict.fromkeys(env.possible_agents, 0.0)
        for turn, agent in enumerate(env.agent_iter()):
            observation, reward, terminated, truncated, info = env.last()
            received[agent] += reward
            assert (terminated, truncated) == (engine.terminated[0], engine.truncated[0])
            assert info["player"] == engine.to_move[0]
            for seat, name in enumerate(env.agents):
                assert (env.observe(name)["observation"] == engine.observe(seat)[0]).all()
            if terminated:
                assert observation["action_mask"].all()
                env.step(None)
                continue
            assert agent == f"player_{engine.to_move[0]}"
            assert (observation["action_mask"] == engine.legal()[0]).all()
            idle = env.observe(f"player_{1 - engine.to_move[0]}")["action_mask"]
            assert not idle.any()
            action = chosen(env, agent, observation, turn)
            env.step(action)
            engine.step([action])
        assert set(received.values()) == {float(info["score"])} == set(info["returns"].tolist())


def test_all_agents_at_once_play_the_game_of_the_engine_and_wait(tiny: Game) -> None:
    env, engine = GameParallelEnv(tiny), KernelEngine(tiny, seed=5)
    for number in range(3):
        engine.reset()
        seen, infos = env.reset(**({"seed": 5} if number == 0 else {}))
        turn = 0
        while env.agents:
            mover = int(engine.to_move[0])
            assert (seen[f"player_{mover}"]["action_mask"][:WAIT] == engine.legal()[0]).all()
            assert seen[f"player_{mover}"]["action_mask"][WAIT] == 0
            assert np.flatnonzero(seen[f"player_{1 - mover}"]["action_mask"]).tolist() == [WAIT]
            actions = {agent: chosen(env, agent, seen[agent], turn) for agent in env.agents}
            seen, rewards, terminated, truncated, infos = env.step(actions)
            engine.step([actions[f"player_{mover}"]])
            assert list(rewards.values()) == engine.rewards[0].tolist()
            for seat, agent in enumerate(env.possible_agents):
                assert (seen[agent]["observation"] == engine.observe(seat)[0]).all()
                assert (terminated[agent], truncated[agent]) == (engine.terminated[0], engine.truncated[0])
            turn += 1
        assert all(seen[agent]["action_mask"].all() for agent in seen)
        assert infos["player_1"]["end"]


def test_simultaneous_games_are_the_same_in_both_views() -> None:
    parallel, aec, engine = (
        make_parallel(games.matching()),
        make_aec(games.matching()),
        KernelEngine(games.matching(), seed=3),
    )
    engine.reset()
    seen, _ = parallel.reset(seed=3)
    aec.reset(seed=3)
    for turn in range(4):
        assert (np.stack([seen[agent]["observation"] for agent in seen]) == engine.observe()[0]).all()
        actions = {agent: chosen(parallel, agent, seen[agent], turn) for agent in parallel.agents}
        for agent in list(aec.agents):
            observation, *_ = aec.last()
            assert (observation["observation"] == seen[agent]["observation"]).all()
            aec.step(actions[agent])
        seen, rewards, *_ = parallel.step(actions)
        engine.step(np.array([[actions[agent] for agent in actions]]))
        assert list(rewards.values()) == engine.rewards[0].tolist()
    assert not parallel.agents
    assert all(aec.terminations.values())


@pytest.mark.parametrize("game", OTHER_GAMES.values(), ids=OTHER_GAMES)
def test_other_kinds_of_games_conform(game: Game) -> None:
    api_test(make_aec(game), num_cycles=50)
    seed_test(lambda: make_aec(game), num_cycles=50)
    parallel_api_test(make_parallel(game), num_cycles=50)
    parallel_seed_test(lambda: make_parallel(game), num_cycles=50)


def test_under_a_shared_reward_everybody_loses_by_an_illegal_action(tiny: Game) -> None:
    env = GameAECEnv(tiny)
    env.reset(seed=1, options={"deck_prefix": [0, 2, 1, 2]})
    env.step(2)  # plays the lowest red card
    assert env.rewards == {"player_0": 1.0, "player_1": 1.0}
    env.step(99)
    assert env.rewards == {"player_0": -1.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.infos["player_0"]["returns"].tolist() == [0, 0]
    assert env.infos["player_0"]["illegal_action"]
    assert "outside 0..7" in env.illegal_words
    for _ in range(2):
        env.step(None)
    assert env.agents == []
    with pytest.raises(NotResetError, match=r"call reset\(\)"):
        env.step(0)


def test_in_competition_only_the_offender_loses() -> None:
    env = make_aec(games.nim(players=3))
    env.reset(seed=1, options={"heaps": [1, 2, 2]})
    env.step(0)
    env.step(0)  # that heap is empty
    assert env.rewards == {"player_0": 0, "player_1": -1, "player_2": 0}
    assert env.infos["player_0"]["illegal_action"]
    assert "take 1 from heap 1" in env.unwrapped.illegal_words


def test_illegal_raise_plays_nothing(tiny: Game) -> None:
    aec, parallel = GameAECEnv(tiny, illegal="raise"), GameParallelEnv(tiny, illegal="raise")
    aec.reset(seed=1)
    parallel.reset(seed=1)
    with pytest.raises(IllegalActionError, match="seat 0: action 0"):
        aec.step(0)
    with pytest.raises(IllegalActionError, match=r"action 2 of player_1 is not legal; legal: 8 \(wait\)"):
        parallel.step({"player_0": 2, "player_1": 2})
    with pytest.raises(IllegalActionError, match=r"action 8 of player_0 is not legal; legal: 2 \(play 1\)"):
        parallel.step({"player_0": WAIT, "player_1": WAIT})
    assert aec.engine.state.turn[0] == parallel.engine.state.turn[0] == 0


def test_acting_out_of_turn_is_illegal(tiny: Game) -> None:
    env = GameParallelEnv(tiny)
    env.reset(seed=1)
    seen, rewards, terminated, _, infos = env.step({"player_0": 2, "player_1": 2})
    assert all(terminated.values())
    assert rewards == {"player_0": 0.0, "player_1": 0.0}
    assert infos["player_0"]["illegal_action"]
    assert env.illegal_words.startswith("Hanabi: action 2 of player_1")
    assert env.engine.state.turn[0] == 0
    assert seen["player_1"]["action_mask"].all()


def test_with_several_heads_nobody_waits_and_who_is_not_to_move_is_ignored() -> None:
    env = make_parallel(games.nim(two_heads=True))
    seen, _ = env.reset(seed=1, options={"heaps": [0, 2, 2]})
    assert seen["player_0"]["action_mask"].tolist() == [0, 1, 1, 1, 1]
    assert seen["player_1"]["action_mask"].all()
    seen, _, terminated, *_ = env.step({"player_0": [1, 1], "player_1": [0, 0]})
    assert seen["player_0"]["observation"][:3].tolist() == [0, 0, 2]
    _, rewards, terminated, *_ = env.step({"player_0": [0, 0], "player_1": [2, 1]})
    assert all(terminated.values())
    assert rewards == {"player_0": -1, "player_1": 1}


def test_both_offenders_lose_a_simultaneous_game() -> None:
    env = make_parallel(games.matching())
    env.reset(seed=1)
    env.step({"player_0": [0, 0], "player_1": [1, 0]})
    _, rewards, *_, infos = env.step({"player_0": [0, 0], "player_1": [1, 2]})
    assert infos["player_0"]["returns"].tolist() == [-6, -6]
    assert rewards == {"player_0": -5, "player_1": -7}
    assert infos["player_0"]["illegal_action"]
    assert "of head size of player_1" not in env.illegal_words  # the first fault of a seat is named
    assert "action 1 of head color of player_1 is not legal; legal: 0 (red), 2 (blue)" in env.illegal_words


@pytest.mark.parametrize("action", [None, 1.5, "play 1"])
def test_what_is_no_integer_is_refused(tiny: Game, action: Any) -> None:
    env = GameAECEnv(tiny)
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match="must be one integer"):
        env.step(action)


def test_every_agent_must_act(tiny: Game) -> None:
    env = GameParallelEnv(tiny)
    with pytest.raises(NotResetError, match=r"call reset\(\)"):
        env.step({"player_0": 2, "player_1": WAIT})
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match="no action for player_1"):
        env.step({"player_0": 2})


def test_returned_dicts_and_arrays_do_not_change_later(tiny: Game) -> None:
    env = GameParallelEnv(tiny)
    seen, _ = env.reset(seed=1)
    kept = []
    turn = 0
    while env.agents:
        kept += [(array, array.copy()) for agent in seen for array in seen[agent].values()]
        seen, *_ = env.step({agent: chosen(env, agent, seen[agent], turn) for agent in env.agents})
        turn += 1
    env.reset()
    assert all((array == copy).all() for array, copy in kept)


def test_options_go_to_the_game(tiny: Game) -> None:
    env = GameAECEnv(tiny)
    env.reset(seed=1, options={"start_player": 1})
    assert env.agent_selection == "player_1"
    with pytest.raises(OptionError, match="did you mean 'start_player'"):
        env.reset(options={"start_playr": 1})


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(OptionError, match="illegal='no'"):
        make_aec(TINY, illegal="no")
    with pytest.raises(OptionError, match="render_mode='pixels'"):
        make_parallel(TINY, render_mode="pixels")


def test_pictures_show_what_the_agent_to_move_may_see(tiny: Game, capsys: pytest.CaptureFixture[str]) -> None:
    env = GameAECEnv(tiny, render_mode="ansi")
    env.reset(seed=1, options={"start_player": 1})
    text = env.render()
    assert text == tiny.look.text(env.engine.state, 0, 1)
    GameParallelEnv(tiny, render_mode="human").reset(seed=1, options={"start_player": 1})
    assert capsys.readouterr().out == text + "\n"
    env = GameAECEnv(tiny)
    env.reset()
    with pytest.raises(OptionError, match="needs a render mode"):
        env.render()


def test_pettingzoo_makes_it_by_id() -> None:
    assert isinstance(pettingzoo.make("aec", "ludory/hanabitiny2p-v0"), GameAECEnv)
    assert isinstance(pettingzoo.make("parallel", "ludory/hanabi-v0", colors=2, ranks=2, hand_size=2), GameParallelEnv)


@pytest.mark.parametrize("game", [games.nim(), games.matching()], ids=["in turn", "at once"])
def test_the_global_state_is_what_all_seats_see(game: Game) -> None:
    state_test(make_aec(game), make_parallel(game))
    env = make_parallel(game)
    env.reset(seed=1)
    seen = [env.engine.observe(seat)[0].ravel() for seat in range(game.facts.players)]
    assert (env.state() == np.concatenate(seen)).all()


def test_there_is_no_state_before_the_first_game() -> None:
    with pytest.raises(NotResetError):
        make_parallel(games.nim()).state()


@pytest.mark.slow
def test_the_global_state_of_a_game_with_a_critic_is_what_the_critic_sees() -> None:
    env = make_parallel("Arena2P-v0")
    env.reset(seed=1)
    assert env.state() in env.state_space
    assert (env.state() == env.engine.critic(0)[0]).all()
