"""Random programs in the subset, by hypothesis: equal results compiled and in CPython."""

from __future__ import annotations

import math
import random

from hypothesis import given, HealthCheck, note, reject, settings
from hypothesis import strategies as st
from kernel_pairs import compile_together, differing, program, REFERENCE
import numpy as np
import pytest

from sim_bridge.compiler.errors import KernelError
from sim_bridge.compiler.kinds import kind_of_argument

FLOATS = ['0.0', '1.0', '-0.5', '0.1', '3.0', '1e300', '5e-324', '-1e-3', 'math.pi', 'HALF']
INTEGERS = [
    '0',
    '1',
    '2',
    '-1',
    '3',
    '7',
    '-5',
    '63',
    '64',
    '9223372036854775807',
    '-9223372036854775808',
    'SEVEN',
    '(SEVEN // 2)',
]
GLOBALS = {'HALF': 0.5, 'SEVEN': 7}
# array extents: a[5], k[5], b[3, 4]; narrow items: e[5] float32, u[5] uint8, w[5] int16
PARAMETERS = 'x, y, n, m, p, a, b, k, e, u, w'

ONE_FLOAT = [
    'abs',
    'float',
    '-',
    'math.sqrt',
    'math.fabs',
    'math.sin',
    'math.cos',
    'math.atan',
    'math.exp',
    'math.tan',
    'math.log',
]


