"""Gazebo's trajectory plugins, tick by tick, against the exact motion under their laws."""

from __future__ import annotations

from fluid_robots import link, plugin, spinning
from following import simulator, trajectory
import pytest
from rclpy.serialization import serialize_message

import sim_bridge as sb

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

RATE, STEP = 500.0, 0.002
FOLLOWER = 'gz-sim-joint-trajectory-controller-system'
J = 0.05  # inertia of each arm about its axis [kg m²]


def two_arms(*plugins):
    """Return two arms that turn about the vertical, on a heavy base."""
    arm = (
        link('x', 0.005, (1e-5, 2e-5)).partition('>')[2],
        link('x', 0.1, (J, J)).partition('>')[2],
    )
    arms = ''.join(spinning(name).replace(*arm) for name in ('left', 'right'))
    return f'<robot name="arms">{link("base", 10.0, (1.0, 1.0))}{arms}{"".join(plugins)}</robot>'


def made(tmp_path, *plugins, **values):
    path = tmp_path / 'arms.urdf'
    path.write_text(two_arms(*plugins))
    return simulator(robot=str(path), rate=RATE, base='fixed', ground=False, **values)


def send(simulated, topic, joints, *points):
    """Send a trajectory. points: (time [s], positions)."""
    (take,) = [t.take for t in simulated.interfaces[0].command_topics if t.name == topic]
    take(serialize_message(trajectory(joints, *points)))


def run(simulated, seconds):
    for _ in range(round(seconds * RATE)):
        simulated.tick()


def law(targets, p, d):
    """Return position and velocity after a step for each target, under a law sampled in steps."""
    q = dq = 0.0
    for target in targets:
        ddq = (p * (target - q) - d * dq) / J
        q, dq = q + STEP * dq + 0.5 * STEP**2 * ddq, dq + STEP * ddq
    return q, dq


def test_gz_sims_controller_jumps_from_point_to_point_under_its_laws(tmp_path):
    """Pull each joint to the next point with its own gains; the other joint stays."""
    text = '<position_p_gain>4</position_p_gain><position_p_gain>1</position_p_gain>'
    joints = '<joint_name>left</joint_name><joint_name>right</joint_name>'
    given = plugin(FOLLOWER, position_d_gain=0.1, velocity_p_gain=0.2, topic='/go')
    given = given.replace('</plugin>', f'{joints}{text}</plugin>')
    simulated = made(tmp_path, given)
    robot = simulated.interfaces[0].robot
    send(simulated, 'go', ['left'], (0.4, [0.5]), (1.0, [-0.3]))
    run(simulated, 1.0)
    expected = law([0.5] * 200 + [-0.3] * 300, 4.0, 0.3)
    left, right = robot.joint('left'), robot.joint('right')
    assert (left.q, left.dq) == pytest.approx(expected, abs=1e-9)
    assert right.q == pytest.approx(0.0, abs=1e-12)
    send(simulated, 'go', ['right'], (0.2, [0.1]))
    run(simulated, 0.2)
    assert right.q == pytest.approx(law([0.1] * 100, 1.0, 0.0)[0], abs=1e-9)


def test_limits_of_the_law_bound_effort_and_integral(tmp_path):
    """Turn with the greatest effort, which gives a constant acceleration."""
    given = plugin(FOLLOWER, joint_name='left', position_p_gain=50, position_cmd_max=0.1)
    given = given.replace('</plugin>', '<position_cmd_min>-0.1</position_cmd_min></plugin>')
    simulated = made(tmp_path, given, start_controllers=False)
    send(simulated, 'model/arms/joint_trajectory', ['left'], (2.0, [3.0]))
    run(simulated, 1.0)
    assert simulated.interfaces[0].robot.joint('left').q == pytest.approx(0.5 * 0.1 / J)


def test_gazebo_ros_sets_positions_on_its_topic(tmp_path):
    """Take all joints' positions by the plugin's topic and namespace."""
    given = plugin('libgazebo_ros_joint_pose_trajectory.so', update_rate=10)
    given = given.replace('</plugin>', '<ros><namespace>bot</namespace></ros></plugin>')
    simulated = made(tmp_path, given)
    send(simulated, 'bot/set_joint_trajectory', ['left', 'right'], (0.0, [0.2, -0.4]))
    run(simulated, 1.0)
    assert simulated.interfaces[0].robot.q == pytest.approx([0.2, -0.4], abs=1e-6)


def test_terms_without_effect_and_defects_are_named():
    """Warn of terms that are not simulated; leave out a plugin with an unknown joint."""
    given = plugin(FOLLOWER, joint_name='left', velocity_i_gain=2, initial_position=0.5)
    description = sb.load_description(two_arms(given))
    found = description.report.findings
    assert [(each.code, each.value) for each in found] == [
        ('not-simulated', '2'),
        ('not-simulated', '0.5'),
    ]
    (manager,) = description.controller_managers
    assert manager.controllers[0].settings.joints == ('left',)
    description = sb.load_description(two_arms(plugin(FOLLOWER, joint_name='middle')))
    (finding,) = description.report.findings
    assert (finding.code, finding.omits) == ('unknown-joint', 'controller')
    assert not description.controller_managers
    with pytest.raises(sb.DescriptionError):
        sb.load_description(two_arms(plugin(FOLLOWER, joint_name='middle')), strict=True)
