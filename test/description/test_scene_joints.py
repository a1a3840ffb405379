"""Joints, media, sleep and settings in scene files: results, and findings for wrong ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import yaml

import sim_bridge as sb
from sim_bridge.description.scene.joints import AXIS_NUMBERS
from sim_bridge.description.scene.values import SLEEP_KEYS
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.parameters import Parameter
from sim_bridge.simulation.records import Sleep

BODIES = """
    a: {motion: static, box: [0.2, 0.2, 0.2], position: [0, 0, 2]}
    b: {box: [0.2, 0.2, 0.2], position: [0.5, 0, 2], mass: 1.5}
    c: {sphere: 0.1, position: [1, 0, 2], mass: 0.5}
"""


def bodies() -> sb.World:
    """Return a world with the bodies above, made in Python."""
    world = sb.World()
    world.add_body(sb.Box((0.2, 0.2, 0.2)), 'a', motion='static', position=(0, 0, 2))
    world.add_body(sb.Box((0.2, 0.2, 0.2)), 'b', position=(0.5, 0, 2), mass=1.5)
    world.add_body(sb.Sphere(0.1), 'c', position=(1, 0, 2), mass=0.5)
    return world


def of_scene(text: str, more: str = '') -> sb.World:
    """Return a world with the bodies above and joints, from a scene."""
    world = sb.World()
    world.load_scene(yaml.safe_load(f'world:\n{more}  objects:{BODIES}  joints:\n{text}'))
    return world


def errors_of(tmp_path, text: str) -> list[str]:
    """Return the findings for a scene with the bodies above."""
    file = tmp_path / 'scene.yaml'
    file.write_text(f'world:\n  objects:{BODIES}{text}')
    with pytest.raises(sb.DescriptionError, match='cannot be loaded') as caught:
        sb.World().load_scene(file)
    return caught.value.report.to_text().replace(str(file), 'scene.yaml').splitlines()[:-1]


def _hinge(world, a, b, c):
    hinge = world.add_joint('hinge', a, b, (0.3, 0, 2), (0, 1, 0), name='j')
    hinge.damping, hinge.lower, hinge.upper, hinge.bounce = 0.1, -1.0, 0.5, 0.3
    hinge.effort_limit = 9.0
    hinge.lower_effort_limit = -2.0
    hinge.control = 'servo'
    hinge.kp, hinge.kd, hinge.target_position = 30.0, 1.0, 0.4
    return hinge


def _compliant(world, a, b, c):
    joint = world.add_joint(
        'fixed',
        a,
        b,
        (0.3, 0, 2),
        tree=False,
        collide=True,
        name='j',
        compliance=((1e4, 1e4, 1e4, 1e2, 1e2, 1e2), 10.0),
    )
    joint.break_force, joint.break_torque = 900.0, 80.0
    world.joint_groups.add('held', [joint])


def _hinge2(world, a, b, c):
    joint = world.add_joint(
        'hinge2', a, b, (0.5, 0, 2), (0, 0, 1), (1, 0, 0), suspension=(2e3, 50.0), name='j'
    )
    joint.axes[0].lower, joint.axes[0].upper = -0.2, 0.2
    joint.axes[1].control = 'velocity'
    joint.axes[1].max_effort, joint.axes[1].target_velocity = 3.0, 5.0


def _motors(world, a, b, c):
    world.add_joint('ball', b, c, (0.8, 0, 2), name='j', tree=False, erp=0.4, cfm=1e-5)
    motor = world.add_angular_motor(
        b, c, [(0, 0, 1), (1, 0, 0)], fixed_on=('first', 'world'), name='m'
    )
    motor.axes[0].q = 0.3
    motor.axes[0].stiffness, motor.axes[1].friction = 2.0, 0.1
    hinge = world.add_joint('slider', a, b, axis=(1, 0, 0), name='s')
    world.add_motor(hinge, name='brake').friction = 4.0


def _euler(world, a, b, c):
    world.add_joint('ball', a, b, (0.25, 0, 2), name='j')
    motor = world.add_angular_motor(a, b, [(0, 0, 1), (1, 0, 0)], euler=True, name='m')
    motor.axes[1].damping = 0.5


@pytest.mark.parametrize(
    ('text', 'build'),
    [
        (
            """
    j: {type: hinge, between: [a, b], anchor: [0.3, 0, 2], axis: [0, 1, 0], damping: 0.1,
        lower: -1, upper: 0.5, bounce: 0.3, effort_limit: 9, lower_effort_limit: -2,
        control: servo, kp: 30, kd: 1, target_position: 0.4}
