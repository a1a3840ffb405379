"""sensor_msgs/NavSatFix, serialized once, filled in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sensor_msgs.msg import NavSatFix, NavSatStatus

from sim_bridge.description.sensor_kinds import FIX_SERVICES, FIX_STATUS
from sim_bridge.ros.wire.cdr import serialize_cleanly
from sim_bridge.ros.wire.messages import marks, PreparedMessage
from sim_bridge.sensors.devices import Reading


class FixMessage(PreparedMessage):
    """
    A sensor_msgs/NavSatFix; without a place on the Earth its status is STATUS_NO_FIX.

    Covariance: from the declared position noise along east, north and up, unknown without noise.
    """

    def __init__(self, frame_id: str, receiver: Any, reading: Reading) -> None:
        """Prepare the message for a `NavSatSensor`. reading: with or without noise."""
        settings = receiver.description.settings
        status = FIX_STATUS[settings.status]
        message = NavSatFix(
            status=NavSatStatus(status=status, service=FIX_SERVICES[settings.service])
        )
        message.header.frame_id = frame_id
        message.latitude, message.longitude, message.altitude = marks(0, 3)
        variances = receiver.variances('position')
        if reading is receiver and variances.any():
            message.position_covariance = np.diag(variances).ravel().tolist()
            message.position_covariance_type = NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
        super().__init__(message, (3,))
        self._status = np.frombuffer(self.buffer, np.int8, 1, _place_of_status(message))
        self._known = status
        self._sources = tuple(
            reading[quantity] for quantity in ('latitude', 'longitude', 'altitude')
        )

    def fill(self) -> None:
        """Write the current place and status."""
        self.blocks[0][:] = [source[0] for source in self._sources]
        is_known = math.isfinite(self._sources[0][0])
        self._status[0] = self._known if is_known else NavSatStatus.STATUS_NO_FIX

    def stamped(self, stamp: bytes) -> bytes:
        """Return the current message with this stamp (see `messages.pack_stamp`)."""
        self.fill()
        return super().stamped(stamp)

    def content(self) -> bytes:
        """Return the current message with its current stamp."""
        self.fill()
        return super().content()


def _place_of_status(message: NavSatFix) -> int:
    """Return the status index in the serialized message: its byte alone changes."""
    own, status = serialize_cleanly(message), message.status.status
    message.status.status = status - 1 if status > -1 else 0
    other = serialize_cleanly(message)
    message.status.status = status
    return next(k for k, (a, b) in enumerate(zip(own, other, strict=True)) if a != b)
