"""Pausing, stepping and resetting the node, and /clock meanwhile."""

from __future__ import annotations

import json
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
import pytest
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_graph import keeping, nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.process.deferred import DeferredServices

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def stamps(states: list[JointState]) -> list[int]:
    """Return joint state stamps [ns]."""
    return [nanoseconds(state.header.stamp) for state in states]


def call(graph, name: str) -> object:
    """Call a node's service without arguments."""
    return graph.call(Trigger, f'/sim_bridge/{name}', Trigger.Request())


def pause(graph, data: bool) -> object:
    """Pause or resume the node."""
    return graph.call(SetBool, '/sim_bridge/pause', SetBool.Request(data=data))


def test_a_paused_node_takes_exactly_the_requested_steps(graph, start_node):
    """Start paused with a clock other than 0; take the requested steps; resume on request."""
    start_node(robot='pendulum', paused=True, clock_rate=0.0)
    states = graph.listen(JointState, '/joint_states')
    clock = graph.listen(Clock, '/clock')
    graph.wait_for_next(clock, 3)
    assert {nanoseconds(message.clock) for message in clock} == {1}, 'neither 0 nor moving'
    assert states == []

    response = call(graph, 'step')
    assert response.success
    assert '1 step taken, now at 0.001 s' in response.message
    graph.wait(lambda: states, 'the state after the step')
    assert stamps(states) == [MS]

    assert graph.set_parameter('/sim_bridge', 'step_count', 150).successful
    assert call(graph, 'step').success
    # /clock keeps 200 for a subscriber that stalls
    graph.wait(lambda: len(states) >= 151, '150 more states')
    assert graph.wait_for_standstill(states, clock) == 151 * MS
    assert stamps(states) == [step * MS for step in range(1, 152)]
    times = [nanoseconds(message.clock) for message in clock]
    assert times == sorted(times)
    assert set(range(1, 152)) == {time // MS for time in times if time > 1}, 'one for every step'

    assert pause(graph, False).success
    graph.wait_for_next(states, 100)
    refusal = call(graph, 'step')
    assert not refusal.success
    assert 'pause' in refusal.message
    assert pause(graph, True).success
    stood = graph.wait_for_standstill(states, clock)
    count = len(states)
    assert graph.wait_for_standstill(states, clock) == stood
    assert len(states) == count


def test_commands_arrive_while_steps_are_taken(graph, start_node):
    """Take a command in the middle of a long ~/step: no callback waits for it."""
    start_node(robot='pendulum', paused=True, step_count=1_000_000, command_timeout=0.0)
    states = graph.listen(JointState, '/joint_states')
    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    client = graph.client(Trigger, '/sim_bridge/step')
    future = client.call_async(Trigger.Request())
    graph.wait_for_next(states, 10)
    command.publish(Float64MultiArray(data=[0.5]))
    graph.wait(lambda: states[-1].effort[0] == 0.5, 'the effort')
    assert not future.done()


@pytest.mark.parametrize('reset_clock', [False, True])
def test_reset_puts_the_robot_back_and_the_clock_only_if_requested(graph, start_node, reset_clock):
    """Continue in time, or restart at 0; hold at the start pose without old commands."""
    start_node(
        robot='pendulum',
        initial_positions=[1.0],
        reset_clock=reset_clock,
        command_timeout=0.0,
        **keeping('/joint_states'),
    )
    states = graph.listen_to_all(JointState, '/joint_states')
    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    graph.wait_for_next(states)
    command.publish(Float64MultiArray(data=[0.1]))
    graph.wait(lambda: abs(states[-1].position[0] - 1.0) > 0.3, 'a falling pendulum')
    assert call(graph, 'reset').success
    graph.wait(lambda: states[-1].position[0] == 1.0, 'the start pose')
    graph.wait_for_next(states, 100)
    assert states[-1].position[0] == 1.0, 'held until a new command'
    assert (states[-1].velocity[0], states[-1].effort[0]) == (0.0, 0.0)
    times = stamps(states)
    back = [late for early, late in zip(times, times[1:], strict=False) if late <= early]
    assert len(back) == reset_clock
    assert min(times) > 0


def test_the_real_time_factor_changes_while_running(graph, start_node):
    """Take a new factor, report the pace, and refuse an invalid one with a reason."""
    # at this pace, the second step comes after the test
    start_node(robot='pendulum', real_time_factor=1e-6, diagnostics_rate=20.0)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')

    def pacing() -> dict[str, str]:
        (status,) = (each for each in diagnostics[-1].status if each.name.endswith('pacing'))
        return {value.key: value.value for value in status.values}

    graph.wait_for_next(diagnostics)
    assert pacing()['real time factor aimed at'] == '1e-06'
    assert graph.set_parameter('/sim_bridge', 'real_time_factor', 0.0).successful
    graph.wait_for_next(states, 400)
    times = stamps(states)
    assert times == sorted(times)
    graph.wait(lambda: pacing()['real time factor aimed at'] == 'as fast as possible', 'the aim')
    graph.wait(lambda: float(pacing()['real time factor']) > 1e-3, 'the pace')
    told = pacing()
    assert {'missed deadlines', 'tick lateness p99 [ms]', 'tick duration p99 [ms]'} <= set(told)
    refusal = graph.set_parameter('/sim_bridge', 'real_time_factor', -1.0)
    assert not refusal.successful
    assert 'real_time_factor' in refusal.reason
    assert not graph.set_parameter('/sim_bridge', 'rate', 10.0).successful


def test_settings_change_by_parameters_at_run_time(graph, start_node):
    """Take solver, sleep, integrator and gravity while running: a pendulum swings up."""
    start_node(
        robot='pendulum',
        initial_positions=[0.5],
        command_timeout=0.0,
        hold_until_first_command=False,
    )
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states)
    for name, value in (
        ('solver', 'iterative'),
        ('sleep', True),
        ('integrator', 'rk5'),
        ('gravity', [0.0, 0.0, 9.81]),
    ):
        assert graph.set_parameter('/sim_bridge', name, value).successful
    graph.wait(lambda: abs(states[-1].position[0]) > 1.0, 'a pendulum that swings up')
    for name, value in (('solver', 'magic'), ('gravity', [0.0, 1.0]), ('integrator', 'euler')):
        refusal = graph.set_parameter('/sim_bridge', name, value)
        assert not refusal.successful and name in refusal.reason
    graph.wait_for_next(states)


