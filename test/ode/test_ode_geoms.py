"""ODE geoms: poses and contacts."""

import ctypes
import math

import numpy as np
import pytest
from test_ode_demos import ball, call, new_world

from benchmarks.peers import libode
from sim_bridge import InvalidValueError, ode

CUBE = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
ABOUT_X = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)


def depths(one, other):
    """Return normals and depths of the contacts between two geoms."""
    found = [each.getContactGeomParams() for each in ode.collide(one, other)]
    return [each[1] for each in found], [each[2] for each in found]


def test_convex_geom_touches_as_a_box():
    """Find equal contacts for a convex cube and a box, on a plane and with a sphere."""
    world, plane = new_world(), ode.GeomPlane()
    geoms = ode.GeomConvex(None, (), CUBE, ()), ode.GeomBox(None, (1.0, 1.0, 1.0))
    ball_geom = ode.GeomSphere(None, 0.3)
    ball_geom.setPosition((0.1, 0.2, 1.25))
    for geom in geoms:
        geom.setBody(ball(world, (0.0, 0.0, 0.48)))
        normals, deep = depths(geom, plane)
        np.testing.assert_allclose(normals, [(0, 0, 1)] * 4, atol=1e-12)
        np.testing.assert_allclose(deep, 0.02, atol=1e-9)
        np.testing.assert_allclose(depths(geom, ball_geom)[1], [0.03], atol=1e-6)
        np.testing.assert_allclose(geom.getAABB(), (-0.5, 0.5, -0.5, 0.5, -0.02, 0.98))
    geoms[0].setConvex((), np.multiply(CUBE, 2.0))
    assert depths(geoms[0], plane)[1] == pytest.approx([0.52] * 4)
    with pytest.raises(InvalidValueError, match='points'):
        ode.GeomConvex(None, (), [1.0, 2.0], ())


@pytest.mark.parametrize('placed', ['alone', 'turned', 'on a body'])
def test_height_field_is_where_odes_is(placed):
    """Touch a slope with heights along y; turned about x, along z. Compare with ODE's library."""
    heights = [[0.25 * x + 0.5 * z for x in range(5)] for z in range(3)]
    data = ode.HeightfieldData()
    data.buildCallback(lambda x, z: heights[z][x], 4.0, 4.0, 5, 3, offset=-0.75, thickness=1.0)
    field, sphere = ode.GeomHeightfield(data), ode.GeomSphere(None, 0.3)
    theirs = libode._ode.dGeomHeightfieldDataCreate
    theirs.restype = ctypes.c_void_p
    theirs = theirs()
    numbers = (ctypes.c_double * 15)(*np.ravel(heights))
    call(
        'dGeomHeightfieldDataBuildDouble',
        theirs,
        ctypes.addressof(numbers),
        1,
        4.0,
        4.0,
        5,
        3,
        1.0,
        -0.75,
        1.0,
        0,
        result=None,
    )
    peer = call('dCreateHeightfield', None, theirs, 1, result=ctypes.c_void_p)
    place = np.array((0.3, 0.075 - 0.25 + 0.25, -0.7))
    if placed == 'on a body':
        field.setBody(ball(new_world(), (0.0, 0.0, 0.0)))
    if placed != 'alone':
        field.setQuaternion(ABOUT_X)
        turned = (ctypes.c_double * 4)(*ABOUT_X)
        call('dGeomSetQuaternion', peer, ctypes.addressof(turned), result=None)
        place = place[[0, 2, 1]] * (1, -1, 1)
    sphere.setPosition(place)
    other = libode.create_sphere(None, 0.3)
    libode.geom_set_position(other, *place)
    contacts = (ctypes.c_double * 100)()
    assert libode.collide(other, peer, 4, ctypes.addressof(contacts), 96)
    normals, deep = depths(sphere, field)
    slope = np.array((-0.25, 1.0, -0.25)) / math.sqrt(1.125)
    np.testing.assert_allclose(
        normals[0], slope if placed == 'alone' else slope[[0, 2, 1]] * (1, -1, 1), atol=1e-6
    )
    assert deep[0] == pytest.approx(0.3 + 0.075 / math.sqrt(1.125), abs=1e-6)
    np.testing.assert_allclose(normals[0], contacts[4:7], atol=1e-6)
    assert deep[0] == pytest.approx(contacts[8], abs=1e-6)
    box, expected = field.getAABB(), (ctypes.c_double * 6)()
    call('dGeomGetAABB', peer, ctypes.addressof(expected), result=None)
    np.testing.assert_allclose(box, expected[:], atol=0.03)
    with pytest.raises(InvalidValueError, match='wrap'):
        data.build(heights, 4.0, 4.0, 5, 3, wrap=True)


