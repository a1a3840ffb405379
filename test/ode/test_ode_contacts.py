"""Contact parameters, compared with ODE's library."""

import ctypes

import numpy as np
import pytest
from test_ode_demos import ball, new_world, Peer

from benchmarks.peers import libode
from sim_bridge import InvalidValueError, ode

real = ctypes.c_double
SURFACE = (
    'mu',
    'mu2',
    'rho',
    'rho2',
    'rhoN',
    'bounce',
    'bounce_vel',
    'soft_erp',
    'soft_cfm',
    'motion1',
    'motion2',
    'motionN',
    'slip1',
    'slip2',
)


class Peers(ctypes.Structure):
    """ODE's dContact."""

    _fields_ = [
        ('mode', ctypes.c_int),
        *((name, real) for name in SURFACE),
        ('pos', real * 4),
        ('normal', real * 4),
        ('depth', real),
        ('geoms', ctypes.c_void_p * 2),
        ('sides', ctypes.c_int * 2),
        ('fdir1', real * 4),
    ]


def rolled(flags, parameters, velocity, steps=100, step=2e-3, mass=1.0):
    """Return velocities of a ball on the ground after some steps, here and in ODE's library."""
    world, peer, radius, group = new_world(), Peer(), 0.2, ode.JointGroup()
    body, plane = ball(world, (0.0, 0.0, radius), mass, radius), ode.GeomPlane()
    geom = ode.GeomSphere(None, radius)
    geom.setBody(body)
    body.setLinearVel(velocity)
    theirs = peer.ball((0.0, 0.0, radius), mass, radius)
    libode.set_velocity(theirs, *velocity)
    names = {
        'mu': 'Mu',
        'mu2': 'Mu2',
        'bounce_vel': 'BounceVel',
        'soft_erp': 'SoftERP',
        'soft_cfm': 'SoftCFM',
        'rhoN': 'RhoN',
        'motionN': 'MotionN',
    }
    other = libode.joint_group_create(0)
    for _ in range(steps):
        for contact in ode.collide(geom, plane):
            contact.setMode(flags)
            contact.setFDir1((1.0, 0.0, 0.0))
            for name, value in parameters.items():
                getattr(contact, f'set{names.get(name, name.capitalize())}')(value)
                assert getattr(contact, f'get{names.get(name, name.capitalize())}')() == value
            assert contact.getMode() == flags and contact.getFDir1() == (1.0, 0.0, 0.0)
            ode.ContactJoint(world, group, contact).attach(body, None)
        world.step(step)
        group.empty()
        place = libode.get_position(theirs)
        if place[2] <= radius:
            contact = Peers(mode=flags, depth=radius - place[2], **parameters)
            contact.pos[:] = [place[0], place[1], 0.0, 0.0]
            contact.normal[:], contact.fdir1[:] = [0, 0, 1, 0], [1, 0, 0, 0]
            libode.attach(
                libode.create_contact(peer.world, other, ctypes.addressof(contact)), theirs, None
            )
        libode.world_step(peer.world, step)
        libode.joint_group_empty(other)
    result = [
        (*body.getLinearVel(), *body.getAngularVel()),
        (*libode.get_velocity(theirs)[:3], *libode.get_angular(theirs)[:3]),
    ]
    heights = body.getPosition()[2], libode.get_position(theirs)[2]
    libode.world_destroy(peer.world)
    return result, heights


AREA = ode.ContactApprox1 | ode.ContactFDir1
CASES = {
    'mu': (AREA, {'mu': 0.3}, (1.0, 2.0, 0.0)),
    'constant force': (ode.ContactFDir1, {'mu': 1.5}, (1.0, 1.0, 0.0)),
    'force along, share across': (
        ode.ContactFDir1 | ode.ContactMu2 | ode.ContactApprox1_2,
        {'mu': 1.5, 'mu2': 0.3},
        (1.0, 2.0, 0.0),
    ),
    'share along, force across': (
        ode.ContactFDir1 | ode.ContactMu2 | ode.ContactApprox1_1,
        {'mu': 0.3, 'mu2': 1.5},
        (1.0, 2.0, 0.0),
    ),
    'crawler': (
        ode.ContactFDir1 | ode.ContactMotion1 | ode.ContactMu2 | ode.ContactApprox1_2,
        {'mu': 5.0, 'mu2': 0.2, 'motion1': 0.6},
        (0.0, 1.0, 0.0),
    ),
    'mu2': (AREA | ode.ContactMu2, {'mu': 0.3, 'mu2': 0.1}, (1.0, 2.0, 0.0)),
    'motion2': (AREA | ode.ContactMotion2, {'mu': 0.5, 'motion2': 0.4}, (0.0, 0.0, 0.0)),
    'motion1': (AREA | ode.ContactMotion1, {'mu': 0.5, 'motion1': 0.4}, (0.0, 0.0, 0.0)),
    'slip': (
        AREA | ode.ContactSlip1 | ode.ContactSlip2,
        {'mu': 1.0, 'slip1': 0.5, 'slip2': 0.1},
        (1.0, 1.0, 0.0),
    ),
    'rolling': (
        AREA | ode.ContactRolling,
        {'mu': 1.0, 'rho': 0.02, 'rho2': 0.02, 'rhoN': 0.01},
        (1.0, 0.0, 0.0),
    ),
}


