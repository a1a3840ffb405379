"""
Robot descriptions: URDF, xacro, SDF, MJCF, USD, body files and YAML, checked into plain data.

Imports `shapes`, `foundation` and the engine's joint kinds, but none of its arrays.
"""

from sim_bridge.description.load import check_description, examine_description, load_description
from sim_bridge.description.mechanism.loops import gap, link_poses, Mobility, mobility
from sim_bridge.description.mechanism.sensors import add_sensors
from sim_bridge.description.report import DescriptionError, Finding, Report
from sim_bridge.description.resources import (
    find_robot,
    resolve_uri,
    share_directory,
    shipped_robots,
)
from sim_bridge.description.yaml.constraints import add_extra_joints
from sim_bridge.description.yaml.drives import drives_from_mapping
from sim_bridge.description.yaml.sensors import sensors_from_mapping

__all__ = [
    'DescriptionError',
    'Finding',
    'Mobility',
    'Report',
    'add_extra_joints',
    'add_sensors',
    'check_description',
    'drives_from_mapping',
    'examine_description',
    'find_robot',
    'gap',
    'link_poses',
    'load_description',
    'mobility',
    'resolve_uri',
    'sensors_from_mapping',
    'share_directory',
    'shipped_robots',
]
