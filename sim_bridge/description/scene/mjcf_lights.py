"""Lights of MJCF worlds."""

from __future__ import annotations

from collections.abc import Iterator
import math
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.mjcf.compiled import CompiledModel, pose_of
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import Pose
from sim_bridge.description.scene.lights import SceneLamp, SceneLight

_KINDS = {'spot': 'spot', 'directional': 'directional', 'point': 'point'}


def light_of(model: CompiledModel, notes: Notes) -> SceneLight | None:
    """
    Return a world's light, None for a model without lights.

    The headlight, which is at MuJoCo's camera, becomes ambient light.
    """
    lamps = tuple(_lamps(model, notes))
    head = model.texts['lights_head']
    ambient = np.zeros(3)
    if head.get('active'):
        ambient = np.add(head['ambient'], head['diffuse'])
    for number in range(model.count('light')):
        ambient = ambient + model['light_ambient'][number]
    if not lamps:
        return None
    colors = {'ambient': tuple(np.clip(ambient, 0.0, 1.0).tolist())}
    return SceneLight(lamps, MappingProxyType(colors))


def _lamps(model: CompiledModel, notes: Notes) -> Iterator[SceneLamp]:
    for number in range(model.count('light')):
        kind = _KINDS.get(model.words('light_type')[number])
        if kind is None:
            notes.left_out('light', number, 'light by a picture is not simulated', 'type')
            continue
        if not model['light_active'][number]:
            continue
        yield SceneLamp(
            model.name('light', number),
            MappingProxyType(_arguments(model, number, kind, notes)),
            model.line('light', number),
        )


def _arguments(model: CompiledModel, number: int, kind: str, notes: Notes) -> dict[str, Any]:
    body = int(model['light_bodyid'][number])
    if model['body_weldid'][body] != 0 or model.words('light_mode')[number] != 'fixed':
        notes.changed('light', number, 'lights stay where they are at the beginning')
    frame = _initial_pose(model, body)
    direction = frame.rotation @ model['light_dir'][number].astype(float)
    position = frame.position + frame.rotation @ model['light_pos'][number].astype(float)
    given: dict[str, Any] = {
        'kind': kind,
        'color': tuple(np.clip(model['light_diffuse'][number], 0.0, 1.0).tolist()),
        'direction': tuple(direction.tolist()),
        'position': tuple(position.tolist()),
        'cast_shadows': bool(model['light_castshadow'][number]),
    }
    if kind != 'directional':
        given['attenuation'] = tuple(map(float, model['light_attenuation'][number]))
    if kind == 'spot':
        cone = 2.0 * math.radians(min(float(model['light_cutoff'][number]), 179.0))
        falloff = float(model['light_exponent'][number])
        given |= {'inner': 0.0 if falloff else cone, 'outer': cone, 'falloff': falloff or 1.0}
    return given


def _initial_pose(model: CompiledModel, body: int) -> Pose:
    pose = Pose()
    while body:
        pose = pose_of(model['body_pos'][body], model['body_quat'][body]) @ pose
        body = int(model['body_parentid'][body])
    return pose
