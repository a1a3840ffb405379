"""A link of a robot in a world: its pose, motion and mass, and what pushes and damps it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from sim_bridge.compilation.mass_properties import checked_inertia, checked_mass, inertial_of
from sim_bridge.description.model import Inertial, JointType, LinkDescription
from sim_bridge.engine.pipeline import observe
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Matrix, Vector
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.html import table
from sim_bridge.foundation.validation import truth
from sim_bridge.robots.crawler import Crawler
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.link_in_tree import (
    joint_above,
    joint_axis,
    joint_number,
    joint_offset,
    joint_type_of,
    joints_of,
    limit_of_joint,
    of_joint,
    sibling_of,
)
from sim_bridge.robots.mass_properties import set_inertial, update_from_shapes
from sim_bridge.robots.moving_frame import MovingFrame
from sim_bridge.robots.owners import Robot
from sim_bridge.robots.shape_changes import add_shape
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.simulation.slots import LinkMedium, LinkSlot
from sim_bridge.simulation.staleness import ROBOT_ARRAYS

_ROTATIONAL = (JointType.REVOLUTE, JointType.CONTINUOUS)
_R = slice(observe.SITE_ROTATION, observe.SITE_ROTATION + 9)


def _observed(start: int, doc: str) -> ReadOnly[FloatArray]:
    """Return the property of a vector in the link's row of the observed sites, from a column."""
    columns = slice(start, start + 3)
    return ReadOnly(lambda link: link._site()[columns].copy(), doc)


