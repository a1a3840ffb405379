"""Lights in USD stages (UsdLux)."""

from __future__ import annotations

from collections.abc import Iterator
import math
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.report import Findings
from sim_bridge.description.scene.lights import SceneLamp, SceneLight
from sim_bridge.description.usd.stage import Prim, Stage

_KINDS = {'DistantLight': 'directional', 'SphereLight': 'point', 'DiskLight': 'point'}
_DOME = 'DomeLight'
# the pictures have relative light: a lamp alone has this share, the dome the rest
_LAMP, _AMBIENT = 0.7, 0.4


def light_of(stage: Stage, findings: Findings) -> SceneLight | None:
    """
    Return a world's light, None for a stage without lights.

    Colours are kept. Intensities are those of a camera's exposure, which USD lacks: lamps have
    one brightness here.
    """
    lights = [prim for prim in stage.prims.values() if prim.kind.endswith('Light')]
    lights = [prim for prim in lights if prim.number('inputs:intensity', 1.0) > 0.0]
    domes = [prim for prim in lights if prim.kind == _DOME]
    lamps = tuple(_lamps(stage, lights, findings))
    if not lamps and not domes:
        return None
    ambient = _color(domes[0]) * _AMBIENT if domes else np.zeros(3)
    colors = {'ambient': tuple(ambient.tolist())}
    return SceneLight(lamps, MappingProxyType(colors))


def _lamps(stage: Stage, lights: list[Prim], findings: Findings) -> Iterator[SceneLamp]:
    for prim in lights:
        if prim.kind == _DOME:
            continue
        kind = _KINDS.get(prim.kind)
        if kind is None:
            findings.warning('not-simulated', prim.place, 'lights of this type do not shine')
            continue
        if prim.body:
            message = 'lights stay where they are at the beginning'
            findings.warning('approximated', prim.place, message)
        yield SceneLamp(prim.path, MappingProxyType(_arguments(stage, prim, kind)))


def _arguments(stage: Stage, prim: Prim, kind: str) -> dict[str, Any]:
    frame = stage.frame(prim)
    given: dict[str, Any] = {
        'kind': kind,
        'color': tuple((_color(prim) * _LAMP).tolist()),
        'direction': tuple((-frame.rotation[:, 2]).tolist()),
        'position': tuple(frame.position.tolist()),
    }
    cone = prim.number('inputs:shaping:cone:angle', 180.0)
    if kind == 'point' and 0.0 < cone < 90.0:
        outer = 2.0 * math.radians(min(cone, 89.0))
        soft = min(max(prim.number('inputs:shaping:cone:softness'), 0.0), 1.0)
        given |= {'kind': 'spot', 'inner': outer * (1.0 - soft), 'outer': outer}
    return given


def _color(prim: Prim) -> np.ndarray:
    color = prim.numbers('inputs:color', 3)
    return np.ones(3) if color is None else np.clip(color, 0.0, 1.0)
