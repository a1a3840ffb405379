"""Motors and joint parameters, compared with ODE's library."""

import ctypes

import numpy as np
import pytest
from test_ode_demos import ball, call, new_world, Peer

from benchmarks.peers import libode
from sim_bridge import InvalidValueError, ode

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def both(make, world, peer, own, other, *, axes=()):
    """Return a motor here and in ODE's library; axes: frame and direction of each axis."""
    kind = make.__name__
    joint = make(world)
    joint.attach(*own)
    theirs = call(f'dJointCreate{kind}', peer.world, None, result=ctypes.c_void_p)
    libode.attach(theirs, *other)
    if axes:
        joint.setNumAxes(len(axes))
        call(f'dJointSet{kind}NumAxes', theirs, len(axes), result=None)
    for number, (rel, axis) in enumerate(axes):
        joint.setAxis(number, rel, axis)
        call(f'dJointSet{kind}Axis', theirs, number, rel, *axis, result=None)
    return joint, theirs


def set_param(joint, theirs, param, value, kind=None):
    """Set a parameter in both."""
    joint.setParam(param, value)
    kind = kind or type(joint).__name__.removesuffix('Joint')
    call(f'dJointSet{kind}Param', theirs, param, float(value), result=None)


@pytest.mark.parametrize('rel', [0, 1, 2])
@pytest.mark.parametrize('make', [ode.AMotor, ode.LMotor])
def test_motor_axes_are_fixed_on_the_world_or_a_body(make, rel):
    """Drive two turning bodies along or about an axis of the world, the first or the second."""
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    places, masses = [(0.0, 0.0, 0.0), (0.0, 0.4, 0.3)], [1.0, 2.0]
    own = [ball(world, *each) for each in zip(places, masses, strict=True)]
    other = [peer.ball(*each) for each in zip(places, masses, strict=True)]
    for body, theirs, turning in zip(own, other, ((4.0, 0.0, 0.0), (0.0, -3.0, 0.0)), strict=True):
        body.setAngularVel(turning)
        libode.set_angular(theirs, *turning)
    motor, theirs = both(make, world, peer, own, other, axes=[(rel, (0.0, 0.6, 0.8))])
    set_param(motor, theirs, ode.ParamVel, 1.5)
    set_param(motor, theirs, ode.ParamFMax, 0.5 if make is ode.LMotor else 0.01)
    for _ in range(150):
        world.step(2e-3)
        libode.world_step(peer.world, 2e-3)
    assert motor.getAxisRel(0) == rel
    assert (abs(np.subtract(motor.getAxis(0), (0.0, 0.6, 0.8))).max() < 1e-9) == (rel == 0)
    for one, peers in zip(own, other, strict=True):
        np.testing.assert_allclose(one.getLinearVel(), libode.get_velocity(peers)[:3], atol=5e-3)
        np.testing.assert_allclose(one.getAngularVel(), libode.get_angular(peers)[:3], atol=0.06)
    libode.world_destroy(peer.world)


