"""Checkpoints of text PPO: a folder that any tool for transformers models can load, with all that a resumed run needs beside it.

| file | content |
| --- | --- |
| `config.json`, `model.safetensors`, `tokenizer.json`, ... | the policy; LoRA's matrices are added to their weights |
| `value_head.safetensors` | the linear layer of the values |
| `critic.safetensors` | a separate critic |
| `adapter.safetensors`, `start/` | LoRA's matrices, and the model that they belong to |
| `reference.safetensors` | the model that the policy stays close to |
| `optimizer.safetensors` | moments of AdamW |
| `samples.jsonl` | episodes to look at |
| `ludory.json` | the header: configuration, counts, hashes, library versions |

Loading runs no code from the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ludory.agents.language.model import LanguageModel, load_language_model, unshared
from ludory.checkpoints import write_folder
from ludory.errors import CheckpointError, TrainingError

from .network import TokenNetwork

HEAD, CRITIC, ADAPTER, REFERENCE = (f"{name}.safetensors" for name in ("value_head", "critic", "adapter", "reference"))
START = "start"
OPTIMISER = "optimizer.safetensors"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def write_checkpoint_folder(
    folder: str | Path,
    header: Mapping[str, Any],
    model: LanguageModel,
    network: TokenNetwork,
    moments: Mapping[str, Tensor],
    reference: Mapping[str, Tensor] | None = None,
    write_more: Callable[[Path], None] | None = None,
) -> None:
    """Write everything, or nothing.

    Args:
        folder: a new folder, or one that is replaced.
        header: JSON values.
        model: tokenizer and configuration.
        network: its weights.
        moments: of `optimiser_tensors`.
        reference: weights of the model that the policy stays close to, if they are not the policy's own before LoRA.
        write_more: writes further files into the folder.

    Raises:
        TrainingError: a weight is not finite; an earlier folder stays as it is.
        OutputError: the place cannot be written to.
    """
    # checked before anything is written, so that the last good folder stays
    for name, parameter in network.learnt():
        if not parameter.isfinite().all():
            raise TrainingError(
                f"{folder}: not written, for {name!r} holds NaN or infinity; go back to the last checkpoint"
            )

    def write_files(place: Path) -> None:
        # tools read a model without LoRA, so the sums are written; the start is kept to go on from
        if network.lora_rank:
            model.write(place, dict(network.policy_weights()))
            model.model.save_pretrained(place / START, state_dict=unshared(_before_lora(network)))
            # LoRA's matrices alone: the rest is in `start`
            _save({k: v for k, v in network.state_dict().items() if ".lora_" in k}, place / ADAPTER)
        else:
            model.write(place)
        if network.head is not None:
            _save(network.head.state_dict(), place / HEAD)
        if network.critic is not None:
            _save(unshared(network.critic.state_dict()), place / CRITIC)
        if reference is not None:
            _save(unshared(dict(reference)), place / REFERENCE)
        if write_more is not None:
            write_more(place)

    write_folder(folder, header, moments, write_files, OPTIMISER)


def read_policy(folder: Path, lora: bool, device: str, template: str = "auto") -> LanguageModel:
    """The language model of a checkpoint that was read; with LoRA, the one without its matrices."""
    model = load_language_model(folder, device=device, template=template, checked=True)
    if lora:
        for file in sorted((folder / START).glob("*.safetensors")):  # large models are written in parts
            model.model.load_state_dict(_read(file), strict=False)
    return model


def restore_network(folder: Path, network: TokenNetwork) -> None:
    """Restore value head, critic and LoRA's matrices; the policy was read by `read_policy`.

    Raises:
        CheckpointError: a file is missing or of another network.
    """
    try:
        if network.lora_rank:
            # not strict: the file has LoRA's matrices alone
            network.load_state_dict(_read(folder / ADAPTER), strict=False)
        if network.head is not None:
            network.head.load_state_dict(_read(folder / HEAD))
        if network.critic is not None:
            network.critic.load_state_dict(_read(folder / CRITIC), strict=False)
    except RuntimeError as error:
        raise CheckpointError(f"{folder}: of another network: {error}; resume with the options of the run") from error


def read_reference(folder: Path) -> dict[str, Tensor] | None:
    """Weights of the reference, if the folder has some."""
    return _read(folder / REFERENCE) if (folder / REFERENCE).exists() else None


def optimiser_tensors(network: TokenNetwork, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Moments of AdamW by parameter and name, such as `head.weight/exp_avg`; empty before the first step."""
    state = optimiser.state
    return {
        f"{name}/{moment}": state[parameter][moment]
        for name, parameter in network.learnt()
        if parameter in state
        for moment in MOMENTS
    }


def restore_optimiser(
    network: TokenNetwork, optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor], folder: object
) -> None:
    """Restore what `optimiser_tensors` returned.

    Raises:
        CheckpointError: moments of a parameter are missing or have another shape.
    """
    if not tensors:
        return
    for name, parameter in network.learnt():
        found = {moment: tensors.get(f"{name}/{moment}") for moment in MOMENTS}
        if any(part is None for part in found.values()) or found["exp_avg"].shape != parameter.shape:  # type: ignore[union-attr]
            raise CheckpointError(f"{folder}: {OPTIMISER} has no moments of {name!r}; put an intact copy back")
        optimiser.state[parameter] = {
            # `step` stays on the CPU, where AdamW keeps it
            moment: part if moment == "step" else part.to(parameter.device)  # type: ignore[union-attr]
            for moment, part in found.items()
        }


def _before_lora(network: TokenNetwork) -> dict[str, Tensor]:
    weights = network.policy.state_dict()
    return {name.replace(".base_layer", ""): tensor for name, tensor in weights.items() if ".lora_" not in name}


def _save(weights: Mapping[str, Tensor], file: Path) -> None:
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}, file)


def _read(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except Exception as error:  # safetensors raises its own errors and OSError
        raise CheckpointError(f"{file}: cannot be read ({error}); put an intact copy of the checkpoint back") from error
