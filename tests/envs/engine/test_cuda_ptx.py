"""Every CUDA kernel compiles to PTX for sm_90, on a machine without a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from games.elimination import standoff
from games.nim import matching, nim
from games.shared import FOLLOW_THE_LEVEL
from support.cuda_transcript import COUNTING

from ludory.agents.agent import KernelAgent
from ludory.agents.hanabi.bots.agents import make_cheatbot, make_iggi, make_piers, make_smartbot
from ludory.agents.make import make_agent
from ludory.envs.engine import cuda_engine
from ludory.envs.engine.cuda_device import Kernel, argument_words, signature
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.game import Game
from ludory.envs.hanabi import make_game
from ludory.envs.kernels import kernel
from ludory.envs.make import make_game as make_registered
from ludory.plugins import games

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")

HANABI_KERNELS = {
    "reset_rows",
    "first_illegal",
    "clear_rewards",
    "step_rows",
    "observe_rows",
    "every_seat_rows",
    "turn_tiles",
    "pack_bits",
    "redeal_rows",
    "legal_rows",
}


class PaperDevice:
    """Notes what is launched, or compiles it, and runs nothing; its tensors lie on the CPU."""

    torch_device = torch.device("cpu")

    def __init__(self, compiled: Callable[[Kernel, Any], str] | None = None) -> None:
        self.launched: dict[tuple[str, Any], str] = {}
        self._compiled = compiled or (lambda kernel, types: "")

    def launch(self, kernel: Kernel, blocks: int, threads: tuple[int, ...], *args: Any) -> None:
        types = signature(args)
        if (kernel.__name__, types) not in self.launched:
            self.launched[kernel.__name__, types] = ptx = self._compiled(kernel, types)
            if ptx:
                self.check_arguments(ptx, sum(map(len, map(argument_words, args))))

    @staticmethod
    def check_arguments(ptx: str, size: int) -> None:
        """The code takes as many words as it is given."""
        (taken,) = re.findall(r"\.visible \.entry [^(]*\(([^)]*)\)", ptx)
        kinds = re.findall(r"\.param \.(\w+)", taken)
        assert {kind[1:] for kind in kinds} == {"64"}
        assert 8 * len(kinds) == size

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.launched}


@pytest.fixture
def engine_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Game, PaperDevice], CudaEngine]:
    """An engine on a device of paper, its games started."""

    def make(game: Game, device: PaperDevice) -> CudaEngine:
        monkeypatch.setattr(cuda_engine, "find_device", lambda name: device)
        engine = CudaEngine(game, 3, seed=1)
        engine.reset()
        return engine

    return make


@pytest.fixture
def ptx_device(monkeypatch: pytest.MonkeyPatch) -> PaperDevice:
    """Compiles for compute capability 9.0, which numba-cuda otherwise asks of the GPU at hand."""
    from numba import cuda
    from numba.cuda import compiler, dispatcher

    hopper = SimpleNamespace(compute_capability=(9, 0))
    for module in (compiler, dispatcher):
        monkeypatch.setattr(module, "get_current_device", lambda: hopper)
    return PaperDevice(lambda kernel, types: cuda.compile_ptx(kernel, types, cc=(9, 0), device=False)[0])


def use_everything(engine: CudaEngine) -> None:
    facts = engine.facts
    shape = (3, facts.players, len(facts.heads)) if facts.simultaneous else (3,)
    actions = np.zeros(shape, np.int64)
    engine.used(actions)
    engine.step(actions)
    engine.step(actions[:2], rows=[2, 0])
    engine.observe()
    engine.critic()
    if facts.observation.bits:
        engine.observe(packed=True)
    if engine.game.rules.kernels.redeal:
        engine.redeal(0, seed=1)
    engine.clone().load_fields(engine.fields(), check=False)


def assert_hopper_code(device: PaperDevice) -> None:
    for (name, _), ptx in device.launched.items():
        assert ".visible .entry" in ptx, name
        assert ".target sm_90" in ptx, name
        assert "call" not in ptx, f"{name} calls what was not inlined"
        assert ".local" not in ptx, f"{name} keeps arrays in slow memory"
        tables = sum(int(size) for size in re.findall(r"^\.const .*\[(\d+)\]", ptx, re.MULTILINE))
        assert tables <= 65536, f"{name} has {tables} bytes of constants, a GPU takes 65536"


@pytest.mark.slow
def test_hanabi(engine_on, ptx_device):
    use_everything(engine_on(make_game(), ptx_device))
    assert ptx_device.names == HANABI_KERNELS
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_arrays_that_all_games_share(engine_on, ptx_device):
    use_everything(engine_on(FOLLOW_THE_LEVEL, ptx_device))
    assert_hopper_code(ptx_device)


@pytest.mark.slow
@pytest.mark.parametrize("observation", ["minimal", "seer", "conventions", "tactical", "v0_belief"])
def test_other_observations_of_hanabi(engine_on, ptx_device, observation):
    device = PaperDevice()
    engine = engine_on(make_game(observation=observation), device)
    engine._device = ptx_device
    engine.observe()
    assert ptx_device.names == {"observe_rows", "turn_tiles"}
    assert_hopper_code(ptx_device)
    if observation == "v0_belief":
        assert any("div.rn.f32" in ptx for ptx in ptx_device.launched.values()), "rounds as the CPU does"


@pytest.mark.parametrize("id", [id for id in games.ids() if id.startswith("Hanabi")])
def test_all_variants_of_hanabi_are_the_same_code(engine_on, id):
    full, variant = PaperDevice(), PaperDevice()
    use_everything(engine_on(make_game(), full))
    use_everything(engine_on(make_registered(id), variant))
    assert variant.launched == full.launched


@pytest.mark.slow
@pytest.mark.parametrize("make", [nim, matching])
def test_other_kinds_of_games(engine_on, ptx_device, make):
    use_everything(engine_on(make(), ptx_device))
    assert ptx_device.names >= {"reset_rows", "first_illegal", "step_rows", "observe_rows", "legal_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_used_heads_and_critics_of_a_game_with_elimination(engine_on, ptx_device):
    use_everything(engine_on(standoff(), ptx_device))
    assert ptx_device.names >= {"used_rows", "critic_rows", "step_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_iggi, make_piers, make_smartbot, make_cheatbot])
def test_bots_of_hanabi(engine_on, ptx_device, make):
    game = make_game()
    engine = engine_on(game, PaperDevice())
    engine._device = ptx_device
    make(game).choose(engine, 0, np.arange(3), make(game).initial_memory(3))
    assert ptx_device.names == {"choose_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_a_bot_that_takes_note(engine_on, ptx_device):
    engine = engine_on(nim(), PaperDevice())
    engine._device = ptx_device
    agent = KernelAgent("counting", COUNTING)
    agent.choose(engine, 0, np.arange(3), agent.initial_memory(3))
    agent.notice(engine, 0, np.arange(3), np.zeros(3, np.int64), agent.initial_memory(3))
    assert ptx_device.names == {"choose_rows", "notice_rows"}
    assert_hopper_code(ptx_device)


def test_kernels_of_a_notebook(engine_on, ptx_device):
    @kernel
    def legal_below(state, i, seat, mask):
        for action in range(3):
            mask[action] = True

    game = nim()
    game = replace(game, rules=replace(game.rules, kernels=game.rules.kernels._replace(legal=legal_below)))
    engine = engine_on(game, PaperDevice())
    engine._device = ptx_device
    engine.load_fields(engine.fields(), check=False)
    assert ptx_device.names == {"legal_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_the_arena(engine_on, ptx_device):
    use_everything(engine_on(make_registered("Arena2P-v0"), ptx_device))
    assert ptx_device.names >= {"reset_rows", "step_rows", "observe_rows", "critic_rows", "used_rows", "redeal_rows"}
    assert_hopper_code(ptx_device)
    assert not any("fma.rn.f64" in ptx for ptx in ptx_device.launched.values()), "rounds as the CPU does"


@pytest.mark.slow
@pytest.mark.parametrize("style", ["random", "rusher"])
def test_styles_of_the_arena(engine_on, ptx_device, style):
    game = make_registered("Arena2P-v0")
    engine, agent = engine_on(game, PaperDevice()), make_agent(f"arena/{style}", game)
    engine._device = ptx_device
    agent.choose(engine, 0, np.arange(3), agent.initial_memory(3))
    assert ptx_device.names == {"choose_heads_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_texas_42(engine_on, ptx_device):
    use_everything(engine_on(make_registered("Texas42Play-v0"), ptx_device))
    assert ptx_device.names >= {"reset_rows", "step_rows", "observe_rows", "pack_bits", "redeal_rows", "legal_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_the_auction_of_texas_42(engine_on, ptx_device):
    engine = engine_on(make_registered("Texas42-v0"), PaperDevice())
    engine._device = ptx_device
    engine.step(np.zeros(3, np.int64))
    assert ptx_device.names == {"first_illegal", "step_rows"}
    assert_hopper_code(ptx_device)
