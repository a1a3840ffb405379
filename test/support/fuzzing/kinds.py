"""Input kinds: valid inputs, their damage, and their reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
import importlib.metadata
import logging
from pathlib import Path
from random import Random
import textwrap
from typing import Any

from following import simulator_of
from shipped import FOLDER
from urdf_cases import WHOLE
import yaml

from fuzzing import (
    api_calls,
    batches,
    cameras,
    changes,
    command_messages,
    entities,
    forks,
    interruptions,
    mjcf_files,
    nodes,
    parameter_files,
    recordings,
    sdf_files,
    sdf_tags,
    study_files,
    usd_files,
)
from fuzzing.damage import damaged_bytes, damaged_data, damaged_lines, damaged_xml, HUGE_INTEGER
from fuzzing.stepping import step_on
from sim_bridge import World
from sim_bridge.cli.openplx_overview import openplx_data, openplx_text
from sim_bridge.description import DescriptionError
from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.report import Findings
from sim_bridge.description.scene import changes as entity_changes
from sim_bridge.description.scene import scene
from sim_bridge.description.yaml import constraints, drives, sensors
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_table import from_flat
from sim_bridge.ros.params.parameters import SimulatorParameters

_LARGEST_EXAMPLE = 40_000
_CONFIG = FOLDER.parent / 'config'

XACRO = b"""<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="length" value="${2*0.15}"/>
  <xacro:property name="sizes" value="${dict(a=1, b=[1, 2])}"/>
  <xacro:macro name="rod" params="name mass:=1 *origin">
    <link name="${name}"><inertial><xacro:insert_block name="origin"/><mass value="${mass}"/>
      <inertia ixx="${mass*length**2}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  </xacro:macro>
  <xacro:rod name="a" mass="$(arg mass)"><origin xyz="0 0 ${length}"/></xacro:rod>
  <xacro:rod name="b"><origin xyz="0 0 ${sizes['b'][1]}" rpy="0 ${radians(30)} 0"/></xacro:rod>
  <xacro:if value="${length &gt; 0.1 and True}">
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
      <limit lower="${-pi}" upper="${pi}" effort="5" velocity="inf"/></joint>
  </xacro:if>
  <xacro:unless value="0"><gazebo reference="b"><mu1>${sin(0.5)}</mu1></gazebo></xacro:unless>
</robot>"""
WITH_MESH = """<robot name="r"><link name="a">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""
PARAMETERS = {
    '/**': {
        'ros__parameters': {
            'rate': 500.0,
            'substeps': 2,
            'seed': 3,
            'collisions': 'none',
            'position': [0.0, 0.0, 1.0],
            'gravity': [0.0, 0.0, -9.81],
            'initial_positions': [0.1, 0.2],
            'base': 'fixed',
            'command_timeout': 0.2,
            'publish_truth': True,
            'lockstep': ['joint_commands'],
            'control': {'elbow': 'servo'},
            'gains': {'elbow': {'p': 20.0, 'd': 1.0}},
        }
    }
}

OPENPLX = Path(__file__).resolve().parents[2] / 'description' / 'openplx' / 'scenes'


@dataclass(frozen=True)
class Kind:
    """
    A kind of inputs.

    make: returns a damaged input. run: reads it and simulates the result, in an existing folder;
    raises the reader's exceptions. count: inputs in the short suite. suffix: file suffix. batch:
    inputs in a batch of the long run. keeps: resources this process may keep open, as rclpy does.
    """

    make: Callable[[Random], bytes]
    run: Callable[[bytes, Path], None]
    count: int
    suffix: str
    batch: int = 100
    keeps: str = ''


@cache
def examples(suffix: str) -> tuple[bytes, ...]:
    """Return the small robot files in `example-robot-data`, by suffix."""
    paths = [
        Path(file.locate())
        for file in importlib.metadata.files('example-robot-data') or ()
        if file.suffix.lower() == suffix
    ]
    return tuple(
        sorted(path.read_bytes() for path in paths if path.stat().st_size < _LARGEST_EXAMPLE)
    )


@cache
def urdfs() -> tuple[bytes, ...]:
    """Return valid descriptions: our robots, one with all elements, and third-party ones."""
    own = [path.read_bytes() for path in sorted(FOLDER.glob('*.urdf'))]
    return (*own, *[WHOLE.encode()] * 10, *examples('.urdf'))


