"""Joints between models in an SDF world."""

from __future__ import annotations

from typing import Any

from sim_bridge.description.model import Pose
from sim_bridge.description.report import Findings
from sim_bridge.description.scene.joints import JointSettings, SceneJoint, WORLD
from sim_bridge.description.scene.sdf.models import WorldModels
from sim_bridge.description.scene.values import Values
from sim_bridge.description.sdf_model.joints import read_joints, SdfJoint
from sim_bridge.description.sdf_model.scope import Scope
from sim_bridge.description.yaml.section import Section

_KINDS = {
    'revolute': 'hinge',
    'continuous': 'hinge',
    'prismatic': 'slider',
    'fixed': 'fixed',
    'ball': 'ball',
    'universal': 'universal',
    'revolute2': 'hinge2',
}


def world_joints(scope: Scope, models: WorldModels, findings: Findings) -> tuple[SceneJoint, ...]:
    """Return the joints directly inside a world; an unsupported one is left out with a warning."""
    joints = []
    for joint in read_joints(scope, Pose(), findings):
        made = _joint(joint, models, findings)
        if made is not None:
            joints.append(made)
    return tuple(joints)


def _joint(joint: SdfJoint, models: WorldModels, findings: Findings) -> SceneJoint | None:
    kind = _KINDS.get(joint.kind)
    if kind is None:
        message = 'is not simulated between models, left out'
        findings.warning('not-simulated', joint.place, message, 'type', joint.kind)
        return None
    ends = [_end(name, models) for name in (joint.parent, joint.child)]
    section = Section({}, f'joint.{joint.name}', findings, joint.place.line)
    arguments: dict[str, Any] = {'anchor': tuple(joint.pose.position.tolist())}
    for key, axis in zip(('axis', 'axis2'), joint.axes, strict=False):
        arguments[key] = tuple((joint.pose.rotation @ axis).tolist())
    own: dict[str, Any] = {}
    if kind in ('hinge', 'slider'):
        limits, dynamics = joint.limits[0], joint.dynamics[0]
        own = {
            'damping': dynamics.damping or None,
            'friction': dynamics.friction or None,
            'stiffness': dynamics.stiffness or None,
            'upper': limits.upper,
            'lower': limits.lower,
            'effort_limit': limits.effort,
        }
    return SceneJoint(
        joint.name,
        kind,
        (ends[0], ends[1]),
        ('', 0),
        Values.given(arguments, section),
        JointSettings(Values.given(own, section), ()),
        (),
        True,
    )


def _end(name: str, models: WorldModels) -> str:
    """Return a link's name in scenes: robot/link."""
    if name == WORLD:
        return WORLD
    model, _, link = name.partition('::')
    return f'{models.names.get(model, model)}/{link}'
