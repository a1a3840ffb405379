"""Kernel syntax trees, with the line numbers of their files."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
import linecache
from typing import Any


@cache
def text_of(path: str) -> str:
    """Return a file's text as first read."""
    return ''.join(linecache.getlines(path))


@cache
def _functions_in(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Parse a file; return its functions by name and line (first decorator)."""
    tree = ast.parse(text_of(path), path)
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            found[node.name, first] = node
    return found


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """
    Return a Python function's syntax tree.

    Raises OSError if the source is not available.
    """
    code = function.__code__
    try:
        return _functions_in(code.co_filename)[function.__name__, code.co_firstlineno]
    except KeyError:
        raise OSError(
            f'no source of function {function.__name__!r} in {code.co_filename}, line '
            f'{code.co_firstlineno}: kernels are functions of a file'
        ) from None


def body_of(node: ast.FunctionDef) -> list[ast.stmt]:
    """Return a function's statements without the docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def has_plain_parameters(node: ast.FunctionDef) -> bool:
    """Return whether a function has plain parameters only, without defaults, * and **."""
    given = node.args
    return not (
        given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg or given.defaults
    )


def expression_of(node: ast.FunctionDef) -> ast.expr | None:
    """Return the expression if the function's body is `return expression`, else None."""
    body = body_of(node)
    if len(body) == 1 and isinstance(body[0], ast.Return):
        return body[0].value
    return None
