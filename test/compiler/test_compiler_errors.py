"""Code outside the subset: the error names its place and a replacement."""

from __future__ import annotations

from enum import Enum
import importlib
import re
from types import ModuleType
from typing import NamedTuple

from kernel_pairs import program
import numpy as np
import pytest

from sim_bridge.compiler.argument_table import openers_of
from sim_bridge.compiler.arrays import FloatVector
from sim_bridge.compiler.calls import Compiled
from sim_bridge.compiler.errors import KernelError
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.kinds import Array, FLOAT, FLOAT_ITEM, INT, kind_of_argument
from sim_bridge.compiler.module import Module
from sim_bridge.compiler.stage import Stage

# marks the expected error place in a source
MARK = '«'


class Body(NamedTuple):
    """A part."""

    q: FloatVector
    mass: float


class Color(Enum):
    """An enum without integer members."""

    RED = 'red'


OUTER = ModuleType('outer')
OUTER.inner = ModuleType('inner')
OUTER.inner.NUMBER = 3

GLOBALS = {
    'WORDS': 'abc',
    'ARRAY': np.zeros(3),
    'HUGE': 2**70,
    'outer': OUTER,
    'np': np,
    'Color': Color,
    'open_body': openers_of([Body])[0],
    'plain_function': kind_of_argument,
}

ARGUMENTS = {
    'n': 3,
    'm': 4,
    'x': 0.5,
    'y': 1.5,
    'p': True,
    'a': np.zeros(3),
    'b': np.zeros((2, 3)),
    'k': np.zeros(3, np.int64),
    't': (1.0, 2),
    'body': Body(np.zeros(2), 1.0),
}


def error_of(source: str, **names) -> KernelError:
    """Return the last kernel's error in a text; names: its parameter kinds."""
    made = program(source, **{**GLOBALS, **names})
    arguments = [
        ARGUMENTS[name]
        for name in made.function.__code__.co_varnames[: made.function.__code__.co_argcount]
    ]
    with pytest.raises(KernelError) as caught:
        Module().export_entry('f', made, tuple(map(kind_of_argument, arguments)))
    return caught.value


