"""`AZ`: a network that learns from its own tree search, as AlphaZero does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from typing_extensions import Unpack

from ludory.agents import NeuralAgent, PolicySpec
from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.search import az
from ludory.agents.search.az import NetworkSearch, check_game
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.config import linear
from ludory.algorithms.keywords import AZKeywords
from ludory.algorithms.running.optimiser_state import load_adam, make_adam, save_adam
from ludory.algorithms.running.threads import precise
from ludory.algorithms.sampling.renaming import gather_bits
from ludory.envs import Engine, EnvLike, make_engine
from ludory.errors import OptionError

from .az_config import AZConfig
from .az_self_play import LearntPositions, TreeSelfPlay


class AZ(Algorithm):
    """AlphaZero for games of two seats in which nothing is hidden: self-play by tree search, whose results the network learns.

    The network's logits learn the search's improved policy, its value the result of the game for the seat to move. The search is
    that of Gumbel AlphaZero, which improves the policy with few simulations (Danihelka et al. 2022); the training is that of Silver et
    al. (2018), "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play".

    Args:
        policy: "auto": conv for games that show planes, else mlp.
        env, config: as `Algorithm`.

    Raises:
        OptionError: the game has more or fewer than two seats, chance, hidden information or simultaneous moves.
    """

    id = "az-v1"
    config_class: ClassVar[type[AZConfig]] = AZConfig
    search_space: ClassVar[Mapping[str, str]] = {
        "learning_rate": "5e-4..5e-3",
        "simulations": "8,16,32,64",
        "value_scale": "0.1,0.25,0.5,1.0",
        "n_epochs": "1,2,4",
        "batch_size": "256,512,1024",
    }
    config: AZConfig

    def __init__(
        self,
        policy: str | PolicySpec = "auto",
        env: EnvLike | None = None,
        **config: Unpack[AZKeywords],
    ) -> None:
        super().__init__(policy, env, **config)

    def _suited_policy(self, policy: str | PolicySpec) -> str | PolicySpec:
        """Convolutions for planes, unless the game or the config asks for another network."""
        facts, config = self.game.facts, self.config
        plain = facts.network is None and not (config.hidden or config.activation or config.separate_value)
        return (
            "conv"
            if policy == "auto" and plain and len(facts.observation.shape) == 3
            else super()._suited_policy(policy)
        )

    def _open_source(self) -> None:
        """Open the games, which are played on the CPU."""
        check_game(self.game, self.id)
        config = self.config
        if config.buffer_size < config.num_envs * self.game.facts.longest_game:
            raise OptionError(
                f"buffer_size={config.buffer_size}: {config.num_envs} games of {self.game.name}, of up to {self.game.facts.longest_game} moves, "
                f"do not fit; take {config.num_envs * self.game.facts.longest_game} or more, or a smaller num_envs"
            )
        self.engine: Engine = make_engine(self.game, config.num_envs, seed=config.seed)
        self.replay: LearntPositions | None = None

    def setup(self) -> None:
        """Make search and optimiser."""
        config = self.config
        self.search = NetworkSearch(self.game, self.policy, config.simulations, config.considered, config.value_scale)
        self.self_play = TreeSelfPlay(self.engine, self.search, config.random_moves)
        self.optimizer = make_adam(self.policy.parameters(), config.learning_rate)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """`n_steps` moves of all games, then gradient steps on positions drawn from the replay."""
        config = self.config
        played = self.self_play.play(config.n_steps, self.generator, on_step)
        if played is None:
            return None
        most = config.buffer_size // config.num_envs
        self.replay = played if self.replay is None else self.replay.then(played, most)
        self.replay.settle()
        lengths = [episode["l"] for episode in self.ep_info_buffer]
        metrics = (
            {}
            if not lengths
            else {
                "rollout/ep_rew_mean": float(np.mean([episode["r"] for episode in self.ep_info_buffer])),
                "rollout/ep_len_mean": float(np.mean(lengths)),
            }
        )
        return metrics | self._learn(self.replay)

    def _learn(self, replay: LearntPositions) -> dict[str, float]:
        """Gradient steps; returns mean losses."""
        config = self.config
        known = (~replay.results.flatten().isnan()).nonzero().squeeze(1)
        if len(known) < config.batch_size:
            return {}
        columns = [column.flatten(0, 1) for column in replay]
        for group in self.optimizer.param_groups:
            group["lr"] = linear(config.learning_rate, config.final_learning_rate, 1 - self.progress_remaining)
            group["weight_decay"] = config.weight_decay
        steps = max(1, config.n_epochs * config.n_steps * config.num_envs // config.batch_size)
        sums = torch.zeros(4)
        for _ in range(steps):
            drawn = torch.randint(len(known), (config.batch_size,), generator=self.generator, device=self.device)
            rows = known[drawn.cpu()]
            sums += self._step(LearntPositions(*(column[rows] for column in columns)))
        names = "policy_loss", "value_loss", "entropy", "gradient_norm"
        return {f"train/{name}": float(value) for name, value in zip(names, sums / steps, strict=True)}

    def _step(self, batch: LearntPositions) -> Tensor:
        """A gradient step on m positions; returns the cross-entropy, the value's error, the entropy of the targets and the gradient's norm."""
        policy, config = self.policy, self.config
        batch = self._renamed(batch)
        results = batch.results.lerp(batch.values, config.searched_value)
        observations, masks, targets, seats, results = (
            part.to(self.device) for part in (batch.observations, batch.masks, batch.policies, batch.seats, results)
        )
        with precise(self.device, config.precision):
            output = policy(observations, None, seats.long() if policy.uses_seat else None)
        legal = unpack(masks, targets.shape[1]).bool()
        log_probs = output.logits.float().masked_fill(~legal, -torch.inf).log_softmax(-1).masked_fill(~legal, 0.0)
        targets = targets.float()
        policy_loss = -(targets * log_probs).sum(-1).mean()
        # the value is that of the seat to move
        value_loss = mse_loss(output.values.float(), torch.where(seats == 0, results, -results))
        self.optimizer.zero_grad()
        (policy_loss + config.vf_coef * value_loss).backward()
        norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), config.max_grad_norm)
        self.optimizer.step()
        entropy = -torch.special.xlogy(targets, targets).sum(-1).mean()
        return torch.stack([policy_loss, value_loss, entropy, norm]).detach().cpu()

    def _renamed(self, batch: LearntPositions) -> LearntPositions:
        """The positions under a random symmetry of the game."""
        draw = self.game.analysis.symmetry
        if draw is None or not self.config.symmetry_augmentation:
            return batch
        # the generator of the run chooses the seed, so that a resumed run draws the same symmetries
        seed = torch.randint(1 << 62, (), generator=self.generator, device=self.device)
        symmetry = draw(np.random.default_rng(int(seed)))
        entries, sources = torch.from_numpy(symmetry.observation), torch.from_numpy(np.argsort(symmetry.actions))
        seen = batch.observations
        return batch._replace(
            observations=gather_bits(seen, entries) if seen.dtype == torch.uint8 else seen[..., entries],
            masks=gather_bits(batch.masks, sources),
            policies=batch.policies[..., sources],
        )

    @property
    def planned_timesteps(self) -> int:
        """Default length of a training run."""
        return 500_000

    @property
    def step_timesteps(self) -> int:
        """As `Algorithm.step_timesteps`."""
        return self.config.num_envs

    @property
    def last_step(self) -> dict[str, Any]:
        """Empty: callbacks read no steps of a search."""
        return {}

    def watch_steps(self, watched: bool) -> None:
        """As `Learner.watch_steps`."""

    @property
    def ep_info_buffer(self) -> deque[dict[str, Any]]:
        """As `Learner.ep_info_buffer`, with the return of seat 0."""
        return self.self_play.episodes.as_deque()

    def as_agent(self, deterministic: bool = True, simulations: int = 0) -> NeuralAgent:
        """The network as an agent: alone, or with a search of so many simulations before every move.

        Args:
            deterministic: of the network alone: play its most probable action instead of a sample.
            simulations: 0: the network alone.
        """
        alone, config = super().as_agent(deterministic), self.config
        return az.make(self.game, alone, simulations, config.considered, config.value_scale) if simulations else alone

    def training_state(self) -> dict[str, Tensor]:
        """Adam's moments."""
        return save_adam(self.optimizer)

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore what `training_state` returned."""
        load_adam(self.optimizer, state)

    def _source_header(self) -> dict[str, Any]:
        return {"sampling": self.self_play.started}

    def _source_tensors(self) -> dict[str, dict[str, Tensor]]:
        games = {name: torch.as_tensor(value) for name, value in self.engine.fields().items()}
        replay = {} if self.replay is None else self.replay._asdict()
        return {"self_play": self.self_play.state(), "games": games, "replay": replay}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
        groups: dict[str, dict[str, Tensor]] = {"games": {}, "self_play": {}, "replay": {}}
        for name, tensor in tensors.items():
            group, _, rest = name.partition("/")
            groups.get(group, {})[rest] = tensor
        if not header["sampling"] or len(groups["games"]["to_move"]) != self.engine.num_games:
            return False
        self.engine.load_fields({name: tensor.numpy() for name, tensor in groups["games"].items()})
        self.self_play.restore(groups["self_play"])
        # a replay of an earlier version lacks values, and begins anew
        self.replay = (
            LearntPositions(**groups["replay"]) if set(groups["replay"]) == set(LearntPositions._fields) else None
        )
        return True
