"""ODE's bindings beside joints and steps: geoms, masses, groups, modes, bad input."""

import gc
import math

import numpy as np
import pytest

from sim_bridge import InvalidValueError, ode


def body_in(world, position=(0.0, 0.0, 0.0)):
    """Return a body with the default mass."""
    body = ode.Body(world)
    body.setPosition(position)
    return body


def test_conventions_of_bodies():
    """Use quaternions w x y z, rotations by rows, and consistent points and vectors."""
    world = ode.World()
    body = body_in(world, (1.0, 2.0, 3.0))
    half = math.sqrt(0.5)
    body.setQuaternion((half, 0.0, 0.0, half))
    body.setAngularVel((0.0, 0.0, 2.0))
    for _ in range(2):
        np.testing.assert_allclose(body.getRotation(), (0, -1, 0, 1, 0, 0, 0, 0, 1), atol=1e-12)
        np.testing.assert_allclose(body.getQuaternion(), (half, 0, 0, half))
        np.testing.assert_allclose(body.getRelPointPos((1, 0, 0)), (1, 3, 3))
        np.testing.assert_allclose(body.getRelPointVel((1, 0, 0)), (-2, 0, 0), atol=1e-12)
        np.testing.assert_allclose(body.getPosRelPoint((1, 3, 3)), (1, 0, 0), atol=1e-12)
        np.testing.assert_allclose(body.vectorFromWorld((0, 1, 0)), (1, 0, 0), atol=1e-12)
        world.sync()  # the same from the engine
    body.addForceAtRelPos((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    np.testing.assert_allclose(body.getTorque(), (1, 0, 0), atol=1e-12)
    world.step(0.01)
    assert body.getForce() == (0.0, 0.0, 0.0)
    assert body.getLinearVel()[2] == pytest.approx(0.01)


def test_constants():
    """Have ODE's constants: infinite friction at most, second axes from 256 on."""
    assert ode.Contact().getMu() == ode.Infinity == math.inf
    assert (ode.ParamVel2, ode.ParamFMax3, ode.ContactSlip2) == (258, 517, 0x200)
    ode.InitODE()
    ode.CloseODE()
    assert ode.Contact().getBounce() == 0.1


def test_masses():
    """Put a cylinder along x; add and displace by the parallel-axis theorem."""
    mass = ode.Mass()
    mass.setCylinderTotal(2.0, 1, 0.1, 1.0)
    assert mass.I[0][0] == pytest.approx(0.5 * 2.0 * 0.01)
    mass.translate((0.0, 1.0, 0.0))
    assert mass.I[0][0] == pytest.approx(0.01 + 2.0)
    other = ode.Mass()
    other.setSphereTotal(2.0, 0.1)
    mass.add(other)
    assert mass.mass == 4.0 and mass.c == (0.0, 0.5, 0.0)
    with pytest.raises(InvalidValueError, match='centre of mass'):
        body_in(ode.World()).setMass(mass)


def test_unreferenced_objects_are_removed():
    """Let bodies, joints and geoms end with their last reference, like ODE's bindings."""
    world, space = ode.World(), ode.SimpleSpace()
    one, other = body_in(world), body_in(world, (1.0, 0.0, 0.0))
    joint = ode.BallJoint(world)
    joint.attach(one, other)
    geom = ode.GeomSphere(space, 0.1)
    geom.setBody(one)
    world.step(0.01)
    assert ode.areConnected(one, other) and len(world.engine.robots) == 2 and len(space) == 1
    assert [*one.geoms.values()] == [geom] and one.world is world
    for each in (world, one, joint, geom, space):
        each.user_data = 'mine'
    del joint
    gc.collect()
    assert not ode.areConnected(one, other) and one.getNumJoints() == 0
    del geom, other
    gc.collect()
    world.step(0.01)
    assert len(world.engine.robots) == 1 and len(space) == 0


def test_rays_transforms_and_meshes():
    """Hit placed geoms, and select them by bits."""
    world, space = ode.World(), ode.SimpleSpace()
    body = body_in(world)
    inner = ode.GeomBox(None, (1.0, 1.0, 1.0))
    inner.setPosition((0.0, 0.0, 2.0))
    outer = ode.GeomTransform(space)
    outer.setGeom(inner)
    outer.setBody(body)
    ray = ode.GeomRay(None, 10.0)
    ray.set((0.0, 0.0, -5.0), (0.0, 0.0, 1.0))
    (contact,) = ode.collide(ray, outer)
    point, normal, depth, _, named = contact.getContactGeomParams()
    np.testing.assert_allclose(point, (0.0, 0.0, 1.5))
    np.testing.assert_allclose(normal, (0.0, 0.0, -1.0))
    assert depth == pytest.approx(6.5) and named is inner
    data = ode.TriMeshData()
    data.build([(-1, -1, 0), (1, -1, 0), (0, 1, 0)], [(0, 1, 2)])
    mesh, sphere = ode.GeomTriMesh(data, space), ode.GeomSphere(space, 0.5)
    sphere.setPosition((0.0, 0.0, 0.4))
    (contact,) = ode.collide(sphere, mesh)
    assert contact.getContactGeomParams()[2] == pytest.approx(0.1)
    pairs = []
    space.collide('told', lambda *each: pairs.append(each))
    assert ('told', mesh, sphere) in pairs
    sphere.setCollideBits(0)
    sphere.setCategoryBits(0)
    pairs.clear()
    ode.collide2(sphere, space, None, lambda *each: pairs.append(each))
    assert pairs == []


def test_disabled_and_kinematic_bodies():
    """Stop a body until a joint connects it to a moving one; keep a kinematic velocity."""
    world = ode.World()
    world.setGravity((0.0, 0.0, -10.0))
    stopped, moved = body_in(world), body_in(world, (1.0, 0.0, 0.0))
    stopped.disable()
    moved.setKinematic()
    moved.setLinearVel((1.0, 0.0, 0.0))
    world.step(0.1)
    assert stopped.getPosition() == (0.0, 0.0, 0.0) and not stopped.isEnabled()
    np.testing.assert_allclose(moved.getPosition(), (1.1, 0.0, 0.0))
    falling = body_in(world, (0.0, 0.0, 1.0))
    joint = ode.FixedJoint(world)
    joint.attach(stopped, falling)
    joint.setFixed()
    world.step(0.1)
    world.step(0.1)
    assert stopped.isEnabled() and stopped.getLinearVel()[2] < -0.5


def test_bad_input_is_named():
    """Name the invalid input; the world continues."""
    world = ode.World()
    body, strange = body_in(world), body_in(ode.World())
    hinge = ode.HingeJoint(world)
    for match, bad in {
        'world': lambda: ode.Body(None),
        'position': lambda: body.setPosition((0.0, math.nan, 0.0)),
        'quaternion': lambda: body.setQuaternion((1.0, 0.0, 0.0)),
        'x y z w = .*0.0': lambda: body.setQuaternion((0.0, 0.0, 0.0, 0.0)),
        'a geom or a space': lambda: ode.collide2(ode.Space(), body, None, print),
        'a rotation': lambda: body.setRotation([2.0] + [0.0] * 8),
        "of the joint's world": lambda: hinge.attach(body, strange),
        'another body': lambda: hinge.attach(body, body),
        'param': lambda: hinge.setParam(ode.ParamVel2, 1.0),
        'ParamBounce': lambda: hinge.setParam(ode.ParamBounce, math.inf),
        'axis': lambda: hinge.setAxis((0.0, 0.0, 0.0)),
        'flags': lambda: ode.Contact().setMode(0x8000),
        'bounce': lambda: ode.Contact().setBounce(2.0),
        'radius': lambda: ode.GeomSphere(None, -1.0),
        'time_step': lambda: world.step(0.0),
        'contact': lambda: ode.ContactJoint(world, None, body),
    }.items():
        with pytest.raises(InvalidValueError, match=match):
            bad()
    world.step(0.01)


@pytest.mark.parametrize(
    ('verts', 'faces'), [(ode, [[0, 1, 2]]), ([1.0] * 9, 'abc'), ([1.0] * 8, [0, 1, 2])]
)
def test_wrong_triangles_are_named(verts, faces):
    """Raise InvalidValueError for other things than rows of three numbers."""
    with pytest.raises(InvalidValueError, match='rows of three numbers'):
        ode.TriMeshData().build(verts, faces)
