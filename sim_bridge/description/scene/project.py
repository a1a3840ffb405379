"""
Choreonoid's projects: world bodies with their initial states, materials, the simulator item.

docs/choreonoid.md explains how each key is used. All other project data concerns windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
import math
import os
from pathlib import Path
import re
from types import MappingProxyType
from typing import Any, NamedTuple

from sim_bridge.description.body.keys import (
    finite,
    key_of,
    name_in,
    Reading,
    rotation,
    translation,
)
from sim_bridge.description.gravity import GREATEST_GRAVITY
from sim_bridge.description.load import load_description
from sim_bridge.description.mechanism.base import FIXED, FREE
from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import DescriptionError, Findings
from sim_bridge.description.resources import resolve_uri
from sim_bridge.description.scene.joints import JointSettings, SceneJoint, WORLD
from sim_bridge.description.scene.model import namespace_for, SceneDescription, SceneRobot
from sim_bridge.description.scene.values import Values
from sim_bridge.description.yaml.file import read_mapping
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.shapes.material import ContactMaterial, DEFAULT, Material

_DEGREE = math.radians(1.0)
_SIMULATOR, _ODE = 'SimulatorItem', 'ODESimulatorItem'
_STEP_MODES = {'Iterative (quick step)': 'iterative', 'Big matrix': 'direct'}
# of a simulator item: the run's duration and recording, which do not concern the motion
_RUN_KEYS = (
    'realtime_sync',
    'realtime_sync_mode',
    'recording',
    'time_range_mode',
    'time_length',
    'only_active_control_period',
    'active_control_time_range_mode',
    'is_active_control_time_range_mode',
    'all_link_position_output_mode',
    'output_all_link_positions',
    'device_state_output',
    'output_device_states',
    'controller_threads',
    'use_controller_threads',
    'controller_options',
    'record_collision_data',
    'block_scene_view_edit_mode',
    'time_sync_items',
    'motion_items',
    'collision_seq_item',
)
# joint ranges and joint-axis inertia hold here whatever these flags are
_ALWAYS = ('enable_joint_limit', 'joint_limit_mode', 'add_joint_axis_inertia_to_link_inertia')
_DETECTORS = ('use_world_collision_detector', "UseWorldItem'sCollisionDetector")
_VARIABLE = re.compile(r'\$\{(\w+)\}')


class _Item(NamedTuple):
    kind: str
    section: Section
    data: Section
    is_in_world: bool


class _Simulator(NamedTuple):
    """
    Simulator item.

    gravity [m/s²], world settings, time_step [s]. surface: material fields for all pairs. is_2d:
    whether root links move in planes normal to y.
    """

    gravity: tuple[float, ...] | None = None
    settings: Values | None = None
    time_step: float | None = None
    surface: Mapping[str, Any] = MappingProxyType({})
    is_2d: bool = False


def read_world(source: Source, findings: Findings) -> SceneDescription:
    """Return a project's scene, with its defects among the findings."""
    path = Path(source.given)
    content = read_mapping(path, findings)
    scene = SceneDescription(str(path))
    if content is None:
        return scene
    document = Section(content, 'project', findings)
    root = document.section('items', required=True)
    if root is None:
        return scene
    items = list(_items(root))
    worlds = [item for item in items if item.kind == 'WorldItem']
    if not worlds:
        document.error('items', '', 'has no WorldItem')
        return scene
    if len(worlds) > 1:
        worlds[1].section.error('class', 'WorldItem', 'is the second one: a scene has one world')
    project = _Project(path, findings)
    materials, contacts = project.materials(worlds[0])
    simulator = project.simulator(items)
    materials = _with_surface(materials, simulator.surface)
    robots = tuple(project.robots(items))
    project.warn_of_others(items)
    return SceneDescription(
        str(path),
        simulator.gravity,
        materials,
        contacts,
        robots=robots,
        joints=project.planes(robots) if simulator.is_2d else (),
        settings=simulator.settings,
        time_step=simulator.time_step,
    )


def _items(section: Section, is_in_world: bool = False) -> Iterator[_Item]:
    """Yield an item and its descendants."""
    kind = section.text('class', '')
    section.rename(f'item.{name_in(section, "name")}')
    data = section.section('data') or Section({}, 'item', Findings())
    yield _Item(kind, section, data, is_in_world)
    for child in section.list_of_sections('children'):
        yield from _items(child, is_in_world or kind == 'WorldItem')


