"""Cameras on bodies as devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.mechanism.sensors import attach
from sim_bridge.description.model import Pose, RobotDescription, SensorDescription
from sim_bridge.description.report import Findings
from sim_bridge.description.sensor_kinds import CAMERA
from sim_bridge.description.usd.stage import Prim, Stage
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import free_name

# rotation from the sensor's axes (x ahead, z up) to a camera's (-z ahead, y up)
_AXES = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
# USD gives no resolution
_WIDTH = 640
# the schema's values
_FOCAL, _ACROSS, _ALONG = 50.0, 20.955, 15.2908


def with_cameras(
    description: RobotDescription, stage: Stage, links: Mapping[str, str], findings: Findings
) -> RobotDescription:
    """Return a robot with the cameras on its bodies. links: link names by body."""
    found: dict[str, SensorDescription] = {}
    for prim in stage.of('Camera'):
        if prim.body not in links:
            continue
        if prim.word('projection') == 'orthographic':
            message = 'cameras without perspective are not simulated'
            findings.warning('not-simulated', prim.place, message)
            continue
        try:
            settings = _settings(prim, stage)
        except InvalidValueError as err:
            findings.warning('not-simulated', prim.place, str(err))
            continue
        body = stage.frame(stage.prims[prim.body])
        sensor = SensorDescription(
            free_name(prim.name, found.__contains__),
            CAMERA,
            links[prim.body],
            pose=body.inverse @ stage.frame(prim) @ Pose(np.zeros(3), _AXES),
            update_rate=CAMERA.usual_rate,
            settings=settings,
        )
        placed = attach(sensor, description, findings)
        if placed is not None:
            found[placed.name] = placed
    return replace(description, sensors=(*description.sensors, *found.values()))


def _settings(prim: Prim, stage: Stage) -> CameraDescription:
    """Return the picture's size and lens; lens lengths are in tenths of the unit."""
    focal = prim.number('focalLength', _FOCAL)
    across = prim.number('horizontalAperture', _ACROSS)
    along = prim.number('verticalAperture', _ALONG)
    if not (focal > 0.0 and across > 0.0 and along > 0.0):
        raise InvalidValueError('lens', (focal, across, along), 'positive lengths', prim.path)
    height = max(1, round(_WIDTH * min(along / across, 4.0)))
    scale = _WIDTH * focal / across
    shift = [prim.number(f'{key}ApertureOffset') / across * _WIDTH for key in _OFFSETS]
    middle = 0.5 * (_WIDTH - 1) - shift[0], 0.5 * (height - 1) + shift[1]
    near_far = prim.numbers('clippingRange', 2)
    clip = CameraDescription().clip if near_far is None else near_far * stage.meters
    near, far = float(clip[0]), min(float(clip[1]), 1e6)
    if not (0.0 < near < far and math.isfinite(far)):
        near, far = CameraDescription().clip
    return CameraDescription(
        size=(_WIDTH, height),
        intrinsics=(scale, scale, middle[0], middle[1], 0.0),
        clip=(near, far),
    )


_OFFSETS = ('horizontal', 'vertical')
