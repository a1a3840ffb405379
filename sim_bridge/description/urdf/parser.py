"""
Links and joints read by urdf-parser-py from checked elements.

urdf-parser-py reads URDF 1.0. Later and dialect additions stay with the elements: `quat_xyzw`,
`armature`, and the distinction of capsules from cylinders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_parser_py import urdf

    from sim_bridge.description.xml.document import Element

_LATER = ('quat_xyzw', 'armature')
# read unchanged by `materials`
_ELSEWHERE = ('material',)
# attributes required by urdf-parser-py
_DEFAULTS = {'limit': {'effort': 'inf', 'velocity': 'inf'}}


def parse_link(element: Element) -> urdf.Link:
    """Return a checked `link` element as urdf-parser-py's object."""
    # imported here, since worlds without URDF do not need it and the YAML library it imports
    from urdf_parser_py.urdf import Link
    from urdf_parser_py.xml_reflection.core import Path

    return Link.from_xml(_Node(element), Path('link'))


def parse_joint(element: Element) -> urdf.Joint:
    """Return a checked `joint` element as urdf-parser-py's object."""
    from urdf_parser_py.urdf import Joint
    from urdf_parser_py.xml_reflection.core import Path

    return Joint.from_xml(_Node(element), Path('joint'))


class _Node:
    """View on an element with the interface needed by urdf-parser-py, reduced to URDF 1.0."""

    def __init__(self, element: Element) -> None:
        self.tag = 'cylinder' if element.tag == 'capsule' else element.tag
        self.attrib = {
            **_DEFAULTS.get(element.tag, {}),
            **{name: value for name, value in element.attrib.items() if name not in _LATER},
        }
        self.get = self.attrib.get
        self._element = element

    def __iter__(self) -> Iterator[_Node]:
        return map(
            _Node, (child for child in self._element.children if child.tag not in _ELSEWHERE)
        )
