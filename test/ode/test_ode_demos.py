"""Programs for ODE's Python bindings, compared with ODE's library and closed forms."""

import ctypes
import math

import numpy as np
import pytest

from benchmarks.peers import libode
from benchmarks.peers.ode import add_body
from sim_bridge import ode

G = 9.81


def call(name, *arguments, result=libode.real):
    """Call a function of ODE's library; numbers are reals, others pointers."""
    function = getattr(libode._ode, name)
    if function.argtypes is not None:
        return function(*arguments)
    function.restype = result
    return function(
        *(
            libode.real(each)
            if isinstance(each, float)
            else each
            if each is None or isinstance(each, ctypes._SimpleCData)
            else ctypes.c_void_p(each)
            for each in arguments
        )
    )


def new_world(gravity=(0.0, 0.0, -G)):
    """Return a world."""
    world = ode.World()
    world.setGravity(gravity)
    return world


def ball(world, position, mass=1.0, radius=0.1):
    """Return a spherical body."""
    body, properties = ode.Body(world), ode.Mass()
    properties.setSphereTotal(mass, radius)
    body.setMass(properties)
    body.setPosition(position)
    return body


class Peer:
    """World of ODE's library with balls."""

    def __init__(self, gravity=(0.0, 0.0, -G)):
        """Create the world."""
        self.world = libode.world_create()
        libode.set_gravity(self.world, *gravity)

    def ball(self, position, mass=1.0, radius=0.1):
        """Add a ball."""
        inertia = 0.4 * mass * radius**2 * np.eye(3)
        body = add_body(self.world, mass, inertia, finite_rotation=True)
        libode.set_position(body, *position)
        return body


def test_chain():
    """Swing a chain of ball joints like ODE with short steps."""
    world, peer, dt = new_world(), Peer(), 1e-3
    places = [(0.3 * k, 0.0, 0.0) for k in range(1, 6)]
    bodies, others = [ball(world, p) for p in places], [peer.ball(p) for p in places]
    joints = []
    for k, place in enumerate(places):
        anchor = (place[0] - 0.15, 0.0, 0.0)
        joint = ode.BallJoint(world)
        joint.attach(bodies[k], bodies[k - 1] if k else None)
        joint.setAnchor(anchor)
        joints.append(joint)
        other = libode.create_joint['Ball'](peer.world, None)
        libode.attach(other, others[k], others[k - 1] if k else None)
        libode.place_joint['BallAnchor'](other, *anchor)
    for _ in range(400):
        world.step(dt)
        libode.world_step(peer.world, dt)
    for body, other, joint in zip(bodies, others, joints, strict=True):
        np.testing.assert_allclose(body.getPosition(), libode.get_position(other)[:3], atol=5e-3)
        np.testing.assert_allclose(joint.getAnchor(), joint.getAnchor2(), atol=1e-8)
    libode.world_destroy(peer.world)


