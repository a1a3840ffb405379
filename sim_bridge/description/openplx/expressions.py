"""
Expression values in an object's scope.

Functions, operators and braces create new objects. They belong to no owner until a member takes
them.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import os
from pathlib import Path
from typing import Any, Protocol

from sim_bridge.description.openplx import syntax
from sim_bridge.description.openplx.bundles import Source
from sim_bridge.description.openplx.instances import (
    Draft,
    Instance,
    is_new,
    primitive,
    Scope,
    shown,
)
from sim_bridge.description.openplx.models import FailedError, Model, Models, Type
from sim_bridge.description.openplx.native import FIELDS, FUNCTIONS, OPERATORS, Struct
from sim_bridge.description.openplx.renames import renamed_attribute, renamed_function
from sim_bridge.description.report import Place
from sim_bridge.foundation.errors import brief
from sim_bridge.foundation.names import counted


class Objects(Protocol):
    """Expression queries to the surrounding objects; all raise FailedError."""

    def value(self, instance: Instance, name: str) -> Any:
        """Return a member's value."""

    def constant(self, kind: Model) -> Instance:
        """Return a constant model's only object."""

    def global_value(self, source: Source, name: str) -> Any:
        """Return a global attribute's value from a file."""


class Expressions:
    """
    Expression evaluator.

    waiting: number of nested evaluations on Python's stack, for expressions and members.
    """

    def __init__(self, models: Models, objects: Objects):
        self._models, self._objects = models, objects
        self._fail = models.fail
        self._bundles_only = Source('', Path())
        self.waiting = 0

    def fitted(self, value: Any, type_: Type, place: Place) -> Any:
        """Return a value converted to a type; raises FailedError if it does not fit."""
        if type_.is_array:
            if isinstance(value, tuple):
                return tuple(self.fitted(item, type_.item, place) for item in value)
        else:
            kind = self._kind_of(value)
            if kind and any(kind.is_a(model) for model in type_.models):
                return value
            fitted = primitive(value, type_.primitive) if type_.primitive else None
            if fitted is not None:
                return fitted
        self._fail('type-mismatch', place, f'expected {type_}, found {self._described(value)}')

    def _kind_of(self, value: Any) -> Model | None:
        """Return an object's model; None for other values."""
        if isinstance(value, Instance):
            return value.kind
        if is_new(value):
            return self.draft(value).kind
        return None

    def _described(self, value: Any) -> str:
        kind = self._kind_of(value)
        return kind.name if kind else shown(value)

    def draft(self, value: Struct | Draft) -> Draft:
        """Return a new object with its members by name."""
        if isinstance(value, Draft):
            return value
        values = dict(zip(FIELDS[value.model], value.values, strict=True))
        return Draft(self._models.named(value.model, self._bundles_only), values)

    def evaluated(
        self, node: syntax.Expression | None, scope: Scope, want: Type | None = None
    ) -> Any:
        """Return an expression's value. want: type for an object in braces."""
        self.waiting += 1
        try:
            if isinstance(node, syntax.Literal):
                if node.is_path:
                    return os.path.abspath(scope.source.folder / str(node.value))
                return node.value
            if isinstance(node, syntax.Path):
                return self._path(node, scope)
            if isinstance(node, syntax.Call):
                return self._call(node, scope)
            if isinstance(node, syntax.Operation):
                # an operand in braces gets its type from the expected type of the result
                value = self.evaluated(node.first, scope, want)
                for sign, operand in node.rest:
                    value = self._operated(
                        sign, (value, self.evaluated(operand, scope, want)), node, scope
                    )
                return value
            if isinstance(node, syntax.Negation):
                return self._operated(
                    '-', (self.evaluated(node.operand, scope, want),), node, scope
                )
            if isinstance(node, syntax.Member):
                return self._member(self.evaluated(node.target, scope), node.name, node, scope)
            if isinstance(node, syntax.Index):
                return self._item(node, scope)
            assert isinstance(node, syntax.Array)
            return self._array(node, scope, want)
        finally:
            self.waiting -= 1

    def _path(self, node: syntax.Path, scope: Scope) -> Any:
        first, *rest = node.names
        if first == 'this':
            value: Any = scope.this
        elif first in scope.this.slots:
            value = self._objects.value(scope.this, first)
        else:
            value, rest = self._named(node, scope)
        for name in rest:
            value = self._member(value, name, node, scope)
        return value

    def _named(self, node: syntax.Path, scope: Scope) -> tuple[Any, list[str]]:
        """Return the value for the leading names outside the members, and the remaining names."""
        place = self._place(node, scope)
        names = node.names
        for count in range(1, len(names) + 1):
            declared = self._models.declared(scope.source, names[:count], place)
            if not declared:
                continue
            rest = list(names[count:])
            if isinstance(declared.node, syntax.Declaration):
                name = declared.node.names[0]
                return self._objects.global_value(declared.source, name), rest
            model = self._models.of(declared, place)
            if model.kind != 'const':
                self._fail(
                    'type-mismatch',
                    place,
                    f'{brief(".".join(names))}: {model.name} is a model, not an object',
                )
            return self._objects.constant(model), rest
        old = names[0]
        new = renamed_attribute(scope.this.kind.names, old)
        if new in scope.this.slots:
            self._models.warn_renamed(place, old, new)
            return self._objects.value(scope.this, new), list(names[1:])
        missing = self._models.library.missing_bundle(names)
        if missing:
            self._fail('bundle-missing', place, missing)
        if old in self._models.library.bundles:
            self._models.nothing_named(place, names)
        known = [*scope.this.slots, *scope.source.models, *scope.source.globals]
        self._models.not_found(place, old, scope.model, known, 'member-not-found')
        raise FailedError

    def _member(self, value: Any, name: str, node: syntax.Node, scope: Scope) -> Any:
        """Return a value's member."""
        if isinstance(value, Instance):
            if name in value.slots:
                return self._objects.value(value, name)
            new = renamed_attribute(value.kind.names, name)
            if new in value.slots:
                self._models.warn_renamed(self._place(node, scope), name, new)
                return self._objects.value(value, new)
        elif is_new(value):
            values = self.draft(value).values
            if name in values:
                return values[name]
        elif value is None:
            self._fail(
                'missing-assignment',
                self._place(node, scope),
                f'no member {brief(name)}, since the optional member before it has no value',
            )
        kind = self._kind_of(value)
        self._models.not_found(
            self._place(node, scope),
            name,
            self._described(value),
            list(kind.members) if kind else [],
            'member-not-found',
        )
        raise FailedError

    def _item(self, node: syntax.Index, scope: Scope) -> Any:
        value = self.evaluated(node.target, scope)
        index = primitive(self.evaluated(node.index, scope), 'Int')
        place = self._place(node, scope)
        if not isinstance(value, tuple) or not isinstance(index, int):
            self._fail('type-mismatch', place, 'expected an array, and an Int in brackets')
        if not 0 <= index < len(value):
            self._fail(
                'index-out-of-range',
                place,
                f'there is no element {index} in an array of {len(value)}',
            )
        return value[index]

    def _array(self, node: syntax.Array, scope: Scope, want: Type | None) -> Any:
        if not node.is_object:
            item = want.item if want else None
            return tuple(self.evaluated(inner, scope, item) for inner in node.items)
        place = self._place(node, scope)
        if not want or want.is_array or len(want.models) != 1:
            self._fail('type-mismatch', place, 'the type of the braces is unknown here')
        kind = want.models[0]
        members = list(kind.members.values())
        if len(node.items) > len(members):
            self._fail(
                'type-mismatch',
                place,
                f'{kind.name} has {counted(len(members), "member")}, and '
                f'{len(node.items)} values are given',
            )
        values = {}
        for member, inner in zip(members, node.items, strict=False):
            value = self.evaluated(inner, scope, member.type)
            if member.type:
                value = self.fitted(value, member.type, self._place(inner, scope))
            values[member.name] = value
        return Draft(kind, values)

    def _call(self, node: syntax.Call, scope: Scope) -> Any:
        place = self._place(node, scope)
        receiver, kind = self._receiver(node, scope, place)
        found = kind.functions.get(node.name)
        if not found:
            new = renamed_function(node.name, kind.functions)
            if not new:
                self._models.not_found(
                    place,
                    f'{node.name}()',
                    kind.name,
                    [f'{name}()' for name in kind.functions],
                    'member-not-found',
                )
                raise FailedError
            self._models.warn_renamed(place, f'{kind.name}.{node.name}', f'{kind.name}.{new}')
            found = kind.functions[new]
        function, declaring = found
        name = f'{declaring.name}.{function.name}'
        if len(node.arguments) != len(function.parameters):
            self._fail(
                'arguments',
                place,
                f'{name} takes {counted(len(function.parameters), "value")}, not '
                f'{len(node.arguments)}',
            )
        meaning = FUNCTIONS.get((declaring.name, function.name))
        if not meaning:
            self._fail(
                'native-method', place, f'{name} is not defined in OpenPLX, and not supported'
            )
        arguments = []
        if not function.is_static:
            if receiver is None:
                self._fail('arguments', place, f'{name} is not static: call it on an object')
            arguments.append(self._native(receiver, place))
        for parameter, argument in zip(function.parameters, node.arguments, strict=True):
            type_ = self._models.type_of(parameter.type, declaring.source, declaring.name)
            value = self.evaluated(argument, scope, type_)
            if not type_:
                raise FailedError
            given = self._place(argument, scope)
            arguments.append(self._native(self.fitted(value, type_, given), given))
        return self._result(lambda: meaning(*arguments), place, name)

    def _receiver(self, node: syntax.Call, scope: Scope, place: Place) -> tuple[Any, Model]:
        """Return a function call's receiver, None for a static one, and the model."""
        target = node.target
        if target is None:
            return scope.this, scope.this.kind
        if (
            isinstance(target, syntax.Path)
            and target.names == (target.names[0],)
            and (
                target.names[0] not in scope.this.slots
                and target.names[0] in self._models.library.bundles
            )
        ):
            self._models.nothing_named(place, (*target.names, f'{node.name}()'))
        if (
            isinstance(target, syntax.Path)
            and target.names[0] != 'this'
            and (target.names[0] not in scope.this.slots)
        ):
            declared = self._models.declared(scope.source, target.names, place)
            if declared and isinstance(declared.node, syntax.Model):
                return None, self._models.of(declared, place)
        value = self.evaluated(target, scope)
        kind = self._kind_of(value)
        if not kind:
            self._fail(
                'type-mismatch',
                place,
                f'{self._described(value)} has no function {brief(node.name)}',
            )
        return value, kind

    def _operated(
        self, sign: str, operands: tuple[Any, ...], node: syntax.Node, scope: Scope
    ) -> Any:
        """Return an operator's result."""
        kinds = [self._operand(value) for value in operands]
        left, right = kinds if len(kinds) == 2 else ('', *kinds)
        meaning = OPERATORS.get((sign, left, right))
        place = self._place(node, scope)
        if not meaning:
            described = ' and '.join(self._described(value) for value in operands)
            self._fail('type-mismatch', place, f'there is no operator {sign!r} for {described}')
        values = [self._native(value, place) for value in operands]
        return self._result(lambda: meaning(*values), place, f'operator {sign!r}')

    def _operand(self, value: Any) -> str:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return 'Real'
        kind = self._kind_of(value)
        return next((name for name in kind.names if name in FIELDS), '?') if kind else '?'

    def _native(self, value: Any, place: Place) -> Any:
        """Return a value in the form for native functions."""
        if isinstance(value, tuple) and not isinstance(value, Struct):
            return tuple(self._native(item, place) for item in value)
        kind = None if isinstance(value, Struct) else self._kind_of(value)
        name = next((name for name in kind.names if name in FIELDS), '') if kind else ''
        if not kind or not name:
            return value
        fields = FIELDS[name]
        if isinstance(value, Draft):
            missing = [field for field in fields if field not in value.values]
            if missing:
                self._fail(
                    'type-mismatch',
                    place,
                    f'the braces hold no {", ".join(missing)}: operators and functions take a '
                    f'{kind.name} with all of {", ".join(fields)}',
                )
            values = [value.values[field] for field in fields]
        else:
            values = [self._objects.value(value, field) for field in fields]
        return Struct(name, tuple(self._native(each, place) for each in values))

    def _result(self, compute: Callable[[], Any], place: Place, name: str) -> Any:
        try:
            value = compute()
            if isinstance(value, int) and abs(value) >= 1 << 63:
                value = float(value)
        except (ValueError, ArithmeticError) as err:
            code = getattr(err, 'code', 'value')
            self._fail(code, place, f'{name} has no result: {err}')
        if isinstance(value, float) and math.isnan(value):
            self._fail('value', place, f'{name} has no result: it is not a number')
        return value

    def _place(self, node: syntax.Node, scope: Scope) -> Place:
        return scope.source.place(node, scope.model)
