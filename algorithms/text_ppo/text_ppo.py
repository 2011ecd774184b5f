"""`TextPPO`: PPO and GRPO for language models that play games in text."""

from __future__ import annotations

import copy
import dataclasses
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import Self

from ludory.agents.language.model import LanguageModel, load_language_model
from ludory.agents.language.small_model import make_small_model
from ludory.algorithms import Learner, LightAdamW, Ranks, ShardedModule, game_to_load, needed_game, normalise
from ludory.checkpoints import read_folder
from ludory.cluster import Workers
from ludory.envs import EnvLike
from ludory.errors import CheckpointError, OptionError, TrainingError

from . import checkpoint
from .advantages import normalised_scores
from .batch import TokenBatch
from .config import PRESETS, TextPPOConfig, make_text_ppo_config
from .filters import filter_groups
from .loss import (
    TokenCoefficients,
    TokenLoss,
    TokenOutputs,
    TokenTargets,
    importance_weights,
    token_loss,
    token_weights,
)
from .memory import SMALL, available_memory, estimate_memory, explained_shortage, shape_of
from .network import TokenNetwork, evaluate_tokens, shared_parts
from .player import EpisodeSource
from .samples import SampleKeeper, read_samples
from .targets import BatchTargets, batch_advantages, explained_variance
from .watch import Adviser, collapse_metrics, episode_metrics

LOG = logging.getLogger("ludory.text_ppo")
ITERATE, GATHER, END = "iterate", "gather", "end"
"""What the first of several processes tells the others to do."""
MOST_SKIPPED = 5
"""Iterations in a row that may be skipped because the filter leaves nothing."""
Reward = Callable[[TokenBatch], NDArray[np.float64]]


