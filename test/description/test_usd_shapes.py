"""Shapes, masses, materials and pictures in USD stages."""

import math

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics
import pytest
from usd_files import body, joint, write

import sim_bridge as sb
from sim_bridge.description.load import examine_description, load_description
from sim_bridge.description.model import RobotDescription

_BODY = 'def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI"{schemas}])\n{{\n{text}\n}}\n'
_TETRAHEDRON = """    int[] faceVertexCounts = [3, 3, 3, 3]
    int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
"""


def shape(kind, text='', *, name='part', schemas='', collides=True):
    """Return a shape, a collider unless it does not collide."""
    own = '"PhysicsCollisionAPI"' if collides else ''
    applied = ', '.join(filter(None, (own, schemas)))
    applied = f'(prepend apiSchemas = [{applied}])' if applied else ''
    return f'def {kind} "{name}" {applied}\n{{\n{text}\n}}\n'


def read(folder, text, schemas='', **units) -> RobotDescription:
    """Read a stage with one rigid body."""
    return load_description(write(folder, _BODY.format(text=text, schemas=schemas), **units))


def link_of(folder, text, schemas='', **units):
    """Return the only link in a stage with one rigid body."""
    return read(folder, text, schemas, **units).links['rod']


@pytest.mark.parametrize(
    ('kind', 'text', 'expected', 'size', 'volume'),
    [
        ('Cube', 'double size = 0.2', 'box', (0.2, 0.2, 0.2), 0.008),
        ('Sphere', 'double radius = 0.1', 'sphere', (0.1,), 4.0 / 3.0 * math.pi * 1e-3),
        (
            'Cylinder',
            'double radius = 0.1\ndouble height = 0.4',
            'cylinder',
            (0.1, 0.4),
            math.pi * 0.01 * 0.4,
        ),
        (
            'Capsule',
            'double radius = 0.1\ndouble height = 0.4',
            'capsule',
            (0.1, 0.4),
            math.pi * 0.01 * 0.4 + 4.0 / 3.0 * math.pi * 1e-3,
        ),
        (
            'Cone',
            'double radius = 0.1\ndouble height = 0.4',
            'cone',
            (0.1, 0.4),
            math.pi * 0.01 * 0.4 / 3.0,
        ),
    ],
)
def test_primitives_have_their_size_and_volume(tmp_path, kind, text, expected, size, volume):
    """Read each primitive, and its mass at the usual density."""
    link = link_of(tmp_path, shape(kind, text))
    assert (link.collisions[0].kind, link.collisions[0].size) == (expected, pytest.approx(size))
    assert link.inertial.mass == pytest.approx(1000.0 * volume)


@pytest.mark.parametrize('axis', 'XYZ')
def test_round_shapes_lie_along_their_axis(tmp_path, axis):
    """Turn a cone to its axis, apex forwards."""
    link = link_of(
        tmp_path, shape('Cone', f'double radius = 0.1\ndouble height = 0.4\ntoken axis = "{axis}"')
    )
    expected = np.eye(3)['XYZ'.index(axis)]
    assert link.collisions[0].pose.rotation[:, 2] == pytest.approx(expected)
    assert np.linalg.det(link.collisions[0].pose.rotation) == pytest.approx(1.0)
    # the centre of mass is a quarter of the height above the base
    assert link.inertial.pose.position == pytest.approx(-0.1 * expected)


def test_scales_change_sizes(tmp_path):
    """Scale a sphere to an ellipsoid; take the greater radius of a cylinder, named."""
    scale = 'float3 xformOp:scale = (1, 2, 3)\nuniform token[] xformOpOrder = ["xformOp:scale"]\n'
    link = link_of(tmp_path, shape('Sphere', f'double radius = 0.1\n{scale}'))
    assert link.collisions[0].kind == 'ellipsoid'
    assert link.collisions[0].size == pytest.approx((0.1, 0.2, 0.3))
    found = read(tmp_path, shape('Cylinder', f'double radius = 0.1\ndouble height = 0.4\n{scale}'))
    assert found.links['rod'].collisions[0].size == pytest.approx((0.2, 1.2))
    assert [each.code for each in found.report.findings] == ['approximated']


