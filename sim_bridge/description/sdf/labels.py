"""
Semantic labels of gz-sim's Label plugin, for segmentation and bounding box cameras.

Source: gz-sim, `systems/label`. A label applies to the visuals of a link, or of the whole robot.
Gazebo has labels up to 255; here they end at MOST_LABEL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sim_bridge.description.labels import MOST_LABEL
from sim_bridge.description.model import LinkDescription
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.values import read_number, warn_of_unknown

if TYPE_CHECKING:
    from sim_bridge.description.xml.document import Element

_FILE = 'label-system'


def is_label(node: Element) -> bool:
    """Return whether a plugin gives a label."""
    return _FILE in node.get('filename', '') or node.get('name', '').endswith('systems::Label')


def with_labels(
    root: Element, links: Mapping[str, LinkDescription], findings: Findings
) -> dict[str, LinkDescription]:
    """Return the links with their labels; a link's own label counts more than the robot's."""
    for_all, own = 0, dict[str, int]()
    for reference, plugin in _label_plugins(root):
        place = Place('gazebo/plugin', plugin.get('name', ''), plugin.line)
        label = _read_label(plugin, place, findings)
        if label is None:
            continue
        if not reference:
            for_all = label
        elif reference in links:
            own[reference] = label
        else:
            findings.warning('ignored-tag', place, 'applies to links and robots only, ignored')
    return {name: replace(link, label=own.get(name, for_all)) for name, link in links.items()}


def _label_plugins(root: Element) -> Iterator[tuple[str, Element]]:
    """Yield the plugins with their references; '' for the robot."""
    for gazebo in root.findall('gazebo'):
        for holder in (gazebo, *gazebo.findall('visual')):
            for plugin in holder.findall('plugin'):
                if is_label(plugin):
                    yield gazebo.get('reference', ''), plugin


def _read_label(plugin: Element, place: Place, findings: Findings) -> int | None:
    """Return a plugin's label; None, with a warning, for a missing or wrong one."""
    warn_of_unknown(plugin, {'label'}, place, findings)
    node = next(iter(plugin.findall('label')), None)
    own = Findings()
    value = None if node is None else read_number(node, Numbers(), place, own)
    if value is None or value != int(value) or not 0 <= value <= MOST_LABEL:
        message = f'needs <label>, a whole number from 0 to {MOST_LABEL}; ignored'
        findings.warning('bad-label', place, message)
        return None
    return int(value)
