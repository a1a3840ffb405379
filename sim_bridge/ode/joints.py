"""Common part of all joints, after ODE's dJoint: bodies, parameters, motors, feedback."""

from __future__ import annotations

import math
from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import finite_number, finite_vector, number_from, real_array
from sim_bridge.ode import constants as ode
from sim_bridge.ode.body import Body
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.ode.world import check_world, serial, World

_NAMES = {
    ode.ParamLoStop: 'ParamLoStop',
    ode.ParamHiStop: 'ParamHiStop',
    ode.ParamVel: 'ParamVel',
    ode.ParamLoVel: 'ParamLoVel',
    ode.ParamHiVel: 'ParamHiVel',
    ode.ParamFMax: 'ParamFMax',
    ode.ParamFudgeFactor: 'ParamFudgeFactor',
    ode.ParamBounce: 'ParamBounce',
    ode.ParamCFM: 'ParamCFM',
    ode.ParamStopERP: 'ParamStopERP',
    ode.ParamStopCFM: 'ParamStopCFM',
    ode.ParamSuspensionERP: 'ParamSuspensionERP',
    ode.ParamSuspensionCFM: 'ParamSuspensionCFM',
    ode.ParamERP: 'ParamERP',
}
_DEFAULTS = {ode.ParamLoStop: -math.inf, ode.ParamHiStop: math.inf, ode.ParamFudgeFactor: 1.0}
_ERPS = (ode.ParamStopERP, ode.ParamSuspensionERP, ode.ParamERP)
_CFMS = (ode.ParamStopCFM, ode.ParamSuspensionCFM, ode.ParamCFM)
_SAME = 1e-9  # distance between two anchors counted as one [m]


class JointGroup:
    """Joints with a common end; the group keeps them alive until then."""

    def __init__(self) -> None:
        """Start with an empty group."""
        self._joints: list[Joint] = []

    def empty(self) -> None:
        """End all joints in the group."""
        for joint in self._joints:
            joint.end()
        self._joints.clear()

    def add_joint(self, joint: Joint) -> None:
        """Add a joint."""
        self._joints.append(joint)

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self._joints)


