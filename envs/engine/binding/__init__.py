"""Binds a game's scalar kernels to loops over games: `bind` writes a module with both, which is compiled once per machine.

The bound file of a game is a copy of a template (`batch_cpu.py`, `batch_cuda.py`, `bot_cpu.py`, `bot_cuda.py`) in which the import of
placeholders is replaced by imports of the game's kernels. For Hanabi, `batch_cpu.py` becomes

    import numpy as np

    from ludory.envs.hanabi.rules import legal as legal
    from ludory.envs.hanabi.observation import observe_card_knowledge as observe
    from ludory.envs.hanabi.redeal import redeal as redeal
    from ludory.envs.hanabi.rules import reset as reset
    from ludory.envs.hanabi.rules import step as step
    from ludory.envs.kernels import batch_kernel, kernel, quick_batch_kernel

    @kernel
    def legal_rows(state, masks, start, stop):
        for i in range(start, stop):
            write_masks(state, i, masks)  # calls `legal`
    ...

    state_of = state_maker(...)  # the names, dtypes and numbers of dimensions of the fields

    @quick_batch_kernel
    def of_fields_legal_rows(records, places, masks, start, stop):
        return legal_rows(state_of(records, places, ()), masks, start, stop)
    ...

Two modules of a game serve two needs. Small batches read the sizes of the game from the table `places`: all presets of a game share one
module, which is compiled in half the time (`quick_batch_kernel`). For large batches the sizes are constants of the code
(`state_fields.py`). Scalar kernels have no machine code of their own, they are linked into these functions (`linked_kernel.py`).
Kernels that the game does not have are left out: their batch kernels are never called, so Numba never compiles them.
`plain_kernels.py` runs the same functions as plain Python, for checks and for single games that do not wait for the compiler.
`LUDORY_SHOW_BOUND=1` prints to stderr where each bound file lies; `ludory.cache_folder.cache_directory` says which folder that is.
"""