""",
            _hinge,
        ),
        (
            """
    j: {type: fixed, between: [a, b], anchor: [0.3, 0, 2], tree: false, collide: true,
        compliance: {stiffness: [1.0e4, 1.0e4, 1.0e4, 100, 100, 100], damping: 10},
        break_force: 900, break_torque: 80, groups: [held]}
""",
            _compliant,
        ),
        (
            """
    j: {type: hinge2, between: [a, b], anchor: [0.5, 0, 2], axis: [0, 0, 1], axis2: [1, 0, 0],
        suspension: {stiffness: 2000, damping: 50},
        axes: [{lower: -0.2, upper: 0.2},
               {control: velocity, max_effort: 3, target_velocity: 5}]}
""",
            _hinge2,
        ),
        (
            """
    j: {type: ball, between: [b, c], anchor: [0.8, 0, 2], tree: false, erp: 0.4, cfm: 1.0e-5}
    m: {type: angular_motor, between: [b, c],
        axes: [{direction: [0, 0, 1], q: 0.3, stiffness: 2},
               {direction: [1, 0, 0], fixed_on: world, friction: 0.1}]}
    s: {type: slider, between: [a, b], axis: [1, 0, 0]}
    brake: {type: motor, beside: s, friction: 4}
""",
            _motors,
        ),
        (
            """
    j: {type: ball, between: [a, b], anchor: [0.25, 0, 2]}
    m: {type: angular_motor, between: [a, b], euler: true,
        axes: [{direction: [0, 0, 1]}, {damping: 0.5}, {direction: [1, 0, 0]}]}
""",
            _euler,
        ),
        *[
            (
                f'\n    j: {{type: {kind}, between: [b, world], anchor: [0.5, 0, 2.3]{axes}}}\n',
                lambda world, a, b, c, kind=kind, own=own: world.add_joint(
                    kind, b, None, (0.5, 0, 2.3), name='j', **own
                ),
            )
            for kind, axes, own in (
                ('piston', ', axis: [0, 1, 0]', {'axis': (0, 1, 0)}),
                ('planar', '', {}),
                (
                    'universal',
                    ', axis: [0, 1, 0], axis2: [1, 0, 0]',
                    {'axis': (0, 1, 0), 'axis2': (1, 0, 0)},
                ),
                ('distance', ', anchor2: [0.5, 0, 2.9]', {'anchor2': (0.5, 0, 2.9)}),
            )
        ],
        *[
            (
                f'\n    j: {{type: {kind}, between: [a, b], damping: 3}}\n',
                lambda world, a, b, c, kind=kind: setattr(
                    world.add_joint(kind, a, b, name='j'), 'damping', 3.0
                ),
            )
            for kind in ('hinge_motor', 'slider_motor')
        ],
    ],
    ids=[
        'hinge',
        'fixed',
        'hinge2',
        'motors',
        'euler',
        'piston',
        'planar',
        'universal',
        'distance',
        'hinge_motor',
        'slider_motor',
    ],
)
def test_joints_have_the_bits_of_code(text, build):
    """Build a joint of every kind in both ways; the states are equal initially and after steps."""
    world, own = of_scene(text), bodies()
    build(own, *map(own.robots.get, 'abc'))
    assert world.state_hash() == own.state_hash()
    assert {name: joint.type for name, joint in world.joints.items()} == {
        name: joint.type for name, joint in own.joints.items()
    }
    assert world.joint_groups.keys() == own.joint_groups.keys()
    for each in (world, own):
        each.step(50)
    assert world.state_hash() == own.state_hash()


def test_every_axis_parameter_is_read():
    """Take the keys for axes and sleep from the classes, so that none is forgotten."""
    assert set(AXIS_NUMBERS) == {
        name for name, value in vars(Axis).items() if isinstance(value, Parameter)
    }
    assert set(SLEEP_KEYS) == set(Sleep.__dataclass_fields__)


MEDIA = """
  solver: split
  iterations: 30
  erp: 0.4
  cfm: 1.0e-6
  contact_margin: 1.0e-3
  integrator: rk5
  sleep: {linear: 0.05, steps: 3}
  objects:
    ball: {sphere: 0.1, position: [0, 0, 1], gravity: false, linear_velocity_damping: 0.5,
           angular_velocity_damping: [1, 2, 3], mass_coefficients: [0, 0, 1],
           inertia_coefficients: 0.2, linear_velocity: [1, 0, 0], sleep: false}
    crate: {box: [0.1, 0.1, 0.1], position: [3, 0, 1], disabled: true}
  robots:
    left: {urdf: pendulum, sleep: {time: 2}, links: {LINK: {gravity: false}},
           joints: {JOINT: {damping: 0.7, lower: -0.5, upper: 0.5}}}
