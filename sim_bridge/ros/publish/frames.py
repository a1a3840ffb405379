"""
/tf and /tf_static: object frames, robot base frames and, optionally, all link frames.

Every frame has one parent. A robot's base is a child of its odom frame, as in REP 105, and the
odom frame is a child of the world. Link frames have the same parents as in robot_state_publisher,
so that either node may publish them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from geometry_msgs.msg import TransformStamped
import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.engine.pipeline.observe import SITE_POSITION, SITE_ROTATION
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    quaternions_from_matrices,
)
from sim_bridge.ros.interfaces.store import absence
from sim_bridge.ros.publish.base_motion import BaseMotion
from sim_bridge.ros.publish.reckoning import reckoned_pose, reckoning_frame
from sim_bridge.ros.wire.messages import pack_stamp, unpack_stamp, WORLD_FRAME
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.drives.drive import Drive
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.publish.streams import Stream
    from sim_bridge.ros.publish.topic_pool import TopicPool

_IDENTITY = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])


class FramesMessage:
    """A tf2_msgs/TFMessage with frames relative to their parents."""

    def __init__(self, messages: ModuleType, frames: Iterable[tuple[str, str]]) -> None:
        """
        Start with every frame at its parent's origin.

        messages: module tf2_msgs.msg. frames: (parent name, frame name) pairs.
        """
        self._frames = []
        for parent, name in frames:
            frame = TransformStamped(child_frame_id=name)
            frame.header.frame_id = parent
            self._frames.append(frame)
        self._message = messages.TFMessage(transforms=self._frames)

    def fill(self, poses: np.ndarray) -> None:
        """Set the (n, 7) poses: positions [m] and quaternions x y z w."""
        for frame, pose in zip(self._frames, poses.tolist(), strict=True):
            p, q = frame.transform.translation, frame.transform.rotation
            p.x, p.y, p.z, q.x, q.y, q.z, q.w = pose

    def stamped(self, stamp: bytes) -> object:
        """Return the present message with a stamp (see `messages.pack_stamp`)."""
        time = unpack_stamp(stamp)
        for frame in self._frames:
            frame.header.stamp = time
        return self._message


class Frames:
    """Publishes moving frames on /tf and fixed frames on /tf_static."""

    def __init__(
        self,
        pool: TopicPool,
        world: sb.World,
        parameters: SimulatorParameters,
        prefixes: Mapping[str, str],
        reckoned: Mapping[str, Drive],
    ) -> None:
        """
        Create the topics, or reuse topics in the pool.

        prefixes: frame prefix by robot name; anything without one is an object.
        reckoned: drives that provide the pose in the odom frame, by robot name. The odom frame of
        this robot then drifts in the world, as with a real robot. Raises InvalidValueError if
        tf2_msgs is not installed.
        """
        messages = optional_messages('tf2_msgs')
        if messages is None:
            raise InvalidValueError(
                "parameter 'publish_tf'", True, f'false, since {absence("tf2_msgs")}'
            )
        self._world, self._prefixes, self._reckoned = world, prefixes, reckoned
        self._odom = parameters.odom_frame
        moving: list[sb.Robot] = []
        fixed: list[sb.Robot] = []
        for robot in world.robots.values():
            if robot.name not in reckoned:
                (fixed if robot.fixed_base else moving).append(robot)
        links = [
            LinkFrames(world.robots[name], prefix)
            for name, prefix in prefixes.items()
            if parameters.publish_link_tf
        ]
        self._publish_static(pool, messages, moving, fixed, links, parameters.publish_world_tf)
        motion = BaseMotion(world, moving)
        names = [(self._parent(robot), self._base(robot)) for robot in moving]
        drifting = [world.robots[name] for name in reckoned] * parameters.publish_world_tf
        names += [(WORLD_FRAME, self._parent(robot)) for robot in drifting]
        names += [
            (self._parent(world.robots[name]), self._base(world.robots[name])) for name in reckoned
        ]
        names += [pair for each in links for pair in each.moving]
        message = FramesMessage(messages, names)

        def fill() -> None:
            message.fill(
                np.concatenate(
                    [
                        motion.poses(),
                        *(self._odom_pose(robot) for robot in drifting),
                        *(np.array([reckoned_pose(drive)]) for drive in reckoned.values()),
                        *(each.poses(each.moving) for each in links),
                    ]
                )
            )

        self.streams: list[Stream] = []
        if names:
            self.streams.append(
                pool.stream(
                    '/tf',
                    messages.TFMessage,
                    message,
                    fill,
                    rate_hz=parameters.tf_rate or parameters.rate,
                )
            )

    def _publish_static(
        self,
        pool: TopicPool,
        messages: ModuleType,
        moving: Sequence[sb.Robot],
        fixed: Sequence[sb.Robot],
        links: Sequence[LinkFrames],
        has_odom: bool,
    ) -> None:
        odoms = [self._parent(robot) for robot in moving if robot.name in self._prefixes]
        frames = [(WORLD_FRAME, odom) for odom in odoms if has_odom]
        poses = [_IDENTITY] * len(frames)
        for robot in fixed:
            frames.append((WORLD_FRAME, self._base(robot)))
            poses.append(_root_pose(robot))
        for each in links:
            frames += each.fixed
            poses.append(each.poses(each.fixed))
        # a root link named world is the world
        kept = [k for k, (parent, name) in enumerate(frames) if parent != name]
        message = FramesMessage(messages, [frames[k] for k in kept])
        message.fill(np.concatenate([*poses, np.zeros((0, 7))])[kept])
        pool.latch('/tf_static', messages.TFMessage, message.stamped(pack_stamp(0)))

    def _odom_pose(self, robot: sb.Robot) -> np.ndarray:
        """Return the (1, 7) pose of a robot's odom frame in the world, by its wheel odometry."""
        root, pose = robot.root_link, np.array(reckoned_pose(self._reckoned[robot.name]))
        rotation = root.R @ matrix_from_quaternion(pose[3:]).T
        return np.concatenate(
            [root.p - rotation @ pose[:3], quaternion_from_matrix(rotation)]
        ).reshape(1, 7)

    def _base(self, robot: sb.Robot) -> str:
        return f'{self._prefixes.get(robot.name, "")}{robot.description.root}'

    def _parent(self, robot: sb.Robot) -> str:
        """Return a freely moving body's parent frame: a robot has its own odom frame."""
        if robot.name in self._reckoned:
            return reckoning_frame(
                self._reckoned[robot.name], self._prefixes[robot.name], self._odom
            )
        if robot.name in self._prefixes:
            return odom_frame(self._prefixes[robot.name], self._odom)
        return WORLD_FRAME


