"""
Declared models: their bases, and their members before evaluation.

A model's file, its bases and traits, and the owners of its instances are layers of statements.
Each layer is applied on top of the layers before it: declarations create members, assignments
replace their values, and statements about parts of a member are kept for its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

from sim_bridge.description.openplx import syntax
from sim_bridge.description.openplx.bundles import Declared, Library, Source
from sim_bridge.description.openplx.objects import Object, ObjectModel
from sim_bridge.description.openplx.renames import renamed_attribute, renamed_model
from sim_bridge.description.report import Place
from sim_bridge.foundation.errors import brief, close_match

PRIMITIVES = ('Real', 'Int', 'Bool', 'String')
# bundles whose own assignments are defaults
_VOCABULARY = ('Math', 'Physics', 'Physics1D', 'Physics3D')
_MOST_BASES = 200
_MOST_TRAITS = 20


class FailedError(Exception):
    """Evaluation failed; the findings contain the reason."""


@dataclass(frozen=True)
class Action:
    """
    Statement about a member or a part of it.

    names: from the member to the part. kind: 'declare', 'narrow', 'with', 'assign' or 'delete'.
    expression: assigned expression, or None. model: enclosing model name.
    """

    names: tuple[str, ...]
    node: syntax.Statement
    kind: str
    expression: syntax.Expression | None
    source: Source
    model: str

    @property
    def place(self) -> Place:
        """The statement's place."""
        return self.source.place(self.node, self.model, '.'.join(self.names))


@dataclass(frozen=True)
class Type:
    """Resolved type. models: alternatives. primitive: primitive type name, or ''."""

    models: tuple[Model, ...] = ()
    primitive: str = ''
    is_array: bool = False
    is_reference: bool = False

    @property
    def item(self) -> Type:
        """Type for an array's items."""
        return replace(self, is_array=False)

    def __str__(self) -> str:
        """Return the type in file notation."""
        names = self.primitive or ' or '.join(model.name for model in self.models)
        return f'{names}[]' if self.is_array else names


@dataclass(frozen=True)
class Member:
    """
    Member in a model or an instance.

    type: None if it cannot be resolved. place: of the declaration, or of the last assignment.
    value: the valid assignment, or None. this: instance giving the scope of that assignment; None
    for the instance with the member. parts: layers of statements about its parts, each with the
    instance giving their scope. is_assigned: whether a value, or the value of a part, is given
    outside the declaring bundle.
    """

    name: str
    type: Type | None
    declared: Action
    place: Place
    is_optional: bool = False
    value: Action | None = None
    this: Object | None = None
    parts: tuple[tuple[Object | None, tuple[Action, ...]], ...] = ()
    is_assigned: bool = False

    @property
    def written(self) -> Place:
        """Place where its value or the value's last part was given; else its declaration."""
        if not self.parts:
            return self.place
        place = self.parts[-1][1][-1].place
        return place.at(f'{self.name}.{place.attribute}')


@dataclass(eq=False)
class Model:
    """
    Declared model.

    name: with its namespace. kind: 'model', 'const' or 'trait'. lineage: all models with valid
    statements, including itself, in application order.
    """

    name: str
    kind: str
    source: Source
    node: syntax.Model
    models: Models
    lineage: tuple[Model, ...] = field(init=False)

    def is_a(self, other: Model) -> bool:
        """Whether it is another model or extends it."""
        return other in self.lineage

    @cached_property
    def plain(self) -> ObjectModel:
        """The model in the form for objects."""
        bases = tuple(name for name in reversed(self.names) if name != self.name)
        return ObjectModel(self.name, bases, self.source.file, self.source.imported)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names for the model and for all models it extends."""
        return tuple(model.name for model in self.lineage)

    @cached_property
    def members(self) -> dict[str, Member]:
        """Members in definition order, base members first."""
        members: dict[str, Member] = {}
        # traits may contain statements about members declared by the model itself
        for model in self.lineage:
            self.models.declare(members, model.actions)
        for model in self.lineage:
            self.models.apply(members, model.actions, None, self)
        return members

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The model's own statements."""
        return tuple(flattened(self.node.block, self.source, self.name))

    @cached_property
    def functions(self) -> dict[str, tuple[syntax.Function, Model]]:
        """Functions by name, each with its declaring model."""
        return {
            statement.name: (statement, model)
            for model in self.lineage
            for statement in model.node.block
            if isinstance(statement, syntax.Function)
        }