def test_euler_angles_are_odes():
    """Measure a motor's Euler angles between two bodies, and stop the middle one."""
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    places = [(0.0, 0.0, 0.0), (0.0, 0.5, 0.0)]
    own, other = [ball(world, p) for p in places], [peer.ball(p) for p in places]
    motor, theirs = (
        ode.AMotor(world),
        call('dJointCreateAMotor', peer.world, None, result=ctypes.c_void_p),
    )
    motor.attach(*own)
    libode.attach(theirs, *other)
    motor.setMode(ode.AMotorEuler)
    libode.motor_mode(theirs, ode.AMotorEuler)
    for number, rel, axis in ((0, 1, X), (2, 2, Z)):
        motor.setAxis(number, rel, axis)
        call('dJointSetAMotorAxis', theirs, number, rel, *axis, result=None)
    assert (motor.getMode(), motor.getNumAxes()) == (ode.AMotorEuler, 3)
    libode.world_step(peer.world, 1e-3)
    world.step(1e-3)
    axis = (ctypes.c_double * 4)()
    call('dJointGetAMotorAxis', theirs, 1, ctypes.addressof(axis), result=None)
    np.testing.assert_allclose(motor.getAxis(1), axis[:3], atol=1e-9)
    for number, rel in ((0, 2), (2, 1), (2, 0)):
        with pytest.raises(InvalidValueError, match=f'rel of axis {number}'):
            motor.setAxis(number, rel, X)
    set_param(motor, theirs, ode.ParamHiStop2, 0.15)
    set_param(motor, theirs, ode.ParamLoStop2, -0.15)
    turning = (0.5, 0.4, -0.3)
    own[0].setAngularVel(turning)
    libode.set_angular(other[0], *turning)
    for _ in range(300):
        world.step(1e-3)
        libode.world_step(peer.world, 1e-3)
    for number in range(3):
        expected = libode.motor_angle(theirs, number)
        assert abs(expected) > 0.05
        assert motor.getAngle(number) == pytest.approx(expected, abs=5e-3)
    for _ in range(300):
        world.step(1e-3)
    # without the stop the middle angle exceeded a quarter of a radian
    assert abs(motor.getAngle(1)) == pytest.approx(0.15, abs=1e-6)
    libode.world_destroy(peer.world)


def test_cfm_of_a_motor_is_odes():
    """Turn against a load at the target velocity minus CFM times torque."""
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    own, other = ball(world, (0.0, 0.0, 0.0)), peer.ball((0.0, 0.0, 0.0))
    hinge = ode.HingeJoint(world)
    hinge.attach(own, None)
    hinge.setAxis(Z)
    theirs = libode.create_hinge(peer.world, None)
    libode.attach(theirs, other, None)
    libode.hinge_axis(theirs, *Z)
    for param, value in ((ode.ParamVel, 3.0), (ode.ParamFMax, 10.0), (ode.ParamCFM, 0.5)):
        set_param(hinge, theirs, param, value)
    for step in range(300):
        own.addTorque((0.0, 0.0, -1.0))
        call('dBodyAddTorque', other, 0.0, 0.0, -1.0, result=None)
        world.step(1e-3)
        libode.world_step(peer.world, 1e-3)
        if step == 2:
            assert hinge.getAngleRate() == pytest.approx(libode.hinge_rate(theirs), rel=0.25)
    assert hinge.getAngleRate() == pytest.approx(3.0 - 0.5 * 1.0, abs=1e-6)
    assert libode.hinge_rate(theirs) == pytest.approx(2.5, abs=1e-6)
    hinge.setParam(ode.ParamFMax, 0.5)
    rate = hinge.getAngleRate()
    own.addTorque((0.0, 0.0, -1.0))
    world.step(1e-3)
    # the motor gives its limit, not the effort from the CFM
    assert hinge.getAngleRate() - rate == pytest.approx(-0.5 * 1e-3 / 0.004, rel=1e-6)
    libode.world_destroy(peer.world)


@pytest.mark.parametrize('kind', ['Ball', 'Fixed'])
def test_joints_have_an_erp_and_a_cfm_of_their_own(kind):
    """Sag by m g h CFM / ERP under the weight."""
    world = new_world()
    body = ball(world, (0.0, 0.0, 0.0))
    joint = getattr(ode, f'{kind}Joint')(world)
    joint.attach(body, None)
    if kind == 'Fixed':
        joint.setFixed()
    joint.setParam(ode.ParamERP, 0.4)
    joint.setParam(ode.ParamCFM, 0.01)
    for _ in range(300):
        world.step(0.01)
    assert body.getPosition()[2] == pytest.approx(-9.81 * 0.01 * 0.01 / 0.4, rel=1e-6)
    world.setERP(0.8)
    assert (joint.getParam(ode.ParamERP), joint.getParam(ode.ParamCFM)) == (0.4, 0.01)


