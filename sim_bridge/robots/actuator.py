"""Robot actuator in a world: its control, force and activation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sim_bridge.description.actuators import ActuatorDescription
from sim_bridge.engine.data import actuators as engine
from sim_bridge.foundation.arrays import FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, finite_vector, real_array
from sim_bridge.robots.owners import Robot


def _coefficients(first: int, doc: str) -> Settable[FloatArray, Vector]:
    """Return a property for three coefficients of the force law."""

    def read(actuator: Actuator) -> FloatArray:
        return actuator.law[first : first + 3].copy()

    def write(actuator: Actuator, value: object) -> None:
        numbers = finite_vector('coefficients', value, 3, actuator.place)
        actuator.write_law(slice(first, first + 3), numbers)

    return Settable(read, write, doc=doc)


def _range(first: int, what: str, doc: str) -> Settable[FloatArray, Vector]:
    """Return a property for two limits."""

    def read(actuator: Actuator) -> FloatArray:
        return actuator.law[first : first + 2].copy()

    def write(actuator: Actuator, value: object) -> None:
        expected = 'a lower limit and an upper limit of at least that, infinite for none'
        limits = real_array(what, value, expected, actuator.place)
        if limits.shape != (2,) or not limits[0] <= limits[1]:
            raise InvalidValueError(what, value, expected, actuator.place)
        actuator.write_law(slice(first, first + 2), limits)

    return Settable(read, write, doc=doc)


class Actuator(DeclaredAttributes):
    """
    Actuator of a robot, by MuJoCo's law; see docs/actuators.md.

    A changed control or activation wakes the robot. Lengths, velocities and forces belong to the
    present state.
    """

    __slots__ = ('_number', 'description', 'name', 'robot')

    internal_names = DeclaredAttributes.internal_names | {'law', 'place', 'write_law'}

    def __init__(self, robot: Robot, number: int, description: ActuatorDescription):
        """Make the view of a robot's actuator; only robots call this. number: its index."""
        self.robot: Final = robot
        self.description: Final = description
        self.name: Final = description.name
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the robot and the actuator's name."""
        return _actuator_of, (self.robot, self.name)

    def __repr__(self) -> str:
        """Show actuator and robot name."""
        return f'<Actuator {self.name!r} of {self.robot.name!r}>'

    @property
    def place(self) -> str:
        """Robot and actuator name, for messages."""
        return f'robot {self.robot.name!r}, actuator {self.name!r}'

    @property
    def control(self) -> float:
        """Control, 0 at the start and after a reset; steps clamp it to its range; can be set."""
        return self._state('actuator_control')

    @control.setter
    def control(self, value: Number) -> None:
        self._set_state('actuator_control', finite_number('control', value, self.place))

    @property
    def activation(self) -> float:
        """Activation; 0 without dynamics. It can be set within its range."""
        return self._state('activation')

    @activation.setter
    def activation(self, value: Number) -> None:
        number = finite_number('activation', value, self.place)
        lower, upper = self.activation_range
        if self.description.dynamics == 'none':
            raise InvalidValueError(
                'activation', number, 'none: this actuator has no dynamics', self.place
            )
        if not lower <= number <= upper:
            raise InvalidValueError(
                'activation', number, f'from {lower:.9g} to {upper:.9g}', self.place
            )
        self._set_state('activation', number)

    length = ReadOnly[float](
        lambda actuator: actuator._observed('actuator_length'),
        'Length of the transmission: position times gear [m, rad]; 0 for a wrench at a site.',
    )
    velocity = ReadOnly[float](
        lambda actuator: actuator._observed('actuator_velocity'),
        'Rate of the length [m/s, rad/s].',
    )
    force = ReadOnly[float](
        lambda actuator: actuator._observed('actuator_force'),
        'Force within its range, without the gear [N, N m].',
    )
    gain = _coefficients(
        engine.GAIN, '(3,) g0, g1, g2: force per input, and per input and length or velocity.'
    )
    bias = _coefficients(engine.BIAS, '(3,) b0, b1, b2: force, and force per length or velocity.')
    control_range = _range(engine.CONTROL_LOWER, 'control_range', '(2,) limits of the control.')
    force_range = _range(engine.FORCE_LOWER, 'force_range', '(2,) limits of the force.')
    activation_range = _range(
        engine.ACTIVATION_LOWER, 'activation_range', '(2,) limits of the activation.'
    )

    # --- internal, not listed by `dir` -----------------------------------------------------------

    @property
    def law(self) -> FloatArray:
        """The row in `Model.actuator_law`; a view."""
        return self.robot.slot.part.model.actuator_law[self._row()]

    def write_law(self, columns: slice, values: FloatArray) -> None:
        """Write columns of the force law, and wake the robot."""
        slot = self.robot.slot
        index = (self._row(), columns)
        self.robot.simulation.write(slot.part.model, 'actuator_law', index, values, (slot,))

    def _row(self) -> int:
        self.robot.simulation.cache.settle()
        return int(self.robot.slot.part.at.actuator + self._number)

    def _state(self, field: str) -> float:
        row = self._row()
        return float(getattr(self.robot.slot.part.state, field)[row])

    def _set_state(self, field: str, value: float) -> None:
        slot, row = self.robot.slot, self._row()
        self.robot.simulation.write(slot.part.state, field, row, value, (slot,))

    def _observed(self, field: str) -> float:
        workspace = self.robot.simulation.observation.observer().workspace
        return float(getattr(workspace, field)[self._row()])


def controls_of(robot: Robot) -> FloatArray:
    """Return a copy (n,) of a robot's controls."""
    robot.simulation.cache.settle()
    part, count = robot.slot.part, len(robot.slot.description.actuators)
    return part.state.actuator_control[part.at.actuator :][:count].copy()


def set_controls(robot: Robot, value: object) -> None:
    """Set a robot's controls; raises InvalidValueError for another number of finite numbers."""
    slot = robot.slot
    count, place = len(slot.description.actuators), f'robot {robot.name!r}'
    numbers = real_array('controls', value, f'{count} finite numbers', place)
    if numbers.shape not in ((), (count,)) or not np.isfinite(numbers).all():
        raise InvalidValueError('controls', value, f'{count} finite numbers', place)
    robot.simulation.cache.settle()
    rows = slice(slot.part.at.actuator, slot.part.at.actuator + count)
    robot.simulation.write(slot.part.state, 'actuator_control', rows, numbers, (slot,))


def _actuator_of(robot: Robot, name: str) -> Any:
    return robot.actuators[name]
