"""The other side of ros2_control's topic-based hardware: its messages in both directions."""

from __future__ import annotations

import math

from diagnostic_msgs.msg import DiagnosticArray
from following import told
import pytest
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from ros_graph import end
from sensor_msgs.msg import JointState

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

URDF = """<robot name="gripper">
  <link name="world"/>
  {links}
  <joint name="lift" type="prismatic"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10000" velocity="5"/></joint>
  <joint name="wheel" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <limit effort="10" velocity="50"/></joint>
  <joint name="finger" type="prismatic"><parent link="a"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="1000" velocity="1"/></joint>
  <joint name="thumb" type="prismatic"><parent link="a"/><child link="d"/><axis xyz="-1 0 0"/>
    <limit lower="0" upper="0.1" effort="1000" velocity="1"/><mimic joint="finger"/></joint>
  <ros2_control name="gripper" type="system">
    <hardware><plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin></hardware>
    <joint name="lift"><command_interface name="position"/><command_interface name="effort"/>
      <state_interface name="position"><param name="initial_value">0.2</param></state_interface>
    </joint>
    <joint name="wheel"><command_interface name="velocity"/></joint>
    <joint name="finger"><command_interface name="position"/></joint>
    <joint name="thumb"><param name="mimic">finger</param>
      <command_interface name="position"/></joint>
  </ros2_control>
</robot>
""".format(
    links='\n'.join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" '
        'izz="0.01" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name in 'abcd'
    )
)


class Plugin:
    """Stand-in for JointStateTopicSystem: its names, QoS, and messages in both directions."""

    JOINTS = {
        'lift': ('position', 'effort'),
        'wheel': ('velocity',),
        'finger': ('position',),
        'thumb': ('position',),
    }

    def __init__(self, graph):
        self.commands: dict[tuple[str, str], float] = {}
        self.states: dict[str, tuple[float, ...]] = {}
        self._publisher = graph.node.create_publisher(
            JointState, '/robot_joint_commands', QoSProfile(depth=1)
        )
        graph.node.create_subscription(
            JointState, '/robot_joint_states', self._read, qos_profile_sensor_data
        )
        graph.wait(
            lambda: self._publisher.get_subscription_count() and self.states, 'the simulator'
        )

    def _read(self, state):
        for name, *values in zip(
            state.name, state.position, state.velocity, state.effort, strict=True
        ):
            self.states[name] = tuple(values)

    def write(self):
        """Send the real plugin's message: NaN for interfaces without a controller."""
        message = JointState()
        for joint, interfaces in self.JOINTS.items():
            message.name.append(joint)
            for interface in interfaces:
                getattr(message, interface).append(self.commands.get((joint, interface), math.nan))
        self._publisher.publish(message)


def test_topic_based_hardware_works_without_configuration(graph, start_node, tmp_path):
    """Act as the plugin: move by position, velocity and effort; leave joint_states to others."""
    urdf = tmp_path / 'gripper.urdf'
    urdf.write_text(URDF)
    process = start_node(robot=str(urdf), diagnostics_rate=20.0)
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    plugin = Plugin(graph)
    assert plugin.states['lift'][0] == 0.2, 'it starts where ros2_control says'
    # without any controller, a message is neither a command nor an error
    for _ in range(3):
        plugin.write()
    graph.wait_for_next(diagnostics, 2)
    commands = told(diagnostics, 'commands of gripper')
    assert (commands['accepted since start'], commands['rejected since start']) == ('0', '0')
    assert commands['joints held'] == 'True'
    # the first controller claims one of the interfaces, the next one the others
    plugin.commands['lift', 'position'] = 0.3
    graph.wait(
        lambda: plugin.states['lift'][0] == pytest.approx(0.3, abs=1e-9),
        'the first controller in effect',
        also=plugin.write,
    )
    plugin.commands |= {
        ('lift', 'position'): 0.5,
        ('wheel', 'velocity'): 3.0,
        ('finger', 'position'): 0.04,
        ('thumb', 'position'): 0.04,
    }
    graph.wait(
        lambda: (
            plugin.states['lift'][0] == pytest.approx(0.5, abs=1e-9)
            and plugin.states['wheel'][1] == pytest.approx(3.0, abs=1e-9)
            and plugin.states['finger'][0] == pytest.approx(0.04, abs=1e-9)
            # the motor bears the weight of all links
            and plugin.states['lift'][2] == pytest.approx(4.0 * 9.81, rel=1e-6)
        ),
        'the commands in effect',
        also=plugin.write,
    )
    assert plugin.states['thumb'][0] == pytest.approx(0.04, abs=1e-9)
    # even small changes are applied
    for target in (0.500002, 0.5):
        plugin.commands['lift', 'position'] = target
        graph.wait(
            lambda target=target: plugin.states['lift'][0] == pytest.approx(target, abs=1e-9),
            'a small move',
            also=plugin.write,
        )
    # a commanded effort adds to the motor's, which decreases accordingly
    plugin.commands['lift', 'effort'] = 30.0
    graph.wait_for_next(diagnostics)
    plugin.write()
    graph.wait_for_next(diagnostics)
    assert plugin.states['lift'][0] == pytest.approx(0.5, abs=1e-9)
    assert told(diagnostics, 'commands of gripper')['rejected since start'] == '0'
    assert not graph.node.get_publishers_info_by_topic('/joint_states')
    code, output = end(process)
    assert code == 0, output


def test_unclaimed_interfaces_are_not_commanded(graph, start_node):
    """Take efforts for some of an arm's joints, with NaN from the plugin for the others."""
    start_node(robot='arm', diagnostics_rate=20.0)
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    states = graph.listen(JointState, '/joint_states')
    publisher = graph.node.create_publisher(JointState, '/joint_commands', QoSProfile(depth=1))
    graph.wait(lambda: publisher.get_subscription_count() and states, 'the simulator')
    message = JointState(name=list(states[-1].name))
    message.effort = [math.nan] * 7
    message.effort[3] = 2.5
    graph.wait(
        lambda: states[-1].effort[3] == 2.5, 'the effort', also=lambda: publisher.publish(message)
    )
    assert [each for at, each in enumerate(states[-1].effort) if at != 3] == [0.0] * 6
    graph.wait_for_next(diagnostics, 2)
    assert told(diagnostics, 'commands of arm')['rejected since start'] == '0'
