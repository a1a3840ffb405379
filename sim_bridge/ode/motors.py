"""ODE joints without constraints: angular and linear motors."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import finite_vector, number_from, whole_number
from sim_bridge.ode import constants as ode
from sim_bridge.ode.joints import Joint
from sim_bridge.ode.mass import Triple, triple


class _Motor(Joint):
    """Motors along one to three axes, each fixed to the world (0), the first or second body."""

    def setNumAxes(self, num: int) -> None:
        """Set the number of axes, 0 to 3."""
        number_from('num', num, 0, 3, type(self).__name__, 'a whole number from 0 to 3')
        self.axis_count = whole_number('num', num)
        self._restart()

    def getNumAxes(self) -> int:
        """Return the number of axes."""
        return self.axis_count

    def setAxis(self, anum: int, rel: int, axis: Vector) -> None:
        """Set an axis, world; rel: fixed to the world (0), the first (1) or second body (2)."""
        for name, value in (('anum', anum), ('rel', rel)):
            if value not in (0, 1, 2):
                raise InvalidValueError(name, value, '0, 1 or 2', type(self).__name__)
        self._relative[anum] = rel
        self._fix_axis(anum, max(rel - 1, 0), axis)
        if rel == 0:
            direction = finite_vector('axis', axis, 3, type(self).__name__)
            self._fixed[anum] = direction / np.linalg.norm(direction)

    def getAxis(self, anum: int) -> Triple:
        """Return an axis, world."""
        if self._relative.get(anum) == 0:
            return triple(self._fixed[anum])
        return self._axis(anum)

    def getAxisRel(self, anum: int) -> int:
        """Return the frame of an axis: world (0), first (1) or second body (2)."""
        return self._relative.get(anum, 0)

    @property
    def _relative(self) -> dict[int, int]:
        return self.__dict__.setdefault('_relative_', {})

    @property
    def _fixed(self) -> dict[int, FloatArray]:
        return self.__dict__.setdefault('_fixed_', {})

    def _sides(self) -> list[str]:
        """Return the frames of the axes in the engine's words."""
        sides = []
        for number in range(self.axis_count):
            rel = self._relative.get(number)
            if rel is None:
                raise StateError(f'{type(self).__name__} has no axis {number}: call setAxis')
            sides.append(('world', 'first', 'second')[rel])
        return sides


class AMotor(_Motor):
    """Motors and stops about one to three axes."""

    _type = ode.JointTypeAMotor

    def setMode(self, mode: int) -> None:
        """Set the mode, AMotorUser or AMotorEuler."""
        if mode not in (ode.AMotorUser, ode.AMotorEuler):
            raise InvalidValueError('mode', mode, 'AMotorUser or AMotorEuler', 'AMotor')
        if mode == ode.AMotorEuler:
            for number, rel in self._relative.items():
                _check_euler_axis(number, rel)
            self.axis_count = 3
        self.__dict__['_mode_'] = mode
        self._restart()

    def getMode(self) -> int:
        """Return the mode."""
        return int(self.__dict__.get('_mode_', ode.AMotorUser))

    def setAxis(self, anum: int, rel: int, axis: Vector) -> None:
        """Set an axis, world; Euler mode fixes axis 0 to the first body, 2 to the second."""
        if self.getMode() == ode.AMotorEuler:
            _check_euler_axis(anum, rel)
        super().setAxis(anum, rel, axis)

    def getAxis(self, anum: int) -> Triple:
        """Return an axis, world; in Euler mode axis 1 is the cross product axis 2 × axis 0."""
        if anum != 1 or self.getMode() != ode.AMotorEuler:
            return super().getAxis(anum)
        middle = np.cross(super().getAxis(2), super().getAxis(0))
        return triple(middle / np.linalg.norm(middle))

    def setAngle(self, anum: int, angle: float) -> None:
        """Set the present value of an angle in user mode [rad]."""
        if self.getMode() == ode.AMotorEuler:
            raise StateError('AMotor: in Euler mode angles are measured')
        axes = self._synced()
        self._offset[anum] = angle - self.sign * (axes[anum].q if axes else 0.0)
        self._apply()

    def getAngle(self, anum: int) -> float:
        """Return an angle [rad]."""
        return self._position(anum)

    def getAngleRate(self, anum: int) -> float:
        """Return an angular velocity [rad/s]."""
        return self._rate(anum)

    def addTorques(self, torque0: float, torque1: float = 0.0, torque2: float = 0.0) -> None:
        """Add torques about the axes for the next step [N m]."""
        self._add_efforts(torque0, torque1, torque2)

    def _add(self) -> list[Any]:
        if not self.axis_count:
            return []
        engine, (first, second) = self.world.engine, self._links()
        if self.getMode() == ode.AMotorEuler:
            return [
                engine.add_angular_motor(
                    first, second, np.array([self.getAxis(0), self.getAxis(2)]), euler=True
                )
            ]
        axes = np.array([self.getAxis(number) for number in range(self.axis_count)])
        return [engine.add_angular_motor(first, second, axes, fixed_on=self._sides())]


class LMotor(_Motor):
    """Motors along one to three axes, through the midpoint between both bodies."""

    _type = ode.JointTypeLMotor

    def prepare_step(self, time_step: float) -> None:
        """Move the motors to the present body poses."""
        for number, joint in enumerate(self._made if self.is_live else ()):
            axis = self.getAxis(number)
            if None not in self.bodies or not np.allclose(joint.axis, axis, atol=1e-12):
                joint.axis, joint.anchor = axis, self._middle()
        super().prepare_step(time_step)

    def _middle(self) -> FloatArray:
        places = [body.getPosition() for body in self.bodies if body is not None]
        return np.mean(places, axis=0)

    def _add(self) -> list[Any]:
        first, second = self._links()
        # `prepare_step` moves rotating axes in each step
        self._sides()
        return [
            self.world.engine.add_joint(
                'slider_motor', first, second, self._middle(), self.getAxis(number), tree=False
            )
            for number in range(self.axis_count)
        ]


def _check_euler_axis(anum: int, rel: int) -> None:
    """Raise InvalidValueError if an outer axis of Euler mode is fixed to the wrong frame."""
    needed = {0: 1, 2: 2}.get(anum, rel)
    if rel != needed:
        raise InvalidValueError(f'rel of axis {anum}', rel, f'{needed} in Euler mode', 'AMotor')
