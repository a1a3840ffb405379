"""Pausing, stepping and resetting the node, and /clock meanwhile."""

from __future__ import annotations

import pytest
from ros_graph import nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000


def stamps(states: list[JointState]) -> list[int]:
    """Give the stamps of joint states [ns]."""
    return [nanoseconds(state.header.stamp) for state in states]


def call(graph, name: str) -> object:
    """Call a service of the node that takes nothing."""
    return graph.call(Trigger, f'/sim_bridge/{name}', Trigger.Request())


def pause(graph, data: bool) -> object:
    """Pause or resume the node."""
    return graph.call(SetBool, '/sim_bridge/pause', SetBool.Request(data=data))


def test_a_paused_node_steps_exactly_as_told(graph, start_node):
    """Start paused with a clock that is not 0; take the steps asked for; go on when told to."""
    start_node(robot='pendulum', paused=True, clock_rate=0.0)
    states = graph.listen(JointState, '/joint_states')
    clock = graph.listen(Clock, '/clock')
    graph.wait_for_next(clock, 3)
    assert {nanoseconds(message.clock) for message in clock} == {1}, 'neither 0 nor moving'
    assert states == []

    response = call(graph, 'step')
    assert response.success
    assert '1 steps taken, now at 0.001 s' in response.message
    graph.wait(lambda: states, 'the state after the step')
    assert stamps(states) == [MS]

    assert graph.set_parameter('/sim_bridge', 'step_count', 250).successful
    assert call(graph, 'step').success
    graph.wait(lambda: len(states) >= 251, '250 more states')
    graph.wait_for_next(clock, 3)
    assert stamps(states) == [step * MS for step in range(1, 252)]
    times = [nanoseconds(message.clock) for message in clock]
    assert times == sorted(times)
    assert times[-1] == 251 * MS
    assert set(range(1, 252)) == {time // MS for time in times if time > 1}, 'one for every step'

    assert pause(graph, False).success
    graph.wait_for_next(states, 100)
    refusal = call(graph, 'step')
    assert not refusal.success
    assert 'pause' in refusal.message
    assert pause(graph, True).success
    graph.drain()
    count = len(states)
    graph.wait_for_next(clock, 4)
    assert len(states) == count


def test_commands_arrive_while_steps_are_taken(graph, start_node):
    """Take a command in the middle of a long ~/step: no callback waits for it."""
    start_node(robot='pendulum', paused=True, step_count=1_000_000, real_time_factor=10.0)
    states = graph.listen(JointState, '/joint_states')
    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    client = graph.node.create_client(Trigger, '/sim_bridge/step')
    graph.wait(client.service_is_ready, 'the service')
    future = client.call_async(Trigger.Request())
    graph.wait_for_next(states, 10)
    command.publish(Float64MultiArray(data=[0.5]))
    graph.wait(lambda: states[-1].effort[0] == 0.5, 'the effort')
    assert not future.done()


@pytest.mark.parametrize('reset_clock', [False, True])
def test_reset_puts_the_robot_back_and_the_clock_only_if_told(graph, start_node, reset_clock):
    """Go on in time, or begin at 0 again; held at the start pose without old commands."""
    start_node(
        robot='pendulum', initial_positions=[1.0], reset_clock=reset_clock, command_timeout=0.0
    )
    states = graph.listen(JointState, '/joint_states')
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
    """Take a new factor, and refuse a bad one with a reason."""
    start_node(robot='pendulum')
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states)
    assert graph.set_parameter('/sim_bridge', 'real_time_factor', 0.001).successful
    assert graph.set_parameter('/sim_bridge', 'real_time_factor', 0.0).successful
    graph.wait_for_next(states, 2000)
    times = stamps(states)
    assert times == sorted(times)
    refusal = graph.set_parameter('/sim_bridge', 'real_time_factor', -1.0)
    assert not refusal.successful
    assert 'real_time_factor' in refusal.reason
    assert not graph.set_parameter('/sim_bridge', 'rate', 10.0).successful
