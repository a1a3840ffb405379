"""Cameras' topics and frames in the node itself, there before the camera process is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import TransformStamped

from sim_bridge.ros.camera.topics import CameraTopics, policies_of
from sim_bridge.ros.process.entity_scope import undeclare_overrides
from sim_bridge.ros.publish.sinks import create_publisher
from sim_bridge.ros.wire.qos import LATCHED_QOS, optional_messages, overridable

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.publisher import Publisher


class AnnouncedTopics:
    """
    Silent publishers, which show the topics, find subscribers and have the QoS overrides.

    A node whose cameras nobody listens to needs no camera process.
    """

    def __init__(self, node: Node) -> None:
        """Start without topics."""
        self._node = node
        self._publishers: list[Publisher] = []
        self._overridden: list[str] = []

    def show(self, cameras: Sequence[CameraTopics]) -> list[CameraTopics]:
        """
        Announce these cameras instead of earlier ones; return them with the user's QoS.

        Raises InvalidValueError for a name refused by the middleware.
        """
        self.close()
        for topic in self._overridden:
            undeclare_overrides(self._node, topic, 'publisher')
        self._overridden.clear()
        return [self._shown(each) for each in cameras]

    def is_wanted(self) -> bool:
        """Return whether a topic has a subscriber."""
        return any(each.get_subscription_count() for each in self._publishers)

    def close(self) -> None:
        """Destroy the publishers; the camera process has its own."""
        for each in self._publishers:
            self._node.destroy_publisher(each)
        self._publishers.clear()

    def _shown(self, camera: CameraTopics) -> CameraTopics:
        given = {}
        for _, topic, message_type, qos in camera.publications:
            publisher = create_publisher(self._node, message_type, topic, qos, overridable())
            self._publishers.append(publisher)
            self._overridden.append(topic)
            given[topic] = policies_of(qos)
        # latched: without overrides, as all latched topics
        self._publishers += [
            create_publisher(self._node, message_type, topic, qos)
            for _, topic, message_type, qos in camera.label_infos
        ]
        return camera._replace(given=given)


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
        frames = [
            _transform(each, name)
            for each in cameras
            if each.parent
            for name in dict.fromkeys(each.frames.values())
        ]
        if not frames:
            return
        if self._publisher is None:
            self._publisher = self._node.create_publisher(
                self._messages.TFMessage, '/tf_static', LATCHED_QOS
            )
        self._publisher.publish(self._messages.TFMessage(transforms=frames))


def _transform(camera: CameraTopics, name: str) -> TransformStamped:
    frame = TransformStamped(child_frame_id=name)
    frame.header.frame_id = camera.parent
    p, q = frame.transform.translation, frame.transform.rotation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = camera.pose
    return frame
