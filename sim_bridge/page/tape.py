"""Tape: a recorded motion as plain data, structures with frames over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.page.channel import CONTACTS, Frame, NUMBERS, Sizes
from sim_bridge.page.records import JointRecord, LinkRecord, Mark, Mesh, MeshFile, Part, Structure

AWAY = np.array([1.3, -1.7, 1.0])
"""Vector from the target to the camera, relative to the size (see `extent`)."""
_TIME, _CONTACTS = NUMBERS.index('time'), NUMBERS.index('contacts')


class Moment(NamedTuple):
    """State at a recorded instant: arrays as in `Frame`, contacts without unused rows."""

    time: float
    poses: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    asleep: np.ndarray
    contacts: np.ndarray
    contact_links: np.ndarray


class Take(NamedTuple):
    """Tape part with one structure. moments: at least one, in time order."""

    structure: Structure
    sizes: Sizes
    moments: list[Moment]


class Tape(NamedTuple):
    """Recorded motion. takes: at least one. marks: in time order."""

    title: str
    takes: list[Take]
    marks: list[Mark]

    @property
    def begin(self) -> float:
        """First moment's time [s]."""
        return self.takes[0].moments[0].time

    @property
    def end(self) -> float:
        """Last moment's time [s]."""
        return self.takes[-1].moments[-1].time

    def cut(self, begin: float, end: float) -> Tape | None:
        """Return the part between two times [s], None if it is empty."""
        takes = [
            take._replace(
                moments=[moment for moment in take.moments if begin <= moment.time <= end]
            )
            for take in self.takes
        ]
        kept = [take for take in takes if take.moments]
        marks = [mark for mark in self.marks if begin <= mark.time <= end]
        return Tape(self.title, kept, marks) if kept else None

    def at(self, time: float) -> tuple[int, int]:
        """Return take and moment index at a time [s]."""
        starts = [take.moments[0].time for take in self.takes]
        number = max(int(np.searchsorted(starts, time, 'right')) - 1, 0)
        moments = [moment.time for moment in self.takes[number].moments]
        return number, max(int(np.searchsorted(moments, time, 'right')) - 1, 0)


def fill(frame: Frame, moment: Moment) -> None:
    """Write a moment to a frame from its take."""
    for name in ('poses', 'q', 'v', 'u', 'asleep'):
        np.copyto(getattr(frame, name), getattr(moment, name))
    count = len(moment.contacts)
    frame.contacts[:count], frame.contact_links[:count] = moment.contacts, moment.contact_links
    frame.numbers[:] = 0.0
    frame.numbers[_TIME], frame.numbers[_CONTACTS] = moment.time, count


def still(take: Take) -> np.ndarray:
    """Return which links never move: (links,) booleans."""
    first = take.moments[0].poses
    return np.all([(moment.poses == first).all(axis=1) for moment in take.moments], axis=0)


