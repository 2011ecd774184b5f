"""Stage 2: fine-tuning on corrected replies, with Ludory's supervised loop or with TRL's trainer.

The loss is the mean cross-entropy over all trained tokens of a batch (arXiv:2510.15047, equation 2), not a mean of means over rows.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning.pytorch import Trainer
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents.language.extras import needed
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.spans import SPAN_NAMES
from ludory.algorithms import Ranks, ShardedModule, companions
from ludory.algorithms.offline.supervised import OWN_LOOP, PRECISIONS, OwnSigterm, own_random_state, plain_interrupt
from ludory.algorithms.offline.supervised_module import Position, SupervisedModule
from ludory.algorithms.running.learning_curves import X
from ludory.algorithms.running.metric_logs import CSVLog, table_beside
from ludory.algorithms.running.optimiser_state import load_adam, save_adam
from ludory.algorithms.running.training_logs import quiet_lightning
from ludory.algorithms.text_ppo.config import spread
from ludory.atomic import settled_folder
from ludory.checkpoints.folder import read_folder, write_folder
from ludory.errors import CheckpointError, OutputError

from .config import SFTConfig, as_fields, refuse_changes
from .masks import IGNORED
from .rows import RowBatch, TokenRow, batch_of, shuffled_batches, table_of

Check = Callable[[LanguageModel], Mapping[str, float]]
"""Plays with the model after an epoch, and returns figures to log."""
VALIDATION_ROWS = 64
WEIGHTS, POSITION = "weights/", "position/"
"""How the names of tensors in a checkpoint begin; those of the optimiser begin with adam/."""
FREE = ("sft.device", "sft.devices", "sft.sharding", "sft.micro_batch", "sft.checkpoint_every")
"""What may change between an interruption and the rest of a run."""


class Losses(NamedTuple):
    """The loss of a batch, and its parts."""

    mean: Tensor
    """Mean over all trained tokens, weighted; of a part of a batch its share of that; with gradient."""
    sums: Tensor
    """float64 [2, 6]: sum of the unweighted losses of trained tokens, and their number, by span."""


# A model of transformers, as in `LanguageModel`.
def token_losses(model: Any, batch: RowBatch, total: Tensor | None = None) -> Losses:
    """Cross-entropy of the trained tokens of a batch under a causal model; total: sum of the weights where it is a part of a batch."""
    logits = model(input_ids=batch.ids, attention_mask=batch.attention, use_cache=False).logits  # [B, T, V]
    # what stands at a place is predicted from the place before it
    labels, weights, spans = batch.labels[:, 1:], batch.weights[:, 1:], batch.spans[:, 1:]
    trained = labels != IGNORED
    each = torch.nn.functional.cross_entropy(logits[:, :-1][trained].float(), labels[trained], reduction="none")
    used = weights[trained]
    sums = torch.zeros(2, len(SPAN_NAMES), dtype=torch.float64)
    with torch.no_grad():
        kinds = spans[trained].cpu()
        sums[0].index_add_(0, kinds, each.detach().double().cpu())
        sums[1].index_add_(0, kinds, torch.ones(len(kinds), dtype=torch.float64))
    return Losses((each * used).sum() / (used.sum() if total is None else total).clamp(min=1e-9), sums)


def rate_at(config: SFTConfig, step: int, steps: int) -> float:
    """Step size of a gradient step: linear from 0 in the warm-up, then a cosine to 0."""
    warm = max(1, round(config.warmup * steps))
    if step < warm:
        return config.learning_rate * (step + 1) / warm
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def made_from(config: SFTConfig, model: LanguageModel, data: str) -> dict[str, Any]:
    """What a fine-tuned model is made from, for `refuse_changes`; data: their hash."""
    return {"sft": as_fields(config), "model": model.hash, "data": data}


class SFT:
    """A fine-tuning run of `model` on rows; `learn` goes on where an interrupted run with the same configuration was.

    Args:
        model: trained in place.
        training: rows.
        validation: rows, may be empty.
        config: options.
        out: folder for the model; beside it, OUT.progress holds the last checkpoint until the run is complete. None: nothing is written.
        check: called after every epoch.
        stamp: of the data.

    Raises:
        OutputError: OUT.progress holds a run with another configuration, model or data.
    """

    def __init__(
        self,
        model: LanguageModel,
        training: list[TokenRow],
        validation: list[TokenRow],
        config: SFTConfig,
        out: Path | None = None,
        check: Check | None = None,
        stamp: str = "",
    ) -> None:
        self.language_model, self.training, self.validation = model, training, validation
        self.config, self.out, self.check = config, out, check
        self.made_from = made_from(config, model, stamp) | {"rows": len(training)}
        self.position = Position()
        self.history: list[dict[str, float]] = []
        self.table = table_of(config)
        self._log: CSVLog | None = None
        if config.lora_rank:
            self._add_adapters()
        self.network = model.model
        self.ranks: Ranks | None = None
        """The processes that learn together, within `learn`; None: this one alone."""
        self._spread: ShardedModule | None = None
        self.optimizer = self._adam()

    @property
    def steps_per_epoch(self) -> int:
        """Gradient steps of an epoch."""
        return -(-len(self.training) // self.config.batch_size)

    @property
    def progress_folder(self) -> Path | None:
        """Where the last checkpoint lies."""
        return None if self.out is None else self.out.with_name(f"{self.out.name}.progress")

    def learn(self) -> list[dict[str, float]]:
        """Train all epochs; returns the figures of each.

        Raises:
            TrainingError: the loss is not finite.
            OutputError: the folder cannot be written to.
        """
        self._resume()
        if self.position.epoch < self.config.epochs:
            log = nullcontext() if self.out is None else closing(table_beside(self.out))
            with log as self._log, plain_interrupt(), self._together():
                self.fit()
        self.network.eval()
        return self.history

    def fit(self) -> None:
        """Train the epochs that are left, in all processes."""
        with quiet_lightning(), own_random_state(torch.device("cpu")):
            self._trainer().fit(_RowModule(self))

    @property
    def trained(self) -> Any:
        """The network that learns: `network`, or what stands for it while its weights are spread over processes."""
        return self.network if self._spread is None else self._spread.cut()

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Within it the processes of `devices` learn: this one, and others that have its state."""
        size, device = self.config.devices, self.language_model.device
        if size == 1:
            yield
            return
        check, log, self.check, self._log = self.check, self._log, None, None  # of this process alone
        with companions(size, device, _fitting, self) as ranks:
            self.check, self._log = check, log
            with self.sharing(ranks):
                yield

    @contextmanager
    def sharing(self, ranks: Ranks) -> Iterator[None]:
        """Within it this process learns from its share of every batch."""
        self.ranks = ranks
        if spread(self.config.sharding, sum(weight.numel() for weight in self.network.parameters())):
            self._spread, moments = ShardedModule(self.network, ranks), save_adam(self.optimizer)
            self.optimizer = self._adam()
            load_adam(self.optimizer, moments)
            ShardedModule.spread_moments(self.optimizer)
        try:
            yield
            if self._spread is not None:
                self._spread.fill()
        finally:
            self.ranks = self._spread = None

    def _adam(self) -> torch.optim.AdamW:
        config = self.config
        return torch.optim.AdamW(
            [weight for weight in self.trained.parameters() if weight.requires_grad],
            lr=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
        )

    @property
    def _is_first(self) -> bool:
        return self.ranks is None or self.ranks.rank == 0

    def _filled(self) -> AbstractContextManager[None]:
        return nullcontext() if self._spread is None else self._spread.filled()

    def finish(self) -> None:
        """Merge adapters, write the model to `out` and remove the checkpoint."""
        if self.config.lora_rank and self.config.merge:
            self.language_model.model = self.language_model.model.merge_and_unload()
        if self.out is not None and self.progress_folder is not None:
            self.language_model.save(self.out)
            # only now that the model is written: an interruption before goes on from here
            shutil.rmtree(self.progress_folder, ignore_errors=True)

    def before_batch(self) -> bool:
        """Set the step size, and write a checkpoint now and then."""
        step = self.position.epoch * self.steps_per_epoch + self.position.batch
        # the beginning of an epoch is saved by `after_epoch`
        if self.position.batch and step % self.config.checkpoint_every == 0:
            self._save()
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.config, step, self.config.epochs * self.steps_per_epoch)
        return True

    def after_batch(self, samples: int, loss: float) -> None:
        """Nothing is kept of single batches."""

    def after_epoch(self, metrics: Mapping[str, float]) -> None:
        """Play, log and write a checkpoint."""
        self.position.next_epoch(metrics.get("val/loss"))
        self.network.eval()
        with self._filled():
            played = self.check(self.language_model) if self.check is not None else {}
        self.history.append({**metrics, **played})
        shown = {name: value for name, value in self.history[-1].items() if not name.startswith("time/")}
        if self._is_first:
            print(
                f"sft epoch {self.position.epoch}/{self.config.epochs}: "
                + ", ".join(f"{k} {v:.4g}" for k, v in shown.items()),
                flush=True,
            )
        if self._log is not None:
            self._log.write({X: self.position.epoch * len(self.training), **shown}, {})
        self._save()

    def _trainer(self) -> Trainer:
        return Trainer(
            accelerator=self.language_model.device.type,
            devices=1 if self.language_model.device.index is None else [self.language_model.device.index],
            precision=PRECISIONS[self.config.precision],  # type: ignore[arg-type]
            max_epochs=self.config.epochs - self.position.epoch,
            gradient_clip_val=self.config.max_grad_norm,
            logger=False,
            callbacks=[OwnSigterm()],
            limit_val_batches=1.0 if self.validation else 0,
            **OWN_LOOP,
        )

    def _add_adapters(self) -> None:
        peft = needed("peft")
        # the first weights of adapters depend on the seed alone, not on what was drawn before
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            adapters = peft.LoraConfig(
                r=self.config.lora_rank,
                lora_alpha=2 * self.config.lora_rank,
                target_modules="all-linear",
                task_type="CAUSAL_LM",
            )
            self.language_model.model = peft.get_peft_model(self.language_model.model, adapters)

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.detach() for name, weight in self.network.named_parameters() if weight.requires_grad}

    def _save(self) -> None:
        if self.progress_folder is None:
            return
        state = {"made_from": self.made_from, "position": self.position.numbers(), "history": self.history}
        tensors = {name: ShardedModule.whole(moment).cpu() for name, moment in save_adam(self.optimizer).items()}
        with self._filled():
            if not self._is_first:
                return
            for part, named in ((WEIGHTS, self._weights()), (POSITION, self.position.tensors())):
                tensors |= {part + name: tensor for name, tensor in named.items()}
            write_folder(self.progress_folder, state, tensors, lambda folder: None)

    def _resume(self) -> None:
        folder = None if self.progress_folder is None else settled_folder(self.progress_folder)
        if folder is None or not folder.exists():
            return
        try:
            state, tensors = read_folder(folder, with_tensors=True)
            refuse_changes(folder, "a part of a fine-tuning", state["made_from"], self.made_from, FREE)
            for name, weight in self._weights().items():
                weight.copy_(tensors[WEIGHTS + name])
            load_adam(self.optimizer, tensors)
            self.position = Position.restored(
                state["position"], {name: tensors[POSITION + name] for name in self.position.tensors()}
            )
            self.history = state["history"]
        except OutputError:
            raise
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise CheckpointError(f"{folder}: damaged ({error}); remove the folder to begin anew") from error
        print(f"sft: goes on in epoch {self.position.epoch + 1} after {self.position.batch} steps", flush=True)


