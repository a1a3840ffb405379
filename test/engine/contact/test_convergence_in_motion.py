"""Convergence is judged by the motion: robots that sway are solved as far as can be seen."""

from types import SimpleNamespace

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.engine.contact.budget import accepted_residual, greatest_change, island_tolerance

BENT = {
    'leg_left_3_joint': -0.411354,
    'leg_left_4_joint': 0.859395,
    'leg_left_5_joint': -0.448041,
    'leg_right_3_joint': -0.411354,
    'leg_right_4_joint': 0.859395,
    'leg_right_5_joint': -0.448041,
}


def standing_talos(robots):
    """Return a world where Talos, held by servos, has just been put on its feet, and Talos."""
    world = sb.World(5e-4)
    world.materials.add(sb.Material('default', friction=0.8))
    ground = world.add_ground()
    robot = world.load_urdf(
        robots / 'talos_data' / 'robots' / 'talos_reduced.urdf',
        base='free',
        position=(0.0, 0.0, 1.0),
        package_paths=[robots.parent],
        missing_meshes='warning',
    )
    for name in robot.joint_names:
        joint = robot.joint(name)
        joint.q = BENT.get(name, joint.q)
        if joint.mimic is None:
            joint.control, joint.kp, joint.kd = 'servo', 4000.0, 200.0
            joint.target_position = float(joint.q)
    lowest = min(
        world.distance(robot.link(name), ground.root_link).distance
        for name in ('leg_left_6_link', 'leg_right_6_link')
    )
    robot.set_base_pose((0.0, 0.0, 1.0 - lowest + 1e-5))
    return world, robot


def test_a_swaying_robot_converges(robots_folder):
    """Solve nearly every step of rigid feet with few Newton steps, as far as can be seen."""
    world, robot = standing_talos(robots_folder)
    reports, speeds = [], []
    for _ in range(500):
        world.step()
        reports.append(world.report)
        speeds.append(np.abs(robot.root_link.v).max())
    later = reports[100:]
    assert max(speeds[100:]) > 1e-3
    assert sum(not report.converged for report in later) <= len(later) // 50
    assert max(report.residual for report in later) < 5e-6
    assert np.mean([report.newton_steps for report in later]) < 10.0


@pytest.mark.parametrize(
    ('speed', 'change', 'aim', 'accepted'),
    [
        (0.0, 0.0, 1e-9, 1e-7),
        (1e-6, 0.0, 1e-9, 1e-7),
        (-1e-3, 0.0, 1e-7, 1e-7),
        (0.02, 0.0, 1e-6, 2e-6),
        (2.0, 0.0, 1e-6, 2e-4),
        (2.0, 1.0, 1e-6, 1e-3),
        (0.0, 1.0, 1e-9, 1e-3),
        (2.0, 1e3, 1e-6, 1e-2),
    ],
)
def test_residuals_are_judged_by_the_motion(speed, change, aim, accepted):
    """Aim at a share of the velocity; accept this share, or a share of the velocity change."""
    options = SimpleNamespace(contact_tolerance=1e-9)
    state = SimpleNamespace(v=np.array([0.0, speed]))
    islands = SimpleNamespace(first=[0, 1], order=[0])
    # the last entry belongs to a compliant joint, which has no velocity
    rows = SimpleNamespace(first=[0, 3], support=[0, 1, 2])
    judged = options, state, islands, rows
    assert greatest_change(state, islands, rows, state.v + [0.0, change], 0) == change
    assert island_tolerance(*judged, False, 0) == pytest.approx(aim)
    assert accepted_residual(*judged, False, 0, change) == pytest.approx(accepted)
    assert island_tolerance(*judged, True, 0) == 1e-9
    assert accepted_residual(*judged, True, 0, change) == 1e-9