class TextPPO(Learner):
    """Trains a causal language model on the tokens that it sampled.

    A timestep is an episode, and an iteration has `groups * group_size` of them: `learn(n * model.config.episodes)` runs n iterations.
    A run depends on its options and its start alone: iterations draw from seeds, so that a resumed run has the numbers of one that was
    not interrupted (on one CPU process).

    Args:
        policy: folder of a language model, a `LanguageModel`, a pair (model, tokenizer), or "auto": the small model.
        env: id of a game with a text codec, or a `Game`.
        preset: options that the others change: "default", "spa", "ragen" or "tiny".
        **config: fields of `TextPPOConfig`.

    Raises:
        OptionError: an option is not allowed, or the game has no text.
        CheckpointError: the folder is not a model's.
        PluginError: the extra `llm` is not installed.
    """

    id: ClassVar[str] = "text-ppo-v1"
    config_class: ClassVar[type[TextPPOConfig]] = TextPPOConfig
    changeable: ClassVar[tuple[str, ...]] = (
        "iterations",
        "val_every",
        "val_first",
        "collapse_every",
        "tokens_at_once",
        "backend",
        "device",
        "samples_every",
        "devices",
        "sharding",
        "save_episodes",
        "checkpoint_dir",
        "checkpoint_every",
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS
    samples_in: ClassVar[str | None] = "lockstep"
    """As `Algorithm.samples_in`."""
    config: TextPPOConfig
    ranks: Ranks | None = None
    """As `Algorithm.ranks`."""

    def __init__(
        self,
        policy: str | Path | LanguageModel | tuple[Any, Any] = "auto",
        env: EnvLike | None = None,
        preset: str = "default",
        **config: Any,
    ) -> None:
        options = make_text_ppo_config(preset, **config)
        super().__init__(needed_game(env, self.id), options)
        self._source = policy if isinstance(policy, str | Path) else None
        model = _language_model(policy, self.game, options)
        self.start_hash = model.hash
        """SHA-256 of the weights that the run started from."""
        reference: TokenNetwork | None = None
        if self._needs_reference:
            reference = _frozen(load_language_model(options.reference).model if options.reference else model.model)
        self._begin(model, reference)

    def _begin(self, model: LanguageModel, reference: TokenNetwork | None = None) -> None:
        config = self.config
        self.model = model
        shape = shape_of(model.model)
        shared = config.value == "shared" or (config.value == "auto" and shape.parameters < SMALL)
        self.memory = estimate_memory(config, shape)
        """Estimated before the start."""
        available = available_memory(model.device)
        if available is not None and self.memory.total > available:
            LOG.warning(
                "%s; if it does not fit, lower tokens_at_once, set lora_rank or value='shared'",
                self.memory.text(available),
            )
        self._reference = None if reference is None else reference.to(model.device)
        value = ("shared" if shared else "separate") if config.has_critic else None
        self._episodes = EpisodeSource(self.game, config, model, lambda: self.network.policy_weights())
        self.network = TokenNetwork(
            model.model, value, config.temperature, config.lora_rank, config.precision == "bf16"
        ).to(model.device)
        self._spread: dict[TokenNetwork, ShardedModule] = {}
        self.optimiser = _optimiser(self.network, config)
        self.iteration = 0
        """Iterations of the run so far."""
        self.batch: TokenBatch | None = None
        """Episodes of the last iteration, with `save_episodes`."""
        self.rooms_seen: set[int] = set()
        """Hashes of the rooms that were trained on."""
        self.reward: Reward | None = None
        """Replaces what episodes are worth: a function of the batch that returns rewards (E, K) of their turns."""
        self._skipped, self._adviser = 0, Adviser()
        self.samples = SampleKeeper(config.samples_every)
        """Episodes to look at."""
        self._pad = (
            1 if model.tokenizer.pad_token_id == 0 else 0
        )  # any id: transformers warns where it finds the padding token

    @property
    def _needs_reference(self) -> bool:
        own = self.config.lora_rank > 0 and self.config.reference is None
        # with LoRA the start is still there below the matrices
        return self.config.kl > 0 and not own

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Says how much memory the run needs, before it starts; within it the processes of `config.devices` learn together."""
        LOG.info("%s", self.memory.text(available_memory(self.model.device)))
        if self.config.devices == 1:
            yield
            return
        from .together import together  # starts processes, which few runs need

        with together(self):
            yield

    @property
    def step_timesteps(self) -> int:
        """Episodes of an iteration."""
        return self.config.episodes

    @property
    def planned_timesteps(self) -> int:
        """Episodes of the planned iterations."""
        return self.config.iterations * self.config.episodes

    @property
    def last_step(self) -> dict[str, Any]:
        """The batch of the last iteration, if it is kept."""
        return {"batch": self.batch}

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """Sample episodes, choose groups, and learn from them."""
        config, began = self.config, process_time()
        metrics: dict[str, float] = {}
        self._said(ITERATE)
        if config.val_every and config.val_first and self.iteration == 0:
            metrics |= self.validate()
        with explained_shortage(config):
            batch, lag = self._sampled()
            sampled = process_time()
            metrics |= episode_metrics(batch) | {"train/policy_lag": float(lag)}
            metrics["rollout/ep_rew_mean"] = metrics["rollout/return"]  # the name that all learners have in common
            metrics |= self._learnt(batch)
        self.rooms_seen.update(int(value) for value in np.unique(batch.room_hashes))
        self.batch = batch if config.save_episodes else None
        self.iteration += 1
        metrics |= self._watched(batch, metrics)
        metrics["time/sampling_cpu_s"], metrics["time/learning_cpu_s"] = sampled - began, process_time() - sampled
        if not on_step():
            return None
        every = config.keeps_every
        if self.ranks is not None and self.ranks.rank:
            return metrics  # the first process writes
        if config.checkpoint_dir is not None and every and self.iteration % every == 0:
            self.save(Path(config.checkpoint_dir) / f"iteration_{self.iteration}")
        return metrics

    def sample_at(self, workers: Workers, samplers: int) -> Self:
        """Let workers play the episodes from now on, each with a copy of the model on its CPU, in `samplers` shares; this process learns.

        The numbers are those of one process, up to the rounding of sums. A lost worker's share is played again elsewhere.

        Raises:
            OptionError: the game has no id, or there are more samplers than groups, or several devices learn, which play themselves.
        """
        if self.config.devices > 1:
            raise OptionError(
                f"devices={self.config.devices} beside samplers at workers: its processes play the episodes; leave out one of them"
            )
        self._episodes.use(workers, samplers)
        return self

    def episodes_together(self, ranks: Ranks) -> AbstractContextManager[None]:
        """Within it each of several processes plays its share of the episodes, and all get all of them."""
        spread = self._spread.get(self.network)
        return self._episodes.together(ranks, nullcontext if spread is None else spread.filled)

    def release_samplers(self) -> None:
        """Free the workers; this process plays again."""
        self._episodes.release()

    def _said(self, order: str) -> None:
        """In the first of several processes: say what all do next."""
        if self.ranks is not None and self.ranks.rank == 0:
            self.ranks.said(order)

    def _sampled(self) -> tuple[TokenBatch, int]:
        """The episodes of this iteration, and how many iterations older their weights are."""
        batch, lag = self._episodes.sample(self.iteration)
        rewards = None if self.reward is None else np.asarray(self.reward(batch), np.float64)
        if self.ranks is not None:
            rewards = self.ranks.said(rewards)
        if rewards is not None:
            batch = dataclasses.replace(batch, turn_rewards=rewards, scores=rewards.sum(1))
        return batch, lag

    def validate(self) -> dict[str, float]:
        """Play the rooms of validation; returns metrics, of which `success` is Pass@1 and `any_success` Pass@k of the samples of a room."""
        batch = self._episodes.validation(self.iteration)
        metrics = episode_metrics(batch, "val")
        seen = np.isin(batch.room_hashes, np.fromiter(self.rooms_seen, np.uint64, len(self.rooms_seen)))
        for part, name in ((seen, "seen"), (~seen, "unseen")):
            if part.any():
                metrics[f"val/success_{name}"] = float(batch.success[part].mean())
        return metrics

    def targets(self, batch: TokenBatch) -> tuple[BatchTargets, dict[str, float]]:
        """Log-probabilities, values and advantages of all tokens of a batch under the current network, and metrics of them."""
        config = self.config
        wanted = batch.decided(config.response_mask)
        # by the network that learns, not as the sampler computed them: the two round differently
        old = evaluate_tokens(self.trained, batch, wanted, config.tokens_at_once, self._pad, ranks=self.ranks)
        reference = self._reference_of(batch, wanted) if config.kl else None
        decided = torch.from_numpy(wanted)
        groups = torch.from_numpy(batch.groups)
        scores = normalised_scores(torch.from_numpy(batch.scores), groups, config.reward_norm, config.reward_over)
        found = batch_advantages(config, batch, scores, old, decided, reference)
        advantages = found.advantages
        if config.whitened:
            advantages = normalise(advantages, decided)
        sampled = torch.from_numpy(batch.sampled)
        gap = (old.log_probs - torch.from_numpy(batch.sampler_log_probs))[sampled]
        importance = None
        if config.importance == "truncated":
            weights = importance_weights(old.log_probs, torch.from_numpy(batch.sampler_log_probs))
            importance = torch.where(sampled, weights, 1.0)
        metrics = {
            "train/sampler_gap": float(gap.abs().mean()),
            "train/sampler_gap_above_0.1": float((gap.abs() > 0.1).float().mean()),
        }
        if old.values is not None:
            metrics["train/explained_variance"] = explained_variance(old.values[decided], found.returns[decided])
        # a KL in the reward is part of the advantages already
        in_loss = reference if config.kl_in == "loss" else None
        return BatchTargets(decided, advantages.float(), found.returns.float(), old, in_loss, importance), metrics

    def _reference_of(self, batch: TokenBatch, wanted: NDArray[np.bool_]) -> Tensor:
        config = self.config
        options: dict[str, Any] = {"with_values": False, "with_entropies": False, "ranks": self.ranks}
        if self._reference is None:  # LoRA: the model without its matrices
            with self.trained.as_reference():
                found = evaluate_tokens(self.trained, batch, wanted, config.tokens_at_once, self._pad, **options)
        else:
            reference = self._of_spread(self._reference)
            found = evaluate_tokens(reference, batch, wanted, config.tokens_at_once, self._pad, **options)
        return found.log_probs

    def _learnt(self, batch: TokenBatch) -> dict[str, float]:
        """Filter, compute advantages, make the gradient steps, and hand the weights to the sampler."""
        config = self.config
        lengths = np.bincount(batch.token_episode[batch.sampled], minlength=batch.num_episodes)
        entropies = self._episode_entropies(batch, lengths) if config.filter_score == "entropy" else None
        groups = filter_groups(
            config.filter,  # type: ignore[arg-type]  # checked by the config
            config.filter_share,
            config.filter_score,  # type: ignore[arg-type]
            torch.from_numpy(batch.scores),
            torch.from_numpy(batch.groups),
            entropies,
            torch.from_numpy(lengths).double(),
        )
        members = groups.members.numpy()
        metrics = {"filter/kept": float(groups.kept.double().mean()), "filter/score": float(groups.scores.mean())}
        if not members.any():
            return metrics | self._skip()
        self._skipped = 0
        metrics["filter/kept_score"] = float(groups.scores[groups.kept].mean())
        metrics["filter/kept_return"] = float(batch.scores[members].mean())
        # filtered episodes cost no forward pass
        chosen = batch if members.all() else batch.select(members)
        targets, numbers = self.targets(chosen)
        self.samples.note(self.iteration, chosen, targets, self.model.decode_with_offsets)
        metrics |= numbers | self._passes(chosen, targets)
        self._episodes.hand_over(self.iteration)
        return metrics

    def _skip(self) -> dict[str, float]:
        self._skipped += 1
        # nothing is learnt, so that the next iterations would end alike
        if self._skipped >= MOST_SKIPPED:
            LOG.warning(
                "the filter %r left no group in %d iterations in a row: the run stops; all episodes of a room end alike, so type "
                "filter='none', raise temperature, or begin from a model that sometimes wins",
                self.config.filter,
                MOST_SKIPPED,
            )
            self.stop()
        return {"filter/skipped": float(self._skipped)}

    def _episode_entropies(self, batch: TokenBatch, lengths: NDArray[np.int64]) -> Tensor:
        size = self.config.tokens_at_once
        found = evaluate_tokens(
            self.trained, batch, batch.sampled, size, self._pad, with_values=False, ranks=self.ranks
        )
        sums = np.bincount(batch.token_episode, weights=found.entropies.numpy(), minlength=batch.num_episodes)
        return torch.from_numpy(sums / np.maximum(lengths, 1))

    def _passes(self, batch: TokenBatch, targets: BatchTargets) -> dict[str, float]:
        """Gradient steps over all episodes, `epochs` times."""
        config = self.config
        number = (
            config.minibatches if config.minibatch is None else max(1, round(batch.num_episodes / config.minibatch))
        )
        # of seed and iteration alone, so that a resumed run shuffles as one that was not interrupted
        rng = np.random.default_rng([config.seed, self.iteration])
        done = self.iteration / max(1, config.iterations)
        policy_rate, critic_rate = config.rates(done)
        for group in self.optimiser.param_groups:
            group["lr"] = critic_rate if group["critic"] else policy_rate
        sums: dict[str, float] = {}
        steps = 0
        for _ in range(config.epochs):
            for lists in batch.minibatches(number, rng):
                for name, value in self._gradient_step(batch, targets, lists).items():
                    sums[name] = sums.get(name, 0.0) + value
                steps += 1
        return {f"train/{name}": value / steps for name, value in sums.items()} | {"train/lr": policy_rate}

    def _gradient_step(self, batch: TokenBatch, targets: BatchTargets, lists: NDArray[np.int64]) -> dict[str, float]:
        config = self.config
        self.optimiser.zero_grad()
        chosen = torch.zeros(len(batch.ids), dtype=torch.bool)
        chosen[torch.from_numpy(np.isin(batch.token_list, lists))] = True
        constant = config.loss_constant or config.max_new_tokens * self._turns_of_lists(batch)
        weights = token_weights(targets.decided & chosen, torch.from_numpy(batch.token_list), config.mean, constant)  # type: ignore[arg-type]
        sums = torch.zeros(len(TokenLoss._fields))
        # means over processes are taken where the weights are spread, and sums are wanted
        scale = self.ranks.size if self.ranks is not None and self.ranks.in_step else 1
        for (ids, rows, places, tokens), counts in shared_parts(
            batch, lists, targets.decided.numpy(), config.tokens_at_once, self._pad, self.ranks
        ):
            loss = self._loss(ids, rows, places, tokens, targets, weights if counts else torch.zeros_like(weights))
            # parts of one step: `weights` is of the whole step, so that gradients add up
            (loss.loss * scale).backward()
            sums += torch.stack([part.detach().float().cpu() for part in loss])
        if self.ranks is not None and bool(weights.any()):
            sums = self._together(self.ranks, sums)
        norms = self._clip_gradients()
        self.optimiser.step()
        return dict(zip(TokenLoss._fields, sums.tolist(), strict=True)) | norms

    def _together(self, ranks: Ranks, losses: Tensor) -> Tensor:
        """Add up the gradients of all processes, unless PyTorch has done it, and their losses, which are returned."""
        if ranks.in_step:
            return ranks.total(losses)
        parameters = [parameter for _, parameter in self.trained.learnt()]
        for parameter in parameters:
            if parameter.grad is None:  # this process had no part of the step
                parameter.grad = torch.zeros_like(parameter)
        return ranks.add(parameters, losses.to(parameters[0].device), 1.0).cpu()

    def _loss(
        self, ids: Tensor, rows: Tensor, places: Tensor, tokens: Tensor, targets: BatchTargets, weights: Tensor
    ) -> TokenLoss:
        config, device = self.config, self.network.device

        def here(part: Tensor | None) -> Tensor | None:
            return None if part is None else part[tokens].to(device)

        outputs = self.trained(ids.to(device), rows.to(device), places.to(device))
        old = targets.old
        known = TokenTargets(
            old.log_probs[tokens].to(device),
            targets.advantages[tokens].to(device),
            weights[tokens].to(device),
            here(old.values),
            here(targets.returns),
            here(targets.reference),
            here(targets.importance),
        )
        coefficients = TokenCoefficients(
            config.clip, config.dual_clip, config.value_clip, config.value_coef, config.entropy, config.kl
        )
        return self.loss(outputs, known, coefficients)

    def loss(self, outputs: TokenOutputs, targets: TokenTargets, coefficients: TokenCoefficients) -> TokenLoss:
        """`token_loss`; a subclass may learn from another one."""
        return token_loss(outputs, targets, coefficients)

    def _clip_gradients(self) -> dict[str, float]:
        """Limit the gradient norms of the policy, with its value head, and of a separate critic; returns the norms before."""
        parts: dict[str, list[Tensor]] = {"gradient_norm": [], "critic_gradient_norm": []}
        for name, parameter in self.trained.learnt():
            critic = self.trained.critic is not None and name.startswith(("critic.", "head."))
            parts["critic_gradient_norm" if critic else "gradient_norm"].append(parameter)
        limit = self.config.max_grad_norm
        norms = {
            name: ShardedModule.whole(torch.nn.utils.clip_grad_norm_(of, limit)) for name, of in parts.items() if of
        }
        for name, norm in norms.items():
            if not math.isfinite(float(norm)):
                raise TrainingError(f"{name} is {float(norm)}")
        return {name: float(norm) for name, norm in norms.items()}

    def _turns_of_lists(self, batch: TokenBatch) -> int:
        """Most turns of one list."""
        return 1 if len(batch.episode) > batch.num_episodes else max(1, batch.turn_rewards.shape[1])

    def _watched(self, batch: TokenBatch, metrics: Mapping[str, float]) -> dict[str, float]:
        """Validation, template collapse and advice, after an iteration."""
        config = self.config
        found: dict[str, float] = {}
        if config.collapse_every and (self.iteration - 1) % config.collapse_every == 0:
            found |= collapse_metrics(self.trained, batch, self._pad, config.tokens_at_once)
        if config.val_every and self.iteration % config.val_every == 0:
            found |= self.validate()
        for line in self._adviser.advise(metrics):
            LOG.warning("iteration %d: %s", self.iteration, line)
        return found

    def check_learnt(self, metrics: Mapping[str, float]) -> None:
        """As `Learner.check_learnt`: losses and weights."""
        for name, value in metrics.items():
            if name.endswith("loss") and not math.isfinite(value):
                raise TrainingError(f"{name} is {value}")
        for name, parameter in self.trained.learnt():
            if not ShardedModule.own_part(parameter).isfinite().all():
                raise TrainingError(f"the weights {name!r} hold NaN or infinity")

    def save(self, file: str | Path) -> None:
        """Write a folder that tools for transformers models can load, see `ludory.algorithms.text_ppo.checkpoint`.

        Raises:
            TrainingError: weights are not finite; an earlier folder stays as it is.
            OutputError: the place cannot be written to.
        """
        self._said(GATHER)
        with self.gathered() as moments:
            reference = self._reference.policy.state_dict() if self._reference is not None else None
            write_more = self.samples.write
            checkpoint.write_checkpoint_folder(
                file, self._header(), self.model, self.network, moments, reference, write_more
            )

    @contextmanager
    def gathered(self) -> Iterator[dict[str, Tensor]]:
        """Within it the network and the reference have all weights, also where these are spread; the moments of the optimiser by name."""
        moments = checkpoint.optimiser_tensors(self.trained, self.optimiser)
        with ExitStack() as filled:
            for part in self._spread.values():
                filled.enter_context(part.filled())
            yield {name: ShardedModule.whole(tensor).cpu() for name, tensor in moments.items()}

    @property
    def trained(self) -> TokenNetwork:
        """The network that learns: `network`, or what stands for it while its weights are spread over processes."""
        return self._of_spread(self.network)

    def _of_spread(self, network: TokenNetwork) -> TokenNetwork:
        spread = self._spread.get(network)
        return network if spread is None else spread.cut()  # type: ignore[return-value]  # a copy of the network

    def spread_over(self, ranks: Ranks) -> None:
        """Spread weights and moments over processes, of which each has its part from now on."""
        moments = checkpoint.optimiser_tensors(self.network, self.optimiser)
        for network in (self.network, *([] if self._reference is None else [self._reference])):
            self._spread[network] = ShardedModule(network, ranks)
        self._begin_optimiser(moments)

    def unite(self) -> None:
        """Give this process all weights and moments back."""
        with self.gathered() as moments:
            pass
        for part in self._spread.values():
            part.fill()
        self._spread = {}
        self._begin_optimiser(moments)

    def _begin_optimiser(self, moments: Mapping[str, Tensor]) -> None:
        self.optimiser = _optimiser(self.trained, self.config)
        checkpoint.restore_optimiser(self.trained, self.optimiser, moments, "moments")
        ShardedModule.spread_moments(self.optimiser)

    def _header(self) -> dict[str, Any]:
        return {
            "algorithm": self.id,
            "config": dataclasses.asdict(self.config),
            "env": {"id": self.game.id, "options": dict(self.game.options)},
            "model": str(self._source) if self._source else None,
            "template": self.model.template.kind,
            "start_sha256": self.start_hash,
            "num_timesteps": self.num_timesteps,
            "total_timesteps": self._total_timesteps,
            "iteration": self.iteration,
            "skipped": self._skipped,
            "history": self._adviser.history,
            "rooms_seen": [f"{value:016x}" for value in sorted(self.rooms_seen)],
        }

    @classmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """As `Learner.load`; `changes`: fields of `changeable`.

        Raises:
            CheckpointError: damaged, not a checkpoint of this learner, or of another game.
            OptionError: an option that cannot change.
        """
        folder = Path(file)
        header, tensors = read_folder(folder, with_tensors=True)
        game = game_to_load(cls, file, header, env)
        fixed = [name for name in changes if name not in cls.changeable]
        if fixed:
            raise OptionError(f"{file}: {', '.join(fixed)} cannot change; these can: {', '.join(cls.changeable)}")
        # `__init__` would make or load another model
        model = cls.__new__(cls)
        config = make_text_ppo_config(**(header["config"] | changes))
        Learner.__init__(model, game, config)
        try:
            language_model = checkpoint.read_policy(folder, config.lora_rank > 0, config.device, header["template"])
            model._source = header["model"]
            model._begin(language_model)
            model.start_hash = header["start_sha256"]
            model.num_timesteps, model._total_timesteps = header["num_timesteps"], header["total_timesteps"]
            model.iteration, model._skipped = header["iteration"], header["skipped"]
            model._adviser = Adviser(header["history"])
            model.samples = SampleKeeper(config.samples_every, read_samples(folder))
            model.rooms_seen = {int(value, 16) for value in header["rooms_seen"]}
        except KeyError as error:
            raise CheckpointError(f"{file}: its header lacks {error}; put an intact copy back") from error
        checkpoint.restore_network(folder, model.network)
        checkpoint.restore_optimiser(model.network, model.optimiser, tensors, folder)
        if model._needs_reference:
            weights = checkpoint.read_reference(folder)
            if weights is None:
                raise CheckpointError(f"{file}: its reference is missing; put an intact copy back")
            model._reference = _frozen(language_model.model).to(model.network.device)
            # not strict: tied weights are stored once
            model._reference.policy.load_state_dict(weights, strict=False)
        return model


def _language_model(
    policy: str | Path | LanguageModel | tuple[Any, Any], game: Any, config: TextPPOConfig
) -> LanguageModel:
    if not (isinstance(policy, str) and policy == "auto"):
        return load_language_model(policy, device=config.device)
    if config.env_preset == "compact":
        return make_small_model("words", seed=config.seed)
    return make_small_model("characters", seed=config.seed)


def _frozen(model: Any) -> TokenNetwork:
    """A copy of a model that only gives log-probabilities."""
    network = TokenNetwork(copy.deepcopy(model), value=None)
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    return network


def _optimiser(network: TokenNetwork, config: TextPPOConfig) -> torch.optim.Optimizer:
    """AdamW; biases and norms do not decay."""
    groups: dict[tuple[bool, bool], list[Tensor]] = {}
    for name, parameter in network.learnt():
        critic = name.startswith(("critic.", "head."))
        groups.setdefault((critic, parameter.ndim > 1), []).append(parameter)
    parts = [
        {"params": members, "critic": critic, "weight_decay": config.weight_decay if matrices else 0.0}
        for (critic, matrices), members in groups.items()
    ]
    return LightAdamW(parts, lr=config.lr, betas=config.betas)