class Writer:
    """Writes a random program; depths keep it short."""

    def __init__(self, chance):
        """Begin with a program's parameter names."""
        self.chance = chance
        self.floats, self.integers, self.bools = ['x', 'y', 'z'], ['n', 'm'], ['p', 'q']
        self.functions, self.has_arrays, self.loops = [], True, 0

    def one_of(self, choices):
        """Choose."""
        return self.chance.choice(choices)

    def item(self, depth):
        """Write a float array's item."""
        if self.one_of([True, False]):
            choices = ['a[0]', 'a[-1]', f'a[{self.integer(depth)} % 5]']
            return self.one_of([*choices, 'e[-2]', f'e[{self.integer(depth)} % 5]'])
        return self.one_of(
            [
                'b[-1, 2]',
                f'b[{self.integer(depth)} % 3, {self.integer(depth)} % 4]',
                f'b[{self.integer(depth)} % 3][1]',
            ]
        )

    def float(self, depth):
        """Write a float expression."""
        if depth <= 0:
            leaves = [
                *self.floats,
                *FLOATS,
                *(['a[1]', 'b[1, 2]', 't[0]'] if self.has_arrays else []),
            ]
            return self.one_of(leaves)
        kind = self.one_of(
            [
                'sum',
                'sum',
                'sum',
                'product',
                'quotient',
                'one',
                'many',
                'choice',
                'mixed',
                'item',
                'call',
                'tuple',
            ]
        )
        a, b = self.float(depth - 1), self.float(depth - 1)
        if kind == 'sum':
            product = f'{self.float(depth - 2)} * {self.float(depth - 2)}'
            return self.one_of(
                [
                    f'({a} + {b})',
                    f'({a} - {b})',
                    f'({a} * {b} + {product})',
                    f'({a} + {product})',
                    f'({product} - {b})',
                ]
            )
        if kind == 'product':
            return f'({a} * {b})'
        if kind == 'quotient':
            return f'({a} / {b})'
        if kind == 'one':
            function = self.one_of(ONE_FLOAT)
            return f'(-{a})' if function == '-' else f'{function}({a})'
        if kind == 'many':
            return self.one_of(
                [
                    f'min({a}, {b})',
                    f'max({a}, {b}, {self.integer(depth - 1)})',
                    f'math.atan2({a}, {b})',
                    f'min(({a}, {b}, 1))',
                ]
            )
        if kind == 'choice':
            return f'({a} if {self.bool(depth - 1)} else {b})'
        if kind == 'mixed':
            operator = self.one_of('+-*/')
            return self.one_of(
                [
                    f'({a} {operator} {self.integer(depth - 1)})',
                    f'({self.integer(depth - 1)} {operator} {b})',
                    f'({self.integer(depth - 1)} / {self.integer(depth - 1)})',
                ]
            )
        if kind == 'item' and self.has_arrays:
            return self.item(depth - 1)
        if kind == 'call' and self.functions:
            return self.one_of(self.functions).format(
                x=a, y=b, n=self.integer(depth - 1), p=self.bool(depth - 1)
            )
        if kind == 'tuple':
            return self.one_of(
                [
                    f'({a}, {b})[{self.integer(depth - 1)} % 2]',
                    f'({a}, 1)[0]',
                    f'(({a},) + ({b}, {a}))[1]',
                ]
            )
        return a

    def variable_integer(self, depth):
        """Write a non-literal integer: literals are folded, and would have to fit into 64 bits."""
        if depth <= 0:
            return self.one_of(self.integers)
        return self.integer(depth, is_variable=True)

    def integer(self, depth, is_variable=False):
        """Write an integer expression."""
        if depth <= 0:
            return self.one_of(self.integers if is_variable else [*self.integers, *INTEGERS])
        a, b = self.variable_integer(depth - 1), self.integer(depth - 1)
        kind = self.one_of(['binary', 'binary', 'one', 'float', 'choice', 'bool', 'array'])
        if kind == 'binary':
            operator = self.one_of(['+', '-', '*', '//', '%', '<<', '>>', '&', '|', '^'])
            return f'({a} {operator} {b})'
        if kind == 'one':
            return self.one_of(
                [
                    f'(-{a})',
                    f'(~{a})',
                    f'abs({a})',
                    f'min({a}, {b})',
                    f'max({a}, {b})',
                    f'int({a})',
                ]
            )
        if kind == 'float':
            function = self.one_of(['int', 'math.floor', 'math.ceil'])
            return f'{function}({self.float(depth - 1)})'
        if kind == 'choice':
            return f'({a} if {self.bool(depth - 1)} else {b})'
        if kind == 'bool':
            return f'({self.bool(depth - 1)} + {a})'
        if kind == 'array' and self.has_arrays:
            return self.one_of(
                [
                    f'k[{a} % 5]',
                    'k[-2]',
                    f'u[{a} % 5]',
                    'w[-1]',
                    f'w[{a} % 5]',
                    'len(a)',
                    'b.shape[1]',
                    'a.size',
                    't[1]',
                    f'len(a[{a}:{b}])',
                ]
            )
        return a

    def bool(self, depth):
        """Write a bool expression."""
        if depth <= 0:
            return self.one_of(self.bools)
        compare = ['==', '!=', '<', '<=', '>', '>=']
        kind = self.one_of(['floats', 'integers', 'mixed', 'chain', 'join', 'not', 'test'])
        if kind == 'floats':
            return f'({self.float(depth - 1)} {self.one_of(compare)} {self.float(depth - 1)})'
        if kind == 'integers':
            return f'({self.integer(depth - 1)} {self.one_of(compare)} {self.integer(depth - 1)})'
        if kind == 'mixed':
            return f'({self.integer(depth - 1)} {self.one_of(compare)} {self.float(depth - 1)})'
        if kind == 'chain':
            return (
                f'({self.float(depth - 1)} {self.one_of(compare)} {self.integer(depth - 1)} '
                f'{self.one_of(compare)} {self.float(depth - 1)})'
            )
        if kind == 'join':
            operator = self.one_of(['and', 'or', '&', '|', '^'])
            return f'({self.bool(depth - 1)} {operator} {self.bool(depth - 1)})'
        if kind == 'not':
            return f'(not {self.bool(depth - 1)})'
        return self.one_of(
            [
                f'math.isnan({self.float(depth - 1)})',
                f'math.isfinite({self.float(depth - 1)})',
                f'bool({self.integer(depth - 1)})',
                f'bool({self.float(depth - 1)})',
            ]
        )

    def body(self, depth, indent):
        """Write some statements."""
        count = self.chance.randint(1, 3)
        return ''.join(self.statement(depth, indent) for _ in range(count))

    def statement(self, depth, indent):
        """Write a statement."""
        kinds = ['float', 'float', 'integer', 'bool', 'tuple', 'augment', 'augment']
        kinds += ['item', 'item', 'range'] if self.has_arrays else []
        kinds += ['if', 'for', 'for', 'while'] if depth > 0 else []
        kinds += ['leave'] if self.loops and depth > 0 else []
        kind = self.one_of(kinds)
        lines = getattr(self, f'_write_{kind}')(depth, indent)
        return ''.join(f'{indent}{line}\n' if not line.endswith('\n') else line for line in lines)

    def _write_float(self, depth, indent):
        name = self.one_of(['x', 'y', 'z'])
        return [f'{name} = {self.float(3)}']

    def _write_integer(self, depth, indent):
        return [f'{self.one_of(["n", "m"])} = {self.integer(2)}']

    def _write_bool(self, depth, indent):
        return [f'{self.one_of(["p", "q"])} = {self.bool(2)}']

    def _write_tuple(self, depth, indent):
        lines = [
            f'x, y = {self.float(2)}, {self.float(1)}',
            f'x, y = y, {self.float(1)}',
            f'_, n = t[0] < x, {self.integer(1)}' if self.has_arrays else 'x, y = y, x',
        ]
        lines += [f't = {self.float(2)}, {self.integer(1)}'] if self.has_arrays else []
        return [self.one_of(lines)]

    def _write_augment(self, depth, indent):
        operator = self.one_of(['+', '-', '*', '/'])
        integral = self.one_of(['+', '-', '*', '//', '%', '|', '>>'])
        lines = [
            f'{self.one_of(["x", "y", "z"])} {operator}= {self.float(2)}',
            f'{self.one_of(["n", "m"])} {integral}= {self.integer(1)}',
        ]
        if self.has_arrays:
            lines += [
                f'a[{self.integer(1)} % 5] {operator}= {self.float(2)}',
                f'k[{self.integer(1)} % 5] += {self.integer(1)}',
                f'e[{self.integer(1)} % 5] {operator}= {self.float(2)}',
                f'u[{self.integer(1)} % 5] {integral}= {self.integer(1)}',
                f'w[{self.integer(1)} % 5] -= {self.integer(1)}',
            ]
        return [self.one_of(lines)]

    def _write_item(self, depth, indent):
        return [
            self.one_of(
                [
                    f'a[{self.integer(1)} % 5] = {self.float(2)}',
                    f'a[-1] = {self.integer(1)}',
                    f'b[{self.integer(1)} % 3, {self.integer(1)} % 4] = {self.float(2)}',
                    f'k[{self.integer(1)} % 5] = {self.integer(2)}',
                    f'e[{self.integer(1)} % 5] = {self.float(2)}',
                    f'e[-1] = {self.integer(1)}',
                    f'u[{self.integer(1)} % 5], e[0] = {self.integer(2)}, {self.float(2)}',
                    f'w[{self.integer(1)} % 5] = {self.integer(2)}',
                ]
            )
        ]

    def _write_range(self, depth, indent):
        return [
            self.one_of(
                [
                    f'a[{self.integer(1)}:{self.integer(1)}] = {self.float(1)}',
                    f'b[1:] = {self.float(1)}',
                    'a[1:5] = a[0:4]',
                    f'b[{self.integer(1)} % 3] = a[:4]',
                    'a[1:] = b[-1]',
                    f'k[:] = {self.integer(1)}',
                    f'e[1:] = {self.float(1)}',
                    f'u[{self.integer(1)}:] = {self.integer(1)}',
                    'w[:3] = w[2:]',
                    'b[0:2, :] = b[1:]',
                ]
            )
        ]

    def _write_if(self, depth, indent):
        deeper = f'{indent}    '
        lines = [f'if {self.bool(2)}:', self.body(depth - 1, deeper)]
        if self.one_of([True, False]):
            lines += ['else:', self.body(depth - 1, deeper)]
        return lines

    def _write_for(self, depth, indent):
        deeper, name = f'{indent}    ', f'i{depth}'
        turns = self.one_of(
            [
                'range(3)',
                f'range({self.integer(1)} % 5)',
                'range(4, -2, -2)',
                'range(1, 4)',
                '(2, 5)',
                'enumerate((1.5, 2.5))',
            ]
        )
        target = f'{name}, z' if 'enumerate' in turns else name
        self.loops += 1
        self.integers.append(name)
        inner = self.body(depth - 1, deeper)
        self.integers.remove(name)
        self.loops -= 1
        return [f'for {target} in {turns}:', inner]

    def _write_while(self, depth, indent):
        deeper, name = f'{indent}    ', f'w{depth}'
        self.loops += 1
        inner = self.body(depth - 1, deeper)
        self.loops -= 1
        test = self.one_of([f'{name} < 4', f'{name} < 3 and {self.bool(1)}'])
        return [f'{name} = 0', f'while {test}:', f'{deeper}{name} += 1\n', inner]

    def _write_leave(self, depth, indent):
        return [f'if {self.bool(1)}:', f'{indent}    {self.one_of(["break", "continue"])}\n']


