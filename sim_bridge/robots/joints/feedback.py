"""Reaction forces and torques on a joint's two links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.validation import one_of
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint_backend import JointBackend

# axis property that holds each part of the effort
_OF_AXES = {'motor': 'motor_effort', 'stop': 'stop_effort', 'friction': 'friction_effort'}
PARTS = ('all', *_OF_AXES)
FRAMES = ('world', 'joint')
POINTS = ('center_of_mass', 'joint')


class Feedback(NamedTuple):
    """
    Forces f [N] and torques t [N m] of a joint on its links, (3,) each; as ODE's dJointFeedback.

    f1, t1 act on the first link, f2, t2 on the second link, or on the world instead.
    """

    f1: FloatArray
    t1: FloatArray
    f2: FloatArray
    t2: FloatArray


def feedback_of(
    backend: JointBackend, axes: Sequence[Axis], frame: str, about: str, part: str
) -> Feedback:
    """
    Return a joint's forces and torques on both links, as `AnyJoint.feedback`.

    frame: in FRAMES. about: in POINTS. part: in PARTS. Raises InvalidValueError for
    other words.
    """
    one_of('frame', frame, FRAMES, backend.place)
    one_of('about', about, POINTS, backend.place)
    one_of('part', part, PARTS, backend.place)
    force, torque = backend.reaction() if part == 'all' else share_of_axes(backend, axes, part)
    first, second, *_ = backend.frames
    rotation, anchor, result = first.pose[0], second.pose[1], []
    for link, sign in ((first.link, -1.0), (second.link, 1.0)):
        arm = np.zeros(3)
        if about == 'center_of_mass' and link is not None:
            arm = anchor - link.wc
        f = sign * force
        t = sign * torque + np.cross(arm, f)
        result += [rotation.T @ f, rotation.T @ t] if frame == 'joint' else [f, t]
    return Feedback(*result)


def share_of_axes(
    backend: JointBackend, axes: Sequence[Axis], part: str
) -> tuple[FloatArray, FloatArray]:
    """
    Return the force [N] and torque [N m] on the second link from one axis effort part.

    part: in PARTS except 'all'. The torque is about the second anchor; both are in world axes.
    They form the smallest wrench that does each axis effort's work along its axis. For the
    independent angular motor axes, the efforts are summed along the axes instead.
    """
    force, torque = np.zeros(3), np.zeros(3)
    for linear, total in ((True, force), (False, torque)):
        of_kind = [axis for axis in axes if axis.is_linear == linear]
        if of_kind:
            directions = np.array([axis.direction for axis in of_kind]).T
            efforts = np.array([getattr(axis, _OF_AXES[part]) for axis in of_kind])
            duals = directions if backend.has_user_axes else np.linalg.pinv(directions).T
            total += duals @ efforts
    return force, torque