# a statement in `def f(…)`, with a mark before the error's place, and the advice
REFUSED = [
    # expressions
    ('x = «[1.0, 2.0]', 'kernels have no List expressions'),
    ('x = «{1: 2}', 'kernels have no Dict expressions'),
    ('x = «{1, 2}', 'kernels have no Set expressions'),
    ('x = «[y for y in (1, 2)]', 'kernels have no ListComp expressions'),
    ('x = «lambda y: y', 'kernels have no Lambda expressions'),
    ("x = «f'{n}'", 'kernels have no JoinedStr expressions'),
    ('if («m := n): pass', 'kernels have no NamedExpr expressions'),
    ('x = «max(*t)', 'kernels take plain arguments'),
    ("x = «'text'", "'text' is str: constants in kernels are numbers, bools and tuples of them"),
    ('y = «None', 'None is NoneType'),
    ('y = «1j', '1j is complex'),
    ('x = «WORDS', 'WORDS is str'),
    ('x = «ARRAY[0]', 'ARRAY is ndarray'),
    ('n = «HUGE', 'does not fit into 64 bits'),
    ('n = «9223372036854775807 + 1', 'does not fit into 64 bits'),
    ('n = «1 << 63', 'does not fit into 64 bits'),
    ('n = «-9223372036854775809', 'does not fit into 64 bits'),
    # operators
    ('x = «x ** 2', r'floats support only \+ - \* /; write x \* x for x \*\* 2, math.pow'),
    ('x = «x // 2.0', r'floats support only \+ - \* /'),
    ('x = «x % y', r'floats support only \+ - \* /'),
    ('n = «n ** 2', r'integers support only \+ - \* / // % << >> & \| \^'),
    ('x = «x & 1', r'floats support'),
    ('x = «a + a', r'combines array of float, 1-d and array of float, 1-d: write it by items'),
    ('x = «a * 2.0', 'write it by items'),
    ('x = «t * 2', 'write it by items'),
    ('x = «t + 1.0', 'write it by items'),
    ('x = «b @ a', 'write it by items'),
    ('n = «~x', 'kernels have no such operator for float'),
    ('n = «~p', 'kernels have no such operator for bool'),
    ('x = «+x', 'kernels have no such operator for float'),
    ('x = «-a', 'kernels have no such operator for array of float, 1-d'),
    ('x = «-t', r'kernels have no such operator for \(float, int\)'),
    ("x = -«'a'", "'a' is str"),
    # conditions
    ('if «x: pass', 'x is float: a condition is a bool or an integer; write a comparison'),
    ('while «a: pass', 'a is array of float, 1-d: a condition'),
    ('p = not «t', 'a condition is a bool or an integer'),
    ('if «n in t: pass', 'kernels compare by == != < <= > >= only'),
    ('p = «n is m', 'kernels compare by == != < <= > >= only'),
    ('p = «a == a', 'compares array of float, 1-d and array of float, 1-d'),
    ('p = «t < t', 'compares'),
    ('p = «t == (1.0, 2, 3)', 'compares'),
    ('p = p and «n', 'n is int: as a value, and / or joins bools; write a comparison'),
    ('p = «x or p', 'x is float: as a value, and / or joins bools'),
    ('x = «1 if p else 2.0', 'is int or float: both must be of one kind'),
    # names
    ('x = «missing', "'missing' is neither a parameter, a variable nor a global name"),
    ('x = «z; z = 1.0', "'z' is read before anything is assigned to it"),
    ('«z += 1', "'z' is read before anything is assigned to it"),
    ('x = «np.pi_', r'np\.pi_: not available in kernels'),
    ('x = «WORDS.size', r'WORDS\.size: not available in kernels'),
    ('n = «outer.inner.NUMBER', r'outer\.inner: not available in kernels'),
    ('n = «Color.RED', r'Color\.RED is Color'),
    ('x = «body.inertia', "Body has no field 'inertia'"),
    ('x = «a.dtype', "array of float, 1-d has no 'dtype'; arrays have shape, size and ndim"),
    ('x = «n.real', "int has no 'real'"),
    # variables
    ('z = 1\n    «z = 2.0', "'z' is int above and float here: write a float where the integer is"),
    ('z = 0\n    for i in range(3):\n        «z += 0.5', 'write a float where the integer is'),
    ('z = 1.0\n    «z = True', "'z' is float above and bool here: a variable keeps its kind"),
    ('z = a\n    «z = b', 'array of float, 1-d above and array of float, 2-d here'),
    ('z = (1, 2)\n    «z = (1, 2.0)', r'\(int, int\) above and \(int, float\) here'),
    ('n = 2\n    «n = x', "'n' is int above and float here"),
    ('for «z in (1, 2.0): pass', "'z' is int above and float here"),
    # places
    ('«x.y = 1.0', r'x\.y cannot be assigned to: kernels set variables and items of arrays'),
    ('«body.mass = 1.0', 'cannot be assigned to'),
    ('«body.mass += 1.0', 'cannot be assigned to'),
    ('«[x, y] = t', 'cannot be assigned to'),
    ('«x, y = n', r'\(x, y\) cannot be set to int'),
    ('«x, y = (1.0, 2.0, 3.0)', 'cannot be set to'),
    ('«(*x, y) = (1.0, 2.0, 3.0)', r'\(\*x, y\) cannot be set to'),
    ('«t[0] = 1.0', r't is \(float, int\): only arrays have such items'),
    ('«k[0] = 1.5', r'k\[0\] is float where int is expected'),
    ('«k[0] += x', 'is float where int is expected'),
    ('«k[:] = x', 'is float where int is expected'),
    ('«a[0] = t', r'is \(float, int\) where float is expected'),
    ('«a[:] = t', r'a\[:\] cannot be set to \(float, int\): write it by items'),
    ('«a[:] = k', 'is array of float, 1-d and cannot be set to array of int, 1-d'),
    ('«b[:] = a', 'is array of float, 2-d and cannot be set to array of float, 1-d'),
    ('«a[1:] += 1.0', r'a\[1:\] is an array: change its items in a loop'),
    ('«b[0] += 1.0', 'is an array: change its items in a loop'),
    # indices
    ('x = «a[x]', r'a\[x\]: an index is an integer, not float'),
    ('x = «a[p]', 'an index is an integer, not bool'),
    ('x = «a[t]', r'an index is an integer, not \(float, int\)'),
    ('x = «a[0, 1]', 'array of float, 1-d has no 2 indices'),
    ('x = «a[::2][0]', 'a range has no step; write a loop'),
    ('x = «a[x:][0]', 'a bound is an integer, not float'),
    ('x = «b[0:1, 0][0]', 'only whole axes may follow a range'),
    ('x = «b[0:1, 0:1][0, 0]', 'only whole axes may follow a range'),
    ('x = «n[0]', 'n is int: only arrays have such items'),
    ('x = «t[2]', 'there are 2 items'),
    ('x = «t[-3]', 'there are 2 items'),
    ('x = «t[n]', r'items of several kinds, \(float, int\), need a literal index'),
    ('x = «()[n]', 'need a literal index'),
    ('x = «t[0:1]', 'the index of a tuple is an integer'),
    ('x = «t[x]', 'the index of a tuple is an integer'),
    ('x = «t[0, 1]', 'the index of a tuple is an integer'),
    # calls
    ('«plain_function(x)', 'is not a kernel; decorate it with @kernel, or use one of'),
    ('x = «np.sqrt(x)', r'np\.sqrt is not a kernel'),
    ('x = «round(x)', 'round is not a kernel'),
    ('«print(x)', 'print is not a kernel'),
    ('x = «x(1.0)', 'x cannot be called: kernels call global functions'),
    ('x = «(x, y)[0](1.0)', 'cannot be called: kernels call global functions'),
    ('x = «max(x, y, key=n)', 'kernels take plain arguments, in their order'),
    ('x = «max(*t)', 'kernels take plain arguments, in their order'),
    ('x = «min(x)', 'takes two numbers or more, or a tuple of them'),
    ('x = «max(())', 'takes two numbers or more, or a tuple of them'),
    ('x = «min(a)', 'takes two numbers or more'),
    ('x = «abs(a)', 'takes a number'),
    ('x = «math.sqrt(x, y)', 'takes a number'),
    ('x = «math.atan2(x)', 'takes 2 numbers'),
    ('x = «math.sin(t)', 'takes a number'),
    ('n = «int(t)', 'takes a number'),
    ('n = «len(n)', 'takes an array or a tuple'),
    ('n = «math.gcd(n, m)', r'math\.gcd is not a kernel'),
    ('n = «math.floor(t)', 'takes a number'),
    ('y = «open_body(x).mass', 'takes a table'),
    ('y = «open_body().mass', 'takes a table'),
    ('y = «call_stage(n, n, n)', 'takes an address, a table and a phase'),
    # statements
    ('«x', 'x does nothing'),
    ("x = 1.0\n    «'text'", "'text' does nothing"),
    ('«x: float = 1.0', 'kernels have no AnnAssign statements'),
    ('«assert x > 0.0', 'kernels have no Assert statements'),
    ('«del x', 'kernels have no Delete statements'),
    ("«raise ValueError('wrong')", 'kernels have no Raise statements'),
    ('«import math', 'kernels have no Import statements'),
    ('«global WORDS', 'kernels have no Global statements'),
    ('«try:\n        pass\n    finally:\n        pass', 'kernels have no Try statements'),
    ('«with x:\n        pass', 'kernels have no With statements'),
    ('«def g():\n        pass', 'kernels have no FunctionDef statements'),
    ('«class G:\n        pass', 'kernels have no ClassDef statements'),
    ('for i in range(2):\n        pass\n    else:\n        «x = 1.0', 'no else behind a loop'),
    ('while p:\n        pass\n    else:\n        «x = 1.0', 'no else behind a loop'),
    ('for i in «a: pass', r'a is array of float, 1-d: a loop goes over range'),
    ('for i in «n: pass', r'n is int: a loop goes over range\(…\), a tuple, or enumerate'),
    ('for i in «zip(t, t): pass', 'zip is not a kernel'),
    ('for i in «enumerate(t, 1): pass', 'enumerate is not a kernel'),
    ('for i in «range(n, m, n): pass', 'a step is a literal integer other than 0'),
    ('for i in «range(n, m, 0): pass', 'a step is a literal integer other than 0'),
    ('for i in «range(): pass', 'takes one to three integers'),
    ('for i in range(«x): pass', 'x is float where int is expected'),
    ('for i in «reversed(t): pass', 'reversed is not a kernel'),
    ('if n:\n        return 1\n    «return 2.0', 'returns float here and int before: one'),
    ('if n:\n        return 1\n    «return', 'returns None here and int before: one kind only'),
]


