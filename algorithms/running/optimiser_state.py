"""Adam's moments as named tensors, so that a checkpoint needs no pickles."""

from __future__ import annotations

from torch import Tensor
from torch.optim import Adam

MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def save_adam(optimizer: Adam) -> dict[str, Tensor]:
    """One tensor per parameter and moment; empty before the first step."""
    states = optimizer.state_dict()["state"]
    return {f"adam/{index}/{name}": state[name] for index, state in states.items() for name in MOMENTS}


def load_adam(optimizer: Adam, tensors: dict[str, Tensor]) -> None:
    """Restore what `save_adam` returned; other tensors are left alone."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("adam/"):
            _, index, name = key.split("/")
            state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
