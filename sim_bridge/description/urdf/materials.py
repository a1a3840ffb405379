"""Colours and images of URDF materials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TYPE_CHECKING

from sim_bridge.description.report import Findings, Place, WARNING
from sim_bridge.description.urdf.schema import MATERIAL
from sim_bridge.description.xml.schema import clean_or_drop

if TYPE_CHECKING:
    from sim_bridge.description.xml.document import Element


class Look(NamedTuple):
    """Appearance. color: red, green, blue, opacity, 0 to 1. texture: file name as written."""

    color: tuple[float, float, float, float] | None = None
    texture: str = ''


def read_looks(root: Element, findings: Findings) -> dict[str, Look]:
    """
    Return the appearance of each named material of a robot, including materials inside visuals.

    Among materials with one name, the first with a color or texture counts. A wrong material is a
    warning.
    """
    inner = [
        shape
        for link in root.findall('link')
        for tag in ('visual', 'collision')
        for shape in link.findall(tag)
    ]
    looks: dict[str, Look] = {}
    for outer in (root, *inner):
        for material in outer.findall('material'):
            place = Place('material', material.get('name'), material.line)
            kept = clean_or_drop(material, MATERIAL, place, findings, WARNING)
            if kept is None:
                # prevents a second reading
                material.children = []
            elif material.get('name') and _own(material) != Look():
                looks.setdefault(material.get('name'), _own(material))
    return looks


def look_of(shape: Element, looks: Mapping[str, Look]) -> Look:
    """Return the appearance of a visual: its own, or the one of the material's name."""
    material = shape.find('material')
    if material is None:
        return Look()
    own = _own(material)
    return looks.get(material.get('name'), own) if own == Look() else own


def _own(material: Element) -> Look:
    """Return the appearance given inside a checked material."""
    color, texture = material.find('color'), material.find('texture')
    rgba = color.floats('rgba') if color is not None and color.get('rgba') else []
    return Look(
        (min(rgba[0], 1.0), min(rgba[1], 1.0), min(rgba[2], 1.0), min(rgba[3], 1.0))
        if rgba
        else None,
        '' if texture is None else texture.get('filename'),
    )
