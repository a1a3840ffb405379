"""
SDF's `<camera>` element, and gazebo_ros plugins in a camera sensor.

Sources: sdformat 1.12 (camera.sdf), gz-rendering (wide angle lenses), and the parameters for
gazebo_ros_camera, gazebo_ros_depth_camera, gazebo_ros_openni_kinect and gazebo_ros_multicamera in
gazebo_plugins for ROS 1 and ROS 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
import math
from typing import Any, NamedTuple

from sim_bridge.description.cameras import (
    BOXES,
    CameraDescription,
    CameraNoise,
    OUTPUTS,
    Projection,
    read_camera,
)
from sim_bridge.description.model import Pose
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.annotations import read_annotation
from sim_bridge.description.sdf.plugin_topics import name_in, read_topic, topics_of
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
_WIDE_ANGLE = ('wide_angle_camera', 'wideanglecamera')
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
_BROWN = ('k1', 'k2', 'p1', 'p2', 'k3')
_INTRINSICS = ('fx', 'fy', 'cx', 'cy', 's')
_PROJECTION = ('p_fx', 'p_fy', 'p_cx', 'p_cy', 'tx', 'ty')
_CUSTOM = {'c1': 1.0, 'c2': 1.0, 'c3': 0.0, 'f': 1.0}
_CUSTOM_LENSES = {'sin': 'sine', 'tan': 'tangent', 'id': 'angle'}
_LENS_TYPES = ('equidistant', 'stereographic', 'equisolid_angle', 'orthographic')
_RIGHT_ANGLE = 1.5707  # sdformat's cutoff_angle

_READ = (
    *('horizontal_fov', 'image', 'clip', 'depth_camera', 'distortion', 'lens', 'pose'),
    *('optical_frame_id', 'camera_info_topic', 'triggered', 'trigger_topic', 'noise'),
    *('segmentation_type', 'box_type'),
)
_NOT_SIMULATED = ('save', 'visibility_mask')

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
    plugin = next((each for each in sensor.findall('plugin') if _is_camera_plugin(each)), None)
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
        _read_distortion(node, within, findings, values, places)
        _read_lens(node, sensor.get('type', ''), within, findings, values, places)
        values['trigger'] = is_true(_text(node, 'triggered') or 'false')
        values['trigger_topic'] = read_topic(_text(node, 'trigger_topic'), within, findings)
        frame_id = _text(node, 'optical_frame_id')
        for each in node.findall('pose'):
            pose = read_pose(each, within.child('pose', each.line), findings)
        info = read_topic(_text(node, 'camera_info_topic'), within, findings)
        if info:
            first = next(each for each in OUTPUTS if each in values['outputs'])
            values['topics'] = {f'{first}_info': info}
    topic = '' if plugin is None else _read_plugin(plugin, sensor, node, place, findings, values)
    settings = read_camera(values, place, findings, places)
    if plugin is not None:
        settings = _with_baseline(settings, plugin, place, findings)
    return CameraElement(settings, pose, frame_id, topic)


def _is_camera_plugin(plugin: Element) -> bool:
    return any(word in plugin.get('filename', '') for word in _PLUGINS)


def _layout(sensor: Element, plugin: Element | None) -> str:
    """Return Gazebo's topic names for a sensor with a topic; plugins have ROS names."""
    if plugin is not None or not _text(sensor, 'topic'):
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
        kind = _text(each, 'type') or 'gaussian'
        warn_of_unknown(each, {'type', *_NOISE}, inner, findings)
        if kind not in ('gaussian', 'gaussian_quantized', 'none'):
            message = 'must be gaussian or none'
            findings.error('noise-type', inner, message, 'type', kind)
        elif kind != 'none':
            values[key] = CameraNoise(**read_numbers(each, _NOISE, inner, findings))


def _format(node: Element, place: Place, findings: Findings) -> str:
    """Return the image encoding; SDF's own formats without a ROS encoding give a warning."""
    word = _text(node, 'format') or 'R8G8B8'
    if word.upper() not in _FORMATS:
        message = f'no format of images here, rgb8 instead; known are {", ".join(_FORMATS)}'
        findings.warning('image-format', place.child('format', node.line), message, value=word)
    return _FORMATS.get(word.upper(), 'rgb8')