def test_offsets_place_a_geom_on_its_body():
    """Place geoms by offsets, in the body or the world, and touch there, like ODE's library."""
    world, plane = new_world(), ode.GeomPlane()
    body, geom = ball(world, (1.0, 2.0, 3.0)), ode.GeomBox(None, (0.2, 0.4, 0.6))
    body.setQuaternion(ABOUT_X)
    with pytest.raises(ValueError, match='setBody'):
        geom.setOffsetPosition((0.0, 0.0, 0.0))
    geom.setBody(body)
    assert not geom.isOffset()
    peer = libode.body_create(libode.world_create())
    box = libode.create_box(None, 0.2, 0.4, 0.6)
    libode.geom_set_body(box, peer)
    libode.set_position(peer, 1.0, 2.0, 3.0)
    libode.set_quaternion(peer, (libode.real * 4)(*ABOUT_X))

    def agree():
        expected = (ctypes.c_double * 6)()
        call('dGeomGetAABB', box, ctypes.addressof(expected), result=None)
        np.testing.assert_allclose(geom.getAABB(), expected[:], atol=1e-9)

    geom.setOffsetPosition((0.0, -2.8, 0.5))
    libode.geom_offset_position(box, 0.0, -2.8, 0.5)
    agree()
    assert geom.isOffset() and geom.getOffsetPosition() == (0.0, -2.8, 0.5)
    # body y is the world's z: the turned box is 0.4 high, at 3 - 2.8
    np.testing.assert_allclose(geom.getPosition(), (1.0, 1.5, 0.2), atol=1e-12)
    np.testing.assert_allclose(depths(geom, plane)[1], 0.0, atol=1e-9)
    geom.setOffsetQuaternion(ABOUT_X)
    libode.geom_offset_quaternion(box, (libode.real * 4)(*ABOUT_X))
    agree()
    np.testing.assert_allclose(depths(geom, plane)[1], [0.1] * 4, atol=1e-9)
    np.testing.assert_allclose(geom.getOffsetQuaternion(), ABOUT_X)
    np.testing.assert_allclose(geom.getOffsetRotation(), (1, 0, 0, 0, 0, -1, 0, 1, 0), atol=1e-12)
    geom.setOffsetWorldPosition((0.0, 0.0, 0.1))
    geom.setOffsetWorldQuaternion((1.0, 0.0, 0.0, 0.0))
    np.testing.assert_allclose(geom.getPosition(), (0.0, 0.0, 0.1), atol=1e-12)
    np.testing.assert_allclose(geom.getRotation(), np.eye(3).ravel(), atol=1e-12)
    np.testing.assert_allclose(depths(geom, plane)[1], [0.2] * 4, atol=1e-9)
    np.testing.assert_allclose(geom.getRelPointPos((0.1, 0.0, 0.0)), (0.1, 0.0, 0.1), atol=1e-12)
    np.testing.assert_allclose(geom.getPosRelPoint((0.1, 0.0, 0.1)), (0.1, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(
        geom.vectorToWorld(geom.vectorFromWorld((1.0, 2.0, 3.0))), (1.0, 2.0, 3.0), atol=1e-12
    )
    geom.clearOffset()
    np.testing.assert_allclose(geom.getPosition(), body.getPosition())


class Shell(ode.GeomObject):
    """User-defined geom: a hollow ball of 1 m that contains spheres."""

    def half_extents(self, R):
        """Return centre offset and half extents."""
        return np.zeros(3), np.ones(3)

    def meet(self, other):
        """Return the contact with a sphere inside."""
        if not isinstance(other, ode.GeomSphere):
            return None
        away = np.subtract(other.getPosition(), self.getPosition())
        far = float(np.linalg.norm(away))
        deep = far + other.getRadius() - 1.0
        return [(away / far, away / far, deep)] if deep >= 0.0 else []


def test_geom_classes_of_the_user():
    """Swing a ball in a hollow sphere like a pendulum, with a user-defined geom class."""
    world, space, group = new_world(), ode.SimpleSpace(), ode.JointGroup()
    shell, geom = Shell(space), ode.GeomSphere(space, 0.2)
    body = ball(world, (0.04, 0.0, -math.sqrt(0.64 - 0.04**2)), radius=0.2)
    geom.setBody(body)
    assert shell.getAABB() == (-1.0, 1.0, -1.0, 1.0, -1.0, 1.0)

    def near(arguments, one, other):
        for contact in ode.collide(one, other):
            contact.setMu(0.0)
            ode.ContactJoint(world, group, contact).attach(one.getBody(), other.getBody())

    steps = 120
    for _ in range(steps):
        space.collide(None, near)
        world.step(math.pi * math.sqrt(0.8 / 9.81) / steps)
        group.empty()
    assert body.getPosition()[0] == pytest.approx(-0.04, abs=2e-3)


def test_callbacks_see_moved_geoms():
    """Find all near pairs' contacts in one search, and again after a callback moves geoms."""
    world, space = new_world(), ode.SweepAndPruneSpace()
    plane, bodies, geoms = ode.GeomPlane(space), [], []
    for number in range(20):
        bodies.append(ball(world, (float(number), 0.0, 0.09)))
        geoms.append(ode.GeomSphere(space, 0.1))
        geoms[-1].setBody(bodies[-1])
    world.sync()
    search, calls = world.engine.simulation.cache.handles.search, []
    between, type(search).between = (
        type(search).between,
        lambda self, *arguments: (calls.append(1), between(self, *arguments))[1],
    )
    found = []
    try:
        space.collide(None, lambda _, one, other: found.append(ode.collide(one, other)))
        assert (len(calls), len(found)) == (1, 20)
        found.clear()

        def lift(_, one, other):
            bodies[int(other.getBody().getPosition()[0])].setPosition((0.0, 0.0, 5.0))
            found.append(ode.collide(one, other))

        space.collide(None, lift)
    finally:
        type(search).between = between
    assert found == [[]] * 20 and plane.getSpace() is space


def test_rays_pass_back_faces_on_request():
    """Hit the far side of a box from inside, or nothing with culled back faces."""
    box, ray = ode.GeomBox(None, (1.0, 1.0, 1.0)), ode.GeomRay(None, 2.0)
    ray.set((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert depths(ray, box)[1] == pytest.approx([0.5])
    ray.setBackfaceCull(True)
    assert ray.getBackfaceCull() and depths(ray, box)[1] == []


def test_masses_of_meshes():
    """Weigh a cube of triangles off its origin, turn it, and reject impossible masses."""
    from scipy.spatial import ConvexHull

    corners = np.array(CUBE) * (2.0, 1.0, 1.0) + (1.0, 0.0, 0.0)
    hull, data, mass, box = ConvexHull(corners), ode.TriMeshData(), ode.Mass(), ode.Mass()
    outward = [
        face
        if np.dot(np.cross(*(corners[face[1:]] - corners[face[0]])), plane[:3]) > 0
        else face[::-1]
        for face, plane in zip(hull.simplices, hull.equations, strict=True)
    ]
    data.build(corners, outward)
    mass.setTrimesh(3.0, ode.GeomTriMesh(data))
    box.setBox(3.0, 2.0, 1.0, 1.0)
    box.translate((1.0, 0.0, 0.0))
    assert mass.mass == pytest.approx(6.0) and mass.c == pytest.approx((1.0, 0.0, 0.0))
    np.testing.assert_allclose(mass.I, box.I, atol=1e-12)
    mass.setTrimeshTotal(12.0, data)
    mass.rotate((0, -1, 0, 1, 0, 0, 0, 0, 1))
    np.testing.assert_allclose(mass.c, (0.0, 1.0, 0.0), atol=1e-12)
    assert mass.I[0][0] == pytest.approx(2.0 * box.I[1][1]) and mass.check()
    mass.setParameters(1.0, 0, 0, 0, 1.0, 1.0, 3.0, 0, 0, 0)
    assert not mass.check() and not ode.Mass().check()


def test_the_inner_geom_of_a_transform_may_change():
    """Follow changes of the inner geom's radius and place."""
    outer, inner, plane = ode.GeomTransform(), ode.GeomSphere(None, 0.3), ode.GeomPlane()
    outer.setGeom(inner)
    outer.setBody(ball(new_world(), (0.0, 0.0, 0.2)))
    assert depths(outer, plane)[1] == pytest.approx([0.1])
    inner.setRadius(0.4)
    assert depths(outer, plane)[1] == pytest.approx([0.2])
    inner.setPosition((0.0, 0.0, 0.1))
    assert depths(outer, plane)[1] == pytest.approx([0.1])


@pytest.mark.parametrize(
    ('name', 'sizes'),
    [
        ('Sphere', (0.3,)),
        ('Box', (0.4, 0.6, 0.8)),
        ('Plane', (0.6, 0.0, 0.8, 0.1)),
        ('Capsule', (0.2, 0.6)),
        ('Cylinder', (0.2, 0.6)),
        ('Ray', (2.0,)),
    ],
)
def test_bounds_and_depths_of_points_are_odes(name, sizes):
    """Have the sizes, bounds and point depths of ODE's geoms."""
    if name == 'Plane':
        geom = ode.GeomPlane(None, sizes[:3], sizes[3])
        assert geom.getParams() == (sizes[:3], sizes[3]) and not geom.placeable()
    else:
        geom = getattr(ode, f'Geom{name}')(None, *([sizes] if name == 'Box' else sizes))
        get = {'Sphere': 'getRadius', 'Box': 'getLengths', 'Ray': 'getLength'}.get(
            name, 'getParams'
        )
        assert getattr(geom, get)() == (sizes if len(sizes) > 1 else sizes[0])
    theirs = call(f'dCreate{name}', None, *sizes, result=ctypes.c_void_p)
    if name != 'Plane':
        q = (libode.real * 4)(*ABOUT_X)
        geom.setQuaternion(ABOUT_X)
        geom.setPosition((0.1, 0.2, 0.3))
        call('dGeomSetQuaternion', theirs, ctypes.addressof(q), result=None)
        libode.geom_set_position(theirs, 0.1, 0.2, 0.3)
    expected = (ctypes.c_double * 6)()
    call('dGeomGetAABB', theirs, ctypes.addressof(expected), result=None)
    if name != 'Plane':
        np.testing.assert_allclose(geom.getAABB(), expected[:], atol=1e-9)
    if hasattr(geom, 'pointDepth'):
        for point in np.random.default_rng(1).uniform(-0.5, 0.7, (20, 3)).tolist():
            depth = call(f'dGeom{name}PointDepth', theirs, *point)
            # outside a box, ODE's value is the depth of the farthest face
            if depth > 0.0 or name != 'Box':
                assert geom.pointDepth(point) == pytest.approx(depth, abs=1e-9)
    if name == 'Ray':
        start, way = geom.get()
        np.testing.assert_allclose([*start, *way], (0.1, 0.2, 0.3, 0.0, -1.0, 0.0), atol=1e-12)


@pytest.mark.parametrize(
    ('name', 'sizes'),
    [
        ('Sphere', (0.3,)),
        ('Box', (0.4, 0.6, 0.8)),
        ('Capsule', (1, 0.2, 0.6)),
        ('Capsule', (2, 0.2, 0.6)),
        ('Cylinder', (3, 0.2, 0.6)),
        ('Cylinder', (2, 0.2, 0.6)),
    ],
)
@pytest.mark.parametrize('total', ['', 'Total'])
def test_masses_are_odes(name, sizes, total):
    """Weigh, scale, displace, turn and add shapes like ODE."""
    mass, theirs, other = ode.Mass(), libode.Mass(), libode.Mass()
    address = ctypes.addressof(theirs)
    getattr(mass, f'set{name}{total}')(3.0, *sizes)
    call(f'dMassSet{name}{total}', address, 3.0, *sizes, result=None)
    added, turn = ode.Mass(), (0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    numbers = (2.0, 0.1, 0.2, 0.3, 1.0, 1.2, 1.4, 0.01, 0.02, 0.03)
    added.setParameters(*numbers)
    libode.mass_set(ctypes.byref(other), *numbers)
    R = (libode.real * 12)(*np.pad(np.reshape(turn, (3, 3)), ((0, 0), (0, 1))).ravel())
    for change, arguments, peers in (
        ('adjust', (5.0,), (5.0,)),
        ('translate', ((0.1, 0.2, 0.3),), (0.1, 0.2, 0.3)),
        ('rotate', (turn,), (ctypes.addressof(R),)),
        ('add', (added,), (ctypes.addressof(other),)),
    ):
        getattr(mass, change)(*arguments)
        call(f'dMass{change.capitalize()}', address, *peers, result=None)
        assert mass.mass == pytest.approx(theirs.mass)
        np.testing.assert_allclose(mass.c, theirs.c[:3], atol=1e-12)
        np.testing.assert_allclose(mass.I, np.reshape(theirs.inertia, (3, 4))[:, :3], atol=1e-9)
    body = ode.Body(ode.World())
    mass.translate([-each for each in mass.c])
    body.setMass(mass)
    assert body.getMass().I == mass.I and body.getMass().mass == mass.mass
    mass.setZero()
    assert mass.mass == 0.0 and body.getMass().mass == pytest.approx(7.0)


@pytest.mark.parametrize(
    'make',
    [
        ode.SimpleSpace,
        ode.HashSpace,
        ode.SweepAndPruneSpace,
        lambda: ode.QuadTreeSpace((0, 0, 0), (5, 5, 5), 3),
    ],
)
def test_spaces_hold_geoms_and_find_near_pairs(make):
    """Add, query and remove geoms; find pairs in a space and across, without disabled geoms."""
    space, outer = make(), ode.SimpleSpace()
    geoms = [ode.GeomSphere(space, 0.5) for _ in range(4)]
    for number, geom in enumerate(geoms):
        geom.setPosition((0.8 * number, 0.0, 0.0))
    assert [*space] == geoms and (len(space), space.getNumGeoms()) == (4, 4)
    assert space.getGeom(2) is geoms[2] and space.query(geoms[0]) and space.isSpace()
    assert space.getAABB() == pytest.approx((-0.5, 2.9, -0.5, 0.5, -0.5, 0.5))

    def near(one=space, other=None):
        pairs = []
        take = lambda arguments, a, b: pairs.append((arguments, a, b))  # noqa: E731
        space.collide('told', take) if other is None else ode.collide2(one, other, 'told', take)
        return [(geoms.index(a), geoms.index(b)) for told, a, b in pairs if told == 'told']

    assert near() == [(0, 1), (1, 2), (2, 3)]
    geoms[1].disable()
    assert not geoms[1].isEnabled() and near() == [(2, 3)]
    geoms[1].enable()
    geoms[2].setCategoryBits(2)
    geoms[2].setCollideBits(4)
    geoms[3].setCollideBits(1)
    geoms[3].setCategoryBits(1)
    assert (geoms[3].getCollideBits(), geoms[3].getCategoryBits()) == (1, 1)
    geoms[1].setCollideBits(2)
    assert near() == [(0, 1), (1, 2)]
    space.remove(geoms[3])
    outer.add(geoms[3])
    geoms[3].setCollideBits(0xFFFFFFFF)
    assert geoms[3].getSpace() is outer and not space.query(geoms[3])
    assert near(space, outer) == [(2, 3)] and near(geoms[3], space) == [(3, 2)]
    if isinstance(space, ode.HashSpace):
        space.setLevels(-2, 5)
        assert space.getLevels() == (-2, 5)


def test_meshes_tell_their_triangles():
    """Count triangles, and place their corners in the world."""
    data = ode.TriMeshData()
    data.build([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [(0, 1, 2), (1, 3, 2)])
    mesh = ode.GeomTriMesh(data)
    mesh.setPosition((0.0, 0.0, 2.0))
    assert mesh.getTriangleCount() == 2
    assert mesh.getTriangle(1) == ((1, 0, 2), (1, 1, 2), (0, 1, 2))
    ray = ode.GeomRay(None, 5.0)
    ray.set((0.2, 0.2, 0.0), (0.0, 0.0, 1.0))
    (contact,) = ode.collide(ray, mesh)
    assert contact.getContactGeomParams()[2] == pytest.approx(2.0)
