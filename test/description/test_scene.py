"""Scene files: all keys, and findings for wrong ones."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import trimesh
import yaml

import sim_bridge as sb
from sim_bridge.description.scene.load import read_scene

TURN = (0.0, 0.0, np.sin(0.5), np.cos(0.5))


def load(text: str, folder=None) -> sb.World:
    """Load a scene from YAML text, from a file if a folder is given."""
    world = sb.World()
    if folder is None:
        world.load_scene(yaml.safe_load(text))
    else:
        (folder / 'scene.yaml').write_text(text)
        world.load_scene(folder / 'scene.yaml')
    return world


def errors_of(source) -> list:
    """Return a scene's defects."""
    with pytest.raises(sb.DescriptionError, match='the scene cannot be loaded') as caught:
        sb.World().load_scene(source)
    return list(caught.value.report.errors)


def test_least_scene_is_ground(repository):
    """Load the shipped ground."""
    world = sb.World()
    world.load_scene(repository / 'config/world_ground.yaml')
    [ground] = world.robots.values()
    assert (ground.name, ground.motion) == ('ground', 'static')
    assert ground.geometries[0].shape == sb.Plane()


def test_shipped_example_is_complete(repository):
    """Load the rich example: materials, pairs, objects of all motions, composites, two robots."""
    world = sb.World()
    scene = world.load_scene(repository / 'config/world_table.yaml')
    assert list(world.robots) == [
        'ground',
        'table',
        'hammer',
        'ball',
        'conveyor',
        'gate',
        'light_barrier',
        'left',
        'right',
    ]
    motions = {name: robot.motion for name, robot in world.robots.items()}
    assert motions['table'] == motions['left'] == 'static'
    assert motions['gate'] == 'kinematic' and motions['ball'] == 'dynamic'

    hammer = world.robots['hammer']
    assert [g.material.name for g in hammer.geometries] == ['wood', 'steel']
    handle = sb.Capsule(0.015, 0.25).mass_properties(700).mass
    head = sb.Cylinder(0.02, 0.1).mass_properties(7850).mass
    assert hammer.mass == pytest.approx(handle + head, rel=1e-12)
    assert world.robots['ball'].mass == 0.06
    np.testing.assert_array_equal(
        world.robots['conveyor'].geometries[0].surface_velocity, [0.2, 0, 0]
    )
    barrier = world.robots['light_barrier'].geometries[0]
    assert barrier.sensor and barrier.groups == {'sensors'}
    assert not world.simulation.registry.groups.collide({'sensors'}, {'furniture'})

    table = world.materials
    assert table.contact_material('wood', 'rubber').friction == 0.9
    steel = table.contact_material('steel', 'steel')
    assert (steel.friction_model, steel.friction) == ('pyramid', 0.15)
    assert [robot.namespace for robot in scene.robots] == ['left', 'right']


@pytest.mark.parametrize(
    ('given', 'found'), [('', 'ar_m'), ("namespace: ''", ''), ('namespace: a/b', 'a/b')]
)
def test_the_namespace_of_a_robot(tmp_path, given, found):
    """Take the name made valid, a given namespace, or none for an empty text."""
    file = tmp_path / 'scene.yaml'
    file.write_text(f'world: {{robots: {{ar-m: {{urdf: arm, {given}}}}}}}\n')
    assert [robot.namespace for robot in read_scene(file).robots] == [found]


