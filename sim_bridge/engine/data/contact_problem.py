"""
Contact problem in one step: its parts, and the scratch memory for its solvers.

Every contact has up to six rows: along its normal and its two friction directions, and about them
(spinning, then rolling friction). A row J is stored *whitened*, as the vector w with w wᵀ = J M⁻¹
Jᵀ. The tree's own factors give it: M = L D Lᵀ and w = D^-½ L⁻¹ Jᵀ. It has entries only for the
joints between the touched body and the root (the branch-induced sparsity in Featherstone 2008,
section 6.5), so neither M⁻¹ nor the Delassus matrix W Wᵀ is ever formed.

Impulses λ change the whitened velocity z by Wᵀ λ, and the row velocities by W z. z has nz entries.
The first nv belong to the coordinates; each compliant row in a loop-closing joint has its own
entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.inertia import ARTICULATED_SIZE, RIGID_SIZE
from sim_bridge.engine.data.joint_laws import LAW_SIZE
from sim_bridge.engine.data.model import (
    body_count,
    FREE,
    GROUND,
    Model,
    model_sizes,
    PRISMATIC,
    REVOLUTE,
    velocity_count,
    WELD,
)
from sim_bridge.engine.data.parts import Dims, make

Row = IntEnum('Row', 'NORMAL TANGENT TANGENT2 SPIN ROLL ROLL2', start=0)
"""Rows of a contact."""
Bound = IntEnum('Bound', 'TANGENT TANGENT2 ROLL SPIN', start=0)
"""Columns in Laws.radius."""
Block = IntEnum('Block', 'NN N1 D11 N2 D12 D22 SPIN ROLL ROLL2', start=0)
"""
Columns in Rows.block.

First the linear rows' Delassus matrix, lower triangle (N: normal row, 1 and 2: friction
rows), then the angular rows' Delassus matrix, diagonal.
"""
OnPath = IntEnum(
    'OnPath',
    'SLACK SPEED NORMAL TANGENT TANGENT2 VELOCITY VELOCITY2 SLACK_CHANGE SPEED_CHANGE',
    start=0,
)
"""
Columns in Direct.path.

