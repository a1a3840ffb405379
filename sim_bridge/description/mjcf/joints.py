"""
Joints of MJCF bodies.

A body with several joints gets a massless link before each further joint. All links of the body
have its frame, so that MuJoCo's anchors and axes keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np

from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import (
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    Pose,
)
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import matrix_from_axis_angle

_X = np.array([1.0, 0.0, 0.0])
# features of one joint kind that others lack, by array; named where the value is not 0
_NONLINEAR = {
    'jnt_stiffnesspoly': ('springs with higher powers', 'stiffness'),
    'jnt_springyield': ('springs that yield', 'springyield'),
}


def joints_of(
    model: CompiledModel, body: int, parent: str, name: str, taken: set[str], notes: Notes
) -> Iterator[tuple[JointDescription, LinkDescription | None]]:
    """
    Yield the joints of a body, from its parent link to its own; a fixed one for none.

    name: the body's own link. With each joint but the last comes the massless link that it moves.
    taken: link names in use.
    """
    numbers = model.of_body('jnt', body)
    frame = model.pose('body', body)
    line = model.line('body', body)
    if not numbers:
        joint_name = f'{name}_fixed'
        yield (
            JointDescription(joint_name, JointType.FIXED, parent, name, frame, _X, line=line),
            None,
        )
        return
    for number in numbers:
        is_last = number == numbers[-1]
        child, link = name, None
        if not is_last:
            child = free_name(f'{model.name("jnt", number)}_link', taken.__contains__)
            taken.add(child)
            link = LinkDescription(child, line=line)
        yield _joint(model, number, parent, child, frame, notes), link
        parent, frame = child, Pose()


def _joint(
    model: CompiledModel, number: int, parent: str, child: str, frame: Pose, notes: Notes
) -> JointDescription:
    """Return one joint. frame: the body's frame in the parent link before this joint's motion."""
    kind = model.words('jnt_type')[number]
    axis = np.array(model['jnt_axis'][number], dtype=float)
    anchor = np.array(model['jnt_pos'][number], dtype=float)
    reference = float(model['qpos0'][model['jnt_qposadr'][number]])
    limits = _limits(model, number, notes)
    turned = Pose()
    if kind == 'hinge':
        type_ = JointType.CONTINUOUS if _is_unlimited(limits) else JointType.REVOLUTE
        turned = Pose(np.zeros(3), matrix_from_axis_angle(axis, -reference))
    elif kind == 'slide':
        type_, anchor = JointType.PRISMATIC, np.zeros(3)
        turned = Pose(-reference * axis)
    else:
        type_, axis, limits = JointType.BALL, _X, JointLimits()
    return JointDescription(
        name=model.name('jnt', number),
        type=type_,
        parent=parent,
        child=child,
        origin=frame @ Pose(anchor) @ turned,
        axis=axis,
        child_pose=Pose(-anchor),
        limits=limits,
        dynamics=_dynamics(model, number, kind, notes),
        line=model.line('jnt', number),
    )


def _is_unlimited(limits: JointLimits) -> bool:
    return math.isinf(limits.lower) and math.isinf(limits.upper)


def _limits(model: CompiledModel, number: int, notes: Notes) -> JointLimits:
    lower, upper, effort, least = -math.inf, math.inf, math.inf, None
    if model['jnt_limited'][number]:
        lower, upper = map(float, model['jnt_range'][number])
        if model.words('jnt_type')[number] == 'ball':
            notes.left_out('jnt', number, 'ball joints have no limit here', 'range')
        elif model['jnt_margin'][number]:
            notes.changed('jnt', number, 'the stop acts at the limit, without margin', 'margin')
    if model.get('jnt_actfrclimited') is not None and model['jnt_actfrclimited'][number]:
        least, effort = map(float, model['jnt_actfrcrange'][number])
        least = None if least == -effort else least
    if least is not None and not least <= 0.0 <= effort:
        notes.left_out('jnt', number, 'a range of forces without 0', 'actuatorfrcrange')
        least, effort = None, math.inf
    return JointLimits(lower, upper, effort, lower_effort=least)


def _dynamics(model: CompiledModel, number: int, kind: str, notes: Notes) -> JointDynamics:
    dof = int(model['jnt_dofadr'][number])
    damping, armature = (float(model[f'dof_{name}'][dof]) for name in ('damping', 'armature'))
    friction = float(model['dof_frictionloss'][dof])
    stiffness = float(model['jnt_stiffness'][number])
    name_unusual(model, number, notes)
    if kind == 'ball':
        for value, attribute in ((friction, 'frictionloss'), (stiffness, 'stiffness')):
            if value:
                notes.left_out('jnt', number, 'ball joints have none here', attribute)
        return JointDynamics(damping=damping, armature=armature)
    return JointDynamics(
        damping=damping,
        friction=friction,
        armature=armature,
        stiffness=stiffness,
        reference=float(model['qpos_spring'][model['jnt_qposadr'][number]]),
    )


def name_unusual(model: CompiledModel, number: int, notes: Notes) -> None:
    """Name properties of a joint without simulation."""
    for array, (words, attribute) in _NONLINEAR.items():
        values = model.get(array)
        if values is not None and np.any(values[number]):
            notes.left_out('jnt', number, f'{words} are not simulated', attribute)
    poly = model.get('dof_dampingpoly')
    if poly is not None and np.any(poly[model['jnt_dofadr'][number]]):
        notes.left_out('jnt', number, 'damping by higher powers is not simulated', 'damping')


def free_joint(model: CompiledModel, body: int, notes: Notes) -> int:
    """Return the free joint of a body, -1 for none; name its properties without simulation."""
    for number in model.of_body('jnt', body):
        if model.words('jnt_type')[number] != 'free':
            continue
        dof = int(model['jnt_dofadr'][number])
        for array, attribute in (
            ('dof_damping', 'damping'),
            ('dof_armature', 'armature'),
            ('dof_frictionloss', 'frictionloss'),
        ):
            if np.any(model[array][dof : dof + 6]):
                notes.left_out('jnt', number, 'free joints have none here', attribute)
        if model['jnt_stiffness'][number]:
            notes.left_out('jnt', number, 'free joints have none here', 'stiffness')
        name_unusual(model, number, notes)
        return number
    return -1
