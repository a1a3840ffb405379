"""
The contact problem of one step: its parts, and the scratch memory of its solvers.

Every contact has up to six rows: along its normal and its two friction directions, and about them
(spinning, then rolling friction). A row J is stored *whitened*, as the vector w with w wᵀ = J M⁻¹
Jᵀ. The tree's own factors give it: M = L D Lᵀ and w = D^-½ L⁻¹ Jᵀ. It has entries only for the
joints between the touched body and the root (the branch-induced sparsity of Featherstone 2008,
section 6.5), so neither M⁻¹ nor the Delassus matrix W Wᵀ is ever formed. Impulses λ change the
whitened velocity z by Wᵀ λ, and the rows' velocities by W z. The first nv of the nz entries of z
belong to the coordinates; each compliant row of a joint that closes a loop has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.inertia import ARTICULATED_SIZE
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
"""Columns of Laws.radius."""
Block = IntEnum('Block', 'NN N1 D11 N2 D12 D22 SPIN ROLL ROLL2', start=0)
"""
Columns of Rows.block: the lower triangle of the Delassus matrix of the linear rows (N the normal
one, 1 and 2 those of friction), then the diagonal of that of the angular rows.
"""
# entries of Solution.effort
ISLANDS = 0
SWEEPS = 1  # the most of any island
NEWTONS = 2  # likewise
# entries of Solution.residual
NATURAL = 0  # natural map [m/s]
COMPLEMENTARITY = 1  # [J]
PENETRATION = 2  # [m]

# entries of Direct.size
IN_ORDER, ORDER_WORK = range(2)
# columns of Direct.unknown
OF_CONTACT, OF_ROW, LOWEST, HIGHEST = range(4)
# first columns of Direct.kept
KEPT_IMPULSE, KEPT_BIAS, KEPT_SOFTNESS, KEPT_BLOCK = 0, 6, 12, 18

NO_LAW = -1  # of a contact that only reports, or is an element of a joint

COMPLIANCE_ROW = 7  # items of one row in Direct.linearized: up to six of K, then one of k
KEPT_LAW_SIZE = 10  # of Rows.kept_law

# entries of LawRows.size
ELEMENTS, OF_TREES, ISLANDS_BEFORE = range(3)
# LawRows.element
OF_FRICTION, OF_MOTOR, OF_UPPER_STOP, OF_LOWER_STOP, OF_ELASTIC_STOP = range(5)
_ELEMENTS_OF_OWNER = 4  # at most: a stop is rigid or elastic
_DENSE_ROWS = 720  # their matrix takes 4 MB
_PROFILE_WIDTH = 192  # mean width of the profile that there is room for


class Laws(NamedTuple):
    """The contact laws: what they demand of each contact."""

    law: Annotated[IntVector, Dims('bounds', points_at='laws')]
    """Row of ContactMaterials.law, or NO_LAW."""
    model: Annotated[IntVector, Dims('bounds')]
    """contact_materials.CONE, PYRAMID or CONSTANT."""
    rows: Annotated[IntVector, Dims('bounds')]
    """How many rows the contact has: 0, 1, 3 or 6."""
    frame: Annotated[FloatMatrix, Dims('bounds', 9, unit='1')]
    """Normal and both friction directions, world; the second scaled by mu2 / mu."""
    radius: Annotated[FloatMatrix, Dims('bounds', 4, unit='1; m')]
    """Bounds of both friction directions, of rolling and of spinning, per normal: see Bound."""
    target: Annotated[FloatMatrix, Dims('bounds', 3, unit='m/s')]
    """Wanted velocities of the linear rows."""
    softness: Annotated[FloatMatrix, Dims('bounds', 6, unit='1/kg; 1/(kg m²)')]
    """Velocity that a row yields per impulse."""
    approach: Annotated[FloatVector, Dims('bounds', unit='m/s')]
    """Velocity along the normal at the start of the step."""
    wanted: Annotated[FloatVector, Dims('bounds', unit='m/s')]
    """Least velocity along the normal that the step may end with."""
    pull: Annotated[FloatVector, Dims('bounds', unit='N s')]
    """Impulse of the adhesion."""
    gap: Annotated[FloatVector, Dims('bounds', unit='m')]
    """Contacts.gap, beyond the overlap that the surfaces rest with."""


class BodyPairs(NamedTuple):
    """
    Contacts counted by the two bodies that they are between; scratch of `contact.refine`.

    A pair is known by its first contact; the pairs of a body are a linked list.
    """

    first: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact of the pair of bodies, -1 for contacts that are not counted."""
    points: Annotated[IntVector, Dims('bounds')]
    """How many contacts a pair has, where its first contact is."""
    next: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact of the body's next pair, -1 for none."""
    last: Annotated[IntVector, Dims('nb', points_at='bounds')]
    """First contact of a body's last pair, -1 for none."""
    center: Annotated[FloatMatrix, Dims('bounds', 3, unit='m')]
    """Mean of a pair's points, world, where its first contact is."""
    extent: Annotated[FloatVector, Dims('bounds', unit='m')]
    """Greatest distance of them from it."""
    last_bin: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact of a pair's last bin, -1 for none, where its first contact is."""
    next_bin: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """First contact of the pair's next bin, -1 for none, where that of a bin is."""
    bin: Annotated[IntVector, Dims('bounds')]
    """Number of the bin."""
    kept: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """The contact that stays of it."""