Slack of the normal velocity and sliding speed; changes in a step: impulses along NORMAL, TANGENT,
TANGENT2, sliding velocities, slack and speed.
"""
# entries in Solution.effort
ISLANDS = 0
SWEEPS = 1  # maximum over all islands
NEWTONS = 2  # maximum over all islands
# entries in Solution.residual
NATURAL = 0  # natural map [m/s]
COMPLEMENTARITY = 1  # [J]
PENETRATION = 2  # [m]
EXCESS = 3  # natural map relative to the island's tolerance [1]

# entries in Direct.size
IN_ORDER, ORDER_WORK, TREE_BODIES, TREE_WORK = range(4)
# columns in Direct.unknown
OF_CONTACT, OF_ROW, LOWEST, HIGHEST = range(4)
# first columns in Direct.kept
KEPT_IMPULSE, KEPT_BIAS, KEPT_SOFTNESS, KEPT_BLOCK = 0, 6, 12, 18

NO_LAW = -1  # for a contact with reports only, or for a joint element

COMPLIANCE_ROW = 7  # items per row in Direct.linearized: up to six for K, then one for k
KEPT_LAW_SIZE = 10  # columns in Rows.kept_law

# entries in LawRows.size
ELEMENTS, OF_TREES, ISLANDS_BEFORE = range(3)
# values in LawRows.element
OF_FRICTION, OF_MOTOR, OF_UPPER_STOP, OF_LOWER_STOP, OF_ELASTIC_STOP = range(5)
_ELEMENTS_OF_OWNER = 4  # at most: a stop is rigid or elastic
_DENSE_ROWS = 720  # their matrix takes 4 MB
_PROFILE_WIDTH = 192  # mean profile width with room in the arrays


class Laws(NamedTuple):
    """Contact laws applied to each contact."""

    law: Annotated[IntVector, Dims('bounds', points_at='laws')]
    """Row in ContactMaterials.law, or NO_LAW."""
    model: Annotated[IntVector, Dims('bounds')]
    """contact_materials.CONE, PYRAMID …"""
    rows: Annotated[IntVector, Dims('bounds')]
    """Number of rows of the contact: 0, 1, 3 or 6."""
    frame: Annotated[FloatMatrix, Dims('bounds', 9, unit='1')]
    """Normal and both friction directions, world; the second direction scaled by mu2 / mu."""
    radius: Annotated[FloatMatrix, Dims('bounds', 4, unit='1; m')]
    """Bounds on both friction directions, rolling and spinning, per normal impulse: see Bound."""
    target: Annotated[FloatMatrix, Dims('bounds', 3, unit='m/s')]
    """Target velocities of the linear rows."""
    softness: Annotated[FloatMatrix, Dims('bounds', 6, unit='1/kg; 1/(kg m²)')]
    """Compliance of each row: velocity per impulse; 0 for rigid rows."""
    approach: Annotated[FloatVector, Dims('bounds', unit='m/s')]
    """Velocity along the normal at the start of the step."""
    wanted: Annotated[FloatVector, Dims('bounds', unit='m/s')]
    """Least allowed velocity along the normal at the end of the step."""
    pull: Annotated[FloatVector, Dims('bounds', unit='N s')]
    """Impulse of the adhesion."""
    gap: Annotated[FloatVector, Dims('bounds', unit='m')]
    """Contacts.gap plus the rest overlap of adhesive surfaces."""


class BodyPairs(NamedTuple):
    """
    Contacts grouped by their two bodies; scratch for `contact.refine`.

    A body pair is identified by its first contact. A body's pairs form a linked list.
    """

    first: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact of the pair of bodies; -1 for contacts outside any pair."""
    points: Annotated[IntVector, Dims('bounds')]
    """Number of contacts in a pair, at the pair's first contact."""
    next: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact of the body's next pair, -1 for none."""
    last: Annotated[IntVector, Dims('nb', points_at='bounds')]
    """First contact of a body's last pair, -1 for none."""
    center: Annotated[FloatMatrix, Dims('bounds', 3, unit='m')]
    """Mean of a pair's points, world, at the pair's first contact."""
    extent: Annotated[FloatVector, Dims('bounds', unit='m')]
    """Greatest distance from this mean to the pair's points."""
    last_bin: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact in a pair's last bin, -1 for none, at the pair's first contact."""
    next_bin: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact in the pair's next bin, -1 for none, at a bin's first contact."""
    bin: Annotated[IntVector, Dims('bounds')]
    """Bin number."""
    kept: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """The contact kept from a bin."""


class Islands(NamedTuple):
    """Groups of contacts coupled through connected trees."""

    number: Annotated[IntVector, Dims('bounds')]
    """Island of each contact, -1 for none."""
    order: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """Contacts, island by island."""
    first: Annotated[IntVector, Dims('bounds + 1')]
    """First index of each island in `order`."""
    leader: Annotated[IntVector, Dims('nb', points_at='nb')]
    """Union-find forest over the trees' first bodies."""
    of_tree: Annotated[IntVector, Dims('nb')]
    """Island of a leader."""
    spent: Annotated[IntVector, Dims('bounds')]
    """Multiplications that an island took in this time step, see `contact.budget`."""
    residual: Annotated[FloatMatrix, Dims('bounds', 2, unit='m/s; J')]
    """
    Residuals for an island's impulses: NATURAL, COMPLEMENTARITY.

    NATURAL is nan if it was not computed after the solve.
    """
    level: Annotated[IntVector, Dims('bounds')]
    """Accuracy level of the solver in this step, see `contact.accuracy`."""
    left: Annotated[FloatVector, Dims('bounds', unit='m/s')]
    """Residual at level ROUGH, or after Newton steps; 0 otherwise."""
    remembers: Annotated[IntVector, Dims('bounds')]
    """1 if the last step has left a level or failures, 2 if more work may end them."""
    wait: Annotated[IntVector, Dims('bounds')]
    """Steps until the next finer level is tried, see `contact.accuracy`."""
    result: Annotated[IntVector, Dims('bounds')]
    """Worst result of the Newton steps in this step, see `contact.accuracy`."""
    rests: Annotated[IntVector, Dims('nb')]
    """1 at a leader whose trees are held, and have all been at rest for long enough."""


