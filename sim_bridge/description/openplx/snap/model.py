"""SNAP's input and output: frames, mates between them, and the assembly trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import enum
from typing import NamedTuple

from sim_bridge.description.model import Pose

# mate kinds, by the free motions of connectors[1] in connectors[0]
KINDS = ('lock', 'hinge', 'prismatic', 'cylindrical', 'planar', 'ball', 'distance')


class Why(enum.Enum):
    """SNAP's decision in a step."""

    SNAPPED = 'snapped'
    FORCED = 'forced to identity'
    REMOVED = 'degree of freedom removed'
    SATISFIED = 'satisfied as it is'
    ROTATED = 'rotated'
    SHIFTED = 'shifted'
    MOVED = 'rotated and shifted'
    CLOSED = 'closed'
    UNSATISFIED = 'not satisfied'


@dataclass(frozen=True, eq=False)
class SnapFrame:
    """
    System or body, with a transform relative to its parent.

    path: unique name, not ''. parent: the parent's path, '' for the world, not in the frame list.
    transform: in the parent; None if undefined, to be found by SNAP. is_reference:
    whether it is a system's reference body, forced to the identity before others.
    """

    path: str
    parent: str = ''
    transform: Pose | None = None
    is_reference: bool = False


@dataclass(frozen=True, eq=False)
class SnapConnector:
    """
    One side of a mate.

    frame: the carrying frame's path, '' for the world. pose: connector pose in that frame; its z
    is the main axis, its x the normal.
    """

    frame: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class SnapMate:
    """
    Mate between two connectors.

    kind: one of KINDS. angle, position: initial coordinates of the second connector in the first:
    about z [rad] (hinge, cylindrical), along z [m] (prismatic, cylindrical). A lock, planar or
    ball mate has none. explicit_angle, explicit_position: whether the file gives them, so that
    SNAP may not use them as degrees of freedom. distance: between a distance mate's connectors,
    along z of the first unless other mates require another direction [m]. enabled: whether
    SNAP uses the mate.
    """

    path: str
    kind: str
    first: SnapConnector
    second: SnapConnector
    angle: float = 0.0
    position: float = 0.0
    explicit_angle: bool = False
    explicit_position: bool = False
    distance: float = 0.0
    enabled: bool = True


@dataclass(frozen=True)
class SnapStep:
    """
    One decision.

    why: kind of decision. mate: the causing mate's path, '' if there is none. frames: paths of the
    placed or moved frames.
    """

    why: Why
    mate: str
    frames: tuple[str, ...]

    def __str__(self) -> str:
        """Return the step as a line, such as 'rod: snapped (world_lock)'."""
        if not self.frames:
            return f'{self.mate}: {self.why.value}'
        return f'{", ".join(self.frames)}: {self.why.value}' + f' ({self.mate})' * bool(self.mate)


class Unsatisfied(NamedTuple):
    """Open mate: its path, and its connectors' misfit [m], [rad]."""

    mate: str
    gap: float
    angle: float

    def __str__(self) -> str:
        """Return the mate and its gaps as a line."""
        return f'{self.mate}: {self.gap:.3g} m and {self.angle:.3g} rad apart'


@dataclass(frozen=True, eq=False)
class SnapResult:
    """
    Assembly result.

    transforms: every frame's pose in its parent, in frame order. steps: trace, in
    decision order. unsatisfied: open mates among the enabled ones, in definition order.
    """

    transforms: Mapping[str, Pose]
    steps: tuple[SnapStep, ...]
    unsatisfied: tuple[Unsatisfied, ...]