class Islands(NamedTuple):
    """Groups of contacts that depend on each other through the trees that they connect."""

    number: Annotated[IntVector, Dims('bounds')]
    """The contact's island, -1 for none."""
    order: Annotated[IntVector, Dims('bounds', points_at='bounds')]
    """Contacts, island by island."""
    first: Annotated[IntVector, Dims('bounds + 1')]
    """First place of each island in `order`."""
    leader: Annotated[IntVector, Dims('nb', points_at='nb')]
    """Union-find forest over the trees' first bodies."""
    of_tree: Annotated[IntVector, Dims('nb')]
    """Island of a leader."""
    spent: Annotated[IntVector, Dims('bounds')]
    """Multiplications that an island took in this step of time, see `contact.budget`."""
    residual: Annotated[FloatMatrix, Dims('bounds', 2, unit='m/s; J')]
    """Of an island's impulses, if it was computed after they were solved: NATURAL, else nan, and
    COMPLEMENTARITY."""
    rests: Annotated[IntVector, Dims('bounds')]
    """1 where all trees of an island have been at rest for long enough."""


class Rows(NamedTuple):
    """Whitened rows of the contacts, with all entries stored consecutively."""

    first: Annotated[IntVector, Dims('bounds + 1')]
    """First entry of each contact."""
    support: Annotated[IntVector, Dims('entries', points_at='nv')]
    """Velocity coordinate of each entry."""
    linear: Annotated[FloatMatrix, Dims(3, 'entries', unit='kg^-½')]
    """Entries of NORMAL, TANGENT, TANGENT2."""
    angular: Annotated[FloatMatrix, Dims(3, 'entries', unit='m^-1 kg^-½')]
    """Entries of SPIN, ROLL, ROLL2; of contacts that have six rows."""
    block: Annotated[FloatMatrix, Dims('bounds', 9, unit='1/kg; 1/(kg m²)')]
    """The contact's own Delassus matrix; columns as Block."""
    inverse: Annotated[FloatMatrix, Dims('bounds', 6, unit='kg')]
    """Inverse of the linear rows' matrix; columns NN … D22, 0 where it is singular."""
    place: Annotated[IntVector, Dims('whitened')]
    """Entry of a coordinate in the contact that is being built, -1 for none."""
    whitening: Annotated[FloatVector, Dims('nv', unit='SI')]
    """D^-½; 0 for locked joints."""
    column: Annotated[FloatMatrix, Dims(6, 3, unit='N m; N')]
    """Three wrenches at a root."""
    mimic: Annotated[FloatMatrix, Dims('mimic_rows', 'nv', unit='1')]
    """Whitened rows of the mimic joints, made orthonormal; none where there are loops."""
    of_search: Annotated[IntVector, Dims(1)]
    """PairCount.SEARCHES when the contacts of kept rows were found, see `kept_rows`; 0: none."""
    kept_kind: Annotated[IntVector, Dims('nb')]
    """Of the bodies' joints when these rows were built."""
    kept_factor: Annotated[FloatMatrix, Dims('nb', ARTICULATED_SIZE, unit='SI')]
    """Of each body, likewise: Workspace.joint_factor, or Workspace.articulated of a free one."""
    kept_law: Annotated[FloatMatrix, Dims('bounds', KEPT_LAW_SIZE, unit='SI')]
    """Of each contact, likewise: how many rows it has, its friction directions, its softness."""


