"""Worlds with joints for the kernels left out by `kernel_scenarios`, and both sets together."""

from __future__ import annotations

import math

from actuated import Arm
from contact_worlds import add_block, grounded, hinged_walker
from kernel_scenarios import load, SCENARIOS
from linkages import body, X, Z
from linkages import gripper as looped_gripper
import numpy as np
from robots import ft, joint, link, pendulum, robot

import sim_bridge as sb


def finger(name, shape):
    """Return a link with a collision shape."""
    collision = f'<collision><geometry>{shape}</geometry></collision>'
    return link(name).replace('</link>', f'{collision}</link>')


SPRING = sb.Compliance(stiffness=1e4, damping=100.0)
FOLLOWS = '<limit lower="-3" upper="3" effort="100" velocity="10"/><mimic joint="first" {}/>'


def mimics(watch):
    """Let joints follow others, free, in contact and in loops."""
    pad = '<box size="0.1 0.1 0.1"/>'
    gripper = robot(
        link('world', 0.0),
        finger('a', pad),
        finger('b', pad),
        finger('c', pad),
        joint(
            'first',
            'world',
            'a',
            'prismatic',
            (1, 0, 0),
            (-0.3, 0, 0.06),
            inside='<limit lower="-3" upper="3" effort="100" velocity="10"/>',
        ),
        joint(
            'second',
            'world',
            'b',
            'prismatic',
            (1, 0, 0),
            (0.3, 0, 0.06),
            inside=FOLLOWS.format('multiplier="-1"'),
        ),
        joint(
            'third',
            'world',
            'c',
            'prismatic',
            (1, 0, 0),
            (0.5, 0.5, 0.06),
            inside=FOLLOWS.format('multiplier="2"'),
        ),
    )
    for solver in ('direct', 'iterative', 'split'):
        world = grounded(solver=solver)
        body = world.load_urdf(gripper)
        add_block(world, size=(0.2, 0.2, 0.1))
        body.u = [20.0, 0.0, 0.0]
        with watch():
            world.step()
            assert np.isfinite(body.ddq).all()
        world.step(300)
        with watch():
            world.step()
        body.joint('first').control, body.joint('first').target_velocity = 'velocity', -0.1
        world.step(10)
        with watch():
            world.step()
    world = sb.World()
    mechanism = world.load_urdf(looped_gripper())
    motor = mechanism.joint('left')
    motor.control, motor.kp, motor.kd, motor.target_position = 'servo', 50.0, 1.0, -0.5
    world.step(20)
    with watch():
        world.step()
        assert np.isfinite(mechanism.ddq).all()


def locks(watch):
    """Lock joints by friction, holds and motors, and push them."""
    world = sb.World()
    for friction in (1.0, 0.3):
        lever = body(world, 0.5 * X)
        hinge = world.add_joint('hinge', None, lever, np.zeros(3), Z)
        hinge.friction = friction
        world.add_joint('ball', None, lever, (0.5, 0.01, 0.0), anchor2=0.5 * X, erp=0.1, cfm=1e-2)
    one = body(world, 5 * X)
    world.add_joint('fixed', None, one)
    with watch():
        world.step()
    world.add_joint('ball', None, one, 5.05 * X, anchor2=5 * X)
    with watch():
        world.step()
    for strength in (0.01, math.inf):
        world, looped = load('four_bar', 0, gravity=(0.0, 0.0, 0.0))
        for name in looped.joint_names:
            looped.joint(name).friction = 0.05
        world.step(10)
        motor = looped.joint('coupler_rocker')
        motor.control, motor.target_velocity, motor.max_effort = 'velocity', 1.0, strength
        with watch():
            world.step()
    # a kinematic body pushes a joint held by friction
    for solver in ('direct', 'iterative'):
        world = grounded(solver=solver)
        pusher = world.load_urdf(
            robot(
                link('world', 0.0),
                finger('pusher', '<box size="0.1 0.1 0.05"/>'),
                joint(
                    'joint',
                    'world',
                    'pusher',
                    'prismatic',
                    (1, 0, 0),
                    inside='<limit lower="-9" upper="9" effort="1e9" velocity="10"/>'
                    '<dynamics friction="4.0"/>',
                ),
                name='slide',
            )
        )
        ram = world.add_body(
            sb.Box((0.1, 0.1, 0.1)), motion='kinematic', position=(-0.1005, 0.0, 0.0), name='ram'
        )
        ram.set_base_velocity((0.1, 0.0, 0.0))
        for _ in range(3):
            world.step(4)
            with watch():
                world.step()
        pusher.hold = True
        with watch():
            world.step()


