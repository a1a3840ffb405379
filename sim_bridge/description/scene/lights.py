"""
Light in scenes, seen by cameras.

    lights:                              # a sun if absent; {}: ambient light alone
      sun: {type: directional, direction: [-0.5, 0.1, -0.9], color: [0.7, 0.7, 0.7]}
      bulb: {type: point, position: [0, 0, 2], range: 10, attenuation: [1, 0, 0.2]}
      torch: {type: spot, position: [0, 0, 2], direction: [0, 0, -1], inner: 0.3, outer: 0.6,
              falloff: 1, cast_shadows: false}
    ambient: [0.4, 0.4, 0.4]             # on all surfaces
    sky: {horizon: [0.7, 0.77, 0.84], zenith: [0.13, 0.29, 0.62]}

Colours are linear, relative to white. The keys are those of `sight.lamps.Lamp`, as in SDF.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sim_bridge.description.report import Place
from sim_bridge.description.yaml.section import Section

LAMP_KINDS = ('directional', 'point', 'spot')
_VECTORS = ('color', 'direction', 'position', 'attenuation')
_NUMBERS = ('range', 'inner', 'outer', 'falloff')


@dataclass(frozen=True)
class SceneLamp:
    """A lamp with a name, and arguments for `sight.lamps.Lamp`. line: in the file."""

    name: str
    arguments: Mapping[str, Any]
    line: int = 0

    @property
    def place(self) -> Place:
        """Place for messages."""
        return Place('world', f'lights.{self.name}', self.line)


@dataclass(frozen=True)
class SceneLight:
    """
    A scene's light.

    lamps: None for the default sun. colors: arguments for `sight.lamps.Surroundings`.
    """

    lamps: tuple[SceneLamp, ...] | None
    colors: Mapping[str, Any]


def read_light(world: Section) -> SceneLight | None:
    """Return the light at the keys `lights`, `ambient` and `sky`; None for the default."""
    lamps = tuple(map(_lamp, world.sections('lights'))) if world.has('lights') else None
    colors = {'ambient': world.vector('ambient', 3, None)}
    sky = world.section('sky')
    if sky is not None:
        colors |= {key: sky.vector(key, 3, None) for key in ('horizon', 'zenith')}
        sky.close()
    given = {key: color for key, color in colors.items() if color is not None}
    return None if lamps is None and not given else SceneLight(lamps, MappingProxyType(given))


def _lamp(section: Section) -> SceneLamp:
    values: dict[str, Any] = {key: section.vector(key, 3, None) for key in _VECTORS}
    values |= {key: section.number(key, None) for key in _NUMBERS}
    values['cast_shadows'] = section.flag('cast_shadows', None)
    given = {key: value for key, value in values.items() if value is not None}
    kind = section.choice('type', LAMP_KINDS, 'directional')
    section.close()
    return SceneLamp(section.name, MappingProxyType({'kind': kind, **given}), section.line)