def test_pendulum():
    """Swing about a hinge with the period of a compound pendulum, and measure its angle."""
    world = new_world()
    body = ball(world, (0.02, 0.0, -1.0))
    hinge = ode.HingeJoint(world)
    hinge.attach(body, None)
    hinge.setAnchor((0.0, 0.0, 0.0))
    hinge.setAxis((0.0, 1.0, 0.0))
    hinge.setFeedback(True)
    start = math.atan2(0.02, 1.0)
    period = 2.0 * math.pi * math.sqrt((1.0 + 0.4 * 0.01) / G)
    steps = 1000
    for _ in range(steps):
        world.step(period / steps)
    np.testing.assert_allclose(body.getPosition(), (0.02, 0.0, -1.0), atol=1e-4)
    for _ in range(steps // 2):
        world.step(period / steps)
    # angle of the first body relative to the second, about y from z to x
    assert abs(hinge.getAngle()) == pytest.approx(2.0 * start, rel=1e-3)
    assert hinge.getFeedback()[0][2] == pytest.approx(G, rel=2e-3)


KINDS = {
    'Hinge': (ode.HingeJoint, ['Angle']),
    'Slider': (ode.SliderJoint, ['Position']),
    'Universal': (ode.UniversalJoint, ['Angle1', 'Angle2']),
    'Hinge2': (ode.Hinge2Joint, ['Angle1']),
    'Piston': (ode.PistonJoint, ['Position', 'Angle']),
    'PR': (ode.PRJoint, ['Position', 'Angle']),
    'PU': (ode.PUJoint, ['Angle1', 'Angle2', 'Position']),
}


# ODE's library diverges for a sliding and turning joint attached to a second body alone
ATTACHED = {
    'Hinge': ('both', 'first', 'second'),
    'Slider': ('both', 'first', 'second'),
    'Universal': ('both',),
    'Hinge2': ('both',),
}
CASES = [(kind, bodies) for kind in KINDS for bodies in ATTACHED.get(kind, ('both', 'first'))]


@pytest.mark.parametrize(('kind', 'bodies'), CASES)
def test_signs_are_odes(kind, bodies):
    """Measure coordinates and rates, and apply efforts, with ODE's signs."""
    make, names = KINDS[kind]
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    # ODE's slider rate ignores the rotation of the axis, so the bodies are on one line
    places = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.5) if kind == 'Slider' else (0.0, 0.5, 0.0)]
    own, other = [ball(world, p) for p in places], [peer.ball(p) for p in places]
    use = {'both': (0, 1), 'first': (0, None), 'second': (None, 1)}[bodies]
    joint = make(world)
    joint.attach(*(None if each is None else own[each] for each in use))
    theirs = call(f'dJointCreate{kind}', peer.world, None, result=ctypes.c_void_p)
    libode.attach(theirs, *(None if each is None else other[each] for each in use))
    for what, value in (
        ('Anchor', (0.0, 0.2, 0.0)),
        ('Axis', (0.0, 0.0, 1.0)),
        ('Axis1', (0.0, 0.0, 1.0)),
        ('Axis2', (0.0, 1.0, 0.0)),
        ('Axis3', (1.0, 0.0, 0.0)),
    ):
        if hasattr(joint, f'set{what}'):
            getattr(joint, f'set{what}')(value)
            call(f'dJointSet{kind}{what}', theirs, *value, result=None)
    verb = {'Hinge': 'Torque', 'Slider': 'Force', 'Piston': 'Force', 'PR': 'Torque'}.get(
        kind, 'Torques'
    )
    efforts = (0.01, 0.02) if verb == 'Torques' else (0.01,)
    for _ in range(100):
        # ODE's force pairs at pistons and PU joints have a moment
        if kind not in ('PU', 'Piston'):
            getattr(joint, f'add{verb}')(*efforts)
            call(f'dJointAdd{kind}{verb}', theirs, *efforts, result=None)
        if kind in ('Piston', 'PR', 'PU'):
            # in a direction without effect of the joint's efforts
            moved = next(each for each in use if each is not None)
            for name, value in (('Force', (0.01, 0.0, 0.02)), ('Torque', (0.0, 0.0, 0.003))):
                getattr(own[moved], f'add{name}')(value)
                call(f'dBodyAdd{name}', other[moved], *value, result=None)
        world.step(1e-3)
        libode.world_step(peer.world, 1e-3)
    for body, peers in zip(own, other, strict=True):
        np.testing.assert_allclose(
            body.getAngularVel(), libode.get_angular(peers)[:3], rtol=0.03, atol=2e-4
        )
    place = (libode.real * 4)()
    for what in ('Anchor', 'Anchor2', 'Axis', 'Axis1', 'Axis2', 'Axis3'):
        if hasattr(joint, f'get{what}'):
            call(f'dJointGet{kind}{what}', theirs, ctypes.addressof(place), result=None)
            np.testing.assert_allclose(getattr(joint, f'get{what}')(), place[:3], atol=1e-3)
    for name in names:
        expected = call(f'dJointGet{kind}{name}', theirs)
        assert abs(expected) > 1e-7
        assert getattr(joint, f'get{name}')() == pytest.approx(expected, rel=0.03, abs=4e-6)
        rate = call(f'dJointGet{kind}{name}Rate', theirs)
        assert getattr(joint, f'get{name}Rate')() == pytest.approx(rate, rel=0.03, abs=2e-4)
    libode.world_destroy(peer.world)


