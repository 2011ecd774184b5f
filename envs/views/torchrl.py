"""TorchRL view: a batch of games as an `EnvBase`, with legal masks."""

from __future__ import annotations

from math import isfinite
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical, TensorSpec, Unbounded
from torchrl.envs import EnvBase

from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.envs.seats.opponents import Others, Seats

from .common import CopiedWhole
from .gymnasium_vector import GameVectorEnv, make_vector_env

DTYPES = {"uint8": torch.uint8, "float32": torch.float32}


def make_torchrl(
    game: str | Game,
    num_envs: int = 1,
    *,
    device: str = "cpu",
    seats: Seats = None,
    others: Others | None = None,
    illegal: str = "lose",
    **options: Any,
) -> TorchRLEnv:
    """Make a TorchRL environment of a game, given as an id with options or as a `Game`; arguments as for `make_vector_env`."""
    games = make_vector_env(
        game,
        num_envs,
        device=device,
        autoreset_mode=AutoresetMode.DISABLED,
        seats=seats,
        others=others,
        illegal=illegal,
        **options,
    )
    return TorchRLEnv(games)


class TorchRLEnv(CopiedWhole, EnvBase):  # type: ignore[misc]  # torchrl has no types where it is absent
    """n games that one policy plays, batch size (n,). Tensors share the memory of what the engine returned.

    `observation` is (n, *shape); `action_mask` bool (n, A) says which actions are legal, as TorchRL's transform `ActionMask` and its
    `MaskedCategorical` read it. `action` is int64 (n,) for one head, (n, H) for several and float32 (n, D) for continuous actions.
    Random actions of `rand_action`, and so `rollout` without a policy, are legal. `set_seed(s)` makes the next reset start game k of
    seed s in row k. Finished games are reset by TorchRL (`step_and_maybe_reset`, `rollout`, collectors).

    Args:
        games: with autoreset mode DISABLED; `make_torchrl` makes it.
    """

    def __init__(self, games: GameVectorEnv) -> None:
        super().__init__(device=torch.device(games.engine.device), batch_size=[games.num_envs])
        self.games = games
        self._next_seed: int | None = None
        count, facts = games.num_envs, games.facts
        self.observation_spec = Composite(
            observation=_observation_spec(facts, count),
            action_mask=Binary(shape=(count, facts.num_actions), dtype=torch.bool),
            shape=(count,),
        ).to(self.device)
        self.action_spec = _action_spec(facts, count).to(self.device)
        self.reward_spec = Unbounded(shape=(count, 1), device=self.device)
        end = Categorical(2, shape=(count, 1), dtype=torch.bool)
        self.done_spec = Composite(done=end, terminated=end.clone(), truncated=end.clone(), shape=(count,)).to(
            self.device
        )

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDict:
        options = {}
        part = None if tensordict is None else tensordict.get("_reset", None)
        if part is not None:
            chosen = part.reshape(self.batch_size)
            if not bool(chosen.all()):
                options["reset_mask"] = chosen if self.device.type == "cuda" else chosen.numpy()
        seed, self._next_seed = self._next_seed, None
        observations, info = self.games.reset(seed=None if options else seed, options=options)
        ended = torch.zeros((*self.batch_size, 1), dtype=torch.bool, device=self.device)
        return self._seen(observations, info, done=ended, terminated=ended.clone(), truncated=ended.clone())

    def _step(self, tensordict: TensorDictBase) -> TensorDict:
        action = tensordict["action"]
        observations, rewards, terminated, truncated, info = self.games.step(
            action if self.device.type == "cuda" else action.numpy()
        )
        ends = [torch.as_tensor(part).unsqueeze(-1) for part in (terminated | truncated, terminated, truncated)]
        reward = torch.as_tensor(rewards).unsqueeze(-1)
        return self._seen(observations, info, reward=reward, done=ends[0], terminated=ends[1], truncated=ends[2])

    def _seen(self, observations: Any, info: dict[str, Any], **rest: Tensor) -> TensorDict:
        mask = torch.as_tensor(info["action_mask"]).view(torch.bool)
        if self.games.facts.box is None:
            self.action_spec.update_mask(mask)
        content = {"observation": torch.as_tensor(observations), "action_mask": mask, **rest}
        return TensorDict(content, self.batch_size, device=self.device)

    def _set_seed(self, seed: int | None) -> None:
        self._next_seed = seed

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the engine, which may own processes."""
        if not self.is_closed:
            self.games.close()
        super().close(raise_if_closed=raise_if_closed)


def _observation_spec(facts: GameFacts, count: int) -> TensorSpec:
    spec, shape = facts.observation, (count, *facts.observation.shape)
    dtype = DTYPES[spec.dtype]
    if isfinite(spec.low) and isfinite(spec.high):
        return Bounded(spec.low, spec.high, shape=shape, dtype=dtype)
    return Unbounded(shape=shape, dtype=dtype)


def _action_spec(facts: GameFacts, count: int) -> TensorSpec:
    if facts.box is not None:
        low, high = (torch.tensor(end).expand(count, -1) for end in facts.box)
        return Bounded(low, high, shape=(count, facts.action_size), dtype=torch.float32)
    if len(facts.heads) == 1:
        return Categorical(facts.num_actions, shape=(count,), dtype=torch.int64)
    return MultiCategorical(facts.head_sizes, shape=(count, len(facts.heads)), dtype=torch.int64)
