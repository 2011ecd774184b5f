"""Configurations of the stages: frozen dataclasses, and YAML files that only set their fields."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from ludory.agents.language.extras import BACKENDS
from ludory.agents.language.spans import ANSWER, OBSERVATION, OTHER, PREDICTION, THINK
from ludory.algorithms.text_ppo.config import SHARDINGS
from ludory.errors import OptionError, OutputError
from ludory.limits import (
    Below,
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
    OneOf,
    PositiveFloat,
    PositiveInt,
    check_limits,
)
from ludory.reading import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

TRAINED: Mapping[str, tuple[int, ...]] = {
    "think_answer": (OTHER, THINK, ANSWER, OBSERVATION, PREDICTION),
    "states": (OBSERVATION, PREDICTION),
    "states_tags": (OTHER, OBSERVATION, PREDICTION),
    "all_but_states": (OTHER, THINK, ANSWER),
    "placeholder": (OTHER, THINK, ANSWER),
}
"""Spans that each mask trains: the paper's equation 2 (`think_answer`), its masked ablation (`placeholder`), and ours."""

CONFIGS = Path(__file__).parent / "configs"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConfig:
    """How a game is shown: options of `TextEnv`. None: as the preset has it."""

    env: str = "Sokoban-v0"
    """Id of a game with rooms and a text codec."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game, such as success_rate=0.8."""
    preset: Annotated[str, OneOf("default", "ragen", "ragen2", "compact")] = "default"
    """Budgets, penalty and form of the prompts."""
    style: str | None = None
    """How states are written; codecs name their styles."""
    history: str | int | None = None
    """"full", "none", or a number of turns."""
    turns: PositiveInt | None = None
    """Most turns of an episode."""
    actions_per_turn: PositiveInt | None = None
    """Most actions of a turn."""
    actions_per_episode: PositiveInt | None = None
    """Most actions of an episode."""
    format_penalty: NonNegativeFloat | None = None
    """Cost of a turn whose reply has not the required form."""
    penalty_at: str | None = None
    """"turn" or "episode"."""
    strict: bool | None = None
    """Execute nothing of a reply whose form is not the required one."""

    def __post_init__(self) -> None:
        """Check the limits of all fields."""
        check_limits(self)

    def env_options(self) -> dict[str, Any]:
        """Keyword arguments of `TextEnv`: what differs from the preset, and the game's options."""
        named = {name: getattr(self, name) for name in _TEXT_FIELDS if getattr(self, name) is not None}
        return {**named, **self.options}