def test_slider_with_motor_and_stop():
    """Drive a slider at the motor's velocity to its stop, in either body order."""
    world = new_world((0.0, 0.0, 0.0))
    body = ball(world, (0.0, 0.0, 0.0))
    slider = ode.SliderJoint(world)
    slider.attach(None, body)
    slider.setAxis((1.0, 0.0, 0.0))
    slider.setParam(ode.ParamVel, -0.5)
    slider.setParam(ode.ParamFMax, 100.0)
    slider.setParam(ode.ParamLoStop, -0.2)
    slider.setParam(ode.ParamHiStop, 0.1)
    for _ in range(20):
        world.step(0.01)
    assert slider.getPosition() == pytest.approx(-0.1, abs=5e-3)
    assert body.getPosition()[0] == pytest.approx(0.1, abs=5e-3)
    for _ in range(40):
        world.step(0.01)
    assert slider.getPosition() == pytest.approx(-0.2, abs=1e-6)
    assert slider.getParam(ode.ParamLoStop) == -0.2


def test_piston():
    """Push a turning ball along its axis: p = a t² / 2, and the rotation continues."""
    world = ode.World()
    body, mass = ode.Body(world), ode.Mass()
    mass.setSphereTotal(1.0, 0.1)
    body.setMass(mass)
    joint = ode.PistonJoint(world)
    joint.attach(body, None)
    joint.setAnchor((0.0, 0.0, 0.0))
    joint.setAxis((0.0, 0.0, 1.0))
    body.setAngularVel((0.0, 0.0, 2.0))
    for _ in range(100):
        joint.addForce(2.0)
        world.step(0.01)
    assert joint.getPosition() == pytest.approx(1.0, abs=1e-9)
    assert joint.getPositionRate() == pytest.approx(2.0, abs=1e-9)
    assert joint.getAngle() == pytest.approx(2.0, abs=1e-9)
    assert body.getPosition() == pytest.approx((0.0, 0.0, 1.0), abs=1e-9)


@pytest.mark.parametrize('kind', ['Piston', 'PR', 'PU', 'Universal', 'Hinge2'])
def test_efforts_of_joints_have_no_moment(kind):
    """Push and turn two bodies against each other: momentum and angular momentum stay zero."""
    world = new_world((0.0, 0.0, 0.0))
    bodies = [ball(world, place) for place in ((0.0, 0.0, 0.0), (0.0, 0.5, 0.1))]
    joint = KINDS[kind][0](world)
    joint.attach(*bodies)
    joint.setAnchor((0.0, 0.2, 0.0))
    for number, axis in enumerate(((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))):
        name = 'setAxis' if kind == 'Piston' else f'setAxis{number + 1}'
        if hasattr(joint, name):
            getattr(joint, name)(axis)
    for _ in range(50):
        if kind == 'Piston':
            joint.addForce(0.1)
        elif kind == 'PR':
            joint.addTorque(0.1)
        else:
            joint.addTorques(0.1, 0.02)
        world.step(1e-3)
    assert np.linalg.norm(bodies[0].getAngularVel()) > 0.1
    total = world.engine.momentum()
    np.testing.assert_allclose(total.linear, 0.0, atol=1e-9)
    np.testing.assert_allclose(total.angular, 0.0, atol=1e-9)


