"""Packages of the extra `llm`, imported when they are first needed; and the names of what samples replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Literal, get_args

from ludory.errors import PluginError

Backend = Literal["auto", "hf", "static", "vllm"]
BACKENDS: tuple[str, ...] = get_args(Backend)
"""What samples replies, see `make_generator`."""


def needed(package: str, extra: str = "llm") -> ModuleType:
    """The module `package`.

    Raises:
        PluginError: it is not installed, or one that it imports is not; says what to type.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise PluginError(f'language models need {package} ({error}); type: pip install "ludory[{extra}]"') from error


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Without the progress bars of transformers, which it draws for the smallest model."""
    logging = needed("transformers").utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
