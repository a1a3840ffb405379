"""
Gazebo's force plugins, both generations: rotors, thrusters, wings, hulls, buoyancy, links, air.

Tags, defaults and units are the plugins' own (gz-sim's systems, gazebo-classic's LiftDragPlugin
and BuoyancyPlugin, RotorS' motor model).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.fluid_forces import (
    Buoyancy,
    BuoyancyEngine,
    Hydrodynamics,
    LiftDrag,
    Rotor,
    Thruster,
)
from sim_bridge.description.force_fields import DeclaredField, RobotField
from sim_bridge.description.plugin_inputs import (
    BuoyancyEngineInput,
    CurrentInput,
    PluginInput,
    RotorInput,
    ThrusterInput,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.battery import read_batteries
from sim_bridge.description.sdf.plugin_air import read_aircraft, read_wind
from sim_bridge.description.sdf.plugin_effects import Effect, FieldNames
from sim_bridge.description.sdf.plugin_flight import read_flights
from sim_bridge.description.sdf.plugin_joints import read_joint_inputs
from sim_bridge.description.sdf.plugin_links import (
    read_detachable,
    read_force,
    read_touch,
    read_waypoints,
    read_wrenches,
)
from sim_bridge.description.sdf.plugin_tags import (
    local_name,
    NOT_NEGATIVE,
    plugins_of,
    PluginTags,
    POSITIVE,
    reader_of,
)
from sim_bridge.foundation.errors import InvalidValueError

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.xml.document import Element

# SNAME's letters for forces and velocities
_FORCES, _VELOCITIES = 'xyzkmn', 'UVWPQR'
_WATER, _FRESH_WATER = 1000.0, 999.1026


def with_plugin_effects(
    root: Element, description: RobotDescription, findings: Findings
) -> RobotDescription:
    """Return a description with its plugins' effects; defective ones are left out."""
    fields: list[RobotField] = []
    inputs: list[PluginInput] = []
    for node in plugins_of(root):
        found = reader_of(node, FORCE_READERS)
        if found is None:
            continue
        kind, read = found
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        own = Findings()
        tags = PluginTags(node, place, description, own)
        names = FieldNames(f'{kind}_', {field.name for field in fields})
        effect = _attempt(read, tags, names)
        if findings.take_part(own, kind) and effect is not None:
            for name, (field, links) in zip(names.given, effect.fields, strict=False):
                fields.append(RobotField(name, field, links, node.line))
            inputs += [replace(each, line=node.line) for each in effect.inputs]
    inputs += read_joint_inputs(root, description, findings)
    flights = list(read_flights(root, description, findings))
    if flights and not any(isinstance(each, RotorInput) for each in inputs):
        place = Place('gazebo/plugin', flights[0].topic, flights[0].line)
        message = 'no plugin turns the rotors: twists have no effect'
        findings.warning('not-simulated', place, message)
        flights = []
    inputs += flights
    batteries = tuple(read_batteries(root, description, findings))
    return replace(
        description, force_fields=tuple(fields), inputs=tuple(inputs), batteries=batteries
    )


def _attempt(
    read: Callable[[PluginTags, FieldNames], Effect], tags: PluginTags, names: FieldNames
) -> Effect | None:
    """Return a plugin's effect; None, with an error noted, for values out of range."""
    try:
        return read(tags, names)
    except InvalidValueError as err:
        tags.findings.error('bad-value', tags.place, str(err))
        return None


# --- rotors ------------------------------------------------------------------------------------

# tags about messages or other motor types
_OF_ROTORS = (
    'motorSpeedPubTopic',
    'rotor_velocity_units',
    'gazebo_joint_control_pid',
    'joint_control_pid',
)