class Rows(NamedTuple):
    """Whitened rows of the contacts, with all entries stored consecutively."""

    first: Annotated[IntVector, Dims('bounds + 1')]
    """First entry of each contact."""
    support: Annotated[IntVector, Dims('entries', points_at='whitened')]
    """Coordinate of each entry; those from nv on belong to compliant joint rows."""
    linear: Annotated[FloatMatrix, Dims(3, 'entries', unit='kg^-½')]
    """Entries of NORMAL, TANGENT, TANGENT2."""
    angular: Annotated[FloatMatrix, Dims(3, 'entries', unit='m^-1 kg^-½')]
    """Entries of SPIN, ROLL, ROLL2, for contacts with six rows."""
    block: Annotated[FloatMatrix, Dims('bounds', 9, unit='1/kg; 1/(kg m²)')]
    """The contact's own Delassus matrix; columns Block."""
    inverse: Annotated[FloatMatrix, Dims('bounds', 6, unit='kg')]
    """Inverse of the linear rows' Delassus matrix; columns NN … D22, 0 if it is singular."""
    place: Annotated[IntVector, Dims('whitened')]
    """Entry of a coordinate in the contact under construction, -1 for none."""
    whitening: Annotated[FloatVector, Dims('nv', unit='SI')]
    """D^-½; 0 for locked joints."""
    column: Annotated[FloatMatrix, Dims(6, 3, unit='N m; N')]
    """Scratch: three wrenches that have reached a free root."""
    mimic: Annotated[FloatMatrix, Dims('mimic_rows', 'nv', unit='1')]
    """Whitened and orthonormalized rows of the mimic joints; none in worlds with loops."""
    of_search: Annotated[IntVector, Dims(1)]
    """PairCount.SEARCHES when the kept rows' contacts were found, see `kept_rows`; 0: none."""
    kept_kind: Annotated[IntVector, Dims('nb')]
    """Joint kinds of the bodies when these rows were built."""
    kept_factor: Annotated[FloatMatrix, Dims('nb', ARTICULATED_SIZE, unit='SI')]
    """Workspace.joint_factor of each body (Workspace.articulated if free) at that time."""
    kept_law: Annotated[FloatMatrix, Dims('bounds', KEPT_LAW_SIZE, unit='SI')]
    """Number of rows, friction directions and softness of each contact at that time."""


class Solution(NamedTuple):
    """Impulses and residuals of the contact laws."""

    impulse: Annotated[FloatMatrix, Dims('bounds', 6, unit='N s; N m s')]
    """Impulses of the rows; the normal impulse includes the adhesive pull."""
    bias: Annotated[FloatMatrix, Dims('bounds', 6, unit='m/s; rad/s')]
    """Row velocities without contact impulses, less the target velocities."""
    z: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """Whitened velocity due to the impulses."""
    last: Annotated[FloatMatrix, Dims('bounds', 6, unit='N s; N m s')]
    """Impulses of the last step, world axes."""
    proposal: Annotated[FloatMatrix, Dims('bounds', 3, unit='N s')]
    """Change of the linear rows' impulses proposed by an estimate for new contacts."""
    shift: Annotated[FloatVector, Dims('bounds', unit='N s²')]
    """Impulses of the position problem, times the time step."""
    aside: Annotated[FloatMatrix, Dims('bounds', 8, unit='SI')]
    """Normal impulse, Block.NN and softness, saved while positions are solved in their place."""
    effort: Annotated[IntVector, Dims(3)]
    """ISLANDS, SWEEPS, NEWTONS of the last solution."""
    residual: Annotated[FloatVector, Dims(4, unit='m/s; J; m; 1')]
    """NATURAL, COMPLEMENTARITY, PENETRATION, EXCESS; maxima since their last reset to 0."""