def write_program(chance):
    """Write kernels calling one another; the last one takes PARAMETERS."""
    parts, callers = [], []
    for number in range(chance.randint(0, 3)):
        writer = Writer(chance)
        writer.has_arrays, writer.functions = False, list(callers)
        decorator = writer.one_of(['@kernel', '@kernel', '@subroutine'])
        head = f'{decorator}\ndef g{number}(x, y, n, p):\n'
        if writer.one_of([True, False]):
            writer.floats, writer.integers, writer.bools = ['x', 'y'], ['n'], ['p']
            parts.append(f'{head}    return {writer.float(3)}\n')
        else:
            lines = '    z, m, q = y, n, not p\n'
            parts.append(f'{head}{lines}{writer.body(1, "    ")}    return {writer.float(2)}\n')
        callers.append(f'g{number}({{x}}, {{y}}, {{n}}, {{p}})')
    writer = Writer(chance)
    writer.functions = callers
    body = writer.body(2, '    ') + writer.body(2, '    ')
    if writer.one_of([True, False]):
        body += f'    if {writer.bool(2)}:\n        return {writer.float(2)}, n, p, x\n'
    results = f'{writer.float(3)}, {writer.integer(2)} + 0, {writer.bool(2)}, z'
    parts.append(
        f'def f({PARAMETERS}):\n    z, q, t = x, not p, (y, m)\n{body}    return {results}\n'
    )
    return '\n\n'.join(parts)


