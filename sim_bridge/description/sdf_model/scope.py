"""
Frames in a model or world: names, `relative_to`, `attached_to`, nested and merged models.

All poses are poses at loading. Nested models' parts have names like `model::part`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sim_bridge.description.model import Pose
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf_model.document import (
    ENTITIES,
    Entity,
    entity_of,
    Library,
    MOST_LEVELS,
)
from sim_bridge.description.sdf_model.tags import Tags
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text

WORLD = 'world'
MODEL = '__model__'
SEPARATOR = '::'
# names of the scope's own frame
_OWN = ('', MODEL)
_LINK, _JOINT, _FRAME, _NESTED = 'link', 'joint', 'frame', 'model'


@dataclass
class _Frame:
    """
    Frame as written.

    kind: element tag. pose: relative to frame `base`, '' for the scope's own frame.
    attached: carrying frame.
    """

    kind: str
    pose: Pose
    base: str
    attached: str
    place: Place


@dataclass(eq=False)
class Scope:
    """
    Model or world, with the frames directly inside it and its nested models.

    entity: its element; for a world, the world's. prefix: before the names of its parts in the
    outermost model: '' or ending in '::'. models: nested models by name; merged ones too. others:
    actors and lights. canonical: link carrying the scope's frame, as named in this scope, ''
    for none. is_world: whether nested models are robots of their own: names of links are complete
    within a robot, and `body_of` puts the robot's name before them.
    """

    entity: Entity
    prefix: str
    findings: Findings
    frames: dict[str, _Frame] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    others: list[Entity] = field(default_factory=list)
    canonical: str = ''
    is_world: bool = False
    _known: dict[str, Pose] = field(default_factory=dict)
    _pending: set[str] = field(default_factory=set)

    # --- names -----------------------------------------------------------------------------------

    @property
    def merged(self) -> Iterator[tuple[str, Scope]]:
        """Merged models, with their frames' names."""
        return ((n, scope) for n, scope in self.models.items() if scope.entity.is_merged)

    def all_models(self) -> Iterator[Scope]:
        """Yield this scope and all nested models."""
        pending = [self]
        while pending:
            scope = pending.pop()
            yield scope
            pending.extend(reversed(scope.models.values()))

    def has(self, name: str) -> bool:
        """Return whether a frame here has this name."""
        if name in _OWN or name in self.frames:
            return True
        if any(scope.has(name) for _, scope in self.merged):
            return True
        outer, _, inner = name.partition(SEPARATOR)
        return bool(inner) and outer in self.models and self.models[outer].has(inner)

    # --- poses -----------------------------------------------------------------------------------

    def pose_of(self, name: str) -> Pose:
        """Return a frame's pose in the scope's own frame; the own frame if it is unknown."""
        chain: list[str] = []
        while name in self.frames and name not in self._known:
            if name in self._pending:
                place = self.frames[name].place
                message = 'the pose is relative to itself, through other frames'
                self.findings.error('frame-cycle', place.child('pose', place.line), message)
                self._known[name] = Pose()
                break
            self._pending.add(name)
            chain.append(name)
            name = self.frames[name].base
        pose = self._known[name] if name in self._known else self._outside(name)
        for each in reversed(chain):
            pose = self._known[each] = pose @ self.frames[each].pose
        self._pending.difference_update(chain)
        return pose

    def _outside(self, name: str) -> Pose:
        """Return the pose for a nested model's frame, or for the scope itself."""
        if name in _OWN:
            return Pose()
        for own, scope in self.merged:
            if scope.has(name):
                return self.pose_of(own) @ scope.pose_of(name)
        outer, _, inner = name.partition(SEPARATOR)
        if inner and outer in self.models:
            return self.pose_of(outer) @ self.models[outer].pose_of(inner)
        return Pose()

    def own_pose(self) -> tuple[Pose, str]:
        """Return the scope's pose as written, and its reference frame."""
        entity = self.entity
        pose, base = Tags(entity.posed, entity.place, self.findings).pose()
        if entity.placement:
            self.check(entity.placement, entity.place, 'placement_frame')
            pose = pose @ self.pose_of(entity.placement).inverse
        return pose, base

    def placed(self, tags: Tags, usual: str) -> Pose:
        """
        Return the pose of an element in frame `usual`, from its `<pose>`.

        Without `relative_to` it is the pose as written.
        """
        pose, base = tags.pose()
        if not base or base == usual:
            return pose
        place = tags.place.child('pose', tags.node.line)
        self.check(base, place, 'relative_to', tags.findings)
        return self.pose_of(usual).inverse @ self.pose_of(base) @ pose

    def check(
        self, name: str, place: Place, attribute: str, findings: Findings | None = None
    ) -> None:
        """
        Note an error for an unknown frame, among the given findings or the scope's.

        Inside a model only the parent of a joint may be the world (SDF's pose frame semantics).
        """
        if self.has(name) or (name == WORLD and self.is_world):
            return
        message = unknown('frame', name, [*self.frames, *self.models, MODEL])
        if name == WORLD:
            message = 'inside a model only the parent of a joint can be the world'
        found = self.findings if findings is None else findings
        found.error('unknown-frame', place, message, attribute, name)

    # --- links -----------------------------------------------------------------------------------

    def body_of(self, name: str) -> str | None:
        """Return the outermost name for a frame's link; None if there is none."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            if name == WORLD and name not in self.frames:
                return WORLD
            if name in _OWN:
                if not self.canonical:
                    return None
                name = self.canonical
                continue
            frame = self.frames.get(name)
            if frame is None or frame.kind == _NESTED:
                return self._body_inside(name)
            if frame.kind == _LINK:
                return self.prefix + name
            name = frame.attached
        return None

    def _body_inside(self, name: str) -> str | None:
        if name in self.models:
            return self._within(name, self.models[name].body_of(''))
        for _, scope in self.merged:
            if scope.has(name):
                return scope.body_of(name)
        outer, _, inner = name.partition(SEPARATOR)
        if not inner or outer not in self.models:
            return None
        return self._within(outer, self.models[outer].body_of(inner))

    def _within(self, model: str, link: str | None) -> str | None:
        is_named = self.is_world and link not in (None, WORLD)
        return f'{model}{SEPARATOR}{link}' if is_named else link


def build_scope(
    entity: Entity, library: Library, prefix: str = '', level: int = 0, is_world: bool = False
) -> Scope:
    """
    Return the frames in a model or world, and in its nested and included models.

    prefix: before its parts' names. level: count of outer models.
    """
    scope = Scope(entity, prefix, library.findings, is_world=is_world)
    tags = Tags(entity.element, entity.place, library.findings)
    for node in entity.element:
        if node.tag in (_LINK, _JOINT, _FRAME):
            _add(scope, node, tags.of(node))
    for nested in nested_entities(entity, library, level):
        if nested.element.tag == _NESTED:
            _add_nested(scope, nested, library, level)
        elif is_world:
            scope.others.append(nested)
        else:
            message = 'is not simulated inside a model, left out'
            library.findings.warning('not-simulated', nested.place, message)
    scope.canonical = entity.element.get('canonical_link') or _first_link(scope)
    if scope.canonical and scope.body_of(scope.canonical) is None:
        _note_unknown_canonical(scope)
    for frame in scope.frames.values():
        # children and carrying frames are checked elsewhere
        if frame.base not in _OWN and frame.base != frame.attached:
            scope.check(frame.base, frame.place.child('pose', frame.place.line), 'relative_to')
        if frame.kind == _FRAME and frame.attached not in _OWN:
            scope.check(frame.attached, frame.place, 'attached_to')
    return scope


def _note_unknown_canonical(scope: Scope) -> None:
    """Note an error for an unknown canonical link."""
    links = [name for name, frame in scope.frames.items() if frame.kind == _LINK]
    if scope.entity.element.get('canonical_link'):
        message = unknown('link', scope.canonical, [*links, *scope.models])
        place = scope.entity.place
        scope.findings.error('unknown-link', place, message, 'canonical_link', scope.canonical)


def _first_link(scope: Scope) -> str:
    """Return the first own or merged link; else the first nested model; else ''."""
    links = [name for name, frame in scope.frames.items() if frame.kind == _LINK]
    merged = [name for name, _ in scope.merged]
    before = [node.tag for node in scope.entity.element if node.tag in (_LINK, 'include')]
    if merged and (not links or before[0] == 'include'):
        return merged[0]
    return next(iter([*links, *scope.models]), '')


def nested_entities(entity: Entity, library: Library, level: int) -> Iterator[Entity]:
    """Yield models, actors and lights directly inside an entity, also included ones, in order."""
    for node in entity.element:
        if node.tag == 'include':
            found = library.included(node, entity.file, level + 1)
            if found is not None:
                yield found
        elif node.tag in ENTITIES:
            yield entity_of(node, entity.file)


def _add(scope: Scope, node: Element, tags: Tags) -> None:
    name = node.get('name')
    tags.place = Place(node.tag, name, node.line)
    if not name:
        scope.findings.error('missing-attribute', tags.place, 'missing', 'name')
        return
    if name in scope.frames and not _replaces(scope.frames[name], node, tags):
        return
    pose, base = tags.pose()
    attached = ''
    if node.tag == _JOINT:
        child = node.find('child')
        attached = '' if child is None else element_text(child) or child.get('link')
        base = base or attached
    elif node.tag == _FRAME:
        attached = node.get('attached_to')
        base = base or attached
    scope.frames[name] = _Frame(node.tag, pose, base, attached, tags.place)


def _replaces(known: _Frame, node: Element, tags: Tags) -> bool:
    """Return whether a second frame with a name counts; note the defect."""
    message = f'line {known.place.line} has a frame with this name'
    if known.kind == node.tag:
        tags.findings.error('duplicate-name', tags.place, message, 'name', node.get('name'))
        return False
    # before SDF 1.7, links and joints had their own names
    message += '; the frame is the link' if _LINK in (known.kind, node.tag) else ''
    tags.findings.warning('duplicate-name', tags.place, message, 'name', node.get('name'))
    return node.tag == _LINK


def _add_nested(scope: Scope, entity: Entity, library: Library, level: int) -> None:
    place, name = entity.place, entity.name
    if level >= MOST_LEVELS:
        message = f'left out: more than {MOST_LEVELS} models within each other'
        library.findings.warning('not-simulated', place, message)
        return
    if entity.is_merged:
        name = f'_merged__{name}__model__'
    prefix = scope.prefix if entity.is_merged else f'{scope.prefix}{name}{SEPARATOR}'
    prefix = '' if scope.is_world else prefix
    if not name or name in scope.frames:
        message = 'another frame has this name' if name else 'missing'
        # before SDF 1.7 models and frames had their own names
        is_old = bool(name) and scope.entity.file.version < (1, 7) and name not in scope.models
        report = library.findings.warning if is_old else library.findings.error
        report('duplicate-name', place, message, 'name', name)
        if not is_old:
            return
    nested = build_scope(entity, library, prefix, level + 1)
    pose, base = nested.own_pose()
    scope.models[name] = nested
    scope.frames[name] = _Frame(_NESTED, pose, base, name, place)