def stops(watch):
    """Press against an elastic stop."""
    world = sb.World()
    sliding = world.load_urdf(
        robot(
            link('world', 0.0),
            link('cart', 2.0),
            joint(
                'slide',
                'world',
                'cart',
                'prismatic',
                (1, 0, 0),
                inside='<limit lower="-0.2" upper="0.3" effort="1e9" velocity="10"/>',
            ),
        )
    )
    axis = sliding.joint('slide')
    axis.stop_erp, axis.stop_cfm = 0.3, 2e-5
    sliding.q, sliding.u = [0.301], [25.0]
    with watch():
        world.step()
        assert np.isfinite(sliding.ddq).all()


def sensors(watch):
    """Express a force-torque sensor's wrench in the axes of another link."""
    world = sb.World()
    swinging = world.load_urdf(pendulum(mass=2.0, gazebo=ft('joint', '<frame>parent</frame>')))
    swinging.q = [0.8]
    with watch():
        world.step()


def breaking(watch):
    """Break a motorized hinge under its load, shared by two hinges."""
    world = sb.World()
    bob = world.add_body((), mass=2.0, inertia=(0.02, 0.03, 0.04), position=(0.3, 0.0, 0.0))
    hinges = [
        world.add_joint('hinge', None, bob, np.zeros(3), (0, 1, 0), tree=False, erp=0.3, cfm=cfm)
        for cfm in (0.0, 1e-5)
    ]
    for motor, control in zip(
        [*hinges, world.add_motor(hinges[0])], ('velocity', 'servo', 'servo'), strict=True
    ):
        motor.control, motor.max_effort, motor.min_effort, motor.kd = control, 3.0, -1.0, 2.0
        motor.target_velocity = 1.0
    world.step(3)
    hinges[0].break_force = 5.0
    with watch():
        world.step()
        assert world.broken_joints == ['hinge']
        world.step()
    lock = world.add_joint('fixed', None, bob, np.zeros(3), (0, 0, 1), tree=False)
    lock.break_limits = [1e6, 1e6, 1.0, 1e6, 1e6, 1e6]
    with watch():
        world.step()
        assert lock.broken_directions.any()


def bearings(watch):
    """Slide on a guide, at rest and moving, with friction initially above its load."""
    world = sb.World()
    block = world.add_body((), mass=2.0, inertia=(0.02, 0.03, 0.04))
    rail = world.add_joint('slider', None, block, np.zeros(3), (0.8, 0, -0.6), tree=False)
    rail.axes[0].bearing_friction, rail.axes[0].back_friction = 0.1, 2.0
    rail.axes[0].friction = 0.3
    hinge = world.add_joint(
        'slider', None, block, (0.0, 0.3, 0.0), (0.8, 0, -0.6), tree=False, erp=0.5, cfm=1e-5
    )
    hinge.axes[0].bearing_friction = 0.2
    with watch():
        world.step()
    rail.axes[0].bearing_friction = 2.0
    world.step(20)
    with watch():
        world.step()


