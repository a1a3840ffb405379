"""Cameras' topic names, frames and QoS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2

import sim_bridge as sb
from sim_bridge.description.cameras import ALIGNED, CameraDescription, frame_name, OPTICAL_AXES
from sim_bridge.description.scene.model import namespace_for
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.link import Link
from sim_bridge.ros.wire.image_messages import pixel_layout
from sim_bridge.ros.wire.messages import WORLD_FRAME
from sim_bridge.ros.wire.qos import topic_name

# topic and its camera_info by picture and layout. {name}: the camera's; {parent}: the name without
# its last word
_LAYOUTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    'ros': {
        'image': ('{name}/image_raw', '{name}/camera_info'),
        'depth': ('{name}/depth/image_raw', '{name}/depth/camera_info'),
        'points': ('{name}/points', ''),
    },
    # gz-sensors: camera_info is beside the image
    'gazebo': {
        'image': ('{name}', '{parent}camera_info'),
        'depth': ('{name}', '{parent}camera_info'),
        'points': ('{name}/points', ''),
    },
    'gazebo_rgbd': {
        'image': ('{name}/image', '{name}/camera_info'),
        'depth': ('{name}/depth_image', '{name}/camera_info'),
        'points': ('{name}/points', ''),
    },
    # realsense2_camera with align_depth and pointcloud enabled
    'realsense': {
        'image': ('{name}/color/image_raw', '{name}/color/camera_info'),
        'depth': ('{name}/depth/image_rect_raw', '{name}/depth/camera_info'),
        ALIGNED: (
            '{name}/aligned_depth_to_color/image_raw',
            '{name}/aligned_depth_to_color/camera_info',
        ),
        'points': ('{name}/depth/color/points', ''),
    },
    # mujoco_ros2_control_plugins; it has no points
    'mujoco': {
        'image': ('{name}/color', '{name}/camera_info'),
        'depth': ('{name}/depth', '{name}/camera_info'),
        'points': ('{name}/points', ''),
    },
}

# greatest queue for slow subscribers [bytes]; it holds a second at most
_MOST_QUEUED = 32 << 20
_POINT_BYTES = 16


_TYPES: Mapping[str, type] = {
    'image': Image,
    'depth': Image,
    ALIGNED: Image,
    'points': PointCloud2,
}
# names of image_transport
_COMPRESSED = {'image': 'compressed', 'depth': 'compressedDepth', ALIGNED: 'compressedDepth'}


class Policies(NamedTuple):
    """A topic's QoS in plain numbers, for another process; enumerations of rclpy by value."""

    history: int
    depth: int
    reliability: int

    @property
    def profile(self) -> QoSProfile:
        """The QoS profile."""
        return QoSProfile(
            history=HistoryPolicy(self.history),
            depth=self.depth,
            reliability=ReliabilityPolicy(self.reliability),
        )


def policies_of(profile: QoSProfile) -> Policies:
    """Return a profile's policies."""
    return Policies(int(profile.history), profile.depth, int(profile.reliability))


class Publication(NamedTuple):
    """A camera's topic; key: in `CameraTopics`."""

    key: str
    topic: str
    message_type: type
    qos: QoSProfile


