"""A link of a robot in a world: where it is, how it moves, what it weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sim_bridge.description.model import LinkDescription
from sim_bridge.engine.pipeline.observe import (
    SITE_DV,
    SITE_DW,
    SITE_POSITION,
    SITE_ROTATION,
    SITE_V,
    SITE_W,
)
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.validation import finite_vector, truth
from sim_bridge.robots.crawler import Crawler
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.interfaces import RobotInterface
from sim_bridge.robots.joints.joint import Joint
from sim_bridge.simulation.simulation import Dirty
from sim_bridge.simulation.slots import LinkMedium, LinkSlot

_P, _V, _W, _DV, _DW = (
    slice(column, column + 3) for column in (SITE_POSITION, SITE_V, SITE_W, SITE_DV, SITE_DW))
_R = slice(SITE_ROTATION, SITE_ROTATION + 9)


class Link(DeclaredAttributes):
    """
    A link, after Choreonoid's.

    Poses and motions are those of the link's frame in the world, at the present state of the
    robot: of its origin, in world axes. They are computed when they are asked for.
    """

    __slots__ = ('children', 'crawler', 'description', 'geometries', 'joint', 'name', 'parent',
                 'robot', 'slot')
    internal_names = DeclaredAttributes.internal_names | {'connect', 'slot'}
    advice = dict.fromkeys(
        ('p', 'R'), "links are moved by their joints' q, and by set_base_pose of the robot"
    ) | dict.fromkeys(
        ('v', 'w'), "links are moved by their joints' dq, and by set_base_velocity of the robot")

    def __init__(self, robot: RobotInterface, description: LinkDescription, slot: LinkSlot):
        """Belong to a robot; World makes links."""
        self.robot = robot
        self.description = description
        self.slot = slot
        self.name = description.name
        self.children: list[Link] = []
        self.geometries: list[Geometry] = []
        """What of it collides."""

    def connect(
        self, parent: Link | None, joint: Joint | None, crawler: Crawler | None
    ) -> None:
        """Take the place in the robot's tree, once: the link and the joint that it hangs on."""
        self.parent: Link | None = parent
        self.joint: Joint | None = joint
        self.crawler: Crawler | None = crawler
        """What lets its surface run, where it is a continuous track."""

    def __repr__(self) -> str:
        """Show the names, and where it is, unless arrays would have to be joined for that."""
        place = ''
        if self.slot.robot.is_removed:
            place = ', removed'
        elif self.robot.simulation.is_settled:
            x, y, z = self.p.tolist()
            place = f' at ({x:.4g}, {y:.4g}, {z:.4g})'
        return f'<Link {self.name!r} of {self.robot.name!r}{place}>'

    @property
    def p(self) -> np.ndarray:
        """(3,) position of the frame's origin [m], world."""
        return self._site()[_P].copy()

    @property
    def R(self) -> np.ndarray:
        """(3, 3) rotation of the frame: takes vectors in link axes to world axes."""
        return self._site()[_R].reshape(3, 3).copy()

    @property
    def v(self) -> np.ndarray:
        """(3,) velocity of the frame's origin [m/s], world axes."""
        return self._site()[_V].copy()

    @property
    def w(self) -> np.ndarray:
        """(3,) angular velocity [rad/s], world axes."""
        return self._site()[_W].copy()

    @property
    def dv(self) -> np.ndarray:
        """(3,) acceleration of the frame's origin [m/s²], world axes."""
        return self._site()[_DV].copy()

    @property
    def dw(self) -> np.ndarray:
        """(3,) angular acceleration [rad/s²], world axes."""
        return self._site()[_DW].copy()

    @property
    def m(self) -> float:
        """Mass [kg]."""
        return self.slot.mass

    @property
    def c(self) -> np.ndarray:
        """(3,) centre of mass [m], link frame."""
        return self.slot.center.copy()

    @property
    def wc(self) -> np.ndarray:
        """(3,) centre of mass [m], world."""
        return self.p + self.R @ self.slot.center

    @property
    def I(self) -> np.ndarray:  # noqa: E743 — Choreonoid's name
        """(3, 3) inertia about the centre of mass [kg m²], link axes."""
        return self.slot.inertia.copy()

    @property
    def gravity(self) -> bool:
        """
        Whether gravity acts on it, after ODE's gravity mode; to be set.

        If not, a force bears its weight at the centre of mass, and its potential energy is 0.
        """
        return self.slot.medium.gravity

    @gravity.setter
    def gravity(self, value: bool) -> None:
        gravity = truth('gravity', value, self._place)
        self._set_medium(replace(self.slot.medium, gravity=gravity))

    @property
    def linear_velocity_damping(self) -> np.ndarray:
        """
        (3,) rates d at which its velocity decays [1/s], along its axes; to be set.

        After AGX: a force -m d v at the centre of mass, v that at the end of the step; of any d.
        """
        return np.array(self.slot.medium.linear_velocity_damping)

    @linear_velocity_damping.setter
    def linear_velocity_damping(self, value: Sequence[float]) -> None:
        self._set_rates('linear_velocity_damping', value, '1/s')

    @property
    def angular_velocity_damping(self) -> np.ndarray:
        """(3,) rates d at which its rotation decays [1/s]; to be set; torque -√d I √d w."""
        return np.array(self.slot.medium.angular_velocity_damping)

    @angular_velocity_damping.setter
    def angular_velocity_damping(self, value: Sequence[float]) -> None:
        self._set_rates('angular_velocity_damping', value, '1/s')

    @property
    def mass_coefficients(self) -> np.ndarray:
        """
        (3,) mass that the medium adds, as a multiple of m [1], along its axes; to be set.

        AGX's effective mass: to forces it is as heavy as m (1 + C). Weight, energy, momentum and
        gyroscopic torques remain those of its own mass, and so does all that `dynamics` gives.
        """
        return np.array(self.slot.medium.mass_coefficients)

    @mass_coefficients.setter
    def mass_coefficients(self, value: Sequence[float]) -> None:
        self._set_rates('mass_coefficients', value, '1')

    @property
    def inertia_coefficients(self) -> np.ndarray:
        """(3,) inertia that the medium adds [1], about its axes; to be set; I + √C I √C."""
        return np.array(self.slot.medium.inertia_coefficients)

    @inertia_coefficients.setter
    def inertia_coefficients(self, value: Sequence[float]) -> None:
        self._set_rates('inertia_coefficients', value, '1')

    def add_force(self, f: np.ndarray, point: np.ndarray | None = None) -> None:
        """
        Push the link during the next `world.step` call; pushes add up.

        f: (3,) force [N], world axes. point: (3,) where it acts [m], world; the link's centre of
        mass if None. Raises InvalidValueError where either is not three finite numbers.
        """
        f = self._vector('force', f)
        self._push(f, np.zeros(3), self.wc if point is None else self._vector('point', point))

    def add_torque(self, tau: np.ndarray) -> None:
        """
        Twist the link during the next `world.step` call.

        tau: (3,) torque [N m], world axes. Raises InvalidValueError where it is not three finite
        numbers.
        """
        tau = self._vector('torque', tau)
        self._push(np.zeros(3), tau, self.p)

    def _site(self) -> np.ndarray:
        """Return its row of the observed sites."""
        slot = self.slot
        return self.robot.simulation.observed_sites()[slot.robot.first_site + slot.number]

    @property
    def _place(self) -> str:
        return f'robot {self.robot.name!r}, link {self.name!r}'

    def _push(self, force: np.ndarray, torque: np.ndarray, point: np.ndarray) -> None:
        simulation = self.robot.simulation
        simulation.settle()
        simulation.add_wrench(self.slot.body, force, torque, point)

    def _set_rates(self, what: str, value: object, unit: str) -> None:
        self._set_medium(self.slot.medium.with_rates(what, value, unit, self._place))

    def _set_medium(self, medium: LinkMedium) -> None:
        simulation = self.robot.simulation
        self.slot.medium = medium
        simulation.mark(Dirty.MEDIUM)
        simulation.invalidate()

    def _vector(self, what: str, value: object) -> np.ndarray:
        return finite_vector(what, value, 3, self._place, 'three finite numbers')
