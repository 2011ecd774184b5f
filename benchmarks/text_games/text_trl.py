"""GRPO of `text-ppo` beside GRPO of TRL: the same small model, rooms, budget and core.

For each seed both start from the same model, which has learnt the form of replies or lies in a folder, play whole conversations in the
same numbered rooms, and take as many gradient steps over as many episodes with the same loss, in turn, on one thread. TRL plays through
`TextRollouts`, with its own sampler. Both ends are evaluated by the same player on the same rooms.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean, stdev
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from ludory.agents.language.adapters.trl import TextRollouts
from ludory.agents.language.extras import needed
from ludory.agents.language.model import LanguageModel, load_language_model
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.text_ppo.config import make_text_ppo_config
from ludory.algorithms.text_ppo.text_ppo import TextPPO
from ludory.algorithms.world_model.config import EvalConfig, TextConfig
from ludory.algorithms.world_model.evaluation import estimate, play
from ludory.algorithms.world_model.generate import RAGEN_TRAIN
from ludory.algorithms.world_model.scripted import learn_form, new_model
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.charts.curves import line_chart

OURS, THEIRS = "text-ppo", "TRL"
BAR = 1.5
"""Tokens learnt per CPU second, ours to theirs."""
GROUP, PENALTY, CLIP, STEPS = 8, 0.5, 0.2, 4
"""Episodes of a room; cost of a reply of a wrong form; limit of the ratio; gradient steps of an iteration."""
PROMPT_TOKENS = 64
"""Most tokens of a later prompt of a conversation."""
NEW: Mapping[str, Any] = {"kind": "llama", "positions": 1024}
"""Of new models. TRL asks for room for a whole completion after every turn, and pads prompts on the left: GPT-2's learned positions, of the
small model elsewhere, would not be those that it sampled with, and it would unlearn. Rotary ones are relative."""


@dataclass(frozen=True, slots=True)
class TextTrlOptions:
    """Options of `ludory bench text-trl`."""

    env: str = "Sokoban-v0"
    """Id of a game with rooms and texts of single words, such as FrozenLakeFirm-v0."""
    seeds: tuple[Natural, ...] = (1, 2, 3)
    """Of new weights, the play and the evaluation; a run of both learners each."""
    start: Path | None = None
    """Folder of the model that both start from, such as `seed1/sft` of `ludory bench spa-tiny`; default: a new one that learns the form. Its positions have to be relative, or all prompts as long."""
    mode: str = "base"
    """What a reply must contain: "base", or "world_model" for states, too."""
    turns: Count = 3
    """Of a conversation."""
    reply_tokens: Count = 24
    """Most tokens of a reply; TRL, which has a limit for the whole conversation only, gets `turns` times so many and prompts of 64."""
    learning_rate: float = 1e-4
    """Of both."""
    iterations: Count = 40
    """Of both learners."""
    groups: Count = 16
    """Rooms of an iteration; 8 episodes in each."""
    train_rooms: Count = 1000
    """Numbered rooms, after which the first ones come again."""
    form_steps: Count = 400
    """Gradient steps in which the model learns the form of replies."""
    rooms: Count = 128
    """Rooms of an evaluation."""
    out: Path = Path("runs/text-trl")
    """Folder of the result."""


class GrpoIteration(NamedTuple):
    """What a learner did in an iteration."""

    tokens: int
    """That were sampled and learnt from."""
    reward: float
    """Mean score of the episodes."""
    cpu_s: float
    """Of sampling and learning."""


Run = Callable[[LanguageModel, TextTrlOptions, int], list[GrpoIteration]]


@benchmark("text-trl")
def run(options: TextTrlOptions) -> Result:
    """Both learners of all seeds."""
    text = TextConfig(env=options.env, preset="compact", history="full", turns=options.turns, format_penalty=PENALTY)
    # what cannot be done is said before anything is learnt
    needed("trl")
    make_text_ppo_config(**_options(options, 0))
    with one_thread():
        runs = [_seed(options, text, seed) for seed in options.seeds]
    # which of the models of a run, not where it lies
    config = asdict(options) | {"start": "/".join(options.start.parts[-2:]) if options.start else "", "out": ""}
    report = {"config": config, "bar": BAR, "runs": runs, **_compared(runs)}
    return Result(options.out / "text-trl.json", report, shown, chart)


def _seed(options: TextTrlOptions, text: TextConfig, seed: int) -> dict[str, Any]:
    needed("transformers").utils.logging.disable_progress_bar()
    start = _start(options, text, seed)
    found: dict[str, Any] = {"seed": seed, "start": _success(start, text, options, seed)}
    learners: Mapping[str, Run] = {OURS: ours, THEIRS: theirs}
    for name, learn in learners.items():
        model = LanguageModel(copy.deepcopy(start.model), start.tokenizer)
        iterations = learn(model, options, seed)
        found[name] = {"iterations": [one._asdict() for one in iterations], "end": _success(model, text, options, seed)}
        print(f"seed {seed}, {name}: {_line(found[name])}", flush=True)
    return found


def _start(options: TextTrlOptions, text: TextConfig, seed: int) -> LanguageModel:
    if options.start is not None:
        return load_language_model(options.start, device="cpu")
    model = new_model(text, seed, **NEW)
    learn_form(model, text, prompt_modes=(options.mode,), steps=options.form_steps, seed=seed)
    return model


def _line(found: Mapping[str, Any]) -> str:
    tokens, seconds = (sum(one[name] for one in found["iterations"]) for name in ("tokens", "cpu_s"))
    first, last = found["iterations"][0], found["iterations"][-1]
    return (
        f"{tokens / seconds:,.0f} tokens/s, reward {first['reward']:+.2f} to {last['reward']:+.2f}, "
        f"solves {100 * found['end'][0]:.1f} %"
    )


def _success(model: LanguageModel, text: TextConfig, options: TextTrlOptions, seed: int) -> list[float | None]:
    """Pass@1 in the rooms of validation and its standard error over rooms."""
    how = EvalConfig(
        rooms=options.rooms,
        samples=GROUP,
        k=(1,),
        prompt_mode=options.mode,
        max_new_tokens=options.reply_tokens,
        seeds="ragen",
        split=None,
        seed=seed,
    )
    player, env = play(model, text, how)
    env.close()
    one = estimate(player.rates(1)).as_json()
    return [one["mean"], one["stderr"]]


def ours(model: LanguageModel, options: TextTrlOptions, seed: int) -> list[GrpoIteration]:
    """`text-ppo` with the settings of TRL's defaults where the two have other ones."""
    learner = TextPPO(model, options.env, **_options(options, seed))
    found = []
    for _ in range(options.iterations):
        began = process_time()
        learner.learn(learner.config.episodes, reset_num_timesteps=False)
        batch = learner.batch
        assert batch is not None
        found.append(GrpoIteration(int(batch.sampled.sum()), float(batch.scores.mean()), process_time() - began))
    return found


