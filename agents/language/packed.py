"""`PackedModel`: a language model as bytes, by which it goes to another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import Tensor

from .model import LanguageModel, load_language_model


@dataclass(frozen=True, slots=True)
class PackedModel:
    """A model's folder."""

    files: Mapping[str, bytes]
    """Content by name."""
    template: str
    """As `LanguageModel`'s."""

    @classmethod
    def of(cls, model: LanguageModel, weights: Mapping[str, Tensor] | None = None) -> PackedModel:
        """Pack a model.

        weights: instead of its own, by name.
        """
        with TemporaryDirectory(prefix="ludory-model-") as place:
            folder = Path(place)
            model.write(folder, weights)
            files = [file for file in folder.rglob("*") if file.is_file()]
            return cls({str(file.relative_to(folder)): file.read_bytes() for file in files}, model.template.kind)

    def unpack(self, device: str = "auto") -> LanguageModel:
        """The model, on a device; errors as of `load_language_model`."""
        with TemporaryDirectory(prefix="ludory-model-") as place:
            folder = Path(place)
            for name, content in self.files.items():
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            return load_language_model(folder, device=device, template=self.template)
