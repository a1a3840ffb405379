"""
Evaluation of a scene to objects.

Members are evaluated on demand, so an override in the scene affects everything that depends on it.
Chains of dependent members may have any length: if a chain is too long for Python's stack, its end
is evaluated first.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from pathlib import Path
from typing import Any, cast, NoReturn

from sim_bridge.description.openplx import syntax
from sim_bridge.description.openplx.bundles import Library, Source
from sim_bridge.description.openplx.expressions import Expressions
from sim_bridge.description.openplx.instances import Draft, FAILED, Instance, is_new, Scope
from sim_bridge.description.openplx.models import FailedError, Member, Model, Models
from sim_bridge.description.openplx.native import Struct
from sim_bridge.description.openplx.objects import Object, Value
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.errors import brief, close_match

# enough for some thousand mates
MOST_OBJECTS = 200_000
_MOST_OWNERS = 60
# limit on nested evaluations: Python's stack holds a thousand calls
_MOST_WAITING = 60


def read_openplx(
    source: str | Path,
    model: str | None = None,
    *,
    bundle_paths: Sequence[str | Path] = (),
    findings: Findings,
    refused: tuple[str, ...] = (),
) -> Object | None:
    """
    Evaluate a scene and return its root; None if nothing can be evaluated.

    source: file path, or a text with several lines. model: root model name; the last
    model in the file if None. bundle_paths: bundle folders, searched before OPENPLX_BUNDLE_PATH
    and the installed bundles. findings: collects every defect, and a warning for each renamed
    name. Members with errors are missing in the objects. refused: name prefixes of models useless
    to the caller; their objects may lack values.
    """
    library = Library([Path(path) for path in bundle_paths], findings)
    if not str(source).strip():
        library.error(
            'unreadable',
            Place('file'),
            'expected the path of a file, or a text of several lines; the source is empty',
        )
        return None
    is_text = isinstance(source, str) and '\n' in source
    scene = library.read_text(str(source)) if is_text else library.open_scene(Path(source))
    if not scene:
        return None
    evaluator = _Evaluator(library, scene, refused)
    try:
        return evaluator.root(model)
    except _ExhaustedError as err:
        library.error(err.code, err.place, str(err))
    return None


class _PostponedError(Exception):
    """Too many nested evaluations: this value must be evaluated first."""

    def __init__(self, instance: Instance, name: str):
        super().__init__(name)
        self.instance, self.name = instance, name


class _ExhaustedError(Exception):
    """A scene exceeds the limit on the number or depth of objects: evaluation stops."""

    def __init__(self, code: str, place: Place, message: str):
        super().__init__(message)
        self.code, self.place = code, place


class _Evaluator:
    def __init__(self, library: Library, scene: Source, refused: tuple[str, ...]):
        self._library, self._scene, self._refused = library, scene, refused
        self._models = Models(library)
        self._expressions = Expressions(self._models, self)
        self._fail = self._models.fail
        # members under evaluation, the innermost last
        self._running: dict[tuple[int, str], Instance] = {}
        library.cause = self._cause
        self._made: list[Instance] = []
        self._constants: dict[Model, Instance] = {}
        self._globals: dict[int, Instance] = {}
        self._seen: set[Model] = set()
        self._is_check = False

    def _cause(self) -> tuple[str, Place] | None:
        """Return path and place for the author's member under evaluation, if there is one."""
        for (_, name), instance in reversed(self._running.items()):
            return f'{instance.path}.{name}'.lstrip('.'), instance.written(name)
        return None

    # -- scenes ------------------------------------------------------------------------------

    def root(self, name: str | None) -> Object | None:
        """Return a model's object, if it has one; check every model in the scene."""
        root: Instance | None = None
        with contextlib.suppress(FailedError):
            chosen = self._chosen(name)
            self._check_size(chosen)
            root = self._object_of(chosen)
            self._finish()
        # models without an object may lack values, but must be correct otherwise
        self._is_check = True
        for source in self._library.own:
            for node in source.models.values():
                self._check(source, node)
        for made in self._made:
            made.close()
        return root

    def _chosen(self, name: str | None) -> Model:
        source = self._scene
        place = Place('file', file=source.file)
        names = [node.name for node in source.models.values() if node.kind == 'model']
        if name is None:
            if not names and self._library.has_errors:
                raise FailedError
            if not names:
                self._fail('no-model', place, 'the file declares no model')
            name = names[-1]
        declared = self._models.declared(source, tuple(name.split('.')), place)
        if not declared or not isinstance(declared.node, syntax.Model):
            close = close_match(name, source.models)
            known = brief(', '.join(names)) if names else 'none'
            hint = f'; did you mean {close!r}?' if close else f'; it has {known}'
            self._fail('type-not-found', place, f'the file has no model {brief(name)}{hint}')
        return self._models.of(declared, place)

    def _check_size(self, model: Model) -> None:
        """Raise _ExhaustedError if the declarations alone create too many objects."""
        sizes: dict[Model, int] = {}
        if self._size(model, sizes, 0) <= MOST_OBJECTS:
            return
        # the innermost model above the limit
        found = min(
            (each for each, size in sizes.items() if size > MOST_OBJECTS), key=sizes.__getitem__
        )
        raise _ExhaustedError(
            'too-large',
            found.source.place(found.node, found.name),
            f'{brief(found.name)} would have more than {MOST_OBJECTS} objects',
        )

    def _size(self, model: Model, sizes: dict[Model, int], depth: int) -> int:
        """Return the number of objects declared by a model. sizes: known results."""
        if model not in sizes:
            sizes[model] = 1
            # deeper objects are never created, and reported then
            for member in model.members.values() if depth < _MOST_OWNERS else ():
                kind = _declared_kind(member)
                if kind:
                    sizes[model] += self._size(kind, sizes, depth + 1)
        return sizes[model]

    def _object_of(self, model: Model) -> Instance:
        return self._instance(model, '', None, model.source.place(model.node, model.name))

    def _check(self, source: Source, node: syntax.Model) -> None:
        declared = self._library.find(source, (node.name,))
        if not declared or declared.node is not node:
            return
        try:
            model = self._models.of(declared, source.place(node, node.name))
            if model not in self._seen and model.kind != 'trait':
                self._object_of(model)
                self._finish()
        except FailedError:
            return

    def _finish(self) -> None:
        """Evaluate all members in the last created object and in the objects it owns."""
        start = len(self._made) - 1
        while start < len(self._made):
            instance = self._made[start]
            for name in tuple(instance.slots):
                self._evaluate_first(instance, name)
            start += 1

    def _evaluate_first(self, instance: Instance, name: str) -> None:
        """Evaluate a member after all members it depends on, however long the chain is."""
        chain = [(instance, name)]
        while chain:
            holder, wanted = chain[-1]
            try:
                self.value(holder, wanted)
            except _PostponedError as err:
                self._running[id(holder), wanted] = holder
                chain.append((err.instance, err.name))
                continue
            except FailedError:
                # the findings contain the reason
                pass
            chain.pop()
            if chain:
                self._running.pop((id(chain[-1][0]), chain[-1][1]), None)

    # -- objects -----------------------------------------------------------------------------

    def _instance(
        self,
        kind: Model,
        name: str,
        owner: Instance | None,
        place: Place,
        member: Member | None = None,
        preset: dict[str, Any] | None = None,
    ) -> Instance:
        """Create an object. member: gets it as value. preset: its members' values."""
        if len(self._made) >= MOST_OBJECTS:
            raise self._exhausted(
                'too-large', f'more than {MOST_OBJECTS} objects are not supported', place
            )
        instance = Instance(kind, name, owner, place, self._library.own_files)
        instance.made_for, instance.preset = member, preset or {}
        if not preset:
            self._check_owners(instance)
        self._seen.update(kind.lineage)
        slots = dict(kind.members)
        for this, actions in member.parts if member else ():
            self._models.declare(slots, actions)
            self._models.apply(slots, actions, this or owner, kind)
        instance.slots = slots
        self._made.append(instance)
        return instance

    def _exhausted(self, code: str, message: str, place: Place) -> _ExhaustedError:
        """Return the error for an exceeded limit, at a place in an author's file."""
        cause = self._cause() if place.file not in self._library.own_files else None
        return _ExhaustedError(code, cause[1] if cause else place, message)

    def _check_owners(self, instance: Instance) -> None:
        """Raise FailedError for an object containing itself."""
        member, depth = instance.made_for, 0
        held = cast('Instance | None', instance.owner)
        while held and member:
            depth += 1
            other = held.made_for
            if other and other.declared is member.declared and held.kind is instance.kind:
                self._fail('cycle', member.place, f'{instance.kind.name} contains itself')
            if depth > _MOST_OWNERS:
                raise self._exhausted(
                    'too-deep',
                    f'more than {_MOST_OWNERS} nested objects are not supported',
                    member.place,
                )
            held = cast('Instance | None', held.owner)

    def constant(self, kind: Model) -> Instance:
        """Return a constant model's only object."""
        if kind not in self._constants:
            self._constants[kind] = self._object_of(kind)
        return self._constants[kind]

    def global_value(self, source: Source, name: str) -> Any:
        """Return a global attribute's value from a file."""
        holder = self._globals.get(id(source))
        if not holder:
            block = tuple(source.globals.values())
            node = syntax.Model(1, 1, 'const', '', None, (), block)
            kind = Model('', 'const', source, node, self._models)
            kind.lineage = (kind,)
            holder = self._globals[id(source)] = self._object_of(kind)
        return self.value(holder, name)

    # -- members -----------------------------------------------------------------------------

    def value(self, instance: Instance, name: str) -> Any:
        """Return a member's value; raises FailedError if it has none."""
        values = instance.members
        if name in values:
            if values[name] is FAILED:
                raise FailedError
            return values[name]
        key = id(instance), name
        member = instance.slots[name]
        if key in self._running:
            self._fail('cycle', member.place, f'the value of {brief(name)} depends on itself')
        if self._expressions.waiting > _MOST_WAITING:
            raise _PostponedError(instance, name)
        self._running[key] = instance
        self._expressions.waiting += 1
        try:
            values[name] = self._computed(instance, member)
        except FailedError:
            values[name] = FAILED
            raise
        finally:
            self._expressions.waiting -= 1
            self._running.pop(key, None)
        return values[name]

    def _computed(self, instance: Instance, member: Member) -> Value:
        type_ = member.type
        if member.name in instance.preset and (
            member.value is instance.kind.members[member.name].value
        ):
            return self._adopted(instance.preset[member.name], instance, member)
        if member.value:
            action = member.value
            this = cast(Instance, member.this or instance)
            scope = Scope(action.source, this, action.model)
            value = self._expressions.evaluated(action.expression, scope, type_)
            if type_ is None:
                raise FailedError
            return self._adopted(
                self._expressions.fitted(value, type_, action.place), instance, member
            )
        if type_ is None:
            raise FailedError
        if member.is_optional and not member.parts:
            return None
        kind = _declared_kind(member)
        if kind is None:
            self._missing(instance, member)
        if kind.kind == 'const':
            return self._adopted(self.constant(kind), instance, member)
        return self._instance(kind, member.name, instance, member.place, member)

    def _is_refused(self, instance: Instance) -> bool:
        """Whether an object, or one of its owners, has a refused model."""
        held: Object | None = instance
        while held:
            names = held.model.name, *held.model.bases
            if any(name.startswith(self._refused) for name in names):
                return True
            held = held.owner
        return False

    def _missing(self, instance: Instance, member: Member) -> NoReturn:
        """Report a member without a value, at the object created by the scene's author."""
        if self._is_check or self._library.lacks_statements or self._is_refused(instance):
            raise FailedError
        own = self._library.own_files
        held: Object = instance
        while held.owner and held.place.file not in own:
            held = held.owner
        place = held.place
        if held is instance and not held.owner and member.place.file in own:
            place = member.place
        path = f'{instance.path}.{member.name}' if instance.path else member.name
        self._fail(
            'missing-assignment',
            place,
            f'{brief(path)} of type {member.type} has no value; {instance.kind.name} needs one',
        )

    def _adopted(self, value: Any, instance: Instance, member: Member) -> Value:
        """Return a value as a member's value: new objects become the instance's own."""
        if is_new(value):
            return self._own(value, instance, member, member.name)
        if member.parts:
            action = member.parts[0][1][0]
            self._fail(
                'reference-read-only',
                action.place,
                f'{brief(member.name)} is a reference to an object elsewhere, whose members '
                'cannot be assigned here',
            )
        if isinstance(value, tuple):
            return tuple(
                self._own(item, instance, member, f'{member.name}[{index}]')
                if is_new(item)
                else item
                for index, item in enumerate(value)
            )
        return cast(Value, value)

    def _own(
        self, value: Struct | Draft, instance: Instance, member: Member, name: str
    ) -> Instance:
        draft = self._expressions.draft(value)
        return self._instance(draft.kind, name, instance, member.place, member, draft.values)


def _declared_kind(member: Member) -> Model | None:
    """Return the model for the object created by a declaration alone; None if it creates none."""
    type_ = member.type
    if member.value or member.is_optional and not member.parts:
        return None
    if not type_ or type_.is_array or type_.primitive or len(type_.models) != 1:
        return None
    kind = type_.models[0]
    is_made = kind.kind == 'model' and not type_.is_reference
    return kind if is_made or kind.kind == 'const' else None
