"""
Loop-closing joints, and their scratch memory.

A loop-closing joint ties a frame A on one body to a frame B on another body, or on the world. It
is a list of rows. Each row keeps one scalar, its *error*, at zero:

    SLIDE i     the displacement from A's origin to B's along A's axis i,
    DOT i, j    the scalar product of A's axis i and B's axis j, less its reference,
    DISTANCE    the distance between the two origins, less its reference,
    MIMIC       the deviation of a mimic joint's position from its law.

Every joint type consists of these rows (`ROWS_OF_TYPE`); its axis is z in A and in B. A row with a
CFM is compliant, as in ODE: its velocity becomes -ERP / h times its error, less CFM times its
force. Each row keeps one of the six directions along and about A's axes (`direction_of`).

The free motions at this joint are its *axes* (`AXES_OF_TYPE`). Each axis has a position, and
friction, springs, stops and motors like a tree joint. Motor types have axes and no rows: they add
springs, motors and friction to another joint's free motions. The kinds of axes:

    ALONG i         the displacement from A's origin to B's along A's axis i,
    HINGE           the angle about A's z from A's x to B's x,
    TILT            the same angle if B's x may also turn out of A's xy plane,
    UNIVERSAL_A     the angle about A's z from A's x to B's z, in a universal joint,
    UNIVERSAL_B     the angle about B's z from A's z to B's x,
    TURN_A, TURN_B, TURN_W  B's rotation angle about any axis in A, in B, or in the world:
                    its rate, integrated,
    EULER k         an angular motor's angles: about A's z, about the product B's x times A's
                    z, about B's x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.contact_problem import longest_support
from sim_bridge.engine.data.joint_laws import LAW_SIZE
from sim_bridge.engine.data.model import LIMITS_SIZE, Model, model_sizes, MOTOR_SIZE, PASSIVE_SIZE
from sim_bridge.engine.data.parts import Dims, make

# row kinds
SLIDE, DOT, DISTANCE, MIMIC = range(4)
X, Y, Z = range(3)
# axis kinds
ALONG, HINGE, UNIVERSAL_A, UNIVERSAL_B, TURN_A, TURN_B, EULER, TILT, TURN_W = range(9)
# entries in Loops.size
RIGID_ROWS, JOINT_ROWS, ALL_ROWS = range(3)

# entries in LoopWork.counts: vectors in the basis; active rows without a new vector; nonzero rows
# among these
RANK, LOST, DEPENDENT = range(3)

# entries in LoopWork.pivot. HOW: as for `active_set.update_active_set`. CHANGED: count of changed
# tree joint modes. JAMMED: 1 if a loop cannot close because nothing locked yields
HOW, CHANGED, JAMMED = range(3)

# first columns in LoopWork.whitened and .load, three each; joints without rotation need four
FORCES, TORQUES = 0, 4
# columns in Loops.toughness; BREAK_ALONG: the first of six directions
BREAK_FORCE, BREAK_TORQUE, BREAK_ALONG = range(3)
TOUGHNESS_SIZE = 8
# broken parts, bits in State.loop_broken; GONE_ALONG: the first of six directions
GONE, GONE_ALONG = 1, 2
# value in Loops.body for the world
WORLD = -1
# an axis row has no effect if the other rows leave less than this share of it: near a dead centre
# a motor would throw around bodies it cannot move
POWERLESS = 1e-2

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
    'inline': _POINT[:2],
    'parallel': _PARALLEL,
    'perpendicular': _CROSSED,
    'hinge_motor': (),
    'slider_motor': (),
    'tilt_motor': (),
    'angular_motor': (),
}
"""Each joint type's rows: kind and axes. A hinge-2's suspension is its third row."""

AXES_OF_TYPE = {
    'ball': (),
    'hinge': ((HINGE, Z),),
    'slider': ((ALONG, Z),),
    'fixed': (),
    'piston': ((ALONG, Z), (HINGE, Z)),
    'planar': ((ALONG, X), (ALONG, Y), (HINGE, Z)),
    'universal': ((UNIVERSAL_A, Z), (UNIVERSAL_B, Z)),
    'hinge2': ((UNIVERSAL_A, Z), (UNIVERSAL_B, Z)),
    'distance': (),
    'inline': ((ALONG, Z),),
    'parallel': ((HINGE, Z),),
    'perpendicular': ((UNIVERSAL_A, Z), (UNIVERSAL_B, Z)),
    'hinge_motor': ((HINGE, Z),),
    'slider_motor': ((ALONG, Z),),
    'tilt_motor': ((TILT, Z),),
    'angular_motor': (),
}
"""Each joint type's axes: kind and axis. An angular motor has its own axes."""