def _rotor(tags: PluginTags, names: FieldNames) -> Effect:
    joint = tags.axis('jointName')
    link = tags.link('linkName')
    turning = tags.text('turningDirection')
    if turning not in ('cw', 'ccw'):
        message = 'must be cw or ccw; cw is assumed'
        tags.findings.warning('bad-value', tags.place, message, 'turningDirection', turning)
    _check_motor_type(tags)
    number = int(tags.number('actuator_number', tags.number('motorNumber', 0.0, NOT_NEGATIVE)))
    slowdown = tags.number('rotorVelocitySlowdownSim', 10.0, POSITIVE)
    is_clockwise = turning != 'ccw'
    rotor = Rotor(
        '' if joint is None else joint.name,
        is_clockwise,
        tags.number('motorConstant', 8.54858e-06),
        tags.number('momentConstant', 0.016),
        tags.number('rotorDragCoefficient', 1.0e-4),
        tags.number('rollingMomentCoefficient', 1.0e-6),
        slowdown,
        tags.number('timeConstantUp', 1.0 / 80.0, NOT_NEGATIVE),
        tags.number('timeConstantDown', 1.0 / 40.0, NOT_NEGATIVE),
    )
    namespace = tags.text('robotNamespace', default=tags.description.name)
    topic = tags.text('commandSubTopic', default='command/motor_speed')
    command = RotorInput(
        tags.topic(f'{namespace}/{topic}', 'commandSubTopic'),
        rotor.joint,
        number,
        (-1.0 if is_clockwise else 1.0) / slowdown,
        tags.number('maxRotVelocity', 838.0, NOT_NEGATIVE),
    )
    names.new(rotor.joint)
    tags.close(_OF_ROTORS)
    return Effect('rotor', ((rotor, (link,)),), (command,))


def _check_motor_type(tags: PluginTags) -> None:
    """Note an error for other motors than rotors."""
    kind = tags.text('motorType', default='velocity')
    if kind != 'velocity':
        message = "motors of type 'velocity' only are simulated"
        tags.findings.error('not-simulated', tags.place, message, 'motorType', kind)


# --- thrusters ---------------------------------------------------------------------------------


def _thruster(tags: PluginTags, names: FieldNames) -> Effect:
    joint = tags.axis('joint_name')
    if joint is None:
        return Effect('thruster')
    name, namespace = joint.name, tags.text('namespace', default=tags.description.name)
    alpha_1, alpha_2 = tags.number('alpha_1', 1.0), tags.number('alpha_2', 0.0)
    wake = tags.number('wake_fraction', 0.2)
    coefficient = tags.number('thrust_coefficient', math.nan)
    if not math.isnan(coefficient):
        alpha_1, alpha_2 = coefficient, 0.0
    is_speed = tags.flag('use_angvel_cmd')
    thruster = Thruster(
        name,
        alpha_1,
        tags.number('fluid_density', _WATER, NOT_NEGATIVE),
        tags.number('propeller_diameter', 0.02, POSITIVE),
        # a commanded thrust is reached at any speed
        alpha_2 if is_speed else 0.0,
        wake,
        0.0 if tags.flag('velocity_control') else _propeller_lag(tags, name),
    )
    lower, upper = tags.number('min_thrust_cmd', -1000.0), tags.number('max_thrust_cmd', 1000.0)
    if upper < lower:
        message = 'less than min_thrust_cmd; both are ignored'
        tags.findings.warning('bad-value', tags.place, message, 'max_thrust_cmd', str(upper))
        lower, upper = -1000.0, 1000.0
    given = tags.text('topic')
    stem = f'{namespace}/{given}' if given else f'model/{namespace}/joint/{name}'
    command, feedback = ('cmd_vel', 'force') if is_speed else ('cmd_thrust', 'ang_vel')
    field = names.new(name)
    entry = ThrusterInput(
        tags.topic(stem if given else f'{stem}/{command}', 'topic'),
        name,
        field,
        is_speed,
        lower,
        upper,
        tags.number('deadband', 0.0, NOT_NEGATIVE),
        tags.topic(f'{stem}/{feedback}', 'topic'),
        tags.topic(f'{stem}/enable_deadband', 'topic'),
    )
    # the battery reads its loads itself
    tags.close(('i_gain', 'd_gain', 'power_load', 'battery_name'))
    return Effect('thruster', ((thruster, (joint.child,)),), (entry,))


def _propeller_lag(tags: PluginTags, joint: str) -> float:
    """Return a propeller's time constant under the plugin's proportional gain [s]."""
    gain = tags.number('p_gain', 0.1, NOT_NEGATIVE)
    known = tags.description.joints.get(joint)
    link = None if known is None else tags.description.links.get(known.child)
    if known is None or link is None or link.inertial is None or gain == 0.0:
        return 0.0
    axis = link.inertial.pose.rotation.T @ known.axis
    return float(axis @ link.inertial.inertia @ axis) / gain


