"""The simulator node in its own process: topics, their contents, commands."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import signal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_graph import end, Graph, nanoseconds, PATIENCE_S
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from sim_bridge.ros.params.parameter_table import BLOCK, specifications
from sim_bridge.ros.params.parameters import SimulatorParameters

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
JOINTS = [f'joint_{i}' for i in range(1, 8)]

PUBLISHED = {
    '/joint_states': JointState,
    '/wrist_ft/wrench': WrenchStamped,
    '/imu/imu': Imu,
    '/imu/gyro': Imu,
    '/imu/accel': Imu,
    '/clock': Clock,
    '/robot_description': String,
    '/diagnostics': DiagnosticArray,
}


def xyz(vector: object) -> list[float]:
    """Return a Vector3 as a list."""
    return [vector.x, vector.y, vector.z]


def values(diagnostics: list[DiagnosticArray], name: str) -> dict[str, str]:
    """Return the latest diagnostics under a name, with 'level' and 'message'."""
    (status,) = (s for s in diagnostics[-1].status if s.name == f'sim_bridge: {name}')
    told = {item.key: item.value for item in status.values}
    return {**told, 'level': status.level, 'message': status.message}


def step(graph: Graph) -> None:
    """
    Make a paused node take the steps in its parameter step_count.

    With fewer steps than its queue depth, a stalled subscriber gets all messages. The node has
    discovered all its subscribers.
    """
    assert graph.call(Trigger, '/sim_bridge/step', Trigger.Request()).success


def test_topics_have_their_types_and_qualities(graph, start_node):
    """Publish the topic table, reliably; only the description is latched."""
    start_node()
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states)
    types = dict(graph.node.get_topic_names_and_types())
    for topic, kind in PUBLISHED.items():
        graph.wait(
            lambda topic=topic: graph.node.get_publishers_info_by_topic(topic),
            f'a publisher of {topic}',
        )
        types = dict(graph.node.get_topic_names_and_types())
        assert types[topic] == [f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}']
        (publisher,) = graph.node.get_publishers_info_by_topic(topic)
        assert publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE
        is_latched = publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert is_latched == (topic == '/robot_description')
    assert not [topic for topic in types if topic.endswith('/truth')]
    for topic, kind in (
        ('/joint_commands', 'JointState'),
        ('/effort_controller/commands', 'Float64MultiArray'),
    ):
        graph.wait(
            lambda topic=topic: graph.node.get_subscriptions_info_by_topic(topic),
            f'a subscriber of {topic}',
        )
        (subscriber,) = graph.node.get_subscriptions_info_by_topic(topic)
        assert subscriber.topic_type.endswith(f'/{kind}')
        assert subscriber.qos_profile.reliability == ReliabilityPolicy.RELIABLE


def test_readings_at_rest_have_the_signs_and_frames_of_the_conventions(
    graph, start_node, repository
):
    """Hold the arm upright: weight down on the sensor, gravity up in the accelerometer."""
    start_node(publish_truth=True)
    heard = {
        topic: graph.listen(kind, topic)
        for topic, kind in PUBLISHED.items()
        if kind not in (String,)
    }
    truths = {
        topic: graph.listen(PUBLISHED[topic], f'{topic}/truth')
        for topic in ('/wrist_ft/wrench', '/imu/imu', '/imu/gyro', '/imu/accel')
    }
    description = graph.listen(String, '/robot_description', LATCHED)
    for messages in (*heard.values(), *truths.values(), description):
        graph.wait(
            lambda messages=messages: len(messages) > 5 or messages is description and messages,
            'messages',
        )

    state = heard['/joint_states'][-1]
    assert state.name == JOINTS
    assert list(state.position) == [0.0] * 7
    assert list(state.velocity) == [0.0] * 7
    assert list(state.effort) == [0.0] * 7

    weight = (
        0.5 * 9.81
    )  # of the flange, upwards from the sensor; the child presses down on the parent
    wrench = heard['/wrist_ft/wrench'][-1]
    assert wrench.header.frame_id == 'tool_flange'
    assert xyz(wrench.wrench.force) == pytest.approx([0, 0, -weight], abs=1e-9)
    assert xyz(wrench.wrench.torque) == pytest.approx([0, 0, 0], abs=1e-9)

    imu, gyro, accel = (heard[f'/imu/{topic}'][-1] for topic in ('imu', 'gyro', 'accel'))
    assert {m.header.frame_id for m in (imu, gyro, accel)} == {'imu_link'}
    q = imu.orientation
    assert [q.x, q.y, q.z, q.w] == pytest.approx([0, 0, 0, 1], abs=1e-12)
    for message in (imu, accel):
        assert xyz(message.linear_acceleration) == pytest.approx([0, 0, 9.81], abs=1e-9)
    for message in (imu, gyro):
        assert xyz(message.angular_velocity) == pytest.approx([0, 0, 0], abs=1e-12)
    estimated = [
        [
            m.orientation_covariance[0],
            m.angular_velocity_covariance[0],
            m.linear_acceleration_covariance[0],
        ]
        for m in (imu, gyro, accel)
    ]
    assert estimated == [[0, 0, 0], [-1, 0, -1], [-1, -1, 0]]

    for topic, messages in truths.items():
        assert type(messages[-1]) is PUBLISHED[topic]
        assert messages[-1].header.frame_id == heard[topic][-1].header.frame_id
    assert xyz(truths['/imu/accel'][-1].linear_acceleration) == pytest.approx(
        [0, 0, 9.81], abs=1e-9
    )
    assert description[0].data == (repository / 'urdf' / 'arm.urdf').read_text()


def test_stamps_are_whole_steps_and_the_clock_follows_them(graph, start_node):
    """Stamp every topic with step number times step length; never 0, backwards, or with a gap."""
    start_node(
        rate=400.0,
        substeps=2,
        clock_rate=100.0,
        joint_state_rate=200.0,
        paused=True,
        step_count=300,
    )
    states = graph.listen(JointState, '/joint_states')
    gyro = graph.listen(Imu, '/imu/gyro')
    clock = graph.listen(Clock, '/clock')
    step(graph)
    graph.wait(lambda: (len(states), len(gyro)) == (150, 300), 'messages of all steps')
    graph.wait(lambda: nanoseconds(clock[-1].clock) == 750 * MS, 'the clock')
    # before the first step /clock stands at 1 ns, which does not mean "no time yet"
    clock = [tick for tick in clock[: clock.index(clock[-1]) + 1] if nanoseconds(tick.clock) > 1]
    assert len(clock) == 75
    for stamps, period in (
        ([nanoseconds(m.header.stamp) for m in states], 5 * MS),
        ([nanoseconds(m.header.stamp) for m in gyro], 2_500_000),
        ([nanoseconds(m.clock) for m in clock], 10 * MS),
    ):
        assert stamps[0] > 0
        assert {late - early for early, late in zip(stamps, stamps[1:], strict=False)} == {period}
        assert stamps[-1] % period == 0


def test_diagnostics_are_stamped_with_simulated_time(graph, start_node):
    """Stamp them between the surrounding states; no other message shows the order."""
    start_node(robot='pendulum', diagnostics_rate=20.0, real_time_factor=0.5)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    graph.wait_for_next(states)
    graph.wait_for_next(diagnostics, 3)
    stamp = nanoseconds(diagnostics[-1].header.stamp)
    graph.wait(lambda: nanoseconds(states[-1].header.stamp) > stamp, 'the next state')
    assert nanoseconds(states[0].header.stamp) <= stamp
    assert stamp % MS == 0


def test_noise_has_its_covariance_and_the_truth_has_none(graph, start_node, tmp_path):
    """Declare a sensor in YAML: its own topics, rate, frame, noise, covariance and truth topic."""
    parameters = tmp_path / 'sensors.yaml'
    parameters.write_text("""
