"""
The contact problem of one step: its parts, and the scratch memory of its solvers.

Every contact has up to six rows: along its normal and its two friction directions, and about them
(spinning, then rolling friction). A row J is kept *whitened*: as the vector w with w wᵀ = J M⁻¹ Jᵀ
that the tree's own factors give, M = L D Lᵀ and w = D^-½ L⁻¹ Jᵀ. It has entries only for the
joints between the touched body and the root (the branch-induced sparsity of Featherstone 2008,
section 6.5), so that neither M⁻¹ nor the Delassus matrix W Wᵀ is ever formed. Impulses λ change
the whitened velocity z by Wᵀ λ, and the rows' velocities by W z. Of the nz entries of z the first
nv are the coordinates'; each row that yields, of a joint that closes a loop, has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.model import body_count, FREE, GROUND, Model, velocity_count, WELD

# rows of a contact
NORMAL, FIRST, SECOND, SPIN, ROLL, ROLL2 = range(6)
# columns of Laws.radius
FIRST_BOUND, SECOND_BOUND, ROLL_BOUND, SPIN_BOUND = range(4)
# columns of Rows.block: the Delassus matrix of the linear rows, the diagonal of the angular ones
NN, N1, D11, N2, D12, D22, SPIN_SPIN, ROLL_ROLL, ROLL2_ROLL2 = range(9)
# entries of Solution.effort
ISLANDS = 0
SWEEPS = 1  # the most of any island
NEWTONS = 2  # likewise
# entries of Solution.residual
NATURAL = 0  # natural map [m/s]
COMPLEMENTARITY = 1  # [J]
PENETRATION = 2  # [m]

# columns of Direct.unknown
CONTACT, ROW, LEAST, GREATEST = range(4)
# first columns of Direct.kept
KEPT_IMPULSE, KEPT_BIAS, KEPT_SOFTNESS, KEPT_BLOCK = 0, 6, 12, 18

NO_LAW = -1  # of a contact that only reports


class Laws(NamedTuple):
    """What is demanded of nc contacts."""

    law: IntVector
    """(nc,) row of Surfaces.law, or NO_LAW."""
    model: IntVector
    """(nc,) surface.CONE, PYRAMID or CONSTANT."""
    rows: IntVector
    """(nc,) how many rows the contact has: 0, 1, 3 or 6."""
    frame: FloatMatrix
    """(nc, 9) normal and both friction directions, world; the second scaled by mu2 / mu."""
    radius: FloatMatrix
    """(nc, 4) bounds of both friction directions, of rolling and of spinning, per normal."""
    target: FloatMatrix
    """(nc, 3) wanted velocities of the linear rows [m/s]."""
    softness: FloatMatrix
    """(nc, 6) velocity that a row yields per impulse [1/kg, 1/(kg m²)]."""
    approach: FloatVector
    """(nc,) velocity along the normal at the start of the step [m/s]."""
    wanted: FloatVector
    """(nc,) least velocity along the normal that the step may end with [m/s]."""
    pull: FloatVector
    """(nc,) impulse of the adhesion [N s]."""


class Islands(NamedTuple):
    """Groups of contacts that depend on each other, through the trees that they connect."""

    number: IntVector
    """(nc,) the contact's island, -1 for none."""
    order: IntVector
    """(nc,) contacts, island by island."""
    first: IntVector
    """(nc + 1,) first place of each island in `order`."""
    leader: IntVector
    """(nb,) union-find forest over the trees' first bodies."""
    of_tree: IntVector
    """(nb,) island of a leader."""
    spent: IntVector
    """(nc,) multiplications that an island's Newton steps took in this step of time."""
    idle: IntVector
    """(nc,) steps that all trees of an island have been at rest."""


class Rows(NamedTuple):
    """Whitened rows of nc contacts, ns entries in all."""

    first: IntVector
    """(nc + 1,) first entry of each contact."""
    support: IntVector
    """(ns,) velocity coordinate of each entry."""
    linear: FloatMatrix
    """(3, ns) entries of NORMAL, FIRST, SECOND."""
    angular: FloatMatrix
    """(3, ns) entries of SPIN, ROLL, ROLL2; of contacts that have six rows."""
    block: FloatMatrix
    """(nc, 9) the contact's own Delassus matrix; columns NN … ROLL2_ROLL2."""
    inverse: FloatMatrix
    """(nc, 6) inverse of the linear rows' matrix; columns NN … D22, 0 where it is singular."""
    place: IntVector
    """(nz,) entry of a coordinate in the contact that is being built, -1 for none."""
    whitening: FloatVector
    """(nv,) D^-½; 0 for locked joints."""
    column: FloatMatrix
    """(6, 3) three wrenches at a root."""
    mimic: FloatMatrix
    """(nm, nv) whitened rows of the mimic joints, made orthonormal; none where there are loops."""


