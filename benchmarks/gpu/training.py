"""Parts `transfers`, `graphs`, `training` and `hanabi`: what the sampler copies through the host, trained steps per second, and a long run."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import partial
from shutil import which
from time import perf_counter
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ludory.algorithms.make import make_algorithm
from ludory.algorithms.ppo import PPO
from ludory.benchmarks.hanabi.ppo import CUDA_SETTINGS
from ludory.plugins import algorithms
from ludory.reading import read_json

from .part import CampaignPart, NamedWork, Row
from .peers import peer_rate

GAME = "Hanabi2P-v0"
LEARNERS: dict[str, tuple[str, str]] = {
    "ppo, mlp 512-512": ("ppo", "mlp(hidden=(512,512))"),
    "ppo, gru 512": ("ppo", "gru(hidden=(512,), memory_size=512)"),
    "vtrace, mlp 512-512": ("vtrace", "mlp(hidden=(512,512))"),
    "vtrace, gru 512": ("vtrace", "gru(hidden=(512,), memory_size=512)"),
}
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}, {precision}, {'graphs' if graphs else 'no graphs'}": (
        name,
        {"precision": precision, "cuda_graphs": graphs},
    )
    for name in ("ppo, mlp 512-512", "ppo, gru 512")
    for precision in ("bf16", "float32")
    for graphs in (True, False)
}
"""Learners of part `graphs`, and what is changed of their settings."""
SMALL = {"num_envs": 64, "n_steps": 8}
SECONDS = {False: 30.0, True: 0.2}
"""Of a measurement, after the first iterations."""
QUICK = 6.0
"""Seconds of a quick measurement."""
WARM_UP = 4
"""Iterations that are not counted: kernels are compiled and loaded, graphs captured."""
SAME = 1e-3
"""Largest difference of weights, after some iterations with graphs and without, that rounding explains."""


def transfers(part: CampaignPart) -> Iterator[NamedWork]:
    """A row per network and way: bytes that go from the card to the host while a rollout is collected, beside those of its observations."""
    for name in ("ppo, mlp 512-512", "ppo, gru 512"):
        for graphs in (False, True):
            yield NamedWork(f"{name}{', graphs' if graphs else ''}", partial(_transfers, part, name, graphs))


def _transfers(part: CampaignPart, name: str, graphs: bool) -> Row:
    model = _learner(part, name, {"cuda_graphs": graphs})
    model.learn(1)
    with TransferCounter() as counter:
        rollout, _ = model.sampler.collect(model.policy, model.config.n_steps, model.generator)
    observed, kept = rollout.observations.nbytes, counter.to_host
    bad = [f"{kept:,} bytes went to the host, observations have {observed:,}"] if kept > observed / 20 else []
    return {"to_host_bytes": kept, "observation_bytes": observed, "differences": bad}


class TransferCounter(TorchDispatchMode):
    """Counts the bytes that torch copies from a device to the host."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.to_host = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count what it moves."""
        found = func(*args, **(kwargs or {}))
        given = next((one for one in args if isinstance(one, Tensor) and one.device.type != "cpu"), None)
        if given is not None and isinstance(found, Tensor) and found.device.type == "cpu":
            self.to_host += found.nbytes
        elif given is not None and not isinstance(found, (Tensor, tuple, list)):
            self.to_host += given.element_size()  # a number was read
        return found


def training(part: CampaignPart) -> Iterator[NamedWork]:
    """A row per learner: trained decisions per second and how busy the card was; then JaxMARL."""
    for name in LEARNERS:
        yield NamedWork(name, partial(_trained, part, name))
    yield NamedWork("JaxMARL, ippo, mlp 512-512", partial(_jaxmarl, part))


def graphs(part: CampaignPart) -> Iterator[NamedWork]:
    """What learns with graphs and without, which must be the same; then a row per network, precision and way."""
    yield NamedWork("the same with graphs", partial(_same, part))
    for name, (learner, changes) in GRAPHS.items():
        yield NamedWork(name, partial(_trained, part, learner, changes))


