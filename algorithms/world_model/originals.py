"""Configurations of RAGEN and SPA: their keys beside ours, and a reader of their YAML files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.errors import OptionError

from .config import SpaConfig, as_fields, from_fields, leaves, read_yaml

ENVIRONMENTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "SimpleSokoban": ("Sokoban-v0", {}),
    "CoordSokoban": ("Sokoban-v0", {}),
    "Sokoban2Boxes": ("Sokoban2Boxes-v0", {}),
    "LargerSokoban": ("SokobanMedium-v0", {}),
    "HarderSokoban": ("SokobanLarge-v0", {}),
    "FrozenLake": ("FrozenLakeRagen1-v0", {}),
    "Sudoku": ("Sudoku4-v0", {"rewards": "spa"}),
}
"""Game and options by the originals' tags."""
_MODES = {"add_worldmodel": "world_model", "base": "base", "no_think": "no_think"}
_ADVANTAGES = {"gae": "gae", "grpo": "grpo", "bi_level_gae": "bilevel_ragen"}


class Key(NamedTuple):
    """An original key and our fields."""

    original: str
    ours: tuple[str, ...]
    """Dotted fields of `SpaConfig` that it sets."""
    convert: Callable[[Any], Any] = lambda value: value
    """Our value of the original's."""
    note: str = ""


def _kl(used: Any) -> str:
    return "loss" if used else "reward"


