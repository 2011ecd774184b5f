"""Every CUDA kernel compiles to PTX for sm_90, and those of Kuhn poker for all cards, on a machine without a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from games.elimination import standoff
from games.nim import matching, nim
from games.shared import FOLLOW_THE_LEVEL
from support.cuda.paper_device import PaperDevice
from support.cuda_transcript import COUNTING

from ludory.agents.agent import KernelAgent
from ludory.agents.hanabi.bots.agents import make_cheatbot, make_piers, make_smartbot
from ludory.agents.make import make_agent
from ludory.envs.engine import cuda_engine
from ludory.envs.engine.autoreset import Autoreset
from ludory.envs.engine.cuda_device import Kernel
from ludory.envs.engine.cuda_engine import CudaEngine
from ludory.envs.game import Game
from ludory.envs.hanabi import make_game
from ludory.envs.kernels import kernel
from ludory.envs.make import make_game as make_registered
from ludory.plugins import games

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")

HOPPER = (9, 0)
OTHER_CARDS = ((7, 5), (8, 0), (8, 9), (10, 0))
"""Capabilities of T4, A100, L4 and RTX 40, B200; sm_86 runs what is made for sm_80."""
KERNELS = {
    "reset_rows",
    "first_illegal",
    "clear_rewards",
    "step_rows",
    "turn_rows",
    "observe_rows",
    "every_seat_rows",
    "turn_tiles",
    "pack_bits",
    "redeal_rows",
    "legal_rows",
}


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
    _of_hopper(monkeypatch)
    return PaperDevice(lambda kernel, types: _compiled(kernel, types).get_asm_str(cc=HOPPER))


@pytest.fixture
def all_cards(monkeypatch: pytest.MonkeyPatch) -> PaperDevice:
    """Compiles each kernel to LLVM once, and from there to PTX of every architecture, which is a fourth of the work."""
    _of_hopper(monkeypatch)

    def of_all(kernel: Kernel, types: Any) -> str:
        library = _compiled(kernel, types)
        others = [library.get_asm_str(cc=capability) for capability in OTHER_CARDS]
        for (major, minor), ptx in zip(OTHER_CARDS, others, strict=True):
            assert f".target sm_{major}{minor}" in ptx
            _assert_fast(kernel.__name__, ptx)
        return library.get_asm_str(cc=HOPPER)

    return PaperDevice(of_all)


def _of_hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda import compiler, dispatcher

    for module in (compiler, dispatcher):
        monkeypatch.setattr(module, "get_current_device", lambda: SimpleNamespace(compute_capability=HOPPER))


def _compiled(kernel: Kernel, types: Any) -> Any:
    """A kernel as numba-cuda's library, which makes PTX for any capability."""
    from numba.cuda.compiler import _compile_pyfunc_with_fixup

    never = dict.fromkeys(("debug", "opt", "abi_info", "launch_bounds"))
    flags = dict.fromkeys(("lineinfo", "device", "fastmath", "forceinline", "lto"), False)
    return _compile_pyfunc_with_fixup(kernel, types, cc=HOPPER, abi="numba", **never, **flags)[0]


def use_everything(engine: CudaEngine, turns: bool = True) -> None:
    """Launch every kernel; turns: also that of whole turns, which holds all rules again and takes as long to compile as they do."""
    facts = engine.facts
    shape = (3, facts.players, len(facts.heads)) if facts.simultaneous else (3,)
    actions = np.zeros(shape, np.int64)
    engine.used(actions)
    engine.step(actions)
    engine.step(actions[:2], rows=[2, 0])
    engine.observe()
    engine.critic()
    if turns:
        Autoreset(engine).step(0, draw=True)
    if facts.observation.bits:
        engine.observe(packed=True)
    if engine.game.rules.kernels.redeal:
        engine.redeal(0, seed=1)
    engine.clone().load_fields(engine.fields(), check=False)


def assert_hopper_code(device: PaperDevice) -> None:
    for (name, _), ptx in device.launched.items():
        assert ".target sm_90" in ptx, name
        _assert_fast(name, ptx)
        tables = sum(int(size) for size in re.findall(r"^\.const .*\[(\d+)\]", ptx, re.MULTILINE))
        assert tables <= 65536, f"{name} has {tables} bytes of constants, a GPU takes 65536"


def _assert_fast(name: str, ptx: str) -> None:
    assert ".visible .entry" in ptx, name
    assert "call" not in ptx, f"{name} calls what was not inlined"
    assert ".local" not in ptx, f"{name} keeps arrays in slow memory"


@pytest.mark.slow
def test_all_kernels_of_kuhn_poker_for_all_cards(engine_on, all_cards):
    """A game with chance and hidden cards."""
    use_everything(engine_on(make_registered("KuhnPoker-v0"), all_cards))
    assert all_cards.names == KERNELS
    assert_hopper_code(all_cards)


@pytest.mark.slow
def test_hanabi(engine_on, ptx_device):
    """The kernel of whole turns holds all rules but that of `redeal`."""
    engine = engine_on(make_game(), PaperDevice())
    engine._device = ptx_device
    Autoreset(engine)
    engine.redeal(0, seed=1)
    assert ptx_device.names == {"turn_rows", "redeal_rows", "legal_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
@pytest.mark.parametrize("make", [nim, matching, lambda: FOLLOW_THE_LEVEL], ids=["no bits", "at once", "shared arrays"])
def test_a_turn_of_other_kinds_of_games(engine_on, ptx_device, make):
    engine = engine_on(make(), PaperDevice())
    engine._device = ptx_device
    Autoreset(engine)
    assert ptx_device.launches == ["turn_rows"]
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
    assert full.names == KERNELS


@pytest.mark.slow
def test_used_heads_and_critics_of_a_game_with_elimination(engine_on, ptx_device):
    use_everything(engine_on(standoff(), ptx_device))
    assert ptx_device.names >= {"used_rows", "critic_rows", "step_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_piers, make_smartbot, make_cheatbot])
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
    # the observation that has all others but the small ones in it
    use_everything(engine_on(make_registered("Arena2P-v0", observation="evasive"), ptx_device), turns=False)
    assert ptx_device.names >= {"reset_rows", "step_rows", "observe_rows", "critic_rows", "used_rows", "redeal_rows"}
    assert_hopper_code(ptx_device)
    assert not any("fma.rn.f64" in ptx for ptx in ptx_device.launched.values()), "rounds as the CPU does"


@pytest.mark.slow
@pytest.mark.parametrize("style", ["random", "rusher", "duelist"])
def test_styles_of_the_arena(engine_on, ptx_device, style):
    game = make_registered("Arena2P-v0")
    engine, agent = engine_on(game, PaperDevice()), make_agent(f"arena/{style}", game)
    engine._device = ptx_device
    agent.choose(engine, 0, np.arange(3), agent.initial_memory(3))
    assert ptx_device.names == {"choose_heads_rows"}
    assert_hopper_code(ptx_device)


@pytest.mark.slow
def test_texas_42(engine_on, ptx_device):
    engine = engine_on(make_registered("Texas42-v0"), PaperDevice())
    engine._device = ptx_device
    engine.reset()
    engine.step(np.zeros(3, np.int64))
    engine.observe()
    engine.redeal(0, seed=1)
    assert ptx_device.names >= {"reset_rows", "step_rows", "observe_rows", "redeal_rows", "legal_rows"}
    assert_hopper_code(ptx_device)
