"""Odometry: a floating base's true state, and wheel odometry from drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nav_msgs.msg import Odometry
import numpy as np

from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.ros.publish.frames import odom_frame
from sim_bridge.ros.publish.outbox import Timed
from sim_bridge.ros.publish.reckoning import reckoned_pose, reckoning_frame
from sim_bridge.ros.publish.streams import PreparedStream, Rate
from sim_bridge.ros.wire.messages import marks, PreparedMessage, WORLD_FRAME

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.drives.drive import Drive
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.publish.sinks import Sink


class OdometryMessage(PreparedMessage):
    """
    A nav_msgs/Odometry.

    pose: (7,) child frame in the parent frame, position [m] and quaternion x y z w. twist: (6,)
    velocity of the child frame's origin [m/s] and angular velocity [rad/s], in the axes of the
    child frame, as the message defines it.
    """

    def __init__(
        self,
        frame_id: str,
        child_frame_id: str,
        pose_covariance: Sequence[float],
        twist_covariance: Sequence[float],
    ) -> None:
        """Set the frame names. pose_covariance, twist_covariance: (6,) diagonals."""
        message = Odometry(child_frame_id=child_frame_id)
        message.pose.covariance = np.diag(pose_covariance).ravel()
        message.twist.covariance = np.diag(twist_covariance).ravel()
        message.header.frame_id = frame_id
        p, q = message.pose.pose.position, message.pose.pose.orientation
        p.x, p.y, p.z, q.x, q.y, q.z, q.w = marks(0, 7)
        v, w = message.twist.twist.linear, message.twist.twist.angular
        v.x, v.y, v.z, w.x, w.y, w.z = marks(7, 6)
        super().__init__(message, (7, 6))
        self.pose, self.twist = self._blocks


def odometry_stream(
    sink: Sink,
    prefix: str,
    frame_prefix: str,
    robot: sb.Robot,
    parameters: SimulatorParameters,
    drives: Sequence[Drive] = (),
) -> PreparedStream | None:
    """
    Return the odom stream, the true motion; None for a robot fixed to the world.

    prefix: before the topic. frame_prefix: before the frames. drives: if one provides the odom
    frame, the true motion is relative to the world frame; if the file of one names the topic odom,
    the true motion has the topic odom/truth.
    """
    if robot.fixed_base:
        return None
    is_reckoned = any(drive.description.provides_tf for drive in drives)
    topic = f'{prefix}odom'
    is_taken = any(drive_topic(drive, prefix) == topic for drive in drives)
    message = OdometryMessage(
        WORLD_FRAME if is_reckoned else odom_frame(frame_prefix, parameters.odom_frame),
        frame_prefix + robot.description.root,
        parameters.odom_pose_covariance_diagonal,
        parameters.odom_twist_covariance_diagonal,
    )

    def fill() -> None:
        if robot.blueprint.mount is not None:
            root = robot.root_link
            message.pose[:] = *root.p, *quaternion_from_matrix(root.R)
            message.twist[:] = *(root.v @ root.R), *(root.w @ root.R)
            return
        state, offsets = robot.world.state, robot.offsets
        pose = state.q[offsets.q : offsets.q + 7]
        twist = state.v[offsets.v : offsets.v + 6].reshape(2, 3)
        message.pose[:] = pose
        message.twist[:] = (twist @ matrix_from_quaternion(pose[3:])).ravel()

    return PreparedStream(
        sink,
        f'{topic}/truth' if is_taken else topic,
        Odometry,
        message,
        fill,
        rate_hz=parameters.odom_rate or parameters.rate,
    )


def wheel_odometry_streams(
    sink: Sink, prefix: str, frame_prefix: str, drive: Drive, parameters: SimulatorParameters
) -> list[Timed]:
    """
    Return the streams for a drive's wheel odometry, and their schedule.

    prefix: before the topic. frame_prefix: before the frames.
    """
    topics = [drive_topic(drive, prefix)]
    further = drive.description.odometry_topic
    if further:
        topics.append(further if further.startswith('/') else prefix + further)
    return [
        _wheel_odometry_stream(sink, topic, frame_prefix, drive, parameters)
        for topic in dict.fromkeys(topics)
    ]


def _wheel_odometry_stream(
    sink: Sink, topic: str, frame_prefix: str, drive: Drive, parameters: SimulatorParameters
) -> Timed:
    own, robot = drive.description, drive.robot
    message = OdometryMessage(
        reckoning_frame(drive, frame_prefix, parameters.odom_frame),
        frame_prefix + (own.base_frame or robot.description.root),
        own.pose_covariance,
        own.twist_covariance,
    )

    def fill() -> None:
        message.pose[:] = reckoned_pose(drive)
        x, y, yaw_rate = drive.reckoned_twist
        message.twist[:] = x, y, 0.0, 0.0, 0.0, yaw_rate

    rate = own.rate or parameters.odom_rate
    return Timed(
        PreparedStream(sink, topic, Odometry, message, fill, rate_hz=rate or parameters.rate),
        Rate(rate),
    )


def drive_topic(drive: Drive, prefix: str) -> str:
    """Return the topic of a drive's wheel odometry. prefix: before relative names."""
    topic = drive.description.odom_topic or f'{drive.name}/odom'
    if not prefix and topic == '/odom':
        return 'odom'
    return topic if topic.startswith('/') else prefix + topic
