"""Joints driven by motors, tracked vehicles and loops on the graph: nodes as processes."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterType
from ros_graph import end, nanoseconds, PATIENCE_S
from sensor_msgs.msg import JointState, MultiDOFJointState

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

NODE = '/sim_bridge'


@pytest.fixture
def parameter_file(tmp_path):
    """Return a function that writes simulator parameters, and returns the arguments for them."""

    def write(text: str) -> tuple[str, str]:
        file = tmp_path / f'given_{len(list(tmp_path.iterdir()))}.yaml'
        lines = ''.join(f'    {line}\n' for line in text.strip().splitlines())
        file.write_text(f'/**/sim_bridge:\n  ros__parameters:\n{lines}')
        return '--params-file', str(file)

    return write


def rejected(diagnostics: list[DiagnosticArray]) -> int:
    """Return the number of rejected commands so far."""
    for status in diagnostics[-1].status if diagnostics else ():
        told = {item.key: item.value for item in status.values}
        if 'rejected since start' in told:
            return int(told['rejected since start'])
    return 0


def test_a_motor_keeps_the_commanded_velocity(graph, start_node, parameter_file):
    """Keep a velocity; publish the motor's effort; hold still when commands cease."""
    start_node(
        *parameter_file('control:\n  pivot: velocity'),
        robot='pendulum',
        initial_positions=[1.0],
        command_timeout=0.2,
    )
    states = graph.listen(JointState, '/joint_states')
    commands = graph.advertise(JointState, '/joint_commands')

    def command() -> None:
        commands.publish(JointState(name=['pivot'], velocity=[0.5]))

    # no interval between commands may exceed the timeout
    graph.wait(
        lambda: [each.velocity[0] for each in states[-20:]] == [0.5] * 20,
        'the velocity',
        also=command,
    )
    state, later = states[-20], states[-1]
    elapsed = (nanoseconds(later.header.stamp) - nanoseconds(state.header.stamp)) * 1e-9
    assert later.position[0] - state.position[0] == pytest.approx(0.5 * elapsed, rel=1e-9)
    # the motor holds the pendulum against its weight
    assert abs(later.effort[0]) > 1.0
    assert later.effort[0] * np.sin(later.position[0]) > 0.0
    graph.wait(lambda: states[-1].velocity[0] == 0.0, 'rest')


def test_a_position_needs_a_position_control(graph, start_node):
    """Refuse and count it with a hint; take it once the control mode is set; hold in between."""
    process = start_node(
        robot='pendulum', initial_positions=[0.5], command_timeout=0.0, diagnostics_rate=20.0
    )
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    commands = graph.advertise(JointState, '/joint_commands')
    position = JointState(name=['pivot'], position=[0.8])
    commands.publish(position)
    graph.wait(lambda: rejected(diagnostics) == 1, 'a rejected command')

    refused = graph.set_parameter(NODE, 'control.pivot', 'sideways')
    assert not refused.successful
    assert "'effort' or 'velocity' or 'position' or 'servo'" in refused.reason
    refused = graph.set_parameter(NODE, 'control.pivot', 'servo')
    assert 'gains.pivot.p or gains.pivot.d above 0' in refused.reason

    assert graph.set_parameter(NODE, 'control.pivot', 'position').successful
    commands.publish(JointState(name=['pivot'], effort=[0.0]))
    graph.wait(lambda: states and states[-1].effort[0] != 0.0, 'a motor that holds')
    assert {state.position[0] for state in states} == {0.5}, 'no jerk'
    commands.publish(position)
    graph.wait(lambda: states[-1].position[0] == pytest.approx(0.8, abs=1e-9), 'the position')

    # stiff enough for little sag, and implicit: stable with any gains
    assert graph.set_parameter(NODE, 'gains.pivot.p', 1e7).successful
    assert graph.set_parameter(NODE, 'gains.pivot.d', 100000).successful
    assert graph.set_parameter(NODE, 'control.pivot', 'servo').successful
    graph.wait_for_next(states, 100)
    assert states[-1].position[0] == pytest.approx(0.8, abs=1e-3)
    refused = graph.set_parameter(NODE, 'gains.pivot.p', -1.0)
    assert 'at least 0.0' in refused.reason
    described = graph.describe_parameters(NODE)
    for name in ('gains.pivot.p', 'gains.pivot.d'):
        # also after an integer was set
        assert described[name].type == ParameterType.PARAMETER_DOUBLE
        (bounds,) = described[name].floating_point_range
        assert bounds.from_value == 0.0 and bounds.to_value > 1e300
    assert 'servo' in described['control.pivot'].description
    assert 'N m/rad' in described['gains.pivot.p'].description
    code, output = end(process)
    assert code == 0
    assert 'Set parameter control.pivot to position or servo' in output


