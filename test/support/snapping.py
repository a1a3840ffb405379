"""Assemblies for SNAP, and an independent evaluation of their mates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.snap import SnapConnector, SnapFrame, SnapMate

X, Y, Z = np.eye(3)


def turn(axis, angle):
    """Return the rotation about an axis, by Rodrigues' formula."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def at(*position, R=None):
    """Return a pose, by position and rotation."""
    place = np.array([*position, 0, 0, 0][:3], dtype=float)
    return Pose(place, np.eye(3) if R is None else R)


def joined(*poses):
    """Return the last frame's pose in the first one's parent."""
    place, rotation = np.zeros(3), np.eye(3)
    for pose in poses:
        place, rotation = place + rotation @ pose.position, rotation @ pose.rotation
    return Pose(place, rotation)


def undone(pose):
    """Return a pose's inverse."""
    return Pose(-pose.rotation.T @ pose.position, pose.rotation.T)


def random_pose(rng, length=1.0):
    """Return a random pose."""
    rotation = turn(rng.normal(size=3), rng.uniform(0, np.pi))
    return Pose(length * rng.normal(size=3), rotation)


def mate(path, kind, first, at_first, second, at_second, **values):
    """Return a mate between frames, given by their paths and the poses of connectors in them."""
    return SnapMate(
        path, kind, SnapConnector(first, at_first), SnapConnector(second, at_second), **values
    )


def explicit(one):
    """Return a mate with explicit initial coordinates from the file."""
    return replace(one, explicit_angle=True, explicit_position=True)


def swapped(one):
    """Return a mate with swapped connectors."""
    return replace(one, first=one.second, second=one.first)


def in_world(frames, result):
    """Return all frames' world poses, by path."""
    parents = {frame.path: frame.parent for frame in frames}

    def walk(path):
        return at() if not path else joined(walk(parents[path]), result.transforms[path])

    return {path: walk(path) for path in ['', *parents]}


def coordinates(one, poses):
    """Return a mate's pose: the second connector in the first."""
    ends = [joined(poses[side.frame], side.pose) for side in (one.first, one.second)]
    return joined(undone(ends[0]), ends[1])


def miss(one, poses):
    """Return a mate's violation, without explicit coordinates: the greater of m and rad."""
    relative = coordinates(one, poses)
    p, R = relative.position, relative.rotation
    tilt = np.linalg.norm(np.cross(Z, R[:, 2])) + (R[2, 2] < 0)
    twist = np.linalg.norm(R - np.eye(3))
    return {
        'lock': max(np.linalg.norm(p), twist),
        'hinge': max(np.linalg.norm(p), tilt),
        'prismatic': max(np.hypot(p[0], p[1]), twist),
        'cylindrical': max(np.hypot(p[0], p[1]), tilt),
        'planar': max(abs(p[2]), tilt),
        'ball': np.linalg.norm(p),
        'distance': abs(np.linalg.norm(p) - one.distance),
    }[one.kind]


def worst(frames, mates, result):
    """Return the greatest violation among enabled mates."""
    poses = in_world(frames, result)
    return max(miss(one, poses) for one in mates if one.enabled)


def four_bar(lengths, **of_crank):
    """
    Return frames and mates of a four-bar linkage in the xy plane.

    lengths: crank, coupler, rocker and ground [m]. Hinges A and D are on the ground, at 0 and
    along x; B and C on the coupler.
    """
    a, b, c, d = lengths
    frames = [SnapFrame(name) for name in ('crank', 'coupler', 'rocker')]
    mates = [
        mate('A', 'hinge', '', at(), 'crank', at(), **of_crank),
        mate('B', 'hinge', 'crank', at(a), 'coupler', at()),
        mate('C', 'hinge', 'coupler', at(b), 'rocker', at(c)),
        mate('D', 'hinge', '', at(d), 'rocker', at()),
    ]
    return frames, mates


def ring(rng, count, spread):
    """
    Return frames and mates of a closed ring of hinges in space, and its closed world poses.

    The frames are random, and every hinge fits them at a random angle. The mates' angles are wrong
    by up to `spread` [rad].
    """
    poses = [at(), *(random_pose(rng) for _ in range(count - 1))]
    names = ['', *(f'link{k}' for k in range(1, count))]
    mates = []
    for k in range(count):
        other = (k + 1) % count
        hinge, angle = random_pose(rng), rng.uniform(-np.pi, np.pi)
        first = joined(undone(poses[k]), hinge)
        second = joined(undone(poses[other]), hinge, at(R=turn(Z, angle)))
        start = angle + rng.uniform(-spread, spread)
        ends = names[k], first, names[other], second
        mates.append(mate(f'hinge{k}', 'hinge', *ends, angle=start))
    return [SnapFrame(name) for name in names[1:]], mates, dict(zip(names, poses, strict=True))
