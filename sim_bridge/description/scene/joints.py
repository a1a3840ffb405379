"""
Joints between scene parts, in YAML by name; keys are arguments of `World.add_joint`.

    door:
      type: hinge                        # a kind for `World.add_joint`
      between: [frame, door]             # robots and objects, links as robot/link; or world
      anchor: [0.4, 0, 1]                # m; the second link's origin if absent
      anchor2: [0.4, 0, 1]               # m, on the second link, if different: distance
      axis: [0, 0, 1]                    # z if absent; axis2: universal, hinge2; normal
      erp: 0.2                           # with cfm, for all rows or as a list; or
      compliance: {stiffness: 1.0e5, damping: 100}     # one number each, or six
      suspension: {stiffness: 4.0e4, damping: 3.0e3}   # hinge2
      tree: false                        # always a constraint; true: in a tree, or an error
      collide: false                     # whether the two links collide with each other
      break_force: 500                   # N; break_torque [N m]; break_limits, six numbers
      enabled: true                      # false: no effect until it is enabled
      groups: [doors]                    # joint groups
      lower: -1.5                        # `Axis` attributes: control, target_velocity …
      damping: 0.1
    wheel:
      type: hinge2
      between: [chassis, wheel]
      axes: [{lower: -0.5, upper: 0.5}, {control: velocity, target_velocity: 20, max_effort: 4}]
    shoulder:
      type: angular_motor                # `World.add_angular_motor`
      between: [world, arm]
      axes: [{direction: [1, 0, 0], fixed_on: first, damping: 2}]
      euler: false                       # true: the first and last of three axes have a direction
    brake:
      type: motor                        # `World.add_motor`
      beside: door                       # a joint above or robot/joint; axis_number: 0
      friction: 3

Points and directions are in the world frame, for the poses at loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim_bridge.description.scene.values import numbers, Values
from sim_bridge.description.yaml.section import Section

ANGULAR_MOTOR, MOTOR, WORLD = 'angular_motor', 'motor', 'world'

# in assignment order: some settings change or bound later ones
AXIS_NUMBERS = (
    'damping',
    'friction',
    'back_friction',
    'bearing_friction',
    'armature',
    'stiffness',
    'reference',
    'upper',
    'lower',
    'effort_limit',
    'lower_effort_limit',
    'velocity_limit',
    'kp',
    'kd',
    'max_effort',
    'min_effort',
    'bounce',
    'stop_erp',
    'stop_cfm',
)
_TARGETS = ('target_position', 'target_velocity', 'u')
_POINTS = ('anchor', 'anchor2', 'axis', 'axis2', 'normal')
_BREAKING = ('break_force', 'break_torque', 'break_limits')
OF_CONSTRAINTS = frozenset({*_BREAKING, 'bearing_friction'})
"""Settings for constraint joints only."""


@dataclass(frozen=True, eq=False)
class JointSettings:
    """
    Settings for a joint, read from a scene.

    own: settings for the joint, or for its only axis. axes: settings for each of several axes, in
    order.
    """

    own: Values
    axes: tuple[Values, ...]


@dataclass(frozen=True, eq=False)
class SceneJoint:
    """
    Scene joint.

    kind: joint kind of `World.add_joint`, or ANGULAR_MOTOR or MOTOR. between: names of two parts.
    beside: for a MOTOR, name and axis number of the joint on which it acts. arguments: further
    arguments of the `World` method that adds it. groups: joint groups.
    """

    name: str
    kind: str
    between: tuple[str, ...]
    beside: tuple[str, int | float]
    arguments: Values
    settings: JointSettings
    groups: tuple[str, ...]
    enabled: bool


def read_joints(world: Section, key: str) -> tuple[SceneJoint, ...]:
    """Read the joints at a key; note the defects and leave out the defective joints."""
    read = [_joint(section) for section in world.sections(key)]
    return tuple(joint for joint in read if joint is not None)


def read_settings(section: Section) -> JointSettings:
    """Read the settings for a robot's joint; a missing setting stays unchanged."""
    axes = section.list_of_sections('axes')
    settings = JointSettings(_axis(section), tuple(map(_axis, axes)))
    for part in (*axes, section):
        part.close()
    return settings


def _joint(section: Section) -> SceneJoint | None:
    kind = section.text('type', '', required=True)
    between = section.texts('between', 2) if kind != MOTOR else ()
    beside: tuple[str, int | float] = '', 0
    if kind == MOTOR:
        beside = section.text('beside', '', required=True), section.number('axis_number', 0)
    axes = section.list_of_sections('axes')
    if kind == ANGULAR_MOTOR:
        arguments = _turning(section, axes)
    else:
        arguments = {} if kind == MOTOR else _arguments(section)
    own = {key: numbers(section, key) for key in _BREAKING}
    if kind != ANGULAR_MOTOR:
        own |= _axis(section).items
    settings = JointSettings(
        Values.given(own, section),
        tuple(_axis(part, with_angle=kind == ANGULAR_MOTOR) for part in axes),
    )
    groups, enabled = section.texts('groups') or (), section.flag('enabled', True)
    for part in (*axes, section):
        part.close()
    if between is None or not kind or (kind == MOTOR and not beside[0]):
        return None
    return SceneJoint(
        section.name,
        kind,
        between,
        beside,
        Values.given(arguments, section),
        settings,
        groups,
        enabled,
    )


def _axis(section: Section, with_angle: bool = False) -> Values:
    """Read the settings for an axis; the section may hold other keys as well."""
    names = ('q', *AXIS_NUMBERS) if with_angle else AXIS_NUMBERS
    values: dict[str, Any] = {name: section.number(name, None) for name in names}
    values['control'] = section.text('control', None)
    values |= {name: section.number(name, None) for name in _TARGETS}
    return Values.given(values, section)


def _arguments(section: Section) -> dict[str, Any]:
    """Read arguments for `World.add_joint`."""
    given: dict[str, Any] = {key: section.vector(key, 3, None) for key in _POINTS}
    given |= {key: numbers(section, key) for key in ('erp', 'cfm')}
    for key in ('compliance', 'suspension'):
        inner = section.section(key)
        if inner is not None:
            stiffness, damping = numbers(inner, 'stiffness'), numbers(inner, 'damping')
            inner.close()
            if not inner.has('stiffness'):
                inner.error('stiffness', '', 'missing')
            given[key] = stiffness, 0.0 if damping is None else damping
    return given | {key: section.flag(key, None) for key in ('tree', 'collide')}


def _turning(section: Section, axes: Sequence[Section]) -> dict[str, Any]:
    """Read arguments for `World.add_angular_motor`."""
    is_euler = section.flag('euler', False)
    directions = [part.vector('direction', 3, None) for part in axes]
    for number, (part, each) in enumerate(zip(axes, directions, strict=True)):
        if each is None and not part.has('direction') and (number != 1 or not is_euler):
            part.error('direction', '', 'missing; 3 numbers')
    sides = [part.text('fixed_on', None) for part in axes]
    return {
        'axes': [each for each in directions if each is not None],
        'euler': is_euler,
        'fixed_on': [side or 'first' for side in sides] if any(sides) else None,
    }
