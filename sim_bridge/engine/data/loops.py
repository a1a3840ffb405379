"""
Joints that close loops, and the scratch memory to solve for them.

Such a joint ties a frame A on one body to a frame B on another, or on the world. It is a list of
rows, each of which keeps one scalar, its *error*, at zero:

    SLIDE i     the way from A's origin to B's along axis i of A,
    DOT i, j    the scalar product of axis i of A and axis j of B, less its reference,
    DISTANCE    the distance of the two origins, less its reference,
    MIMIC       what a mimic joint's position differs from its law.

Every joint type is made of these (`ROWS_OF_TYPE`); its axis is z of A and of B. A row with a CFM
yields, as in ODE: its velocity becomes -ERP / h times its error, less CFM times its force.

What such a joint leaves free it has *axes* for (`AXES_OF_TYPE`), with a position each, and with
friction, springs, stops and motors as the trees' joints have them:

    ALONG i     the way from A's origin to B's along axis i of A,
    HINGE       the angle about z of A from A's x to B's x,
    FIRST       the angle about z of A from A's x to B's z, of a universal joint,
    SECOND      the angle about z of B from z of A to B's x,
    SPIN, SPIN_B  the angle about any axis of A, or of B, that B has turned by: its rate, summed,
    EULER k     the angles of an angular motor: about z of A, about the product of x of B and z of
                A, about x of B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.contact_problem import longest_support
from sim_bridge.engine.data.laws import LAW_SIZE
from sim_bridge.engine.data.model import body_count, Model, position_count, velocity_count

# kinds of rows
SLIDE, DOT, DISTANCE, MIMIC = range(4)
X, Y, Z = range(3)
# kinds of axes
ALONG, HINGE, FIRST, SECOND, SPIN, SPIN_B, EULER = range(7)
# entries of Loops.size
HARD, ROWS, ALL = range(3)

# entries of LoopWork.counts: vectors of the basis, active rows that added none, and those of them
# that are not zero to begin with
RANK, LOST, DEPENDENT = range(3)

# entries of LoopWork.pivot; CHANGED: how many modes of the trees' joints were changed, STUCK: 1
# where a loop cannot close since nothing locked yields
SLACK, HOW, CHANGED, STUCK = range(4)

# first columns of LoopWork.whitened and .load, three each; joints that do not turn need four
FORCES, TORQUES = 0, 4
# the world, in Loops.body
WORLD = -1

_POINT = ((SLIDE, X, X), (SLIDE, Y, Y), (SLIDE, Z, Z))
_PARALLEL = ((DOT, X, Z), (DOT, Y, Z))
_CROSSED = ((DOT, Z, Z),)
_TURNLESS = ((DOT, X, Y),)

ROWS_OF_TYPE = {
    'ball': _POINT,
    'hinge': (*_POINT, *_PARALLEL),
    'slider': (*_POINT[:2], *_PARALLEL, *_TURNLESS),
    'fixed': (*_POINT, *_PARALLEL, *_TURNLESS),
    'piston': (*_POINT[:2], *_PARALLEL),
    'planar': (*_POINT[2:], *_PARALLEL),
    'universal': (*_POINT, *_CROSSED),
    'hinge2': (*_POINT, *_CROSSED),
    'distance': ((DISTANCE, X, X),),
    'angular_motor': (),
}
"""Rows of each joint type: kind and axes. The suspension of a hinge-2 is its third one."""

AXES_OF_TYPE = {
    'ball': (),
    'hinge': ((HINGE, Z),),
    'slider': ((ALONG, Z),),
    'fixed': (),
    'piston': ((ALONG, Z), (HINGE, Z)),
    'planar': ((ALONG, X), (ALONG, Y), (HINGE, Z)),
    'universal': ((FIRST, Z), (SECOND, Z)),
    'hinge2': ((FIRST, Z), (SECOND, Z)),
    'distance': (),
    'angular_motor': (),
}
"""Axes of each joint type: kind and axis. Those of an angular motor are its own."""

EULER_AXES = ((EULER, 0), (EULER, 1), (EULER, 2))


class AxisValues(NamedTuple):
    """
    Parameters and state of a joint's axes, a row for each of them.

    passive, limits, motor, stop: as in Model. q, u, control, target, mode, effort: as State's
    fields of loop axes.
    """

    passive: np.ndarray
    limits: np.ndarray
    motor: np.ndarray
    stop: np.ndarray
    q: np.ndarray
    u: np.ndarray
    control: np.ndarray
    target: np.ndarray
    mode: np.ndarray
    effort: np.ndarray


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """
    A joint as the engine is told of it.

    rows: kind and axes of each. body: numbers of both bodies, or WORLD. frame: (24,) A in the
    first body's frame, then B in the second's: rotation by rows and origin [m]. reference: of each
    row. erp, cfm: of each row; a cfm of 0 makes it rigid, and then erp has no meaning. axes: kind
    and axis of each. vectors: (na, 3) of each. values: of the axes.
    """

    rows: Sequence[tuple[int, int, int]]
    body: tuple[int, int]
    frame: np.ndarray
    reference: Sequence[float]
    erp: Sequence[float]
    cfm: Sequence[float]
    axes: Sequence[tuple[int, int]]
    vectors: np.ndarray
    values: AxisValues


class Loops(NamedTuple):
    """
    Constant arrays of nk joints with nr rows and na axes.

    Rows that do not yield come first, among them those of the mimic joints, then those that do.
    Those of the axes come after them, nt rows in all.
    """

    size: IntVector
    """(3,) how many rows are rigid; with those that yield; with the axes'."""
    body: IntMatrix
    """(nk, 2) bodies that carry A and B, or WORLD."""
    frame: FloatMatrix
    """(nk, 24) A and B in their bodies' frames: rotation by rows, then origin [m]."""
    turns: IntVector
    """(nk,) 1 where rows or axes are about how the bodies turn."""
    joint: IntVector
    """(nr,) joint of each row, -1 for MIMIC."""
    kind: IntVector
    """(nr,) SLIDE, DOT, DISTANCE or MIMIC."""
    axes: IntMatrix
    """(nr, 2) axis of A and of B; of MIMIC the row of Model.mimic and 0."""
    reference: FloatVector
    """(nr,) what the error is counted from [1, m]."""
    erp: FloatVector
    """(nr,) share of the error that a step takes back, of rows that yield."""
    cfm: FloatVector
    """(nr,) velocity per force [m/(N s), rad/(N m s)]; 0 for rigid rows."""
    axis_joint: IntVector
    """(na,) joint of each axis."""
    axis_kind: IntMatrix
    """(na, 2) kind; axis of A or B, or which angle."""
    axis_vector: FloatMatrix
    """(na, 3) unit vector in A or B, of SPIN and SPIN_B."""
    axis_index: IntVector
    """(na,) 0, 1, 2 …: where the functions of `elements` find an axis' position."""
    passive: FloatMatrix
    """(na, 5) as Model.passive; the next three likewise."""
    limits: FloatMatrix
    """(na, 4)"""
    motor: FloatMatrix
    """(na, 3)"""
    stop: FloatMatrix
    """(na, 3)"""


