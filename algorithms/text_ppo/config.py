"""Options of PPO over tokens, and the presets `spa`, `ragen`, `default` and `tiny`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

from ludory.agents.language.extras import BACKENDS
from ludory.algorithms import linear, make_options
from ludory.errors import OptionError
from ludory.limits import (
    AtLeast,
    Fraction,
    MoreThan,
    NonNegativeFloat,
    NonNegativeInt,
    OneOf,
    PositiveFloat,
    PositiveInt,
    check_limits,
)

Filter = Literal["none", "top_k", "top_p", "top_p_softmax", "min_p"]
FILTERS: tuple[str, ...] = get_args(Filter)
Score = Literal["variance", "mean", "entropy", "length"]
SCORES: tuple[str, ...] = get_args(Score)
LossMean = Literal["token", "sequence", "constant"]
LOSS_MEANS: tuple[str, ...] = get_args(LossMean)

SHARDINGS = ("auto", "ddp", "fsdp")
LARGE = 1_000_000_000
"""Weights from which on `sharding="auto"` spreads them."""

Advantage = Literal["gae", "bilevel", "bilevel_ragen", "grpo", "dr_grpo", "rloo", "turn_grpo"]
ADVANTAGES: tuple[str, ...] = get_args(Advantage)
WITH_CRITIC = ("gae", "bilevel", "bilevel_ragen")
"""Advantages that need values of states."""


@dataclass(frozen=True, slots=True)
class TextPPOConfig:
    """Options of `TextPPO`; the defaults are those of the preset "default". Field docstrings are the command line's help."""

    preset: str = "default"
    """Where the other options come from: "default", "spa" (arXiv:2510.15047), "ragen" (arXiv:2504.20073) or "tiny" (the small model)."""
    seed: int = 0
    """Seed of the games, of sampling, of new weights and of the order of minibatches."""
    device: str = "auto"
    """"cpu", "cuda" or "auto"."""
    precision: Annotated[str, OneOf("32", "bf16")] = "32"
    """"32", or "bf16": matrix products in bfloat16, weights in float32."""
    devices: PositiveInt = 1
    """Processes that learn together, each on a device of its own ("cuda": 0, 1, ...; "cpu": its part of the cores), with a share of the rooms and of every minibatch."""
    sharding: Annotated[str, OneOf(*SHARDINGS)] = "auto"
    """What each of several devices has: "ddp" all weights and moments, "fsdp" its part of them. "auto": fsdp from a billion weights on."""

    groups: PositiveInt = 32
    """Rooms of an iteration."""
    group_size: PositiveInt = 8
    """Episodes in each room."""
    iterations: PositiveInt = 300
    """Planned length of the run; the learning rate reaches `final_lr` at its end."""
    temperature: PositiveFloat = 1.0
    """Of sampling, and of the policy that learns."""
    top_p: Annotated[float, MoreThan(0)] = 1.0
    """Share of the probability that is sampled from."""
    max_new_tokens: PositiveInt = 400
    """Longest reply."""
    backend: Annotated[str, OneOf(*BACKENDS)] = "auto"
    """What samples: see `make_generator`; workers sample on their CPUs, where "vllm" is "auto"."""
    overlap: bool = False
    """Play the next episodes while an iteration is learnt from, with weights that are one iteration older; pays with samplers elsewhere."""

    env_preset: Annotated[str, OneOf("default", "ragen", "ragen2", "compact")] = "default"
    """Budgets, penalties and prompts: the preset of `TextEnv`."""
    prompt_mode: Annotated[str, OneOf("base", "world_model", "no_think")] = "base"
    """What a reply must contain."""
    style: str | None = None
    """How states are written; None: as the preset of the environment says."""
    history: str | int | None = None
    """Turns that a prompt shows: "full", a number, or "none"."""
    turns: int | None = None
    """Turns of an episode."""
    actions_per_turn: int | None = None
    """Actions of a turn that are executed."""
    actions_per_episode: int | None = None
    """Actions of an episode that are executed."""
    format_penalty: float | None = 0.5
    """Cost of a reply of a wrong form."""
    penalty_at: Annotated[str, OneOf("turn", "episode")] | None = None
    """Where that cost counts; None: as the preset of the environment says."""
    strict: bool = False
    """Execute nothing of a reply of a wrong form."""
    seat: int | str = 0
    """The seat that the model plays, or "all" where all share their rewards."""
    opponents: str = "random"
    """Players of the other seats."""
    seeds: Annotated[str, OneOf("split", "ragen")] = "split"
    """"split": rooms of the training split; "ragen": rooms by number, from `train_seed` on, which may occur in validation."""
    train_seed: NonNegativeInt = 10_000
    """Number of the first training room."""
    train_rooms: PositiveInt | None = None
    """Number of training rooms, after which the first ones come again; None: new ones without end."""

    filter: Annotated[str, OneOf(*FILTERS)] = "top_k"
    """Which groups are learnt from: see `kept_groups`."""
    filter_share: Fraction = 0.5
    """Share of the filter."""
    filter_score: Annotated[str, OneOf(*SCORES)] = "variance"
    """What the filter ranks groups by."""
    reward_at: Annotated[str, OneOf("turn", "episode")] = "turn"
    """Whether the rewards lie on the last token of each turn, or their sum on the last token of the episode."""
    reward_norm: Annotated[str, OneOf("identity", "mean_std", "asym_clip")] = "identity"
    """Scale of the episode's score; needs reward_at="episode"."""
    reward_over: Annotated[str, OneOf("state", "batch")] = "state"
    """Scores that are scaled together: those of a room, or all."""

    advantage: Annotated[str, OneOf(*ADVANTAGES)] = "gae"
    """How advantages are computed; the last four compare episodes of a group and have no critic."""
    gamma: Fraction = 1.0
    """Discount from token to token."""
    lam: Fraction = 1.0
    """Lambda from token to token."""
    gamma_turn: Fraction = 0.95
    """Discount from turn to turn of "bilevel"."""
    lam_turn: Fraction = 1.0
    """Lambda from turn to turn of "bilevel"."""
    whiten: bool | None = None
    """Scale advantages to mean 0 and standard deviation 1 over the tokens of the batch; None: with a critic."""
    response_mask: bool = True
    """False: learn from the environment's tokens after the first reply too, as the first release of SPA did."""

    epochs: PositiveInt = 1
    """Passes over the episodes of an iteration."""
    minibatches: PositiveInt = 4
    """Gradient steps of a pass."""
    minibatch: PositiveInt | None = None
    """Episodes of a gradient step, instead of `minibatches`."""
    tokens_at_once: PositiveInt = 16_384
    """Tokens of one forward pass; affects memory and speed, not the result."""
    lr: PositiveFloat = 1e-6
    """Learning rate of the policy."""
    final_lr: PositiveFloat | None = None
    """Learning rate at the end, reached in a straight line; None: constant."""
    critic_lr: PositiveFloat | None = 1e-5
    """Learning rate of a separate critic and of the value head, constant; None: that of the policy."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Of AdamW."""
    weight_decay: NonNegativeFloat = 0.01
    """Of AdamW, on matrices."""
    max_grad_norm: PositiveFloat = 1.0
    """Maximum gradient norm, of the policy and of a separate critic."""
    value: Annotated[str, OneOf("auto", "shared", "separate")] = "auto"
    """Where values come from: a linear layer on the policy's last hidden states, or a second network that starts as the policy.
    "auto": shared in models under 10 M parameters."""
    lora_rank: NonNegativeInt = 0
    """Rank of LoRA's matrices; 0: all weights are trained."""

    clip: tuple[float, float] = (0.2, 0.28)
    """How far the ratio may fall below and rise above 1."""
    dual_clip: Annotated[float, MoreThan(1)] | None = 3.0
    """Limit of the ratio where the advantage is negative; None: no limit."""
    value_clip: PositiveFloat | None = 0.5
    """How far a value may move in an iteration; None: no limit."""
    value_coef: NonNegativeFloat = 1.0
    """Weight of the value's loss."""
    entropy: float = 0.001
    """Weight of the entropy."""
    kl: NonNegativeFloat = 0.001
    """Weight of the KL to the reference."""
    kl_in: Annotated[str, OneOf("loss", "reward")] = "loss"
    """Where the KL counts."""
    reference: str | None = None
    """Folder of the model that the policy stays close to; None: the one that it starts from."""
    importance: Annotated[str, OneOf("none", "truncated")] = "none"
    """"truncated": weight tokens by min(2, learner's probability / sampler's), where the two differ."""
    loss_mean: Annotated[str, OneOf("auto", *LOSS_MEANS)] = "auto"
    """What is averaged over: see `token_weights`. "auto": "constant" for "dr_grpo", else "token"."""
    loss_constant: PositiveFloat | None = None
    """Divisor of loss_mean="constant"; None: `max_new_tokens` of every turn of a sequence."""

    val_every: NonNegativeInt = 10
    """Iterations between validations; 0: none."""
    val_first: bool = True
    """Validate before the first iteration."""
    val_groups: PositiveInt = 128
    """Rooms of a validation."""
    val_samples: PositiveInt = 8
    """Episodes in each of them."""
    val_temperature: Annotated[float, AtLeast(0)] = 1.0
    """Temperature of a validation; 0: always the likeliest token."""
    val_seed: NonNegativeInt = 123
    """Number of the first room of a validation."""
    collapse_every: NonNegativeInt = 20
    """Iterations between measurements of template collapse; 0: none."""
    samples_every: NonNegativeInt = 10
    """Iterations between two of which some episodes are kept to look at, in the checkpoint and in the browser; 0: none."""
    save_episodes: bool = False
    """Keep the episodes of the last iteration in `TextPPO.batch`."""
    checkpoint_dir: str | None = None
    """Folder for older checkpoints, iteration_N each; None: none are kept; `ludory train` and `ludory spa` name one beside the model."""
    checkpoint_every: NonNegativeInt | None = None
    """Iterations between checkpoints that are kept; 0: none; None: a fifth of `iterations`."""

    def __post_init__(self) -> None:
        """Check all fields.

        Raises:
            OptionError: naming the field, the value and what is allowed.
        """
        if self.preset not in PRESETS:
            raise OptionError(f"preset={self.preset!r}: must be one of {', '.join(PRESETS)}")
        check_limits(self)
        for name in ("clip", "betas"):
            pair = getattr(self, name)
            if len(pair) != 2 or not all(0 <= part < 1 for part in pair):
                raise OptionError(f"{name}={pair}: must be two numbers from 0 to below 1")
        if self.devices > self.groups:
            raise OptionError(f"devices={self.devices}: each plays whole groups; must be 1 to groups={self.groups}")
        if self.top_p > 1:
            raise OptionError(f"top_p={self.top_p}: must lie in (0, 1]")
        if self.reward_norm != "identity" and self.reward_at != "episode":
            raise OptionError(f'reward_norm={self.reward_norm!r} scales scores of episodes; add reward_at="episode"')
        if self.advantage == "turn_grpo" and self.reward_at != "turn":
            raise OptionError('advantage="turn_grpo" compares rewards of turns; add reward_at="turn"')
        if self.advantage not in WITH_CRITIC and self.group_size < 2:
            raise OptionError(
                f"advantage={self.advantage!r} compares episodes of a room; group_size must be at least 2"
            )
        if self.advantage not in WITH_CRITIC and self.kl_in == "reward" and self.kl:
            raise OptionError(f'kl_in="reward" needs a critic; with advantage={self.advantage!r} type kl_in="loss"')

    def spreads(self, weights: int) -> bool:
        """Whether a model of so many weights is spread over the devices."""
        return self.devices > 1 and spread(self.sharding, weights)

    @property
    def episodes(self) -> int:
        """Episodes of an iteration."""
        return self.groups * self.group_size

    @property
    def has_critic(self) -> bool:
        """Whether states are valued."""
        return self.advantage in WITH_CRITIC

    @property
    def whitened(self) -> bool:
        """`whiten`, with its default filled in."""
        return self.has_critic if self.whiten is None else self.whiten

    @property
    def mean(self) -> str:
        """`loss_mean`, with its default filled in."""
        if self.loss_mean == "auto":
            return "constant" if self.advantage == "dr_grpo" else "token"
        return self.loss_mean

    @property
    def keeps_every(self) -> int:
        """`checkpoint_every`, with its default filled in; 0 without a folder for them."""
        if self.checkpoint_dir is None:
            return 0
        return max(1, self.iterations // 5) if self.checkpoint_every is None else self.checkpoint_every

    def rates(self, done: float) -> tuple[float, float]:
        """Learning rates of policy and critic when a share `done` of the run has passed."""
        policy = linear(self.lr, self.final_lr, min(1.0, done))
        return policy, policy if self.critic_lr is None else self.critic_lr


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "spa": {
        "env_preset": "ragen",
        "filter_share": 0.25,
        "minibatch": 64,
        "kl": 0.0,
        "format_penalty": 0.1,
        "response_mask": False,
        "reward_at": "episode",
        "iterations": 1000,
        "seeds": "ragen",
    },
    "ragen": {
        "env_preset": "ragen",
        "groups": 8,
        "group_size": 16,
        "filter": "none",
        "format_penalty": 0.1,
        "reward_at": "episode",
        "iterations": 200,
        "seeds": "ragen",
        "val_groups": 256,
        "val_samples": 1,
        "val_temperature": 0.5,
    },
    "tiny": {
        "env_preset": "compact",
        "prompt_mode": "world_model",
        "groups": 64,
        "epochs": 2,
        "advantage": "rloo",
        "lr": 5e-4,
        "final_lr": 5e-5,
        "weight_decay": 0.0,
        "dual_clip": None,
        "kl": 0.02,
        "iterations": 60,
        "val_every": 20,
        "seeds": "ragen",
        "train_rooms": 4000,
        "max_new_tokens": 48,
        "tokens_at_once": 2048,
    },
}
"""Options that differ from the defaults, by preset."""


def spread(sharding: str, weights: int) -> bool:
    """Whether `sharding` means that each device has a part of a model of so many weights."""
    return sharding == "fsdp" or (sharding == "auto" and weights >= LARGE)


def make_text_ppo_config(preset: str = "default", **options: Any) -> TextPPOConfig:
    """The options of a preset, with some changed.

    Raises:
        OptionError: an unknown preset or option, or a value that is not allowed.
    """
    if preset not in PRESETS:
        raise OptionError(f"preset={preset!r}: must be one of {', '.join(PRESETS)}")
    pairs = {field.name for field in fields(TextPPOConfig) if str(field.type).startswith("tuple")}
    given = {name: tuple(value) if name in pairs else value for name, value in options.items()}
    if given.get("filter", "") is None:  # as `--set filter=none` is read
        given["filter"] = "none"
    return make_options(TextPPOConfig, {"preset": preset, **PRESETS[preset], **given})
