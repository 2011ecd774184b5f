"""`Autoreset`: a batch of games that goes on and on, in fixed tensors: games that end start anew in the same step.

On a GPU a step is one launch, and nothing waits for the host, so that many steps can be captured as a CUDA graph. Elsewhere the same steps
are calls of the engine, with the same results bit for bit. Observations and masks stay bits. A step of N games moves, in bytes of the GPU's memory,
about twice the state (read and written), N * ceil(size / 32) words of observation, N * ceil(A / 8) of legal bits, and 4 P + 27 a game of
rewards, ends, seats and actions; see `Autoreset.step_bytes`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.envs.chance import hash_rows
from ludory.errors import OptionError

from . import checks
from .cuda_engine import CudaEngine, TurnArrays, shown_bits
from .storage import own_fields, record_dtype

if TYPE_CHECKING:
    from .protocol import Engine

NO_FAULT = 1 << 62
"""What a fault of `TurnArrays` holds while there is none."""


class Autoreset:
    """Plays `steps` steps of every game into tensors with an axis of steps, again and again.

    T steps of N games, P seats, S decisions a turn (1, or P where all seats move at once), H heads, A actions. Step t reads or draws actions[t],
    plays them, writes rewards[t] and ends[t], starts games anew that are over (as Gymnasium's `AutoresetMode.SAME_STEP`), and writes what the next
    deciders see to entry t + 1. After the last step, `again` moves entry T to the beginning.

    Args:
        engine: with every game started; CPU or CUDA.
        steps: T.
        seed: of drawn actions.

    Raises:
        OptionError: the game has continuous actions.
    """

    def __init__(self, engine: Engine, steps: int = 1, seed: int = 0) -> None:
        facts, count = engine.facts, engine.num_games
        if facts.box is not None:
            raise OptionError(f"{facts.name}: Autoreset needs actions with heads, this game has continuous ones")
        self.engine, self.facts, self.steps = engine, facts, steps
        self._cuda = engine if isinstance(engine, CudaEngine) else None
        where = torch.as_tensor(engine.state.to_move).device
        players, spec = facts.players, facts.observation
        each = players if facts.simultaneous else 1
        width, entry = (-(-spec.size // 32), "int32") if spec.bits else (spec.size, spec.dtype)

        def made(*shape: int, dtype: str) -> Tensor:
            return torch.zeros(shape, dtype=getattr(torch, dtype), device=where)

        heads = () if len(facts.heads) == 1 and not facts.simultaneous else (len(facts.heads),)
        self.actions = made(steps, count, *((players,) if facts.simultaneous else ()), *heads, dtype="int64")
        """int64 [T, N], [T, N, H] or [T, N, P, H], as `Engine.step` takes them."""
        self.rewards = made(steps, count, players, dtype="float32")
        """float32 [T, N, P]."""
        self.ends = made(steps, 3, count, dtype="int8")
        """int8 [T, 3, N]: terminated, truncated, and the seat to move at the end, before a game starts anew."""
        self.seats = made(steps + 1, count, dtype="int64")
        """int64 [T + 1, N], the seat to move."""
        self.legal = made(steps + 1, count * each, -(-facts.num_actions // 8), dtype="uint8")
        """uint8 [T + 1, N * S, ceil(A / 8)], legal masks as bits."""
        self._seen = made(steps + 1, count * each, width, dtype=entry)
        self._finals = made(steps, count * players, width, dtype=entry)
        self._faults = made(steps, 1, dtype="int64").fill_(NO_FAULT)
        keys = hash_rows(checks.checked_seed(seed), np.arange(count))
        self.streams = torch.stack([torch.as_tensor(keys, device=where), made(count, dtype="int64")])
        """int64 [2, N]: key and counter of each game's drawn actions."""
        self._turns = [self._arrays(t) for t in range(steps)]
        self.look()

    @property
    def step_bytes(self) -> int:
        """Bytes that a step of all games must read and write, if each is moved once."""
        state = 2 * record_dtype(own_fields(self.engine.game.rules.fields)).itemsize * self.engine.num_games
        moved = (self.actions, self.rewards, self.ends, self.seats[1:], self.legal[1:], self._seen[1:])
        return state + sum(part[0].nbytes for part in moved) + 2 * self.engine.num_games * self.facts.num_actions

    @property
    def masks(self) -> Tensor:
        """Bool (N * S, A): legal masks of the decisions to come."""
        if self._cuda is not None:
            return self._cuda.masks.flatten(0, 1)
        return torch.as_tensor(self.engine.legal()).flatten(0, -2)

    def observations(self, step: int | slice) -> Tensor:
        """What the deciders of a step see, or of several: bits uint8 [N * S, ceil(size / 8)], or floats [N * S, size]; a view."""
        return self._shown(self._seen[step])

    def finals(self, steps: Tensor, games: Tensor, seats: Tensor) -> Tensor:
        """What `seats` saw at the end of `games` that were truncated in `steps`, (m,) each; as `observations`."""
        return self._shown(self._finals)[steps, games * self.facts.players + seats]

    def _shown(self, entries: Tensor) -> Tensor:
        return shown_bits(entries, self.facts.observation) if self.facts.observation.bits else entries.float()

    def _arrays(self, step: int, first: bool = False) -> TurnArrays:
        """Where `step` writes; first: what is seen goes to the first entry."""
        to = 0 if first else step + 1
        parts = self.actions[step], self.rewards[step], self.ends[step], self.seats[to], self.legal[to], self._seen[to]
        return TurnArrays(*parts, self._finals[step], self._faults[step], self.streams)

    def again(self) -> None:
        """Begin again at step 0, where the last step ended."""
        for entries in (self.seats, self.legal, self._seen):
            entries[0].copy_(entries[-1])

    def look(self) -> None:
        """Write what the deciders see to the first entry; for games that were changed from outside."""
        self._look(self._arrays(0, first=True))

    def step(self, step: int, draw: bool = False) -> None:
        """Play actions[step], or uniform legal actions, which are written there.

        Raises:
            IllegalActionError: on the CPU, at once; on a GPU see `check`.
        """
        turn = self._turns[step]
        if self._cuda is not None:
            self._cuda.turn(turn, draw=draw)
            return
        engine = self.engine
        if draw:
            turn.actions.copy_(self._drawn().view_as(turn.actions))
        engine.step(turn.actions.numpy())
        turn.rewards.copy_(torch.as_tensor(engine.rewards))
        for row, values in enumerate((engine.terminated, engine.truncated, engine.state.to_move)):
            turn.ends[row].copy_(torch.as_tensor(values))
        over = np.asarray(engine.terminated | engine.truncated)
        cut = np.flatnonzero(engine.truncated & ~engine.terminated)
        for seat in range(self.facts.players if len(cut) else 0):
            turn.finals[cut * self.facts.players + seat] = self._entries(engine.observe(seat, rows=cut))
        if over.any():
            engine.reset(rows=over)
        self._look(turn)

    def check(self) -> None:
        """Check that all actions since the last check were legal; on a GPU this waits for the steps.

        Raises:
            IllegalActionError: as `Engine.step`; games of later steps are of no use.
        """
        if self._cuda is None or not bool((faults := self._faults[:, 0].cpu() != NO_FAULT).any()):
            return
        step = int(faults.int().argmax())
        found = int(self._faults[step])
        self._faults.fill_(NO_FAULT)
        count, players = self.engine.num_games, self.facts.players if self.facts.simultaneous else 1
        bits = np.unpackbits(self.legal[step].cpu().numpy(), axis=1)[:, : self.facts.num_actions]
        cube = self.actions[step].cpu().numpy().reshape(count, players, len(self.facts.heads))
        masks, seats = bits.astype(bool).reshape(count, players, -1), self.seats[step].cpu().numpy()
        raise checks.illegal_action(self.engine.game, found, np.arange(count), cube, masks, seats)

    def _look(self, turn: TurnArrays) -> None:
        if self._cuda is not None:
            self._cuda.turn(turn, play=False, restart=False)
            return
        engine = self.engine
        turn.seats.copy_(torch.as_tensor(engine.state.to_move))
        turn.legal.copy_(torch.from_numpy(np.packbits(engine.legal().reshape(len(turn.legal), -1), axis=1)))
        turn.seen.copy_(self._entries(engine.observe()))

    def _entries(self, seen: NDArray[Any]) -> Tensor:
        """Observations as `TurnArrays.seen` holds them."""
        flat = seen.reshape(-1, self.facts.observation.size)
        if not self.facts.observation.bits:
            return torch.from_numpy(np.ascontiguousarray(flat))
        packed = np.packbits(flat, axis=1)
        padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 4)))
        return torch.from_numpy(padded.view(np.int32))

    def _drawn(self) -> Tensor:
        """Uniform legal actions (N, S, H), as `draw_actions` in `batch_cuda.py` draws them: of finished games, too, which take none there."""
        engine, facts = self.engine, self.facts
        masks = np.asarray(engine.legal()).reshape(engine.num_games, -1, facts.num_actions)
        streams, offsets = self.streams.numpy(), checks.head_offsets(facts)
        actions = np.empty((*masks.shape[:2], len(facts.heads)), np.int64)
        half = np.uint64(32)
        for s in range(masks.shape[1]):
            for head, (low, high) in enumerate(pairwise(offsets)):
                legal = masks[:, s, low:high]
                bits = hash_rows(streams[0], streams[1]).view(np.uint64) >> half
                nth = (bits * legal.sum(1, dtype=np.uint64)) >> half
                # the place where so many legal values were counted, and one more
                actions[:, s, head] = (legal.cumsum(1) > nth.astype(np.int64)[:, None]).argmax(1)
                streams[1] += 1
        return torch.from_numpy(actions)