def extent(tape: Tape) -> tuple[np.ndarray, float]:
    """Return centre (3,) and size [m] around all moving links, or all links if none moves."""
    points, reach = [], 0.0
    for take in tape.takes:
        chosen = np.flatnonzero(~still(take))
        if not len(chosen):
            chosen = np.arange(len(take.structure.links))
        if len(chosen):
            reach = max(reach, *(_reach(take.structure, link) for link in chosen.tolist()))
            points.append(
                np.concatenate(
                    [
                        moment.poses[chosen, 9:]
                        for moment in take.moments[:: max(1, len(take.moments) // 50)]
                    ]
                )
            )
    if not points:
        return np.zeros(3), 1.0
    every = np.concatenate(points)
    low, high = np.percentile(every, (2, 98), axis=0)
    return 0.5 * (low + high), max(float(np.linalg.norm(high - low)), reach, 0.3)


def _reach(structure: Structure, link: int) -> float:
    """Return a link's greatest surface distance from its origin [m]; files count as 0."""
    found = [0.0]
    for part in structure.parts:
        mesh = structure.meshes[part.mesh]
        if part.link == link and isinstance(mesh, Mesh):
            corners = np.array([mesh.vertices.min(0), mesh.vertices.max(0)]) * part.scale
            found.append(
                float(np.linalg.norm(part.position) + np.linalg.norm(np.abs(corners).max(axis=0)))
            )
    return max(found)


def together(tapes: list[Tape], spacing: float = 0.0, opacity: float = 0.35) -> Tape:
    """
    Return tapes as one: the later ones as ghosts, or side by side.

    spacing: distance along y between two tapes [m]; 0 for ghosts. Ghosts have the given opacity,
    and links that never move are shown once. Each tape contributes its first take; times count
    from the beginning of each. The moments are those of the longest tape.
    """
    takes = [tape.takes[0] for tape in tapes]
    meshes: list[Mesh | MeshFile] = []
    parts: list[Part] = []
    links: list[LinkRecord] = []
    joints: list[JointRecord] = []
    q = v = 0
    for number, (tape, take) in enumerate(zip(tapes, takes, strict=True)):
        structure, is_still = take.structure, still(take)
        first_mesh, first_link = len(meshes), len(links)
        meshes += structure.meshes
        for part in structure.parts:
            if number and not spacing and is_still[part.link]:
                continue
            fade = opacity if number and not spacing else 1.0
            parts.append(
                part._replace(
                    link=part.link + first_link,
                    mesh=part.mesh + first_mesh,
                    color=(*part.color[:3], part.color[3] * fade),
                )
            )
        links += [link._replace(robot=f'{tape.title}: {link.robot}') for link in structure.links]
        joints += [
            joint._replace(
                robot=f'{tape.title}: {joint.robot}',
                row=joint.row + q,
                v_row=joint.v_row + v,
                link=joint.link + first_link,
            )
            for joint in structure.joints
        ]
        q, v = q + take.sizes.positions, v + take.sizes.velocities
    first = takes[0].structure
    structure = first._replace(
        title=' | '.join(tape.title for tape in tapes),
        meshes=tuple(meshes),
        parts=tuple(parts),
        links=tuple(links),
        joints=tuple(joints),
        signals=(),
    )
    longest = max(tapes, key=lambda tape: tape.takes[0].moments[-1].time - tape.begin)
    moments = []
    for own in longest.takes[0].moments:
        passed = own.time - longest.begin
        moments.append(
            _joined(
                own.time,
                [
                    take.moments[
                        min(Tape('', [take], []).at(tape.begin + passed)[1], len(take.moments) - 1)
                    ]
                    for tape, take in zip(tapes, takes, strict=True)
                ],
                spacing,
            )
        )
    marks = sorted(
        (
            mark._replace(
                time=mark.time - tape.begin + longest.begin, text=f'{tape.title}: {mark.text}'
            )
            for tape in tapes
            for mark in tape.marks
        ),
        key=lambda mark: mark.time,
    )
    sizes = Sizes(len(links), q, v, 0)
    return Tape(structure.title, [Take(structure, sizes, moments)], marks)


def _joined(time: float, moments: list[Moment], spacing: float) -> Moment:
    """Return moments of several tapes as one."""
    poses, contacts, contact_links, first = [], [], [], 0
    for number, moment in enumerate(moments):
        own, points = moment.poses.copy(), moment.contacts.copy()
        own[:, 10] += number * spacing
        points[:, 1] += number * spacing
        poses.append(own)
        contacts.append(points)
        contact_links.append(moment.contact_links + first)
        first += len(own)
    q, v, u, asleep = (
        np.concatenate([getattr(each, name) for each in moments])
        for name in ('q', 'v', 'u', 'asleep')
    )
    return Moment(
        time,
        np.concatenate(poses),
        q,
        v,
        u,
        asleep,
        np.concatenate(contacts)[:CONTACTS],
        np.concatenate(contact_links)[:CONTACTS],
    )
