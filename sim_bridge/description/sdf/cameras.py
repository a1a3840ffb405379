"""
SDF's `<camera>` element, and gazebo_ros plugins in a camera sensor.

Sources: sdformat 1.12 (camera.sdf), gz-rendering (wide angle lenses), and the parameters for
gazebo_ros_camera, gazebo_ros_depth_camera, gazebo_ros_openni_kinect and gazebo_ros_multicamera in
gazebo_plugins for ROS 1 and ROS 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim_bridge.description.cameras import (
    BOXES,
    CameraDescription,
    CameraNoise,
    OUTPUTS,
    read_camera,
)
from sim_bridge.description.model import Pose
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.annotations import read_annotation
from sim_bridge.description.sdf.camera_plugins import (
    is_camera_plugin,
    read_camera_plugin,
    with_baseline,
)
from sim_bridge.description.sdf.lenses import read_distortion, read_lens
from sim_bridge.description.sdf.plugin_topics import read_topic, text_in
from sim_bridge.description.sdf.values import is_true, read_pose
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import (
    element_text,
    read_number,
    read_numbers,
    warn_of_unknown,
)

_IMAGE, _DEPTH = ('image',), ('depth', 'points')
_OUTPUTS = {
    'camera': _IMAGE,
    'wide_angle_camera': _IMAGE,
    'wideanglecamera': _IMAGE,
    'multicamera': _IMAGE,
    'depth_camera': _DEPTH,
    'depth': _DEPTH,
    'rgbd_camera': (*_IMAGE, *_DEPTH),
    'rgbd': (*_IMAGE, *_DEPTH),
    **dict.fromkeys(('segmentation_camera', 'segmentation'), ('labels',)),
    **dict.fromkeys(('boundingbox_camera', 'boundingbox'), (*_IMAGE, BOXES)),
}
_FORMATS = {
    'R8G8B8': 'rgb8',
    'RGB_INT8': 'rgb8',
    'B8G8R8': 'bgr8',
    'BGR_INT8': 'bgr8',
    'R8G8B8A8': 'rgba8',
    'RGBA_INT8': 'rgba8',
    'BGRA_INT8': 'bgra8',
    'L8': 'mono8',
    'L_INT8': 'mono8',
    'L16': 'mono16',
    'L_INT16': 'mono16',
    **{f'BAYER_{word.upper()}': f'bayer_{word}' for word in ('rggb8', 'grbg8', 'gbrg8', 'bggr8')},
}
_SDF_SIZE = (320, 240)
_SDF_CLIP = (0.1, 100.0)

_SIZE = {'width': Numbers(minimum=1.0), 'height': Numbers(minimum=1.0)}
_CLIP = {'near': Numbers(), 'far': Numbers()}
_NOISE = {'mean': Numbers(), 'stddev': Numbers(minimum=0.0)}
_READ = (
    *('horizontal_fov', 'image', 'clip', 'depth_camera', 'distortion', 'lens', 'pose'),
    *('optical_frame_id', 'camera_info_topic', 'triggered', 'trigger_topic', 'noise'),
    *('segmentation_type', 'box_type'),
)
_NOT_SIMULATED = ('save', 'visibility_mask')


class CameraElement(NamedTuple):
    """
    A camera in a sensor.

    settings: camera description. pose: in the sensor frame. frame_id: optical frame, '' if the
    element names none. topic: before its topics, '' if no plugin names one.
    """

    settings: CameraDescription
    pose: Pose
    frame_id: str
    topic: str


def camera_elements(sensor: Element) -> list[Element | None]:
    """Return a multicamera's camera elements; for all other sensors None alone."""
    if sensor.get('type') != 'multicamera':
        return [None]
    return list(sensor.findall('camera')) or [None]


def read_camera_element(
    sensor: Element, node: Element | None, place: Place, findings: Findings
) -> CameraElement:
    """
    Return a sensor's camera.

    node: `<camera>`, None if it is missing.
    """
    plugin = next((each for each in sensor.findall('plugin') if is_camera_plugin(each)), None)
    values: dict[str, Any] = {
        'outputs': _outputs(sensor.get('type', ''), plugin),
        'size': _SDF_SIZE,
        'clip': _SDF_CLIP,
        'layout': _layout(sensor, plugin),
    }
    places: dict[str, Place] = {}
    pose, frame_id = Pose(), ''
    if node is not None:
        within = place.child(node.tag, node.line)
        _warn(node, within, findings)
        _read_picture(node, within, findings, values, places)
        read_annotation(node, within, findings, values)
        _read_noise(node, within, findings, values, places)
        read_distortion(node, within, findings, values, places)
        read_lens(node, sensor.get('type', ''), within, findings, values, places)
        values['trigger'] = is_true(text_in(node, 'triggered') or 'false')
        values['trigger_topic'] = read_topic(text_in(node, 'trigger_topic'), within, findings)
        frame_id = text_in(node, 'optical_frame_id')
        for each in node.findall('pose'):
            pose = read_pose(each, within.child('pose', each.line), findings)
        info = read_topic(text_in(node, 'camera_info_topic'), within, findings)
        if info:
            first = next(each for each in OUTPUTS if each in values['outputs'])
            values['topics'] = {f'{first}_info': info}
    topic = (
        '' if plugin is None else read_camera_plugin(plugin, sensor, node, place, findings, values)
    )
    settings = read_camera(values, place, findings, places)
    if plugin is not None:
        settings = with_baseline(settings, plugin, place, findings)
    return CameraElement(settings, pose, frame_id, topic)


