"""Choreonoid's projects: bodies, initial poses, materials, simulator item settings."""

from __future__ import annotations

import math
from pathlib import Path
import textwrap

import pytest

import sim_bridge as sb
from sim_bridge.description.scene.load import read_scene
from sim_bridge.ros.params.robot_parameters import robots_of, world_parameters

SHIPPED = Path(__file__).resolve().parents[2] / 'config' / 'yard' / 'yard.cnoid'
ARM = """format: ChoreonoidBody
formatVersion: 1.0
name: arm
links:
  - {name: BASE, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}
  - {name: B, parent: BASE, jointType: revolute, jointId: 2, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}
  - {name: C, parent: B, jointType: prismatic, jointId: 0, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}
  - {name: D, parent: C, jointType: revolute, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}
"""


def project(tmp_path, bodies, simulator='', world=''):
    """Return a project with bodies, each given by the text of its data."""
    (tmp_path / 'arm.body').write_text(ARM)
    items = ''.join(
        f'\n- class: BodyItem\n  name: {name}\n  data:\n' + textwrap.indent(data, '    ')
        for name, data in bodies
    )
    children = textwrap.indent(items, ' ' * 8)
    path = tmp_path / 'test.cnoid'
    path.write_text(f"""items:
  class: RootItem
  children:
    - class: WorldItem
      data: {{{world}}}
      children:{children}
        - class: FolderItem
          children:
            - {{class: AISTSimulatorItem, data: {{time_step: 0.5}}}}
            - class: ODESimulatorItem
              name: ODE
              data: {{{simulator}}}
""")
    return path


def test_the_shipped_project_runs():
    """Drive the vehicle in the yard, which begins where the project puts it, on its floor."""
    scene = read_scene(SHIPPED)
    assert scene.report.findings == ()
    assert [(each.name, each.is_object) for each in scene.robots] == [
        ('vehicle', False),
        ('gate', False),
        ('floor', True),
    ]
    assert scene.time_step == 0.002
    assert dict(scene.settings.items) == {
        'solver': 'direct',
        'iterations': 50,
        'erp': 0.4,
        'cfm': 1e-10,
    }
    assert world_parameters(str(SHIPPED)) == {'rate': pytest.approx(500), 'solver': 'direct'}
    assert [name for name, *_ in robots_of(str(SHIPPED), '')] == ['gate']
    assert list(robots_of('', 'crawler_vehicle')) == []
    world = sb.World(time_step=scene.time_step)
    world.load_scene(SHIPPED)
    assert (world.gravity[2], world.erp) == (-9.80665, 0.4)
    assert world.materials.contact_material('default', 'Ground').friction == 0.6
    vehicle = world.robots['vehicle']
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
    assert vehicle.root_link.p.tolist() == [0.3, 0.2, 0.2]
    assert vehicle.root_link.R[:, 0] == pytest.approx([c, s, 0])
    assert world.robots['floor'].geometries[0].material.name == 'Ground'
    world.step(250)
    for crawler in vehicle.crawlers:
        crawler.speed = 0.5
    begun = vehicle.root_link.p
    world.step(500)
    moved = vehicle.root_link.p - begun
    assert moved == pytest.approx([0.5 * c, 0.5 * s, 0], abs=0.02)


def test_joints_begin_as_choreonoid_counts_them(tmp_path):
    """Count by ids, including gaps and joints without one; degrees even for sliding joints."""
    path = project(
        tmp_path,
        [
            ('arm', 'file: arm.body\njoint_displacements: [1, 2, 30, 40]'),
            (
                'arm',
                'modelFile: arm.body\njointPositions: [0.5, 9, 0.25]\nrootPosition: [1, 2, 3]\n'
                'rootAttitude: [0, -1, 0, 1, 0, 0, 0, 0, 1]',
            ),
            (
                'arm',
                'file: arm.body\njoint_displacements: [1, 2, 30, 40]\n'
                'initial_joint_displacements: [0, 0, 60, 0]\nfix_root: false',
            ),
        ],
    )
    world = sb.World()
    scene = world.load_scene(path)
    first, old, third = world.robots.values()
    assert list(world.robots) == ['arm', 'arm_2', 'arm_3']
    degree = math.radians(1)
    assert [first.joint(name).q for name in 'CBD'] == pytest.approx(
        [degree, 30 * degree, 40 * degree]
    )
    assert [old.joint(name).q for name in 'CBD'] == [0.5, 0.25, 0]
    assert third.joint('B').q == pytest.approx(60 * degree)
    assert old.root_link.p.tolist() == [1, 2, 3]
    assert old.root_link.R[:, 0] == pytest.approx([0, 1, 0])
    assert (first.fixed_base, third.fixed_base) == (True, False)
    assert [each.namespace for each in scene.robots] == ['arm', 'arm_2', 'arm_3']