def _tag(tags: Any) -> str:
    tag = tags[0] if isinstance(tags, list) and tags else tags
    if tag not in ENVIRONMENTS:
        raise OptionError(f"env_configs.tags: got {tags!r}, must be one of {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[tag][0]


KEYS = (
    Key("model_path", ("model",)),
    Key("actor_rollout_ref.model.lora_rank", ("sft.lora_rank", "ppo.lora_rank")),
    Key("ctx_manager.mode", ("ppo.prompt_mode",), _MODES.__getitem__, "also called MODE"),
    Key("MODE", ("ppo.prompt_mode",), _MODES.__getitem__),
    Key("RENDER_MODE", ("text.style",), {"text_with_coordinates": "sentence", "text": "grid"}.__getitem__),
    Key("seed.train", ("ppo.train_seed",), note='with seeds: "ragen"'),
    Key("seed.val", ("ppo.val_seed",), note='with seeds: "ragen"'),
    Key("es_manager.train.env_groups", ("ppo.groups",)),
    Key("es_manager.train.group_size", ("ppo.group_size",)),
    Key("es_manager.train.env_configs.tags", ("text.env",), _tag),
    Key("es_manager.val.env_groups", ("ppo.val_groups", "eval.rooms")),
    Key("es_manager.val.group_size", ("ppo.val_samples", "eval.samples")),
    Key("es_manager.format_penalty", ("text.format_penalty",), lambda value: abs(float(value))),
    Key("agent_proxy.max_turn", ("text.turns",)),
    Key("agent_proxy.max_actions_per_turn", ("text.actions_per_turn",)),
    Key("agent_proxy.action_sep", (), note="preset of TextEnv: '||'"),
    Key("agent_proxy.enable_think", ("ppo.prompt_mode",), lambda think: "base" if think else "no_think"),
    Key("custom_envs.*.max_actions_per_traj", ("text.actions_per_episode",)),
    Key("agent_proxy.use_turn_scores", ("ppo.reward_at",), lambda turns: "turn" if turns else "episode"),
    Key("agent_proxy.reward_normalization.grouping", ("ppo.reward_over",)),
    Key("agent_proxy.reward_normalization.method", ("ppo.reward_norm",)),
    Key("actor_rollout_ref.actor.clip_ratio_low", ("ppo.clip.0",)),
    Key("actor_rollout_ref.actor.clip_ratio_high", ("ppo.clip.1",)),
    Key("actor_rollout_ref.actor.entropy_coeff", ("ppo.entropy",)),
    Key("actor_rollout_ref.actor.use_kl_loss", ("ppo.kl_in",), _kl),
    Key("actor_rollout_ref.actor.kl_loss_coef", ("ppo.kl",)),
    Key("actor_rollout_ref.actor.optim.lr", ("ppo.lr",), float),
    Key("ppo_mini_batch_size", ("ppo.minibatch",)),
    Key("actor_rollout_ref.rollout.rollout_filter_ratio", ("ppo.filter_share",), float, 'with filter: "top_k"'),
    Key("actor_rollout_ref.rollout.rollout_filter_type", ("ppo.filter_score",), {"std": "variance"}.__getitem__),
    Key("actor_rollout_ref.rollout.temperature", ("ppo.temperature",)),
    Key("actor_rollout_ref.rollout.response_length", ("ppo.max_new_tokens",)),
    Key("actor_rollout_ref.rollout.gpu_memory_utilization", (), note="memory_share= of make_generator"),
    Key("algorithm.adv_estimator", ("ppo.advantage",), _ADVANTAGES.__getitem__),
    Key("algorithm.gamma", ("ppo.gamma",)),
    Key("algorithm.lam", ("ppo.lam",)),
    Key("algorithm.kl_ctrl.kl_coef", ("ppo.kl",), note='with kl_in: "reward"'),
    Key("algorithm.bi_level_gae", ("ppo.advantage",), lambda used: "bilevel_ragen" if used else "gae"),
    Key("algorithm.high_level_gamma", ("ppo.gamma_turn",)),
    Key("critic.optim.lr", ("ppo.critic_lr",), float),
    Key("critic.cliprange_value", ("ppo.value_clip",)),
    Key("enable_response_mask", ("ppo.response_mask",)),
    Key("trainer.total_training_steps", ("ppo.iterations",)),
    Key("trainer.test_freq", ("ppo.val_every",)),
    Key("trainer.val_before_train", ("ppo.val_first",)),
    Key("trainer.n_gpus_per_node", (), note="one process; several GPUs are not supported yet"),
    Key("trainer.logger", (), note="loggers of `ludory train`"),
)
"""Every original key that has a counterpart here."""


class ReadOriginal(NamedTuple):
    """An original's configuration as ours."""

    config: SpaConfig
    unknown: tuple[str, ...]
    """Dotted keys that have no field here, with their values."""


def read_original(file: str | Path, preset: str = "ragen") -> ReadOriginal:
    """Convert a YAML file of RAGEN or SPA; fields that it does not set are those of a preset.

    Raises:
        OptionError: the file cannot be read, or a value has no counterpart.
    """
    fields: dict[str, Any] = {"text": {"preset": "ragen"}, "ppo": {"preset": preset}}
    unknown = []
    for key, value in leaves(read_yaml(Path(file))):
        found = next((one for one in KEYS if _matches(one.original, key)), None)
        if found is None or not found.ours:
            unknown.append(f"{key}: {value!r}")
            continue
        try:
            ours = found.convert(value)
        except (KeyError, TypeError, ValueError) as error:
            raise OptionError(f"{file}: {key}: got {value!r}, which has no counterpart here ({error})") from error
        for name in found.ours:
            _set(fields, name, ours)
    clip = fields["ppo"].pop("clip", None)
    if clip is not None:
        fields["ppo"]["clip"] = [clip.get("0", 0.2), clip.get("1", 0.28)]
    if isinstance(fields.get("eval"), dict):
        fields["eval"].setdefault("k", [1])
        fields["eval"]["seeds"], fields["eval"]["split"] = "ragen", None
    return ReadOriginal(from_fields(SpaConfig, fields, str(file)), tuple(unknown))


def beside_originals(config: SpaConfig) -> list[tuple[str, str, str]]:
    """Rows (original key, our field, value) of a configuration; options of PPO that it does not set are those of its preset."""
    preset = make_text_ppo_config(**config.ppo)
    values = dict(leaves({**as_fields(config), "ppo": asdict(preset)}))
    for number, value in enumerate(values.pop("ppo.clip", ())):
        values[f"ppo.clip.{number}"] = value
    rows = []
    for key in KEYS:
        for name in key.ours or ("",):
            value = values.get(name)
            rows.append(
                (key.original, name, ("" if value is None else f"{value}") + (f"  ({key.note})" if key.note else ""))
            )
    return rows


def _matches(pattern: str, key: str) -> bool:
    wanted, got = pattern.split("."), key.split(".")
    return len(wanted) == len(got) and all(one in ("*", other) for one, other in zip(wanted, got, strict=True))


def _set(tree: dict[str, Any], name: str, value: Any) -> None:
    *path, last = name.split(".")
    for part in path:
        tree = tree.setdefault(part, {})
    tree[last] = value
