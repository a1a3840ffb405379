"""A controller in a process of its own, whose timer runs on simulated time, through every jump."""

from __future__ import annotations

import json

import pytest
from ros_graph import nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from standard_simulation import result, stamps
from std_srvs.srv import SetBool, Trigger

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
OK, STOPPED = 1, 0
START, GOAL = 0.5, -0.4

# knows nothing of resets, as those who wrote it for a real robot
CONTROLLER = f"""
import math
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

rclpy.init()
node = Node('controller', parameter_overrides=[Parameter('use_sim_time', value=True)])
publisher = node.create_publisher(JointState, 'joint_commands', 10)
latest = []
node.create_subscription(JointState, 'joint_states', lambda state: latest.append(state), 10)

def control():
    if latest:
        state = latest[-1]
        latest[:] = [state]
        q, dq = state.position[0], state.velocity[0]
        command = JointState(name=state.name)
        command.effort = [20.0 * ({GOAL} - q) - 4.0 * dq + 9.81 * 0.5 * math.sin(q)]
        command.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(command)

node.create_timer(0.01, control)
rclpy.spin(node)
"""


def test_a_controller_on_simulated_time_survives_every_jump(graph, start, start_process):
    """
    Start it while all is paused; reset by every scope, restore, stop and play: it goes on.

    The robot is held until its first command. Time never goes back unless it is named.
    """
    simulation = start(
        paused=True, initial_positions=[START], command_timeout=0.0, rate=200.0, substeps=5)
    states, events = simulation.states, simulation.events
    clock = graph.listen(Clock, '/clock')
    commands = graph.listen(JointState, '/joint_commands')
    controller = start_process('-c', CONTROLLER)
    graph.wait(
        lambda: graph.node.get_publishers_info_by_topic('/joint_commands'), 'the controller')
    # paused from the start, it answers, and its clock stands at what is no "no time yet"
    assert simulation('GetSimulationState')['state']['state'] == STOPPED
    graph.wait_for_next(clock, 3)
    assert {nanoseconds(each.clock) for each in clock} == {1}
    assert not commands

    def call(name: str) -> None:
        assert graph.call(Trigger, f'/sim_bridge/{name}', Trigger.Request()).success

    def play() -> None:
        request = SetBool.Request(data=False)
        assert graph.call(SetBool, '/sim_bridge/pause', request).success

    def reset(scope: int) -> None:
        assert result(simulation('ResetSimulation', scope=scope)) == OK

    def spawn_and_reset(scope: int) -> None:
        simulation.spawn('pendulum', name='guest', initial_pose={'pose': {'position': {'y': 2.0}}})
        reset(scope)

    def stop() -> None:
        assert result(simulation('SetSimulationState', state={'state': STOPPED})) == OK
        play()

    def is_there() -> bool:
        return (abs(states[-1].position[0] - GOAL) < 0.02 and abs(states[-1].velocity[0]) < 0.02)

    play()
    graph.wait(lambda: states and is_there(), 'the goal')
    held = [state.position[0] for state in states if not state.effort[0]]
    assert set(held[:-1]) <= {START}, 'held until the first command'
    call('save_snapshot')

    for jump, is_moved, goes_back in (
        (lambda: call('reset'), True, False),
        (lambda: reset(2), True, False),
        (lambda: spawn_and_reset(4), False, False),
        (lambda: spawn_and_reset(0), True, True),
        (lambda: call('restore_snapshot'), False, False),
        (stop, True, False),
        (lambda: reset(1), False, True),
    ):
        for heard in (states, clock, commands):
            graph.wait_for_next(heard)
            del heard[:-1]
        count = len(events)
        jump()
        graph.wait(lambda count=count: len(events) > count, 'the event')
        start_ns = json.loads(events[-1].data)['time_ns']

        def since(times: list[int], start_ns=start_ns, goes_back=goes_back) -> list[int]:
            """Return those since the jump."""
            if not goes_back:
                return [time for time in times if time > start_ns]
            first = next((n for n in range(1, len(times)) if times[n] < times[n - 1]), len(times))
            return times[first:]

        if is_moved:
            graph.wait(lambda: START in [state.position[0] for state in states], 'the start')
        graph.wait(lambda: len(since(stamps(commands))) > 20, 'commands after the jump')
        graph.wait(lambda: len(since(stamps(states))) > 20 and is_there(), 'the goal again')
        assert len(set(stamps(states))) == len(states)
        for times in (stamps(states), [nanoseconds(each.clock) for each in clock]):
            backwards = [b for a, b in zip(times, times[1:], strict=False) if b < a]
            assert backwards == ([1] if goes_back else [])
    assert controller.poll() is None
