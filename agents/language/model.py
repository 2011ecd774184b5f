"""`LanguageModel`: a causal language model, its tokenizer and its template; folders are read without running code from them."""

from __future__ import annotations

import codecs
import gc
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ludory.atomic import atomic_folder
from ludory.checkpoints import check_checksums, write_checksums
from ludory.errors import CheckpointError, OptionError
from ludory.reading import read_json

from .extras import needed, no_progress_bars
from .spans import Span
from .templates import ChatTemplate


class LanguageModel:
    """A transformers model for causal language modelling with a fast tokenizer.

    Args:
        model: `PreTrainedModel` with a language modelling head.
        tokenizer: `PreTrainedTokenizerFast`.
        template: "auto", "chat" or "plain", see `ChatTemplate`.

    Raises:
        OptionError: the tokenizer is slow or has more tokens than the model, or the template is refused.
    """

    # Models and tokenizers of transformers, an optional extra, are Any: their classes are chosen while they are loaded.
    def __init__(self, model: Any, tokenizer: Any, template: str = "auto") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise OptionError(f"{type(tokenizer).__name__} is not a fast tokenizer; save it with its tokenizer.json")
        rows = model.get_input_embeddings().weight.shape[0]
        if max(tokenizer.get_vocab().values()) >= rows:
            raise OptionError(
                f"foreign tokenizer: its {len(tokenizer)} tokens do not fit the model, which has {rows} embeddings; "
                "give the tokenizer that the model was trained with"
            )
        self.model = model
        self.tokenizer = tokenizer
        self._writer = _TokenWriter(tokenizer, self.ends | {tokenizer.pad_token_id})
        self.template = ChatTemplate(tokenizer, self.encode, template)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.model.device
        return device

    @property
    def ends(self) -> frozenset[int]:
        """Ids of the tokens that end a reply."""
        configured = getattr(self.model.generation_config, "eos_token_id", None)
        several = configured if isinstance(configured, list) else [configured]
        return frozenset(id for id in (*several, self.tokenizer.eos_token_id) if id is not None)

    @property
    def longest(self) -> int | None:
        """Most tokens of a sequence, None if there is no limit."""
        limit = getattr(self.model.config, "max_position_embeddings", None)
        return None if limit is None else int(limit)

    @property
    def hash(self) -> str:
        """SHA-256 of names, types, shapes and bytes of all weights, as they are now."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    @property
    def tokenizer_hash(self) -> str:
        """SHA-256 of the tokenizer: files of tokens hold for it alone."""
        return hashlib.sha256(self.tokenizer.backend_tokenizer.to_str().encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Ids of a text, with no tokens added at its ends.

        Raises:
            OptionError: the tokenizer has no token for a part of the text.
        """
        return self.encode_with_offsets(text)[0]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids of a text, and the characters of each."""
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = found["input_ids"], found["offset_mapping"]
        unknown = self.tokenizer.unk_token_id
        # the name of the unknown token may stand in the text itself
        if unknown is not None and unknown in ids:
            start, end = offsets[ids.index(unknown)]
            if text[start:end] != self.tokenizer.unk_token:
                raise OptionError(
                    f"the tokenizer has no token for {text[start:end]!r} (character {start} of {len(text)}); "
                    "give a model whose tokenizer knows the words of this game"
                )
        return ids, offsets

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. End tokens and padding write nothing; other special tokens are written out."""
        return self._writer.write(ids)[0]

    def decode_with_offsets(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """The text of ids, and the characters that each id writes.

        Ids are not encoded again: offsets belong to them even where the tokenizer would cut the text in other places. Tokens that
        write bytes of one character have that character as their span.
        """
        return self._writer.write(ids)

    def write(self, folder: str | Path, weights: Mapping[str, torch.Tensor] | None = None) -> None:
        """Write weights (safetensors), configuration and tokenizer into an existing folder, as transformers does.

        weights: to write instead of the model's own, by name.
        """
        with no_progress_bars():
            self.model.save_pretrained(folder, **({} if weights is None else {"state_dict": unshared(weights)}))
            self.tokenizer.save_pretrained(folder)

    def save(self, folder: str | Path) -> None:
        """Write a folder that any tool for transformers models can load, and checksums. It appears complete or not at all.

        Raises:
            OutputError: the place cannot be written to.
        """
        with atomic_folder(folder) as temporary:
            self.write(temporary)
            write_checksums(temporary)

    def free(self) -> None:
        """Give the memory of the weights back; the model can no longer be used."""
        self.model = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def unshared(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Without second names of the same memory, which safetensors refuses; loading ties them again."""
    seen: set[tuple[int, tuple[int, ...]]] = set()
    kept = {}
    for name, tensor in weights.items():
        place = (tensor.data_ptr(), tuple(tensor.shape))
        if place not in seen:
            seen.add(place)
            kept[name] = tensor
    return kept


def load_language_model(
    source: str | Path | LanguageModel | tuple[Any, Any],
    device: str = "auto",
    dtype: str | torch.dtype | None = None,
    template: str = "auto",
    checked: bool = False,
) -> LanguageModel:
    """The model of a folder. Nothing is downloaded, no code of the folder is run, and weights are read from safetensors only.

    Args:
        source: folder; a `LanguageModel` is returned as it is, a pair (model, tokenizer) becomes one.
        device: "cpu", "cuda", "cuda:1", or "auto": a GPU if there is one.
        dtype: of the weights, such as "bfloat16"; None: float32 on the CPU, that of the folder on a GPU.
        template: see `ChatTemplate`.
        checked: whether the files have been compared with their checksums, which Ludory writes and other programs do not.

    Raises:
        CheckpointError: the folder is no model's, is damaged, lacks a part, or has pickled weights or code.
        OptionError: the device is invalid, or tokenizer or template are refused.
        PluginError: the extra `llm` is not installed.
    """
    if isinstance(source, LanguageModel):
        return source
    if isinstance(source, tuple):
        model, tokenizer = source
        return LanguageModel(model, tokenizer, template)
    transformers, folder, target = needed("transformers"), Path(source), language_device(device)
    _check_folder(folder, transformers)
    if not checked:
        check_checksums(folder)
    wanted = dtype if dtype is not None else ("float32" if target.type == "cpu" else "auto")
    try:
        with no_progress_bars():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
            model, report = transformers.AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=wanted,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except Exception as error:  # transformers raises whatever it meets in a damaged folder
        raise CheckpointError(
            f"{folder}: cannot be loaded ({type(error).__name__}: {error}); put an intact copy back"
        ) from error
    lacking = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if lacking:
        raise CheckpointError(
            f"{folder}: weights are missing or have other shapes: {', '.join(lacking[:5])}"
            f"{' ...' if len(lacking) > 5 else ''}; put an intact copy back"
        )
    model = model.to(target)
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = tensor.data.clone()  # in memory of torch: in that of a file, sums may differ in their last bits
    return LanguageModel(model, tokenizer, template)


def language_device(name: str) -> torch.device:
    """The device of a name; "auto": a GPU if there is one.

    Raises:
        OptionError: there is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise OptionError(f"invalid device {name!r} ({str(error).splitlines()[0]}); type auto, cpu or cuda") from error


def _check_folder(folder: Path, transformers: Any) -> None:
    """Refuse what is not a plain folder of a causal model, before anything in it is interpreted.

    Raises:
        CheckpointError: names what is wrong.
    """
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: no such folder; models are not downloaded: name a folder with config.json")
    if not (folder / "config.json").is_file():
        raise CheckpointError(f"{folder}: no config.json, so it is no model's folder; name one that transformers wrote")
    for name in ("config.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            _check_code(folder / name, _json(folder / name))
    if (folder / "adapter_config.json").exists():
        raise CheckpointError(
            f"{folder}: holds an adapter; merge it into its model, save that, and name the new folder"
        )
    if not any(folder.glob("*.safetensors")):
        pickled = sorted(file.name for kind in ("*.bin", "*.pt", "*.pth", "*.ckpt") for file in folder.glob(kind))
        found = f"pickled weights ({', '.join(pickled)}), which can run code" if pickled else "no weights"
        raise CheckpointError(f"{folder}: {found}; convert them: save the model again, with safe_serialization")
    if not (folder / "tokenizer.json").is_file():
        raise CheckpointError(f"{folder}: no tokenizer.json; save the fast tokenizer of the model into the folder")
    kind = _json(folder / "config.json").get("model_type")
    if (
        not isinstance(kind, str)
        or kind not in transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    ):
        raise CheckpointError(f"{folder}: model_type {kind!r} is not a causal language model of transformers")


def _check_code(file: Path, settings: Any) -> None:
    """Refuse settings, at any depth, that name code: of the folder, or kernels of attention that transformers would fetch and run."""
    for key, value in settings.items() if isinstance(settings, dict) else enumerate(settings):
        if key == "auto_map" and value:
            raise CheckpointError(
                f"{file}: names code of its own (auto_map), which is never run; use a model that is part of transformers"
            )
        if str(key).endswith("implementation") and "/" in str(value):
            raise CheckpointError(
                f"{file}: {key} names code of a repository ({value}), which is never run; remove the entry"
            )
        if isinstance(value, (dict, list)):
            _check_code(file, value)


def _json(file: Path) -> dict[str, Any]:
    try:
        found = read_json(file)
        if not isinstance(found, dict):
            raise ValueError("no object")
        return found
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file}: cannot be read ({error}); put an intact copy back") from error


class _TokenWriter:
    """Text and offsets of ids: by a table where the tokenizer's decoder only joins tokens, by bytes where tokens are bytes, else step by step."""

    def __init__(self, tokenizer: Any, silent: frozenset[int] | set[Any]) -> None:
        self._tokenizer, self._silent = tokenizer, silent
        decoder = tokenizer.backend_tokenizer.decoder
        kind = type(decoder).__name__ if decoder is not None else "Words"
        self.write = {"Words": self._by_words, "Fuse": self._by_words, "ByteLevel": self._by_bytes}.get(
            kind, self._by_steps
        )
        self._gap = " " if kind == "Words" else ""
        self._texts: dict[int, str] = {}
        self._bytes: dict[int, bytes] = {}

    def _by_words(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        texts = self._texts
        words: list[str] = []
        offsets: list[Span] = []
        end, gap = 0, len(self._gap)
        for id in ids:
            word = texts.get(id)
            if word is None:
                known = None if id in self._silent else self._tokenizer.convert_ids_to_tokens(int(id))
                word = texts[id] = known or ""  # models may have more outputs than tokens
            if not word:
                offsets.append((end, end))
                continue
            start = end + gap if words else end
            end = start + len(word)
            words.append(word)
            offsets.append((start, end))
        return self._gap.join(words), offsets

    def _by_bytes(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        parts, offsets, end = [], [], 0
        for id in ids:
            written = self._bytes.get(id)
            if written is None:
                written = self._bytes[id] = self._bytes_of(int(id))
            start = end  # of a character that earlier tokens began, or of a new one
            text = decode(written)
            parts.append(text)
            end += len(text)
            offsets.append((start, start if id in self._silent else max(end, start + 1)))
        parts.append(decode(b"", True))
        return "".join(parts), offsets

    def _bytes_of(self, id: int) -> bytes:
        if id in self._silent:
            return b""
        token = self._tokenizer.convert_ids_to_tokens(id)
        if token is None:
            return b""  # models may have more outputs than tokens
        if id in self._tokenizer.added_tokens_decoder:
            return str(token).encode()
        return bytes(_BYTES[character] for character in token)

    def _by_steps(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """Offsets from the lengths of growing prefixes; an unfinished character at the end of a prefix is left out."""
        kept = [int(id) for id in ids if id not in self._silent]
        whole = self._text(kept)
        offsets, end, seen = [], 0, 0
        for id in ids:
            start = end
            if id not in self._silent:
                seen += 1
                end = max(len(self._text(kept[:seen]).rstrip("\ufffd")), start)
            offsets.append((start, start if id in self._silent else max(end, min(start + 1, len(whole)))))
        return whole, offsets

    def _text(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


def _byte_alphabet() -> dict[str, int]:
    """The character that byte-level tokenizers write for each byte, inverted."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + k): byte for k, byte in enumerate(others)}


_BYTES = _byte_alphabet()
