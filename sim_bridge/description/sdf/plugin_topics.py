"""Namespace, remappings and topic names in a plugin's `<ros>` element, as gazebo_ros has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import re
from types import MappingProxyType

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text

_QUOTES = '"\'\u201c\u201d \t\n'
# words of Gazebo for its own choice of a name
_DEFAULTS = ('__default__', '__default_topic__')
_INVALID = re.compile(r'[^A-Za-z0-9_/]+')


@dataclass(frozen=True)
class PluginTopics:
    """
    Topic names of a plugin.

    namespace: without slashes at its ends, '' for none. remappings: new names by old names, as
    written.
    """

    namespace: str = ''
    remappings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def remapped(self, *names: str) -> str:
        """Return the topic that replaces the first remapped one of these names; '' for none."""
        target = next((self.remappings[each] for each in names if each in self.remappings), '')
        return self.resolved(target) if target else ''

    def resolved(self, name: str) -> str:
        """Return a name in the namespace, unless it starts with a slash."""
        return f'/{self.namespace}/{name}' if self.namespace and name[:1] != '/' else name


def topics_of(plugin: Element) -> PluginTopics:
    """Return the topic names that a plugin's `<ros>` element or `<robotNamespace>` sets."""
    namespace, remappings = '', {}
    for child in plugin:
        if child.tag in ('robotNamespace', 'robot_namespace'):
            namespace = name_in(child)
        for each in child.findall('namespace') if child.tag == 'ros' else ():
            namespace = name_in(each)
        for each in child.findall('remapping') if child.tag == 'ros' else ():
            old, _, new = name_in(each).partition(':=')
            if old.strip() and new.strip():
                remappings[old.strip()] = new.strip()
    return PluginTopics(namespace.strip('/'), MappingProxyType(remappings))


def name_in(element: Element) -> str:
    """Return the name in an element's text, without quotes and white space around it."""
    return element_text(element).strip(_QUOTES)


def text_in(node: Element, *tags: str) -> str:
    """Return the first child's text as a name; tags: alternatives; '' for none."""
    return next((name_in(each) for each in node if each.tag in tags), '')


def read_topic(text: str, place: Place, findings: Findings) -> str:
    """
    Return a valid topic name; '' for none, and for Gazebo's default name.

    Other characters than those of ROS become underscores, with a warning.
    """
    name = text.strip(_QUOTES).removeprefix('~/')
    if name.strip('/') in ('', *_DEFAULTS):
        return ''
    words = [word for word in _INVALID.sub('_', name).split('/') if word]
    words = [f'_{word}' if word[0].isdigit() else word for word in words]
    valid = ('/' if name.startswith('/') else '') + '/'.join(words)
    if valid != name.rstrip('/'):
        findings.warning(
            'topic-name', place, f'no topic name of ROS; called {valid!r}', value=text
        )
    return valid
