"""
Joints that close loops, and the scratch memory to solve for them.

Such a joint ties a frame A on one body to a frame B on another, or on the world. It is a list of
rows, each of which keeps one scalar, its *error*, at zero:

    SLIDE i     the way from A's origin to B's along axis i of A,
    DOT i, j    the scalar product of axis i of A and axis j of B, less its reference,
    DISTANCE    the distance of the two origins, less its reference,
    MIMIC       what a mimic joint's position differs from its law.

Every joint type is made of these (`ROWS_OF_TYPE`); its axis is z of A and of B. A row with a CFM
yields, as in ODE: its velocity becomes -ERP / h times its error, less CFM times its force. Each
row keeps one of the six directions along and about A's axes (`direction_of`).

What such a joint leaves free it has *axes* for (`AXES_OF_TYPE`), with a position each, and with
friction, springs, stops and motors as the trees' joints have them. Motors have axes and no rows:
further springs, motors and friction on what another joint leaves free. The kinds of axes:

    ALONG i         the displacement from A's origin to B's along axis i of A,
    HINGE           the angle about z of A from A's x to B's x,
    TILT            the same where B's x may also turn out of A's xy plane,
    UNIVERSAL_A     the angle about z of A from A's x to B's z, of a universal joint,
    UNIVERSAL_B     the angle about z of B from z of A to B's x,
    TURN_A, TURN_B, TURN_W  the angle of B's rotation about any axis of A, of B, or of the world:
                    its rate, integrated,
    EULER k         the angles of an angular motor: about z of A, about the product of x of B and z
                    of A, about x of B.
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

# kinds of rows
SLIDE, DOT, DISTANCE, MIMIC = range(4)
X, Y, Z = range(3)
# kinds of axes
ALONG, HINGE, UNIVERSAL_A, UNIVERSAL_B, TURN_A, TURN_B, EULER, TILT, TURN_W = range(9)
# entries of Loops.size
RIGID_ROWS, JOINT_ROWS, ALL_ROWS = range(3)

# entries of LoopWork.counts: vectors of the basis, active rows that added none, and those of them
# that are not zero to begin with
RANK, LOST, DEPENDENT = range(3)

# entries of LoopWork.pivot; HOW: as `active_set.update_active_set`, CHANGED: how many modes of the
# trees' joints were changed, JAMMED: 1 where a loop cannot close since nothing locked yields
HOW, CHANGED, JAMMED = range(3)

# first columns of LoopWork.whitened and .load, three each; joints that do not turn need four
FORCES, TORQUES = 0, 4
# columns of Loops.toughness; BREAK_ALONG: the first of six directions
BREAK_FORCE, BREAK_TORQUE, BREAK_ALONG = range(3)
TOUGHNESS_SIZE = 8
# what is broken, bits of State.loop_broken; GONE_ALONG: the first of six directions
GONE, GONE_ALONG = 1, 2
# the world, in Loops.body
WORLD = -1
# share of an axis' row that is left beside the others, below which nothing acts along it: near a
# dead centre a motor would throw about what it cannot move
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
"""Rows of each joint type: kind and axes. The suspension of a hinge-2 is its third one."""

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
"""Axes of each joint type: kind and axis. Those of an angular motor are its own."""


def direction_of(row: tuple[int, int, int]) -> int:
    """
    Return the direction that a row keeps: along x, y, z of A (0 to 2), about them (3 to 5).

    That of DISTANCE counts as x, and that of crossed axes, whose x is the second one, as y.
    """
    kind, i, j = row
    if kind != DOT:
        return i
    return 3 + (Y if i == j else 3 - i - j)


EULER_AXES = ((EULER, 0), (EULER, 1), (EULER, 2))


class AxisValues(NamedTuple):
    """
    Parameters and state of a joint's axes, one row per axis.

    passive, limits, motor, stop: as in Model. q, u, control, target, course, mode, effort, load:
    as State's fields of loop axes.
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
    Description of a joint for the engine.

    rows: kind and axes of each. body: numbers of both bodies, or WORLD. frame: (24,) A in the
    first body's frame, then B in the second's: rotation by rows and origin [m]. reference: of each
    row. erp, cfm: of each row; a cfm of 0 makes it rigid, and then erp has no meaning. axes: kind
    and axis of each. vectors: (na, 3) of each. values: of the axes. toughness: (8,) as Loops
    has it.
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
    Constant arrays of the joints that close loops, their rows and axes.

    Rigid rows come first, among them those of the mimic joints, then compliant rows. The rows of
    the axes follow.
    """

    size: Annotated[IntVector, Dims(3)]
    """How many rows are rigid; with those that yield; with the axes'."""
    body: Annotated[IntMatrix, Dims('nk', 2, points_at='nb')]
    """Bodies that carry A and B, or WORLD."""
    frame: Annotated[FloatMatrix, Dims('nk', 24, unit='1; m')]
    """A and B in their bodies' frames: rotation by rows, then origin."""
    turns: Annotated[IntVector, Dims('nk')]
    """1 where rows or axes are about how the bodies turn."""
    toughness: Annotated[
        FloatMatrix, Dims('nk', TOUGHNESS_SIZE, unit='N; N m; N; N m', is_parameter=True)
    ]
    """
    BREAK_FORCE and BREAK_TORQUE: the most that a joint's rows transmit, about B's origin.

    A joint that had to transmit more does nothing from that step on. BREAK_ALONG: the same of the
    row in each of the six directions, which goes alone. Infinite: it never breaks.
    """
    joint: Annotated[IntVector, Dims('nr', points_at='nk')]
    """Joint of each row, -1 for MIMIC."""
    direction: Annotated[IntVector, Dims('nr')]
    """The direction that each row keeps, see `direction_of`; -1 for MIMIC."""
    kind: Annotated[IntVector, Dims('nr')]
    """SLIDE, DOT, DISTANCE or MIMIC."""
    axes: Annotated[IntMatrix, Dims('nr', 2)]
    """Axis of A and of B; of MIMIC the row of Model.mimic and 0."""
    reference: Annotated[FloatVector, Dims('nr', unit='1, m', is_parameter=True)]
    """What the error is counted from."""
    erp: Annotated[FloatVector, Dims('nr', unit='1')]
    """Share of the error that a step takes back, of rows that yield."""
    cfm: Annotated[FloatVector, Dims('nr', unit='m/(N s), rad/(N m s)')]
    """Velocity per force; 0 for rigid rows."""
    axis_joint: Annotated[IntVector, Dims('na', points_at='nk')]
    """Joint of each axis."""
    axis_kind: Annotated[IntMatrix, Dims('na', 2)]
    """Kind; axis of A or B, or which angle."""
    axis_vector: Annotated[FloatMatrix, Dims('na', 3, unit='1')]
    """Unit vector in A, B or the world, of TURN_A, TURN_B and TURN_W."""
    axis_index: Annotated[IntVector, Dims('na')]
    """0, 1, 2 …: where the functions of `set_joint_laws` find an axis' position."""
    passive: Annotated[FloatMatrix, Dims('na', PASSIVE_SIZE, unit='SI', is_parameter=True)]
    """As Model.passive; the next three likewise."""
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

    Wrenches on bodies are torque and force about the origin of the body's frame, as State.wrench,
    unless said otherwise.
    """

    arm: Annotated[FloatMatrix, Dims('nt', 12, unit='N m; N')]
    """Each row's wrench on both bodies, about their trees' O; world axes."""
    error: Annotated[FloatVector, Dims('nt', unit='m, rad')]
    drift: Annotated[FloatVector, Dims('nt', unit='m/s², rad/s²')]
    """Second derivative of the error at zero accelerations of the coordinates."""
    softness: Annotated[FloatVector, Dims('nt', unit='m/(N s), rad/(N m s)')]
    """Velocity that a row yields per impulse."""
    scale: Annotated[FloatVector, Dims('nt', unit='SI')]
    """What makes rows of different units comparable: its inverse is a row's typical size."""
    right: Annotated[FloatVector, Dims('nt', unit='SI')]
    """Velocities or accelerations that the rows lack."""
    impulse: Annotated[FloatVector, Dims('nt', unit='N s, N m s')]
    """The rows' impulses, or forces."""
    change: Annotated[FloatVector, Dims('nt', unit='N s, N m s')]
    """By how much the impulses change."""
    counts: Annotated[IntVector, Dims(3)]
    """See RANK: vectors in the basis, rows that added none, those that depend on others."""
    basis: Annotated[FloatMatrix, Dims('nt', 'loop_whitened', unit='1')]
    """The whitened rows made orthonormal, without those that depend on others."""
    span: Annotated[IntMatrix, Dims('nt', 2)]
    """First coordinate of a basis vector that may not be 0, and the one after the last."""
    chosen: Annotated[IntVector, Dims('nt')]
    """The row that added each vector."""
    own: Annotated[IntVector, Dims('nt')]
    """The vector that each row added, -1 for none."""
    factor: Annotated[FloatMatrix, Dims('nt', 'nt', unit='1')]
    """R of rows = R basis, the rows scaled."""
    reach: Annotated[IntVector, Dims('nt')]
    """How many of the first vectors each row has parts along."""
    gram: Annotated[FloatMatrix, Dims('nt', 'nt', unit='1')]
    """Cholesky factor of Rᵀ R, where rows depend on others."""
    vector: Annotated[FloatVector, Dims('loop_whitened', unit='SI')]
    """The row that is being built, 0 between rows."""
    part: Annotated[FloatVector, Dims('nt', unit='1')]
    """Scratch by vectors of the basis."""
    whitening: Annotated[FloatVector, Dims('nv', unit='SI')]
    """D^-½; 0 for locked joints."""
    support: Annotated[IntVector, Dims('support', points_at='nv')]
    """Coordinates that the joint being built has entries for."""
    whitened: Annotated[FloatMatrix, Dims('support', 8, unit='SI')]
    """Entries of three forces at B's origin along A's axes, and three torques."""
    load: Annotated[FloatCube, Dims(2, 6, 8, unit='N m; N')]
    """These on their way to the root, from both bodies: torques, then forces."""
    column: Annotated[FloatMatrix, Dims(6, 3, unit='N m; N')]
    """Three wrenches at a root."""
    tied: Annotated[IntVector, Dims('nb')]
    """1 for the bodies that the joints act on."""
    broken: Annotated[IntVector, Dims('nk')]
    """As State.loop_broken, with what breaks in this step."""
    active: Annotated[IntVector, Dims('nt')]
    """1 for the rows that are in the basis."""
    q: Annotated[FloatVector, Dims('na', unit='m, rad')]
    """Positions of the axes in the middle of the step."""
    v: Annotated[FloatVector, Dims('na', unit='m/s, rad/s')]
    """Velocities of the axes at its start."""
    v_next: Annotated[FloatVector, Dims('na', unit='m/s, rad/s')]
    """And at its end."""
    law: Annotated[FloatMatrix, Dims('na', LAW_SIZE, unit='SI')]
    """As Workspace.law; the next two likewise."""
    given: Annotated[FloatVector, Dims('na', unit='N, N m')]
    mode: Annotated[IntVector, Dims('na')]
    inertia: Annotated[FloatVector, Dims('na', unit='kg, kg m²')]
    """What an axis moves: its velocity gains its impulse over this."""
    held: Annotated[FloatVector, Dims('na', unit='N, N m')]
    """Effort of what acts on each axis at the end of the step, command and dampers apart."""
    borne: Annotated[FloatVector, Dims('na', unit='N')]
    """Force that the joint of each axis with a BEARING bears, which its friction grows with."""
    miss: Annotated[FloatMatrix, Dims('na', 2, unit='N')]
    """The load before, and by how much it differed from what it led to."""
    blocked: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """What rows that nothing can yield to would push each joint with, see `blocked`."""
    blocked_axis: Annotated[FloatVector, Dims('na', unit='N, N m')]
    """Likewise each axis."""
    slack: Annotated[FloatVector, Dims(1, unit='m/s, rad/s')]
    """Violation from which a mode is changed, as `active_set.update_active_set`."""
    pivot: Annotated[IntVector, Dims(3)]
    """How modes are changed, and what came of it: see HOW."""
    twist: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s; m/s')]
    """Spatial velocities, or accelerations, that the rows' are computed from."""
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """What the rows do to each body, about its tree's O."""
    yielded: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """As State.loop_wrench."""
    mean: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """As State.loop_mean; of an observation the wrenches that are read, see `reactions`."""
    force: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Scratch of the elimination."""
    rhs: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of the mimic rows on joints that are not locked."""
    effort: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Likewise on all joints."""
    q_before: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Positions before a Newton step."""
    ddq: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations that the rows give."""
    constraint: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of locked joints that they call forth."""


def make_loops(joints: Sequence[LoopJoint], model: Model) -> Loops:
    """Order the rows of all joints; includes the model's mimic joints if there is any joint."""
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
    """Return whether any row or axis of a joint concerns the relative rotation of its bodies."""
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