def test_collision_shapes_follow_the_project(tmp_path):
    """Use hulls for moving bodies, triangles for static ones, and nothing if collision is off."""
    (tmp_path / 'wall.body').write_text(ARM.partition('  - {name: B,')[0])
    scene = read_scene(
        project(
            tmp_path,
            [
                ('a', 'file: arm.body\nself_collision_detection: true'),
                ('b', 'file: arm.body\ncollisionDetection: false'),
                ('c', 'file: wall.body'),
            ],
        )
    )
    assert [
        (each.arguments['collisions'], each.arguments['self_collision']) for each in scene.robots
    ] == [('hull', True), ('none', False), ('mesh', False)]
    assert [each.is_object for each in scene.robots] == [False, False, True]


def test_the_simulator_item_sets_the_world(tmp_path):
    """Prefer the ODE item's properties, in either spelling, to another item's."""
    path = project(
        tmp_path,
        [('arm', 'file: arm.body')],
        (
            'timestep: 0.004, stepMode: "Iterative (quick step)", gravity: [0, 0, -1], '
            'numIterations: 20, globalERP: 0.3, globalCFM: "1.0e-7", friction: 0.9, '
            'limitCorrectingVel: true, maxCorrectingVel: "1.0e-2", recording: full'
        ),
    )
    scene = read_scene(path)
    assert scene.time_step == 0.004
    assert dict(scene.settings.items) == {
        'solver': 'iterative',
        'iterations': 20,
        'erp': 0.3,
        'cfm': 1e-7,
    }
    assert scene.report.findings == ()
    world = sb.World(time_step=0.004)
    world.load_scene(path)
    assert (world.solver, world.iterations, world.erp, world.cfm) == ('iterative', 20, 0.3, 1e-7)
    assert world.gravity.tolist() == [0, 0, -1]
    default = world.materials['default']
    assert (default.friction, default.max_correcting_velocity) == (0.9, 0.01)


def test_the_correcting_velocity_is_limited_for_all_materials(tmp_path):
    """Limit overlap correction in the material table; without the limit it is unbounded."""
    (tmp_path / 'table.yaml').write_text('materials: [{name: Ice, roughness: 0.1}]')
    table = 'materialTableFile: table.yaml'
    for text, most in (
        ('max_correcting_velocity: 0.02', 0.02),
        ('limitCorrectingVel: false', math.inf),
    ):
        path = project(tmp_path, [], text, table)
        found = {each.name: each.max_correcting_velocity for each in read_scene(path).materials}
        assert found == {'Ice': most, 'default': most}


def test_simulator_keys_without_effect_are_named(tmp_path):
    """Name relaxation and collision detector; a flag at its only possible value is silent."""
    path = project(
        tmp_path,
        [],
        'over_relaxation: 1.3, surface_velocity_culling_depth: 0.005, enable_joint_limit: true, '
        '"UseWorldItem\'sCollisionDetector": true, time_length: 10',
    )
    assert [each.message for each in read_scene(path).report.findings] == [
        "UseWorldItem'sCollisionDetector: there is one collision detector, for all bodies",
        'not simulated: over_relaxation, surface_velocity_culling_depth',
    ]
    path = project(tmp_path, [], 'useWorldCollisionDetector: false')
    assert read_scene(path).report.findings == ()


