"""What a robot's joints are told to do, several at once."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data.state import BY_EFFORT
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.validation import real_array
from sim_bridge.robots.joints.motor import FITTING, POSITION, VELOCITY

if TYPE_CHECKING:
    from sim_bridge.engine.data.state import State
    from sim_bridge.robots.joints.joint import AnyJoint


class JointCommands:
    """
    The commands of a Robot, for several joints at once.

    Where anything is wrong nothing is set. All raise UnknownNameError for a joint that is not
    there, and InvalidValueError for a wrong number of values or one that is not finite; those for
    motors StateError for a joint whose control does not go for such a target.
    """

    name: str
    joint_names: list[str]
    _q: np.ndarray

    def command_effort(self, values: Sequence[float], joints: Sequence[str] | None = None) -> None:
        """
        Set the efforts u, which act under any control.

        values: N m or N, one for each of `joints`, or of all `joint_names`.
        """
        names = self._names(joints)
        efforts = self._checked('effort', 'efforts', '[N m or N]', values, names)
        self._u[self._columns(names)] = efforts

    def command_velocity(
        self, values: Sequence[float], joints: Sequence[str] | None = None
    ) -> None:
        """
        Set the target velocities of joints whose control is not 'effort'.

        values: rad/s or m/s, one for each of `joints`, or of all `joint_names`.
        """
        names = self._names(joints)
        velocities = self._checked('velocity', 'velocities', '[rad/s or m/s]', values, names)
        self._check_controls(VELOCITY, 'target_velocity', names)
        self._target[self._columns(names), VELOCITY] = velocities
        self.wake()

    def command_position(
        self,
        values: Sequence[float],
        joints: Sequence[str] | None = None,
        velocities: Sequence[float] | None = None,
    ) -> None:
        """
        Set the target positions of joints whose control is 'position' or 'servo'.

        values: rad or m, one for each of `joints`, or of all `joint_names`. velocities: the target
        velocities there [rad/s or m/s]; None: zero.
        """
        names = self._names(joints)
        targets = np.zeros((len(names), 2))
        targets[:, POSITION] = self._checked('position', 'positions', '[rad or m]', values, names)
        if velocities is not None:
            targets[:, VELOCITY] = self._checked(
                'velocity', 'velocities', '[rad/s or m/s]', velocities, names)
        self._check_controls(POSITION, 'target_position', names)
        self._target[self._columns(names)] = targets
        self.wake()

    @property
    def motor_efforts(self) -> np.ndarray:
        """What the motors of `joint_names` gave in the last step, beside u [N m or N]; a copy."""
        return self._motor.copy()

    def set_commands(
        self,
        position: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
        effort: np.ndarray | None = None,
    ) -> None:
        """
        Set targets and efforts without any check, for those who have checked them.

        position [rad or m], velocity [rad/s or m/s], effort [N m or N]: (n,) of all `joint_names`;
        nan, or None for all, leaves what there is.
        """
        if effort is not None:
            np.copyto(self._u, effort, where=~np.isnan(effort))
        for column, values in ((POSITION, position), (VELOCITY, velocity)):
            if values is not None:
                np.copyto(self._target[:, column], values, where=~np.isnan(values))
                self.wake()

    def drop_commands(self) -> None:
        """Let no effort act, and motors keep their joints where they are."""
        self._u[:] = 0.0
        is_driven = self._control != BY_EFFORT
        self._target[:] = 0.0
        self._target[is_driven, POSITION] = self._q[is_driven]
        if is_driven.any():
            self.wake()

    # --- inside ----------------------------------------------------------------------------------

    def bind_commands(self, state: State, one_axis: slice) -> None:
        """Take new places for the commands of the joints with the coordinates `one_axis`."""
        self._u, self._target = state.u[one_axis], state.target[one_axis]
        self._control, self._motor = state.control[one_axis], state.motor[one_axis]
        self._index = {name: k for k, name in enumerate(self.joint_names)}

    def joint(self, name: str) -> AnyJoint:
        """Return a joint; Robot does."""
        raise NotImplementedError

    def wake(self) -> None:
        """Wake the robot; Robot does."""
        raise NotImplementedError

    def _check_controls(self, column: int, what: str, names: list[str]) -> None:
        fits = FITTING[column][self._control[self._columns(names)]]
        if not fits.all():
            self.joint(names[int(np.argmin(fits))]).axes[0].check_control(column, what)

    def _names(self, joints: Sequence[str] | None) -> list[str]:
        return self.joint_names if joints is None else list(joints)

    def _columns(self, names: list[str]) -> list[int]:
        return [self._index[name] for name in names]

    def _checked(
        self, what: str, several: str, unit: str, values: Sequence[float], names: list[str]
    ) -> np.ndarray:
        """Return finite numbers, one for each of the joints, which are all there."""
        place = f'robot {self.name!r}'
        numbers = real_array(several, values, f'numbers {unit}', place)
        if numbers.shape != (len(names),):
            raise InvalidValueError(
                f'number of {several}', numbers.size,
                f'{len(names)}, one for each of {", ".join(names)}', place)
        for joint, number in zip(names, numbers.tolist(), strict=True):
            if joint not in self._index:
                raise UnknownNameError('joint', joint, self.joint_names, place)
            if not math.isfinite(number):
                raise InvalidValueError(
                    what, number, f'a finite number {unit}', f'{place}, joint {joint!r}')
        return numbers
