"""
Boxes and names of labels as messages of vision_msgs.

As ros_gz_bridge sends Gazebo's boxes: the class is the label's number, the score 1. The id is the
object's name. Boxes in pictures have the outer edges of pixels, whose centres are whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from geometry_msgs.msg import Pose
import numpy as np
from std_msgs.msg import Header

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.ros.wire.qos import optional_messages
from sim_bridge.sight.boxes import ObjectBox


def detections_2d(boxes: Iterable[ObjectBox], header: Header, *, is_full: bool) -> Any:
    """Return a Detection2DArray; is_full: with the hidden parts of objects."""
    messages = _messages()
    found = []
    for each in boxes:
        left, top, right, bottom = each.full if is_full else each.visible
        box = messages.BoundingBox2D(size_x=right - left, size_y=bottom - top)
        box.center.position.x, box.center.position.y = 0.5 * (left + right), 0.5 * (top + bottom)
        found.append(
            messages.Detection2D(
                header=header, results=[_hypothesis(each)], bbox=box, id=each.name
            )
        )
    return messages.Detection2DArray(header=header, detections=found)


def detections_3d(boxes: Iterable[ObjectBox], header: Header, into_frame: FloatArray) -> Any:
    """
    Return a Detection3DArray; endless planes have no box.

    into_frame: (12,) rotation by rows and position [m], from the optical frame to the header's.
    """
    messages = _messages()
    turn, offset = into_frame[:9].reshape(3, 3), into_frame[9:]
    found = []
    for each in boxes:
        if not np.isfinite(each.size).all():
            continue
        pose = _pose(
            turn @ each.position + offset,
            quaternion_from_matrix(turn @ matrix_from_quaternion(each.orientation)),
        )
        box = messages.BoundingBox3D(center=pose)
        box.size.x, box.size.y, box.size.z = each.size.tolist()
        result = _hypothesis(each)
        result.pose.pose = pose
        found.append(messages.Detection3D(header=header, results=[result], bbox=box, id=each.name))
    return messages.Detection3DArray(header=header, detections=found)


def label_info(names: Mapping[int, str], frame_id: str) -> Any:
    """Return a LabelInfo; names: by label or instance."""
    messages = _messages()
    classes = [
        messages.VisionClass(class_id=number, class_name=name) for number, name in names.items()
    ]
    return messages.LabelInfo(header=Header(frame_id=frame_id), class_map=classes)


def _messages() -> Any:
    return optional_messages('vision_msgs')


def _hypothesis(box: ObjectBox) -> Any:
    result = _messages().ObjectHypothesisWithPose()
    result.hypothesis.class_id, result.hypothesis.score = str(box.label), 1.0
    return result


def _pose(position: FloatArray, orientation: FloatArray) -> Pose:
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = position.tolist()
    q = pose.orientation
    q.x, q.y, q.z, q.w = orientation.tolist()
    return pose
