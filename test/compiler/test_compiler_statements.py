"""Functions, statements, arrays and parts: table rows in docs/kernels.md."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from itertools import product
import math
import sys
from types import ModuleType
from typing import NamedTuple

from kernel_pairs import agreed, agreed_on, bits, compiled, program
import numpy as np
import pytest

from sim_bridge.compiler import objects
from sim_bridge.compiler.argument_table import openers_of, tabulate
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.compiler.reference import Reference
from sim_bridge.compiler.stage import Stage

LEAST, MOST = -(2**63), 2**63 - 1
TINY, SMALLEST = sys.float_info.min, 5e-324
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    -1e-3,
    3.0,
    1e300,
    -1e300,
    TINY,
    SMALLEST,
    -SMALLEST,
    1.0 + 2**-52,
    2.0**53 + 2,
    -(2.0**63),
    2.0**63,
    math.inf,
    -math.inf,
    math.nan,
]
INTEGERS = [0, 1, -1, 2, -7, 8, 63, 64, 10**9, 2**53 + 1, MOST, LEAST, LEAST + 1]


# --- functions -----------------------------------------------------------------------------------


def test_min_and_max_keep_the_first_unless_a_later_one_is_beyond():
    """Order like Python: an initial nan is kept, a later one is skipped, as with zeros."""
    kernel = program(
        'def f(x, y, z):\n    return min(x, y), max(x, y), min((x, y, z)), max(x, y, z)'
    )
    machine = compiled(kernel, 1.0, 1.0, 1.0)
    for x, y, z in product(FLOATS[::2], FLOATS[::2], [0.0, -0.0, 2.0, math.nan, -math.inf]):
        found = agreed_on(kernel, machine, x, y, z)
        expected = min(x, y), max(x, y), min((x, y, z)), max(x, y, z)
        assert [*map(bits, found)] == [*map(bits, expected)]


def test_min_and_max_of_several_kinds():
    """Return floats if one argument is a float, integers otherwise, also for bools."""
    assert agreed('def f(n, x):\n    return min(n, x), max(n, x, 7)', 2, 2.5) == (2.0, 7.0)
    assert agreed('def f(m, n):\n    return min(m, n), max(m, n)', MOST, LEAST) == (LEAST, MOST)
    assert agreed('def f(p, q):\n    return min(p, q), max(p, q, 0)', True, False) == (0, 1)


@pytest.mark.parametrize(
    'name', ['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'exp', 'log', 'sqrt', 'fabs']
)
def test_mathematics_is_that_of_the_c_library(name):
    """Give the C library's bits, with nan and infinities where Python raises."""
    library = ctypes.CDLL('libm.so.6')
    in_c = getattr(library, name)
    in_c.restype, in_c.argtypes = ctypes.c_double, (ctypes.c_double,)
    kernel = program(f'def f(x):\n    return math.{name}(x)')
    machine = compiled(kernel, 1.0)
    for x in [*FLOATS, 0.3, 0.7, 2.0, 10.0, 710.0, -750.0, 1e5]:
        assert bits(agreed_on(kernel, machine, x)) == bits(in_c(x))


@pytest.mark.parametrize('name', ['atan2', 'pow', 'copysign'])
def test_mathematics_of_two_numbers_is_that_of_the_c_library(name):
    """Give the C library's bits for pairs, integers among them."""
    library = ctypes.CDLL('libm.so.6')
    in_c = getattr(library, name)
    in_c.restype, in_c.argtypes = ctypes.c_double, (ctypes.c_double,) * 2
    kernel = program(f'def f(x, y):\n    return math.{name}(x, y)')
    machine = compiled(kernel, 1.0, 1.0)
    for x, y in product([*FLOATS[:-1], 0.3, 2.0, 10.0], repeat=2):
        assert bits(agreed_on(kernel, machine, x, y)) == bits(in_c(x, y))
    assert agreed(f'def f(n):\n    return math.{name}(n, 2)', 3) == in_c(3.0, 2.0)


@pytest.mark.parametrize(
    'expression',
    [
        'math.pow(x, 2.0)',
        'math.pow(x, 0.5)',
        'math.pow(2.0, x)',
        'math.pow(x, -1.0)',
        'math.pow(10.0, x)',
        'math.pow(x, 3.0)',
        'math.pow(math.exp(x), 2.0)',
        'math.sin(-x)',
        'math.cos(-x)',
        'math.tan(math.atan(x))',
        'math.exp(math.log(x))',
        'math.log(math.exp(x))',
        'math.sqrt(x * x)',
        'math.sin(x) / math.cos(x)',
        'math.log(math.pow(x, 3.0))',
    ],
)
def test_calls_of_the_c_library_are_not_replaced(expression):
    """Call the function in the source, even if LLVM knows an equivalent."""
    kernel = program(f'def f(x):\n    return {expression}')
    machine = compiled(kernel, 1.0)
    for x in np.random.default_rng(3).uniform(0.01, 20.0, 400).tolist():
        agreed_on(kernel, machine, x)
    agreed_on(kernel, machine, -math.inf)


