"""Replies as tokens of small tokenizers that are made on the spot, with their spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ludory.agents.language.spans import token_spans
from ludory.envs.text.reply import parse_reply
from ludory.envs.text_codec import Decoded, decoder_of_names

MOVES = ("Up", "Down", "Left", "Right")


class CodesOf:
    """The encoding and decoding that `replace_states` asks for."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)


class Tokens(NamedTuple):
    ids: list[int]
    spans: list[int]


def decode_move(text: str) -> Decoded:
    return decoder_of_names(lambda head, action: MOVES[action], 4)(text)


def tokens_of(text: str, tokenizer: Any, separator: str = "||") -> Tokens:
    """Tokens and spans of a reply in the grammar of world models."""
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    verdict = parse_reply(text, decode_move, prompt_mode="world_model", separator=separator)
    return Tokens(found["input_ids"], token_spans(found["offset_mapping"], verdict, len(text)).tolist())


def byte_pairs(texts: Sequence[str], words: int = 400) -> Any:
    """A byte-level tokenizer with merges learnt from `texts`, whose tokens may lie over the borders of tags."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([part for text in texts for part in re.split(r"(?<=\s)", text)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False)
