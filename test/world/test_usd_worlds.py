"""Worlds in USD stages: robots, objects, scenery, contacts, light, verbs."""

import math

import numpy as np
import pytest
from usd_files import body, joint, write

import sim_bridge as sb
from sim_bridge.cli.main import main
from sim_bridge.description.scene.reader import is_world

_SCENE = """def PhysicsScene "scene"
{
    vector3f physics:gravityDirection = (0, 0, -1)
    float physics:gravityMagnitude = 5
}
"""
_FLOOR = 'def Plane "floor" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}\n'
_CUBE = """def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"{schemas}])
{{
    double size = {size}
{text}
}}
"""


def cube(size=0.2, text='', schemas=''):
    """Return a cubic collider."""
    return _CUBE.format(size=size, text=text, schemas=schemas)


def load(folder, text, **units):
    """Load a stage as a world."""
    world = sb.World(time_step=0.002)
    world.load_scene(write(folder, text, **units))
    return world


def height(world, name):
    """Return the height of an object's first link."""
    return float(world.robots[name].root_link.p[2])


def test_objects_fall_to_the_plane_by_the_gravity_of_the_scene(tmp_path):
    """Fall freely, then rest on the floor; a static box carries another body."""
    text = (
        _SCENE + _FLOOR + body('box', cube(), at='0, 0, 1') + body('upper', cube(), at='3, 0, 2')
    )
    text += 'def Xform "table"\n{\n    double3 xformOp:translate = (3, 0, 0.5)\n'
    text += f'    uniform token[] xformOpOrder = ["xformOp:translate"]\n{cube(1.0)}}}\n'
    world = load(tmp_path, text)
    assert world.gravity == pytest.approx((0.0, 0.0, -5.0))
    world.step(150)
    assert height(world, 'box') == pytest.approx(1.0 - 0.5 * 5.0 * 0.3**2, abs=1e-2)
    world.step(1500)
    assert height(world, 'box') == pytest.approx(0.1, abs=1e-3)
    assert height(world, 'upper') == pytest.approx(1.1, abs=1e-3)


def test_a_world_in_centimetres_with_y_up_is_the_same_world(tmp_path):
    """Have gravity and heights in metres, along z."""
    text = _FLOOR.replace('{}', '{\n    token axis = "Y"\n}') + body(
        'box', cube(20.0), at='0, 100, 0'
    )
    scene = 'def PhysicsScene "scene" {}\n'
    text = text.replace('(0.1, 0.2, 0.3)', '(1e3, 2e3, 3e3)')
    world = load(tmp_path, scene + text, meters=0.01, up='Y')
    assert world.gravity == pytest.approx((0.0, 0.0, -9.81))
    assert height(world, 'box') == pytest.approx(1.0)
    world.step(1000)
    assert height(world, 'box') == pytest.approx(0.1, abs=1e-3)


def test_robots_and_objects_are_told_apart(tmp_path):
    """Read two robots with topics of their own, an object, and static scenery."""
    text = ''.join(
        body(f'{side}_post', at=place)
        + body(f'{side}_rod', at=place)
        + joint('RevoluteJoint', f'{side}_hinge', f'{side}_post', f'{side}_rod')
        for side, place in (('left', '0, 1, 0'), ('right', '0, -1, 0'))
    )
    path = write(tmp_path, _FLOOR + text + body('box', cube(), at='5, 0, 1') + cube())
    assert is_world(path)
    world = sb.World()
    world.load_scene(path)
    assert set(world.robots) >= {'left_post', 'right_post', 'box', 'scenery'}
    assert world.robots['left_post'].joint_names == ['left_hinge']
    assert world.robots['left_post'].links[0].p == pytest.approx([0.0, 1.0, 0.0])


def test_a_stage_with_one_robot_alone_is_a_robot(tmp_path):
    """Take a stage with one tree of bodies as a robot."""
    text = body('post') + body('rod') + joint('RevoluteJoint', 'hinge', 'post', 'rod')
    path = write(tmp_path, text)
    assert not is_world(path)
    assert sb.World().load_urdf(path).joint_names == ['hinge']


def test_kinematic_bodies_are_moved_by_the_program(tmp_path):
    """Keep a kinematic body in place, and move it."""
    flag = '    bool physics:kinematicEnabled = true\n'
    world = load(tmp_path, _SCENE + _FLOOR + body('lift', flag + cube(), at='0, 0, 1'))
    world.step(200)
    assert height(world, 'lift') == 1.0
    world.robots['lift'].move_to((0.0, 0.0, 1.5))
    world.step(1)
    assert height(world, 'lift') == pytest.approx(1.5)


@pytest.mark.parametrize(('inverted', 'passes'), [(False, True), (True, False)])
def test_collision_groups_decide_the_contacts(tmp_path, inverted, passes):
    """Let bodies of two groups pass each other if one filters the other."""
    group = """def PhysicsCollisionGroup "{0}" (prepend apiSchemas = ["CollectionAPI:colliders"])
{{
    rel collection:colliders:includes = </stage/{1}>
    rel physics:filteredGroups = </stage/{2}>
    bool physics:invertFilteredGroups = {3}
}}
"""
    text = _SCENE + _FLOOR + body('box', cube(), at='0, 0, 0.5')
    text += group.format('boxes', 'box', 'grounds', int(inverted))
    text += group.format('grounds', 'floor', 'boxes', int(inverted))
    world = load(tmp_path, text)
    world.step(1500)
    assert (height(world, 'box') < -1.0) is passes