class _Project:
    def __init__(self, path: Path, findings: Findings):
        self._path, self._findings = path, findings
        self._reading = Reading(findings, _DEGREE)
        self._read: dict[Path, RobotDescription | None] = {}

    def robots(self, items: Iterable[_Item]) -> Iterator[SceneRobot]:
        taken: set[str] = set()
        spaces: set[str] = set()
        for item in items:
            if item.kind != 'BodyItem':
                continue
            if not item.is_in_world:
                self._warn(item.section, 'is outside a WorldItem, and is not simulated')
                continue
            found = self._file(item.data, 'file', 'model_file')
            description = None if found is None else self._description(item, found)
            if found is None or description is None:
                continue
            name = free_name(name_in(item.section, 'name') or description.name, taken.__contains__)
            taken.add(name)
            space = free_name(namespace_for(name), spaces.__contains__)
            spaces.add(space)
            moves = _moves_in_parts(description)
            yield SceneRobot(
                name,
                str(found),
                space,
                MappingProxyType(self._arguments(item, description, moves)),
                Values.given({}, item.section),
                MappingProxyType({}),
                MappingProxyType({}),
                item.section.line,
                is_object=not (moves or description.sensors or description.crawlers),
            )

    def _arguments(
        self, item: _Item, description: RobotDescription, moves: bool
    ) -> dict[str, object]:
        data = item.data
        if data.has('parent_body_linkage'):
            self._warn(item.section, 'is attached to another body; attach it by a joint')
        is_fixed = data.flag(
            'fix_root' if data.has('fix_root') else 'staticModel', description.fixed_base
        )
        is_static = is_fixed and not moves and not description.crawlers
        collides = data.flag(key_of(data, 'collision_detection'), True)
        position, turned = self._pose(data, description)
        return {
            'base': FIXED if is_fixed else FREE,
            'position': tuple(position),
            'orientation': tuple(quaternion_from_matrix(turned).tolist()),
            # hollow rooms and terrain need triangles; hulls are cheaper for moving bodies
            'collisions': ('mesh' if is_static else 'hull') if collides else 'none',
            'missing_meshes': 'warning',
            'self_collision': data.flag(key_of(data, 'self_collision_detection'), False),
            'material': None,
            'package_paths': [],
            'xacro_args': {},
            'sensors': (),
            'joint_positions': self._positions(data, description),
        }

    def _pose(self, data: Section, description: RobotDescription) -> tuple[Any, Any]:
        """Return the root link's initial pose: position [m], rotation (3, 3)."""
        base = description.base_pose
        position, turned = base.position, base.rotation
        for keys in (
            ('root_translation', 'root_position'),
            ('initial_root_translation', 'initial_root_position'),
        ):
            key = key_of(data, *keys)
            if data.has(key):
                position = translation(data, key)
        for key in ('root_rotation', 'initial_root_rotation'):
            if data.has(key):
                turned = rotation(data, self._reading, key)
        for key in ('rootAttitude', 'initialRootAttitude'):
            given = data.matrix(key)
            if given is not None:
                if given.size != 9:
                    data.error(key, data.peek(key), 'must be 9 numbers')
                    continue
                turned = given.reshape(3, 3)
        return position.tolist(), turned

    def _positions(self, data: Section, description: RobotDescription) -> dict[str, float]:
        """Return the initial joint positions, by name [rad or m]."""
        numbered = list(_numbered_joints(description))
        found: dict[str, float] = {}
        # displacements are in degrees, even for sliding joints
        for keys, unit in (
            (('joint_displacements',), _DEGREE),
            (('joint_positions',), 1.0),
            (('initial_joint_displacements',), _DEGREE),
            (('initial_joint_positions',), 1.0),
        ):
            given = data.matrix(key_of(data, *keys)) if data.peek(key_of(data, *keys)) else None
            for name, value in zip(numbered, () if given is None else given.ravel(), strict=False):
                joint = description.joints.get(name or '')
                if joint is not None and joint.type in (
                    JointType.REVOLUTE,
                    JointType.CONTINUOUS,
                    JointType.PRISMATIC,
                ):
                    limits = joint.limits
                    found[joint.name] = min(max(value * unit, limits.lower), limits.upper)
        return found

    def _description(self, item: _Item, path: Path) -> RobotDescription | None:
        if path not in self._read:
            try:
                self._read[path] = load_description(path)
            except DescriptionError as err:
                self._read[path] = None
                for finding in err.report.errors:
                    item.section.error(
                        'file',
                        str(path),
                        f'line {finding.line}: {finding.subject}: {finding.message}',
                    )
            except SimBridgeError as err:
                self._read[path] = None
                item.section.error('file', str(path), str(err))
        return self._read[path]

    def simulator(self, items: Iterable[_Item]) -> _Simulator:
        """Return the settings in the ODE simulator item, or in the first other simulator item."""
        simulators = [
            item
            for item in items
            if item.kind.endswith(_SIMULATOR) and item.kind != f'Sub{_SIMULATOR}'
        ]
        chosen = next((item for item in simulators if item.kind == _ODE), None)
        if chosen is None:
            if not simulators:
                return _Simulator()
            chosen = simulators[0]
        data, settings = chosen.data, dict[str, object]()
        step = _first(data, 'time_step', 'timestep')
        if step is None:
            rate = _first(data, 'frame_rate', 'framerate')
            step = None if rate is None else 1.0 / rate
        mode = data.peek(key_of(data, 'step_mode'))
        if isinstance(mode, str) and mode in _STEP_MODES:
            settings['solver'] = _STEP_MODES[mode]
        elif mode is not None:
            data.error('step_mode', mode, f'must be one of {", ".join(_STEP_MODES)}')
        iterations = _first(data, 'num_iterations')
        if iterations is not None:
            settings['iterations'] = int(iterations)
        for name, keys in (
            ('erp', ('global_erp', 'globalERP')),
            ('cfm', ('global_cfm', 'globalCFM')),
        ):
            value = _first(data, *keys, least=0.0)
            if value is not None:
                settings[name] = value
        simulator = _Simulator(
            data.vector('gravity', 3, None, GREATEST_GRAVITY),
            Values.given(settings, data),
            step,
            _surface(data),
            data.flag(key_of(data, 'use_2d_mode', '2Dmode'), False),
        )
        self._warn_of_unsimulated(chosen)
        return simulator

    def planes(self, robots: Iterable[SceneRobot]) -> tuple[SceneJoint, ...]:
        """Return the joints of the 2D mode: root links move in planes normal to y."""
        joints = []
        for robot in robots:
            description = self._read[Path(robot.urdf)]
            if description is None or robot.arguments['base'] == FIXED:
                continue
            root = f'{robot.name}/{description.root}'
            joints.append(
                SceneJoint(
                    f'{robot.name}_plane',
                    'planar',
                    (WORLD, root),
                    ('', 0),
                    robot.own.replaced('axis', (0.0, 1.0, 0.0)),
                    JointSettings(robot.own, ()),
                    (),
                    True,
                )
            )
        return tuple(joints)

    def _warn_of_unsimulated(self, simulator: _Item) -> None:
        """Name the simulator item's keys without effect on the motion."""
        data = simulator.data
        detector = key_of(data, *_DETECTORS)
        if data.flag(detector, False):
            self._warn(
                simulator.section, f'{detector}: there is one collision detector, for all bodies'
            )
        for key in (*_RUN_KEYS, *_ALWAYS):
            key_of(data, key)
        unread = data.unread()
        if unread:
            self._warn(simulator.section, f'not simulated: {", ".join(unread)}')

    def materials(
        self, world: _Item
    ) -> tuple[tuple[Material, ...], tuple[tuple[str, str, ContactMaterial], ...]]:
        """Return the materials in the world's table, and its contact materials."""
        key = key_of(world.data, 'default_material_table_file', 'material_table_file')
        given = world.data.peek(key)
        if not given:
            return (), ()
        path = self._resolved(str(given))
        if path is None:
            self._warn(
                world.section,
                f'the material table {given} is not found; bodies have the material default',
            )
            return (), ()
        content = read_mapping(path, self._findings)
        table = Section(content or {}, 'materials', self._findings)
        materials = []
        for each in table.list_of_sections('materials'):
            roughness = finite(each, 'roughness', 1.0, 0.0)
            viscosity = min(finite(each, 'viscosity', 1.0, 0.0), 1.0)
            values: dict[str, Any] = {'friction': roughness, 'restitution': 1.0 - viscosity}
            name = _material_name(each.text('name', ''))
            made = each.make(partial(Material, name, **values))
            if made is not None:
                materials.append(made)
        known = {material.name for material in materials} | {DEFAULT}
        contacts = []
        for each in table.list_of_sections(key_of(table, 'contact_materials')):
            pair = [_material_name(name) for name in each.texts('materials', 2) or ()]
            numbers: dict[str, Any] = {
                name: each.number(name, None) for name in ('friction', 'restitution')
            }
            contact = each.make(partial(ContactMaterial, **numbers))
            unknown = set(pair) - known
            if unknown:
                self._warn(each, f'names {", ".join(sorted(unknown))}, missing in the table')
            elif contact is not None and pair:
                contacts.append((pair[0], pair[1], contact))
        return tuple(materials), tuple(contacts)

    def warn_of_others(self, items: Iterable[_Item]) -> None:
        """Warn about items acting on Choreonoid's simulation, but not here."""
        for item in items:
            if item.kind.endswith('ControllerItem'):
                self._warn(
                    item.section,
                    'a controller of Choreonoid is not run; command the robot on its topics',
                )

    def _file(self, data: Section, *keys: str) -> Path | None:
        key = key_of(data, *keys)
        given = data.text(key, '', required=True)
        if not given:
            return None
        path = self._resolved(given)
        if path is None:
            hint = (
                (
                    '; ${SHARE} is the environment variable SHARE, or a folder share above the '
                    'project'
                )
                if '${SHARE}' in given
                else ''
            )
            data.error(key, given, f'no such file{hint}')
        return path

    def _resolved(self, text: str) -> Path | None:
        """Return the file of a path with variables, relative to the project folder; else None."""
        folder = self._path.resolve().parent
        places = [folder]
        if text.startswith('${SHARE}') and 'SHARE' not in os.environ:
            places = [each / 'share' for each in folder.parents if (each / 'share').is_dir()]
            text = text.removeprefix('${SHARE}').lstrip('/')
        variables = {**os.environ, 'PROJECT_DIR': str(folder)}
        text = _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)
        return next(filter(None, (resolve_uri(text, base=place) for place in places)), None)

    def _warn(self, section: Section, message: str) -> None:
        self._findings.warning('not-simulated', section.place(), message)