class CameraTopics(NamedTuple):
    """
    The camera process's data for a camera.

    name: of the camera. settings: description. topics: full topic names by picture (output, or
    ALIGNED). infos: full camera_info names by picture. frames: by picture, with prefix. parent,
    pose: frame and pose (7,) of the optical frames there, position [m] and quaternion x y z w; ''
    if another program publishes the frames. into_frame:
    (12,) rotation by rows and position [m], from the optical frame to the frame of the points.
    rate: [Hz]. is_reliable: all topics' reliability. noise_key: see `CameraSensor`. trigger,
    trigger_topic: names of the service and the topic for requests; '' for pictures at the rate.
    given: QoS by topic in place of `qos`.
    """

    name: str
    settings: CameraDescription
    topics: Mapping[str, str]
    infos: Mapping[str, str]
    frames: Mapping[str, str]
    parent: str
    pose: tuple[float, ...]
    into_frame: np.ndarray
    rate: float
    is_reliable: bool
    noise_key: int
    trigger: str = ''
    trigger_topic: str = ''
    given: Mapping[str, Policies] = MappingProxyType({})

    @property
    def pictures(self) -> Iterator[Publication]:
        """Topics of the pictures."""
        for key, topic in self.topics.items():
            yield self._publication(key, topic, _TYPES[key])

    @property
    def compressed(self) -> Iterator[Publication]:
        """Topics of the compressed images."""
        for key, topic in self.topics.items():
            if key in _COMPRESSED:
                yield self._publication(key, f'{topic}/{_COMPRESSED[key]}', CompressedImage)

    @property
    def calibrations(self) -> Iterator[Publication]:
        """Topics of camera_info."""
        for key, topic in self.infos.items():
            yield self._publication(key, topic, CameraInfo)

    @property
    def publications(self) -> Iterator[Publication]:
        """All topics."""
        return chain(self.pictures, self.compressed, self.calibrations)

    def _publication(self, key: str, topic: str, message_type: type) -> Publication:
        given = self.given.get(topic)
        qos = self.qos(key) if given is None else given.profile
        return Publication(key, topic, message_type, qos)

    def message_bytes(self, key: str) -> int:
        """Return the size of a picture's pixels in a message."""
        width, height = self.settings.size
        if key == 'points':
            return width * height * _POINT_BYTES
        items, channels = pixel_layout(self.settings, key)
        return width * height * channels * items.itemsize

    def qos(self, key: str) -> QoSProfile:
        """Return a picture's QoS profile: messages for a second, within the memory."""
        depth = min(round(self.rate) or 1, _MOST_QUEUED // self.message_bytes(key))
        policy = ReliabilityPolicy.RELIABLE if self.is_reliable else ReliabilityPolicy.BEST_EFFORT
        return QoSProfile(depth=max(depth, 1), reliability=policy)


def camera_topics(
    camera: sb.CameraSensor, prefix: str, frame_prefix: str, is_reliable: bool
) -> CameraTopics:
    """Return a camera's topics; prefix, frame_prefix: before its topics and frames."""
    settings, given = camera.settings, camera.description.frame_id
    sensor, link = camera.description.pose, camera.link
    if _stands(link):
        # its carrier has its name
        own = f'{namespace_for(camera.name)}/'
        prefix, frame_prefix = prefix.removesuffix(own), frame_prefix.removesuffix(own)
    name = camera.description.topic or topic_name(camera.name)
    parent = name[: name.rfind('/') + 1]
    topics, infos, frames = {}, {}, {}
    layout = _LAYOUTS[settings.layout]
    if ALIGNED in settings.topics:
        layout = {ALIGNED: ('', ''), **layout}
    for key, names in layout.items():
        if output_of(key) not in settings.outputs:
            continue
        topic, info = (text.format(name=name, parent=parent) for text in names)
        topics[key] = _full(settings.topics.get(key, topic), prefix)
        frames[key] = frame_prefix + (given or frame_name(settings, camera.name, key))
        info = settings.topics.get(f'{key}_info', info)
        if info:
            infos[key] = _full(info, prefix)
    optical = sensor.rotation @ np.array(OPTICAL_AXES)
    into_frame = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    if given == link.name:
        # a body frame, such as camera_link: the points are turned into its axes
        into_frame = np.concatenate([optical.ravel(), sensor.position])
    trigger = _full(f'{name}/trigger', prefix) if settings.trigger else ''
    carrier, place, rotation = frame_prefix + link.name, sensor.position, optical
    if _stands(link):
        carrier, place, rotation = WORLD_FRAME, link.p + link.R @ place, link.R @ rotation
    return CameraTopics(
        frame_prefix + camera.name,
        settings,
        topics,
        infos,
        frames,
        '' if given else carrier,
        (*place.tolist(), *quaternion_from_matrix(rotation).tolist()),
        into_frame,
        camera.update_rate,
        is_reliable,
        camera.noise_key,
        trigger,
        _full(settings.trigger_topic, prefix) if trigger and settings.trigger_topic else trigger,
    )


def _stands(link: Link) -> bool:
    """Return whether a link only holds one sensor in the world, and has no frame of its own."""
    robot = link.robot
    is_post = len(robot.links) == 1 and robot.motion == 'static' and not link.geometries
    return is_post and [each.name for each in robot.devices()] == [robot.name]


def output_of(key: str) -> str:
    """Return a picture's output."""
    return 'depth' if key == ALIGNED else key


def with_own_topics(cameras: Sequence[CameraTopics]) -> list[CameraTopics]:
    """
    Return the cameras with distinct topics; raise InvalidValueError if two pictures share one.

    A camera_info whose name is taken is below its picture's topic instead.
    """
    owners: dict[str, str] = {}
    for camera in cameras:
        for topic in camera.topics.values():
            if topic in owners:
                expected = f'a topic of its own; the camera of {owners[topic]!r} publishes there'
                raise InvalidValueError(f'topic of {camera.name!r}', topic, expected)
            owners[topic] = camera.name
    found = []
    for camera in cameras:
        infos: dict[str, str] = {}
        for output, name in camera.infos.items():
            # one camera's pictures may share a camera_info
            if name in infos.values():
                continue
            infos[output] = f'{camera.topics[output]}/camera_info' if name in owners else name
            owners[infos[output]] = camera.name
        found.append(camera._replace(infos=infos))
    return found


def _full(name: str, prefix: str) -> str:
    return name if name.startswith('/') else prefix + name