@pytest.mark.parametrize(
    ('word', 'kind', 'keeps_triangles', 'mass'),
    [
        ('none', 'mesh', True, 1000.0 / 6.0),
        ('meshSimplification', 'mesh', True, 1000.0 / 6.0),
        ('convexHull', 'mesh', False, 1000.0 / 6.0),
        ('convexDecomposition', 'mesh', False, 1000.0 / 6.0),
        ('boundingCube', 'box', False, 1000.0),
        ('boundingSphere', 'sphere', False, 1000.0 * 4.0 / 3.0 * math.pi * 0.75**1.5),
    ],
)
def test_meshes_collide_by_their_approximation(tmp_path, word, kind, keeps_triangles, mass):
    """Read a tetrahedron with each approximation."""
    text = f'{_TETRAHEDRON}    uniform token physics:approximation = "{word}"'
    link = link_of(tmp_path, shape('Mesh', text, schemas='"PhysicsMeshCollisionAPI"'))
    found = link.collisions[0]
    assert (found.kind, found.is_terrain) == (kind, keeps_triangles)
    assert link.inertial.mass == pytest.approx(mass)


def test_mirrored_and_left_handed_meshes_face_outwards(tmp_path):
    """Have a positive volume at each orientation and scale."""
    for scale in ('(1, 1, 1)', '(-1, 1, 2)'):
        for orientation in ('rightHanded', 'leftHanded'):
            text = _TETRAHEDRON.replace('0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3', (
                '0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3'
                if orientation == 'rightHanded'
                else '0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2'
            ))  # fmt: skip
            text += (
                f'uniform token orientation = "{orientation}"\nfloat3 xformOp:scale = {scale}\n'
            )
            text += 'uniform token[] xformOpOrder = ["xformOp:scale"]'
            link = link_of(tmp_path, shape('Mesh', text))
            surface = link.collisions[0].surface
            a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
            volume = np.einsum('ij,ij->', a, np.cross(b, c)) / 6.0
            assert volume == pytest.approx((2.0 if scale[1] == '-' else 1.0) / 6.0)


# --- masses ------------------------------------------------------------------------------------

_CUBE = 'double size = 0.2\n'


@pytest.mark.parametrize(
    ('own', 'collider', 'expected'),
    [
        ('', '', 8.0),
        ('float physics:density = 500', '', 4.0),
        ('float physics:density = 500', 'float physics:density = 250', 2.0),
        ('', 'float physics:mass = 3', 3.0),
        ('float physics:density = 500', 'float physics:mass = 3', 3.0),
        ('float physics:mass = 5', 'float physics:mass = 3', 5.0),
    ],
)
def test_masses_follow_the_precedence_of_the_schema(tmp_path, own, collider, expected):
    """Let the mass of the body come before that of its colliders, and masses before densities."""
    part = shape('Cube', _CUBE + collider, schemas='"PhysicsMassAPI"')
    link = link_of(tmp_path, f'{own}\n{part}', ', "PhysicsMassAPI"')
    assert link.inertial.mass == pytest.approx(expected)
    assert link.inertial.inertia == pytest.approx(expected * 0.04 / 6.0 * np.eye(3))


def test_an_authored_centre_moves_the_inertia_of_the_colliders(tmp_path):
    """Apply Steiner's theorem to a body with its own mass centre."""
    text = 'point3f physics:centerOfMass = (0.3, 0, 0)\n' + shape('Cube', _CUBE)
    link = link_of(tmp_path, text, ', "PhysicsMassAPI"')
    assert link.inertial.pose.position == pytest.approx([0.3, 0.0, 0.0])
    own, arm = 8.0 * 0.04 / 6.0, 8.0 * 0.09
    assert np.diag(link.inertial.inertia) == pytest.approx([own, own + arm, own + arm])


def _volume_properties(prim):
    """Return the volume properties of a cube or a cylinder for usd-core."""
    found = UsdPhysics.RigidBodyAPI.MassInformation()
    if prim.GetTypeName() == 'Cube':
        side = prim.GetAttribute('size').Get()
        volume, moments = side**3, [side**5 / 6.0] * 3
    else:
        radius, height = (prim.GetAttribute(name).Get() for name in ('radius', 'height'))
        volume = math.pi * radius**2 * height
        across = volume * (radius**2 / 4.0 + height**2 / 12.0)
        moments = [across, across, volume * radius**2 / 2.0]
    found.volume, found.inertia = volume, Gf.Matrix3f(*np.diag(moments).ravel().tolist())
    found.centerOfMass = Gf.Vec3f(0.0)
    local = UsdGeom.Xformable(prim).GetLocalTransformation()
    found.localPos = Gf.Vec3f(local.ExtractTranslation())
    found.localRot = Gf.Quatf(local.ExtractRotationQuat())
    return found