def test_filtered_pairs_of_two_bodies_pass_each_other(tmp_path):
    """Let a body fall through the one that it is paired with, and not through the floor."""
    pair = '    rel physics:filteredPairs = </stage/lower>\n'
    text = _SCENE + _FLOOR + body('lower', cube(), at='0, 0, 0.1')
    text += body('upper', cube() + pair, at='0, 0, 0.6', schemas=', "PhysicsFilteredPairsAPI"')
    world = load(tmp_path, text)
    world.step(1500)
    assert height(world, 'upper') == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize(
    ('mode', 'friction'), [('average', 0.5), ('min', 0.2), ('max', 0.8), ('multiply', 0.16)]
)
def test_two_materials_combine_by_their_mode(tmp_path, mode, friction):
    """Decelerate a sliding body by the combined friction of its material and the floor's."""
    material = """def Material "m{0}" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{{
    float physics:dynamicFriction = {1}
    float physics:staticFriction = {1}
    uniform token physxMaterial:frictionCombineMode = "{2}"
}}
"""
    text = _SCENE + material.format(1, 0.2, mode) + material.format(2, 0.8, 'average')
    binding = '    rel material:binding:physics = </stage/m{0}>\n'
    schemas = ', "MaterialBindingAPI"'
    plane = _FLOOR.replace('API"]', f'API"{schemas}]').replace(
        '{}', '{\n' + binding.format(2) + '}'
    )
    text += plane + body('box', cube(text=binding.format(1), schemas=schemas), at='0, 0, 0.1')
    world = load(tmp_path, text)
    world.step(10)
    world.robots['box'].set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(50)
    speed = float(world.robots['box'].links[0].v[0])
    assert speed == pytest.approx(1.0 - friction * 5.0 * 0.1, abs=0.02)


def test_lights_of_the_stage_shine(tmp_path):
    """Read a distant light as a directional lamp, a dome as ambient light."""
    text = 'def DistantLight "sun"\n{\n    color3f inputs:color = (1, 0.5, 0)\n}\n'
    world = load(tmp_path, text + 'def DomeLight "sky" {}\n' + _FLOOR + body('box', cube()))
    lamps = world.surroundings.lamps
    assert len(lamps) == 1 and lamps[0].kind == 'directional'
    assert np.argmax(lamps[0].color) == 0


def test_check_and_convert_take_stages(tmp_path, capsys):
    """Check a stage, and write its robot as MJCF, SDF and URDF with the same mass."""
    text = body('post') + body('rod', at='0, 0, 1')
    path = write(tmp_path, text + joint('RevoluteJoint', 'hinge', 'post', 'rod'))
    assert main(['check', str(path)]) == 0
    for suffix in ('xml', 'sdf', 'urdf'):
        target = tmp_path / f'robot.{suffix}'
        assert main(['convert', str(path), str(target)]) == 0
        assert sb.World().load_urdf(target).mass == pytest.approx(4.0)
    capsys.readouterr()


def test_a_stage_is_a_robot_of_a_scene_file(tmp_path):
    """Name a stage in a scene in YAML."""
    text = body('post') + body('rod') + joint('RevoluteJoint', 'hinge', 'post', 'rod')
    write(tmp_path, text)
    scene = tmp_path / 'scene.yaml'
    scene.write_text('world:\n  robots:\n    one: {urdf: stage.usda, position: [0, 0, 2]}\n')
    world = sb.World()
    world.load_scene(scene)
    assert world.robots['one'].joint_names == ['hinge']
    assert math.isclose(float(world.robots['one'].links[0].p[2]), 2.0)


def test_further_scenes_are_named(tmp_path):
    """Take gravity and step from the first scene; name the second."""
    second = _SCENE.replace('"scene"', '"other"').replace('= 5', '= 7')
    first = _SCENE.replace('= 5', '= 5\n    int newton:timeStepsPerSecond = 250')
    world = sb.World()
    scene = world.load_scene(write(tmp_path, first + second + _FLOOR + body('box', cube())))
    assert scene.time_step == 0.004 and scene.gravity == (0.0, 0.0, -5.0)
    assert [each.name for each in scene.report.findings] == ['/stage/other']


def test_disabled_bodies_are_part_of_the_world(tmp_path):
    """Keep a body with a disabled rigid body where it is; accept bodies that start asleep."""
    flag = '    bool physics:rigidBodyEnabled = false\n'
    asleep = '    bool physics:startsAsleep = true\n'
    text = _SCENE + body('table', flag + cube(), at='0, 0, 1')
    text += body('box', asleep + cube(), at='0, 0, 1.5')
    world = load(tmp_path, text)
    assert set(world.robots) == {'scenery', 'box'}
    world.step(1000)
    assert height(world, 'box') == pytest.approx(1.2, abs=1e-3)