def _same(part: CampaignPart) -> Row:
    weights = []
    for graphs in (False, True):
        model = PPO(
            "mlp",
            "HanabiTiny2P-v0",
            num_envs=64,
            n_steps=8,
            batch_size=256,
            device=part.device,
            precision="float32",
            compiled=False,
            cuda_graphs=graphs,
        )
        model.learn(6 * 64 * 8)
        weights.append(torch.cat([parameter.detach().flatten().cpu() for parameter in model.policy.parameters()]))
    largest = float((weights[0] - weights[1]).abs().max())
    return {"largest_difference": largest, "differences": [] if largest <= SAME else [f"weights off by {largest:.1e}"]}


def _trained(part: CampaignPart, name: str, changes: Mapping[str, Any] = MappingProxyType({})) -> Row:
    model = _learner(part, name, changes)
    for _ in range(1 if part.small else WARM_UP):
        model.learn(1, reset_num_timesteps=False)
    with CardUse(part.device) as use:
        _wait(part.device)
        before, began = model.num_timesteps, perf_counter()
        while perf_counter() - began < _seconds(part):
            model.learn(1, reset_num_timesteps=False)
        _wait(part.device)
        rate = (model.num_timesteps - before) / (perf_counter() - began)
    return {"game": GAME, "timesteps_per_second": rate, "card_busy": use.mean, "settings": _settings(part)}


def _jaxmarl(part: CampaignPart) -> Row:
    """PPO under one `jit` over JaxMARL's Hanabi, with the sizes of the first learner."""
    settings = _settings(part)
    sizes = (str(settings[name]) for name in ("num_envs", "n_steps", "batch_size"))
    epochs = str(settings.get("n_epochs", 1))
    hidden = "16-16" if part.small else "512-512"
    return {"game": GAME, "settings": settings} | peer_rate(
        "jaxmarl", "timesteps_per_second", _seconds(part) / 3, "jax_ippo", *sizes, epochs, hidden
    )


def _learner(part: CampaignPart, name: str, changes: Mapping[str, Any] = MappingProxyType({})) -> Any:
    algorithm, policy = LEARNERS[name]
    known = {field.name for field in fields(algorithms.load(algorithm).config_class)}
    settings = {name: value for name, value in {**_settings(part), **changes}.items() if name in known}
    game = GAME if not part.small else "HanabiTiny2P-v0"
    policy = policy if not part.small else policy.replace("512", "16")
    return make_algorithm(algorithm, env=game, policy=policy, device=part.device, seed=1, **settings)


def _settings(part: CampaignPart) -> dict[str, Any]:
    return {**SMALL, "batch_size": 256} if part.small else dict(CUDA_SETTINGS)


def _seconds(part: CampaignPart) -> float:
    return QUICK if part.quick and not part.small else SECONDS[part.small]


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


class CardUse:
    """How busy the card is while a block runs, as `nvidia-smi` says every second; None without it."""

    def __init__(self, device: str) -> None:
        self._ask = which("nvidia-smi") if device != "cpu" else None
        self._seen: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @property
    def mean(self) -> float | None:
        """Share of the time in which something ran, 0 to 1."""
        return sum(self._seen) / len(self._seen) / 100 if self._seen else None

    def _look(self) -> None:
        command = [self._ask or "", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._ended.wait(1):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                self._seen.append(float(done.stdout.split()[0]))

    def __enter__(self) -> CardUse:
        if self._ask:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._ask:
            self._thread.join()


def hanabi(part: CampaignPart) -> Iterator[NamedWork]:
    """One row: PPO on Hanabi for the minutes of the campaign, and its score beside a rule bot on the same decks."""
    yield NamedWork(f"ppo, {part.minutes:g} minutes", partial(_hanabi, part))


def _hanabi(part: CampaignPart) -> Row:
    out = part.folder / "hanabi"
    game, more = (GAME, []) if not part.small else ("HanabiTiny2P-v0", ["--points", "1", "--point-games", "10"])
    games = "2000" if not part.small else "20"
    minutes = part.minutes if not part.small else 0.02
    command = [sys.executable, "-m", "ludory", "bench", "hanabi-ppo", "--game", game, "--device", part.device]
    command += ["--minutes", str(minutes), "--games", games, "--out", str(out), *more]
    subprocess.run(command, check=True)
    report = read_json(out / f"hanabi-ppo-{game}-tactical-seed1.json")
    return {name: report[name] for name in ("game", "observation", "stages", "curve", "evaluation")}