@pytest.mark.parametrize('own', ['', 'float physics:mass = 5', 'float physics:density = 700'])
def test_masses_of_several_colliders_are_those_of_usd_core(tmp_path, own):
    """Have the mass, centre and inertia of `ComputeMassProperties`."""
    placed = """double3 xformOp:translate = (0.3, 0.1, -0.2)
float xformOp:rotateX = 40
uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]
double radius = 0.1
double height = 0.5
token axis = "Z"
float physics:mass = 3
"""
    text = shape('Cube', f'{_CUBE}float physics:density = 500', schemas='"PhysicsMassAPI"')
    text += shape('Cylinder', placed, name='bar', schemas='"PhysicsMassAPI"')
    text = _BODY.format(text=f'{own}\n{text}', schemas=', "PhysicsMassAPI"')
    path = write(tmp_path, text)
    link = load_description(path).links['rod'].inertial
    stage = Usd.Stage.Open(str(path))
    body_api = UsdPhysics.RigidBodyAPI.Get(stage, '/stage/rod')
    mass, moments, center, axes = body_api.ComputeMassProperties(_volume_properties)
    assert link.mass == pytest.approx(mass, rel=1e-6)
    assert link.pose.position == pytest.approx(np.array(center), abs=1e-6)
    turn = np.array(Gf.Matrix3d(Gf.Quatd(axes))).T
    expected = turn @ np.diag(np.array(moments)) @ turn.T
    assert link.inertia == pytest.approx(expected, abs=1e-5)


def test_principal_axes_turn_the_inertia(tmp_path):
    """Read an inertia about axes turned by a quarter about z."""
    half = math.sqrt(0.5)
    text = 'float physics:mass = 2\nfloat3 physics:diagonalInertia = (0.1, 0.2, 0.3)\n'
    text += f'quatf physics:principalAxes = ({half}, 0, 0, {half})\n'
    text += 'point3f physics:centerOfMass = (0, 0, 0)'
    link = link_of(tmp_path, text, ', "PhysicsMassAPI"')
    assert np.diag(link.inertial.inertia) == pytest.approx([0.2, 0.1, 0.3])


def test_a_body_without_mass_and_colliders_is_named(tmp_path):
    """Take 1 kg and a small sphere, with a warning, as PhysX does."""
    found = read(tmp_path, '')
    assert found.links['rod'].inertial.mass == 1.0
    assert found.links['rod'].inertial.inertia == pytest.approx(0.004 * np.eye(3))
    assert [each.code for each in found.report.findings] == ['missing-inertial']


def test_disabled_colliders_count_for_the_mass_alone(tmp_path):
    """Leave a disabled collider out of the contacts, not out of the mass."""
    link = link_of(tmp_path, shape('Cube', f'{_CUBE}bool physics:collisionEnabled = false'))
    assert not link.collisions and link.inertial.mass == pytest.approx(8.0)


# --- materials, pictures -----------------------------------------------------------------------


def test_physics_materials_are_those_of_the_binding(tmp_path):
    """Read friction, restitution and density; name a greater friction at rest."""
    text = """def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{
    float physics:dynamicFriction = 0.6
    float physics:staticFriction = 0.8
    float physics:restitution = 0.3
    float physics:density = 250
}
"""
    binding = f'{_CUBE}rel material:binding:physics = </stage/rubber>'
    part = shape('Cube', binding, schemas='"MaterialBindingAPI"')
    found = load_description(write(tmp_path, text + _BODY.format(text=part, schemas='')))
    link = found.links['rod']
    material = link.collisions[0].material
    assert (material.friction, material.restitution) == (0.6, 0.3)
    assert link.inertial.mass == pytest.approx(2.0)
    assert [each.code for each in found.report.findings] == ['approximated']


def test_colours_are_those_of_the_preview_surface(tmp_path):
    """Show linear colours of a UsdPreviewSurface as sRGB, and name its texture's absence."""
    text = """def Material "paint"
{
    token outputs:surface.connect = </stage/paint/shader.outputs:surface>
    def Shader "shader"
    {
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:diffuseColor = (0.214041, 0, 1)
        float inputs:opacity = 0.5
        token outputs:surface
    }
}
"""
    binding = f'{_CUBE}rel material:binding = </stage/paint>'
    part = shape('Cube', binding, schemas='"MaterialBindingAPI"')
    plain = 'color3f[] primvars:displayColor = [(1, 0, 0)]'
    part += shape('Sphere', plain, name='ball', collides=False)
    found = load_description(write(tmp_path, text + _BODY.format(text=part, schemas='')))
    first, second = found.links['rod'].visuals
    assert first.color == pytest.approx((0.5, 0.0, 1.0, 0.5), abs=1e-4)
    assert second.color == pytest.approx((1.0, 0.0, 0.0, 1.0))


