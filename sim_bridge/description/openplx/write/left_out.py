"""Parts of a robot without a counterpart in OpenPLX."""

from __future__ import annotations

import math

from sim_bridge.description.losses import Format, note_losses
from sim_bridge.description.model import (
    ConstraintDescription,
    ContactDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.names import counted

# refused below, or held
_OF_DYNAMICS = ('damping', 'friction', 'armature', 'stiffness', 'back_friction', 'bearing')
FORMAT = Format(
    'OpenPLX',
    {
        LinkDescription: frozenset(('gravity',)),
        JointDescription: frozenset(('mimic', 'safety', 'suspension')),
        JointLimits: frozenset(('velocity', 'lower_effort')),
        JointDynamics: frozenset(_OF_DYNAMICS),
        # links without collision are written as disabled pairs
        ContactDescription: frozenset(('self_collide',)),
    },
    has_visuals=False,
)
"""Properties held by a written OpenPLX model, or checked by `check_joint`."""


def check_joint(
    joint: JointDescription | ConstraintDescription, place: Place, findings: Findings
) -> None:
    """Refuse properties whose omission would change the motion; report the others."""
    refused, left_out = [], []
    limits, dynamics = [joint.limits], [joint.dynamics]
    if isinstance(joint, JointDescription):
        limits.append(joint.limits2)
        dynamics.append(joint.dynamics2)
        if joint.mimic is not None:
            refused.append(f'mimic rule following {joint.mimic.joint!r}')
        if joint.dynamics.armature or joint.dynamics2.armature:
            refused.append('armature')
        if joint.type is JointType.BALL and joint.dynamics.damping:
            refused.append('damping of a ball joint')
        if joint.safety is not None:
            left_out.append('safety_controller')
    else:
        refused += [name for name in ('erp', 'cfm') if getattr(joint, name) is not None]
        if joint.toughness is not None:
            left_out.append('toughness')
    if any(each.bearing and any(each.frictions) for each in dynamics):
        refused.append('two kinds of friction on an axis')
    if any(math.isfinite(each.velocity) for each in limits):
        left_out.append('limit of velocity')
    for part in refused:
        findings.error('unsupported', place, f'OpenPLX has no counterpart for its {part}')
    for part in left_out:
        findings.warning(
            'unsupported', place, f'OpenPLX has no counterpart for its {part}: left out'
        )


def note_left_out(robot: RobotDescription, findings: Findings) -> None:
    """Report the omitted parts of a robot."""
    whole = Place('robot', robot.name)
    visuals = sum(len(link.visuals) for link in robot.links.values())
    for number, word in ((visuals, 'visual'), (len(robot.sensors), 'sensor')):
        if number:
            findings.warning('unsupported', whole, f'left out: {counted(number, word)}')
    note_losses(robot, FORMAT, findings)
    for link in robot.links.values():
        if not link.gravity:
            place = Place('link', link.name, link.line)
            findings.error('unsupported', place, 'OpenPLX has no body without gravity')
