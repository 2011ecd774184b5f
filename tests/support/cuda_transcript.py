"""What engines of two devices must agree on, written down as arrays: `transcript` of one engine, cases to write it for.

Run as a script inside Numba's CUDA simulator, it writes the transcripts of the CUDA engine to a file (see `test_cuda_sim.py`).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from games.elimination import STANDOFF
from games.nim import matching, nim
from numpy.typing import NDArray
from support.golden_hanabi import FILES, differences, load, to_numpy

from ludory.agents.agent import BotKernels, KernelAgent
from ludory.agents.hanabi.bots.agents import make_iggi, make_piers
from ludory.envs.engine.autoreset import Autoreset
from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.envs.hanabi import make_game
from ludory.envs.kernels import kernel
from ludory.errors import LudoryError

Transcript = dict[str, NDArray[Any]]
MakeEngine = Callable[..., Engine]

TINY = {"players": 2, "colors": 2, "ranks": 2, "hand_size": 2}
SMALL = {"players": 3, "colors": 2, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}

STEPS = 7
"""Of games that go on and on."""
GOLDEN_SAMPLE = 1
"""Games that the simulator replays of every golden file, spread evenly."""


@kernel
def counting_choose(state, i, seat, memory):
    """Takes one stick from a heap that depends on what it has noticed."""
    heaps = state.heaps.shape[1]
    heap = int(memory[0] + memory[1]) % heaps
    while int(state.heaps[i, heap]) == 0:
        heap = (heap + 1) % heaps
    return 2 * heap


@kernel
def counting_notice(state, i, seat, action, memory):
    """Remembers the number of moves and the last one."""
    memory[0] += 1
    memory[1] = action


COUNTING = BotKernels(counting_choose, counting_notice, 2)


class Case(NamedTuple):
    """A game, how many games and moves of it are played, who chooses the moves, and reset options."""

    game: Game
    games: int
    moves: int
    agent: KernelAgent | None = None
    options: dict[str, Any] | None = None


def cases() -> dict[str, Case]:
    """By name."""
    tiny, belief = make_game(**TINY, random_start_player=True), make_game(**TINY, observation="v0_belief")
    small = make_game(**SMALL)
    return {
        "tiny": Case(tiny, 5, 6, options={"deck_prefix": [0, 1, 2]}),
        "belief": Case(belief, 3, 5, make_piers(belief)),
        "small": Case(small, 3, 6, make_iggi(small)),
        "full": Case(make_game(), 3, 2),
        "nim": Case(nim(limit=5), 5, 7, KernelAgent("counting", COUNTING), {"heaps": [1, 2, 2]}),
        "matching": Case(matching(rounds=3), 5, 4),
        "standoff": Case(STANDOFF, 6, 5),
    }


def transcript(make_engine: MakeEngine, case: Case) -> Transcript:
    """All that can be seen of `case.games` games: played on, restarted, stepped in part, copied, dealt anew, misused."""
    engine, notes = make_engine(case.game, case.games, seed=11, first_game=3), Transcript()
    _note_error(notes, "step before reset", lambda: engine.step(_first_legal(engine)))
    engine.reset(options=case.options)
    memories = [case.agent.initial_memory(case.games) for _ in range(case.game.facts.players)] if case.agent else []
    for move in range(case.moves):
        _note(notes, f"move {move}", engine)
        if move % 4 == 3:
            over = engine.terminated | engine.truncated
            engine.reset(over)
            for memory in memories:
                memory[to_numpy(over)] = 0
        if case.agent:
            _play_with_bots(notes, f"bots {move}", engine, case.agent, memories)
        else:
            engine.step(_random_legal(engine, move))
    _note_parts(notes, engine)
    _note_errors(notes, engine)
    return notes


def after_restore(engine: Engine, file: Path) -> Transcript:
    """What a restored engine says, now and after a move."""
    engine.restore(file)
    notes = Transcript()
    _note(notes, "restored", engine)
    engine.step(_random_legal(engine, 99))
    _note(notes, "after restored", engine)
    return notes


def _note(notes: Transcript, when: str, engine: Engine) -> None:
    facts = engine.facts
    seen: dict[str, Any] = {**engine.fields(), "legal": engine.legal(), "mover": engine.to_move}
    seen |= {
        f"ends {name}": getattr(engine, name)
        for name in ("rewards", "terminated", "truncated", "alive", "seat_terminated")
    }
    for seat in (None, *range(facts.players)):
        if facts.observation.bits:
            seen[f"packed {seat}"] = engine.observe(seat, packed=True)
        if seat is None or not facts.observation.bits:  # the simulator is slowest at what is not packed
            seen[f"seat {seat}"] = engine.observe(seat)
    notes |= {f"{when}: {name}": to_numpy(values).copy() for name, values in seen.items()}


def _note_parts(notes: Transcript, engine: Engine) -> None:
    """Rows of a batch, copies of it, and games dealt anew."""
    rows, seats = [2, 0], np.arange(engine.num_games) % engine.facts.players
    engine.step(_random_legal(engine, 50)[rows], rows=rows)
    _note(notes, "two stepped", engine)
    _note_training(notes, engine, rows)
    notes["two observed"] = to_numpy(engine.observe(seat=[1, 0], rows=rows))
    picked = engine.gather([1, 1, 0])
    picked.step(_random_legal(picked, 51))
    _note(notes, "picked", picked)
    copy = engine.clone()
    if engine.game.rules.kernels.redeal:
        copy.redeal(seats, seed=5)
        _note(notes, "dealt anew", copy)
    copy.reset(seed=21)
    _note(notes, "seeded anew", copy)
    _note_on_and_on(notes, copy)
    _note(notes, "not touched", engine)


def _note_on_and_on(notes: Transcript, engine: Engine) -> None:
    """Games that start anew where they end: one launch a step on CUDA, with drawn actions and with given ones."""
    seen = engine.play(_random_legal(engine, 53), packed=engine.facts.observation.bits)
    notes |= {f"played: {name}": to_numpy(array).copy() for name, array in seen._asdict().items()}
    turns = Autoreset(engine, steps=STEPS, seed=8)
    for step in range(STEPS - 1):
        turns.step(step, draw=True)
    turns.actions[-1].copy_(torch.as_tensor(_random_legal(engine, 54)))
    turns.step(STEPS - 1)
    turns.check()
    kept = ("actions", "rewards", "ends", "seats", "legal", "streams")
    notes |= {f"on and on: {name}": to_numpy(getattr(turns, name)).copy() for name in kept}
    notes["on and on: seen"] = to_numpy(turns.observations(slice(None))).copy()
    cut = (turns.ends[:, 1] > turns.ends[:, 0]).nonzero(as_tuple=True)
    for seat in range(engine.facts.players):
        notes[f"on and on: last of {seat}"] = to_numpy(turns.finals(*cut, torch.full_like(cut[0], seat))).copy()
    _note(notes, "on and on", engine)


def _note_training(notes: Transcript, engine: Engine, rows: list[int]) -> None:
    """What only learners ask for."""
    facts, played = engine.facts, _random_legal(engine, 52)
    asked = {
        "used": engine.used(played),
        "used by two": engine.used(played[rows], rows=rows),
        "used by a seat": engine.used(played[:, 1, : len(facts.heads)] if facts.simultaneous else played, seat=1),
        "critic": engine.critic(),
        "critic of a seat": engine.critic(seat=1, rows=rows),
    }
    if facts.critic_spec.bits:
        asked["critic packed"] = engine.critic(packed=True)
    notes |= {name: to_numpy(values) for name, values in asked.items()}


def _note_errors(notes: Transcript, engine: Engine) -> None:
    engine.reset()
    legal, outside = _first_legal(engine), _first_legal(engine)
    outside[1] = 99
    wrong = {
        "illegal": lambda: engine.step(_illegal(engine)),
        "outside": lambda: engine.step(outside),
        "negative": lambda: engine.step(-1 - legal),
        "wrong shape": lambda: engine.step(legal[:-1]),
        "floats": lambda: engine.step(legal.astype(np.float32)),
        "rows outside": lambda: engine.observe(rows=[99]),
        "rows twice": lambda: engine.reset([1, 1]),
        "no such seat": lambda: engine.observe(seat=9),
        "wrong seed": lambda: engine.reset(seed=-1),
        "wrong option": lambda: engine.reset(options={"no such": 1}),
    }
    for name, call in wrong.items():
        _note_error(notes, name, call)
    _note(notes, "after errors", engine)


def _note_error(notes: Transcript, name: str, call: Callable[[], Any]) -> None:
    try:
        call()
        message = "nothing was raised"
    except LudoryError as error:
        message = f"{type(error).__name__}: {error}"
    notes[f"error, {name}"] = np.array(message)


def _play_with_bots(notes: Transcript, when: str, engine: Engine, agent: KernelAgent, memories: list[Any]) -> None:
    to_move = to_numpy(engine.to_move)
    actions = np.zeros(engine.num_games, np.int64)
    for seat in range(engine.facts.players):
        rows = np.flatnonzero(to_move == seat)
        actions[rows] = to_numpy(agent.choose(engine, seat, rows, memories[seat]))
    running = np.flatnonzero(to_move >= 0)
    for seat, memory in enumerate(memories):
        agent.notice(engine, seat, running, actions[running], memory)
        notes[f"{when}: memory {seat}"] = to_numpy(memory).copy()
    notes[f"{when}: actions"] = actions
    engine.step(actions)


def _random_legal(engine: Engine, seed: int) -> NDArray[np.int64]:
    """One legal value of each head, as `Engine.step` takes them."""
    legal, generator = to_numpy(engine.legal()), np.random.default_rng(seed)
    return _picked(engine, np.where(legal, generator.random(legal.shape), -1))


def _first_legal(engine: Engine) -> NDArray[np.int64]:
    return _picked(engine, to_numpy(engine.legal()).astype(float))


def _illegal(engine: Engine) -> NDArray[np.int64]:
    """Legal values, but for the first illegal value of the last game that has one."""
    actions, legal = _first_legal(engine), to_numpy(engine.legal())
    place = np.argwhere(~legal)[-1] if not legal.all() else np.zeros(legal.ndim, int)
    offset = np.cumsum((0, *engine.facts.head_sizes))
    head = int(np.searchsorted(offset, place[-1], "right")) - 1
    where = (*place[:-1], head) if len(engine.facts.heads) > 1 else tuple(place[:-1])
    actions[where] = place[-1] - offset[head]
    return actions


def _picked(engine: Engine, scores: NDArray[Any]) -> NDArray[np.int64]:
    edges = np.cumsum(engine.facts.head_sizes)[:-1]
    actions = np.stack([part.argmax(-1) for part in np.split(scores, edges, axis=-1)], axis=-1)
    return actions if len(engine.facts.heads) > 1 else actions[..., 0]


def main(folder: Path) -> None:
    """Write `folder`/<case>.npz with the transcripts of the CUDA engine, and the differences from the golden games.

    Restores `folder`/<case>.cpu.state, which a CPU engine saved, and saves `folder`/<case>.cuda.state for one to restore.
    """
    from ludory.envs.engine.cuda_engine import CudaEngine

    class InOneLaunch(CudaEngine):
        """Steps of all games are those of `play`."""

        def step(self, actions: Any, rows: Any = None) -> None:
            if rows is None:
                self.play(actions, packed=True)
            else:
                super().step(actions, rows)

    sys.setswitchinterval(5e-4)  # the simulator's threads are many and wait for one another in loops
    for name, case in cases().items():
        notes = transcript(CudaEngine, case)
        restored = CudaEngine(case.game, 1)
        notes |= after_restore(restored, folder / f"{name}.cpu.state")
        restored.save(folder / f"{name}.cuda.state")
        np.savez(folder / f"{name}.npz", **notes)
    (folder / "golden.json").write_text(json.dumps({name: golden_differences(InOneLaunch, name) for name in FILES}))


def golden_differences(make_engine: MakeEngine, name: str) -> list[str]:
    """Differences from a sample of the games of a golden file."""
    data = load(name)
    games = np.linspace(0, len(data["deck"]) - 1, GOLDEN_SAMPLE).astype(int)
    return differences(make_engine(make_game(**data["options"]), len(games), seed=1), data, games)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
