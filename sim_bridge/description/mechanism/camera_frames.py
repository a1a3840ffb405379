"""
Checks of cameras' carriers and named frames.

Cameras look along x of the sensor frame, with z up, as in SDF. Their pictures belong to a frame
with z ahead, x right and y down (REP 103).
"""

from __future__ import annotations

import numpy as np

from sim_bridge.description.cameras import OPTICAL_AXES
from sim_bridge.description.model import JointType, RobotDescription, SensorDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.arrays import FloatArray

_OPTICAL = np.array(OPTICAL_AXES)
# greatest difference of a rotation's elements: angles in files have 4 digits and more
_CLOSE = 1e-3


def check_camera_frames(
    sensor: SensorDescription, description: RobotDescription, findings: Findings
) -> None:
    """Warn of a named frame whose axes are not optical, and of a camera on an optical frame."""
    place = Place('sensor', sensor.name, sensor.line)
    ahead = sensor.pose.rotation[:, 0]
    if 'optical' in sensor.link.lower() and ahead[2] < 1.0 - _CLOSE:
        message = (
            'cameras look along x, which is to the right in an optical frame; '
            'mount it on the frame with x ahead'
        )
        findings.warning('optical-link', place, message, 'link', sensor.link)
    if sensor.frame_id not in description.links:
        return
    owner, mounted = _rigid_frame(sensor.link, description)
    other, named = _rigid_frame(sensor.frame_id, description)
    if owner != other:
        message = 'this link moves against the camera'
    elif not np.allclose(mounted @ sensor.pose.rotation @ _OPTICAL, named, atol=_CLOSE):
        message = (
            'its axes are not optical: z ahead, x right, y down, rpy (-pi/2, 0, -pi/2) from the '
            'camera; images are read as if they were'
        )
    else:
        return
    findings.warning('camera-frame', place, message, 'frame_id', sensor.frame_id)


def _rigid_frame(link: str, description: RobotDescription) -> tuple[str, FloatArray]:
    """Return the first link of those fixed to one another, and a link's rotation (3, 3) there."""
    above = {joint.child: joint for joint in description.joints.values()}
    rotation = np.eye(3)
    while link in above and above[link].type is JointType.FIXED:
        joint = above[link]
        rotation = joint.origin.rotation @ joint.child_pose.rotation @ rotation
        link = joint.parent
    return link, rotation
