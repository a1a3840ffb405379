"""Commands for several joints of a robot at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Protocol

import numpy as np

from sim_bridge.engine.data.state import BY_EFFORT
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.validation import real_array
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.motor import FITTING, POSITION, VELOCITY
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot


class ControlledJoint(Protocol):
    """A joint that has axes."""

    @property
    def axes(self) -> Sequence[Axis]:
        """One for each coordinate that turns about, or slides along, an axis."""


class JointCommands:
    """
    Efforts and targets of a robot's one-axis joints.

    Where anything is wrong nothing is set. Errors are those of `Robot.command_effort`.
    """

    def __init__(
        self, simulation: Simulation, slot: RobotSlot, joint: Callable[[str], ControlledJoint]
    ):
        """Command the joints of a robot. joint: returns one by its name."""
        self._simulation, self._slot, self._joint = simulation, slot, joint
        self._names = slot.blueprint.joint_names
        self._index = {name: k for k, name in enumerate(self._names)}

    def set_efforts(self, values: Sequence[float], joints: Sequence[str] | None) -> None:
        """Set the efforts u [N m or N]."""
        names = self._chosen(joints)
        efforts = self._checked('effort', 'efforts', '[N m or N]', values, names)
        self._slot.u[self._columns(names)] = efforts

    def set_velocities(self, values: Sequence[float], joints: Sequence[str] | None) -> None:
        """Set the target velocities [rad/s or m/s]."""
        names = self._chosen(joints)
        velocities = self._checked('velocity', 'velocities', '[rad/s or m/s]', values, names)
        self._check_controls(VELOCITY, 'target_velocity', names)
        self._slot.target[self._columns(names), VELOCITY] = velocities
        self._wake()

    def set_positions(
        self, values: Sequence[float], joints: Sequence[str] | None,
        velocities: Sequence[float] | None,
    ) -> None:
        """Set the target positions [rad or m], and the target velocities, zero if None."""
        names = self._chosen(joints)
        targets = np.zeros((len(names), 2))
        targets[:, POSITION] = self._checked('position', 'positions', '[rad or m]', values, names)
        if velocities is not None:
            targets[:, VELOCITY] = self._checked(
                'velocity', 'velocities', '[rad/s or m/s]', velocities, names)
        self._check_controls(POSITION, 'target_position', names)
        self._slot.target[self._columns(names)] = targets
        self._wake()

    def set_unchecked(
        self, position: np.ndarray | None, velocity: np.ndarray | None, effort: np.ndarray | None
    ) -> None:
        """Set targets and efforts of all joints; nan, or None for all, leaves what there is."""
        slot = self._slot
        if effort is not None:
            np.copyto(slot.u, effort, where=~np.isnan(effort))
        for column, values in ((POSITION, position), (VELOCITY, velocity)):
            if values is not None:
                np.copyto(slot.target[:, column], values, where=~np.isnan(values))
                self._wake()

    def drop(self) -> None:
        """Clear all efforts, and set the motors' targets to the joints' present positions."""
        slot = self._slot
        slot.u[:] = 0.0
        is_driven = slot.control != BY_EFFORT
        slot.target[:], slot.course[:] = 0.0, 0.0
        slot.target[is_driven, POSITION] = slot.q[is_driven]
        if is_driven.any():
            self._wake()

    def _wake(self) -> None:
        self._slot.wake()
        self._simulation.forget_observations()

    def _check_controls(self, column: int, what: str, names: Sequence[str]) -> None:
        fits = FITTING[column][self._slot.control[self._columns(names)]]
        if not fits.all():
            self._joint(names[int(np.argmin(fits))]).axes[0].check_control(column, what)

    def _chosen(self, joints: Sequence[str] | None) -> Sequence[str]:
        return self._names if joints is None else list(joints)

    def _columns(self, names: Sequence[str]) -> list[int]:
        return [self._index[name] for name in names]

    def _checked(
        self, what: str, several: str, unit: str, values: Sequence[float], names: Sequence[str]
    ) -> np.ndarray:
        """Return finite numbers, one for each of the joints, which are all there."""
        place = f'robot {self._slot.name!r}'
        numbers = real_array(several, values, f'numbers {unit}', place)
        if numbers.shape != (len(names),):
            raise InvalidValueError(
                f'number of {several}', numbers.size,
                f'{len(names)}, one for each of {", ".join(names)}', place)
        for joint, number in zip(names, numbers.tolist(), strict=True):
            if joint not in self._index:
                raise UnknownNameError('joint', joint, self._names, place)
            if not math.isfinite(number):
                raise InvalidValueError(
                    what, number, f'a finite number {unit}', f'{place}, joint {joint!r}')
        return numbers
