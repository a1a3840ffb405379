"""Conversion from URDF's `origin` element to a `Pose`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.poses import read_only, read_quaternion
from sim_bridge.foundation.rotation import matrix_from_rpy

if TYPE_CHECKING:
    from urdf_parser_py import urdf

    from sim_bridge.description.report import Findings, Place
    from sim_bridge.description.xml.document import Element


def read_origin(
    parsed: urdf.Pose | None, origin: Element | None, place: Place, findings: Findings
) -> Pose:
    """
    Return an `origin` element's pose.

    parsed: urdf-parser-py's object, None for the identity. origin: checked element, needed for
    URDF 1.2's `quat_xyzw`, unknown to urdf-parser-py. place: of the enclosing element.
    """
    if parsed is None or origin is None:
        return Pose(read_only(np.zeros(3)), read_only(np.eye(3)))
    if 'quat_xyzw' not in origin.attrib:
        return Pose(read_only(parsed.xyz), read_only(matrix_from_rpy(parsed.rpy)))
    quaternion = origin.get('quat_xyzw')
    place = place.child('origin', origin.line)
    if 'rpy' in origin.attrib:
        findings.error(
            'two-rotations',
            place,
            'both rpy and quat_xyzw are given; keep one',
            'quat_xyzw',
            quaternion,
        )
    rotation = read_quaternion(quaternion, place, findings, 'quat_xyzw')
    return Pose(read_only(parsed.xyz), rotation)