class Solution(NamedTuple):
    """The impulses, and the residuals of the laws."""

    impulse: Annotated[FloatMatrix, Dims('bounds', 6, unit='N s; N m s')]
    """Impulses of the rows; along the normal it includes the pull."""
    bias: Annotated[FloatMatrix, Dims('bounds', 6, unit='m/s; rad/s')]
    """Rows' velocities without contact impulses, less those that are wanted."""
    z: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """Whitened velocity that the impulses give."""
    last: Annotated[FloatMatrix, Dims('bounds', 6, unit='N s; N m s')]
    """Impulses of the last step, world axes."""
    proposal: Annotated[FloatMatrix, Dims('bounds', 3, unit='N s')]
    """Change of the linear rows' impulses that an estimate for new contacts proposes."""
    shift: Annotated[FloatVector, Dims('bounds', unit='N s²')]
    """Impulses of the position problem, times the time step."""
    aside: Annotated[FloatMatrix, Dims('bounds', 8, unit='SI')]
    """Impulse, Block.NN and softness of the normal while positions are solved in their place."""
    effort: Annotated[IntVector, Dims(3)]
    """ISLANDS, SWEEPS, NEWTONS of the last solution."""
    residual: Annotated[FloatVector, Dims(3, unit='m/s; J; m')]
    """NATURAL, COMPLEMENTARITY, PENETRATION; maxima since they were last set to 0."""


class Response(NamedTuple):
    """Response of bodies and coordinates to impulses."""

    twist: Annotated[FloatMatrix, Dims('nb', 6, unit='rad/s; m/s')]
    """Spatial velocities that the rows' velocities are computed from."""
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Wrench on each body that `respond` answers; as State.wrench."""
    mean_wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """The contacts' mean wrench over the step on each body; as State.wrench."""
    origin: Annotated[FloatMatrix, Dims('nb', 3, unit='m')]
    """Origins of the bodies' frames in the middle of the step, about which it is."""
    pushed: Annotated[IntVector, Dims('nb')]
    """1 where contacts act on the body."""
    force: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Scratch of the elimination."""
    ddq: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations that the wrenches give."""
    rhs: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts that `respond` answers beside the wrenches; zeros where there are none."""
    constraint: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of locked joints that the wrenches call forth."""
    blocked: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """What contacts that nothing can yield to would push each joint with, see `blocked`."""
    v_drift: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """Velocity that the positions move with in the second half of the step."""