class Link(MovingFrame):
    """
    A link, after Choreonoid's.

    p, R, v, w, dv and dw are pose and motion of the link's frame in the world: of its origin, in
    world axes. They are computed for the present state when they are read.
    """

    __slots__ = (
        'children',
        'crawler',
        'description',
        'geometries',
        'joint',
        'name',
        'parent',
        'robot',
        'slot',
    )
    internal_names = MovingFrame.internal_names | {'connect', 'slot'}
    advice = dict.fromkeys(
        ('p', 'R'), "links are moved by their joints' q, and by set_base_pose of the robot"
    ) | dict.fromkeys(
        ('v', 'w'), "links are moved by their joints' dq, and by set_base_velocity of the robot"
    )

    def __init__(self, robot: Robot, description: LinkDescription, slot: LinkSlot):
        """Show a slot of a robot; World makes links."""
        self.robot: Final = robot
        self.description: Final = description
        self.slot = slot
        self.name: Final = description.name
        self.children: list[Link] = []
        self.geometries: list[Geometry] = []
        """Its collision geometries."""

    def connect(self, parent: Link | None, joint: Joint | None, crawler: Crawler | None) -> None:
        """Set its parent, the joint to that, and its crawler, if there are such; once."""
        self.parent: Link | None = parent
        self.joint: Joint | None = joint
        self.crawler: Crawler | None = crawler
        """The crawler whose surface it is, if it is a continuous track."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a pickle or a copy keeps: the robot, and the name on it."""
        return _link_of, (self.robot, self.name)

    def __repr__(self) -> str:
        """Show the names, and the position, unless that would join arrays."""
        place = ''
        if self.slot.robot.is_removed:
            place = ', removed'
        elif not self.robot.simulation.staleness.flags & ROBOT_ARRAYS:
            x, y, z = self.p.tolist()
            place = f' at ({x:.4g}, {y:.4g}, {z:.4g})'
        return f'<Link {self.name!r} of {self.robot.name!r}{place}>'

    def _repr_html_(self) -> str:
        """Return a table of mass and motion, for notebooks; the title of what is removed."""
        title = f'Link {self.name!r} of {self.robot.name!r}'
        if self.slot.robot.is_removed:
            return table(f'{title}, removed', (), ())
        return table(
            title,
            (),
            (
                ('mass m [kg]', self.m),
                ('position p [m]', self.p),
                ('velocity v [m/s]', self.v),
                ('angular velocity w [rad/s]', self.w),
                ('shapes', len(self.geometries)),
            ),
        )

    p = _observed(observe.SITE_POSITION, "(3,) position of the frame's origin [m], world.")
    v = _observed(observe.SITE_V, "(3,) velocity of the frame's origin [m/s], world axes.")
    w = _observed(observe.SITE_W, '(3,) angular velocity [rad/s], world axes.')
    dv = _observed(observe.SITE_DV, "(3,) acceleration of the frame's origin [m/s²], world axes.")
    dw = _observed(observe.SITE_DW, '(3,) angular acceleration [rad/s²], world axes.')

    @property
    def R(self) -> FloatArray:
        """(3, 3) rotation of the frame: takes vectors in link axes to world axes."""
        return self._site()[_R].reshape(3, 3).copy()

    attitude = ReadOnly[FloatArray](
        'R', '(3, 3) rotation of the frame: the same as R, as frames are those of the file.'
    )

    # --- tree ------------------------------------------------------------------------------------

    is_root = ReadOnly[bool](
        lambda link: link.parent is None, "Whether it is the root of its robot's tree."
    )

    @property
    def child(self) -> Link | None:
        """The first of its children, None for a leaf."""
        return self.children[0] if self.children else None

    @property
    def sibling(self) -> Link | None:
        """The next child of its parent, None for the last one."""
        return sibling_of(self)

    @property
    def joints(self) -> list[Joint | ConstraintJoint]:
        """
        All joints that it is the first or second link of; ODE's dBodyGetJoint.

        Those of its robot's tree, those of `World.add_joint`, motors, and broken ones.
        """
        return joints_of(self)

    joint_id = ReadOnly[int](
        joint_number,
        """
        Number of the joint to its parent, which `Robot.joint` and arrays as q go by.

        -1 if that has not one axis, and for a root.
        """,
    )
    joint_type = ReadOnly[JointType](
        joint_type_of,
        'Type of the joint to its parent; of a root FIXED or FLOATING, as its base is.',
    )
    is_fixed_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.FIXED, 'Whether nothing moves at the joint.'
    )
    is_free_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.FLOATING, 'Whether all directions are free.'
    )
    is_rotational_joint = ReadOnly[bool](
        lambda link: link.joint_type in _ROTATIONAL, 'Whether the joint turns about one axis.'
    )
    is_slide_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.PRISMATIC, 'Whether it slides along one.'
    )
    a = ReadOnly[FloatArray](
        joint_axis, "(3,) unit vector of the joint's axis, link axes; zero if it has not one axis."
    )
    d = ReadOnly[FloatArray]('a', '(3,) likewise, of a joint that slides.')
    b = ReadOnly[FloatArray](
        joint_offset, "(3,) position of its joint in the parent's frame [m]; zero for a root."
    )

    q = of_joint('q', 'Position of the joint to its parent [rad or m]; as `Joint.q`.')
    dq = of_joint('dq', 'Velocity of that joint [rad/s or m/s].')
    u = of_joint('u', 'Applied effort of that joint [N m or N].')
    ddq = ReadOnly[Coordinates](
        lambda link: joint_above(link).ddq,
        'Acceleration of the joint to its parent [rad/s² or m/s²]; a copy.',
    )
    q_lower = limit_of_joint('lower', -1.0, 'Lower position limit [rad or m]; -inf for none.')
    q_upper = limit_of_joint('upper', 1.0, 'Upper position limit [rad or m]; inf for none.')
    dq_upper = limit_of_joint('velocity_limit', 1.0, 'The velocity limit [rad/s or m/s].')
    dq_lower = ReadOnly[float](
        lambda link: -link.dq_upper, 'The velocity limit backwards [rad/s or m/s].'
    )

    # --- mass and medium -------------------------------------------------------------------------

    @property
    def m(self) -> float:
        """
        Mass [kg]; can be set, to a positive number; the inertia is another quantity, and stays.

        What is set of m, c and I acts from the next step on, and also after `World.reset`.
        """
        return self.slot.mass

    @m.setter
    def m(self, value: float) -> None:
        slot = self.slot
        self._set_inertial(
            inertial_of(checked_mass(value, self._place), slot.center, slot.inertia)
        )

    @property
    def c(self) -> FloatArray:
        """(3,) centre of mass [m], link frame; can be set."""
        return self.slot.center.copy()

    @c.setter
    def c(self, value: Vector) -> None:
        center = self._vector('centre of mass', value)
        self._require_mass()
        self._set_inertial(inertial_of(self.m, center, self.slot.inertia))

    @property
    def wc(self) -> FloatArray:
        """(3,) centre of mass [m], world."""
        return self.p + self.R @ self.slot.center

    @property
    def I(self) -> FloatArray:  # noqa: E743 — Choreonoid's name
        """(3, 3) inertia about the centre of mass [kg m²], link axes; can be set, or (3,)."""
        return self.slot.inertia.copy()

    @I.setter
    def I(self, value: Vector | Matrix) -> None:  # noqa: E743
        inertia = checked_inertia(value, self._place)
        self._require_mass()
        self._set_inertial(inertial_of(self.m, self.slot.center, inertia))

    def update_mass_properties(
        self, *, mass: float | None = None, density: float | None = None
    ) -> None:
        """
        Compute m, c and I from the link's geometries as they are now; overlaps count twice.

        Those weigh that are enabled, no sensors, and of `mass`; a given mass is that of all if
        there are none. mass: kg, in all; None: by the density. density: of all [kg/m³]; None:
        those of their materials. Raises InvalidValueError if nothing weighs, and for shapes
        without volume.
        """
        update_from_shapes(self.robot.simulation, self.slot, mass, density, self._place)

    @property
    def gravity(self) -> bool:
        """
        Whether gravity acts on it; can be set; after ODE's gravity mode.

        If not, a force at the centre of mass compensates its weight, and its potential energy is
        0.
        """
        return self.slot.medium.gravity

    @gravity.setter
    def gravity(self, value: bool) -> None:
        gravity = truth('gravity', value, self._place)
        self._set_medium(replace(self.slot.medium, gravity=gravity))

    @property
    def linear_velocity_damping(self) -> FloatArray:
        """
        (3,) rates d at which the velocity decays along its axes [1/s]; can be set; after AGX.

        A force -m d v at the centre of mass, with v at the end of the step: stable for any d.
        """
        return np.array(self.slot.medium.linear_velocity_damping)

    @linear_velocity_damping.setter
    def linear_velocity_damping(self, value: Vector) -> None:
        self._set_rates('linear_velocity_damping', value, '1/s')

    @property
    def angular_velocity_damping(self) -> FloatArray:
        """(3,) rates d at which the rotation decays [1/s]; can be set; a torque -√d I √d w."""
        return np.array(self.slot.medium.angular_velocity_damping)

    @angular_velocity_damping.setter
    def angular_velocity_damping(self, value: Vector) -> None:
        self._set_rates('angular_velocity_damping', value, '1/s')

    @property
    def mass_coefficients(self) -> FloatArray:
        """
        (3,) coefficients C of the added mass of the medium along its axes [1]; can be set.

        AGX's effective mass: forces accelerate a mass of m (1 + C). Weight, energy, momentum,
        gyroscopic torques and the results of `dynamics` are those of m alone.
        """
        return np.array(self.slot.medium.mass_coefficients)

    @mass_coefficients.setter
    def mass_coefficients(self, value: Vector) -> None:
        self._set_rates('mass_coefficients', value, '1')

    @property
    def inertia_coefficients(self) -> FloatArray:
        """(3,) coefficients C of the added inertia [1]; can be set; in all I + √C I √C."""
        return np.array(self.slot.medium.inertia_coefficients)

    @inertia_coefficients.setter
    def inertia_coefficients(self, value: Vector) -> None:
        self._set_rates('inertia_coefficients', value, '1')

    # --- pushes ----------------------------------------------------------------------------------

    @property
    def last_force(self) -> FloatArray:
        """
        (3,) force that acted in the last step [N], world axes, beside contacts and constraints.

        AGX's getLastForce: gravity, fields of force and pushes, as they acted in the middle of the
        step, on the rigid body that the link is part of: with all that fixed joints connect to it.
        Zero before a step, after a reset, and where the body is static or kinematic. Over a step,
        the momentum of a body that nothing touches changes by this times the time step.
        """
        return self.robot.simulation.cache.applied_to(self.slot)[:3].copy()

    @property
    def last_torque(self) -> FloatArray:
        """(3,) likewise the torque about that body's centre of mass [N m], world axes."""
        return self.robot.simulation.cache.applied_to(self.slot)[3:].copy()

    def add_force(
        self, f: Vector, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> None:
        """
        Apply a force in the next step, and in no other; forces of several calls add up.

        f: (3,) force [N], world axes. point: (3,) of application [m], world. rel_point: instead of
        that, in the link's frame. The link's centre of mass if both are None. Raises
        InvalidValueError for both points, and for what is not three finite numbers.
        """
        f, place = self._vector('force', f), self._where(point, rel_point)
        self._push(f, np.zeros(3), self.wc if place is None else place)

    def add_rel_force(
        self, f: Vector, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> None:
        """Apply a force (3,) [N] given in the link's axes, as they are now; as `add_force`."""
        self.add_force(self.R @ self._vector('force', f), point, rel_point=rel_point)

    def add_torque(self, tau: Vector) -> None:
        """
        Apply a torque in the next step, and in no other; torques of several calls add up.

        tau: (3,) torque [N m], world axes. Raises InvalidValueError if it is not three finite
        numbers.
        """
        tau = self._vector('torque', tau)
        self._push(np.zeros(3), tau, self.p)

    def add_rel_torque(self, tau: Vector) -> None:
        """Apply a torque (3,) [N m] given in the link's axes; as `add_torque`."""
        self.add_torque(self.R @ self._vector('torque', tau))

    # --- geometries ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The shapes of its collision geometries."""
        return tuple(geometry.shape for geometry in self.geometries)

    def add_geometry(
        self, shape: Shape | Placed, material: Material | str | None = None
    ) -> Geometry:
        """
        Add a shape that collides, at any time; `Geometry.remove` removes it again.

        m, c and I stay as they are until `update_mass_properties`. Bodies of a robot that do not
        touch each other still do not. As after an addition of a robot, views of the world's arrays
        must be taken anew, and older snapshots no longer fit. shape: `Placed` has its pose on the
        link. material: of a shape without one; 'default' if None. Raises InvalidValueError for
        what is no shape, for a plane that would move, and for a name that the link has already.
        """
        with all_or_nothing(self.robot.simulation, self.geometries, self.robot.geometries):
            slot = add_shape(self.robot.simulation, self.slot, shape, material, self._place)
            geometry = Geometry(self, slot)
            self.geometries.append(geometry)
            self.robot.geometries.append(geometry)
        return geometry

    def disable(self) -> None:
        """Disable the robot; all that is connected by tree joints rests together."""
        self.robot.disable()

    def enable(self) -> None:
        """Enable the robot."""
        self.robot.enable()

    def _site(self) -> FloatArray:
        """Return (30,) its row of the observed sites, as `engine.pipeline.observe` writes it."""
        slot = self.slot
        return self.robot.simulation.observation.sites()[slot.robot.first_site + slot.number]

    @property
    def _place(self) -> str:
        return f'robot {self.robot.name!r}, link {self.name!r}'

    def _push(self, force: FloatArray, torque: FloatArray, point: FloatArray) -> None:
        simulation = self.robot.simulation
        simulation.cache.settle()
        simulation.observation.push(self.slot.body, force, torque, point)

    def _set_inertial(self, inertial: Inertial) -> None:
        set_inertial(self.robot.simulation, self.slot, inertial)

    def _require_mass(self) -> None:
        if self.slot.mass == 0.0:
            raise InvalidValueError('mass', 0.0, 'a mass first, which m sets', self._place)

    def _set_rates(self, what: str, value: object, unit: str) -> None:
        self._set_medium(self.slot.medium.with_rates(what, value, unit, self._place))

    def _set_medium(self, medium: LinkMedium) -> None:
        self.robot.simulation.staleness.set(self.slot, 'medium', medium)


def _link_of(robot: Robot, name: str) -> Any:
    return robot.link(name)