def test_hidden_shapes_and_guides_are_not_shown(tmp_path):
    """Keep invisible shapes and guides out of pictures; guides collide all the same."""
    part = shape('Cube', f'{_CUBE}token visibility = "invisible"', collides=False)
    part += shape('Cube', f'{_CUBE}uniform token purpose = "guide"', name='hull')
    link = link_of(tmp_path, part)
    assert not link.visuals and len(link.collisions) == 1


def test_cameras_have_the_view_of_usd_core(tmp_path):
    """Have a camera's view angle as usd-core computes it, along its own -z axis."""
    text = 'float focalLength = 24\nfloat horizontalAperture = 36\nfloat verticalAperture = 27\n'
    text += 'float2 clippingRange = (0.1, 50)'
    path = write(tmp_path, _BODY.format(text=shape('Camera', text, collides=False), schemas=''))
    camera = load_description(path).sensors[0]
    stage = Usd.Stage.Open(str(path))
    prim = stage.GetPrimAtPath('/stage/rod/part')
    expected = UsdGeom.Camera(prim).GetCamera(0).GetFieldOfView(Gf.Camera.FOVHorizontal)
    width, height = camera.settings.size
    focal = camera.settings.intrinsics[0]
    assert math.degrees(2.0 * math.atan(0.5 * width / focal)) == pytest.approx(expected)
    assert width / height == pytest.approx(4.0 / 3.0)
    assert camera.pose.rotation @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 0.0, -1.0])
    assert camera.settings.clip == pytest.approx((0.1, 50.0))


def test_parts_without_simulation_are_named(tmp_path):
    """Name animations, initial velocities, curves, breaking joints and point instancers."""
    text = body('post', '    vector3f physics:velocity = (1, 0, 0)')
    text += 'def BasisCurves "curve" {}\ndef PointInstancer "copies" {}\n'
    text += joint('FixedJoint', 'hold', '', 'post', '    float physics:breakForce = 10')
    report = examine_description(write(tmp_path, text))[1]
    named = {each.name for each in report.findings if each.code == 'not-simulated'}
    assert named == {f'/stage/{each}' for each in ('post', 'curve', 'copies', 'hold')}


def test_filtered_pairs_and_joints_decide_the_contacts(tmp_path):
    """Let overlapping bodies collide, unless a joint or a filtered pair separates them."""
    pair = 'prepend rel physics:filteredPairs = </stage/two>'
    cube = shape('Cube', _CUBE)
    slide = 'bool physics:collisionEnabled = {0}\nuniform token physics:axis = "X"'
    for filtered, collides, expected in ((0, 1, True), (1, 1, False), (0, 0, False)):
        schemas = ', "PhysicsFilteredPairsAPI"' if filtered else ''
        text = body('one', cube + (pair if filtered else ''), schemas=schemas)
        text += body('two', cube, at='0.1, 0, 0')
        text += joint('FixedJoint', 'hold', '', 'one')
        text += joint('PrismaticJoint', 'rail', 'one', 'two', slide.format('01'[collides]))
        world = sb.World(gravity=(0.0, 0.0, 0.0))
        robot = world.add_robot(load_description(write(tmp_path, text)))
        world.step(100)
        assert bool(abs(robot.q[0] - 0.1) > 1e-3) is expected


def test_friction_against_turning_is_a_length(tmp_path):
    """Read Newton's friction against spinning and rolling; MuJoCo's condim switches it off."""
    text = """def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{
    float physics:dynamicFriction = 0.6
    float physics:staticFriction = 0.6
    float newton:torsionalFriction = 2
    float newton:rollingFriction = 1
}
"""
    for condim, spinning, rolling in ((None, 0.02, 0.01), (4, 0.02, 0.0), (3, 0.0, 0.0)):
        schemas = '"MaterialBindingAPI"' + (', "MjcCollisionAPI"' if condim else '')
        binding = f'{_CUBE}rel material:binding:physics = </stage/rubber>\n'
        binding += f'uniform int mjc:condim = {condim}' if condim else ''
        part = _BODY.format(text=shape('Cube', binding, schemas=schemas), schemas='')
        found = load_description(write(tmp_path, text + part, meters=0.01))
        material = found.links['rod'].collisions[0].material
        assert material.spinning_friction == pytest.approx(spinning)
        assert material.rolling_friction == pytest.approx(rolling)