def play(watch):
    """Tilt a hinge within its bearing clearance."""
    world = sb.World()
    ball = """
        inertia.mass: 2
        inertia.tensor: Math.Matrix3x3.diag(0.1, 0.1, 0.1)
        kinematics.initial_local_angular_velocity: {0.5, 1, 3}
        pin is Physics3D.Interactions.MateConnector
"""
    scene = world.load_openplx(f"""
Scene is Physics3D.System:
    ball is Physics3D.Bodies.RigidBody:{ball}
    base is Physics3D.Interactions.MateConnector
    mate is Physics3D.Interactions.Hinge:
        connectors: [base, ball.pin]
        clearance becomes Physics3D.Interactions.Clearance.ConstantHingeClearance:
            along_main.distance: 0.03
            along_normal.distance: 0.02
            along_cross.distance: 0.0
            around_all_axes.angle: 0.001
""")
    world.step(20)
    with watch():
        world.step()
        assert all(abs(joint.q) < 0.02 for joint in scene.parts('mate')[2:])


def pushed_through_an_axis(watch, spring=None):
    """
    Push links through their hinge axes: their mobility is only rounding.

    spring: compliance of a second joint between each link and the world.
    """
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    for number in range(8):
        away = np.array([math.cos(number + 0.3), math.sin(number + 0.3), 0.0])
        place = np.array([3.0 * number, 0.0, 0.0])
        ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=place + 0.7 * away)
        world.add_joint('hinge', None, ball, place, Z)
        if spring is not None:
            center = place + 0.7 * away
            world.add_joint('ball', None, ball, center, tree=False, compliance=spring)
        world.add_body(sb.Sphere(0.1), motion='static', position=place + 0.899 * away)
    with watch():
        world.step()


def pushed_against_springs(watch):
    """Push links through their hinge axes, with compliant joints beside the hinges."""
    pushed_through_an_axis(watch, SPRING)


def on_springs(watch):
    """Connect two blocks on the ground by a compliant joint, and let them come to rest."""
    world = grounded()
    blocks = [add_block(world, at=(0.0, y)) for y in (0.0, 0.5)]
    world.add_joint('ball', *blocks, (0.0, 0.25, 0.1), tree=False, compliance=SPRING)
    world.step(50)
    with watch():
        world.step()


def weak_hinges(watch):
    """Let legs fall on constraint hinges with motors too weak for their speeds."""
    world, hinges = hinged_walker(False, legs=2)
    for number, hinge in enumerate(hinges):
        hinge.control, hinge.max_effort = 'velocity', 2.0
        hinge.target_velocity = 3.0 * math.cos(number)
    for _ in range(600):
        ahead = world.copy()
        ahead.step()
        if ahead.report.pivots >= 4:
            with watch():
                world.step()
            return
        world.step()
    raise AssertionError('no laws of axes were solved with contacts')


def problems(watch):
    """Query contacts and distances without a step, and solve their contact problem."""
    world, walker = load('quadruped', 300)
    cart = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(2.0, 0.0, 0.1))
    anchor = world.add_body(
        sb.Box((0.1, 0.1, 0.1)), mass=1.0, position=(2.0, 0.0, 0.6), motion='kinematic'
    )
    world.add_joint('distance', cart, anchor, (2.0, 0.0, 0.2), anchor2=(2.0, 0.0, 0.5))
    with watch():
        contacts = world.find_contacts(1e-3)
        world.find_contacts(pairs=[(walker, cart, 1e-2), (cart, anchor)])
        world.find_distances(cart, anchor)
        problem = world.contact_problem(contacts)
        for solver in ('direct', 'iterative', 'split'):
            sb.contact_problems.solve(problem, solver)


def actuated(watch):
    """Drive joints and bodies by all transmissions and laws, awake and asleep."""
    arm = Arm()
    arm.place(np.random.default_rng(0), speed=3.0)
    arm.world.add_body(sb.Box((0.3, 0.3, 0.3)), mass=1.0, position=(0.5, 0.0, -1.0))
    arm.robot.sleep = True
    arm.world.step(3)
    with watch():
        arm.world.step(2)
        assert arm.robot.actuators['servo'].force


ALL_SCENARIOS = [
    *SCENARIOS,
    actuated,
    mimics,
    locks,
    stops,
    sensors,
    breaking,
    bearings,
    play,
    problems,
    pushed_through_an_axis,
    pushed_against_springs,
    on_springs,
    weak_hinges,
]
