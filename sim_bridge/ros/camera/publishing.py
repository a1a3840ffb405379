"""Publishers for a camera's pictures, and for all cameras' optical frames."""

from __future__ import annotations

from collections.abc import Iterable
import os
from typing import Any

from geometry_msgs.msg import TransformStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, PointCloud2

from sim_bridge.ros.camera.channel import Frame
from sim_bridge.ros.camera.topics import CameraTopics
from sim_bridge.ros.process.rclpy_compat import raw_publish_of
from sim_bridge.ros.wire.image_messages import CameraInfoMessage, CloudMessage, ImageMessage
from sim_bridge.ros.wire.messages import pack_stamp
from sim_bridge.ros.wire.qos import LATCHED_QOS, optional_messages
from sim_bridge.sensors.cameras import optical_frame, optics_of, picture_of
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery

# a processor is left to the physics thread
_THREADS = max(1, len(os.sched_getaffinity(0)) - 1)
_TYPES: dict[str, type] = {'image': Image, 'depth': Image, 'points': PointCloud2}


class CameraPublishers:
    """A camera's renderer, messages and topics; nothing is rendered without subscribers."""

    def __init__(self, node: Node, camera: CameraTopics) -> None:
        """Create the publishers; the renderer follows with the first picture."""
        self._node, self._camera = node, camera
        self._renderer: Renderer | None = None
        self._messages: dict[str, Any] = {}
        self._outputs = {
            output: node.create_publisher(_TYPES[output], topic, camera.qos(output))
            for output, topic in camera.topics.items()
        }
        self._infos = {
            output: node.create_publisher(CameraInfo, topic, camera.qos(output))
            for output, topic in camera.infos.items()
        }
        self._info = CameraInfoMessage(camera.settings, camera.frame_id)
        self._wanted: set[str] = set()

    def refresh(self) -> int:
        """Look for subscribers; return how many topics have some."""
        publishers = [*self._outputs.items(), *self._infos.items()]
        self._wanted = {
            output for output, each in self._outputs.items() if each.get_subscription_count()
        }
        return sum(each.get_subscription_count() > 0 for _, each in publishers)

    def publish(self, scenery: Scenery, frame: Frame, site: int) -> None:
        """
        Render a frame, and publish the wanted outputs and camera_info with its stamp.

        site: the camera's frame, by its number among the poses.
        """
        stamp = pack_stamp(frame.stamp)
        if self._wanted:
            if self._renderer is None:
                optics = optics_of(self._camera.settings)
                self._renderer = Renderer(
                    scenery, optics, _THREADS, samples=self._camera.settings.samples
                )
            self._renderer.render(optical_frame(frame.poses[site]), frame.poses)
        for output in self._outputs:
            if output in self._wanted:
                message = self._filled(output)
                raw_publish_of(self._outputs[output])(message.stamped(stamp))
        for publisher in self._infos.values():
            if publisher.get_subscription_count():
                raw_publish_of(publisher)(self._info.stamped(stamp))

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher in (*self._outputs.values(), *self._infos.values()):
            self._node.destroy_publisher(publisher)
        if self._renderer is not None:
            self._renderer.close()

    def _filled(self, output: str) -> Any:
        """Return an output's message with the rendered picture."""
        assert self._renderer is not None
        settings, frame_id = self._camera.settings, self._camera.frame_id
        if output == 'points':
            if output not in self._messages:
                self._messages[output] = CloudMessage(settings, frame_id)
            cloud = self._messages[output]
            picture_of(self._renderer, output, settings, cloud.points)
            rotation, offset = np.split(self._camera.into_frame, [9])
            if not np.array_equal(rotation.reshape(3, 3), np.eye(3)):
                cloud.points[..., :3] = cloud.points[..., :3] @ rotation.reshape(3, 3).T + offset
            if 'image' in settings.outputs:
                cloud.colors[:] = self._renderer.image('bgra8')
            return cloud
        if output not in self._messages:
            self._messages[output] = ImageMessage(settings, output, frame_id)
        image = self._messages[output]
        picture_of(self._renderer, output, settings, image.pixels)
        return image


class OpticalFrames:
    """Latched /tf_static with the cameras' optical frames; none without tf2_msgs."""

    def __init__(self, node: Node) -> None:
        """Create the topic with the first frame."""
        self._node, self._messages = node, optional_messages('tf2_msgs')
        self._publisher: Any = None

    def show(self, cameras: Iterable[CameraTopics]) -> None:
        """Publish the optical frames for all cameras without a declared frame."""
        if self._messages is None:
            return
        frames = [_transform(each) for each in cameras if each.parent]
        if not frames:
            return
        if self._publisher is None:
            self._publisher = self._node.create_publisher(
                self._messages.TFMessage, '/tf_static', LATCHED_QOS
            )
        self._publisher.publish(self._messages.TFMessage(transforms=frames))


def _transform(camera: CameraTopics) -> TransformStamped:
    frame = TransformStamped(child_frame_id=camera.frame_id)
    frame.header.frame_id = camera.parent
    p, q = frame.transform.translation, frame.transform.rotation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = camera.pose
    return frame
