"""GRPO of TRL over episodes of `TextEnv`: what is sampled, what is trained, and a step."""

from __future__ import annotations

import copy
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ludory.agents.language.adapters.trl import TextRollouts
from ludory.agents.language.adapters.trl_tool import TextTool
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model
from ludory.envs import TextEnv
from ludory.errors import OptionError

from ..models import byte_level
from .conftest import COMPACT

# TRL is imported where it is used: it takes a second, and `make test` has none of this
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("trl") is None, reason='type: pip install "ludory[trl]"'),
]
GENERATIONS = 4


def trainer(
    model: LanguageModel, folder: Path, dataset: Any, rollout_func: Any, reward: Any, longest: int = 400
) -> Any:
    import trl

    config = trl.GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=2 * GENERATIONS,
        num_generations=GENERATIONS,
        max_completion_length=longest,
        max_steps=1,
        learning_rate=1e-2,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    return trl.GRPOTrainer(
        model=model.model,
        args=config,
        processing_class=model.tokenizer,
        train_dataset=dataset,
        rollout_func=rollout_func,
        reward_funcs=reward,
    )


@pytest.fixture(scope="module")
def step(model, tmp_path_factory) -> dict[str, Any]:
    """One step of GRPO on a copy of the small model: prompts, what the rollouts returned, weights before and after."""
    learner = LanguageModel(copy.deepcopy(model.model), model.tokenizer)
    rollouts, seen = TextRollouts("Sokoban-v0", **COMPACT), {}

    def watched(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        seen.update(prompts=prompts, played=rollouts(prompts, trainer))
        seen["played"] = copy.deepcopy(seen["played"])
        return seen["played"]

    made = trainer(learner, tmp_path_factory.mktemp("grpo"), rollouts.dataset(8, seed=3), watched, rollouts.reward)
    seen["before"] = {name: tensor.clone() for name, tensor in learner.model.state_dict().items()}
    made.train()
    return seen | {"after": learner.model.state_dict(), "log": made.state.log_history[0]}


def test_a_step_changes_the_weights_by_the_scores(step):
    scores = step["played"]["score"]
    assert len(set(scores)) > 1
    assert step["log"]["reward"] == pytest.approx(sum(scores) / len(scores))
    assert any((step["before"][name] != tensor).any() for name, tensor in step["after"].items())


def test_a_completion_is_the_rest_of_an_episode_of_text_env(step, model):
    played = step["played"]
    for prompt, begun, ids, mask, score in zip(
        step["prompts"], *(played[name] for name in ("prompt_ids", "completion_ids", "env_mask", "score")), strict=True
    ):
        env = TextEnv("Sokoban-v0", **COMPACT)
        env.reset(prompt[-1]["seed"])
        assert prompt[-1]["content"] == env.observation
        assert begun == model.template.begin(env.turns[0].messages)
        # runs of trained tokens are the replies, and the tokens between them are the next turns
        runs: list[tuple[int, list[int]]] = []
        for id, trained in zip(ids, mask, strict=True):
            if not runs or runs[-1][0] != trained:
                runs.append((trained, []))
            runs[-1][1].append(id)
        assert [trained for trained, _ in runs] == [1, 0] * (len(runs) // 2) + [1]
        for number, (trained, part) in enumerate(runs):
            if trained:
                env.step(model.decode(part))
            else:
                last = runs[number - 1][1][-1]
                assert part == model.template.following(
                    env.turns[0].messages[-1:], last if last in model.ends else None
                )
        assert not len(env.running)
        assert score == env.scores[0]


def test_completions_of_a_prompt_start_in_the_same_room(step):
    seeds = [prompt[-1]["seed"] for prompt in step["prompts"]]
    assert seeds == [seed for seed in seeds[::GENERATIONS] for _ in range(GENERATIONS)]
    assert len(set(seeds)) == 2


def test_an_episode_that_gets_too_long_is_cut(model, tmp_path):
    rollouts = TextRollouts("Sokoban-v0", **COMPACT)
    dataset = rollouts.dataset(2)
    made = trainer(
        LanguageModel(copy.deepcopy(model.model), model.tokenizer), tmp_path, dataset, rollouts, rollouts.reward, 20
    )
    played = rollouts([dataset[0]["prompt"], dataset[1]["prompt"]], made)
    assert max(map(len, played["completion_ids"])) <= 20
    assert [len(ids) for ids in played["completion_ids"]] == [len(mask) for mask in played["env_mask"]]
    assert len(played["score"]) == 2


def test_foreign_prompts_and_hidden_turns_are_refused(model):
    with pytest.raises(OptionError, match="a prompt has no seed; give TextRollouts"):
        TextRollouts("Sokoban-v0", **COMPACT)._started([[{"role": "user", "content": "Hi"}]])
    with pytest.raises(OptionError, match="history='none': a completion is one conversation"):
        TextRollouts("Sokoban-v0", history="none")


def test_a_model_that_calls_tools_plays(tmp_path):
    """With calls that are written down, through TRL's loop of tool calls."""
    import trl
    from datasets import Dataset

    template = (files("trl") / "chat_templates" / "qwen3.jinja").read_text()
    tokenizer = byte_level(template)
    config = trl.GRPOConfig(
        output_dir=str(tmp_path), per_device_train_batch_size=2, num_generations=2, max_completion_length=1500, max_steps=1,
        use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
    )  # fmt: skip
    made = trl.GRPOTrainer(
        model=make_small_model(tokenizer, 32, 1, template="plain").model,
        args=config,
        processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": [[{"role": "user", "content": "Call act. "}]], "seed": [4]}),
        environment_factory=lambda: TextTool("FrozenLakeFirm-v0"),
    )
    prompts, calls = [], iter(['{"answer": "Left"}', '{"answer": "Left || Up"}', None])

    def sampled(ids, images, fields, num_generations, has_tool_images=False):
        prompts.append([tokenizer.decode(one) for one in ids])
        call = next(calls)
        text = f'<tool_call>\n{{"name": "act", "arguments": {call}}}\n</tool_call>' if call else "Done."
        return [tokenizer(f"{text}<|im_end|>", add_special_tokens=False)["input_ids"] for _ in ids], None

    made._generate_single_turn = sampled
    made.train()
    env = TextEnv("FrozenLakeFirm-v0", prompt_mode="no_think")
    env.reset(4)
    assert f"Call act. {env.observation}<|im_end|>" in prompts[0][0]
    for number, answer in enumerate(("Left", "Left || Up"), 1):
        assert env.step(f"<answer>{answer}</answer>")[0] in prompts[number][0]
    assert [one.get_reward() for one in made.environments] == [env.scores[0]] * 2


def test_a_tool_is_a_game():
    tool, env = TextTool("FrozenLakeFirm-v0"), TextEnv("FrozenLakeFirm-v0", prompt_mode="no_think")
    env.reset(4)
    assert tool.reset(seed=4, prompt="ignored") == env.observation
    for answer in ("Right || Down", "fly", "Left"):
        assert tool.act(answer) == env.step(f"<answer>{answer}</answer>")[0]
    assert tool.get_reward() == env.scores[0] < 0
    while len(tool._env.running):
        tool.act("Left || Up")
    assert tool.act("Left") == "The game is over."
