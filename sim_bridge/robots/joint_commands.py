"""Commands for several robot joints at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math

import numpy as np

from sim_bridge.engine.data.state import BY_EFFORT
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.validation import items_of, real_array
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.motor import FITTING, POSITION, VELOCITY
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot


class JointCommands:
    """
    Efforts and targets for a robot's one-axis joints.

    A command with an error changes nothing. Errors are as for `Robot.command_effort`.
    """

    def __init__(self, simulation: Simulation, slot: RobotSlot, joint: Callable[[str], AnyJoint]):
        """Command a robot's joints. joint: function from a name to the joint."""
        self._simulation, self._slot, self._joint = simulation, slot, joint
        self._names = slot.blueprint.joint_names
        self._index = {name: k for k, name in enumerate(self._names)}

    def set_efforts(self, values: Vector, joints: Sequence[str] | None) -> None:
        """Set the efforts u [N m or N]."""
        rows, efforts = self._checked('effort', 'efforts', '[N m or N]', values, joints)
        self._simulation.write(self._slot, 'u', rows, efforts)

    def set_velocities(self, values: Vector, joints: Sequence[str] | None) -> None:
        """Set the target velocities [rad/s or m/s]."""
        rows, velocities = self._checked(
            'velocity', 'velocities', '[rad/s or m/s]', values, joints
        )
        self._check_controls(VELOCITY, 'target_velocity', rows)
        slot = self._slot
        self._simulation.write(slot, 'target', (rows, VELOCITY), velocities, (slot,))

    def set_positions(
        self, values: Vector, joints: Sequence[str] | None, velocities: Vector | None
    ) -> None:
        """Set the target positions [rad or m] and the target velocities; zero if None."""
        rows, positions = self._checked('position', 'positions', '[rad or m]', values, joints)
        rates = np.zeros(len(rows))
        if velocities is not None:
            rows, rates = self._checked(
                'velocity', 'velocities', '[rad/s or m/s]', velocities, joints
            )
        self._check_controls(POSITION, 'target_position', rows)
        slot, targets = self._slot, np.empty((len(rows), 2))
        targets[:, POSITION], targets[:, VELOCITY] = positions, rates
        self._simulation.write(slot, 'target', rows, targets, (slot,))

    def set_unchecked(
        self, position: FloatArray | None, velocity: FloatArray | None, effort: FloatArray | None
    ) -> None:
        """Set all joints' targets and efforts; nan, or None for all, keeps the old value."""
        slot, write = self._slot, self._simulation.write
        if effort is not None:
            is_given = ~np.isnan(effort)
            write(slot, 'u', is_given, effort[is_given])
        for column, values in ((POSITION, position), (VELOCITY, velocity)):
            if values is not None:
                is_given = ~np.isnan(values)
                write(slot, 'target', (is_given, column), values[is_given], (slot,))

    def drop(self) -> None:
        """Clear all efforts, and set the motor targets to the current joint positions."""
        slot, write = self._slot, self._simulation.write
        is_driven, targets = slot.control != BY_EFFORT, np.zeros_like(slot.target)
        targets[is_driven, POSITION] = slot.q[is_driven]
        with Change(self._simulation.staleness):
            write(slot, 'u', slice(None), 0.0)
            write(slot, 'course', slice(None), 0.0)
            write(slot, 'target', slice(None), targets, (slot,) if is_driven.any() else ())

    def _check_controls(self, column: int, what: str, rows: list[int]) -> None:
        """Raise StateError if a joint's control mode does not use the target `column`."""
        fits = FITTING[column][self._slot.control[rows]]
        if not fits.all():
            name = self._names[rows[int(np.argmin(fits))]]
            self._joint(name).axes[0].check_control(column, what)

    def _checked(
        self, what: str, several: str, unit: str, values: Vector, joints: Sequence[str] | None
    ) -> tuple[list[int], FloatArray]:
        """Return the rows of known joints (all if None), and one finite number for each."""
        place = f'robot {self._slot.name!r}'
        names = (
            self._names
            if joints is None
            else items_of('joints', joints, str, 'joint names', place)
        )
        numbers = real_array(several, values, f'numbers {unit}', place)
        if numbers.shape != (len(names),):
            raise InvalidValueError(
                f'number of {several}',
                numbers.size,
                f'{len(names)}: one for each of {", ".join(names)}',
                place,
            )
        for joint, number in zip(names, numbers.tolist(), strict=True):
            if joint not in self._index:
                raise UnknownNameError('joint', joint, self._names, place)
            if not math.isfinite(number):
                raise InvalidValueError(
                    what, number, f'a finite number {unit}', f'{place}, joint {joint!r}'
                )
        return [self._index[name] for name in names], numbers