@pytest.mark.parametrize('case', CASES)
def test_surface_parameters_are_odes(case):
    """Slide, stick, creep and roll like ODE's library."""
    (own, theirs), _ = rolled(*CASES[case])
    assert np.linalg.norm(theirs) > 0.1
    np.testing.assert_allclose(own, theirs, atol=0.02 * np.linalg.norm(theirs))


@pytest.mark.parametrize(('bounce', 'least', 'speed'), [(0.5, 0.1, 0.5), (0.5, 2.0, 0.0)])
def test_bounce_is_odes(bounce, least, speed):
    """Bounce above the bounce velocity."""
    flags = AREA | ode.ContactBounce
    parameters = {'mu': 0.0, 'bounce': bounce, 'bounce_vel': least}
    (own, theirs), _ = rolled(flags, parameters, (0.0, 0.0, -1.0), steps=1, step=1e-4)
    assert own[2] == pytest.approx(speed, abs=2e-3)
    assert theirs[2] == pytest.approx(speed, abs=2e-3)


def test_soft_contact_rests_where_odes_does():
    """Sink by m g h CFM / ERP."""
    flags = AREA | ode.ContactSoftERP | ode.ContactSoftCFM
    parameters = {'mu': 0.0, 'soft_erp': 0.2, 'soft_cfm': 1e-3}
    _, heights = rolled(flags, parameters, (0.0, 0.0, 0.0), steps=300)
    np.testing.assert_allclose(heights, 0.2 - 9.81 * 2e-3 * 1e-3 / 0.2, atol=1e-6)


def test_normal_motion_is_odes():
    """Leave the ground at the given normal velocity."""
    flags = AREA | ode.ContactMotionN
    (own, theirs), _ = rolled(flags, {'mu': 0.0, 'motionN': 0.3}, (0.0, 0.0, 0.0), steps=1)
    assert own[2] == pytest.approx(0.3, abs=0.02)
    assert theirs[2] == pytest.approx(0.3, abs=0.02)


def test_surface_layer_and_correcting_velocity():
    """Keep the surface layer, and correct the rest at the velocity limit."""
    world, group, plane = new_world((0.0, 0.0, 0.0)), ode.JointGroup(), ode.GeomPlane()
    world.setContactMaxCorrectingVel(0.5)
    world.setContactSurfaceLayer(0.01)
    assert world.getContactMaxCorrectingVel() == 0.5 and world.getContactSurfaceLayer() == 0.01
    body, geom = ball(world, (0.0, 0.0, 0.0)), ode.GeomSphere(None, 0.1)
    geom.setBody(body)
    heights = []
    for _ in range(300):
        for contact in ode.collide(geom, plane):
            contact.setMode(0)
            ode.ContactJoint(world, group, contact).attach(body, None)
        world.step(1e-3)
        group.empty()
        heights.append(body.getPosition()[2])
    assert max(np.diff(heights)) == pytest.approx(0.5e-3, rel=1e-6)
    assert heights[-1] == pytest.approx(0.09, abs=2e-3)


def test_contact_stores_valid_geometry_only():
    """Store valid geometry, reject invalid geometry."""
    contact, sphere = ode.Contact(), ode.GeomSphere()
    contact.setContactGeomParams((1, 2, 3), (0, 0, 1), 0.1, sphere, None)
    assert contact.getContactGeomParams() == ((1, 2, 3), (0, 0, 1), 0.1, sphere, None)
    world = new_world()
    contact.setMode(ode.ContactRolling | ode.ContactAxisDep)
    contact.setRho(0.1)
    with pytest.raises(InvalidValueError, match='rho2'):
        ode.ContactJoint(world, None, contact)
    with pytest.raises(InvalidValueError, match='normal'):
        ode.ContactJoint(world, None, ode.Contact())


def test_quick_step_tends_to_the_step_with_its_sweeps():
    """Stand on three balls: more sweeps come nearer to the direct solver's result."""

    def stand(steps, **options):
        world, group, plane = new_world(), ode.JointGroup(), ode.GeomPlane()
        bodies = [
            ball(world, (0.0, 0.0, 0.1 + 0.2 * k), mass) for k, mass in enumerate((1.0, 1.0, 2.0))
        ]
        geoms = [plane, *(ode.GeomSphere(None, 0.1) for _ in bodies)]
        for geom, body in zip(geoms[1:], bodies, strict=True):
            geom.setBody(body)
        if options:
            world.setQuickStepNumIterations(**options)
        for _ in range(steps):
            for low, high in zip(geoms, geoms[1:], strict=False):
                for contact in ode.collide(high, low):
                    contact.setMode(ode.ContactApprox1)
                    ode.ContactJoint(world, group, contact).attach(high.getBody(), low.getBody())
            (world.quickStep if options else world.step)(0.01)
            group.empty()
        return np.array([body.getLinearVel() for body in bodies])

    assert ode.World().getQuickStepNumIterations() == 20
    direct = stand(1)
    np.testing.assert_allclose(direct, 0.0, atol=1e-9)
    errors = [abs(stand(1, num=num) - direct).max() for num in (1, 10, 300)]
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]
    assert errors[2] < 1e-6


