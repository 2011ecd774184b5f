"""Configurations of RAGEN and SPA: their keys beside ours, and a reader of their YAML files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ludory.algorithms.text_ppo.config import make_text_ppo_config

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
    """Our value of the original's; or a mapping of the fields that this value sets."""
    note: str = ""
    same: tuple[Any, ...] = ()
    """Of a key that sets no field: values that say what is always so here."""
    when: tuple[str, bool] | None = None
    """Another key, False where it is absent, and the value that it must have for this one to count."""


def _kl(used: Any) -> str:
    return "loss" if used else "reward"


def _tag(tags: Any) -> dict[str, Any]:
    tag, *others = tags if isinstance(tags, list) and tags else [tags]
    if others or tag not in ENVIRONMENTS:
        raise ValueError(f"one of {', '.join(ENVIRONMENTS)}")
    env, options = ENVIRONMENTS[tag]
    return {"text.env": env, **({"text.options": options} if options else {})}


def _mode(mode: Any) -> dict[str, str]:
    """Stage 1 asks for states, PPO does not: the mode of one stage says nothing of the other."""
    name = _MODES[mode]
    return {"generate.prompt_mode" if name == "world_model" else "ppo.prompt_mode": name}


def _validation_temperature(value: Any) -> dict[str, Any]:
    return {"ppo.val_temperature": value} | ({"eval.temperature": value} if value else {"eval.greedy": True})


def _every(value: Any) -> int:
    """Iterations between two events; -1 is "never" there, 0 here."""
    return max(0, int(value))


