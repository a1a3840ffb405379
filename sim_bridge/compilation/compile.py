"""
From a robot description to the arrays of `engine.Model`.

Links fixed to each other become one body, unless a force-torque sensor sits on the joint between
them: this joint is kept as a weld, so that its reaction can be measured. Every link keeps its
frame on its body. A joint with several axes becomes a chain with massless bodies, see `stages`. A
floating joint starts a new tree, since it transmits no force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sim_bridge.compilation.actuators import actuator_arrays, Numbers
from sim_bridge.compilation.collisions import LinkShape
from sim_bridge.description.model import (
    Inertial,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    Mimic,
    RobotDescription,
)
from sim_bridge.description.stages import axis_frame, coordinate_counts, JointStage, stages_of
from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.placed import Placed

_STOP_ERP = 0.2  # share of a rigid stop's overshoot corrected in one step
# one row of Model's limits, motor and stop for an axis without forces
_FREE_LIMITS = np.array([[-np.inf, np.inf, np.inf, np.inf, -np.inf]])
_FREE_MOTOR = np.array([[0.0, 0.0, np.inf, -np.inf]])
_FREE_STOP = np.array([[0.0, _STOP_ERP, 0.0]])
_UPPER = np.triu_indices(3)
_IDENTITY = np.eye(3)


@dataclass(frozen=True)
class Placement:
    """
    Link frame on its body.

    rotation, position: (3, 3) and (3,) [m], in the frame of body number `body`.
    """

    body: int
    rotation: np.ndarray
    position: np.ndarray

    def placement_of(self, rotation: np.ndarray, position: np.ndarray) -> Placement:
        """Return a frame on the same body, given relative to this one; (3, 3) and (3,) [m]."""
        return Placement(
            self.body, self.rotation @ rotation, self.position + self.rotation @ position
        )


@dataclass(frozen=True, eq=False)
class BodyShape:
    """
    Collision shape on a body.

    link: name of its link. body: body number. rotation, position: shape frame in the body frame,
    (3, 3) and (3,) [m]. direction: friction direction, zero for any, in the axes of body
    direction_body, or in the shape's axes if direction_body is -1.
    """

    link: str
    placed: Placed
    body: int
    rotation: np.ndarray
    position: np.ndarray
    direction: Sequence[float]
    direction_body: int


@dataclass(frozen=True)
class Blueprint:
    """
    Compiled robot.

    model: arrays numbered from 0, without gravity. fixed_base: whether the root link is welded to
    the world. mount: joint carrying the root link, if the link is neither welded nor free. The
    mount's bodies come first; the first of them has no parent in `model`. The mount has
    coordinates, but is not in `joint_names`. links: placement by link name. joint_names: one-axis
    joints in description order; their coordinates are consecutive, beginning at velocity `first_v`
    and position `first_q`. joint_v, joint_q: first velocity and position index of every moving
    joint. joint_body: body carried by each joint that is not merged away. shapes: collision
    shapes.
    """

    model: engine.Model
    fixed_base: bool
    links: dict[str, Placement]
    joint_names: tuple[str, ...]
    first_v: int
    first_q: int
    mount: JointDescription | None = None
    joint_v: dict[str, int] = field(default_factory=dict)
    joint_q: dict[str, int] = field(default_factory=dict)
    joint_body: dict[str, int] = field(default_factory=dict)
    shapes: tuple[BodyShape, ...] = ()

    @cached_property
    def lockable_v(self) -> np.ndarray:
        """Velocity coordinates that a lock holds; mimic joints follow the locked joints."""
        kind, own = self.model.kind, self.model
        with_axis = own.v_index[(kind > engine.WELD) & (kind < engine.FREE)]
        return np.setdiff1d(with_axis, own.mimic[:, 0])


def compile_robot(
    description: RobotDescription,
    fixed_base: bool | None = None,
    shapes: Iterable[LinkShape] = (),
    is_kinematic: bool = False,
    mount: JointDescription | None = None,
) -> Blueprint:
    """
    Compile a description.

    fixed_base: weld the root link to the world; None: only if the root link is named 'world'.
    shapes: collision shapes on its links. is_kinematic: the base follows commands, unaffected by
    forces. mount: joint carrying the root link; the base is then neither fixed nor free.
    Raises InvalidValueError if the base is free but nothing fixed to it has mass, and for
    contradictory joint parameters.
    """
    if fixed_base is None:
        fixed_base = description.fixed_base
    fixed_base = fixed_base or not description.links
    base = engine.GROUND if fixed_base else engine.KINEMATIC if is_kinematic else engine.FREE
    return _Compiler(description, base, shapes, mount).compile()


def free_axes(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of Model's passive, limits, motor and stop for axes without forces."""
    return (
        np.zeros((count, engine.PASSIVE_SIZE)),
        _FREE_LIMITS.repeat(count, axis=0),
        _FREE_MOTOR.repeat(count, axis=0),
        _FREE_STOP.repeat(count, axis=0),
    )


