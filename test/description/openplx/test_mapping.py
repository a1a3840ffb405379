"""Plain data from scenes: bodies, shapes, materials and mates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim_bridge.description.gravity import PointGravity
from sim_bridge.description.model import ConstraintType, JointType
from sim_bridge.description.openplx.load import examine_openplx
from sim_bridge.shapes.shapes import Capsule, Cylinder

BODIES = """
Bob is Physics3D.Bodies.RigidBody:
    inertia.mass: 2
    inertia.tensor: Math.Matrix3x3.diag(0.1, 0.2, 0.3)
    pin is Physics3D.Interactions.MateConnector:
        position.z: 0.5
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Vec3.Z_AXIS()
    tip is Physics3D.Interactions.MateConnector:
        position.z: -0.5
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Vec3.Z_AXIS()
"""


def scene_of(text, model=None):
    """Return a scene without errors."""
    scene, report = examine_openplx(text, model)
    assert report.ok, report.to_text()
    return scene


def codes(text):
    """Return code and line for each finding."""
    _, report = examine_openplx(text)
    return [(finding.code, finding.line) for finding in report.findings]


def in_scene(members, before=''):
    """Return a scene with these lines as members."""
    lines = '\n'.join(f'    {line}' for line in members.strip('\n').splitlines())
    return f'{BODIES}{before}\nScene is Physics3D.System:\n{lines}\n'


def test_shapes_have_full_edges_and_stand_along_y():
    """Check box edges, cylinder and capsule heights along y, and nested transforms."""
    scene = scene_of(
        in_scene("""
body is Physics3D.Bodies.RigidBody:
    box is Physics3D.Geometries.Box:
        size: Math.Vec3.from_xyz(1, 2, 3)
        local_transform.position.x: 5
    can is Physics3D.Geometries.Cylinder:
        radius: 0.1
        height: 2
    pill is Physics3D.Geometries.Capsule:
        radius: 0.2
        height: 1
        enable_collisions: false
    hull is Physics3D.Geometries.ConvexMesh:
        vertices: [{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}]
""")
    )
    [robot] = scene.robots
    box, can, pill, hull = (placed for _, placed in robot.shapes)
    assert box.shape.size == (1.0, 2.0, 3.0)
    assert box.position == (5.0, 0.0, 0.0)
    assert can.shape == Cylinder(0.1, 2.0)
    assert pill.shape == Capsule(0.2, 1.0)
    np.testing.assert_allclose(can.rotation @ (0, 0, 1), (0, 1, 0), atol=1e-15)
    assert (box.enabled, pill.enabled) == (True, False)
    assert len(hull.shape.vertices) == 4


def test_mass_comes_from_shapes_where_it_is_not_given():
    """Use given mass, tensor and centre; compute the rest from the counted shapes."""
    scene = scene_of(
        in_scene(
            """
all_of_shapes is Physics3D.Bodies.RigidBody:
    box is Physics3D.Geometries.Box:
        size: Math.Vec3.from_xyz(1, 2, 3)
        material.density: 10
        local_transform.position.z: 1
    left_out is Physics3D.Geometries.Sphere:
        radius: 1
        include_in_mass_properties: false
with_mass is all_of_shapes_model
with_center is all_of_shapes_model:
    kinematics.local_cm_transform.position.x: 0.25
""",
            before="""
all_of_shapes_model is Physics3D.Bodies.RigidBody:
    box is Physics3D.Geometries.Box:
        size: Math.Vec3.from_xyz(1, 2, 3)
    inertia.mass: 12
""",
        )
    )
    first, second, third = (
        robot.description.links[robot.description.root].inertial for robot in scene.robots
    )
    assert first.mass == pytest.approx(60.0, rel=1e-15)
    np.testing.assert_allclose(first.pose.position, (0, 0, 1))
    np.testing.assert_allclose(np.diag(first.inertia), (65.0, 50.0, 25.0), rtol=1e-14)
    assert second.mass == 12.0
    np.testing.assert_allclose(np.diag(second.inertia), (13.0, 10.0, 5.0), rtol=1e-14)
    np.testing.assert_array_equal(third.pose.position, (0.25, 0.0, 0.0))


@pytest.mark.parametrize(
    ('kind', 'tree'),
    [
        ('Lock', JointType.FIXED),
        ('Hinge', JointType.CONTINUOUS),
        ('Prismatic', JointType.PRISMATIC),
        ('Cylindrical', JointType.PISTON),
        ('Ball', JointType.BALL),
        ('Distance', None),
    ],
)
def test_mates_become_joints_of_trees(kind, tree):
    """Map each mate to a joint with its type; a distance cannot be a tree joint."""
    scene = scene_of(
        in_scene(
            f"""