_ACTOR, _ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
_IN_LOSS = f"{_ACTOR}.use_kl_loss"
_THINK, _BILEVEL = "agent_proxy.enable_think", "algorithm.bi_level_gae"
KEYS = (
    Key("model_path", ("model",)),
    Key("actor_rollout_ref.model.path", ("model",)),
    Key("critic.model.path", ("model",)),
    Key("actor_rollout_ref.model.lora_rank", ("sft.lora_rank", "ppo.lora_rank")),
    Key("ctx_manager.mode", ("generate.prompt_mode", "ppo.prompt_mode"), _mode, "also called MODE"),
    Key("MODE", ("generate.prompt_mode", "ppo.prompt_mode"), _mode),
    Key("RENDER_MODE", ("text.style",), {"text_with_coordinates": "sentence", "text": "grid"}.__getitem__),
    Key("seed.train", ("ppo.train_seed",), note='with seeds: "ragen"'),
    Key("seed.val", ("ppo.val_seed",), note='with seeds: "ragen"'),
    Key("es_manager.train.env_groups", ("ppo.groups",)),
    Key("es_manager.train.group_size", ("ppo.group_size",)),
    Key("es_manager.train.env_configs.tags", ("text.env",), _tag),
    Key("es_manager.val.env_groups", ("ppo.val_groups", "eval.rooms")),
    Key("es_manager.val.group_size", ("ppo.val_samples", "eval.samples")),
    Key("es_manager.val.env_configs.tags", ("text.env",), _tag),
    Key("es_manager.format_penalty", ("text.format_penalty",), lambda value: abs(float(value))),
    Key("agent_proxy.max_turn", ("text.turns",)),
    Key("agent_proxy.max_actions_per_turn", ("text.actions_per_turn",)),
    Key("agent_proxy.action_sep", (), note="preset of TextEnv: '||'", same=("||",)),
    Key(_THINK, ("ppo.prompt_mode",), lambda think: {}, 'false: "no_think"'),
    Key("custom_envs.*.max_actions_per_traj", ("text.actions_per_episode",)),
    Key("agent_proxy.use_turn_scores", ("ppo.reward_at",), lambda turns: "turn" if turns else "episode"),
    Key("agent_proxy.reward_normalization.grouping", ("ppo.reward_over",)),
    Key("agent_proxy.reward_normalization.method", ("ppo.reward_norm",)),
    Key(f"{_ACTOR}.clip_ratio", ("ppo.clip.both",), float, "where neither clip_ratio_low nor clip_ratio_high is set"),
    Key(f"{_ACTOR}.clip_ratio_low", ("ppo.clip.0",)),
    Key(f"{_ACTOR}.clip_ratio_high", ("ppo.clip.1",)),
    Key(f"{_ACTOR}.clip_ratio_c", ("ppo.dual_clip",), float),
    Key(
        f"{_ACTOR}.loss_agg_mode",
        ("ppo.loss_mean",),
        {"token-mean": "token", "seq-mean-token-mean": "sequence"}.__getitem__,
    ),
    Key(f"{_ACTOR}.entropy_coeff", ("ppo.entropy",)),
    Key(_IN_LOSS, ("ppo.kl_in",), _kl),
    Key(f"{_ACTOR}.kl_loss_coef", ("ppo.kl",), when=(_IN_LOSS, True)),
    Key(f"{_ACTOR}.kl_loss_type", (), same=("low_var_kl", "k3"), when=(_IN_LOSS, True)),
    Key(f"{_ACTOR}.grad_clip", ("ppo.max_grad_norm",)),
    Key(f"{_ACTOR}.ppo_epochs", ("ppo.epochs",)),
    Key(f"{_ACTOR}.ppo_mini_batch_size", ("ppo.minibatch",)),
    Key(f"{_ACTOR}.optim.lr", ("ppo.lr",), float),
    Key(f"{_ACTOR}.optim.betas", ("ppo.betas",)),
    Key(f"{_ACTOR}.optim.weight_decay", ("ppo.weight_decay",)),
    Key("ppo_mini_batch_size", ("ppo.minibatch",)),
    Key(f"{_ROLLOUT}.rollout_filter_ratio", ("ppo.filter_share",), float, 'with filter: "top_k"'),
    Key(f"{_ROLLOUT}.rollout_filter_type", ("ppo.filter_score",), {"std": "variance"}.__getitem__),
    Key(f"{_ROLLOUT}.temperature", ("ppo.temperature",)),
    Key(f"{_ROLLOUT}.top_p", ("ppo.top_p",)),
    Key(f"{_ROLLOUT}.val_kwargs.temperature", ("ppo.val_temperature", "eval.temperature"), _validation_temperature),
    Key(f"{_ROLLOUT}.response_length", ("ppo.max_new_tokens",)),
    Key(f"{_ROLLOUT}.gpu_memory_utilization", (), note="memory_share= of make_generator"),
    Key(f"{_ROLLOUT}.name", (), note="--backend"),
    Key("algorithm.adv_estimator", ("ppo.advantage",), _ADVANTAGES.__getitem__),
    Key("algorithm.gamma", ("ppo.gamma",)),
    Key("algorithm.lam", ("ppo.lam",)),
    Key("algorithm.kl_ctrl.kl_coef", ("ppo.kl",), note='with kl_in: "reward"', when=(_IN_LOSS, False)),
    Key("algorithm.kl_ctrl.type", (), same=("fixed",)),
    Key(_BILEVEL, ("ppo.advantage",), lambda used: {}, 'true: "bilevel_ragen"'),
    Key("algorithm.high_level_gamma", ("ppo.gamma_turn",)),
    Key("critic.optim.lr", ("ppo.critic_lr",), float),
    Key("critic.optim.betas", ("ppo.betas",)),
    Key("critic.optim.weight_decay", ("ppo.weight_decay",)),
    Key("critic.cliprange_value", ("ppo.value_clip",)),
    Key("critic.grad_clip", ("ppo.max_grad_norm",)),
    Key("critic.ppo_epochs", ("ppo.epochs",)),
    Key("critic.ppo_mini_batch_size", ("ppo.minibatch",)),
    Key("enable_response_mask", ("ppo.response_mask",)),
    Key("trainer.total_training_steps", ("ppo.iterations",)),
    Key("trainer.test_freq", ("ppo.val_every",), _every),
    Key("trainer.save_freq", ("ppo.checkpoint_every",), _every),
    Key("trainer.val_before_train", ("ppo.val_first",)),
    Key("trainer.n_gpus_per_node", (), note="one process; several GPUs are not supported yet"),
    Key("trainer.logger", (), note="loggers of `ludory train`"),
)
"""Every original key of reinforcement learning that has a counterpart here."""
SFT_KEYS = (
    Key("data.train_batch_size", ("sft.batch_size",)),
    Key("data.micro_batch_size", ("sft.micro_batch",)),
    Key("data.micro_batch_size_per_gpu", ("sft.micro_batch",)),
    Key("data.train_files", (), note="--data of `ludory spa sft`"),
    Key("data.val_files", (), note="wm_val.parquet beside --data"),
    Key("data.prompt_key", ("sft.prompt_key",)),
    Key("data.response_key", ("sft.response_key",)),
    Key("data.max_length", ("sft.max_length",)),
    Key("data.truncation", ("sft.overlong",), {"error": "refuse"}.__getitem__, "rows are never cut"),
    Key("data.multiturn.enable", (), same=(False,)),
    Key("data.balance_dp_token", (), same=(False,)),
    Key("model.partial_pretrain", ("model",)),
    Key("model.trust_remote_code", (), same=(False,)),
    Key("model.lora_rank", ("sft.lora_rank",)),
    Key("model.lora_alpha", (), note="always twice lora_rank"),
    Key("model.target_modules", (), same=("all-linear",)),
    Key("optim.lr", ("sft.learning_rate",), float),
    Key("optim.betas", ("sft.betas",)),
    Key("optim.weight_decay", ("sft.weight_decay",)),
    Key("optim.warmup_steps_ratio", ("sft.warmup",)),
    Key("optim.clip_grad", ("sft.max_grad_norm",)),
    Key("optim.lr_scheduler", (), same=("cosine",)),
    Key("ulysses_sequence_parallel_size", (), same=(1,)),
    Key("trainer.total_epochs", ("sft.epochs",)),
    Key("trainer.seed", ("sft.seed",)),
    Key("trainer.default_local_dir", (), note="--out"),
    Key("trainer.logger", (), note="sft.csv beside the model"),
)
"""As `KEYS`, of files for fine-tuning (verl's sft_trainer.yaml)."""