def test_bad_controls_are_refused(refusals, parameter_file):
    """Name the error in each, without a traceback."""
    cases = [
        ('control:\n  pivt: velocity', "Did you mean 'control.pivot'"),
        ('control:\n  pivot: fast', "'effort' or 'velocity' or 'position' or 'servo'"),
        ('control:\n  pivot: servo', 'gains.pivot.p or gains.pivot.d above 0'),
        ('gains:\n  pivot: {p: 1.0, i: 0.5}', "unknown parameter 'gains.pivot.i'"),
        ('gains:\n  pivot: {p: stiff}', 'a finite number, at least 0.0'),
    ]
    outputs = refusals(*((*parameter_file(given), '-p', 'robot:=pendulum') for given, _ in cases))
    for (_, said), output in zip(cases, outputs, strict=True):
        assert said in output


def test_robots_of_a_world_have_controls_in_their_namespaces(
    graph, start_node, parameter_file, tmp_path
):
    """Find the joint by namespace and name, for the parameter and for the command."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(
        'world:\n  robots:\n'
        '    a: {urdf: pendulum, namespace: left/inner}\n'
        '    b: {urdf: pendulum, namespace: right, position: [0, 2, 0]}\n'
    )
    given = parameter_file('control:\n  left:\n    inner: {pivot: velocity}')
    start_node(*given, world=str(scene))
    states = graph.listen(JointState, '/left/inner/joint_states')
    commands = graph.advertise(JointState, '/left/inner/joint_commands')
    graph.wait(
        lambda: states and states[-1].velocity[0] == -0.25,
        'the velocity',
        also=lambda: commands.publish(JointState(name=['pivot'], velocity=[-0.25])),
    )
    names = graph.describe_parameters(NODE)
    assert {'control.left.inner.pivot', 'control.right.pivot', 'gains.right.pivot.d'} <= set(names)


def test_cmd_vel_drives_a_tracked_vehicle(graph, start_node):
    """Drive at the velocity, turn in the twist's direction, and stop when commands cease."""
    start_node(robot='tracked_vehicle', command_timeout=0.2, diagnostics_rate=20.0)
    objects = graph.listen(MultiDOFJointState, '/object_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    cmd_vel = graph.advertise(Twist, '/cmd_vel')

    def moving() -> tuple[float, float, float]:
        """Return the speed and the yaw rate."""
        if not objects:
            return (0.0, 0.0, 0.0)
        twist = objects[-1].twist[0]
        return np.hypot(twist.linear.x, twist.linear.y), twist.angular.z, twist.linear.x

    def twist(forward: float, yaw_rate: float) -> Twist:
        message = Twist()
        message.linear.x, message.angular.z = forward, yaw_rate
        return message

    graph.wait(
        lambda: abs(moving()[2] - 0.3) < 1e-6,
        'the velocity',
        also=lambda: cmd_vel.publish(twist(0.3, 0.0)),
    )
    graph.wait(
        lambda: moving()[1] > 0.1 and moving()[0] < 0.05,
        'a turn on the spot',
        also=lambda: cmd_vel.publish(twist(0.0, 1.0)),
    )
    graph.wait(lambda: max(map(abs, moving())) < 1e-6, 'rest')
    cmd_vel.publish(twist(float('nan'), 0.0))
    graph.wait(lambda: rejected(diagnostics) == 1, 'a rejected command')
    speeds = graph.advertise(JointState, '/joint_commands')
    names = ['left_track_joint', 'right_track_joint']
    graph.wait(
        lambda: abs(moving()[0] - 0.1) < 1e-6,
        'the speed of the tracks',
        also=lambda: speeds.publish(JointState(name=names, velocity=[-0.1, -0.1])),
    )


def test_only_tracked_vehicles_take_cmd_vel(graph, start_node):
    """Do not subscribe otherwise."""
    start_node(robot='pendulum')
    graph.wait_for_next(graph.listen(JointState, '/joint_states'))
    assert not graph.node.get_subscriptions_info_by_topic('/cmd_vel')


def test_extra_joints_close_loops(graph, start_node, tmp_path):
    """Tie a pendulum's bob to the world: it stays in place instead of swinging under gravity."""
    joints = tmp_path / 'joints.yaml'
    joints.write_text(
        'joints:\n  - {name: pin, type: ball, link1: lower_rod, link2: world, '
        'position1: [0, 0, -0.1]}\n'
    )
    start_node(robot='double_pendulum', initial_positions=[1.0, 0.5], extra_joints=str(joints))
    states = graph.listen(JointState, '/joint_states')
    commands = graph.advertise(JointState, '/joint_commands')
    graph.wait(
        lambda: states and states[-1].effort[0] == 0.5,
        'the command',
        also=lambda: commands.publish(JointState(name=['shoulder'], effort=[0.5])),
    )
    for state in graph.wait_for_next(states, 50):
        np.testing.assert_allclose(state.position, [1.0, 0.5], atol=1e-6)


def test_run_turns_the_crank_of_the_four_bar(graph, start_process):
    """Start simulator and controller like `make run ROBOT=four_bar`."""
    process = start_process('-m', 'sim_bridge', 'run', 'four_bar')
    states = graph.listen(JointState, '/joint_states')
    graph.wait(
        lambda: states and abs(states[-1].velocity[0] - np.pi) < 1e-9, 'half a turn a second'
    )
    assert states[-1].name == ['crank_joint', 'coupler_joint', 'rocker_joint', 'coupler_rocker']
    crank, coupler, rocker, closing = states[-1].position
    d_crank, d_coupler, d_rocker, d_closing = states[-1].velocity
    # all turn about y: the angle of the loop-closing hinge follows from coupler and rocker
    assert closing == pytest.approx(rocker - crank - coupler, abs=1e-9)
    assert d_closing == pytest.approx(d_rocker - d_crank - d_coupler, abs=1e-9)
    # the ends of coupler and rocker, at the closed loop
    along = crank + coupler
    end_of_coupler = np.array(
        [
            0.1 * np.sin(crank) + 0.24 * np.cos(along) + 0.1 * np.sin(along),
            0.1 * np.cos(crank) - 0.24 * np.sin(along) + 0.1 * np.cos(along),
        ]
    )
    end_of_rocker = np.array([0.24 + 0.2 * np.sin(rocker), 0.2 * np.cos(rocker)])
    np.testing.assert_allclose(end_of_coupler, end_of_rocker, atol=1e-6)
    code, output = end(process)
    assert code == 0, output
    assert 'Traceback' not in output


def test_run_turns_the_crank_of_the_crank_slider(graph, start_process):
    """Turn a body file's crank; the slider is where the rod, 0.3 m long, puts it."""
    process = start_process('-m', 'sim_bridge', 'run', 'crank_slider')
    states = graph.listen(JointState, '/joint_states')
    graph.wait(
        lambda: states and abs(states[-1].velocity[0] - np.pi) < 1e-9, 'half a turn a second'
    )
    crank, _, slider = states[-1].position[:3]
    reach = 0.1 * np.cos(crank) + np.sqrt(0.3**2 - (0.1 * np.sin(crank)) ** 2)
    assert slider == pytest.approx(reach - 0.4, abs=1e-6)
    code, output = end(process)
    assert code == 0, output
    assert '[ERROR]' not in output


def test_run_drives_the_tracked_vehicle_round_a_curve(graph, start_process):
    """Start the processes of `make run ROBOT=tracked_vehicle`: half a metre per second, left."""
    states = graph.listen(JointState, '/joint_states')
    process = start_process('-m', 'sim_bridge', 'run', 'tracked_vehicle')
    objects = graph.listen(MultiDOFJointState, '/object_states')

    def is_on_its_way() -> bool:
        if not objects:
            return False
        linear, angular = objects[-1].twist[0].linear, objects[-1].twist[0].angular
        return abs(np.hypot(linear.x, linear.y) - 0.5) < 1e-2 and angular.z > 0.15

    graph.wait(is_on_its_way, 'a steady curve')
    graph.wait(
        lambda: len(states) > 10 and list(states[-1].velocity) == [0.4, 0.6],
        'the speeds of the tracks',
    )
    assert states[-1].name == ['left_track_joint', 'right_track_joint']
    first, last = states[-11], states[-1]
    elapsed = (nanoseconds(last.header.stamp) - nanoseconds(first.header.stamp)) * 1e-9
    run = np.subtract(last.position, first.position)
    assert 0.0 < run[0] < 0.4 * elapsed + 1e-9
    assert 0.0 < run[1] < 0.6 * elapsed + 1e-9
    code, output = end(process)
    assert code == 0, output


def test_the_velocity_controller_lets_joints_swing_at_the_pace_of_states(graph, start_process):
    """Answer states with constant and sinusoidal velocities, started smoothly."""
    start_process(
        '-m',
        'sim_bridge.control.velocity_controller',
        '--ros-args',
        '-p',
        'joints:=[a, b]',
        '-p',
        'velocities:=[1.0, 0.0]',
        '-p',
        'amplitude:=[0.0, 0.5]',
        '-p',
        'frequency:=[0.25]',
        '-p',
        'ramp_time:=1.0',
    )
    states = graph.node.create_publisher(JointState, '/joint_states', 10)
    commands = graph.listen(JointState, '/joint_commands')

    def answer(time_ns: int, **positions: float) -> list[float]:
        state = JointState(name=list(positions), position=list(positions.values()))
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(time_ns, 1_000_000_000)
        graph.wait(
            lambda: commands and nanoseconds(commands[-1].header.stamp) == time_ns,
            'an answer',
            also=lambda: states.publish(state),
        )
        assert list(commands[-1].name) == ['a', 'b']
        return list(commands[-1].velocity)

    assert answer(5_000_000_000) == [0.0, 0.0]
    assert answer(5_500_000_000)[0] == pytest.approx(0.5)
    slope = 0.5 * np.pi / 2
    assert answer(7_000_000_000) == pytest.approx([1.0, -slope])
    assert answer(8_000_000_000) == pytest.approx([1.0, 0.0], abs=1e-12)
    # time went back: start again; b, which was late, is led back at 5 / s
    assert answer(1_000_000_000, b=3.0) == [0.0, 0.0]
    led = 5.0 * (3.0 - 3.2)
    assert answer(3_000_000_000, b=3.2) == pytest.approx([1.0, led - slope])


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        ([], 'at least one joint or crawler'),
        (['-p', 'joints:=[a, b]', '-p', 'velocities:=[1.0, 2.0, 3.0]'], '1 value or 2'),
    ],
)
def test_a_velocity_controller_without_use_ends_with_one_message(start_process, given, said):
    """Exit with 2 and without a traceback."""
    process = start_process('-m', 'sim_bridge.control.velocity_controller', '--ros-args', *given)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, output
    assert said in output
    assert 'Traceback' not in output