def _conversations(options: TextTrlOptions) -> dict[str, Any]:
    """Options of both: what is played, and how it is shown."""
    return {
        "prompt_mode": options.mode,
        "history": "full",
        "turns": options.turns,
        "format_penalty": PENALTY,
        "seeds": "ragen",
    }


def _options(options: TextTrlOptions, seed: int) -> dict[str, Any]:
    """Fields of `TextPPOConfig`."""
    return _conversations(options) | {
        "env_preset": "compact",
        "train_seed": RAGEN_TRAIN,
        "train_rooms": options.train_rooms,
        "groups": options.groups,
        "group_size": GROUP,
        "max_new_tokens": options.reply_tokens,
        "iterations": options.iterations,
        "advantage": "grpo",
        "filter": "none",
        "epochs": 1,
        "minibatches": STEPS,
        "lr": options.learning_rate,
        "weight_decay": 0.0,
        "clip": (CLIP, CLIP),
        "dual_clip": None,
        "entropy": 0.0,
        "kl": 0.0,
        "tokens_at_once": 2048,
        "val_every": 0,
        "collapse_every": 0,
        "samples_every": 0,
        "save_episodes": True,
        "device": "cpu",
        "seed": seed,
    }


def theirs(model: LanguageModel, options: TextTrlOptions, seed: int) -> list[GrpoIteration]:
    """`GRPOTrainer`, with an iteration's episodes generated at once and learnt from in `STEPS` steps."""
    trl, episodes = needed("trl"), options.groups * GROUP
    rollouts = TextRollouts(options.env, preset="compact", **_conversations(options))
    played: list[tuple[int, float, float]] = []

    def watched(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        began = process_time()
        found = rollouts(prompts, trainer)
        played.append((sum(map(sum, found["env_mask"])), float(np.mean(found["score"])), began))
        return found

    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=episodes // STEPS,
            steps_per_generation=STEPS,
            num_generations=GROUP,
            max_completion_length=options.turns * options.reply_tokens + (options.turns - 1) * PROMPT_TOKENS,
            max_steps=STEPS * options.iterations,
            learning_rate=options.learning_rate,
            lr_scheduler_type="constant",
            epsilon=CLIP,
            beta=0.0,
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=False,
            seed=seed,
        )
        trainer = trl.GRPOTrainer(
            model=model.model,
            args=config,
            processing_class=model.tokenizer,
            train_dataset=rollouts.dataset(options.train_rooms, seed=RAGEN_TRAIN),
            rollout_func=watched,
            reward_funcs=rollouts.reward,
        )
        trainer.remove_callback(needed("transformers").PrinterCallback)
        trainer.train()
        ended = process_time()
    starts = [began for *_, began in played]
    # an iteration lasts from its first token to that of the next
    return [
        GrpoIteration(tokens, reward, after - began)
        for (tokens, reward, began), after in zip(played, [*starts[1:], ended], strict=True)
    ]