def test_calls_with_constants_are_those_of_the_c_library():
    """Give the same bits if LLVM computes them at compile time."""
    names = ['sin', 'cos', 'tan', 'exp', 'atan', 'log', 'sqrt']
    calls = [f'math.{name}({x!r})' for name in names for x in (0.3, 1.7, 2.2, 3.9, 11.3)]
    calls += [f'math.pow({x!r}, {y!r})' for x in (0.3, 2.2) for y in (1.7, 3.9)]
    agreed(f'def f():\n    return {", ".join(calls)}')


def test_isfinite_and_isnan():
    """Tell infinities and nan from numbers."""
    for x in FLOATS:
        assert agreed('def f(x):\n    return math.isfinite(x), math.isnan(x)', x) == (
            math.isfinite(x),
            math.isnan(x),
        )
    assert agreed('def f(n):\n    return math.isfinite(n), math.isnan(n)', 3) == (True, False)


# --- variables and statements --------------------------------------------------------------------


def test_variable_that_nothing_has_set_is_zero():
    """Read zeros where Python raises: on a path without assignment, behind an empty loop."""
    source = (
        'def f(p):\n    if p:\n        x, n, q, t = 1.5, 2, True, (3.0, 4)\n'
        '    for i in range(0):\n        pass\n    return x, n, q, t, i'
    )
    kernel = program(source)
    machine = compiled(kernel, True)
    assert machine(True) == (1.5, 2, True, (3.0, 4), 0)
    assert machine(False) == (0.0, 0, False, (0.0, 0), 0)
    with pytest.raises(UnboundLocalError):
        Reference()(kernel)(False)


def test_variables_of_a_loop_outlive_it():
    """Keep the value from the last iteration."""
    source = 'def f(n):\n    for i in range(n):\n        last = 2 * i\n    return i, last'
    assert agreed(source, 5) == (4, 8)


def test_parameters_may_be_set():
    """Change a parameter without changing the caller's value."""
    source = (
        '@kernel\ndef less(n, t):\n    n -= 1\n    t = (0.0, t[0])\n    return n, t[1]\n'
        'def f(n, t):\n    m, x = less(n, t)\n    return m, x, n, t'
    )
    assert agreed(source, 5, (1.5, 2.5)) == (4, 1.5, 5, (1.5, 2.5))


def test_underscore_takes_anything():
    """Assign values of any kind to `_`, one after the other."""
    source = (
        'def f(x):\n    _ = 1\n    _ = 2.5\n    _, y, _ = (1.0, 2), x, True\n'
        '    for _ in range(3):\n        y += 1.0\n    return y'
    )
    assert agreed(source, 0.5) == 3.5


def test_swapping_reads_before_it_writes():
    """Compute the whole right side first, for variables and for items."""
    array = np.array([1.0, 2.0])
    assert agreed(
        'def f(x, y, a):\n    x, y = y, x\n    a[0], a[1] = a[1], a[0]\n    return x, y',
        1,
        2,
        array,
    ) == (2, 1)
    assert array.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    'bounds',
    [
        '(n)',
        '(2, n)',
        '(n, 2)',
        '(0, n, 2)',
        '(n, 0, -1)',
        '(n, -3, -2)',
        '(-n, n, 3)',
        '(1, n, 7)',
    ],
)
def test_range_counts_like_python(bounds):
    """Count up and down by a literal step; changing the variable does not affect the loop."""
    source = (
        f'def f(n, log):\n    k = 0\n    for i in range{bounds}:\n        log[k] = i\n'
        '        k += 1\n        i = 99\n    return k'
    )
    kernel = program(source)
    machine = compiled(kernel, 1, np.zeros(30, np.int64))
    for n in range(-3, 10):
        log = np.zeros(30, np.int64)
        found = agreed_on(kernel, machine, n, log)
        turns = list(eval(f'range{bounds}', {'n': n}))
        assert found == len(turns)
        assert log[:found].tolist() == turns


