"""
Kernels run by Python, with the arithmetic that compiled ones have: what those are tested against.

Python does what docs/kernels.md says but for three things, which are put in place here: a product
in a sum is rounded once, floats follow IEEE 754 where Python raises, and integers have 64 bits. An
index that is negative, other than a literal one, is an IndexError.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
import copy
import ctypes
import math
import operator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.source import expression_of
from sim_bridge.compiler.stage import call_stage, Stage

_INTEGERS = (int, np.integer)

Wrap = Callable[[Kernel, Callable[..., Any]], Callable[..., Any]]


class Product(float):
    """A product that may still become part of a sum; as a float it is the rounded one."""

    __slots__ = ('a', 'b')

    a: float
    b: float


class Reference:
    """
    Kernels as Python functions.

    wrap: makes of each kernel and its Python function the one that is called, to watch it.
    """

    def __init__(self, wrap: Wrap | None = None):
        """Begin without any function."""
        self._wrap = wrap
        self._functions: dict[Kernel, Callable[..., Any]] = {}
        self._globals: dict[int, dict[str, Any]] = {}

    def __call__(self, kernel: Kernel) -> Callable[..., Any]:
        """Return the Python function of a kernel."""
        if kernel not in self._functions:
            self._functions[kernel] = self._make(kernel)
        return self._functions[kernel]

    def _make(self, kernel: Kernel) -> Callable[..., Any]:
        tree = copy.deepcopy(kernel.tree)
        tree.decorator_list, tree.returns = [], None
        for argument in tree.args.args:
            argument.annotation = None
        is_expression = is_part_of_expressions(kernel)
        tree = _Rewriter(kernel, is_expression).visit(tree)
        module = ast.fix_missing_locations(ast.Module([tree], []))
        names = dict(self._names_of(kernel))
        exec(compile(module, kernel.function.__code__.co_filename, 'exec'), names)
        function = names[tree.name]
        return self._wrap(kernel, function) if self._wrap else function

    def _names_of(self, kernel: Kernel) -> dict[str, Any]:
        """Return the global names of a kernel's file, with ours in place of kernels and math."""
        given = kernel.function.__globals__
        if id(given) not in self._globals:
            ours = {name: self._ours(value) for name, value in given.items()}
            self._globals[id(given)] = {**ours, **_HELPERS}
        return self._globals[id(given)]

    def _ours(self, value: Any) -> Any:
        """Return what stands for a global value."""
        if isinstance(value, Kernel):
            return self._lazily(value)
        if value is math:
            return _IEEE
        if isinstance(value, ModuleType):
            return _Module(self, value)
        return self._call_stage if value is call_stage else value

    def _lazily(self, kernel: Kernel) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            return self(kernel)(*arguments)
        return call

    def _call_stage(self, address: int, table: Any, phase: int) -> int:
        return self(Stage.at(int(address)))(table, phase)


class _Module:
    """Stands for a module: its kernels are run as those called by name."""

    def __init__(self, reference: Reference, module: ModuleType):
        self._reference, self._module = reference, module

    def __getattr__(self, name: str) -> Any:
        return self._reference._ours(getattr(self._module, name))


def is_part_of_expressions(kernel: Kernel) -> bool:
    """Return whether a kernel is part of the expression that calls it; see `kernel`."""
    return kernel.is_inlined and expression_of(kernel.tree) is not None


