"""Mates: toughness, clearance, and load-dependent friction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from shipped import FOLDER

import sim_bridge as sb

G, M = 10.0, 2.0
STEP = 1e-3


def held(kind, more, gravity=(0.0, 0.0, -G), at='', body=''):
    """Hold a 2 kg ball by a mate at its centre, its main axis along the world's x axis."""
    world = sb.World(time_step=STEP, gravity=gravity)
    scene = world.load_openplx(f"""
Scene is Physics3D.System:
    ball is Physics3D.Bodies.RigidBody:
        inertia.mass: {M}
        inertia.tensor: Math.Matrix3x3.diag(0.1, 0.1, 0.1)
        pin is Physics3D.Interactions.MateConnector:
            main_axis: Math.Vec3.X_AXIS()
            normal: Math.Vec3.Z_AXIS()
{body}
    base is Physics3D.Interactions.MateConnector:
        main_axis: {at or 'Math.Vec3.X_AXIS()'}
        normal: Math.Vec3.Z_AXIS()
    mate is Physics3D.Interactions.{kind}:
        connectors: [base, ball.pin]
{more}
""")
    return world, scene


def warnings(scene):
    """Return the codes of all warnings."""
    return [finding.code for finding in scene.description.report.findings]


@pytest.mark.parametrize(('limit', 'breaks'), [(1.001, False), (0.999, True)])
def test_a_direction_breaks_at_its_fracture_point(limit, breaks):
    """Bear the weight along the normal, or fall along it alone."""
    world, scene = held(
        'Lock',
        f"""
        toughness becomes Physics3D.Interactions.Toughness.LockThresholdFracture:
            default_limit: 1000
            along_normal.fracture_point: {limit * M * G}
""",
    )
    assert warnings(scene) == []
    joint, ball = scene.joint('mate'), scene.link('ball')
    assert joint.break_limits == pytest.approx([limit * M * G, *[1000.0] * 5])
    world.step(100)
    assert joint.broken_directions.tolist() == [breaks, *[False] * 5]
    assert ball.v == pytest.approx([0.0, 0.0, -G * 0.1 if breaks else 0.0], abs=1e-9)
    ball.add_force((500.0, 0.0, 0.0))
    world.step()
    assert ball.v[0] == pytest.approx(0.0, abs=1e-9)


def test_a_direction_yields_for_good():
    """Yield under the force beyond the yield point, and keep this displacement."""
    world, scene = held(
        'Lock',
        """
        toughness.along_normal becomes Physics.Interactions.Toughness.ThresholdPlastic:
            yield_point: 15
""",
        gravity=(0.0, 0.0, 0.0),
    )
    ball = scene.link('ball')
    for force, expected in ((14.9, 0.0), (17.0, 0.5)):
        for _ in range(1000):
            ball.add_force((3.0, 0.0, -force))
            world.step()
        assert ball.v == pytest.approx([0.0, 0.0, -expected * 2.0], abs=1e-9)
    assert ball.p[2] == pytest.approx(-0.5, abs=1e-9)
    world.step(1000)
    assert ball.p == pytest.approx([0.0, 0.0, -0.5 - 1.0 / 15.0], abs=1e-6)
    assert scene.joint('mate.along_normal').q == pytest.approx(ball.p[2], abs=1e-9)


def test_clearance_lets_a_mate_move():
    """Fall by the clearance along each direction, and no further; tilt by the angle, then hold."""
    world, scene = held(
        'Hinge',
        """
        clearance becomes Physics3D.Interactions.Clearance.ConstantHingeClearance:
            along_main.distance: 0.03
            along_normal.distance: 0.02
            along_cross.distance: 0.0
            around_all_axes.angle: 0.1
""",
    )
    assert warnings(scene) == []
    ball = scene.link('ball')
    world.step(50)
    assert ball.p == pytest.approx([0.0, 0.0, -0.5 * G * 0.05**2], abs=1e-9)
    world.step(500)
    assert ball.p == pytest.approx([0.0, 0.0, -0.02], abs=1e-9)
    assert scene.outputs['mate/force_output'].read() == pytest.approx([0.0, 0.0, -M * G], abs=1e-6)
    for _ in range(1000):
        ball.add_force((1.0, 1.0, 0.0)), ball.add_torque((0.3, 0.2, 0.0))
        world.step()
    assert ball.p == pytest.approx([0.03, 0.0, -0.02], abs=1e-9)
    # rotates freely about the main axis, and is tilted by the clearance at any rotation
    assert scene.joint('mate').q > 1.0
    x, y, z = ball.R[:, 0]
    assert math.atan2(-z, x) == pytest.approx(0.1, abs=1e-6)
    assert abs(math.atan2(y, x)) <= 0.1 + 1e-6
    assert world.report.converged


