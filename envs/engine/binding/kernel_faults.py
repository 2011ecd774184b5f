"""Faults of kernels, described for their author: the kernel, the line in the author's file, and the broken rule.

The rules are those of CONTRIBUTING.md, "Add a game". Some faults are visible in the bytecode, before anything is compiled; the others
are derived from Numba's long error messages.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numba

from ludory.envs.parts import Kernels
from ludory.errors import KernelError

from .cached_kernel import plain, reached_functions

RULES = {
    "decorator": "every kernel, and every function that a kernel calls, is marked with `@kernel`",
    "allocation": "kernels allocate nothing: no lists, dicts, sets, comprehensions or new arrays; a field of the state or a tuple holds values",
    "text": "kernels know no text: no strings, f-strings or printing",
    "names": "every name is an argument, a variable, a constant of the module or another kernel",
    "fields": "the state has the fields of `Rules.fields`, one array each, first axis = game",
    "types": "a variable keeps one type: integer, float or boolean",
    "scalars": "kernels are scalar code: arithmetic, `if`, `for`, `while`, and calls of other kernels",
}
"""The rules of CONTRIBUTING.md by name."""

_ALLOCATING = {"BUILD_LIST": "a list", "BUILD_SET": "a set", "BUILD_MAP": "a dict", "BUILD_CONST_KEY_MAP": "a dict"}
_TEXT = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING")
_SIGNS = (
    (r"Untyped global name '\w+'.*<class 'function'>", "decorator"),
    (r"NRT required|build_list|build_map|build_set|dictobject|listobject|np\.(?:empty|zeros|ones|array)", "allocation"),
    (r"unicode_type|Literal\[str\]|<class 'str'>|built-in function print", "text"),
    (r"NameError|Untyped global name", "names"),
    (r"Unknown attribute '\w+' of type array\(Record", "fields"),
    (r"Cannot unify", "types"),
)
"""Patterns of Numba's messages and the rule that each points to; the first match counts."""


class KernelFault(NamedTuple):
    """One fault of a kernel."""

    place: str
    """Kernel, function, file and line, as `Places.at` returns it."""
    what: str
    rule: str
    """Key of `RULES`."""

    def __str__(self) -> str:
        """One line."""
        return f'{self.place}: {self.what}; the rule: {RULES[self.rule]} (CONTRIBUTING.md, "Add a game")'


def present(kernels: Kernels) -> dict[str, Callable[..., Any]]:
    """The kernels that are not None, by name."""
    return {name: kernel for name, kernel in kernels._asdict().items() if kernel is not None}


class Places:
    """Finds the kernel that a line belongs to. A function that kernels call belongs to the first kernel that reaches it."""

    def __init__(self, kernels: Kernels) -> None:
        self._owners: dict[CodeType, str] = {}
        for name, kernel in present(kernels).items():
            for function in reached_functions([kernel]):
                self._owners.setdefault(function.__code__, name)

    @property
    def codes(self) -> tuple[CodeType, ...]:
        """Code of all functions that the kernels reach."""
        return tuple(self._owners)

    def at(self, code: CodeType, line: int) -> str:
        """Description of a line: kernel, function, file, line number and text."""
        owner, file = self._owners.get(code, code.co_name), Path(code.co_filename)
        function = "" if code.co_name == owner else f" (in {code.co_name})"
        text = linecache.getline(code.co_filename, line).strip()
        return f"kernel `{owner}`{function}, {file.name} line {line}{f': `{text}`' if text else ''}"

    def of(self, kernel: Callable[..., Any]) -> str:
        """Like `at`, for the line where a kernel begins."""
        code = plain(kernel).__code__
        first = code.co_firstlineno  # line of the first decorator
        texts = (linecache.getline(code.co_filename, line).strip() for line in _lines(code))
        return self.at(code, next((first + k for k, text in enumerate(texts) if text.startswith("def ")), first))

    def code_of(self, file: str, line: int) -> CodeType | None:
        """Code of the function with this line, None if the kernels do not reach it."""
        for code in self._owners:
            if Path(code.co_filename).name == Path(file).name and line in _lines(code):
                return code
        return None


