"""Two tokenizers made on the spot: a word each for compact texts, a character each for ordinary ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ludory.errors import OptionError

from .extras import needed

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
