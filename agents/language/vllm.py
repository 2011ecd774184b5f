"""The backend `vllm`: an engine for GPUs, with paged caches and shared prefixes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from tempfile import TemporaryDirectory
from typing import Any, Literal

from torch import Tensor

from .extras import needed
from .generators import Generation, Sampling, check_prompts
from .model import LanguageModel


class VllmGenerator:
    """Samples with vLLM. Greedy replies equal those of `hf`; drawn ones follow vLLM's own random numbers, one stream per seed.

    Log-probabilities are those of the distribution that was drawn from, so with `top_p` below 1 they are of what is left after the cut.

    Args:
        language_model: its weights and tokenizer are handed over in a temporary folder.
        memory_share: of the GPU's memory, for weights and cache.
        engine: further arguments of `vllm.LLM`, such as `tensor_parallel_size`.

    Raises:
        PluginError: vLLM is not installed.
    """

    def __init__(self, language_model: LanguageModel, memory_share: float = 0.5, **engine: Any) -> None:
        os.environ.setdefault(
            "VLLM_ENABLE_V1_MULTIPROCESSING", "0"
        )  # in this process, so that weights can be handed over
        self._vllm, self._model = needed("vllm", "vllm"), language_model
        self.version = 0
        with TemporaryDirectory() as folder:
            language_model.write(folder)
            self._engine = self._vllm.LLM(
                model=folder,
                tokenizer=folder,
                trust_remote_code=False,
                dtype=str(language_model.model.dtype).removeprefix("torch."),
                gpu_memory_utilization=memory_share,
                max_model_len=language_model.longest,
                enable_prefix_caching=True,
                enable_sleep_mode=True,
                logprobs_mode="processed_logprobs",
                **engine,
            )

    def generate(self, prompts: list[list[int]], sampling: Sampling, seeds: list[int]) -> list[Generation]:
        """One reply per prompt."""
        budgets = check_prompts(self._model, prompts, sampling, seeds)
        parameters = [
            self._vllm.SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                max_tokens=budget,
                stop=list(sampling.stop),
                include_stop_str_in_output=True,
                stop_token_ids=sorted(self._model.ends),
                seed=int(seed) % 2**63,
                logprobs=0,  # of the sampled token only
            )
            for budget, seed in zip(budgets, seeds, strict=True)
        ]
        inputs = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
        found = self._engine.generate(inputs, parameters, use_tqdm=False)
        return [_generation(request.outputs[0]) for request in found]

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Copy weights into the engine, and forget the caches that the old ones filled."""
        named = [(name, tensor.detach()) for name, tensor in weights]
        self._engine.apply_model(lambda model: model.load_weights(iter(named)))
        self._engine.reset_prefix_cache()
        self.version = version

    def sleep(self) -> None:
        """Move the weights to main memory and give the cache back."""
        self._engine.sleep(level=1)

    def wake(self) -> None:
        """Take the memory again."""
        self._engine.wake_up()


def _generation(output: Any) -> Generation:
    ids = [int(id) for id in output.token_ids]
    logprobs = [float(entry[id].logprob) for id, entry in zip(ids, output.logprobs, strict=True)]
    finish: Literal["stop", "length", "end"] = "length"
    if output.finish_reason == "stop":
        finish = "stop" if isinstance(output.stop_reason, str) else "end"
    return Generation(ids, logprobs, finish)