class Solution(NamedTuple):
    """The impulses, and how well they fulfil the laws."""

    impulse: FloatMatrix
    """(nc, 6) of the rows [N s, N m s]; along the normal it includes the pull."""
    bias: FloatMatrix
    """(nc, 6) rows' velocities without contact impulses, less those that are wanted."""
    z: FloatVector
    """(nz,) whitened velocity that the impulses give."""
    last: FloatMatrix
    """(nc, 6) impulses of the last step, world axes."""
    proposal: FloatMatrix
    """(nc, 3) change of the linear rows' impulses that an estimate for new contacts proposes."""
    shift: FloatVector
    """(nc,) impulses of the position problem."""
    effort: IntVector
    """(3,) ISLANDS, SWEEPS, NEWTONS of the last solution."""
    residual: FloatVector
    """(3,) NATURAL, COMPLEMENTARITY, PENETRATION; maxima since they were last set to 0."""


class Response(NamedTuple):
    """What impulses do to nb bodies and nv coordinates."""

    twist: FloatMatrix
    """(nb, 6) spatial velocities that the rows' velocities are computed from."""
    wrench: FloatMatrix
    """(nb, 6) wrench on each body that `respond` answers; as State.wrench."""
    mean_wrench: FloatMatrix
    """(nb, 6) the contacts' mean wrench over the step on each body; as State.wrench."""
    pushed: IntVector
    """(nb,) 1 where contacts act on the body."""
    force: FloatMatrix
    """(nb, 6) scratch of the elimination."""
    ddq: FloatVector
    """(nv,) accelerations that the wrenches give."""
    rhs: FloatVector
    """(nv,) zeros."""
    constraint: FloatVector
    """(nv,) efforts of locked joints that the wrenches call forth."""
    blocked: FloatVector
    """(nv,) what contacts that nothing can yield to would push each joint with, see `blocked`."""
    v_drift: FloatVector
    """(nv,) velocity that the positions move with in the second half of the step."""


class Direct(NamedTuple):
    """Scratch of the direct solver, for islands of up to nd rows."""

    matrix: FloatMatrix
    """(nd, nd)"""
    right: FloatVector
    """(nd,)"""
    unknown: IntMatrix
    """(nd, 4) contact and row of each unknown; least and greatest coordinate of its entries."""
    dense: FloatVector
    """(nz,) a whitened row with its zeros."""
    rows: IntVector
    """(nc,) Laws.rows while the normals are solved alone."""
    coordinate: IntVector
    """(nz,) the coordinates that an island's contacts push."""
    search: FloatMatrix
    """(4, nz) vectors of the conjugate gradients."""
    kept: FloatMatrix
    """(nc, 27) impulse, bias, softness and block of a contact before a proximal step."""


class ContactProblem(NamedTuple):
    """All of it."""

    laws: Laws
    islands: Islands
    rows: Rows
    solution: Solution
    response: Response
    direct: Direct


def longest_support(model: Model, tied: Sequence[Sequence[int]] = (), yielding: int = 0) -> int:
    """
    Return the most coordinates that a contact's row can have on one side.

    tied: pairs of bodies that joints outside the trees connect. yielding: how many coordinates of
    their own those have.
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
    Make room for `capacity` contacts, and for the direct solution of so many rows at once.

    tied, yielding: as for `longest_support`.
    """
    nb, nv, nc = body_count(model), velocity_count(model), capacity
    nm = 0 if len(tied) else len(model.mimic)
    nz = nv + yielding
    ns = 2 * nc * longest_support(model, tied, yielding)

    def integers(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.int64)

    return ContactProblem(
        Laws(law=integers(nc), model=integers(nc), rows=integers(nc), frame=np.zeros((nc, 9)),
             radius=np.zeros((nc, 4)), target=np.zeros((nc, 3)), softness=np.zeros((nc, 6)),
             approach=np.zeros(nc), wanted=np.zeros(nc), pull=np.zeros(nc)),
        Islands(number=integers(nc), order=integers(nc), first=integers(nc + 1),
                leader=integers(nb), of_tree=integers(nb), spent=integers(nc),
                idle=integers(nc)),
        Rows(first=integers(nc + 1), support=integers(ns), linear=np.zeros((3, ns)),
             angular=np.zeros((3, ns)), block=np.zeros((nc, 9)),
             inverse=np.zeros((nc, 6)), place=np.full(nz, -1, np.int64),
             whitening=np.zeros(nv), column=np.zeros((6, 3)), mimic=np.zeros((nm, nv))),
        Solution(impulse=np.zeros((nc, 6)), bias=np.zeros((nc, 6)), z=np.zeros(nz),
                 last=np.zeros((nc, 6)), proposal=np.zeros((nc, 3)),
                 shift=np.zeros(nc), effort=integers(3),
                 residual=np.zeros(3)),
        Response(twist=np.zeros((nb, 6)), wrench=np.zeros((nb, 6)), mean_wrench=np.zeros((nb, 6)),
                 pushed=integers(nb), force=np.zeros((nb, 6)), ddq=np.zeros(nv),
                 rhs=np.zeros(nv), constraint=np.zeros(nv),
                 blocked=np.zeros(nv), v_drift=np.zeros(nv)),
        Direct(matrix=np.zeros((direct_rows, direct_rows)), right=np.zeros(direct_rows),
               unknown=integers(direct_rows, 4), dense=np.zeros(nz),
               rows=integers(nc), coordinate=integers(nz),
               search=np.zeros((4, nz)), kept=np.zeros((nc, 27))))
