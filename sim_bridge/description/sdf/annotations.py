"""
Kinds of labels and boxes in SDF's `<camera>`.

Source: gz-sensors, SegmentationCameraSensor and BoundingBoxCameraSensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

from sim_bridge.description.cameras import BOXES
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_topics import name_in

if TYPE_CHECKING:
    from sim_bridge.description.xml.document import Element

_TYPE, _BOX_TYPE = 'segmentation_type', 'box_type'
# outputs beside the labels
_SEGMENTATIONS = {'semantic': (), 'instance': ('instances',), 'panoptic': ('instances',)}
_BOX_TYPES = {
    **dict.fromkeys(('2d', 'visible_2d', 'visible_box_2d'), 'visible_2d'),
    **dict.fromkeys(('full_2d', 'full_box_2d'), 'full_2d'),
    '3d': '3d',
}


def read_annotation(
    node: Element, place: Place, findings: Findings, values: dict[str, Any]
) -> None:
    """Read the kinds into a camera's values, for the outputs that it has."""
    if 'labels' in values['outputs']:
        word = _word(node, _TYPE, _SEGMENTATIONS, 'semantic', place, findings)
        values['outputs'] = (*values['outputs'], *_SEGMENTATIONS[word])
    if BOXES in values['outputs']:
        values['box_type'] = _BOX_TYPES[_word(node, _BOX_TYPE, _BOX_TYPES, '2d', place, findings)]


def _word(
    node: Element,
    tag: str,
    known: Mapping[str, object],
    default: str,
    place: Place,
    findings: Findings,
) -> str:
    """Return a child's word in small letters; the default, with an error, for an unknown one."""
    found = next((each for each in node if each.tag == tag), None)
    word = default if found is None else name_in(found).lower()
    if word in known:
        return word
    message = f'must be one of {", ".join(known)}'
    findings.error('bad-value', place.child(tag, node.line), message, value=word)
    return default
