"""Sensors standing in the world, each on a body without shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sim_bridge.description.model import Pose, SensorDescription
from sim_bridge.foundation.rotation import quaternion_from_matrix

WORLD_LINK = 'world'
"""Link of sensors standing in the world."""


def standing_body(sensor: SensorDescription) -> Mapping[str, Any]:
    """Return arguments for `World.add_body`, for a body at the sensor's place."""
    return MappingProxyType(
        {
            'motion': 'static',
            'position': tuple(sensor.pose.position.tolist()),
            'orientation': tuple(quaternion_from_matrix(sensor.pose.rotation).tolist()),
            'sensors': (replace(sensor, link='', pose=Pose()),),
        }
    )