def test_every_shape_is_read(tmp_path):
    """Read every shape kind, with numbers inline or from files beside the scene."""
    trimesh.creation.torus(1.0, 0.25).export(tmp_path / 'torus.stl')
    np.savetxt(tmp_path / 'heights.csv', [[0, 1, 2], [3, 4, 5]], delimiter=',')
    np.save(tmp_path / 'heights.npy', np.ones((2, 2)))
    world = load(
        """
world:
  objects:
    everything:
      motion: static
      shapes:
        - {box: [1, 2, 3]}
        - {sphere: 1e-1}
        - {cylinder: {radius: 0.1, length: 2}}
        - {capsule: {radius: 0.1, length: 2}}
        - {cone: {radius: 0.1, length: 2, top_radius: 0.05}}
        - {ellipsoid: [1, 2, 3]}
        - {hollow_cylinder: {radius: 0.1, length: 2, inner_radius: 0.05}}
        - {hollow_cone: {radius: 0.1, length: 2, inner_radius: 0.05, top_radius: 0.02}}
        - {plane: {}}
        - {hull: {points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}
        - {hull: {file: torus.stl, scale: [2, 2, 2]}}
        - {mesh: {file: torus.stl}}
        - mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles: [[0, 1, 2]],
                 bottom_margin: 0.5}
        - {height_field: {size: [2, 1], heights: [[0, 1], [2, 3]], bottom: -1}}
        - {height_field: {size: [2, 1], file: heights.csv}}
        - {height_field: {size: [2, 1], file: heights.npy}}
""",
        tmp_path,
    )
    shapes = [geometry.shape for geometry in world.robots['everything'].geometries]
    assert shapes[:9] == [
        sb.Box((1, 2, 3)),
        sb.Sphere(0.1),
        sb.Cylinder(0.1, 2),
        sb.Capsule(0.1, 2),
        sb.Cone(0.1, 2, 0.05),
        sb.Ellipsoid((1, 2, 3)),
        sb.HollowCylinder(0.1, 2, 0.05),
        sb.HollowCone(0.1, 2, 0.05, 0.02),
        sb.Plane(),
    ]
    hull, scaled, mesh, triangle, *fields = shapes[9:]
    assert hull.mass_properties(6.0).mass == pytest.approx(1.0)
    np.testing.assert_allclose(scaled.bounds[1], [2.5, 2.5, 0.5], rtol=1e-3)
    assert mesh.is_closed and len(triangle.triangles) == 1 and triangle.bottom == -0.5
    np.testing.assert_array_equal(fields[0].heights, [[0, 1], [2, 3]])
    assert fields[0].bottom == -1.0 and fields[1].bottom is None
    np.testing.assert_array_equal(fields[1].heights, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(fields[2].heights, np.ones((2, 2)))


def test_gravity_pulls_towards_a_point():
    """Read PointGravity's arguments, and report invalid ones."""
    world = load('{world: {gravity: {center: [1, 2, 3], strength: 4, exponent: -2}}}')
    assert world.gravity == sb.PointGravity((1, 2, 3), 4, -2)
    with pytest.raises(sb.SimBridgeError, match='strength = inf'):
        load('{world: {gravity: {strength: .inf}}}')


def test_objects_take_the_arguments_of_add_body():
    """Give an object its pose, velocity, mass, inertia and centre of mass."""
    world = load("""
world:
  gravity: [0, 0, -1.62]
  objects:
    thing:
      box: [1, 1, 1]
      position: [1, 2, 3]
      rpy: [0, 0, 1.0]
      mass: 2
      inertia: [1, 2, 2.5]
      center_of_mass: [0, 0, 0.1]
      linear_velocity: [1, 0, 0]
      angular_velocity: [0, 0, 2]
      friction_direction: [1, 0, 0]
""")
    assert tuple(world.gravity) == (0, 0, -1.62)
    thing = world.robots['thing'].root_link
    np.testing.assert_allclose(world.state.q, [1, 2, 3, *TURN], atol=1e-15)
    np.testing.assert_array_equal(world.state.v, [1, 0, 0, 0, 0, 2])
    assert thing.m == 2 and thing.c[2] == 0.1
    np.testing.assert_array_equal(np.diag(thing.I), [1, 2, 2.5])


def test_robots_take_the_arguments_of_load_urdf(tmp_path, repository):
    """Load robots by name, path and URI, each with its own settings."""
    text = (repository / 'urdf/floating_box.urdf').read_text()
    package = tmp_path / 'shelf' / 'maker' / 'urdf'
    package.mkdir(parents=True)
    for place in (package / 'p.urdf', tmp_path / 'p.urdf'):
        place.write_text(text)
    world = load(
        """
world:
  robots:
    shipped: {urdf: floating_box}
    beside: {urdf: p.urdf, base: fixed, position: [1, 0, 0], namespace: ns/b}
    packed:
      urdf: package://maker/urdf/p.urdf
      package_paths: [shelf]
      self_collision: false
      sensors:
        feel: {type: gyro, link: LINK}
""".replace('LINK', sb.load_description(text).root),
        tmp_path,
    )
    assert list(world.robots) == ['shipped', 'beside', 'packed']
    assert [robot.motion for robot in world.robots.values()] == ['dynamic', 'static', 'dynamic']
    assert world.robots['packed'].devices(sb.RateGyroSensor)[-1].name == 'feel'
    names = {world.robots[name].description.name for name in world.robots}
    assert len(names) == 1


def test_robot_begins_at_the_positions_of_the_scene():
    """Put joints at the scene's positions, and again at a reset."""
    world = load(
        """
world:
  robots:
    arm:
      urdf: double_pendulum
      joint_positions: {JOINT: 0.5}
""".replace('JOINT', sb.World().load_urdf(find('double_pendulum')).joint_names[1])
    )
    arm = world.robots['arm']
    assert arm.q.tolist() == [0.0, 0.5]
    arm.q = [1.0, 1.0]
    world.reset()
    assert arm.q.tolist() == [0.0, 0.5]


def find(name: str):
    """Return a shipped robot's file."""
    from sim_bridge.description import find_robot

    return find_robot(name)


GOOD = yaml.safe_load("""
world:
  materials: {wood: {friction: 0.5}}
  contact_materials: [{between: [wood, default], friction: 0.5}]
  ground: {material: wood, height: 0.0}
  objects: {cube: {box: [1, 1, 1], mass: 1.0}}
  robots: {arm: {urdf: arm}}
""")


def changed(path: str, value) -> dict:
    """Return the good scene with one value changed or added."""
    scene = copy.deepcopy(GOOD)
    at, keys = scene, path.split('.')
    for key in keys[:-1]:
        at = at[int(key)] if key.isdigit() else at[key]
    at[keys[-1]] = value
    return scene


def test_contact_materials_of_a_scene_are_those_of_code():
    """Step a scene to the same state as a world with the same contact material."""
    law = {
        'friction_model': 'constant_normal_force',
        'normal_force': 20.0,
        'friction': 0.4,
        'friction2': 0.2,
        'depth_factor': 900.0,
        'stiffness': 1e4,
        'damping': 100.0,
        'adhesion': 3.0,
        'adhesive_overlap': 1e-4,
    }
    scene = changed(
        'world.contact_materials',
        [
            law
            | {'between': ['wood', 'default'], 'direction': {'robot': 'cube', 'axis': [1, 2, 0]}}
        ],
    )
    world, other = sb.World(), sb.World()
    world.load_scene(scene)
    other.load_scene(changed('world.contact_materials', []))
    other.set_contact_material(
        'wood', 'default', sb.ContactMaterial(**law, direction=(other.robots['cube'], (1, 2, 0)))
    )
    for each in (world, other):
        each.robots['cube'].set_base_velocity((0.3, 0.4, 0.0), (0.0, 0.0, 0.0))
        each.step(50)
    assert world.state_hash() == other.state_hash()


def test_good_scene_is_good():
    """Find no defect in the scene modified by the next test."""
    assert len(sb.World().load_scene(GOOD).bodies) == 1


@pytest.mark.parametrize(
    ('path', 'value', 'name', 'attribute', 'shown', 'message'),
    [
        ('world.materials.wood.friction', -1, 'materials.wood', 'friction', '-1.0', 'at least 0'),
        (
            'world.materials.wood.friction',
            'high',
            'materials.wood',
            'friction',
            'high',
            'must be a number',
        ),
        (
            'world.materials.wood.frction',
            1,
            'materials.wood',
            'frction',
            '1',
            "did you mean 'friction'?",
        ),
        ('world.materials.wood', 3, 'materials', 'wood', '3', 'must be a mapping'),
        (
            'world.contact_materials.0.between',
            ['wood'],
            'contact_materials[0]',
            'between',
            "['wood']",
            'must be a list of 2 texts',
        ),
        (
            'world.contact_materials.0.between',
            ['wood', 'wod'],
            'contact_materials[0]',
            '',
            '',
            "unknown material 'wod'. Did you mean 'wood'?",
        ),
        (
            'world.contact_materials.0.friction_model',
            'ball',
            'contact_materials[0]',
            'friction_model',
            'ball',
            "'cone', 'pyramid', 'constant', ",
        ),
        (
            'world.contact_materials.0.direction',
            {'axis': [0, 0]},
            'contact_materials[0].direction',
            'axis',
            '[0, 0]',
            '3 finite numbers',
        ),
        (
            'world.contact_materials.0.direction',
            {'link': 'a', 'axis': [0, 0, 1]},
            'contact_materials[0].direction',
            'link',
            'a',
            'robot or object',
        ),
        (
            'world.contact_materials.0.direction',
            {'robot': 'cub', 'axis': [0, 0, 1]},
            'contact_materials[0]',
            '',
            '',
            "Did you mean 'cube'?",
        ),
        ('world.ground.material', 'wod', 'ground', '', '', "Did you mean 'wood'?"),
        ('world.ground.heigth', 1, 'ground', 'heigth', '1', "did you mean 'height'?"),
        ('world.ground', 'yes please', '', 'ground', 'yes please', 'must be a mapping'),
        ('world.grund', True, '', 'grund', 'True', "did you mean 'ground'?"),
        ('world.gravity', [0, 0], '', 'gravity', '[0, 0]', 'a list of 3 finite numbers'),
        ('world.gravity', [0, 0, 2e9], '', 'gravity', '[0, 0, 2000000000.0]', 'at most 1e+09'),
        (
            'world.objects.cube.box',
            [1, 1, -1],
            'objects.cube',
            'size',
            '(1.0, 1.0, -1.0)',
            '3 positive numbers [m]',
        ),
        (
            'world.objects.cube.sphere',
            1.0,
            'objects.cube',
            'box',
            '',
            'exactly one of box, sphere',
        ),
        (
            'world.objects.cube.motion',
            'statc',
            'objects.cube',
            'motion',
            'statc',
            "did you mean 'static'?",
        ),
        ('world.objects.cube.mass', -1, 'objects.cube', 'mass', '-1.0', 'a positive number [kg]'),
        ('world.objects.cube.rpy', [0, 0], 'objects.cube', 'rpy', '[0, 0]', '3 finite numbers'),
        ('world.objects.cube.sensor', 'on', 'objects.cube', 'sensor', 'on', 'true or false'),
        (
            'world.objects.rod',
            {'cylinder': {'radius': 1}},
            'objects.rod',
            'cylinder',
            "{'radius': 1}",
            'radius and length',
        ),
        ('world.objects.rod', {'mass': 1}, 'objects.rod', 'shapes', '', 'missing; or one of box'),
        (
            'world.objects.rod',
            {'hull': {'file': 'no.stl'}},
            'objects.rod.hull',
            'file',
            'no.stl',
            'looked for no.stl',
        ),
        (
            'world.objects.rod',
            {'shapes': [{'spere': 1}]},
            'objects.rod.shapes[0]',
            'spere',
            '1',
            "did you mean 'sphere'?",
        ),
        ('world.objects.arm', {'box': [1, 1, 1]}, 'robots.arm', 'name', 'arm', 'not taken yet'),
        ('world.robots.arm.urdf', 'arn', 'robots.arm', 'urdf', 'arn', "Did you mean 'arm'?"),
        ('world.robots.arm', {}, 'robots.arm', 'urdf', '', 'missing'),
        (
            'world.robots.arm.urdf',
            'package://no/a.urdf',
            'robots.arm',
            'urdf',
            'package://no/a.urdf',
            "package 'no' is not found",
        ),
        (
            'world.robots.arm.joint_positions',
            {'elbw': 1},
            'robots.arm',
            '',
            '',
            "unknown one-axis joint 'elbw'",
        ),
        (
            'world.robots.arm.sensors',
            {'s': {'type': 'smell'}},
            'robots.arm',
            'sensors',
            '',
            'must be one of force_torque',
        ),
        ('world.apart', [['a']], '', 'apart[0]', "['a']", 'a pair of names'),
    ],
)
def test_defects_are_named(path, value, name, attribute, shown, message):
    """Name the key, the value and the accepted values, for every defect."""
    found = [
        (error.name, error.attribute, error.value)
        for error in errors_of(changed(path, value))
        if message in error.message
    ]
    assert (name, attribute, shown) in found, errors_of(changed(path, value))


def test_lines_are_reported(tmp_path):
    """Report a defect's line in a file."""
    path = tmp_path / 'scene.yaml'
    path.write_text('world:\n  objects:\n    cube:\n      box: [1, 1, 1]\n      mas: 3\n')
    [error] = errors_of(path)
    assert error.line == 5
    assert f'{path}:5: error:' in str(pytest.raises(sb.DescriptionError, read_scene, path).value)


@pytest.mark.parametrize(
    ('setting', 'is_fixed', 'codes'),
    [
        ({'base': 'fixed'}, True, []),
        ({'base': 'free'}, False, []),
        ({'base': 'file'}, False, []),
        ({'base': 'auto'}, False, []),
        ({}, False, []),
        ({'fixed_base': True}, True, ['deprecated-key']),
        ({'fixed_base': False}, False, ['deprecated-key']),
    ],
)
def test_the_base_has_one_name(setting, is_fixed, codes):
    """Fix or free a robot by `base`; take the old name with a warning."""
    scene = {'world': {'robots': {'box': {'urdf': 'floating_box', **setting}}}}
    description = read_scene(scene)
    assert [finding.code for finding in description.report.findings] == codes
    world = sb.World()
    world.load_scene(scene)
    assert world.robots['box'].fixed_base is is_fixed


def test_all_defects_are_reported_at_once():
    """Report every defect of a scene in one run."""
    scene = changed('world.materials.wood.friction', -1)
    scene['world']['objects']['cube']['box'] = 'big'
    scene['world']['robots']['arm']['base'] = 'no'
    assert len(errors_of(scene)) >= 3


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('world: [', 'is no YAML'),
        ('- 1', 'must hold a mapping'),
        ('world: {ground: true, ground: false}', "'ground' is given twice"),
        ('wrld: {}', 'missing'),
        (None, 'cannot be read'),
    ],
)
def test_files_that_are_no_scene_are_refused(tmp_path, content, message):
    """Report why a file is not a scene."""
    path = tmp_path / 'scene.yaml'
    if content is not None:
        path.write_text(content)
    assert any(message in error.message for error in errors_of(path))


