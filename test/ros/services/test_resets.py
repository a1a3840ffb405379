"""A controller in its own process, with a timer on simulated time, through every jump."""

from __future__ import annotations

import json

import pytest
from ros_graph import keeping, nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from standard_simulation import result, stamps
from std_srvs.srv import SetBool, Trigger

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
OK, STOPPED = 1, 0
START, GOAL = 0.5, -0.4

# ignores resets, like a controller written for a real robot
CONTROLLER = f"""
import math
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

rclpy.init()
node = Node('controller', parameter_overrides=[Parameter('use_sim_time', value=True)])
publisher = node.create_publisher(JointState, 'joint_commands', 100_000)
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
    Start it while all is paused; reset with every scope, restore, stop and play: it goes on.

    The robot is held until its first command. Time goes back only in the named cases.
    """
    simulation = start(
        paused=True,
        initial_positions=[START],
        command_timeout=0.0,
        rate=200.0,
        substeps=5,
        **keeping('/joint_states', '/clock'),
    )
    states = graph.listen_to_all(JointState, '/joint_states')
    events = simulation.events
    clock = graph.listen_to_all(Clock, '/clock')
    commands = graph.listen_to_all(JointState, '/joint_commands')
    controller = start_process('-c', CONTROLLER)
    graph.wait(
        lambda: graph.node.get_publishers_info_by_topic('/joint_commands'), 'the controller'
    )
    # paused from the start, it answers; /clock stands at 1 ns, which does not mean "no time yet"
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

    def obeyed(states: list[JointState]) -> set[float]:
        """Return the commands in force."""
        return {each.effort[0] for each in commands}.intersection(
            each.effort[0] for each in states
        )

    play()
    graph.wait(lambda: states and states[-1].position[0] != START, 'motion')
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

        def since(start_ns=start_ns, goes_back=goes_back) -> list[JointState]:
            """Return the states since the jump."""
            times = stamps(states)
            if not goes_back:
                return [each for each, time in zip(states, times, strict=True) if time > start_ns]
            first = next((n for n in range(1, len(times)) if times[n] < times[n - 1]), len(times))
            return states[first:]

        if is_moved:
            graph.wait(lambda: START in [state.position[0] for state in states], 'the start')
        # a few messages from before the jump may be in transit
        while len(obeyed(since())) <= 10:
            graph.wait_for_next(states, 10)
        ticks = [nanoseconds(each.clock) for each in clock]
        for times in (stamps(states), ticks):
            backwards = [b for a, b in zip(times, times[1:], strict=False) if b < a]
            assert backwards == ([1] if goes_back else [])
        assert all(a != b for a, b in zip(stamps(states), stamps(states)[1:], strict=False))
    assert controller.poll() is None