def _moves_in_parts(description: RobotDescription) -> bool:
    return any(joint.type is not JointType.FIXED for joint in description.joints.values())


def _numbered_joints(description: RobotDescription) -> Iterator[str | None]:
    """Yield joint names in Choreonoid's order: by id, None for gaps, then other moving joints."""
    numbered = {number: name for name, number in description.joint_ids.items()}
    for number in range(max(numbered, default=-1) + 1):
        yield numbered.get(number)
    tracks = {crawler.name for crawler in description.crawlers}
    for name, joint in description.joints.items():
        moves = joint.type is not JointType.FIXED or name in tracks
        if moves and name not in description.joint_ids:
            yield name


def _surface(data: Section) -> dict[str, Any]:
    """Return the material fields that a simulator item sets for all pairs."""
    surface: dict[str, Any] = {}
    friction = _first(data, 'friction', least=0.0)
    if friction is not None:
        surface['friction'] = friction
    limits = data.flag(key_of(data, 'limit_correcting_velocity', 'limitCorrectingVel'), None)
    most = _first(data, 'max_correcting_velocity', 'maxCorrectingVel', least=0.0)
    if limits is False:
        surface['max_correcting_velocity'] = math.inf
    elif most is not None:
        surface['max_correcting_velocity'] = most
    return surface


def _with_surface(
    materials: Sequence[Material], surface: Mapping[str, Any]
) -> tuple[Material, ...]:
    """Return materials with a simulator item's fields; a table has its own friction."""
    shared = {name: value for name, value in surface.items() if name != 'friction'}
    changed = [replace(material, **shared) for material in materials]
    if surface and DEFAULT not in {material.name for material in materials}:
        changed.append(Material(DEFAULT, **surface))
    return tuple(changed)


def _first(data: Section, *keys: str, least: float = 1e-9) -> float | None:
    """Return the number at the first given key; None if none is given."""
    key = key_of(data, *keys)
    return finite(data, key, least, least) if data.has(key) else None


def _material_name(name: str) -> str:
    return DEFAULT if name == 'Default' else name
