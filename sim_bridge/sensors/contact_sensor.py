"""Contact (bumper) sensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sim_bridge.description.sensor_kinds import CONTACT
from sim_bridge.sensors.devices import Device


class ContactSensor(Device):
    """
    Force and torque of all contacts of a link, or of some of its collisions, in the last step.

    On the link, in the sensor frame, about its origin. `world.contacts` has the single points.
    """

    __slots__ = ()
    internal_names = Device.internal_names | {'watch'}

    kind_of_class = CONTACT

    def watch(self, geometries: Iterable[tuple[int, str]]) -> None:
        """Watch geometries of the link, given as number and name, if the settings name them."""
        names = self.description.settings.collisions
        self._settings = np.array(
            sorted(number for number, name in geometries if not names or name in names), np.int64
        )

    def digest(self) -> Any:
        """Return the samples and the state of the noise, for a state hash."""
        step, quantities = self.save()
        (count,), *_ = quantities.pop('contact_count')
        return (step, quantities), float(count)

    @property
    def contact_count(self) -> int:
        """The number of points that touch; 0 before the first sample."""
        (count,) = self['contact_count']
        return 0 if np.isnan(count) else int(count)

    @property
    def is_touching(self) -> bool:
        """Whether anything touches."""
        return self.contact_count > 0
