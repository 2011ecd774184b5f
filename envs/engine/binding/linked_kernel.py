"""`linked_kernel`: Numba's `njit` for functions that only other compiled functions call; they take half the time to compile.

Numba makes machine code and two wrappers for every function that it compiles, and optimises it before and after it is inlined into its
caller. A kernel is inlined into every caller anyway, so here it stays an LLVM module, which is linked into what calls it and optimised there.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables, LiteralUnroll, WithLifting

_NEEDLESS = (InlineClosureLikes, InlineInlinables, LiteralUnroll, NopythonRewrites, WithLifting)
"""Passes for closures, comprehensions, array expressions and `with`, which kernels do not have."""


class StateType(types.Type):
    """The state of a batch; see `state_fields.py`."""

    sized = False
    """Whether the code knows the shapes of all fields."""


class _LinkedLibrary(JITCodeLibrary):
    """The LLVM module of a function and of what it calls, without machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _RawLibrary(_LinkedLibrary):
    """The LLVM module of a function alone: a `_QuickLibrary` links it, and what it calls, and optimises them."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalize_final_module()


class _QuickLibrary(JITCodeLibrary):
    """A library that is optimised a little, in a third of the time."""

    def add_linking_library(self, library: Any) -> None:
        if library not in self._linking_libraries:
            super().add_linking_library(library)
            for called in library._linking_libraries if isinstance(library, _RawLibrary) else ():
                self.add_linking_library(called)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(
            opt=1, loop_vectorize=False, slp_vectorize=False, cost="cheap"
        )
        passes.run(self._final_module, builder)


class _LinkedCompiler(Compiler):
    """Numba's compiler, which stops before it makes machine code."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0] not in _NEEDLESS]
        passes.finalize()
        return [passes]

    def _compile_core(self):
        state = self.state
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        library: type[_LinkedLibrary] = _LinkedLibrary
        if any(
            isinstance(kind, StateType) and not kind.sized for kind in state.args
        ):  # for few games: see `QuickCompiler`
            state.flags.forceinline, library = False, _RawLibrary
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        result = super()._compile_core()
        result.library.finalize()
        # Callers find the library by the entry point, which has to be a function in C; each method of a new list is another one.
        result = result._replace(entry_point=[].append, type_annotation="")
        state.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


class BatchCompiler(Compiler):
    """Numba's compiler for functions that Python calls; without what only C would call, and without the notes of its types in memory."""

    def _compile_core(self):
        self.state.flags.no_cfunc_wrapper = True
        return super()._compile_core()._replace(type_annotation="")


class QuickCompiler(BatchCompiler):
    """`BatchCompiler` for functions that are not worth much optimisation."""

    def _compile_core(self):
        state = self.state
        state.library = _QuickLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super()._compile_core()


class _LinkedDispatcher(CPUDispatcher):
    """A function as other compiled functions call it; called from Python, it runs as plain Python."""

    def __call__(self, *args):
        return self.py_func(*args)

    def get_call_template(self, args, kws):
        """Compile once for all integers: Numba would do so for each width, and again for each constant in a call."""
        return super().get_call_template(tuple(map(_wide, args)), {name: _wide(kind) for name, kind in kws.items()})


def _wide(kind: types.Type) -> types.Type:
    """The type that a kernel takes for an argument: signed integers in 64 bits, as plain Python reads them from arrays."""
    kind = types.unliteral(kind)
    return types.int64 if kind in types.signed_domain else kind


def linked_kernel(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator like `numba.njit(**flags)`. Called from Python the function runs as plain Python."""

    def linked(function: Callable[..., Any]) -> Any:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return function
        options = {**flags, "nopython": True, "boundscheck": None}
        return _LinkedDispatcher(function, {}, options, pipeline_class=_LinkedCompiler)

    return linked
