"""
A robot simulator for ROS 2.

URDF in, an in-house ODE-like stepper, the topics of a real robot's drivers out. What this module
offers is imported when it is first used, so that commands which need no simulation start at once.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    'robots.crawler': ('Crawler',),
    'description': ('DescriptionError', 'load_description'),
    'description.compliance': ('Compliance',),
    'world.contacts': ('Contact', 'Contacts'),
    'world.contact_points': ('ContactFrame', 'ContactPoint', 'ContactPoints'),
    'world.contact_problem': ('ContactProblem',),
    'shapes.materials': ('ContactMaterial', 'Material'),
    'description.model': ('RobotDescription',),
    'shapes.placed': ('Placed',),
    'shapes.polyhedra': ('ConvexHull', 'HeightField', 'TriangleMesh'),
    'shapes.shapes': (
        'Box',
        'Capsule',
        'Cone',
        'Cylinder',
        'Ellipsoid',
        'Plane',
        'Shape',
        'Sphere',
    ),
    'foundation.errors': (
        'InfeasibleError',
        'InvalidValueError',
        'SimBridgeError',
        'SimulationError',
        'StateError',
        'UnknownNameError',
    ),
    'robots.geometry': ('Geometry',),
    'robots.joints.axis': ('Axis',),
    'robots.joints.joint': ('ConstraintJoint', 'Joint'),
    'robots.link': ('Link',),
    'world.queries': ('Distance', 'distance'),
    'simulation.records': ('Sleep',),
    'robots.robot': ('Robot',),
    'sensors.devices': ('AccelerationSensor', 'ForceSensor', 'ImuSensor', 'RateGyroSensor'),
    'trajectory.trajectory': ('Trajectory',),
    'trajectory.follower': ('Gains', 'TrajectoryFollower'),
    'trajectory.tolerances': ('Tolerances',),
    'foundation.version': ('__version__',),
    'world.world': ('World',),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

_ROOMS = {'contact': 'sim_bridge.contact', 'dynamics': 'sim_bridge.world.dynamics'}

__all__ = [*_ROOMS, *_MODULE_OF]  # noqa: PLE0604 — the names are texts


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name in _ROOMS:
        return importlib.import_module(_ROOMS[name])
    if name not in _MODULE_OF:
        from sim_bridge.foundation.errors import close_match

        close = '' if name.startswith('__') else close_match(name, __all__)
        hint = f'; did you mean {close!r}?' if close else ''
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}{hint}')
    value = getattr(importlib.import_module(f'sim_bridge.{_MODULE_OF[name]}'), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
