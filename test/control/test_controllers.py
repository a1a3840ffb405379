"""Controller nodes: in processes with the simulator, and answering single states."""

from __future__ import annotations

import math
import signal

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_graph import end, keeping, nanoseconds, PATIENCE_S
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# includes messages logged before the listener was discovered
LATCHED_LOGS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
POSE = [0.3, 0.9, 0.2, -1.2, 0.1, 0.8, 0.0]
CONTROLLERS = ['pd', 'computed_torque']
# as fast as the controller answers: nothing lags on a busy machine
IN_STEP = {'lockstep': ['joint_commands'], 'real_time_factor': 0.0, 'rate': 500.0}


@pytest.fixture
def start_controller(start_process):
    """Return a starter for controller nodes: `start_controller('pd', amplitude=[0.1])`."""

    def start(name: str, **parameters: object):
        given = [item for key, value in parameters.items() for item in ('-p', f'{key}:={value}')]
        return start_process('-m', f'sim_bridge.control.{name}_controller', '--ros-args', *given)

    return start


def seconds(state: JointState) -> float:
    """Return a joint state's stamp [s]."""
    return nanoseconds(state.header.stamp) * 1e-9


def wait_until(graph, states: list[JointState], time_s: float) -> None:
    """Wait for a simulated time."""
    graph.wait(lambda: states and seconds(states[-1]) >= time_s, f'{time_s:g} s simulated')


@pytest.mark.parametrize(('controller', 'tolerance'), [('computed_torque', 0.02)])
def test_the_arm_is_held_against_gravity(
    graph, start_node, start_controller, controller, tolerance
):
    """Hold an outstretched arm at its initial pose, by efforts, for a while."""
    simulator = start_node(initial_positions=POSE, diagnostics_rate=10.0, **IN_STEP)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    node = start_controller(controller)
    graph.wait(lambda: any(any(state.effort) for state in states[-3:]), 'efforts')
    freed = seconds(states[-1])
    wait_until(graph, states, freed + 0.5)
    held = np.array([state.position for state in states if seconds(state) > freed])
    graph.wait(
        lambda: diagnostics and nanoseconds(diagnostics[-1].header.stamp) * 1e-9 > freed,
        'diagnostics',
    )
    told = {item.key: item.value for status in diagnostics[-1].status for item in status.values}
    assert told['joints held'] == 'False', 'held by efforts, not by the lock'
    assert np.abs(held - POSE).max() < tolerance
    assert np.abs(states[-1].velocity).max() < 0.05, 'at rest'
    # the order of magnitude required by gravity at the shoulder
    assert 20.0 < abs(states[-1].effort[1]) < 200.0
    for process in (node, simulator):
        code, output = end(process)
        assert code == 0, output
        assert 'Traceback' not in output


def test_computed_torque_follows_a_sinusoid(graph, start_node, start_controller):
    """Swing every joint about the pose by the amplitude, at the frequency."""
    start_node(initial_positions=POSE, **IN_STEP)
    states = graph.listen(JointState, '/joint_states')
    start_controller('computed_torque', amplitude='[0.1]', frequency='[1.0]', ramp_time=0.25)
    graph.wait(lambda: any(any(state.effort) for state in states[-3:]), 'efforts')
    begun = seconds(states[-1])
    wait_until(graph, states, begun + 1.5)
    # one whole period, well after the ramp
    period = [state for state in states if begun + 0.5 <= seconds(state) < begun + 1.5]
    times = np.array([seconds(state) for state in period])
    positions = np.array([state.position for state in period]) - POSE
    phases = 2.0 * math.pi * times
    basis = np.stack([np.sin(phases), np.cos(phases), np.ones_like(phases)], axis=1)
    fit, *_ = np.linalg.lstsq(basis, positions, rcond=None)
    np.testing.assert_allclose(np.hypot(fit[0], fit[1]), 0.1, rtol=0.05)
    np.testing.assert_allclose(fit[2], 0.0, atol=0.01)
    assert np.abs(positions - basis @ fit).max() < 0.01


def test_pd_moves_to_a_pose_and_survives_a_reset(graph, start_node, start_controller):
    """Go to the given pose with the given gains; after ~/reset go there again."""
    start_node(robot='pendulum', initial_positions=[0.0], **IN_STEP, **keeping('/joint_states'))
    states = graph.listen_to_all(JointState, '/joint_states')
    start_controller('pd', positions='[0.8]', ramp_time=0.5, stiffness='[500.0]', damping='[40.0]')

    def is_there() -> bool:
        return (
            bool(states)
            and abs(states[-1].position[0] - 0.8) < 0.1
            and abs(states[-1].velocity[0]) < 0.01
        )

    graph.wait(is_there, 'the pose')
    before = len(states)
    assert graph.call(Trigger, '/sim_bridge/reset', Trigger.Request()).success

    def start() -> int | None:
        # the ramp is as fast as the machine: the latest state may be one behind
        return next(
            (
                number
                for number, state in enumerate(states[before:], before)
                if abs(state.position[0]) < 0.05
            ),
            None,
        )

    graph.wait(lambda: start() is not None, 'the start')
    restarted = start()
    graph.wait(is_there, 'the pose again')
    assert max(abs(state.velocity[0]) for state in states[restarted:]) < 5.0, (
        'by a ramp, not by a jump'
    )


@pytest.fixture
def robot_alone(graph, repository):
    """Return a publisher of a robot's states, without a simulator, and the answers."""
    description = graph.node.create_publisher(String, '/robot_description', LATCHED)
    description.publish(String(data=(repository / 'urdf' / 'double_pendulum.urdf').read_text()))
    states = graph.node.create_publisher(JointState, '/joint_states', 10)
    return states, graph.listen(JointState, '/joint_commands')