def _layout(sensor: Element, plugin: Element | None) -> str:
    """Return Gazebo's topic names for a sensor with a topic; plugins have ROS names."""
    if plugin is not None or not text_in(sensor, 'topic'):
        return 'ros'
    word = sensor.get('type', '')
    if word.startswith('boundingbox'):
        return 'gazebo_boxes'
    return 'gazebo_rgbd' if word.startswith('rgbd') else 'gazebo'


def _outputs(word: str, plugin: Element | None) -> tuple[str, ...]:
    """Return a type's pictures; depth camera plugins publish an image too."""
    outputs = _OUTPUTS[word]
    return (*_IMAGE, *_DEPTH) if plugin is not None and outputs == _DEPTH else outputs


def _warn(node: Element, place: Place, findings: Findings) -> None:
    """Warn about unknown tags, and tags without effect."""
    warn_of_unknown(node, {*_READ, *_NOT_SIMULATED}, place, findings)
    for each in node:
        if each.tag in _NOT_SIMULATED and not _is_off(each):
            inner = place.child(each.tag, each.line)
            findings.warning('not-simulated', inner, 'is not simulated, ignored')


def _is_off(node: Element) -> bool:
    """Return whether a switch has no effect."""
    return node.get('enabled') == 'false' or element_text(node).lower() in ('false', '0')


def _read_picture(
    node: Element,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read the size, the horizontal angle and the depth range."""
    for each in node.findall('horizontal_fov'):
        places['horizontal_fov'] = at = place.child(each.tag, each.line)
        fov = read_number(each, Numbers(), at, findings)
        if fov is not None:
            values['horizontal_fov'] = fov
    for each in node.findall('image'):
        places['size'] = inner = place.child('image', each.line)
        warn_of_unknown(each, {*_SIZE, 'format', 'anti_aliasing'}, inner, findings)
        size = read_numbers(each, _SIZE, inner, findings)
        if 'image' in values['outputs']:
            values['format'] = _format(each, inner, findings)
        values['size'] = tuple(
            int(size.get(tag, default)) for tag, default in zip(_SIZE, _SDF_SIZE, strict=True)
        )
    depth = [each for outer in node.findall('depth_camera') for each in outer.findall('clip')]
    # a depth camera's own element comes first
    for each in [*node.findall('clip'), *depth]:
        places['clip'] = inner = place.child('clip', each.line)
        warn_of_unknown(each, _CLIP, inner, findings)
        clip = read_numbers(each, _CLIP, inner, findings)
        values['clip'] = tuple(
            clip.get(tag, default) for tag, default in zip(_CLIP, values['clip'], strict=True)
        )


def _read_noise(
    node: Element,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read `<noise>`: of the image, or of depths for a camera without an image, as in Gazebo."""
    key = 'image_noise' if 'image' in values['outputs'] else 'depth_noise'
    for each in node.findall('noise'):
        places[key] = inner = place.child('noise', each.line)
        kind = text_in(each, 'type') or 'gaussian'
        warn_of_unknown(each, {'type', *_NOISE}, inner, findings)
        if kind not in ('gaussian', 'gaussian_quantized', 'none'):
            message = 'must be gaussian or none'
            findings.error('noise-type', inner, message, 'type', kind)
        elif kind != 'none':
            values[key] = CameraNoise(**read_numbers(each, _NOISE, inner, findings))


def _format(node: Element, place: Place, findings: Findings) -> str:
    """Return the image encoding; SDF's own formats without a ROS encoding give a warning."""
    word = text_in(node, 'format') or 'R8G8B8'
    if word.upper() not in _FORMATS:
        message = f'no format of images here, rgb8 instead; known are {", ".join(_FORMATS)}'
        findings.warning('image-format', place.child('format', node.line), message, value=word)
    return _FORMATS.get(word.upper(), 'rgb8')