class ReadOriginal(NamedTuple):
    """An original's configuration as ours."""

    config: SpaConfig
    unknown: tuple[str, ...]
    """Dotted keys that have no field here, with their values and, where there is one, the reason."""


def read_original(file: str | Path, preset: str = "ragen") -> ReadOriginal:
    """Convert a YAML file of RAGEN, SPA or verl; fields that it does not set are those of a preset.

    `defaults:` reads the files of these names beside it, and `${a.b}` is the value of another key. Keys without a value set nothing, nor
    do those of `custom_envs` for games that are not played.

    Raises:
        OptionError: the file cannot be read, or a field has a value that is not allowed.
    """
    fields: dict[str, Any] = {"text": {"preset": "ragen"}, "ppo": {"preset": preset}}
    tree, unknown = _composed(Path(file))
    given = dict(leaves(tree))
    values = {key: _resolved(value, given) for key, value in given.items()}
    # only files for fine-tuning have this section
    keys = SFT_KEYS if "optim" in tree or "model.partial_pretrain" in values else KEYS
    tags = values.get("es_manager.train.env_configs.tags") or []
    for key, value in values.items():
        game = key.split(".")[1] if key.startswith("custom_envs.") else None
        if value is None or (game is not None and tags and game not in tags):
            continue
        found = next((one for one in keys if _matches(one.original, key)), None)
        problem = "" if found is None else _take(found, value, values, fields)
        if problem is not None:
            unknown.append(f"{key}: {value!r}" + (f" ({problem})" if problem else ""))
    ppo = fields["ppo"]
    # these two keys change what another key has set, in whatever order they come
    if values.get(_THINK) is False:
        ppo["prompt_mode"] = "no_think"
    if values.get(_BILEVEL):
        ppo["advantage"] = "bilevel_ragen"
    clip = ppo.pop("clip", None)
    if clip is not None:
        # the defaults of `TextPPOConfig.clip`
        ppo["clip"] = [clip.get("0", clip.get("both", 0.2)), clip.get("1", clip.get("both", 0.28))]
    if isinstance(fields.get("eval"), dict):
        fields["eval"].setdefault("k", [1])
        # RAGEN validates on rooms by seed, not on a split
        fields["eval"]["seeds"], fields["eval"]["split"] = "ragen", None
    config = from_fields(SpaConfig, fields, str(file))
    make_text_ppo_config(**config.ppo)
    return ReadOriginal(config, tuple(unknown))


def _take(key: Key, value: Any, values: Mapping[str, Any], fields: dict[str, Any]) -> str | None:
    """Set the fields of a key; why it is not understood, None if it is."""
    # "${...}" that no key of the file resolves comes from its environment
    if isinstance(value, str) and "${" in value:
        return "set where the original runs"
    if key.when is not None and bool(values.get(key.when[0])) != key.when[1]:
        return None
    if not key.ours:
        return None if value in key.same else key.note
    try:
        ours = key.convert(value)
    except (KeyError, TypeError, ValueError) as error:
        return key.note or f"no counterpart here; {error}"
    sets = ours if isinstance(ours, dict) else dict.fromkeys(key.ours, ours)
    for name, one in sets.items():
        before = _set(fields, name, one)
        # a key that repeats another one is fine, a contradiction is told
        if before != one:
            return f"another key has set {name} to {before!r}"
    return None


def _composed(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of a file over that of the files in its list `defaults`, and what of this list was not found."""
    own = read_yaml(file)
    names = own.pop("defaults", None) or []
    tree: dict[str, Any] = {}
    unknown: list[str] = []
    for name in names if isinstance(names, list) else [names]:
        beside = file.parent / f"{name}.yaml"
        if name == "_self_":
            continue
        if isinstance(name, str) and beside.is_file() and beside != file:
            # `beside != file`: a file that names itself would never end
            below, missing = _composed(beside)
            tree, unknown = _merged(tree, below), unknown + missing
        else:
            unknown.append(f"defaults: {name!r} (there is no {beside.name} beside {file.name})")
    return _merged(tree, own), unknown


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for name, value in above.items():
        before = found.get(name)
        found[name] = _merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return found


# eight steps end a circle of names
def _resolved(value: Any, given: Mapping[str, Any], depth: int = 8) -> Any:
    """The value of a key that names another key as "${a.b}"; other texts with "${" stay."""
    inner = value[2:-1] if isinstance(value, str) and value.startswith("${") and value.endswith("}") else None
    if inner is None or inner not in given or not depth:
        return value
    return _resolved(given[inner], given, depth - 1)


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


def _set(tree: dict[str, Any], name: str, value: Any) -> Any:
    """Set a dotted name that is not set yet; returns what it is then."""
    *path, last = name.split(".")
    for part in path:
        tree = tree.setdefault(part, {})
    return tree.setdefault(last, value)
