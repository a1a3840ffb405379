"""
A model's sensors and plugins, for the `<gazebo>` readers.

These readers take a `<robot>` element. One is made here, whose `<gazebo>` elements copy the
model's elements, with complete names and poses in the link's frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sim_bridge.description.model import Pose
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.sensors import SENSOR
from sim_bridge.description.sdf_model.scope import Scope
from sim_bridge.description.sdf_model.tags import Tags
from sim_bridge.description.xml.document import Element
from sim_bridge.foundation.rotation import quaternion_from_matrix

_RELATIVE = ('relative_to', 'frame')
# depth of the elements of a plugin in which names are searched
_MOST_LEVELS = 10


class Devices:
    """
    A `<robot>` element, filled scope by scope.

    root: the element. links, joints: the robot's, by complete name.
    """

    def __init__(self, links: Iterable[str], joints: Iterable[str]):
        """Name the robot's links and joints."""
        self._known = (*links, *joints)
        self.root = Element('robot')
        self.root.children += [Element('link', {'name': name}) for name in links]
        self.root.children += [Element('joint', {'name': name}) for name in joints]

    def add(self, scope: Scope, findings: Findings) -> None:
        """Add the sensors and plugins directly inside a model."""
        names = self._names_in(scope.prefix)
        entity = scope.entity
        for node in entity.element:
            if node.tag in ('link', 'joint'):
                sensors = []
                for each in node.findall('sensor'):
                    own = Findings()
                    sensor = _sensor(each, node, scope, own)
                    sensors += [sensor] if findings.take_part(own, SENSOR) else []
                if sensors:
                    reference = {'reference': scope.prefix + node.get('name')}
                    self._add(Element('gazebo', reference, node.line, children=sensors))
                self._add_plugins(node.findall('plugin'), names)
        self._add_plugins([*entity.element.findall('plugin'), *entity.plugins], names)

    def _add_plugins(self, nodes: Iterable[Element], names: Mapping[str, str]) -> None:
        for node in nodes:
            self._add(Element('gazebo', {}, node.line, children=[_renamed(node, names)]))

    def _add(self, gazebo: Element) -> None:
        self.root.children.append(gazebo)

    def _names_in(self, prefix: str) -> dict[str, str]:
        """Return complete names for a nested model's parts, by their short names."""
        if not prefix:
            return {}
        return {n.removeprefix(prefix): n for n in self._known if n.startswith(prefix)}


def _renamed(node: Element, names: Mapping[str, str], level: int = 0) -> Element:
    """Return a copy with complete names in texts and attributes."""
    if not names or level > _MOST_LEVELS:
        return node
    attributes = {
        key: value if key in ('name', 'filename') else names.get(value, value)
        for key, value in node.attrib.items()
    }
    children = [_renamed(child, names, level + 1) for child in node]
    text = names.get(node.text.strip(), node.text)
    return Element(node.tag, attributes, node.line, text, children)


def _sensor(node: Element, carrier: Element, scope: Scope, findings: Findings) -> Element:
    """Return a sensor with its pose in the link's frame, and camera poses in the sensor's."""
    tags = Tags(node, Place('sensor', node.get('name'), node.line), findings)
    usual = carrier.get('name')
    children = []
    for child in node:
        if child.tag == 'pose' and any(map(child.get, _RELATIVE)):
            children.append(_pose(scope.placed(tags, usual), child.line))
            continue
        pose = child.find('pose') if child.tag == 'camera' else None
        if pose is not None and any(map(pose.get, _RELATIVE)):
            in_link = scope.placed(Tags(child, tags.at(child), findings), usual)
            in_sensor = scope.placed(tags, usual).inverse @ in_link
            others = [each for each in child if each is not pose]
            inner = [*others, _pose(in_sensor, pose.line)]
            child = Element(child.tag, child.attrib, child.line, children=inner)
        children.append(child)
    return Element(node.tag, node.attrib, node.line, children=children)


def _pose(pose: Pose, line: int) -> Element:
    numbers = [*pose.position.tolist(), *quaternion_from_matrix(pose.rotation).tolist()]
    text = ' '.join(map(repr, numbers))
    return Element('pose', {'rotation_format': 'quat_xyzw'}, line, text)
