"""Cameras' topic names, frames and QoS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy

import sim_bridge as sb
from sim_bridge.description.cameras import CameraDescription, OPTICAL_AXES
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.ros.wire.image_messages import pixel_layout
from sim_bridge.ros.wire.qos import topic_name

# output: topic and its camera_info, after the camera's name, by layout. {parent}: the name
# without its last word
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
}

# greatest queue for slow subscribers [bytes]; it holds a second at most
_MOST_QUEUED = 32 << 20
_POINT_BYTES = 16


class CameraTopics(NamedTuple):
    """
    The camera process's data for a camera.

    settings: description. topics: full topic names by output. infos: full camera_info names,
    by output. frame_id: with prefix. parent, pose: frame and pose (7,) of the optical frame there,
    position [m] and quaternion x y z w; '' if another program publishes the frame. into_frame:
    (12,) rotation by rows and position [m], from the optical frame to the frame of the points.
    rate: [Hz]. is_reliable: all topics' reliability.
    """

    settings: CameraDescription
    topics: Mapping[str, str]
    infos: Mapping[str, str]
    frame_id: str
    parent: str
    pose: tuple[float, ...]
    into_frame: np.ndarray
    rate: float
    is_reliable: bool

    def message_bytes(self, output: str) -> int:
        """Return the size for an output's pixels in a message."""
        width, height = self.settings.size
        if output == 'points':
            return width * height * _POINT_BYTES
        items, channels = pixel_layout(self.settings, output)
        return width * height * channels * items.itemsize

    def qos(self, output: str) -> QoSProfile:
        """Return an output's QoS profile: messages for a second, within the memory."""
        depth = min(round(self.rate) or 1, _MOST_QUEUED // self.message_bytes(output))
        policy = ReliabilityPolicy.RELIABLE if self.is_reliable else ReliabilityPolicy.BEST_EFFORT
        return QoSProfile(depth=max(depth, 1), reliability=policy)


def camera_topics(
    camera: sb.CameraSensor, prefix: str, frame_prefix: str, is_reliable: bool
) -> CameraTopics:
    """Return a camera's topics; prefix, frame_prefix: before its topics and frames."""
    settings = camera.settings
    name = camera.description.topic or topic_name(camera.name)
    parent = name[: name.rfind('/') + 1]
    topics, infos = {}, {}
    for output in settings.outputs:
        topic, info = (
            text.format(name=name, parent=parent) for text in _LAYOUTS[settings.layout][output]
        )
        topics[output] = _full(settings.topics.get(output, topic), prefix)
        info = settings.topics.get(f'{output}_info', info)
        if info:
            infos[output] = _full(info, prefix)
    sensor = camera.description.pose
    optical = sensor.rotation @ np.array(OPTICAL_AXES)
    given = camera.description.frame_id
    into_frame = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    if given == camera.link.name:
        # a body frame, such as camera_link: the points are turned into its axes
        into_frame = np.concatenate([optical.ravel(), sensor.position])
    pose = (*sensor.position.tolist(), *quaternion_from_matrix(optical).tolist())
    return CameraTopics(
        settings,
        topics,
        infos,
        frame_prefix + camera.frame_id,
        '' if given else frame_prefix + camera.link.name,
        pose,
        into_frame,
        camera.update_rate,
        is_reliable,
    )


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
                raise InvalidValueError(f'topic of {camera.frame_id!r}', topic, expected)
            owners[topic] = camera.frame_id
    found = []
    for camera in cameras:
        infos: dict[str, str] = {}
        for output, name in camera.infos.items():
            # one camera's pictures may share a camera_info
            if name in infos.values():
                continue
            infos[output] = f'{camera.topics[output]}/camera_info' if name in owners else name
            owners[infos[output]] = camera.frame_id
        found.append(camera._replace(infos=infos))
    return found


def _full(name: str, prefix: str) -> str:
    return name if name.startswith('/') else prefix + name
