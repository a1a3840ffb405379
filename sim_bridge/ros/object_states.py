"""Where the things of the world are: the objects, and the robots' bases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from geometry_msgs.msg import TransformStamped
import numpy as np
from sensor_msgs.msg import MultiDOFJointState

from sim_bridge.description.rotation import quaternion_from_matrix
from sim_bridge.errors import InvalidValueError
from sim_bridge.ros import topics
from sim_bridge.ros.messages import pack_stamp, PoseStateMessage, unpack_stamp, WORLD_FRAME
from sim_bridge.ros.publishers import Stream

if TYPE_CHECKING:
    from rclpy.node import Node

    import sim_bridge as sb


class FramesMessage:
    """A tf2_msgs/TFMessage of frames in the world."""

    def __init__(self, messages: ModuleType, names: Iterable[str]) -> None:
        """
        Begin with all of them at the origin.

        messages: the module tf2_msgs.msg. names: of the frames.
        """
        self._frames = [TransformStamped(child_frame_id=name) for name in names]
        for frame in self._frames:
            frame.header.frame_id = WORLD_FRAME
        self._message = messages.TFMessage(transforms=self._frames)

    def fill(self, poses: np.ndarray) -> None:
        """Take (n, 7) positions [m] and quaternions x y z w."""
        for frame, pose in zip(self._frames, poses.tolist(), strict=True):
            p, q = frame.transform.translation, frame.transform.rotation
            p.x, p.y, p.z, q.x, q.y, q.z, q.w = pose

    def stamped(self, stamp: bytes) -> object:
        """Return the message as it is now, with this stamp (see `messages.pack_stamp`)."""
        time = unpack_stamp(stamp)
        for frame in self._frames:
            frame.header.stamp = time
        return self._message


class ObjectStates:
    """
    Publishes object_states, and /tf if so told.

    object_states has poses and twists of all objects that move and of all robots with a free base:
    one sensor_msgs/MultiDOFJointState, by name. /tf has the same poses, /tf_static those of what
    never moves.
    """

    def __init__(self, node: Node, world: sb.World, prefixes: Mapping[str, str], has_tf: bool):
        """
        Create the topics.

        prefixes: of the frames of each robot, by its name. has_tf: publish /tf, too; raises
        InvalidValueError where its message is not installed.
        """
        self._world = world
        self._moving = [robot for robot in world.robots.values() if not robot.fixed_base]
        self._positions = _rows([robot.offsets.q for robot in self._moving], 7)
        self._velocities = _rows([robot.offsets.v for robot in self._moving], 6)
        message = PoseStateMessage([robot.name for robot in self._moving])

        def fill() -> None:
            message.poses[:] = self._poses()
            message.twists[:] = world.state.v[self._velocities]

        self.streams: list[Stream] = []
        if self._moving:
            self.streams.append(
                Stream(node, 'object_states', MultiDOFJointState, message, fill))
        if has_tf:
            self._publish_frames(node, prefixes)

    def _publish_frames(self, node: Node, prefixes: Mapping[str, str]) -> None:
        messages = topics.optional_messages('tf2_msgs')
        if messages is None:
            raise InvalidValueError(
                "parameter 'publish_tf'", True,
                'false, since tf2_msgs is not installed: it comes with ROS 2, but not as a wheel')
        if self._moving:
            frames = FramesMessage(messages, _frame_names(self._moving, prefixes))
            self.streams.append(Stream(
                node, '/tf', messages.TFMessage, frames, lambda: frames.fill(self._poses()),
                topics.TF_QOS))
        fixed = [
            robot for robot in self._world.robots.values()
            if robot.fixed_base and robot.description.root != WORLD_FRAME]
        fixed_frames = FramesMessage(messages, _frame_names(fixed, prefixes))
        fixed_frames.fill(np.array([_root_pose(robot) for robot in fixed]).reshape(-1, 7))
        publisher = node.create_publisher(messages.TFMessage, '/tf_static', topics.LATCHED_QOS)
        publisher.publish(fixed_frames.stamped(pack_stamp(0)))

    def _poses(self) -> np.ndarray:
        return self._world.state.q[self._positions]


def _frame_names(robots: Sequence[sb.Robot], prefixes: Mapping[str, str]) -> list[str]:
    return [prefixes.get(robot.name, '') + robot.description.root for robot in robots]


def _rows(starts: list[int], size: int) -> np.ndarray:
    """Give (n, size) consecutive numbers from each start."""
    return np.array(starts, dtype=int).reshape(-1, 1) + np.arange(size)


def _root_pose(robot: sb.Robot) -> np.ndarray:
    link = robot.root_link
    return np.concatenate([link.p, quaternion_from_matrix(link.R)])