def test_bounds_of_a_range_are_computed_once():
    """Keep the iteration count even if the body changes the bound."""
    source = (
        'def f(n):\n    k = 0\n    for _ in range(n):\n        n = 0\n        k += 1\n    return k'
    )
    assert agreed(source, 4) == 4


def test_break_and_continue_belong_to_the_inner_loop():
    """Leave, or continue, only the loop around the statement."""
    source = (
        'def f(n):\n    k = 0\n    for i in range(n):\n        if i == 1:\n'
        '            continue\n        for j in (10, 20, 30):\n            if j == 20:\n'
        '                continue\n            if i == 3 and j == 30:\n'
        '                break\n            k += i * j\n        if i == 4:\n'
        '            break\n'
        '    while True:\n        k += 1\n        while True:\n            k += 1000\n'
        '            break\n        if k % 5 == 0:\n            break\n    return k'
    )
    assert (
        agreed(source, 10)
        == sum(i * j for i in (0, 2, 3, 4) for j in (10, 30) if (i, j) != (3, 30)) + 5 * 1001
    )


def test_endless_loop_ends_by_a_return():
    """Return from `while True`; nothing behind it is compiled."""
    source = (
        'def f(n):\n    while True:\n        n += 3\n        if n > 20:\n            return n\n'
    )
    assert agreed(source, 1) == 22


def test_loop_goes_over_a_tuple():
    """Take its items in order, optionally numbered by enumerate."""
    source = (
        'def f(x, t):\n    k = 0.0\n    for y in (x, 2.0 * x, 0.5):\n        k += y\n'
        '    for n, (p, q) in enumerate(t):\n        k += n * p + q\n    return k'
    )
    assert agreed(source, 1.0, ((1.0, 2.0), (3.0, 4.0))) == 3.5 + 2.0 + 7.0


def test_return_ends_a_kernel_on_every_way():
    """Return from branches and loops; None if nothing is returned."""
    source = (
        'def f(n):\n    if n < 0:\n        return -1\n    else:\n'
        '        for i in range(n):\n            if i * i > n:\n'
        '                return i\n    return 100'
    )
    for n, expected in [(-5, -1), (0, 100), (10, 4), (1, 100)]:
        assert agreed(source, n) == expected
    assert agreed('def f(n):\n    if n:\n        return\n    pass', 1) is None


def test_kernels_call_kernels():
    """Pass and return tuples, rows and parts, inlined or called."""
    source = (
        '@kernel\ndef add(a, b):\n    return a[0] + b[0], a[1] + b[1]\n'
        '@subroutine\ndef scale(a, row, by):\n    row[0] = a[0] * by\n'
        '    row[1] = a[1] * by\n    return row\n'
        '@kernel\ndef empty(row):\n    row[0] = 0.0\n'
        'def f(m):\n    row = scale(add((1.0, 2.0), (m[0, 0], m[0, 1])), m[1], 3)\n'
        '    empty(m[0])\n    return row[0], row[1]'
    )
    matrix = np.array([[5.0, 6.0], [0.0, 0.0]])
    assert agreed(source, matrix) == (18.0, 24.0)
    assert matrix.tolist() == [[0.0, 6.0], [18.0, 24.0]]


def test_one_kernel_serves_arguments_of_several_kinds():
    """Compile a kernel separately for integers, floats and tuples."""
    source = (
        '@kernel\ndef twice(x):\n    y = x + x\n    return y\n'
        'def f(n, x):\n    return twice(n), twice(x), twice((n, x)), twice(n < x)'
    )
    assert agreed(source, 3, 0.5) == (6, 1.0, (3, 0.5, 3, 0.5), 0)


# --- tuples --------------------------------------------------------------------------------------


def test_tuples_are_joined_taken_apart_and_indexed():
    """Join by +, unpack, index by literals (also from the end) and by variables."""
    source = (
        'def f(t, i):\n    (a, b), c = t\n    u = (a, b) + (2.5,)\n'
        '    return u, t[0][1], t[-1], u[-2], u[i], len(u), (u[i], c)[1]'
    )
    assert agreed(source, ((0.5, 1.5), 7), 2) == ((0.5, 1.5, 2.5), 1.5, 7, 1.5, 2.5, 3, 7)


def test_conditional_expression_gives_tuples():
    """Choose a whole tuple."""
    source = 'def f(p, a, b):\n    return (a, 1) if p else (b, 2)'
    assert agreed(source, True, 0.5, 1.5) == (0.5, 1)
    assert agreed(source, False, 0.5, 1.5) == (1.5, 2)


