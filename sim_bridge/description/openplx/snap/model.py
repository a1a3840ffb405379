"""What SNAP takes and returns: frames, mates between them, and how they were placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import enum
from typing import NamedTuple

from sim_bridge.description.model import Pose

# kinds of mates: what connectors[1] can do in connectors[0]
KINDS = ('lock', 'hinge', 'prismatic', 'cylindrical', 'planar', 'ball', 'distance')


class Why(enum.Enum):
    """What SNAP decided in a step."""

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
    A frame that has a transform relative to its parent: a system or a body.

    path: its name, unique, not ''. parent: path of the parent, '' for the world, which is no
    frame of the list. transform: of the frame in its parent; None where it is undefined, so that
    SNAP finds it. is_reference: whether it is the reference body of a system, which is forced to
    the identity before others.
    """

    path: str
    parent: str = ''
    transform: Pose | None = None
    is_reference: bool = False


@dataclass(frozen=True, eq=False)
class SnapConnector:
    """
    One side of a mate.

    frame: path of the frame that carries it, '' for the world. pose: of the connector in that
    frame; its z is the main axis, its x the normal.
    """

    frame: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class SnapMate:
    """
    A mate between two connectors.

    kind: one of KINDS. angle, position: the initial coordinates of the second connector in the
    first: about z [rad] (hinge, cylindrical), along z [m] (prismatic, cylindrical). A lock, planar
    or ball mate has none. explicit_angle, explicit_position: whether the file gives them, so that
    they are no degrees of freedom that SNAP may use. distance: of a distance mate's connectors,
    along z of the first as long as nothing else is asked for [m]. enabled: whether SNAP uses it.
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

    why: what was done. mate: path of the mate that asked for it, '' where none did. frames: paths
    of the frames that were placed or moved.
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
    """A mate that does not hold: its path, and by how much its connectors miss [m], [rad]."""

    mate: str
    gap: float
    angle: float

    def __str__(self) -> str:
        """Return the mate and its gaps as a line."""
        return f'{self.mate}: {self.gap:.3g} m and {self.angle:.3g} rad apart'


@dataclass(frozen=True, eq=False)
class SnapResult:
    """
    The assembly.

    transforms: of every frame in its parent, in the order of the frames. steps: the trace, in the
    order of the decisions. unsatisfied: enabled mates that do not hold, in order of definition.
    """

    transforms: Mapping[str, Pose]
    steps: tuple[SnapStep, ...]
    unsatisfied: tuple[Unsatisfied, ...]
