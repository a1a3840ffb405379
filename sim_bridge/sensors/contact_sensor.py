"""Contact (bumper) sensors."""

from __future__ import annotations

from collections.abc import Iterable
import math
from typing import Any

import numpy as np

from sim_bridge.description.sensor_kinds import CONTACT
from sim_bridge.sensors.devices import Device


class ContactSensor(Device):
    """
    Sum over all contacts on a link, or on some of its collision shapes, in the last step.

    Force and torque act on the link, in the sensor frame, about its origin. `world.contacts` has
    the single points.
    """

    __slots__ = ()
    internal_names = Device.internal_names | {'watch'}

    kind_of_class = CONTACT

    def watch(self, geometries: Iterable[tuple[int, str]]) -> None:
        """Watch geometries on the link, given as number and name, if the settings name them."""
        names = self.description.settings.collisions
        self._settings = np.array(
            sorted(number for number, name in geometries if not names or name in names), np.int64
        )

    def digest(self) -> Any:
        """Return the samples and the noise state, for a state hash."""
        step, quantities = self.save()
        (count,), *_ = quantities.pop('contact_count')
        return (step, quantities), float(count)

    @property
    def contact_count(self) -> int:
        """The number of touching points; 0 before the first sample."""
        count = self._values['contact_count'].item()
        return 0 if math.isnan(count) else int(count)

    @property
    def is_touching(self) -> bool:
        """Whether anything touches."""
        return self.contact_count > 0
