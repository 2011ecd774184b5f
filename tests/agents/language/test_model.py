"""Folders of models: what is saved is loaded, nothing in a folder is run, and what is wrong has a name."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
import transformers

from ludory.agents.language.generators import Sampling, make_generator
from ludory.agents.language.model import LanguageModel, load_language_model
from ludory.agents.language.small_model import make_small_model
from ludory.checkpoints.folder import SUMS
from ludory.errors import CheckpointError, OptionError

from .models import byte_level, small


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound folder of a small model, as other programs write it."""
    small("words").save(tmp_path / "model")
    (tmp_path / "model" / SUMS).unlink()
    return tmp_path / "model"


class Poison:
    """Writes a marker when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (self.marker,)


def edit(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize("vocabulary", ["words", "characters", "bytes"])
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_saved_model_is_the_same_model(tmp_path: Path, vocabulary: str, kind: str) -> None:
    model = small(vocabulary, kind=kind)
    model.save(tmp_path / "m")
    again = load_language_model(tmp_path / "m", device="cpu")
    assert again.hash == model.hash
    assert again.tokenizer_hash == model.tokenizer_hash
    assert (again.ends, again.longest) == (model.ends, model.longest)
    ids = model.encode("<think> P 1 2 </think>")
    assert again.encode("<think> P 1 2 </think>") == ids
    messages = [{"role": "user", "content": "P 1 2"}]
    assert again.template.begin(messages) == model.template.begin(messages)
    both = [make_generator(one, "hf").generate([ids], Sampling(max_new_tokens=12), [3]) for one in (model, again)]
    assert both[0] == both[1]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_files_that_changed_since_they_were_written_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    small("words").save(folder)
    data = bytearray((folder / name).read_bytes())
    data[-3] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        load_language_model(folder, device="cpu")


def test_a_folder_that_another_program_wrote_needs_no_checksums(folder: Path) -> None:
    edit(folder / "generation_config.json", eos_token_id=1)
    assert load_language_model(folder, device="cpu").ends


def test_a_folder_is_as_transformers_writes_it(folder: Path) -> None:
    names = {file.name for file in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= names
    assert not any(name.endswith((".bin", ".py", ".pt")) for name in names)
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        ids = torch.tensor([[5, 6, 7]])
        assert torch.equal(plain.eval()(ids).logits, small("words").model(ids).logits)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer("WM 10 <state>")["input_ids"] == small("words").encode("WM 10 <state>")


def test_weights_are_a_function_of_the_seed_and_nothing_else() -> None:
    torch.manual_seed(5)
    one = make_small_model("words", seed=3).hash
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.rand(1) == drawn  # the seed of the process was not used
    assert make_small_model("words", seed=3).hash == one
    assert make_small_model("words", seed=4).hash != one


def test_the_default_small_model_has_a_third_of_a_million_weights() -> None:
    assert 330_000 < sum(weight.numel() for weight in make_small_model().model.parameters()) < 370_000


def test_the_hash_follows_the_weights() -> None:
    model = make_small_model("words", layers=1, hidden=16, heads=2)
    before = model.hash
    next(model.model.parameters()).data[0, 0] += 1
    assert model.hash != before


def test_a_pair_of_model_and_tokenizer_becomes_one() -> None:
    model = small("words")
    assert load_language_model(model) is model
    pair = load_language_model((model.model, model.tokenizer))
    assert pair.hash == model.hash


def test_pickled_weights_are_refused_and_not_read(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Poison(marker)))
    with pytest.raises(
        CheckpointError, match=r"pickled weights \(pytorch_model\.bin\), which can run code; convert them"
    ):
        load_language_model(folder)
    assert not marker.exists()


def test_pickled_weights_beside_safetensors_are_not_read(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Poison(marker)))
    assert load_language_model(folder, device="cpu").hash == small("words").hash
    assert not marker.exists()


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_in_a_folder_is_refused_and_not_run(folder: Path, tmp_path: Path, file: str) -> None:
    marker = tmp_path / "marker"
    (folder / "own.py").write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\n")
    names = {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M", "AutoTokenizer": ["own.T", None]}
    edit(folder / file, auto_map=names, **({"model_type": "own"} if file == "config.json" else {}))
    with pytest.raises(CheckpointError, match=rf"{file}: names code of its own \(auto_map\), which is never run"):
        load_language_model(folder)
    assert not marker.exists()


@pytest.mark.parametrize(
    "settings", [{"_attn_implementation": "a/b"}, {"text_config": {"attn_implementation": {"": "a/b"}}}]
)
def test_kernels_of_a_repository_are_refused(folder: Path, settings: dict[str, Any]) -> None:
    """transformers would fetch and run them if the package `kernels` is installed."""
    edit(folder / "config.json", **settings)
    with pytest.raises(CheckpointError, match="attn_implementation names code of a repository"):
        load_language_model(folder)


def test_a_chat_template_cannot_reach_the_machine(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    attack = "{{ cycler.__init__.__globals__.os.system('touch " + str(marker) + "') }}"
    (folder / "chat_template.jinja").write_text(attack)
    with pytest.raises(OptionError, match="the chat template refuses"):
        load_language_model(folder)
    assert not marker.exists()
    assert load_language_model(folder, template="plain").template.kind == "plain"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: shutil.rmtree(f), "no such folder; models are not downloaded"),
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (lambda f: (f / "tokenizer.json").unlink(), "no tokenizer.json"),
        (lambda f: (f / "model.safetensors").unlink(), "no weights"),
        (lambda f: (f / "config.json").write_text("{"), "config.json: cannot be read"),
        (lambda f: (f / "config.json").write_text("[1]"), "config.json: cannot be read"),
        (lambda f: edit(f / "config.json", model_type="vit"), "'vit' is not a causal language model"),
        (lambda f: edit(f / "config.json", model_type="t5"), "'t5' is not a causal language model"),
        (lambda f: edit(f / "config.json", model_type=None), "None is not a causal language model"),
        (lambda f: edit(f / "config.json", model_type={}), "{} is not a causal language model"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\x00" * 64), "cannot be loaded"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "cannot be loaded"),
        (lambda f: edit(f / "config.json", n_embd=16), "cannot be loaded|other shapes"),
        (
            lambda f: edit(f / "config.json", n_layer=9),
            "weights are missing or have other shapes: .* put an intact copy back",
        ),
        (lambda f: (f / "adapter_config.json").write_text("{}"), "holds an adapter; merge it"),
    ],
)
def test_a_damaged_folder_is_named(folder: Path, spoil: Any, message: str) -> None:
    spoil(folder)
    with pytest.raises(CheckpointError, match=message) as found:
        load_language_model(folder, device="cpu")
    assert str(folder) in str(found.value)


def test_half_of_the_weights_is_not_a_model(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    safetensors.torch.save_file({name: t for name, t in tensors.items() if "h.1" not in name}, file, {"format": "pt"})
    with pytest.raises(CheckpointError, match="weights are missing"):
        load_language_model(folder, device="cpu")


def test_a_foreign_tokenizer_is_refused() -> None:
    model = small("words").model
    with pytest.raises(
        OptionError, match="foreign tokenizer: its 333 tokens do not fit the model, which has 36 embeddings"
    ):
        LanguageModel(model, byte_level())


def test_an_unknown_device_is_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match="invalid device 'tpu'"):
        load_language_model(folder, device="tpu")


def test_small_models_refuse_what_they_cannot_be() -> None:
    with pytest.raises(OptionError, match="hidden / heads must be an even whole number"):
        make_small_model(hidden=90, heads=4)
    with pytest.raises(OptionError, match="vocabulary='letters': must be words, characters or a fast tokenizer"):
        make_small_model("letters")
    with pytest.raises(OptionError, match="kind='rwkv': must be gpt2 or llama"):
        make_small_model(kind="rwkv")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match='largest: only vocabulary="words" takes these'):
        make_small_model("characters", largest=5)


@pytest.mark.slow
def test_importing_ludory_does_not_import_transformers() -> None:
    code = (
        "import sys, ludory, ludory.envs, ludory.agents, ludory.envs.text.text_env\n"
        "found = {'transformers', 'tokenizers', 'peft', 'trl', 'accelerate'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