class Direct(NamedTuple):
    """Scratch of the direct solver."""

    matrix: Annotated[FloatMatrix, Dims('dense_rows', 'dense_rows', unit='SI')]
    right: Annotated[FloatVector, Dims('direct_rows', unit='SI')]
    unknown: Annotated[IntMatrix, Dims('direct_rows', 4)]
    """Contact and row of each unknown; least and greatest coordinate of its entries."""
    dense: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """A whitened row with its zeros."""
    rows: Annotated[IntVector, Dims('bounds')]
    """Laws.rows while the normals are solved alone."""
    coordinate: Annotated[IntVector, Dims('whitened')]
    """The coordinates that an island's contacts push."""
    search: Annotated[FloatMatrix, Dims(4, 'whitened', unit='SI')]
    """Vectors of the conjugate gradients."""
    hidden: Annotated[FloatVector, Dims('bounds', unit='1/kg')]
    """Column NN of Rows.block while other contacts are solved, see `contact.hybrid`."""
    bound: Annotated[FloatMatrix, Dims('bounds', 2, unit='1')]
    """Bounds of friction in Laws.radius while friction is bounded by impulses."""
    kept: Annotated[FloatMatrix, Dims('bounds', 27, unit='SI')]
    """Impulse, bias, softness and block of a contact before a proximal step."""
    size: Annotated[IntVector, Dims(2)]
    """IN_ORDER and ORDER_WORK: of the coordinates that are ordered, see `velocity_newton`."""
    group: Annotated[IntVector, Dims('whitened', points_at='whitened')]
    """First coordinate of the tree of each; rows that yield have only their own."""
    last: Annotated[IntVector, Dims('whitened', points_at='whitened')]
    """Last coordinate of the tree, at its first one."""
    queue: Annotated[IntVector, Dims('whitened', points_at='whitened')]
    """Trees in the order of a search."""
    head: Annotated[IntVector, Dims('whitened', points_at='entries')]
    """First of a tree's contacts: an entry of it, see `next`."""
    next: Annotated[IntVector, Dims('entries', points_at='entries')]
    """An entry of the tree's next contact, -1 for none."""
    of_entry: Annotated[IntVector, Dims('entries', points_at='bounds')]
    """The contact of an entry that is in these lists."""
    place: Annotated[IntVector, Dims('whitened')]
    """Where a coordinate is in the order."""
    first: Annotated[IntVector, Dims('whitened')]
    """First column of each line of the profile."""
    start: Annotated[IntVector, Dims('whitened')]
    """Where its column 0 would be in `lower`, and that of its column in `upper`."""
    lower: Annotated[FloatVector, Dims('profile', unit='1')]
    upper: Annotated[FloatVector, Dims('profile', unit='1')]
    diagonal: Annotated[FloatVector, Dims('whitened', unit='1')]
    local: Annotated[FloatMatrix, Dims(6, 13, unit='SI')]
    """The linearized laws of one contact."""
    linearized: Annotated[FloatMatrix, Dims('bounds', 6 * COMPLIANCE_ROW, unit='SI')]
    """Linearized laws of each contact: impulse change = k - K velocity; see COMPLIANCE_ROW."""


class LawRows(NamedTuple):
    """
    Elements of the laws of joints that are solved with the contacts, see `contact.law_rows`.

    Each is a contact more, behind those that touch: element k is contact COUNT + k of the other
    parts. First come those of joints in trees.
    """

    size: Annotated[IntVector, Dims(3)]
    """
    ELEMENTS, how many there are; OF_TREES, how many of joints in trees.

    ISLANDS_BEFORE, the number of islands without them.
    """
    owner: Annotated[IntVector, Dims('law_rows')]
    """Whose element it is: that of a velocity coordinate, or of nv + an axis of Loops."""
    element: Annotated[IntVector, Dims('law_rows')]
    """OF_FRICTION, OF_MOTOR, OF_UPPER_STOP, OF_LOWER_STOP or OF_ELASTIC_STOP."""
    sign: Annotated[FloatVector, Dims('law_rows', unit='1')]
    """The only way it can push, of those with one bound; 0 for those with two."""
    target: Annotated[FloatVector, Dims('law_rows', unit='m/s, rad/s')]
    """Velocity that it keeps the joint at, or from passing."""
    middle: Annotated[FloatVector, Dims('law_rows', unit='N s, N m s')]
    """Impulse about which, or from which on, its bounds are."""
    kept_law: Annotated[FloatMatrix, Dims('owners', LAW_SIZE, unit='SI')]
    """Workspace.law of these joints, LoopWork.law of axes."""
    kept_given: Annotated[FloatVector, Dims('owners', unit='N, N m')]
    """Workspace.given and LoopWork.given of the same."""


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
    Return the most coordinates that a contact's row can have on one side.

    tied: pairs of bodies that joints outside the trees connect. compliant: the number of
    coordinates these joints have of their own.
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
        # what ties joints or trees can spread an impulse over all of them
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
    Allocate room for `capacity` contacts, and for the direct solution of `direct_rows` rows.

    tied, compliant: as for `longest_support`. axes: how many axes these joints have; with None,
    nothing of it is solved together with the laws of joints.
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
    """Return (nb,) how many velocity coordinates each body's joint has."""
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
    """Return how many joints of a model's trees have laws."""
    return int(np.isin(model.kind, (REVOLUTE, PRISMATIC)).sum())
