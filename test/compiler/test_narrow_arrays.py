"""Arrays with items narrower than 64 bits: loads widen, stores round or saturate."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple
import warnings

from kernel_pairs import agreed, program
import numpy as np
import pytest

from sim_bridge.compiler.argument_table import openers_of, tabulate
from sim_bridge.compiler.arrays import (
    Float32Cube,
    Float32Vector,
    Int16Vector,
    Int32Vector,
    UInt8Cube,
    UInt8Matrix,
    UInt16Matrix,
    UInt32Vector,
)
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.errors import KernelError

MOST, LEAST = 2**63 - 1, -(2**63)
INTEGRAL = [np.uint8, np.uint16, np.uint32, np.int16, np.int32]
COPY = 'def f(a, b):\n    for i in range(a.shape[0]):\n        b[i] = a[i]'


@pytest.mark.parametrize('dtype', INTEGRAL)
def test_integers_are_widened_and_saturated(dtype):
    """Load all limits exactly; store the nearest integer in range."""
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.max, limits.min + 1, limits.max // 2, limits.max // 2 + 1]
    wide = np.array([*edges, limits.min - 1, limits.max + 1, -1, MOST, LEAST], np.int64)
    narrow, back = np.zeros(len(wide), dtype), np.zeros_like(wide)
    agreed(COPY, wide, narrow)
    agreed(COPY, narrow, back)
    assert back.tolist() == np.clip(wide, limits.min, limits.max).tolist()


def test_floats_are_rounded_to_nearest():
    """Round ties to even, to infinity beyond the range, to subnormal numbers and zeros below."""
    half = 1.0 + 2.0**-24
    wide = [half, np.nextafter(half, 2.0), 1.0 + 3 * 2.0**-24, 0.1, -0.0, 1e-40, -1e-46, 7e-46]
    wide += [3.4028235677973366e38, 3.4028235e38, -1e39, math.inf, math.nan, sys.float_info.max]
    with np.errstate(over='ignore'):
        expected = np.array(wide).astype(np.float32)
    narrow, back = np.zeros(len(wide), np.float32), np.zeros(len(wide))
    agreed(COPY, np.array(wide), narrow)
    assert np.array_equal(narrow, expected, equal_nan=True)
    assert math.copysign(1.0, narrow[4]) == math.copysign(1.0, narrow[6]) == -1.0
    agreed(COPY, narrow, back)
    assert np.array_equal(back, expected.astype(float), equal_nan=True)


def test_the_reference_rounds_without_warnings():
    """Overflow of a float32 item is a value, not an error."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        agreed('def f(e):\n    e[0] = 1e300\n    e[1] = 1e-300', np.ones(2, np.float32))


def test_a_sum_is_computed_with_doubles_and_rounded_once():
    """Fuse the product of two float32 items before the store rounds."""
    a, b, c = np.random.default_rng(1).normal(size=(3, 200)).astype(np.float32)
    out = np.zeros(200, np.float32)
    agreed(
        'def f(a, b, c, o):\n    for i in range(a.shape[0]):\n        o[i] = a[i] * b[i] + c[i]',
        a,
        b,
        c,
        out,
    )
    # a product of two float32 numbers is exact in float64
    assert np.array_equal(out, (a.astype(float) * b + c).astype(np.float32))


def test_augmented_assignment_saturates():
    """Add in 64 bits, then store."""
    levels = np.array([250, 3, 128], np.uint8)
    source = (
        'def f(u):\n    u[0] += 10\n    u[1] -= 10\n    u[2] = u[2] * 4 // 2\n    u[2] |= 1\n'
        '    return u[0] + u[0], u[1]'
    )
    assert agreed(source, levels) == (510, 0)
    assert levels.tolist() == [255, 0, 255]


@pytest.mark.parametrize(
    ('dtype', 'value', 'stored'),
    [
        (np.uint8, 300, 255),
        (np.int16, -40000, -32768),
        (np.uint32, 2**40, 2**32 - 1),
        (np.float32, 0.1, np.float32(0.1)),
        (np.float32, 7, 7.0),
    ],
)
def test_ranges_are_filled_with_the_stored_number(dtype, value, stored):
    """Fill rows and ranges; leave the neighbours alone."""
    cube = np.ones((3, 4, 5), dtype)
    agreed('def f(a, v):\n    a[1] = v\n    a[0, 1:3] = v\n    a[2, 1, 2:4] = v', cube, value)
    expected = np.ones((3, 4, 5))
    expected[1] = expected[0, 1:3] = expected[2, 1, 2:4] = stored
    assert np.array_equal(cube, expected)


