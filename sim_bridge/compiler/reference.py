"""
Reference interpreter: Python runs kernels with the arithmetic of compiled code, for tests.

Python already follows docs/kernels.md, with three exceptions corrected here: a product in a sum is
rounded once, floats follow IEEE 754 where Python raises, and integers have 64 bits. A negative
index raises IndexError unless it is a literal.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
import copy
import ctypes
from functools import cache, partial
import math
import operator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeGuard

import numpy as np

from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.source import expression_of
from sim_bridge.compiler.stage import call_stage, Callback, Stage

_INTEGERS = (int, np.integer)
_LEAST, _MOST = -(2**63), 2**63 - 1

Wrap = Callable[[Kernel, Callable[..., Any]], Callable[..., Any]]


class Product(float):
    """Product that a sum may fuse; as a float it is rounded."""

    __slots__ = ('a', 'b')

    a: float
    b: float


class Reference:
    """
    Kernels as Python functions.

    wrap: called with each kernel and its Python function; returns the function to use instead.
    """

    def __init__(self, wrap: Wrap | None = None):
        """Begin without functions."""
        self._wrap = wrap
        self._functions: dict[Kernel, Callable[..., Any]] = {}

    def __call__(self, kernel: Kernel) -> Callable[..., Any]:
        """Return a kernel's Python function."""
        if kernel not in self._functions:
            self._functions[kernel] = self._make(kernel)
        return self._functions[kernel]

    def _make(self, kernel: Kernel) -> Callable[..., Any]:
        code, given = _code_of(kernel), kernel.function.__globals__
        names = dict(_HELPERS)
        for name in kernel.function.__code__.co_names:
            if name in given:
                names[name] = self._ours(given[name], names, name)
        function = FunctionType(code, names)
        return self._wrap(kernel, function) if self._wrap else function

    def _ours(self, value: Any, names: dict[str, Any], name: str) -> Any:
        """Return the substitute for a global value; `names` holds it under `name`."""
        if isinstance(value, Kernel):
            return self._lazily(value, names, name)
        if value is math:
            return _IEEE
        if isinstance(value, ModuleType):
            return _Module(self, value)
        return self._call_stage if value is call_stage else value

    def _lazily(self, kernel: Kernel, names: dict[str, Any], name: str) -> Callable[..., Any]:
        """Return a function that replaces itself by the kernel's function at its first call."""

        def call(*arguments: Any) -> Any:
            names[name] = self(kernel)
            return names[name](*arguments)

        return call

    def _call_stage(self, address: int, table: Any, phase: int) -> int:
        stage = Stage.at(int(address))
        if isinstance(stage, Callback):
            return stage.function(table, phase)
        return self(stage)(table, phase)


class _Module:
    """Substitute for a module, with its kernels as Python functions."""

    def __init__(self, reference: Reference, module: ModuleType):
        self._reference, self._module = reference, module

    def __getattr__(self, name: str) -> Any:
        found = self._reference._ours(getattr(self._module, name), vars(self), name)
        return vars(self).setdefault(name, found)


def is_part_of_expressions(kernel: Kernel) -> bool:
    """Return whether a kernel becomes part of the calling expression; see `kernel`."""
    return kernel.is_inlined and expression_of(kernel.tree) is not None


@cache
def _code_of(kernel: Kernel) -> CodeType:
    """Return the code of a kernel's Python function, with operators replaced by functions."""
    tree = copy.deepcopy(kernel.tree)
    tree.decorator_list, tree.returns = [], None
    for argument in tree.args.args:
        argument.annotation = None
    tree = _Rewriter(kernel, is_part_of_expressions(kernel)).visit(tree)
    module = ast.fix_missing_locations(ast.Module([tree], []))
    made = compile(module, kernel.function.__code__.co_filename, 'exec')
    return next(each for each in made.co_consts if isinstance(each, CodeType))


