"""The options of an algorithm are found without importing it."""

from __future__ import annotations

import pytest
from python_process import python

from ludory.plugins import algorithms


@pytest.mark.slow
@pytest.mark.parametrize("id", algorithms.ids())
def test_an_entry_names_the_options_that_its_class_has(id: str) -> None:
    assert algorithms.options(id) is algorithms.load(id).config_class


def test_help_pages_of_algorithms_import_no_heavy_library() -> None:
    code = """
import contextlib, io, sys
from ludory.cli import main
from ludory.plugins import algorithms
for id in algorithms.ids():
    with contextlib.redirect_stdout(io.StringIO()) as page:
        assert main(["train", id, "--help"]) == 0
    assert f"usage: ludory train {id}" in page.getvalue()
print(*{"torch", "numpy", "numba", "gymnasium", "rich.console"} & set(sys.modules))
"""
    assert python(code) == ""


def test_help_pages_of_commands_import_no_heavy_library() -> None:
    code = """
import contextlib, io, sys
from ludory.cli import main
from ludory.plugins import commands
for id in commands.ids():
    with contextlib.redirect_stdout(io.StringIO()) as page:
        assert main([id, "--help"]) == 0
    assert f"usage: ludory {id}" in page.getvalue()
print(*{"torch", "numpy", "numba", "gymnasium", "pyarrow", "rich.console"} & set(sys.modules))
"""
    assert python(code) == ""
