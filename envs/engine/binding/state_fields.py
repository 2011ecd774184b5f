"""The state of a batch as compiled kernels see it: the bytes of its records, and a table that says where each field lies in a record.

The type of a `StateType` without sizes names fields, dtypes and numbers of dimensions. So games that differ in sizes only, such as Hanabi
for two and for five players, run the same compiled code, which reads the sizes from the table. With sizes they are constants of the code:
another game is compiled anew, but loops are unrolled and divisions become multiplications, a third of the time of large batches.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,override,arg-type"

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.arraydecl import get_array_index_type
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import infer_getattr, intrinsic, lower_builtin, lower_cast, lower_getattr, models, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype
from numpy.typing import NDArray

from ludory.envs.engine.binding.linked_kernel import StateType
from ludory.envs.engine.binding.plain_kernels import PLAIN, wide
from ludory.envs.engine.storage import own_fields, state_class
from ludory.envs.parts import Field, State


class FieldType(NamedTuple):
    """What compiled code knows of a state field."""

    name: str
    dtype: str
    dimensions: int
    """Of the array over all games, or of the one array of a shared field."""
    shared: bool
    place: tuple[int, ...] | None = None
    """Offset in a record in bytes, then the shape per game. None: it is read from the table."""


class StateFields(NamedTuple):
    """What compiled code knows of a state."""

    fields: tuple[FieldType, ...]
    record_bytes: int | None = None
    """None: known at run time only, like the places of the fields."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the fields, in their order."""
        return tuple(kind.name for kind in self.fields)

    @property
    def shared(self) -> tuple[str, ...]:
        """Names of the shared fields."""
        return tuple(kind.name for kind in self.fields if kind.shared)

    @property
    def starts(self) -> dict[str, int]:
        """Where each field that is not shared begins in the table of `field_places`."""
        own = [kind for kind in self.fields if not kind.shared]
        # an offset, and an entry for each axis but that of games: as many as a field has dimensions
        ends = accumulate(kind.dimensions for kind in own)
        return {kind.name: end - kind.dimensions for kind, end in zip(own, ends, strict=True)}


def state_fields(fields: Mapping[str, Field], layout: np.dtype[Any] | None = None) -> StateFields:
    """The types of a game's fields. layout: of its records, if compiled code is to know all sizes."""
    return StateFields(
        tuple(
            FieldType(
                name,
                np.dtype(spec.dtype).name,
                # the axis of games, which a shared field lacks
                len(spec.shape) + (not spec.shared),
                spec.shared,
                None if layout is None or spec.shared else (_offset(layout, name), *spec.shape),
            )
            for name, spec in fields.items()
        ),
        None if layout is None else layout.itemsize,
    )


def _offset(layout: np.dtype[Any], name: str) -> int:
    assert layout.fields is not None
    return int(layout.fields[name][1])


def field_places(fields: Mapping[str, Field], layout: np.dtype[Any]) -> NDArray[np.int64]:
    """For every field that is not shared: its offset in a record in bytes, then its shape per game. layout: of a record."""
    places = [entry for name, spec in own_fields(fields).items() for entry in (_offset(layout, name), *spec.shape)]
    return np.array(places, np.int64)


