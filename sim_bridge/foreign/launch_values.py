"""
Values for expressions in Python launch files, from their text.

Read are constants, names assigned once, defaults for launch arguments, and paths joined to a
package folder. No launch file is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sim_bridge.foreign.packages import find_package

_JOINS = ('PathJoinSubstitution', 'join', 'Path')
_FOLDERS = ('FindPackageShare', 'get_package_share_directory', 'get_package_share_path')
_ARGUMENTS = ('LaunchConfiguration',)
_DECLARATIONS = ('DeclareLaunchArgument',)
# expressions refer to others no deeper
_DEPTH = 12


def passed_values(nodes: Sequence[ast.AST], name: str, base: Path) -> Iterator[str]:
    """
    Yield the values passed to a xacro argument as `'name:=', value` in a list.

    nodes: all nodes in a launch file. base: its folder; packages are searched from there.
    """
    known = _known(nodes)
    for node in nodes:
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
        for before, after in zip(items, items[1:], strict=False):
            text = before.value if isinstance(before, ast.Constant) else None
            if isinstance(text, str) and text.split(' ')[-1] == f'{name}:=':
                value = _text(after, known, base)
                if value:
                    yield value


def _known(nodes: Sequence[ast.AST]) -> Mapping[str, ast.expr]:
    """Return expressions by name; defaults for launch arguments are below 'argument:NAME'."""
    known: dict[str, ast.expr] = {}
    several = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            several |= {name} & known.keys()
            known[name] = node.value
        elif isinstance(node, ast.Call) and _called(node) in _DECLARATIONS and node.args:
            default = next((k.value for k in node.keywords if k.arg == 'default_value'), None)
            first = node.args[0]
            if isinstance(first, ast.Constant) and default is not None:
                known[f'argument:{first.value!s}'] = default
    return {name: value for name, value in known.items() if name not in several}


def _text(node: ast.expr | None, known: Mapping[str, ast.expr], base: Path, depth: int = 0) -> str:
    """Return an expression's text; '' if it is unknown."""
    if depth > _DEPTH or node is None:
        return ''

    def inner(each: ast.expr | None) -> str:
        return _text(each, known, base, depth + 1)

    if isinstance(node, ast.Constant):
        return '' if node.value is None else str(node.value)
    if isinstance(node, ast.Name):
        return inner(known.get(node.id))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _joined([inner(node.left), inner(node.right)])
    if not isinstance(node, ast.Call) or not node.args:
        return ''
    called, first = _called(node), node.args[0]
    if called in _JOINS:
        parts = first.elts if isinstance(first, ast.List | ast.Tuple) else node.args
        return _joined([inner(each) for each in parts])
    if called in _FOLDERS:
        package = inner(first)
        return str((package and find_package(package, base, ())) or '')
    if called in _ARGUMENTS:
        return inner(known.get(f'argument:{inner(first)}'))
    return ''


def _joined(parts: Sequence[str]) -> str:
    return str(Path(*parts)) if all(parts) else ''


def _called(node: ast.Call) -> str:
    """Return a called function's last name."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ''
