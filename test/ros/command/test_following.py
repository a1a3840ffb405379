"""Trajectories on the graph and in the control step: topics, controllers, other commands."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
from following import S, simulator, smooth, told, trajectory
import numpy as np
import pytest
from ros_graph import end, nanoseconds
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.command.controllers import controllers_of

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

TOPIC = '/joint_trajectory_controller/joint_trajectory'


def test_a_trajectory_is_followed_at_the_times_of_its_stamps(graph, start_node):
    """Follow the cubic at each stamp, and stay at its end without further commands."""
    # slow enough for the trajectory to arrive before its start time
    start_node(
        robot='double_pendulum', command_timeout=0.2, diagnostics_rate=20.0, real_time_factor=0.01
    )
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    commands = graph.advertise(JointTrajectory, TOPIC)
    graph.wait_for_next(states)
    start_ns = nanoseconds(states[-1].header.stamp) + S // 2
    swing = trajectory(['elbow', 'shoulder'], (1.0, [-0.4, 0.6], [0.0, 0.0]), start_ns=start_ns)
    commands.publish(swing)
    graph.wait(
        lambda: (
            told(diagnostics, 'commands of double_pendulum').get('accepted since start') == '1'
        ),
        'its acceptance',
    )
    assert graph.set_parameter('/sim_bridge', 'real_time_factor', 1.0).successful
    graph.wait(lambda: nanoseconds(states[-1].header.stamp) > start_ns + 2 * S, 'the end and more')
    for state in states:
        since = (nanoseconds(state.header.stamp) - start_ns) * 1e-9
        expected = smooth(since) * np.array([0.6, -0.4])
        np.testing.assert_allclose(state.position, expected, atol=1e-7)
    graph.wait(
        lambda: (
            told(diagnostics, 'trajectories of double_pendulum').get('reached since start') == '1'
        ),
        'the end in diagnostics',
    )
    assert told(diagnostics, 'commands of double_pendulum')['timeouts since start'] == '0'

    # an effort command takes over its joint; the other joint stays
    efforts = graph.advertise(JointState, '/joint_commands')
    efforts.publish(JointState(name=['elbow'], effort=[0.0]))
    graph.wait(lambda: abs(states[-1].position[1] + 0.4) > 0.01, 'the elbow falling')
    assert states[-1].position[0] == pytest.approx(0.6, abs=1e-6)


MALFORMED = {
    "unknown joint 'knee'": trajectory(['knee'], (1.0, [0.0])),
    'each once': trajectory(['elbow', 'elbow'], (1.0, [0.0, 0.0])),
    'at least one point': trajectory(['elbow']),
    'expected more than that of the point before, 1 s': trajectory(
        ['elbow'], (1.0, [0.0]), (1.0, [0.0])
    ),
    'expected at least 0 [s]': trajectory(['elbow'], (-1.0, [0.0])),
    'expected 2, one for each of shoulder, elbow': trajectory(['shoulder', 'elbow'], (1.0, [0.0])),
    "positions of trajectory = nan (point 0, joint 'elbow')": trajectory(
        ['elbow'], (1.0, [float('nan')])
    ),
    "velocities of trajectory = 0.5 (point 0, joint 'elbow')": trajectory(
        ['elbow'], (1.0, [0.0], [0.5])
    ),
    'a time not yet over': trajectory(['elbow'], (0.0, [0.0]), start_ns=1),
}


def test_malformed_trajectories_are_refused_with_a_reason_and_counted(graph, start_node):
    """Name the error in each, count all, and move nothing."""
    process = start_node(robot='double_pendulum', diagnostics_rate=20.0)
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    states = graph.listen(JointState, '/joint_states')
    commands = graph.advertise(JointTrajectory, TOPIC)
    graph.wait_for_next(states, 2)
    for message in MALFORMED.values():
        commands.publish(message)
    graph.wait(
        lambda: (
            told(diagnostics, 'commands of double_pendulum').get('rejected since start')
            == str(len(MALFORMED))
        ),
        'all in diagnostics',
    )
    graph.wait_for_next(states, 100)
    assert {tuple(state.position) for state in states} == {(0.0, 0.0)}
    code, output = end(process)
    assert code == 0
    assert "unknown joint 'knee'" in output


@pytest.mark.parametrize('said', MALFORMED)
def test_the_reason_names_the_error(said):
    """Name point and joint, or the known names."""
    made = simulator(robot='double_pendulum')
    made.tick()
    trajectories = made.interfaces[0].trajectories
    with pytest.raises((InvalidValueError, UnknownNameError)) as caught:
        trajectories.read(trajectories.controllers[0], MALFORMED[said])
    assert said in str(caught.value)


def test_physics_steps_sample_trajectories_too():
    """Follow the cubic within control steps of ten physics steps, up to rounding."""
    made = simulator(robot='double_pendulum', rate=100.0, substeps=10)
    trajectories = made.interfaces[0].trajectories
    trajectories.follow(
        trajectories.read(trajectories.controllers[0], trajectory(['elbow'], (1.0, [0.6], [0.0])))
    )
    for tick in range(1, 101):
        made.tick()
        q = made.world.robots['double_pendulum'].q
        np.testing.assert_allclose(q, [0.0, 0.6 * smooth(tick * 0.01)], atol=1e-7)


def test_a_reset_gives_the_joints_back():
    """End followed trajectories, and hold until the first command again."""
    made = simulator(robot='double_pendulum')
    (interface,) = made.interfaces
    (controller,) = interface.trajectories.controllers
    order = interface.trajectories.follow(
        interface.trajectories.read(controller, trajectory(['elbow'], (1.0, [0.6])))
    )
    for _ in range(100):
        made.tick()
    assert not interface.robot.hold
    later = interface.trajectories.follow(
        interface.trajectories.read(controller, trajectory(['elbow'], (1.0, [0.6])))
    )
    made.reset(clock=False)
    assert (order.outcome, later.outcome) == ('replaced', 'replaced')
    assert interface.robot.hold
    assert interface.robot.joint('elbow').control == 'effort'
    made.tick()
    assert interface.robot.q.tolist() == [0.0, 0.0]


def test_a_snapshot_on_the_way_is_gone_on_from():
    """Follow the saved trajectories again to the bit, whether /clock goes back or on."""
    made = simulator(robot='double_pendulum')
    (interface,) = made.interfaces
    (controller,) = interface.trajectories.controllers
    order = interface.trajectories.follow(
        interface.trajectories.read(
            controller, trajectory(['elbow', 'shoulder'], (1.0, [0.6, -0.2]))
        )
    )

    def run(steps):
        for _ in range(steps):
            made.tick()
        return made.world.state_hash()

    run(300)
    snapshot = made.save()
    expected = run(900)
    assert order.outcome == 'reached'
    for clock in (False, True, False):
        run(50)
        made.restore(snapshot, clock=clock)
        assert interface.trajectories.following == 1
        assert run(900) == expected
        assert interface.trajectories.following == 0


def test_commands_that_cease_leave_trajectories_alone():
    """Hold joints without commands by their motors while another joint follows a trajectory."""
    made = simulator(robot='double_pendulum', initial_positions=[0.5, 0.0], command_timeout=0.05)
    (interface,) = made.interfaces
    interface.commands.queue.accept_named(['shoulder'], effort=[3.0])
    made.tick()
    interface.trajectories.follow(
        interface.trajectories.read(
            interface.trajectories.controllers[0], trajectory(['elbow'], (0.2, [0.1], [0.0]))
        )
    )
    for _ in range(100):
        made.tick()
    place = interface.robot.q[0]
    assert interface.commands.counts.timeouts == 1
    for _ in range(300):
        made.tick()
    np.testing.assert_allclose(interface.robot.q, [place, 0.1], atol=2e-4)


def test_late_and_missed_commands_are_counted():
    """Compare stamps and times with the expected rate, in simulated time."""
    made = simulator(robot='double_pendulum', command_rate=500.0)
    (interface,) = made.interfaces
    commands = interface.commands
    # at steps 2, 4, 10 and 12; two of them carry a stamp three steps old
    for step in range(1, 13):
        if step in (2, 4, 10, 12):
            age = 3_000_000 if step > 4 else 1_000_000
            commands.queue.accept_named(['elbow'], effort=[0.1], stamp_ns=step * 1_000_000 - age)
        made.world.step()
        commands.apply(step * 1_000_000)
    assert (commands.counts.late, commands.counts.missed) == (2, 2)
    ages = commands.timing.ages()
    assert ages['max'] == pytest.approx(3e-3)
    assert ages['p50'] == pytest.approx(2e-3)


def test_controllers_are_configured_as_in_ros2_control(graph, start_node, tmp_path):
    """Take names, joints and constraints of a controller; refuse other controllers' joints."""
    parameters = tmp_path / 'controllers.yaml'
    parameters.write_text("""
/**:
  ros__parameters:
    robot: double_pendulum
    diagnostics_rate: 20.0
    trajectory_controllers:
      arm_controller:
        joints: [shoulder]
        constraints: {goal_time: 0.5, shoulder: {trajectory: 1.0e-12, goal: 0.01}}
      hand_controller:
        joints: [elbow]
""")
    process = start_node('--params-file', str(parameters))
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    arm = graph.advertise(JointTrajectory, '/arm_controller/joint_trajectory')
    hand = graph.advertise(JointTrajectory, '/hand_controller/joint_trajectory')
    arm.publish(trajectory(['elbow'], (1.0, [0.5])))
    graph.wait(
        lambda: (
            told(diagnostics, 'commands of double_pendulum').get('rejected since start') == '1'
        ),
        'a refusal',
    )
    arm.publish(trajectory(['shoulder'], (0.3, [0.5], [0.0])))
    hand.publish(trajectory(['elbow'], (0.3, [0.5], [0.0])))

    def counts() -> dict[str, str]:
        return told(diagnostics, 'trajectories of double_pendulum')

    graph.wait(lambda: counts().get('reached since start') == '1', 'one at its end')
    graph.wait(lambda: counts().get('path violated since start') == '1', 'one off its path')
    action = '/arm_controller/follow_joint_trajectory/_action/send_goal'
    graph.wait(lambda: action in dict(graph.node.get_service_names_and_types()), 'the action')
    code, output = end(process)
    assert code == 0
    assert "trajectory controller 'arm_controller'" in output


