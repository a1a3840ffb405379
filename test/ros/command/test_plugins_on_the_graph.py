"""Gazebo's plugins on the graph: a moved base, and names in the control plugin's namespace."""

from __future__ import annotations

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
import pytest
from robots import joint, link, robot
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

PLUGINS = """
<gazebo><plugin name="move" filename="libgazebo_ros_planar_move.so">
  <ros><remapping>cmd_vel:=go</remapping><remapping>odom:=moved</remapping></ros>
  <odometry_frame>odom</odometry_frame><robot_base_frame>base</robot_base_frame>
</plugin></gazebo>
<gazebo><plugin name="control" filename="gz_ros2_control-system">
  <parameters>controllers.yaml</parameters>
  <ros><namespace>bot</namespace><remapping>joint_states:=joints</remapping></ros>
</plugin></gazebo>
"""
CONTROLLERS = """
/**:
  controller_manager:
    ros__parameters:
      states: {type: joint_state_broadcaster/JointStateBroadcaster}
"""


def moved_robot(folder):
    """Return the path of a box with an arm, moved by planar_move."""
    box = '<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link>'
    base = link('base', 5.0, (0, 0, 0), (0.1, 0.1, 0.1)).replace('</link>', box)
    text = robot(base, link('arm', 0.1), joint('turn', 'base', 'arm', 'continuous', (0, 0, 1)))
    path = folder / 'moved.urdf'
    path.write_text(text.replace('</robot>', f'{PLUGINS}</robot>'))
    (folder / 'controllers.yaml').write_text(CONTROLLERS)
    return str(path)


def test_a_moved_robot_is_driven_and_seen_by_the_names_of_its_file(graph, start_node, tmp_path):
    """Drive by the plugin's topics; get odometry, its transform and namespaced joint states."""
    start_node(robot=moved_robot(tmp_path))
    odometry = graph.listen(Odometry, '/moved')
    transforms = graph.listen(TFMessage, '/tf')
    states = graph.listen(JointState, '/bot/joints')
    go = graph.advertise(Twist, '/go')
    twist = Twist()
    twist.linear.x, twist.linear.y, twist.angular.z = 0.3, 0.1, 0.5
    go.publish(twist)

    def moves():
        own = odometry and odometry[-1].twist.twist
        return own and own.linear.x == pytest.approx(0.3, rel=0.02)

    graph.wait(moves, 'odometry of the motion')
    own = odometry[-1]
    assert own.twist.twist.linear.y == pytest.approx(0.1, rel=0.02)
    assert own.twist.twist.angular.z == pytest.approx(0.5, rel=0.02)
    assert (own.header.frame_id, own.child_frame_id) == ('odom', 'base')
    assert own.pose.covariance[0] == 1e-5
    graph.wait(lambda: states, 'joint states in the namespace')
    assert list(states[-1].name) == ['turn']
    graph.wait(
        lambda: any(
            (each.header.frame_id, each.child_frame_id) == ('odom', 'base')
            for message in transforms
            for each in message.transforms
        ),
        'the transform of the odometry',
    )
