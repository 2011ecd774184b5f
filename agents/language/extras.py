"""Packages of the extra `llm`, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ludory.errors import PluginError


def needed(package: str, extra: str = "llm") -> Any:
    """The module `package`.

    Raises:
        PluginError: it is not installed, or one that it imports is not; says what to type.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise PluginError(f'language models need {package} ({error}); type: pip install "ludory[{extra}]"') from error