@pytest.mark.parametrize('make', [ode.DBallJoint, ode.DHingeJoint])
def test_double_joints_are_odes(make):
    """Swing on a bar like ODE; lengthen the bar; keep the double hinge in its plane."""
    world, peer, kind = new_world(), Peer(), make.__name__.removesuffix('Joint')
    places = [(0.0, 0.0, 0.0), (0.3, 0.0, 0.4)]
    body, theirs = ball(world, places[1]), peer.ball(places[1])
    body.setLinearVel((0.0, 0.5, 0.0) if kind == 'DBall' else (0.0, 0.0, 0.0))
    libode.set_velocity(theirs, *body.getLinearVel())
    joint = make(world)
    joint.attach(body, None)
    peers = call(f'dJointCreate{kind}', peer.world, None, result=ctypes.c_void_p)
    libode.attach(peers, theirs, None)
    for what, value in (('Anchor1', places[1]), ('Anchor2', places[0]), ('Axis', (0.0, 1.0, 0.0))):
        if hasattr(joint, f'set{what}'):
            getattr(joint, f'set{what}')(value)
            call(f'dJointSet{kind}{what}', peers, *value, result=None)
    assert joint.getDistance() == pytest.approx(0.5)
    for _ in range(300):
        world.step(1e-3)
        libode.world_step(peer.world, 1e-3)
    np.testing.assert_allclose(body.getPosition(), libode.get_position(theirs)[:3], atol=3e-3)
    assert math.dist(body.getPosition(), places[0]) == pytest.approx(0.5, abs=1e-9)
    assert kind == 'DBall' or abs(body.getPosition()[1]) < 1e-9
    joint.setDistance(0.6)
    for _ in range(100):
        world.step(1e-3)
    assert math.dist(joint.getAnchor1(), joint.getAnchor2()) == pytest.approx(0.6, abs=1e-6)
    libode.world_destroy(peer.world)


def test_linear_motor():
    """Drive the first body along an axis, relative to the axis's frame."""
    world = new_world((0.0, 0.0, 0.0))
    body = ball(world, (0.0, 0.0, 0.0))
    motor = ode.LMotor(world)
    motor.attach(body, None)
    motor.setNumAxes(1)
    motor.setAxis(0, 0, (0.0, 1.0, 0.0))
    motor.setParam(ode.ParamVel, 0.5)
    motor.setParam(ode.ParamFMax, 100.0)
    world.step(0.01)
    world.step(0.01)
    np.testing.assert_allclose(body.getLinearVel(), (0.0, 0.5, 0.0), atol=1e-6)


def near(arguments, geom1, geom2):
    """Create contact joints, like ODE programs."""
    world, group, mu = arguments
    for contact in ode.collide(geom1, geom2):
        contact.setMode(ode.ContactApprox1)
        contact.setMu(mu)
        joint = ode.ContactJoint(world, group, contact)
        joint.attach(geom1.getBody(), geom2.getBody())


def run(world, space, steps, dt, mu=1.0):
    """Step with contacts."""
    group = ode.JointGroup()
    for _ in range(steps):
        space.collide((world, group, mu), near)
        world.step(dt)
        group.empty()


def test_box_stack():
    """Stand with five boxes, one of them dropped during the run."""
    world, space = new_world(), ode.HashSpace()
    floor = ode.GeomPlane(space, (0.0, 0.0, 1.0), 0.0)
    boxes = []
    for k in range(5):
        body, mass = ode.Body(world), ode.Mass()
        mass.setBoxTotal(1.0, 0.4, 0.4, 0.2)
        body.setMass(mass)
        geom = ode.GeomBox(space, (0.4, 0.4, 0.2))
        geom.setBody(body)
        geom.setPosition((0.0, 0.0, 0.1 + 0.2 * k + (0.02 if k == 4 else 0.0)))
        boxes.append((body, geom))
        if k == 3:
            run(world, space, 20, 0.005)
    run(world, space, 200, 0.005)
    for k, (body, _) in enumerate(boxes):
        np.testing.assert_allclose(body.getPosition(), (0.0, 0.0, 0.1 + 0.2 * k), atol=1e-3)
        np.testing.assert_allclose(body.getLinearVel(), 0.0, atol=1e-3)
    assert floor.getBody() is ode.environment