@cache
def documented(module: Any) -> Any:
    """Return the YAML in a module's docstring."""
    return yaml.safe_load(
        '\n'.join(
            line
            for line in textwrap.dedent(module.__doc__).splitlines()
            if line.startswith('    ')
        )
    )


@cache
def openplx_scenes() -> tuple[bytes, ...]:
    """Return valid scenes: all constructs of the language, shipped scenes, a swing, a body."""
    paths = [*sorted(OPENPLX.glob('*.openplx')), *sorted(FOLDER.glob('*.openplx'))]
    swing = api_calls.OPENPLX
    body = swing.partition('Swing')[0]
    return (*(path.read_bytes() for path in paths), *(text.encode() for text in (swing, body)))


def _make_urdf(rng: Random) -> bytes:
    return damaged_xml(rng, rng.choice(urdfs()))


def _run_urdf(case: bytes, folder: Path, suffix: str = 'urdf', **options: Any) -> None:
    path = folder / f'robot.{suffix}'
    path.write_bytes(case)
    world = World()
    world.add_ground()
    world.load_urdf(path, **options)
    step_on(world)


def _run_mesh(suffix: str) -> Callable[[bytes, Path], None]:
    def run(case: bytes, folder: Path) -> None:
        path = folder / f'shape.{suffix}'
        path.write_bytes(case)
        for collisions in ('hull', 'mesh'):
            _run_urdf(WITH_MESH.format(path.name).encode(), folder, collisions=collisions)

    return run


def _make_mesh(suffix: str) -> Callable[[Random], bytes]:
    def make(rng: Random) -> bytes:
        source = rng.choice(examples(f'.{suffix}'))
        if suffix == 'dae' and rng.randrange(2):
            return damaged_xml(rng, source)
        return damaged_bytes(rng, source)

    return make


def _make_yaml(*sources: Any) -> Callable[[Random], bytes]:
    def make(rng: Random) -> bytes:
        source = rng.choice(sources)()
        content = damaged_data(rng, source) if rng.randrange(5) else source
        text = yaml.dump(content, allow_unicode=True).encode()
        text = text.replace(HUGE_INTEGER.encode(), b'9' * 5000)
        return text if rng.randrange(4) else damaged_bytes(rng, text)

    return make


def _scene_file(name: str) -> Callable[[], Any]:
    return lambda: yaml.safe_load((_CONFIG / name).read_text())