_TEXT_FIELDS = tuple(part.name for part in dataclasses.fields(TextConfig) if part.name not in ("env", "options"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateConfig:
    """Stage 1: episodes, filters and the split."""

    policy: str = "model"
    """Who plays: "model"; "random": one to `actions_per_turn` uniform actions a turn; "solver(p)": the optimal action with probability p, else a uniform one."""
    batches: PositiveInt = 5
    """Batches of episodes; each becomes a file, and an interrupted run goes on with the next batch."""
    groups: PositiveInt = 32
    """Rooms in a batch."""
    group_size: PositiveInt = 8
    """Episodes from each room."""
    prompt_mode: str = "world_model"
    """Form of the replies; "world_model" asks for states."""
    temperature: PositiveFloat = 1.0
    """Of the sampler."""
    top_p: Fraction = 1.0
    """Of the sampler."""
    max_new_tokens: PositiveInt = 400
    """Most tokens of a reply."""
    format: Annotated[str, OneOf("keep", "strict")] = "keep"
    """"keep": all replies with an executed answer; "strict": a thought before the answer, with one observation before one prediction."""
    dedup: bool = True
    """Keep one of equal pairs of prompt and reply."""
    still: Fraction = 1.0
    """Share that is kept of the turns after which the state is as before, which tell little about the actions."""
    min_chars: NonNegativeInt = 0
    """Fewest characters of a kept reply."""
    max_chars: PositiveInt | None = None
    """Most characters of a kept reply."""
    max_tokens: PositiveInt | None = None
    """Most tokens of a kept row."""
    prediction: Annotated[str, OneOf("turn", "action")] = "turn"
    """What a prediction is of: the state after the turn, or after each action."""
    belief: Annotated[str, OneOf("true", "self")] = "true"
    """"self": states stay as the model wrote them (an ablation)."""
    validation_share: Annotated[float, Below(0, 1)] = 0.2
    """Share of the rooms, by hash, whose episodes are held out; never split by rows."""
    seeds: str | None = None
    """"ragen": rooms of seeds 10000, 10001, ...; None: rooms of the split."""
    split: str | None = "train"
    """Rooms to play; None: all."""
    seed: NonNegativeInt = 0
    """Of rooms, sampler and scripted policies."""
    backend: Annotated[str, OneOf(*BACKENDS)] = "auto"
    """What samples the model's replies: see `make_generator`; workers sample on their CPUs, where "vllm" is "auto"."""

    def __post_init__(self) -> None:
        """Check the limits of all fields."""
        check_limits(self)
        parse_policy(self.policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class SFTConfig:
    """Stage 2: fine-tuning on corrected replies."""

    mask: Annotated[str, OneOf(*TRAINED)] = "think_answer"
    """Which tokens are trained."""
    weights: Mapping[str, float] | None = None
    """Weight of the loss by span instead of a mask: other, think, answer, observation, prediction."""
    trainer: Annotated[str, OneOf("lightning", "trl")] = "lightning"
    """"lightning": Ludory's supervised loop; "trl": TRL's SFTTrainer."""
    epochs: PositiveInt = 5
    """Passes over the rows."""
    batch_size: PositiveInt = 16
    """Rows of a gradient step."""
    micro_batch: PositiveInt | None = None
    """Most rows of one forward pass; affects memory, not the result; None: the whole batch."""
    learning_rate: PositiveFloat = 1e-4
    """Highest step size of AdamW."""
    warmup: Annotated[float, Below(0, 1)] = 0.1
    """Share of the steps in which the step size grows from 0; then it falls to 0 by a cosine."""
    betas: tuple[float, float] = (0.9, 0.95)
    """Of AdamW."""
    weight_decay: NonNegativeFloat = 0.01
    """Of AdamW."""
    max_grad_norm: PositiveFloat = 1.0
    """Maximum gradient norm."""
    max_length: PositiveInt = 2048
    """Most tokens of a row."""
    overlong: Annotated[str, OneOf("refuse", "drop")] = "refuse"
    """What becomes of longer rows; they are never cut."""
    precision: Annotated[str, OneOf("32", "bf16")] = "32"
    """Of the forward pass."""
    lora_rank: NonNegativeInt = 0
    """Rank of LoRA adapters; 0: all weights are trained."""
    merge: bool = True
    """Merge adapters into the weights when the model is written."""
    check_rooms: NonNegativeInt = 64
    """Validation rooms played after each epoch; 0: none."""
    checkpoint_every: PositiveInt = 200
    """Gradient steps between two checkpoints."""
    prompt_key: str = "prompt"
    """Column of prompts in files of other programs."""
    response_key: str = "response"
    """Column of responses in files of other programs."""
    seed: NonNegativeInt = 0
    """Of the order of rows."""
    device: str = "auto"
    """"cpu" or "cuda"; "auto": where the model is."""
    devices: PositiveInt = 1
    """Processes that learn together, each on a device of its own, with a share of the rows of every batch."""
    sharding: Annotated[str, OneOf(*SHARDINGS)] = "auto"
    """What each of several devices has: see `TextPPOConfig`."""

    def __post_init__(self) -> None:
        """Check the limits of all fields."""
        check_limits(self)
        if self.devices > 1 and self.trainer == "trl":
            raise OptionError(
                f'devices={self.devices}: with trainer="trl" one process learns; type trainer="lightning"'
            )
        if self.weights is not None:
            from .masks import span_weights

            span_weights(weights=self.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """Evaluation: rooms, samples, and how replies are sampled."""

    rooms: PositiveInt = 128
    """Number of rooms."""
    samples: PositiveInt = 8
    """Episodes from each room."""
    k: tuple[int, ...] = (1, 8)
    """Attempts of Pass@k; at most `samples`."""
    prompt_mode: str = "base"
    """Form of the replies."""
    temperature: PositiveFloat = 1.0
    """Of the sampler."""
    top_p: Fraction = 1.0
    """Of the sampler."""
    max_new_tokens: PositiveInt = 400
    """Most tokens of a reply."""
    greedy: bool = False
    """Also one episode from each room with the most probable tokens."""
    seeds: str | None = None
    """"ragen": rooms of seeds 123, 124, ...; None: rooms of the split."""
    split: str | None = "test"
    """Rooms to play; None: all."""
    seed: NonNegativeInt = 0
    """Of rooms and sampler."""
    backend: Annotated[str, OneOf(*BACKENDS)] = "auto"
    """What samples replies: see `make_generator`."""

    def __post_init__(self) -> None:
        """Check the limits of all fields."""
        check_limits(self)
        for k in self.k:
            if not 1 <= k <= self.samples:
                raise OptionError(f"k={k}: must lie in [1, samples={self.samples}]; give more --samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldModelConfig:
    """Options of all stages, as nested mappings of their fields."""

    model: str = "small"
    """Folder of a language model, or "small": one made on the spot."""
    preset: str = "compact"
    """Of `TextEnv`."""
    generate: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `GenerateConfig`."""
    sft: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `SFTConfig`."""
    ppo: Mapping[str, Any] = field(default_factory=lambda: {"preset": "tiny"})
    """`preset`, and fields of `TextPPOConfig`."""
    device: str = "auto"
    """"cpu", "cuda" or "auto"."""
    folder: str | None = None
    """Where the stages lie; None: a temporary folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaConfig:
    """All stages of `ludory spa run`."""

    model: str = ""
    """Folder of a model of Hugging Face's format; "small": a small model made on the spot. Nothing is downloaded."""
    text: TextConfig = field(default_factory=TextConfig)
    generate: GenerateConfig = field(default_factory=GenerateConfig)
    sft: SFTConfig = field(default_factory=SFTConfig)
    ppo: Mapping[str, Any] = field(default_factory=lambda: {"preset": "default"})
    """`preset`, and fields of `TextPPOConfig` that differ from it."""
    eval: EvalConfig = field(default_factory=EvalConfig)
    remarks: str = ""
    """What a reader should know of this configuration."""

    def learnt_on(self, devices: int) -> SpaConfig:
        """The same with so many devices in the stages that learn."""
        sft = dataclasses.replace(self.sft, devices=devices)
        return dataclasses.replace(self, sft=sft, ppo={**self.ppo, "devices": devices})

    def sampled_by(self, backend: str) -> SpaConfig:
        """The same with another backend in all stages; the rooms that fine-tuning checks are played by the model that learns."""
        return dataclasses.replace(
            self,
            generate=dataclasses.replace(self.generate, backend=backend),
            ppo={**self.ppo, "backend": backend},
            eval=dataclasses.replace(self.eval, backend=backend),
        )


def parse_policy(policy: str) -> tuple[str, float]:
    """("solver", 0.9) for "solver(0.9)"; "solver" alone is 1.

    Raises:
        OptionError: it is neither "model", "random" nor "solver(p)" with p in 0..1.
    """
    name, bracket, rest = policy.partition("(")
    if name in ("model", "random") and not bracket:
        return name, 0.0
    if name == "solver" and (not bracket or rest.endswith(")")):
        try:
            chance = float(rest[:-1]) if bracket else 1.0
        except ValueError:
            chance = -1.0
        if 0 <= chance <= 1:
            return name, chance
    raise OptionError(f"policy={policy!r}: must be 'model', 'random', 'solver' or 'solver(p)' with p in [0, 1]")


def config_names() -> list[str]:
    """Names of the configurations that come with Ludory, such as "spa/_2_sokoban"."""
    return sorted(file.relative_to(CONFIGS).with_suffix("").as_posix() for file in CONFIGS.rglob("*.yaml"))


def read_config(name: str | Path) -> SpaConfig:
    """A configuration by name, or from a YAML file.

    Raises:
        OptionError: there is no such configuration or file, or a field is unknown or has an invalid value.
    """
    file = CONFIGS / f"{name}.yaml" if str(name) in config_names() else Path(name)
    if not file.is_file():
        raise OptionError(f"--config {name}: no such file; or one of {', '.join(config_names())}")
    return from_fields(SpaConfig, read_yaml(file), str(name))


def read_yaml(file: Path) -> dict[str, Any]:
    """The mapping of a YAML file.

    Raises:
        OptionError: it cannot be read, or is no mapping.
    """
    import yaml

    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except Exception as error:  # PyYAML raises many kinds of errors on damaged files
        raise OptionError(f"{file}: cannot be read as YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(found, dict):
        raise OptionError(f"{file}: got {shown(found)}, must be a mapping of fields")
    return found


def from_fields(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of a dataclass from nested mappings.

    Raises:
        OptionError: a field is unknown, or its value is not allowed; `where` begins the message.
    """
    names = {part.name for part in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints, made = get_type_hints(kind), {}
    for name, value in values.items():
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"must be among {', '.join(sorted(names))}"
            raise OptionError(f"{where}: no field is called {name!r}; {hint}")
        if dataclasses.is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise OptionError(f"{where}: {name}: got {shown(value)}, must be a mapping of fields")
            value = from_fields(hints[name], value, f"{where}: {name}")
        made[name] = _float_if_due(hints[name], tuple(value) if isinstance(value, list) else value)
    try:
        return kind(**made)
    except (OptionError, TypeError) as error:
        raise OptionError(f"{where}: {error}") from error


def _float_if_due(hint: Any, value: Any) -> Any:
    """YAML reads 1e-4 as a text."""
    if isinstance(value, str) and hint in (float, float | None):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def as_fields(config: DataclassInstance) -> dict[str, Any]:
    """The fields of a configuration as nested mappings, as YAML and JSON can hold them."""
    found: dict[str, Any] = dataclasses.asdict(config)
    return found


def leaves(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of everything in nested mappings; `before` begins every name."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def refuse_changes(
    folder: Path, what: str, before: Mapping[str, Any], now: Mapping[str, Any], free: Collection[str] = ()
) -> None:
    """Refuse to go on with what a folder holds if it was made from something else.

    Args:
        folder: what a user may name otherwise or remove.
        what: its content, in words.
        before: nested mappings that JSON can hold.
        now: the same, as it should be.
        free: dotted names that may differ.

    Raises:
        OutputError: names every value that differs.
    """
    # through JSON, so that tuples and lists compare as equal
    old, new = (dict(leaves(json.loads(json.dumps(tree, default=str)))) for tree in (before, now))
    names = [name for name in dict.fromkeys([*old, *new]) if name not in free and old.get(name) != new.get(name)]
    if names:
        changed = "; ".join(f"{name} was {_short(old.get(name))}, now {_short(new.get(name))}" for name in names)
        raise OutputError(
            f"{folder}: holds {what} of another configuration or model: {changed}; "
            "go back to these values, name another folder, or remove this one"
        )


def _short(value: Any) -> str:
    """A value in a message; of a hash its beginning."""
    return "unset" if value is None else value[:12] if isinstance(value, str) and len(value) == 64 else shown(value)
