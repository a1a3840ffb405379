"""Colours and pictures for SDF visuals."""

from __future__ import annotations

from typing import NamedTuple

from sim_bridge.description.sdf_model.document import Library, SdfFile
from sim_bridge.description.sdf_model.tags import Tags

Color = tuple[float, float, float, float]
# effects of light that pictures here do not have; how a picture is drawn, not its content
_LIGHT = ('ambient', 'specular', 'emissive', 'shininess', 'lighting', 'shader')
_DRAWING = ('render_order', 'double_sided')
_SURFACES = ('metal', 'specular')
# colours by the last word of Gazebo's scripts, as their names say
_NAMED: dict[str, tuple[float, float, float]] = {
    'black': (0.0, 0.0, 0.0),
    'flatblack': (0.1, 0.1, 0.1),
    'darkgrey': (0.175, 0.175, 0.175),
    'darkgray': (0.175, 0.175, 0.175),
    'grey': (0.7, 0.7, 0.7),
    'gray': (0.7, 0.7, 0.7),
    'lightgrey': (0.85, 0.85, 0.85),
    'white': (1.0, 1.0, 1.0),
    'red': (1.0, 0.0, 0.0),
    'darkred': (0.5, 0.0, 0.0),
    'green': (0.0, 1.0, 0.0),
    'darkgreen': (0.0, 0.5, 0.0),
    'blue': (0.0, 0.0, 1.0),
    'darkblue': (0.0, 0.0, 0.5),
    'skyblue': (0.13, 0.44, 0.7),
    'yellow': (1.0, 1.0, 0.0),
    'darkyellow': (0.7, 0.7, 0.0),
    'orange': (1.0, 0.5, 0.0),
    'darkorange': (0.6, 0.3, 0.0),
    'purple': (1.0, 0.0, 1.0),
    'darkpurple': (0.5, 0.0, 0.5),
    'turquoise': (0.0, 1.0, 1.0),
    'gold': (0.8, 0.65, 0.13),
    'indigo': (0.33, 0.0, 0.5),
    'wood': (0.6, 0.45, 0.25),
    'bricks': (0.6, 0.3, 0.25),
    'road': (0.3, 0.3, 0.3),
    'grass': (0.3, 0.5, 0.2),
    'residential': (0.35, 0.35, 0.35),
}


class Looks(NamedTuple):
    """Appearance. color: red, green, blue, opacity, 0 to 1. texture: picture's URI, '' if none."""

    color: Color | None = None
    texture: str = ''


def read_material(
    tags: Tags | None, transparency: float, library: Library, file: SdfFile
) -> Looks:
    """Return the appearance in a `<material>` element. transparency: 0 opaque, 1 invisible."""
    color, texture = None, ''
    if tags is not None:
        color = tags.color('diffuse')
        script = tags.inside('script')
        if script is not None and color is None:
            color = _of_script(script)
        pbr = tags.inside('pbr')
        for name in _SURFACES:
            surface = None if pbr is None else pbr.inside(name)
            if surface is not None and surface.text('albedo_map'):
                texture = library.uri_of(surface.text('albedo_map'), file)
        tags.close((*_LIGHT, *_DRAWING))
    if transparency > 0.0:
        red, green, blue, opacity = color or (0.7, 0.7, 0.7, 1.0)
        color = red, green, blue, opacity * (1.0 - min(transparency, 1.0))
    return Looks(color, texture)


def _of_script(tags: Tags) -> Color | None:
    """Return the colour meant by a Gazebo script's name."""
    name = tags.text('name')
    found = _NAMED.get(name.rpartition('/')[2].lower())
    if name and found is None:
        message = 'scripts of OGRE are not read; the usual colour is used'
        tags.findings.warning('not-simulated', tags.place, message, value=name)
    return None if found is None else (*found, 1.0)