class LoopWork(NamedTuple):
    """
    Scratch for nt rows, nv coordinates and nz whitened ones, nb bodies, na axes.

    Wrenches on bodies are torque and force about the origin of the body's frame, as State.wrench,
    unless said otherwise.
    """

    arm: FloatMatrix
    """(nt, 12) each row's wrench on both bodies, about their trees' O; world axes."""
    error: FloatVector
    """(nt,) [m, rad]"""
    drift: FloatVector
    """(nt,) second derivative of the error at zero accelerations of the coordinates."""
    softness: FloatVector
    """(nt,) velocity that a row yields per impulse."""
    scale: FloatVector
    """(nt,) what makes rows of different units comparable: its inverse is a row's typical size."""
    right: FloatVector
    """(nt,) velocities or accelerations that the rows lack."""
    impulse: FloatVector
    """(nt,) the rows' impulses [N s, N m s], or forces."""
    change: FloatVector
    """(nt,) by how much the impulses change."""
    counts: IntVector
    """(3,) see RANK: vectors in the basis, rows that added none, those that depend on others."""
    basis: FloatMatrix
    """(nt, nz) the whitened rows made orthonormal, without those that depend on others."""
    span: IntMatrix
    """(nt, 2) first coordinate of a basis vector that may not be 0, and the one after the last."""
    chosen: IntVector
    """(nt,) the row that added each vector."""
    own: IntVector
    """(nt,) the vector that each row added, -1 for none."""
    factor: FloatMatrix
    """(nt, nt) R of rows = R basis, the rows scaled."""
    reach: IntVector
    """(nt,) how many of the first vectors each row has parts along."""
    gram: FloatMatrix
    """(nt, nt) Cholesky factor of Rᵀ R, where rows depend on others."""
    vector: FloatVector
    """(nz,) the row that is being built, 0 between rows."""
    part: FloatVector
    """(nt,) scratch by vectors of the basis."""
    whitening: FloatVector
    """(nv,) D^-½; 0 for locked joints."""
    support: IntVector
    """(ns,) coordinates that the joint being built has entries for."""
    whitened: FloatMatrix
    """(ns, 8) entries of three forces at B's origin along A's axes, and three torques."""
    load: FloatCube
    """(2, 6, 8) these on their way to the root, from both bodies: torques, then forces."""
    column: FloatMatrix
    """(6, 3) three wrenches at a root."""
    tied: IntVector
    """(nb,) 1 for the bodies that the joints act on."""
    active: IntVector
    """(nt,) 1 for the rows that are in the basis."""
    q: FloatVector
    """(na,) positions of the axes in the middle of the step."""
    v: FloatVector
    """(na,) velocities of the axes at its start."""
    v_next: FloatVector
    """(na,) and at its end."""
    law: FloatMatrix
    """(na, 14) as Workspace.law; the next two likewise."""
    given: FloatVector
    """(na,)"""
    mode: IntVector
    """(na,)"""
    inertia: FloatVector
    """(na,) what an axis moves: its velocity gains its impulse over this [kg, kg m²]."""
    held: FloatVector
    """(na,) effort of what acts on each axis at the end of the step, command and dampers apart."""
    blocked: FloatVector
    """(nv,) what rows that nothing can yield to would push each joint with, see `blocked`."""
    blocked_axis: FloatVector
    """(na,) likewise each axis."""
    pivot: FloatVector
    """(4,) see SLACK: slack and way of changing the modes, as `modes.update_modes`; outcomes."""
    twist: FloatMatrix
    """(nb, 6) spatial velocities, or accelerations, that the rows' are computed from."""
    wrench: FloatMatrix
    """(nb, 6) what the rows do to each body, about its tree's O."""
    yielded: FloatMatrix
    """(nk, 6) mean wrench of the yielding rows on the second body, about B's origin."""
    yielded_on: FloatMatrix
    """(nb, 6) their mean wrench on each body."""
    force: FloatMatrix
    """(nb, 6) scratch of the elimination."""
    rhs: FloatVector
    """(nv,) efforts of the mimic rows on joints that are not locked."""
    effort: FloatVector
    """(nv,) likewise on all joints."""
    q_before: FloatVector
    """(nq,) positions before a Newton step."""
    ddq: FloatVector
    """(nv,) accelerations that the rows give."""
    constraint: FloatVector
    """(nv,) efforts of locked joints that they call forth."""


