"""Scene assembly: systems, bodies and mates as input for SNAP, and the result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
import math
from typing import cast

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.openplx.snap import (
    miss,
    nearest,
    snap,
    SnapConnector,
    SnapFrame,
    SnapMate,
    SnapResult,
)
from sim_bridge.description.openplx.values import pose, quaternion, vector
from sim_bridge.description.report import Findings
from sim_bridge.foundation.names import counted

SYSTEM = 'Physics3D.System'
BODY = 'Physics3D.Bodies.Body'
MATE = 'Physics3D.Interactions.Mate'
_MATES = 'Physics3D.Interactions.'
KINDS = {
    f'{_MATES}{name}': name.lower()
    for name in ('Lock', 'Hinge', 'Prismatic', 'Cylindrical', 'Ball', 'Distance')
}
_CONNECTOR = f'{_MATES}MateConnector'
# indices for a vector product
_YZX, _ZXY = [1, 2, 0], [2, 0, 1]
# path for the root's frame, whose own path is ''
ROOT = '.'
# sine of the angle between a main axis and its normal below which they count as parallel
_PARALLEL = 1e-9
# gaps treated as zero, as rounding of files with few digits, and as tolerable for the engine where
# joints contradict each other [m, rad]; for lengths above 1 m, multiplied by the length
_EXACT, _ROUNDING, _BORNE = 1e-9, 1e-4, 1e-3


@dataclass(frozen=True, eq=False)
class Side:
    """
    One side of a mate between two bodies.

    body: body path, '' for the world. pose: connector pose in the body's frame; its z is the
    main axis, its x the normal.
    """

    body: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class Mate:
    """
    Mate between two bodies, or between a body and the world.

    kind: a value of KINDS. sides: for connectors[0] and connectors[1]. relative: pose of the
    second connector in the first. angle, position: its coordinates there, about z [rad] and along
    z [m]. distance: length kept by a distance mate [m]. gap: misfit of SNAP's poses, including
    the initial coordinates [m, rad]. strain: misfit of the bodies' poses in the held directions
    [m, rad]. is_open: whether strain exceeds rounding. is_enabled: initial state; SNAP uses the
    mate in any case.
    """

    source: Object
    kind: str
    sides: tuple[Side, Side]
    relative: Pose
    angle: float
    position: float
    distance: float = 0.0
    gap: tuple[float, float] = (0.0, 0.0)
    strain: tuple[float, float] = (0.0, 0.0)
    is_open: bool = False
    is_enabled: bool = True

    @property
    def path(self) -> str:
        """The mate's object path."""
        return self.source.path

    @property
    def snapped(self) -> SnapMate:
        """The mate in SNAP's form, between bodies, at its present coordinates."""
        first, second = (SnapConnector(side.body, side.pose) for side in self.sides)
        return SnapMate(
            self.path, self.kind, first, second, self.angle, self.position, distance=self.distance
        )

    @property
    def settled(self) -> Mate:
        """The mate with its second side moved to where it holds, if its strain is rounding."""
        if self.is_open or not any(self.strain):
            return self
        first, second = self.sides
        holds = nearest(self.snapped, self.relative)
        on_body = second.pose @ self.relative.inverse @ holds
        return replace(self, sides=(first, Side(second.body, on_body)), relative=holds)


@dataclass(frozen=True, eq=False)
class Assembly:
    """
    Assembled scene.

    frames: systems and bodies by path, `ROOT` for the root, in definition order. poses: frame
    poses in the scene's world. mates: in definition order. result: SNAP's result.
    """

    frames: Mapping[str, Object]
    poses: Mapping[str, Pose]
    mates: tuple[Mate, ...]
    result: SnapResult

    @property
    def bodies(self) -> dict[str, Object]:
        """Bodies, by path."""
        return {path: each for path, each in self.frames.items() if each.is_a(BODY)}


def assemble(root: Object, findings: Findings) -> Assembly | None:
    """
    Return a scene assembled by SNAP; None, with errors noted, if its input is faulty.

    Unsatisfied mates are in the result and cause no findings.
    """
    frames = {frame_path(each): each for each in root.walk() if _transform_of(each)}
    if ROOT not in frames:
        findings.error('not-a-system', root.place, 'is neither a system nor a body')
        return None
    count = len(findings.found)
    reference = {id(each.members.get('reference_body')) for each in frames.values()}
    snapped = [
        SnapFrame(
            path, _parent(each), _given_transform(each, path, findings), id(each) in reference
        )
        for path, each in frames.items()
    ]
    mates = [each for each in root.walk() if each.is_a(MATE)]
    read = [_snap_mate(each, findings) for each in mates]
    known = {id(each) for each in frames.values()}
    for each in mates:
        _check_frames(each, known, findings)
    if any(finding.severity == 'error' for finding in list(findings.found)[count:]):
        return None
    result = snap(snapped, [mate for mate in read if mate is not None])
    poses: dict[str, Pose] = {'': Pose()}
    for frame in snapped:
        # parents precede their children
        poses[frame.path] = poses[frame.parent] @ result.transforms[frame.path]
    for path, placed in poses.items():
        if not (np.isfinite(placed.position).all() and np.isfinite(placed.rotation).all()):
            findings.error('not-finite', frames[path].place, 'its pose is not finite')
            return None
    gaps = {each.mate: (each.gap, each.angle) for each in result.unsatisfied}
    return Assembly(
        frames,
        poses,
        tuple(_placed(each, gaps.get(each.path, (0.0, 0.0)), poses) for each in mates),
        result,
    )


