"""Networks as checkpoints of the first pipeline (`DominoLightningModule`): the same weights under its names, for `torch.load`.

A file is a dictionary of `state_dict`, `hyper_parameters` and `pytorch-lightning_version`; `torch.load` reads it with `weights_only=True` and
`DominoLightningModule.load_from_checkpoint` as its own. Inputs are tokens of version 1, outputs as here.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from ludory.arguments import as_typed
from ludory.atomic import atomic_file
from ludory.errors import OptionError

from .oracle import Texas42Oracle

EMBEDDINGS = (
    "high_pip",
    "low_pip",
    "is_double",
    "count_value",
    "trump_rank",
    "player_id",
    "is_current",
    "is_partner",
    "is_remaining",
    "token_type",
    "decl",
    "leader",
)
"""Its names of the features, in their order in a token."""
LAYERS = {"project": "input_proj", "encoder": "transformer", "q_head": "output_proj", "value_head": "value_head"}
"""Name here -> name there."""


def export_lightning(model: Texas42Oracle, file: str | Path) -> int:
    """Write the network; returns the number of its tensors.

    Raises:
        OptionError: it reads tokens of version 2, which the first pipeline does not have.
        OutputError: the file cannot be written.
    """
    content = to_lightning(model)
    with atomic_file(file) as handle:
        torch.save(content, handle)
    return len(content["state_dict"])


def to_lightning(model: Texas42Oracle) -> dict[str, Any]:
    """What such a file holds.

    Raises:
        OptionError: as `export_lightning`.
    """
    network, arguments = model.policy, dict(model.policy_spec.arguments)
    if network.tokens_version != 1:
        layers = ", ".join(f"{name}={value}" for name, value in (arguments | {"tokens": 1}).items())
        data = f" --data {as_typed(model.config.dataset)}" if model.config.dataset else ""
        raise OptionError(
            f"this network reads tokens of version {network.tokens_version}, which count seats from the mover; the first pipeline has version 1 "
            f"only, and its program would read wrong values from these weights. Train one for it: `ludory train texas42_oracle --policy "
            f'"domino({layers})"{data} --out runs/net-tokens1.ludory`; or write this one as ONNX: --out net.onnx'
        )
    sizes = {"embed_dim": "width", "n_heads": "num_heads", "n_layers": "num_layers", "ff_dim": "feedforward"}
    return {
        "state_dict": {_name(here): tensor.detach().cpu().clone() for here, tensor in network.state_dict().items()},
        "hyper_parameters": {
            **{there: arguments[here] for there, here in sizes.items()},
            "dropout": arguments["dropout"],
            "loss_mode": model.config.loss_mode,
        },
        "pytorch-lightning_version": version("lightning"),
    }


def _name(here: str) -> str:
    """The first pipeline's name of a tensor."""
    part, _, rest = here.partition(".")
    if part == "embeddings":
        place, _, rest = rest.partition(".")
        return f"model.{EMBEDDINGS[int(place)]}_embed.{rest}"
    return f"model.{LAYERS[part]}.{rest}"
