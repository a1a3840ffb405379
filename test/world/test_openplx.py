"""OpenPLX scenes in a world: their motion, and their atomic addition."""

from __future__ import annotations

import math
import os
from pathlib import Path
import pickle
import subprocess
import sys

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.report import DescriptionError
from sim_bridge.foundation.errors import UnknownNameError

MASS, ARM, INERTIA = 2.0, 0.5, 0.2
SEED = Path(__file__).parents[1] / 'description' / 'openplx' / 'scenes' / 'snap_parent.openplx'

PENDULUM = f"""
Bob is Physics3D.Bodies.RigidBody:
    inertia.mass: {MASS}
    inertia.tensor: Math.Matrix3x3.diag(0.1, {INERTIA}, 0.3)
    pin is Physics3D.Interactions.MateConnector:
        position.z: {ARM}
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Vec3.Z_AXIS()

Pendulum is Physics3D.System:
    bob is Bob
    base is Physics3D.Interactions.MateConnector:
        position.z: 2
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Vec3.Z_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [base, bob.pin]
        initial_angle: 0.3
"""
SLIDER = PENDULUM.replace('Interactions.Hinge', 'Interactions.Prismatic').replace(
    'initial_angle', 'initial_position'
)
LOOP = """
Bar is Physics3D.Bodies.RigidBody:
    length is Real: 1.0
    inertia.mass: 1.0
    rod is Physics3D.Geometries.Cylinder:
        radius: 0.05
        height: length
    a is Physics3D.Interactions.MateConnector:
        position.y: -length / 2
    b is Physics3D.Interactions.MateConnector:
        position.y: length / 2

FourBar is Physics3D.System:
    crank is Bar
    coupler is Bar:
        length: 2.0
    rocker is Bar:
        length: 1.5
    o1 is Physics3D.Interactions.MateConnector
    o2 is Physics3D.Interactions.MateConnector:
        position.x: 2.0
    h1 is Physics3D.Interactions.Hinge:
        connectors: [o1, crank.a]
        initial_angle: 0.2
    h2 is Physics3D.Interactions.Hinge:
        connectors: [crank.b, coupler.a]
    h3 is Physics3D.Interactions.Hinge:
        connectors: [coupler.b, rocker.b]
    h4 is Physics3D.Interactions.Hinge:
        connectors: [rocker.a, o2]
    drive is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: h1.connectors
        gain: 20
        target_speed: 1.5
"""
ABOUT_PIN = INERTIA + MASS * ARM**2


def loaded(text, gravity=(0.0, 0.0, 0.0), time_step=1e-3, **options):
    """Return a world with a scene, and the scene."""
    world = sb.World(time_step=time_step, gravity=gravity)
    return world, world.load_openplx(text, **options)


def with_motor(text, members):
    """Add members to the last model of a scene."""
    return text + '\n'.join(f'    {line}' for line in members.strip('\n').splitlines()) + '\n'


def test_coordinates_describe_the_second_connector_in_the_first():
    """A hinge and its swapped twin count in opposite directions, in the same place."""
    world, scene = loaded(PENDULUM)
    hinge, bob = scene.joint('hinge'), scene.link('bob')
    assert hinge.q == pytest.approx(0.3, abs=1e-15)
    np.testing.assert_allclose(
        bob.p, (-ARM * math.sin(0.3), 0.0, 2.0 - ARM * math.cos(0.3)), atol=1e-15
    )
    swapped = PENDULUM.replace('[base, bob.pin]', '[bob.pin, base]').replace(': 0.3', ': -0.3')
    other_world, other = loaded(swapped)
    assert other.joint('hinge').q == pytest.approx(-0.3, abs=1e-15)
    np.testing.assert_allclose(other.link('bob').p, bob.p, atol=1e-15)
    for each, one, effort in ((world, hinge, 0.5), (other_world, other.joint('hinge'), -0.5)):
        one.u = effort
        each.step(100)
    assert other.joint('hinge').q == pytest.approx(-hinge.q, abs=1e-14)
    np.testing.assert_allclose(other.link('bob').p, bob.p, atol=1e-14)