# --- arrays --------------------------------------------------------------------------------------


def test_literal_indices_count_from_the_end():
    """Count from the end by a literal or a module constant, on every axis."""
    source = (
        'def f(a, m):\n    m[-1, -2] = a[-1]\n    m[0][LAST] = a[-3]\n    return a[LAST], m[-2, 1]'
    )
    matrix = np.arange(6.0).reshape(2, 3)
    assert agreed(source, np.array([1.0, 2.0, 3.0]), matrix, LAST=-1) == (3.0, 1.0)
    assert matrix.tolist() == [[0.0, 1.0, 1.0], [3.0, 3.0, 5.0]]


def test_negative_variable_is_no_index():
    """Refuse it in the reference interpreter; compiled code does not test the sign."""
    kernel = program('def f(a, i):\n    return a[i]')
    with pytest.raises(IndexError, match='-1'):
        Reference()(kernel)(np.zeros(3), -1)


@pytest.mark.parametrize(
    'bounds',
    [':', 'i:', ':j', 'i:j', '1:', ':-1', '-2:', '-9:', ':-9', '9:', ':9', '3:1', '-3:-1', 'i:-1'],
)
def test_bounds_are_clipped(bounds):
    """Clip like Python; a negative variable becomes 0: only literals count from the end."""
    source = (
        f'def f(a, b, i, j):\n    part = a[{bounds}]\n    for k in range(len(part)):\n'
        f'        part[k] += 100\n    b[{bounds}] = 7\n    return len(part)'
    )
    kernel = program(source)
    machine = compiled(kernel, np.zeros(5, np.int64), np.zeros((5, 2)), 0, 0)
    for i, j in product([0, 1, 3, 5, 7, -1, -7], repeat=2):
        array, other = np.arange(5), np.zeros((5, 2))
        found = agreed_on(kernel, machine, array, other, i, j)
        expected, more = np.arange(5), np.zeros((5, 2))
        chosen = eval(f'np.s_[{bounds}]', {'np': np, 'i': max(i, 0), 'j': max(j, 0)})
        expected[chosen] += 100
        more[chosen] = 7.0
        assert found == len(expected[chosen])
        assert array.tolist() == expected.tolist()
        assert other.tolist() == more.tolist()


def test_ranges_are_copied_as_if_at_once():
    """Copy between overlapping ranges, and between rows and multi-dimensional blocks."""
    array, cube = np.arange(8.0), np.arange(24.0).reshape(2, 3, 4)
    agreed(
        'def f(a, c):\n    a[2:7] = a[0:5]\n    c[1, 1:, :] = c[0, :2]\n    c[0, 0] = c[1, 2]',
        array,
        cube,
    )
    assert array.tolist() == [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 7.0]
    expected = np.arange(24.0).reshape(2, 3, 4)
    expected[1, 1:, :] = expected[0, :2].copy()
    expected[0, 0] = expected[1, 2]
    assert cube.tolist() == expected.tolist()


def test_ranges_are_filled_with_a_number():
    """Set all items in an array, row or range, converting the number."""
    array, matrix, integers = np.ones(4), np.ones((3, 2)), np.ones(3, np.int64)
    agreed(
        'def f(a, m, k):\n    a[:] = 2\n    m[1] = 0.5\n    m[2:, :] = True\n    k[:0] = 9\n'
        '    k[1:] = -1',
        array,
        matrix,
        integers,
    )
    assert array.tolist() == [2.0] * 4
    assert matrix.tolist() == [[1.0, 1.0], [0.5, 0.5], [1.0, 1.0]]
    assert integers.tolist() == [1, -1, -1]


def test_arrays_know_their_extents():
    """Give shape, size, ndim and len(), also for rows and ranges."""
    source = (
        'def f(c, n):\n    row = c[1, n:]\n    return c.shape, c.size, c.ndim, len(c), '
        'row.shape, row.size, row.ndim, c.shape[-1], c[0, 0, 1:].shape[0]'
    )
    assert agreed(source, np.zeros((2, 3, 4)), 2) == ((2, 3, 4), 24, 3, 2, (1, 4), 4, 2, 4, 3)


def test_rows_are_views():
    """Write through a row into its array, and assign another row to a variable."""
    source = 'def f(m):\n    row = m[0]\n    row[1] = 5.0\n    row = m[1]\n    row[0] = 6.0'
    matrix = np.zeros((2, 2))
    agreed(source, matrix)
    assert matrix.tolist() == [[0.0, 5.0], [6.0, 0.0]]


