"""
Devices: force-torque sensors, gyros, accelerometers and IMUs, and the base for all others.

A device is a frame fixed to a body (a site in `engine.pipeline.observe`) with a noise model. Its
sensor kind (`description.sensor_kinds`) declares its quantities and settings. Kernels
(`step_and_sample`) sample it after each multiple of its period, and write the measured and the
true values into its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TYPE_CHECKING

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.description.model import SensorDescription
from sim_bridge.description.origin import Origin
from sim_bridge.description.sensor_kinds import ACCELEROMETER, FORCE_TORQUE, GYRO, IMU, SensorKind
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.errors import StateError, UnknownNameError
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import ByName
from sim_bridge.sensors.noise import Noise, NoiseState
from sim_bridge.sensors.step_and_sample import UNSAMPLED

if TYPE_CHECKING:
    from sim_bridge.robots.link import Link

# in steps: 35 years at 1 kHz; longer periods would not fit the machine's integers
_LONGEST_PERIOD = 1 << 40

Saved = tuple[int, dict[str, tuple[FloatArray, FloatArray, NoiseState | None]]]
"""Sample step; measured values, true values and noise state by quantity."""


class UnknownQuantityError(UnknownNameError, AttributeError):  # type: ignore[misc]
    """A device does not measure the requested quantity, by name or as an attribute."""


class _Values(dict[str, FloatArray]):
    """Values by quantity; error_of: returns the error to raise for a missing quantity."""

    def __init__(self, error_of: Callable[[str], Exception]):
        super().__init__()
        self._error_of = error_of

    def __missing__(self, quantity: str) -> NoReturn:
        raise self._error_of(quantity)


class _Quantity(ReadOnly[FloatArray]):
    """Property for one quantity in a reading."""

    def __init__(self, quantity: str, doc: str):
        super().__init__(lambda reading: reading._values[quantity], doc)
        self.quantity = quantity


class Reading(DeclaredAttributes):
    """
    The values of one sample: an array for each quantity, nan before the first.

    The attribute of an unmeasured quantity raises AttributeError.
    """

    __slots__ = ('_values',)
    internal_names = DeclaredAttributes.internal_names | {'retire'}

    def __init__(self, sizes: Mapping[str, int], values: FloatArray, place: str):
        """Divide an array into quantities with these sizes, in order. place: for messages."""
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
        """List the public names, without unmeasured quantities."""
        missing = {
            name
            for name, each in vars(Reading).items()
            if isinstance(each, _Quantity) and each.quantity not in self._values
        }
        return [name for name in super().__dir__() if name not in missing]

    def retire(self, reason: str) -> None:
        """Drop the values: reading them raises StateError with this reason from now on."""
        self._values = _Values(lambda quantity: StateError(f'{quantity} of a sensor: {reason}'))

    def __getitem__(self, quantity: str) -> FloatArray:
        """Return the array for a quantity, to be read or written in place."""
        return self._values[quantity]

    f = _Quantity('force', '(3,) force [N], sensor frame.')
    tau = _Quantity('torque', "(3,) torque about the sensor's origin [N m], sensor frame.")
    w = _Quantity('angular_velocity', '(3,) angular velocity [rad/s], sensor frame.')
    dv = _Quantity(
        'linear_acceleration',
        '(3,) proper acceleration [m/s²], sensor frame: +g upwards at rest, 0 in free fall.',
    )
    B = _Quantity('magnetic_field', '(3,) magnetic flux density [T], sensor frame.')
    ranges = _Quantity(
        'range', '(n,) distances [m]; inf: nothing is within range, -inf: it is too close.'
    )


class Memory(NamedTuple):
    """
    The results of a device, written by kernels.

    sample: (2, n) measured values, then true values. step: (1,) world step at the sample.
    """

    sample: FloatArray
    step: IntArray


class Device(Reading):
    """
    The base for all devices, and the device for kinds without their own class.

    name: unique on its robot. link: carrying link. description: as declared. frame_id: frame for
    the values, in ROS headers. truth: the same sample without noise. memory: sample arrays, at
    fixed addresses during the device's life. kind: sensor kind. noises: noise models that are not
    silent, each with its first number in a sample. period: steps between samples.
    """

    __slots__ = (
        '_noise',
        '_settings',
        'description',
        'kind',
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
        'digest',
        'kernel_settings',
        'kind',
        'kind_of_class',
        'memory',
        'noises',
        'period',
        'prepare',
        'prepare_noises',
        'reset',
        'restore',
        'save',
        'set_origin',
        'sign',
        'spans',
        'time_step',
    }
    advice = {
        'update_rate': "it is the sensor's own, as described",
        'name': "it is the sensor's own, as described",
    }

    kind_of_class: ClassVar[SensorKind | None] = None
    """Sensor kind of a class, None for the kind in the description."""

    def __init__(
        self,
        description: SensorDescription,
        link: Link,
        robot_name: str,
        seed: int,
        time_step: float,
        origin: Origin | None = None,
        *,
        whole: Device | None = None,
    ):
        """
        Set the device up.

        seed: world seed; together with the robot and sensor names it determines the noise.
        time_step: [s]. origin: the world's place on the Earth, None if not known. whole: device
        with the same quantity, whose memory and noise are shared.
        """
        kind: SensorKind = self.kind_of_class or description.kind
        self.kind: Final = kind
        sizes = kind.sizes(description.settings)
        if whole is None:
            values = np.full((2, sum(sizes.values())), np.nan)
            self.memory = Memory(values, np.array([UNSAMPLED], np.int64))
        else:
            (quantity,) = sizes
            sample, step = whole.memory
            self.memory = Memory(sample[:, whole.spans[quantity]], step)
        place = f'{type(self).__name__} {description.name!r}'
        super().__init__(sizes, self.memory.sample[0], place)
        self.description: Final = description
        self.name: Final = description.name
        self.link: Final = link
        self.truth: Final = Reading(sizes, self.memory.sample[1], f'the truth of {place}')
        self.time_step = time_step
        rate = description.update_rate or kind.usual_rate
        least = 1.0 / (_LONGEST_PERIOD * time_step)
        self.period = max(1, round(1.0 / (max(rate, least) * time_step))) if rate > 0 else 1
        self._noise: ByName[Noise] = ByName('quantity', place)
        for each in kind.quantities:
            if not each.has_noise:
                continue
            self._noise[each.name] = (
                Noise(
                    description.noise,
                    each.name,
                    seed=seed,
                    names=(robot_name, self.name),
                    sample_rate=self.update_rate,
                    count=None if each.axes else sizes[each.name],
                )
                if whole is None
                else whole._noise[each.name]
            )
        self.noises = [
            (noise, self.spans[quantity].start)
            for quantity, noise in self._noise.items()
            if not noise.is_silent
        ]
        self._settings = self._pack_settings(origin)

    def _pack_settings(self, origin: Origin | None) -> FloatArray | IntArray | None:
        """Return the kernel's settings; origin: the world's place on the Earth."""
        numbers = self.kind.kernel_numbers(self.description.settings, origin)
        return np.array(numbers, dtype=float) if numbers else None

    def set_origin(self, origin: Origin | None) -> None:
        """Measure from another place on the Earth from the next sample on; None: not known."""
        numbers = self.kind.kernel_numbers(self.description.settings, origin)
        if numbers and self._settings is not None:
            # in place: kernels hold the address
            self._settings[:] = numbers

    @property
    def kernel_settings(self) -> FloatArray | IntArray | None:
        """Settings array for the kind's kernel, None without settings."""
        return self._settings

    def __reduce__(self) -> tuple[Any, ...]:
        """Return robot, class and name, which identify the device in a pickle or a copy."""
        return _device_of, (self.link.robot, type(self), self.name)

    def __repr__(self) -> str:
        """Show the name, the link, and the rate."""
        return (
            f'<{type(self).__name__} {self.name!r} on {self.link.name!r}, '
            f'{self.update_rate:.6g} Hz>'
        )

    def _repr_html_(self) -> str:
        """Return a table with the latest sample and its truth, for notebooks."""
        return table(
            repr(self).strip('<>'),
            ('quantity', 'measured', 'truth'),
            [(name, values, self.truth[name]) for name, values in self._values.items()],
        )

    @property
    def is_silent(self) -> bool:
        """Whether only the last of several samples matters: no noise, no memory."""
        return not self.noises and not self.kind.remembers

    @property
    def spans(self) -> dict[str, slice]:
        """Slice for each quantity in a sample."""
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
        Draw the random numbers for a sample at a step, for noises like this device's.

        sampled: step at the previous sample, UNSAMPLED for none.
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
        """Sample rate [Hz]: the declared one, rounded to a whole number of steps."""
        return 1.0 / (self.period * self.time_step)

    @property
    def frame_id(self) -> str:
        """
        Frame for the values.

        The declared frame; else the link's if the axes agree; else one named like the sensor.
        """
        if self.description.frame_id:
            return self.description.frame_id
        return self.link.name if self.description.pose.is_identity else self.name

    def standard_deviations(self, quantity: str) -> FloatArray:
        """
        Return the standard deviations of the white noise of a quantity, in its unit.

        Raises UnknownNameError for an unmeasured quantity and for one without noise.
        """
        return self._noise[quantity].stddev

    def variances(self, quantity: str) -> FloatArray:
        """
        Return the variances of a quantity about its truth, white noise and biases, in its unit.

        Raises UnknownNameError as `standard_deviations` does.
        """
        return self._noise[quantity].variance

    @property
    def sign(self) -> float:
        """Sign for the measured values."""
        return 1.0

    def reset(self, seed: int) -> None:
        """Forget all samples and restart the noise."""
        self.memory.step[0] = UNSAMPLED
        self.memory.sample[:] = np.nan
        for noise in self._noise.values():
            noise.reset(seed)

    def save(self) -> Saved:
        """Return the samples and the noise state, for `restore`."""
        return self.sample_step, {
            quantity: (
                values.copy(),
                self.truth[quantity].copy(),
                self._noise[quantity].state() if quantity in self._noise else None,
            )
            for quantity, values in self._values.items()
        }

    def digest(self) -> Any:
        """Return the samples and the noise state for a state hash; bags rely on this form."""
        return self.save()

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
    Force and torque through a joint, from the child on the parent.

    In the sensor frame, about its origin: the joint's whole reaction, including applied effort,
    friction, stops and the structural load. SDF's frame and measure_direction choose other axes
    and the opposite sign.
    """

    __slots__ = ()

    kind_of_class = FORCE_TORQUE

    @property
    def frame_id(self) -> str:
        """Frame for the values: the declared frame, else the frame chosen by SDF's `frame`."""
        if self.description.frame_id or self.description.frame == 'sensor':
            return super().frame_id
        parent = self.link.parent if self.description.frame == 'parent' else None
        return (self.link if parent is None else parent).name

    @property
    def sign(self) -> float:
        """Sign for the measured values, by SDF's measure_direction."""
        return -1.0 if self.description.settings.measure_direction == 'parent_to_child' else 1.0