class _Body(NamedTuple):
    """Body as in `engine.Model`. masses: inertials, with their links' placements on the body."""

    parent: int
    root: int
    kind: int
    q_index: int
    v_index: int
    frame: np.ndarray
    masses: list[tuple[Inertial, Placement]]


class _Compiler:
    """Bodies made so far, in parent-first order."""

    def __init__(
        self,
        description: RobotDescription,
        base: int,
        shapes: Iterable[LinkShape],
        mount: JointDescription | None,
    ):
        self._description = description
        self._base = base
        self._mount = mount
        self._fixed_base = base == engine.GROUND and mount is None
        self._shapes = tuple(shapes)
        self._children: dict[str, list[JointDescription]] = {
            name: [] for name in description.links
        }
        for joint in description.joints.values():
            self._children[joint.parent].append(joint)
        self._measured = {sensor.joint for sensor in description.sensors if sensor.kind.on_joint}
        self._number_coordinates()
        self._bodies: list[_Body] = []
        self._links: dict[str, Placement] = {}
        self._joint_body: dict[str, int] = {}

    def _number_coordinates(self) -> None:
        """
        Assign the coordinates in a fixed order.

        Order: free base or mount, one-axis joints in description order, other joints.
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
            q, v = self._number(self._mount, 0, 0)
        self._first_q, self._first_v = q, v
        for joint in [*single, *others]:
            q, v = self._number(joint, q, v)
        self._nv = v

    def _number(self, joint: JointDescription, q: int, v: int) -> tuple[int, int]:
        """Assign the coordinates from q and v on to a joint; return the next free q and v."""
        self._joint_v[joint.name], self._joint_q[joint.name] = v, q
        self._stages[joint.name] = stages_of(joint)
        nq, nv = coordinate_counts(joint)
        return q + nq, v + nv

    def compile(self) -> Blueprint:
        # depth first without recursion: chains may be deeper than Python's call stack
        pending = []
        if self._description.root:
            pending.append((self._description.root, self._begin()))
        while pending:
            link, place = pending.pop()
            self._links[link] = place
            inertial = self._description.links[link].inertial
            if inertial is not None:
                self._bodies[place.body].masses.append((inertial, place))
            for joint in reversed(self._children[link]):
                pending.append((joint.child, self._attach(joint, place)))
        model = self._model()
        self._check_free_bodies(model)
        shapes = tuple(on_body(shape, self._links) for shape in self._shapes)
        return Blueprint(
            model,
            self._fixed_base,
            self._links,
            self._joint_names,
            self._first_v,
            self._first_q,
            self._mount,
            self._joint_v,
            self._joint_q,
            self._joint_body,
            shapes,
        )

    def _begin(self) -> Placement:
        """Add the root link's body; return the link's placement on it."""
        nowhere = Placement(-1, np.eye(3), np.zeros(3))
        if self._mount is None:
            return self._add_body(nowhere, self._base, 0, 0)
        joint = self._mount
        place = f'robot {self._description.name!r}'
        if joint.type is JointType.FLOATING:
            raise InvalidValueError(
                'type of the mount',
                joint.type.value,
                'a joint type that holds the root link',
                place,
            )
        if joint.name in self._description.joints:
            raise InvalidValueError(
                'name of the mount', joint.name, 'a name not used by its joints', place
            )
        # a fixed mount stays a joint: it connects to a body in another model
        self._measured.add(joint.name)
        return self._attach(joint, nowhere)

    def _check_free_bodies(self, model: engine.Model) -> None:
        """Raise InvalidValueError for free bodies without mass or inertia."""
        parents, kinds = model.parent.tolist(), model.kind.tolist()
        for body, kind in enumerate(kinds):
            if kind not in (engine.FREE, engine.FREE_SINGLE):
                continue
            # welded bodies move with it
            moving, masses = {body}, list(self._bodies[body].masses)
            for other in range(body + 1, len(parents)):
                if parents[other] in moving and kinds[other] == engine.WELD:
                    moving.add(other)
                    masses += self._bodies[other].masses
            place = self._place_of(body)
            own = model.inertia[body] if len(moving) == 1 else combine(masses, place)
            mass, inertia = own[0], own[4:]
            if mass <= 0.0:
                raise InvalidValueError(
                    'mass of the free body',
                    float(mass),
                    'a positive mass on this link or on a link fixed to it, or the base fixed',
                    place,
                )
            alone = not any(
                parent in moving and kind != engine.WELD
                for parent, kind in zip(parents, kinds, strict=True)
            )
            matrix = np.zeros((3, 3))
            matrix[_UPPER] = inertia
            if alone and np.linalg.eigvalsh(matrix, UPLO='U')[0] <= 0.0:
                raise InvalidValueError(
                    'inertia of the free body',
                    tuple(inertia.tolist()),
                    'a positive definite one (ixx ixy ixz iyy iyz izz, kg m²) on this link or on '
                    'a link fixed to it, or the base fixed',
                    place,
                )

    def _place_of(self, body: int) -> str:
        """Return the name of a body's first link, for errors."""
        link = next((name for name, place in self._links.items() if place.body == body), '')
        return f'robot {self._description.name!r}, link {link!r}'

    def _add_body(self, place: Placement, kind: int, q: int, v: int) -> Placement:
        """
        Add a body; return the placement of the body frame, the identity on this body.

        place: body frame on the parent body. kind: joint kind. q, v: first coordinates.
        """
        body = len(self._bodies)
        root = body if place.body < 0 else self._bodies[place.body].root
        frame = np.concatenate([place.rotation.ravel(), place.position])
        self._bodies.append(_Body(place.body, root, kind, q, v, frame, []))
        return Placement(body, np.eye(3), np.zeros(3))

    def _attach(self, joint: JointDescription, parent: Placement) -> Placement:
        """Add a joint's bodies; return the child link's placement."""
        child = joint.child_pose
        place = self._add_joint(joint, parent)
        return place.placement_of(child.rotation, child.position)

    def _add_joint(self, joint: JointDescription, parent: Placement) -> Placement:
        """Add a joint's bodies; return its frame at position 0 on the last body."""
        place = parent.placement_of(joint.origin.rotation, joint.origin.position)
        if joint.type is JointType.FIXED and joint.name not in self._measured:
            return place
        q, v = self._joint_q.get(joint.name, 0), self._joint_v.get(joint.name, 0)
        if joint.type is JointType.FIXED:
            place = self._add_body(place, engine.WELD, 0, 0)
        elif joint.type is JointType.FLOATING:
            place = self._add_body(Placement(-1, np.eye(3), np.zeros(3)), engine.FREE, q, v)
        for stage in self._stages.get(joint.name, ()):
            to_axis = axis_frame(stage.axis)
            at_q = q if joint.type is JointType.BALL else q + stage.coordinate
            turned = replace(place, rotation=place.rotation @ to_axis)
            body = self._add_body(turned, stage.kind, at_q, v + stage.coordinate).body
            place = Placement(body, to_axis.T, np.zeros(3))
        self._joint_body[joint.name] = place.body
        return place

    def _model(self) -> engine.Model:
        passive, limits, motor, stop = free_axes(self._nv)
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
        numbers = np.array([body[:5] for body in self._bodies], np.int64).reshape(-1, 5)
        parent, root, kinds, q_index, v_index = numbers.T.copy()
        with_axis = (kinds == engine.REVOLUTE) | (kinds == engine.PRISMATIC)
        q_of_v[v_index[with_axis]] = q_index[with_axis]
        is_single = np.ones(len(kinds), bool)
        is_single[parent[parent >= 0]] = False
        kinds[is_single & (kinds == engine.FREE)] = engine.FREE_SINGLE
        return engine.Model(
            parent=parent,
            root=root,
            kind=kinds,
            q_index=q_index,
            v_index=v_index,
            frame=np.array([body.frame for body in self._bodies]).reshape(-1, 12),
            inertia=np.array(
                [combine(body.masses, self._place_of(at)) for at, body in enumerate(self._bodies)]
            ).reshape(-1, 10),
            passive=passive,
            limits=limits,
            motor=motor,
            stop=stop,
            mimic=np.array(mimic, np.int64).reshape(-1, 2),
            mimic_law=np.array(mimic_law, float).reshape(-1, 2),
            q_of_v=q_of_v,
            sleep=np.zeros((len(self._bodies), engine.SLEEP_SIZE)),
            weight=np.ones(len(self._bodies)),
            medium_body=np.zeros(0, np.int64),
            medium=np.zeros((0, engine.MEDIUM_SIZE)),
            pulled_body=np.zeros(0, np.int64),
            pulled=np.zeros((0, 4)),
            gravity=np.zeros(engine.GRAVITY_SIZE),
            **actuator_arrays(
                self._description, Numbers(self._links, self._joint_v, self._joint_body)
            ),
        )


