"""
Tree of an OpenPLX file.

Lines and columns count from 1. A chain of operators of any length is one node, so the depth of a
tree is the depth of its brackets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Node:
    """Part of a file."""

    line: int
    column: int


@dataclass(frozen=True)
class Literal(Node):
    """Number, text or truth value. is_path: whether a text names a file (`@"…"`)."""

    value: float | int | bool | str
    is_path: bool = False


@dataclass(frozen=True)
class Path(Node):
    """Names joined by dots; the first may be `this`."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Member(Node):
    """Member of a value other than a path: `f(x).y`."""

    target: Expression
    name: str


@dataclass(frozen=True)
class Call(Node):
    """`target.name(arguments)`. target: None for a plain name."""

    target: Expression | None
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Index(Node):
    """`target[index]`."""

    target: Expression
    index: Expression


@dataclass(frozen=True)
class Operation(Node):
    """`first + second - third …`, from the left. rest: signs with their right operands."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Negation(Node):
    """`-operand`."""

    operand: Expression


@dataclass(frozen=True)
class Array(Node):
    """`[a, b]`, or in braces the members of an object in order of declaration."""

    items: tuple[Expression, ...]
    is_object: bool = False


Expression: TypeAlias = Literal | Path | Member | Call | Index | Operation | Negation | Array


@dataclass(frozen=True)
class Type(Node):
    """Type: `alternatives[0] or alternatives[1] … with traits reference`."""

    alternatives: tuple[Path, ...]
    is_array: bool = False
    traits: tuple[Path, ...] = ()
    is_reference: bool = False


@dataclass(frozen=True)
class Declaration(Node):
    """
    Member declaration: `optional names is type: value`.

    becomes: whether it narrows the type of an existing member. value: an expression, the
    statements of a block, or None.
    """

    names: tuple[str, ...]
    type: Type
    value: Expression | Block | None = None
    is_optional: bool = False
    becomes: bool = False


@dataclass(frozen=True)
class Assignment(Node):
    """`names: value`, for an existing member."""

    names: tuple[str, ...]
    value: Expression | Block


@dataclass(frozen=True)
class Deletion(Node):
    """`delete names`."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class With(Node):
    """`with traits`."""

    traits: tuple[Path, ...]


@dataclass(frozen=True)
class Annotation(Node):
    """`.name: value`."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Parameter(Node):
    """Parameter of a function."""

    name: str
    type: Type


@dataclass(frozen=True)
class Function(Node):
    """`static fn name(parameters) -> result`; the name of an operator is its sign."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Type | None
    is_static: bool = False


Statement: TypeAlias = Declaration | Assignment | Deletion | With | Annotation | Function
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Model(Node):
    """`kind name is base with traits: block`. kind: 'model', 'const' or 'trait'."""

    kind: str
    name: str
    base: Path | None
    traits: tuple[Path, ...]
    block: Block


@dataclass(frozen=True)
class Import(Node):
    """`import @"file" as alias`. file: as written."""

    file: str
    alias: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """File with its declarations in order. A global is a declaration with an expression."""

    imports: tuple[Import, ...]
    models: tuple[Model, ...]
    globals: tuple[Declaration, ...]
    operators: tuple[Function, ...]
