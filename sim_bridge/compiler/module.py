"""Functions of one unit as an LLVM module in text form."""

from __future__ import annotations

import ast

from sim_bridge.compiler.expressions import struct_of
from sim_bridge.compiler.function import Function
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import INT, Kind, NONE, TABLE, Value
from sim_bridge.compiler.llvm import LANES
from sim_bridge.compiler.source import body_of
from sim_bridge.compiler.statements import emit_body, emit_return

# Alias metadata: items with different LLVM types never share memory.
_METADATA = """\
!0 = !{}
!1 = !{!"kernels"}
!2 = !{!"float", !1}
!3 = !{!2, !2, i64 0}
!4 = !{!"int", !1}
!5 = !{!4, !4, i64 0}
!6 = !{!"float32", !1}
!7 = !{!6, !6, i64 0}
!8 = !{!"int8", !1}
!9 = !{!8, !8, i64 0}
!10 = !{!"int16", !1}
!11 = !{!10, !10, i64 0}
!12 = !{!"int32", !1}
!13 = !{!12, !12, i64 0}
"""


class Module:
    """Kernel functions, one per combination of argument kinds."""

    def __init__(self, *, is_checked: bool = False):
        """Create an empty module. is_checked: emit checks for all indices."""
        self.under_way: list[Kernel] = []
        self.is_checked = is_checked
        self.places: list[str] = []
        self._functions: dict[tuple[Kernel, tuple[Kind, ...]], tuple[str, Kind]] = {}
        self._declarations: dict[str, None] = {}
        self._texts: list[str] = []

    @property
    def kernels(self) -> list[Kernel]:
        """Kernels with functions in this module."""
        return list(dict.fromkeys(kernel for kernel, _ in self._functions))

    def text(self) -> str:
        """Return the module as LLVM text."""
        head = [LANES] if any(kernel.has_lanes for kernel in self.kernels) else []
        return '\n'.join([*head, *self._declarations, *self._texts, _METADATA])

    def declare(self, declaration: str) -> None:
        """Declare a function defined outside the module."""
        self._declarations[declaration] = None

    def add(self, text: str) -> None:
        """Add a function in LLVM text."""
        self._texts.append(text)

    def function(
        self, caller: Function | None, node: ast.AST, kernel: Kernel, arguments: tuple[Kind, ...]
    ) -> tuple[str, Kind]:
        """Return name and result kind of a kernel's function for arguments; compile it once."""
        key = kernel, arguments
        if key not in self._functions:
            if kernel in self.under_way and caller is not None:
                caller.fail(node, f'{kernel.__name__!r} calls itself, directly or indirectly')
            self.under_way.append(kernel)
            self._functions[key] = self._compile(kernel, arguments)
            self.under_way.pop()
        return self._functions[key]

    def _compile(self, kernel: Kernel, arguments: tuple[Kind, ...]) -> tuple[str, Kind]:
        f = Function(self, kernel, arguments)
        emit_body(f, body_of(kernel.tree))
        if f.is_open:
            if f.result not in (None, NONE):
                f.fail(kernel.tree, f'returns {f.result}, but not on every path')
            emit_return(f, kernel.tree, Value(NONE, ()))
        # an endless kernel returns nothing
        result = NONE if f.result is None else f.result
        symbol = f'{kernel.__name__}.{len(self._functions)}'
        leaves = [leaf for kind in arguments for leaf in kind.leaves]
        parameters = ', '.join(f'{llvm} %a{at}' for at, llvm in enumerate(leaves))
        attributes = 'alwaysinline nounwind' if kernel.is_inlined else 'noinline nounwind'
        self._texts.append(
            '\n'.join(
                [
                    f'define internal {struct_of(result)} @{symbol}({parameters}) {attributes} {{',
                    'entry:',
                    *f.allocations,
                    *f.lines,
                    '}',
                ]
            )
        )
        return symbol, result

    def export_entry(self, name: str, kernel: Kernel, arguments: tuple[Kind, ...]) -> Kind:
        """
        Export a function taking one block with 64-bit words; return its result's kind.

        The block holds the leaves of all arguments, followed by space for the result's leaves.
        """
        symbol, result = self.function(None, kernel.tree, kernel, arguments)
        leaves = [leaf for kind in arguments for leaf in kind.leaves]
        lines = [f'define void @{name}(ptr %block) nounwind {{']
        for at, llvm in enumerate(leaves):
            lines += [f'%p{at} = getelementptr i64, ptr %block, i64 {at}']
            if llvm == 'i1':
                lines += [f'%w{at} = load i64, ptr %p{at}', f'%l{at} = icmp ne i64 %w{at}, 0']
            else:
                lines += [f'%l{at} = load {llvm}, ptr %p{at}']
        given = ', '.join(f'{llvm} %l{at}' for at, llvm in enumerate(leaves))
        returned = '%returned = ' if result.leaves else ''
        lines += [f'{returned}call {struct_of(result)} @{symbol}({given})']
        for at, llvm in enumerate(result.leaves):
            place, word = f'%r{at}', f'%e{at}'
            lines += [
                f'{place} = getelementptr i64, ptr %block, i64 {len(leaves) + at}',
                f'{word} = extractvalue {struct_of(result)} %returned, {at}',
            ]
            if llvm == 'i1':
                lines += [f'%x{at} = zext i1 {word} to i64', f'store i64 %x{at}, ptr {place}']
            else:
                lines += [f'store {llvm} {word}, ptr {place}']
        self._texts.append('\n'.join([*lines, 'ret void', '}']))
        return result

    def export_stage(self, name: str, kernel: Kernel) -> None:
        """Export a function (table, phase) -> integer for other units."""
        symbol, result = self.function(None, kernel.tree, kernel, (TABLE, INT))
        if result is not INT:
            Function(self, kernel, (TABLE, INT)).fail(
                kernel.tree, f'returns {result}: a stage returns an integer'
            )
        self._texts.append(
            '\n'.join(
                [
                    f'define i64 @{name}(ptr %table, i64 %phase) nounwind {{',
                    f'%result = call {{ i64 }} @{symbol}(ptr %table, i64 %phase)',
                    '%word = extractvalue { i64 } %result, 0',
                    'ret i64 %word',
                    '}',
                ]
            )
        )

    # --- checks ----------------------------------------------------------------------------------

    def check_index(self, f: Function, node: ast.expr, index: str, extent: str) -> None:
        """In a checked module, end the process with a message if an index is out of bounds."""
        if self.is_checked:
            self._check(f, node, f.instruct(f'icmp ult i64 {index}, {extent}'), index, extent)

    def check_extent(self, f: Function, node: ast.expr, extent: str, other: str) -> None:
        """In a checked module, end the process with a message if array sizes differ."""
        if self.is_checked:
            self._check(f, node, f.instruct(f'icmp eq i64 {extent}, {other}'), extent, other)

    def _check(self, f: Function, node: ast.expr, holds: str, found: str, extent: str) -> None:
        kernel = f.scope.kernel
        self.places.append(
            f'{kernel.function.__code__.co_filename}:{node.lineno}: kernel '
            f'{kernel.__name__!r}: {ast.unparse(node)}'
        )
        self.declare('declare void @sim_bridge_check_failed(i64, i64, i64)')
        wrong, right = f.label(), f.label()
        f.branch_if(holds, right, wrong)
        f.begin(wrong)
        f.emit(
            f'call void @sim_bridge_check_failed(i64 {len(self.places) - 1}, i64 {found}, '
            f'i64 {extent})'
        )
        f.branch(right)
        f.begin(right)
