"""Settings of worlds and bodies, joint parameters, rotations, compared with ODE's library."""

import ctypes
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_ode_demos import ball, call, new_world, Peer

from benchmarks.peers import libode
from sim_bridge import InvalidValueError, ode

HALF = math.sqrt(0.5)
OF_BOTH = {
    'AutoDisableFlag': True,
    'AutoDisableLinearThreshold': 0.2,
    'AutoDisableSteps': 7,
    'AutoDisableAngularThreshold': math.inf,
    'AutoDisableTime': 0.5,
    'AutoDisableAverageSamplesCount': 3,
    'LinearDamping': 0.1,
    'AngularDamping': 0.2,
    'LinearDampingThreshold': 0.3,
    'AngularDampingThreshold': 0.4,
    'MaxAngularSpeed': 5.0,
}
OF_WORLD = OF_BOTH | {
    'Gravity': (0.0, 1.0, 2.0),
    'ERP': 0.3,
    'CFM': 1e-4,
    'QuickStepNumIterations': 5,
}
OF_BODY = OF_BOTH | {
    'Position': (1.0, 2.0, 3.0),
    'LinearVel': (1.0, 2.0, 3.0),
    'AngularVel': (1.0, 2.0, 3.0),
    'Force': (1.0, 2.0, 3.0),
    'Torque': (1.0, 2.0, 3.0),
    'Quaternion': (0.6, 0.8, 0.0, 0.0),
    'GravityMode': False,
    'FiniteRotationMode': 1,
    'FiniteRotationAxis': (0.0, 0.0, 1.0),
}


@pytest.mark.parametrize('of', ['world', 'body', 'made body'])
def test_settings_are_kept(of):
    """Return the set values."""
    world = ode.World()
    one = world if of == 'world' else ode.Body(world)
    if of == 'made body':
        world.step(0.01)
    for name, value in (OF_WORLD if of == 'world' else OF_BODY).items():
        before = getattr(one, f'get{name}')()
        getattr(one, f'set{name}')(value)
        assert (
            getattr(one, f'get{name}')()
            == (pytest.approx(value) if name == 'Quaternion' else value)
            != before
        ), name
    if of != 'world':
        one.setAutoDisableDefaults()
        one.setDampingDefaults()
        for name in OF_BOTH:
            assert getattr(one, f'get{name}')() == getattr(world, f'get{name}')(), name
    with pytest.raises(InvalidValueError, match='linear'):
        one.setLinearDamping(1.5)


def test_damping_is_odes():
    """Lose velocity above thresholds, by each body's settings, and limit the angular speed."""
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    own = [ball(world, (float(k), 0.0, 0.0)) for k in range(3)]
    other = [peer.ball((float(k), 0.0, 0.0)) for k in range(3)]
    world.setDamping(0.02, 0.01)
    for body, theirs, scale, threshold, most in zip(
        own, other, (0.02, 0.1, 0.02), (0.01, 0.6, 0.01), (math.inf, math.inf, 2.0), strict=True
    ):
        body.setLinearVel((1.0, 0.0, 0.0))
        body.setAngularVel((0.0, 3.0, 0.0))
        libode.set_velocity(theirs, 1.0, 0.0, 0.0)
        libode.set_angular(theirs, 0.0, 3.0, 0.0)
        call('dBodySetLinearDamping', theirs, scale, result=None)
        call('dBodySetAngularDamping', theirs, 0.01, result=None)
        call('dBodySetLinearDampingThreshold', theirs, threshold, result=None)
        call('dBodySetMaxAngularSpeed', theirs, most, result=None)
        if scale != 0.02:
            body.setLinearDamping(scale)
            body.setLinearDampingThreshold(threshold)
        body.setMaxAngularSpeed(most)
    for _ in range(30):
        world.step(0.01)
        libode.world_step(peer.world, 0.01)
    for body, theirs in zip(own, other, strict=True):
        np.testing.assert_allclose(body.getLinearVel(), libode.get_velocity(theirs)[:3])
        np.testing.assert_allclose(body.getAngularVel(), libode.get_angular(theirs)[:3], rtol=0.02)
    # the velocity decreases by a tenth in each step until it is below the threshold
    assert 0.54 < own[1].getLinearVel()[0] < 0.6
    libode.world_destroy(peer.world)


def test_each_body_falls_asleep_by_its_own_settings():
    """Let one of three resting balls sleep by its own settings, the others by the world's."""
    world, space, group = new_world(), ode.HashSpace(), ode.JointGroup()
    plane, geoms = ode.GeomPlane(space), []
    bodies = [ball(world, (float(k), 0.0, 0.1)) for k in range(3)]
    for body in bodies:
        geoms.append(ode.GeomSphere(space, 0.1))
        geoms[-1].setBody(body)

    def near(arguments, one, other):
        for contact in ode.collide(one, other):
            ode.ContactJoint(world, group, contact).attach(one.getBody(), other.getBody())

    def go(steps):
        for _ in range(steps):
            space.collide(None, near)
            world.step(0.01)
            group.empty()
        return [body.isEnabled() for body in bodies]

    bodies[0].setAutoDisableFlag(True)
    bodies[2].setAutoDisableFlag(False)
    assert go(30) == [False, True, True]
    world.setAutoDisableFlag(True)
    assert go(30) == [False, False, True]
    bodies[2].setAutoDisableDefaults()
    assert go(30) == [False, False, False]
    bodies[0].enable()
    assert bodies[0].isEnabled() and plane.isEnabled()
    bodies[0].setLinearVel((0.5, 0.0, 0.0))
    assert go(2)[0]


