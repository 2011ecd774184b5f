"""Tokenizers built on the spot, like those of foreign models."""

from __future__ import annotations

from functools import cache
from typing import Any

import tokenizers
import transformers
from tokenizers import decoders, pre_tokenizers, trainers

from ludory.agents.language.model import LanguageModel
from ludory.agents.language.small_model import make_small_model

CORPUS = [
    "<think>The box is right of me. I push it.</think><answer>Right || Right</answer>\n",
    "Turn 1:\nState:\n######\n#_P_X#\n#__O_#\nActions left: 10.\n",
    "café naïve √ 日本語 🙂 it is <observation>P 1 2</observation> <prediction>P 1 3</prediction>",
]
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def wrapped(tokenizer: Any, template: str | None = CHAT) -> Any:
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template
    )


@cache
def byte_level(template: str | None = CHAT) -> Any:
    """Byte-level BPE with few merges, so that most characters beyond ASCII are several tokens."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return wrapped(tokenizer, template)


@cache
def metaspace() -> Any:
    """BPE that writes spaces as the mark of a word's start and unknown characters as bytes, as models of SentencePiece do."""
    tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=tokens, limit_alphabet=80, show_progress=False)
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return wrapped(tokenizer)


@cache
def small(vocabulary: str = "words", **options: Any) -> LanguageModel:
    """A small model whose weights are large enough that its choices differ; nothing may change it."""
    kind: Any = {"bytes": byte_level, "metaspace": metaspace}.get(vocabulary)
    made = make_small_model(kind() if kind else vocabulary, **({"layers": 2, "hidden": 32} | options))
    for parameter in made.model.parameters():
        parameter.data.mul_(4 if parameter.ndim > 1 else 1)
    return made
