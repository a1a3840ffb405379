"""Values in an SDF element's children, read one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sim_bridge.description.model import Pose
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.values import read_pose
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import BOOLEANS, element_text

ANY = Numbers()
NOT_NEGATIVE = Numbers(minimum=0.0)
POSITIVE = Numbers(minimum=0.0, above=True)


@dataclass
class Tags:
    """
    An element's children; the first one counts among equal tags.

    Before SDF 1.3 values were attributes: an attribute stands for a missing child. read: tags read
    so far.
    """

    node: Element
    place: Place
    findings: Findings
    read: set[str] = field(default_factory=set)

    def at(self, child: Element) -> Place:
        """Return a child's place."""
        return self.place.child(child.tag, child.line)

    def find(self, tag: str) -> Element | None:
        """Return the first child with a tag; None without one."""
        self.read.add(tag)
        return self.node.find(tag)

    def findall(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        self.read.add(tag)
        return self.node.findall(tag)

    def inside(self, tag: str) -> Tags | None:
        """Return a child's children; None without the child."""
        child = self.find(tag)
        return None if child is None else self.of(child)

    def of(self, child: Element) -> Tags:
        """Return a known child's children."""
        return Tags(child, self.at(child), self.findings)

    def text(self, tag: str, default: str = '') -> str:
        """Return a child's text, or the attribute with this name."""
        child = self.find(tag)
        text = '' if child is None else element_text(child)
        return text or self.node.get(tag) or default

    def numbers(self, tag: str, allowed: Numbers) -> list[float] | None:
        """Return the numbers in a child; None if it is missing or, with an error noted, wrong."""
        child = self.find(tag)
        if child is None and tag not in self.node.attrib:
            return None
        place = self.place if child is None else self.at(child)
        attribute = tag if child is None else ''
        return parse_numbers(self.text(tag), allowed, place, self.findings, attribute)

    def number(self, tag: str, default: float, allowed: Numbers = ANY) -> float:
        """Return the number in a child."""
        values = self.numbers(tag, allowed)
        return default if values is None else values[0]

    def vector(self, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return as many numbers as the default has."""
        values = self.numbers(tag, Numbers(len(default)))
        return default if values is None else tuple(values)

    def color(self, tag: str) -> tuple[float, float, float, float] | None:
        """Return red, green, blue and opacity (1 if missing); None without the child."""
        child = self.find(tag)
        if child is None:
            return None
        words = self.text(tag).split()
        allowed = Numbers(3 if len(words) == 3 else 4, minimum=0.0)
        values = parse_numbers(' '.join(words), allowed, self.at(child), self.findings, '')
        if values is None:
            return None
        red, green, blue, *opacity = (min(value, 1.0) for value in values)
        return red, green, blue, opacity[0] if opacity else 1.0

    def flag(self, tag: str, default: bool = False) -> bool:
        """Return the truth value in a child; other texts count as the default."""
        text = self.text(tag)
        if not text:
            return default
        if text.lower() not in BOOLEANS:
            child = self.node.find(tag)
            place = self.place if child is None else self.at(child)
            self.findings.warning('bad-value', place, 'must be true or false, ignored', value=text)
        return BOOLEANS.get(text.lower(), default)

    def pose(self) -> tuple[Pose, str]:
        """Return the element's own pose as written, and the frame in `relative_to`, '' if none."""
        node = self.find('pose')
        if node is None:
            return self._old_pose(), ''
        # before SDF 1.7 the attribute was called frame
        return self._read(node), node.get('relative_to') or node.get('frame')

    def _read(self, node: Element) -> Pose:
        return read_pose(node, self.at(node), self.findings) if element_text(node) else Pose()

    def _old_pose(self) -> Pose:
        """Return the pose in SDF before 1.3: an attribute in `<origin>` or in the element."""
        origin = self.find('origin')
        for node in (origin, self.node):
            if node is not None and node.get('pose'):
                written = Element('pose', line=node.line, text=node.get('pose'))
                return read_pose(written, self.place.at('pose'), self.findings)
        return Pose()

    def ignore(self, tags: Iterable[str], reason: str) -> None:
        """Name the given children as not simulated."""
        for tag in tags:
            for child in self.findall(tag)[:1]:
                message = f'is not simulated, ignored{reason and f": {reason}"}'
                self.findings.warning('not-simulated', self.at(child), message)

    def close(self, silent: Iterable[str] = ()) -> None:
        """Name the unread children. silent: tags without effect on a simulation."""
        known = self.read.union(silent)
        for child in self.node:
            if child.tag not in known:
                self.findings.warning('unknown-tag', self.at(child), 'unknown tag, ignored')