@pytest.mark.parametrize(
    ('block', 'said'),
    [
        ({'a': {'joints': ['x']}, 'b': {'joints': ['x']}}, "'x' belongs to 'a'"),
        ({'a': {'joints': ['z']}}, "unknown joint 'z' in parameter 'trajectory_controllers.a'"),
        (
            {'a': {'constraints': {'y': {'goal': -1.0}}}},
            "parameter 'trajectory_controllers.a.constraints.y.goal' = -1.0",
        ),
        ({'a': {'gains': {'x': {'pp': 1.0}}}}, "'trajectory_controllers.a.gains.x.pp'"),
        ({'a': {'goals': 1.0}}, "'trajectory_controllers.a.goals'"),
        ({'a': 3}, 'a block of named values'),
    ],
)
def test_controllers_that_make_no_sense_are_refused(block, said):
    """Name the parameter in full."""
    with pytest.raises((InvalidValueError, UnknownNameError)) as caught:
        controllers_of(block, ['x', 'y'], ['x', 'y'])
    assert said in str(caught.value)


def test_a_robot_has_the_controllers_whose_joints_it_has():
    """Leave out other robots' controllers; complete defaults, gains and tolerances."""
    block = {
        'arm': {'joints': ['a'], 'constraints': {'a': {'trajectory': 0.1, 'goal': 0.2}}},
        'leg': {'joints': ['b'], 'gains': {'b': {'p': 100, 'ff_velocity_scale': 0.5}}},
    }
    (arm,) = controllers_of(block, ['a'], ['a', 'b'])
    assert (arm.name, arm.tolerances.path[:, 0].tolist()) == ('arm', [0.1, 0.0, 0.0])
    assert arm.tolerances.goal[:, 0].tolist() == [0.2, 0.01, 0.0]
    (leg,) = controllers_of(block, ['b'], ['a', 'b'])
    assert (leg.gains['b'].p, leg.gains['b'].ff_velocity_scale) == (100.0, 0.5)
    (default,) = controllers_of({}, ['a', 'b'], ['a', 'b'])
    assert (default.name, default.joints) == ('joint_trajectory_controller', ('a', 'b'))
