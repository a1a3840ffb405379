"""
The base of all devices; force sensors, rate gyros, accelerometers and IMUs.

A device is a frame fixed to a body (a site of `engine.pipeline.observe`) plus a noise model.
What it measures is computed by kernels (`step_and_sample`), which sample it after those steps
whose number is a multiple of its period, and write both what it measured and the truth of that
instant into its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TYPE_CHECKING

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.description.model import SensorDescription
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.errors import StateError, UnknownNameError
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import ByName
from sim_bridge.sensors import readings
from sim_bridge.sensors.noise import Noise, NoiseState
from sim_bridge.sensors.step_and_sample import UNSAMPLED

if TYPE_CHECKING:
    from sim_bridge.robots.link import Link

# the sample step, then each quantity's measured and true values and its noise
_ATTRIBUTES = {
    'f': 'force',
    'tau': 'torque',
    'w': 'angular_velocity',
    'dv': 'linear_acceleration',
    'ranges': 'range',
    'B': 'magnetic_field',
}

# in steps: 35 years at 1 kHz; longer ones would be no integers of the machine
_LONGEST_PERIOD = 1 << 40

Saved = tuple[int, dict[str, tuple[FloatArray, FloatArray, NoiseState | None]]]


class UnknownQuantityError(UnknownNameError, AttributeError):  # type: ignore[misc]
    """A quantity that a device does not measure was asked for, by name or as an attribute."""


class _Values(dict[str, FloatArray]):
    """The values of a device by quantity; error_of: the error to raise for a missing one."""

    def __init__(self, error_of: Callable[[str], Exception]):
        super().__init__()
        self._error_of = error_of

    def __missing__(self, quantity: str) -> NoReturn:
        raise self._error_of(quantity)


def _quantity(name: str, doc: str) -> ReadOnly[FloatArray]:
    """Return the property of a quantity of a reading."""
    return ReadOnly(lambda reading: reading._values[name], doc)


class Reading(DeclaredAttributes):
    """
    The values of one sample: an array for each quantity, nan before the first.

    A quantity that is not measured raises AttributeError where it is read as an attribute.
    """

    __slots__ = ('_values',)
    internal_names = DeclaredAttributes.internal_names | {'retire'}

    def __init__(self, sizes: Mapping[str, int], values: FloatArray, place: str):
        """Keep quantities of these sizes in an array, one after the other; place: for messages."""
        self._values = _Values(
            lambda quantity: UnknownQuantityError('quantity', quantity, self._values, place)
        )
        at = 0
        for quantity, size in sizes.items():
            self._values[quantity] = values[at : at + size]
            at += size

    def __repr__(self) -> str:
        """Show the values."""
        texts = [f'{name} = {values.tolist()}' for name, values in self._values.items()]
        return f'<{type(self).__name__}: {", ".join(texts)}>'

    def __dir__(self) -> list[str]:
        """List the names that are for users, without the quantities that are not measured."""
        missing = {name for name, quantity in _ATTRIBUTES.items() if quantity not in self._values}
        return [name for name in super().__dir__() if name not in missing]

    def retire(self, reason: str) -> None:
        """Drop the values: reading them raises StateError with this reason from now on."""
        self._values = _Values(lambda quantity: StateError(f'{quantity} of a sensor: {reason}'))

    def __getitem__(self, quantity: str) -> FloatArray:
        """Return the array of a quantity, to be read or written in place."""
        return self._values[quantity]

    f = _quantity('force', '(3,) force [N], sensor frame.')
    tau = _quantity('torque', "(3,) torque about the sensor's origin [N m], sensor frame.")
    w = _quantity('angular_velocity', '(3,) angular velocity [rad/s], sensor frame.')
    dv = _quantity(
        'linear_acceleration',
        '(3,) proper acceleration [m/s²], sensor frame: +g upwards at rest, 0 in free fall.',
    )
    B = _quantity('magnetic_field', '(3,) magnetic flux density [T], sensor frame.')
    ranges = _quantity(
        'range', '(n,) distances [m]; inf: nothing is within range, -inf: it is too close.'
    )


class Memory(NamedTuple):
    """
    The results of a device, which kernels write.

    sample: (2, n) what it measured, and the truth. step: (1,) in which world step.
    """

    sample: FloatArray
    step: IntArray


def _make_memory(size: int) -> Memory:
    """Return the memory of a device that has not measured any of its numbers yet."""
    return Memory(np.full((2, size), np.nan), np.array([UNSAMPLED], np.int64))


class Device(Reading):
    """
    The base of all devices.

    name: unique on its robot. link: the link that carries it. description: as declared. frame_id:
    the frame the values are in, for ROS headers. truth: the same sample without noise. memory:
    where samples are, as long as the device is there.
    """

    __slots__ = (
        '_noise',
        'description',
        'link',
        'memory',
        'name',
        'noises',
        'period',
        'time_step',
        'truth',
    )
    internal_names = Reading.internal_names | {
        'is_silent',
        'kind',
        'memory',
        'noises',
        'period',
        'prepare',
        'prepare_noises',
        'reset',
        'restore',
        'save',
        'spans',
        'scan',
        'sign',
        'size_of',
        'time_step',
    }
    advice = {
        'update_rate': "it is the sensor's own, as described",
        'name': "it is the sensor's own, as described",
    }

    quantities: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[int]
    """What it measures, as `readings` numbers it."""
    has_axes: ClassVar[bool] = True
    """Whether each quantity has three channels x, y and z; else all have equally many."""
    exact: ClassVar[Mapping[str, int]] = {}
    """Quantities without noise, which come last, and their sizes."""

    def __init__(
        self,
        description: SensorDescription,
        link: Link,
        robot_name: str,
        seed: int,
        time_step: float,
        memory: Memory | None = None,
    ):
        """
        Set the device up.

        The world's seed and the names decide its noise. memory: None for memory of its own.
        """
        size = self.size_of(description)
        self.memory = memory = _make_memory(size) if memory is None else memory
        place = f'{type(self).__name__} {description.name!r}'
        width = 3 if self.has_axes else size // len(self.quantities)
        sizes = {**dict.fromkeys(self.quantities, width), **self.exact}
        super().__init__(sizes, memory.sample[0], place)
        self.description: Final = description
        self.name: Final = description.name
        self.link: Final = link
        self.truth: Final = Reading(sizes, memory.sample[1], f'the truth of {place}')
        self.time_step = time_step
        rate = description.update_rate
        least = 1.0 / (_LONGEST_PERIOD * time_step)
        self.period = max(1, round(1.0 / (max(rate, least) * time_step))) if rate > 0 else 1
        """How many steps there are from one sample to the next."""
        self._noise = ByName(
            'quantity',
            place,
            {
                quantity: Noise(
                    description.noise,
                    quantity,
                    seed=seed,
                    names=(robot_name, self.name),
                    sample_rate=self.update_rate,
                    count=None if self.has_axes else width,
                )
                for quantity in self.quantities
            },
        )
        self.noises = self._list_noises()
        """What noise to add, and from which number of a sample on."""

    @classmethod
    def size_of(cls, description: SensorDescription) -> int:
        """Return how many numbers a device measures that is so described."""
        return readings.SIZES[cls.kind]

    scan: FloatArray | IntArray | None = None
    """Of some kinds, what they look at: see `sensors.scan`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a pickle or a copy keeps: the robot, the class, and the name on it."""
        return _device_of, (self.link.robot, type(self), self.name)

    def __repr__(self) -> str:
        """Show the name, the link, and how often it measures."""
        return (
            f'<{type(self).__name__} {self.name!r} on {self.link.name!r}, '
            f'{self.update_rate:.6g} Hz>'
        )

    def _repr_html_(self) -> str:
        """Return a table of the latest sample and its truth, for notebooks."""
        return table(
            repr(self).strip('<>'),
            ('quantity', 'measured', 'truth'),
            [(name, values, self.truth[name]) for name, values in self._values.items()],
        )

    @property
    def is_silent(self) -> bool:
        """Whether it has no noise, so that only the last sample of some steps is needed."""
        return not self.noises

    def _list_noises(self) -> list[tuple[Noise, int]]:
        return [
            (noise, number * len(self[quantity]))
            for number, (quantity, noise) in enumerate(self._noise.items())
            if not noise.is_silent
        ]

    @property
    def spans(self) -> dict[str, slice]:
        """Where each quantity is in a sample."""
        begin = address_of(self.memory.sample)
        firsts = {
            name: (address_of(values) - begin) // values.itemsize
            for name, values in self._values.items()
        }
        return {name: slice(first, first + len(self[name])) for name, first in firsts.items()}

    sample_step = ReadOnly[int](
        lambda device: int(device.memory.step[0]),
        "The world's step count at the last sample, -1 before the first.",
    )

    def prepare(self, step: int) -> None:
        """Draw the random numbers for a sample at world step `step`."""
        self.prepare_noises([noise for noise, _ in self.noises], step, self.sample_step)

    def prepare_noises(self, noises: Iterable[Noise], step: int, sampled: int) -> None:
        """
        Draw the random numbers for a sample at a step, of noises as this device's.

        sampled: step of the sample before, UNSAMPLED for none.
        """
        dt = 0.0 if sampled == UNSAMPLED else max((step - sampled) * self.time_step, 0.0)
        for noise in noises:
            noise.prepare(dt)

    def retire(self, reason: str) -> None:
        """Drop the values and the truth."""
        super().retire(reason)
        self.truth.retire(reason)

    @property
    def update_rate(self) -> float:
        """Hz, the rate really sampled at: the declared one rounded to a whole number of steps."""
        return 1.0 / (self.period * self.time_step)

    @property
    def frame_id(self) -> str:
        """
        The frame of the values.

        As declared, else the link's where the axes agree, else one named like the sensor.
        """
        if self.description.frame_id:
            return self.description.frame_id
        return self.link.name if self.description.pose.is_identity else self.name

    def standard_deviations(self, quantity: str) -> FloatArray:
        """
        Return the stddevs of the white noise of a quantity, in its unit.

        Raises UnknownNameError for a quantity that is not measured, or has no noise.
        """
        return self._noise[quantity].stddev

    @property
    def sign(self) -> float:
        """The sign of the measured values."""
        return 1.0

    def reset(self, seed: int) -> None:
        """Forget all samples and begin the noise again."""
        self.memory.step[0] = UNSAMPLED
        for quantity, noise in self._noise.items():
            noise.reset(seed)
            self[quantity][:] = np.nan
            self.truth[quantity][:] = np.nan
        for quantity in self.exact:
            self[quantity][:] = self.truth[quantity][:] = np.nan

    def save(self) -> Saved:
        """Return the samples and the state of the noise, for `restore`."""
        return self.sample_step, {
            quantity: (
                self[quantity].copy(),
                self.truth[quantity].copy(),
                self._noise[quantity].state() if quantity in self._noise else None,
            )
            for quantity in (*self._noise, *self.exact)
        }

    def restore(self, saved: Saved) -> None:
        """Restore a state from `save`."""
        self.memory.step[0], values = saved
        for quantity, (measured, truth, state) in values.items():
            self[quantity][:] = measured
            self.truth[quantity][:] = truth
            if state is not None:
                self._noise[quantity].restore(state)


class ForceSensor(Device):
    """
    Force and torque through a joint, of the child on the parent.

    In the sensor frame, about its origin: the reaction of the whole joint, whatever causes it,
    applied effort, friction, stops and what the structure carries. SDF's frame and
    measure_direction choose other axes and the opposite sign.
    """

    __slots__ = ()

    quantities = ('force', 'torque')
    kind = readings.FORCE

    @property
    def frame_id(self) -> str:
        """The frame of the values: as declared, else the one whose axes SDF's frame chose."""
        if self.description.frame_id or self.description.frame == 'sensor':
            return super().frame_id
        parent = self.link.parent if self.description.frame == 'parent' else None
        return (self.link if parent is None else parent).name

    @property
    def sign(self) -> float:
        """The sign of the measured values, by SDF's measure_direction."""
        return -1.0 if self.description.measure_direction == 'parent_to_child' else 1.0