def test_nothing_is_added_where_anything_is_wrong():
    """Leave the world unchanged if a scene fails, however late."""
    world = sb.World()
    world.add_ground()
    before = world.state_hash()
    scene = changed('world.robots.arm.joint_positions', {'elbw': 1})
    with pytest.raises(sb.DescriptionError):
        world.load_scene(scene)
    assert list(world.robots) == ['ground']
    assert list(world.materials) == ['default']
    assert world.state_hash() == before


def test_names_may_hold_dots():
    """Keep names complete, whatever characters they contain."""
    world = load("""
        world:
          materials: {rubber.v2: {friction: 0.7}}
          objects:
            cup.1: {sphere: 0.1, mass: 1.0, material: rubber.v2}
            jar.1: {sphere: 0.1, mass: 1.0, enabled: false}
    """)
    assert list(world.robots) == ['cup.1', 'jar.1']
    assert world.robots['cup.1'].geometries[0].material.name == 'rubber.v2'
    assert not world.robots['jar.1'].geometries[0].enabled


@pytest.mark.parametrize(
    ('world', 'attribute', 'message'),
    [
        ({'materials': {'a': {'friction': 0.3, 'roughness': 0.9}}}, 'roughness', 'is given too'),
        ({'materials': {'a': {'viscosity': 2.0}}}, 'viscosity', 'from 0 to 1'),
        (
            {
                'contact_materials': [
                    {'between': ['default', 'default'], 'friction': 0.3, 'mu': 0.9}
                ]
            },
            'mu',
            'is given too',
        ),
        ({'contact_materials': [{'between': ['default', 'default'], 'mo': 0.9}]}, 'mo', 'mu'),
        ({'apart': [['a', '']]}, 'apart[0]', 'pair of names'),
        (
            {
                'objects': {
                    'a': {
                        'motion': 'static',
                        'mesh': {
                            'vertices': [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
                            'triangles': [[0, 1, 1.7]],
                        },
                    }
                }
            },
            'triangles',
            'whole numbers',
        ),
    ],
)
def test_words_that_contradict_are_refused(world, attribute, message):
    """Refuse two keys with the same meaning, and values without one."""
    errors = errors_of({'world': world})
    assert any(error.attribute == attribute and message in error.message for error in errors), [
        str(error) for error in errors
    ]


def test_fields_of_force_act_in_a_world_of_a_scene():
    """Add fields by name to all or some links, and report each defect at its place."""
    world = sb.World()
    world.load_scene(
        {
            'world': {
                'force_fields': {
                    'wind': {'type': 'drag', 'linear': 0.5, 'wind': [3, 0, 0], 'links': ['crate']},
                    'lift': {
                        'type': 'uniform',
                        'acceleration': [0, 0, 9.81],
                        'links': ['crate/crate', 'arm'],
                    },
                    'moon': {'type': 'point_gravity', 'strength': 2},
                },
                'objects': {'crate': {'box': [0.1, 0.1, 0.1], 'mass': 1.0}},
                'robots': {'arm': {'urdf': 'arm', 'base': 'fixed'}},
            }
        }
    )
    assert world.force_fields == {
        'wind': sb.Drag(linear=0.5, wind=(3.0, 0.0, 0.0)),
        'lift': sb.UniformField(acceleration=(0.0, 0.0, 9.81)),
        'moon': sb.PointGravity(strength=2.0),
    }
    before = world.robots['crate'].root_link.p
    world.step()
    force = world.robots['crate'].root_link.last_force
    assert force[0] == pytest.approx(1.5) and force[2] == pytest.approx(0.0, abs=1e-9)
    assert before.shape == (3,)
    for field, words in (
        ({'type': 'gale'}, 'type'),
        ({'linear': 1.0}, 'missing; one of uniform'),
        ({'type': 'drag', 'linear': -1.0}, 'linear'),
        ({'type': 'drag', 'wnd': 3}, 'wnd'),
        ({'type': 'uniform', 'force': [1, 2]}, 'force'),
        ({'type': 'drag', 'links': ['nobody']}, 'nobody'),
        ({'type': 'drag', 'links': ['crate/arm']}, 'arm'),
    ):
        with pytest.raises(sb.DescriptionError, match=words):
            sb.World().load_scene(
                {
                    'world': {
                        'force_fields': {'wind': field},
                        'objects': {'crate': {'box': [0.1, 0.1, 0.1], 'mass': 1.0}},
                    }
                }
            )
