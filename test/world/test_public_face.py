"""Public attributes of worlds and their parts, and refused ones."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sim_bridge as sb


@pytest.fixture(scope='module')
def things():
    """Return one object of each public class from a world after some steps."""
    world = sb.World()
    world.add_ground()
    robot = world.load_urdf('urdf/tracked_vehicle.urdf', name='tank', position=(0.0, 0.0, 0.14))
    world.step(5)
    arm = sb.World().load_urdf('urdf/arm.urdf')
    joint = arm.joint(arm.joint_names[0])
    return {
        'world': world,
        'robot': robot,
        'link': robot.root_link,
        'joint': joint,
        'axis': joint.axes[0],
        'sensor': arm.devices(sb.ForceSensor)[0],
        'imu': arm.devices(sb.ImuSensor)[0],
        'geometry': robot.geometries[0],
        'crawler': robot.crawlers[0],
        'materials': world.materials,
        'contacts': world.contacts,
    }


@pytest.mark.parametrize(
    ('what', 'there', 'internal'),
    [
        (
            'world',
            {'step', 'robots', 'add_joint', 'save', 'materials'},
            {
                'simulation',
                'registry',
                'tree',
                'settle',
                'invalidate',
                'admit',
                'dismiss',
                'census',
            },
        ),
        (
            'robot',
            {'q', 'links', 'command_effort', 'motion', 'world'},
            {'simulation', 'slot', 'part', 'blueprint', 'bind', 'rebuild', 'wake', 'site'},
        ),
        ('link', {'p', 'R', 'add_force', 'joint', 'robot'}, {'slot', 'placement', 'surroundings'}),
        ('geometry', {'enabled', 'material', 'link'}, {'slot', 'index', 'record', 'put_on'}),
        ('crawler', {'speed', 'axis'}, set()),
        (
            'sensor',
            {'f', 'tau', 'name', 'link', 'truth', 'update_rate', 'frame_id'},
            {'w', 'dv', 'memory', 'noises', 'prepare', 'retire', 'save'},
        ),
        ('imu', {'w', 'dv', 'orientation', 'gyro', 'accelerometer'}, {'f', 'tau', 'kind'}),
        (
            'materials',
            {'add', 'contact_material', 'keys'},
            {'number', 'take', 'save', 'pair_laws'},
        ),
        ('contacts', {'positions', 'forces', 'force_on'}, set()),
    ],
)
def test_dir_lists_public_names_only(things, what, there, internal):
    """List public names by dir, and no internal ones."""
    shown = set(dir(things[what]))
    assert there <= shown
    assert not shown & internal
    assert not [name for name in shown if name.startswith('_')]


@pytest.mark.parametrize(
    ('what', 'name', 'meant'),
    [
        ('world', 'gravty', 'gravity'),
        ('robot', 'joint_name', 'joint_names'),
        ('link', 'gemetries', 'geometries'),
        ('geometry', 'enable', 'enabled'),
        ('crawler', 'sped', 'speed'),
        ('sensor', 'update_rat', 'update_rate'),
        ('materials', 'contact_materials', 'contact_material'),
        ('contacts', 'force', 'forces'),
    ],
)
def test_unknown_attributes_are_refused(things, what, name, meant):
    """Refuse to read or set unknown names, and suggest the probable one."""
    for use in (lambda: getattr(things[what], name), lambda: setattr(things[what], name, 1.0)):
        with pytest.raises(AttributeError, match=f"'{name}'.*did you mean '{meant}'"):
            use()


def test_no_public_class_takes_unknown_attributes():
    """Refuse any undeclared name, in every public class."""
    public = [each for each in map(partial(getattr, sb), dir(sb)) if isinstance(each, type)]
    public += [
        type(each)
        for each in (
            sb.World().materials,
            sb.World().report,
            sb.World().save(),
            sb.World().energy(),
            sb.laws.TrajRef([0.0], 1.0, 1.0),
        )
    ]
    scene = sb.World().load_openplx('urdf/excavator.openplx')
    public += [
        type(scene),
        type(next(iter(scene.inputs.values()))),
        type(next(iter(scene.outputs.values()))),
    ]
    # devices without a link have no reading; only the kinds in `things` are tried
    kinds = [
        kind
        for kind in public
        if not issubclass(kind, Exception)
        and kind is not sb.Shape
        and not hasattr(kind, 'update_rate')
    ]
    assert len(kinds) > 40
    for kind in kinds:
        thing = kind.__new__(kind, *[0] * len(getattr(kind, '_fields', ())))
        with pytest.raises(AttributeError, match='not_declared'):
            thing.not_declared = 1
    scene = sb.World().load_openplx('urdf/excavator.openplx')
    for thing, name, meant in (
        (scene, 'robot', 'robots'),
        (sb.laws.TrajRef([0.0], 1.0, 1.0), 'omga', 'omega'),
        (sb.ConvexHull(np.vstack([np.zeros(3), np.eye(3)])), 'vertexes', 'vertices'),
    ):
        with pytest.raises(AttributeError, match=f"'{name}'; did you mean '{meant}'"):
            setattr(thing, name, 1)


@pytest.mark.parametrize(
    ('what', 'name'),
    [
        *(
            ('world', name)
            for name in (
                'time',
                'time_step',
                'robots',
                'materials',
                'contacts',
                'joints',
                'step',
                'seed',
            )
        ),
        *(
            ('robot', name)
            for name in (
                'mass',
                'name',
                'world',
                'description',
                'joint_names',
                'geometries',
                'simulation',
            )
        ),
        *(('link', name) for name in ('p', 'robot', 'name', 'parent', 'joint', 'children')),
        *(('joint', name) for name in ('name', 'axes', 'type')),
        ('axis', 'joint'),
        *(('geometry', name) for name in ('shape', 'link', 'name')),
        *(('crawler', name) for name in ('link', 'name')),
        *(('sensor', name) for name in ('name', 'link', 'truth', 'f', 'update_rate')),
        ('materials', 'add'),
        ('contacts', 'forces'),
    ],
)
def test_read_only_attributes_cannot_be_set(things, what, name):
    """Refuse to set identifying and derived attributes."""
    thing = things[what]
    with pytest.raises(AttributeError, match=f'{type(thing).__name__}.{name} cannot be set'):
        setattr(thing, name, np.zeros(3))


@pytest.mark.parametrize('name', ['time_step', 'seed'])
def test_constructor_arguments_of_a_world_stay(things, name):
    """Tell users to create another world when they set a constructor argument."""
    with pytest.raises(AttributeError, match=rf'make another World\({name}='):
        setattr(things['world'], name, 1)


@pytest.mark.parametrize('count', [-1, 2.5, True, 'three'])
def test_a_step_count_is_a_whole_number(count):
    """Refuse any other step count, and keep the current one."""
    world = sb.World()
    world.step_count = 7
    with pytest.raises(sb.InvalidValueError, match='step_count'):
        world.step_count = count
    assert world.step_count == 7


@pytest.mark.parametrize(
    ('what', 'word', 'meant'),
    [
        ('robot', 'positions', "'q'"),
        ('robot', 'joint_velocities', "'dq'"),
        ('joint', 'acceleration', "'ddq'"),
        ('joint', 'torque', "'u'"),
        ('joint', 'limits', "'lower' and 'upper'"),
        ('axis', 'effort', "'u'"),
        ('link', 'pose', "'p' and 'R'"),
        ('link', 'mass', "'m'"),
        ('link', 'velocity', "'v'"),
        ('sensor', 'force', "'f'"),
        ('sensor', 'torque', "'tau'"),
        ('world', 'dt', "'time_step'"),
    ],
)
def test_usual_words_lead_to_the_attributes(things, what, word, meant):
    """Map long words to the short attribute names."""
    with pytest.raises(AttributeError, match=f"no attribute '{word}'; did you mean {meant}\\?$"):
        getattr(things[what], word)


def test_unmeasured_quantities_are_refused(things):
    """Name the measured quantities instead, for any way of access, and let hasattr work."""
    sensor, imu = things['sensor'], things['imu']
    for read in (lambda: sensor.w, lambda: sensor['angular_velocity'], lambda: sensor.truth.w):
        with pytest.raises(sb.UnknownNameError, match="'wrist_ft'. Known: force, torque"):
            read()
    assert not hasattr(sensor, 'w') and not hasattr(imu, 'f') and hasattr(imu, 'w')
    assert set(dir(sensor.truth)) == {'f', 'tau'} and set(dir(imu.truth)) == {'w', 'dv'}
    assert np.array_equal(imu.truth.w, imu.gyro.truth.w, equal_nan=True)


def test_things_by_name_tell_the_names_there_are(things):
    """Raise UnknownNameError, a KeyError, for unknown robots and joints."""
    world = things['world']
    with pytest.raises(sb.UnknownNameError, match="'tnak'.*'tank'.*Known: ground, tank") as caught:
        world.robots['tnak']
    assert isinstance(caught.value, KeyError)
    assert 'tnak' not in world.robots and world.robots.get('tnak') is None
    with pytest.raises(sb.UnknownNameError, match='no joint at all'):
        world.joints['hinge']


def test_representations_show_the_state(things):
    """Show time, sizes, mass and position first."""
    world, robot = things['world'], things['robot']
    assert repr(world).startswith('<World at 0.005 s (step 5): 2 robots (ground, tank), ')
    assert f'{world.contact_count} contacts' in repr(world)
    assert f'{robot.mass:.4g} kg' in repr(robot) and 'base dynamic' in repr(robot)
    assert f"of 'tank' at ({robot.root_link.p[0]:.4g}, " in repr(things['link'])
    contact = max(world.contacts, key=lambda each: np.linalg.norm(each.force))
    assert 'ground' in repr(contact) and ' N, ' in repr(contact) and 'm deep' in repr(contact)


def test_representations_are_short(things):
    """Show the contents of a snapshot, a state, a description, a device, a material table."""
    world = sb.World()
    ball = world.add_body(sb.Sphere(0.1), 'ball', mass=1.0)
    assert repr(ball) == "<Robot 'ball': 1 link, 0 one-axis joints, 1 kg, base dynamic>"
    assert repr(world) == '<World at 0 s (step 0): 1 robot (ball), 0 contacts>'
    assert repr(world.save()) == '<Snapshot at step 0: 1 robot (ball)>'
    assert repr(world.state) == '<State: 7 positions, 6 velocities, 1 body, 0 contacts>'
    assert repr(world.materials) == '<MaterialTable: default>'
    assert repr(things['sensor']) == "<ForceSensor 'wrist_ft' on 'tool_flange', 1000 Hz>"
    assert repr(things['sensor'].truth).startswith('<Reading: force = [')
    description = repr(things['joint'].robot.description)
    assert description.startswith("<RobotDescription 'arm' from 'urdf/arm.urdf': 14 links, ")


def test_the_package_lists_its_public_names():
    """List exactly the package's public names by dir."""
    assert dir(sb) == sorted(sb.__all__)
    assert {'ConstraintJoint', 'Joint', 'World'} <= set(dir(sb)) and 'importlib' not in dir(sb)