class _Rewriter(ast.NodeTransformer):
    """Replaces operators by functions, and rounds products leaving their expression."""

    def __init__(self, kernel: Kernel, is_expression: bool):
        self._names = kernel.function.__globals__
        self._locals = kernel.local_names
        self._is_expression = is_expression
        self._count = 0

    def _plain(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression with rounded value; round explicitly if it may be a product."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._plain(each) for each in node.elts], ast.Load())
        if _is_product(node):
            return _call('__times', self.visit(node.left), self.visit(node.right))
        rewritten = self.visit(node)
        return rewritten if self._is_rounded(node) else _call('__plain', rewritten)

    def _is_rounded(self, node: ast.expr) -> bool:
        """Return whether the source shows that a value is no product and no tuple with one."""
        if isinstance(node, ast.Name):
            # variables and parameters are rounded, except parameters of inlined expressions
            return not self._is_expression or node.id not in self._locals
        if isinstance(node, ast.Subscript):
            return self._is_rounded(node.value) or not self._is_literal(node.slice)
        if isinstance(node, ast.BinOp):
            # a sum of two tuples may hold products
            return not isinstance(node.op, (ast.Add, ast.Mult))
        if isinstance(node, ast.Call):
            return not self._is_part(node)
        return isinstance(node, (ast.Attribute, ast.Constant, ast.Compare, ast.IfExp, ast.UnaryOp))

    def _is_part(self, node: ast.Call) -> bool:
        """Return whether the called kernel is inlined as part of this expression."""
        target = self._target(node.func)
        return isinstance(target, Kernel) and is_part_of_expressions(target)

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
        if isinstance(node.op, (ast.Add, ast.Sub)) and (
            _is_product(node.left) and not _is_product(node.right)
        ):
            factors = self.visit(node.left.left), self.visit(node.left.right)
            return _call(_OF_PRODUCT[type(node.op)], *factors, self.visit(node.right))
        # the left one of two products is rounded
        rewrite = self._plain if _is_product(node.right) else self.visit
        return self._operation(node.op, rewrite(node.left), node.right)

    def _operation(self, op: ast.operator, left: ast.expr, right: ast.expr) -> ast.expr:
        """Apply an operator to a rewritten and an original operand; fuse an added product."""
        if isinstance(op, (ast.Add, ast.Sub)) and _is_product(right):
            factors = self.visit(right.left), self.visit(right.right)
            return _call(_BY_PRODUCT[type(op)], left, *factors)
        operator = _OPERATORS.get(type(op))
        right = self.visit(right)
        return _call(operator, left, right) if operator else ast.BinOp(left, op, right)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.visit(node.test), self._plain(node.body), self._plain(node.orelse))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        rewrite = self.visit if self._is_part(node) else self._plain
        return ast.Call(node.func, list(map(rewrite, node.args)), [])

    def _target(self, function: ast.expr) -> Any:
        """Return the called function, found by name or as a module attribute."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return getattr(self._names.get(function.value.id), function.attr, None)
        return self._names.get(function.id) if isinstance(function, ast.Name) else None

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            whole = self.visit(node.value)
            if self._is_literal(node.slice):
                return _call('__item_at', whole, self.visit(node.slice))
            ends = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
            if len(ends) == 2 and not any(map(self._counts_from_the_end, ends)):
                return _call('__cell', whole, *map(self.visit, ends))
            return _call('__item', whole, self._index(node.slice))
        whole = _call('__target', self.visit(node.value))
        return ast.Subscript(whole, self._checked(node.slice), ast.Store())

    def _checked(self, index: ast.expr) -> ast.expr:
        """Rewrite a target's index, checked before use."""
        rewritten = self._index(index)
        return rewritten if self._is_literal(index) else _call('__checked', rewritten)

    def _index(self, index: ast.expr) -> ast.expr:
        """Rewrite an index; mark literal indices and bounds: they may count from the end."""
        if isinstance(index, ast.Tuple):
            return ast.Tuple([self._index(each) for each in index.elts], ast.Load())
        if isinstance(index, ast.Slice):
            ends = [each or ast.Constant(None) for each in (index.lower, index.upper)]
            return _call('__range', *map(self._index, ends))
        is_literal, rewritten = self._is_literal(index), self.visit(index)
        return _call('__literal', rewritten) if is_literal else rewritten

    def _is_literal(self, index: ast.expr) -> bool:
        """Return whether an index is a number in the source, or a module constant."""
        if isinstance(index, ast.Tuple):
            return all(map(self._is_literal, index.elts))
        if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
            index = index.operand
        if isinstance(index, ast.Name) and index.id not in self._locals:
            return isinstance(self._names.get(index.id), int)
        return isinstance(index, ast.Constant) and index.value is not None

    def _counts_from_the_end(self, index: ast.expr) -> bool:
        """Return whether an index is a range, or may be a literal below 0."""
        return isinstance(index, ast.Slice) or (
            self._is_literal(index) and not isinstance(index, ast.Constant)
        )

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return ast.Assign([self.visit(each) for each in node.targets], self._plain(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        if isinstance(node.target, ast.Name):
            before = ast.Name(node.target.id, ast.Load())
            after = self._operation(node.op, before, node.value)
            return [ast.Assign([node.target], _call('__plain', after))]
        self._count += 1
        array, index = f'__array{self._count}', f'__index{self._count}'
        place = ast.Name(array, ast.Load()), ast.Name(index, ast.Load())
        assert isinstance(node.target, ast.Subscript)
        whole, at = self.visit(node.target.value), self._checked(node.target.slice)
        after = self._operation(node.op, _call('__item_at', *place), node.value)
        return [
            ast.Assign([ast.Name(array, ast.Store())], whole),
            ast.Assign([ast.Name(index, ast.Store())], at),
            ast.Assign(
                [ast.Subscript(_call('__target', place[0]), place[1], ast.Store())],
                _call('__plain', after),
            ),
        ]

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is None:
            return node
        value = self.visit(node.value) if self._is_expression else self._plain(node.value)
        return ast.Return(value)

    def visit_For(self, node: ast.For) -> ast.stmt:
        is_rounded = self._is_rounded(node.iter)
        self.generic_visit(node)
        if not is_rounded:
            node.iter = _call('__plain', node.iter)
        return node


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _is_product(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


class _Literal(int):
    """Index given as a literal in the source."""


def _plain(value: Any) -> Any:
    """Round products."""
    if type(value) is Product:
        return float(value)
    if type(value) is tuple:
        return tuple(map(_plain, value))
    return value


def _checked(index: Any) -> Any:
    """Reject negative indices."""
    for each in index if isinstance(index, tuple) else (index,):
        if type(each) is not _Literal and not isinstance(each, slice) and each < 0:
            raise IndexError(f'index {each} is negative')
    return index


def _range(lower: int | None, upper: int | None) -> slice:
    """Return a range with clipped bounds; literal ones may count from the end."""
    return slice(
        *(
            each if each is None or type(each) is _Literal else max(each, 0)
            for each in (lower, upper)
        )
    )


def _item(whole: Any, index: Any) -> Any:
    """Return an item by a non-literal index."""
    if type(index) is not int or index < 0:
        _checked(index)
    found = whole[index]
    return found.item() if isinstance(found, np.generic) else _plain(found)


def _item_at(whole: Any, index: Any) -> Any:
    """Return an item by a checked index; a tuple's item may be a product."""
    found = whole[index]
    return found.item() if isinstance(found, np.generic) else found


def _cell(matrix: np.ndarray, row: int, column: int) -> Any:
    """Return a matrix item, or a cube's row, by two nonnegative indices."""
    if row < 0 or column < 0:
        _checked((row, column))
    found = matrix[row, column]
    return found.item() if isinstance(found, np.generic) else found


class _Narrow:
    """Array with narrow items as a target: floats are rounded to nearest, integers saturated."""

    def __init__(self, array: np.ndarray):
        self._array = array

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            value = _narrowed(value, self._array.dtype)
        self._array[index] = value


def _narrowed(value: Any, dtype: np.dtype) -> Any:
    """Return a number as stored in a narrow item."""
    if dtype.kind == 'f':
        with np.errstate(over='ignore', under='ignore'):
            return np.float64(value).astype(dtype)
    limits = np.iinfo(dtype)
    return min(max(int(value), limits.min), limits.max)


def _target(whole: Any) -> Any:
    """Return an array whose items are set."""
    return whole if whole.itemsize == _WIDE else _Narrow(whole)


_WIDE = 8  # bytes of an item that needs no conversion


def _is_float(a: Any, b: Any) -> bool:
    return isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating))


def _wrap(value: int) -> int:
    value = int(value)
    return value if _LEAST <= value <= _MOST else (value - _LEAST) % 2**64 + _LEAST


def _multiply(a: Any, b: Any) -> Any:
    if not _is_float(a, b):
        return _wrap(int(a) * int(b))
    x, y = float(a), float(b)
    product = Product(x * y)
    product.a, product.b = x, y
    return product


def _times(a: Any, b: Any) -> Any:
    """Multiply and round."""
    if type(a) is float and type(b) is float:
        return a * b
    if type(a) is int and type(b) is int:
        return _wrap(a * b)
    return float(a) * float(b) if _is_float(a, b) else _wrap(int(a) * int(b))


def _add(a: Any, b: Any) -> Any:
    if type(a) is float and type(b) is float:
        return a + b
    if type(a) is int and type(b) is int:
        return _wrap(a + b)
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
    if type(b) is Product:
        return fused(-b.a, b.b, float(a))
    # as floats if one operand is a float: -0.0 - 0 is -0.0, but -0.0 + 0 is not
    return _add(a, -float(b) if _is_float(a, b) else -int(b))


def _add_product(x: Any, a: Any, b: Any) -> Any:
    if type(a) is float and type(b) is float and type(x) is float:
        return fused(a, b, x)
    if type(a) is int and type(b) is int and type(x) is int:
        return _wrap(x + a * b)
    return _add(x, _multiply(a, b))


def _product_add(a: Any, b: Any, x: Any) -> Any:
    if type(a) is float and type(b) is float and type(x) is float:
        return fused(a, b, x)
    if type(a) is int and type(b) is int and type(x) is int:
        return _wrap(a * b + x)
    return _add(_multiply(a, b), x)


def _subtract_product(x: Any, a: Any, b: Any) -> Any:
    if type(a) is float and type(b) is float and type(x) is float:
        return fused(-a, b, x)
    return _subtract(x, _multiply(a, b))


def _product_subtract(a: Any, b: Any, x: Any) -> Any:
    if type(a) is float and type(b) is float and type(x) is float:
        return fused(a, b, -x)
    return _subtract(_multiply(a, b), x)


def _negate(a: Any) -> Any:
    return -float(a) if isinstance(a, float) else _wrap(-int(a))


def _absolute(a: Any) -> Any:
    return abs(float(a)) if isinstance(a, float) else _wrap(abs(int(a)))


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Compare as floats if one operand is a float; Python would compare an integer exactly."""

    def call(a: Any, b: Any) -> bool:
        if type(a) is not type(b) and _is_float(a, b):
            return compare(float(a), float(b))
        return compare(a, b)

    return call


def _equal(a: Any, b: Any) -> bool:
    """Compare tuples by items: Python treats an identical nan as equal."""
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


def _extremum(choose: Callable[[Iterable[Any]], Any], *values: Any) -> Any:
    """Return Python's minimum or maximum after conversion to one kind."""
    values = _plain(values[0] if len(values) == 1 else values)
    is_float = any(isinstance(each, (float, np.floating)) for each in values)
    return choose(map(float if is_float else int, values))


def _to_integer(value: Any) -> int:
    if isinstance(value, _INTEGERS):
        return int(value)
    if math.isnan(value):
        return 0
    return (
        int(min(max(value, -(2.0**63)), 2.0**63))
        if abs(value) < 2.0**63
        else (2**63 - 1 if value > 0 else -(2**63))
    )


def _rounding(function: Callable[[float], float]) -> Callable[[Any], int]:
    def rounded(value: Any) -> int:
        value = float(value)
        return _to_integer(float(function(value)) if math.isfinite(value) else value)

    return rounded


def _tolerant(function: Callable[..., float]) -> Callable[..., float]:
    """Return the C library's nan or infinity in cases where Python raises."""
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
# a * b + c with one rounding; Python's fma (since 3.13) raises if the result is not finite
fused = _LIBRARY.fma


_IEEE = SimpleNamespace(
    pi=math.pi,
    inf=math.inf,
    nan=math.nan,
    e=math.e,
    tau=math.tau,
    isfinite=math.isfinite,
    isnan=math.isnan,
    fabs=lambda x: abs(float(x)),
    copysign=math.copysign,
    floor=_rounding(np.floor),
    ceil=_rounding(np.ceil),
    **{
        each.__name__: _tolerant(each)
        for each in (
            math.sqrt,
            math.sin,
            math.cos,
            math.tan,
            math.asin,
            math.acos,
            math.atan,
            math.atan2,
            math.exp,
            math.log,
            math.pow,
        )
    },
)

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: '__add',
    ast.Sub: '__subtract',
    ast.Mult: '__multiply',
    ast.Div: '__divide',
    ast.FloorDiv: '__floor_divide',
    ast.Mod: '__modulo',
    ast.LShift: '__shift_left',
    ast.RShift: '__shift_right',
    ast.BitAnd: '__and',
    ast.BitOr: '__or',
    ast.BitXor: '__xor',
}

