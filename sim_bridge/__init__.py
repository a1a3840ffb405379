"""
A robot simulator for ROS 2.

URDF in, an in-house ODE-like stepper, the topics of a real robot's drivers out. What this module
offers is imported when it is first used, so that commands which need no simulation start at once.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    'crawler': ('Crawler',),
    'description': ('DescriptionError', 'load_description'),
    'contacts': ('Contact', 'Contacts'),
    'description.materials': ('ContactMaterial', 'Material'),
    'description.model': ('RobotDescription',),
    'description.placed': ('Placed',),
    'description.polyhedra': ('ConvexHull', 'HeightField', 'TriangleMesh'),
    'description.shapes': (
        'Box',
        'Capsule',
        'Cone',
        'Cylinder',
        'Ellipsoid',
        'Plane',
        'Shape',
        'Sphere',
    ),
    'errors': (
        'InvalidValueError',
        'SimBridgeError',
        'SimulationError',
        'StateError',
        'UnknownNameError',
    ),
    'geometry': ('Geometry',),
    'joint': ('Axis', 'Joint'),
    'link': ('Link',),
    'queries': ('Distance', 'distance'),
    'records': ('Sleep',),
    'robot': ('Robot',),
    'sensors.devices': ('AccelerationSensor', 'ForceSensor', 'ImuSensor', 'RateGyroSensor'),
    'trajectory': ('Trajectory',),
    'trajectory_follower': ('Gains', 'TrajectoryFollower'),
    'trajectory_run': ('Tolerances',),
    'version': ('__version__',),
    'world': ('World',),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ['dynamics', *_MODULE_OF]  # noqa: PLE0604 — the names are texts


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name == 'dynamics':
        return importlib.import_module('sim_bridge.dynamics')
    if name not in _MODULE_OF:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'sim_bridge.{_MODULE_OF[name]}'), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names too."""
    return sorted({*globals(), *__all__})