# --- wings -------------------------------------------------------------------------------------


def _wing(tags: PluginTags, names: FieldNames, moment_slope: float = 0.0) -> Effect:
    link = tags.link('link_name')
    control = tags.axis('control_joint_name') if tags.last('control_joint_name') else None
    wing = LiftDrag(
        tags.number('cla', 1.0),
        tags.number('cda', 0.01),
        tags.number('cma', moment_slope),
        tags.number('alpha_stall', 0.5 * math.pi),
        tags.number('cla_stall', 0.0),
        tags.number('cda_stall', 1.0),
        tags.number('cma_stall', 0.0),
        tags.number('air_density', 1.2041),
        tags.number('area', 1.0),
        tags.number('a0', 0.0),
        tags.vector('cp'),
        tags.vector('forward', (1.0, 0.0, 0.0)),
        tags.vector('upward', (0.0, 0.0, 1.0)),
        '' if control is None else control.name,
        tags.number('control_joint_rad_to_cl', 4.0),
        tags.number('cm_delta', 0.0),
        tags.flag('radial_symmetry'),
        tags.flag('reversible'),
    )
    names.new(link)
    tags.close()
    return Effect('wing', ((wing, (link,)),))


def _classic_wing(tags: PluginTags, names: FieldNames) -> Effect:
    return _wing(tags, names, 0.01)


# --- hulls -------------------------------------------------------------------------------------


def _hull(tags: PluginTags, names: FieldNames) -> Effect:
    link = tags.link('link_name')
    added, linear = np.zeros((6, 6)), np.zeros((6, 6))
    quadratic, mixed = np.zeros((6, 6, 6)), np.zeros((6, 6, 6))
    for child in tags.node:
        place, sort = _derivative(child.tag)
        if place:
            array = {'Dot': added, '': linear, 'abs': quadratic, 'mixed': mixed}[sort]
            # stability derivatives are negative coefficients
            array[place] = -tags.number(child.tag, 0.0)
    if tags.flag('disable_added_mass'):
        added[:] = 0.0
    coriolis = not tags.flag('disable_coriolis')
    hull = Hydrodynamics(added, linear, quadratic, mixed, tags.vector('default_current'), coriolis)
    namespace = tags.text('namespace')
    topic = f'model/{namespace}/ocean_current' if namespace else 'ocean_current'
    field = names.new(link)
    tags.close()
    return Effect(
        'hull', ((hull, (link,)),), (CurrentInput(tags.topic(topic, 'namespace'), field),)
    )


def _derivative(tag: str) -> tuple[tuple[int, ...], str]:
    """
    Return the indices in a tag such as xDotU, xU, xUabsU or xUU, and its sort; () for others.

    Sorts: 'Dot', '', 'abs' and 'mixed'.
    """
    force, rest = tag[:1], tag[1:]
    sort = 'Dot' if rest.startswith('Dot') else 'abs' if rest[1:].startswith('abs') else ''
    letters = rest.replace(sort, '', 1) if sort else rest
    known = [_VELOCITIES.find(letter) for letter in letters]
    wanted = {'Dot': 1, 'abs': 2}.get(sort, len(letters))
    if force not in _FORCES or not force or len(known) != wanted or not 1 <= wanted <= 2:
        return (), ''
    if min(known) < 0:
        return (), ''
    return (_FORCES.index(force), *known), sort or ('mixed' if len(known) == 2 else '')


# --- buoyancy ----------------------------------------------------------------------------------


def _buoyancy(tags: PluginTags, names: FieldNames) -> Effect:
    density = tags.number('uniform_fluid_density', _WATER, NOT_NEGATIVE)
    layers: list[tuple[float, float]] = []
    graded = tags.last('graded_buoyancy')
    if graded is not None and tags.last('uniform_fluid_density') is None:
        inner = tags.inside(graded)
        density = inner.number('default_density', _WATER, NOT_NEGATIVE)
        changes: dict[float, float] = {}
        for child in inner.children('density_change'):
            change = inner.inside(child)
            above = change.number('above_depth', 0.0)
            changes[above] = change.number('density', 0.0, NOT_NEGATIVE)
            change.close()
        inner.close()
        layers = sorted(changes.items())
    links = _enabled(tags)
    names.new('water')
    tags.close()
    return Effect('buoyancy', ((Buoyancy(density, layers), links),))