@pytest.mark.parametrize(('statement', 'advice'), REFUSED, ids=[each for each, _ in REFUSED])
def test_code_outside_the_subset_is_refused(statement, advice):
    """Name file, line, column and kernel; state the error and a replacement."""
    parameters = list(ARGUMENTS)
    marked = f'def refused({", ".join(parameters)}):\n    """Say."""\n    {statement}\n'
    before = marked[: marked.index(MARK)]
    error = error_of(marked.replace(MARK, ''))
    place = before.count('\n') + 1, len(before.rpartition('\n')[2])
    assert ((error.line, error.column), error.kernel) == (place, 'refused'), error
    assert error.path.startswith('<program ')
    line, column = place
    assert str(error) == (
        f'{error.path}:{line}:{column + 1}: kernel {"refused"!r}: {error.problem}'
    )
    assert re.search(advice, error.problem), error


HELPERS = """\
@kernel
def wrong(x):
    y = x
    return y ** 2


@subroutine
def wrong_too(x):
    for i in range(2):
        x = i
    return x


@kernel
def wrong_expression(x):
    return x ** 2


"""


@pytest.mark.parametrize(
    ('name', 'place'), [('wrong', (4, 11)), ('wrong_too', (10, 8)), ('wrong_expression', (16, 11))]
)
def test_error_names_its_place(name, place):
    """Name the wrong kernel, not its caller."""
    error = error_of(f'{HELPERS}def f(x):\n    return {name}(x)')
    assert (error.kernel, error.line, error.column) == (name, *place)