class Response(NamedTuple):
    """Response of bodies and coordinates to impulses."""

    twist: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s; m/s')]
    """Spatial velocities from which the row velocities are computed."""
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Wrench on each body, input of `respond`; as State.wrench."""
    mean_wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """The contacts' mean wrench on each body over the step; as State.wrench."""
    origin: Annotated[FloatMatrix, Dims('nb', 3, unit='m')]
    """Origins of the bodies' frames in the middle of the step, reference points of mean_wrench."""
    pushed: Annotated[IntVector, Dims('nb')]
    """1 if contacts act on the body."""
    force: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Scratch for the elimination."""
    ddq: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations due to the wrenches."""
    rhs: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts beside the wrenches, input of `respond`; zeros without efforts."""
    constraint: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of locked joints due to the wrenches."""
    blocked: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of unyielding contacts on each joint, see `blocked`."""
    v_drift: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """Velocity at which positions move in the second half of the step."""


class Direct(NamedTuple):
    """Scratch for the direct solver."""

    matrix: Annotated[FloatMatrix, Dims('dense_rows', 'dense_rows', unit='SI')]
    right: Annotated[FloatVector, Dims('direct_rows', unit='SI')]
    unknown: Annotated[IntMatrix, Dims('direct_rows', 4)]
    """Contact and row of each unknown; least and greatest coordinate of its entries."""
    dense: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """A whitened row including its zeros."""
    rows: Annotated[IntVector, Dims('bounds')]
    """Laws.rows, saved while the normals are solved alone."""
    coordinate: Annotated[IntVector, Dims('whitened')]
    """Coordinates pushed by an island's contacts."""
    search: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """Right-hand side, then change of the whitened velocity, in the order of the coordinates."""
    hidden: Annotated[FloatVector, Dims('bounds', unit='1/kg')]
    """Column NN of Rows.block, saved while other contacts are solved, see `contact.hybrid`."""
    bound: Annotated[FloatMatrix, Dims('bounds', 2, unit='1')]
    """Friction bounds of Laws.radius, saved while friction is bounded by impulses."""
    kept: Annotated[FloatMatrix, Dims('bounds', 27, unit='SI')]
    """Impulse, bias, softness and block of a contact before a proximal step."""
    before: Annotated[FloatMatrix, Dims('bounds', 6, unit='N s; N m s')]
    """Impulses before load sharing."""
    size: Annotated[IntVector, Dims(4)]
    """
    IN_ORDER, ORDER_WORK: about the ordered coordinates, see `velocity_newton`.

    TREE_BODIES, TREE_WORK: about the listed bodies, see `tree_newton`.
    """
    group: Annotated[IntVector, Dims('whitened', points_at='whitened')]
    """
    First coordinate of the tree to which each coordinate belongs.

    The coordinate of a compliant row forms its own group.
    """
    last: Annotated[IntVector, Dims('whitened', points_at='whitened')]
    """Last coordinate of the tree, at its first one."""
    queue: Annotated[IntVector, Dims('whitened', points_at='whitened')]
    """Trees in search order."""
    head: Annotated[IntVector, Dims('whitened', points_at='entries')]
    """Entry of a tree's first contact, see `next`."""
    next: Annotated[IntVector, Dims('entries', points_at='entries')]
    """Entry of the tree's next contact, -1 for none."""
    of_entry: Annotated[IntVector, Dims('entries', points_at='bounds')]
    """Contact of an entry in these lists."""
    place: Annotated[IntVector, Dims('whitened')]
    """Index of a coordinate in the order."""
    first: Annotated[IntVector, Dims('whitened')]
    """First column of each line in the profile."""
    start: Annotated[IntVector, Dims('whitened')]
    """Offsets of each line: index of its column 0 in `lower`, and of its column's in `upper`."""
    lower: Annotated[FloatVector, Dims('profile', unit='1')]
    upper: Annotated[FloatVector, Dims('profile', unit='1')]
    diagonal: Annotated[FloatVector, Dims('whitened', unit='1')]
    local: Annotated[FloatMatrix, Dims(6, 13, unit='SI')]
    """Linearized laws of one contact."""
    linearized: Annotated[FloatMatrix, Dims('bounds', 6 * COMPLIANCE_ROW, unit='SI')]
    """Linearized laws of each contact: impulse change = k - K velocity; see COMPLIANCE_ROW."""
    dual: Annotated[FloatMatrix, Dims('bounds', 6, unit='m/s; rad/s')]
    """Row velocities in the contact laws, see `contact.alternating`."""
    path: Annotated[FloatMatrix, Dims('bounds', 9, unit='SI')]
    """Variables and their changes on the central path, see `contact.central_path`; OnPath."""
    offset: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """Whitened velocity without the island's impulses, in the order of the coordinates."""
    next_search: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """The right-hand side in `search` for the next iteration."""
    in_island: Annotated[IntVector, Dims('nb')]
    """1 at the first bodies in the island's trees, see `tree_newton`."""
    item_of: Annotated[IntVector, Dims('nb')]
    """A body's index in the list, -1 for none."""
    body_of: Annotated[IntVector, Dims('whitened')]
    """The same for a joint coordinate's body."""
    above: Annotated[IntVector, Dims('nb')]
    """For each listed body: index of its carrier, -1 for none."""
    tree_of: Annotated[IntVector, Dims('nb', points_at='nb')]
    """First body in its tree."""
    joint_of: Annotated[IntVector, Dims('nb')]
    """RIGID (also locked), ON_AXIS or FLOATING."""
    rigid: Annotated[FloatMatrix, Dims('nb', RIGID_SIZE, unit='kg; kg m; kg m²')]
    """Workspace.rigid."""
    axis: Annotated[FloatMatrix, Dims('nb', 6, unit='1; m')]
    """Workspace.axis; for a floating body its pivots without contacts."""
    own_pivot: Annotated[FloatVector, Dims('nb', unit='kg; kg m²')]
    """The joint's effective inertia without contacts."""
    own_inertia: Annotated[FloatVector, Dims('nb', unit='kg; kg m²')]
    """Part of it due to armature, springs and dampers."""
    joint_inertia: Annotated[FloatVector, Dims('nb', unit='kg; kg m²')]
    """The same with joint law elements."""
    inertia: Annotated[FloatMatrix, Dims('nb', 36, unit='SI')]
    """Articulated inertia with contacts, torque rows first; for a floating body its factors."""
    column: Annotated[FloatMatrix, Dims('nb', 6, unit='SI')]
    """Articulated inertia times the joint's axis."""
    line: Annotated[FloatMatrix, Dims('nb', 6, unit='SI')]
    """The joint's axis times the articulated inertia."""
    pivot: Annotated[FloatVector, Dims('nb', unit='1/kg; 1/(kg m²)')]
    """Inverse effective inertia with contacts."""
    tree_force: Annotated[FloatMatrix, Dims('nb', 7, unit='N s m; N s')]
    """Impulse on each body, then on its joint."""
    tree_twist: Annotated[FloatMatrix, Dims('nb', 7, unit='rad/s; m/s')]
    """Change in each body's spatial velocity, then in its joint's."""
    probe_force: Annotated[FloatMatrix, Dims('nb', 7, unit='N s m; N s')]
    """As tree_force, for an impulse at one coupled contact."""
    probe_twist: Annotated[FloatMatrix, Dims('nb', 7, unit='rad/s; m/s')]
    """As tree_twist, caused by probe_force."""
    side: Annotated[IntMatrix, Dims('bounds', 2)]
    """A contact's bodies in the list, or ON_GROUND; ON_JOINT for a joint element."""
    arm: Annotated[FloatMatrix, Dims('bounds', 6, unit='m')]
    """Contact point relative to O, for each body; a joint element's sign, in column 0."""
    wrench: Annotated[FloatMatrix, Dims(6, 6, unit='1; m')]
    """A contact's rows as unit wrenches on one body."""
    coupled: Annotated[FloatVector, Dims('direct_rows', unit='N s; N m s')]
    """Impulse changes between listed bodies."""


