"""Backends: the same text from the same seed, whatever the batch and whoever computes it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from ludory.agents.language.generators import (
    Generation,
    Sampling,
    choose,
    make_generator,
    uniforms_of,
)
from ludory.agents.language.hf import HfGenerator
from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model
from ludory.agents.language.static import StaticGenerator, _shared_start, fits
from ludory.errors import OptionError, PluginError

from .models import byte_level, small

STATE = "WM 10 <state> # _ P X O P 1 2 X 3 4 O 5 5"


def prompts_of(model: LanguageModel, count: int = 24) -> list[list[int]]:
    """Prompts of different lengths; a few are equal."""
    ids = model.encode(STATE)
    return [ids[: 5 + k % 7] for k in range(count)]


MODELS = {
    "gpt2, words": lambda: small("words"),
    "gpt2, characters": lambda: small("characters"),
    "llama, words": lambda: small("words", kind="llama"),
    "llama, bytes": lambda: small("bytes", kind="llama"),
    "qwen2 with groups of queries": lambda: grouped(),
}


def grouped() -> LanguageModel:
    """Qwen 2: biases of queries, keys and values, and two queries per key; embeddings of their own at the end."""
    tokenizer = small("words").tokenizer
    config = transformers.Qwen2Config(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
    )
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.2)
    return LanguageModel(model.eval(), tokenizer)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(), Sampling(0.7, 0.9)], ids=["greedy", "drawn", "top-p"])
def test_static_and_hf_agree_token_by_token(name: str, sampling: Sampling) -> None:
    model = MODELS[name]()
    prompts, seeds = prompts_of(model), list(range(24))
    sampling = sampling._replace(max_new_tokens=40)
    first = HfGenerator(model).generate(prompts, sampling, seeds)
    second = StaticGenerator(model).generate(prompts, sampling, seeds)
    assert [one.ids for one in first] == [one.ids for one in second]
    assert [one.finish for one in first] == [one.finish for one in second]
    for a, b in zip(first, second, strict=True):
        assert a.logprobs == pytest.approx(b.logprobs, abs=2e-5)
    assert len({tuple(one.ids) for one in first}) > 2


@pytest.mark.parametrize("name", MODELS)
def test_a_start_that_prompts_share_changes_nothing(name: str) -> None:
    """The task stands before every state: it is read once, and replies are as if each prompt had been read alone."""
    model = MODELS[name]()
    ids = model.encode(STATE) * 3
    prompts = [ids[:30] + ids[k : k + 1 + 2 * k] for k in range(9)] + [ids[:31]]
    sampling, seeds = Sampling(max_new_tokens=20), list(range(10))
    assert _shared_start(prompts) == 30
    together = StaticGenerator(model).generate(prompts, sampling, seeds)
    alone = StaticGenerator(model, rows_at_once=1).generate(prompts, sampling, seeds)
    wanted = HfGenerator(model).generate(prompts, sampling, seeds)
    assert [one.ids for one in together] == [one.ids for one in alone] == [one.ids for one in wanted]


@pytest.mark.slow
def test_several_threads_sample_the_same_text() -> None:
    model, threads = small("words"), torch.get_num_threads()
    prompts, seeds = prompts_of(model, 200), list(range(200))
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(
                [one.ids for one in StaticGenerator(model).generate(prompts, Sampling(max_new_tokens=15), seeds)]
            )
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]


def test_what_prompts_share() -> None:
    start = list(range(5, 30))
    assert _shared_start([[*start, 1], [*start, 2, 3], [*start, 2]]) == 25
    assert _shared_start([start, [*start, 2]]) == 24  # a token of each prompt is left
    assert _shared_start([[*start, 1]]) == 0
    assert _shared_start([[1, 2, 3], [1, 2, 4]]) == 0


@pytest.mark.parametrize("backend", ["hf", "static"])
def test_text_does_not_depend_on_the_batch(backend: Any) -> None:
    model = small("words")
    prompts, seeds = prompts_of(model), list(range(100, 124))
    together = make_generator(model, backend).generate(prompts, Sampling(max_new_tokens=30), seeds)
    alone = make_generator(model, backend, rows_at_once=1).generate(prompts, Sampling(max_new_tokens=30), seeds)
    backwards = make_generator(model, backend, rows_at_once=7).generate(
        prompts[::-1], Sampling(max_new_tokens=30), seeds[::-1]
    )
    assert [one.ids for one in together] == [one.ids for one in alone] == [one.ids for one in backwards[::-1]]
    assert all(one == two or one.ids == two.ids for one, two in zip(together, alone, strict=True))


@pytest.mark.parametrize("backend", ["hf", "static"])
def test_log_probabilities_are_those_of_a_forward_pass(backend: Any) -> None:
    """Tokens sampled are tokens that a learner scores."""
    model = small("words")
    prompts = prompts_of(model, 8)
    for one, prompt in zip(
        make_generator(model, backend).generate(prompts, Sampling(0.7, max_new_tokens=20), list(range(8))),
        prompts,
        strict=True,
    ):
        with torch.no_grad():
            logits = model.model(torch.tensor([prompt + one.ids])).logits[0, len(prompt) - 1 : -1]
        wanted = torch.log_softmax(logits / 0.7, -1).gather(-1, torch.tensor(one.ids)[:, None])[:, 0]
        assert one.logprobs == pytest.approx(wanted.tolist(), abs=2e-5)


@pytest.mark.parametrize("backend", ["hf", "static"])
def test_replies_follow_the_probabilities_of_the_model(backend: Any) -> None:
    """First tokens of 4,000 seeds beside the softmax: total variation within what chance allows."""
    model = small("words")
    prompt = model.encode(STATE)
    found = make_generator(model, backend).generate([prompt] * 4000, Sampling(max_new_tokens=1), list(range(4000)))
    counts = torch.bincount(torch.tensor([one.ids[0] for one in found]), minlength=36) / 4000
    with torch.no_grad():
        wanted = torch.softmax(model.model(torch.tensor([prompt])).logits[0, -1], -1)
    assert 0.5 * (counts - wanted).abs().sum() < 0.05
    assert {one.finish for one in found} <= {"length", "stop", "end"}


def test_equal_prompts_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small("words")
    read = []
    forward = model.model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        read.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.model, "forward", counted)
    ids = model.encode(STATE)
    HfGenerator(model).generate([ids] * 8 + [ids[:9]] * 8, Sampling(max_new_tokens=2, stop=()), list(range(16)))
    assert read[0] == (2, len(ids))
    assert read[1][1] == 1


def test_a_reply_ends_with_the_token_that_completes_a_stop_text() -> None:
    for vocabulary in ("words", "characters", "bytes"):
        model = small(vocabulary)
        found = make_generator(model, "hf").generate(
            prompts_of(model), Sampling(1.5, max_new_tokens=60, stop=("</answer>", "P")), list(range(24))
        )
        assert {one.finish for one in found} >= {"stop"}
        for one in found:
            text = model.decode(one.ids)
            if one.finish == "stop":
                before = model.decode(one.ids[:-1])
                assert "P" in text or "</answer>" in text
                assert "P" not in before
                assert "</answer>" not in before
            elif one.finish == "end":
                assert one.ids[-1] in model.ends
            else:
                assert len(one.ids) == 60


def test_a_stop_text_may_be_spread_over_tokens() -> None:
    """The reply of a byte-level model spells the tag in pieces."""
    from ludory.agents.language.generators import ReplyEnd

    model = small("bytes")
    ids = [*model.encode("<"), *model.encode("/ans"), *model.encode("wer"), *model.encode(">")]
    ended = ReplyEnd(model, ("</answer>",))
    assert [ended(ids[: k + 1]) for k in range(len(ids))] == [None] * (len(ids) - 1) + ["stop"]
    assert ReplyEnd(model, ())(ids) is None


@pytest.mark.parametrize("kind", ["words", "bytes"])
def test_a_reply_ends_with_the_first_token_that_completes_a_stop_text(kind: str) -> None:
    from ludory.agents.language.generators import ReplyEnd

    model, rng = small(kind), np.random.default_rng(1)
    text = model.decode(model.encode(STATE))
    stops = ("</answer>", "X", text[3:6], "r>", "日")
    ended = ReplyEnd(model, stops)
    pieces = [model.encode(one) for one in (STATE, "<answer>", "</answer>")]
    if kind == "bytes":
        pieces += [model.encode("日"), model.encode("/answer"), model.encode(">")]
    ends = 0
    for _ in range(300):
        ids = [id for place in rng.integers(len(pieces), size=6) for id in pieces[place][rng.integers(3) :][:5]]
        written = [any(stop in model.decode(ids[: k + 1]) for stop in stops) for k in range(len(ids))]
        first = written.index(True) if any(written) else len(ids)
        ends += first < len(ids)
        assert [ended(ids[: k + 1]) for k in range(first)] == [None] * first
        assert first == len(ids) or ended(ids[: first + 1]) == "stop"
    assert ends > 50


def test_replies_stop_where_the_sequences_of_the_model_end() -> None:
    model = small("words", positions=20)
    ids = model.encode(STATE)[:15]
    for backend in ("hf", "static"):
        found = make_generator(model, backend).generate(
            [ids, ids[:12]], Sampling(0.0, max_new_tokens=50, stop=()), [0, 1]
        )
        assert [len(one.ids) for one in found] == [5, 8] or any(one.finish == "end" for one in found)
        with pytest.raises(OptionError, match="prompt 1 has 20 tokens; the model reads 1 to 19"):
            make_generator(model, backend).generate([ids, (ids * 2)[:20]], Sampling(), [0, 1])
        with pytest.raises(OptionError, match="prompt 0 has 0 tokens"):
            make_generator(model, backend).generate([[]], Sampling(), [0])


def test_the_mode_of_the_model_is_restored() -> None:
    model = make_small_model("words", layers=1, hidden=16, heads=2)
    for training in (True, False):
        model.model.train(training)
        HfGenerator(model).generate([[5, 6]], Sampling(max_new_tokens=2), [0])
        assert model.model.training is training


def test_new_weights_are_sampled_from_after_they_are_loaded() -> None:
    old, new = (make_small_model("words", layers=2, hidden=32, seed=seed) for seed in (0, 1))
    prompts, sampling = prompts_of(old), Sampling(max_new_tokens=10)
    seeds = list(range(len(prompts)))
    wanted = [one.ids for one in make_generator(new, "hf").generate(prompts, sampling, seeds)]
    for backend in ("static", "hf"):
        generator = make_generator(old, backend)
        before = [one.ids for one in generator.generate(prompts, sampling, seeds)]
        generator.load_weights(new.model.state_dict().items(), 7)
        after = [one.ids for one in generator.generate(prompts, sampling, seeds)]
        assert after == wanted != before
        assert generator.version == 7


def test_static_keeps_its_own_copy_of_the_weights() -> None:
    model = make_small_model("words", layers=2, hidden=32)
    generator = make_generator(model, "static")
    prompts, sampling, seeds = prompts_of(model), Sampling(max_new_tokens=10), list(range(24))
    before = generator.generate(prompts, sampling, seeds)
    for parameter in model.model.parameters():
        parameter.data.zero_()
    assert generator.generate(prompts, sampling, seeds) == before


def test_backends_are_chosen_by_what_the_model_is() -> None:
    assert isinstance(make_generator(small("words")), StaticGenerator)
    half = make_small_model("words", layers=1, hidden=16, heads=2)
    half.model.to(torch.bfloat16)
    assert isinstance(make_generator(half), HfGenerator)
    assert "bfloat16" in str(fits(half))
    with pytest.raises(OptionError, match=r'backend="static": .* use backend="hf"'):
        make_generator(half, "static")
    with pytest.raises(OptionError, match=r"backend='llama\.cpp': must be auto, hf, static or vllm"):
        make_generator(half, "llama.cpp")  # type: ignore[arg-type]


def test_a_foreign_activation_is_left_to_hf() -> None:
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, activation_function="relu", eos_token_id=1
    )
    assert "activation" in str(fits(LanguageModel(transformers.GPT2LMHeadModel(config), tokenizer)))


@pytest.mark.parametrize(
    "sampling", [Sampling(-1.0), Sampling(1.0, 0.0), Sampling(1.0, 1.5), Sampling(1.0, 1.0, 0), Sampling(stop=("",))]
)
def test_senseless_sampling_is_refused(sampling: Sampling) -> None:
    with pytest.raises(OptionError, match="temperature must be at least 0"):
        make_generator(small("words")).generate([[5]], sampling, [0])


def test_seeds_and_prompts_must_be_as_many() -> None:
    with pytest.raises(OptionError, match="2 prompts and 1 seeds"):
        make_generator(small("words")).generate([[5], [6]], Sampling(), [0])


def test_top_p_cuts_the_tail() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
    draws = torch.linspace(0, 0.999, 200, dtype=torch.float64)
    ids, logprobs = choose(logits.expand(200, 4), draws, Sampling(1.0, 0.75))
    assert set(ids.tolist()) == {0, 1}
    assert logprobs.exp().tolist() == pytest.approx([0.5 if id == 0 else 0.3 for id in ids.tolist()], abs=1e-6)
    assert (ids == 0).float().mean() == pytest.approx(0.625, abs=0.01)


def test_seeds_of_any_size_have_numbers_of_their_own() -> None:
    seeds = [0, 1, -1, 2**63 - 1, -(2**63), 2**64 + 5]
    numbers = uniforms_of(seeds, 3)
    assert numbers.shape == (6, 3)
    assert len(set(numbers.flatten().tolist())) == 18
    assert (uniforms_of([5], 3) == numbers[5]).all()


def test_vllm_is_asked_for_by_name() -> None:
    if "vllm" in sys.modules:
        pytest.skip("vLLM is installed")
    try:
        import vllm  # noqa: F401
    except ImportError:
        with pytest.raises(PluginError, match=r'type: pip install "ludory\[vllm\]"'):
            make_generator(small("words"), "vllm")


class _Llm:
    """What the documentation of vLLM says of `LLM`, with replies written down."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments, self.calls = arguments, []

    def generate(self, prompts: Any, parameters: Any, use_tqdm: bool) -> Any:
        self.calls.append((prompts, parameters, use_tqdm))
        ends = [("stop", "</answer>"), ("stop", None), ("length", None)]
        return [
            SimpleNamespace(
                outputs=[
                    SimpleNamespace(
                        token_ids=(7, 8),
                        logprobs=[{7: SimpleNamespace(logprob=-1.0)}, {8: SimpleNamespace(logprob=-2.0)}],
                        finish_reason=reason,
                        stop_reason=text,
                    )
                ]
            )
            for reason, text in ends
        ]

    def apply_model(self, change: Any) -> None:
        change(SimpleNamespace(load_weights=lambda pairs: self.calls.append([name for name, _ in pairs])))

    def reset_prefix_cache(self) -> None:
        self.calls.append("reset")


def test_vllm_gets_tokens_and_seeds_and_returns_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=_Llm, SamplingParams=lambda **given: given))
    model = small("words")
    generator = make_generator(model, "vllm", memory_share=0.3)
    found = generator.generate([[5], [6], [5, 6]], Sampling(0.5, 0.9, 10), [1, 2, -3])
    assert found == [Generation([7, 8], [-1.0, -2.0], finish) for finish in ("stop", "end", "length")]
    engine: Any = generator._engine  # type: ignore[attr-defined]
    assert engine.arguments["enable_prefix_caching"]
    assert engine.arguments["gpu_memory_utilization"] == 0.3
    assert not engine.arguments["trust_remote_code"]
    prompts, parameters, _ = engine.calls[0]
    assert prompts[2] == {"prompt_token_ids": [5, 6]}
    assert parameters[0]["include_stop_str_in_output"]
    assert parameters[0]["stop"] == ["</answer>"]
    assert [one["seed"] for one in parameters] == [1, 2, 2**63 - 3]
    generator.load_weights(model.model.named_parameters(), 3)
    assert "transformer.wte.weight" in engine.calls[1]
    assert engine.calls[2] == "reset"