def test_motor_stops_are_relative_to_set_angles():
    """Stop at an angle relative to the value from setAngle."""
    world = new_world((0.0, 0.0, 0.0))
    body = ball(world, (0.0, 0.0, 0.0))
    motor = ode.AMotor(world)
    motor.attach(body, None)
    motor.setNumAxes(1)
    motor.setAxis(0, 1, Z)
    motor.setAngle(0, 0.3)
    motor.setParam(ode.ParamHiStop, 0.5)
    motor.setParam(ode.ParamVel, 2.0)
    motor.setParam(ode.ParamFMax, 10.0)
    for _ in range(50):
        world.step(0.01)
    assert motor.getAngle(0) == pytest.approx(0.5, abs=1e-6)
    assert np.arcsin(body.getRotation()[3]) == pytest.approx(0.2, abs=1e-6)
    motor.setParam(ode.ParamFMax, 0.0)
    motor.addTorques(-0.01)
    world.step(0.01)
    assert motor.getAngleRate(0) == pytest.approx(-0.01 * 0.01 / 0.004)


@pytest.mark.parametrize('kind', ['Fixed', 'Hinge', 'Slider', 'Ball', 'Universal'])
def test_feedback_is_odes(kind):
    """Return force and torque on both bodies, about their centres."""
    world, peer = new_world(), Peer()
    places = [(0.0, 0.0, 0.0), (0.3, 0.1, 0.0)]
    own, other = [ball(world, p) for p in places], [peer.ball(p) for p in places]
    joint = getattr(ode, f'{kind}Joint')(world)
    theirs = call(f'dJointCreate{kind}', peer.world, None, result=ctypes.c_void_p)
    joint.attach(*own)
    libode.attach(theirs, *other)
    for what, value in (('Anchor', (0.1, 0.0, 0.0)), ('Axis', X), ('Axis1', X), ('Axis2', Z)):
        if hasattr(joint, f'set{what}'):
            getattr(joint, f'set{what}')(value)
            call(f'dJointSet{kind}{what}', theirs, *value, result=None)
    if kind == 'Fixed':
        joint.setFixed()
        libode.set_fixed(theirs)
    assert joint.getFeedback() is None
    joint.setFeedback(True)
    told = (libode.real * 16)()
    call('dJointSetFeedback', theirs, ctypes.addressof(told), result=None)
    for body, peers, push in zip(own, other, ((0.0, 2.0, 1.0), (1.0, 0.0, 3.0)), strict=True):
        body.addForce(push)
        call('dBodyAddForce', peers, *push, result=None)
    world.step(1e-4)
    libode.world_step(peer.world, 1e-4)
    for body, push in zip(own, ((0.0, 2.0, 1.0), (1.0, 0.0, 3.0)), strict=True):
        body.addForce(push)
    world.sync()
    for body in own:
        body.push()
    np.testing.assert_allclose(
        np.ravel(joint.getFeedback()), np.reshape(told, (4, 4))[:, :3].ravel(), atol=2e-3
    )
    libode.world_destroy(peer.world)


@pytest.mark.parametrize('most', [-1.0, 0.0, 2.0])
def test_motor_without_a_positive_force_is_off(most):
    """Brake a slider only with a positive FMax, like ODE's library."""
    world, peer = new_world((0.0, 0.0, 0.0)), Peer((0.0, 0.0, 0.0))
    own, other = ball(world, (0.0, 0.0, 0.0)), peer.ball((0.0, 0.0, 0.0))
    slider, theirs = (
        ode.SliderJoint(world),
        call('dJointCreateSlider', peer.world, None, result=ctypes.c_void_p),
    )
    slider.attach(own, None)
    libode.attach(theirs, other, None)
    slider.setAxis(X)
    call('dJointSetSliderAxis', theirs, *X, result=None)
    set_param(slider, theirs, ode.ParamFMax, most)
    own.setLinearVel(X)
    libode.set_velocity(other, *X)
    for _ in range(10):
        world.step(0.01)
        libode.world_step(peer.world, 0.01)
    assert own.getLinearVel()[0] == pytest.approx(libode.get_velocity(other)[0], abs=1e-9)
    assert own.getLinearVel()[0] == pytest.approx(1.0 - 0.1 * max(most, 0.0), abs=1e-9)
    libode.world_destroy(peer.world)