@pytest.mark.parametrize(
    ('source', 'advice'),
    [
        ('def f(x):\n    return «g(x, 1)', r"g\(x, 1\): 'g' takes 1 arguments, not 2"),
        ('def f(x):\n    «g()', "'g' takes 1 arguments, not 0"),
        ('«def f(x, y=1.0):\n    return x', r'plain parameters, without defaults, \* and \*\*'),
        ('«def f(x, *more):\n    return x', 'plain parameters'),
        ('«def f(x, **more):\n    return x', 'plain parameters'),
        ('«def f(*, x=1):\n    return x', 'plain parameters'),
        ('«def f(x, /):\n    return x', 'plain parameters'),
        ('«def f(p):\n    if p:\n        return 1', 'returns int, but not on every path'),
        ('@kernel\ndef f(n):\n    return «f(n)', "'f' calls itself"),
        (
            '@kernel\ndef f(n):\n    if n:\n        «f(n - 1)',
            "'f' calls itself, directly or indirectly",
        ),
        (
            '@kernel\ndef h(n):\n    return «f(n)\n@kernel\ndef f(n):\n    m = h(n)\n    return m',
            "'f' calls itself, directly or indirectly",
        ),
        (
            '@kernel\ndef h(n):\n    m = «f(n)\n    return m\n@kernel\ndef f(n):\n    return h(n)',
            "'f' calls itself",
        ),
    ],
)
def test_wrong_kernels_are_refused(source, advice):
    """Refuse parameters other than plain ones, wrong counts, paths without return, recursion."""
    marked = '@kernel\ndef g(x):\n    return x\n' + source
    before = marked[: marked.index(MARK)]
    error = error_of(marked.replace(MARK, ''))
    place = before.count('\n') + 1, len(before.rpartition('\n')[2])
    assert (error.line, error.column) == place, error
    assert re.search(advice, error.problem), error