class _RowModule(SupervisedModule):
    """Rows through Ludory's supervised loop."""

    def __init__(self, run: SFT) -> None:
        super().__init__(run.trained, run.optimizer, run.config.seed, bool(run.validation), run)
        self._run = run

    def _parts(self, batches: Iterator[list[TokenRow]]) -> Iterator[list[RowBatch]]:
        """This process's share of every batch in parts of at most `micro_batch` rows; all processes have as many parts."""
        run, ranks = self._run, self._run.ranks
        pad, count = run.language_model.tokenizer.pad_token_id or 0, 1 if ranks is None else ranks.size
        for rows in batches:
            longest = -(-len(rows) // count)
            size, own = run.config.micro_batch or longest, rows if ranks is None else rows[ranks.rank :: count]
            parts = [batch_of(own[at : at + size], run.table, pad) for at in range(0, len(own), size)]
            # a process that has fewer parts would leave the others waiting for its gradients
            spare = -(-longest // size) - len(parts)
            yield parts + [_unlearnt(batch_of(rows[:1], run.table, pad))] * spare

    def training_batches(self) -> Iterator[list[RowBatch]]:
        config, position = self._run.config, self._run.position
        rows = shuffled_batches(self._run.training, config.batch_size, config.seed, position.epoch)
        return self._parts(islice(rows, position.batch, None))

    def validation_batches(self) -> Iterator[list[RowBatch]]:
        rows = self._run.validation
        return self._parts(rows[start : start + VALIDATION_ROWS] for start in range(0, len(rows), VALIDATION_ROWS))

    def samples_in(self, batch: list[RowBatch]) -> int:
        """Of all processes; those of this one stand for the others."""
        return sum(len(part.ids) for part in batch) * (1 if self._run.ranks is None else self._run.ranks.size)

    def no_sums(self) -> Tensor:
        return torch.zeros(2, len(SPAN_NAMES), dtype=torch.float64)

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Any) -> None:
        """`training_step` does it: Lightning asks after it, when the gradients of the first parts are there."""

    def training_step(self, batch: list[RowBatch], batch_idx: int) -> Tensor:
        """The gradients of all parts but the last; Lightning adds that of the last one."""
        self._optimizer.zero_grad()
        ranks = self._run.ranks
        total = self._of_all(torch.stack([part.weights[:, 1:].sum() for part in batch]).sum())
        loss, sums = torch.zeros((), device=total.device), self.no_sums()
        for number, part in enumerate(batch, 1):
            found = token_losses(self.policy, part, total)
            loss, sums = loss + found.mean.detach(), sums + found.sums
            # means over processes are taken where the weights are spread, and sums are wanted
            mean = found.mean * ranks.size if ranks is not None and ranks.in_step else found.mean
            if number < len(batch):
                mean.backward()
        self._run.position.sums = self._run.position.sums + self._of_all(sums)
        self.finite(self._of_all(loss), f"a batch of {self.samples_in(batch)} rows")
        return mean

    def on_after_backward(self) -> None:
        """Add up the gradients of all processes, unless PyTorch has done it."""
        ranks = self._run.ranks
        if ranks is not None and not ranks.in_step:
            ranks.add(list(self.policy.parameters()), torch.zeros(0, device=self.device), 1.0)

    def _of_all(self, part: Tensor) -> Tensor:
        """The sum over all processes."""
        return part if self._run.ranks is None else self._run.ranks.total(part)

    def validation_step(self, batch: list[RowBatch], batch_idx: int) -> None:
        for part in batch:
            self._validated = self._validated + self._of_all(token_losses(self.policy, part).sums)

    def metrics(self) -> dict[str, float]:
        found = _by_span("train/", self._run.position.sums)
        return found | (_by_span("val/", self._validated) if self._run.validation else {})


def _fitting(device: str, run: SFT) -> Callable[[Ranks], None]:
    """Another process than the first one of a run."""
    run.language_model.model.to(device)
    if not device.startswith("cpu"):
        load_adam(run.optimizer, save_adam(run.optimizer))  # to where the weights are now

    def follow(ranks: Ranks) -> None:
        with run.sharing(ranks):
            run.fit()

    return follow


def _unlearnt(batch: RowBatch) -> RowBatch:
    """The same tokens, none of which is learnt from."""
    return batch._replace(labels=torch.full_like(batch.labels, IGNORED), weights=torch.zeros_like(batch.weights))


def _by_span(prefix: str, sums: Tensor) -> dict[str, float]:
    """Loss over all trained tokens and by span, and the perplexity of states; sums: [2, 6]."""
    found = {f"{prefix}loss": float(sums[0].sum() / sums[1].sum().clamp(min=1))}
    for kind, name in enumerate(SPAN_NAMES):
        if sums[1, kind] > 0:
            mean = float(sums[0, kind] / sums[1, kind])
            found[f"{prefix}{name}_loss"] = mean
            if name in ("observation", "prediction"):
                found[f"{prefix}{name}_perplexity"] = math.exp(min(mean, 50.0))
    return found


def fine_tune(
    model: LanguageModel,
    training: list[TokenRow],
    validation: list[TokenRow],
    config: SFTConfig,
    out: Path | None = None,
    check: Check | None = None,
    stamp: str = "",
) -> list[dict[str, float]]:
    """Fine-tune `model` in place with the trainer that the configuration names, and write it to `out`; returns figures by epoch.

    Raises:
        TrainingError: the loss is not finite.
        PluginError: TRL is asked for and not installed.
    """
    if config.trainer == "trl":
        from .trl_trainer import fine_tune_with_trl

        return fine_tune_with_trl(model, training, config, out, check, stamp)
    run = SFT(model, training, validation, config, out, check, stamp)
    history = run.learn()
    run.finish()
    return history


def batch_loss(model: LanguageModel, rows: list[TokenRow], table: NDArray[Any]) -> float:
    """The loss of rows as one batch, without gradient."""
    with torch.no_grad():
        return float(token_losses(model.model, batch_of(rows, table, model.tokenizer.pad_token_id or 0)).mean)