SOME_FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 2.0**63]),
    st.floats(-10.0, 10.0),
    st.floats(),
)
SOME_INTEGERS = st.one_of(
    st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 64]),
    st.integers(-10, 10),
    st.integers(-(2**63), 2**63 - 1),
)


@st.composite
def inputs(draw):
    """Return arguments for PARAMETERS."""

    def array(strategy, dtype, *shape):
        count = math.prod(shape)
        values = draw(st.lists(strategy, min_size=count, max_size=count))
        return np.array(values, dtype).reshape(shape)

    return (
        draw(SOME_FLOATS),
        draw(SOME_FLOATS),
        draw(SOME_INTEGERS),
        draw(SOME_INTEGERS),
        draw(st.booleans()),
        array(SOME_FLOATS, np.float64, 5),
        array(SOME_FLOATS, np.float64, 3, 4),
        array(SOME_INTEGERS, np.int64, 5),
        array(st.floats(width=32), np.float32, 5),
        array(st.integers(0, 255), np.uint8, 5),
        array(st.integers(-(2**15), 2**15 - 1), np.int16, 5),
    )


@pytest.mark.parametrize('count', [40, pytest.param(1000, marks=pytest.mark.long)])
def test_programs_equal_cpython(count):
    """Give the same results and arrays, to the bit."""
    settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )(check_program)()


@given(seed=st.integers(0, 2**32), arguments=st.lists(inputs(), min_size=2, max_size=2))
def check_program(seed, arguments):
    """Run one program on arguments, compiled and in CPython."""
    # hypothesis would take a hundred times as long to choose every word itself
    source = write_program(random.Random(seed))
    note(source)
    kernel = program(source, **GLOBALS)
    try:
        (machine,) = compile_together([(kernel, tuple(map(kind_of_argument, arguments[0])))])
    except KernelError as err:
        # constants are computed exactly, and refused beyond the range of integers
        if 'does not fit into 64 bits' not in str(err):
            raise
        reject()
    for each in arguments:
        copies = [one.copy() if isinstance(one, np.ndarray) else one for one in each]
        found, wanted = machine(*each), REFERENCE(kernel)(*copies)
        assert not differing(found, wanted), (found, wanted)
        assert not any(map(differing, each, copies)), (each, copies)