"""


def test_media_rest_and_settings_have_the_bits_of_code():
    """Set media on links, sleep settings, robot joints and world settings."""
    own = sb.World(
        solver='split',
        iterations=30,
        erp=0.4,
        cfm=1e-6,
        contact_margin=1e-3,
        integrator='rk5',
        sleep=sb.Sleep(0.05, steps=3),
    )
    ball = own.add_body(
        sb.Sphere(0.1), 'ball', position=(0, 0, 1), linear_velocity=(1, 0, 0)
    ).root_link
    ball.gravity = False
    ball.linear_velocity_damping = (0.5, 0.5, 0.5)
    ball.angular_velocity_damping = (1, 2, 3)
    ball.mass_coefficients, ball.inertia_coefficients = (0, 0, 1), (0.2, 0.2, 0.2)
    crate = own.add_body(sb.Box((0.1, 0.1, 0.1)), 'crate', position=(3, 0, 1))
    robot = own.load_urdf('pendulum', 'left')
    link, joint = robot.links[-1].name, robot.actuated_joints[0]
    robot.link(link).gravity = False
    robot.joint(joint).damping = 0.7
    robot.joint(joint).lower, robot.joint(joint).upper = -0.5, 0.5
    ball.robot.sleep, robot.sleep = False, sb.Sleep(time=2)
    crate.disable()
    world = sb.World()
    text = MEDIA.replace('LINK', link).replace('JOINT', joint)
    world.load_scene({'world': yaml.safe_load(text)})
    assert world.state_hash() == own.state_hash()
    assert (world.solver, world.sleep.steps, world.robots['left'].sleep.time) == ('split', 3, 2)
    assert world.robots['crate'].is_asleep
    world.step(20), own.step(20)
    assert world.state_hash() == own.state_hash()
    assert world.robots['crate'].root_link.p[2] == 1.0


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('  solver: fast\n', ["world solver=\"fast\": expected 'direct', 'iterative' or 'split'"]),
        ('  sleep: {linear: -1}\n', ['linear="-1.0": expected a number of at least 0']),
        ('  sleep: {lineer: 1}\n', ['lineer="1": there is no such key; did you mean \'linear\'?']),
        (
            '  joints: {j: {type: hing, between: [a, b]}}\n',
            ['joints.j\' type="hing": expected one of ball, hinge,'],
        ),
        (
            '  joints: {j: {type: hinge, between: [a, d]}}\n',
            ['between="d": expected a known name', 'Known: a, b, c.'],
        ),
        ('  joints: {j: {type: hinge, between: [a]}}\n', ['must be a list of 2 texts']),
        ('  joints: {j: {type: hinge, between: [b, b]}}\n', ['two links that can move relative']),
        (
            '  joints: {j: {type: hinge, between: [b, world], axis: [0, 0, 0]}}\n',
            ['axis="(0.0, 0.0, 0.0)": expected 3 finite numbers that are not all 0'],
        ),
        (
            '  joints:\n    j:\n      type: hinge\n      between: [a, b]\n      break_force: 3\n',
            ['scene.yaml:10:', 'break_force="3.0": expected tree: false'],
        ),
        (
            '  joints: {j: {type: hinge, between: [a, b], lower: 3, upper: 2}}\n',
            ['lower="3.0": expected at most upper, which is 2.0'],
        ),
        (
            '  joints: {j: {type: hinge, between: [a, b], lowr: 3}}\n',
            ['lowr="3": there is no such key; did you mean \'lower\'?'],
        ),
        (
            '  joints: {j: {type: hinge, between: [a, b], control: go}}\n',
            ["control=\"go\": expected 'effort', 'velocity', 'position' or 'servo'"],
        ),
        (
            '  joints: {j: {type: ball, between: [a, b], axes: [{damping: 1}]}}\n',
            ['axes="1": expected at most 0 entries'],
        ),
        ('  joints: {j: {type: ball, between: [a, b], enabled: false}}\n', ['tree: false']),
        ('  joints: {j: {type: motor, beside: k}}\n', ['beside="k": expected a known name']),
        ('  joints: {j: {type: motor}}\n', ['beside: missing']),
        (
            '  joints: {j: {type: angular_motor, between: [a, b], axes: [{damping: 1}]}}\n',
            ["axes[0]' direction: missing"],
        ),
        (
            '  joints: {j: {type: hinge, between: [a, b], compliance: {damping: 1}}}\n',
            ["compliance' stiffness: missing"],
        ),
        (
            '  robots: {r: {urdf: pendulum, links: {x: {gravity: false}}}}\n',
            ["robots.r.links.x': unknown link 'x' in robot 'r'. Known: "],
        ),
        (
            '  robots: {r: {urdf: pendulum, joints: {x: {damping: 1}}}}\n',
            ["robots.r.joints.x': unknown joint 'x' in robot 'r'. Known: "],
        ),
    ],
)
def test_wrong_keys_are_named(tmp_path, text, said):
    """Name file, line, key, value and the accepted values; add nothing."""
    (line,) = errors_of(tmp_path, text)
    assert line.startswith('scene.yaml:')
    for each in said:
        assert each in line


def test_nothing_is_left_where_a_joint_is_wrong():
    """Remove bodies, joints, their groups and settings again."""
    world = sb.World()
    before = world.state_hash()
    scene = yaml.safe_load(
        f'world:\n  solver: split\n  objects:{BODIES}  joints:\n'
        '    j: {type: hinge, between: [a, b], groups: [g]}\n'
        '    k: {type: hinge, between: [b, d]}\n'
    )
    with pytest.raises(sb.DescriptionError, match="'d'"):
        world.load_scene(scene)
    assert world.state_hash() == before and world.solver == 'direct'
    assert not world.robots and not world.joints and not world.joint_groups
    del scene['world']['joints']['k']
    world.load_scene(scene)
    assert world.joint_groups['g'].keys() == ['j']


def test_objects_carry_sensors():
    """Put an IMU, a bumper of one shape and a range finder on an object."""
    world = sb.World()
    scene = yaml.safe_load("""
  ground: true
  objects:
    crate:
      shapes: [{box: [0.2, 0.2, 0.2], name: body}, {sphere: 0.05, position: [0, 0, 1], name: tip}]
      position: [0, 0, 0.1]
      sensors: {imu: {type: imu}, feel: {type: contact, collisions: [body]},
                tip: {type: contact, collisions: [tip]}, up: {type: range, rpy: [0, -1.5708, 0]}}