one is Bob:
    kinematics.local_transform.position.x: 0
two is Bob
mate is Physics3D.Interactions.{kind}:
    connectors: [one.tip, two.pin]
"""
            + ('    initial_distance: 0.5\n' if kind == 'Distance' else '')
        )
    )
    [robot] = scene.robots
    joints, loops = robot.description.joints, robot.description.constraints
    if tree is None:
        assert [loop.type for loop in loops] == [ConstraintType.DISTANCE]
        assert loops[0].distance == 0.5
        assert [joint.type for joint in joints.values()] == [JointType.FLOATING]
    else:
        assert (joints['mate'].type, loops) == (tree, ())
    assert robot.apart == {frozenset(('one', 'two'))}


def test_flexible_mates_are_compliant_in_the_directions_that_they_name():
    """Map along and around main, normal and cross to z, x and y of the first connector."""
    scene = scene_of(
        in_scene("""
one is Bob
two is Bob
mate is Physics3D.Interactions.Lock:
    connectors: [one.tip, two.pin]
    flexibility becomes Physics3D.Interactions.Flexibility.DefaultLockFlexibility:
        along_main becomes Physics.Interactions.Flexibility.LinearElastic:
            stiffness: 100
        around_normal becomes Physics.Interactions.Flexibility.LinearElastic:
            stiffness: 20
    dissipation becomes Physics3D.Interactions.Dissipation.DefaultLockDissipation:
        along_main becomes Physics.Interactions.Dissipation.MechanicalDamping:
            damping_constant: 3
        around_normal becomes Physics.Interactions.Dissipation.ConstraintRelaxationTimeDamping:
            relaxation_time: 0.1
""")
    )
    [loop] = scene.robots[0].description.constraints
    inf = math.inf
    assert loop.compliance.stiffness == (inf, inf, 100.0, 20.0, inf, inf)
    assert loop.compliance.damping == (0.0, 0.0, 3.0, 2.0, 0.0, 0.0)
    np.testing.assert_allclose(loop.axis, (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(loop.normal, (0, 0, 1), atol=1e-15)


HINGED = """
one is Bob:
    kinematics.local_transform.position.x: 0
two is Bob
hinge is Physics3D.Interactions.Hinge:
    connectors: [one.tip, two.pin]
"""


def test_effects_along_an_axis_are_collected():
    """Intersect ranges, add up springs, and reverse signs for swapped connectors."""
    scene = scene_of(
        in_scene(
            HINGED
            + """
    friction becomes Physics.Interactions.Dissipation.ConstantLimitFriction:
        limit: 4
wide is Physics3D.Interactions.RotationalRange:
    connectors: hinge.connectors
    start: -1
    end: 2
swapped is Physics3D.Interactions.RotationalRange:
    connectors: [two.pin, one.tip]
    start: -1.5
    end: 0.5
soft is Physics3D.Interactions.TorsionSpring:
    connectors: hinge.connectors
    flexibility.stiffness: 10
    angle: 0.3
hard is Physics3D.Interactions.TorsionSpring:
    connectors: [two.pin, one.tip]
    flexibility.stiffness: 30
    angle: 0.5
drive is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [two.pin, one.tip]
    gain: 7
    target_speed: 2
    min_effort: -5
    max_effort: 9
push is Physics3D.Interactions.TorqueMotor:
    connectors: hinge.connectors
    default_torque: 8
    max_effort: 6