def drive_frames(
    pool: TopicPool,
    parameters: SimulatorParameters,
    prefixes: Mapping[str, str],
    reckoned: Mapping[str, Drive],
) -> list[Stream]:
    """
    Return the stream of /tf with the odometry of drives alone: odom -> base, as in their files.

    prefixes: frame prefix by robot name. reckoned: drives providing the pose in
    the odom frame, by robot name. Returns [] without such drives, or if tf2_msgs is not installed.
    """
    messages = optional_messages('tf2_msgs')
    if messages is None or not reckoned:
        return []
    names = [
        (
            reckoning_frame(drive, prefixes[name], parameters.odom_frame),
            f'{prefixes[name]}{drive.robot.description.root}',
        )
        for name, drive in reckoned.items()
    ]
    message = FramesMessage(messages, names)

    def fill() -> None:
        message.fill(np.array([reckoned_pose(drive) for drive in reckoned.values()]))

    rate = parameters.tf_rate or parameters.rate
    return [pool.stream('/tf', messages.TFMessage, message, fill, rate_hz=rate)]


class LinkFrames:
    """
    A robot's link frames.

    moving, fixed: (parent name, frame name) pairs, for frames that move relative to their parent,
    and for all others.
    """

    def __init__(self, robot: sb.Robot, prefix: str) -> None:
        """Use a robot's links. prefix: before the frame names."""
        self._robot = robot
        self._numbers = {prefix + link.name: k for k, link in enumerate(robot.links)}
        self.moving: list[tuple[str, str]] = []
        self.fixed: list[tuple[str, str]] = []
        for joint in robot.description.joints.values():
            pairs = self.fixed if joint.type is JointType.FIXED else self.moving
            pairs.append((prefix + joint.parent, prefix + joint.child))

    def poses(self, frames: Sequence[tuple[str, str]]) -> np.ndarray:
        """Return the (n, 7) frame poses in their parents: position [m], quaternion x y z w."""
        if not frames:
            return np.zeros((0, 7))
        robot = self._robot
        sites = np.array([robot.site(link) for link in robot.links])
        p = sites[:, SITE_POSITION : SITE_POSITION + 3]
        R = sites[:, SITE_ROTATION : SITE_ROTATION + 9].reshape(-1, 3, 3)
        parents, children = (
            [self._numbers[name] for name in names] for names in zip(*frames, strict=True)
        )
        into_parent = R[parents].transpose(0, 2, 1)
        offsets = into_parent @ (p[children] - p[parents])[:, :, None]
        return np.concatenate(
            [offsets[:, :, 0], quaternions_from_matrices(into_parent @ R[children])], axis=1
        )


def odom_frame(prefix: str, name: str) -> str:
    """Return the name of a robot's odom frame; the world's frame has no prefix."""
    return name if name == WORLD_FRAME else prefix + name


def _root_pose(robot: sb.Robot) -> np.ndarray:
    link = robot.root_link
    return np.concatenate([link.p, quaternion_from_matrix(link.R)]).reshape(1, 7)
