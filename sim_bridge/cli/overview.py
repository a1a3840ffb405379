"""
Contents of a robot or scene as plain data, printed by `check` as text and as JSON.

Keys are stable; a new version may add some. SI units and radians; null for missing limits.
docs/command_line.md has the schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
import math
from typing import Any
import xml.etree.ElementTree as ElementTree

import numpy as np

from sim_bridge.compilation.collisions import HULL, LinkShape, read_shapes
from sim_bridge.description import gap, link_poses, mobility
from sim_bridge.description.drives import DriveDescription
from sim_bridge.description.gravity import Gravity, PointGravity
from sim_bridge.description.mechanism.base import Base, base_of
from sim_bridge.description.mechanism.inertia import motion_subspace
from sim_bridge.description.mechanism.tree import parents_first
from sim_bridge.description.model import (
    ConstraintDescription,
    JointDescription,
    JointLimits,
    JointType,
    LinkDescription,
    NoiseDescription,
    ONE_AXIS,
    Pose,
    RobotDescription,
    SensorDescription,
)
from sim_bridge.description.report import Findings, WARNING
from sim_bridge.description.scene.model import SceneBody, SceneDescription
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh

Data = dict[str, Any]

_WORLD = 'world'
# channel without noise
_NO_NOISE = NoiseDescription()


def gravity_data(gravity: Gravity | None) -> list[float] | Data | None:
    """Return gravity: a vector [m/s²], or center, strength and exponent of a point gravity."""
    if isinstance(gravity, PointGravity):
        return {
            'center': list(gravity.center),
            'strength': gravity.strength,
            'exponent': gravity.exponent,
        }
    return None if gravity is None else list(gravity)


def robot_data(
    description: RobotDescription,
    findings: Findings,
    *,
    base: Base | None = None,
    collisions: str = HULL,
) -> Data:
    """
    Return a robot's contents.

    findings: receives warnings about unreadable collision meshes. base: base of the robot; None
    for the base in nodes. collisions: as in `World.load_urdf`.
    """
    base = base_of(description) if base is None else base
    is_fixed = base.is_fixed
    poses = link_poses(description)
    shapes = (
        () if collisions == 'none' else read_shapes(description, findings, collisions, WARNING)
    )
    return {
        'name': description.name,
        'base': 'fixed' if is_fixed else 'free',
        'base_reason': base.reason,
        'root': description.root,
        'links': [_link(link) for link in description.links.values()],
        'joints': [_joint(joint) for joint in parents_first(description)],
        'degrees_of_freedom': _freedoms(description, is_fixed),
        'loops': [_loop(each, poses) for each in description.constraints],
        'mass': _mass(description, poses),
        'sensors': [_sensor(each, description) for each in description.sensors],
        'ros2_control': _ros2_control(description.xml),
        'drives': [_drive(each) for each in description.drives],
        'tracks': [
            {'name': each.name, 'link': each.link, 'line': each.line}
            for each in description.crawlers
        ],
        'forces': [
            {
                'name': each.name,
                'kind': type(each.field).__name__,
                'links': list(each.links) or list(description.links),
                'line': each.line,
            }
            for each in description.force_fields
        ],
        'plugin_topics': sorted(
            {each.topic for each in (*description.inputs, *description.batteries)}
        ),
        'collision_shapes': _shapes(shapes),
        'not_simulated': [
            {'line': each.line, 'what': each.subject, 'why': each.message}
            for each in description.report.not_simulated
        ],
    }


def scene_data(scene: SceneDescription, robots: Mapping[str, Data]) -> Data:
    """Return a scene's contents; robots: contents of each robot, by its name in the scene."""
    return {
        'description': scene.description,
        'gravity': gravity_data(scene.gravity),
        'force_fields': [
            {
                'name': each.name,
                'type': type(each.field).__name__,
                'line': each.line,
                'links': None if each.links is None else list(each.links),
            }
            for each in scene.force_fields
        ],
        'ground': None if scene.ground is None else dict(scene.ground),
        'materials': [each.name for each in scene.materials],
        'objects': [_body(each) for each in scene.bodies],
        'robots': [
            {
                'name': each.name,
                'namespace': each.namespace,
                'file': each.urdf,
                'robot': robots.get(each.name),
                'line': each.line,
            }
            for each in scene.robots
        ],
        'joints': [
            {
                'name': each.name,
                'type': each.kind,
                'line': each.settings.own.place('').line,
                'between': list(each.between) or None,
                'beside': each.beside[0] or None,
            }
            for each in scene.joints
        ],
        'settings': {}
        if scene.settings is None
        else {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in scene.settings.items.items()
        },
    }


def loop_data(description: RobotDescription) -> list[Data]:
    """Return the loop joints, each with its gap if all joints are at 0."""
    poses = link_poses(description)
    return [_loop(each, poses) for each in description.constraints]


def mobility_data(description: RobotDescription) -> dict[str, int]:
    """Return the mobility of the links with fixed root, and the constraints reducing it."""
    ways = mobility(description)
    return {
        'freedoms': ways.freedoms,
        'constraints': ways.constraints,
        'independent_constraints': ways.independent,
        'mobility': ways.actual,
    }


def _link(link: LinkDescription) -> Data:
    inertial = link.inertial
    return {
        'name': link.name,
        'mass': 0.0 if inertial is None else inertial.mass,
        'line': link.line,
    }


