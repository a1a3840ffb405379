"""A failing call leaves the world unchanged, and its error names the argument."""

import math

import numpy as np
import pytest

import sim_bridge as sb

WRONG = [None, 'x', [1], math.nan, math.inf, -1, object(), {}, b'q', (1, 2, 3), [[1]], True, 2**70]


def small_world():
    """Return a sleeping world, so a call that wakes it is noticed."""
    world = sb.World(sleep=sb.Sleep(linear=1.0, angular=1.0, time=0.0, steps=2))
    world.add_ground()
    world.load_urdf('arm', position=(0.0, 0.0, 1.0))
    first = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(1.0, 0.0, 0.1))
    second = world.add_body(sb.Sphere(0.1), mass=1.0, position=(1.0, 0.0, 0.3))
    world.add_joint('hinge', first, second, axis=(0, 1, 0), anchor=(1.0, 0.0, 0.2))
    world.step(5)
    assert world.robots['body'].is_asleep
    return world


def picture(world):
    """Return all values that a failed call must not change."""
    return (
        list(world.robots),
        list(world.joints),
        list(world.materials),
        world.census(),
        len(world.geometries),
        dict(world.registry.last_numbers),
        world.state_hash(),
    )


def fails(call, arguments):
    """Return whether a call raises one of the library's errors; others are raised."""
    try:
        call(**arguments)
    except sb.SimBridgeError:
        return True
    return False


CALLS = {
    'load_urdf': {'path_or_xml': 'arm'},
    'add_robot': {'description': sb.load_description('arm')},
    'add_copy': {},
    'add_body': {'shapes': sb.Sphere(0.1), 'mass': 1.0},
    'add_bodies': {'bodies': [{'shapes': sb.Sphere(0.1), 'mass': 1.0}, {'shapes': None}]},
    'add_ground': {},
    'load_scene': {
        'source': {
            'world': {'objects': {'a': {'box': [1, 1, 1], 'mass': 1.0}, 'b': {'box': [1, 1, -1]}}}
        }
    },
    'add_joint': {'kind': 'ball'},
    'add_angular_motor': {'axes': [(1, 0, 0)]},
    'remove': {'robot': 'nobody'},
    'remove_joint': {'joint': None},
    'restore': {'snapshot': None},
    'exclude': {},
    'set_contact_material': {'a': 'default', 'b': 'default', 'contact_material': None},
    'joint': {},
}
PLACES = {
    'load_urdf': [
        'path_or_xml',
        'name',
        'base',
        'position',
        'orientation',
        'joint_positions',
        'sensors',
        'package_paths',
        'collisions',
        'self_collision',
        'material',
    ],
    'add_robot': ['description', 'name', 'position', 'joint_positions', 'material'],
    'add_copy': ['robot', 'name', 'position', 'orientation'],
    'add_body': [
        'shapes',
        'name',
        'mass',
        'position',
        'orientation',
        'linear_velocity',
        'material',
        'motion',
    ],
    'add_bodies': ['bodies'],
    'add_ground': ['material', 'height'],
    'load_scene': ['source'],
    'add_joint': [
        'kind',
        'first',
        'second',
        'anchor',
        'axis',
        'axis2',
        'anchor2',
        'name',
        'erp',
        'cfm',
        'suspension',
        'tree',
        'collide',
    ],
    'add_angular_motor': ['first', 'second', 'axes', 'fixed_on', 'euler', 'name'],
    'remove': ['robot'],
    'remove_joint': ['joint'],
    'restore': ['snapshot'],
    'exclude': ['a', 'b', 'excluded'],
    'set_contact_material': ['a', 'b', 'contact_material'],
    'joint': ['name'],
}


# true is a former value of `base`
@pytest.mark.filterwarnings('ignore:fixed_base')
@pytest.mark.parametrize('call', CALLS)
def test_wrong_arguments_leave_the_world_unchanged(call):
    """Wrong arguments raise the library's errors and change nothing."""
    world = small_world()
    before, failures = picture(world), 0
    for place in PLACES[call]:
        for wrong in WRONG:
            first = world.robots['body']
            given = {
                'robot': world.robots['arm'],
                'first': first,
                'second': world.robots['body_2'],
                'a': first.root_link,
                'b': world.robots['body_2'].root_link,
            }
            arguments = {
                **{key: value for key, value in given.items() if key in PLACES[call]},
                **CALLS[call],
                place: wrong,
            }
            if fails(getattr(world, call), arguments):
                failures += 1
                assert picture(world) == before, (place, wrong)
            else:
                world = small_world()
                before = picture(world)
    assert failures > 0
    world.step()