def direction_of(row: tuple[int, int, int]) -> int:
    """
    Return the direction kept by a row: along A's x, y, z (0 to 2), or about them (3 to 5).

    DISTANCE counts as x. Crossed axes count as y if x is the second axis.
    """
    kind, i, j = row
    if kind != DOT:
        return i
    return 3 + (Y if i == j else 3 - i - j)


EULER_AXES = ((EULER, 0), (EULER, 1), (EULER, 2))


class AxisValues(NamedTuple):
    """
    Parameters and state for a joint's axes, one row per axis.

    passive, limits, motor, stop: as in Model. q, u, control, target, course, mode, effort, load:
    as the fields for loop axes in State.
    """

    passive: np.ndarray
    limits: np.ndarray
    motor: np.ndarray
    stop: np.ndarray
    q: np.ndarray
    u: np.ndarray
    control: np.ndarray
    target: np.ndarray
    course: np.ndarray
    mode: np.ndarray
    effort: np.ndarray
    load: np.ndarray


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """
    Description of a loop-closing joint for the engine.

    rows: per row, kind and axes. body: body numbers, or WORLD. frame: (24,) A in the first body's
    frame, then B in the second's: rotation by rows and origin [m]. reference: per row. erp, cfm:
    per row; a cfm of 0 makes the row rigid, and then erp has no meaning. axes: per axis, kind and
    axis. vectors: (na, 3) one per axis. values: the axes' parameters and state. toughness: (8,) as
    in Loops.
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
    toughness: np.ndarray


class Loops(NamedTuple):
    """
    Constant arrays for the loop-closing joints, their rows and axes.

    Rigid rows come first, including mimic rows, then compliant rows. The axes' rows follow.
    """

    size: Annotated[IntVector, Dims(3)]
    """RIGID_ROWS: rigid rows. JOINT_ROWS: with compliant rows. ALL_ROWS: with the axes' rows."""
    body: Annotated[IntMatrix, Dims('nk', 2, points_at='nb')]
    """Bodies that carry A and B, or WORLD."""
    frame: Annotated[FloatMatrix, Dims('nk', 24, unit='1; m')]
    """A and B in their bodies' frames: rotation by rows, then origin."""
    turns: Annotated[IntVector, Dims('nk')]
    """1 if rows or axes involve the bodies' rotation."""
    toughness: Annotated[
        FloatMatrix, Dims('nk', TOUGHNESS_SIZE, unit='N; N m; N; N m', is_parameter=True)
    ]
    """
    BREAK_FORCE and BREAK_TORQUE: greatest load transmitted by a joint's rows, about B's origin.

    A joint that had to transmit more acts no longer from that step on. BREAK_ALONG: the same for
    the row in each of the six directions; this row breaks alone. Infinite: never breaks.
    """
    joint: Annotated[IntVector, Dims('nr', points_at='nk')]
    """Joint of each row, -1 for MIMIC."""
    direction: Annotated[IntVector, Dims('nr')]
    """Direction kept by each row, see `direction_of`; -1 for MIMIC."""
    kind: Annotated[IntVector, Dims('nr')]
    """SLIDE, DOT, DISTANCE or MIMIC."""
    axes: Annotated[IntMatrix, Dims('nr', 2)]
    """Axis of A and of B; for MIMIC the row in Model.mimic and 0."""
    reference: Annotated[FloatVector, Dims('nr', unit='1, m', is_parameter=True)]
    """Reference value of the error."""
    erp: Annotated[FloatVector, Dims('nr', unit='1')]
    """Share of the error removed in one step, for compliant rows."""
    cfm: Annotated[FloatVector, Dims('nr', unit='m/(N s), rad/(N m s)')]
    """Velocity per force; 0 for rigid rows."""
    axis_joint: Annotated[IntVector, Dims('na', points_at='nk')]
    """Joint of each axis."""
    axis_kind: Annotated[IntMatrix, Dims('na', 2)]
    """Kind; axis of A or B, or angle number."""
    axis_vector: Annotated[FloatMatrix, Dims('na', 3, unit='1')]
    """Unit vector in A, B or the world, for TURN_A, TURN_B and TURN_W."""
    axis_index: Annotated[IntVector, Dims('na')]
    """
    0, 1, 2 …: position of each axis in LoopWork.q. Stands in for Model.q_of_v in `set_joint_laws`.
    """
    passive: Annotated[FloatMatrix, Dims('na', PASSIVE_SIZE, unit='SI', is_parameter=True)]
    """As Model.passive. The next three fields are as Model.limits, Model.motor and Model.stop."""
    limits: Annotated[
        FloatMatrix,
        Dims('na', LIMITS_SIZE, unit='m, rad; N, N m; m/s, rad/s; N, N m', is_parameter=True),
    ]
    motor: Annotated[
        FloatMatrix,
        Dims('na', MOTOR_SIZE, unit='N/m, N m/rad; N s/m, N m s/rad; N, N m', is_parameter=True),
    ]
    stop: Annotated[
        FloatMatrix, Dims('na', 3, unit='1; 1; m/(N s), rad/(N m s)', is_parameter=True)
    ]


