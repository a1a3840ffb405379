"""Joint states as messages: by axis, or as poses for joints with no axis or several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState, MultiDOFJointState

import sim_bridge as sb
from sim_bridge.description.model import JointType
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.ros.publish.axes import AxisStates
from sim_bridge.ros.publish.sinks import Sink
from sim_bridge.ros.publish.streams import Copy, PreparedStream, Rate
from sim_bridge.ros.wire.messages import JointStateMessage, PoseStateMessage

_MULTI_DOF = (JointType.PLANAR, JointType.BALL, JointType.FLOATING)


class JointStates:
    """
    Publishes joint_states, and multi_dof_joint_states for joints with several axes.

    joint_states has position, velocity and effort for all axes and crawlers. An axis effort
    is the commanded effort plus the motor effort in the last step. multi_dof_joint_states has pose
    and twist in the world, for the child link of each planar, ball and floating joint.
    """

    def __init__(
        self,
        sink: Sink,
        prefix: str,
        robot: sb.Robot,
        rate_hz: float,
        topic: str = '',
        further: Sequence[str] = (),
    ) -> None:
        """
        Create the topics.

        prefix: before the topic names. rate_hz: in simulated time [Hz]. topic: replaces the name
        joint_states. further: other full names for the same topic.
        """
        self.rate = Rate(rate_hz)
        """Publishing rate."""
        self._axes = axes = AxisStates(robot)
        self.has_crawlers = axes.has_crawlers
        """Whether `advance` has to be called."""
        self._time_ns = 0
        topic = topic or f'{prefix}joint_states'
        names = {each.strip('/'): each for each in (topic, *further)}
        self.streams = [_axis_stream(sink, each, axes, rate_hz) for each in names.values()]
        multi_dof = [joint for joint in robot.joints if joint.type in _MULTI_DOF]
        if multi_dof:
            self.streams.append(_multi_dof_stream(sink, prefix, multi_dof, rate_hz))
        self.restart(0)

    def locate(self) -> None:
        """Find the axis arrays again, after robots were added or removed."""
        self._axes.locate()

    def advance(self, time_ns: int) -> None:
        """Advance the crawlers to this simulated time [ns]."""
        self._axes.advance((time_ns - self._time_ns) * 1e-9)
        self._time_ns = time_ns

    def publish(self, stamp: bytes) -> None:
        """Publish the present state. stamp: packed time."""
        for stream in self.streams:
            stream.publish(stamp)

    def restart(self, time_ns: int, reason: str = '') -> None:
        """Restart at this simulated time [ns], after the world has been reset."""
        self._axes.restart()
        self.resume(time_ns)

    def resume(self, time_ns: int) -> None:
        """Continue from another time [ns]."""
        self._time_ns = time_ns

    def save(self, time_ns: int) -> np.ndarray:
        """Return the crawlers' distances, for `restore`."""
        return self._axes.save()

    def restore(self, saved: np.ndarray, time_ns: int) -> None:
        """Restore distances from `save`."""
        self._axes.restore(saved)


def _axis_stream(sink: Sink, topic: str, axes: AxisStates, rate_hz: float) -> PreparedStream:
    """Return a stream with all axis and crawler states."""
    message = JointStateMessage(axes.names)

    def fill() -> None:
        axes.write_others(message.position, message.velocity, message.effort)

    def copies() -> list[Copy]:
        q, dq, u, motor = axes.sources()
        count = len(q)
        return [
            Copy(message.position[:count], q),
            Copy(message.velocity[:count], dq),
            Copy(message.effort[:count], u, motor),
        ]

    return PreparedStream(
        sink,
        topic,
        JointState,
        message,
        fill if axes.has_others else None,
        copies=copies,
        rate_hz=rate_hz,
    )


def _multi_dof_stream(
    sink: Sink, prefix: str, joints: list[sb.Joint], rate_hz: float
) -> PreparedStream:
    links = [joint.child_link for joint in joints]
    message = PoseStateMessage([joint.name for joint in joints])

    def fill() -> None:
        for row, link in enumerate(links):
            message.poses[row] = [*link.p, *quaternion_from_matrix(link.R)]
            message.twists[row] = [*link.v, *link.w]

    return PreparedStream(
        sink, f'{prefix}multi_dof_joint_states', MultiDOFJointState, message, fill, rate_hz=rate_hz
    )