def resting_box(world, group, ground):
    """Return a box that overlaps the ground a little, its geom, and its contact joints."""
    body = ode.Body(world)
    mass = ode.Mass()
    mass.setBoxTotal(2.0, 0.2, 0.2, 0.2)
    body.setMass(mass)
    body.setPosition((0.0, 0.0, 0.1))
    geom = ode.GeomBox(None, (0.2, 0.2, 0.2))
    geom.setBody(body)
    joints = []
    for contact in ode.collide(geom, ground):
        contact.setMu(0.8)
        joints.append(ode.ContactJoint(world, group, contact))
        joints[-1].attach(geom.getBody(), ground.getBody())
    return body, geom, joints


def test_bodies_change_while_contact_joints_are_attached():
    """Step with contacts of a body after changes of its mass and geoms."""
    world, group, ground = new_world(), ode.JointGroup(), ode.GeomPlane()
    world.setGravity((0.0, 0.0, -9.81))
    body, _, joints = resting_box(world, group, ground)
    mass = ode.Mass()
    mass.setBoxTotal(4.0, 0.2, 0.2, 0.2)
    body.setMass(mass)
    ball_geom = ode.GeomSphere(None, 0.05)
    ball_geom.setBody(body)
    world.step(1e-3)
    assert len(joints) == 4 and body.getNumJoints() == 4
    assert np.allclose(body.getLinearVel(), 0.0, atol=1e-9)
    joints[0].disable()
    joints[0].enable()
    joints[0].setParam(ode.ParamBounce, 0.5)
    assert joints[0].getParam(ode.ParamBounce) == 0.5
    world.setERP(0.5)
    world.setCFM(1e-6)
    world.step(1e-3)
    group.empty()
    assert body.getNumJoints() == 0
    world.step(1e-3)
    assert body.getLinearVel()[2] == pytest.approx(-9.81e-3, rel=2e-3)


def test_contact_feedback_balances_momentum():
    """Push a sliding box, and balance its momentum with its contact feedback."""
    world, group, ground = new_world(), ode.JointGroup(), ode.GeomPlane()
    world.setGravity((0.0, 0.0, -9.81))
    body, _, joints = resting_box(world, group, ground)
    assert joints[0].getFeedback() is None
    for joint in joints:
        joint.setFeedback()
    body.setLinearVel((0.5, 0.0, 0.0))
    before = np.array((*body.getLinearVel(), *body.getAngularVel()))
    world.step(1e-3)
    told = np.array([joint.getFeedback() for joint in joints])
    assert np.all(told[:, 2:] == 0.0)
    force, torque = told[:, 0].sum(axis=0), told[:, 1].sum(axis=0)
    change = np.array((*body.getLinearVel(), *body.getAngularVel())) - before
    assert np.allclose(force + (0.0, 0.0, -2.0 * 9.81), 2.0 * change[:3] / 1e-3, atol=1e-6)
    assert np.allclose(torque, 2.0 * 0.2**2 / 6.0 * change[3:] / 1e-3, atol=1e-3)
    # without a flag mu is the greatest force of each contact
    assert force[0] == pytest.approx(-4 * 0.8, rel=1e-9)


def test_feedback_of_contacts_between_bodies_is_equal_and_opposite():
    """Press two balls together, with several contact joints in one pair."""
    world, group = new_world(), ode.JointGroup()
    low, high = ball(world, (0.0, 0.0, 0.0), 1.0, 0.1), ball(world, (0.0, 0.0, 0.2), 3.0, 0.1)
    contacts = []
    for number in range(2):
        contact = ode.Contact()
        contact.setContactGeomParams((0.01 * number, 0.0, 0.1), (0.0, 0.0, 1.0), 0.0, None, None)
        contact.setMu(0.0)
        contacts.append(ode.ContactJoint(world, group, contact))
        contacts[-1].attach(high, low)
        contacts[-1].setFeedback(number == 1)
    high.setLinearVel((0.0, 0.0, -1.0))
    world.step(1e-3)
    assert contacts[0].getFeedback() is None
    on_high, torque_high, on_low, torque_low = np.array(contacts[1].getFeedback())
    assert on_high[2] > 0.0 and np.array_equal(on_high, -on_low)
    assert np.allclose(torque_high, np.cross((0.01, 0.0, -0.1), on_high))
    assert np.allclose(torque_low, np.cross((0.01, 0.0, 0.1), on_low))
