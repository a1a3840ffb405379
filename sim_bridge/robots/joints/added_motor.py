"""Additional motors on joint axes: joints without constraint rows, with one axis."""

from __future__ import annotations

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.description.stages import axis_frame, stages_of
from sim_bridge.engine.data.loops import ALONG, AXES_OF_TYPE, HINGE
from sim_bridge.engine.data.model import PRISMATIC
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.joint_backend import JointBackend
from sim_bridge.robots.joints.mounted import MountedJointBackend
from sim_bridge.robots.joints.spec import JointSpec, WITH_AXIS2

_PLACE = 'add_motor'


def axis_of(given: object) -> Axis:
    """Return an axis as given, or a joint's only axis; raise InvalidValueError otherwise."""
    axis = given.axes[0] if isinstance(given, AnyJoint) and len(given.axes) == 1 else given
    if not isinstance(axis, Axis):
        raise InvalidValueError(
            'axis', given, 'an axis of a joint, or a joint with a single axis', _PLACE
        )
    return axis


def motor_beside(axis: Axis) -> JointSpec:
    """
    Return a motor specification without a name, on the line of a joint's axis.

    Raises InvalidValueError for an axis that is neither linear nor a hinge axis.
    """
    found = _line_of(axis.backend, axis.number)
    if found is None:
        raise InvalidValueError(
            'axis',
            axis,
            'a linear axis or a hinge axis; add_angular_motor drives other axes',
            _PLACE,
        )
    is_linear, line = found
    turn = axis_frame(line)
    first, second = (
        frame._replace(rotation=frame.rotation @ turn) for frame in axis.backend.frames[:2]
    )
    return JointSpec('', 'slider_motor' if is_linear else 'hinge_motor', first, second)


def _line_of(backend: JointBackend, number: int) -> tuple[bool, np.ndarray] | None:
    """Return whether an axis is linear, and its unit vector in both joint frames; None if none."""
    if isinstance(backend, (MountedJointBackend, ConstraintJointBackend)):
        spec = backend.spec
        if spec.type in WITH_AXIS2:
            return None
        kind, along = (AXES_OF_TYPE[spec.type] if spec.axes is None else spec.axes)[number]
        return (kind == ALONG, np.eye(3)[along]) if kind in (ALONG, HINGE) else None
    if backend.type in (JointType.UNIVERSAL, JointType.HINGE2):
        return None
    (stage,) = (one for one in stages_of(backend.description) if one.coordinate == number)
    return stage.kind == PRISMATIC, stage.axis