def state_maker(kinds: StateFields) -> Callable[..., State]:
    """The function `state_of(records, places, shared)` for compiled code: the state as scalar kernels take it.

    records: uint8 [n, bytes of a record]; places: as `field_places` returns it; shared: tuple of the arrays of the shared fields.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return _plain_state_maker(kinds)

    def state_of(typingctx, records, places, shared):
        # the type of the state depends on the types of the shared arrays, known at this call only
        made = _State(kinds, shared)

        def codegen(context, builder, signature, args):
            rows = make_array(signature.args[0])(context, builder, args[0])
            table = make_array(signature.args[1])(context, builder, args[1])
            state = cgutils.create_struct_proxy(made)(context, builder)
            state.count, state.row_bytes = cgutils.unpack_tuple(builder, rows.shape)
            state.records, state.places, state.shared = rows.data, table.data, args[2]
            return state._getvalue()

        return made(records, places, shared), codegen

    maker = intrinsic(state_of)
    setattr(maker, PLAIN, _plain_state_maker(kinds))
    return maker


def _plain_state_maker(kinds: StateFields) -> Callable[..., State]:
    """`state_maker` for kernels that run as plain Python; the state is a NamedTuple of arrays."""
    made, starts = state_class(kinds.names), kinds.starts
    # the state of the last call, and what it was made of; the memory of that one engine stays until another plays the game
    last: tuple[Any, list[Any]] | None = None

    def state_of(records, places, shared):
        nonlocal last
        parts, known = [getattr(part, "array", part) for part in (records, places, *shared)], last
        # one engine calls again and again, and fields are views of its records: making them anew would take as long as the rules
        if known is not None and all(map(operator.is_, parts, known[1])):
            return known[0]
        given = iter(shared)
        state = made(
            *(
                next(given) if kind.shared else wide(_field_view(parts[0], places, starts[kind.name], kind))
                for kind in kinds.fields
            )
        )
        last = state, parts  # in one assignment: other threads may play the same game
        return state

    return state_of


def _field_view(records: NDArray[np.uint8], places: NDArray[np.int64], first: int, kind: FieldType) -> NDArray[Any]:
    """Array of a field over all games, which shares the memory of `records`."""
    dtype, shape = np.dtype(kind.dtype), places[first + 1 : first + kind.dimensions].tolist()
    # strides within a record, in C order
    strides = [dtype.itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    everything = (len(records), *shape)
    # from game to game a whole record
    return np.ndarray(everything, dtype, records, int(places[first]), (records.shape[1], *strides))


class _State(StateType):
    """Where records and table lie, and the shared arrays. Its attributes are the fields."""

    def __init__(self, known: StateFields, shared: types.BaseTuple) -> None:
        self.sized, self.shared = known.record_bytes is not None, shared
        self.fields = {kind.name: _Field(kind, known) for kind in known.fields if not kind.shared}
        self.shared_numbers = {name: k for k, name in enumerate(known.shared)}
        # Numba compares types by name, so the name must tell apart all that compiled code depends on
        super().__init__(f"GameState_{_hash(known, shared)}")


def _hash(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class _Field(types.Type):
    """A field of all games. One entry of it is read and written without an array being made; everything else is that of `array`."""

    def __init__(self, kind: FieldType, known: StateFields) -> None:
        self.start, self.place, self.record_bytes = known.starts[kind.name], kind.place, known.record_bytes
        # layout "A": the fields of a record are not contiguous over games
        self.array = types.Array(from_dtype(np.dtype(kind.dtype)), kind.dimensions, "A")
        super().__init__(f"GameField_{_hash(kind, self.start, self.record_bytes)}")

    def can_convert_to(self, typingctx, other):
        return Conversion.safe if other == self.array else None

    def is_entry(self, index) -> bool:
        """Whether `index`, a type, names one entry."""
        axes = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
        return len(axes) == self.array.ndim and all(isinstance(axis, types.Integer) for axis in axes)


_POINTERS = [
    ("records", types.CPointer(types.uint8)),
    ("places", types.CPointer(types.int64)),
    ("count", types.intp),
    ("row_bytes", types.intp),
]


@register_model(_State)
class _StateModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [*_POINTERS, ("shared", kind.shared)])


@register_model(_Field)
class _FieldModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _POINTERS)


@infer_getattr
class _StateAttributes(AttributeTemplate):
    key = _State

    def generic_resolve(self, state, name):
        # None tells Numba that there is no such attribute
        number = state.shared_numbers.get(name)
        return state.fields.get(name) if number is None else state.shared[number]


@infer_getattr
class _FieldAttributes(AttributeTemplate):
    key = _Field

    def resolve_shape(self, field):
        return types.UniTuple(types.intp, field.array.ndim)


@infer_global(operator.getitem)
class _GetFieldItem(AbstractTemplate):
    def generic(self, args, kws):
        field, index = args
        if isinstance(field, _Field):
            if field.is_entry(index):
                return signature(field.array.dtype, field, index)
            # anything but one entry is left to the array, into which Numba converts the field
            found = get_array_index_type(field.array, index)
            return found and signature(found.result, field.array, found.index)
        return None


@infer_global(operator.setitem)
class _SetFieldItem(AbstractTemplate):
    def generic(self, args, kws):
        field, index, _ = args
        if isinstance(field, _Field) and field.is_entry(index):
            return signature(types.none, field, index, field.array.dtype)
        return None


@infer_global(len)
class _FieldLength(AbstractTemplate):
    def generic(self, args, kws):
        return signature(types.intp, *args) if isinstance(args[0], _Field) else None


@lower_builtin(len, _Field)
def _length(context, builder, signature, args):
    return cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0]).count


@lower_getattr_generic(_State)
def _field_of_state(context, builder, kind, value, name):
    state = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    if name in kind.shared_numbers:
        number = kind.shared_numbers[name]
        return impl_ret_borrowed(context, builder, kind.shared[number], builder.extract_value(state.shared, number))
    # a field is the pointers of the state, and a type that knows where to look
    field = cgutils.create_struct_proxy(kind.fields[name])(context, builder)
    for part, _ in _POINTERS:
        setattr(field, part, getattr(state, part))
    return field._getvalue()


@lower_getattr(_Field, "shape")
def _shape(context, builder, kind, value):
    field = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    return cgutils.pack_array(builder, [field.count, *_sizes(builder, kind, field)])


@lower_builtin(operator.getitem, _Field, types.Integer)
@lower_builtin(operator.getitem, _Field, types.BaseTuple)
def _read(context, builder, signature, args):
    place = _place_of_entry(context, builder, signature, args)
    return context.unpack_value(builder, signature.return_type, place)


@lower_builtin(operator.setitem, _Field, types.Integer, types.Any)
@lower_builtin(operator.setitem, _Field, types.BaseTuple, types.Any)
def _write(context, builder, signature, args):
    place = _place_of_entry(context, builder, signature, args)
    # packed: a bool is a byte in memory and a bit in a register
    context.pack_value(builder, signature.args[2], args[2], place)
    return context.get_dummy_value()


def _entry(builder, kind, field, place):
    """An entry of the table of places. It never changes, which LLVM is told: else it would be read again after each write to a field."""
    if kind.place is not None:
        return ir.IntType(64)(kind.place[place])
    loaded = builder.load(cgutils.gep_inbounds(builder, field.places, kind.start + place))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _sizes(builder, kind, field):
    """Shape per game."""
    return [_entry(builder, kind, field, 1 + axis) for axis in range(kind.array.ndim - 1)]


def _row_bytes(kind, field):
    return field.row_bytes if kind.record_bytes is None else ir.IntType(64)(kind.record_bytes)


def _first_place(context, builder, kind, field):
    return _pointer(context, builder, kind, field, _entry(builder, kind, field, 0))


def _pointer(context, builder, kind, field, offset):
    """To the entry that lies `offset` bytes after the first record."""
    place = builder.gep(field.records, [offset], inbounds=True)
    return builder.bitcast(place, context.get_data_type(kind.array.dtype).as_pointer())


def _place_of_entry(context, builder, signature, args):
    """Address of one entry; negative indices count from the end, but for the first, the number of the game."""
    kind, index = signature.args[:2]
    field = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    axes, given = ((index,), [args[1]]) if isinstance(index, types.Integer) else (tuple(index), None)
    given = given or cgutils.unpack_tuple(builder, args[1], len(axes))
    numbers = [context.cast(builder, value, axis, types.intp) for value, axis in zip(given, axes, strict=True)]
    within = None
    for size, number, axis in zip(_sizes(builder, kind, field), numbers[1:], axes[1:], strict=True):
        # the wrap costs a select, which unsigned indices do not need
        if axis.signed:
            wrapped = builder.add(number, size)
            number = builder.select(builder.icmp_signed("<", number, wrapped.type(0)), wrapped, number)
        # row-major, by Horner's rule
        within = number if within is None else builder.add(builder.mul(within, size, flags=NSW), number, flags=NSW)
    row = builder.mul(numbers[0], _row_bytes(kind, field), flags=NSW)
    start = _pointer(context, builder, kind, field, builder.add(row, _entry(builder, kind, field, 0), flags=NSW))
    return start if within is None else builder.gep(start, [within], inbounds=True)


NSW = ("nsw",)
"""Says to LLVM that sums and products of indices do not overflow."""


@lower_cast(_Field, types.Array)
def _whole_array(context, builder, kind, array_type, value):
    field = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    sizes, item = (
        _sizes(builder, kind, field),
        context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype))),
    )
    strides = [item]
    # from the last axis on: each stride is that of the next axis times its size
    for size in sizes[:0:-1]:
        strides.insert(0, builder.mul(strides[0], size))
    array = make_array(array_type)(context, builder)
    populate_array(
        array,
        data=_first_place(context, builder, kind, field),
        shape=cgutils.pack_array(builder, [field.count, *sizes]),
        strides=cgutils.pack_array(builder, [_row_bytes(kind, field), *strides[: len(sizes)]]),
        itemsize=item,
        meminfo=None,
    )
    return array._getvalue()