class _Rewriter(ast.NodeTransformer):
    """Puts functions in place of operators, and rounds products where they leave expressions."""

    def __init__(self, kernel: Kernel, is_expression: bool):
        self._names = kernel.function.__globals__
        self._locals = kernel.local_names
        self._is_expression = is_expression
        self._count = 0

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call('__negate', node.operand) if isinstance(node.op, ast.USub) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        pairs, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            following = right
            if right is not node.comparators[-1]:
                self._count += 1
                name = f'__compared{self._count}'
                right = ast.NamedExpr(ast.Name(name, ast.Store()), right)
                following = ast.Name(name, ast.Load())
            pairs.append(_call(_COMPARISONS[type(op)], left, right))
            left = following
        return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), pairs)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        operator = _OPERATORS.get(type(node.op))
        self.generic_visit(node)
        return _call(operator, node.left, node.right) if operator else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _call('__plain', node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        target = self._target(node.func)
        self.generic_visit(node)
        if not (isinstance(target, Kernel) and is_part_of_expressions(target)):
            node.args = [_call('__plain', each) for each in node.args]
        return node

    def _target(self, function: ast.expr) -> Any:
        """Return what is called by its name, or as an attribute of a module."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return getattr(self._names.get(function.value.id), function.attr, None)
        return self._names.get(function.id) if isinstance(function, ast.Name) else None

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return _call('__item', node.value, self._index(node.slice))
        node.slice = _call('__checked', self._index(node.slice))
        return node

    def _index(self, index: ast.expr) -> ast.expr:
        """Mark literal indices and bounds, which may count from the end."""
        if isinstance(index, ast.Tuple):
            return ast.Tuple([self._index(each) for each in index.elts], ast.Load())
        if isinstance(index, ast.Slice):
            ends = [each or ast.Constant(None) for each in (index.lower, index.upper)]
            return _call('__range', *map(self._index, ends))
        return _call('__literal', index) if self._is_literal(index) else index

    def _is_literal(self, index: ast.expr) -> bool:
        """Return whether an index is a number in the source, or a constant of the module."""
        if _is_call(index, '__negate'):
            index, = index.args
        if isinstance(index, ast.Name) and index.id not in self._locals:
            return isinstance(self._names.get(index.id), int)
        return isinstance(index, ast.Constant) and index.value is not None

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        node.value = _call('__plain', node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        operator = _OPERATORS[type(node.op)]
        if isinstance(node.target, ast.Name):
            value = self.visit(node.value)
            before = ast.Name(node.target.id, ast.Load())
            after = _call('__plain', _call(operator, before, value))
            return [ast.Assign([node.target], after)]
        self._count += 1
        array, index = f'__array{self._count}', f'__index{self._count}'
        place = _call('__checked', self._index(self.visit(node.target.slice)))
        return [
            ast.Assign([ast.Name(array, ast.Store())], self.visit(node.target.value)),
            ast.Assign([ast.Name(index, ast.Store())], place),
            ast.Assign(
                [ast.Subscript(ast.Name(array, ast.Load()), ast.Name(index, ast.Load()),
                               ast.Store())],
                _call('__plain', _call(
                    operator, _call('__item', ast.Name(array, ast.Load()),
                                    ast.Name(index, ast.Load())),
                    self.visit(node.value))))]

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        self.generic_visit(node)
        if node.value is not None and not self._is_expression:
            node.value = _call('__plain', node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.iter = _call('__plain', node.iter)
        return node


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


class _Literal(int):
    """An index that stands in the source as a number."""


def _plain(value: Any) -> Any:
    """Round products."""
    if type(value) is Product:
        return float(value)
    if type(value) is tuple:
        return tuple(map(_plain, value))
    return value


def _checked(index: Any) -> Any:
    """Refuse negative indices."""
    for each in index if isinstance(index, tuple) else (index,):
        if type(each) is not _Literal and not isinstance(each, slice) and each < 0:
            raise IndexError(f'index {each} is negative')
    return index


def _range(lower: int | None, upper: int | None) -> slice:
    """Return a range whose bounds are clipped; literal ones may count from the end."""
    return slice(*(each if each is None or type(each) is _Literal else max(each, 0)
                   for each in (lower, upper)))


def _item(whole: Any, index: Any) -> Any:
    if isinstance(whole, tuple):
        item = whole[_checked(index)]
        return item if type(index) is _Literal else _plain(item)
    found = whole[_checked(index)]
    return found.item() if isinstance(found, np.generic) else found


def _is_float(a: Any, b: Any) -> bool:
    return isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating))


def _wrap(value: int) -> int:
    return (int(value) + 2**63) % 2**64 - 2**63


def _multiply(a: Any, b: Any) -> Any:
    if not _is_float(a, b):
        return _wrap(int(a) * int(b))
    x, y = float(a), float(b)
    product = Product(x * y)
    product.a, product.b = x, y
    return product


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return a + b
    if not _is_float(a, b):
        return _wrap(int(a) + int(b))
    if type(b) is Product:
        return fused(b.a, b.b, float(a))
    if type(a) is Product:
        return fused(a.a, a.b, float(b))
    return float(a) + float(b)


def _subtract(a: Any, b: Any) -> Any:
    if not _is_float(a, b):
        return _wrap(int(a) - int(b))
    if type(b) is Product:
        return fused(-b.a, b.b, float(a))
    if type(a) is Product:
        return fused(a.a, a.b, -float(b))
    return float(a) - float(b)


def _negate(a: Any) -> Any:
    return -float(a) if isinstance(a, float) else _wrap(-int(a))


def _absolute(a: Any) -> Any:
    return abs(float(a)) if isinstance(a, float) else _wrap(abs(int(a)))


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Compare as floats where one is; Python would compare an integer exactly."""
    def call(a: Any, b: Any) -> bool:
        if type(a) is not type(b) and _is_float(a, b):
            return compare(float(a), float(b))
        return compare(a, b)
    return call


def _equal(a: Any, b: Any) -> bool:
    """Compare by items: Python takes the same nan in two tuples for equal."""
    if isinstance(a, tuple):
        return all(map(_equal, a, b))
    return _equal_numbers(a, b)


def _unequal(a: Any, b: Any) -> bool:
    return not _equal(a, b)


_equal_numbers = _comparison(operator.eq)


def _divide(a: Any, b: Any) -> float:
    x, y = float(a), float(b)
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _floor_divide(a: int, b: int) -> int:
    return _wrap(int(a) // int(b)) if b != 0 else 0


def _modulo(a: int, b: int) -> int:
    return int(a) % int(b) if b != 0 else 0


def _shift_left(a: int, b: int) -> int:
    return _wrap(int(a) << (int(b) & 63))


def _shift_right(a: int, b: int) -> int:
    return int(a) >> (int(b) & 63)


def _least(*values: Any) -> Any:
    """As Python's, of values that are of one kind by then."""
    return _extremum(values, lambda a, b: a < b)


def _greatest(*values: Any) -> Any:
    """As Python's, of values that are of one kind by then."""
    return _extremum(values, lambda a, b: a > b)


def _extremum(values: tuple[Any, ...], goes_before: Callable[[Any, Any], bool]) -> Any:
    values = _plain(values[0] if len(values) == 1 else values)
    if any(isinstance(each, (float, np.floating)) for each in values):
        values = tuple(map(float, values))
    else:
        values = tuple(map(int, values))
    best = values[0]
    for each in values[1:]:
        best = each if goes_before(each, best) else best
    return best


def _to_integer(value: Any) -> int:
    if isinstance(value, _INTEGERS):
        return int(value)
    if math.isnan(value):
        return 0
    return int(min(max(value, -2.0**63), 2.0**63)) if abs(value) < 2.0**63 else (
        2**63 - 1 if value > 0 else -2**63)


def _rounding(function: Callable[[float], float]) -> Callable[[Any], int]:
    def rounded(value: Any) -> int:
        value = float(value)
        return _to_integer(float(function(value)) if math.isfinite(value) else value)
    return rounded


def _tolerant(function: Callable[..., float]) -> Callable[..., float]:
    """Return nan or an infinity where Python raises, as the C library does."""
    in_c = getattr(_LIBRARY, function.__name__)
    in_c.restype = ctypes.c_double

    def call(*values: Any) -> float:
        try:
            return function(*map(float, values))
        except (ValueError, OverflowError):
            return in_c(*(ctypes.c_double(float(value)) for value in values))
    return call


_LIBRARY = ctypes.CDLL('libm.so.6')
_LIBRARY.fma.restype = ctypes.c_double
_LIBRARY.fma.argtypes = (ctypes.c_double,) * 3


def fused(a: float, b: float, c: float) -> float:
    """Compute a * b + c with one rounding; Python has it from 3.13 on."""
    return _LIBRARY.fma(a, b, c)


_IEEE = SimpleNamespace(
    pi=math.pi, inf=math.inf, nan=math.nan, e=math.e, tau=math.tau,
    isfinite=math.isfinite, isnan=math.isnan, fabs=lambda x: abs(float(x)),
    copysign=math.copysign, floor=_rounding(np.floor), ceil=_rounding(np.ceil),
    **{each.__name__: _tolerant(each) for each in (
        math.sqrt, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.atan2,
        math.exp, math.log, math.pow)})

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: '__add', ast.Sub: '__subtract', ast.Mult: '__multiply', ast.Div: '__divide',
    ast.FloorDiv: '__floor_divide', ast.Mod: '__modulo', ast.LShift: '__shift_left',
    ast.RShift: '__shift_right', ast.BitAnd: '__and', ast.BitOr: '__or', ast.BitXor: '__xor'}

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: '__equal', ast.NotEq: '__unequal', ast.Lt: '__less', ast.LtE: '__less_equal',
    ast.Gt: '__greater', ast.GtE: '__greater_equal'}

_HELPERS: dict[str, Any] = {
    '__plain': _plain, '__item': _item, '__checked': _checked, '__literal': _Literal,
    '__add': _add, '__subtract': _subtract, '__multiply': _multiply, '__divide': _divide,
    '__floor_divide': _floor_divide, '__modulo': _modulo, '__shift_left': _shift_left,
    '__shift_right': _shift_right, '__and': operator.and_, '__or': operator.or_,
    '__xor': operator.xor, '__negate': _negate, '__range': _range,
    '__equal': _equal, '__unequal': _unequal, '__less': _comparison(operator.lt),
    '__less_equal': _comparison(operator.le), '__greater': _comparison(operator.gt),
    '__greater_equal': _comparison(operator.ge),
    'abs': _absolute, 'int': _to_integer, 'max': _greatest, 'min': _least}
