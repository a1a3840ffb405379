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
from sim_bridge.engine.data.model import (
    body_count,
    FREE,
    GROUND,
    Model,
    model_sizes,
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

# columns of Direct.unknown
OF_CONTACT, OF_ROW, LOWEST, HIGHEST = range(4)
# first columns of Direct.kept
KEPT_IMPULSE, KEPT_BIAS, KEPT_SOFTNESS, KEPT_BLOCK = 0, 6, 12, 18

NO_LAW = -1  # of a contact that only reports


class Laws(NamedTuple):
    """The contact laws: what they demand of each contact."""

    law: Annotated[IntVector, Dims('nc', points_at='laws')]
    """Row of Surfaces.law, or NO_LAW."""
    model: Annotated[IntVector, Dims('nc')]
    """surfaces.CONE, PYRAMID or CONSTANT."""
    rows: Annotated[IntVector, Dims('nc')]
    """How many rows the contact has: 0, 1, 3 or 6."""
    frame: Annotated[FloatMatrix, Dims('nc', 9, unit='1')]
    """Normal and both friction directions, world; the second scaled by mu2 / mu."""
    radius: Annotated[FloatMatrix, Dims('nc', 4, unit='1; m')]
    """Bounds of both friction directions, of rolling and of spinning, per normal: see Bound."""
    target: Annotated[FloatMatrix, Dims('nc', 3, unit='m/s')]
    """Wanted velocities of the linear rows."""
    softness: Annotated[FloatMatrix, Dims('nc', 6, unit='1/kg; 1/(kg m²)')]
    """Velocity that a row yields per impulse."""
    approach: Annotated[FloatVector, Dims('nc', unit='m/s')]
    """Velocity along the normal at the start of the step."""
    wanted: Annotated[FloatVector, Dims('nc', unit='m/s')]
    """Least velocity along the normal that the step may end with."""
    pull: Annotated[FloatVector, Dims('nc', unit='N s')]
    """Impulse of the adhesion."""
    gap: Annotated[FloatVector, Dims('nc', unit='m')]
    """Contacts.gap, beyond the overlap that the surfaces rest with."""


class BodyPairs(NamedTuple):
    """
    Contacts counted by the two bodies that they are between; scratch of `contact.refine`.

    A pair is known by its first contact; the pairs of a body are a linked list.
    """

    first: Annotated[IntVector, Dims('nc', points_at='nc')]
    """First contact of the pair of bodies, -1 for contacts that are not counted."""
    points: Annotated[IntVector, Dims('nc')]
    """How many contacts a pair has, where its first contact is."""
    next: Annotated[IntVector, Dims('nc', points_at='nc')]
    """First contact of the body's next pair, -1 for none."""
    last: Annotated[IntVector, Dims('nb', points_at='nc')]
    """First contact of a body's last pair, -1 for none."""
    center: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    """Mean of a pair's points, world, where its first contact is."""
    extent: Annotated[FloatVector, Dims('nc', unit='m')]
    """Greatest distance of them from it."""
    last_bin: Annotated[IntVector, Dims('nc', points_at='nc')]
    """First contact of a pair's last bin, -1 for none, where its first contact is."""
    next_bin: Annotated[IntVector, Dims('nc', points_at='nc')]
    """First contact of the pair's next bin, -1 for none, where that of a bin is."""
    bin: Annotated[IntVector, Dims('nc')]
    """Number of the bin."""
    kept: Annotated[IntVector, Dims('nc', points_at='nc')]
    """The contact that stays of it."""


class Islands(NamedTuple):
    """Groups of contacts that depend on each other through the trees that they connect."""

    number: Annotated[IntVector, Dims('nc')]
    """The contact's island, -1 for none."""
    order: Annotated[IntVector, Dims('nc', points_at='nc')]
    """Contacts, island by island."""
    first: Annotated[IntVector, Dims('nc + 1')]
    """First place of each island in `order`."""
    leader: Annotated[IntVector, Dims('nb', points_at='nb')]
    """Union-find forest over the trees' first bodies."""
    of_tree: Annotated[IntVector, Dims('nb')]
    """Island of a leader."""
    spent: Annotated[IntVector, Dims('nc')]
    """Multiplications that an island took in this step of time, see `contact.budget`."""
    rests: Annotated[IntVector, Dims('nc')]
    """1 where all trees of an island have been at rest for long enough."""


class Rows(NamedTuple):
    """Whitened rows of the contacts, with all entries stored consecutively."""

    first: Annotated[IntVector, Dims('nc + 1')]
    """First entry of each contact."""
    support: Annotated[IntVector, Dims('entries', points_at='nv')]
    """Velocity coordinate of each entry."""
    linear: Annotated[FloatMatrix, Dims(3, 'entries', unit='kg^-½')]
    """Entries of NORMAL, TANGENT, TANGENT2."""
    angular: Annotated[FloatMatrix, Dims(3, 'entries', unit='m^-1 kg^-½')]
    """Entries of SPIN, ROLL, ROLL2; of contacts that have six rows."""
    block: Annotated[FloatMatrix, Dims('nc', 9, unit='1/kg; 1/(kg m²)')]
    """The contact's own Delassus matrix; columns as Block."""
    inverse: Annotated[FloatMatrix, Dims('nc', 6, unit='kg')]
    """Inverse of the linear rows' matrix; columns NN … D22, 0 where it is singular."""
    place: Annotated[IntVector, Dims('whitened')]
    """Entry of a coordinate in the contact that is being built, -1 for none."""
    whitening: Annotated[FloatVector, Dims('nv', unit='SI')]
    """D^-½; 0 for locked joints."""
    column: Annotated[FloatMatrix, Dims(6, 3, unit='N m; N')]
    """Three wrenches at a root."""
    mimic: Annotated[FloatMatrix, Dims('mimic_rows', 'nv', unit='1')]
    """Whitened rows of the mimic joints, made orthonormal; none where there are loops."""


class Solution(NamedTuple):
    """The impulses, and the residuals of the laws."""

    impulse: Annotated[FloatMatrix, Dims('nc', 6, unit='N s; N m s')]
    """Impulses of the rows; along the normal it includes the pull."""
    bias: Annotated[FloatMatrix, Dims('nc', 6, unit='m/s; rad/s')]
    """Rows' velocities without contact impulses, less those that are wanted."""
    z: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """Whitened velocity that the impulses give."""
    last: Annotated[FloatMatrix, Dims('nc', 6, unit='N s; N m s')]
    """Impulses of the last step, world axes."""
    proposal: Annotated[FloatMatrix, Dims('nc', 3, unit='N s')]
    """Change of the linear rows' impulses that an estimate for new contacts proposes."""
    shift: Annotated[FloatVector, Dims('nc', unit='N s')]
    """Impulses of the position problem."""
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
    pushed: Annotated[IntVector, Dims('nb')]
    """1 where contacts act on the body."""
    force: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Scratch of the elimination."""
    ddq: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Accelerations that the wrenches give."""
    rhs: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Zeros."""
    constraint: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Efforts of locked joints that the wrenches call forth."""
    blocked: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """What contacts that nothing can yield to would push each joint with, see `blocked`."""
    v_drift: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """Velocity that the positions move with in the second half of the step."""


class Direct(NamedTuple):
    """Scratch of the direct solver."""

    matrix: Annotated[FloatMatrix, Dims('direct_rows', 'direct_rows', unit='SI')]
    right: Annotated[FloatVector, Dims('direct_rows', unit='SI')]
    unknown: Annotated[IntMatrix, Dims('direct_rows', 4)]
    """Contact and row of each unknown; least and greatest coordinate of its entries."""
    dense: Annotated[FloatVector, Dims('whitened', unit='SI')]
    """A whitened row with its zeros."""
    rows: Annotated[IntVector, Dims('nc')]
    """Laws.rows while the normals are solved alone."""
    coordinate: Annotated[IntVector, Dims('whitened')]
    """The coordinates that an island's contacts push."""
    search: Annotated[FloatMatrix, Dims(4, 'whitened', unit='SI')]
    """Vectors of the conjugate gradients."""
    hidden: Annotated[FloatVector, Dims('nc', unit='1/kg')]
    """Column NN of Rows.block while other contacts are solved, see `contact.hybrid`."""
    bound: Annotated[FloatMatrix, Dims('nc', 2, unit='1')]
    """Bounds of friction in Laws.radius while friction is bounded by impulses."""
    kept: Annotated[FloatMatrix, Dims('nc', 27, unit='SI')]
    """Impulse, bias, softness and block of a contact before a proximal step."""


class ContactProblem(NamedTuple):
    """All parts of the contact problem."""

    laws: Laws
    islands: Islands
    rows: Rows
    solution: Solution
    response: Response
    direct: Direct
    pairs: BodyPairs


def longest_support(model: Model, tied: Sequence[Sequence[int]] = (), yielding: int = 0) -> int:
    """
    Return the most coordinates that a contact's row can have on one side.

    tied: pairs of bodies that joints outside the trees connect. yielding: the number of
    coordinates these joints have of their own.
    """
    sizes = np.zeros(body_count(model), np.int64)
    own = np.where(model.kind >= FREE, 6, np.where(model.kind > WELD, 1, 0))
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
    return longest + yielding


def make_problem(
    model: Model,
    capacity: int,
    direct_rows: int,
    tied: Sequence[Sequence[int]] = (),
    yielding: int = 0,
) -> ContactProblem:
    """
    Allocate room for `capacity` contacts, and for the direct solution of `direct_rows` rows.

    tied, yielding: as for `longest_support`.
    """
    sizes = {
        **model_sizes(model), 'nc': capacity, 'direct_rows': direct_rows,
        'mimic_rows': 0 if len(tied) else len(model.mimic),
        'whitened': velocity_count(model) + yielding,
        'entries': 2 * capacity * longest_support(model, tied, yielding)}
    return ContactProblem(
        make(Laws, sizes), make(Islands, sizes),
        make(Rows, sizes, place=np.full(sizes['whitened'], -1, np.int64)),
        make(Solution, sizes), make(Response, sizes), make(Direct, sizes), make(BodyPairs, sizes))
