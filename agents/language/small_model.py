"""A small language model with random weights and its tokenizer, of words or characters, made on the spot: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch

from ludory.envs import Game, codec_of, make_game
from ludory.errors import OptionError

from .extras import needed
from .model import LanguageModel

TAGS = tuple(f"<{slash}{name}>" for name in ("think", "answer", "observation", "prediction") for slash in ("", "/"))
"""The eight tags of replies."""
PAD, END, UNKNOWN = "<pad>", "<end>", "<unk>"
SOKOBAN = ("#", "_", "O", "√", "X", "P", "S")
MOVES = ("Up", "Down", "Left", "Right")
_CHARACTERS = "\n\t" + "".join(map(chr, range(32, 127))) + "√×→←↑↓–…‘’“”"  # noqa: RUF001
_START_TURN = "<|turn|>"


def word_tokenizer(
    symbols: Sequence[str] = SOKOBAN,
    actions: Sequence[str] = MOVES,
    largest: int = 10,
    modes: Sequence[str] = ("BASE", "WM"),
) -> Any:
    """A `PreTrainedTokenizerFast` with one token per word between white space, for texts of preset `compact`.

    With the defaults it has 36 words: 3 special ones, 2 modes, the mark of the state, 8 tags, 4 moves, 7 cells, numbers 0 to 10.

    Args:
        symbols: of cells.
        actions: names of actions, one word each.
        largest: number.
        modes: first words of prompts.

    Raises:
        OptionError: a word has white space.
        PluginError: the extra `llm` is not installed.
    """
    words = [PAD, END, UNKNOWN, *modes, "<state>", *TAGS, *actions, *symbols, *map(str, range(largest + 1))]
    for word in words:
        if len(word.split()) != 1:
            raise OptionError(f"{word!r} cannot be a token: words are told apart by white space; give it another name")
    library = needed("tokenizers")
    tokenizer = library.Tokenizer(library.models.WordLevel(_numbered(words), unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    template = (
        "{% for m in messages %}{{ m['content'] }}{% if m['role'] == 'assistant' %}" + END + "{% endif %}{% endfor %}"
    )
    return _wrapped(tokenizer, template)


def character_tokenizer() -> Any:
    """A `PreTrainedTokenizerFast` with one token per printable character and one per tag, whose texts survive a round trip exactly.

    Raises:
        PluginError: the extra `llm` is not installed.
    """
    words = [PAD, END, UNKNOWN, _START_TURN, *TAGS, *_CHARACTERS]
    library = needed("tokenizers")
    tokenizer = library.Tokenizer(library.models.WordLevel(_numbered(words), unk_token=UNKNOWN))
    pattern = library.Regex("</?(?:think|answer|observation|prediction)>|[\\s\\S]")
    tokenizer.pre_tokenizer = library.pre_tokenizers.Split(pattern, "isolated")
    tokenizer.decoder = library.decoders.Fuse()
    template = (
        "{% for m in messages %}" + _START_TURN + "{{ m['role'] }}\n{{ m['content'] }}" + END + "\n{% endfor %}"
        "{% if add_generation_prompt %}" + _START_TURN + "assistant\n{% endif %}"
    )
    return _wrapped(tokenizer, template, [_START_TURN])


def _numbered(words: Sequence[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate(dict.fromkeys(words))}


def _wrapped(tokenizer: Any, template: str, extra: Sequence[str] = ()) -> Any:
    return needed("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        additional_special_tokens=list(extra),
        chat_template=template,
        clean_up_tokenization_spaces=False,
        padding_side="left",
    )


POSITIONS = {"words": 256, "characters": 4096}
"""Most tokens of a sequence, by vocabulary."""


def make_small_model(
    vocabulary: Literal["words", "characters"] | Any = "words",
    hidden: int = 96,
    layers: int = 3,
    heads: int = 4,
    seed: int = 0,
    *,
    kind: Literal["gpt2", "llama"] = "gpt2",
    positions: int | None = None,
    template: str = "auto",
    game: str | Game | None = None,
    **words: Any,
) -> LanguageModel:
    """A model with random weights, a function of the arguments. With the defaults it has 0.36 M parameters.

    Args:
        vocabulary: "words" (`word_tokenizer`, for preset `compact`), "characters" (`character_tokenizer`), or a fast tokenizer.
        hidden: width.
        layers: blocks.
        heads: of attention; they divide `hidden`.
        seed: of the weights.
        kind: "gpt2": learned positions, layer norm, GELU; "llama": rotary positions, RMS norm, SwiGLU.
        positions: most tokens of a sequence. None: 256 for words, 4,096 otherwise.
        template: see `ChatTemplate`.
        game: whose symbols and actions are the words; None: Sokoban.
        words: arguments of `word_tokenizer`.

    Raises:
        OptionError: an argument is invalid.
        PluginError: the extra `llm` is not installed.
    """
    transformers = needed("transformers")
    if hidden % heads or hidden // heads % 2:
        raise OptionError(f"hidden={hidden}, heads={heads}: hidden / heads must be an even whole number")
    if game is not None:
        made = make_game(game)
        codec, moves = codec_of(made), range(made.facts.heads[0].size)
        actions = codec.action_names or [made.look.action_name(0, action) for action in moves]
        words = {"symbols": tuple(codec.symbols), "actions": actions} | words
    if vocabulary == "words":
        tokenizer = word_tokenizer(**words)
    elif words:
        raise OptionError(f'{", ".join(words)}: only vocabulary="words" takes these and game=')
    elif isinstance(vocabulary, str) and vocabulary != "characters":
        raise OptionError(f"vocabulary={vocabulary!r}: must be words, characters or a fast tokenizer")
    else:
        tokenizer = character_tokenizer() if vocabulary == "characters" else vocabulary
    limit = positions or POSITIONS.get(vocabulary if isinstance(vocabulary, str) else "", 4096)
    ids = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=hidden,
            n_layer=layers,
            n_head=heads,
            n_positions=limit,
            activation_function="gelu_pytorch_tanh",  # one fused operation
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            **ids,
        )
    elif kind == "llama":
        config = transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=hidden,
            intermediate_size=-(-8 * hidden // 3 // 16) * 16,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            max_position_embeddings=limit,
            tie_word_embeddings=True,
            **ids,
        )
    else:
        raise OptionError(f"kind={kind!r}: must be gpt2 or llama")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config)
    return LanguageModel(model.eval(), tokenizer, template)
