"""ODE joints with constraints: ball, hinge, slider, universal, and others."""

from __future__ import annotations

from typing import Any

from sim_bridge.foundation.arrays import Vector
from sim_bridge.ode import constants as ode
from sim_bridge.ode.joints import Joint
from sim_bridge.ode.mass import Triple

_SAME = 1e-9  # height counted as zero [m]


class _Anchored(Joint):
    """Joint with an anchor."""

    def setAnchor(self, pos: Vector) -> None:
        """Set the anchor [m], world; coordinates are 0 there."""
        self._fix_anchor(pos)

    def getAnchor(self) -> Triple:
        """Return the anchor on the first body [m]."""
        return self._anchor(0)

    def getAnchor2(self) -> Triple:
        """Return the anchor on the second body [m]."""
        return self._anchor(1)


class SoftJoint(Joint):
    """Joint with its own ERP and CFM: ParamERP, ParamCFM."""

    def _apply(self) -> None:
        super()._apply()
        self._soften(self.getParam(ode.ParamERP), self.getParam(ode.ParamCFM))


class BallJoint(SoftJoint, _Anchored):
    """Rotation about the anchor in all directions."""

    kind, _type = 'ball', ode.JointTypeBall


class _WithAxis(Joint):
    """Joint with one axis."""

    axis_count = 1

    def setAxis(self, axis: Vector) -> None:
        """Set the axis, world; the coordinate is 0 in the present pose."""
        self._fix_axis(0, 0 if self.bodies[0] is not None else 1, axis)

    def getAxis(self) -> Triple:
        """Return the axis, world."""
        return self._axis(0)


class _Sliding(_WithAxis):
    """Joint that slides along its axis."""

    def getPosition(self) -> float:
        """Return the position [m]."""
        return self._position()

    def getPositionRate(self) -> float:
        """Return the velocity [m/s]."""
        return self._rate()

    def addForce(self, force: float) -> None:
        """Add a force along the axis for the next step [N]."""
        self._add_efforts(force)


class _Turning(_WithAxis, _Anchored):
    """Joint that rotates about its axis, through an anchor."""

    def getAngle(self) -> float:
        """Return the angle, -pi to pi [rad]."""
        return self._angle(self.axis_count - 1)

    def getAngleRate(self) -> float:
        """Return the angular velocity [rad/s]."""
        return self._rate(self.axis_count - 1)


class HingeJoint(_Turning):
    """Rotation about an axis."""

    kind, _type = 'hinge', ode.JointTypeHinge

    def addTorque(self, torque: float) -> None:
        """Add a torque for the next step [N m]."""
        self._add_efforts(torque)


class PistonJoint(_Sliding, _Turning):
    """Sliding along an axis and rotation about it; parameters: sliding first."""

    kind, axis_count, _type = 'piston', 2, ode.JointTypePiston


class SliderJoint(_Sliding):
    """Sliding along an axis."""

    kind, _type = 'slider', ode.JointTypeSlider


class UniversalJoint(_Anchored):
    """Rotation about axis 1, fixed to the first body, and axis 2, fixed to the second."""

    kind, axis_count, _type = 'universal', 2, ode.JointTypeUniversal

    def setAxis1(self, axis: Vector) -> None:
        """Set axis 1, world."""
        self._fix_axis(0, 0, axis)

    def setAxis2(self, axis: Vector) -> None:
        """Set axis 2, world."""
        self._fix_axis(1, 1, axis)

    def getAxis1(self) -> Triple:
        """Return axis 1, world."""
        return self._axis(0)

    def getAxis2(self) -> Triple:
        """Return axis 2, world."""
        return self._axis(1)

    def getAngle1(self) -> float:
        """Return the angle about axis 1 [rad]."""
        return self._angle()

    def getAngle2(self) -> float:
        """Return the angle about axis 2 [rad]."""
        return self._angle(1)

    def getAngles(self) -> tuple[float, float]:
        """Return both angles [rad]."""
        return self._angle(), self._angle(1)

    def getAngle1Rate(self) -> float:
        """Return the angular velocity about axis 1 [rad/s]."""
        return self._rate()

    def getAngle2Rate(self) -> float:
        """Return the angular velocity about axis 2 [rad/s]."""
        return self._rate(1)

    def addTorques(self, torque1: float, torque2: float) -> None:
        """Add torques about both axes for the next step [N m]."""
        self._add_efforts(torque1, torque2)

    def _options(self) -> dict[str, Any]:
        return {'axis': self._axis(0), 'axis2': self._axis(1)}


class Hinge2Joint(UniversalJoint):
    """Universal joint with axes at any angle and a suspension along axis 1, for wheels."""

    kind, _type = 'hinge2', ode.JointTypeHinge2

    def _suspension(self) -> tuple[float, float]:
        return (self.getParam(ode.ParamSuspensionERP), self.getParam(ode.ParamSuspensionCFM))

    def _depends_on_step(self) -> bool:
        return self._suspension()[1] > 0.0

    def _options(self) -> dict[str, Any]:
        erp, cfm = self._suspension()
        options = super()._options()
        if cfm > 0.0 and self._step > 0.0:
            options['suspension'] = erp / (self._step * cfm), (1.0 - erp) / cfm
        return options


class FixedJoint(SoftJoint):
    """Rigid connection between two bodies."""

    kind, _type = 'fixed', ode.JointTypeFixed

    def setFixed(self) -> None:
        """Fix the present relative pose."""
        self._fix_anchor(self._anchor(0))


class Plane2DJoint(Joint):
    """Planar motion of a body in z = 0, with rotation about z only."""

    kind, axis_count, _type = 'planar', 3, ode.JointTypePlane2D

    @property
    def sign(self) -> float:
        """Sign between the joint's coordinates and the engine joint's coordinates."""
        return 1.0

    def setXParam(self, param: int, value: float) -> None:
        """Set a parameter for the motion along x."""
        self.setParam(param, value)

    def setYParam(self, param: int, value: float) -> None:
        """Set a parameter for the motion along y."""
        self.setParam(param + ode.ParamGroup, value)

    def setAngleParam(self, param: int, value: float) -> None:
        """Set a parameter for the rotation."""
        self.setParam(param + 2 * ode.ParamGroup, value)

    def _add(self) -> list[Any]:
        link = next(link for link in self._links() if link is not None)
        place = link.p
        ground = place * (1.0, 1.0, 0.0)
        return [
            self.world.engine.add_joint(
                'planar',
                None,
                link,
                ground,
                (0.0, 0.0, 1.0),
                normal=(1.0, 0.0, 0.0),
                anchor2=None if abs(place[2]) < _SAME else place,
                tree=False,
                collide=True,
            )
        ]
