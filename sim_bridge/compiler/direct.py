"""
Compiled entries as CPython functions that read numpy arrays in machine code.

A call through ctypes, with a copy of each input and of the result, adds 1.5 µs to an entry that
runs for 0.5 µs. A direct function adds a tenth of that. It holds the global interpreter lock from
its first look at the arguments until its result is ready, so no other thread can interfere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from functools import cache, cached_property
import hashlib
import sys
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.compiler import taking
from sim_bridge.compiler.calls import Call
from sim_bridge.compiler.kinds import INT, Kind
from sim_bridge.compiler.memory import address_of
from sim_bridge.compiler.unit import Unit

if TYPE_CHECKING:
    from sim_bridge.compiler.module import Module

# CPython with a global interpreter lock; free-threaded builds have longer objects
_HEAD_SIZE = 16
_METH_FASTCALL = 0x80
# index of PyArray_Empty in numpy's function table
_EMPTY = 184

_TEXT = """\
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyArray_Empty(i32, ptr, ptr, i32)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define ptr @{name}(ptr %self, ptr %arguments, i64 %count) nounwind {{
entry:
  %self.data = getelementptr i8, ptr %self, i64 {data}
  %plan = load ptr, ptr %self.data
{words}
  %state = call ptr @PyObject_GetAttr(ptr %guard, ptr %guard_name)
  call void @Py_DecRef(ptr %state)
  %is_idle = icmp eq ptr %state, %idle
  br i1 %is_idle, label %take, label %refused
take:
  %plan.number = ptrtoint ptr %plan to i64
  %arguments.number = ptrtoint ptr %arguments to i64
  %taken = call {{ i1 }} @{take}(i64 %plan.number, i64 %arguments.number, i64 %count)
  %fits = extractvalue {{ i1 }} %taken, 0
  br i1 %fits, label %place, label %refused
place:
  %given = load ptr, ptr %arguments
  %is_given = icmp ne ptr %given, %none
  br i1 %is_given, label %old, label %new
new:
  %is_number = icmp ne ptr %number, null
  br i1 %is_number, label %run, label %make
make:
  call void @Py_IncRef(ptr %floats)
  %dimensions = trunc i64 %result_dimensions to i32
  %made = call ptr @PyArray_Empty(i32 %dimensions, ptr %result_shape, ptr %floats, i32 0)
  %is_made = icmp ne ptr %made, null
  br i1 %is_made, label %found, label %failed
failed:
  ret ptr null
old:
  call void @Py_IncRef(ptr %given)
  br label %found
found:
  %array = phi ptr [ %made, %make ], [ %given, %old ]
  %array.data = getelementptr i8, ptr %array, i64 {data}
  %items = load ptr, ptr %array.data
  br label %run
run:
  %result = phi ptr [ null, %new ], [ %array, %found ]
  %target = phi ptr [ %number, %new ], [ %items, %found ]
  store ptr %target, ptr %result_word
  call void %function(ptr %block)
  %is_done.byte = load i8, ptr %done
  %is_done = icmp ne i8 %is_done.byte, 0
  br i1 %is_done, label %return, label %undone
return:
  %is_array = icmp ne ptr %result, null
  br i1 %is_array, label %return_array, label %return_number
return_array:
  ret ptr %result
return_number:
  %value = load double, ptr %number
  %boxed = call ptr @PyFloat_FromDouble(double %value)
  ret ptr %boxed
undone:
  call void @Py_DecRef(ptr %result)
  br label %refused
refused:
  %answer = call ptr @PyObject_VectorcallDict(ptr %fallback, ptr %arguments, i64 %count, ptr null)
  ret ptr %answer
}}"""
# plan words read by the text: index and type by name
_WORDS = {
    **{
        name: (at, 'ptr')
        for name, at in (
            ('guard', taking.GUARD),
            ('guard_name', taking.GUARD_NAME),
            ('idle', taking.IDLE),
            ('none', taking.NONE),
            ('floats', taking.FLOATS),
            ('fallback', taking.FALLBACK),
            ('function', taking.FUNCTION),
            ('block', taking.BLOCK),
            ('done', taking.DONE),
            ('result_word', taking.RESULT_WORD),
            ('result_shape', taking.RESULT_SHAPE),
            ('number', taking.NUMBER),
        )
    },
    'result_dimensions': (taking.RESULT_DIMENSIONS, 'i64'),
}
_FLOATS = np.dtype(np.float64)


class Operand(NamedTuple):
    """
    Input vector of floats.

    argument: index of the entry's argument. default: value used for None; None to reject None.
    """

    argument: int
    size: int
    default: np.ndarray | None


class _DirectUnit(Unit):
    """Machine code shared by all direct functions; their plans hold the differences."""

    @property
    def name(self) -> str:
        """Name for progress reports."""
        return 'direct'

    @cached_property
    def key(self) -> str:
        """Digest of all inputs to the object; the compiler's digest covers this file."""
        return hashlib.sha256(f'direct {super().key}'.encode()).hexdigest()[:32]

    def export(self, module: Module, symbol: str) -> Kind:
        """Emit the function called by CPython."""
        assert self.arguments is not None
        kernel = self.kernel
        take, result = module.function(None, kernel.tree, kernel, self.arguments)
        words = '\n'.join(
            f'  %{name}.at = getelementptr i64, ptr %plan, i64 {at}\n'
            f'  %{name} = load {kind}, ptr %{name}.at'
            for name, (at, kind) in _WORDS.items()
        )
        module.add(_TEXT.format(name=symbol, take=take, data=8 * taking.DATA, words=words))
        return result

    @property
    def callbacks(self) -> dict[str, Any]:
        """CPython and numpy functions."""
        names = (
            'PyObject_GetAttr',
            'PyObject_VectorcallDict',
            'PyFloat_FromDouble',
            'Py_IncRef',
            'Py_DecRef',
        )
        return {
            **{name: getattr(ctypes.pythonapi, name) for name in names},
            'PyArray_Empty': ctypes.c_void_p(_numpy_function(_EMPTY)),
        }