_BY_PRODUCT: dict[type[ast.operator], str] = {
    ast.Add: '__add_product',
    ast.Sub: '__subtract_product',
}
_OF_PRODUCT: dict[type[ast.operator], str] = {
    ast.Add: '__product_add',
    ast.Sub: '__product_subtract',
}

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: '__equal',
    ast.NotEq: '__unequal',
    ast.Lt: '__less',
    ast.LtE: '__less_equal',
    ast.Gt: '__greater',
    ast.GtE: '__greater_equal',
}

# names in the rewritten code: function names with another leading underscore
_HELPERS: dict[str, Any] = {
    **{
        f'_{function.__name__}': function
        for function in (
            _plain,
            _item,
            _item_at,
            _cell,
            _checked,
            _target,
            _times,
            _add_product,
            _subtract_product,
            _product_add,
            _product_subtract,
            _add,
            _subtract,
            _multiply,
            _divide,
            _floor_divide,
            _modulo,
            _shift_left,
            _shift_right,
            _negate,
            _range,
            _equal,
            _unequal,
        )
    },
    '__literal': _Literal,
    '__and': operator.and_,
    '__or': operator.or_,
    '__xor': operator.xor,
    '__less': _comparison(operator.lt),
    '__less_equal': _comparison(operator.le),
    '__greater': _comparison(operator.gt),
    '__greater_equal': _comparison(operator.ge),
    'abs': _absolute,
    'int': _to_integer,
    'max': partial(_extremum, max),
    'min': partial(_extremum, min),
}