@pytest.mark.parametrize('key', ['2Dmode', 'use_2d_mode'])
def test_the_2d_mode_holds_root_links_in_planes(tmp_path, key):
    """Keep y and the rotation about x and z under a sideways force; fall freely along z."""
    path = project(
        tmp_path,
        [
            ('arm', 'file: arm.body\nroot_translation: [1, 2, 3]\nfix_root: false'),
            ('fixed', 'file: arm.body\nfix_root: true'),
        ],
        f'{key}: true, gravity: [0, 5, -10]',
    )
    world = sb.World()
    world.load_scene(path)
    root = world.robots['arm'].root_link
    root.add_torque((3.0, 0.0, 3.0))
    world.step(1000)
    assert root.p[:2] == pytest.approx([1, 2], abs=1e-9)
    assert root.R[:, 1] == pytest.approx([0, 1, 0], abs=1e-9)
    assert root.p[2] == pytest.approx(-2, abs=0.01)
    assert list(world.joints) == ['arm_plane']


def test_paths_have_variables(tmp_path, monkeypatch):
    """Find ${SHARE} above the project or by the environment, ${PROJECT_DIR} at the project."""
    (tmp_path / 'share').mkdir()
    (tmp_path / 'share' / 'a.body').write_text(ARM)
    (tmp_path / 'sample').mkdir()
    monkeypatch.delenv('SHARE', raising=False)
    path = project(
        tmp_path / 'sample',
        [('a', 'file: "${SHARE}/a.body"'), ('b', 'file: "${PROJECT_DIR}/arm.body"')],
    )
    assert [Path(each.urdf).name for each in read_scene(path).robots] == ['a.body', 'arm.body']
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'a.body').write_text(ARM)
    monkeypatch.setenv('SHARE', str(tmp_path / 'other'))
    assert Path(read_scene(path).robots[0].urdf).parent.name == 'other'


@pytest.mark.parametrize(
    ('bodies', 'simulator', 'world', 'found'),
    [
        ([('a', 'file: no.body')], '', '', 'file="no.body": no such file'),
        ([('a', 'file: "${SHARE}/no.body"')], '', '', 'the environment variable SHARE'),
        ([('a', 'root_translation: [0]')], '', '', 'file: missing'),
        ([('a', 'file: bad.body')], '', '', 'holds no link'),
        ([('a', 'file: arm.body\nroot_rotation: [0, 0, 0, 1]')], '', '', 'has no direction'),
        ([('a', 'file: arm.body\nrootAttitude: [0, 0]')], '', '', 'must be 9 numbers'),
        ([], 'step_mode: fast', '', 'Iterative (quick step), Big matrix'),
        ([], 'time_step: -1', '', 'at least 1e-09'),
        ([], 'gravity: down', '', 'list of 3'),
        ([], 'gravity: [0, 0, 1e300]', '', 'of at most 1e+09'),
    ],
)
def test_defects_are_named(tmp_path, bodies, simulator, world, found):
    """Report defects in a project, and name the accepted values."""
    path = project(tmp_path, bodies, simulator, world)
    (tmp_path / 'bad.body').write_text('format: ChoreonoidBody\nformatVersion: 1.0\n')
    with pytest.raises(sb.DescriptionError) as caught:
        read_scene(path)
    assert found in str(caught.value)


def test_omissions_are_reported(tmp_path):
    """Warn about controllers, bodies outside the world, and a missing table."""
    path = project(tmp_path, [], '', 'materialTableFile: "${SHARE}/none.yaml"')
    path.write_text(
        path.read_text()
        + """            - {class: SimpleControllerItem, name: walk}
    - {class: BodyItem, name: lost, data: {file: arm.body}}
"""
    )
    assert [each.message.split(';')[0] for each in read_scene(path).report.findings] == [
        'the material table ${SHARE}/none.yaml is not found',
        'a controller of Choreonoid is not run',
        'is outside a WorldItem, and is not simulated',
    ]
    with pytest.raises(sb.DescriptionError, match='has no WorldItem'):
        read_scene(_written(tmp_path, 'items: {class: RootItem}'))
    with pytest.raises(sb.DescriptionError, match='items: missing'):
        read_scene(_written(tmp_path, 'views: []'))


def _written(tmp_path, text):
    path = tmp_path / 'b.cnoid'
    path.write_text(text)
    return path