_UNIT = _DirectUnit(taking.take, (INT, INT, INT))


class Direct:
    """
    Function `run(out, *inputs)` for an entry that writes one result and returns a bool.

    run: returns the result. inputs: float64 vectors with the given sizes, or None for the default.
    out: array with the result's shape, or None for a new one. `run` returns the fallback's result
    for all other arguments, if the entry returns False, and while the guard is not 0.
    """

    def __init__(
        self,
        call: Call,
        operands: Sequence[Operand],
        result: np.ndarray,
        shape: tuple[int, ...],
        guard: tuple[object, str],
        fallback: Callable[..., Any],
    ) -> None:
        """
        Prepare.

        call: the entry's call, with the result array as last argument; used by this object only.
        shape: shape of the returned arrays, with as many items as `result`; () for a float. guard:
        object and attribute name; direct calls run only while the attribute is the integer 0.
        """
        if not is_possible():
            self.run = fallback
            return
        guarded, name = guard[0], sys.intern(guard[1])
        extents = np.array(shape, np.int64)
        rows = np.array(
            [
                (
                    call.address_of_word(each.argument),
                    each.size,
                    0 if each.default is None else address_of(each.default),
                )
                for each in operands
            ],
            np.int64,
        ).reshape(-1, taking.OPERAND_SIZE)
        function, block = call.place
        words = {
            taking.GUARD: id(guarded),
            taking.GUARD_NAME: id(name),
            taking.IDLE: id(0),
            taking.NONE: id(None),
            taking.ARRAY: id(np.ndarray),
            taking.FLOATS: id(_FLOATS),
            taking.FLOAT_WORD: _words_of(_FLOATS)[taking.ITEM_WORD] & taking.ITEM_MASK,
            taking.FALLBACK: id(fallback),
            taking.FUNCTION: function,
            taking.BLOCK: block,
            taking.DONE: block + 8 * call.argument_words,
            taking.RESULT_WORD: call.address_of_word(call.count - 1),
            taking.RESULT_DIMENSIONS: len(shape),
            taking.RESULT_SHAPE: address_of(extents),
            taking.RESULT_SIZE: result.nbytes,
            taking.NUMBER: 0 if shape else address_of(result),
            taking.OPERANDS: address_of(rows),
            taking.COUNT: len(operands),
        }
        plan = np.zeros(taking.PLAN_SIZE, np.int64)
        plan[list(words)] = list(words.values())
        # keep alive everything the plan points to
        self._alive = (
            guarded,
            name,
            fallback,
            call,
            extents,
            rows,
            [each.default for each in operands],
        )
        self.run = _make(ctypes.byref(_definition()), plan, None)


class _Definition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('document', ctypes.c_char_p),
    )


_make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ('PyCFunction_NewEx', ctypes.pythonapi)
)


@cache
def _definition() -> _Definition:
    """Return the definition shared by all direct functions; it must outlive them."""
    return _Definition(b'direct', _UNIT.address, _METH_FASTCALL, None)


@cache
def is_possible() -> bool:
    """Return whether CPython and numpy objects have the layout assumed in `taking`."""
    sample = np.zeros((2, 3))
    words = _words_of(sample)
    shape = (ctypes.c_int64 * 2).from_address(words[taking.SHAPE])
    return (
        sys.implementation.name == 'cpython'
        and object.__basicsize__ == _HEAD_SIZE
        and words[taking.TYPE] == id(np.ndarray)
        and words[taking.DATA] == address_of(sample)
        and words[taking.DIMENSIONS] & taking.HALF == 2
        and list(shape) == [2, 3]
        and words[taking.ITEM] == id(sample.dtype)
        and words[taking.FLAGS] & taking.HALF == sample.flags.num
        and _words_of(_FLOATS)[taking.ITEM_WORD] >> 32 == _FLOATS.num
    )


def _words_of(thing: object) -> Any:
    return (ctypes.c_int64 * taking.OBJECT_SIZE).from_address(id(thing))


def _numpy_function(number: int) -> int:
    """Return the address of a function in numpy's C function table."""
    module = next(
        sys.modules[name]
        for name in ('numpy._core._multiarray_umath', 'numpy.core._multiarray_umath')
        if name in sys.modules
    )
    table = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ('PyCapsule_GetPointer', ctypes.pythonapi)
    )(module._ARRAY_API, None)
    return (ctypes.c_void_p * (number + 1)).from_address(table)[number] or 0