class RateGyroSensor(Device):
    """Angular velocity of the sensor frame against the inertial world, in the sensor frame."""

    __slots__ = ()

    quantities = ('angular_velocity',)
    kind = readings.GYRO


class AccelerationSensor(Device):
    """
    Proper acceleration (specific force) of the sensor's origin, in the sensor frame.

    Of the sensor's own place, lever arm included; +g upwards at rest, 0 in free fall.
    """

    __slots__ = ()

    quantities = ('linear_acceleration',)
    kind = readings.ACCELEROMETER


class ImuSensor(Device):
    """A rate gyro and an accelerometer in one place, and the orientation of both."""

    __slots__ = ('accelerometer', 'gyro')

    kind = readings.IMU

    def __init__(
        self,
        description: SensorDescription,
        link: Link,
        robot_name: str,
        seed: int,
        time_step: float,
    ):
        """Set the device up, with the arguments of any device."""
        arguments = description, link, robot_name, seed, time_step
        memory = _make_memory(self.size_of(description))
        sample, step = memory
        gyro, accelerometer = readings.IMU_GYRO, readings.IMU_ACCELEROMETER
        self.gyro: Final = RateGyroSensor(*arguments, Memory(sample[:, gyro:accelerometer], step))
        self.accelerometer: Final = AccelerationSensor(
            *arguments, Memory(sample[:, accelerometer:], step)
        )
        super().__init__(*arguments, memory)
        self._noise |= {**self.gyro._noise, **self.accelerometer._noise}
        for reading, row in ((self, sample[0]), (self.truth, sample[1])):
            reading._values.update(
                orientation=row[:gyro],
                angular_velocity=row[gyro:accelerometer],
                linear_acceleration=row[accelerometer:],
            )

    @property
    def is_silent(self) -> bool:
        """False: the orientation's sign follows from the sample before, so all are needed."""
        return False

    def _list_noises(self) -> list[tuple[Noise, int]]:
        return [
            (noise, at)
            for device, at in (
                (self.gyro, readings.IMU_GYRO),
                (self.accelerometer, readings.IMU_ACCELEROMETER),
            )
            for noise, _ in device.noises
        ]

    @property
    def orientation(self) -> FloatArray:
        """
        (4,) quaternion x y z w of the sensor frame in the world (ENU); nan before a sample.

        Its sign is that nearest to the sample before, so that it never jumps; w >= 0 in the first.
        """
        return self['orientation'].copy()

    def retire(self, reason: str) -> None:
        """Drop the values, those of gyro and accelerometer too."""
        super().retire(reason)
        self.gyro.retire(reason)
        self.accelerometer.retire(reason)

    def reset(self, seed: int) -> None:
        """Forget all samples and begin the noise again."""
        self.memory.step[0] = UNSAMPLED
        self['orientation'][:] = np.nan
        self.gyro.reset(seed)
        self.accelerometer.reset(seed)

    def save(self) -> tuple[int, dict[str, Any]]:
        """Return the samples and the state of the noise, for `restore`."""
        return self.sample_step, {
            'orientation': self['orientation'].copy(),
            'gyro': self.gyro.save(),
            'accelerometer': self.accelerometer.save(),
        }

    def restore(self, saved: tuple[int, dict[str, Any]]) -> None:
        """Restore a state from `save`."""
        self.memory.step[0], values = saved
        self['orientation'][:] = values['orientation']
        self.gyro.restore(values['gyro'])
        self.accelerometer.restore(values['accelerometer'])


def _device_of(robot: Any, kind: type[Device], name: str) -> Device:
    # an IMU's gyro and accelerometer have its name
    return next(each for each in robot.devices(kind) if each.name == name)
