"""Robots added and removed leave nothing behind on the node."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.exceptions import ParameterAlreadyDeclaredException
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import sim_bridge as sb
from sim_bridge.description import find_robot, sensors_from_mapping
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.command.joint_controls import JointControls
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.process.polling import PollingNode
from sim_bridge.ros.publish.sinks import GraphSink
from sim_bridge.ros.session.loading import load_world, LoadedRobot
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.ros.wire import qos

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

PARAMETERS = checked(SimulatorParameters, {'robot': 'pendulum'})


@pytest.fixture
def make_node(ros_environment):
    """Provide a function creating a node with arguments after --ros-args."""
    context = rclpy.Context()
    made: list[PollingNode] = []

    def make(*arguments: str) -> PollingNode:
        rclpy.init(context=context, args=['--ros-args', *arguments])
        made.append(PollingNode('sim_bridge', context=context))
        return made[0]

    yield make
    for node in made:
        node.destroy_node()
    context.try_shutdown()


def parameters_of(node: PollingNode) -> dict[str, object]:
    """Return all parameters declared on a node."""
    return node.get_parameters_by_prefix('')


def spawn(simulator: Simulator, namespace: str, update_rate: float = 100.0):
    """Add a pendulum with a gyroscope; return its interface."""
    sensors = sensors_from_mapping(
        {'gyro': {'type': 'gyro', 'link': 'rod', 'update_rate': update_rate}}
    )
    robot = simulator.world.add_robot(
        sb.load_description(find_robot('pendulum'), extra_sensors=sensors), name='second'
    )
    return simulator.add(robot, LoadedRobot(robot, namespace))


def test_a_part_takes_all_it_made_and_nothing_else(make_node):
    """Destroy the entities created while collecting, twice, even if some are destroyed already."""
    node = make_node()
    kept = node.create_publisher(JointState, 'kept', 10)
    before = parameters_of(node)
    part = EntityScope(node)
    for _ in range(2):
        with part.collecting():
            first, _ = (
                node.create_publisher(
                    JointState, name, 10, qos_overriding_options=qos.overridable()
                )
                for name in ('a', 'b')
            )
            node.create_subscription(
                JointState, 'a', print, 10, qos_overriding_options=qos.overridable()
            )
            node.create_poll(JointState, 'a', print, qos.POLLED_QOS)
            node.create_service(Trigger, 'c', print)
            node.create_timer(1.0, print)
        assert len(parameters_of(node)) > len(before)
        node.destroy_publisher(first)
        part.destroy()
        names = {publisher.topic_name for publisher in node.publishers}
        assert names.isdisjoint({'/a', '/b'})
        assert {'/a'}.isdisjoint(one.topic_name for one in node.subscriptions)
        assert not list(node.polled_subscriptions)
        assert '/c' not in {service.srv_name for service in node.services}
        assert not list(node.timers)
        assert any(publisher is kept for publisher in node.publishers)


def test_late_events_of_destroyed_entities_do_nothing(make_node):
    """Let it handle an event from before the destruction: no callback is left."""
    node, called = make_node(), []
    part = EntityScope(node)
    with part.collecting():
        timer = node.create_timer(1.0, lambda: called.append('timer'))
        service = node.create_service(Trigger, 'c', lambda *given: called.append('service'))
        subscription = node.create_subscription(
            JointState, 'a', lambda message: called.append('subscription'), 10
        )
    part.destroy()
    timer.callback()
    subscription.callback(JointState())
    service.send_response(service.callback(Trigger.Request(), Trigger.Response()), None)
    assert not called


def test_qualities_of_service_go_with_the_robot_and_are_the_users_when_it_comes_back(make_node):
    """Undeclare qos_overrides; declare the next robot's, unless the user gave others."""
    given = 'qos_overrides./second/joint_states.publisher.depth'
    taken = 'qos_overrides./second/joint_commands.subscription.depth'
    node = make_node('-p', f'{given}:=7', '-p', f'{taken}:=3')
    simulator = Simulator(GraphSink(node), load_world(PARAMETERS), PARAMETERS)
    simulator.listen(node)
    before = parameters_of(node)
    for rate in (100.0, 500.0):
        interface = spawn(simulator, 'second', rate)
        declared = parameters_of(node)
        (gyro,) = (topic for topic in interface.topics if 'gyro' in topic)
        assert declared[f'qos_overrides.{gyro}.publisher.depth'].value == rate
        assert (declared[given].value, declared[taken].value) == (7, 3)
        assert simulator.remove('second') is interface
        assert parameters_of(node).keys() == before.keys()


def test_a_robot_whose_parameters_cannot_be_declared_leaves_none(make_node):
    """Refuse names used by another robot; undeclare earlier ones after a failure."""
    node = make_node()
    simulator = Simulator(GraphSink(node), load_world(PARAMETERS), PARAMETERS)
    controls = JointControls(node, simulator.interfaces, PARAMETERS)
    node.declare_parameter('gains.b.pivot.d', 0.0)
    before = parameters_of(node)
    for _ in range(2):
        interface = spawn(simulator, 'b')
        with pytest.raises(ParameterAlreadyDeclaredException):
            controls.add(interface)
        simulator.remove('second')
        assert parameters_of(node).keys() == before.keys()
    node.undeclare_parameter('gains.b.pivot.d')
    controls.add(spawn(simulator, 'b'))
    assert node.set_parameters([Parameter('control.b.pivot', value='velocity')])[0].successful

    pendulum = load_world(PARAMETERS).robots[0].robot
    rival = SimpleNamespace(
        robot=pendulum, namespace='b', prefix='b/', commands=RobotCommands(pendulum, ['pivot'])
    )
    with pytest.raises(InvalidValueError, match=r"namespace = 'b'.*'control.b.pivot', which"):
        controls.add(rival)
    assert node.get_parameter('control.b.pivot').value == 'velocity'


def test_robots_come_and_go_without_a_trace_in_memory(make_node):
    """Keep as many objects, and weak references in rclpy's callback group, after each robot."""
    node = make_node()
    simulator = Simulator(GraphSink(node), load_world(PARAMETERS), PARAMETERS)
    simulator.listen(node)
    counts = []
    for _ in range(5):
        spawn(simulator, 'second')
        simulator.world.step()
        simulator.remove('second')
        simulator.world.step()
        gc.collect()
        counts.append((len(gc.get_objects()), len(node.default_callback_group.entities)))
    assert len(set(counts[2:])) == 1, counts