@pytest.mark.parametrize('statement', ['y = {}', 'if {} > 0.0: y = x', 'a[0] = {}'])
def test_expressions_that_are_too_long_are_refused(statement):
    """Name the line of an expression with thousands of terms, and advise to split it."""
    terms = ' + '.join(['x'] * 2000)
    error = error_of(
        'def f(x, a):\n    y = x\n    for _ in range(3):\n'
        f'        {statement.format(terms)}\n    return y'
    )
    assert error.line == 4
    assert error.kernel == 'f'
    assert 'split it' in error.problem


def test_long_expression_within_a_kernel_that_is_a_part_of_one_is_refused():
    """Name the statement containing it."""
    terms = ' + '.join(['x'] * 2000)
    error = error_of(f'@kernel\ndef g(x):\n    return {terms}\n\ndef f(x):\n    return g(x)')
    assert (error.line, error.kernel) == (6, 'f')
    assert 'split it' in error.problem


def test_error_names_a_file_as_seen_from_here(tmp_path, monkeypatch):
    """Give a path that an editor opens from the user's working directory."""
    path = tmp_path / 'kernels.py'
    path.write_text(
        'from sim_bridge.compiler.kernel import kernel\n\n\n@kernel\ndef f(x):\n'
        '    return x ** 2\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KernelError) as caught:
        Module().export_entry('f', importlib.import_module('kernels').f, (FLOAT,))
    assert str(caught.value).startswith("kernels.py:6:12: kernel 'f': x ** 2: floats support")


def test_function_without_a_source_is_no_kernel():
    """Name the function without source text."""
    found = {}
    exec('def f(x):\n    return x', found)
    with pytest.raises(OSError, match="no source of function 'f' in <string>, line 1"):
        Module().export_entry('f', kernel(found['f']), (FLOAT,))


def test_stage_returns_an_integer():
    """Refuse a stage with another result type."""
    stage = Stage(program('def f(table, phase):\n    return 1.5').function)
    with pytest.raises(KernelError, match='returns float: a stage returns an integer'):
        Module().export_stage('f', stage)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((1.0,), r'f\(\) takes 2 arguments \(x, a\), not 1'),
        (('text', np.zeros(3)), r"argument 'x' must be float, not 'text'"),
        (
            (1.0, np.zeros((3, 3))),
            r"argument 'a' must be array of float, 1-d, not array of float, 2",
        ),
        (
            (1.0, np.zeros(3, np.int64)),
            r"argument 'a' must be array of float, 1-d, not array of int",
        ),
        (
            (1.0, np.zeros(3, np.float32)),
            r"argument 'a' must be array of float, 1-d, not array of float32, 1-d",
        ),
        (
            (1.0, np.zeros(3, np.float16)),
            r'a 1-d array of float16; kernels take arrays of float64, int64, float32, uint8',
        ),
        (
            (1.0, np.frombuffer(bytes(25), offset=1)),
            r"argument 'a' must be .*, not an array whose items are not aligned",
        ),
        (
            (1.0, np.zeros(6)[::2]),
            r"argument 'a' must be .*, not an array that is not C-contiguous",
        ),
        (
            (1.0, [1.0, 2.0]),
            r"argument 'a' must be .*kernels take numbers, tuples, arrays and tables",
        ),
        ((1.0, (1.0, 2.0)), r"argument 'a' must be array of float, 1-d, not \(float, float\)"),
    ],
)
def test_entry_refuses_arguments_of_other_kinds(arguments, message):
    """Name the argument whose memory would be misread."""
    with pytest.raises(TypeError, match=message):
        Compiled(program('def f(x, a):\n    a[0] = x'), (FLOAT, Array(FLOAT_ITEM, 1))).words_of(
            arguments, []
        )


def test_entry_refuses_a_float_for_an_integer():
    """Accept an integer for a float, but not the reverse."""
    takes = Compiled(program('def f(x, n):\n    return x'), (FLOAT, INT))
    assert len(takes.words_of((1, True), [])) == 2
    with pytest.raises(TypeError, match="argument 'n' must be int, not float"):
        takes.words_of((1.0, 2.0), [])