def _enabled(tags: PluginTags) -> tuple[str, ...]:
    """Return the links named by `enable`; () for all."""
    links: list[str] = []
    for child in tags.children('enable'):
        name = local_name(child.text.strip(), tags.description.links)
        if name in tags.description.links:
            links.append(name)
        elif '::' in child.text or name != tags.description.name:
            message = 'no link or robot has this name, ignored'
            tags.findings.warning('unknown-link', tags.at(child), message, value=child.text)
        else:
            return ()
    return tuple(links)


def _classic_buoyancy(tags: PluginTags, names: FieldNames) -> Effect:
    density = tags.number('fluid_density', _FRESH_WATER, NOT_NEGATIVE)
    own: dict[str, Buoyancy] = {}
    for child in tags.children('link'):
        inner = tags.inside(child)
        link = child.get('name', '')
        volume = inner.number('volume', 0.0, NOT_NEGATIVE)
        center = inner.vector('center_of_volume')
        inner.close()
        if link not in tags.description.links:
            message = 'no link has this name, ignored'
            tags.findings.warning('unknown-link', tags.at(child), message, 'name', link)
        elif volume > 0.0:
            own[link] = Buoyancy(density, (), volume, center)
    rest = tuple(name for name in tags.description.links if name not in own)
    tags.close()
    fields: list[tuple[DeclaredField, tuple[str, ...]]] = []
    fields += [(field, (name,)) for name, field in own.items()]
    for name, _ in own.items():
        names.new(name)
    if rest:
        names.new('water')
        fields.append((Buoyancy(density), rest))
    return Effect('buoyancy', tuple(fields))


def _bladder(tags: PluginTags, names: FieldNames) -> Effect:
    link = tags.link('link_name')
    lower = tags.number('min_volume', 3.0e-5, NOT_NEGATIVE)
    volume = tags.number('default_volume', lower, NOT_NEGATIVE)
    engine = BuoyancyEngine(
        tags.number('fluid_density', _WATER, NOT_NEGATIVE),
        tags.number('neutral_volume', 3.0e-4, NOT_NEGATIVE),
        volume,
        volume,
        tags.number('max_inflation_rate', 3.0e-6, NOT_NEGATIVE),
        surface=tags.number('surface', math.inf),
    )
    namespace = tags.text('namespace')
    stem = f'model/{namespace}/buoyancy_engine' if namespace else 'buoyancy_engine'
    entry = BuoyancyEngineInput(
        tags.topic(stem, 'namespace'),
        tags.topic(f'{stem}/current_volume', 'namespace'),
        names.new(link),
        lower,
        tags.number('max_volume', 9.9e-4, NOT_NEGATIVE),
    )
    tags.close()
    return Effect('bladder', ((engine, (link,)),), (entry,))


FORCE_READERS: Mapping[str, tuple[str, Callable[[PluginTags, FieldNames], Effect]]] = {
    'multicopter-motor-model': ('rotor', _rotor),
    'gazebo_motor_model': ('rotor', _rotor),
    'thruster-system': ('thruster', _thruster),
    'advanced-lift-drag-system': ('aircraft', read_aircraft),
    'lift-drag-system': ('wing', _wing),
    'LiftDragPlugin': ('wing', _classic_wing),
    'hydrodynamics-system': ('hull', _hull),
    'buoyancy-system': ('buoyancy', _buoyancy),
    'BuoyancyPlugin': ('buoyancy', _classic_buoyancy),
    'buoyancy-engine-system': ('bladder', _bladder),
    'wind-effects-system': ('wind', read_wind),
    'trajectory-follower-system': ('path', read_waypoints),
    'apply-link-wrench-system': ('wrench', read_wrenches),
    'gazebo_ros_force': ('wrench', read_force),
    'detachable-joint-system': ('detachable joint', read_detachable),
    'touchplugin-system': ('touch', read_touch),
    'touch-plugin-system': ('touch', read_touch),
}
"""Words for people and readers, by parts of plugins' file names."""
