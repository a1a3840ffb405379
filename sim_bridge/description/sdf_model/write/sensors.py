"""Sensors in SDF."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.model import NoiseDescription, SensorDescription
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf_model.write.text import add, add_pose
from sim_bridge.description.sensor_kinds import CAMERA, FORCE_TORQUE, IMU, LIDAR, WrenchSettings

_NOISE = (
    'mean',
    'stddev',
    'bias_mean',
    'bias_stddev',
    'dynamic_bias_stddev',
    'dynamic_bias_correlation_time',
    'precision',
)
_CAMERAS = {'image': 'camera', 'depth': 'depth_camera'}


def write_sensor(
    links: Mapping[str, Element],
    joints: Mapping[str, Element],
    sensor: SensorDescription,
    findings: Findings,
) -> None:
    """Add a sensor to its link or joint; a warning among the findings without a counterpart."""
    settings = sensor.settings
    if sensor.link not in links:
        place = Place('sensor', sensor.name, sensor.line)
        findings.warning('unsupported', place, 'it belongs to the world: left out')
    elif sensor.kind is IMU:
        element = _element(links[sensor.link], sensor, 'imu')
        _noise(SubElement(element, 'imu'), sensor.noise)
    elif sensor.kind is FORCE_TORQUE and isinstance(settings, WrenchSettings):
        element = _element(joints[sensor.joint], sensor, 'force_torque')
        own = SubElement(element, 'force_torque')
        add(own, 'frame', settings.frame)
        add(own, 'measure_direction', settings.measure_direction)
        _noise(own, sensor.noise)
    elif sensor.kind is LIDAR and isinstance(settings, RaySettings):
        element = _element(links[sensor.link], sensor, 'gpu_lidar')
        _rays(SubElement(element, 'lidar'), settings, sensor.noise)
    elif sensor.kind is CAMERA and isinstance(settings, CameraDescription):
        _camera(links[sensor.link], sensor, settings, findings)
    else:
        place = Place('sensor', sensor.name, sensor.line)
        message = f'a sensor of kind {sensor.kind.word!r} is left out of the written SDF'
        findings.warning('unsupported', place, message)


def _element(parent: Element, sensor: SensorDescription, kind: str) -> Element:
    element = SubElement(parent, 'sensor', name=sensor.name, type=kind)
    add_pose(element, sensor.pose)
    add(element, 'always_on', 'true')
    add(element, 'update_rate', sensor.update_rate)
    if sensor.topic:
        add(element, 'topic', sensor.topic)
    if sensor.frame_id:
        add(element, 'gz_frame_id', sensor.frame_id)
    return element


def _noise(parent: Element, noise: Mapping[str, NoiseDescription]) -> None:
    """Add the models of quantities with axes, each in its own element."""
    quantities: dict[str, Element] = {}
    for channel, model in noise.items():
        quantity, _, axis = channel.partition('.')
        if quantity not in quantities:
            quantities[quantity] = SubElement(parent, quantity)
        _model(SubElement(quantities[quantity], axis), model)


def _model(parent: Element, model: NoiseDescription) -> None:
    element = SubElement(parent, 'noise', type=model.kind)
    for name in _NOISE:
        value = getattr(model, name)
        if value:
            add(element, name, value)


def _rays(lidar: Element, rays: RaySettings, noise: Mapping[str, NoiseDescription]) -> None:
    scan = SubElement(lidar, 'scan')
    for tag, samples, least, greatest in (
        ('horizontal', rays.samples, rays.min_angle, rays.max_angle),
        ('vertical', rays.vertical_samples, rays.min_elevation, rays.max_elevation),
    ):
        own = SubElement(scan, tag)
        add(own, 'samples', str(samples))
        add(own, 'min_angle', least)
        add(own, 'max_angle', greatest)
    limits = SubElement(lidar, 'range')
    add(limits, 'min', rays.minimum)
    add(limits, 'max', rays.maximum)
    add(limits, 'resolution', rays.resolution)
    if 'range' in noise:
        _model(lidar, noise['range'])


def _camera(
    link: Element, sensor: SensorDescription, camera: CameraDescription, findings: Findings
) -> None:
    outputs = set(camera.outputs)
    kind = _CAMERAS.get(camera.outputs[0]) if len(outputs) == 1 else None
    element = _element(link, sensor, kind or 'rgbd_camera')
    own = SubElement(element, 'camera')
    add(own, 'horizontal_fov', camera.horizontal_fov)
    image = SubElement(own, 'image')
    width, height = camera.size
    add(image, 'width', str(width))
    add(image, 'height', str(height))
    clip = SubElement(own, 'clip')
    add(clip, 'near', camera.clip[0])
    add(clip, 'far', camera.clip[1])
    if camera.intrinsics is not None or camera.distortion:
        place = Place('sensor', sensor.name, sensor.line)
        message = 'its intrinsics and distortion are left out of the written SDF'
        findings.warning('unsupported', place, message)
