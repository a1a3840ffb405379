"""A link of a robot in a world: where it is, how it moves, what it weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.observe import (
    SITE_DV,
    SITE_DW,
    SITE_POSITION,
    SITE_ROTATION,
    SITE_V,
    SITE_W,
)
from sim_bridge.errors import InvalidValueError

if TYPE_CHECKING:
    from sim_bridge.description.compile import Placement
    from sim_bridge.description.model import LinkDescription
    from sim_bridge.geometry import Geometry
    from sim_bridge.joint import Joint
    from sim_bridge.robot import Robot


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
        self.placement = placement
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

    def _vector(self, what: str, value: object) -> np.ndarray:
        vector = np.asarray(value, dtype=float)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            place = f'robot {self.robot.name!r}, link {self.name!r}'
            raise InvalidValueError(what, value, 'three finite numbers', place)
        return vector