def test_a_misspelt_name_of_the_package_gets_a_hint():
    """Name the probable class; without a close name, give no hint."""
    with pytest.raises(AttributeError, match="no attribute 'Wrld'; did you mean 'World'"):
        _ = sb.Wrld
    with pytest.raises(AttributeError, match="no attribute 'qqqqq'$"):
        _ = sb.qqqqq


def test_help_describes_delegated_properties(things):
    """Give every public attribute of the views a docstring, from any source of its value."""
    for thing in things.values():
        kind = type(thing)
        bare = [
            name
            for name in dir(thing)
            if isinstance(getattr(kind, name, None), property) and not getattr(kind, name).__doc__
        ]
        assert not bare, kind
    assert sb.World.time_step.__doc__ == 'Length of a step [s].'


def test_mimic_joints_are_not_actuated():
    """List the one-axis joints that follow no other."""
    robot = sb.World().load_urdf("""<robot name="pair">
      <link name="world"/><link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="first" type="continuous"><parent link="world"/><child link="a"/>
        <axis xyz="0 0 1"/></joint>
      <joint name="second" type="continuous"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 1"/><mimic joint="first"/></joint></robot>""")
    assert robot.joint_names == ['first', 'second']
    assert robot.actuated_joints == ['first']


def test_a_removed_robot_can_still_be_shown():
    """Report in repr that a robot and its links were removed, rather than fail."""
    world = sb.World()
    body = world.add_body(sb.Sphere(0.1), 'ball', mass=1.0)
    link = body.root_link
    world.remove(body)
    assert '0 robots' in repr(world) and 'ball' in repr(body.geometries[0])
    assert 'removed' in repr(body) and 'removed' in repr(link)
    with pytest.raises(sb.StateError, match="'ball' was removed"):
        _ = body.world
    with pytest.raises(AttributeError, match='Robot.world cannot be set: add_copy'):
        body.world = world