@pytest.mark.parametrize('sign', [1, -1])
def test_an_undamped_spring_swings_as_its_closed_form(sign):
    """Amplitude and phase converge at second order of the step, in either connector order."""
    order = 'hinge.connectors' if sign > 0 else '[bob.pin, base]'
    text = with_motor(
        PENDULUM,
        f"""
spring is Physics3D.Interactions.TorsionSpring:
    connectors: {order}
    angle: {0.1 * sign}
    flexibility.stiffness: 50
""",
    )
    rate, errors = math.sqrt(50 / ABOUT_PIN), []
    for step in (2e-3, 1e-3):
        world, scene = loaded(text, time_step=step)
        world.step(round(1.0 / step))
        errors.append(abs(scene.joint('hinge').q - (0.1 + 0.2 * math.cos(rate))))
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_a_spring_of_limited_effort_gives_its_limit():
    """Far from its rest it pushes with the greatest effort: a constant acceleration."""
    world, scene = loaded(
        with_motor(
            SLIDER,
            """
spring is Physics3D.Interactions.LinearSpring:
    connectors: hinge.connectors
    position: 10
    flexibility.stiffness: 1000
    min_effort: -1
    max_effort: 3
""",
        )
    )
    world.step(1000)
    assert scene.joint('hinge').q == pytest.approx(0.3 + 0.5 * 3.0 / MASS, abs=1e-9)


def test_a_velocity_motor_approaches_its_speed_by_its_gain():
    """A gain is a damping towards the speed: an exponential, at second order."""
    text = with_motor(
        SLIDER,
        """
motor is Physics3D.Interactions.LinearVelocityMotor:
    connectors: hinge.connectors
    target_speed: 0.7
    gain: 4
""",
    )
    errors = []
    for step in (1e-2, 5e-3):
        world, scene = loaded(text, time_step=step)
        world.step(round(1.0 / step))
        errors.append(abs(scene.joint('hinge').dq - 0.7 * (1.0 - math.exp(-4.0 / MASS))))
    assert errors[0] / errors[1] > 3.6


def test_motors_of_limited_effort_on_one_axis_add_up():
    """A motor driving with 5 N and a brake holding with 2 N leave 3 N."""
    world, scene = loaded(
        with_motor(
            SLIDER,
            """
drive is Physics3D.Interactions.LinearVelocityMotor:
    connectors: hinge.connectors
    target_speed: 100
    min_effort: -1
    max_effort: 5
brake is Physics3D.Interactions.LinearVelocityMotor:
    connectors: [bob.pin, base]
    min_effort: -9
    max_effort: 2
""",
        )
    )
    world.step(500)
    assert scene.joint('hinge').q == pytest.approx(0.3 + 0.5 * 3.0 / MASS * 0.25, abs=1e-9)
    axis, sign, _ = scene.axis('brake')
    assert sign * axis.motor_effort == pytest.approx(2.0)
    assert axis.joint.name == 'brake'


def test_efforts_friction_and_ranges_act_along_the_axis():
    """Two force motors and Coulomb friction: a constant acceleration up to the stop."""
    world, scene = loaded(
        with_motor(
            SLIDER,
            """
    friction becomes Physics.Interactions.Dissipation.ConstantLimitFriction:
        limit: 1
push is Physics3D.Interactions.ForceMotor:
    connectors: hinge.connectors
    default_force: 9
    max_effort: 5
pull is Physics3D.Interactions.ForceMotor:
    connectors: [bob.pin, base]
    default_force: 2
range is Physics3D.Interactions.LinearRange:
    connectors: hinge.connectors
    start: 0
    end: 0.5
""",
        )
    )
    world.step(400)
    assert scene.joint('hinge').q == pytest.approx(0.3 + 0.5 * (5 - 2 - 1) / MASS * 0.16, abs=1e-9)
    world.step(1000)
    assert scene.joint('hinge').q == pytest.approx(0.5, abs=1e-9)
    assert scene.joint('hinge').stop_effort == pytest.approx(-3.0 + 1.0, abs=1.0 + 1e-9)


