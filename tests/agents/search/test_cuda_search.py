"""Rollouts on a GPU return what those on the CPU do; here in Numba's simulator, which must be chosen before Numba is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ludory.agents.make import make_agent
from ludory.agents.search.belief import Draw
from ludory.agents.search.blueprint import make_blueprint
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.errors import OptionError

GAME = "HanabiTiny2P-v0"
ON_CUDA = """
import sys
import numpy as np
from ludory.agents.make import make_agent
from ludory.agents.search.belief import Draw
from ludory.agents.search.blueprint import make_blueprint
from ludory.envs.make import make_game

game, stored = make_game(sys.argv[1]), np.load(sys.argv[3])
blueprint = make_blueprint(make_agent(sys.argv[2], game), game, "test", "cuda")
returns = blueprint.play(Draw(stored["worlds"], stored["memories"]), stored["legal"], int(stored["seat"]))
print((returns == stored["returns"]).all())
"""


@pytest.mark.slow
@pytest.mark.parametrize("bot", ["hanabi/smartbot", "hanabi/iggi"])
def test_rollouts_return_the_same_bit_for_bit(bot: str, tmp_path: Path) -> None:
    game = make_game(GAME)
    engine, blueprint = KernelEngine(game, 3, seed=4), make_blueprint(make_agent(bot, game), game, "test")
    engine.reset()
    memories = blueprint.no_memory(3)
    for move in range(3):
        records, seat = engine.records, move % 2
        actions = [blueprint.move(records[k : k + 1], seat, memories[k]) for k in range(3)]
        for k, action in enumerate(actions):
            blueprint.noticed(records[k : k + 1], seat, action, memories[k : k + 1])
        engine.step(np.array(actions))
    legal = np.flatnonzero(engine.legal().all(0))
    returns = blueprint.play(Draw(engine.records.copy(), memories), legal, 1)
    assert len(np.unique(returns)) > 1, "some actions are better than others"
    file = tmp_path / "worlds.npz"
    np.savez(file, worlds=engine.records, memories=memories, legal=legal, returns=returns, seat=1)
    simulator = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", ON_CUDA, GAME, bot, str(file)]
    found = subprocess.run(command, env=simulator, capture_output=True, text=True)
    assert found.stdout.strip() == "True", found.stderr


def test_where_a_search_can_not_be_played_is_said() -> None:
    with pytest.raises(OptionError, match="joint=True"):
        make_agent("sparta(hanabi/smartbot, joint=True, device='cuda')", "Hanabi2P-v0")
    with pytest.raises(OptionError, match="device='tpu': must be 'cpu', 'cuda' or"):
        make_agent("sparta(hanabi/smartbot, device='tpu')", "Hanabi2P-v0")