"""
        )
    )
    [axis] = scene.robots[0].axes['hinge']
    assert (axis.limits.lower, axis.limits.upper) == (-0.5, 1.5)
    assert axis.dynamics.friction == 4.0
    assert axis.dynamics.stiffness == 40.0
    assert axis.dynamics.reference == pytest.approx((10 * 0.3 - 30 * 0.5) / 40)
    [motor] = axis.motors
    assert (motor.kd, motor.target_velocity, motor.lower, motor.upper) == (7.0, -2.0, -9.0, 5.0)
    assert axis.effort == 6.0
    assert scene.interactions['swapped'].sign == -1.0


def test_connectors_along_the_same_axis_count_from_their_own_zero():
    """Give an interaction between other connectors on a hinge's line an offset."""
    scene = scene_of(
        in_scene(
            HINGED.replace(
                'two is Bob',
                """two is Bob:
    mark is Physics3D.Interactions.MateConnector:
        position.z: 0.5
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Quat.angle_axis(0.4, Math.Vec3.Y_AXIS()).rotate(Math.Vec3.Z_AXIS())""",
            )
            + """
spring is Physics3D.Interactions.TorsionSpring:
    connectors: [one.tip, two.mark]
    flexibility.stiffness: 10
"""
        )
    )
    own = scene.interactions['spring']
    assert (own.joint, own.sign) == ('hinge', 1.0)
    assert own.offset == pytest.approx(-0.4, abs=1e-12)
    assert scene.robots[0].axes['hinge'][0].dynamics.reference == pytest.approx(-0.4, abs=1e-12)


def test_gravity_beyond_the_world_is_an_error():
    """Report a vector that the world would refuse, with its line."""
    text = """Scene is Simulation.Environment:
    gravity becomes Simulation.UniformGravitationalField:
        vector: {0, 0, 1e10}
"""
    assert codes(text) == [('gravity', 3)]


def test_loops_groups_gravity_and_materials():
    """Map everything between bodies: contact materials, groups, the environment's field."""
    scene = scene_of(
        BODIES
        + """
Steel is Physics.Geometries.Material:
    unique_name: "steel"
    density: 7800
Scene is Simulation.Environment:
    gravity becomes Simulation.UniformGravitationalField:
        vector: {0, 0, -1.62}
    steel is Steel
    a is Physics3D.Bodies.RigidBody:
        ball is Physics3D.Geometries.Sphere:
            radius: 1
            material: steel
    b is Physics3D.Bodies.RigidBody:
        ball is Physics3D.Geometries.Sphere:
            radius: 1
    contact is Physics.Interactions.SurfaceContact.Model:
        material_1: steel
        material_2: steel
        friction becomes Physics.Interactions.Dissipation.DryConeFriction:
            coefficient: 0.7
        normal_restitution: 0.25
        tangential_restitution: 0
        normal_flexibility becomes Physics.Interactions.Flexibility.LinearElastic:
            stiffness: 1E6
        dissipation becomes Physics.Interactions.Dissipation.ConstraintRelaxationTimeDamping:
            relaxation_time: 0.01
    balls is Simulation.CollisionGroup:
        bodies: [a, b]
    none is Simulation.DisableCollisionPair:
        group1: balls
        group2: balls
"""
    )
    assert scene.gravity == (0.0, 0.0, -1.62)
    planet = scene_of("""
Scene is Simulation.Environment:
    gravity becomes Simulation.PointGravitationalField:
        center: {1, 2, 3}
        magnitude: 5.0
""")
    assert planet.gravity == PointGravity((1.0, 2.0, 3.0), 5.0)
    [(one, other, law)] = scene.contact_materials
    assert one == other == 'steel'
    assert (law.friction, law.friction_model, law.restitution) == (0.7, 'cone', 0.25)
    assert (law.stiffness, law.damping) == (1e6, 1e4)
    assert scene.apart == (('balls', 'balls'),)
    first, second = (robot.shapes[0][1] for robot in scene.robots)
    assert first.groups == second.groups == {'balls'}
    assert (first.material, second.material) == ('steel', None)
    assert scene.robots[0].description.links['a'].inertial.mass == pytest.approx(
        7800 * 4 / 3 * math.pi
    )