class RateGyroSensor(Device):
    """Angular velocity between the sensor frame and the inertial world, in the sensor frame."""

    __slots__ = ()

    kind_of_class = GYRO


class AccelerationSensor(Device):
    """
    Proper acceleration (specific force) at the sensor's origin, in the sensor frame.

    At the sensor's own place, including the lever arm; +g upwards at rest, 0 in free fall.
    """

    __slots__ = ()

    kind_of_class = ACCELEROMETER


class ImuSensor(Device):
    """A rate gyro and an accelerometer in one place, and their orientation."""

    __slots__ = ('accelerometer', 'gyro')

    kind_of_class = IMU

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up; arguments: as in `Device`."""
        super().__init__(description, *arguments)
        self.gyro: Final = RateGyroSensor(description, *arguments, whole=self)
        self.accelerometer: Final = AccelerationSensor(description, *arguments, whole=self)

    @property
    def orientation(self) -> FloatArray:
        """
        (4,) quaternion x y z w for the sensor frame in the world (ENU); nan before a sample.

        Its sign is the nearest to the previous sample, without jumps; w >= 0 in the first.
        """
        return self['orientation'].copy()

    def digest(self) -> Any:
        """Return the samples and the noise state, for a state hash."""
        return self.sample_step, {
            'orientation': self['orientation'],
            'gyro': self.gyro.save(),
            'accelerometer': self.accelerometer.save(),
        }

    def retire(self, reason: str) -> None:
        """Drop the values, also in gyro and accelerometer."""
        super().retire(reason)
        self.gyro.retire(reason)
        self.accelerometer.retire(reason)


def _device_of(robot: Any, kind: type[Device], name: str) -> Device:
    # an IMU's gyro and accelerometer share its name
    return next(each for each in robot.devices(kind) if each.name == name)
