"""Sensors from the devices in a body file."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np

from sim_bridge.description.body.keys import finite, key_of, Reading
from sim_bridge.description.model import Pose, SensorDescription
from sim_bridge.description.poses import read_only
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.sensor_kinds import KINDS, MeasuredBy
from sim_bridge.description.yaml.section import Section

DEVICES = MappingProxyType({word: kind for kind in KINDS.values() for word in kind.body_types})
"""Sensor kinds by node type."""
_CAMERA = 'cameras are not simulated'
_LEFT = 'this device is not simulated'
LEFT_OUT = MappingProxyType(
    {
        'Camera': _CAMERA,
        'RangeCamera': _CAMERA,
        'ZmpDevice': _LEFT,
        'Holder': _LEFT,
        'Attachment': _LEFT,
        'CompetitorMarker': _LEFT,
        'PxContinuousTrack': _LEFT,
        'LivoxMid360': _LEFT,
        'StdActionController': _LEFT,
        'DigitalIO': _LEFT,
        'Conveyor': _LEFT,
        'PressureSensor': _LEFT,
        'PhotoInterrupter': _LEFT,
        'TorqueSensor': _LEFT,
        'Skip': '',
        'PointLight': '',
        'SpotLight': '',
        'DirectionalLight': '',
        'MarkerDevice': '',
    }
)
"""Ignored node types, with the reason given in a warning; '': no warning."""
# axes x ahead and z up, in the device axes, by the convention for the optical frame
_AHEAD = MappingProxyType(
    {
        'gl': np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]),
        'cv': np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
        'robotics': np.eye(3),
    }
)
_MOST_SAMPLES = 1_000_000
_ON_EDGE = 1e-7
# Choreonoid's default values [degrees; m; Hz]
_YAW_RANGE, _YAW_STEP, _NEAREST, _FARTHEST, _RATE = 120.0, 1.0, 0.1, 10.0, 10.0
# imperfections of real devices: not simulated
_IDEAL = (
    'id',
    'on',
    'True',
    'max_force',
    'max_torque',
    'max_angular_velocity',
    'max_acceleration',
    'detection_rate',
    'error_deviation',
)


def left_out(kind: str) -> str | None:
    """Return the warning text for an ignored node type, '' for no warning; None for others."""
    # node types of devices from plugins end with `Device`
    return LEFT_OUT.get(kind, _LEFT if kind.endswith('Device') else None)


def read_device(
    kind: str, node: Section, link: str, pose: Pose, reading: Reading
) -> SensorDescription:
    """Return a device's sensor. pose: device pose in its link."""
    name = node.text('name', '') or f'{link}_{DEVICES[kind].word}'
    for key in _IDEAL:
        key_of(node, key)
    # Choreonoid's key `on` is YAML's word for true
    node.knows(True)  # type: ignore[arg-type]
    if DEVICES[kind].measured_by is not MeasuredBy.RAYS:
        return SensorDescription(name, DEVICES[kind], link, pose=pose, line=node.line)
    turned = _AHEAD[node.choice('optical_frame', tuple(_AHEAD), 'gl')]
    rate = finite(node, key_of(node, 'scan_rate', 'frame_rate'), _RATE, 0.0)
    return SensorDescription(
        name,
        DEVICES[kind],
        link,
        pose=Pose(pose.position, read_only(pose.rotation @ turned)),
        update_rate=rate,
        settings=_rays(node, reading),
        line=node.line,
    )


def _rays(node: Section, reading: Reading) -> RaySettings:
    degrees = math.radians(1.0) / reading.angle
    low, high, samples = _row(
        node,
        reading,
        'yaw',
        ('scan_angle',),
        ('scan_step',),
        _YAW_RANGE * degrees,
        _YAW_STEP * degrees,
    )
    down, up, rows = _row(node, reading, 'pitch', (), (), 0.0, 0.0)
    nearest = finite(node, key_of(node, 'min_distance'), _NEAREST, 0.0)
    farthest = finite(node, key_of(node, 'max_distance'), _FARTHEST, 0.0)
    if not nearest < farthest:
        node.error('max_distance', farthest, f'must be above min_distance, {nearest:g}')
    return RaySettings(samples, low, high, rows, down, up, minimum=nearest, maximum=farthest)


def _row(
    node: Section,
    reading: Reading,
    word: str,
    ranges: tuple[str, ...],
    steps: tuple[str, ...],
    default: float,
    default_step: float,
) -> tuple[float, float, int]:
    """Return the least and the greatest angle [rad], and the ray count."""
    span = finite(node, key_of(node, f'{word}_range', *ranges), default, 0.0)
    low = finite(node, key_of(node, f'min_{word}_angle'), -0.5 * span) * reading.angle
    high = finite(node, key_of(node, f'max_{word}_angle'), 0.5 * span) * reading.angle
    step = finite(node, key_of(node, f'{word}_step', *steps), default_step, 0.0) * reading.angle
    key = key_of(node, f'{word}_samples')
    if node.has(key):
        count = finite(node, key, 1.0, 1.0)
    else:
        count = (high - low) / step + _ON_EDGE + 1.0 if step > 0.0 else 1.0
    if count > _MOST_SAMPLES or high < low:
        node.error(key, count, f'must be at most {_MOST_SAMPLES}, in a range from low to high')
        return 0.0, 0.0, 1
    return low, high, int(count)
