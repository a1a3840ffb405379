"""MJCF equalities between two trees of a world: ball and fixed joints of the scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.mjcf.equalities import active, frames_kept_together, tree_of
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import Pose
from sim_bridge.description.scene.joints import JointSettings, SceneJoint, WORLD
from sim_bridge.description.scene.values import Values
from sim_bridge.description.yaml.section import Section

# greatest gap of a joint at the initial positions [m, rad]
_CLOSED = 1e-6


def joints_between(
    model: CompiledModel, parts: Mapping[int, str], notes: Notes
) -> Iterator[SceneJoint]:
    """
    Yield the connect and weld equalities between two trees.

    parts: scene names by body, 'robot/link' or a scene body's name; bodies without one are static.
    A joint of the scene holds the initial positions: one open there is named.
    """
    for number in active(model, ('connect', 'weld')):
        ends = frames_kept_together(model, number)
        if tree_of(model, ends[0][0]) == tree_of(model, ends[1][0]) or 0 in (
            tree_of(model, body) for body, _ in ends
        ):
            continue
        one, other = (world_pose(model, body) @ frame for body, frame in ends)
        is_weld = model.words('eq_type')[number] == 'weld'
        gap = float(np.linalg.norm(one.position - other.position))
        turn = float(np.linalg.norm(one.rotation - other.rotation)) if is_weld else 0.0
        if max(gap, turn) > _CLOSED:
            message = f'is open by {gap:.3g} m at the initial positions; only closed ones hold'
            notes.left_out('eq', number, message)
            continue
        name = model.name('eq', number)
        section = Section({}, f'mujoco.{name}', notes.findings, model.line('eq', number))
        arguments = {'anchor': tuple(one.position.tolist()), 'collide': True}
        yield SceneJoint(
            name,
            'fixed' if is_weld else 'ball',
            (parts.get(ends[0][0], WORLD), parts.get(ends[1][0], WORLD)),
            ('', 0),
            Values.given(arguments, section),
            JointSettings(Values.given({}, section), ()),
            (),
            True,
        )


def world_pose(model: CompiledModel, body: int) -> Pose:
    """Return a body's pose in the world at the initial positions."""
    pose = Pose()
    while body:
        pose = model.pose('body', body) @ pose
        body = int(model['body_parentid'][body])
    return pose