def joint_state(time_ns: int, position: list[float], **fields: object) -> JointState:
    """Return a joint state at rest."""
    state = JointState(
        **{'name': ['shoulder', 'elbow'], 'velocity': [0.0] * len(position), **fields}
    )
    state.position = position
    state.header.stamp.sec, state.header.stamp.nanosec = divmod(time_ns, 1_000_000_000)
    return state


def is_said(text: str, logs: list[Log]) -> bool:
    """Return whether a node has logged a text."""
    return any(text in log.msg for log in logs)


@pytest.mark.parametrize('controller', CONTROLLERS)
def test_every_state_has_one_answer_with_its_stamp(
    graph, start_controller, robot_alone, controller
):
    """Answer only states; restart after a gap: no old reference pulls."""
    states, commands = robot_alone
    start_controller(controller)

    def stamps() -> list[int]:
        return [nanoseconds(command.header.stamp) for command in commands]

    def publish() -> None:
        states.publish(joint_state(1_000_000, [0.0, 0.0]))

    graph.wait(lambda: commands, 'a first answer', also=publish)
    for step in range(2, 7):
        time_ns = step * 1_000_000
        states.publish(joint_state(time_ns, [0.0, 0.0]))
        graph.wait(lambda time_ns=time_ns: time_ns in stamps(), 'its answer')
    assert [time for time in stamps() if time > 1_000_000] == [
        step * 1_000_000 for step in range(2, 7)
    ]
    assert list(commands[-1].name) == ['shoulder', 'elbow']
    assert list(commands[-1].effort) == pytest.approx([0.0, 0.0], abs=1e-6), (
        'hanging down needs none'
    )

    # ten seconds later, at another pose, at rest: only gravity needs an answer, and only from a
    # law compensating it
    states.publish(joint_state(10_000_000_000, [0.5, 0.0]))
    graph.wait(lambda: nanoseconds(commands[-1].header.stamp) == 10_000_000_000, 'its answer')
    shoulder = commands[-1].effort[0]
    assert (shoulder == 0.0) == (controller == 'pd')


def test_a_pushed_robot_is_led_back(graph, start_controller, robot_alone):
    """Return to the initial pose after a push, or after a gap between states."""
    states, commands = robot_alone
    start_controller('pd', ramp_time=0.5)

    def answer(time_ms: int, position: list[float], velocity: list[float]) -> float:
        time_ns = time_ms * 1_000_000
        states.publish(joint_state(time_ns, position, velocity=velocity))
        graph.wait(lambda: nanoseconds(commands[-1].header.stamp) == time_ns, 'its answer')
        return commands[-1].effort[0]

    graph.wait(
        lambda: commands,
        'a first answer',
        also=lambda: states.publish(joint_state(1_000_000, [0.0, 0.0])),
    )
    # thrown: velocities over 10 ms do not explain the distance
    assert answer(11, [0.1, 0.0], [18.0, 0.0]) < 0.0
    assert answer(31, [0.3, 0.0], [0.0, 0.0]) < 0.0
    # no state for longer than max_state_gap: no jump, but then back
    assert answer(231, [0.3, 0.0], [0.0, 0.0]) == pytest.approx(0.0, abs=1e-9)
    for time_ms in range(281, 781, 50):
        effort = answer(time_ms, [0.3, 0.0], [0.0, 0.0])
    assert effort < -1.0


def test_states_that_lack_joints_or_values_have_no_answer(graph, start_controller, robot_alone):
    """Name the missing item, command nothing, and work once it is there."""
    states, commands = robot_alone
    logs = graph.listen(Log, '/rosout', LATCHED_LOGS)
    process = start_controller('pd')
    for complaint, state in (
        ('joint_states lacks elbow', joint_state(1, [0.0], name=['shoulder'])),
        ('2 names, 2 positions and 0 velocities', joint_state(1, [0.0, 0.0], velocity=[])),
    ):
        graph.wait(
            lambda complaint=complaint: is_said(complaint, logs),
            complaint,
            also=lambda state=state: states.publish(state),
        )
    graph.wait(
        lambda: commands, 'an answer', also=lambda: states.publish(joint_state(2, [0.0, 0.0]))
    )
    assert {nanoseconds(command.header.stamp) for command in commands} == {2}
    assert end(process, signal.SIGTERM)[0] == 0


@pytest.mark.parametrize(
    ('parameters', 'said'),
    [
        ({'joints': '[shoulder, knee]'}, "unknown joint 'knee'"),
        ({'amplitude': '[0.1, 0.1, 0.1]'}, '1 value or 2, one for each of shoulder, elbow'),
        ({'stiffness': '[1.0, 1.0, 1.0]'}, '1 value or 2'),
    ],
)
def test_mismatches_with_the_robot_are_refused(
    graph, start_controller, robot_alone, parameters, said
):
    """Name the unsuitable parameter, command nothing, and end on request."""
    states, commands = robot_alone
    logs = graph.listen(Log, '/rosout', LATCHED_LOGS)
    process = start_controller('pd', **parameters)
    graph.wait(lambda: is_said('cannot control this robot', logs), 'a complaint')
    assert is_said(said, logs)
    graph.wait(
        lambda: is_said('waiting for robot_description', logs),
        'another robot to be wanted',
        also=lambda: states.publish(joint_state(1, [0.0, 0.0])),
    )
    assert commands == []
    assert end(process)[0] == 0


def test_bad_parameters_end_a_controller_with_one_message(start_controller):
    """Exit with 2 and without a traceback."""
    process = start_controller('computed_torque', natural_frequency=0.0)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert (
        "parameter 'natural_frequency' = 0.0: expected a finite number, above 0.0 [rad/s]"
        in output
    )
    assert 'Traceback' not in output