""")
    world.load_scene({'world': scene})
    world.step(5)
    crate = world.robots['crate']
    np.testing.assert_allclose(crate.device('imu').dv, (0.0, 0.0, 9.81), atol=1e-6)
    assert crate.device('feel').is_touching and not crate.device('tip').is_touching
    twins = [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    for each in (world, *twins):
        each.step(5)
        assert each.state_hash() == world.state_hash()
    scene['objects']['crate']['sensors'] = {'feel': {'type': 'contact', 'collisions': ['lid']}}
    with pytest.raises(sb.DescriptionError, match='names of shapes of the body: body, tip'):
        sb.World().load_scene({'world': scene})


def test_shipped_joints_work(repository):
    """Drive the buggy through the door, which springs its latch; the rope tears."""
    world = sb.World()
    world.load_scene(repository / 'config/world_joints.yaml')
    chassis, door = world.robots['chassis'], world.joint('hinge')
    world.step(200)
    assert chassis.device('ahead').range == pytest.approx(
        2.975 - chassis.root_link.p[0] - 0.55, abs=0.05
    )
    assert world.broken_joints == ['rope'] and abs(door.q) < 1e-3
    world.step(2400)
    assert set(world.broken_joints) == {'latch', 'rope'} and abs(door.q) > 0.2
    assert world.joint_groups['latches'][0].is_broken
    assert world.robots['balloon'].root_link.p[2] == pytest.approx(1.0)
    assert world.robots['crate'].is_asleep
