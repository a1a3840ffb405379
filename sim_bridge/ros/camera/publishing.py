"""Publishers for a camera's pictures."""

from __future__ import annotations

from collections.abc import Iterable
import os
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Header

from sim_bridge.description.cameras import BOXES, BOXES_3D
from sim_bridge.ros.camera.channel import Scene
from sim_bridge.ros.camera.label_maps import LabelMaps, names_by_label
from sim_bridge.ros.camera.layouts import output_of
from sim_bridge.ros.camera.ring import Frame
from sim_bridge.ros.camera.topics import CameraTopics, Publication
from sim_bridge.ros.process.rclpy_compat import raw_publish_of
from sim_bridge.ros.wire.compressed_images import compressed_message, encoding_to_compress
from sim_bridge.ros.wire.detection_messages import detections_2d, detections_3d, label_info
from sim_bridge.ros.wire.image_messages import CameraInfoMessage, CloudMessage, ImageMessage
from sim_bridge.ros.wire.messages import pack_stamp
from sim_bridge.sensors.camera_pictures import (
    expose,
    made_renderer,
    optical_frame,
    optics_of,
    picture_of,
)
from sim_bridge.sensors.picture_hashes import Hashes, hashes_of
from sim_bridge.sight.boxes import BoxFinder
from sim_bridge.sight.exposure import draw_of
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery

# a processor is left to the physics thread
_THREADS = max(1, len(os.sched_getaffinity(0)) - 1)


