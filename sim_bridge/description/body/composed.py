"""Nodes for several links: the links in another body file, or the shoes of a track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.body.document import Document, read_document
from sim_bridge.description.body.elements import children
from sim_bridge.description.body.keys import axis, finite, key_of, name_in, Reading, rotation
from sim_bridge.description.yaml.file import MappingWithLines
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.rotation import quaternion_from_matrix

_TRACK, _BODY = 'ContinuousTrack', 'SubBody'
_LINK = ('', 'Link')
# the node's own keys; its other keys replace root link keys
_OF_BODY = (
    'type',
    'uri',
    'prefix',
    'suffix',
    'device_prefix',
    'devicePrefix',
    'joint_id_offset',
    'jointIdOffset',
    'name',
    'elements',
    'mass',
    'inertia',
    'center_of_mass',
    'centerOfMass',
)
_OF_TRACK = (
    'type',
    'num_joints',
    'numJoints',
    'joint_offset',
    'jointOffset',
    'initial_joint_angles',
    'initialJointAngles',
    'joint_type',
    'jointType',
    'joint_id',
    'jointId',
)
_IN_ANGLES = (
    'rotation',
    'joint_range',
    'jointRange',
    'joint_angle',
    'jointAngle',
    'joint_displacement',
    'jointDisplacement',
    'max_joint_velocity',
    'maxJointVelocity',
)
_LEAST_SHOES, _MOST_SHOES = 3, 1000
_MOST_FILES, _MOST_INSIDE = 200, 8


class LinkNode(NamedTuple):
    """
    Link as written, with the data for reading it.

    file: file name, '' for the first file. device_prefix: for its device names.
    """

    section: Section
    reading: Reading
    file: str = ''
    device_prefix: str = ''


@dataclass
class Composed:
    """Contents of all files. joints: extra joints in the form for `yaml.constraints`."""

    links: list[LinkNode] = field(default_factory=list)
    joints: list[Any] = field(default_factory=list)


def composed(document: Section, reading: Reading, path: Path) -> Composed:
    """Return a body file's links and extra joints, with sub-bodies and tracks expanded."""
    whole = Composed()
    _Expansion(whole).document(document, reading, path, ())
    return whole


class _Expansion:
    def __init__(self, whole: Composed):
        self._whole = whole
        self._documents: dict[Path, Document | None] = {}
        self._count = 0

    def document(
        self, document: Section, reading: Reading, path: Path, inside: tuple[Path, ...]
    ) -> None:
        file = path.name if inside else ''
        inside = (*inside, path.resolve())
        for kind, node in children(document, 'links', reading):
            if kind == _BODY:
                self._sub_body(node, reading, path.parent, inside)
            elif kind == _TRACK:
                self._track(node, reading)
            elif kind in _LINK:
                self._whole.links.append(LinkNode(node, reading, file))
            elif kind != 'Skip':
                node.error(
                    'type', kind, f'is no link; allowed are {_TRACK}, {_BODY}, Link and Skip'
                )
        key = key_of(document, 'extra_joints')
        if document.has(key):
            self._whole.joints += _extra_joints(document, key, reading)

    def _track(self, node: Section, reading: Reading) -> None:
        """Add the shoes of a track: a free first shoe, a chain of others, and a closing hinge."""
        name = node.text('name', _TRACK)
        count = finite(node, key_of(node, 'num_joints'), 0.0)
        if not _LEAST_SHOES <= count <= _MOST_SHOES or not count.is_integer():
            node.error(
                'numJoints', count, f'must be a whole number from {_LEAST_SHOES} to {_MOST_SHOES}'
            )
            return
        offset = node.vector(key_of(node, 'joint_offset'), 3, None)
        if offset is None or not any(offset):
            node.error('jointOffset', '', 'missing; the offset from a shoe to the next one [m]')
            return
        angles = node.matrix(key_of(node, 'initial_joint_angles'))
        angles = np.zeros(0) if angles is None else angles.ravel()
        for k in range(int(count)):
            own = _copy(node, without=(*_OF_TRACK, 'name'))
            own['name'] = f'{name}{k}'
            if k:
                own |= {
                    'parent': f'{name}{k - 1}',
                    'jointType': 'revolute',
                    'translation': list(offset),
                }
                if k <= len(angles):
                    own['jointAngle'] = float(angles[k - 1])
            else:
                own['jointType'] = 'free'
            self._whole.links.append(LinkNode(_section(own, node, reading), reading))
        line = axis(node, key_of(node, 'joint_axis'), reading.findings)
        closing = MappingWithLines(
            {
                'name': f'{name}_closing',
                'type': 'hinge',
                'link1': f'{name}{int(count) - 1}',
                'link2': f'{name}0',
                'position1': list(offset),
                'position2': [0.0, 0.0, 0.0],
                'axis': line.tolist(),
            }
        )
        closing.lines = dict.fromkeys(closing, node.line)
        self._whole.joints.append(closing)

    def _sub_body(
        self, node: Section, reading: Reading, folder: Path, inside: tuple[Path, ...]
    ) -> None:
        uri = node.text('uri', '', required=True)
        if not uri:
            return
        path = folder / uri
        if path.resolve() in inside:
            node.error('uri', uri, 'the file contains itself')
            return
        if len(inside) > _MOST_INSIDE or self._count == _MOST_FILES:
            node.error(
                'uri',
                uri,
                f'at most {_MOST_INSIDE} files may be nested, and '
                f'{_MOST_FILES} files may be in one',
            )
            return
        self._count += 1
        if path not in self._documents:
            self._documents[path] = read_document(
                path, reading.findings, reading.base, str(Path(reading.folder, uri).parent)
            )
        document = self._documents[path]
        if document is None:
            node.error('uri', uri, 'cannot be read as a body file')
            return
        section = document.section
        begin = len(self._whole.links), len(self._whole.joints)
        self.document(section, document.reading, path, inside)
        added = self._whole.links[begin[0] :]
        if not added:
            return
        names = [each.section.peek('name') for each in added]
        root = section.peek(key_of(section, 'root_link')) or names[0]
        _Renamed(node, reading, document.reading).apply(
            self._whole, begin, names.index(root) if root in names else 0
        )