def make_loops(joints: Sequence[LoopJoint], model: Model) -> Loops:
    """Order the rows of all joints; the model's mimic joints are among them where there is any."""
    listed = []
    for number, joint in enumerate(joints):
        for row, (kind, i, j) in enumerate(joint.rows):
            listed.append((
                number, kind, (i, j), joint.reference[row], joint.erp[row], joint.cfm[row]))
    if joints:
        for row in range(len(model.mimic)):
            listed.append((-1, MIMIC, (row, 0), 0.0, 0.0, 0.0))
    listed.sort(key=lambda row: row[-1] > 0.0)
    rigid = sum(row[-1] == 0.0 for row in listed)
    columns = zip(*listed, strict=True) if listed else [()] * 6
    numbers, kinds, axes, references, erps, cfms = columns
    axis_joint = [number for number, joint in enumerate(joints) for _ in joint.axes]
    na, nr = len(axis_joint), len(listed)

    def stacked(field: str, width: int) -> np.ndarray:
        rows = [getattr(joint.values, field).reshape(-1, width) for joint in joints]
        return np.concatenate(rows) if rows else np.zeros((0, width))

    return Loops(
        size=np.array([rigid, nr, nr + na], np.int64),
        body=np.array([joint.body for joint in joints], np.int64).reshape(-1, 2),
        frame=np.array([joint.frame for joint in joints], float).reshape(-1, 24),
        turns=np.array([_turns(joint) for joint in joints], np.int64),
        joint=np.array(numbers, np.int64), kind=np.array(kinds, np.int64),
        axes=np.array(axes, np.int64).reshape(-1, 2), reference=np.array(references, float),
        erp=np.array(erps, float), cfm=np.array(cfms, float),
        axis_joint=np.array(axis_joint, np.int64),
        axis_kind=np.array(
            [axis for joint in joints for axis in joint.axes], np.int64).reshape(-1, 2),
        axis_vector=np.array(
            [vector for joint in joints for vector in joint.vectors], float).reshape(-1, 3),
        axis_index=np.arange(na), passive=stacked('passive', 5), limits=stacked('limits', 4),
        motor=stacked('motor', 3), stop=stacked('stop', 3))


