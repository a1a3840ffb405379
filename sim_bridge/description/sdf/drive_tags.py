"""Tags of drive plugins: names in ROS 1, joints and topics."""

from __future__ import annotations

from sim_bridge.description.numbers import Numbers
from sim_bridge.description.sdf.plugin_tags import PluginTags
from sim_bridge.description.sdf.plugin_topics import name_in, read_topic, topics_of

# for lengths [m] and angles [rad]; smaller values are mistakes
SIZE = Numbers(minimum=1e-6)
# names of the ROS 1 plugins for tags of the ROS 2 plugins
ROS1_TAGS = {
    'left_joint': 'leftJoint',
    'right_joint': 'rightJoint',
    'wheel_separation': 'wheelSeparation',
    'wheel_diameter': 'wheelDiameter',
    'max_wheel_acceleration': 'wheelAcceleration',
    'command_topic': 'commandTopic',
    'odometry_topic': 'odometryTopic',
    'odometry_frame': 'odometryFrame',
    'robot_base_frame': 'robotBaseFrame',
    'publish_odom_tf': 'publishOdomTF',
    'max_wheel_torque': 'wheelTorque',
    'odometry_source': 'odometrySource',
    'update_rate': 'updateRate',
    # Ackermann drive forks
    'front_left_joint': 'leftFrontJoint',
    'front_right_joint': 'rightFrontJoint',
    'rear_left_joint': 'leftRearJoint',
    'rear_right_joint': 'rightRearJoint',
    'left_steering_joint': 'leftHingeJoint',
    'right_steering_joint': 'rightHingeJoint',
}
# tags without effect here: their message or quantity is always published, or never
WITHOUT_EFFECT = {
    'ros',
    'publish_wheel_tf',
    'num_wheel_pairs',
    'robot_namespace',
    'steer_p_gain',
    'wheel_torque',
    'legacy_mode',
    'rosDebugLevel',
    'publishTF',
    'publishWheelTF',
    'publishWheelJointState',
    'robotNamespace',
    'legacyMode',
    'alwaysOn',
    'always_on',
    'publish_wheel_odom',
    'right_steering_pid_gain',
    'left_steering_pid_gain',
    'linear_velocity_pid_gain',
    'left_steering_i_range',
    'right_steering_i_range',
    'linear_velocity_i_range',
    'publish_wheel_joint_state',
}


def joints_of(tags: PluginTags, tag: str) -> list[str]:
    """Return the joint names in all children with a tag; [''], with an error noted, if none."""
    names = list(filter(None, map(name_in, tags.children(tag))))
    if not names:
        place = tags.place.child(tag, tags.place.line)
        tags.findings.error('missing-tag', place, 'missing')
    return names or ['']


def topic_of(tags: PluginTags, names: tuple[str, ...], usual: str) -> str:
    """
    Return the topic in the first given tag, remapped; '' if the file does not name it.

    usual: the plugin's topic name.
    """
    ros = topics_of(tags.node)
    given = next(filter(None, map(tags.text, names)), '')
    renamed = ros.remapped(given or usual, f'~/{given or usual}')
    in_namespace = ros.resolved(given or usual) if given or ros.namespace else ''
    place = tags.place.child(names[0], tags.place.line)
    return read_topic(renamed or in_namespace, place, tags.findings)
