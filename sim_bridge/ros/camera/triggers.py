"""Requests for single pictures: a service and a topic for each camera with a trigger."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TYPE_CHECKING

from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from sim_bridge.ros.camera.topics import CameraTopics
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.wire.qos import COMMAND_QOS

if TYPE_CHECKING:
    from sim_bridge.ros.process.polling import PollingMixin

# requests a picture, and returns whether somebody listens
Request = Callable[[], bool]


class Triggers:
    """The requests' services and topics, on the executor's thread."""

    def __init__(self, node: PollingMixin) -> None:
        """Start without cameras."""
        self._node = node
        self._scope = EntityScope(node)

    def show(self, cameras: Iterable[tuple[CameraTopics, Request]]) -> None:
        """Take requests for these cameras instead of earlier ones."""
        self._scope.destroy()
        with self._scope.collecting():
            for camera, request in cameras:
                if not camera.trigger:
                    continue
                self._node.create_service(Trigger, camera.trigger, partial(_answer, request))
                self._node.create_subscription(
                    Bool, camera.trigger_topic, partial(_hear, request), COMMAND_QOS
                )


def _answer(request: Request, _: Any, response: Any) -> Any:
    response.success = request()
    response.message = (
        'the next picture is sent'
        if response.success
        else 'nobody listens to the pictures; the next one with a listener is sent'
    )
    return response


def _hear(request: Request, message: Any) -> None:
    if message.data:
        request()
