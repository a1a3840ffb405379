"""Scratch memory for the kernels, allocated once per model: steps allocate nothing."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data.actuators import LINE_SIZE
from sim_bridge.engine.data.inertia import ARTICULATED_SIZE, RIGID_SIZE
from sim_bridge.engine.data.joint_laws import LAW_SIZE
from sim_bridge.engine.data.model import Model, model_sizes
from sim_bridge.engine.data.parts import Dims, make

# columns in Workspace.trees; momenta and impulses as torques and forces, about O at that time
START, START_CENTRE = 0, 6  # at the start of the step: momentum; centre of mass [m], world
MOMENTUM, COMPOSITE = 9, 15  # for a configuration: momentum; rigid inertia of all bodies
IMPULSE = COMPOSITE + RIGID_SIZE  # from all external forces in the step, about O at the middle
MIDDLE, MIDDLE_MOMENT = IMPULSE + 6, IMPULSE + 9  # at the middle: O [m]; first moment from it
GIVEN = MIDDLE_MOMENT + 3  # velocity added at the end of the step, as a motion about O
MOVED = GIVEN + 6  # displacement added at the end of the step [m]
TREES_SIZE = MOVED + 3


class Workspace(NamedTuple):
    """
    Arrays filled by one dynamics evaluation.

    Spatial quantities are in world axes about the tree's reference point O, the origin of its
    first body: motions as angular then linear part (of the body's point at O), forces as torque
    about O then force.
    """

    kind: Annotated[IntVector, Dims('nb')]
    """Model.kind, but GROUND for sleeping bodies."""
    still: Annotated[IntVector, Dims('nv')]
    """1 for the coordinates of sleeping bodies."""
    pushed: Annotated[IntVector, Dims('nb')]
    """State.pushed of whole trees, at their first bodies, see `pipeline.last_step`."""
    pose: Annotated[FloatMatrix, Dims('nb', 12, unit='1; m')]
    """Rotation of the body frame by rows, then its origin in the world."""
    pose_before: Annotated[FloatMatrix, Dims('nb', 12, unit='1; m')]
    """The pose before a look at other configurations."""
    axis: Annotated[FloatMatrix, Dims('nb', 6, unit='1; m')]
    """Motion axis of a one-axis joint."""
    rigid: Annotated[FloatMatrix, Dims('nb', RIGID_SIZE, unit='kg; kg m; kg m²')]
    """Rigid inertia about O."""
    articulated: Annotated[FloatMatrix, Dims('nb', ARTICULATED_SIZE, unit='SI')]
    """Articulated inertia about O; for a free body its factor."""
    joint_factor: Annotated[FloatMatrix, Dims('nb', 8, unit='SI')]
    """U = IA S (6), the joint's effective inertia D, and 1 / D, or 0 where locked."""
    velocity: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s; m/s')]
    """Spatial velocity."""
    twist: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s; m/s')]
    """Spatial velocity damped by the medium."""
    drift: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s²; m/s²')]
    """Spatial acceleration at zero joint accelerations, less gravity."""
    force: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Spatial force."""
    acceleration: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s²; m/s²')]
    """Spatial acceleration due to the joint accelerations."""
    system: Annotated[IntVector, Dims('nb', points_at='nb')]
    """At a tree's first body: first body of its system, see `dynamics.tree_momentum`, or -1."""
    held: Annotated[IntVector, Dims('nb')]
    """At a system's first body: 1 if something outside touches the system in the step."""
    trees: Annotated[FloatMatrix, Dims('nb', TREES_SIZE, unit='SI')]
    """At the first bodies of trees, and for whole systems at their first bodies: START … MOVED."""
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """External wrenches in the evaluation; as State.wrench."""
    pushes: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Wrenches given to an observation, without parts that depend on its poses and velocities."""
    q: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Configuration in the evaluation."""
    v: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """Velocity in the evaluation."""
    u: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts in the evaluation."""
    v_next: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """
    End-of-step velocity.

    `step.advance_velocities` writes it. Before that, during a pass, it is the velocity without
    contacts or loops, an input of their stages (the loop stage overwrites it). Later writers:
    `active_set.settle_locked` for locked joints, `free_body.advance_free_body` for untouched
    bodies, and `step.commit` if rounding left friction with the wrong sign.
    """
    rhs: Annotated[FloatVector, Dims('nv', unit='N, N m, m/s², rad/s²')]
    """Effort of a loose joint, prescribed acceleration of a locked joint."""
    ddq: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations."""
    ddq_smooth: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations without contacts, for which the contacts were solved."""
    constraint: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Effort that keeps a locked joint at its prescribed acceleration."""
    mode: Annotated[IntVector, Dims('nv')]
    """Joint modes in the evaluation."""
    given: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of commands, dampers and springs if the step changes no velocity."""
    law: Annotated[FloatMatrix, Dims('nv', LAW_SIZE, unit='SI')]
    """Laws of friction, motors and stops: columns in `joint_laws`."""
    actuator_length: Annotated[FloatVector, Dims('nu', unit='m, rad')]
    """Transmission lengths, times the gear."""
    actuator_velocity: Annotated[FloatVector, Dims('nu', unit='m/s, rad/s')]
    """Rates of these lengths."""
    actuator_force: Annotated[FloatVector, Dims('nu', unit='SI')]
    """Actuator forces, within their range, without the gear."""
    actuator_line: Annotated[FloatMatrix, Dims('nu', LINE_SIZE, unit='SI')]
    """Unclamped force in a step as a linear function: columns BASE … SLOPE in `actuators`."""
    actuator_side: Annotated[IntVector, Dims('nu')]
    """1 for a force at its upper limit, -1 at its lower limit, 0 between."""
    q_slopes: Annotated[FloatMatrix, Dims(6, 'nq', unit='m/s, rad/s, 1/s')]
    """Rates of q at the stages of a Runge-Kutta step."""
    v_slopes: Annotated[FloatMatrix, Dims(6, 'nv', unit='m/s², rad/s²')]
    """Rates of v at these stages."""
    middle_change: Annotated[FloatVector, Dims(2, unit='m/s, rad/s')]
    """
    Greatest velocity change at the middle of a step by its first and its last evaluation.

    0 with a single evaluation.
    """
    response: Annotated[FloatCube, Dims('mimic_rows', 2, 'nv', unit='SI')]
    """Per unit force of a mimic row: accelerations; efforts of locked joints."""
    delassus: Annotated[FloatMatrix, Dims('mimic_rows', 'mimic_rows', unit='SI')]
    """Inverse inertia of the mimic rows."""
    mimic_effort: Annotated[FloatVector, Dims('mimic_rows', unit='N, N m')]
    """Efforts of the mimic rows on the following joints."""


def make_workspace(model: Model, has_loops: bool = False) -> Workspace:
    """Allocate the scratch arrays for `model`; has_loops: whether joints close loops."""
    sizes = model_sizes(model)
    return make(
        Workspace,
        {**sizes, 'mimic_rows': 0 if has_loops else sizes['nm']},
        kind=model.kind.copy(),
        # unlike any wrench: the first observation counts as changed
        pushes=np.full((sizes['nb'], 6), np.nan),
    )