def _joint(joint: JointDescription) -> Data:
    has_axis = joint.type not in (JointType.FIXED, JointType.FLOATING, JointType.BALL)
    mimic = joint.mimic
    return {
        'name': joint.name,
        'type': joint.type.value,
        'parent': joint.parent,
        'child': joint.child,
        'axis': joint.axis.tolist() if has_axis else None,
        'axis2': None if joint.axis2 is None else joint.axis2.tolist(),
        'limits': _limits(joint.limits),
        'limits2': None if joint.axis2 is None else _limits(joint.limits2),
        'damping': joint.dynamics.damping,
        'friction': joint.dynamics.friction,
        'mimic': None
        if mimic is None
        else {'joint': mimic.joint, 'multiplier': mimic.multiplier, 'offset': mimic.offset},
        'line': joint.line,
    }


def _limits(limits: JointLimits) -> Data:
    """Return limits by name; None for infinite ones, because JSON has no infinity."""
    values = {name: getattr(limits, name) for name in ('lower', 'upper', 'effort', 'velocity')}
    values['lower_effort'], _ = limits.efforts
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _freedoms(description: RobotDescription, is_fixed: bool) -> Data:
    """Count velocities; mimic joints are not included in one_axis and several_axes."""
    base = 0 if is_fixed else 6
    followers = [each for each in description.joints.values() if each.mimic is not None]
    free = [each for each in description.joints.values() if each.mimic is None]
    one_axis = sum(each.type in ONE_AXIS for each in free)
    several = sum(motion_subspace(each).shape[1] for each in free if each.type not in ONE_AXIS)
    loops = mobility(description).independent if description.constraints else 0
    return {
        'total': base + one_axis + several - loops,
        'base': base,
        'one_axis_joints': one_axis,
        'several_axes_joints': several,
        'taken_by_loops': loops,
        'mimic_joints': len(followers),
    }


def _mass(description: RobotDescription, poses: Mapping[str, Pose]) -> Data:
    """Return the total mass [kg] and its centre [m], in the root frame with all joints at 0."""
    total, moment = 0.0, np.zeros(3)
    for link in description.links.values():
        if link.inertial is not None:
            pose = poses[link.name]
            centre = pose.position + pose.rotation @ link.inertial.pose.position
            total += link.inertial.mass
            moment += link.inertial.mass * centre
    return {'total': total, 'center_of_mass': (moment / total).tolist() if total else None}


def _sensor(sensor: SensorDescription, description: RobotDescription) -> Data:
    noise = {
        channel: {
            name: value for name, value in vars(each).items() if value != getattr(_NO_NOISE, name)
        }
        for channel, each in sensor.noise.items()
    }
    return {
        'name': sensor.name,
        'kind': sensor.kind.word,
        'link': sensor.link,
        'joint': sensor.joint or None,
        'frame': _frame(sensor, description),
        'update_rate': sensor.update_rate or None,
        'noise': {channel: values for channel, values in noise.items() if values},
        'line': sensor.line,
    }


def _frame(sensor: SensorDescription, description: RobotDescription) -> str:
    """Return the frame_id of a sensor's messages, equal to the device's."""
    if sensor.frame_id:
        return sensor.frame_id
    if sensor.frame == 'parent':
        return description.joints[sensor.joint].parent
    if sensor.frame == 'child' or sensor.pose.is_identity:
        return sensor.link
    return sensor.name


def _ros2_control(xml: str) -> list[Data]:
    if '<ros2_control' not in xml:
        return []
    return [
        {
            'name': system.get('name', ''),
            'plugin': (system.findtext('hardware/plugin') or '').strip(),
            'joints': [
                {
                    'name': joint.get('name', ''),
                    'command_interfaces': _names(joint.findall('command_interface')),
                    'state_interfaces': _names(joint.findall('state_interface')),
                }
                for joint in system.findall('joint')
            ],
            'sensors': [
                {
                    'name': sensor.get('name', ''),
                    'state_interfaces': _names(sensor.findall('state_interface')),
                }
                for sensor in system.findall('sensor')
            ],
        }
        for system in ElementTree.fromstring(xml).findall('ros2_control')
    ]


def _names(elements: Iterable[ElementTree.Element]) -> list[str]:
    return [each.get('name', '') for each in elements]


def _drive(drive: DriveDescription) -> Data:
    return {
        'name': drive.name,
        'kind': drive.kind,
        'wheels': [
            {'joint': wheel.joint, 'radius': wheel.radius, 'position': list(wheel.position)}
            for wheel in drive.wheels
        ],
        'steering': [each.joint for each in drive.steering],
        'line': drive.line,
    }


def _shapes(shapes: Iterable[LinkShape]) -> Data:
    counts: Counter[str] = Counter()
    meshes = []
    for link, placed, _ in shapes:
        counts[_kind(placed)] += 1
        if isinstance(placed.shape, (ConvexHull, TriangleMesh)):
            meshes.append(
                {
                    'link': link,
                    'kind': _kind(placed),
                    'vertices': len(placed.shape.vertices),
                    'triangles': len(placed.shape.triangles),
                }
            )
    return {'counts': dict(counts), 'meshes': meshes}


def _kind(placed: Placed) -> str:
    """Return a shape's kind by its JSON name, such as box, sphere and convex_hull."""
    name = type(placed.shape).__name__
    return ''.join(f'_{c.lower()}' if c.isupper() else c for c in name).lstrip('_')


def _body(body: SceneBody) -> Data:
    mass, density = (body.arguments.get(name) for name in ('mass', 'density'))
    return {
        'name': body.name,
        'motion': body.arguments['motion'],
        'shapes': [_kind(each) for each in body.shapes],
        'mass': mass,
        'density': density,
        'line': body.line,
    }


def _loop(constraint: ConstraintDescription, poses: Mapping[str, Pose]) -> Data:
    return {
        'name': constraint.name,
        'type': constraint.type.value,
        'link1': constraint.link1,
        'link2': constraint.link2 or _WORLD,
        'gap_at_zero': gap(constraint, poses),
        'line': constraint.line,
    }
