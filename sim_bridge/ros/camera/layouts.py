"""Topic names of cameras by layout."""

from __future__ import annotations

from collections.abc import Mapping

from sim_bridge.description.cameras import ALIGNED, BOXES, BOXES_3D, CameraDescription, COLORED

_BOXES = {BOXES: ('{name}/detections', ''), BOXES_3D: ('{name}/detections_3d', '')}
_ANNOTATIONS: Mapping[str, tuple[str, str]] = {
    'labels': ('{name}/labels', '{name}/camera_info'),
    'instances': ('{name}/instances', '{name}/camera_info'),
    **_BOXES,
}
# gz-sensors' segmentation camera: instances are in the map of labels
_GAZEBO_ANNOTATIONS: Mapping[str, tuple[str, str]] = {
    'labels': ('{name}/labels_map', '{name}/camera_info'),
    COLORED: ('{name}/colored_map', '{name}/camera_info'),
    **_BOXES,
}
# topic and its camera_info by picture and layout. {name}: the camera's; {parent}: the name without
# its last word
LAYOUTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    'ros': {
        'image': ('{name}/image_raw', '{name}/camera_info'),
        'depth': ('{name}/depth/image_raw', '{name}/depth/camera_info'),
        'points': ('{name}/points', ''),
        **_ANNOTATIONS,
    },
    # gz-sensors: camera_info is beside the image
    'gazebo': {
        'image': ('{name}', '{parent}camera_info'),
        'depth': ('{name}', '{parent}camera_info'),
        'points': ('{name}/points', ''),
        **_GAZEBO_ANNOTATIONS,
    },
    'gazebo_rgbd': {
        'image': ('{name}/image', '{name}/camera_info'),
        'depth': ('{name}/depth_image', '{name}/camera_info'),
        'points': ('{name}/points', ''),
        **_GAZEBO_ANNOTATIONS,
    },
    # gz-sensors' bounding box camera has one kind of boxes, see `box_type`
    'gazebo_boxes': {
        'image': ('{name}_image', '{parent}camera_info'),
        'depth': ('{name}_depth', '{parent}camera_info'),
        'points': ('{name}_points', ''),
        **_GAZEBO_ANNOTATIONS,
        BOXES: ('{name}', ''),
        BOXES_3D: ('{name}', ''),
    },
    # realsense2_camera with align_depth and pointcloud enabled
    'realsense': {
        'image': ('{name}/color/image_raw', '{name}/color/camera_info'),
        'depth': ('{name}/depth/image_rect_raw', '{name}/depth/camera_info'),
        ALIGNED: (
            '{name}/aligned_depth_to_color/image_raw',
            '{name}/aligned_depth_to_color/camera_info',
        ),
        'points': ('{name}/depth/color/points', ''),
        **_ANNOTATIONS,
    },
    # mujoco_ros2_control_plugins; it has no points
    'mujoco': {
        'image': ('{name}/color', '{name}/camera_info'),
        'depth': ('{name}/depth', '{name}/camera_info'),
        'points': ('{name}/points', ''),
        **_ANNOTATIONS,
    },
}

_OUTPUTS = {ALIGNED: 'depth', COLORED: 'labels', BOXES_3D: BOXES}


def output_of(key: str) -> str:
    """Return a topic's output."""
    return _OUTPUTS.get(key, key)


def names_of(camera: CameraDescription) -> dict[str, tuple[str, str]]:
    """Return the patterns of a camera's topics and camera_info, by key."""
    found = {
        key: names
        for key, names in LAYOUTS[camera.layout].items()
        if output_of(key) in camera.outputs
    }
    if camera.layout == 'gazebo_boxes':
        found.pop(BOXES if camera.box_type == '3d' else BOXES_3D, None)
    for key in (ALIGNED, COLORED):
        if key in camera.topics and output_of(key) in camera.outputs:
            found = {key: ('', ''), **found}
    return found