def test_a_reset_while_paused_shows_the_start_at_once(graph, start_node):
    """Publish the start state and the reset event, one clock step later, without a step."""
    start_node(robot='pendulum', initial_positions=[1.0], command_timeout=0.0)
    states = graph.listen(JointState, '/joint_states')
    clock = graph.listen(Clock, '/clock')
    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    graph.wait_for_next(states)
    command.publish(Float64MultiArray(data=[0.1]))
    graph.wait(lambda: abs(states[-1].position[0] - 1.0) > 0.1, 'a falling pendulum')
    assert pause(graph, True).success
    stood = graph.wait_for_standstill(states, clock)
    assert call(graph, 'reset').success
    graph.wait(lambda: stamps(states)[-1] == stood + MS, 'the state after the reset')
    assert states[-1].position[0] == 1.0
    graph.wait(lambda: nanoseconds(clock[-1].clock) == stood + MS, 'the clock')
    # a late subscriber gets it, too
    events = graph.listen(String, '/sim_bridge/resets', LATCHED)
    graph.wait(lambda: events, 'the event')
    assert json.loads(events[0].data) == {
        'count': 1,
        'cause': 'reset',
        'scope': ['time', 'state'],
        'snapshot': None,
        'removed': [],
        'time_ns_before': stood,
        'time_ns': stood + MS,
    }


def test_snapshots_are_restored_to_the_last_bit(graph, start_node):
    """Save by name, go on, and return: the same steps give the same bits, repeatedly."""
    start_node(
        robot='double_pendulum',
        paused=True,
        step_count=10,
        initial_positions=[0.5, -0.3],
        real_time_factor=0.0,
        command_timeout=0.1,
    )
    states = graph.listen(JointState, '/joint_states')
    command = graph.advertise(JointState, '/joint_commands')

    def run(steps: int) -> list[tuple[list[float], ...]]:
        """Take steps, and return the states."""
        count = len(states)
        assert call(graph, 'step').success
        graph.wait(lambda: len(states) == count + steps, f'{steps} states')
        return [(list(s.position), list(s.velocity), list(s.effort)) for s in states[count:]]

    run(10)
    command.publish(JointState(name=states[0].name, effort=[0.4, -0.2]))
    while list(states[-1].effort) != [0.4, -0.2]:
        run(10)
    assert graph.set_parameter('/sim_bridge', 'snapshot', 'later').successful
    assert call(graph, 'save_snapshot').success
    assert call(graph, 'list_snapshots').message == 'later'
    assert graph.set_parameter('/sim_bridge', 'step_count', 200).successful
    first = run(200)
    # the command in force at the snapshot times out on the way
    assert first[50][2] == [0.4, -0.2]
    assert first[-1][2] == [0.0, 0.0]
    assert graph.set_parameter('/sim_bridge', 'control.shoulder', 'velocity').successful
    for _ in range(2):
        count = len(states)
        assert call(graph, 'restore_snapshot').success
        graph.wait(lambda count=count: len(states) == count + 1, 'the state restored')
        assert run(200) == first
    times = stamps(states)
    assert times == sorted(set(times)), 'and the clock goes on'
    parameters = graph.call(
        GetParameters,
        '/sim_bridge/get_parameters',
        GetParameters.Request(names=['control.shoulder']),
    )
    assert parameters.values[0].string_value == 'effort', 'as the joint is driven now'
    assert graph.set_parameter('/sim_bridge', 'snapshot', 'late').successful
    refusal = call(graph, 'restore_snapshot')
    assert not refusal.success
    assert "Did you mean 'later'" in refusal.message


def test_every_request_is_answered_once():
    """Refuse unanswered requests when services close: not begun, in progress, or failed."""
    queue, answers = [], []
    node, pacer = SimpleNamespace(), SimpleNamespace(submit=queue.append)
    services = DeferredServices(node, pacer, lambda: None)
    late = []

    def refuse(response, error) -> None:
        response.success, response.message = False, str(error)

    def take(handler) -> None:
        services.take(Trigger, Trigger.Request(), handler, refuse, answers.append)

    def answer_twice(request, response, answer) -> None:
        answer(response)
        raise StateError('too late')

    take(lambda request, response, answer: late.append(answer))
    take(answer_twice)
    take(lambda request, response, answer: answer(response))
    for serve in queue[:2]:
        serve()
    assert [answer.message for answer in answers] == ['']
    services.close(StateError('unloaded'))
    assert [answer.message for answer in answers] == ['', 'unloaded', 'unloaded']
    queue[2]()
    late[0](Trigger.Response())
    services.close(StateError('unloaded'))
    assert len(answers) == 3
