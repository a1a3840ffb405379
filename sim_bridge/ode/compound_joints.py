"""ODE joints built from several engine joints: prismatic with rotation, and double joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.validation import finite_vector, positive_number
from sim_bridge.ode import constants as ode
from sim_bridge.ode.joint_types import SoftJoint
from sim_bridge.ode.joints import Joint
from sim_bridge.ode.mass import Triple


class _Compound(Joint):
    """
    Joint built from several engine joints, in axis order.

    If the first body is the world, the second takes its part, as in ODE.
    """

    @property
    def sign(self) -> float:
        """Sign between the joint's coordinates and the engine joints' coordinates."""
        return 1.0 if self._is_turned else -1.0

    @property
    def _is_turned(self) -> bool:
        return self.bodies[0] is None

    def _side(self, number: int) -> int:
        """Return the index of the body in the role of the first (0) or the second (1)."""
        return 1 - number if self._is_turned else number

    def _part(self, kind: str, axis: Triple, axis2: Triple | None = None) -> Any:
        """Add one engine joint."""
        first, second = self._links()
        anchor, anchor2 = self._anchor(0), self._anchor(1)
        if self._is_turned:
            first, second, anchor, anchor2 = second, first, anchor2, anchor
        return self.world.engine.add_joint(
            kind,
            first,
            second,
            anchor,
            axis,
            axis2,
            anchor2=anchor2,
            tree=False,
            collide=True,
            erp=self.world.getERP(),
            cfm=self.world.getCFM(),
        )


class _OnRail(_Compound):
    """Joint whose anchor slides along an axis on the first body."""

    _slide = 0

    def setAnchor(self, pos: Vector) -> None:
        """Set the anchor [m], world; coordinates are 0 there."""
        self._fix_anchor(pos)

    def getAnchor(self) -> Triple:
        """Return the anchor on the second body [m]."""
        return self._anchor(self._side(1))

    def getPosition(self) -> float:
        """Return the position along the sliding axis [m]."""
        return self._position(self._slide)

    def getPositionRate(self) -> float:
        """Return the velocity along the sliding axis [m/s]."""
        return self._rate(self._slide)


class PRJoint(_OnRail):
    """
    Slider along axis 1, fixed to the first body, with a hinge about axis 2 at the anchor.

    Parameters: sliding first, then rotation.
    """

    _type, axis_count = ode.JointTypePR, 2

    def setAxis1(self, axis: Vector) -> None:
        """Set the sliding axis, world."""
        self._fix_axis(0, self._side(0), axis)

    def setAxis2(self, axis: Vector) -> None:
        """Set the rotation axis, world; not parallel to axis 1."""
        self._fix_axis(1, self._side(1), axis)

    def getAxis1(self) -> Triple:
        """Return axis 1, world."""
        return self._axis(0)

    def getAxis2(self) -> Triple:
        """Return axis 2, world."""
        return self._axis(1)

    def getAngle(self) -> float:
        """Return the angle [rad]."""
        return self._angle(1)

    def getAngleRate(self) -> float:
        """Return the angular velocity [rad/s]."""
        return self._rate(1)

    def addTorque(self, torque: float) -> None:
        """Add a torque about axis 2 for the next step [N m]."""
        self._add_efforts(0.0, torque)

    def _add(self) -> list[Any]:
        return [self._part('inline', self._axis(0)), self._part('parallel', self._axis(1))]


class PUJoint(_OnRail):
    """
    Slider along axis 3, fixed to the first body, with a universal joint at the anchor.

    Axis 1 is fixed to the first body, axis 2 to the second. Parameters: axis 1, axis 2, sliding.
    """

    _type, axis_count, _slide = ode.JointTypePU, 3, 2

    def setAxis1(self, axis: Vector) -> None:
        """Set axis 1, world."""
        self._fix_axis(0, self._side(0), axis)

    def setAxis2(self, axis: Vector) -> None:
        """Set axis 2, world."""
        self._fix_axis(1, self._side(1), axis)

    def setAxis3(self, axis: Vector) -> None:
        """Set the sliding axis, world."""
        self._fix_axis(2, self._side(0), axis)

    def getAxis1(self) -> Triple:
        """Return axis 1, world."""
        return self._axis(0)

    def getAxis2(self) -> Triple:
        """Return axis 2, world."""
        return self._axis(1)

    def getAxis3(self) -> Triple:
        """Return the sliding axis, world."""
        return self._axis(2)

    setAxisP, getAxisP = setAxis3, getAxis3

    def getAngle1(self) -> float:
        """Return the angle about axis 1 [rad]."""
        return self._angle(0)

    def getAngle2(self) -> float:
        """Return the angle about axis 2 [rad]."""
        return self._angle(1)

    def getAngles(self) -> tuple[float, float]:
        """Return both angles [rad]."""
        return self._angle(0), self._angle(1)

    def getAngle1Rate(self) -> float:
        """Return the angular velocity about axis 1 [rad/s]."""
        return self._rate(0)

    def getAngle2Rate(self) -> float:
        """Return the angular velocity about axis 2 [rad/s]."""
        return self._rate(1)

    def addTorques(self, torque1: float, torque2: float) -> None:
        """Add torques about axes 1 and 2 for the next step [N m]."""
        self._add_efforts(torque1, torque2)

    def _add(self) -> list[Any]:
        return [
            self._part('perpendicular', self._axis(0), self._axis(1)),
            self._part('inline', self._axis(2)),
        ]


class _Double(SoftJoint):
    """Joint with an anchor on each body, at a constant distance."""

    _wanted: float | None = None

    def setAnchor1(self, pos: Vector) -> None:
        """Set the anchor on the first body [m], world."""
        self._fix_one(0, pos)

    def setAnchor2(self, pos: Vector) -> None:
        """Set the anchor on the second body [m], world."""
        self._fix_one(1, pos)

    def getAnchor1(self) -> Triple:
        """Return the anchor on the first body [m]."""
        return self._anchor(0)

    def getAnchor2(self) -> Triple:
        """Return the anchor on the second body [m]."""
        return self._anchor(1)

    def getDistance(self) -> float:
        """Return the target distance [m]."""
        return self._present() if self._wanted is None else self._wanted

    def setDistance(self, distance: float) -> None:
        """Set the target distance [m]."""
        self._wanted = positive_number(
            'distance', distance, 'a positive number [m]', type(self).__name__
        )
        self._restart()

    def _present(self) -> float:
        return float(np.linalg.norm(np.subtract(self._anchor(0), self._anchor(1))))

    def _fix_one(self, side: int, pos: Vector) -> None:
        place: FloatArray = finite_vector('anchor', pos, 3, type(self).__name__)
        body = self.bodies[side]
        self._points[side] = place if body is None else np.array(body.getPosRelPoint(place))
        self._wanted = None
        self._restart()

    def _tie(self, kind: str, **options: Any) -> Any:
        first, second = self._links()
        return self.world.engine.add_joint(
            kind,
            first,
            second,
            self._anchor(0),
            anchor2=self._anchor(1),
            tree=False,
            collide=True,
            **options,
        )

    def _add(self) -> list[Any]:
        self._wanted = self.getDistance()
        joint = self._tie('distance')
        joint.distance = self._wanted
        return [joint]


class DBallJoint(_Double):
    """Constant distance between two anchors."""

    _type = ode.JointTypeDBall


class DHingeJoint(_Double):
    """Constant distance between two anchors in the plane perpendicular to a common axis."""

    _type = ode.JointTypeDHinge

    def setAxis(self, axis: Vector) -> None:
        """Set the axis, world."""
        self._fix_axis(0, 0 if self.bodies[0] is not None else 1, axis)

    def getAxis(self) -> Triple:
        """Return the axis, world."""
        return self._axis(0)

    def _add(self) -> list[Any]:
        return [*super()._add(), self._tie('planar', axis=self._axis(0))]
