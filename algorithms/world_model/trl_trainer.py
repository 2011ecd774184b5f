"""Fine-tuning with TRL's `SFTTrainer`, used as it is, on tokens with ready-made labels: packing, LoRA and fast kernels come with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ludory.agents.language.extras import needed
from ludory.agents.language.model import LanguageModel
from ludory.atomic import atomic_file
from ludory.errors import OptionError
from ludory.reading import read_json

from .config import SFTConfig, refuse_changes
from .masks import targets
from .rows import TokenRow, table_of
from .sft import FREE, made_from


def trl_arguments(config: SFTConfig, folder: Path | str, device: str) -> Any:
    """`trl.SFTConfig` with the same settings as Ludory's own loop has.

    Raises:
        OptionError: `micro_batch` does not divide `batch_size`.
    """
    size = min(config.micro_batch or config.batch_size, config.batch_size)
    if config.batch_size % size:
        raise OptionError(
            f"micro_batch={size}: must divide batch_size={config.batch_size} with trainer='trl'; or take trainer='lightning'"
        )
    return needed("trl", "trl").SFTConfig(
        output_dir=str(folder),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=size,
        gradient_accumulation_steps=config.batch_size // size,
        learning_rate=config.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=config.warmup,
        adam_beta1=config.betas[0],
        adam_beta2=config.betas[1],
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        max_length=None,
        packing=False,
        bf16=config.precision == "bf16",
        use_cpu=device == "cpu",
        dataloader_pin_memory=device != "cpu",
        seed=config.seed,
        save_strategy="epoch",
        save_total_limit=1,
        logging_steps=10,
        report_to="none",
        disable_tqdm=True,
    )


def trl_trainer(model: LanguageModel, rows: list[TokenRow], config: SFTConfig, folder: Path | str) -> Any:
    """An `SFTTrainer` whose data are the rows' tokens and labels (-100: no loss).

    Raises:
        OptionError: weights other than 0 and 1, which labels cannot say.
        PluginError: TRL is not installed.
    """
    table = table_of(config)
    if set(table.tolist()) - {0.0, 1.0}:
        raise OptionError(f"trainer='trl' trains tokens or not, got weights={config.weights}; take trainer='lightning'")
    trl, datasets = needed("trl", "trl"), needed("datasets", "trl")
    labels = [targets(row.ids, row.spans, table).labels.tolist() for row in rows]
    data = datasets.Dataset.from_dict({"input_ids": [row.ids.tolist() for row in rows], "labels": labels})
    adapters = None
    if config.lora_rank:
        adapters = needed("peft").LoraConfig(
            r=config.lora_rank, lora_alpha=2 * config.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
        )
    return trl.SFTTrainer(
        model=model.model,
        args=trl_arguments(config, folder, model.device.type),
        train_dataset=data,
        processing_class=model.tokenizer,
        peft_config=adapters,
    )


def fine_tune_with_trl(
    model: LanguageModel,
    rows: list[TokenRow],
    config: SFTConfig,
    out: Path | None,
    check: Callable[[LanguageModel], Mapping[str, float]] | None,
    stamp: str = "",
) -> list[dict[str, float]]:
    """Train, write the model to `out`, and return the last figures; an interrupted run goes on from its last epoch.

    Raises:
        OutputError: what was interrupted is of another configuration, model or data; `stamp` is that of the data.
    """
    with TemporaryDirectory() as temporary:
        folder = out.with_name(f"{out.name}.progress") if out is not None else Path(temporary)
        origin, now = folder / "made_from.json", made_from(config, model, stamp) | {"rows": len(rows)}
        if origin.exists():
            refuse_changes(folder, "a part of a fine-tuning", read_json(origin), now, FREE)
        with atomic_file(origin, "w") as handle:
            json.dump(now, handle)
        trainer = trl_trainer(model, rows, config, folder)
        found = trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")) or None)
        model.model = trainer.accelerator.unwrap_model(trainer.model)
    if config.lora_rank and config.merge:
        model.model = model.model.merge_and_unload()
    model.model.eval()
    figures = {"train/loss": float(found.training_loss), **(check(model) if check is not None else {})}
    if out is not None:
        model.save(out)
        shutil.rmtree(folder, ignore_errors=True)
    return [figures]
