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
from sim_bridge.description.cameras import (
    ALIGNED,
    BOXES,
    BOXES_3D,
    CameraDescription,
    COLORED,
    frame_name,
    OPTICAL_AXES,
)
from sim_bridge.description.scene.model import namespace_for
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.link import Link
from sim_bridge.ros.camera.layouts import names_of
from sim_bridge.ros.wire.image_messages import image_encoding, pixel_layout
from sim_bridge.ros.wire.messages import WORLD_FRAME
from sim_bridge.ros.wire.qos import for_one_topic, LATCHED_QOS, optional_messages, topic_name

# greatest queue for slow subscribers [bytes]; it holds a second at most
_MOST_QUEUED = 32 << 20
_POINT_BYTES = 16
_DETECTION_BYTES = 100_000  # of many boxes


_TYPES: Mapping[str, type] = {
    **dict.fromkeys(('image', 'depth', ALIGNED, 'labels', 'instances', COLORED), Image),
    'points': PointCloud2,
}
VISION = 'vision_msgs'
"""Package of messages for boxes and names of labels."""
_VISION_TYPES = {BOXES: 'Detection2DArray', BOXES_3D: 'Detection3DArray'}
_NAMED = ('labels', 'instances', BOXES, BOXES_3D)
_LABEL_INFO = 'label_info'
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
            message_type = _type_of(key)
            if message_type is not None:
                yield self._publication(key, topic, message_type)

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
    def label_infos(self) -> Iterator[Publication]:
        """Latched topics of the names for labels and instances; none without vision_msgs."""
        messages = optional_messages(VISION)
        for key, topic in self.topics.items():
            if key in _NAMED and messages is not None:
                name = f'{topic}/{_LABEL_INFO}'
                yield Publication(key, name, messages.LabelInfo, for_one_topic(LATCHED_QOS))

    @property
    def publications(self) -> Iterator[Publication]:
        """All topics of pictures and calibrations."""
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
        if key in _VISION_TYPES:
            return _DETECTION_BYTES
        items, channels = pixel_layout(image_encoding(self.settings, key))
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
    for key, names in names_of(settings).items():
        if _type_of(key) is None:
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


def _type_of(key: str) -> type | None:
    """Return a topic's message type; None for boxes without vision_msgs."""
    if key not in _VISION_TYPES:
        return _TYPES[key]
    messages = optional_messages(VISION)
    return None if messages is None else getattr(messages, _VISION_TYPES[key])


def _stands(link: Link) -> bool:
    """Return whether a link only holds one sensor in the world, and has no frame of its own."""
    robot = link.robot
    is_post = len(robot.links) == 1 and robot.motion == 'static' and not link.geometries
    return is_post and [each.name for each in robot.devices()] == [robot.name]


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