def test_a_soft_range_is_a_spring_at_its_end():
    """A body pressed onto an elastic stop comes to rest at its spring's balance."""
    world, scene = loaded(
        with_motor(
            SLIDER,
            """
push is Physics3D.Interactions.ForceMotor:
    connectors: hinge.connectors
    default_force: 3
range is Physics3D.Interactions.LinearRange:
    connectors: hinge.connectors
    start: -1
    end: 0.2
    flexibility becomes Physics.Interactions.Flexibility.LinearElastic:
        stiffness: 300
    dissipation becomes Physics.Interactions.Dissipation.MechanicalDamping:
        damping_constant: 40
""",
        )
    )
    world.step(5000)
    assert scene.joint('hinge').q == pytest.approx(0.2 + 3.0 / 300.0, abs=1e-9)


def test_a_flexible_mate_stretches_by_load_over_stiffness():
    """A lock with springs along and around hangs at the balance of weight and lever."""
    text = PENDULUM.replace('Interactions.Hinge', 'Interactions.Lock').replace(
        '        initial_angle: 0.3\n',
        """        flexibility becomes Physics3D.Interactions.\
Flexibility.LinearElasticLockFlexibility:
            default_stiffness: 5000
        dissipation becomes Physics3D.Interactions.Dissipation.LockMechanicalDamping:
            default_damping: 300
""",
    )
    world, scene = loaded(text, gravity=(0.0, 0.0, -9.81))
    assert not scene.joint('hinge').is_tree
    world.step(8000)
    np.testing.assert_allclose(
        scene.link('bob').p, (0.0, 0.0, 1.5 - MASS * 9.81 / 5000), atol=1e-9
    )


def test_bodies_begin_with_their_velocities():
    """Linear and angular, in the axes of the parent system; constant for kinematic bodies."""
    text = """
Scene is Physics3D.System:
    part is Physics3D.System:
        local_transform.rotation: Math.Quat.angle_axis(Math.PI / 2, Math.Vec3.Z_AXIS())
        free is Physics3D.Bodies.RigidBody:
            ball is Physics3D.Geometries.Sphere:
                radius: 0.1
            kinematics.initial_local_linear_velocity.x: 2
            kinematics.initial_local_angular_velocity.z: 3
    belt is Physics3D.Bodies.RigidBody:
        is_dynamic: false
        kinematics.local_transform.position.z: 5
        kinematics.initial_local_linear_velocity.x: 1
"""
    world, scene = loaded(text, gravity=(0.0, 0.0, -1.0))
    np.testing.assert_allclose(scene.link('part.free').v, (0, 2, 0), atol=1e-14)
    np.testing.assert_allclose(scene.link('part.free').w, (0, 0, 3), atol=1e-14)
    world.step(1000)
    np.testing.assert_allclose(scene.link('belt').p, (1, 0, 5), atol=1e-12)
    np.testing.assert_allclose(scene.link('part.free').p, (0, 2, -0.5), atol=1e-9)
    assert [robot.motion for robot in scene.robots] == ['dynamic', 'kinematic']


def test_joints_take_the_nearest_velocities():
    """A pendulum's body rotates only about the pin, and the joint removes the rest."""
    text = with_motor(
        PENDULUM,
        """
    enabled: true
bob.kinematics.initial_local_angular_velocity.y: 1
""",
    )
    _, scene = loaded(text)
    assert scene.joint('hinge').dq == pytest.approx(INERTIA / ABOUT_PIN, rel=1e-12)


def test_loops_close_and_turn():
    """A four-bar linkage, closed by one joint and driven by its motor."""
    world, scene = loaded(LOOP, gravity=(0.0, -9.81, 0.0))
    hinges = [scene.joint(name) for name in ('h1', 'h2', 'h3', 'h4')]
    assert [joint.is_tree for joint in hinges].count(False) == 1
    assert scene.joint('h1').q == pytest.approx(0.2, abs=1e-9)
    world.step(1000)
    assert max(max(joint.error) for joint in hinges) < 1e-9
    assert world.report.converged


def test_a_scene_is_placed_named_and_loaded_twice():
    """A scene pose moves everything, and names stay distinct."""
    turn = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
    world, first = loaded(PENDULUM)
    second = world.load_openplx(PENDULUM, position=(5, 0, 0), orientation=turn)
    third = world.load_openplx(PENDULUM, name='left')
    assert [robot.name for robot in world.robots.values()] == ['Pendulum', 'Pendulum_2', 'left']
    assert list(world.openplx) == ['Pendulum', 'Pendulum_2', 'left']
    x, y, z = first.link('bob').p
    np.testing.assert_allclose(second.link('bob').p, (5 - y, x, z), atol=1e-14)
    np.testing.assert_array_equal(third.link('bob').p, (x, y, z))
    with pytest.raises(UnknownNameError, match='bobb'):
        first.link('bobb')