/**:
  ros__parameters:
    rate: 500
    sensors:
      elbow-gyro:
        type: gyro
        link: link_4
        update_rate: 100
        frame_id: elbow
        truth: true
        noise: {angular_velocity: {stddev: 0.2, z: {stddev: 0.1}}}
""")
    start_node('--params-file', str(parameters), paused=True, step_count=1005, real_time_factor=0)
    noisy = graph.listen(Imu, '/elbow_gyro/gyro')
    truth = graph.listen(Imu, '/elbow_gyro/gyro/truth')
    step(graph)
    graph.wait(lambda: len(noisy) == len(truth) == 201, 'two hundred samples')
    assert {m.header.frame_id for m in noisy} == {'elbow'}
    assert noisy[0].angular_velocity_covariance.tolist() == pytest.approx(
        [0.04, 0, 0, 0, 0.04, 0, 0, 0, 0.01]
    )
    assert noisy[0].orientation_covariance[0] == noisy[0].linear_acceleration_covariance[0] == -1
    stamps = [nanoseconds(m.header.stamp) for m in noisy]
    assert {late - early for early, late in zip(stamps, stamps[1:], strict=False)} == {10 * MS}
    # 6 standard errors of a standard deviation from 200 samples
    for axis, stddev in (('x', 0.2), ('z', 0.1)):
        squares = [getattr(m.angular_velocity, axis) ** 2 for m in noisy[:200]]
        assert (sum(squares) / 200) ** 0.5 == pytest.approx(stddev, rel=0.3)
    assert {tuple(xyz(m.angular_velocity)) for m in truth} == {(0.0, 0.0, 0.0)}
    assert truth[0].angular_velocity_covariance.tolist() == [0.0] * 9


def test_commands_move_the_robot_and_bad_ones_do_not(graph, start_node):
    """Hold until a command; take both kinds; refuse invalid ones whole, with few log lines."""
    process = start_node(
        robot='double_pendulum',
        initial_positions=[0.5, 0.0],
        command_timeout=0.0,
        diagnostics_rate=20.0,
    )
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    by_name = graph.advertise(JointState, '/joint_commands')
    by_order = graph.advertise(Float64MultiArray, '/effort_controller/commands')

    def wait_for_effort(*efforts: float) -> None:
        graph.wait(
            lambda: states and list(states[-1].effort) == list(efforts), f'efforts {efforts}'
        )

    def told() -> dict[str, str]:
        return values(diagnostics, 'commands of double_pendulum')

    graph.wait_for_next(states, 200)
    graph.wait_for_next(diagnostics, 2)
    assert list(states[-1].position) == [0.5, 0.0]
    assert told()['joints held'] == 'True'
    assert told()['message'] == 'waiting for the first command'

    for rejected in (
        JointState(name=['shoulder', 'wrist'], effort=[1.0, 1.0]),
        JointState(name=['shoulder'], effort=[1.0, 2.0]),
        JointState(name=['shoulder'], position=[1.0]),
        JointState(name=['shoulder', 'elbow'], effort=[1.0, float('nan')]),
    ):
        by_name.publish(rejected)
    by_order.publish(Float64MultiArray(data=[1.0]))
    by_order.publish(Float64MultiArray(data=[1.0, float('inf')]))
    graph.wait(lambda: told()['rejected since start'] == '6', 'six rejected commands')
    assert list(states[-1].position) == [0.5, 0.0], 'a rejected command must not free the robot'
    assert told()['accepted since start'] == '0'

    by_name.publish(JointState(name=['elbow'], effort=[0.25]))
    wait_for_effort(0.0, 0.25)
    graph.wait(lambda: states[-1].position[0] != 0.5, 'a free robot')
    by_order.publish(Float64MultiArray(data=[1.5, -0.5]))
    wait_for_effort(1.5, -0.5)
    graph.wait(
        lambda: int(told()['rejected since start']) > 200,
        'a flood of rejected commands',
        also=lambda: [
            by_order.publish(Float64MultiArray(data=[float('nan'), 0.0])) for _ in range(8)
        ],
    )
    assert list(states[-1].effort) == [1.5, -0.5]
    assert told()['level'] in (DiagnosticStatus.WARN, DiagnosticStatus.OK)
    assert any(
        status.level == DiagnosticStatus.WARN and 'rejected' in status.message
        for message in diagnostics
        for status in message.status
    )

    code, output = end(process)
    assert code == 0
    lines = [line for line in output.splitlines() if 'rejected' in line]
    # at most one per second, for any duration
    assert 1 <= len(lines) < int(told()['rejected since start']) / 4, 'throttled'
    assert "unknown joint 'wrist'" in lines[0]


def test_efforts_are_clamped_to_the_limits_of_the_description(graph, start_node):
    """Apply the limit to larger efforts, and count it."""
    start_node(diagnostics_rate=20.0, command_timeout=0.0)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    commands = graph.advertise(JointState, '/joint_commands')
    commands.publish(JointState(name=['joint_1', 'joint_6'], effort=[1e6, -1e6]))
    graph.wait(
        lambda: states and list(states[-1].effort) == [320, 0, 0, 0, 0, -40, 0],
        'efforts at their limits',
    )
    graph.wait(
        lambda: (
            diagnostics and values(diagnostics, 'commands of arm')['clamped since start'] == '1'
        ),
        'a clamped command counted',
    )


def test_the_order_of_a_command_is_that_of_the_joints_parameter(graph, start_node):
    """Take a list in the order chosen by the user."""
    start_node(joints='[joint_5, joint_2]', command_timeout=0.0)
    states = graph.listen(JointState, '/joint_states')
    graph.advertise(Float64MultiArray, '/effort_controller/commands').publish(
        Float64MultiArray(data=[5.0, 2.0])
    )
    graph.wait(
        lambda: states and list(states[-1].effort) == [0, 2, 0, 0, 5, 0, 0], 'efforts in order'
    )


@pytest.mark.parametrize('policy', ['zero', 'hold', 'last'])
def test_a_robot_without_commands_follows_the_policy(graph, start_node, policy):
    """Time out in simulated time: the effort vanishes, the joints lock, or all goes on."""
    start_node(
        robot='pendulum',
        initial_positions=[1.0],
        command_timeout=0.05,
        command_timeout_policy=policy,
        diagnostics_rate=20.0,
        paused=True,
        step_count=200,
    )
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')

    def run() -> None:
        count = len(states) + 200
        step(graph)
        graph.wait(lambda: len(states) == count, 'the states')

    run()
    command.publish(Float64MultiArray(data=[0.125]))
    while not any(state.effort[0] == 0.125 for state in states):
        run()
    run()
    graph.wait(
        lambda: (
            diagnostics
            and values(diagnostics, 'commands of pendulum')['timeouts since start'] == '1'
        ),
        'a timeout',
    )
    efforts = [state.effort[0] for state in states]
    if policy == 'last':
        assert efforts[-1] == 0.125
    else:
        assert efforts.count(0.125) == 50
        assert efforts[-1] == 0.0
    positions = {state.position[0] for state in states[-50:]}
    assert (len(positions) == 1) == (policy == 'hold')


def test_threads_of_the_middleware_do_not_push_the_physics_thread_aside(graph, start_node):
    """Give them and the executor's threads a policy that yields; the physics thread not."""
    process = start_node()
    graph.wait_for_next(graph.listen(JointState, '/joint_states'))
    policies: dict[str, int] = {}
    for task in Path(f'/proc/{process.pid}/task').iterdir():
        # a thread may end meanwhile
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            policies[(task / 'comm').read_text().strip()] = os.sched_getscheduler(int(task.name))
    assert policies['physics'] in {os.SCHED_OTHER, os.SCHED_FIFO}
    assert os.sched_getscheduler(process.pid) == os.SCHED_BATCH
    of_middleware = {policy for name, policy in policies.items() if name.startswith('dds.')}
    assert of_middleware == {os.SCHED_BATCH}


def test_a_namespace_moves_everything_but_clock_and_diagnostics(graph, start_node):
    """Keep topics of the whole graph at the root."""
    start_node('-r', '__ns:=/left')
    states = graph.listen(JointState, '/left/joint_states')
    graph.wait_for_next(states)
    graph.wait(
        lambda: ('sim_bridge', '/left') in graph.node.get_node_names_and_namespaces(),
        'the node itself',
    )

    def published() -> set[str]:
        return {
            topic
            for topic, _ in graph.node.get_publisher_names_and_types_by_node('sim_bridge', '/left')
        }

    roots = {'/clock', '/diagnostics', '/parameter_events', '/rosout'}
    graph.wait(lambda: published() >= {*roots, '/left/imu/imu'}, 'all its topics')
    assert {topic for topic in published() if not topic.startswith('/left/')} == roots


def test_all_parameters_are_described_over_ros(graph, start_node):
    """Describe each parameter of the table to `ros2 param describe`, with its range."""
    start_node(robot='pendulum')
    graph.wait_for_next(graph.listen(JointState, '/joint_states'))
    described = graph.describe_parameters('/sim_bridge')
    for name, spec in specifications(SimulatorParameters).items():
        if spec.kind != BLOCK:
            assert spec.description in described[name].description
            assert described[name].read_only == spec.read_only
    assert described['rate'].floating_point_range[0].to_value == 20000.0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_node_cleanly(graph, start_node, number):
    """Exit with 0 and without a traceback, however often the signal comes."""
    process = start_node(robot='pendulum')
    graph.wait_for_next(graph.listen(JointState, '/joint_states'))
    process.send_signal(number)
    code, output = end(process, number)
    assert code == 0, output
    assert 'Traceback' not in output


def test_bad_parameters_are_refused(refusals):
    """Name the error in each, without a traceback."""
    cases = [
        ({'robot': 'elephant'}, "unknown robot 'elephant'"),
        ({'rate': -5.0}, "parameter 'rate' = -5.0: expected a finite number, at least 1.0"),
        ({'joints': '[joint_1, elbow]'}, "unknown joint 'elbow' in robot 'arm'"),
        ({'initial_positions': '[9.0]', 'joints': '[joint_1]'}, "joint 'joint_1'"),
        ({'initial_positions': '[0.0]'}, '7 values, one for each of joint_1'),
        ({'position': '[1, 2.0, x]'}, 'a list of 0 or 3 finite numbers [m]'),
        ({'sensors.hat.type': 'imu', 'sensors.hat.link': 'head'}, 'head'),
    ]
    outputs = refusals(*(parameters for parameters, _ in cases))
    for (_, said), output in zip(cases, outputs, strict=True):
        assert said in output


def test_a_bad_description_ends_the_node_with_its_defects(start_node, tmp_path):
    """Name the element and the line of each error."""
    urdf = Path(tmp_path / 'bad.urdf')
    urdf.write_text(
        '<robot name="bad">\n<link name="a"/>\n<joint name="j" type="hinge"/>\n</robot>\n'
    )
    process = start_node(robot=str(urdf))
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, output
    assert 'hinge' in output
    assert '3' in output
    assert 'Traceback' not in output


def test_a_failing_step_pauses_the_node_and_leaves_it_alive(graph: Graph, start_node):
    """Make a pendulum diverge: the node reports it, pauses, and goes on after a reset."""
    process = start_node(robot='pendulum', diagnostics_rate=20.0)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    command.publish(Float64MultiArray(data=[1.7e308]))
    graph.wait(
        lambda: diagnostics and values(diagnostics, 'pacing')['level'] == DiagnosticStatus.ERROR,
        'an error on /diagnostics',
    )
    assert 'paused by an error' in values(diagnostics, 'pacing')['message']
    assert graph.call(Trigger, '/sim_bridge/reset', Trigger.Request()).success
    # states from before the error may still be queued
    graph.drain()
    assert graph.call(SetBool, '/sim_bridge/pause', SetBool.Request(data=False)).success
    graph.wait_for_next(states, 50)
    graph.wait(
        lambda: values(diagnostics, 'pacing')['level'] != DiagnosticStatus.ERROR,
        'a node without error',
    )
    assert list(states[-1].position) == [0.0]
    code, output = end(process)
    assert code == 0
    assert 'paused, because a step failed: SimulationError' in output
