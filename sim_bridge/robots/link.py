"""A link of a robot in a world: where it is, how it moves, what it weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.pipeline.observe import (
    SITE_DV,
    SITE_DW,
    SITE_POSITION,
    SITE_ROTATION,
    SITE_V,
    SITE_W,
)
from sim_bridge.foundation.validation import finite_vector, truth
from sim_bridge.robots.link_medium import Surroundings

if TYPE_CHECKING:
    from sim_bridge.compilation.compile import Placement
    from sim_bridge.description.model import LinkDescription
    from sim_bridge.robots.crawler import Crawler
    from sim_bridge.robots.geometry import Geometry
    from sim_bridge.robots.joints.joint import Joint
    from sim_bridge.robots.robot import Robot


class Link:
    """
    A link, after Choreonoid's.

    Poses and motions are those of the link's frame in the world, at the present state of the
    robot: of its origin, in world axes. They are computed when they are asked for.
    """

    def __init__(self, robot: Robot, description: LinkDescription, placement: Placement):
        """Belong to a robot; World makes links."""
        self.robot = robot
        self.description = description
        self.name = description.name
        self.parent: Link | None = None
        self.joint: Joint | None = None
        self.children: list[Link] = []
        self.geometries: list[Geometry] = []
        """What of it collides."""
        self.crawler: Crawler | None = None
        """What lets its surface run, where it is a continuous track."""
        self.placement = placement
        self.surroundings = Surroundings(description.gravity)
        """Whether gravity acts on it, and what the medium does; the properties below set it."""
        inertial = description.inertial
        self._mass = 0.0 if inertial is None else inertial.mass
        self._c = np.zeros(3) if inertial is None else np.array(inertial.pose.position)
        axes = np.eye(3) if inertial is None else inertial.pose.rotation
        self._inertia = np.zeros((3, 3)) if inertial is None else axes @ inertial.inertia @ axes.T

    def __repr__(self) -> str:
        """Show the names."""
        return f'<Link {self.name!r} of {self.robot.name!r}>'

    @property
    def p(self) -> np.ndarray:
        """(3,) position of the frame's origin [m], world."""
        return self._site(SITE_POSITION)

    @property
    def R(self) -> np.ndarray:
        """(3, 3) rotation of the frame: takes vectors in link axes to world axes."""
        return self.robot.site(self)[SITE_ROTATION : SITE_ROTATION + 9].reshape(3, 3).copy()

    @property
    def v(self) -> np.ndarray:
        """(3,) velocity of the frame's origin [m/s], world axes."""
        return self._site(SITE_V)

    @property
    def w(self) -> np.ndarray:
        """(3,) angular velocity [rad/s], world axes."""
        return self._site(SITE_W)

    @property
    def dv(self) -> np.ndarray:
        """(3,) acceleration of the frame's origin [m/s²], world axes."""
        return self._site(SITE_DV)

    @property
    def dw(self) -> np.ndarray:
        """(3,) angular acceleration [rad/s²], world axes."""
        return self._site(SITE_DW)

    @property
    def m(self) -> float:
        """Mass [kg]."""
        return self._mass

    @property
    def c(self) -> np.ndarray:
        """(3,) centre of mass [m], link frame."""
        return self._c.copy()

    @property
    def wc(self) -> np.ndarray:
        """(3,) centre of mass [m], world."""
        return self.p + self.R @ self._c

    @property
    def I(self) -> np.ndarray:  # noqa: E743 — Choreonoid's name
        """(3, 3) inertia about the centre of mass [kg m²], link axes."""
        return self._inertia.copy()

    @property
    def gravity(self) -> bool:
        """
        Whether gravity acts on it, after ODE's gravity mode; to be set.

        If not, a force bears its weight at the centre of mass, and its potential energy is 0.
        """
        return self.surroundings.gravity

    @gravity.setter
    def gravity(self, value: bool) -> None:
        gravity = truth('gravity', value, self._place)
        self._surround(replace(self.surroundings, gravity=gravity))

    @property
    def linear_velocity_damping(self) -> np.ndarray:
        """
        (3,) rates d at which its velocity decays [1/s], along its axes; to be set.

        After AGX: a force -m d v at the centre of mass, v that at the end of the step; of any d.
        """
        return np.array(self.surroundings.linear_velocity_damping)

    @linear_velocity_damping.setter
    def linear_velocity_damping(self, value: Sequence[float]) -> None:
        self._set_rates('linear_velocity_damping', value, '1/s')

    @property
    def angular_velocity_damping(self) -> np.ndarray:
        """(3,) rates d at which its rotation decays [1/s]; to be set; torque -√d I √d w."""
        return np.array(self.surroundings.angular_velocity_damping)

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
        return np.array(self.surroundings.mass_coefficients)

    @mass_coefficients.setter
    def mass_coefficients(self, value: Sequence[float]) -> None:
        self._set_rates('mass_coefficients', value, '1')

    @property
    def inertia_coefficients(self) -> np.ndarray:
        """(3,) inertia that the medium adds [1], about its axes; to be set; I + √C I √C."""
        return np.array(self.surroundings.inertia_coefficients)

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
        point = self.wc if point is None else self._vector('point', point)
        self.robot.add_wrench(self.placement.body, f, np.zeros(3), point)

    def add_torque(self, tau: np.ndarray) -> None:
        """
        Twist the link during the next `world.step` call.

        tau: (3,) torque [N m], world axes. Raises InvalidValueError where it is not three finite
        numbers.
        """
        tau = self._vector('torque', tau)
        self.robot.add_wrench(self.placement.body, np.zeros(3), tau, self.p)

    def _site(self, column: int) -> np.ndarray:
        return self.robot.site(self)[column : column + 3].copy()

    @property
    def _place(self) -> str:
        return f'robot {self.robot.name!r}, link {self.name!r}'

    def _set_rates(self, what: str, value: object, unit: str) -> None:
        self._surround(self.surroundings.with_rates(what, value, unit, self._place))

    def _surround(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.robot.world.forget_surroundings()
        self.robot.invalidate()

    def _vector(self, what: str, value: object) -> np.ndarray:
        return finite_vector(what, value, 3, self._place, 'three finite numbers')
