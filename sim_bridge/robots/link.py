"""Robot link in a world: pose, motion, mass, damping and applied forces."""

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
    """Return a property that reads a vector from the link's site row. start: first column."""
    columns = slice(start, start + 3)
    return ReadOnly(lambda link: link._site()[columns].copy(), doc)


class Link(MovingFrame):
    """
    A link, after Choreonoid's Link.

    p, R, v, w, dv and dw are the link frame origin's pose and motion in the world, in world
    axes, computed for the current state at each access.
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
        """Make the view of a link in its slot; only robots call this."""
        self.robot: Final = robot
        self.description: Final = description
        self.slot = slot
        self.name: Final = description.name
        self.children: list[Link] = []
        self.geometries: list[Geometry] = []
        """The link's collision geometries."""

    def connect(self, parent: Link | None, joint: Joint | None, crawler: Crawler | None) -> None:
        """Set the parent, the joint to the parent and the crawler, or None; called once."""
        self.parent: Link | None = parent
        self.joint: Joint | None = joint
        self.crawler: Crawler | None = crawler
        """Crawler with this link as its surface, if the link is a continuous track."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the robot and the link's name."""
        return _link_of, (self.robot, self.name)

    def __repr__(self) -> str:
        """Show the names, and the position unless reading it would join arrays."""
        place = ''
        if self.slot.robot.is_removed:
            place = ', removed'
        elif not self.robot.simulation.staleness.flags & ROBOT_ARRAYS:
            x, y, z = self.p.tolist()
            place = f' at ({x:.4g}, {y:.4g}, {z:.4g})'
        return f'<Link {self.name!r} of {self.robot.name!r}{place}>'

    def _repr_html_(self) -> str:
        """Return a mass and motion table for notebooks; only a title for a removed link."""
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
        """(3, 3) frame rotation; takes vectors in link axes to world axes."""
        return self._site()[_R].reshape(3, 3).copy()

    attitude = ReadOnly[FloatArray](
        'R', '(3, 3) rotation of the frame; equal to R, because frames are those of the file.'
    )

    # --- tree ------------------------------------------------------------------------------------

    is_root = ReadOnly[bool](
        lambda link: link.parent is None, "Whether the link is the root of its robot's tree."
    )

    @property
    def child(self) -> Link | None:
        """First child link; None for a leaf."""
        return self.children[0] if self.children else None

    @property
    def sibling(self) -> Link | None:
        """The parent's next child; None for the last child."""
        return sibling_of(self)

    @property
    def joints(self) -> list[Joint | ConstraintJoint]:
        """
        All joints with this link as first or second link; ODE's dBodyGetJoint.

        The robot's tree joints, joints from `World.add_joint`, motors and broken joints.
        """
        return joints_of(self)

    joint_id = ReadOnly[int](
        joint_number,
        """
        Index of the joint to the parent, as used by `Robot.joint` and by arrays as `Robot.q`.

        -1 unless that joint has exactly one axis, and for a root.
        """,
    )
    joint_type = ReadOnly[JointType](
        joint_type_of,
        'Type of the joint to the parent; for a root FIXED or FLOATING, by its base.',
    )
    is_fixed_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.FIXED, 'Whether that joint is fixed.'
    )
    is_free_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.FLOATING, 'Whether that joint is floating.'
    )
    is_rotational_joint = ReadOnly[bool](
        lambda link: link.joint_type in _ROTATIONAL, 'Whether that joint turns about one axis.'
    )
    is_slide_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.PRISMATIC, 'Whether that joint is prismatic.'
    )
    a = ReadOnly[FloatArray](
        joint_axis, '(3,) unit vector of the joint axis, link axes; zeros unless it has one axis.'
    )
    d = ReadOnly[FloatArray]('a', '(3,) the same vector, for a prismatic joint.')
    b = ReadOnly[FloatArray](
        joint_offset, "(3,) joint position in the parent's frame [m]; zeros for a root."
    )

    q = of_joint('q', 'Position of the joint to the parent [rad or m]; see `Joint.q`.')
    dq = of_joint('dq', 'Velocity of the joint to the parent [rad/s or m/s].')
    u = of_joint('u', 'Applied effort of the joint to the parent [N m or N].')
    ddq = ReadOnly[Coordinates](
        lambda link: joint_above(link).ddq,
        'Acceleration of the joint to the parent [rad/s² or m/s²]; a copy.',
    )
    q_lower = limit_of_joint('lower', -1.0, 'Lower position limit [rad or m]; -inf for none.')
    q_upper = limit_of_joint('upper', 1.0, 'Upper position limit [rad or m]; inf for none.')
    dq_upper = limit_of_joint('velocity_limit', 1.0, 'Velocity limit [rad/s or m/s].')
    dq_lower = ReadOnly[float](
        lambda link: -link.dq_upper, 'Velocity limit backwards [rad/s or m/s].'
    )

    # --- mass and medium -------------------------------------------------------------------------

    @property
    def m(self) -> float:
        """
        Mass [kg]; can be set to a positive number; the inertia is separate and stays.

        New m, c and I act from the next step on, and stay after `World.reset`.
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
        """(3, 3) inertia about the centre of mass [kg m²], link axes; settable, also as (3,)."""
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
        Compute m, c and I from the link's current geometries; overlaps count twice.

        Only enabled geometries count that are not sensors and have `mass` set; if there are none
        and a mass is given, all geometries count. mass: total mass [kg]; None: from the density.
        density: common density [kg/m³]; None: the materials' densities. Raises
        InvalidValueError if no geometry counts, and for shapes without volume.
        """
        update_from_shapes(self.robot.simulation, self.slot, mass, density, self._place)

    @property
    def gravity(self) -> bool:
        """
        Whether gravity acts on the link; can be set; after ODE's gravity mode.

        If not, a force at the centre of mass compensates its weight, and its potential energy is
        0.
        """
        return self.slot.medium.gravity

    @gravity.setter
    def gravity(self, value: bool) -> None:
        gravity = truth('gravity', value, self._place)
        self._set_medium(replace(self.slot.medium, gravity=gravity))

    @property
    def enable_wind(self) -> bool:
        """Whether `Wind` fields without links of their own push the link; can be set."""
        return self.slot.medium.enable_wind

    @enable_wind.setter
    def enable_wind(self, value: bool) -> None:
        enable_wind = truth('enable_wind', value, self._place)
        self._set_medium(replace(self.slot.medium, enable_wind=enable_wind))

    @property
    def linear_velocity_damping(self) -> FloatArray:
        """
        (3,) velocity decay rates d along the link's axes [1/s]; can be set; after AGX.

        A force -m d v at the centre of mass, with v after the step; stable for any d.
        """
        return np.array(self.slot.medium.linear_velocity_damping)

    @linear_velocity_damping.setter
    def linear_velocity_damping(self, value: Vector) -> None:
        self._set_rates('linear_velocity_damping', value, '1/s')

    @property
    def angular_velocity_damping(self) -> FloatArray:
        """(3,) angular velocity decay rates d [1/s]; can be set; a torque -√d I √d w."""
        return np.array(self.slot.medium.angular_velocity_damping)

    @angular_velocity_damping.setter
    def angular_velocity_damping(self, value: Vector) -> None:
        self._set_rates('angular_velocity_damping', value, '1/s')

    @property
    def mass_coefficients(self) -> FloatArray:
        """
        (3,) added mass coefficients C of the medium along the link's axes [1]; can be set.

        AGX's effective mass: forces accelerate a mass m (1 + C). Weight, energy, momentum,
        gyroscopic torques and `dynamics` results use m alone.
        """
        return np.array(self.slot.medium.mass_coefficients)

    @mass_coefficients.setter
    def mass_coefficients(self, value: Vector) -> None:
        self._set_rates('mass_coefficients', value, '1')

    @property
    def inertia_coefficients(self) -> FloatArray:
        """(3,) added inertia coefficients C [1]; can be set; total inertia I + √C I √C."""
        return np.array(self.slot.medium.inertia_coefficients)

    @inertia_coefficients.setter
    def inertia_coefficients(self, value: Vector) -> None:
        self._set_rates('inertia_coefficients', value, '1')

    # --- applied forces --------------------------------------------------------------------------

    @property
    def last_force(self) -> FloatArray:
        """
        (3,) applied force in the last step [N], world axes, without contacts and constraints.

        AGX's getLastForce: gravity, force fields and forces from `add_force`, as in mid-step. It
        acts on the link's rigid body, which includes all links connected by fixed joints. Zero
        before the first step, after a reset, and for static and kinematic bodies. In a step, the
        momentum of a body without contacts changes by this force times the time step.
        """
        return self.robot.simulation.cache.applied_to(self.slot)[:3].copy()

    @property
    def last_torque(self) -> FloatArray:
        """(3,) applied torque about that body's centre of mass in the last step [N m], world."""
        return self.robot.simulation.cache.applied_to(self.slot)[3:].copy()

    def add_force(
        self, f: Vector, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> None:
        """
        Apply a force in the next step only; several calls add up.

        f: (3,) force [N], world axes. point: (3,) application point [m], world. rel_point: (3,)
        the same in the link frame [m], instead of `point`. If both are None, the link's centre of
        mass. Raises InvalidValueError if both points are given, and unless each vector is three
        finite numbers.
        """
        f, place = self._vector('force', f), self._where(point, rel_point)
        self._push(f, np.zeros(3), self.wc if place is None else place)

    def add_rel_force(
        self, f: Vector, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> None:
        """Apply a force (3,) [N] in the link's current axes; otherwise as `add_force`."""
        self.add_force(self.R @ self._vector('force', f), point, rel_point=rel_point)

    def add_torque(self, tau: Vector) -> None:
        """
        Apply a torque in the next step only; several calls add up.

        tau: (3,) torque [N m], world axes. Raises InvalidValueError unless it is three finite
        numbers.
        """
        tau = self._vector('torque', tau)
        self._push(np.zeros(3), tau, self.p)

    def add_rel_torque(self, tau: Vector) -> None:
        """Apply a torque (3,) [N m] in the link's current axes; otherwise as `add_torque`."""
        self.add_torque(self.R @ self._vector('torque', tau))

    # --- geometries ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Collision geometry shapes."""
        return tuple(geometry.shape for geometry in self.geometries)

    def add_geometry(
        self, shape: Shape | Placed, material: Material | str | None = None
    ) -> Geometry:
        """
        Add a collision geometry, at any time; `Geometry.remove` removes it.

        m, c and I stay until `update_mass_properties`. Excluded contacts between bodies of the
        robot stay excluded. As after adding a robot, take views of the world's arrays
        again; older snapshots no longer fit. shape: a `Placed` contains its pose on the link.
        material: for a shape without one; 'default' if None. Raises InvalidValueError for other
        objects, for a plane that would move, and for a name in use on the link.
        """
        with all_or_nothing(self.robot.simulation, self.geometries, self.robot.geometries):
            slot = add_shape(self.robot.simulation, self.slot, shape, material, self._place)
            geometry = Geometry(self, slot)
            self.geometries.append(geometry)
            self.robot.geometries.append(geometry)
        return geometry

    def disable(self) -> None:
        """Disable the robot, and all robots connected to it by tree joints."""
        self.robot.disable()

    def enable(self) -> None:
        """Enable the robot."""
        self.robot.enable()

    def _site(self) -> FloatArray:
        """Return the link's site row (30,); see `engine.pipeline.observe`."""
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
            raise InvalidValueError('mass', 0.0, 'a positive mass: set m first', self._place)

    def _set_rates(self, what: str, value: object, unit: str) -> None:
        self._set_medium(self.slot.medium.with_rates(what, value, unit, self._place))

    def _set_medium(self, medium: LinkMedium) -> None:
        self.robot.simulation.staleness.set(self.slot, 'medium', medium)


def _link_of(robot: Robot, name: str) -> Any:
    return robot.link(name)
