"""Function under construction: instructions, labels, variables and name lookup."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
import os
import struct
from typing import Any, NamedTuple, NoReturn, Protocol

from sim_bridge.compiler.errors import KernelError
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import BOOL, FLOAT, INT, is_number, Kind, Tuple, Value
from sim_bridge.compiler.source import has_plain_parameters


class Surroundings(Protocol):
    """
    Interface of the enclosing `module.Module`, as used by a function under construction.

    under_way: kernels being compiled or inlined.
    """

    under_way: list[Kernel]

    def declare(self, declaration: str) -> None:
        """Declare a function defined outside the module."""

    def function(
        self, caller: Function, node: ast.AST, kernel: Kernel, arguments: tuple[Kind, ...]
    ) -> tuple[str, Kind]:
        """Return name and result kind of the function compiled from a kernel for arguments."""

    def check_index(self, f: Function, node: ast.expr, index: str, extent: str) -> None:
        """With checks enabled, end the process with a message if an index is out of bounds."""

    def check_extent(self, f: Function, node: ast.expr, extent: str, other: str) -> None:
        """With checks enabled, end the process with a message if array sizes differ."""


class Scope(NamedTuple):
    """Kernel for name lookup; names: values of its parameters."""

    kernel: Kernel
    names: Mapping[str, Value]


class Variable(NamedTuple):
    """Local variable: its kind, and a stack slot per leaf (LLVM turns slots into registers)."""

    kind: Kind
    slots: tuple[str, ...]


class Loop(NamedTuple):
    """Branch targets for `continue` and `break`."""

    next: str
    end: str


class Function:
    """
    Function under construction.

    products: factors of each product by operand name; a sum with a product is rounded once (see
    `arithmetic`).
    """

    def __init__(self, module: Surroundings, kernel: Kernel, arguments: tuple[Kind, ...]):
        """Begin a kernel's function for these argument kinds."""
        self.module, self.kernel = module, kernel
        self.result: Kind | None = None
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.variables: dict[str, Variable] = {}
        self.loops: list[Loop] = []
        self.products: dict[str, tuple[str, str]] = {}
        # whether the current block is open: after a return or a break, nothing is emitted
        self.is_open = True
        self._count = 0
        tree = kernel.tree
        given = [argument.arg for argument in tree.args.args]
        self.scope = Scope(kernel, {})
        if not has_plain_parameters(tree):
            self.fail(tree, 'kernels have plain parameters, without defaults, * and **')
        if '_' in given:
            self.fail(tree, "a parameter cannot be named '_', the name for unread values")
        if len(given) != len(arguments):
            self.fail(tree, f'takes {len(given)} arguments, not {len(arguments)}')
        leaves = (f'%a{number}' for number in range(sum(len(k.leaves) for k in arguments)))
        values = {
            name: Value(kind, tuple(next(leaves) for _ in kind.leaves))
            for name, kind in zip(given, arguments, strict=True)
        }
        assigned = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.scope = Scope(kernel, {n: v for n, v in values.items() if n not in assigned})
        for name, value in values.items():
            if name in assigned:
                self.assign(tree, name, value)

    # --- instructions ----------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(line)

    def instruct(self, operation: str) -> str:
        """Append an instruction; return its result's name."""
        self._count += 1
        name = f'%v{self._count}'
        self.lines.append(f'{name} = {operation}')
        return name

    def call(
        self, name: str, result: str, operands: Iterable[tuple[str, str]], attributes: str = ''
    ) -> str:
        """Call an external function without side effects on (type, operand) pairs."""
        operands = list(operands)
        types = ', '.join(llvm for llvm, _ in operands)
        self.module.declare(
            f'declare {result} @{name}({types}) nounwind memory(none) {attributes}'
        )
        given = ', '.join(f'{llvm} {operand}' for llvm, operand in operands)
        return self.instruct(f'call {result} @{name}({given})')

    # --- blocks ----------------------------------------------------------------------------------

    def label(self) -> str:
        """Make a label for a later block."""
        self._count += 1
        return f'b{self._count}'

    def begin(self, label: str) -> None:
        """Begin a block."""
        self.emit(f'{label}:')
        self.is_open = True

    def branch(self, label: str) -> None:
        """End the block with a branch if it is open."""
        if self.is_open:
            self.emit(f'br label %{label}')
        self.is_open = False

    def branch_if(self, condition: str, yes: str, no: str) -> None:
        """End the block with a conditional branch."""
        self.emit(f'br i1 {condition}, label %{yes}, label %{no}')
        self.is_open = False

    # --- variables -------------------------------------------------------------------------------

    def allocate(self, kind: Kind) -> Variable:
        """Allocate stack slots initialized to 0, so that unset variables are deterministic."""
        slots = []
        for llvm in kind.leaves:
            self._count += 1
            slot, zero = f'%s{self._count}', _ZEROS[llvm]
            slots.append(slot)
            self.allocations += [f'{slot} = alloca {llvm}', f'store {llvm} {zero}, ptr {slot}']
        return Variable(kind, tuple(slots))

    def store(self, variable: Variable, value: Value) -> None:
        """Set a variable to a value with its kind."""
        types = variable.kind.leaves
        for llvm, leaf, slot in zip(types, value.leaves, variable.slots, strict=True):
            self.emit(f'store {llvm} {leaf}, ptr {slot}')

    def load(self, variable: Variable) -> Value:
        """Return a variable's value."""
        return Value(
            variable.kind,
            tuple(
                self.instruct(f'load {llvm}, ptr {slot}')
                for llvm, slot in zip(variable.kind.leaves, variable.slots, strict=True)
            ),
        )

    def assign(self, node: ast.AST, name: str, value: Value) -> None:
        """Set a local variable; the first value determines the kind."""
        variable = self.variables.get(name)
        if variable is None:
            variable = self.variables[name] = self.allocate(value.kind)
        elif variable.kind != value.kind:
            self.fail(
                node,
                f'{name!r} is {variable.kind} above and {value.kind} here: '
                f'{_advise(variable.kind, value.kind)}',
            )
        self.store(variable, value)

    # --- values ----------------------------------------------------------------------------------

    def convert(self, node: ast.AST, value: Value, kind: Kind) -> Value:
        """Convert a bool to a number, or an integer to a float; fail for other kinds."""
        if value.kind == kind:
            return value
        (leaf,) = value.leaves if is_number(value.kind) else (None,)
        if leaf is not None and value.kind is BOOL and kind is INT:
            if leaf in _TRUTHS:
                return Value(INT, (str(int(leaf == 'true')),))
            return Value(INT, (self.instruct(f'zext i1 {leaf} to i64'),))
        if leaf is not None and value.kind is BOOL and kind is FLOAT:
            return Value(FLOAT, (self.instruct(f'uitofp i1 {leaf} to double'),))
        if leaf is not None and value.kind is INT and kind is FLOAT:
            number = literal(value)
            if number is not None:
                return Value(FLOAT, (float_text(float(number)),))
            return Value(FLOAT, (self.instruct(f'sitofp i64 {leaf} to double'),))
        self.fail(node, f'{ast.unparse(node)} is {value.kind} where {kind} is expected')

    def constant(self, node: ast.AST, value: Any) -> Value:
        """Return a constant (number, bool, enum member or tuple) as a value."""
        if isinstance(value, bool):
            return Value(BOOL, ('true' if value else 'false',))
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                self.fail(node, f'{value} does not fit into 64 bits')
            return Value(INT, (str(int(value)),))
        if isinstance(value, float):
            return Value(FLOAT, (float_text(value),))
        if isinstance(value, tuple):
            items = [self.constant(node, item) for item in value]
            return Value(
                Tuple(tuple(item.kind for item in items)),
                tuple(leaf for item in items for leaf in item.leaves),
            )
        self.fail(
            node,
            f'{ast.unparse(node)} is {type(value).__name__}: constants in '
            'kernels are numbers, bools and tuples of them',
        )

    def fail(self, node: ast.AST, problem: str) -> NoReturn:
        """Raise KernelError at a node in the kernel used for name lookup."""
        kernel = self.scope.kernel
        path = kernel.function.__code__.co_filename
        place = getattr(node, 'lineno', 0), getattr(node, 'col_offset', 0)
        raise KernelError(
            os.path.relpath(path) if os.path.exists(path) else path,
            *place,
            kernel.__name__,
            problem,
        )


_ZEROS = {'double': '0.0', 'i64': '0', 'i1': 'false', 'ptr': 'null'}
_TRUTHS = ('true', 'false')


def literal(value: Value) -> int | None:
    """Return a constant value's integer, None for other values."""
    if value.kind is not INT or value.leaves[0].startswith('%'):
        return None
    return int(value.leaves[0])


def float_text(value: float) -> str:
    """Return a float as text without loss, in LLVM's syntax."""
    return f'0x{struct.unpack(">Q", struct.pack(">d", value))[0]:016X}'


def _advise(before: Kind, now: Kind) -> str:
    if {before, now} == {INT, FLOAT}:
        return 'write a float where the integer is, 0.0 for 0'
    return 'a variable keeps its kind, use two'