def _set_passive(row: np.ndarray, dynamics: JointDynamics) -> None:
    row[engine.ARMATURE], row[engine.DAMPING] = dynamics.armature, dynamics.damping
    row[engine.STIFFNESS], row[engine.REFERENCE] = dynamics.stiffness, dynamics.reference
    row[engine.FRICTION], row[engine.BACK_FRICTION] = dynamics.frictions


def _set_limits(row: np.ndarray, limits: JointLimits) -> None:
    row[engine.LOWER], row[engine.UPPER] = limits.lower, limits.upper
    row[engine.LOWER_EFFORT], row[engine.EFFORT] = limits.efforts
    row[engine.VELOCITY] = limits.velocity


def _move_to_master(
    passive: np.ndarray, limits: np.ndarray, v: int, master: int, law: Mimic
) -> None:
    """
    Transfer a mimic joint's stops, friction and speed limit to the joint it follows.

    Stops contradicting the followed joint's are dropped; the file reader has reported them.
    """
    ends = law.range_of_followed(limits[v, engine.LOWER], limits[v, engine.UPPER])
    lower = max(limits[master, engine.LOWER], ends[0])
    upper = min(limits[master, engine.UPPER], ends[1])
    if lower <= upper:
        limits[master, engine.LOWER], limits[master, engine.UPPER] = lower, upper
    columns = [engine.FRICTION, engine.BACK_FRICTION]
    followed = columns if law.multiplier >= 0.0 else columns[::-1]
    passive[master, followed] += abs(law.multiplier) * passive[v, columns]
    limits[v, engine.LOWER], limits[v, engine.UPPER] = -np.inf, np.inf
    passive[v, columns] = 0.0
    if law.multiplier != 0.0:
        limits[master, engine.VELOCITY] = min(
            limits[master, engine.VELOCITY], limits[v, engine.VELOCITY] / abs(law.multiplier)
        )