def test_copies_pickles_snapshots_and_resets_keep_a_scene():
    """A copy runs on with the same bits; a reset restores targets and efforts."""
    world, scene = loaded(LOOP, gravity=(0.0, -9.81, 0.0))
    world.step(50)
    saved = world.save()
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    for each in (world, *twins):
        each.step(50)
    assert len({each.state_hash() for each in (world, *twins)}) == 1
    assert twins[1].openplx['FourBar'].joint('h1').q == scene.joint('h1').q
    world.restore(saved)
    world.step(50)
    assert world.state_hash() == twins[0].state_hash()
    axis, *_ = scene.axis('drive')
    axis.target_velocity = 0.0
    world.reset()
    assert axis.target_velocity == 1.5
    assert scene.joint('h1').q == pytest.approx(0.2, abs=1e-9)


@pytest.mark.parametrize(
    'wrong',
    [
        PENDULUM + '    bob.inertia.mass: "heavy"\n',
        PENDULUM + '    other is Nothing\n',
        PENDULUM + '    bob.inertia.mass: -3\n',
        # two places for one body
        with_motor(
            PENDULUM.replace('        initial_angle: 0.3\n', ''),
            """
far is Physics3D.Interactions.MateConnector:
    position.x: 9
    main_axis: Math.Vec3.Y_AXIS()
lock is Physics3D.Interactions.Lock:
    connectors: [bob.pin, far]
""",
        ),
    ],
)
def test_a_wrong_scene_leaves_the_world_unchanged(wrong):
    """Nothing of it is added after any error."""
    world, _ = loaded(PENDULUM)
    before = world.state_hash(), list(world.robots), list(world.openplx), list(world.materials)
    with pytest.raises(DescriptionError):
        world.load_openplx(wrong)
    assert before == (
        world.state_hash(),
        list(world.robots),
        list(world.openplx),
        list(world.materials),
    )


def test_a_yaml_scene_has_openplx_files(tmp_path):
    """The key `openplx` adds files, by name, with paths relative to the scene's folder."""
    (tmp_path / 'pendulum.openplx').write_text(PENDULUM, encoding='utf-8')
    scene = tmp_path / 'scene.yaml'
    scene.write_text(
        'world:\n  openplx:\n    swing: {file: pendulum.openplx, model: Pendulum, '
        'position: [1, 0, 0]}\n',
        encoding='utf-8',
    )
    world = sb.World()
    world.load_scene(scene)
    assert list(world.robots) == ['swing']
    assert world.openplx['swing'].link('bob').p[0] == pytest.approx(1 - ARM * math.sin(0.3))
    scene.write_text('world: {openplx: {swing: {file: missing.openplx}}}\n', encoding='utf-8')
    with pytest.raises(DescriptionError, match=r'missing\.openplx'):
        sb.World().load_scene(scene)


def test_fresh_processes_have_the_same_bits():
    """Nothing depends on the order of sets or on addresses."""
    program = (
        'import sim_bridge as sb, sys; world = sb.World(); '
        'world.load_openplx(sys.argv[1], "SnapRod"); world.load_openplx(sys.argv[2]); '
        'world.step(20); print(world.state_hash())'
    )
    hashes = set()
    for seed in ('1', '2', '3'):
        result = subprocess.run(
            [sys.executable, '-c', program, str(SEED), LOOP],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, 'PYTHONHASHSEED': seed},
        )
        hashes.add(result.stdout)
    assert len(hashes) == 1


BARS = LOOP.split('FourBar')[0]