def contradicted(
    assembly: Assembly, mates: Iterable[Mate], resting: Collection[str]
) -> frozenset[str]:
    """
    Return the paths of open mates left open by every assembly, whatever transforms are given.

    mates: rigid mates. resting: paths of bodies not moved by mates.
    """
    mates = tuple(mates)
    frames = [
        SnapFrame(path, transform=assembly.poses[path] if path in resting else None)
        for path in assembly.bodies
    ]
    result = snap(frames, [mate.snapped for mate in mates])
    left = {each.mate for each in result.unsatisfied if max(each.gap, each.angle) > _BORNE}
    found = {mate.path for mate in mates if mate.is_open}
    # if SNAP leaves other mates open instead, no assembly closes all of them
    return frozenset(found & left or found if left else ())


def frame_path(frame: Object) -> str:
    """Return the path of a system or body; `ROOT` for the root."""
    return frame.path or ROOT


def frame_of(thing: Object) -> Object | None:
    """Return the innermost system or body owning an object, or the object itself."""
    return next((each for each in owners(thing) if _transform_of(each)), None)


def owners(thing: Object) -> Iterator[Object]:
    """Yield an object and all its owners, from the inside."""
    held: Object | None = thing
    while held is not None:
        yield held
        held = held.owner


def connector_pose(connector: Object, findings: Findings) -> Pose:
    """Return a connector's pose in its owning frame; z is the main axis, x the normal."""
    position, main, normal = (
        vector(cast(Object, connector[name])) for name in ('position', 'main_axis', 'normal')
    )
    length = math.hypot(*main)
    z = main / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    if not length > 0.0:
        findings.error('zero-axis', connector.place_of('main_axis'), 'the main axis has no length')
    x = normal - (normal @ z) * z
    across = math.hypot(*x)
    if not across > _PARALLEL * math.hypot(*normal):
        if length > 0.0:
            findings.error(
                'parallel-normal',
                connector.place_of('normal'),
                'the normal is along the main axis: it must point across',
            )
        return Pose(position)
    x = x / across
    y = z[_YZX] * x[_ZXY] - z[_ZXY] * x[_YZX]
    return Pose(position, np.array([x, y, z]).T)


def connectors_of(interaction: Object, findings: Findings) -> tuple[Object, Object] | None:
    """Return an interaction's two connectors; None, with an error noted, if not two."""
    given = interaction['connectors']
    if isinstance(given, tuple) and len(given) == 2:
        first, second = given
        if isinstance(first, Object) and isinstance(second, Object):
            return first, second
    count = len(given) if isinstance(given, tuple) else 0
    findings.error(
        'connectors',
        interaction.place_of('connectors'),
        f'has {counted(count, "connector")}, not two',
    )
    return None


def body_of(connector: Object) -> str:
    """Return the path of the body carrying a connector, '' for the world."""
    if connector.is_a(f'{_MATES}RedirectedMateConnector'):
        redirected = connector['redirected_parent']
        return frame_path(cast(Object, redirected))
    carrier = frame_of(connector)
    return frame_path(carrier) if carrier is not None and carrier.is_a(BODY) else ''


def world_pose(connector: Object, poses: Mapping[str, Pose]) -> Pose:
    """Return a connector's pose in the scene's world. poses: frame poses."""
    return poses[_carrier(connector)] @ connector_pose(connector, Findings())


def coordinates(relative: Pose, near: float = 0.0) -> tuple[float, float]:
    """
    Return a relative pose's angle [rad] about and position [m] along z.

    near: angle selecting the full turns.
    """
    angle = math.atan2(
        relative.rotation[1, 0] - relative.rotation[0, 1],
        relative.rotation[0, 0] + relative.rotation[1, 1],
    )
    turns = round((near - angle) / math.tau)
    return angle + math.tau * turns, float(relative.position[2])


def _transform_of(thing: Object) -> str:
    """Return the transform path in a system or body; '' for other objects."""
    if thing.is_a(SYSTEM):
        return 'local_transform'
    return 'kinematics.local_transform' if thing.is_a(BODY) else ''


