"""Battles depend on their seeds and choices, and on nothing else."""

import gc
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from ludory.envs.make import make_engine, make_game
from ludory.envs.pokemon.backends.install import Installation
from ludory.envs.pokemon.backends.sim import SimWorker
from ludory.envs.pokemon.backends.worker import chance_seed
from ludory.envs.pokemon.lane import BACKENDS
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.errors import BackendError, IllegalActionError, OptionError
from ludory.testing import check_game

GAME = "PokemonGen1RandomBattle-v0"
pytestmark = pytest.mark.usefixtures("simulator")


def chosen(engine: Any, draw: np.random.Generator) -> NDArray[np.int64]:
    legal = engine.state.legal
    actions: NDArray[np.int64] = np.where(legal, draw.random(legal.shape), -1.0).argmax(-1)[..., None]
    return actions


def hashes(engine: Any, steps: int = 400, seed: int = 0) -> list[str]:
    """Hash of each game's log, after random play to the end."""
    draws = [np.random.default_rng((seed, row)) for row in range(engine.num_games)]
    for _ in range(steps):
        if engine.over.all():
            break
        actions = np.zeros((engine.num_games, 2, 1), np.int64)
        for row, draw in enumerate(draws):
            masks = engine.state.legal[row]
            actions[row, :, 0] = [draw.choice(np.flatnonzero(mask)) for mask in masks]
        engine.step(actions)
    return [engine.info(row)["log_sha256"] for row in range(engine.num_games)]


def test_seeds_of_battles_are_hashes_of_seed_game_and_episode() -> None:
    assert chance_seed(7, 3, 0, "battle")[0] == "gen5,e6ff5ea2bb5b8ea8" or chance_seed(7, 3, 0, "battle")[0].startswith(
        "gen5,"
    )
    assert (
        len({chance_seed(*key)[0] for key in ((7, 3, 0, "p1"), (7, 3, 0, "p2"), (7, 3, 1, "p1"), (8, 3, 0, "p1"))}) == 4
    )


def test_results_do_not_depend_on_workers_or_on_what_is_watched(simulator: Installation) -> None:
    """The same battles in this process, in two workers, and with masks alone."""
    found = []
    for workers, observation in ((0, "none"), (2, "none"), (0, "entity")):
        engine = make_engine(GAME, 3, seed=5, workers=workers, observation=observation)
        engine.reset()
        found.append(hashes(engine))
        engine.close()
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 3


def test_rewards_are_paid_once_and_waiting_seats_have_one_action(backend: str) -> None:
    engine = make_engine(GAME, 4, seed=1, observation="none", workers=0, backend=backend)
    engine.reset()
    draw, total, waited = np.random.default_rng(1), np.zeros((4, 2)), 0
    while not engine.over.all():
        waits = ~engine.deciding & ~engine.over[:, None]
        waited += int(waits.sum())
        assert (engine.legal()[waits].sum(axis=-1) == 1).all()
        assert engine.legal()[waits][:, 0].all()
        engine.step(chosen(engine, draw))
        total += engine.rewards
    assert waited
    for row in range(4):
        told = engine.info(row)
        assert total[row].tolist() == {"p1": [1, -1], "p2": [-1, 1], "tie": [0, 0]}[told["winner"]]
        assert told["turns"] == engine.turns[row]
        assert told["input_log"][0].startswith(">start")
    engine.close()


def test_copies_and_restored_games_go_on_alike(simulator: Installation, tmp_path: Path) -> None:
    engine = make_engine(GAME, 2, seed=3, workers=0)
    engine.reset()
    draw = np.random.default_rng(2)
    for _ in range(12):
        engine.step(chosen(engine, draw))
    copy = engine.gather(np.array([1, 0, 1]))
    np.testing.assert_array_equal(copy.entity, engine.entity[[1, 0, 1]])
    engine.save(tmp_path / "games.npz")
    restored = make_engine(GAME, 1, seed=9, workers=0)
    restored.restore(tmp_path / "games.npz")
    np.testing.assert_array_equal(restored.entity, engine.entity)
    np.testing.assert_array_equal(restored.legal(), engine.legal())
    for _ in range(20):
        actions = chosen(engine, draw)
        engine.step(actions)
        restored.step(actions)
        copy.step(actions[[1, 0, 1]])
    logs = [log["log"] for log in engine.logs()]
    assert [log["log"] for log in restored.logs()] == logs
    assert [log["log"] for log in copy.logs()] == [logs[1], logs[0], logs[1]]
    np.testing.assert_array_equal(copy.entity, engine.entity[[1, 0, 1]])
    for one in (engine, copy, restored):
        one.close()


def test_a_lost_child_is_replaced_and_its_battles_end_truncated(simulator: Installation) -> None:
    engine = make_engine(GAME, 3, seed=1, workers=0, observation="none", on_crash="restart")
    engine.reset()
    draw = np.random.default_rng(3)
    for _ in range(3):
        engine.step(chosen(engine, draw))
        os.kill(engine.pids()[0], 9)
        engine.step(chosen(engine, draw))
        assert engine.truncated.all()
        assert not engine.rewards.any()
        engine.reset()
        assert not engine.over.any()
    engine.close()


def test_a_lost_child_is_told_with_game_and_seed(simulator: Installation) -> None:
    engine = make_engine(GAME, 2, seed=1, workers=0, observation="none")
    engine.reset()
    os.kill(engine.pids()[0], 9)
    with pytest.raises(BackendError, match=r"game 0, battle seed gen5,\w{16}"):
        engine.step(chosen(engine, np.random.default_rng(0)))
    engine.close()


