"""The state of a floating robot's base: `odom`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nav_msgs.msg import Odometry

from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.ros.publish.frames import odom_frame
from sim_bridge.ros.publish.streams import PreparedStream
from sim_bridge.ros.wire.messages import marks, PreparedMessage

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.publish.sinks import Sink


class OdometryMessage(PreparedMessage):
    """
    A nav_msgs/Odometry.

    pose: (7,) of the child frame in the parent frame, position [m] and quaternion x y z w. twist:
    (6,) velocity of the child frame's origin [m/s] and angular velocity [rad/s], in axes of the
    child frame, as the message is defined. Covariances are zero: nothing is estimated.
    """

    def __init__(self, frame_id: str, child_frame_id: str) -> None:
        message = Odometry(child_frame_id=child_frame_id)
        message.header.frame_id = frame_id
        p, q = message.pose.pose.position, message.pose.pose.orientation
        p.x, p.y, p.z, q.x, q.y, q.z, q.w = marks(0, 7)
        v, w = message.twist.twist.linear, message.twist.twist.angular
        v.x, v.y, v.z, w.x, w.y, w.z = marks(7, 6)
        super().__init__(message, (7, 6))
        self.pose, self.twist = self._blocks


def odometry_stream(
    sink: Sink, prefix: str, frame_prefix: str, robot: sb.Robot, parameters: SimulatorParameters
) -> PreparedStream | None:
    """
    Return the stream of odom; None for a robot that is fixed to the world.

    prefix: of the topic. frame_prefix: of the frames.
    """
    if robot.fixed_base:
        return None
    message = OdometryMessage(
        odom_frame(frame_prefix, parameters.odom_frame), frame_prefix + robot.description.root)

    def fill() -> None:
        state, offsets = robot.world.state, robot.offsets
        pose = state.q[offsets.q : offsets.q + 7]
        twist = state.v[offsets.v : offsets.v + 6].reshape(2, 3)
        message.pose[:] = pose
        message.twist[:] = (twist @ matrix_from_quaternion(pose[3:])).ravel()

    return PreparedStream(
        sink, f'{prefix}odom', Odometry, message, fill,
        rate_hz=parameters.odom_rate or parameters.rate)
