"""Keyword arguments of the core's algorithms, as type checkers and editors see them: the fields of their configs, which describe them.

A test holds them against the fields. Where a path or several values are wanted, any path and any sequence will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class LearnerKeywords(TypedDict, total=False):
    """Of `LearnerConfig`, and of every `Algorithm`."""

    verbose: int
    tensorboard_log: str | Path | None
    seed: int
    device: str
    precision: str
    compile: bool
    init_from: str | None
    hidden: Sequence[int]
    activation: str
    separate_value: bool


class AlgorithmKeywords(LearnerKeywords, total=False):
    """Of `AlgorithmConfig`."""

    num_envs: int
    seats: str
    others: str
    shaping: float


class PPOKeywords(AlgorithmKeywords, total=False):
    """Of `PPOConfig`."""

    learning_rate: float
    final_learning_rate: float | None
    n_steps: int
    batch_size: int
    n_epochs: int
    gamma: float
    discount_per: str
    gae_lambda: float
    clip_range: float
    normalize_advantage: bool
    ent_coef: float
    final_ent_coef: float | None
    vf_coef: float
    max_grad_norm: float
    target_kl: float | None
    teacher: str | None
    kl_coef: float
    final_kl_coef: float | None
    symmetry_augmentation: bool
    other_play: bool
    privileged_value: bool
    normalize_values: bool
    normalize_observations: bool
    devices: int
    compiled: bool | None
    cuda_graphs: bool
    normalize_rewards: bool


class AZKeywords(LearnerKeywords, total=False):
    """Of `AZConfig`."""

    num_envs: int
    n_steps: int
    simulations: int
    random_moves: int
    considered: int
    value_scale: float
    learning_rate: float
    final_learning_rate: float | None
    batch_size: int
    n_epochs: int
    buffer_size: int
    vf_coef: float
    searched_value: float
    weight_decay: float
    max_grad_norm: float
    symmetry_augmentation: bool


class VTraceKeywords(AlgorithmKeywords, total=False):
    """Of `VTraceConfig`."""

    gamma: float
    lam: float
    vtrace_lam: float
    rho_bar: float
    c_bar: float
    pg_rho_bar: float
    c_pg: float
    c_upgo: float
    c_value: float
    c_kl: float
    c_entropy: float
    preset: str
    learning_rate: float
    max_grad_norm: float
    n_steps: int
    batch_columns: int
    reuse: int
    replay_rollouts: int
    max_lag: int
    discount_per: str
    ratios: str
    other_play: bool
    privileged_value: bool
    value_warm_up: int
    devices: int
    teacher: str | None


class SB3PPOKeywords(AlgorithmKeywords, total=False):
    """Of `SB3PPOConfig`."""

    masked: bool
    learning_rate: float
    anneal_learning_rate: bool
    n_steps: int
    batch_size: int
    n_epochs: int
    gamma: float
    gae_lambda: float
    clip_range: float
    normalize_advantage: bool
    ent_coef: float
    vf_coef: float
    max_grad_norm: float
    target_kl: float | None


class SupervisedKeywords(LearnerKeywords, total=False):
    """Of `SupervisedConfig`."""

    learning_rate: float
    final_learning_rate: float | None
    weight_decay: float
    num_epochs: int
    batch_size: int
    max_grad_norm: float
    patience: int | None
    checkpoint_dir: str | Path | None
    save_every: int
    save_every_minutes: float
    log_every: int
    use_wandb: bool
    accelerator: str
    devices: int
    strategy: str


class OfflineKeywords(SupervisedKeywords, total=False):
    """Of `OfflineConfig`."""

    split_ratio: Sequence[float]
    split_seed: int
    skip_bad: bool
    augment: bool


class BCKeywords(OfflineKeywords, total=False):
    """Of `BCConfig`."""

    dataset: str | Path | None
    val_dataset: str | Path | None
    mix: tuple[str, ...]
    stream: str | None
    stream_decisions: int
    stream_validation: int
    student_share: float
    label_smoothing: float
    value_coef: float
    entropy_coef: float
    max_samples: int | None
    min_return: float | None
    remap_vocab: bool
    used_heads_only: bool


class DistillKeywords(OfflineKeywords, total=False):
    """Of `DistillConfig`."""

    dataset: str | Path | Sequence[str | Path] | None
    lambda_move: float | None
    lambda_value: float
    lambda_entropy: float
    override_weight: float
    advantage_weight: float
    partner_weight: float
    discount: float
    seq_len: int | None
    lambda_q: float
    tau: float
    lambda_kl: float
    teacher: str | None
    mode: Literal["ludory", "seed"]
    action_order: Literal["ludory", "play_first", "play_first_bw"] | None
    ckpt_action_order: Literal["play_first_bw", "play_first", "ludory"]
    bomb: Literal["zero", "keep"] | None
    allow_truncated: bool
    eval_games: int
    eval_against: str | None


class CFRKeywords(TypedDict, total=False):
    """Of `CFRConfig`."""

    variant: str
    report_every: int
    max_nodes: int