def test_arrays_may_overlap():
    """Read values written through another name of the same array."""
    kernel = program('def f(a, b):\n    a[0] = 1.0\n    b[0] = 2.0\n    return a[0]')
    array = np.zeros(3)
    assert compiled(kernel, array, array)(array, array) == 2.0
    assert Reference()(kernel)(array, array) == 2.0


# --- constants, parts and tables -----------------------------------------------------------------


class Kind(IntEnum):
    """An enum in a kernel module."""

    FIRST = 3
    SECOND = 5


def test_constants_and_enums_of_a_module_are_literals():
    """Read numbers, bools, tuples and enums from this module, other modules and math."""
    library = ModuleType('library')
    library.FACTOR, library.Kind = 2.5, Kind
    source = (
        'def f(n, a):\n    if n == Kind.SECOND:\n        a[COUNT] = library.FACTOR\n'
        '    return AXES[1], COUNT + 1, FLAG, library.Kind.FIRST + 0, math.pi, math.inf, '
        'Kind.FIRST < n'
    )
    array = np.zeros(4)
    assert agreed(
        source,
        5,
        array,
        Kind=Kind,
        COUNT=3,
        FLAG=True,
        library=library,
        AXES=((1.0, 0.0), (0.0, -1.0)),
    ) == ((0.0, -1.0), 4, True, 3, math.pi, math.inf, True)
    assert array.tolist() == [0.0, 0.0, 0.0, 2.5]


class Body(NamedTuple):
    """A part."""

    mass: float
    pose: FloatMatrix
    flags: IntVector
    number: int


class Joint(NamedTuple):
    """Another part."""

    q: FloatVector


class World:
    """Object with a table."""

    def __init__(self):
        """Make parts with distinct values."""
        self.parts = (
            Body(1.5, np.arange(6.0).reshape(2, 3), np.array([7, -8]), -3),
            Joint(np.array([0.25, 0.5])),
        )
        self.table = tabulate(self.parts)


def test_fields_of_parts_are_read_from_a_table():
    """Open a table's parts, pass them to other kernels and change their arrays in place."""
    open_body, open_joint = openers_of((Body, Joint))
    source = (
        '@subroutine\ndef touch(body, joint):\n    body.flags[1] += body.number\n'
        '    joint.q[0] = body.mass * body.pose[1, 2]\n    return body.pose[0]\n'
        'def f(table):\n    body, joint = open_body(table), open_joint(table)\n'
        '    return touch(body, joint)[2] + joint.q[1], body.flags.size'
    )
    kernel = program(source, open_body=open_body, open_joint=open_joint)
    ours, theirs = World(), World()
    assert compiled(kernel, ours)(ours) == Reference()(kernel)(theirs) == (2.5, 2)
    for world in (ours, theirs):
        assert world.parts[0].flags.tolist() == [7, -11]
        assert world.parts[1].q.tolist() == [7.5, 0.5]


def test_part_is_an_argument_of_its_own():
    """Accept a NamedTuple with arrays and numbers without a table."""
    body = World().parts[0]
    assert (
        agreed(
            'def f(body, x):\n    body.pose[0, 0] = body.number\n    return body.mass * x',
            body,
            2.0,
        )
        == 3.0
    )
    assert body.pose[0, 0] == -3.0


def test_stage_is_called_by_its_address(monkeypatch):
    """Run a separate unit given by an integer; in the reference, run its kernel."""
    monkeypatch.setattr(objects, 'folder', lambda: None)
    monkeypatch.setattr(objects, 'warn_unless_kept', lambda: None)
    open_body, _ = openers_of((Body, Joint))
    stage = Stage(
        program(
            'def count(table, phase):\n    body = open_body(table)\n'
            '    body.flags[0] += phase\n    return body.flags[0]',
            open_body=open_body,
        ).function
    )
    kernel = program('def f(table, address):\n    return call_stage(address, table, 5) + 1')
    machine = compiled(kernel, World(), 1)
    assert machine(World(), stage.address) == 13
    assert Reference()(kernel)(World(), stage.address) == 13


# --- from Python ---------------------------------------------------------------------------------


def test_kernel_called_from_python_runs_as_python():
    """Run the function itself, rounding each operation."""
    kernel = program('def f(a, b, c):\n    """Say."""\n    return a * b + c')
    a, b, c = 1.0 + 2**-30, 1.0 - 2**-29, -1.0 + 2**-40
    assert kernel(a, b, c) == a * b + c
    assert kernel.__doc__ == 'Say.'
    assert kernel.__name__ == 'f'
