"""Scratch memory of the kernels, made once per model so that stepping allocates nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data.inertia import ARTICULATED_SIZE, RIGID_SIZE
from sim_bridge.engine.data.laws import LAW_SIZE
from sim_bridge.engine.data.model import body_count, Model, position_count, velocity_count


class Workspace(NamedTuple):
    """
    Arrays that one evaluation of the dynamics fills.

    Spatial quantities are in world axes about the tree's reference point O, the origin of its
    first body: motions as angular then linear (of the body's point at O), forces as torque about O
    then force.
    """

    kind: IntVector
    """(nb,) Model.kind, but GROUND for sleepers."""
    still: IntVector
    """(nv,) 1 for the coordinates of sleepers."""
    pose: FloatMatrix
    """(nb, 12) rotation of the body frame by rows, then its origin in the world [m]."""
    axis: FloatMatrix
    """(nb, 6) motion axis of a one-axis joint."""
    rigid: FloatMatrix
    """(nb, 10) rigid inertia about O."""
    articulated: FloatMatrix
    """(nb, 21) articulated inertia about O; for a free body its factor."""
    joint_factor: FloatMatrix
    """(nb, 8) U = IA S (6), the joint's effective inertia D, and 1 / D, or 0 where locked."""
    velocity: FloatMatrix
    """(nb, 6) spatial velocity."""
    twist: FloatMatrix
    """(nb, 6) spatial velocity that the medium slows down from."""
    drift: FloatMatrix
    """(nb, 6) spatial acceleration at zero joint accelerations, less gravity."""
    force: FloatMatrix
    """(nb, 6) spatial force."""
    acceleration: FloatMatrix
    """(nb, 6) spatial acceleration due to the joint accelerations."""
    wrench: FloatMatrix
    """(nb, 6) the external wrenches of the evaluation."""
    q: FloatVector
    """(nq,) the configuration of the evaluation."""
    v: FloatVector
    """(nv,) the velocity of the evaluation."""
    u: FloatVector
    """(nv,) the efforts of the evaluation."""
    v_next: FloatVector
    """(nv,) velocity at the end of the step."""
    rhs: FloatVector
    """(nv,) effort of a loose joint, prescribed acceleration of a locked one."""
    ddq: FloatVector
    """(nv,) accelerations."""
    ddq_smooth: FloatVector
    """(nv,) accelerations without contacts, for which the contacts were solved."""
    constraint: FloatVector
    """(nv,) effort that keeps a locked joint at its prescribed acceleration."""
    mode: IntVector
    """(nv,) joint modes of the evaluation."""
    given: FloatVector
    """(nv,) efforts of commands, dampers and springs where the step changes no velocity."""
    law: FloatMatrix
    """(nv, LAW_SIZE) what friction, motors and stops do: columns in `laws`."""
    q_slopes: FloatMatrix
    """(6, nq) rates of change of q at the stages of a Runge-Kutta step."""
    v_slopes: FloatMatrix
    """(6, nv) likewise of v."""
    response: FloatCube
    """
    (nm, 2, nv) per unit of a mimic row's force: accelerations; efforts of locked joints.

    None where loops see to the mimic rows.
    """
    delassus: FloatMatrix
    """(nm, nm) the mimic rows' inverse inertia."""
    mimic_effort: FloatVector
    """(nm,) efforts of the mimic rows on the following joints."""


def make_workspace(model: Model, has_loops: bool = False) -> Workspace:
    """Make the scratch arrays for `model`; has_loops: joints close loops in it."""
    nb, nm = body_count(model), 0 if has_loops else len(model.mimic)
    nq, nv = position_count(model), velocity_count(model)
    return Workspace(
        kind=model.kind.copy(), still=np.zeros(nv, np.int64),
        pose=np.zeros((nb, 12)), axis=np.zeros((nb, 6)),
        rigid=np.zeros((nb, RIGID_SIZE)), articulated=np.zeros((nb, ARTICULATED_SIZE)),
        joint_factor=np.zeros((nb, 8)), velocity=np.zeros((nb, 6)), twist=np.zeros((nb, 6)),
        drift=np.zeros((nb, 6)), force=np.zeros((nb, 6)), acceleration=np.zeros((nb, 6)),
        # unlike any wrench, so that the first observation finds everything changed
        wrench=np.full((nb, 6), np.nan),
        q=np.zeros(nq), v=np.zeros(nv), u=np.zeros(nv), v_next=np.zeros(nv),
        rhs=np.zeros(nv), ddq=np.zeros(nv), ddq_smooth=np.zeros(nv),
        constraint=np.zeros(nv), mode=np.zeros(nv, np.int64),
        given=np.zeros(nv), law=np.zeros((nv, LAW_SIZE)),
        q_slopes=np.zeros((6, nq)), v_slopes=np.zeros((6, nv)),
        response=np.zeros((nm, 2, nv)), delassus=np.zeros((nm, nm)),
        mimic_effort=np.zeros(nm))