def _read_distortion(
    node: Element,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read Brown's coefficients."""
    for each in node.findall('distortion'):
        places['distortion'] = inner = place.child('distortion', each.line)
        warn_of_unknown(each, {*_BROWN, 'center'}, inner, findings)
        numbers = read_numbers(each, {tag: Numbers() for tag in _BROWN}, inner, findings)
        if any(numbers.values()):
            values['lens'] = 'plumb_bob'
            values['distortion'] = tuple(numbers.get(tag, 0.0) for tag in _BROWN)
        for center in each.findall('center'):
            at = inner.child('center', center.line)
            found = parse_numbers(element_text(center), Numbers(2), at, findings, '')
            if found is not None and found != [0.5, 0.5]:
                message = 'is not simulated: the distortion is about the optical axis'
                findings.warning('not-simulated', at, message, value=element_text(center))


def _read_lens(
    node: Element,
    word: str,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read `<lens>`: a wide angle camera's type, any other's intrinsics and projection."""
    lens = next(iter(node.findall('lens')), None)
    if word in _WIDE_ANGLE:
        _read_wide_angle(lens, place, findings, values, places)
    if lens is None:
        return
    inner = place.child('lens', lens.line)
    known = {
        *('type', 'scale_to_hfov', 'custom_function', 'cutoff_angle', 'env_texture_size'),
        *('intrinsics', 'projection'),
    }
    warn_of_unknown(lens, known, inner, findings)
    given = _numbers_in(lens, 'intrinsics', _INTRINSICS, inner, findings)
    if given is not None and word not in _WIDE_ANGLE:
        fx, fy, cx, cy, skew = given
        if not fx or not fy:
            message = 'fx and fy must be above 0'
            findings.error('out-of-range', inner.child('intrinsics', lens.line), message)
            return
        values['intrinsics'] = (fx, fy, cx, cy, skew)
    shown = _numbers_in(lens, 'projection', _PROJECTION, inner, findings)
    if shown is not None:
        values['projection'] = Projection(*shown)


def _numbers_in(
    lens: Element, tag: str, keys: Sequence[str], place: Place, findings: Findings
) -> list[float] | None:
    """Return the numbers in a child of `<lens>`, 0 for missing ones; None without the child."""
    for each in lens.findall(tag):
        inner = place.child(tag, each.line)
        warn_of_unknown(each, keys, inner, findings)
        numbers = read_numbers(each, {key: Numbers() for key in keys}, inner, findings)
        return [numbers.get(key, 0.0) for key in keys]
    return None


def _read_wide_angle(
    lens: Element | None,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read a lens's type; SDF's default is stereographic, scaled to the horizontal angle."""
    kind = ('' if lens is None else _text(lens, 'type')) or 'stereographic'
    within = place if lens is None else place.child('lens', lens.line)
    values['cutoff'] = _RIGHT_ANGLE
    is_scaled = True
    if lens is not None:
        places['cutoff'] = places['distortion'] = within
        is_scaled = is_true(_text(lens, 'scale_to_hfov') or 'true')
        cutoff = read_numbers(lens, {'cutoff_angle': Numbers()}, within, findings)
        values['cutoff'] = min(cutoff.get('cutoff_angle', _RIGHT_ANGLE), math.pi)
    if kind == 'custom':
        custom = None if lens is None else lens.find('custom_function')
        given = dict(_CUSTOM)
        function = 'tan'
        if custom is not None:
            inner = within.child('custom_function', custom.line)
            given |= read_numbers(custom, {key: Numbers() for key in _CUSTOM}, inner, findings)
            function = _text(custom, 'fun') or function
        if function not in _CUSTOM_LENSES:
            message = f'must be one of {", ".join(_CUSTOM_LENSES)}'
            findings.error('bad-value', within, message, 'fun', function)
            function = 'tan'
        values['lens'] = _CUSTOM_LENSES[function]
        values['distortion'] = (given['c1'] * given['f'], given['c2'], given['c3'])
    elif kind in _LENS_TYPES:
        values['lens'] = kind
        values.pop('distortion', None)
    elif kind == 'gnomonical':
        values['lens'] = 'pinhole'
        values.pop('distortion', None)
    else:
        message = f'must be one of gnomonical, {", ".join(_LENS_TYPES)}, custom'
        findings.error('bad-value', within, message, 'type', kind)
    if not is_scaled:
        # the radius 1 is at the picture's left and right edges
        width, height = values['size']
        scale = 0.5 * width
        values['intrinsics'] = (scale, scale, 0.5 * (width - 1), 0.5 * (height - 1), 0.0)


def _read_plugin(
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
    name = read_topic(_text(plugin, *_NAME_TAGS) or sensor.get('name', ''), inner, findings)
    if sensor.get('type') == 'multicamera' and node is not None and node.get('name', ''):
        name = f'{name}/{read_topic(node.get("name", ""), inner, findings)}'
    base = topics.resolved(name)
    found = {}
    for key, (names, tag) in _PLUGIN_TOPICS.items():
        old = _text(plugin, tag)
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


def _with_baseline(
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


def _text(node: Element, *tags: str) -> str:
    return next((name_in(each) for each in node if each.tag in tags), '')