def test_a_prismatic_is_held_by_friction():
    """Slide down a slope of 0.5 rad by g (sin - mu cos), and not if mu is above its tangent."""
    for mu in (0.2, 0.6):
        world, scene = held(
            'Prismatic',
            f"""
        friction becomes Physics.Interactions.Dissipation.DryConeFriction:
            coefficient: {mu}
""",
            at=f'Math.Vec3.from_xyz({math.cos(0.5)}, 0, {-math.sin(0.5)})',
        )
        assert warnings(scene) == []
        world.step(1000)
        expected = max(G * (math.sin(0.5) - mu * math.cos(0.5)), 0.0)
        assert scene.joint('mate').dq == pytest.approx(expected, abs=1e-9)


def test_a_hinge_is_braked_by_its_load():
    """Run out by mu m g / I, with mu the coefficient times the bearing radius [m]."""
    world, scene = held(
        'Hinge',
        """
        friction becomes Physics.Interactions.Dissipation.DefaultDryFriction:
            coefficient: 0.02
""",
        body="""
        kinematics.initial_local_angular_velocity.x: 3
""",
    )
    world.step(500)
    assert scene.joint('mate').dq == pytest.approx(3.0 - 0.5 * 0.02 * M * G / 0.1, abs=1e-9)


def test_friction_with_two_limits():
    """Decelerate by the limit in the direction of motion."""
    for speed, force in ((3.0, 4.0), (-3.0, 1.0)):
        world, scene = held(
            'Prismatic',
            """
        friction becomes Physics.Interactions.Dissipation.AsymmetricLimitFriction:
            positive_limit: 4
            negative_limit: 1
""",
            gravity=(0.0, 0.0, 0.0),
            body=f"""
        kinematics.initial_local_linear_velocity.x: {speed}
""",
        )
        world.step(1000)
        assert scene.joint('mate').dq == pytest.approx(
            math.copysign(3.0 - force / M, speed), abs=1e-9
        )


def test_loops_keep_full_turns():
    """Count the turns of initial_angle if the hinge is no tree joint; also after resets."""
    angle = 5.0 * math.pi + 0.25
    world, scene = held(
        'Hinge',
        f"""
        initial_angle: {angle}
        friction becomes Physics.Interactions.Dissipation.DefaultDryFriction:
            coefficient: 0.02
""",
    )
    joint = scene.joint('mate')
    assert not joint.is_tree
    assert joint.q == pytest.approx(angle, abs=1e-9)
    world.step()
    assert joint.q == pytest.approx(angle, abs=1e-9)
    world.reset()
    assert joint.q == pytest.approx(angle, abs=1e-9)
    assert world.copy().openplx['Scene'].joint('mate').q == joint.q


def test_copies_of_a_scene_have_groups_of_their_own():
    """Allow collisions of a scene with its copy, though both exclude them internally."""
    text = """
Scene is Physics3D.System:
    ball is Physics3D.Bodies.RigidBody:
        shape is Physics3D.Geometries.Sphere:
            radius: 0.5
    group is Simulation.CollisionGroup:
        bodies: [ball]
    apart is Simulation.DisableCollisionPair:
        group1: group
        group2: group
"""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    one = world.load_openplx(text)
    two = world.load_openplx(text, position=(0.9, 0.0, 0.0))
    world.step()
    assert len(world.contacts) > 0
    names = [
        {group for shape in scene.link('ball').geometries for group in shape.groups}
        for scene in (one, two)
    ]
    assert names == [{'Scene/group'}, {'Scene_2/group'}]


def test_numbers_of_toughness_and_clearance_are_checked():
    """Name invalid mate values."""
    with pytest.raises(sb.SimBridgeError, match='fracture_point'):
        held(
            'Lock',
            """
        toughness.along_main becomes Physics.Interactions.Toughness.ThresholdFracture:
            fracture_point: 0
""",
        )
    with pytest.raises(sb.SimBridgeError, match='distance'):
        held(
            'Ball',
            """
        clearance becomes Physics3D.Interactions.Clearance.ConstantBallClearance:
            along_main.distance: -1
            along_normal.distance: 0
            along_cross.distance: 0
""",
        )
    _, scene = held(
        'Lock',
        """
        toughness.along_main becomes Physics.Interactions.Toughness.ThresholdPlasticFracture:
            yield_point: 3
            fracture_point: 5
""",
    )
    assert warnings(scene) == ['no-effect']
    assert np.isinf(scene.joint('mate').break_limits).all()


def test_driven_mates_are_tree_joints():
    """Close loops by passive mates, not by mates with a motor or a range."""
    scene = sb.World().load_openplx(FOLDER / 'excavator.openplx')
    for name in ('boom', 'stick', 'bucket'):
        assert scene.joint(f'{name}_cylinder.slide').is_tree
