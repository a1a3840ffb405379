"""
Scenes: world contents, in YAML.

    world:
      description: Two arms at a table   # for users
      tags: [indoor, arms]               # for clients that choose a world
      named_poses: {dock: {position: [1, 2, 0]}}         # see `scene.named_poses`
      solver: direct                     # integrator, sleep, iterations, contact_margin, erp,
                                         # cfm, step_budget: of World; unchanged if absent
      origin: {latitude: 47.48, longitude: 19.06}        # on the Earth; see `scene.origin`
      gravity: [0, 0, -9.81]             # m/s²; or {center: …}, the arguments of PointGravity
      force_fields:
        wind: {type: drag, linear: 0.5, wind: [3, 0, 0]}  # docs/force_fields.md
      materials:
        rubber: {friction: 0.9, restitution: 0.3}        # the arguments of Material
        birch: {library: wood, density: 640}             # a preset, with changed values
      material_libraries: [mine.json]    # further presets; see `shapes.materials`
      contact_materials:
        - between: [rubber, default]
          friction: 1.1                  # the arguments of ContactMaterial, or ODE's names
          direction: {robot: table, link: top, axis: [1, 0, 0]}   # link: its root if absent;
                                         # robot: a robot or object; the world if absent
      apart:                             # pairs of collision groups without mutual collision
        - [tools, table]
      ground: {material: rubber, height: 0.0}            # or true
      objects:
        table:
          motion: static                 # or dynamic (the default), kinematic
          box: [1.0, 0.6, 0.05]          # m; or sphere: 0.1 … the names in SHAPES
          position: [0.8, 0, 0.4]        # m; linear_velocity, angular_velocity
          rpy: [0, 0, 1.57]              # rad; or orientation: [0, 0, 0, 1], a quaternion x y z w
          material: rubber
        hammer:                          # several shapes, each with its own pose
          shapes:
            - {box: [0.03, 0.03, 0.3]}
            - {cylinder: {radius: 0.02, length: 0.1}, position: [0, 0, 0.15], name: head}
          mass: 0.8                      # kg; or density; inertia, center_of_mass
          gravity: false                 # attributes of `Link`: no gravity acts on it
          linear_velocity_damping: 0.5   # 1/s, for all axes or as a list; angular_velocity_damping
          mass_coefficients: [0, 0, 1]   # AGX's effective mass; inertia_coefficients
          sleep: {linear: 0.05, time: 1} # the arguments of `Sleep`; or true, false
          label: 3                       # for cameras, up to 65535; 0: background
          disabled: true                 # at rest until something awake touches it
          sensors: {}                    # as in the node's parameter, without a link; namespace:
                                         # for their topics, the object's name if absent
      robots:
        left:
          urdf: arm                      # a shipped robot's name, a path, package://…
                                         # of a URDF, xacro, SDF, MJCF, USD or body file
          namespace: left                # for its ROS topics ('' for none); its name if absent
          controller: none               # on the ROS graph: one of CONTROLLERS; if absent, the one
                                         # in the parameters beside its file
          position: [0, 0.5, 0]
          base: fixed                    # or free, auto: as `run` does; its file's if absent
          joint_positions: {elbow: 1.2}  # rad or m
          sensors: {}                    # as in the node's parameter
          links: {hand: {gravity: false}}                  # attributes of `Link`
          joints: {elbow: {damping: 0.3}}                  # attributes of `Axis`; see below
          label: 4                       # of all links; as in the file if absent
          sleep: false                   # and disabled, as for objects
      sensors:                           # standing in the world, as in the node's parameter
        eye: {type: camera, position: [2, 0, 1.5], look_at: [0, 0, 0.5]}
      lights: {}                         # ambient, sky: see `description.scene.lights`
      joints:                            # see `description.scene.joints`
        hinge: {type: hinge, between: [table, left/hand], anchor: [0.8, 0, 0.4], axis: [0, 0, 1]}
      openplx:
        crane:
          file: crane.openplx
          model: Crane                   # the last model in the file if absent
          position: [2, 0, 0]
          bundle_paths: [bundles]        # folders

Relative paths start at the folder of the file. Shapes accept the further keys of Placed, objects
the arguments of `World.add_body`, robots `World.load_urdf`, OpenPLX scenes `World.load_openplx`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
import re
from types import MappingProxyType
from typing import Any

from sim_bridge.description.controllers import CONTROLLERS, NO_CONTROLLER
from sim_bridge.description.gravity import Gravity, GREATEST_GRAVITY, PointGravity
from sim_bridge.description.labels import MOST_LABEL
from sim_bridge.description.mechanism.base import BASES, FILE, FIXED, FREE
from sim_bridge.description.model import MOTIONS, SensorDescription
from sim_bridge.description.report import DescriptionError, Findings
from sim_bridge.description.resources import explain_unresolved, find_robot, resolve_uri
from sim_bridge.description.scene.fields import read_fields
from sim_bridge.description.scene.joints import read_joints
from sim_bridge.description.scene.joints import read_settings as read_joint_settings
from sim_bridge.description.scene.lights import read_light
from sim_bridge.description.scene.model import (
    namespace_for,
    SceneBody,
    SceneDescription,
    SceneOpenPlx,
    SceneRobot,
)
from sim_bridge.description.scene.named_poses import read_named_poses
from sim_bridge.description.scene.origin import read_origin
from sim_bridge.description.scene.shapes import read_placed, SHAPES
from sim_bridge.description.scene.standing import standing_body, WORLD_LINK
from sim_bridge.description.scene.values import read_link, read_robot, read_settings, Values
from sim_bridge.description.yaml.overlay import overlaid, read_path
from sim_bridge.description.yaml.section import mapping_from_text, read_document, Section
from sim_bridge.description.yaml.sensors import sensors_from_mapping
from sim_bridge.foundation.errors import SimBridgeError, UnknownNameError
from sim_bridge.shapes.friction_direction import direction_of, FrictionDirection
from sim_bridge.shapes.material import ContactMaterial, Material, ODE_NAMES
from sim_bridge.shapes.materials import MaterialLibrary

_BODY_VECTORS = ('center_of_mass', 'linear_velocity', 'angular_velocity')
_MATERIAL_KEYS = tuple(
    f.name for f in fields(Material) if f.name not in ('name', 'kind', 'contacts')
)
_CONTACT_KEYS = tuple(f.name for f in fields(ContactMaterial))
_TEXTS = ('friction_model', 'solver')
_READ_APART = ('direction', 'reduce', 'contact_area', 'bins')


def read_yaml_scene(
    source: str | Path | Mapping[str, object], values: str, findings: Findings
) -> SceneDescription:
    """
    Read a scene from a YAML file, or from a mapping with the same content.

    values: replacements for values of `world`, as in the node's parameter `world_values`; '' for
    none. Raises InvalidValueError for `values`.
    """
    label, folder, content = read_document(source, findings)
    scene = SceneDescription(label)
    if content is not None:
        if values:
            content = _with_values(content, values)
        document = Section(content, '', findings)
        world = document.section('world', required=True)
        document.close()
        if world is not None:
            scene = _scene(label, folder, world)
    return scene


def check_values(text: str) -> dict[tuple[str | int, ...], object]:
    """Return the parameter `world_values` by path; raises InvalidValueError."""
    subject = "parameter 'world_values'"
    content = mapping_from_text(
        text, subject, 'YAML of values by their paths in `world`, such as {objects.ball.mass: 0.2}'
    )
    return {read_path(path, subject): value for path, value in content.items()}


def _with_values(content: Mapping[str, object], text: str) -> Mapping[str, object]:
    return overlaid(
        content, {('world', *path): value for path, value in check_values(text).items()}
    )


def _scene(label: str, folder: Path, world: Section) -> SceneDescription:
    settings, gravity = read_settings(world), _gravity(world)
    origin, named_poses = read_origin(world, folder), read_named_poses(world)
    force_fields = read_fields(world, 'force_fields')
    library = _library(world, folder)
    materials = tuple(
        material
        for section in world.sections('materials')
        if (material := _material(section, library)) is not None
    )
    contacts = tuple(
        contact
        for contact in map(_contact_material, world.list_of_sections('contact_materials'))
        if contact is not None
    )
    apart = tuple(world.pairs('apart'))
    ground = _ground(world)
    bodies = tuple(_body(section, folder) for section in world.sections('objects'))
    bodies += tuple(map(partial(_stand, world), _standing_sensors(world)))
    robots = tuple(_robot(section, folder) for section in world.sections('robots'))
    openplx = tuple(_openplx(section, folder) for section in world.sections('openplx'))
    joints, light = read_joints(world, 'joints'), read_light(world)
    description, tags = world.text('description', ''), world.texts('tags') or ()
    world.close()
    return SceneDescription(
        label,
        gravity,
        materials,
        contacts,
        apart,
        bodies,
        robots,
        ground,
        openplx,
        force_fields,
        joints,
        settings,
        description=description,
        origin=origin,
        named_poses=named_poses,
        tags=tags,
        light=light,
    )


def _gravity(world: Section) -> Gravity | None:
    if not isinstance(world.peek('gravity'), Mapping):
        return world.vector('gravity', 3, None, GREATEST_GRAVITY)
    section = world.section('gravity')
    assert section is not None
    center = section.vector('center', 3, PointGravity.center)
    numbers = {
        key: section.number(key, getattr(PointGravity, key)) for key in ('strength', 'exponent')
    }
    section.close()
    try:
        return PointGravity(center, **numbers)
    except SimBridgeError as err:
        world.error('gravity', None, str(err))
        return None


def _library(world: Section, folder: Path) -> MaterialLibrary:
    files = [folder / path for path in world.texts('material_libraries') or ()]
    try:
        return MaterialLibrary(*files)
    except (SimBridgeError, OSError) as err:
        world.error('material_libraries', ', '.join(map(str, files)), str(err))
        return MaterialLibrary()


def _material(section: Section, library: MaterialLibrary) -> Material | None:
    values: dict[str, Any] = {
        key: section.flag(key, None) if key == 'reduce' else section.number(key, None)
        for key in _MATERIAL_KEYS
    }
    kind, preset = section.text('kind', None), section.text('library', None)
    # AGX's and Choreonoid's names
    roughness, viscosity = (section.number(key, None) for key in ('roughness', 'viscosity'))
    section.close()
    if roughness is not None:
        _keep_one(section, 'friction', 'roughness')
        values['friction'] = roughness
    if viscosity is not None:
        _keep_one(section, 'restitution', 'viscosity')
        if 0.0 <= viscosity <= 1.0:
            values['restitution'] = 1.0 - viscosity
        else:
            section.error('viscosity', viscosity, 'must be from 0 to 1')
    given = {key: value for key, value in values.items() if value is not None}
    if kind is not None:
        given['kind'] = kind
    if preset is None:
        return section.make(lambda: Material(section.name, **given))
    if preset not in library:
        section.error(
            'library', preset, str(UnknownNameError('material of the library', preset, library))
        )
        return None
    return section.make(lambda: library.load(preset, name=section.name, **given))


def _contact_material(section: Section) -> tuple[str, str, ContactMaterial] | None:
    pair = section.texts('between', 2)
    values: dict[str, Any] = {
        key: section.text(key, None) if key in _TEXTS else section.number(key, None)
        for key in _CONTACT_KEYS
        if key not in _READ_APART
    }
    values |= {key: section.flag(key, None) for key in ('reduce', 'contact_area')}
    bins = section.number('bins', None)
    values['bins'] = int(bins) if bins is not None and bins.is_integer() else bins
    values['direction'] = _direction(section)
    for ode, own in ODE_NAMES.items():
        section.knows(ode)
        if ode not in _CONTACT_KEYS and section.has(ode):
            _keep_one(section, own, ode)
            values[own] = section.number(ode, None)
            if values['friction_model'] is None:
                values['friction_model'] = 'pyramid'
    section.close()
    contact = section.make(lambda: ContactMaterial(**values))
    return None if contact is None or pair is None else (pair[0], pair[1], contact)


def _direction(section: Section) -> FrictionDirection | None:
    direction = section.section('direction')
    if direction is None:
        return None
    robot, link = direction.text('robot', None), direction.text('link', None)
    axis = direction.vector('axis', 3, None)
    if link is not None and robot is None:
        direction.error('link', link, 'its robot or object is missing')
    if axis is None and not direction.has('axis'):
        direction.error('axis', '', 'missing; 3 numbers')
    direction.close()
    return (
        None
        if axis is None
        else direction.make(
            lambda: direction_of((None if robot is None else (robot, link), axis), '')
        )
    )


def _keep_one(section: Section, own: str, other: str) -> None:
    """Report two keys with the same meaning."""
    if section.has(own):
        section.error(other, section.peek(other), f'{own} is given too and means the same')


def _ground(world: Section) -> Mapping[str, object] | None:
    """Return arguments for `World.add_ground`; None without ground."""
    if isinstance(world.peek('ground'), bool):
        return MappingProxyType({}) if world.flag('ground', False) else None
    section = world.section('ground')
    if section is None:
        return None
    arguments = {
        'material': section.text('material', None),
        'height': section.number('height', 0.0),
        'label': _label(section) or 0,
    }
    section.close()
    return MappingProxyType(arguments)


def _body(section: Section, folder: Path) -> SceneBody:
    if section.has('shapes'):
        parts = section.list_of_sections('shapes')
        placed = [read_placed(part, folder) for part in parts]
        for part in parts:
            part.close()
    elif any(section.has(kind) for kind in SHAPES):
        placed = [read_placed(section, folder, is_body=True)]
    else:
        section.error('shapes', '', f'missing; or one of {", ".join(SHAPES)}')
        placed = []
    arguments: dict[str, object] = {
        'motion': section.choice('motion', MOTIONS, 'dynamic'),
        'material': section.text('material', None),
        'mass': section.number('mass', None),
        'density': section.number('density', None),
        'inertia': section.matrix('inertia'),
        **section.pose(),
        'sensors': _sensors(section, section.name),
        'label': _label(section) or 0,
    }
    for key in _BODY_VECTORS:
        value = section.vector(key, 3, None)
        if value is not None:
            arguments[key] = value
    link, own, namespace = read_link(section), read_robot(section), _namespace(section)
    section.close()
    return SceneBody(
        section.name,
        tuple(p for p in placed if p is not None),
        namespace,
        MappingProxyType(arguments),
        link,
        own,
        section.line,
    )


def _label(section: Section) -> int | None:
    """Return the semantic label for cameras; None if it is absent or wrong."""
    value = section.number('label', None)
    if value is None:
        return None
    if not (value.is_integer() and 0 <= value <= MOST_LABEL):
        section.error('label', value, f'must be a whole number from 0 to {MOST_LABEL}')
        return None
    return int(value)


def _base(section: Section) -> str:
    """Return the setting `base`, also from its former key."""
    if section.has('fixed_base') and not section.has('base'):
        section.warn_deprecated('fixed_base', 'base: fixed, or base: free')
        given = section.flag('fixed_base', None)
        return FILE if given is None else FIXED if given else FREE
    return section.choice('base', BASES, FILE)


def _robot(section: Section, folder: Path) -> SceneRobot:
    packages = [str(folder / path) for path in section.texts('package_paths') or ()]
    urdf = _urdf(section, folder, packages)
    arguments: dict[str, object] = {
        'base': _base(section),
        **section.pose(),
        'collisions': section.choice('collisions', ('hull', 'hulls', 'mesh', 'none'), 'hull'),
        'missing_meshes': section.choice('missing_meshes', ('error', 'warning', 'auto'), 'error'),
        'self_collision': section.flag('self_collision', None),
        'material': section.text('material', None),
        'package_paths': packages,
        'xacro_args': section.mapping('xacro_args'),
        'sensors': _sensors(section),
        'label': _label(section),
    }
    srdf = section.text('srdf', None)
    if srdf is not None:
        arguments['srdf'] = folder / srdf
    joints = section.section('joint_positions')
    if joints is not None:
        arguments['joint_positions'] = {key: joints.number(key, 0.0) for key in joints.names()}
    links, settings = section.sections('links'), section.sections('joints')
    namespace, own = _namespace(section), read_robot(section)
    controller = section.choice('controller', (*CONTROLLERS, NO_CONTROLLER), '')
    mediums = {each.name: read_link(each) for each in links}
    for each in (*links, section):
        each.close()
    return SceneRobot(
        section.name,
        urdf,
        namespace,
        MappingProxyType(arguments),
        own,
        MappingProxyType(mediums),
        MappingProxyType({each.name: read_joint_settings(each) for each in settings}),
        section.line,
        controller=controller,
    )


def _openplx(section: Section, folder: Path) -> SceneOpenPlx:
    given = section.text('file', '', required=True)
    file = resolve_uri(given, base=folder) if given else None
    if given and file is None:
        section.error('file', given, explain_unresolved(given, base=folder))
    arguments = {
        'model': section.text('model', None),
        **section.pose(),
        'bundle_paths': [folder / path for path in section.texts('bundle_paths') or ()],
    }
    section.close()
    return SceneOpenPlx(
        section.name, str(file or given), MappingProxyType(arguments), section.line
    )


def _namespace(section: Section) -> str:
    """
    Return the namespace for a robot's topics; if none is given, its name made valid.

    '' puts its topics beside those of the simulator.
    """
    word = r'[A-Za-z_]\w*'
    if section.peek('namespace') == '':
        section.knows('namespace')
        return ''
    namespace = section.text('namespace', None)
    if namespace is None:
        return namespace_for(section.name)
    if not re.fullmatch(rf'{word}(/{word})*', namespace, re.ASCII):
        section.error(
            'namespace',
            namespace,
            'must be words of letters, digits and _, separated by /; '
            'no word may begin with a digit',
        )
    return namespace


def _sensors(section: Section, link: str = '') -> tuple[SensorDescription, ...]:
    """Return the sensors on a robot or an object. link: default link for the sensors."""
    given = section.mapping('sensors')
    if link:
        given = {
            name: {'link': link, **each} if isinstance(each, Mapping) else each
            for name, each in given.items()
        }
    try:
        return sensors_from_mapping(given)
    except DescriptionError as err:
        for finding in err.report.findings:
            section.error('sensors', '', f'{finding.subject}: {finding.message}')
        return ()


def _standing_sensors(world: Section) -> Iterable[SensorDescription]:
    """Yield the sensors standing in the world; others are declared with their carrier."""
    for sensor in _sensors(world, WORLD_LINK):
        if sensor.link != WORLD_LINK:
            message = f'must be {WORLD_LINK!r} here; other links: in their robot or object'
            world.error('sensors', sensor.link, f'sensor {sensor.name!r}: link {message}')
        else:
            yield sensor


def _stand(world: Section, sensor: SensorDescription) -> SceneBody:
    """Return a body without shapes, carrying a sensor."""
    nothing = Values.given({}, world)
    namespace = namespace_for(sensor.name)
    return SceneBody(sensor.name, (), namespace, standing_body(sensor), nothing, nothing)


def _urdf(section: Section, folder: Path, package_paths: Sequence[str]) -> str:
    """Return a robot's file; the given text, with an error noted, if there is none."""
    given = section.text('urdf', '', required=True)
    try:
        return str(find_robot(given, base=folder, package_paths=package_paths)) if given else ''
    except SimBridgeError as err:
        section.error('urdf', given, str(err))
        return given