def on_body(shape: LinkShape, links: Mapping[str, Placement]) -> BodyShape:
    """Return a shape with its pose on its link's body; links: placements by name."""
    place = links[shape.link].placement_of(shape.placed.rotation, np.array(shape.placed.position))
    direction, holder = shape.placed.friction_direction or (0.0, 0.0, 0.0), -1
    if shape.friction_link:
        link = links[shape.friction_link]
        direction, holder = (link.rotation @ direction).tolist(), link.body
    return BodyShape(
        shape.link, shape.placed, place.body, place.rotation, place.position, direction, holder
    )


def combine(masses: Iterable[tuple[Inertial, Placement]], place: str) -> np.ndarray:
    """
    Return mass, centre of mass and inertia about it for several inertials together.

    masses: each with its link's placement on the body. place: named in errors. Returns (10,): mass
    [kg], centre (3,) [m], upper triangle (6,) [kg m²], in body axes. Raises InvalidValueError for
    a sum that is not finite.
    """
    total, moment = 0.0, np.zeros(3)
    parts = []
    with np.errstate(over='ignore', invalid='ignore'):
        for inertial, link in masses:
            own = link.placement_of(inertial.pose.rotation, inertial.pose.position)
            inertia = own.rotation @ inertial.inertia @ own.rotation.T
            parts.append((inertial.mass, own.position, inertia))
            total += inertial.mass
            moment += inertial.mass * own.position
        center = moment / total if total > 0.0 else np.zeros(3)
        inertia = np.zeros((3, 3))
        for mass, com, about_com in parts:
            r = com - center
            inertia += about_com + mass * (r @ r * _IDENTITY - np.outer(r, r))
    combined = np.concatenate([[total], center, inertia[_UPPER]])
    if not np.isfinite(combined).all():
        raise InvalidValueError(
            'mass, centre of mass and inertia',
            combined.tolist(),
            'finite numbers [kg, m, kg m²]: a smaller mass, inertia or distance',
            place,
        )
    return combined