@pytest.mark.parametrize('dtype', [*INTEGRAL, np.float32])
def test_overlapping_ranges_are_copied(dtype):
    """Copy by the item's size, in both directions."""
    a, b = np.arange(10, dtype=dtype), np.arange(10, dtype=dtype)
    agreed('def f(a, b):\n    a[2:9] = a[:7]\n    b[:7] = b[2:9]', a, b)
    assert a.tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 9]
    assert b.tolist() == [2, 3, 4, 5, 6, 7, 8, 7, 8, 9]


def test_views_of_rows_address_narrow_items():
    """Step through rows and planes by the item's size."""
    cube = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    source = 'def f(c):\n    r = c[1][2]\n    r[1:][0] = 99\n    return r[-1], c[1][0][3], len(r)'
    assert agreed(source, cube) == (23, 15, 4)
    assert cube[1, 2, 1] == 99


@pytest.mark.parametrize(
    ('source', 'message'),
    [
        ('def f(u, e):\n    u[0] = 1.5', 'u\\[0\\] is float where int is expected'),
        ('def f(u, e):\n    u[0:2] = e[0:2]', 'cannot be set to array of float32, 1-d'),
    ],
)
def test_other_conversions_are_refused(source, message):
    """Keep the rule: conversions of floats to integers, and of arrays, are written out."""
    with pytest.raises(KernelError, match=message):
        agreed(source, np.zeros(3, np.uint8), np.zeros(3, np.float32))


class Picture(NamedTuple):
    """Part with narrow arrays."""

    pixel: UInt8Cube
    depth: UInt16Matrix
    table: Float32Vector


(picture_of,) = openers_of([Picture])


def test_parts_have_narrow_arrays():
    """Read and write fields with several item formats."""
    picture = Picture(np.zeros((2, 3, 4), np.uint8), np.zeros((2, 3), np.uint16), np.ones(5, 'f4'))
    source = (
        'def f(p):\n    p.pixel[1, 2, 3] = 256\n    p.depth[1, 2] = 70000\n    p.table[4] = 0.1\n'
        '    return p.pixel[1, 2, 3] + p.depth[1, 2], p.table[4]'
    )
    assert agreed(program(source), picture) == (255 + 65535, float(np.float32(0.1)))
    assert tabulate([picture]).shape == (3, 4)
    wrong = picture._replace(depth=np.zeros((2, 3), np.uint8))
    with pytest.raises(TypeError, match=r'Picture.depth must be a C-contiguous, aligned uint16'):
        tabulate([wrong])


@entry
def tally(
    pixel: UInt8Matrix, box: Int16Vector, label: Int32Vector, mark: UInt32Vector, out: Float32Cube
):
    """Add up items of all formats."""
    out[0, 0, 0] = 0.5
    return pixel[0, 0] + box[0] + label[0] + mark[0]


def test_entries_take_annotated_narrow_arrays():
    """Accept exactly the declared items."""
    arguments = (
        np.array([[255]], np.uint8),
        np.array([-(2**15)], np.int16),
        np.array([-(2**31)], np.int32),
        np.array([2**32 - 1], np.uint32),
        np.zeros((1, 1, 1), np.float32),
    )
    assert tally(*arguments) == 255 - 2**15 - 2**31 + 2**32 - 1
    assert arguments[-1].item() == 0.5
    with pytest.raises(TypeError, match="'pixel' must be array of uint8, 2-d, not array of int,"):
        tally(np.array([[255]]), *arguments[1:])


def test_unaligned_arrays_are_refused():
    """Refuse items that straddle their natural addresses, also in prepared calls."""
    call = tally.prepare(
        np.zeros((1, 1), np.uint8),
        np.zeros(1, np.int16),
        np.zeros(1, np.int32),
        np.zeros(1, np.uint32),
        np.zeros((1, 1, 1), np.float32),
    )
    with pytest.raises(TypeError, match='not aligned in memory'):
        call.replace(1, np.frombuffer(bytes(9), np.int16, offset=1))
