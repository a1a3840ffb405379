"""Contact (bumper) sensors: what touches some collisions of a link, and pushes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sim_bridge.description.model import SensorDescription
from sim_bridge.foundation.arrays import IntArray
from sim_bridge.sensors import readings
from sim_bridge.sensors.devices import Device

_COUNT = 6  # behind force and torque


class ContactSensor(Device):
    """
    Force and torque of all contacts of a link, or of some of its collisions, in the last step.

    On the link, in the sensor frame, about its origin. `world.contacts` has the single points.
    """

    __slots__ = ('_watched',)
    internal_names = Device.internal_names | {'watch'}

    quantities = ('force', 'torque')
    kind = readings.CONTACT

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up, with the arguments of any device."""
        super().__init__(description, *arguments)
        self._watched = np.zeros(0, np.int64)

    def watch(self, geometries: Iterable[tuple[int, str]]) -> None:
        """Watch those of the link's geometries, given with number and name, that are asked for."""
        names = self.description.collisions
        self._watched = np.array(
            sorted(number for number, name in geometries if not names or name in names), np.int64
        )

    @property
    def scan(self) -> IntArray:  # type: ignore[override]
        """(n,) Numbers of the geometries that it watches."""
        return self._watched

    @property
    def contact_count(self) -> int:
        """The number of points that touch; 0 before the first sample."""
        count = self.memory.sample[0, _COUNT]
        return 0 if np.isnan(count) else int(count)

    @property
    def is_touching(self) -> bool:
        """Whether anything touches."""
        return self.contact_count > 0

    def reset(self, seed: int) -> None:
        """Forget all samples."""
        super().reset(seed)
        self.memory.sample[:, _COUNT] = np.nan

    def save(self) -> Any:
        """Return the samples, for `restore`."""
        return super().save(), float(self.memory.sample[0, _COUNT])

    def restore(self, saved: Any) -> None:
        """Restore a state from `save`."""
        values, count = saved
        super().restore(values)
        self.memory.sample[:, _COUNT] = count