def test_illegal_actions_name_what_is_legal_and_play_nothing(backend: str) -> None:
    engine = make_engine(GAME, 1, seed=1, workers=0, observation="none", backend=backend)
    engine.reset()
    with pytest.raises(
        IllegalActionError, match=r"seat 1: action 4 \(switch to slot 1\) is not legal; legal: 0 \(move 1\)"
    ):
        engine.step(np.array([[[0], [4]]]))
    assert engine.turns[0] == 1
    with pytest.raises(OptionError, match="battle_seed"):
        engine.reset(options={"seed": "x"})
    engine.reset(options={"battle_seed": "gen5,0123456789abcdef"})
    assert '"seed":"gen5,0123456789abcdef"' in engine.logs()[0]["input_log"][0]
    engine.close()


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (np.zeros((2, 2, 1), np.int64), r"shape \(2, 2, 1\), must be \(1, 2, 1\)"),
        (np.zeros((1, 2, 1)), "dtype float64, must be integers"),
        (np.full((1, 2, 1), np.nan), "dtype float64, must be integers"),
        (np.full((1, 2, 1), -1), r"seat 0: action -1"),
        (np.full((1, 2, 1), 10), r"seat 0: action 10"),
    ],
    ids=["shape", "float", "nan", "negative", "too-large"],
)
def test_actions_of_another_form_play_nothing(backend: str, actions: NDArray[Any], told: str) -> None:
    engine = make_engine(GAME, 1, seed=1, workers=0, observation="none", backend=backend)
    engine.reset()
    with pytest.raises(IllegalActionError, match=told):
        engine.step(actions)
    assert engine.turns[0] == 1
    with pytest.raises(OptionError, match="redeal"):
        engine.redeal(0, 1)
    engine.close()


def test_teams_are_asked_for_and_their_problems_listed(simulator: Installation, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"gen9ou needs teams=: a folder of exports"):
        make_engine("PokemonGen9OU-v0")
    with pytest.raises(OptionError, match="makes its own teams"):
        make_engine(GAME, teams=str(tmp_path))
    (tmp_path / "bad.txt").write_text("=== [gen1ou] first ===\n\nPikachu\n- Fly Away\n\n=== second ===\nMissingno\n")
    with pytest.raises(OptionError, match=r"bad\.txt:2, team 1") as found:
        make_engine("PokemonGen1OU-v0", teams=str(tmp_path))
    assert "team 2" in str(found.value)


def test_a_waiting_seat_may_send_anything_in_range_and_tells_nobody_else(simulator: Installation) -> None:
    """Any action number is ignored, in engine and views; one outside is not. Waiting and refusals are told to the seat alone."""
    env = make_parallel("PokemonGen4RandomBattle-v0", illegal="raise", observation="none")
    draw = np.random.default_rng(3)
    waited = refused = 0
    for seed in range(40):
        seen, infos = env.reset(seed=seed)
        while env.agents and not (waited > 3 and refused > 1):
            actions = {agent: int(draw.choice(np.flatnonzero(seen[agent]["action_mask"]))) for agent in env.agents}
            waiting = [agent for agent in env.agents if infos[agent]["wait"]]
            for agent in waiting:
                assert seen[agent]["action_mask"].tolist() == [1] + [0] * 9
                actions[agent] = 9
            if waiting:
                waited += 1
                with pytest.raises(IllegalActionError):
                    env.step(actions | {waiting[0]: 10})
            seen, _, _, _, infos = env.step(actions)
            told = [agent for agent in env.agents if infos[agent]["rejected"]]
            refused += bool(told)
            for agent in told:
                told_seat = env.game.look.seat_info(env.engine.state, 0, env.seat_of(agent))
                assert told_seat["refusal"].startswith("[Unavailable choice]")
                assert not infos[agent]["wait"]
        if waited > 3 and refused > 1:
            break
    env.close()
    assert waited > 3
    assert refused > 1


def test_a_short_limit_truncates_without_reward(backend: str) -> None:
    engine = make_engine(GAME, 2, seed=1, workers=0, observation="none", max_turns=3, backend=backend)
    engine.reset()
    draw = np.random.default_rng(0)
    while not engine.over.all():
        engine.step(chosen(engine, draw))
    assert engine.truncated.all()
    assert (engine.turns == 4).all()
    assert not engine.rewards.any()
    engine.close()


class LentWorker:
    """Lends a child to an engine and takes it back: a hundred engines play below, and to start one costs a second of CPU."""

    children: ClassVar[list[SimWorker]] = []
    lent: ClassVar[set[int]] = set()

    def __init__(self, timeout: float) -> None:
        gc.collect()  # engines lie in reference cycles; this ends those that nobody can reach any more
        if len(self.lent) == len(self.children):
            self.children.append(SimWorker(timeout=timeout))
        self._number = next(number for number in range(len(self.children)) if number not in self.lent)
        self.lent.add(self._number)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.children[self._number], name)

    def __del__(self) -> None:
        self.lent.remove(self._number)

    def close(self) -> None:
        """The child goes on."""


def test_the_game_keeps_the_contract(simulator: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "sim", LentWorker)
    check_game(make_game("Pokemon-v0", format="gen1randombattle", max_turns=6), games=2)
    for child in LentWorker.children:
        child.close()