def _yaml_of(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def _project() -> Any:
    """Return the shipped project, with paths valid in any folder."""
    text = (_CONFIG / 'yard' / 'yard.cnoid').read_text()
    return yaml.safe_load(
        text.replace('../../urdf', str(FOLDER))
        .replace('floor.body', str(_CONFIG / 'yard' / 'floor.body'))
        .replace('${PROJECT_DIR}', str(_CONFIG / 'yard'))
    )


def _documented_scene() -> Any:
    content = documented(scene)
    content['world']['robots']['left']['joint_positions'] = {'joint_2': 1.2}
    return content


def _run_openplx(case: bytes, folder: Path) -> None:
    path = folder / 'scene.openplx'
    path.write_bytes(case)
    findings = Findings()
    read_openplx(path, findings=findings)
    report = findings.report(str(path))
    if not report.ok:
        raise DescriptionError(report)
    world = World()
    scene = world.load_openplx(path)
    # as in the verb `check`, and in the node
    openplx_text(openplx_data(scene.description), None)
    list(scene.inputs)
    for output in scene.outputs.values():
        output.read()
    step_on(world)


def _run_scene(case: bytes, folder: Path, suffix: str = 'yaml') -> None:
    path = folder / f'scene.{suffix}'
    path.write_bytes(case)
    world = World()
    world.load_scene(path)
    step_on(world)


def _joints_without(*keys: str) -> Any:
    """Return the documented joints without mutually exclusive keys."""
    return {
        'joints': [
            {key: value for key, value in joint.items() if key not in keys}
            for joint in documented(constraints)['joints']
        ]
    }


def _run_extra_joints(case: bytes, folder: Path) -> None:
    path = folder / 'joints.yaml'
    path.write_bytes(case)
    world = World()
    world.load_urdf(FOLDER / 'four_bar.urdf', extra_joints=path)
    step_on(world)


def _parameters() -> Any:
    own = PARAMETERS['/**']['ros__parameters']
    values = {**own, **documented(sensors), 'robot': 'double_pendulum'}
    values['sensors']['wrist'] |= {'joint': 'elbow', 'link': 'lower_rod'}
    return {'/**': {'ros__parameters': values}}


def _drive_parameters() -> Any:
    return {'/**': {'ros__parameters': {'robot': 'rover', **documented(drives)}}}


def _run_parameters(case: bytes, folder: Path) -> None:
    path = folder / 'parameters.yaml'
    path.write_bytes(case)
    given = parameters_in(path, '/sim_bridge')
    made = simulator_of(from_flat(SimulatorParameters, given, lambda text: None))
    for _ in range(5):
        made.tick()


logging.getLogger().setLevel(logging.CRITICAL)

KINDS = {
    'urdf': Kind(_make_urdf, _run_urdf, 60, 'urdf'),
    'sdf': Kind(sdf_tags.make, sdf_tags.run, 25, 'urdf'),
    'sdf_model': Kind(sdf_files.make_model, sdf_files.run_model, 40, 'sdf'),
    'sdf_world': Kind(sdf_files.make_world, sdf_files.run_world, 25, 'sdf'),
    'xacro': Kind(
        lambda rng: damaged_xml(rng, XACRO),
        lambda case, folder: _run_urdf(case, folder, 'xacro'),
        15,
        'xacro',
    ),
    'mjcf': Kind(mjcf_files.make, mjcf_files.run, 25, 'xml'),
    'usd': Kind(usd_files.make, usd_files.run, 25, 'usda'),
    'scene': Kind(
        _make_yaml(
            _documented_scene, *map(_scene_file, ('world_table.yaml', 'world_ground.yaml'))
        ),
        _run_scene,
        25,
        'yaml',
    ),
    'openplx': Kind(
        lambda rng: damaged_lines(rng, rng.choice(openplx_scenes())), _run_openplx, 40, 'openplx'
    ),
    'body': Kind(
        _make_yaml(
            *(
                partial(_yaml_of, path)
                for path in (*sorted(FOLDER.glob('*.body')), _CONFIG / 'yard' / 'floor.body')
            )
        ),
        lambda case, folder: _run_urdf(case, folder, 'body', collisions='mesh'),
        20,
        'body',
    ),
    'vrml': Kind(
        lambda rng: damaged_lines(rng, (FOLDER / 'closed_link.wrl').read_bytes()),
        lambda case, folder: _run_urdf(case, folder, 'wrl'),
        20,
        'wrl',
    ),
    'project': Kind(
        _make_yaml(_project), lambda case, folder: _run_scene(case, folder, 'cnoid'), 15, 'cnoid'
    ),
    'extra_joints': Kind(
        _make_yaml(lambda: _joints_without('compliance'), lambda: _joints_without('erp', 'cfm')),
        _run_extra_joints,
        20,
        'yaml',
    ),
    'parameters': Kind(_make_yaml(_parameters, _drive_parameters), _run_parameters, 25, 'yaml'),
    'parameter_files': Kind(parameter_files.make, parameter_files.run, 40, 'yaml', 100, 'socket:'),
    'studies': Kind(study_files.make, study_files.run, 25, 'yaml'),
    'stl': Kind(_make_mesh('stl'), _run_mesh('stl'), 8, 'stl'),
    'obj': Kind(_make_mesh('obj'), _run_mesh('obj'), 8, 'obj'),
    'dae': Kind(_make_mesh('dae'), _run_mesh('dae'), 8, 'dae'),
    'camera_sdf': Kind(cameras.make_sdf, cameras.run_sdf, 15, 'urdf'),
    'camera_yaml': Kind(cameras.make_yaml, cameras.run_yaml, 40, 'yaml'),
    'textured_mesh': Kind(cameras.make_textured, cameras.run_textured, 8, 'bin'),
    'bag': Kind(recordings.make, recordings.run, 20, 'mcap'),
    'commands': Kind(command_messages.make, command_messages.run, 25, 'json'),
    'changes': Kind(changes.make, changes.run, 12, 'json'),
    'entities': Kind(
        _make_yaml(lambda: entities.renamed(documented(entity_changes))), entities.run, 15, 'yaml'
    ),
    'api': Kind(api_calls.make, api_calls.run, 40, 'json'),
    'batches': Kind(batches.make, batches.run, 8, 'json'),
    'interrupts': Kind(interruptions.make, interruptions.run, 8, 'json'),
    'forks': Kind(forks.make, forks.run, 6, 'json'),
    'node_parameters': Kind(nodes.make_parameters, nodes.run_parameters, 1, 'json', 5, 'socket:'),
    'signals': Kind(nodes.make_signal, nodes.run_signal, 3, 'json', 10, 'socket:'),
}