def test_kinematic_bodies_hold_their_mates():
    """A single one is the tree's root; with several, mates become joints between them."""
    one = (
        BARS
        + """
Scene is Physics3D.System:
    base is Bar:
        is_dynamic: false
        kinematics.initial_local_linear_velocity.z: 0.5
    arm is Bar
    pin is Physics3D.Interactions.Hinge:
        connectors: [base.b, arm.a]
"""
    )
    world, scene = loaded(one, gravity=(0.0, -9.81, 0.0))
    assert [(robot.name, robot.motion) for robot in scene.robots] == [('Scene', 'kinematic')]
    world.step(200)
    np.testing.assert_allclose(scene.link('base').p, (0, 0, 0.1), atol=1e-12)
    np.testing.assert_allclose(scene.link('arm').v[2], 0.5, atol=1e-12)
    two = (
        one
        + """
    other is Bar:
        is_dynamic: false
        kinematics.local_transform.position.y: 2
    top is Physics3D.Interactions.Ball:
        connectors: [arm.b, other.a]
"""
    )
    two = two.replace('initial_local_linear_velocity.z: 0.5', 'initial_local_linear_velocity.z: 0')
    world, scene = loaded(two, gravity=(0.3, -9.81, 0.0))
    assert [robot.motion for robot in scene.robots] == ['kinematic', 'dynamic', 'kinematic']
    world.step(500)
    copied = world.copy().openplx['Scene']
    for name in ('pin', 'top'):
        assert max(scene.joint(name).error) < 1e-9
        assert copied.joint(name).name == scene.joint(name).name


def test_redirected_and_adaptive_connectors_and_kinematic_locks():
    """A connector given in a system moves with its body; one adapts; bodies are one body."""
    world, scene = loaded(
        BARS
        + """
Scene is Physics3D.System:
    mount is Physics3D.Interactions.RedirectedMateConnector:
        position: Math.Vec3.from_xyz(0, 0.2, 1)
        redirected_parent: arm
    arm is Bar:
        kinematics.local_transform.position.x: 3
    tool is Bar
    grip is Physics3D.Interactions.Lock:
        connectors: [mount, tool.a]
    rest is Bar:
        kinematics.local_transform.position.z: -4
    near is Physics3D.Interactions.AdaptiveMateConnector
    hold is Physics3D.Interactions.Lock:
        connectors: [near, arm.a]
    both is Physics.KinematicLock:
        bodies: [arm, rest]
""",
        gravity=(0.0, 0.0, -9.81),
    )
    before = {name: scene.link(name).p.copy() for name in ('arm', 'tool', 'rest')}
    np.testing.assert_allclose(before['tool'], (0, 0.7, 1), atol=1e-12)
    assert len(scene.robots) == 1
    world.step(100)
    for name, place in before.items():
        np.testing.assert_allclose(scene.link(name).p, place, atol=1e-12)


def test_a_flexible_distance_is_a_spring_between_two_points():
    """Two free bodies on a spring swing about their centre, at the reduced mass' frequency."""
    text = (
        BARS
        + """
Scene is Physics3D.System:
    one is Bar:
        kinematics.local_transform.position.y: 0
    two is Bar:
        kinematics.local_transform.position.y: 2.1
    spring is Physics3D.Interactions.Distance:
        connectors: [one.b, two.a]
        enable_snap: false
        initial_distance: 1.0
        flexibility becomes Physics3D.Interactions.Flexibility.LinearElasticDistanceFlexibility:
            default_stiffness: 18
"""
    )
    errors = []
    for step in (4e-3, 2e-3):
        world, scene = loaded(text, time_step=step)
        world.step(round(0.4 / step))
        apart = scene.link('two').p[1] - scene.link('one').p[1] - 1.0
        errors.append(abs(apart - (1.0 + 0.1 * math.cos(6.0 * 0.4))))
    assert errors[1] < 2e-3
    assert errors[1] < 0.6 * errors[0]


def test_a_robot_from_an_imported_urdf_stands_at_its_system(tmp_path):
    """`import @"cart.urdf"` creates a separate robot, with its joints."""
    (tmp_path / 'cart.urdf').write_text(
        """<robot name="cart">
<link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
</joint></robot>""",
        encoding='utf-8',
    )
    file = tmp_path / 'scene.openplx'
    file.write_text(
        """import @"cart.urdf"
Scene is Physics3D.System:
    truck is cart:
        local_transform.position.x: 4
""",
        encoding='utf-8',
    )
    world = sb.World()
    scene = world.load_openplx(file)
    [robot] = scene.robots
    np.testing.assert_array_equal(robot.root_link.p, (4, 0, 0))
    assert robot.joint_names == ['hinge']
