"""Messages of altimeters, air pressure sensors and poses, serialized once, filled in place."""

from __future__ import annotations

from geometry_msgs.msg import PointStamped, PoseStamped, Vector3Stamped
from sensor_msgs.msg import FluidPressure

from sim_bridge.ros.wire.messages import marks, PreparedMessage


class HeightMessage(PreparedMessage):
    """A geometry_msgs/PointStamped whose x and y are 0; value: (1,) z [m]."""

    def __init__(self, frame_id: str) -> None:
        message = PointStamped()
        message.header.frame_id = frame_id
        (message.point.z,) = marks(0, 1)
        super().__init__(message, (1,))
        (self.value,) = self._blocks


class RiseMessage(PreparedMessage):
    """A geometry_msgs/Vector3Stamped whose x and y are 0; value: (1,) z [m/s]."""

    def __init__(self, frame_id: str) -> None:
        message = Vector3Stamped()
        message.header.frame_id = frame_id
        (message.vector.z,) = marks(0, 1)
        super().__init__(message, (1,))
        (self.value,) = self._blocks


class PressureMessage(PreparedMessage):
    """A sensor_msgs/FluidPressure; value: (1,) [Pa]. variance: 0 for unknown."""

    def __init__(self, frame_id: str, variance: float) -> None:
        message = FluidPressure(variance=variance)
        message.header.frame_id = frame_id
        (message.fluid_pressure,) = marks(0, 1)
        super().__init__(message, (1,))
        (self.value,) = self._blocks


class PoseMessage(PreparedMessage):
    """A geometry_msgs/PoseStamped: position (3,) [m], orientation (4,) x y z w."""

    def __init__(self, frame_id: str) -> None:
        message = PoseStamped()
        message.header.frame_id = frame_id
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z, q.x, q.y, q.z, q.w = marks(0, 7)
        super().__init__(message, (3, 4))
        self.position, self.orientation = self._blocks
