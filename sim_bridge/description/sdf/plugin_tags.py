"""Plugin children, read one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sim_bridge.description.model import JointDescription, ONE_AXIS, RobotDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf.plugin_topics import name_in, read_topic
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import read_boolean

ANY = Numbers()
NOT_NEGATIVE = Numbers(minimum=0.0)
POSITIVE = Numbers(minimum=1e-12)
_Reader = TypeVar('_Reader')


@dataclass
class PluginTags:
    """
    A plugin's children; the last one counts among equal tags.

    findings: this plugin's defects. aliases: older names of tags, read if the newer ones are
    absent. read: tags read so far.
    """

    node: Element
    place: Place
    description: RobotDescription
    findings: Findings
    aliases: Mapping[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def inside(self, node: Element) -> PluginTags:
        """Return a child's children."""
        return PluginTags(node, self.at(node), self.description, self.findings)

    def at(self, child: Element) -> Place:
        """Return a child's place."""
        return self.place.child(child.tag, child.line)

    def children(self, tag: str) -> list[Element]:
        """Return the children with a tag, or else with its alias."""
        alias = self.aliases.get(tag, tag)
        self.read |= {tag, alias}
        return list(self.node.findall(tag) or self.node.findall(alias))

    def has(self, tag: str) -> bool:
        """Return whether there is a child with exactly this tag."""
        return self.node.find(tag) is not None

    def last(self, *tags: str) -> Element | None:
        """Return the last child with the first tag found among these."""
        found = [self.children(tag) for tag in tags]
        return next((children[-1] for children in found if children), None)

    def text(self, *tags: str, default: str = '') -> str:
        """Return the text in a child."""
        child = self.last(*tags)
        return default if child is None else name_in(child)

    def number(self, tag: str, default: float, allowed: Numbers = ANY) -> float:
        """Return the number in a child."""
        child = self.last(tag)
        values = None if child is None else self._numbers_in(child, allowed)
        return default if values is None else values[0]

    def numbers(self, tag: str, allowed: Numbers = ANY) -> list[float]:
        """Return the numbers in all children with a tag, without defective ones."""
        found = [self._numbers_in(child, allowed) for child in self.children(tag)]
        return [values[0] for values in found if values is not None]

    def vector(self, tag: str, default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> tuple[float, ...]:
        """Return the three numbers in a child."""
        child = self.last(tag)
        values = None if child is None else self._numbers_in(child, Numbers(3))
        return default if values is None else tuple(values)

    def pair_at(self, child: Element) -> tuple[float, float] | None:
        """Return the two numbers in a child; None, with an error noted, for others."""
        values = self._numbers_in(child, Numbers(2))
        return None if values is None else (values[0], values[1])

    def flag(self, tag: str, default: bool = False) -> bool:
        """Return the truth value in a child."""
        child = self.last(tag)
        value = None if child is None else read_boolean(child, self.at(child), self.findings)
        return default if value is None else value

    def link(self, *tags: str) -> str:
        """Return a known link's name; note an error otherwise."""
        known = self.description.links
        name = local_name(self.text(*tags), known)
        if not name:
            place = self.place.child(tags[0], self.place.line)
            self.findings.error('missing-tag', place, 'missing')
        elif name not in known:
            message = unknown('link', name, known)
            self.findings.error('unknown-link', self._place(*tags), message, value=name)
        return name

    def axis(self, *tags: str) -> JointDescription | None:
        """Return a joint with one axis; note an error for another one, or none."""
        child = self.last(*tags)
        if child is None or not name_in(child):
            place = self.place.child(tags[0], self.place.line)
            self.findings.error('missing-tag', place, 'missing')
            return None
        return self.axis_at(child)

    def axis_at(self, child: Element) -> JointDescription | None:
        """Return the joint named in a child; note an error unless it has one axis."""
        name = local_name(name_in(child), self.description.joints)
        joint = self.description.joints.get(name)
        if joint is None:
            message = unknown('joint', name, self.description.joints)
            self.findings.error('unknown-joint', self.at(child), message, value=name)
        elif joint.type not in ONE_AXIS:
            message = f'a {joint.type.value} joint has no single axis'
            self.findings.error('joint-type', self.at(child), message, value=name)
            return None
        return joint

    def topic(self, text: str, *tags: str) -> str:
        """Return a valid topic name, without a slash at its beginning."""
        return read_topic(text.lstrip('/'), self._place(*tags), self.findings)

    def ignore(self, tag: str) -> None:
        """Warn about a tag whose effect is not simulated."""
        for child in self.node.findall(tag)[-1:]:
            self.findings.warning('not-simulated', self.at(child), 'is not simulated, ignored')

    def close(self, without_effect: Collection[str] = ()) -> None:
        """Warn about unread tags."""
        for child in self.node:
            if child.tag not in self.read and child.tag not in without_effect:
                self.findings.warning('unknown-tag', self.at(child), 'is not simulated, ignored')

    def _numbers_in(self, child: Element, allowed: Numbers) -> list[float] | None:
        return parse_numbers(name_in(child), allowed, self.at(child), self.findings, '')

    def _place(self, *tags: str) -> Place:
        child = self.last(*tags)
        return self.place if child is None else self.at(child)


def local_name(name: str, known: Collection[str]) -> str:
    """Return a name as the robot has it: whole, or without model names before it."""
    return name if name in known else name.split('::')[-1]


def reader_of(node: Element, readers: Mapping[str, _Reader]) -> _Reader | None:
    """Return a plugin's reader: the first whose word is in the file name; None without one."""
    filename = node.get('filename', '')
    return next((read for word, read in readers.items() if word in filename), None)


def plugins_of(root: Element) -> Iterator[Element]:
    """Yield a robot's plugins: in `<gazebo>` elements, or its own."""
    for gazebo in root.findall('gazebo'):
        yield from gazebo.findall('plugin')
    yield from root.findall('plugin')