class LoopWork(NamedTuple):
    """
    Scratch for the rows, coordinates, bodies and axes.

    Wrenches on bodies are torque and force about the body frame's origin, as State.wrench, unless
    stated otherwise.
    """

    arm: Annotated[FloatMatrix, Dims('nt', 12, unit='N m; N')]
    """Each row's wrench on both bodies, about their trees' O; world axes."""
    error: Annotated[FloatVector, Dims('nt', unit='m, rad')]
    drift: Annotated[FloatVector, Dims('nt', unit='m/s², rad/s²')]
    """Second derivative of the error at zero accelerations of the coordinates."""
    softness: Annotated[FloatVector, Dims('nt', unit='m/(N s), rad/(N m s)')]
    """Compliance of each row: velocity per impulse; 0 for rigid rows."""
    scale: Annotated[FloatVector, Dims('nt', unit='SI')]
    """Scale that makes rows in different units comparable: inverse of a row's typical size."""
    right: Annotated[FloatVector, Dims('nt', unit='SI')]
    """Right-hand side of the rows: velocity or acceleration that each row still lacks."""
    impulse: Annotated[FloatVector, Dims('nt', unit='N s, N m s')]
    """The rows' impulses, or forces."""
    change: Annotated[FloatVector, Dims('nt', unit='N s, N m s')]
    """Change of the impulses."""
    counts: Annotated[IntVector, Dims(3)]
    """RANK: vectors in the basis, LOST: rows that added none, DEPENDENT: nonzero lost rows."""
    basis: Annotated[FloatMatrix, Dims('nt', 'loop_whitened', unit='1')]
    """Orthonormalized whitened rows, without dependent rows."""
    span: Annotated[IntMatrix, Dims('nt', 2)]
    """Coordinates in which a basis vector can be nonzero: the first, and the last plus 1."""
    chosen: Annotated[IntVector, Dims('nt')]
    """Row that added each vector."""
    own: Annotated[IntVector, Dims('nt')]
    """Vector that each row added, -1 for none."""
    factor: Annotated[FloatMatrix, Dims('nt', 'nt', unit='1')]
    """R in rows = R basis, for scaled rows."""
    reach: Annotated[IntVector, Dims('nt')]
    """Number of columns of R, from the first on, that can be nonzero in each row."""
    gram: Annotated[FloatMatrix, Dims('nt', 'nt', unit='1')]
    """Cholesky factor of Rᵀ R, with dependent rows."""
    vector: Annotated[FloatVector, Dims('loop_whitened', unit='SI')]
    """Row under construction, 0 between rows."""
    part: Annotated[FloatVector, Dims('nt', unit='1')]
    """Scratch per basis vector."""
    whitening: Annotated[FloatVector, Dims('nv', unit='SI')]
    """D^-½; 0 for locked joints."""
    support: Annotated[IntVector, Dims('support', points_at='nv')]
    """Coordinates with entries of the joint under construction."""
    whitened: Annotated[FloatMatrix, Dims('support', 8, unit='SI')]
    """Entries of three forces at B's origin along A's axes, and three torques."""
    load: Annotated[FloatCube, Dims(2, 6, 8, unit='N m; N')]
    """The same forces and torques as wrenches on both bodies, while they propagate to the root."""
    column: Annotated[FloatMatrix, Dims(6, 3, unit='N m; N')]
    """Scratch: three wrenches that have reached a free root."""
    tied: Annotated[IntVector, Dims('nb')]
    """1 for bodies on which the joints act."""
    broken: Annotated[IntVector, Dims('nk')]
    """As State.loop_broken, including parts that break in this step."""
    active: Annotated[IntVector, Dims('nt')]
    """1 for the rows in the basis."""
    q: Annotated[FloatVector, Dims('na', unit='m, rad')]
    """Positions of the axes in the middle of the step."""
    v: Annotated[FloatVector, Dims('na', unit='m/s, rad/s')]
    """Velocities of the axes at the start of the step."""
    v_next: Annotated[FloatVector, Dims('na', unit='m/s, rad/s')]
    """Velocities of the axes at the end of the step."""
    law: Annotated[FloatMatrix, Dims('na', LAW_SIZE, unit='SI')]
    """As Workspace.law. The next two fields are as Workspace.given and Workspace.mode."""
    given: Annotated[FloatVector, Dims('na', unit='N, N m')]
    mode: Annotated[IntVector, Dims('na')]
    found_mode: Annotated[IntVector, Dims('na')]
    """Modes, and below active rows and impulses, found for the step, while `close` projects."""
    found_active: Annotated[IntVector, Dims('nt')]
    found_impulse: Annotated[FloatVector, Dims('nt', unit='N s, N m s')]
    inertia: Annotated[FloatVector, Dims('na', unit='kg, kg m²')]
    """Effective inertia of an axis: its velocity gain is its impulse over this."""
    held: Annotated[FloatVector, Dims('na', unit='N, N m')]
    """Effort on each axis at the end of the step, except command and dampers."""
    borne: Annotated[FloatVector, Dims('na', unit='N')]
    """Force borne by the joint of each axis with a BEARING; its friction grows with this force."""
    miss: Annotated[FloatMatrix, Dims('na', 2, unit='N')]
    """
    An earlier guess of `borne`, and the resulting load less this guess: one end of the secant.
    """
    blocked: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of unyielding rows on each joint, see `blocked`."""
    blocked_axis: Annotated[FloatVector, Dims('na', unit='N, N m')]
    """The same for each axis."""
    slack: Annotated[FloatVector, Dims(1, unit='m/s, rad/s')]
    """Velocity violation above which a mode changes, see `active_set.update_active_set`."""
    pivot: Annotated[IntVector, Dims(3)]
    """How modes are changed, and the outcome: see HOW."""
    twist: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s; m/s')]
    """Spatial velocities, or accelerations, from which those of the rows are computed."""
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Wrench of the rows on each body, about its tree's O."""
    yielded: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """As State.loop_wrench."""
    mean: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """As State.loop_mean; in an observation the wrenches to be read, see `reactions`."""
    force: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Scratch for the elimination."""
    rhs: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of the mimic rows on unlocked joints."""
    effort: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of the mimic rows on all joints."""
    q_before: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Positions before a Newton step."""
    ddq: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations due to the rows."""
    constraint: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of locked joints due to the rows."""