class Joint:
    """
    Joint between two bodies, or a body and the world (None).

    It is a constraint joint of the engine, added in the next step. Coordinates, motors and stops
    belong to the first body relative to the second, as in ODE. Other attributes are the user's.
    """

    kind = ''
    """Joint kind in `World.add_joint`."""
    axis_count = 0
    _type = ode.JointTypeNone

    def __init__(self, world: World, jointgroup: JointGroup | None = None) -> None:
        """Create the joint; it has no effect before `attach`."""
        if type(self) is Joint:
            raise NotImplementedError("Joint can't be used directly")
        if jointgroup is not None and not isinstance(jointgroup, JointGroup):
            raise InvalidValueError('jointgroup', jointgroup, 'a JointGroup or None')
        self.world, self.number = check_world(world), serial()
        self.bodies: tuple[Body | None, Body | None] = (None, None)
        self._params: dict[int, float] = {}
        self._is_enabled, self._is_over, self._has_feedback = True, False, False
        self._enter()
        if jointgroup is not None:
            jointgroup.add_joint(self)

    def _enter(self) -> None:
        """Register with the world, which adds it to the engine; contact joints override this."""
        self._made: list[Any] = []
        self._efforts = np.zeros(3)
        self._offset = np.zeros(3)
        self._points: list[FloatArray] = [np.zeros(3), np.zeros(3)]
        self._directions: dict[int, tuple[int, FloatArray]] = {}
        self._step = 0.0
        self._end: Any = None
        self.world.admit_joint(self)
        self.renew()

    @property
    def sign(self) -> float:
        """Sign to the engine joint's coordinates: those are the second body's."""
        return -1.0

    # --- life ------------------------------------------------------------------------------------

    @property
    def is_live(self) -> bool:
        """Whether the joint acts."""
        return self._is_enabled and not self._is_over and self.bodies != (None, None)

    def end(self) -> None:
        """End the joint; see `JointGroup.empty`."""
        self._is_over = True
        self.unmake()
        for body in self.bodies:
            if body is not None:
                body.joints.discard(self)
        self.bodies = (None, None)

    def enable(self) -> None:
        """Let the joint act again."""
        self._is_enabled = True
        self.renew()

    def disable(self) -> None:
        """Stop the joint from acting."""
        self._is_enabled = False
        self.unmake()

    def isEnabled(self) -> bool:
        """Return whether the joint is enabled."""
        return self._is_enabled

    def attach(self, body1: Body | None, body2: Body | None) -> None:
        """Attach the joint to two bodies, or to one and the world, None."""
        for name, body in (('body1', body1), ('body2', body2)):
            if body is not None and (not isinstance(body, Body) or body.world is not self.world):
                raise InvalidValueError(
                    name, body, "a Body of the joint's world, or None", type(self).__name__
                )
        if body1 is not None and body1 is body2:
            raise InvalidValueError('body2', body2, 'another body', type(self).__name__)
        self.unmake()
        for body in self.bodies:
            if body is not None:
                body.joints.discard(self)
        self.bodies = (body1, body2)
        for body in self.bodies:
            if body is not None:
                body.joints.add(self)
        self._begin()

    def getType(self) -> int:
        """Return the joint's JointType… constant."""
        return self._type

    def getNumBodies(self) -> int:
        """Return the number of attached bodies."""
        return sum(body is not None for body in self.bodies)

    def getBody(self, index: int) -> Body | None:
        """Return the first (0) or second (1) body."""
        if index not in (0, 1):
            raise IndexError(f'index is {index!r}; expected 0 or 1')
        return self.bodies[index]

    # --- parameters ------------------------------------------------------------------------------

    def setParam(self, param: int, value: float) -> None:
        """Set a parameter: Param… for axis 1, Param…2 or Param…3 for the others."""
        axis, name = self._checked(param)
        place = f'{type(self).__name__}, {_NAMES[name]}{axis + 1 if axis else ""}'
        if name in (ode.ParamLoStop, ode.ParamHiStop, ode.ParamFMax):
            value = float(real_array(_NAMES[name], value, 'a number', place))
            if math.isnan(value):
                raise InvalidValueError(_NAMES[name], value, 'a number', place)
        else:
            value = finite_number(_NAMES[name], value, place)
        if name in _CFMS:
            number_from(_NAMES[name], value, 0.0, math.inf, place, 'a number of at least 0')
        if name in _ERPS:
            number_from(_NAMES[name], value, 0.0, 1.0, place, 'a share from 0 to 1')
        self._params[param] = value
        if name in (ode.ParamSuspensionERP, ode.ParamSuspensionCFM):
            self.renew()
        self._apply()

    def getParam(self, param: int) -> float:
        """Return a parameter."""
        name = self._checked(param)[1]
        return self._params.get(param, self._default(name))

    def _default(self, name: int) -> float:
        if name in _ERPS:
            return self.world.getERP()
        if name in _CFMS:
            return self.world.getCFM()
        return _DEFAULTS.get(name, 0.0)

    def _checked(self, param: int) -> tuple[int, int]:
        if (
            not isinstance(param, int)
            or param % ode.ParamGroup not in _NAMES
            or not (0 <= param // ode.ParamGroup < max(self.axis_count, 1))
        ):
            raise InvalidValueError(
                'param',
                param,
                f'a Param… constant for at most {max(self.axis_count, 1)} axes',
                type(self).__name__,
            )
        return divmod(param, ode.ParamGroup)

    def _apply(self) -> None:
        """Write the parameters to the engine's axes."""
        for number, axis in enumerate(self._axes()):

            def value(name: int, first: int = number * ode.ParamGroup) -> float:
                return self._params.get(first + name, self._default(name))

            low, high, offset = value(0), value(1), self._offset[number]
            if low > high:
                low, high = -math.inf, math.inf
            axis.lower, axis.upper = -math.inf, math.inf
            axis.lower, axis.upper = sorted(self.sign * (each - offset) for each in (low, high))
            axis.bounce, axis.stop_erp = value(ode.ParamBounce), value(ode.ParamStopERP)
            axis.stop_cfm = value(ode.ParamStopCFM)
            most, cfm = value(ode.ParamFMax), value(ode.ParamCFM)
            # as in ODE, no motor acts without a positive FMax
            axis.control = 'effort' if most <= 0.0 else 'servo' if cfm > 0.0 else 'velocity'
            if most > 0.0:
                axis.max_effort = most
                axis.target_velocity = self.sign * value(ode.ParamVel)
            if most > 0.0 and cfm > 0.0:
                # ODE's row, v = vel - CFM F, is a damper about the target velocity
                axis.kp, axis.kd = 0.0, 1.0 / cfm

    def _axes(self) -> list[Any]:
        return [axis for joint in self._made for axis in joint.axes][: self.axis_count]

    def _position(self, number: int = 0) -> float:
        axes = self._synced()
        return float(self._offset[number] + self.sign * axes[number].q) if axes else 0.0

    def _rate(self, number: int = 0) -> float:
        axes = self._synced()
        return self.sign * float(axes[number].dq) if axes else 0.0

    def _angle(self, number: int = 0) -> float:
        return math.remainder(self._position(number), 2.0 * math.pi)

    def _synced(self) -> list[Any]:
        if self.is_live:
            self.world.sync()
        return self._axes()

    def _add_efforts(self, *efforts: float) -> None:
        for number, effort in enumerate(efforts):
            self._efforts[number] += finite_number('effort', effort, type(self).__name__)

    # --- anchors and axes ------------------------------------------------------------------------

    def _begin(self) -> None:
        """Set the anchor at the first attached body."""
        place = next((body.getPosition() for body in self.bodies if body), (0.0, 0.0, 0.0))
        self._fix_anchor(np.array(place))

    def _fix_anchor(self, point: Vector) -> None:
        place = finite_vector('anchor', point, 3, type(self).__name__)
        self._points = [
            place if body is None else np.array(body.getPosRelPoint(place)) for body in self.bodies
        ]
        self._restart()

    def _anchor(self, number: int) -> Triple:
        body, point = self.bodies[number], self._points[number]
        return triple(point) if body is None else body.getRelPointPos(point)

    def _fix_axis(self, number: int, side: int, axis: Vector) -> None:
        direction = finite_vector('axis', axis, 3, type(self).__name__)
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            raise InvalidValueError(
                'axis', axis, 'a vector of non-zero length', type(self).__name__
            )
        body = self.bodies[side]
        direction = direction / length
        self._directions[number] = (
            side,
            (direction if body is None else np.array(body.vectorFromWorld(direction))),
        )
        self._restart()

    def _axis(self, number: int) -> Triple:
        side, direction = self._directions.get(number, (0, np.eye(3)[number % 3]))
        body = self.bodies[side]
        return triple(direction) if body is None else body.vectorToWorld(direction)

    def _restart(self) -> None:
        """Set the coordinates to 0 in the present pose."""
        self.unmake()
        self._offset[:] = 0.0

    # --- in the engine ---------------------------------------------------------------------------

    def renew(self) -> None:
        """Rebuild the engine's joint before the next step or query."""
        self.world.renew(self)

    def make(self) -> None:
        """Add the engine's joint, if this one acts."""
        if self.is_live and not self._made:
            if self._end is None:
                self._end = weakref.finalize(self, _unmake, self.world, self._made)
                self._end.atexit = False
            self._made += self._add()
            self._apply()

    def _add(self) -> list[Any]:
        anchor, anchor2 = (np.array(self._anchor(number)) for number in (0, 1))
        first, second = self._links()
        gap = None if np.linalg.norm(anchor2 - anchor) < _SAME else anchor2
        return [
            self.world.engine.add_joint(
                self.kind,
                first,
                second,
                anchor,
                anchor2=gap,
                tree=False,
                collide=True,
                **self._options(),
            )
        ]

    def _options(self) -> dict[str, Any]:
        """Return further arguments for `World.add_joint`."""
        return {} if not self.axis_count else {'axis': self._axis(0)}

    def _links(self) -> list[Any]:
        return [None if body is None else body.robot.root_link for body in self.bodies]

    def unmake(self) -> None:
        """Remove the engine's joint, if any; the coordinates continue from here."""
        self._drop()
        self.renew()

    def _drop(self) -> None:
        for number, axis in enumerate(self._axes()):
            self._offset[number] += self.sign * axis.q
        _unmake(self.world, self._made)

    def prepare_step(self, time_step: float) -> None:
        """Write efforts, and wake bodies connected to a moving body."""
        if not self.is_live:
            return
        if self._step != time_step:
            self._step = time_step
            if self._depends_on_step():
                self._drop()
                self.make()
        self._wake()
        if self._efforts.any():
            for axis, effort in zip(self._axes(), self._efforts, strict=False):
                axis.u = self.sign * effort

    def _wake(self) -> None:
        """Enable a stopped body connected to a moving one."""
        one, other = self.bodies
        if one is not None and other is not None and one.is_stopped != other.is_stopped:
            for body, beside in ((one, other), (other, one)):
                if body.is_stopped and not beside.isKinematic():
                    body.enable()

    def _depends_on_step(self) -> bool:
        return False

    def finish_step(self) -> None:
        """Reset the efforts."""
        if self._efforts.any():
            self._efforts[:] = 0.0
            for axis in self._axes():
                axis.u = 0.0

    def reset_softness(self) -> None:
        """Use the world's ERP and CFM."""
        self._soften(self.world.getERP(), self.world.getCFM())
        self._apply()

    def _soften(self, erp: float, cfm: float) -> None:
        for joint in self._made:
            if joint.type not in ('angular_motor', 'slider_motor'):
                joint.erp, joint.cfm = erp, cfm

    # --- feedback --------------------------------------------------------------------------------

    def setFeedback(self, flag: bool = True) -> None:
        """Set whether getFeedback returns forces."""
        self._has_feedback = bool(flag)

    def getFeedback(self) -> tuple[Triple, Triple, Triple, Triple] | None:
        """Return force, torque on the first body, then the second; about their centres."""
        if not self._has_feedback:
            return None
        if not self.is_live:
            raise StateError(f'{type(self).__name__} is not attached or enabled: it has no force')
        self.world.sync()
        total = np.zeros((4, 3))
        for joint in self._made:
            total += np.array(joint.feedback())
        return triple(total[0]), triple(total[1]), triple(total[2]), triple(total[3])


def _unmake(world: Any, made: list[Any]) -> None:
    for joint in made:
        if world.engine.joints.get(joint.key) is joint:
            world.engine.remove_joint(joint)
    made.clear()
