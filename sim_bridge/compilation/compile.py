"""
From a robot description to the arrays of `engine.Model`.

Links that are fixed to each other become one body, unless a force-torque sensor sits on the joint
between them: such a joint stays, welded, so that its reaction can be measured. Every link keeps
its place on its body. A joint of several axes becomes bodies without mass, see `stages`; a
floating joint starts a tree of its own, since nothing passes through it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sim_bridge.compilation.collisions import LinkShape
from sim_bridge.description.model import (
    Inertial,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    Mimic,
    Mount,
    RobotDescription,
    SensorKind,
)
from sim_bridge.description.stages import axis_frame, coordinate_counts, JointStage, stages_of
from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.placed import Placed

_WORLD = 'world'
_STOP_ERP = 0.2  # share of the overshoot of a rigid stop that one step corrects


@dataclass(frozen=True)
class Placement:
    """
    Where a link is.

    rotation, position: its frame, (3, 3) and (3,) [m], in the frame of body number `body`.
    """

    body: int
    rotation: np.ndarray
    position: np.ndarray


@dataclass(frozen=True, eq=False)
class BodyShape:
    """
    A shape that collides, on a body.

    link: that carries it. body: its number. rotation, position: the shape's frame in the body's,
    (3, 3) and (3,) [m].
    """

    link: str
    placed: Placed
    body: int
    rotation: np.ndarray
    position: np.ndarray


@dataclass(frozen=True)
class Blueprint:
    """
    A compiled robot.

    model: its arrays, numbered from 0, without gravity.
    fixed_base: whether the root link is welded to the world.
    mount: the joint that the root link hangs on, if it is neither welded nor free. Its bodies come
        first, the first without a parent; it is none of `joint_names`, but has coordinates.
    links: where each link is.
    joint_names: the one-axis joints in the order of the description; their coordinates are
        consecutive, from velocity `first_v` and position `first_q`.
    joint_v, joint_q: first velocity and position index of every joint that moves.
    joint_body: the body that hangs on each joint that is not merged away.
    shapes: what collides.
    """

    model: engine.Model
    fixed_base: bool
    links: dict[str, Placement]
    joint_names: tuple[str, ...]
    first_v: int
    first_q: int
    mount: Mount | None = None
    joint_v: dict[str, int] = field(default_factory=dict)
    joint_q: dict[str, int] = field(default_factory=dict)
    joint_body: dict[str, int] = field(default_factory=dict)
    shapes: tuple[BodyShape, ...] = ()


def compile_robot(
    description: RobotDescription,
    fixed_base: bool | None = None,
    shapes: Iterable[LinkShape] = (),
    is_kinematic: bool = False,
    mount: Mount | None = None,
) -> Blueprint:
    """
    Compile a description.

    fixed_base: weld the root link to the world; None: only where the root link is called 'world'.
    shapes: what of its links collides. is_kinematic: the base moves as it is told to, whatever
    pushes it. mount: the joint that the root link hangs on; then it is neither fixed nor free.
    Raises InvalidValueError where the base is free but nothing fixed to it has mass, and for
    joints whose parameters do not go together.
    """
    if fixed_base is None:
        fixed_base = description.root == _WORLD
    fixed_base = fixed_base or not description.links
    base = engine.GROUND if fixed_base else engine.KINEMATIC if is_kinematic else engine.FREE
    return _Compiler(description, base, shapes, mount).compile()


class _Compiler:
    """The bodies made so far, in parent-first order."""

    def __init__(
        self, description: RobotDescription, base: int, shapes: Iterable[LinkShape],
        mount: Mount | None,
    ):
        self._description = description
        self._base = base
        self._mount = mount
        self._fixed_base = base == engine.GROUND and mount is None
        self._shapes = tuple(shapes)
        self._children: dict[str, list[JointDescription]] = {
            name: [] for name in description.links}
        for joint in description.joints.values():
            self._children[joint.parent].append(joint)
        self._measured = {
            sensor.joint for sensor in description.sensors
            if sensor.kind is SensorKind.FORCE_TORQUE}
        self._number_coordinates()
        self._parent: list[int] = []
        self._root: list[int] = []
        self._kind: list[int] = []
        self._q_index: list[int] = []
        self._v_index: list[int] = []
        self._frame: list[np.ndarray] = []
        self._masses: list[list[tuple[Inertial, np.ndarray, np.ndarray]]] = []
        self._links: dict[str, Placement] = {}
        self._joint_body: dict[str, int] = {}

    def _number_coordinates(self) -> None:
        """
        Assign the coordinates in a fixed order.

        A free base or what takes its place, the one-axis joints as described, then the others.
        """
        joints = self._description.joints.values()
        one_axis = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
        single = [joint for joint in joints if joint.type in one_axis]
        others = [joint for joint in joints if joint.type not in (*one_axis, JointType.FIXED)]
        self._joint_names = tuple(joint.name for joint in single)
        self._joint_v: dict[str, int] = {}
        self._joint_q: dict[str, int] = {}
        self._stages: dict[str, tuple[JointStage, ...]] = {}
        q, v = (0, 0) if self._fixed_base else (7, 6)
        if self._mount is not None:
            q, v = self._number(self._mount.joint, 0, 0)
        self._first_q, self._first_v = q, v
        for joint in [*single, *others]:
            q, v = self._number(joint, q, v)
        self._nv = v

    def _number(self, joint: JointDescription, q: int, v: int) -> tuple[int, int]:
        """Give a joint the coordinates from q and v on; return the next ones."""
        self._joint_v[joint.name], self._joint_q[joint.name] = v, q
        self._stages[joint.name] = stages_of(joint)
        nq, nv = coordinate_counts(joint)
        return q + nq, v + nv

    def compile(self) -> Blueprint:
        # depth first without recursion: chains may be deeper than Python's stack
        pending = []
        if self._description.root:
            pending.append((self._description.root, *self._begin()))
        while pending:
            link, body, rotation, position = pending.pop()
            self._place(link, body, rotation, position)
            for joint in reversed(self._children[link]):
                pending.append((joint.child, *self._attach(joint, body, rotation, position)))
        model = self._model()
        self._check_free_bodies(model)
        return Blueprint(model, self._fixed_base, self._links, self._joint_names, self._first_v,
                         self._first_q, self._mount, self._joint_v, self._joint_q,
                         self._joint_body, tuple(map(self._on_body, self._shapes)))

    def _begin(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Add the body of the root link; return it and the link's frame on it."""
        if self._mount is None:
            base = self._add_body(-1, self._base, np.eye(3), np.zeros(3), 0, 0)
            return base, np.eye(3), np.zeros(3)
        joint, child = self._mount.joint, self._mount.child
        place = f'robot {self._description.name!r}'
        if joint.type is JointType.FLOATING:
            raise InvalidValueError(
                'type of the mount', joint.type.value, 'that of a joint that holds something',
                place)
        if joint.name in self._description.joints:
            raise InvalidValueError(
                'name of the mount', joint.name, 'one that none of its joints has', place)
        # a fixed one stays a joint: it connects to a body of another model
        self._measured.add(joint.name)
        body, rotation, position = self._attach(joint, -1, np.eye(3), np.zeros(3))
        return body, rotation @ child.rotation, position + rotation @ child.position

    def _on_body(self, shape: LinkShape) -> BodyShape:
        """Return a shape with its pose on the body of its link."""
        link = self._links[shape.link]
        position = link.position + link.rotation @ np.array(shape.placed.position)
        rotation = link.rotation @ shape.placed.rotation
        return BodyShape(shape.link, shape.placed, link.body, rotation, position)

    def _check_free_bodies(self, model: engine.Model) -> None:
        """Raise InvalidValueError for free bodies without mass or inertia."""
        is_free = np.isin(model.kind, (engine.FREE, engine.FREE_SINGLE))
        for body in np.flatnonzero(is_free).tolist():
            # welded bodies move with it
            moving, masses = [body], list(self._masses[body])
            for other in range(body + 1, len(model.parent)):
                if model.parent[other] in moving and model.kind[other] == engine.WELD:
                    moving.append(other)
                    masses += self._masses[other]
            mass, inertia = _combine(masses)[0], _combine(masses)[4:]
            link = next(name for name, place in self._links.items() if place.body == body)
            place = f'robot {self._description.name!r}, link {link!r}'
            if mass <= 0.0:
                raise InvalidValueError(
                    'mass of the free body', float(mass),
                    'a positive mass on this link or on a link fixed to it, or fixed_base=True',
                    place)
            alone = not np.any(np.isin(model.parent, moving) & (model.kind != engine.WELD))
            matrix = np.zeros((3, 3))
            matrix[np.triu_indices(3)] = inertia
            if alone and np.linalg.eigvalsh(matrix, UPLO='U')[0] <= 0.0:
                raise InvalidValueError(
                    'inertia of the free body', tuple(inertia.tolist()),
                    'a positive definite one (ixx ixy ixz iyy iyz izz, kg m²) on this link or on '
                    'a link fixed to it, or fixed_base=True',
                    place)

    def _add_body(
        self, parent: int, kind: int, rotation: np.ndarray, position: np.ndarray, q: int, v: int
    ) -> int:
        body = len(self._parent)
        self._parent.append(parent)
        self._root.append(body if parent < 0 else self._root[parent])
        self._kind.append(kind)
        self._q_index.append(q)
        self._v_index.append(v)
        self._frame.append(np.concatenate([rotation.ravel(), position]))
        self._masses.append([])
        return body

    def _place(self, link: str, body: int, rotation: np.ndarray, position: np.ndarray) -> None:
        self._links[link] = Placement(body, rotation, position)
        inertial = self._description.links[link].inertial
        if inertial is not None:
            self._masses[body].append((inertial, rotation, position))

    def _attach(
        self, joint: JointDescription, body: int, rotation: np.ndarray, position: np.ndarray
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """Add the bodies of a joint; return the child link's body and its frame there."""
        position = position + rotation @ joint.origin.position
        rotation = rotation @ joint.origin.rotation
        if joint.type is JointType.FIXED:
            if joint.name not in self._measured:
                return body, rotation, position
            child = self._add_body(body, engine.WELD, rotation, position, 0, 0)
            self._joint_body[joint.name] = child
            return child, np.eye(3), np.zeros(3)
        q, v = self._joint_q[joint.name], self._joint_v[joint.name]
        if joint.type is JointType.FLOATING:
            child = self._add_body(-1, engine.FREE, np.eye(3), np.zeros(3), q, v)
            self._joint_body[joint.name] = child
            return child, np.eye(3), np.zeros(3)
        for stage in self._stages[joint.name]:
            to_axis = axis_frame(stage.axis)
            at_q = q if joint.type is JointType.BALL else q + stage.coordinate
            body = self._add_body(
                body, stage.kind, rotation @ to_axis, position, at_q, v + stage.coordinate)
            # from here on in the stage's frame
            rotation, position = to_axis.T, np.zeros(3)
        self._joint_body[joint.name] = body
        return body, rotation, position

    def _model(self) -> engine.Model:
        passive = np.zeros((self._nv, 5))
        limits = np.tile([-np.inf, np.inf, np.inf, np.inf], (self._nv, 1))
        motor = np.tile([0.0, 0.0, np.inf], (self._nv, 1))
        stop = np.tile([0.0, _STOP_ERP, 0.0], (self._nv, 1))
        mimic, mimic_law = [], []
        for name, stages in self._stages.items():
            for stage in stages:
                v = self._joint_v[name] + stage.coordinate
                _set_passive(passive[v], stage.dynamics)
                _set_limits(limits[v], stage.limits)
        for name in self._joint_names:
            joint = self._description.joints[name]
            if joint.mimic is not None:
                v, master = self._joint_v[name], self._joint_v[joint.mimic.joint]
                mimic.append((v, master))
                mimic_law.append((joint.mimic.multiplier, joint.mimic.offset))
                _move_to_master(passive, limits, v, master, joint.mimic)
        q_of_v = np.full(self._nv, -1, np.int64)
        kinds = list(self._kind)
        for body, kind in enumerate(kinds):
            if kind in (engine.REVOLUTE, engine.PRISMATIC):
                q_of_v[self._v_index[body]] = self._q_index[body]
            elif kind == engine.FREE and body not in self._parent:
                kinds[body] = engine.FREE_SINGLE
        return engine.Model(
            parent=np.array(self._parent, np.int64),
            root=np.array(self._root, np.int64),
            kind=np.array(kinds, np.int64),
            q_index=np.array(self._q_index, np.int64),
            v_index=np.array(self._v_index, np.int64),
            frame=np.array(self._frame).reshape(-1, 12),
            inertia=np.array([_combine(masses) for masses in self._masses]).reshape(-1, 10),
            passive=passive,
            limits=limits,
            motor=motor,
            stop=stop,
            mimic=np.array(mimic, np.int64).reshape(-1, 2),
            mimic_law=np.array(mimic_law, float).reshape(-1, 2),
            q_of_v=q_of_v,
            weight=np.ones(len(self._parent)),
            medium_body=np.zeros(0, np.int64),
            medium=np.zeros((0, engine.MEDIUM_SIZE)),
            gravity=np.zeros(3),
        )


def _set_passive(row: np.ndarray, dynamics: JointDynamics) -> None:
    row[engine.ARMATURE], row[engine.DAMPING] = dynamics.armature, dynamics.damping
    row[engine.STIFFNESS], row[engine.REFERENCE] = dynamics.stiffness, dynamics.reference
    row[engine.FRICTION] = dynamics.friction


def _set_limits(row: np.ndarray, limits: JointLimits) -> None:
    row[engine.LOWER], row[engine.UPPER] = limits.lower, limits.upper
    row[engine.EFFORT], row[engine.VELOCITY] = limits.effort, limits.velocity


def _move_to_master(
    passive: np.ndarray, limits: np.ndarray, v: int, master: int, law: Mimic
) -> None:
    """
    Transfer a mimic joint's stops, friction and speed limit to the joint it follows.

    Stops that contradict those of the other are dropped, as reported when the file was read.
    """
    ends = law.range_of_followed(limits[v, engine.LOWER], limits[v, engine.UPPER])
    lower = max(limits[master, engine.LOWER], ends[0])
    upper = min(limits[master, engine.UPPER], ends[1])
    if lower <= upper:
        limits[master, engine.LOWER], limits[master, engine.UPPER] = lower, upper
    passive[master, engine.FRICTION] += abs(law.multiplier) * passive[v, engine.FRICTION]
    limits[v, engine.LOWER], limits[v, engine.UPPER] = -np.inf, np.inf
    passive[v, engine.FRICTION] = 0.0
    if law.multiplier != 0.0:
        limits[master, engine.VELOCITY] = min(
            limits[master, engine.VELOCITY], limits[v, engine.VELOCITY] / abs(law.multiplier))


def _combine(masses: list[tuple[Inertial, np.ndarray, np.ndarray]]) -> np.ndarray:
    """
    Return mass, centre of mass and inertia about it of several inertials.

    masses: each with its link's rotation and position in the body's frame.
    """
    total, moment = 0.0, np.zeros(3)
    parts = []
    for inertial, rotation, position in masses:
        com = position + rotation @ inertial.pose.position
        axes = rotation @ inertial.pose.rotation
        parts.append((inertial.mass, com, axes @ inertial.inertia @ axes.T))
        total += inertial.mass
        moment += inertial.mass * com
    center = moment / total if total > 0.0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for mass, com, own in parts:
        r = com - center
        inertia += own + mass * (r @ r * np.eye(3) - np.outer(r, r))
    upper = inertia[np.triu_indices(3)]
    return np.concatenate([[total], center, upper])