def _parent(frame: Object) -> str:
    if frame.owner is None:
        return ''
    outer = frame_of(frame.owner)
    return '' if outer is None else frame_path(outer)


def _given_transform(frame: Object, path: str, findings: Findings) -> Pose | None:
    """Return a frame's transform; None if nobody has set it."""
    member = _transform_of(frame)
    if not frame.is_assigned(member):
        # the root frame coincides with the world
        return Pose() if path == ROOT else None
    length = float(np.linalg.norm(quaternion(cast(Object, frame[f'{member}.rotation']))))
    if not length > 0.0 or not math.isfinite(length):
        findings.error(
            'zero-quaternion',
            frame.place_of(f'{member}.rotation'),
            'the zero quaternion is no rotation',
        )
        return Pose()
    return pose(cast(Object, frame[member]))


def _carrier(connector: Object) -> str:
    """Return the path of a connector's reference frame, '' for the world."""
    if connector.is_a(f'{_MATES}World'):
        return ''
    carrier = frame_of(connector)
    return '' if carrier is None else frame_path(carrier)


def _is_adaptive(connector: Object) -> bool:
    return connector.is_a(f'{_MATES}AdaptiveMateConnector')


def _snap_mate(mate: Object, findings: Findings) -> SnapMate | None:
    """Return a mate in SNAP's form; None, with an error noted, for an unknown kind."""
    pair = connectors_of(mate, findings)
    kind = next((word for name, word in KINDS.items() if mate.is_a(name)), None)
    if kind is None:
        findings.error(
            'unsupported-mate',
            mate.place,
            f'mates of model {mate.model.name!r} are not simulated; known are {", ".join(KINDS)}',
        )
    if pair is None or kind is None:
        return None
    bodies = [body_of(connector) for connector in pair]
    if bodies[0] == bodies[1]:
        message = (
            'both connectors are on the same body'
            if bodies[0]
            else 'neither connector is on a body: a mate needs one at least'
        )
        findings.error('mate-without-body', mate.place_of('connectors'), message)
    adaptive = [_is_adaptive(connector) for connector in pair]
    if all(adaptive):
        findings.error(
            'mate-without-body',
            mate.place_of('connectors'),
            'both connectors are adaptive: one must have a pose',
        )
    first, second = (
        SnapConnector(_carrier(connector), connector_pose(connector, findings))
        for connector in pair
    )
    angle, position = (f'initial_{name}' for name in ('angle', 'position'))
    for name in (angle, position, 'initial_distance', 'target_distance'):
        if not math.isfinite(_number(mate, name)):
            findings.error('not-finite', mate.place_of(name), 'must be finite')
    return SnapMate(
        mate.path,
        kind,
        first,
        second,
        _number(mate, angle),
        _number(mate, position),
        angle in mate and mate.is_assigned(angle),
        position in mate and mate.is_assigned(position),
        _number(mate, 'initial_distance'),
        bool(mate['enable_snap']) and not any(adaptive),
    )


def _number(mate: Object, name: str) -> float:
    return cast(float, mate.members.get(name, 0.0))


def _check_frames(mate: Object, known: set[int], findings: Findings) -> None:
    """Report connectors and bodies outside the root's object tree."""
    given = mate['connectors']
    for connector in given if isinstance(given, tuple) else ():
        if not isinstance(connector, Object) or connector.is_a(f'{_MATES}World'):
            continue
        carriers = [frame_of(connector), connector.members.get('redirected_parent')]
        for carrier in filter(None, carriers):
            if id(carrier) not in known:
                findings.error(
                    'outside-the-scene',
                    mate.place_of('connectors'),
                    f'connector {connector.path!r} is outside the scene',
                )


def _placed(mate: Object, gap: tuple[float, float], poses: Mapping[str, Pose]) -> Mate:
    """Return a mate with its connectors placed on the bodies."""
    given = cast('tuple[Object, Object]', mate['connectors'])
    where = [world_pose(connector, poses) for connector in given]
    for this, other in ((0, 1), (1, 0)):
        if _is_adaptive(given[this]):
            where[this] = where[other]
    first, second = (
        Side(body, poses[body].inverse @ at)
        for body, at in zip(map(body_of, given), where, strict=True)
    )
    relative = where[0].inverse @ where[1]
    angle, position = coordinates(relative, _number(mate, 'initial_angle'))
    kind = next(word for name, word in KINDS.items() if mate.is_a(name))
    own = Mate(
        mate,
        kind,
        (first, second),
        relative,
        angle,
        position,
        _number(mate, 'target_distance'),
        gap,
        is_enabled=bool(mate['enabled']),
    )
    strain = miss(own.snapped, relative)
    lengths = max(1.0, *(float(np.abs(at.position).max()) for at in where))
    worst = max(strain[0] / lengths, strain[1])
    return replace(own, strain=strain if worst > _EXACT else (0.0, 0.0), is_open=worst > _ROUNDING)