def _turns(joint: LoopJoint) -> bool:
    """Return whether rows or axes of a joint are about how its bodies turn."""
    return (any(kind == DOT for kind, _, _ in joint.rows)
            or any(kind != ALONG for kind, _ in joint.axes))


def make_loop_work(model: Model, loops: Loops) -> LoopWork:
    """Make room for solving the rows."""
    nb, nv, na = body_count(model), velocity_count(model), len(loops.axis_joint)
    nt = len(loops.kind) + na
    nz = nv + nt - (int(loops.size[HARD]) if len(loops.size) else 0)
    ns = 2 * longest_support(model)
    tied = np.zeros(nb, np.int64)
    tied[loops.body[loops.body >= 0]] = 1
    return LoopWork(
        arm=np.zeros((nt, 12)), error=np.zeros(nt), drift=np.zeros(nt), softness=np.zeros(nt),
        scale=np.zeros(nt), right=np.zeros(nt), impulse=np.zeros(nt), change=np.zeros(nt),
        counts=np.zeros(3, np.int64), basis=np.zeros((nt, nz)), span=np.zeros((nt, 2), np.int64),
        chosen=np.zeros(nt, np.int64), own=np.full(nt, -1, np.int64), factor=np.zeros((nt, nt)),
        reach=np.zeros(nt, np.int64), gram=np.zeros((nt, nt)), vector=np.zeros(nz),
        part=np.zeros(nt), whitening=np.zeros(nv), support=np.zeros(ns, np.int64),
        whitened=np.zeros((ns, 8)), load=np.zeros((2, 6, 8)), column=np.zeros((6, 3)), tied=tied,
        active=np.zeros(nt, np.int64), q=np.zeros(na), v=np.zeros(na), v_next=np.zeros(na),
        law=np.zeros((na, LAW_SIZE)), given=np.zeros(na), mode=np.zeros(na, np.int64),
        inertia=np.zeros(na), held=np.zeros(na), blocked=np.zeros(nv),
        blocked_axis=np.zeros(na), pivot=np.zeros(4),
        twist=np.zeros((nb, 6)), wrench=np.zeros((nb, 6)), force=np.zeros((nb, 6)),
        yielded=np.zeros((len(loops.body), 6)), yielded_on=np.zeros((nb, 6)),
        rhs=np.zeros(nv), effort=np.zeros(nv),
        q_before=np.zeros(position_count(model)), ddq=np.zeros(nv), constraint=np.zeros(nv))