def _lines(code: CodeType) -> range:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return range(code.co_firstlineno, max(lines, default=code.co_firstlineno) + 1)


def bytecode_faults(kernels: Kernels) -> Iterator[KernelFault]:
    """Faults that are visible before a kernel is compiled: functions without `@kernel`, lists and the like, text, unknown names."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # in that case no kernel is marked
        return
    places = Places(kernels)
    for name, kernel in present(kernels).items():
        if plain(kernel) is kernel:
            yield KernelFault(
                places.of(kernel),
                f"`{kernel.__name__}`, the kernel `{name}`, is not marked with `@kernel`",
                "decorator",
            )
    for kernel in present(kernels).values():
        for function in reached_functions([kernel]):
            yield from _faults_in(function, function.__code__, places)


def _faults_in(function: Callable[..., Any], code: CodeType, places: Places) -> Iterator[KernelFault]:
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        # instructions without a line belong to the one before
        line = _line_of(instruction) or line
        name, place = instruction.opname, places.at(function.__code__, line)
        if name in _ALLOCATING:
            yield KernelFault(place, f"makes {_ALLOCATING[name]}", "allocation")
        elif name in _TEXT:
            yield KernelFault(place, "makes a text", "text")
        elif name == "LOAD_GLOBAL" and inspect.isfunction(called := function.__globals__.get(instruction.argval)):
            yield KernelFault(place, f"calls `{called.__name__}`, which is not marked with `@kernel`", "decorator")
        elif name == "LOAD_GLOBAL" and not _is_known(function, instruction.argval):
            yield KernelFault(place, f"there is no {instruction.argval!r}", "names")
    for constant in code.co_consts:  # comprehensions are nested functions up to Python 3.11
        if isinstance(constant, CodeType):
            yield from _faults_in(function, constant, places)


def _is_known(function: Callable[..., Any], name: str) -> bool:
    return name in function.__globals__ or hasattr(builtins, name)


def _line_of(instruction: dis.Instruction) -> int | None:
    positions = getattr(instruction, "positions", None)  # since Python 3.11
    return positions.lineno if positions else instruction.starts_line


def compile_error(error: Exception, kernels: Kernels) -> KernelError:
    """A KernelError with Numba's message, and a first line that names kernel, line and rule."""
    fault = next(bytecode_faults(kernels), None) or _told_by_numba(str(error), Places(kernels))
    return KernelError(f"{fault}\n\nWhat Numba says:\n{error}")


def _told_by_numba(text: str, places: Places) -> KernelFault:
    rule = next((rule for sign, rule in _SIGNS if re.search(sign, text, re.DOTALL)), "scalars")
    reason = next(
        # the first line of Numba's message is the same for every error
        (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in nopython mode")),
        "it cannot be compiled",
    )
    return KernelFault(_place_told(text, places), reason[:200], rule)


def _place_told(text: str, places: Places) -> str:
    """The innermost line of a kernel that Numba's message names; for an unknown name, the line that uses it."""
    missing = re.search(r"name '(\w+)' is not defined", text)
    function = re.search(r"<function (\w+) at", text)
    if missing and function:
        for code in places.codes:
            if code.co_name == function[1]:
                return places.at(code, _line_with(code, missing[1]))
    for file, line in re.findall(r'(?:at |File ")([^\n"]+\.py)(?:", line | \()(\d+)', text):
        found = places.code_of(file, int(line))
        if found is not None:
            return places.at(found, int(line))
    return "a kernel"


def _line_with(code: CodeType, name: str) -> int:
    """Line at which code uses a global name, else its first line."""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = _line_of(instruction) or line
        if instruction.argval == name:
            return line
    return code.co_firstlineno
