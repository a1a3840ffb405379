"""
Documents for xacro before ROS Melodic, with elements without the prefix `xacro:`.

Old xacro read `<property>`, `<macro>` and calls of macros without a prefix. Present xacro leaves
them as they are, and then misses their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_PREFIX = 'xacro:'
# attributes that tell a directive from another element with its name
_DIRECTIVES = {
    'property': ('name', 'value'),
    'macro': ('name',),
    'include': ('filename',),
    'if': ('value',),
    'unless': ('value',),
    'insert_block': ('name',),
}
# names in URDF; a macro with one of these cannot be called without prefix
_URDF = frozenset({'robot', 'link', 'joint', 'gazebo', 'sensor', 'material', 'transmission'})


class OldElements:
    """
    Elements without prefix in the documents parsed so far.

    macros: names of all macros. found: whether any document has a directive without prefix.
    """

    def __init__(self) -> None:
        """Start without documents."""
        self.macros: set[str] = set()
        self.found = False

    def look(self, document: Any) -> None:
        """Note the macros and directives in a DOM document."""
        for element in _elements(document):
            tag = element.tagName
            self.found |= _is_directive(element)
            if tag.removeprefix(_PREFIX) == 'macro':
                self.macros.add(element.getAttribute('name').removeprefix(_PREFIX))

    def rename(self, document: Any) -> None:
        """Give directives and macro calls in a DOM document their prefix."""
        for element in _elements(document):
            name = element.tagName
            if _is_directive(element) or name in self.macros - _URDF:
                element.tagName = element.nodeName = f'{_PREFIX}{name}'


def _is_directive(element: Any) -> bool:
    attributes = _DIRECTIVES.get(element.tagName, ())
    return bool(attributes) and all(map(element.hasAttribute, attributes))


def _elements(document: Any) -> Iterator[Any]:
    # a list, since the tree gives new names one by one
    yield from list(document.getElementsByTagName('*'))