def test_sliding_box_obeys_mu():
    """Slide with Coulomb friction, and stick to a moving surface (motion1 along fdir1)."""
    world, space = new_world(), ode.SimpleSpace()
    floor, body = ode.GeomPlane(space), ode.Body(world)
    geom = ode.GeomBox(space, (1.0, 1.0, 1.0))
    geom.setBody(body)
    body.setPosition((0.0, 0.0, 0.5))
    body.setLinearVel((2.0, 0.0, 0.0))
    run(world, space, 100, 0.002, mu=0.5)
    assert body.getLinearVel()[0] == pytest.approx(2.0 - 0.5 * G * 0.2, abs=1e-6)
    group = ode.JointGroup()
    for _ in range(400):
        for contact in ode.collide(geom, floor):
            contact.setMode(ode.ContactApprox1 | ode.ContactMotion1 | ode.ContactFDir1)
            contact.setMu(1.0)
            contact.setFDir1((0.0, 1.0, 0.0))
            contact.setMotion1(0.3)
            ode.ContactJoint(world, group, contact).attach(body, None)
        world.step(0.002)
        group.empty()
    np.testing.assert_allclose(body.getLinearVel(), (0.0, 0.3, 0.0), atol=1e-6)


def test_buggy():
    """Drive three wheels on hinge-2 joints, at motor speed times radius."""
    world, space = new_world(), ode.HashSpace()
    ground, radius = ode.GeomPlane(space), 0.18
    chassis, mass = ode.Body(world), ode.Mass()
    mass.setBoxTotal(1.0, 0.7, 0.5, 0.2)
    chassis.setMass(mass)
    chassis.setPosition((0.0, 0.0, 0.25))
    wheels, joints = [], []
    for x, y in ((0.35, 0.0), (-0.35, 0.25), (-0.35, -0.25)):
        wheel = ball(world, (x, y, radius), 0.2, radius)
        geom = ode.GeomSphere(space, radius)
        geom.setBody(wheel)
        joint = ode.Hinge2Joint(world)
        joint.attach(chassis, wheel)
        joint.setAnchor((x, y, radius))
        joint.setAxis1((0.0, 0.0, 1.0))
        joint.setAxis2((0.0, 1.0, 0.0))
        joint.setParam(ode.ParamSuspensionERP, 0.4)
        joint.setParam(ode.ParamSuspensionCFM, 0.01)
        joint.setParam(ode.ParamLoStop, 0.0)
        joint.setParam(ode.ParamHiStop, 0.0)
        joint.setParam(ode.ParamVel2, -5.0)
        joint.setParam(ode.ParamFMax2, 1.0)
        wheels.append((wheel, geom))
        joints.append(joint)
    run(world, space, 400, 0.005)
    v = chassis.getLinearVel()
    assert v[0] == pytest.approx(5.0 * radius, rel=0.02)
    assert abs(v[1]) < 0.02 and ground.getParams() == ((0.0, 0.0, 1.0), 0.0)
    assert joints[0].getAngle2Rate() == pytest.approx(-5.0, rel=0.02)
    assert abs(joints[0].getAngle1()) < 1e-3


def test_plane_2d_and_angular_motor():
    """Keep a body in the plane z = 0 while a motor turns it; ODE's AMotor has the same sign."""
    world = new_world()
    body = ball(world, (0.0, 0.0, 0.0))
    plane = ode.Plane2DJoint(world)
    plane.attach(body, None)
    body.setLinearVel((1.0, 2.0, 0.0))
    motor = ode.AMotor(world)
    motor.attach(body, None)
    motor.setNumAxes(1)
    motor.setAxis(0, 0, (0.0, 0.0, 1.0))
    motor.setParam(ode.ParamVel, 3.0)
    motor.setParam(ode.ParamFMax, 100.0)
    for _ in range(100):
        world.step(0.01)
    np.testing.assert_allclose(body.getPosition(), (1.0, 2.0, 0.0), atol=1e-6)
    np.testing.assert_allclose(body.getAngularVel(), (0.0, 0.0, 3.0), atol=1e-6)
    plane.setXParam(ode.ParamVel, -1.0)
    plane.setXParam(ode.ParamFMax, 1000.0)
    for _ in range(10):
        world.step(0.01)
    assert body.getLinearVel()[0] == pytest.approx(-1.0)
