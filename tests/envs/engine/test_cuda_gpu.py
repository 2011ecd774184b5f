"""The CUDA engine on a GPU against the CPU engine, bit for bit, and against the golden games."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from support.cuda_transcript import Transcript, after_restore, cases, transcript
from support.golden_hanabi import FILES, differences, load

from ludory.algorithms.ppo import PPO
from ludory.envs.engine.autoreset import Autoreset
from ludory.envs.engine.captured import WARM_UP, Captured
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.protocol import Engine, on_host
from ludory.envs.game import Game
from ludory.envs.hanabi import make_game
from ludory.envs.make import make_game as make_registered
from ludory.errors import IllegalActionError

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or find_spec("numba_cuda") is None, reason="needs an NVIDIA GPU and numba-cuda"
)

CASES = cases()
GAMES = 10_000
LEARNER = {"num_envs": 64, "n_steps": 8, "batch_size": 256, "hidden": (32,), "seed": 1}


def assert_equal(got: Transcript, expected: Transcript) -> None:
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        assert got[name].dtype == values.dtype, name
        np.testing.assert_array_equal(got[name], values, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_every_field_mask_reward_observation_choice_and_error_is_that_of_the_cpu(name):
    case = CASES[name]._replace(games=GAMES)
    assert_equal(transcript(CudaEngine, case), transcript(KernelEngine, case))


@pytest.mark.parametrize("name", CASES)
def test_saved_states_go_from_device_to_device(name, tmp_path):
    game = CASES[name].game
    for first, second in ((CudaEngine, KernelEngine), (KernelEngine, CudaEngine)):
        engine = first(game, GAMES, seed=5)
        engine.reset()
        engine.save(tmp_path / "state")
        assert_equal(*(after_restore(make(game), tmp_path / "state") for make in (second, first)))


@pytest.mark.parametrize("name", FILES)
def test_all_recorded_games_are_replayed(name):
    data = load(name)
    engine = CudaEngine(make_game(**data["options"]), len(data["deck"]), seed=1)
    assert differences(engine, data) == []


@pytest.fixture
def game() -> Game:
    return make_game(players=2, colors=2, ranks=2, hand_size=2)


def play(engine: Engine, moves: int) -> None:
    """The first legal action of every game, again and again."""
    engine.reset()
    for _ in range(moves):
        engine.step(on_host(engine.legal()).argmax(1))


def test_work_goes_to_the_current_stream_of_torch(game):
    on_cpu = KernelEngine(game, GAMES, seed=3)
    play(on_cpu, 8)
    with torch.cuda.stream(torch.cuda.Stream()):
        on_gpu = CudaEngine(game, GAMES, seed=3)
        play(on_gpu, 8)
        seen = on_gpu.observe()
        torch.cuda.current_stream().synchronize()
    np.testing.assert_array_equal(seen.cpu().numpy(), on_cpu.observe())


def test_tensors_on_the_gpu_are_taken_and_given(game):
    engine = CudaEngine(game, GAMES, seed=3)
    engine.reset()
    rows = torch.arange(0, GAMES, 7, device="cuda")
    actions = engine.legal()[rows].int().argmax(1)
    engine.step(actions, rows=rows)
    engine.reset(engine.terminated)
    given = engine.legal(), engine.observe(), engine.observe(rows=rows, packed=True), engine.to_move, engine.rewards
    assert all(tensor.is_cuda and tensor.is_contiguous() for tensor in given)


def test_the_first_of_many_illegal_actions_is_named_and_nothing_is_played(game):
    engine = CudaEngine(game, GAMES, seed=3)
    engine.reset()
    before = on_host(engine.state.turn).copy()
    actions = engine.legal().int().argmax(1)
    actions[1234:] = 99
    with pytest.raises(IllegalActionError, match="game 1234,"):
        engine.step(actions)
    np.testing.assert_array_equal(on_host(engine.state.turn), before)


def test_compiled_kernels_are_loaded_from_disk(game, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path))
    play_once = (
        "from ludory.envs.make import make_engine\n"
        "engine = make_engine('HanabiTiny2P-v0', 4, device='cuda', seed=1)\n"
        "engine.reset(); engine.observe(); engine.to_move.cpu()"
    )
    written = []
    for _ in range(2):
        subprocess.check_call([sys.executable, "-c", play_once])
        written.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")})
    assert written[0] == written[1], "the second process compiled nothing"


@pytest.mark.parametrize("id", ["ConnectFour-v0", "Hanabi2P-v0", "Arena2P-v0"])
def test_a_replayed_graph_plays_the_games_of_single_launches_and_of_the_cpu(id):
    played = []
    for make, captured in ((KernelEngine, False), (CudaEngine, False), (CudaEngine, True)):
        engine = make(make_registered(id), GAMES, seed=3)
        engine.reset()
        turns = Autoreset(engine, 6, seed=4)

        def some_steps(turns: Autoreset = turns) -> None:
            turns.again()
            for step in range(turns.steps):
                turns.step(step, draw=True)

        work = Captured(some_steps, turns.actions.device if captured else torch.device("cpu"))
        before = turns.streams.clone()
        for _ in range(WARM_UP + 3):
            work()
        turns.check()
        assert work.captures == captured
        # an empty graph would replay in no time
        assert (turns.streams[1] > before[1]).all()
        played.append({name: on_host(values) for name, values in engine.fields().items()} | on_host_parts(turns))
    for other in played[1:]:
        assert_equal(other, played[0])


def on_host_parts(turns: Autoreset) -> Transcript:
    names = ("actions", "rewards", "ends", "seats", "legal", "streams")
    return {name: on_host(getattr(turns, name)) for name in names} | {"seen": on_host(turns.observations(-1))}


def test_an_illegal_action_among_single_launches_is_found_later(game):
    engine = CudaEngine(game, GAMES, seed=3)
    engine.reset()
    turns = Autoreset(engine, 2)
    turns.step(0, draw=True)
    turns.actions[1].fill_(99)
    turns.step(1)
    with pytest.raises(IllegalActionError, match=r"game 0,.*action 99"):
        turns.check()


def test_ppo_with_graphs_learns_as_without():
    weights = []
    for graphs in (False, True):
        model = PPO("mlp", "HanabiTiny2P-v0", device="cuda", precision="float32", cuda_graphs=graphs, **LEARNER)
        model.learn(8 * 64 * 8)
        weights.append(torch.cat([parameter.detach().flatten() for parameter in model.policy.parameters()]))
    torch.testing.assert_close(*weights, rtol=1e-3, atol=1e-3)