def curve(iterations: Sequence[Mapping[str, float]]) -> list[tuple[float, float]]:
    """Tokens learnt from so far, and the mean score of the episodes that they are from."""
    totals = accumulate(one["tokens"] for one in iterations)
    return [(total, one["reward"]) for total, one in zip(totals, iterations, strict=True)]


def last_reward(iterations: Sequence[Mapping[str, float]], budget: float, share: float = 0.25) -> float:
    """Mean score in the last `share` of a budget of tokens."""
    found = [reward for tokens, reward in curve(iterations) if (1 - share) * budget < tokens <= budget]
    return mean(found or [iterations[0]["reward"]])


def _compared(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tokens per CPU second of each seed, and rewards at the tokens that both have reached."""
    rates, rewards = {}, {}
    budgets = [min(sum(i["tokens"] for i in one[name]["iterations"]) for name in (OURS, THEIRS)) for one in runs]
    for name in (OURS, THEIRS):
        iterations = [one[name]["iterations"] for one in runs]
        rates[name] = [sum(i["tokens"] for i in one) / sum(i["cpu_s"] for i in one) for one in iterations]
        rewards[name] = [last_reward(one, budget) for one, budget in zip(iterations, budgets, strict=True)]
    return {
        "tokens_per_cpu_second": rates,
        "ratios": [own / other for own, other in zip(rates[OURS], rates[THEIRS], strict=True)],
        "reward_at_equal_tokens": rewards,
        "tokens": budgets,
    }


def with_error(values: Sequence[float]) -> str:
    """Mean, and its standard error over seeds where there are several."""
    return f"{mean(values):.2f}" + (f" ± {stdev(values) / len(values) ** 0.5:.2f}" if len(values) > 1 else "")


def shown(report: Mapping[str, Any]) -> Iterable[Shown]:
    """Rates, rewards and successes of both."""
    rows = [
        [
            name,
            f"{mean(report['tokens_per_cpu_second'][name]):,.0f}",
            with_error(report["reward_at_equal_tokens"][name]),
            with_error([100 * one[name]["end"][0] for one in report["runs"]]),
        ]
        for name in (OURS, THEIRS)
    ]
    config = report["config"]
    yield table(
        f"GRPO at {config['env']}, {config['iterations']} iterations of {config['groups']} rooms and {GROUP} episodes, one core",
        ["", "tokens/CPU s", f"reward at {mean(report['tokens']):,.0f} tokens", "rooms solved, %"],
        rows,
    )
    ratios = report["ratios"]
    yield f"tokens learnt per CPU second: {mean(ratios):.1f} times TRL's (seeds: {', '.join(f'{one:.1f}' for one in ratios)}); bar {report['bar']}"
    yield f"before: rooms solved {with_error([100 * one['start'][0] for one in report['runs']])} %; errors are over seeds"


def chart(report: Mapping[str, Any]) -> str:
    """Mean score over tokens, of all seeds."""
    lines = {
        f"{name}, seed {one['seed']}": [(tokens / 1e3, reward) for tokens, reward in curve(one[name]["iterations"])]
        for one in report["runs"]
        for name in (OURS, THEIRS)
    }
    return line_chart(f"GRPO at {report['config']['env']}", "tokens learnt, thousands", "mean score", lines)
