"""
Equality constraints: connect and weld as loop joints, joint equalities as mimic rules.

MuJoCo's constraints are soft; these hold exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from sim_bridge.description.mechanism.tree import check_mimic_limits, resolve_mimics
from sim_bridge.description.mjcf.compiled import CompiledModel, pose_of
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDescription,
    JointType,
    Mimic,
    ONE_AXIS,
    Pose,
)

_LINEAR = 2
_WORLD = ''


def loops_of(
    model: CompiledModel, links: Mapping[int, str], notes: Notes, is_world: bool = False
) -> Iterator[ConstraintDescription]:
    """
    Yield the loop joints between bodies of one robot, or with the world.

    is_world: whether joints between two robots are read elsewhere.
    """
    for number in active(model, ('connect', 'weld')):
        ends = frames_kept_together(model, number)
        bodies = {body for body, _ in ends if body}
        if not bodies & links.keys():
            continue
        if not bodies <= links.keys():
            if not is_world:
                message = 'connects two robots; load the file as a world for both'
                notes.left_out('eq', number, message)
            continue
        names = [links.get(body, _WORLD) for body, _ in ends]
        poses = [pose for _, pose in ends]
        if names[0] == _WORLD:
            names, poses = names[::-1], poses[::-1]
        if names[0] == names[1]:
            continue
        is_weld = model.words('eq_type')[number] == 'weld'
        yield ConstraintDescription(
            model.name('eq', number),
            ConstraintType.FIXED if is_weld else ConstraintType.BALL,
            names[0],
            names[1],
            poses[0].position,
            poses[1].position,
            rotation=poses[0].rotation @ poses[1].rotation.T if is_weld else None,
            line=model.line('eq', number),
        )


def active(model: CompiledModel, kinds: tuple[str, ...]) -> Iterator[int]:
    """Yield the active equalities of these types."""
    for number, kind in enumerate(model.words('eq_type')):
        if kind in kinds and model['eq_active0'][number]:
            yield number


def frames_kept_together(model: CompiledModel, number: int) -> list[tuple[int, Pose]]:
    """Return both bodies, each with its frame; an equality keeps the two frames together."""
    ids = [int(model[f'eq_obj{side}id'][number]) for side in (1, 2)]
    if model.words('eq_objtype')[number] == 'site':
        return [(int(model['site_bodyid'][site]), model.pose('site', site)) for site in ids]
    data = model['eq_data'][number].astype(float)
    if model.words('eq_type')[number] == 'connect':
        return [(ids[0], Pose(data[:3])), (ids[1], Pose(data[3:6]))]
    anchor = Pose(data[:3])
    return [(ids[0], pose_of(data[3:6], data[6:10]) @ anchor), (ids[1], anchor)]


def tree_of(model: CompiledModel, body: int) -> int:
    """Return the root of a body's tree, a child of the world; 0 for the world."""
    return int(model['body_rootid'][body])


def with_mimics(
    joints: Mapping[str, JointDescription], model: CompiledModel, notes: Notes
) -> dict[str, JointDescription]:
    """Return a robot's joints with the rules of its linear joint equalities."""
    found = dict(joints)
    for number in active(model, ('joint',)):
        follower = model.name('jnt', int(model['eq_obj1id'][number]))
        if follower not in found:
            continue
        if int(model['eq_obj2id'][number]) < 0:
            found[follower] = _locked(model, number, found[follower], notes)
            continue
        mimic = _mimic(model, number, found, notes)
        if mimic is not None:
            found[follower] = replace(found[follower], mimic=mimic)
    if any(joint.mimic is not None for joint in found.values()):
        found = resolve_mimics(found, notes.findings)
        check_mimic_limits(found, notes.findings)
    return found


def _locked(
    model: CompiledModel, number: int, joint: JointDescription, notes: Notes
) -> JointDescription:
    """Return a joint held at one position, by its limits."""
    if joint.type not in ONE_AXIS:
        notes.left_out('eq', number, 'locks a joint with several axes')
        return joint
    start = model['qpos0'][model['jnt_qposadr'][model['eq_obj1id'][number]]]
    position = float(start) + float(model['eq_data'][number, 0])
    limits = replace(joint.limits, lower=position, upper=position)
    kind = JointType.REVOLUTE if joint.type is JointType.CONTINUOUS else joint.type
    return replace(joint, type=kind, limits=limits)


def _mimic(
    model: CompiledModel, number: int, joints: Mapping[str, JointDescription], notes: Notes
) -> Mimic | None:
    one, other = (int(model[f'eq_obj{side}id'][number]) for side in (1, 2))
    names = [model.name('jnt', joint) for joint in (one, other)]
    if names[1] not in joints:
        notes.left_out('eq', number, 'couples two robots; couplings hold within one robot')
        return None
    if joints[names[0]].mimic is not None or any(
        joints[name].type not in ONE_AXIS for name in names
    ):
        notes.left_out('eq', number, 'a joint follows one other joint, and both have one axis')
        return None
    factors = model['eq_data'][number].astype(float)
    if np.any(factors[_LINEAR:5]):
        notes.left_out('eq', number, 'joints follow others linearly alone', 'polycoef')
        return None
    start, begin = (float(model['qpos0'][model['jnt_qposadr'][joint]]) for joint in (one, other))
    offset = start + float(factors[0]) - float(factors[1]) * begin
    return Mimic(names[1], float(factors[1]), offset)


def name_others(model: CompiledModel, notes: Notes) -> None:
    """Name equalities without simulation."""
    if not {'equality', 'constraint'}.isdisjoint(model.texts['disabled']):
        return
    for number, kind in enumerate(model.words('eq_type')):
        if not model['eq_active0'][number]:
            notes.left_out('eq', number, 'is inactive at the beginning, and stays so', 'active')
        elif kind not in ('connect', 'weld', 'joint'):
            notes.left_out('eq', number, f'equalities of type {kind} are not simulated')