@pytest.mark.parametrize(
    'verb',
    [
        'Force',
        'Torque',
        'RelForce',
        'RelTorque',
        'ForceAtPos',
        'ForceAtRelPos',
        'RelForceAtPos',
        'RelForceAtRelPos',
    ],
)
def test_pushes_are_odes(verb):
    """Sum all kinds of forces and torques like ODE's library, and reset them."""
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    body, theirs = ball(world, (1.0, 2.0, 3.0)), peer.ball((1.0, 2.0, 3.0))
    turn = (0.5, 0.5, 0.5, 0.5)
    body.setQuaternion(turn)
    libode.set_quaternion(theirs, (libode.real * 4)(*turn))
    vectors = [(0.1, 0.2, 0.3), (1.0, 0.0, 2.0)][: 1 + ('At' in verb)]
    for _ in range(2):
        getattr(body, f'add{verb}')(*vectors)
        call(
            f'dBodyAdd{verb}',
            theirs,
            *(each for vector in vectors for each in vector),
            result=None,
        )
    for name in ('Force', 'Torque'):
        expected = call(f'dBodyGet{name}', theirs, result=libode.reals)[:3]
        np.testing.assert_allclose(getattr(body, f'get{name}')(), expected, atol=1e-12)
    world.step(1e-3)
    libode.world_step(peer.world, 1e-3)
    np.testing.assert_allclose(body.getLinearVel(), libode.get_velocity(theirs)[:3], atol=1e-9)
    np.testing.assert_allclose(body.getAngularVel(), libode.get_angular(theirs)[:3], rtol=1e-3)
    assert body.getForce() == body.getTorque() == (0.0, 0.0, 0.0)
    force = world.impulseToForce(1e-3, (0.0, 0.5, 0.0))
    assert force == pytest.approx((0.0, 500.0, 0.0))
    libode.world_destroy(peer.world)


def slide(**parameters):
    """Return a world, a body on a slider, and the joint with parameters."""
    world = new_world((0.0, 0.0, 0.0))
    body = ball(world, (0.0, 0.0, 0.0))
    joint = ode.SliderJoint(world)
    joint.attach(body, None)
    joint.setAxis((1.0, 0.0, 0.0))
    for name, value in parameters.items():
        joint.setParam(getattr(ode, name), value)
        assert joint.getParam(getattr(ode, name)) == value
    return world, body, joint


def test_stops_bounce_yield_and_cancel_out():
    """Bounce at a stop; rest in a soft one; ignore stops with low above high."""
    world, body, joint = slide(ParamHiStop=0.1, ParamBounce=0.5)
    body.setLinearVel((1.0, 0.0, 0.0))
    for _ in range(15):
        world.step(0.01)
    assert joint.getPositionRate() == pytest.approx(-0.5)
    world, body, joint = slide(ParamHiStop=0.0, ParamStopERP=0.2, ParamStopCFM=1e-3)
    for _ in range(300):
        joint.addForce(2.0)
        world.step(0.01)
    assert joint.getPosition() == pytest.approx(2.0 * 0.01 * 1e-3 / 0.2, rel=1e-6)
    world, body, joint = slide(
        ParamLoStop=0.2, ParamHiStop=0.1, ParamFudgeFactor=0.5, ParamLoVel=0.1, ParamHiVel=0.2
    )
    body.setLinearVel((1.0, 0.0, 0.0))
    for _ in range(50):
        world.step(0.01)
    assert joint.getPosition() == pytest.approx(0.5)


def test_suspension_rests_where_odes_does():
    """Sag by m g h CFM / ERP on a hinge-2, with its own parameters."""
    world = new_world()
    body, joint = ball(world, (0.0, 0.0, 0.0)), ode.Hinge2Joint(world)
    joint.attach(body, None)
    joint.setAnchor((0.0, 0.0, 0.0))
    joint.setAxis1((0.0, 0.0, 1.0))
    joint.setAxis2((0.0, 1.0, 0.0))
    joint.setParam(ode.ParamSuspensionERP, 0.4)
    joint.setParam(ode.ParamSuspensionCFM, 0.01)
    for _ in range(400):
        world.step(0.01)
    assert body.getPosition()[2] == pytest.approx(-9.81 * 0.01 * 0.01 / 0.4, rel=1e-4)


