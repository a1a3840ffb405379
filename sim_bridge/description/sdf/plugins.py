"""Gazebo's plugins: none is run; plugins whose effect is missing here are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.battery import is_battery
from sim_bridge.description.sdf.drives import is_drive
from sim_bridge.description.sdf.labels import is_label
from sim_bridge.description.sdf.mimic_plugins import is_mimic_plugin
from sim_bridge.description.sdf.plugin_flight import is_flight
from sim_bridge.description.sdf.plugin_forces import FORCE_READERS
from sim_bridge.description.sdf.plugin_joints import JOINT_READERS
from sim_bridge.description.sdf.plugin_trajectories import TRAJECTORY_READERS
from sim_bridge.description.sdf.sensors import SENSOR_PLUGINS
from sim_bridge.description.sdf.wheel_slip import is_wheel_slip

if TYPE_CHECKING:
    from sim_bridge.description.xml.document import Element

# ros2_control's plugins, naming a controller file
CONTROL_PLUGINS = ('gz_ros2_control', 'gazebo_ros2_control', 'ign_ros2_control')
# parts of the file names of plugins that are read elsewhere, or whose effect exists without them
_DONE = (
    *FORCE_READERS,
    *JOINT_READERS,
    *TRAJECTORY_READERS,
    *CONTROL_PLUGINS,
    *SENSOR_PLUGINS,
    'track-controller-system',
    'tracked-vehicle-system',
    'joint-state-publisher',
    'joint_state_publisher',
    'imu-system',
    'navsat-system',
    'gazebo_ros_gps',
    'forcetorque-system',
    'sensors-system',
    'contact-system',
    'physics-system',
    'scene-broadcaster',
    'user-commands',
    'gazebo_ros_state',
    'gazebo_ros_init',
    'gazebo_ros_factory',
)
_TRUTH = 'odom has the true motion, or odom/truth if a drive has the topic odom'
_ADVICE = {
    'pose-publisher': 'publish_tf and publish_link_tf publish the poses',
    'odometry-publisher': _TRUTH,
    'gazebo_ros_p3d': _TRUTH,
    'disable_link': 'the link stays',
    'grasp': 'grasping is left to contact',
}


def check_plugins(root: Element, findings: Findings) -> None:
    """Warn about every plugin in a `<gazebo>` element whose effect is missing here."""
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            filename = node.get('filename', '')
            kinds = (is_drive, is_mimic_plugin, is_battery, is_flight, is_wheel_slip, is_label)
            if any(is_own(node) for is_own in kinds):
                continue
            if any(word in filename for word in _DONE):
                continue
            advice = next((text for word, text in _ADVICE.items() if word in filename), '')
            findings.warning(
                'not-simulated',
                Place('gazebo/plugin', node.get('name', ''), node.line),
                f'Gazebo plugins are not run{f"; {advice}" if advice else ""}',
                'filename',
                filename,
            )
