"""The joints of ODE that hold something: ball, hinge, slider, universal, and others."""

from __future__ import annotations

from typing import Any

from sim_bridge.foundation.arrays import Vector
from sim_bridge.ode import constants as ode
from sim_bridge.ode.joints import Joint
from sim_bridge.ode.mass import Triple

_SAME = 1e-9  # height that counts as none [m]


class _Anchored(Joint):
    """A joint with an anchor."""

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
    """A joint with an ERP and a CFM of its own: ParamERP, ParamCFM."""

    def _apply(self) -> None:
        super()._apply()
        self._soften(self.getParam(ode.ParamERP), self.getParam(ode.ParamCFM))


class BallJoint(SoftJoint, _Anchored):
    """Turns about the anchor in all directions."""

    kind, _type = 'ball', ode.JointTypeBall


class _WithAxis(Joint):
    """A joint with one axis."""

    axis_count = 1

    def setAxis(self, axis: Vector) -> None:
        """Set the axis, world; the coordinate is 0 there."""
        self._fix_axis(0, 0 if self.bodies[0] is not None else 1, axis)

    def getAxis(self) -> Triple:
        """Return the axis, world."""
        return self._axis(0)


class _Sliding(_WithAxis):
    """A joint that slides along its axis."""

    def getPosition(self) -> float:
        """Return the position [m]."""
        return self._position()

    def getPositionRate(self) -> float:
        """Return its rate [m/s]."""
        return self._rate()

    def addForce(self, force: float) -> None:
        """Add a force along the axis for the next step [N]."""
        self._add_efforts(force)


class _Turning(_WithAxis, _Anchored):
    """A joint that turns about its axis, through an anchor."""

    def getAngle(self) -> float:
        """Return the angle, -pi to pi [rad]."""
        return self._angle(self.axis_count - 1)

    def getAngleRate(self) -> float:
        """Return its rate [rad/s]."""
        return self._rate(self.axis_count - 1)


class HingeJoint(_Turning):
    """Turns about an axis."""

    kind, _type = 'hinge', ode.JointTypeHinge

    def addTorque(self, torque: float) -> None:
        """Add a torque for the next step [N m]."""
        self._add_efforts(torque)


class PistonJoint(_Sliding, _Turning):
    """Slides along an axis and turns about it; its parameters: first of the sliding."""

    kind, axis_count, _type = 'piston', 2, ode.JointTypePiston


class SliderJoint(_Sliding):
    """Slides along an axis."""

    kind, _type = 'slider', ode.JointTypeSlider


class UniversalJoint(_Anchored):
    """Turns about axis 1, fixed on the first body, and axis 2, fixed on the second."""

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
        """Return its rate [rad/s]."""
        return self._rate()

    def getAngle2Rate(self) -> float:
        """Return its rate [rad/s]."""
        return self._rate(1)

    def addTorques(self, torque1: float, torque2: float) -> None:
        """Add torques about both axes for the next step [N m]."""
        self._add_efforts(torque1, torque2)

    def _options(self) -> dict[str, Any]:
        return {'axis': self._axis(0), 'axis2': self._axis(1)}


class Hinge2Joint(UniversalJoint):
    """As universal, for axes at any angle, with a suspension along axis 1: a wheel's."""

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
    """Holds two bodies as they are."""

    kind, _type = 'fixed', ode.JointTypeFixed

    def setFixed(self) -> None:
        """Hold them as they are now."""
        self._fix_anchor(self._anchor(0))


class Plane2DJoint(Joint):
    """Holds a body in the plane z = 0, about z alone."""

    kind, axis_count, _type = 'planar', 3, ode.JointTypePlane2D

    @property
    def sign(self) -> float:
        """Of its coordinates to those of the engine's joint."""
        return 1.0

    def setXParam(self, param: int, value: float) -> None:
        """Set a parameter of the motion along x."""
        self.setParam(param, value)

    def setYParam(self, param: int, value: float) -> None:
        """Set a parameter of the motion along y."""
        self.setParam(param + ode.ParamGroup, value)

    def setAngleParam(self, param: int, value: float) -> None:
        """Set a parameter of the rotation."""
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