def test_joints_begin_and_end():
    """Be in limbo, be attached, disabled, and end with the group; list connecting joints."""
    world = new_world()
    one, other, group = ball(world, (0.0,) * 3), ball(world, (1.0, 0.0, 0.0)), ode.JointGroup()
    kinds = {
        ode.BallJoint: 1,
        ode.HingeJoint: 2,
        ode.SliderJoint: 3,
        ode.UniversalJoint: 5,
        ode.Hinge2Joint: 6,
        ode.FixedJoint: 7,
        ode.AMotor: 9,
        ode.LMotor: 10,
        ode.Plane2DJoint: 11,
        ode.PRJoint: 12,
        ode.PUJoint: 13,
        ode.PistonJoint: 14,
        ode.DBallJoint: 15,
        ode.DHingeJoint: 16,
    }
    for make, number in kinds.items():
        peer = Peer()
        theirs = call(
            f'dJointCreate{make.__name__.removesuffix("Joint")}',
            peer.world,
            None,
            result=ctypes.c_void_p,
        )
        assert (
            make(world).getType() == number == call('dJointGetType', theirs, result=ctypes.c_int)
        )
        libode.world_destroy(peer.world)
    joint = ode.BallJoint(world, group)
    world.step(0.01)
    assert (joint.getNumBodies(), one.getNumJoints()) == (0, 0)
    joint.attach(one, other)
    joint.user_data = 'mine'
    assert (joint.getNumBodies(), joint.getBody(0), joint.getBody(1)) == (2, one, other)
    assert one.getJoint(0) is joint and one.getJoint(0).user_data == 'mine'
    assert ode.areConnected(one, other) and ode.connectingJoints(other, one) == [joint]
    assert not ode.areConnectedExcluding(one, other, ode.JointTypeBall)
    assert ode.areConnectedExcluding(one, other, ode.JointTypeContact)
    one.setLinearVel((0.0, 1.0, 0.0))
    joint.disable()
    world.step(0.01)
    assert not joint.isEnabled() and other.getLinearVel()[1] == 0.0
    joint.enable()
    world.step(0.01)
    assert other.getLinearVel()[1] != 0.0
    group.empty()
    assert len(group) == one.getNumJoints() == 0 and not ode.areConnected(one, other)


def test_compliant_worlds_sag():
    """Use the world's ERP and CFM in joints: a weight hangs m g h CFM / ERP lower."""
    world = new_world()
    body, joint = ball(world, (0.0, 0.0, 0.0)), ode.BallJoint(world)
    joint.attach(body, None)
    world.setERP(0.5)
    world.setCFM(1e-3)
    for _ in range(300):
        world.step(0.01)
    assert body.getPosition()[2] == pytest.approx(-9.81 * 0.01 * 1e-3 / 0.5, rel=1e-6)


@pytest.mark.parametrize(
    'name',
    [
        'dRFromAxisAndAngle',
        'dRFromEulerAngles',
        'dQFromAxisAndAngle',
        'dRfromQ',
        'dQfromR',
        'dQMultiply0',
        'dRFrom2Axes',
        'dRFromZAxis',
    ],
)
def test_rotations_of_scipy_are_odes(name):
    """Build a rotation with SciPy that equals ODE's function."""
    body, turn = ode.Body(ode.World()), Rotation.from_rotvec(0.7 * np.array((1.0, 2.0, 2.0)) / 3.0)
    q = (libode.real * 4)(*turn.as_quat(scalar_first=True))
    R = (libode.real * 12)(*np.pad(turn.as_matrix(), ((0, 0), (0, 1))).ravel())
    result = (libode.real * 12)()
    numbers = {
        'dRFromAxisAndAngle': (1.0, 2.0, 2.0, 0.7),
        'dQFromAxisAndAngle': (1.0, 2.0, 2.0, 0.7),
        'dRFromEulerAngles': (0.1, 0.2, 0.3),
        'dRFrom2Axes': (1.0, 0.0, 1.0, 0.0, 2.0, 0.0),
        'dRFromZAxis': (1.0, 2.0, 2.0),
        'dRfromQ': (ctypes.addressof(q),),
        'dQfromR': (ctypes.addressof(R),),
        'dQMultiply0': (ctypes.addressof(q),) * 2,
    }[name]
    call(name, ctypes.addressof(result), *numbers, result=None)
    ours = {
        'dRFromEulerAngles': Rotation.from_euler('xyz', (0.1, 0.2, 0.3)).inv(),
        'dQMultiply0': turn * turn,
        'dRFrom2Axes': Rotation.from_matrix(
            np.array([(HALF, 0.0, HALF), (0.0, 1.0, 0.0), (-HALF, 0.0, HALF)]).T
        ),
    }.get(name, turn)
    if name == 'dRFromZAxis':
        # any rotation with this z axis
        np.testing.assert_allclose(np.reshape(result, (3, 4))[:, 2], np.array((1, 2, 2)) / 3.0)
        ours = Rotation.from_matrix(np.reshape(result, (3, 4))[:, :3])
    if name.startswith('dQ'):
        body.setQuaternion(ours.as_quat(scalar_first=True))
        np.testing.assert_allclose(body.getQuaternion(), result[:4], atol=1e-12)
    else:
        body.setRotation(ours.as_matrix().ravel())
        np.testing.assert_allclose(
            body.getRotation(), np.reshape(result, (3, 4))[:, :3].ravel(), atol=1e-12
        )