class LawRows(NamedTuple):
    """
    Joint law elements solved with the contacts, see `contact.law_rows`.

    Each element counts as an additional contact behind the touching ones: element k is contact
    COUNT + k in the other parts. Tree joint elements come first.
    """

    size: Annotated[IntVector, Dims(3)]
    """
    ELEMENTS: element count. OF_TREES: tree joint element count.

    ISLANDS_BEFORE: island count without them.
    """
    owner: Annotated[IntVector, Dims('law_rows')]
    """Owner of the element: a velocity coordinate, or nv + an axis of Loops."""
    element: Annotated[IntVector, Dims('law_rows')]
    """OF_FRICTION, OF_MOTOR, OF_UPPER_STOP, OF_LOWER_STOP or OF_ELASTIC_STOP."""
    sign: Annotated[FloatVector, Dims('law_rows', unit='1')]
    """Only direction in which an element with one bound can push; 0 with two bounds."""
    target: Annotated[FloatVector, Dims('law_rows', unit='m/s, rad/s')]
    """Velocity that the element holds the joint at, or keeps it from passing."""
    middle: Annotated[FloatVector, Dims('law_rows', unit='N s, N m s')]
    """Impulse at which the element's bound lies (one bound), or the middle of its bounds (two)."""
    kept_law: Annotated[FloatMatrix, Dims('owners', LAW_SIZE, unit='SI')]
    """Workspace.law of these joints, LoopWork.law of axes."""
    kept_given: Annotated[FloatVector, Dims('owners', unit='N, N m')]
    """Workspace.given and LoopWork.given of the same owners."""


