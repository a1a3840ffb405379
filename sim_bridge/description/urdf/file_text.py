"""Any robot written as a URDF file, with a report of its losses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from sim_bridge.description.formats import URDF
from sim_bridge.description.losses import Format, note_losses
from sim_bridge.description.model import (
    ContactDescription,
    GeometryDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    ONE_AXIS,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place, Report
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.foundation.names import counted, free_name

_WORLD = 'world'
FORMAT = Format(
    'URDF',
    {
        JointDescription: frozenset(('mimic',)),
        JointLimits: frozenset(('velocity',)),
        JointDynamics: frozenset(('damping', 'friction')),
        GeometryDescription: frozenset(('color',)),
        # links without collision are counted as excluded pairs
        ContactDescription: frozenset(('self_collide',)),
    },
)
"""Properties held by a written URDF."""
# joint types written by their own names; a piston becomes two joints
_WRITTEN = (*ONE_AXIS, JointType.FIXED, JointType.FLOATING, JointType.PISTON)


def urdf_file_text(
    description: RobotDescription,
    *,
    fixed_base: bool = False,
    folder: Path | None = None,
    apart: Iterable[tuple[str, str]] = (),
) -> tuple[str | None, Report]:
    """
    Return a robot as URDF, None without a counterpart, and a report of its omissions.

    A URDF is returned as read, after xacro. fixed_base: whether the root link becomes fixed to a
    link 'world'. folder: the file's folder; triangles without a file are written to `meshes` there
    as STL. apart: left out; URDF has no pairs without collision.
    """
    findings = Findings()
    # a URDF is fixed by its root link's name alone
    is_fixed = (fixed_base or description.is_welded) and description.root != _WORLD
    if description.format == URDF.name and not is_fixed:
        return description.xml, findings.report(description.source)
    if is_fixed:
        description = _fixed(description)
    meshes = None if folder is None else folder.resolve() / 'meshes'
    text = urdf_text(description, (), meshes)
    _note_left_out(description, list(apart), findings)
    report = findings.report(description.source)
    return (text if report.ok else None), report


def _fixed(description: RobotDescription) -> RobotDescription:
    """Return a robot whose root link is fixed to a link 'world'."""
    root = description.root
    weld = JointDescription(
        free_name('world_joint', description.joints.__contains__),
        JointType.FIXED,
        _WORLD,
        root,
        description.base_pose,
        np.array([1.0, 0.0, 0.0]),
    )
    return replace(
        description,
        root=_WORLD,
        links={_WORLD: LinkDescription(_WORLD), **description.links},
        joints={weld.name: weld, **description.joints},
    )


def _note_left_out(
    robot: RobotDescription, apart: list[tuple[str, str]], findings: Findings
) -> None:
    """Report the parts without a counterpart in URDF; errors where the motion would differ."""
    for loop in robot.constraints:
        place = Place('joint', loop.name, loop.line)
        findings.error('unsupported', place, 'URDF has no joints that close loops')
    for joint in robot.joints.values():
        place = Place('joint', joint.name, joint.line)
        if joint.type not in _WRITTEN:
            message = f'URDF has no joint of type {joint.type.value!r}'
            findings.error('unsupported', place, message)
    whole = Place('robot', robot.name)
    for things, word in ((robot.sensors, 'sensor'), (apart, 'excluded pair')):
        if things:
            message = f'left out: {counted(len(things), word)}'
            findings.warning('unsupported', whole, message)
    note_losses(robot, FORMAT, findings)