class CameraPublishers:
    """A camera's renderer, messages and topics; nothing is rendered without subscribers."""

    def __init__(self, node: Node, camera: CameraTopics, scene: Scene, scenery: Scenery) -> None:
        """Create the publishers; the renderer follows with the first picture."""
        self._node, self._camera, self._scene, self._scenery = node, camera, scene, scenery
        self._maps = LabelMaps(scenery, camera.settings)
        self._finder: BoxFinder | None = None
        self._renderer: Renderer | None = None
        self._messages: dict[str, Any] = {}
        self._pictures = self._open(camera.pictures)
        self._compressed = self._open(camera.compressed)
        self._infos = self._open(camera.calibrations)
        self._calibration = {
            key: CameraInfoMessage(camera.settings, camera.frames[key]) for key in self._infos
        }
        self._label_infos = self._open(camera.label_infos)
        self._tell_names()

    def refresh(self) -> int:
        """Return how many topics have subscribers."""
        return sum(
            each.get_subscription_count() > 0
            for group in (self._pictures, self._compressed, self._infos)
            for each in group.values()
        )

    def publish(self, frame: Frame, site: int) -> Hashes:
        """
        Render a frame, and publish the wanted pictures and camera_info with its stamp.

        site: the camera's frame, by its number among the poses. Returns the pictures' hashes, none
        unless the scene keeps them.
        """
        pictures, compressed = _wanted(self._pictures), _wanted(self._compressed)
        keeps_hashes = self._scene.keeps_hashes
        if pictures or compressed or keeps_hashes:
            self._render(frame, site)
        stamp = pack_stamp(frame.stamp)
        if BOXES in pictures or BOXES_3D in pictures:
            self._publish_boxes(pictures, frame, site)
        for key, publisher in pictures.items():
            if key not in (BOXES, BOXES_3D):
                raw_publish_of(publisher)(self._filled(key).stamped(stamp))
        for key, publisher in compressed.items():
            publisher.publish(self._compress(key, frame.stamp))
        for key, publisher in _wanted(self._infos).items():
            raw_publish_of(publisher)(self._calibration[key].stamped(stamp))
        return self._hashes() if keeps_hashes else {}

    def _hashes(self) -> Hashes:
        """Return the rendered pictures' hashes."""
        assert self._renderer is not None
        renderer, settings = self._renderer, self._camera.settings
        return hashes_of(settings, lambda output: picture_of(renderer, output, settings))

    def close(self) -> None:
        """Destroy the publishers."""
        for group in (self._pictures, self._compressed, self._infos, self._label_infos):
            for each in group.values():
                self._node.destroy_publisher(each)
        if self._renderer is not None:
            self._renderer.close()

    def _open(self, found: Iterable[Publication]) -> dict[str, Publisher]:
        return {
            key: self._node.create_publisher(message_type, topic, qos)
            for key, topic, message_type, qos in found
        }

    def _tell_names(self) -> None:
        """Publish the names for labels and instances once; their topics are latched."""
        names = self._scene.names
        for key, publisher in self._label_infos.items():
            numbered = (
                dict(enumerate(names, 1))
                if key == 'instances'
                else names_by_label(self._scenery, names)
            )
            publisher.publish(label_info(numbered, self._camera.frames[key]))

    def _render(self, frame: Frame, site: int) -> None:
        settings = self._camera.settings
        if self._renderer is None:
            self._renderer = made_renderer(
                self._scenery, self._scene.surroundings, optics_of(settings), settings, _THREADS
            )
        draw = draw_of(self._camera.noise_key, frame.stamp)
        expose(self._renderer, frame.poses, site, draw)

    def _publish_boxes(self, pictures: dict[str, Publisher], frame: Frame, site: int) -> None:
        """Publish the boxes in the rendered picture."""
        assert self._renderer is not None
        camera = self._camera
        if self._finder is None:
            self._finder = BoxFinder(self._scenery, self._renderer.optics)
        is_full = camera.settings.box_type == 'full_2d'
        boxes = self._finder.find(
            self._renderer.visual,
            optical_frame(frame.poses[site]),
            frame.poses,
            self._scene.names,
            is_full=is_full,
        )
        for key in (BOXES, BOXES_3D):
            if key in pictures:
                header = Header(frame_id=camera.frames[key])
                header.stamp.sec, header.stamp.nanosec = divmod(frame.stamp, 1_000_000_000)
                pictures[key].publish(
                    detections_2d(boxes, header, is_full=is_full)
                    if key == BOXES
                    else detections_3d(boxes, header, camera.into_frame)
                )

    def _filled(self, key: str) -> Any:
        """Return a picture's message with the rendered pixels."""
        assert self._renderer is not None
        settings, frame_id = self._camera.settings, self._camera.frames[key]
        if key == 'points':
            if key not in self._messages:
                self._messages[key] = CloudMessage(settings, frame_id)
            cloud = self._messages[key]
            picture_of(self._renderer, key, settings, cloud.points)
            rotation, offset = np.split(self._camera.into_frame, [9])
            if not np.array_equal(rotation.reshape(3, 3), np.eye(3)):
                cloud.points[..., :3] = cloud.points[..., :3] @ rotation.reshape(3, 3).T + offset
            if 'image' in settings.outputs:
                cloud.colors[:] = self._renderer.image('bgra8')
            return cloud
        if key not in self._messages:
            self._messages[key] = ImageMessage(settings, key, frame_id, is_wide=self._maps.is_wide)
        image = self._messages[key]
        if output_of(key) in ('labels', 'instances'):
            self._maps.fill(key, self._renderer.visual, image.pixels)
            return image
        picture_of(self._renderer, output_of(key), settings, image.pixels)
        return image

    def _compress(self, key: str, stamp: int) -> Any:
        """Return a picture's compressed message."""
        assert self._renderer is not None
        settings, output = self._camera.settings, output_of(key)
        if output == 'image':
            pixels = self._renderer.image(encoding_to_compress(settings))
        else:
            pixels = picture_of(self._renderer, output, settings)
        return compressed_message(settings, output, pixels, self._camera.frames[key], stamp)


def _wanted(publishers: dict[str, Publisher]) -> dict[str, Publisher]:
    """Return the publishers with subscribers."""
    return {key: each for key, each in publishers.items() if each.get_subscription_count()}