class _Renamed:
    """Changes by a SubBody node to the links in its file."""

    def __init__(self, node: Section, outer: Reading, inner: Reading):
        self._node, self._outer, self._inner = node, outer, inner
        self._prefix = name_in(node, 'prefix')
        self._suffix = name_in(node, 'suffix')
        self._devices = name_in(node, key_of(node, 'device_prefix')) or self._prefix
        self._ids = int(finite(node, key_of(node, 'joint_id_offset'), 0.0))

    def _named(self, name: object) -> str:
        return f'{self._prefix}{name}{self._suffix}'

    def apply(self, whole: Composed, begin: tuple[int, int], root: int) -> None:
        first_link, first_joint = begin
        for k, link in enumerate(whole.links[first_link:]):
            own = _copy(link.section)
            for key in ('name', 'parent', 'joint_name', 'jointName'):
                if own.get(key):
                    own[key] = self._named(own[key])
            for key in ('joint_id', 'jointId'):
                number = own.get(key)
                if isinstance(number, (int, float)) and number >= 0:
                    own[key] = number + self._ids
            if k == root:
                self._override(own)
            whole.links[first_link + k] = LinkNode(
                _section(own, link.section, link.reading),
                link.reading,
                link.file,
                self._devices + link.device_prefix,
            )
        for joint in whole.joints[first_joint:]:
            for key in list(joint):
                if key in (
                    'link1',
                    'link2',
                    'link1_name',
                    'link2_name',
                    'link1Name',
                    'link2Name',
                    'name',
                ):
                    joint[key] = self._named(joint[key])

    def _override(self, own: MappingWithLines) -> None:
        """Replace root link values by the node's values."""
        given = _copy(self._node, without=_OF_BODY)
        if self._outer.angle != self._inner.angle:
            for key in _IN_ANGLES:
                if key in given:
                    self._node.error(
                        key,
                        given[key],
                        'the two files have different angle units; give both the same angleUnit',
                    )
        for key in given:
            for other in _spellings(str(key)):
                own.pop(other, None)
        own |= given
        elements = self._node.peek('elements')
        if elements is not None:
            own['elements'] = [
                {'type': 'Group', 'elements': each}
                for each in (own.get('elements'), elements)
                if each is not None
            ]


def _spellings(key: str) -> Iterable[str]:
    yield key
    for first, second in zip(_IN_ANGLES[1::2], _IN_ANGLES[2::2], strict=True):
        if key in (first, second):
            yield from (first, second)
    for first, second in (
        ('joint_type', 'jointType'),
        ('joint_axis', 'jointAxis'),
        ('joint_id', 'jointId'),
    ):
        if key in (first, second):
            yield from (first, second)


def _copy(section: Section, without: Iterable[str] = ()) -> MappingWithLines:
    """Return a section's content, except some keys."""
    copy = MappingWithLines(
        {name: section.peek(name) for name in section.names() if name not in without}
    )
    copy.lines = {name: section.place(str(name)).line for name in copy}
    return copy


def _section(content: Mapping[str, Any], like: Section, reading: Reading) -> Section:
    name = str(content.get('name', ''))
    return Section(content, f'link.{name}', reading.findings, like.line, name)


def _extra_joints(document: Section, key: str, reading: Reading) -> Iterator[MappingWithLines]:
    """Yield the extra joints, with rotations in the form for the loop joint reader."""
    for section in document.list_of_sections(key):
        joint = _copy(section)
        for k in (1, 2):
            given = f'rotation_in_link{k}'
            if section.has(given):
                del joint[given]
                turned = quaternion_from_matrix(rotation(section, reading, given))
                joint[f'orientation{k}'] = turned.tolist()
        joint.lines = {name: section.place(str(name)).line for name in joint}
        yield joint