def flattened(
    block: syntax.Block, source: Source, model: str, names: tuple[str, ...] = ()
) -> Iterator[Action]:
    """Yield a block's statements as actions; inner blocks give full names."""
    for node in block:
        if isinstance(node, syntax.Deletion):
            yield Action((*names, *node.names), node, 'delete', None, source, model)
        elif isinstance(node, syntax.With) and names:
            yield Action(names, node, 'with', None, source, model)
        elif isinstance(node, (syntax.Declaration, syntax.Assignment)):
            kind, path = 'assign', (*names, *node.names)
            if isinstance(node, syntax.Declaration):
                kind = 'narrow' if node.becomes else 'declare'
            if not isinstance(node.value, tuple):
                yield Action(path, node, kind, node.value, source, model)
                continue
            if kind != 'assign':
                yield Action(path, node, kind, None, source, model)
            yield from flattened(node.value, source, model, path)


class Models:
    """All looked-up models in a library."""

    def __init__(self, library: Library):
        self.library = library
        self._models: dict[tuple[int, str], Model | None] = {}
        self._building: set[tuple[int, str]] = set()
        self._traits = 0

    # -- names -------------------------------------------------------------------------------

    def named(self, name: str, source: Source) -> Model:
        """Return the model with a full name; raises FailedError if it is missing."""
        return self.find(source, syntax.Path(1, 1, tuple(name.split('.'))), '')

    def find(self, source: Source, path: syntax.Path, model: str) -> Model:
        """Return the model with a name; raises FailedError if it is missing."""
        place = source.place(path, model)
        declared = self.declared(source, path.names, place)
        if not declared or not isinstance(declared.node, syntax.Model):
            missing = self.library.missing_bundle(path.names)
            if missing:
                self.fail('bundle-missing', place, missing)
            hint = self.library.hint(source, path.names)
            name = brief('.'.join(path.names))
            message = f'no model has the name {name}'
            if self.library.is_namespace(path.names):
                message = f'{name} is a namespace, not a model'
            self.fail('type-not-found', place, f'{message}{"; " if hint else ""}{hint}')
        return self.of(declared, place)

    def declared(self, source: Source, names: tuple[str, ...], place: Place) -> Declared | None:
        """Return a name's declaration; warn of a renamed one."""
        found = self.library.find(source, names)
        if found:
            return found
        inner = source.namespace
        for depth in range(len(inner), -1, -1):
            old = '.'.join((*inner[:depth], *names))
            new = renamed_model(old)
            found = self.library.find(source, tuple(new.split('.'))) if new else None
            if found:
                self.warn_renamed(place, old, new)
                return found
        return None

    def fail(self, code: str, place: Place, message: str) -> NoReturn:
        """Add an error and raise FailedError."""
        self.library.error(code, place, message)
        raise FailedError

    def nothing_named(self, place: Place, names: tuple[str, ...]) -> NoReturn:
        """Add an error for an unknown name in a bundle, and raise FailedError."""
        close = self.library.within(names)
        self.fail(
            'member-not-found',
            place,
            f'the bundle {names[0]} declares no '
            f'{brief(".".join(names))}' + (f'; did you mean {close!r}?' if close else ''),
        )

    def warn_renamed(self, place: Place, old: str, new: str) -> None:
        """Warn about a renamed name."""
        self.library.findings.warning('renamed', place, f'{old} is called {new} now')

    def of(self, declared: Declared, place: Place) -> Model:
        """Return a declared model; raises FailedError if a base cannot be found."""
        chain: list[Declared] = []
        try:
            return self._of(declared, place, chain)
        finally:
            self._building.difference_update(self._key(link) for link in chain)

    def _of(self, declared: Declared, place: Place, chain: list[Declared]) -> Model:
        base: Model | None = None
        waiting: Declared | None = declared
        while waiting:
            key = self._key(waiting)
            if key in self._models:
                base = self._models[key]
                if key in self._building:
                    self.fail(
                        'cycle',
                        waiting.source.place(waiting.node, waiting.name),
                        f'{brief(waiting.name)} extends itself',
                    )
                if base is None:
                    raise FailedError
                break
            self._models[key] = None
            self._building.add(key)
            chain.append(waiting)
            if len(chain) > _MOST_BASES:
                self._too_many_bases(waiting)
            node = waiting.node
            assert isinstance(node, syntax.Model)
            waiting = self._base(waiting, node.base) if node.base else None
        if self._traits > _MOST_TRAITS:
            self.fail('too-deep', place, f'more than {_MOST_TRAITS} nested traits are not read')
        for link in reversed(chain):
            if base and len(base.lineage) > _MOST_BASES:
                self._too_many_bases(link)
            base = self._models[self._key(link)] = self._built(link, base)
        assert base
        return base

    def _too_many_bases(self, declared: Declared) -> NoReturn:
        self.fail(
            'too-deep',
            declared.source.place(declared.node, declared.name),
            f'more than {_MOST_BASES} levels of base models are not read',
        )

    def _base(self, declared: Declared, path: syntax.Path) -> Declared:
        source = declared.source
        found = self.declared(source, path.names, source.place(path, declared.name))
        if not found or not isinstance(found.node, syntax.Model):
            self.find(source, path, declared.name)
            raise FailedError
        return found

    def _built(self, declared: Declared, base: Model | None) -> Model:
        node = declared.node
        assert isinstance(node, syntax.Model)
        model = Model(declared.name, node.kind, declared.source, node, self)
        lineage = list(base.lineage if base else ())
        paths = list(node.traits)
        for statement in node.block:
            if isinstance(statement, syntax.With):
                paths += statement.traits
        self._traits += 1
        for path in paths:
            # a missing trait has been reported; the rest is still useful
            with contextlib.suppress(FailedError):
                lineage += self.find(declared.source, path, declared.name).lineage
        self._traits -= 1
        model.lineage = (*dict.fromkeys(lineage), model)
        return model

    def extended(self, model: Model, traits: Sequence[Model]) -> Model:
        """Return a model extended by further traits, with the same name."""
        if not traits:
            return model
        extended = Model(model.name, model.kind, model.source, model.node, self)
        inner = (*model.lineage, *(base for trait in traits for base in trait.lineage))
        extended.lineage = tuple(dict.fromkeys(inner))
        return extended

    def _key(self, declared: Declared) -> tuple[int, str]:
        return id(declared.source), declared.name

    def type_of(self, node: syntax.Type, source: Source, model: str) -> Type | None:
        """Return a type; None, with an error among the findings, if it cannot be resolved."""
        first = node.alternatives[0]
        if len(node.alternatives) == 1 and len(first.names) == 1 and first.names[0] in PRIMITIVES:
            return Type((), first.names[0], node.is_array, node.is_reference)
        try:
            traits = [self.find(source, path, model) for path in node.traits]
            models = tuple(
                self.extended(self.find(source, path, model), traits)
                for path in node.alternatives
                if path.names not in _PRIMITIVE_PATHS
            )
        except FailedError:
            return None
        primitive = next(
            (path.names[0] for path in node.alternatives if path.names in _PRIMITIVE_PATHS), ''
        )
        return Type(models, primitive, node.is_array, node.is_reference)

    # -- layers ------------------------------------------------------------------------------

    def apply(
        self,
        members: dict[str, Member],
        actions: Sequence[Action],
        this: Object | None,
        model: Model,
    ) -> None:
        """
        Apply a statement layer to the members in a model or instance.

        this: instance giving the scope for the layer's expressions; None for the instance itself.
        """
        valued: dict[tuple[str, ...], Action] = {}
        # statements about a whole precede statements about its parts
        for action in sorted(actions, key=lambda action: len(action.names)):
            if action.expression is not None:
                first = valued.setdefault(action.names, action)
                if first is not action:
                    self.library.error(
                        'duplicate',
                        action.place,
                        f'a value is given in line {first.node.line} already',
                    )
                    continue
            name = action.names[0]
            member = members.get(name)
            if (
                action.kind == 'declare'
                and len(action.names) == 1
                and (action.expression is None or not member or member.declared is not action)
            ):
                continue
            if not member:
                new = renamed_attribute(model.names, name)
                member = members.get(new)
                if not member:
                    self._not_found(members, action, model)
                    continue
                self.warn_renamed(action.place, name, new)
            changed = self._changed(member, action, this)
            if changed:
                members[member.name] = changed
            else:
                del members[member.name]

    def not_found(
        self, place: Place, name: str, model: str, known: Sequence[str], code: str
    ) -> None:
        """Add an error for a name without a member."""
        close = close_match(name, known)
        hint = f'; did you mean {close!r}?' if close else ''
        self.library.error(code, place, f'{model} has no member {brief(name)}{hint}')

    def _not_found(self, members: dict[str, Member], action: Action, model: Model) -> None:
        self.not_found(
            action.place, action.names[0], model.name, list(members), 'member-not-found'
        )

    def declare(self, members: dict[str, Member], actions: Sequence[Action]) -> None:
        """Add the members declared by a layer, without values."""
        for action in actions:
            node, name = action.node, action.names[0]
            if action.kind != 'declare' or len(action.names) > 1:
                continue
            assert isinstance(node, syntax.Declaration)
            if name not in members:
                type_ = self.type_of(node.type, action.source, action.model)
                members[name] = Member(name, type_, action, action.place, node.is_optional)
                continue
            first = members[name].declared.place
            where = f'line {first.line}' if first.file == action.source.file else first.file
            message = f'the member {brief(name)} is declared in {where} already'
            if members[name].declared.model != action.model:
                message += "; 'becomes' gives it another type, and ':' a value"
            self.library.error('duplicate', action.place, message)
            # treated as narrowed, since later statements refer to the new type
            type_ = self.type_of(node.type, action.source, action.model)
            members[name] = replace(members[name], type=type_)

    def _changed(self, member: Member, action: Action, this: Object | None) -> Member | None:
        """Return a member changed by a statement; None if the statement deletes it."""
        source, declared = action.source, member.declared.source
        # statements of the scene count, and statements of a bundle other than the declaring one,
        # except the vocabulary bundles; components of vectors belong to the member holding them
        counts = (
            self.library.is_own(source)
            or source.bundle is not declared.bundle
            and (source.namespace[0] not in _VOCABULARY and declared.namespace[:1] != ('Math',))
        )
        is_assigned = (
            member.is_assigned
            or counts
            and (action.expression is not None or len(action.names) > 1)
        )
        if len(action.names) > 1:
            layer = replace(action, names=action.names[1:])
            *before, (scope, last) = member.parts or ((None, ()),)
            if (
                member.parts
                and scope is this
                and last[0].source is source
                and (last[0].model == action.model)
            ):
                parts = (*before, (scope, (*last, layer)))
            else:
                parts = (*member.parts, (this, (layer,)))
            return replace(member, parts=parts, is_assigned=is_assigned)
        if action.kind == 'delete':
            return None
        type_ = member.type
        if action.kind in ('narrow', 'with'):
            type_ = self._narrowed(member, action)
        if action.expression is None:
            return replace(member, type=type_, place=action.place)
        return replace(
            member,
            type=type_,
            place=action.place,
            value=action,
            this=this,
            parts=(),
            is_assigned=is_assigned,
        )

    def _narrowed(self, member: Member, action: Action) -> Type | None:
        old, node = member.type, action.node
        if isinstance(node, syntax.With):
            try:
                traits = [self.find(action.source, path, action.model) for path in node.traits]
            except FailedError:
                return None
            return (
                replace(old, models=tuple(self.extended(model, traits) for model in old.models))
                if old
                else None
            )
        assert isinstance(node, syntax.Declaration)
        new = self.type_of(node.type, action.source, action.model)
        if not old or not new:
            return new
        fits = old.is_array == new.is_array and (
            old.primitive == new.primitive
            if new.primitive
            else all(any(model.is_a(wide) for wide in old.models) for model in new.models)
        )
        if not fits:
            self.library.error(
                'type-mismatch',
                action.place,
                f'{new} does not fit {old}, the declared type of {brief(member.name)}',
            )
            return None
        return replace(new, is_reference=old.is_reference or new.is_reference)


_PRIMITIVE_PATHS = tuple((name,) for name in PRIMITIVES)
