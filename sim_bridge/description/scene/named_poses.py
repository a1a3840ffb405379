"""
Named poses in scenes, for clients that spawn or navigate.

    named_poses:
      dock: {position: [1, 2, 0], rpy: [0, 0, 1.57], description: beside the charger,
             tags: [spawn], size: [0.6, 0.6, 0.4]}

size: box around the pose, along its axes [m]; none if absent.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_bridge.description.yaml.section import Section

KEY = 'named_poses'


@dataclass(frozen=True)
class NamedPose:
    """
    Pose with a name.

    position: (3,) [m], world. orientation: quaternion x y z w. size: (3,) edges of a box centred
    at the pose, along its axes [m]; None for none.
    """

    name: str
    position: tuple[float, ...]
    orientation: tuple[float, ...]
    description: str = ''
    tags: tuple[str, ...] = ()
    size: tuple[float, ...] | None = None


def read_named_poses(world: Section) -> tuple[NamedPose, ...]:
    """Return the poses at the key `named_poses`; defects are noted."""
    return tuple(map(_read, world.sections(KEY)))


def _read(section: Section) -> NamedPose:
    pose = section.pose()
    size = section.vector('size', 3, None)
    if size is not None and min(size) <= 0.0:
        section.error('size', list(size), 'must be above 0 [m]')
        size = None
    read = NamedPose(
        section.name,
        pose['position'],
        pose['orientation'],
        section.text('description', ''),
        section.texts('tags') or (),
        size,
    )
    section.close()
    return read