class ContactProblem(NamedTuple):
    """All parts of the contact problem."""

    laws: Laws
    islands: Islands
    rows: Rows
    solution: Solution
    response: Response
    direct: Direct
    pairs: BodyPairs
    law_rows: LawRows


def longest_support(model: Model, tied: Sequence[Sequence[int]] = (), compliant: int = 0) -> int:
    """
    Return the greatest coordinate count on one side of a contact's row.

    tied: body pairs connected by joints outside the trees. compliant: number of
    coordinates owned by these joints.
    """
    sizes = np.zeros(body_count(model), np.int64)
    own = _velocities_of(model)
    for body in range(body_count(model)):
        above = model.parent[body]
        sizes[body] = own[body] + (sizes[above] if above >= 0 else 0)
    longest = int(sizes.max(initial=0))
    group = model.root.copy()
    for a, b in tied:
        if a >= 0 and b >= 0:
            group[group == group[a]] = group[b]
    if len(model.mimic) or len(tied):
        # joints or trees tied together can spread an impulse over all of them
        moving = model.kind != GROUND
        longest = max(longest, int(np.bincount(group[moving], own[moving]).max(initial=0)))
    return longest + compliant


def make_problem(
    model: Model,
    capacity: int,
    direct_rows: int,
    tied: Sequence[Sequence[int]] = (),
    compliant: int = 0,
    axes: int | None = None,
) -> ContactProblem:
    """
    Allocate room for `capacity` contacts, and for a direct solution with `direct_rows` rows.

    tied, compliant: as for `longest_support`. axes: axis count in these joints; with None, no
    joint law is solved together with the contacts.
    """
    owners = 0 if axes is None else _owners_of_laws(model) + axes
    laws = _ELEMENTS_OF_OWNER * owners
    rows = direct_rows + laws
    group, last = _trees_of(model, compliant)
    coordinates = len(group)
    profile = min(coordinates * (coordinates - 1) // 2, _PROFILE_WIDTH * coordinates)
    sizes = {
        **model_sizes(model),
        'bounds': capacity + laws,
        'law_rows': laws,
        'owners': velocity_count(model) + (axes or 0),
        'direct_rows': rows,
        'dense_rows': min(rows, _DENSE_ROWS),
        'profile': profile if rows else 0,
        'mimic_rows': 0 if len(tied) else len(model.mimic),
        'whitened': coordinates,
        'entries': 2 * (capacity + laws) * longest_support(model, tied, compliant),
    }
    return ContactProblem(
        make(Laws, sizes),
        make(Islands, sizes),
        make(Rows, sizes, place=np.full(sizes['whitened'], -1, np.int64)),
        make(Solution, sizes),
        make(Response, sizes),
        make(Direct, sizes, group=group, last=last),
        make(BodyPairs, sizes),
        make(LawRows, sizes),
    )


def _velocities_of(model: Model) -> np.ndarray:
    """Return the number of velocity coordinates of each body's joint, (nb,)."""
    return np.where(model.kind >= FREE, 6, np.where(model.kind > WELD, 1, 0))


def _trees_of(model: Model, compliant: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Direct.group and Direct.last."""
    size = velocity_count(model)
    group = np.arange(size + compliant)
    own = _velocities_of(model)
    first = np.full(body_count(model), size)
    np.minimum.at(first, model.root[own > 0], model.v_index[own > 0])
    for body in np.flatnonzero(own):
        start = model.v_index[body]
        group[start : start + own[body]] = first[model.root[body]]
    last = np.arange(size + compliant)
    np.maximum.at(last, group, np.arange(size + compliant))
    return group, last


def _owners_of_laws(model: Model) -> int:
    """Return how many tree joints have a joint law."""
    return int(np.isin(model.kind, (REVOLUTE, PRISMATIC)).sum())