def test_interrupted_joint_is_taken_back(monkeypatch):
    """An interrupted addition or removal of a joint leaves the previous state."""
    world = small_world()
    world.add_body(sb.Sphere(0.1), mass=1.0, position=(1.0, 0.0, 0.6))
    before = picture(world)
    hinge = world.joints['hinge']

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr('sim_bridge.world.spanning_tree.SpanningTree._set_rates', interrupted)
        with pytest.raises(KeyboardInterrupt):
            world.add_joint('ball', world.robots['body_2'], world.robots['body_3'])
    assert picture(world) == before
    with monkeypatch.context() as patch:
        patch.setattr('sim_bridge.robots.robot.Robot.set_base_velocity', interrupted)
        with pytest.raises(KeyboardInterrupt):
            world.remove_joint(hinge)
    assert picture(world) == before
    assert world.joints['hinge'] is hinge
    world.step()


def test_open_loop_leaves_nothing_behind(monkeypatch):
    """A robot whose loop stays open leaves no part behind."""
    world = small_world()
    before = picture(world)

    def stuck(*_):
        return 'it stays open'

    monkeypatch.setattr('sim_bridge.robots.loop_assembly._open_loop', stuck)
    with pytest.raises(sb.StateError, match='it stays open'):
        world.load_urdf('four_bar')
    assert picture(world) == before


def test_default_names_do_not_skip_failures():
    """A failed addition uses up no default name."""
    world = sb.World()
    for _ in range(3):
        with pytest.raises(sb.SimBridgeError):
            world.add_body(sb.Sphere(0.1), mass=1.0, position=None)
    assert world.add_body(sb.Sphere(0.1), mass=1.0).name == 'body'


@pytest.mark.parametrize('wrong', [None, 'arm', 3])
@pytest.mark.parametrize('function', ['mass_matrix', 'bias_forces'])
def test_dynamics_name_wrong_robots(function, wrong):
    """Functions of dynamics name an argument that is no robot."""
    with pytest.raises(sb.InvalidValueError, match=r'robot = .*a robot of a world'):
        getattr(sb.dynamics, function)(wrong)


@pytest.mark.parametrize('what', ['q', 'dq', 'u'])
@pytest.mark.parametrize('wrong', [math.nan, math.inf, -math.inf])
def test_arrays_of_robots_take_finite_numbers_only(what, wrong):
    """Assigning non-finite numbers names the joint and changes nothing."""
    arm = sb.World().load_urdf('arm')
    values = np.linspace(0.1, 0.2, len(arm.q))
    setattr(arm, what, values)
    damaged = values.copy()
    damaged[2] = wrong
    for given in (damaged, damaged.tolist()):
        with pytest.raises(sb.InvalidValueError, match=f'{what} = .*{arm.joint_names[2]}'):
            setattr(arm, what, given)
    with pytest.raises(sb.InvalidValueError, match=f'{what} = .*{arm.joint_names[0]}'):
        setattr(arm, what, wrong)
    assert getattr(arm, what).tolist() == values.tolist()
    setattr(arm, what, 1e200)
    assert (getattr(arm, what) == 1e200).all()


def test_position_beyond_a_stop_is_taken_and_pushed_back():
    """A position beyond a stop can be set; the stop pushes it back."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    arm = world.load_urdf('arm')
    joint = next(each for each in arm.joints if each.axes and math.isfinite(each.upper))
    joint.q = joint.upper + 0.01
    assert joint.q == joint.upper + 0.01
    world.step(200)
    assert joint.q < joint.upper + 1e-3


def test_shipped_robot_is_found_by_its_name():
    """A shipped robot loads by its name; other names get a list."""
    world = sb.World()
    assert (
        world.load_urdf('arm').description.links.keys()
        == sb.load_description('urdf/arm.urdf').links.keys()
    )
    with pytest.raises(sb.DescriptionError, match='shipped are arm, ') as caught:
        world.load_urdf('amr')
    names = str(caught.value).partition('shipped are ')[2].splitlines()[0].partition(' [')[0]
    for name in names.split(', '):
        assert sb.load_description(name).links, name


@pytest.mark.parametrize('name', ['clock', 'excavator', 'rod'])
def test_shipped_scenes_are_found_by_their_names(name):
    """Load an OpenPLX scene by its name; load_urdf names the method to call."""
    world = sb.World()
    with pytest.raises(sb.DescriptionError, match=r'World\.load_openplx\('):
        world.load_urdf(name)
    assert not world.robots
    assert world.load_openplx(name).robots
    with pytest.raises(sb.DescriptionError, match='too long'):
        world.load_openplx('x' * 5000)


def test_a_pair_with_an_unknown_material_adds_none():
    """The first material of the pair is new, and the second does not exist."""
    world = small_world()
    before = picture(world)
    ice = sb.Material('ice', friction=0.01)
    with pytest.raises(sb.UnknownNameError, match="unknown material 'left'"):
        world.set_contact_material(ice, 'left', sb.ContactMaterial(friction=0.5))
    assert picture(world) == before
    world.set_contact_material(ice, 'default', sb.ContactMaterial(friction=0.5))
    assert world.materials.contact_material('ice', 'default').friction == 0.5
