"""Lamps and sky in an SDF world, seen by cameras."""

from __future__ import annotations

from collections.abc import Iterable
import math
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.report import Findings
from sim_bridge.description.scene.lights import LAMP_KINDS, SceneLamp, SceneLight
from sim_bridge.description.sdf_model.document import Entity
from sim_bridge.description.sdf_model.scope import Scope
from sim_bridge.description.sdf_model.tags import NOT_NEGATIVE, Tags

# as many as a renderer takes
MOST_LAMPS = 31
# helpers of a window
_VIEWS = ('grid', 'origin_visual')
_OF_LAMPS = ('specular', 'visualize', 'pose', 'origin')


def read_surroundings(world: Tags, entities: Iterable[Entity], scope: Scope) -> SceneLight | None:
    """
    Return a world's light; None for the default, without lamps and colours in the file.

    entities: included lights and others. scope: the world's frames.
    """
    scene = world.inside('scene')
    shadows, colors = True, dict[str, tuple[float, ...]]()
    if scene is not None:
        shadows = scene.flag('shadows', True)
        colors = _colors(scene)
        scene.ignore(('fog',), '')
        scene.close(_VIEWS)
    lamps = [
        lamp
        for entity in entities
        if entity.element.tag == 'light'
        for lamp in [_lamp(entity, scope, shadows, world.findings)]
        if lamp is not None
    ]
    if len(lamps) > MOST_LAMPS:
        message = f'only {MOST_LAMPS} lamps are seen; {len(lamps) - MOST_LAMPS} are left out'
        world.findings.warning('not-simulated', lamps[MOST_LAMPS].place, message)
    if not lamps and not colors:
        return None
    return SceneLight(tuple(lamps[:MOST_LAMPS]) or None, MappingProxyType(colors))


def _colors(scene: Tags) -> dict[str, tuple[float, ...]]:
    colors: dict[str, tuple[float, ...]] = {}
    ambient, background = scene.color('ambient'), scene.color('background')
    if ambient is not None:
        colors['ambient'] = ambient[:3]
    sky = scene.find('sky')
    if background is not None and sky is None:
        colors |= {'horizon': background[:3], 'zenith': background[:3]}
    return colors


def _lamp(entity: Entity, scope: Scope, shadows: bool, findings: Findings) -> SceneLamp | None:
    """Return a lamp; None if it is off, or, with warnings, defective."""
    own = Findings()
    tags = Tags(entity.element, entity.place, own)
    kind = entity.element.get('type') or 'point'
    pose = _pose(entity, scope, own)
    values: dict[str, Any] = {'kind': kind, 'position': tuple(pose.position.tolist())}
    direction = pose.rotation @ np.array(tags.vector('direction', (0.0, 0.0, -1.0)))
    if kind != 'point':
        values['direction'] = tuple(direction.tolist())
    color = tags.color('diffuse') or (1.0, 1.0, 1.0, 1.0)
    bright = tags.number('intensity', 1.0, NOT_NEGATIVE)
    values['color'] = tuple(bright * value for value in color[:3])
    values['cast_shadows'] = tags.flag('cast_shadows') and shadows
    values |= _reach(tags, kind)
    spot = tags.inside('spot')
    if spot is not None:
        inner, outer = (
            spot.number(f'{end}_angle', 0.0, NOT_NEGATIVE) for end in ('inner', 'outer')
        )
        falloff = spot.number('falloff', 0.0)
        spot.close()
        if kind == 'spot':
            values |= {'inner': min(inner, outer), 'outer': outer, 'falloff': falloff}
    is_on = tags.flag('light_on', True)
    tags.close(_OF_LAMPS)
    if kind not in LAMP_KINDS:
        own.error('bad-value', tags.place, f'must be one of {", ".join(LAMP_KINDS)}', 'type', kind)
    elif kind == 'spot' and not values.get('outer'):
        own.error('bad-value', tags.place, 'needs an outer angle', 'spot')
    if not findings.take_part(own, 'light') or not is_on:
        return None
    return SceneLamp(entity.name or 'light', MappingProxyType(values), entity.element.line)


def _reach(tags: Tags, kind: str) -> dict[str, Any]:
    attenuation = tags.inside('attenuation')
    if attenuation is None or kind == 'directional':
        return {}
    reach = attenuation.number('range', 10.0, NOT_NEGATIVE)
    divisor = tuple(
        attenuation.number(name, usual, NOT_NEGATIVE)
        for name, usual in (('constant', 1.0), ('linear', 1.0), ('quadratic', 0.0))
    )
    attenuation.close()
    values: dict[str, Any] = {'range': reach or math.inf}
    return values | ({'attenuation': divisor} if any(divisor) else {})


def _pose(entity: Entity, scope: Scope, findings: Findings) -> Pose:
    pose, base = Tags(entity.posed, entity.place, findings).pose()
    scope.check(base, entity.place, 'relative_to')
    return scope.pose_of(base) @ pose
