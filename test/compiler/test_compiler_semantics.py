"""Kernel semantics: each table row in docs/kernels.md, compiled and in CPython."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
import math
import sys
from types import ModuleType

from kernel_pairs import agreed, agreed_on, bits, compiled, program
import numpy as np
import pytest

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


def wrapped(number: int) -> int:
    """Return a number wrapped to 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def nearest(exact: Fraction) -> float:
    """Round an exact number to a float."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def in_numpy(operation, a, b) -> float:
    """Apply an operation to two floats following IEEE 754."""
    with np.errstate(all='ignore'):
        return float(operation(np.float64(a), np.float64(b)))


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('operator', 'operation'),
    [('+', np.add), ('-', np.subtract), ('*', np.multiply), ('/', np.divide)],
)
def test_floats_follow_ieee_754(operator, operation):
    """Add, subtract, multiply and divide like numpy: infinities, nan, zeros with both signs."""
    kernel = program(f'def f(x, y):\n    return x {operator} y')
    machine = compiled(kernel, 1.0, 1.0)
    for a, b in product(FLOATS, FLOATS):
        assert bits(agreed_on(kernel, machine, a, b)) == bits(in_numpy(operation, a, b))


@pytest.mark.parametrize(
    ('operator', 'operation'),
    [('+', np.add), ('-', np.subtract), ('*', np.multiply), ('/', np.divide)],
)
@pytest.mark.parametrize('flipped', [False, True])
def test_integer_beside_a_float_becomes_one(operator, operation, flipped):
    """Convert the integer to the nearest float, then compute with floats."""
    operands = 'x {} n' if flipped else 'n {} x'
    kernel = program(f'def f(n, x):\n    return {operands.format(operator)}')
    machine = compiled(kernel, 1, 1.0)
    for n, x in product(INTEGERS, FLOATS):
        a, b = (x, float(n)) if flipped else (float(n), x)
        assert bits(agreed_on(kernel, machine, n, x)) == bits(in_numpy(operation, a, b))


@pytest.mark.parametrize(
    ('operator', 'operation'), [('+', int.__add__), ('-', int.__sub__), ('*', int.__mul__)]
)
def test_integers_wrap_at_64_bits(operator, operation):
    """Keep the lowest 64 bits of Python's result."""
    kernel = program(f'def f(m, n):\n    return m {operator} n')
    machine = compiled(kernel, 1, 1)
    for m, n in product(INTEGERS, INTEGERS):
        assert agreed_on(kernel, machine, m, n) == wrapped(operation(m, n))


def test_sign_and_size_of_an_integer_wrap():
    """Map the least integer to itself by negation and abs()."""
    for n in INTEGERS:
        assert agreed('def f(n):\n    return -n, abs(n)', n) == (wrapped(-n), wrapped(abs(n)))


def test_sign_of_the_least_integer_that_the_compiler_knows_wraps_too():
    """Negate a literal like a variable."""
    assert agreed('def f(n):\n    return n * -least', 1, least=LEAST) == LEAST


def test_sign_and_size_of_a_float():
    """Change signs for zeros, infinities and nan alike."""
    for x in FLOATS[:-1]:
        assert (*map(bits, agreed('def f(x):\n    return -x, abs(x)', x)),) == (
            bits(-x),
            bits(abs(x)),
        )
    # the sign of nan is unspecified
    assert math.isnan(agreed('def f(x):\n    return -x', math.nan))


def test_quotient_of_integers_is_a_float():
    """Convert both to floats first: 1 / 2 is 0.5, and 0 / 0 is nan."""
    kernel = program('def f(m, n):\n    return m / n')
    machine = compiled(kernel, 1, 1)
    for m, n in product(INTEGERS, INTEGERS):
        expected = in_numpy(np.divide, float(m), float(n))
        assert bits(agreed_on(kernel, machine, m, n)) == bits(expected)