@pytest.mark.parametrize(
    ('model', 'members', 'expected'),
    [
        ('DryBoxFriction', '', {'friction_model': 'box'}),
        (
            'DryConstantNormalForceFriction',
            'normal_force: 50',
            {
                'friction_model': 'constant_normal_force',
                'normal_force': 50.0,
                'depth_factor': None,
            },
        ),
        (
            'DryDepthScaledConstantNormalForceFriction',
            'normal_force: 50',
            {'friction_model': 'constant_normal_force', 'normal_force': 50.0, 'depth_factor': 1.0},
        ),
    ],
)
def test_friction_by_masses_and_by_given_forces(model, members, expected):
    """Map friction models that ignore the normal force, without a warning."""
    scene = scene_of(
        BODIES
        + f"""
Scene is Physics3D.System:
    wood is Physics.Geometries.Material:
        unique_name: "wood"
    contact is Physics.Interactions.SurfaceContact.Model:
        material_1: wood
        material_2: wood
        normal_restitution: 0
        tangential_restitution: 0
        friction becomes Physics.Interactions.Dissipation.{model}:
            coefficient: 0.7
            {members}
"""
    )
    [(_, _, law)] = scene.contact_materials
    assert {name: getattr(law, name) for name in expected} == expected
    assert law.friction == 0.7
    assert not scene.report.warnings


def test_signals_have_paths_or_the_names_of_interfaces():
    """Map all inputs, and outputs enabled by themselves or an interface."""
    scene = scene_of(
        in_scene(
            HINGED
            + """
    angular_velocity_output.enabled: true
face is Physics.Signals.SignalInterface:
    enable: true
    angle is Physics.Signals.Output: hinge.angle_output
"""
        )
    )
    outputs = {each.name: each for each in scene.signals if not each.is_input and each.enabled}
    assert set(outputs) == {'face/angle', 'hinge/angular_velocity_output'}
    assert outputs['face/angle'].kind == 'AngleOutput'
    assert outputs['face/angle'].source == 'hinge'
    assert 'two/linear_velocity_world_input' in {each.name for each in scene.signals}


@pytest.mark.parametrize(
    ('members', 'code', 'line'),
    [
        (
            HINGED.replace('[one.tip, two.pin]', '[one.tip, one.pin]'),
            'mate-without-body',
            'one.pin]',
        ),
        (HINGED + 'light is Bob:\n    inertia.mass: -1', 'negative-mass', 'mass: -1'),
        ('light is Physics3D.Bodies.RigidBody', 'no-mass', 'light is'),
        (
            HINGED + 'loose is Physics3D.Interactions.LinearRange:\n    start: 0\n    end: 1\n'
            '    connectors: hinge.connectors',
            'no-axis',
            'hinge.connectors',
        ),
        (
            HINGED + 'tight is Physics3D.Interactions.RotationalRange:\n    start: 1\n    end: 0\n'
            '    connectors: hinge.connectors',
            'lower-above-upper',
            'start: 1',
        ),
        (
            HINGED + 'push is Physics3D.Interactions.TorqueMotor:\n    min_effort: 3\n'
            '    connectors: hinge.connectors',
            'effort-range',
            'min_effort',
        ),
        (
            'bad is Bob:\n    pin.normal: Math.Vec3.Y_AXIS()\nheld is '
            'Physics3D.Interactions.Lock:\n'
            '    connectors: [bad.pin, base]\nbase is Physics3D.Interactions.MateConnector',
            'parallel-normal',
            'pin.normal',
        ),
        (
            'spring is Physics1D.Bodies.RotationalBody:\n    inertia.inertia: 1',
            'unsupported-bundle',
            'spring is',
        ),
        ('thing is Physics3D.Bodies.Body', 'not-a-rigid-body', 'thing is'),
        ('thing is Physics.Bodies.Body', 'not-a-rigid-body', 'thing is'),
        (
            'a is Bob:\n    box is Physics3D.Geometries.Box:\n        size: '
            'Math.Vec3.from_xyz(1, -1, 1)',
            'bad-value',
            'size:',
        ),
        (
            'a is Bob:\n    wall is Physics3D.Geometries.ExternalTriMeshGeometry:\n'
            '        path: "wall.agx"',
            'bad-value',
            'wall.agx',
        ),
    ],
)
def test_each_defect_is_one_finding_at_its_line(members, code, line):
    """Report one error for a wrong scene, with its code and line, and nothing else."""
    text = in_scene(members)
    [number] = [number for number, each in enumerate(text.splitlines(), 1) if line in each]
    assert codes(text) == [(code, number)]