def make_loops(joints: Sequence[LoopJoint], model: Model) -> Loops:
    """Order all joints' rows; includes the model's mimic joints if there is any joint."""
    listed = []
    for number, joint in enumerate(joints):
        for row, (kind, i, j) in enumerate(joint.rows):
            listed.append(
                (number, kind, (i, j), joint.reference[row], joint.erp[row], joint.cfm[row])
            )
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
        toughness=np.array([joint.toughness for joint in joints], float).reshape(
            -1, TOUGHNESS_SIZE
        ),
        joint=np.array(numbers, np.int64),
        direction=np.array(
            [
                -1 if kind == MIMIC else direction_of((kind, *pair))
                for kind, pair in zip(kinds, axes, strict=True)
            ],
            np.int64,
        ),
        kind=np.array(kinds, np.int64),
        axes=np.array(axes, np.int64).reshape(-1, 2),
        reference=np.array(references, float),
        erp=np.array(erps, float),
        cfm=np.array(cfms, float),
        axis_joint=np.array(axis_joint, np.int64),
        axis_kind=np.array([axis for joint in joints for axis in joint.axes], np.int64).reshape(
            -1, 2
        ),
        axis_vector=np.array(
            [vector for joint in joints for vector in joint.vectors], float
        ).reshape(-1, 3),
        axis_index=np.arange(na),
        passive=stacked('passive', PASSIVE_SIZE),
        limits=stacked('limits', LIMITS_SIZE),
        motor=stacked('motor', MOTOR_SIZE),
        stop=stacked('stop', 3),
    )


def _turns(joint: LoopJoint) -> bool:
    """Return whether any row or axis of a joint involves its bodies' relative rotation."""
    return any(kind == DOT for kind, _, _ in joint.rows) or any(
        kind != ALONG for kind, _ in joint.axes
    )


def make_loop_work(model: Model, loops: Loops) -> LoopWork:
    """Allocate the scratch memory for solving the rows."""
    na, nt = len(loops.axis_joint), len(loops.kind) + len(loops.axis_joint)
    sizes = model_sizes(model)
    tied = np.zeros(sizes['nb'], np.int64)
    tied[loops.body[loops.body >= 0]] = 1
    return make(
        LoopWork,
        {
            **sizes,
            'nk': len(loops.body),
            'na': na,
            'nt': nt,
            'loop_whitened': sizes['nv'] + nt - int(loops.size[RIGID_ROWS]),
            'support': 2 * longest_support(model),
        },
        own=np.full(nt, -1, np.int64),
        tied=tied,
    )
