"""Standard services about the named poses of a scene."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.ros.process.deferred import Answer, Handler
from sim_bridge.ros.services.standard.interfaces import agree, fill_bounds, Interfaces, passes_tags
from sim_bridge.ros.session.simulator import Simulator

if TYPE_CHECKING:
    from sim_bridge.description.scene.named_poses import NamedPose


class NamedPoseServices:
    """GetNamedPoses and GetNamedPoseBounds."""

    def __init__(self, interfaces: Interfaces, simulator: Simulator) -> None:
        """Prepare."""
        self._msg = interfaces.msg
        scene = simulator.scene
        self._poses = {} if scene is None else {each.name: each for each in scene.named_poses}

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by service type name."""
        return {'GetNamedPoses': self._list, 'GetNamedPoseBounds': self._get_bounds}

    def _list(self, request: Any, response: Any, answer: Answer) -> None:
        response.poses = [
            self._message(each)
            for each in self._poses.values()
            if passes_tags(request.tags, each.tags)
        ]
        answer(agree(response))

    def _get_bounds(self, request: Any, response: Any, answer: Answer) -> None:
        if request.name not in self._poses:
            raise UnknownNameError('named pose', request.name, self._poses, 'the scene')
        fill_bounds(response.bounds, box_of(self._poses[request.name]))
        answer(agree(response))

    def _message(self, named: NamedPose) -> Any:
        message = self._msg.NamedPose(
            name=named.name, description=named.description, tags=list(named.tags)
        )
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = named.position
        q.x, q.y, q.z, q.w = named.orientation
        return message


def box_of(named: NamedPose) -> np.ndarray | None:
    """Return lower and upper corner (2, 3) of the box around a pose, world axes [m]."""
    if named.size is None:
        return None
    half = 0.5 * np.abs(matrix_from_quaternion(list(named.orientation))) @ named.size
    return np.array([named.position - half, named.position + half])
