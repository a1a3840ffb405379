"""URDF material colours and images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TYPE_CHECKING

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.urdf.schema import MATERIAL
from sim_bridge.description.xml.schema import clean_or_drop

if TYPE_CHECKING:
    from sim_bridge.description.xml.document import Element


class Appearance(NamedTuple):
    """Appearance. color: red, green, blue, opacity, 0 to 1. texture: file name as written."""

    color: tuple[float, float, float, float] | None = None
    texture: str = ''


def read_appearances(root: Element, findings: Findings) -> dict[str, Appearance]:
    """
    Return the appearance for each named material in a robot, including materials inside visuals.

    Among materials with one name, the first with a color or texture counts. A wrong material is a
    warning.
    """
    inner = [
        shape
        for link in root.findall('link')
        for tag in ('visual', 'collision')
        for shape in link.findall(tag)
    ]
    appearances: dict[str, Appearance] = {}
    for outer in (root, *inner):
        for material in outer.findall('material'):
            place = Place('material', material.get('name'), material.line)
            kept = clean_or_drop(material, MATERIAL, place, findings, '')
            if kept is None:
                # prevents a second reading
                material.children = []
            elif material.get('name') and _own(material) != Appearance():
                appearances.setdefault(material.get('name'), _own(material))
    return appearances


def appearance_of(shape: Element, appearances: Mapping[str, Appearance]) -> Appearance:
    """Return a visual's appearance: its own, or the one of the material's name."""
    material = shape.find('material')
    if material is None:
        return Appearance()
    own = _own(material)
    return appearances.get(material.get('name'), own) if own == Appearance() else own


def _own(material: Element) -> Appearance:
    """Return the appearance given inside a checked material."""
    color, texture = material.find('color'), material.find('texture')
    rgba = color.floats('rgba') if color is not None and color.get('rgba') else []
    return Appearance(
        (min(rgba[0], 1.0), min(rgba[1], 1.0), min(rgba[2], 1.0), min(rgba[3], 1.0))
        if rgba
        else None,
        '' if texture is None else texture.get('filename'),
    )