def test_integers_divide_towards_minus_infinity():
    """Give Python's quotient and remainder, with the divisor's sign; by 0 both are 0."""
    kernel = program('def f(m, n):\n    return m // n, m % n')
    machine = compiled(kernel, 1, 1)
    for m, n in product(INTEGERS, INTEGERS):
        expected = (wrapped(m // n), m % n) if n else (0, 0)
        assert agreed_on(kernel, machine, m, n) == expected


@pytest.mark.parametrize('n', [0, 1, -1, 2, 8, 1 << 62, 3, 10, -2, -7])
def test_division_by_a_literal_is_the_same_division(n):
    """Shift and mask for powers of two, with the same results."""
    kernel = program(f'def f(m):\n    return m // {n}, m % {n}')
    machine = compiled(kernel, 1)
    for m in INTEGERS:
        expected = (wrapped(m // n), m % n) if n else (0, 0)
        assert agreed_on(kernel, machine, m) == expected


def test_shifts_count_modulo_64():
    """Shift by the lowest six bits of the count; right shifts extend the sign."""
    kernel = program('def f(m, n):\n    return m << n, m >> n')
    machine = compiled(kernel, 1, 1)
    for m, n in product(INTEGERS, INTEGERS):
        assert agreed_on(kernel, machine, m, n) == (wrapped(m << n % 64), m >> n % 64)
    for n in (0, 1, 63, 64, 65, -1):
        result = agreed(f'def f(m):\n    return m << {n}, m >> {n}', -5)
        assert result == (wrapped(-5 << n % 64), -5 >> n % 64)


def test_bits_of_integers():
    """Join and flip bits; bools stay bools."""
    kernel = program('def f(m, n):\n    return m & n, m | n, m ^ n, ~m')
    machine = compiled(kernel, 1, 1)
    for m, n in product(INTEGERS, INTEGERS):
        assert agreed_on(kernel, machine, m, n) == (m & n, m | n, m ^ n, ~m)
    for m, n in product((False, True), repeat=2):
        found = agreed('def f(m, n):\n    return m & n, m | n, m ^ n', m, n)
        assert found == (m & n, m | n, m ^ n)
    assert agreed('def f(m, n):\n    return m & n', True, 3) == 1


def test_bits_are_joined_in_place():
    """Support augmented & | ^ << >> like + -."""
    source = (
        'def f(a, n):\n    n |= 8\n    n &= 13\n    n ^= 1\n    n <<= 2\n    n >>= 1\n'
        '    a[0] |= n\n    a[1] ^= n\n    return n'
    )
    array = np.array([3, 5])
    assert agreed(source, array, 6) == 26
    assert array.tolist() == [3 | 26, 5 ^ 26]


def test_bool_becomes_a_number_where_one_is_wanted():
    """Count as 0 and 1, among integers and among floats."""
    source = 'def f(p, q, n, x):\n    return p + q, p + n, p * x, p - q, -p, abs(p), n < p, p == x'
    assert agreed(source, True, True, 5, 0.5) == (2, 6, 0.5, 0, -1, 1, False, False)
    assert agreed(source, True, False, -5, 1.0) == (1, -4, 1.0, 1, -1, 1, True, True)


def test_constants_are_folded_like_python():
    """Compute with literals like Python."""
    source = (
        'def f():\n    return 7 // -2, 7 % -2, 1 << 40, -8 >> 1, 6 * 7 - 2, 5 & 3, 5 | 3, 5 ^ 3'
    )
    assert agreed(source) == (-4, -1, 1 << 40, -4, 40, 1, 7, 6)
    assert agreed(f'def f():\n    return {LEAST}, -{MOST}') == (LEAST, -MOST)


# --- conversions ---------------------------------------------------------------------------------


def test_int_rounds_towards_zero_and_saturates():
    """Clip values out of range to the nearest integer, and turn nan into 0."""
    kernel = program('def f(x):\n    return int(x)')
    machine = compiled(kernel, 1.0)
    for x in [*FLOATS, 2.9, -2.9, 0.999, -0.999, math.nextafter(2.0**63, 0.0), 1e19, -1e19]:
        if math.isnan(x):
            expected = 0
        elif math.isinf(x):
            expected = MOST if x > 0.0 else LEAST
        else:
            expected = min(max(int(x), LEAST), MOST)
        assert agreed_on(kernel, machine, x) == expected


def test_floor_and_ceil_are_integers_and_saturate():
    """Round down and up; an integer is converted to a float first."""
    kernel = program('def f(x):\n    return math.floor(x), math.ceil(x)')
    machine = compiled(kernel, 1.0)
    for x in [*(each for each in FLOATS if math.isfinite(each)), 2.5, -2.5, 0.5, -0.5]:
        expected = tuple(
            min(max(rounded, LEAST), MOST) for rounded in (math.floor(x), math.ceil(x))
        )
        assert agreed_on(kernel, machine, x) == expected
    assert agreed_on(kernel, machine, math.inf) == (MOST, MOST)
    assert agreed_on(kernel, machine, -math.inf) == (LEAST, LEAST)
    assert agreed_on(kernel, machine, math.nan) == (0, 0)
    assert agreed('def f(n):\n    return math.floor(n)', 2**53 + 1) == 2**53


def test_numbers_are_converted_by_name():
    """Convert by int(), float() and bool(): nan is true, both zeros are false."""
    source = 'def f(x, n, p):\n    return float(n), float(p), int(p), bool(x), bool(n), bool(p)'
    assert agreed(source, 0.5, 3, True) == (3.0, 1.0, 1, True, True, True)
    assert agreed(source, -0.0, 0, False) == (0.0, 0.0, 0, False, False, False)
    assert agreed(source, math.nan, 2**53 + 1, False)[::3] == (2.0**53, True)


def test_integer_is_rounded_to_the_nearest_float():
    """Round to even at a tie, as Python does."""
    for n in [2**53 + 1, 2**53 + 3, MOST, LEAST, LEAST + 1, -(2**54 + 2)]:
        assert agreed('def f(n):\n    return float(n), n + 0.0', n) == (float(n), float(n))


def test_array_of_floats_takes_integers_and_bools():
    """Convert values written into a float array; bools into an integer array."""
    a, b = np.zeros(3), np.zeros(2, np.int64)
    agreed(
        'def f(a, b, n, p):\n    a[0] = n\n    a[1] = p\n    a[2] += n\n    b[0] = p\n'
        '    b[1:] = p',
        a,
        b,
        3,
        True,
    )
    assert a.tolist() == [3.0, 1.0, 3.0]
    assert b.tolist() == [1, 1]


# --- products in sums ----------------------------------------------------------------------------

A, B, C, D = 1.0 + 2**-30, 1.0 - 2**-29, -1.0 + 2**-40, 1.0 + 2**-27


def once(*terms) -> float:
    """Return a sum over exact products, rounded once."""
    return nearest(sum(math.prod(map(Fraction, factors)) for factors in terms))


@pytest.mark.parametrize(
    ('expression', 'expected'),
    [
        ('a * b + c', once((A, B), (C,))),
        ('c + a * b', once((A, B), (C,))),
        ('a * b - c', once((A, B), (-C,))),
        ('c - a * b', once((-A, B), (C,))),
        # the right one of two products is fused, the left one is rounded
        ('a * b + c * d', once((C, D), (A * B,))),
        ('a * b - c * d', once((-C, D), (A * B,))),
        ('a * b * c + d', once((A * B, C), (D,))),
        ('a * b + c + d', once((A, B), (C,)) + D),
        ('(a * b) + c', once((A, B), (C,))),
        ('a * (b + c) + d', once((A, B + C), (D,))),
        # a product that is no direct operand of the sum is rounded
        ('-(a * b) + c', -(A * B) + C),
        ('float(a * b) + c', A * B + C),
        ('(a * b if a > 0.0 else b) + c', A * B + C),
        ('min(a * b, 5.0) + c', A * B + C),
        ('min((a * b, a * b)) + c', A * B + C),
        ('abs(a * b) + c', A * B + C),
        ('(a * b, c)[0] + c', once((A, B), (C,))),
        # integers are not rounded
        ('3 * 4 + c', 12 + C),
        ('a * 3 + c', once((A, 3), (C,))),
        ('a / b + c', A / B + C),
    ],
)
def test_product_in_a_sum_is_not_rounded(expression, expected):
    """Round a sum with a product once; the numbers reveal a second rounding."""
    source = f'def f(a, b, c, d):\n    return {expression}'
    assert bits(agreed(source, A, B, C, D)) == bits(expected)


def test_numbers_of_these_tests_tell_the_difference():
    """Give another sum if the product is rounded first."""
    assert once((A, B), (C,)) != A * B + C
    assert once((C, D), (A * B,)) != once((A, B), (C * D,)) != A * B + C * D


@pytest.mark.parametrize(
    ('source', 'fuses'),
    [
        ('    p = a * b\n    return p + c', False),
        ('    c += a * b\n    return c', True),
        ('    a *= b\n    return a + c', False),
        ('    out[0] = a * b\n    return out[0] + c', False),
        ('    out[0] = c\n    out[0] += a * b\n    return out[0]', True),
        ('    p, _ = a * b, 0.0\n    return p + c', False),
        ('    for p in (a * b,):\n        c += p\n    return c', False),
        ('    return times(a, b) + c', True),
        ('    return plus(a * b, c)', True),
        ('    return twice_named(a * b) + c', True),
        ('    return pair(a, b)[0] + c', True),
        ('    for p in pair(a, b):\n        c += p\n        break\n    return c', False),
        ('    return library.times(a, b) + c', True),
        ('    return slow_times(a, b) + c', False),
        ('    return said_times(a, b) + c', False),
        ('    return far_times(a, b) + c', False),
    ],
)
def test_rounding_ends_with_the_expression(source, fuses):
    """Fuse within one expression; kernels with only a return are part of it."""
    library = ModuleType('library')
    library.times = program('def times(a, b):\n    "Multiply."\n    return a * b')
    helpers = (
        '@kernel\ndef times(a, b):\n    return a * b\n'
        '@kernel\ndef plus(a, b):\n    return a + b\n'
        '@kernel\ndef twice_named(a):\n    return times(a, 1.0) * 1.0 if False else a\n'
        '@kernel\ndef pair(a, b):\n    return a * b, 0.0\n'
        '@kernel\ndef slow_times(a, b):\n    p = a\n    return p * b\n'
        '@kernel\ndef said_times(a, b):\n    if a > 0.0:\n        return a * b\n    return 0.0\n'
        '@subroutine\ndef far_times(a, b):\n    return a * b\n'
    )
    if 'twice_named' in source:
        helpers = helpers.replace('return times(a, 1.0) * 1.0 if False else a', 'return a')
    found = agreed(
        f'{helpers}def f(a, b, c, out):\n{source}', A, B, C, np.zeros(1), library=library
    )
    assert bits(found) == bits(once((A, B), (C,)) if fuses else A * B + C)


def test_a_subroutine_called_last_leaves_nothing_of_its_result_behind():
    """Return tuples of all sizes, used by callers in part, again and again."""
    for size in range(1, 10):
        items = ', '.join(f'{number}.0 * x' for number in range(size))
        whole = ' + '.join(f't[{number}]' for number in range(size))
        for used in range(size):
            found = agreed(
                f'@subroutine\ndef several(x):\n    return {items},\n'
                f'@subroutine\ndef only(x):\n    return several(x)[{used}]\n'
                'def f(n, x, out):\n    total = 0.0\n    for k in range(n):\n'
                '        total += only(x + k)\n'
                f'    t = several(x)\n    out[0] = {whole}\n    return total',
                20,
                0.5,
                np.zeros(1),
            )
            assert found == used * sum(0.5 + k for k in range(20))


def test_sum_with_a_product_is_exact_to_half_an_ulp():
    """Round once for all edge values: infinities, zeros, overflow, denormals."""
    kernel = program('def f(a, b, c):\n    return a * b + c')
    machine = compiled(kernel, 1.0, 1.0, 1.0)
    finite = [x for x in FLOATS if math.isfinite(x)]
    for a, b, c in product(FLOATS, FLOATS, [0.0, -0.0, 1.0, -1e300, SMALLEST, math.inf]):
        found = agreed_on(kernel, machine, a, b, c)
        exact = {a, b, c} <= set(finite) and Fraction(a) * Fraction(b) + Fraction(c)
        if exact:
            assert bits(found) == bits(nearest(exact))


# --- comparisons and conditions ------------------------------------------------------------------


@pytest.mark.parametrize('operator', ['==', '!=', '<', '<=', '>', '>='])
def test_comparisons(operator):
    """Compare like Python; an integer beside a float is converted to the nearest float."""
    compare = eval(f'lambda a, b: a {operator} b')
    for values, others in [(FLOATS, FLOATS), (INTEGERS, INTEGERS), (INTEGERS, FLOATS)]:
        kernel = program(f'def f(a, b):\n    return a {operator} b')
        machine = compiled(kernel, values[0], others[0])
        for a, b in product(values, others):
            x = float(a) if type(a) is not type(b) else a
            assert agreed_on(kernel, machine, a, b) is compare(x, b)


def test_integer_beside_a_float_is_compared_as_a_float():
    """Differ from Python for integers without exact float: 2**53 + 1 equals 2.0**53."""
    assert agreed('def f(n, x):\n    return n == x, n > x', 2**53 + 1, 2.0**53) == (True, False)
    assert agreed('def f(n, x):\n    return min(x, n), max(n, x)', 2**53 + 1, 2.0**53) == (
        2.0**53,
        2.0**53,
    )


def test_tuples_are_equal_by_items():
    """Compare by == and !=; nan equals nothing, not even itself."""
    source = (
        'def f(a, b):\n    return (a, 1) == (b, 1), (a, 1) != (b, 1), (a, (b, a)) == (a, (b, b))'
    )
    assert agreed(source, 1.0, 1.0) == (True, False, True)
    assert agreed(source, 1.0, 2.0) == (False, True, False)
    assert agreed(source, math.nan, math.nan) == (False, True, False)
    assert agreed(source, 0.0, -0.0) == (True, False, True)


LOG = (
    '@kernel\ndef note(log, value):\n    log[0] += 1\n    log[log[0]] = value\n    return value\n'
)


@pytest.mark.parametrize(
    ('expression', 'expected', 'order'),
    [
        ('note(log, 1) < note(log, 2) < note(log, 3)', True, [1, 2, 3]),
        ('note(log, 2) < note(log, 1) < note(log, 3)', False, [2, 1]),
        ('note(log, 1) <= note(log, 3) == note(log, 2) < note(log, 9)', False, [1, 3, 2]),
        ('note(log, 1) == 1 and note(log, 2) == 3 and note(log, 3) == 3', False, [1, 2]),
        ('note(log, 1) == 0 or note(log, 2) == 2 or note(log, 3) == 3', True, [1, 2]),
        ('not (note(log, 1) == 1 and note(log, 2) == 2)', False, [1, 2]),
        ('note(log, 1) == 1 and (note(log, 2) == 0 or note(log, 3) == 3)', True, [1, 2, 3]),
        ('note(log, 4) if note(log, 0) else note(log, 5)', 5, [0, 5]),
        ('note(log, 4) if note(log, 1) and note(log, 7) else note(log, 5)', 4, [1, 7, 4]),
        ('note(log, 1) + note(log, 2) * note(log, 3)', 7, [1, 2, 3]),
        ('max(note(log, 3), note(log, 4), note(log, 2))', 4, [3, 4, 2]),
        ('(note(log, 3), note(log, 4))[note(log, 1)]', 4, [3, 4, 1]),
        ('math.atan2(note(log, 0), note(log, 2)) > 1.0', False, [0, 2]),
    ],
)
def test_operands_are_computed_from_left_to_right(expression, expected, order):
    """Compute in Python's order, and only necessary operands."""
    log = np.zeros(9, np.int64)
    assert agreed(f'{LOG}def f(log):\n    return {expression}', log) == expected
    assert log[1 : 1 + log[0]].tolist() == order


@pytest.mark.parametrize(
    ('statement', 'order'),
    [
        ('a[note(log, 1)] = note(log, 2)', [2, 1]),
        ('a[note(log, 1)], a[note(log, 0)] = note(log, 2), note(log, 3)', [2, 3, 1, 0]),
        ('a[note(log, 1)] += note(log, 2)', [1, 2]),
        ('a[note(log, 0)] = a[note(log, 1)] = note(log, 2)', [2, 0, 1]),
        ('a[note(log, 0):note(log, 2)] = note(log, 3)', [3, 0, 2]),
        ('for i in range(note(log, 0), note(log, 2)):\n        note(log, 4)', [0, 2, 4, 4]),
        ('if note(log, 0) or note(log, 1):\n        note(log, 2)', [0, 1, 2]),
        ('while log[0] < 2 and note(log, 1):\n        note(log, 6)', [1, 6]),
    ],
)
def test_statements_compute_in_order(statement, order):
    """Compute a value before its target's indices; locate an augmented target before the value."""
    log = np.zeros(9, np.int64)
    agreed(f'{LOG}def f(log, a):\n    {statement}', log, np.zeros(3, np.int64))
    assert log[1 : 1 + log[0]].tolist() == order


def test_augmented_item_is_read_before_the_value_is_computed():
    """Add to the item read before the call that changes it."""
    source = (
        '@kernel\ndef spoil(a):\n    a[0] = 100\n    return 1\ndef f(a):\n    a[0] += spoil(a)'
    )
    array = np.array([5])
    agreed(source, array)
    assert array[0] == 6


def test_conditions_are_bools_or_integers():
    """Treat nonzero integers as true in if, while, not and conditional expressions."""
    source = (
        'def f(n, p):\n    k = 0\n    while n:\n        n -= 1\n        k += 1\n'
        '    if p and k:\n        k += 10\n    return k, not n, not p, 1 if k and p else 2'
    )
    assert agreed(source, 3, True) == (13, True, False, 1)
    assert agreed(source, 0, True) == (0, True, False, 2)
