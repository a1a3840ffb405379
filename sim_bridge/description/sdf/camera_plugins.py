"""
gazebo_ros plugins in a camera sensor: topic names, and the right eye's baseline.

Sources: the parameters for gazebo_ros_camera, gazebo_ros_depth_camera, gazebo_ros_openni_kinect
and gazebo_ros_multicamera in gazebo_plugins for ROS 1 and ROS 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sim_bridge.description.cameras import CameraDescription, Projection
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_topics import read_topic, text_in, topics_of
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import read_number

# gazebo_ros plugins, by file name, which publish below a camera name
_PLUGINS = (
    'gazebo_ros_camera',
    'gazebo_ros_depth_camera',
    'gazebo_ros_openni_kinect',
    'gazebo_ros_kinect',
    'gazebo_ros_multicamera',
    'gazebo_ros_triggered_camera',
    'gazebo_ros_wide_angle_camera',
    'gazebo_ros_realsense',
    'realsense_gazebo_plugin',
)
_NAME_TAGS = ('camera_name', 'cameraName')
_BASELINE_TAGS = ('hack_baseline', 'hackBaseline')
# names after the camera's: by key in `topics`, ROS 2's remapped names and ROS 1's tags
_PLUGIN_TOPICS: Mapping[str, tuple[tuple[str, ...], str]] = {
    'image': (('image_raw',), 'imageTopicName'),
    'image_info': (('camera_info',), 'cameraInfoTopicName'),
    'depth': (('depth/image_raw', 'depth/image_rect_raw'), 'depthImageTopicName'),
    'depth_info': (('depth/camera_info',), 'depthImageCameraInfoTopicName'),
    'points': (('points',), 'pointCloudTopicName'),
}


def is_camera_plugin(plugin: Element) -> bool:
    """Return whether a plugin publishes pictures of its sensor."""
    return any(word in plugin.get('filename', '') for word in _PLUGINS)


def read_camera_plugin(
    plugin: Element,
    sensor: Element,
    node: Element | None,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
) -> str:
    """Read topic names into the values; return the name before the others."""
    inner = place.child('plugin', plugin.line)
    topics = topics_of(plugin)
    # ROS 2's plugin has the sensor's name if none is given
    name = read_topic(text_in(plugin, *_NAME_TAGS) or sensor.get('name', ''), inner, findings)
    if sensor.get('type') == 'multicamera' and node is not None and node.get('name', ''):
        name = f'{name}/{read_topic(node.get("name", ""), inner, findings)}'
    base = topics.resolved(name)
    found = {}
    for key, (names, tag) in _PLUGIN_TOPICS.items():
        old = text_in(plugin, tag)
        target = topics.remapped(
            *(prefix + each for each in names for prefix in (f'{name}/', '~/', f'~/{name}/', ''))
        )
        if not target and old:
            target = old if old.startswith('/') else f'{base}/{old}'
        valid = read_topic(target, inner, findings)
        if valid:
            found[key] = valid
    values['topics'] = {**values.get('topics', {}), **found}
    return base


def with_baseline(
    camera: CameraDescription, plugin: Element, place: Place, findings: Findings
) -> CameraDescription:
    """Return the camera with the right eye's projection: Tx is -fx times the baseline [m]."""
    for tag in _BASELINE_TAGS:
        for each in plugin.findall(tag):
            inner = place.child('plugin', plugin.line).child(tag, each.line)
            baseline = read_number(each, Numbers(), inner, findings)
            if baseline:
                fx, fy, cx, cy, _ = camera.pixel_intrinsics
                return replace(camera, projection=Projection(fx, fy, cx, cy, -fx * baseline, 0.0))
    return camera
